"""What a model must satisfy to describe a Markov chain on its lattice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, exact, to_fmpq
from qtheory.errors import ExpressionError, ModelError, NonConservativeError
from qtheory.model.guards import Interval

if TYPE_CHECKING:
    from qtheory.model.model import Model

SAMPLED_POINTS = 24
"""Points of the domain at which rates are tried, half of them near its boundary."""

_OFFSETS = (0, 1, 2, 5, 20, 100)
"""Distances from the end of an interval at which rates are tried."""


def check_jumps(model: Model) -> None:
    """Raise `ModelError` for a jump that leaves the lattice."""
    for transition, guard in zip(model.transitions, model.guards, strict=True):
        for symbol, step, part, whole in zip(
            model.state, transition.jump, guard, model.ranges, strict=True
        ):
            if whole.covers(part.shifted(step)):
                continue
            # the guard is within the range, so only the end in the jump's direction can leave it
            staying = whole.shifted(-step)
            end, sign, limit = (
                (part.low, ">=", staying.low) if step < 0 else (part.high, "<=", staying.high)
            )
            raise ModelError(
                f"jump {transition.jump} leaves the lattice at {symbol} = {end}: "
                f"guard the transition with {symbol} {sign} {limit}"
            )


def check_rates(model: Model) -> None:
    """Raise `ModelError` for a rate of the wrong kind, or negative at a point that is tried."""
    ring = Ring((*model.parameters, *model.state))
    points = _points(model)
    for transition, guard in zip(model.transitions, model.guards, strict=True):
        rate = _rate(ring, transition.rate, model)
        for point, state, value in _values(model, ring, rate, points, guard):
            if value is None:
                raise ModelError(f"rate {transition.rate} is undefined at {_shown(point, state)}")
            if value < 0:
                raise ModelError(
                    f"rate {transition.rate} is negative at {_shown(point, state)}: {value}"
                )


def check_probabilities(model: Model) -> None:
    """Raise `NonConservativeError` where probabilities are seen to sum to more than one."""
    if model.time == "continuous":
        return
    ring = Ring((*model.parameters, *model.state))
    points = _points(model)
    for region in model.regions():
        total = ring.number(Fraction(0))
        for transition in region.transitions:
            total = total + ring.ratio(transition.rate)
        for point, state, value in _values(model, ring, total, points, region.intervals):
            if value is not None and value > 1:
                place = {**dict(zip(model.state, _corner(region.intervals), strict=True)), **state}
                raise NonConservativeError(
                    f"the probabilities out of a state sum to {value} > 1 at {_shown(point, place)}"
                )


def _rate(ring: Ring, expression: sp.Expr, model: Model) -> Ratio:
    wanted = "rational in the parameters and polynomial in the state"
    try:
        rate = ring.ratio(expression)
    except ExpressionError as error:
        raise ModelError(f"rate {expression} is not {wanted}: {error}") from None
    if any(degree > 0 for degree in rate.den.degrees()[len(model.parameters) :]):
        raise ModelError(f"rate {expression} is not {wanted}")
    return rate


def _points(model: Model) -> list[dict[sp.Symbol, sp.Rational]]:
    half = SAMPLED_POINTS // 2
    return [*model.domain.sample(half), *model.domain.sample(half, near_boundary=True)]


def _values(
    model: Model,
    ring: Ring,
    ratio: Ratio,
    points: Sequence[dict[sp.Symbol, sp.Rational]],
    box: Sequence[Interval],
) -> Iterator[tuple[dict[sp.Symbol, sp.Rational], dict[sp.Symbol, int], Fraction | None]]:
    """Values at points of the domain and, where they depend on it, states of a box."""
    degrees = ratio.num.degrees()[len(model.parameters) :]
    used = [i for i, degree in enumerate(degrees) if degree > 0]
    for point in points:
        for chosen in product(*(_tried(box[i]) for i in used)):
            place = _corner(box)
            for i, value in zip(used, chosen, strict=True):
                place[i] = value
            at = (
                *(to_fmpq(exact(point[symbol])) for symbol in model.parameters),
                *(to_fmpq(Fraction(value)) for value in place),
            )
            below = ring.evaluate(ratio.den, at)
            state = {model.state[i]: place[i] for i in used}
            yield point, state, exact(ring.evaluate(ratio.num, at) / below) if below else None


def _corner(box: Sequence[Interval]) -> list[int]:
    return [_tried(interval)[0] for interval in box]


def _tried(interval: Interval) -> list[int]:
    """Some integers of an interval, the ones at its ends first."""
    low, high = interval
    rising = [(0 if low is None else low) + offset for offset in _OFFSETS]
    falling = [(0 if high is None else high) - offset for offset in _OFFSETS]
    if low is None and high is not None:
        rising = []
    if high is None and low is not None:
        falling = []
    tried = dict.fromkeys([*rising, *falling])
    return [value for value in tried if interval.contains(value)]


def _shown(point: dict[sp.Symbol, sp.Rational], state: dict[sp.Symbol, int]) -> str:
    place = {**state, **point}
    return ", ".join(f"{symbol} = {value}" for symbol, value in place.items()) or "every state"
