"""The sign of a polynomial on a region, with a proof that `qtheory.check` repeats.

Cheapest first: coefficient signs in a chart; then, where all quantities scale together, one of
them set to one; then subdivision; a discriminant; and the two sides of a further polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any, Literal

from flint import fmpq, fmpq_mat, fmpz_mpoly

from qtheory.arithmetic import Ring, by_power, irreducible_factors
from qtheory.chart import Chart, Constraint
from qtheory.inequality.bernstein import FoundNegative, subdivide
from qtheory.semialgebraic import Point, SemialgebraicSet
from qtheory.text import text_name

Proof = dict[str, Any]

CHARTS_TRIED = 4
CASES_CELLS = 200
"""A case distinction halves the cells; below this there is none."""


@dataclass(frozen=True)
class Sign:
    """``direction * poly`` is positive, or nonnegative if not strict."""

    direction: Literal[1, -1]
    strict: bool
    proof: Proof


def coefficient_signs(
    region: SemialgebraicSet, poly: fmpz_mpoly, strict: bool = True
) -> Sign | None:
    """The sign that a constraint states, or that shows in the coefficients of the first charts.

    If a strict sign is wanted, a weak one is given only where no strict one is seen.
    """
    weak: Sign | None = None
    for sign in _shown(region, poly):
        if sign.strict or not strict:
            return sign
        weak = weak or sign
    return weak


def _shown(region: SemialgebraicSet, poly: fmpz_mpoly) -> Iterator[Sign]:
    """The signs that are seen without a search, cheapest first."""
    for index, (stated, kind) in enumerate(region.constraints):
        if kind != "==" and len(stated) == len(poly) and _parallel(stated, poly):
            same = (stated.leading_coefficient() > 0) == (poly.leading_coefficient() > 0)
            yield Sign(1 if same else -1, kind == ">", {"by": "given", "constraint": index})
    for chart in region.first_charts(CHARTS_TRIED):
        found = chart.sign(poly)
        if found is not None and found != "==":
            proof = {"by": "coefficients", "chart": chart_steps(chart), "cells": "+"}
            yield Sign(1 if ">" in found else -1, "=" not in found, proof)


def _parallel(p: fmpz_mpoly, q: fmpz_mpoly) -> bool:
    return p * q.leading_coefficient() == q * p.leading_coefficient()


def chart_steps(chart: Chart) -> list[list[Any]]:
    """A chart as data: the variables in order, each with the constraints that bound it."""
    return [[text_name(chart.ring.names[s.variable]), s.lower, s.upper] for s in chart.steps]


def find_sign(region: SemialgebraicSet, poly: fmpz_mpoly, strict: bool, cells: int) -> Sign | None:
    """The sign of a polynomial on a region, strict if asked for, or None.

    Raises `FoundNegative` never: a polynomial of both signs has none.
    """
    quick = coefficient_signs(region, poly, strict)
    if quick is not None and (quick.strict or not strict):
        return quick
    signs = region.signs(poly)
    if {1, -1} <= signs or (strict and 0 in signs) or not region.samples:
        return None
    direction: Literal[1, -1] = -1 if -1 in signs else 1
    try:
        proof = prove_sign(region, poly * direction, strict, cells)
    except FoundNegative:
        return None
    return None if proof is None else Sign(direction, strict, proof)


def prove_sign(
    region: SemialgebraicSet, poly: fmpz_mpoly, strict: bool, cells: int
) -> Proof | None:
    """A proof of poly >= 0 (poly > 0 if strict) on a region, or None.

    Raises `FoundNegative` with a point where the sign is wrong.
    """
    quick = coefficient_signs(region, poly, strict)
    if quick is not None and quick.direction == 1 and (quick.strict or not strict):
        return quick.proof
    scaled = set_to_one(region, poly)
    if scaled is not None:
        variable, weights, smaller, reduced = scaled
        try:
            proof = prove_sign(smaller, reduced, strict, cells)
        except FoundNegative as found:
            raise FoundNegative(_with_one(region, variable, found.point)) from None
        if proof is None:
            return None
        return {"by": "scaling", "one": text_name(variable), "weights": weights, "proof": proof}
    for budget in (cells // 8, cells):
        for chart in region.charts[:CHARTS_TRIED]:
            if not _covers(chart, poly):
                continue
            tree = subdivide(region, chart, poly, strict, budget)
            if tree is not None:
                return {"by": "coefficients", "chart": chart_steps(chart), "cells": tree}
        proof = _by_discriminant(region, poly, strict, budget)
        if proof is not None:
            return proof
    if cells >= CASES_CELLS:
        for on in _case_candidates(region, poly):
            proof = _by_cases(region, poly, strict, cells, on)
            if proof is not None:
                return proof
    return None


def _covers(chart: Chart, poly: fmpz_mpoly) -> bool:
    known = chart.variables
    return all(d <= 0 or i in known for i, d in enumerate(poly.degrees()))


def _by_discriminant(
    region: SemialgebraicSet, poly: fmpz_mpoly, strict: bool, cells: int
) -> Proof | None:
    """A x^2 + B x + C with A > 0 and 4 A C - B^2 >= 0 (> 0 if strict)."""
    for i, degree in enumerate(poly.degrees()):
        if degree != 2:
            continue
        free, linear, leading = by_power(poly, i, region.ring.context)
        first = find_sign(region, leading, True, cells // 4)
        if first is None or first.direction < 0:
            continue
        discriminant = 4 * leading * free - linear * linear
        second = by_factors(region, discriminant, strict, cells // 4)
        if second is not None:
            return {
                "by": "quadratic",
                "in": text_name(region.ring.names[i]),
                "leading": first.proof,
                "discriminant": second,
            }
    return None


def by_factors(
    region: SemialgebraicSet, poly: fmpz_mpoly, strict: bool, cells: int
) -> Proof | None:
    """A proof of poly >= 0 (> 0 if strict) from the signs of its irreducible factors."""
    if poly.is_zero():
        return None if strict else {"by": "factors", "factors": []}
    constant, factors = irreducible_factors(poly)
    sign = 1 if constant > 0 else -1
    entries = []
    for factor, times in factors:
        found = find_sign(region, factor, strict, cells)
        if found is None:
            if strict or times % 2:
                return None
            entries.append(factor_entry(region.ring, factor, None))
            continue
        sign *= found.direction ** int(times)
        entries.append(factor_entry(region.ring, factor, found))
    return {"by": "factors", "factors": entries} if sign > 0 else None


def factor_entry(ring: Ring, factor: fmpz_mpoly, sign: Sign | None) -> dict[str, Any]:
    """A factor with its proved sign, as certificates carry it."""
    if sign is None:
        return {"poly": ring.text(factor), "sign": "real"}
    return {
        "poly": ring.text(factor * sign.direction),
        "sign": ">" if sign.strict else ">=",
        "proof": sign.proof,
    }


def _by_cases(
    region: SemialgebraicSet, poly: fmpz_mpoly, strict: bool, cells: int, on: fmpz_mpoly
) -> Proof | None:
    proof: Proof = {"by": "cases", "on": region.ring.text(on)}
    for side, sign in (("above", 1), ("below", -1)):
        part = region.where(Constraint(on * sign, ">="))
        if (below := prove_sign(part, poly, strict, cells // 2)) is None:
            return None
        proof[side] = below
    return proof


def _case_candidates(region: SemialgebraicSet, poly: fmpz_mpoly) -> Iterator[fmpz_mpoly]:
    """Polynomials worth a case distinction: variables without bounds, then rival bounds."""
    bounded: frozenset[int] = frozenset().union(*(chart.variables for chart in region.charts))
    for i, degree in enumerate(poly.degrees()):
        if degree > 0 and i not in bounded:
            yield region.ring.generators[i]
            return
    context = region.ring.context
    for i in range(len(region.ring.names)):
        linear = []
        for constraint in region.constraints:
            if len(constraint.poly) and constraint.poly.degrees()[i] == 1:
                b, a = by_power(constraint.poly, i, context)
                shown = coefficient_signs(region, a)
                if shown is not None:
                    linear.append((shown.direction, a * shown.direction, b))
        for k, (direction, a, b) in enumerate(linear):
            for other, c, d in linear[:k]:
                difference = b * c - d * a
                if direction == other and {1, -1} <= region.signs(difference):
                    yield difference


def set_to_one(
    region: SemialgebraicSet, poly: fmpz_mpoly
) -> tuple[str, dict[str, int], SemialgebraicSet, fmpz_mpoly] | None:
    """A positive variable that scaling sets to one: (name, weights, region, polynomial).

    With weights w, the polynomial and the constraints keep their signs when every variable x_i is
    multiplied by s^(w_i).
    """
    ring = region.ring
    for weights in _scalings(ring, [poly, *(c.poly for c in region.constraints)]):
        for i, (name, generator) in enumerate(zip(ring.names, ring.generators, strict=True)):
            if (
                weights[i]
                and poly.degrees()[i] > 0
                and Constraint(generator, ">") in region.constraints
            ):
                constraints = tuple(
                    Constraint(_at_one(c.poly, i, ring), c.kind) for c in region.constraints
                )
                named = {text_name(n): w for n, w in zip(ring.names, weights, strict=True) if w}
                return name, named, SemialgebraicSet(ring, constraints), _at_one(poly, i, ring)
    return None


def _at_one(poly: fmpz_mpoly, i: int, ring: Ring) -> fmpz_mpoly:
    return poly.subs({ring.names[i]: 1})


def _scalings(ring: Ring, polys: list[fmpz_mpoly]) -> list[list[int]]:
    """Integer weights under which all the polynomials are homogeneous."""
    rows = []
    for poly in polys:
        first, *others = poly.monoms() or [(0,) * len(ring.names)]
        rows += [[int(a - b) for a, b in zip(e, first, strict=True)] for e in others]
    return _null_space(rows, len(ring.names))


def _null_space(rows: list[list[int]], width: int) -> list[list[int]]:
    if not rows:
        return [[int(i == j) for j in range(width)] for i in range(width)]
    reduced, rank = fmpq_mat(rows).rref()
    pivots = []
    for r in range(rank):
        pivots.append(next(j for j in range(width) if reduced[r, j] != 0))
    vectors = []
    for free in (j for j in range(width) if j not in pivots):
        vector = [fmpq(0)] * width
        vector[free] = fmpq(1)
        for r, pivot in enumerate(pivots):
            vector[pivot] = -reduced[r, free]
        scale = 1
        for entry in vector:
            scale = scale * int(entry.q) // gcd(scale, int(entry.q))
        vectors.append([int(entry * scale) for entry in vector])
    return vectors


def _with_one(region: SemialgebraicSet, variable: str, point: Point) -> Point:
    """A point of the scaled region is a point of the region with the variable at one."""
    i = region.ring.names.index(variable)
    return (*point[:i], fmpq(1), *point[i + 1 :])
