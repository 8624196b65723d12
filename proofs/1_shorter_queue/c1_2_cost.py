"""The queueing cost itself: identities, the closed-form bound, and better ones."""

from sympy import Eq, KroneckerDelta

from qtheory import prove, theorem
from qtheory.drift import bound_by, bounds, identities
from qtheory.systems.shorter_queue import (
    JB,
    SOURCE,
    Jbar,
    d,
    domain,
    equal_queues,
    lam,
    m,
    model,
    mu,
    p,
)

cost = 2 * m + d
equal = KroneckerDelta(d, 0)


def exactly(function, value):
    """Both inequalities by one test function, found from E[QV] = 0."""
    V = identities(model()).test_function(function)
    return {sign: bound_by(model(), function, V, value, sign).proved for sign in ("<=", ">=")}


@theorem("C1.2.I1", source=SOURCE)
def equal_queues_are_known_exactly():
    r"""$P(D = 0) = (2\mu - p\lambda)/(2\mu + (2-p)\lambda)$.

    A test function $V$ with $1\{D = 0\} + QV$ constant gives both inequalities.
    """
    found = exactly(equal, equal_queues)
    return {"at most": found["<="], "at least": found[">="]}


@theorem("C1.2.I2", source=SOURCE)
def cost_and_imbalance_are_tied():
    r"""$(2\mu - \lambda) J = 2\lambda - (1-p)\lambda\, E|D|$."""
    found = exactly((2 * mu - lam) * cost + (1 - p) * lam * d, 2 * lam)
    return {"at most": found["<="], "at least": found[">="]}


@theorem("C1.2", source=SOURCE)
def the_cost_is_at_most_the_bound():
    r"""The queueing cost is at most $\bar J(p)$, hence at most that of Bernoulli routing.

    In the identity for $(2\mu - \lambda) J$ use $|D| >= 1\{D \ne 0\}$ and the value of $P(D
    = 0)$. The test function is the sum of those of the two identities.
    """
    known = identities(model())
    kappa = (1 - p) * lam / (2 * mu - lam)
    V = known.test_function(cost + kappa * d) + kappa * known.test_function(equal)
    return {
        r"$J <= \bar J(p)$": bound_by(model(), cost, V, Jbar()).proved,
        r"$\bar J(p) <= J_B$": prove(Jbar() <= JB, domain),
    }


@theorem("C1.2.better", source=SOURCE)
def better_bounds_without_layers():
    r"""$J <= \lambda(2\mu + (1-p)\lambda)/((2\mu - \lambda)(\mu + (1-p)\lambda)) <= \bar
    J(p)$, and a second formula improves on this where $(2-p)\lambda^2 + 2p\lambda\mu >=
    4\mu^2$.

    Both are found by the linear program for a quadratic test function without boundary
    layers. They hold for all parameters; the condition is the boundary between their
    regimes.
    """
    found = bounds(model(), cost, layers=0)
    whole = [certificate for certificate in found.upper if certificate.domain == domain]
    first, second = sorted(whole, key=lambda certificate: len(str(certificate.bound)))
    (third,) = [certificate for certificate in found.upper if certificate not in whole]
    stated = lam * (2 * mu + (1 - p) * lam) / ((2 * mu - lam) * (mu + (1 - p) * lam))
    boundary = (2 - p) * lam**2 + 2 * p * lam * mu
    return {
        "first": first.proved,
        "which is the stated one": prove(Eq(first.bound, stated, evaluate=False), domain),
        r"at most $\bar J$": prove(stated <= Jbar(), domain),
        "second": second.proved,
        "at least as good above the boundary": prove(
            second.bound <= first.bound, domain.where(boundary >= 4 * mu**2)
        ),
        "a third, in its part": third.proved,
        "and the second is not better below the boundary": prove(
            second.bound >= first.bound, domain.where(boundary <= 4 * mu**2)
        ),
    }


@theorem("C1.2.layer", source=SOURCE)
def bounds_with_one_layer():
    r"""With one boundary layer the ladder gives closed forms for the cost from above and below.

    Each is proved for all states and all parameters where its conditions hold.
    """
    found = bounds(model(), cost, layers=1)
    claims = {}
    for side, certificates in (("upper", found.upper), ("lower", found.lower)):
        for number, certificate in enumerate(certificates, 1):
            claims[f"{side} bound {number}"] = certificate.proved
    return claims
