"""Joining: the equilibrium, the social optimum, and their order.

Interior formulas are proved where they apply; q_e and q_opt are these, clipped to [0, 1].
"""

from sympy import Eq

from qtheory import concave, decreasing, prove, theorem
from qtheory.systems.dedicated_streams import (
    SOURCE,
    C,
    R,
    game,
    interior_q_e,
    interior_q_opt,
    interior_welfare_opt,
    joining,
    lam,
    lam_s,
    mu,
    q,
    utility,
    welfare,
)

play = game.over(q).where(q <= 1)
waits = C * (mu + lam_s)
some_join = game.where(R * mu**2 >= waits)
not_all_join = some_join.where(R * mu * (mu - lam) <= waits)
some_should_join = some_join
not_all_should_join = some_join.where(R * (mu - lam) ** 2 <= waits)


@theorem("C2.3", source=SOURCE)
def equilibrium_joining_probability():
    r"""$q_e$ is the only equilibrium: 0 if $R <= C(\mu+\lambda_s)/\mu^2$, 1 if $R >=
    C(\mu+\lambda_s)/(\mu(\mu-\lambda))$, else $(\mu - C(\mu+\lambda_s)/(\mu R))/\lambda$.

    The utility $U(q)$ of joining decreases in the fraction $q$ that joins (customers avoid the
    crowd), so there is one equilibrium: nobody joins if $U(0) <= 0$, all join if $U(1) >= 0$,
    and otherwise $U(q_e) = 0$. On the boundaries between the cases the formulas agree: $q_e$ is
    the interior formula, clipped to $[0, 1]$.
    """
    return {
        "$U$ decreases in $q$": prove(decreasing(utility, q), joining),
        "joining does not pay when nobody joins": prove(
            utility.subs(q, 0) <= 0, game.where(R * mu**2 <= waits)
        ),
        "joining pays when all join": prove(
            utility.subs(q, 1) >= 0, game.where(R * mu * (mu - lam) >= waits)
        ),
        "$U$ has the sign of $q_e - q$, with $q_e$ interior": prove(
            Eq(utility, R * lam * (interior_q_e - q) / (mu - lam * q), evaluate=False), joining
        ),
        "which is at least 0": prove(interior_q_e >= 0, some_join),
        "and at most 1": prove(interior_q_e <= 1, not_all_join),
        "otherwise joining pays when nobody joins": prove(
            utility.subs(q, 0) > 0, game.where(R * mu**2 > waits)
        ),
        "otherwise joining does not pay when all join": prove(
            utility.subs(q, 1) < 0, game.where(R * mu * (mu - lam) < waits)
        ),
        "the formula is at most 0 where nobody joins": prove(
            interior_q_e <= 0, game.where(R * mu**2 <= waits)
        ),
        "and at least 1 where all join": prove(
            interior_q_e >= 1, game.where(R * mu * (mu - lam) >= waits)
        ),
    }


@theorem("C2.4", source=SOURCE)
def socially_optimal_joining_probability():
    r"""The social benefit $S(q)$ is concave and greatest at $q^* = (\mu -
    \sqrt{C(\mu+\lambda_s)/R})/\lambda$, clipped to $[0, 1]$.

    Below 0 or above 1, concavity puts the optimum at the end.
    """
    slope = welfare(q).diff(q)
    return {
        "$S$ is concave": prove(concave(welfare(q), q), joining),
        "the slope vanishes at the interior optimum": prove(
            Eq(slope.subs(q, interior_q_opt), 0, evaluate=False), game
        ),
        "which is at least 0": prove(interior_q_opt >= 0, some_should_join),
        "and at most 1": prove(interior_q_opt <= 1, not_all_should_join),
        "nobody should join if the slope at 0 is negative": prove(
            slope.subs(q, 0) <= 0, game.where(R * mu**2 <= waits)
        ),
        "all should join if the slope at 1 is positive": prove(
            slope.subs(q, 1) >= 0, game.where(R * (mu - lam) ** 2 >= waits)
        ),
        "the formula is at most 0 where nobody should join": prove(
            interior_q_opt <= 0, game.where(R * mu**2 <= waits)
        ),
        "and at least 1 where all should join": prove(
            interior_q_opt >= 1, game.where(R * (mu - lam) ** 2 >= waits)
        ),
    }


@theorem("C2.5", source=SOURCE)
def the_optimum_is_at_most_the_equilibrium():
    r"""$q^* <= q_e$: independent customers overuse the system.

    The interior formulas are ordered, and clipping to $[0, 1]$ keeps the order.
    """
    return prove(interior_q_opt <= interior_q_e, some_join)


@theorem("C2.6", source=SOURCE)
def closed_forms_of_the_social_benefit():
    r"""In the interior $S(q^*) = (\sqrt{R(\mu+\lambda_s)} - \sqrt{C})^2$ and $S(q_e) =
    \lambda_s(R - C/\mu)$, and $S(q^*) >= S(q_e)$ everywhere.
    """
    return {
        "$S$ at the optimum": prove(
            Eq(welfare(interior_q_opt), interior_welfare_opt, evaluate=False), game
        ),
        "$S$ at the equilibrium": prove(
            Eq(welfare(interior_q_e), lam_s * (R - C / mu), evaluate=False), game
        ),
        "$S$ with nobody joining is the same": prove(
            Eq(welfare(0), lam_s * (R - C / mu), evaluate=False), game
        ),
        "the optimum is at least the equilibrium, both interior": prove(
            interior_welfare_opt >= lam_s * (R - C / mu), some_join
        ),
        "the optimum interior, all joining in equilibrium": prove(
            interior_welfare_opt >= welfare(1), not_all_should_join
        ),
        "the benefit at any $q$ is at most the optimum": prove(
            welfare(q) <= interior_welfare_opt, play
        ),
    }
