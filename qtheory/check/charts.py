"""Charts of a domain, and the sign of a polynomial on their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

from qtheory.check.polynomials import (
    Functions,
    Poly,
    add,
    coefficients,
    integral,
    multiply,
)
from qtheory.errors import CertificateError

DEPTH_LIMIT = 60

Constraint = tuple[Poly, str]


class Chart:
    """Variables written one after the other through coordinates t in [0, oo].

    With a x + b >= 0 below and c - d x >= 0 above, a, d > 0, where a, b, c, d are polynomials in
    the earlier variables: x = (start + slope t) / (scale (1 + t)), or without (1 + t) when only
    one of the two is used, and without t for a x + b == 0. Every point of the domain has such
    coordinates. A constraint that the chart does not use can rule out a cell.
    """

    def __init__(
        self, steps: Iterable[Sequence[Any]], reader: Functions, constraints: Sequence[Constraint]
    ) -> None:
        self.one = reader.one
        self.steps: list[tuple[int, Poly, Poly, Poly, bool]] = []
        self.ends = [(True, False)] * len(reader.names)
        self.constraints = constraints
        for name, lower, upper in steps:
            i = reader.names.index(name)
            if lower is not None and lower == upper:
                self._add_equation(i, *constraints[lower])
            else:
                self._add_bounds(
                    i, *(None if k is None else constraints[k] for k in (lower, upper))
                )

    def _linear(self, i: int, poly: Poly) -> tuple[Poly, Poly]:
        """(a, b) of a x + b, with x new and all other variables known."""
        known = {step[0] for step in self.steps}
        parts = coefficients(poly, i)
        if len(parts) != 2 or i in known:
            raise CertificateError("certificate rejected: a bound of the chart is not linear")
        if any(e[j] and j != i and j not in known for e in poly for j in range(len(e))):
            raise CertificateError("certificate rejected: the chart uses a variable too early")
        return parts[1], parts[0]

    def _is_positive(self, poly: Poly) -> bool:
        return _nonnegative(*self._pull_back(poly), self.ends, True)

    def _require_positive(self, poly: Poly) -> None:
        if not self._is_positive(poly):
            raise CertificateError("certificate rejected: a coefficient has the wrong sign")

    def _add_equation(self, i: int, poly: Poly, kind: str) -> None:
        a, b = self._linear(i, poly)
        if kind != "==":
            raise CertificateError("certificate rejected: not an equation")
        if not self._is_positive(a):
            a, b = add({}, a, -1), add({}, b, -1)
            self._require_positive(a)
        self.steps.append((i, add({}, b, -1), {}, a, False))

    def _add_bounds(self, i: int, lower: Constraint | None, upper: Constraint | None) -> None:
        a = b = c = d = self.one
        if lower is not None:
            a, b = self._linear(i, lower[0])
            self._require_positive(a)
        if upper is not None:
            negative, c = self._linear(i, upper[0])
            d = add({}, negative, -1)
            self._require_positive(d)
        minus_b = add({}, b, -1)
        low = lower is not None and lower[1] != ">"
        high = upper is not None and upper[1] != ">"
        if lower is not None and upper is not None:
            step = (i, multiply(minus_b, d), multiply(a, c), multiply(a, d), True)
            self.ends[i] = (low, high)
        elif lower is not None:
            step = (i, minus_b, self.one, a, False)
            self.ends[i] = (low, False)
        elif upper is not None:
            step = (i, c, add({}, self.one, -1), d, False)
            self.ends[i] = (high, False)
        else:
            raise CertificateError("certificate rejected: a variable of the chart has no bound")
        self.steps.append(step)

    def _pull_back(self, poly: Poly) -> tuple[Poly, list[int]]:
        """The polynomial in chart coordinates, times a positive denominator, and its degrees."""
        degrees = [0] * len(self.ends)
        poly = integral(poly)
        for i, start, slope, scale, two_sided in reversed(self.steps):
            parts = coefficients(poly, i)
            if len(parts) == 1:
                continue
            t: Poly = {tuple(int(j == i) for j in range(len(self.ends))): Fraction(1)}
            value = add(start, multiply(slope, t))
            if two_sided:
                scale = multiply(scale, add(self.one, t))
            degree = len(parts) - 1
            poly, power = parts[degree], scale
            for part in reversed(parts[:degree]):
                poly = add(multiply(poly, value), multiply(part, power))
                power = multiply(power, scale)
            if two_sided or slope:
                degrees[i] = degree
        known = {step[0] for step in self.steps}
        if any(e[j] for e in poly for j in range(len(self.ends)) if j not in known):
            raise CertificateError("certificate rejected: the chart leaves a variable out")
        return poly, degrees

    def decide(self, poly: Poly, strict: bool, cells: Any) -> None:
        """The polynomial is nonnegative (positive if strict) on every cell inside the domain."""
        self._decide(self._pull_back(poly), strict, cells, [], list(self.ends), 0)

    def _decide(
        self,
        pulled: tuple[Poly, list[int]],
        strict: bool,
        cells: Any,
        path: list[tuple[int, bool]],
        ends: list[tuple[bool, bool]],
        depth: int,
    ) -> None:
        if depth > DEPTH_LIMIT:
            raise CertificateError("certificate rejected: subdivided too deeply")
        if cells == "+":
            if not _nonnegative(*pulled, ends, strict):
                raise CertificateError("certificate rejected: a coefficient has the wrong sign")
        elif type(cells) is int:
            constraint, kind = self.constraints[cells]
            outside, degrees = self._pull_back(add({}, constraint, -1))
            for axis, upper in path:
                outside = _half(outside, degrees, axis, upper)
            if kind == "==" or not _nonnegative(outside, degrees, ends, kind == ">="):
                raise CertificateError("certificate rejected: a cell is not outside the domain")
        else:
            axis, *halves = cells
            if len(halves) != 2 or axis not in range(len(ends)):
                raise CertificateError("certificate rejected: a cell is not split in two")
            poly, degrees = pulled
            low, high = ends[axis]
            for upper, half in zip((False, True), halves, strict=True):
                ends[axis] = (True, high) if upper else (low, True)
                part = _half(poly, degrees, axis, upper)
                deeper = [*path, (axis, upper)]
                self._decide((part, degrees), strict, half, deeper, ends, depth + 1)
            ends[axis] = (low, high)


def _half(poly: Poly, degrees: Sequence[int], axis: int, upper: bool) -> Poly:
    """The polynomial on t >= 1 (with t = 1 + 2 s) or on t <= 1 (with t = s/(2 + s))."""
    n = degrees[axis]
    total: Poly = {}
    for e, c in poly.items():
        i = e[axis]
        for k in range(i + 1) if upper else range(i, n + 1):
            key = (*e[:axis], k, *e[axis + 1 :])
            weight = comb(i, k) << k if upper else comb(n - i, k - i) << (n - k)
            total[key] = total.get(key, Fraction(0)) + c * weight
    return {e: c for e, c in total.items() if c}


def _nonnegative(
    poly: Poly, degrees: Sequence[int], ends: Sequence[tuple[bool, bool]], strict: bool
) -> bool:
    """Whether the coefficient signs show poly >= 0, or > 0 also at the attained ends."""
    if any(c < 0 for c in poly.values()):
        return False
    if not strict:
        return True
    corners: list[list[int | None]] = [
        [e for e, attained in ((0, low), (n, high)) if attained and n] or [None]
        for n, (low, high) in zip(degrees, ends, strict=True)
    ]
    return all(
        any(all(c is None or e[i] == c for i, c in enumerate(corner)) for e in poly)
        for corner in product(*corners)
    )
