"""The moves of a model within a finite window, and the rates at which they happen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from flint import fmpz

from qtheory.arithmetic import Ratio, Ring, exact, lowest_terms
from qtheory.errors import DomainError, ModelError
from qtheory.model.lattice import Window

if TYPE_CHECKING:
    import numpy as np

    from qtheory.model.model import Model

Boundary = Literal["drop", "redirect"]
StatePolynomial = dict[tuple[int, ...], Ratio]
"""A polynomial in the state variables: coefficients over the parameters, by exponents."""


class Flow(NamedTuple):
    """The moves of one transition: positions in a window, from ``sources[k]`` to ``targets[k]``."""

    transition: int
    sources: np.ndarray
    targets: np.ndarray


def flows(model: Model, window: Window, boundary: Boundary) -> Iterator[Flow]:
    """The moves between different states of a window, one transition after the other.

    A move out of the window is not made (``"drop"``) or ends at the nearest state of the box
    (``"redirect"``). Raises `ModelError` where that state is left out of the window.
    """
    import numpy as np

    if boundary not in ("drop", "redirect"):
        raise ModelError(f"boundary must be 'drop' or 'redirect', got {boundary!r}")
    lows, highs = (np.array(ends) for ends in zip(*window.bounds, strict=True))
    for k, (transition, guard) in enumerate(zip(model.transitions, model.guards, strict=True)):
        possible = np.ones(len(window), dtype=bool)
        for values, (low, high) in zip(window.coordinates.T, guard, strict=True):
            if low is not None:
                possible &= values >= low
            if high is not None:
                possible &= values <= high
        sources = np.flatnonzero(possible)
        reached = window.coordinates[sources] + np.array(transition.jump)
        if boundary == "redirect":
            reached = np.clip(reached, lows, highs)
        targets = window.positions(reached)
        outside = np.flatnonzero(targets < 0)
        if boundary == "redirect" and len(outside):
            lost = tuple(reached[outside[0]].tolist())
            raise ModelError(f"cannot redirect to {lost}: that state is left out of the window")
        kept = (targets >= 0) & (targets != sources)
        yield Flow(k, sources[kept], targets[kept])


def arcs(model: Model, window: Window, boundary: Boundary) -> dict[tuple[int, int], list[int]]:
    """The transitions that lead from one position to another, in the order of the positions."""
    found: dict[tuple[int, int], list[int]] = {}
    for flow in flows(model, window, boundary):
        for arc in zip(flow.sources.tolist(), flow.targets.tolist(), strict=True):
            found.setdefault(arc, []).append(flow.transition)
    return dict(sorted(found.items()))


def rate_polynomials(
    model: Model, at: Mapping[Any, Any] | None = None
) -> tuple[Ring, list[StatePolynomial]]:
    """The rate of each transition as a polynomial in the state variables, and their ring.

    At a point of the domain the coefficients are rational numbers: the ring has no symbols.
    """
    ring = Ring(model.parameters)
    polynomials = [_state_polynomial(model, ring, t.rate) for t in model.transitions]
    if at is None:
        return ring, polynomials
    values = model.domain.require(at)
    point = ring.point({symbol.name: value for symbol, value in values.items()})
    numbers = Ring(())
    for transition, polynomial in zip(model.transitions, polynomials, strict=True):
        for exponents, coefficient in polynomial.items():
            below = ring.evaluate(coefficient.den, point)
            if below == 0:
                raise DomainError(f"rate {transition.rate} is undefined at this point")
            value = exact(ring.evaluate(coefficient.num, point) / below)
            polynomial[exponents] = numbers.number(value)
    return numbers, polynomials


def _state_polynomial(model: Model, ring: Ring, rate: Any) -> StatePolynomial:
    count = len(ring.symbols)
    whole = Ring((*ring.symbols, *model.state)).ratio(rate)
    parts: dict[tuple[int, ...], dict[tuple[int, ...], fmpz]] = {}
    for exponents, coefficient in whole.num.terms():
        powers = tuple(map(int, exponents))
        parts.setdefault(powers[count:], {})[powers[:count]] = coefficient
    below = ring.context.from_dict({tuple(e[:count]): c for e, c in whole.den.terms()})
    return {
        powers: lowest_terms(ring.context.from_dict(part), below) for powers, part in parts.items()
    }


def rate_at(ring: Ring, polynomial: StatePolynomial, state: Sequence[int]) -> Ratio:
    """The rate at one state."""
    total = ring.number(Fraction(0))
    for exponents, coefficient in polynomial.items():
        power = prod(value**exponent for value, exponent in zip(state, exponents, strict=True))
        # most rates are constant: keep them as they are
        term = coefficient if power == 1 else coefficient * ring.number(Fraction(power))
        total = term if total.num.is_zero() else total + term
    return total
