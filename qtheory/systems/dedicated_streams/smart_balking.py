"""The finite system whose smart customers balk when the shortest queue is too long.

A smart customer who joins a shortest queue of length M stays (M + 1)/mu in the mean, so joins
only where M + 1 <= R mu/C: up to the length k = floor(R mu/C) - 1 >= 0. In the limit M = 0 and
nobody balks. With V = sum of x_i, and then of x_i^2, the means obey for every N

    lam + lam_s P(M <= k) = mu P(X >= 1),
    E_N[X] = (lam + lam_s E[(M + 1) 1{M <= k}])/(mu - lam),

and the system is stable for lam < mu. Source of the game: Bu, Liu, Tang, Zhao, arXiv 2012.14955.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Rational

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError
from qtheory.model import Model, Transition
from qtheory.systems.dedicated_streams import lam, lam_s, mu
from qtheory.systems.dedicated_streams import model as joining_model

domain = Domain(stable=lam < mu, symbols=(lam, lam_s, mu))


def longest_joined(R: Any, C: Any, service: Any) -> int:
    """k = floor(R mu/C) - 1, the longest shortest queue that a smart customer joins.

    >>> longest_joined("13/6", 1, 1), longest_joined(1, 1, 1)
    (1, 0)

    Raises `DomainError` for R < C/mu, with which even an empty queue is not worth joining.
    """
    reward, cost, rate = exact(R), exact(C), exact(service)
    if not (cost > 0 and rate > 0):
        raise DomainError(f"needs C > 0 and mu > 0, got C = {C}, mu = {service}")
    if reward * rate < cost:
        raise DomainError(f"outside the domain: needs R*mu >= C, got R = {R}, C = {C}")
    return int(reward * rate // cost) - 1


def model(N: int, longest: int) -> Model:
    """`dedicated_streams.model` of N queues, with smart arrivals only where M <= `longest`.

    Raises `ModelError` unless N >= 1 and longest >= 0.
    """
    if not isinstance(longest, int) or longest < 0:
        raise ModelError(f"smart customers join an empty queue at least, got {longest}")
    base = joining_model(N)
    shortest = base.state[0]
    transitions = []
    for transition in base.transitions:
        if not transition.rate.has(lam_s):
            transitions.append(transition)
            continue
        own = transition.rate.subs(lam_s, 0)
        for rate, where in ((transition.rate, shortest <= longest), (own, shortest > longest)):
            guard = transition.when & where
            transitions.append(Transition(rate, when=guard, jump=transition.jump))
    return Model(
        state=base.state,
        domain=domain,
        transitions=transitions,
        name=f"{base.name}, smart customers balk beyond {longest}",
    )


@dataclass(frozen=True)
class BalkingMeans:
    """Means of a system whose smart customers balk, in floating point (estimated).

    `joins` is P(M <= k), the fraction of smart customers who join; `shortest_joined` is
    E[(M + 1) 1{M <= k}]; `discrepancy` is by how much `length`, E_N[X], misses its identity.
    """

    N: int
    longest: int
    shortest: float
    length: float
    joins: float
    shortest_joined: float
    discrepancy: float


def balking_means(N: int, longest: int, at: Any) -> BalkingMeans:
    """The means at a rational point of N queues, from the law in a window that holds its mass.

    >>> means = balking_means(2, 0, {"lam": "2/5", "lam_s": "3/10", "mu": 1})
    >>> round(means.joins, 6), abs(means.discrepancy) < 1e-8
    (0.631579, True)

    Raises `UnstableError` unless lam < mu, and `ModelError` for a bad N or `longest`.
    """
    from qtheory.stationary import stationary

    chain = model(N, longest)
    values = domain.require(at)
    law: Any = stationary(chain, at=values, method="truncation")
    m = chain.state[0]
    total = sum(Rational(N - i, N) * gap for i, gap in enumerate(chain.state))
    length, shortest = (float(law.expect(f)) for f in (total, m))
    joins = float(law.probability(m <= longest))
    joined = sum((i + 1) * float(law.probability(_equal(m, i))) for i in range(longest + 1))
    own, smart, service = (float(values[s]) for s in (lam, lam_s, mu))
    expected = (own + smart * joined) / (service - own)
    return BalkingMeans(N, longest, shortest, length, joins, joined, length - expected)


def _equal(m: Any, value: int) -> Any:
    return (m <= value) & (m >= value)
