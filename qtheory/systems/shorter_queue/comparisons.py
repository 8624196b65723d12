"""The attack game as the arrival rate changes, and against Bernoulli routing.

The statements are on the closed-form bound, each proved or refuted for all parameters.
"""

from __future__ import annotations

import sympy as sp

from qtheory.formulas import relation
from qtheory.inequality import Open, Proved, Refuted, prove
from qtheory.inequality.monotone import increasing
from qtheory.systems.shorter_queue import (
    JB,
    JB_targeted,
    Jbar,
    ca,
    cb,
    dJbar,
    domain,
    lam,
    mu,
    p,
    p_hat,
    rates,
)
from qtheory.systems.shorter_queue.attack_game import (
    at_least,
    at_most,
    costs,
    equal,
    mixed_boundary,
    r,
    risks,
    theta_mixed,
    undefended,
)

_mixed = costs.where(at_most(ca, undefended), at_most(cb, mixed_boundary))


def sensitivities() -> dict[str, Proved | Refuted | Open]:
    """How the defence and the attack react to the arrival rate, regime by regime.

    The defence b increases with lam in III and IV; the probability theta of an attack decreases
    with lam in IV. In III the fraction p* solves Jbar'(p*) = cb, and Jbar' increases both with
    lam and with the fraction, so p* falls as lam rises.

    >>> all(sensitivities().values())
    True
    """
    price = dJbar(p)
    attacks = rates.over(ca).where(at_most(ca, undefended))
    return {
        "III: Jbar' increases with lam at a fixed fraction": prove(increasing(price, lam), domain),
        "III: and with the fraction, so b = 1 - p* increases with lam": prove(
            increasing(price, p), domain
        ),
        "IV: b = 1 - phat increases with lam": prove(increasing(1 - p_hat, lam), attacks),
        "IV: theta decreases with lam": prove(
            relation(sp.diff(theta_mixed, lam), "<", sp.Integer(0)), _mixed
        ),
    }


def against_bernoulli() -> dict[str, Proved | Refuted | Open]:
    """The risk of the shorter queue against that of Bernoulli routing, under uniform attacks.

    The risk is the operator's total cost in equilibrium; under Bernoulli routing attacks change
    nothing, so it is JB. That the shorter queue has the higher risk for lam < mu is refuted, and
    the opposite holds for all parameters.

    >>> found = against_bernoulli()
    >>> [statement for statement, verdict in found.items() if not verdict]
    ['higher for lam < mu (regime IV)']
    """
    defended = rates.over(r).where(r <= 1)
    inside = costs.where(ca < undefended, cb < mixed_boundary)
    return {
        "higher for lam < mu (regime IV)": prove(
            relation(risks["IV"], ">", JB), inside.where(lam < mu)
        ),
        "I: lower": prove(relation(risks["I"], "<", JB), rates),
        "II: equal": prove(equal(risks["II"], Jbar(1)), rates),
        "III: at most equal": prove(at_most(Jbar(r) + dJbar(r) * (1 - r), JB), defended),
        "III: lower if some jobs are defended": prove(
            relation(Jbar(r) + dJbar(r) * (1 - r), "<", JB), rates.over(r).where(r < 1)
        ),
        "IV: at most equal": prove(at_most(risks["IV"], JB), _mixed),
        "IV: lower if no boundary is met": prove(relation(risks["IV"], "<", JB), inside),
    }


def targeted_against_bernoulli() -> dict[str, Proved | Refuted | Open]:
    """The same comparison under targeted attacks, risk being what attacks add to the cost.

    At full attack server 1 is one M/M/1 queue under both policies, with cost lam/(mu - lam) if
    lam < mu. Without attacks the shorter queue costs at most Jbar(0), whatever the attacks would
    be, and that is less than Bernoulli routing, so attacks add more to it. For lam > mu the
    shorter queue is stable for p < mu/lam, Bernoulli routing for p < 2 mu/lam - 1 only, which is
    smaller.

    >>> all(targeted_against_bernoulli().values())
    True
    """
    light = rates.where(lam < mu)
    heavy = rates.where(lam > mu)
    most, most_bernoulli = mu / lam, 2 * mu / lam - 1
    return {
        "lam < mu: full attack costs the same under Bernoulli routing": prove(
            equal(JB_targeted.subs(p, 1), lam / (mu - lam)), light
        ),
        "lam < mu: without attacks Bernoulli routing costs JB": prove(
            equal(JB_targeted.subs(p, 0), JB), light
        ),
        "lam < mu: which exceeds the bound on the shorter queue": prove(
            relation(Jbar(0), "<", JB), light
        ),
        "lam > mu: Bernoulli routing becomes unstable at a fraction p >= 0": prove(
            at_least(most_bernoulli, sp.Integer(0)), heavy
        ),
        "lam > mu: which is smaller than that of the shorter queue": prove(
            relation(most_bernoulli, "<", most), heavy
        ),
        "lam > mu: both are fractions": prove(relation(most, "<", sp.Integer(1)), heavy),
    }
