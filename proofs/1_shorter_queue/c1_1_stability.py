"""Stability of the shorter queue under uniform attacks, and what attacks cannot change."""

from sympy import Piecewise, Symbol

from qtheory import Domain, bound_by, foster, prove, theorem
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


@theorem("C1.1.necessary", source=SOURCE)
def there_is_no_stationary_law_at_higher_load():
    r"""The conditions are necessary: a stationary law needs $\lambda < 2\mu$, and under targeted
    attacks also $p\lambda < \mu$.

    In a stationary law the flows between $n$ and $n + 1$ jobs are equal; added up over $n$ they
    give $\lambda = \mu B$, with $B < 2$ the mean number of busy servers, since the empty system
    has a positive probability. Under targeted attacks server 1 gets jobs at rate $p\lambda$ at
    least in every state, so $p\lambda <= \mu P$ with $P < 1$ the probability that it is busy.
    """
    busy, first = Symbol("B", nonnegative=True), Symbol("P", nonnegative=True)
    return {
        "both servers": prove(lam < 2 * mu, Domain(lam <= mu * busy, busy < 2)),
        "server 1": prove(p * lam < mu, Domain(p * lam <= mu * first, first < 1)),
    }
