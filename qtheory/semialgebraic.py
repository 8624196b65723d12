"""The points of QQ^n that satisfy polynomial constraints, with exact sampling."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ring
from qtheory.chart import Chart, Constraint, any_chart, charts

Point = tuple[fmpq, ...]


@dataclass(frozen=True, eq=False)
class SemialgebraicSet:
    """A set of points given by constraints on the variables of a ring."""

    ring: Ring
    constraints: tuple[Constraint, ...]

    @cached_property
    def charts(self) -> list[Chart]:
        """Substitutions of the region onto the orthant, simplest first."""
        return charts(self.ring, self.constraints)

    @cached_property
    def _any_chart(self) -> Chart:
        return any_chart(self.ring, self.constraints)

    def first_charts(self, count: int) -> Iterator[Chart]:
        """One chart that is found at once, then the simplest."""
        yield self._any_chart
        yield from self.charts[:count]

    def contains(self, point: Point) -> bool:
        """Whether a rational point satisfies every constraint, exactly."""
        return all(_holds(function(*point), kind) for function, kind in self._functions)

    @cached_property
    def _functions(self) -> list[tuple[Any, str]]:
        return [(self.ring.rational(poly), kind) for poly, kind in self.constraints]

    def holds(self, constraint: Constraint, point: Point) -> bool:
        """Whether one constraint holds at a rational point, exactly."""
        return _holds(self.ring.evaluate(constraint.poly, point), constraint.kind)

    def draw(self, seed: int, near_boundary: bool = False) -> Iterator[Point]:
        """An endless stream of exact points, most of them in the region.

        Near the boundary, most coordinates lie close to, or on, the ends of their ranges.
        """
        source = random.Random(seed)
        number = 0
        while True:
            chart = self.charts[number % min(len(self.charts), 8)]
            number += 1
            place = chart.point(
                [_coordinate(source, ends, near_boundary) for ends in chart.attained]
            )
            if place is not None:
                known = chart.variables
                yield tuple(
                    value if i in known else _free_value(source) for i, value in enumerate(place)
                )

    @cached_property
    def samples(self) -> tuple[Point, ...]:
        """Some points of the region, in its interior and near its boundary."""
        return tuple(self.sample(12, seed=1)) + tuple(self.sample(14, seed=2, near_boundary=True))

    def sample(self, count: int, seed: int = 0, near_boundary: bool = False) -> list[Point]:
        """Up to `count` points of the region; fewer when it is thin or empty."""
        found: list[Point] = []
        for attempt, point in enumerate(self.draw(seed, near_boundary)):
            if len(found) == count or attempt > 60 * (len(found) + 1):
                break
            if self.contains(point):
                found.append(point)
        return found

    def signs(self, poly: fmpz_mpoly) -> set[int]:
        """The signs that a polynomial takes on the samples."""
        function = self.ring.rational(poly)
        values = (function(*point) for point in self.samples)
        return {(value > 0) - (value < 0) for value in values}

    def where(self, constraint: Constraint) -> SemialgebraicSet:
        """The part of the region that satisfies one more constraint."""
        return SemialgebraicSet(self.ring, (*self.constraints, constraint))


def _holds(value: fmpq, kind: str) -> bool:
    return bool(value == 0 if kind == "==" else value > 0 or (kind == ">=" and value == 0))


def _coordinate(
    source: random.Random, attained: Sequence[bool], near_boundary: bool
) -> fmpq | None:
    """A random chart coordinate in [0, oo], None for the end oo; often a simple number."""
    kind = source.random()
    low, high = attained
    upper = source.random() < 0.5
    if near_boundary and kind < 0.5 and (high if upper else low):
        return None if upper else fmpq(0)
    if near_boundary and kind > 0.75:
        large = source.choice((50, 1000, 10**6))
        return fmpq(large) if upper else fmpq(1, large)
    if kind < 0.6:
        return source.choice(SIMPLE)
    return fmpq(source.randint(1, 24), source.randint(1, 24))


SIMPLE = (fmpq(1, 3), fmpq(1, 2), fmpq(1), fmpq(2), fmpq(3))


def _free_value(source: random.Random) -> fmpq:
    return fmpq(source.randint(-40, 40), source.randint(1, 12))
