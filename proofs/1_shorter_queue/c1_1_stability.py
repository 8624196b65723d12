"""Stability of the shorter queue under uniform attacks, and what attacks cannot change."""

from qtheory import prove, theorem
from qtheory.drift import foster
from qtheory.systems.shorter_queue import SOURCE, bernoulli_model, domain, lam, model, mu


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
