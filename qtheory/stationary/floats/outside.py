"""A proved bound on the stationary mass outside a box, from an exponential moment.

An `ExponentialMoment` proves E[base^l(X)] <= b for a level l(x), a weighted sum of the |x_i|.
Outside a box l is at least some k, so by Markov's inequality the mass there is at most b base^-k.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, inf, log, nextafter

from qtheory.drift.exponential import ExponentialMoment
from qtheory.stationary.floats.law import Error

Bounds = tuple[tuple[int, int], ...]


def certified_outside(
    moment: ExponentialMoment, bounds: Bounds, directions: Sequence[tuple[int, int]]
) -> Error:
    """The bound on the mass outside a box; `directions` are pairs of coordinate and sign.

    >>> from qtheory.drift.exponential_search import exponential_moment
    >>> from qtheory.systems import shorter_queue as sq
    >>> moment = exponential_moment(sq.model(), {"lam": 1, "mu": 1, "p": 0})
    >>> print(certified_outside(moment, ((0, 60), (0, 60)), ((0, 1), (1, 1))))
    at most ... (certified)
    """
    least = min(
        _weight(moment, axis, sign) * _first(bounds, axis, sign) for axis, sign in directions
    )
    mass = Fraction(moment.bound) / moment.base**least
    return Error(nextafter(float(min(mass, Fraction(1))), inf), "certified")


def certified_box(
    moment: ExponentialMoment,
    bounds: Bounds,
    directions: Sequence[tuple[int, int]],
    tolerance: float,
) -> Bounds:
    """The box, made longer where that is needed for a proved mass outside below the tolerance."""
    level = ceil((log(moment.bound) - log(tolerance)) / log(moment.base)) + 1
    longer = [list(pair) for pair in bounds]
    for axis, sign in directions:
        short = -(-level // _weight(moment, axis, sign)) - _first(bounds, axis, sign)
        longer[axis][sign > 0] += sign * max(short, 0)
    return tuple((low, high) for low, high in longer)


def _weight(moment: ExponentialMoment, axis: int, sign: int) -> int:
    return moment.weights[axis][sign > 0]


def _first(bounds: Bounds, axis: int, sign: int) -> int:
    """The distance from zero of the first coordinate outside, at least 0."""
    return max(sign * bounds[axis][sign > 0] + 1, 0)
