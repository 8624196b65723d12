r"""The joining game in a system of N queues: utility, equilibrium, and the gap of the limit's.

E_N[M], the mean shortest queue, is a symbol M here: every statement holds for whatever it is.
"""

from sympy import Eq, Symbol

from qtheory import decreasing, increasing, prove, theorem
from qtheory.systems.dedicated_streams import (
    SOURCE,
    C,
    R,
    game,
    interior_q_e,
    joining,
    lam,
    lam_s,
    mu,
    q,
    utility,
)

M = Symbol("M", nonnegative=True)
more = Symbol("M_1", nonnegative=True)
overstated = C * lam_s * M / (mu * (mu - lam * q))
mean = (lam * q + lam_s * (1 + M)) / (mu - lam * q)
utility_N = R - C * (1 + mean) / mu
waits = C * (mu + lam_s)
interior = game.where(R * mu**2 >= waits, R * mu * (mu - lam) <= waits)


def same(left, right, on):
    return prove(Eq(left, right, evaluate=False), on)


@theorem("C2.9", source=SOURCE)
def utility_in_the_finite_system():
    r"""In a system of $N$ queues a dedicated customer who joins expects $U_N(q) = U(q) - C
    \lambda_s E_N[M]/(\mu(\mu - \lambda q))$: the mean field overstates the utility by exactly
    that.

    A dedicated arrival finds $E_N[X]$ customers and stays $(1 + E_N[X])/\mu$; put (I5), with
    $\lambda q$ in the place of $\lambda$, into $U_N = R - C (1 + E_N[X])/\mu$.
    """
    return {
        "the utility": same(utility_N, utility - overstated, joining.over(M)),
        "it is no more than in the limit": prove(utility_N <= utility, joining.over(M)),
        "and less with smart customers": prove(
            utility_N < utility, joining.over(M).where(lam_s > 0, M > 0)
        ),
    }


@theorem("C2.9.gap", source=SOURCE)
def gap_of_the_equilibrium_of_the_limit():
    r"""At an interior $q_e$ of the limit a customer of the system of $N$ queues gains at most
    $\epsilon_N = q_e C \lambda_s E_N[M]/(\mu(\mu - \lambda q_e)) = q_e R \lambda_s E_N[M]/(\mu +
    \lambda_s)$ by deviating.

    Whoever joins with probability $q_e$ gets $q_e U_N(q_e)$, and the best is to balk, since
    $U_N(q_e) <= U(q_e) = 0$.
    """
    at = {q: interior_q_e}
    here = interior.over(M)
    gap = interior_q_e * R * lam_s * M / (mu + lam_s)
    return {
        "$U(q_e) = 0$": same(utility.subs(at), 0, interior),
        "$U_N(q_e) <= 0$": prove(utility_N.subs(at) <= 0, here),
        "the gap": same(-interior_q_e * utility_N.subs(at), gap, here),
        "the first form": same(interior_q_e * overstated.subs(at), gap, here),
        r"so it is at most $R\lambda_s E_N[M]/(\mu + \lambda_s)$": prove(
            gap <= R * lam_s * M / (mu + lam_s), here
        ),
        "and vanishes with $E_N[M]$": same(gap.subs(M, 0), 0, interior),
    }


@theorem("C2.9.equilibrium", source=SOURCE)
def equilibrium_of_the_finite_system():
    r"""The system of $N$ queues has one equilibrium $q_e(N)$, and $q_e(N) <= q_e$.

    $E_N[M]$ does not decrease in $q$: couple two systems, started empty, by the rank of a queue.
    They share the smart arrivals, at rank 1, the dedicated arrivals of the one with fewer, and the
    services, at equal rates for each rank; the further dedicated arrivals of the other come at
    some rank. Adding 1 at a rank, taking 1 from a positive length, and sorting keep the order of
    two vectors entry by entry. So $U_N$ falls strictly in $q$, in the formula and through
    $E_N[M]$, which is continuous: there is one equilibrium. As $U_N <= U$, no $q > q_e$ has
    $U_N(q) >= 0$.
    """
    everywhere = joining.over(M)
    return {
        "$U_N$ falls in $q$ at a fixed $E_N[M]$": prove(decreasing(utility_N, q), everywhere),
        "it does not rise with $E_N[M]$": prove(
            utility_N.subs(M, more) <= utility_N, everywhere.over(more).where(more > M)
        ),
        "$U_N <= U$": prove(utility_N <= utility, everywhere),
        "$U < 0$ beyond an interior $q_e$": prove(
            utility < 0, joining.where(R * lam * (interior_q_e - q) < 0)
        ),
        "the queues grow with $q$, at a fixed $E_N[M]$": prove(increasing(mean, q), everywhere),
    }
