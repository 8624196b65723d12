"""The attacker attacks all jobs or none, on the closed-form bound."""

from sympy import symbols

from qtheory import convex, increasing, prove, theorem
from qtheory.systems.shorter_queue import SOURCE, Jbar, a, b, domain, p, rates


@theorem("C1.3a", source=SOURCE)
def the_bound_is_convex_and_increasing():
    r"""$\bar J$ is strictly increasing and strictly convex in the misrouted fraction $p$."""
    return {
        "increasing": prove(increasing(Jbar(), p), domain),
        "convex": prove(convex(Jbar(), p), domain),
    }


@theorem("C1.3b", source=SOURCE)
def attacking_some_jobs_is_never_best():
    r"""Unless all jobs are defended, attacking a fraction $0 < a < 1$ of them costs the
    attacker.

    The payoff $\bar J(a (1 - b)) - c_a a$ lies strictly below its chord, so the better of
    $a = 0$ and $a = 1$ is strictly better than every $a$ between. With $b = 1$ the payoff is
    $\bar J(0) - c_a a$, which only $a = 0$ maximises.
    """
    inside = rates.over(a, b).where(a > 0, a < 1, b < 1)
    chord = a * Jbar(1 - b) + (1 - a) * Jbar(0)
    return prove(Jbar(a * (1 - b)) < chord, inside)


@theorem("C1.3c", expected="refuted", source=SOURCE)
def misrouting_has_no_increasing_returns():
    r"""Doubling the misrouted fraction at most doubles what it adds to $\bar J$.

    This is refuted: $\bar J$ is strictly convex, so the second half of the jobs adds more.
    """
    h = symbols("h", nonnegative=True)
    first, second = Jbar(h) - Jbar(0), Jbar(2 * h) - Jbar(h)
    return prove(second <= first, rates.over(h).where(2 * h <= 1))
