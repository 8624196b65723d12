"""Closed forms for birth-death chains on the naturals whose rates are eventually constant."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.arithmetic import Ratio, Ring
from qtheory.errors import CertificateError, ModelError, ReducibleError, UnstableError
from qtheory.stationary.birth_death.law import BirthDeathLaw

if TYPE_CHECKING:
    from qtheory.model import Model


def birth_death_law(model: Model, at: Mapping[Any, Any] | None = None) -> BirthDeathLaw:
    """The stationary law of a birth-death chain, geometric from a threshold on.

    The model has one state variable without an upper bound, jumps +1 and -1, and total rates
    that do not depend on the state beyond some threshold. With birth rates b_n and death rates
    d_n, pi_n = pi_0 b_0 ... b_{n-1} / (d_1 ... d_n).

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Model, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> law = birth_death_law(queue)
    >>> law.mean()
    lambda/(-lambda + mu)

    Raises `ModelError` for other models, `ReducibleError` where a birth or a death is impossible,
    and `UnstableError` unless the stability condition is proved on the model's domain.
    """
    from qtheory.model.flows import rate_at, rate_polynomials

    first = _first_state(model)
    ring, rates = rate_polynomials(model, at)

    def total(n: int, jump: int) -> Ratio:
        found = ring.number(Fraction(0))
        for transition, guard, rate in zip(model.transitions, model.guards, rates, strict=True):
            if transition.jump == (jump,) and guard[0].contains(n):
                found = found + rate_at(ring, rate, (n,))
        return found

    # beyond the last end of a guard the same transitions are possible at every state
    settled = first
    for (guard,) in model.guards:
        edge = guard.low if guard.high is None else guard.high + 1
        settled = max(settled, first if edge is None else edge)
    for transition, (guard,), rate in zip(model.transitions, model.guards, rates, strict=True):
        if guard.high is None and any(power != (0,) for power in rate):
            raise ModelError(
                f"no closed form: rate {transition.rate} depends on {model.state[0]} "
                "at every state; give a box"
            )
    births = [total(n, +1) for n in range(first, settled + 1)]
    deaths = [total(n, -1) for n in range(first + 1, settled + 2)]
    for n, birth, death in zip(range(first, settled + 1), births, deaths, strict=True):
        if birth.num.is_zero():
            raise ReducibleError(f"reducible: no birth at state {n}, so no state above is reached")
        if death.num.is_zero():
            raise ReducibleError(
                f"reducible: no death at state {n + 1}, so it cannot be left downwards"
            )
    ratio = births[-1] / deaths[-1]
    while len(births) > 1 and births[-2] / deaths[-2] == ratio:
        births.pop()
        deaths.pop()
    birth, death = ring.expression(births[-1]), ring.expression(deaths[-1])
    stability = sp.Lt(birth, death, evaluate=False)
    if ring.symbols:
        _require_stable(stability, model)
    elif birth >= death:
        raise UnstableError(f"unstable: needs birth rate < death rate, got {birth} and {death}")
    law = BirthDeathLaw(
        model.state[0], ring, first, _boundary(ring, births, deaths), ratio, stability, model.domain
    )
    require_birth_death_balance(law, births, deaths)
    return law


def _first_state(model: Model) -> int:
    """The lowest state of a model that has the form of a birth-death chain."""
    if len(model.state) != 1:
        raise ModelError(f"no closed form for {len(model.state)} state variables; give a box")
    (interval,) = model.ranges
    if interval.low is None or interval.low < 0 or interval.high is not None:
        raise ModelError(
            f"no closed form: {model.state[0]} must range over the naturals; give a box"
        )
    for transition in model.transitions:
        if transition.jump not in ((1,), (-1,)):
            raise ModelError(
                f"no closed form: jump {transition.jump[0]} is neither +1 nor -1; give a box"
            )
    low: int = interval.low
    return low


def _require_stable(stability: sp.Rel, model: Model) -> None:
    from qtheory.inequality import Refuted, prove

    verdict = prove(stability, model.domain)
    if isinstance(verdict, Refuted):
        got = ", ".join(
            f"{s} = {v}" for s, v in verdict.witness.items() if s in stability.free_symbols
        )
        raise UnstableError(
            f"unstable: needs {stability}, which fails at {got}: add it to the domain"
        )
    if verdict.verdict != "proved":
        raise UnstableError(f"stability {stability} is not proved on {model.domain}: add it")


def _boundary(ring: Ring, births: list[Ratio], deaths: list[Ratio]) -> tuple[Ratio, ...]:
    """pi_n up to the threshold, where the ratio births[-1]/deaths[-1] begins."""
    one = ring.number(Fraction(1))
    weights = [one]
    for birth, death in zip(births[:-1], deaths[:-1], strict=True):
        weights.append(weights[-1] * birth / death)
    beyond = weights[-1] / (one - births[-1] / deaths[-1])
    total = sum(weights[:-1], beyond)
    return tuple(weight / total for weight in weights)


def require_birth_death_balance(
    law: BirthDeathLaw, births: list[Ratio], deaths: list[Ratio]
) -> None:
    """Check pi_n b_n = pi_{n+1} d_{n+1} for every n, and the sum, as identities in the ring.

    ``births[k]`` and ``deaths[k]`` are the rates at the states first + k and first + k + 1; the
    last ones hold from the threshold on. `CertificateError` where an identity fails.
    """
    one, last = law.ring.number(Fraction(1)), law.boundary[-1]
    above = [*law.boundary[1:], last * law.ratio]
    for k, (here, there) in enumerate(zip(law.boundary, above, strict=True)):
        if here * births[k] != there * deaths[k]:
            raise CertificateError(f"the law does not balance at state {law.first + k}")
    if sum(law.boundary[:-1], last / (one - law.ratio)) != one:
        raise CertificateError("the probabilities do not sum to one")
