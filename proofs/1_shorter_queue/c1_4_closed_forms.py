r"""The regimes of the attack game in closed form, and what the operator pays in each.

The boundaries are $c_a = G(1)$, $c_b = \bar J'(1)$ and $c_b = \bar J'(\hat p(c_a))$, all rational
in the rates and the costs.
"""

from sympy import Eq, symbols

from qtheory import prove, theorem
from qtheory.systems.shorter_queue import JB, SOURCE, Jbar, a, b, ca, cb, dJbar, p_hat, rates
from qtheory.systems.shorter_queue.attack_game import (
    costs,
    mixed_boundary,
    peaceful,
    regimes,
    risks,
    theta_mixed,
    undefended,
    undefended_slope,
)

theta, more = symbols("theta theta_1", nonnegative=True)
mixed = costs.where(ca <= undefended, cb <= mixed_boundary)


def verdicts(about):
    """Those verdicts on the regimes whose labels are about this."""
    return {label: verdict for label, verdict in regimes().verify().items() if about(label)}


@theorem("C1.4.exhaustive", source=SOURCE)
def the_regimes_cover_all_costs():
    r"""For all rates and all positive costs one of the four regimes applies.

    No point fails a condition of each of them: every way to choose the failing conditions is
    contradictory.
    """
    return verdicts(lambda label: label.startswith("the regimes cover"))


@theorem("C1.4.exclusive", source=SOURCE)
def the_regimes_meet_in_boundaries_only():
    r"""Two regimes have no more than a boundary in common."""
    return verdicts(lambda label: label.endswith("in boundaries only"))


@theorem("C1.4.formulas", source=SOURCE)
def the_closed_forms_are_equilibria():
    r"""In each regime the closed forms of $\theta$, $b$ and the operator's cost are those of an
    equilibrium: $\theta = 0, 1, 1, c_b/\bar J'(\hat p)$ and $b = 0, 0, 1 - p^*, 1 - \hat p$ in I,
    II, III, IV.

    All jobs are attacked with probability $\theta$, none otherwise. In III $r$ stands for
    $p^*(c_b)$, so that $c_b = \bar J'(r)$.
    """
    return verdicts(lambda label: label.partition(":")[0] in ("I", "II", "III", "IV"))


@theorem("C1.4.unique", source=SOURCE)
def the_equilibrium_is_unique():
    r"""For positive costs, off the boundary $c_a = G(1)$, there is one equilibrium.

    If $b < 1$, attacking some jobs is worse than all or none, so all are attacked with a
    probability $\theta$, and none otherwise; $b = 1$ is no equilibrium, since then no job is
    attacked and nothing is worth defending. The best $b$ against $\theta$ is unique, 0 for
    $\theta = 0$, and does not fall as $\theta$ grows, since the cost of the operator is strictly
    convex in $b$ and its slope falls in $\theta$. What attacking all jobs gains falls in $b$; so
    in two equilibria with different $\theta$ this gain is at most 0 at the lower $\theta$, at
    least 0 at the higher one, hence 0, with the same $b$. This $b$ is not 0, where the gain is
    $G(1) - c_a$; and at $0 < b < 1$ the slope vanishes for one $\theta$ only.
    """
    expected = theta * Jbar(1 - b) + cb * b
    plays = costs.over(theta, b).where(theta <= 1, b <= 1)
    gain = Jbar(1 - b) - Jbar(0) - ca
    return {
        "attacking some jobs is worse": prove(
            Jbar(a * (1 - b)) < a * Jbar(1 - b) + (1 - a) * Jbar(0),
            rates.over(a, b).where(a > 0, a < 1, b < 1),
        ),
        "the operator's cost is strictly convex": prove(
            expected.diff(b, 2) > 0, plays.where(theta > 0)
        ),
        r"its slope falls in $\theta$": prove(
            expected.diff(b).subs(theta, more) < expected.diff(b),
            plays.over(more).where(more > theta, more <= 1),
        ),
        "what attacking all gains falls in $b$": prove(
            gain.diff(b) < 0, costs.over(b).where(b <= 1)
        ),
        "the gain at $b = 0$": prove(Eq(gain.subs(b, 0), undefended - ca, evaluate=False), costs),
    }


@theorem("C1.4.risk", source=SOURCE)
def the_risk_by_regime():
    r"""The operator's cost in equilibrium lies between $\bar J(0)$ and $\bar J(1)$; it is
    $\bar J(0)$, $\bar J(1)$, $\bar J(r) + \bar J'(r)(1 - r)$ and $\bar J(0) + \theta c_a +
    c_b(1 - \hat p)$ in I, II, III, IV. It does not fall as the cost $c_b$ of defending rises.

    The formulas are shown in C1.4.formulas. In III $r = p^*(c_b)$ rises with $c_b$. As $c_b$ rises
    for $c_a < G(1)$ the regimes are IV, III, II, and the cost is the same on both sides of each
    boundary.
    """
    r = symbols("r", nonnegative=True)
    defended = rates.over(r).where(r <= 1)
    risk = Jbar(r) + dJbar(r) * (1 - r)
    return {
        "III: it rises with $r$": prove(risk.diff(r) > 0, rates.over(r).where(r < 1)),
        r"III: at least $\bar J(0)$": prove(risk >= peaceful, defended),
        r"III: at most $\bar J(1)$": prove(risk <= JB, defended),
        "IV: it rises with $c_b$": prove(risks["IV"].diff(cb) > 0, mixed),
        r"IV: at least $\bar J(0)$": prove(risks["IV"] >= peaceful, mixed),
        r"IV: at most $\bar J(1)$": prove(risks["IV"] <= JB, mixed),
        r"IV: $\theta$ is a probability": prove(theta_mixed <= 1, mixed),
        r"$\bar J(0) < \bar J(1)$": prove(peaceful < JB, rates),
        "IV ends before II begins": prove(
            mixed_boundary <= undefended_slope, costs.where(ca <= undefended)
        ),
        "IV meets III": prove(
            Eq(risks["IV"].subs(cb, mixed_boundary), risk.subs(r, p_hat), evaluate=False),
            rates.over(ca).where(ca <= undefended),
        ),
        "III meets II": prove(Eq(risk.subs(r, 1), JB, evaluate=False), rates),
    }
