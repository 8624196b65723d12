"""Stability of the shorter queue under uniform attacks, and what attacks cannot change."""

from sympy import Piecewise

from qtheory import bound_by, foster, prove, theorem
from qtheory.systems.shorter_queue import (
    SOURCE,
    bernoulli_model,
    domain,
    lam,
    m,
    model,
    mu,
    p,
    targeted_model,
)


@theorem("C1.1", source=SOURCE)
def stability():
    r"""Under uniform attacks the shorter queue is stable for $\lambda < 2\mu$, whatever the
    fraction $0 <= p <= 1$ of misrouted jobs; so is Bernoulli routing.

    A quadratic function $V$ with $f + QV <= c$, where $f$ grows in every coordinate, has
    negative drift outside a finite set; the chains are irreducible, so they are positive
    recurrent by Foster's theorem.
    """
    return {
        "shorter queue": foster(model()).certificate.proved,
        "Bernoulli routing": foster(bernoulli_model()).certificate.proved,
        "the total service rate exceeds the arrival rate": prove(2 * mu - lam > 0, domain),
    }


@theorem("C1.1.targeted", source=SOURCE)
def stability_under_targeted_attacks():
    r"""Under targeted attacks the shorter queue is stable for $\lambda < 2\mu$ and
    $p\lambda < \mu$.

    With $V = K (x_1^2 + x_2^2)/2$ the drift falls by at least $K(2\mu - \lambda)$ in the shorter
    queue and by at least $K(\mu - p\lambda)$ in the difference; $K$ makes both at least what
    $x_1 + x_2$ costs.
    """
    chain = targeted_model()
    delta = chain.state[1]
    above = Piecewise((1, delta >= 0), (0, True))
    below = Piecewise((1, delta <= -1), (0, True))
    absolute = delta * above - delta * below
    K = 2 / (2 * mu - lam) + 1 / (mu - p * lam)
    squares = 2 * m**2 + 2 * m * absolute + delta**2
    return bound_by(chain, 2 * m + absolute, K * squares / 2, K * (lam + 2 * mu) / 2).proved
