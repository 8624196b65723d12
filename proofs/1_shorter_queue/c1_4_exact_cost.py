"""The attack game on the cost J itself: one point in each regime, at certified values of J."""

from sympy import Rational, Symbol

from qtheory import Domain, prove, theorem
from qtheory.systems.shorter_queue import JB, SOURCE, rates
from qtheory.systems.shorter_queue.exact_attack import equilibrium
from qtheory.systems.shorter_queue.exact_cost import cost, full_slope, slope

RATES = Rational(1, 2), 1
place = rates.where("lam == 1/2", "mu == 1")

J_0, J_p, J_q = (Symbol(name, positive=True) for name in ("J_0", "J_p", "J_q"))
slope_p, slope_q = (Symbol(name, positive=True) for name in ("s_p", "s_q"))


def known(**values):
    """The place, with each named value between its certified ends."""
    symbols = {symbol.name: symbol for symbol in (J_0, J_p, J_q, slope_p, slope_q)}
    conditions = []
    for name, value in values.items():
        low, high = (Rational(str(end)) for end in (value.lower, value.upper))
        conditions += [symbols[name] >= low, symbols[name] <= high]
    return place & Domain(*conditions)


@theorem(
    "C1.4.exact",
    source=SOURCE,
    given=(
        r"$J$ is strictly convex at $\lambda/\mu = 1/2$ (C1.3.exact)",
        r"the intervals of $J_0 = J(0)$, $J_p = J(p)$, $s_p = J'(p)$ in the conditions: certified "
        "power series of qtheory.systems.shorter_queue.exact_cost, not in the certificate",
    ),
)
def regimes_of_the_game_on_the_cost():
    r"""At $\lambda = 1/2$, $\mu = 1$ the game on $J$ itself is in regime I at $c_a = 1/5$, II at
    $(c_a, c_b) = (1/50, 1/5)$, III at $(1/50, 1/8)$ with $b = 0.36728$, and IV at $(1/50, 1/20)$
    with $b = 0.75653$, up to $10^{-5}$.

    The regimes are those of C1.4 with $J$ in the place of $\bar J$, since $J$ is increasing and
    strictly convex. In III $p^*$, where $J' = c_b$, lies between $p$ and $q$; in IV $\hat p$,
    where $J = J(0) + c_a$, does.
    """
    free = known(J_0=cost(*RATES, 0))
    attack = Rational(1, 50)
    claims = {
        "I: $c_a > J(1) - J(0)$": prove(Rational(1, 5) > JB - J_0, free),
        "II, III, IV: $c_a < J(1) - J(0)$": prove(attack < JB - J_0, free),
        "II: $c_b >= J'(1)$": prove(full_slope <= Rational(1, 5), place),
    }
    for regime, defence, stated in (
        ("III", Rational(1, 8), Rational(36728, 10**5)),
        ("IV", Rational(1, 20), Rational(75653, 10**5)),
    ):
        misrouted = equilibrium(*RATES, attack, defence, digits=6).p
        p, q = misrouted.lower, misrouted.upper
        at = known(
            J_0=cost(*RATES, 0),
            J_p=cost(*RATES, p),
            J_q=cost(*RATES, q),
            s_p=slope(*RATES, p),
            s_q=slope(*RATES, q),
        )
        if regime == "III":
            claims["III: $J'(p) < c_b$"] = prove(slope_p < defence, at)
            claims["III: $J'(q) > c_b$"] = prove(slope_q > defence, at)
            claims["III: the attack pays, $J(p) - J(0) > c_a$"] = prove(J_p - J_0 > attack, at)
        else:
            claims["IV: $J(p) - J(0) < c_a$"] = prove(J_p - J_0 < attack, at)
            claims["IV: $J(q) - J(0) > c_a$"] = prove(J_q - J_0 > attack, at)
            claims["IV: defence is cheap, $c_b < J'(p)$"] = prove(slope_p > defence, at)
        b = Symbol("b", nonnegative=True)
        between = Domain(b >= 1 - Rational(str(q)), b <= 1 - Rational(str(p)))
        error = Rational(1, 10**5)
        claims[f"{regime}: $b$, at least"] = prove(b >= stated - error, between)
        claims[f"{regime}: $b$, at most"] = prove(b <= stated + error, between)
    return claims
