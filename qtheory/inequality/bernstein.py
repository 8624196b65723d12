"""Subdivision: the sign of a polynomial from its coefficients on the cells of a chart.

In chart coordinates t in [0, oo] the coefficients are those of the Bernstein form up to positive
binomials. A cell is halved at t = 1 by t = s/(2 + s) and t = 1 + 2 s, which keeps them integers
and halves it in the coordinate t/(1 + t) in [0, 1].
Corner values of a cell are its corner coefficients, so that a false claim shows itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from typing import Any

import numpy as np
from flint import fmpz_mpoly

from qtheory.arithmetic import to_fmpq
from qtheory.chart import Chart
from qtheory.semialgebraic import Point, SemialgebraicSet

SIZE_LIMIT = 60_000
DEPTH_LIMIT = 40


@dataclass(frozen=True)
class _Form:
    """A polynomial on a cell, as the dense array of its coefficients."""

    values: Any  # object array of Python integers, shape (n_1 + 1, ..., n_k + 1)

    def half(self, axis: int, upper: bool) -> _Form:
        n = self.values.shape[axis] - 1
        if n == 0:
            return self
        moved = np.tensordot(_halving(n, upper), self.values, axes=(1, axis))
        return _Form(np.moveaxis(moved, 0, axis))

    def negative(self) -> int:
        return int((self.values < 0).sum())

    def nonnegative(self, ends: Sequence[tuple[bool, bool]], strict: bool) -> bool:
        if self.negative():
            return False
        return not strict or all((self.values[corner] > 0).any() for corner in self._attained(ends))

    def _attained(self, ends: Sequence[tuple[bool, bool]]) -> Any:
        """The sub-arrays that matter at each combination of attained ends."""
        axes: list[list[slice]] = []
        for n, (low, high) in zip(self.values.shape, ends, strict=True):
            closed = [slice(0, 1)] * low + [slice(n - 1, n)] * high
            axes.append(closed if closed and n > 1 else [slice(None)])
        return product(*axes)


@cache
def _halving(n: int, upper: bool) -> Any:
    rows = [
        [
            comb(i, k) << k if upper else (comb(n - i, k - i) << (n - k) if k >= i else 0)
            for i in range(n + 1)
        ]
        for k in range(n + 1)
    ]
    return np.array(rows, dtype=object)


def _form(chart: Chart, poly: fmpz_mpoly) -> _Form | None:
    pulled, degrees = chart.pull_back(poly)
    size = 1
    for degree in degrees:
        size *= degree + 1
    if size > SIZE_LIMIT:
        return None
    values = np.zeros([degree + 1 for degree in degrees], dtype=object)
    for exponents, coefficient in pulled.terms():
        values[exponents] = int(coefficient)
    return _Form(values)


class FoundNegative(Exception):
    """The polynomial is negative (or zero, if it was to be positive) at a point of the region."""

    def __init__(self, point: Point) -> None:
        super().__init__(point)
        self.point = point


def subdivide(
    region: SemialgebraicSet, chart: Chart, poly: fmpz_mpoly, strict: bool, cells: int
) -> Any | None:
    """The cells that show poly >= 0 (> 0 if strict) on the region, or None.

    A leaf is ``"+"`` (the coefficients decide) or the index of a constraint that fails on the
    whole cell. Raises `FoundNegative` at a point of the region where the sign is wrong.
    """
    form = _form(chart, poly)
    if form is None:
        return None
    used = {i for step in chart.steps for i in (step.lower, step.upper)}
    outside = {}
    for i, constraint in enumerate(region.constraints):
        covered = all(
            d <= 0 or j in chart.variables for j, d in enumerate(constraint.poly.degrees())
        )
        if i in used or constraint.kind == "==" or constraint.poly.is_constant() or not covered:
            continue
        if chart.sign(constraint.poly) not in (">", constraint.kind):
            other = _form(chart, -constraint.poly)
            if other is not None:
                outside[i] = (other, constraint.kind == ">=")
    search = _Search(region, chart, poly, strict, cells)
    start = [(Fraction(0), Fraction(1))] * len(chart.attained)
    return search.cell(form, outside, list(chart.attained), start, 0)


Interval = tuple[Fraction, Fraction]
"""A range of t/(1 + t)."""
Outside = dict[int, tuple[_Form, bool]]


class _Search:
    """Depth-first subdivision with a budget of cells."""

    def __init__(
        self, region: SemialgebraicSet, chart: Chart, poly: fmpz_mpoly, strict: bool, cells: int
    ) -> None:
        self.region, self.chart, self.poly, self.strict = region, chart, poly, strict
        self.function = region.ring.rational(poly)
        self.left = cells

    def cell(
        self,
        form: _Form,
        outside: Outside,
        ends: list[tuple[bool, bool]],
        box: list[Interval],
        depth: int,
    ) -> Any | None:
        if form.nonnegative(ends, self.strict):
            return "+"
        for i, (other, strict) in outside.items():
            if other.nonnegative(ends, strict):
                return i
        self._look_at_corners(form, box)
        self.left -= 1
        if self.left <= 0 or depth >= DEPTH_LIMIT:
            return None
        axis, halves = self._best_split(form, outside)
        if axis is None:
            return None
        tree: list[Any] = [axis]
        for upper, half in enumerate(halves):
            low, high = ends[axis]
            inner = list(ends)
            inner[axis] = (True, high) if upper else (low, True)
            smaller = list(box)
            smaller[axis] = _halve(box[axis], bool(upper))
            others = {i: (f.half(axis, bool(upper)), s) for i, (f, s) in outside.items()}
            below = self.cell(half, others, inner, smaller, depth + 1)
            if below is None:
                return None
            tree.append(below)
        return tree

    def _best_split(
        self, form: _Form, outside: Outside
    ) -> tuple[int | None, tuple[_Form, _Form] | tuple[()]]:
        """The axis whose halves have the fewest coefficients of the wrong sign."""
        best: tuple[int, int] | None = None
        chosen: tuple[_Form, _Form] | tuple[()] = ()
        for axis in range(form.values.ndim):
            active = form.values.shape[axis] > 1
            if not active and all(f.values.shape[axis] == 1 for f, _ in outside.values()):
                continue
            halves = form.half(axis, False), form.half(axis, True)
            score = sum(half.negative() for half in halves), -form.values.shape[axis]
            if best is None or score < best:
                best, chosen, at = score, halves, axis
        return (at, chosen) if best is not None else (None, ())

    def _look_at_corners(self, form: _Form, box: list[Interval]) -> None:
        active = [i for i, n in enumerate(form.values.shape) if n > 1]
        for corner in product((False, True), repeat=len(active)):
            where = [0] * form.values.ndim
            for axis, upper in zip(active, corner, strict=True):
                where[axis] = -1 if upper else 0
            value = form.values[tuple(where)]
            if value > 0 or (value == 0 and not self.strict):
                continue
            upper_ends = dict(zip(active, corner, strict=True))
            for nudge in (Fraction(0), Fraction(1, 64), Fraction(1, 4)):
                self._look_at(
                    [
                        _inside(interval, upper_ends.get(axis, False), nudge)
                        for axis, interval in enumerate(box)
                    ]
                )

    def _look_at(self, coordinates: list[Fraction | None]) -> None:
        point = self.chart.point([None if t is None else to_fmpq(t) for t in coordinates])
        if point is None:
            return
        value = self.function(*point)
        if (value < 0 or (self.strict and value == 0)) and self.region.contains(point):
            raise FoundNegative(point)


def _halve(interval: Interval, upper: bool) -> Interval:
    low, high = interval
    middle = (low + high) / 2
    return (middle, high) if upper else (low, middle)


def _inside(interval: Interval, upper: bool, nudge: Fraction) -> Fraction | None:
    """The coordinate t at an end of an interval, or moved inside by a share of its length."""
    low, high = interval
    share = high - nudge * (high - low) if upper else low + nudge * (high - low)
    return None if share == 1 else share / (1 - share)
