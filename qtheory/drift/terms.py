"""Test functions as sums of terms, and their drift as polynomials on each region.

A term is a monomial in the state times the indicator of a box. On a region of the lattice every
coordinate is fixed or runs over a half-line; a half-line is written as y = 0, 1, 2, ... from its
end, so that a polynomial with nonnegative coefficients in y is nonnegative there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import NamedTuple

import sympy as sp
from sympy.core.relational import Relational

from qtheory.arithmetic import Ratio, Ring, lowest_terms
from qtheory.errors import ModelError
from qtheory.model import Interval, Model
from qtheory.model.flows import rate_polynomials
from qtheory.model.guards import INTEGERS, guard_relations

LONGEST_RANGE = 64
"""Bounded ranges are cut into single values; longer ones are refused."""

Exponents = tuple[int, ...]
Polynomial = dict[Exponents, Ratio]
"""A polynomial in the free coordinates y of a region, over QQ(parameters)."""


class Term(NamedTuple):
    """The monomial prod x_i^powers[i] on a box of the lattice, zero elsewhere."""

    powers: Exponents
    box: tuple[Interval, ...]

    def expression(self, state: Sequence[sp.Symbol]) -> sp.Expr:
        """The term as a SymPy expression; indicators are Kronecker deltas or ``Piecewise``."""
        factors = [x**power for x, power in zip(state, self.powers, strict=True) if power]
        for x, (low, high) in zip(state, self.box, strict=True):
            if low is not None and low == high:
                factors.append(sp.KroneckerDelta(x, low))
            elif low is not None:
                factors.append(sp.Piecewise((1, x >= low), (0, True)))
            elif high is not None:
                factors.append(sp.Piecewise((1, x <= high), (0, True)))
        return sp.Mul(*factors)


@dataclass(frozen=True)
class Piece:
    """A region with the ends and directions of its free coordinates (None: fixed)."""

    intervals: tuple[Interval, ...]
    origin: tuple[int, ...]
    direction: tuple[int, ...]
    """+1 or -1 for a half-line, 0 for a fixed coordinate."""


@dataclass(frozen=True)
class DriftTable:
    """The drift of each term, and the cost, on each piece: dictionaries by monomial of y."""

    model: Model
    ring: Ring
    terms: tuple[Term, ...]
    pieces: tuple[Piece, ...]
    drifts: tuple[tuple[Polynomial, ...], ...]
    """``drifts[piece][term]``."""

    costs: tuple[Polynomial, ...]
    """``costs[piece]``."""

    rates: tuple[Ratio, ...]
    """The rate of each transition, which does not depend on the state."""


def piece_conditions(model: Model, piece: Piece) -> tuple[Relational, ...]:
    """The comparisons that single out a piece of the lattice."""
    return guard_relations(piece.intervals, model.ranges, model.state)


def ladder(model: Model, degree: int, layers: int) -> tuple[Term, ...]:
    """Monomials up to a degree, and boundary layers with monomials of lower degree in the others.

    For L layers and a coordinate that starts at a: 1{x = j}, a <= j < a + L; a coordinate that
    runs over all integers is layered around 0 and split there. Corners are products of layers.
    Raises `ModelError` for negative layers or a degree below one.
    """
    if layers < 0 or degree < 1:
        raise ModelError(f"needs layers >= 0 and a degree >= 1, got {layers} and {degree}")
    n = len(model.state)
    whole = (INTEGERS,) * n
    terms = [Term(p, whole) for p in _monomials(range(n), n, degree) if any(p)]
    for size in range(1, n + 1):
        for chosen in combinations(range(n), size):
            others = [i for i in range(n) if i not in chosen]
            for values in product(*(_layers(model.ranges[i], layers) for i in chosen)):
                box = list(whole)
                for i, value in zip(chosen, values, strict=True):
                    box[i] = value
                for powers in _monomials(others, n, max(degree - size, 0)):
                    terms.append(Term(powers, tuple(box)))
    for i, (low, high) in enumerate(model.ranges):
        if low is None and high is None:
            half = tuple(Interval(0, None) if j == i else INTEGERS for j in range(n))
            terms += [Term(p, half) for p in _monomials(range(n), n, degree) if p[i]]
    return tuple(dict.fromkeys(terms))


def _monomials(which: Iterable[int], n: int, degree: int) -> list[Exponents]:
    found: list[Exponents] = [(0,) * n]
    for i in which:
        found = [
            (*powers[:i], k, *powers[i + 1 :])
            for powers in found
            for k in range(degree - sum(powers) + 1)
        ]
    return sorted(found, key=lambda powers: (sum(powers), powers))


def _layers(whole: Interval, layers: int) -> list[Interval]:
    low, high = whole
    if low is None and high is None:
        return [Interval(j, j) for j in range(-layers + 1, layers)]
    if low is not None:
        return [Interval(j, j) for j in range(low, low + layers) if high is None or j <= high]
    return [Interval(j, j) for j in range(int(high or 0) - layers + 1, int(high or 0) + 1)]


def drift_table(
    model: Model, cost: Sequence[Term], weights: Sequence[Ratio] | None, terms: Sequence[Term]
) -> DriftTable:
    """The drift of every term on every piece of the lattice on which all of them are polynomials.

    The cost is the sum of its terms times `weights`, elements of QQ(parameters) over the ring of
    the model's parameters. Raises `ModelError` for rates that depend on the state and for a
    bounded range that is too long.
    """
    ring, polynomials = rate_polynomials(model)
    constant = (0,) * len(model.state)
    for transition, polynomial in zip(model.transitions, polynomials, strict=True):
        if any(exponents != constant for exponents in polynomial):
            raise ModelError(
                f"rate {transition.rate} depends on the state: bounded rates are needed"
            )
    rates = [polynomial.get(constant, ring.zero) for polynomial in polynomials]
    pieces = _pieces(model, [*terms, *cost])
    drifts = []
    costs = []
    for piece in pieces:
        moves = [
            (transition.jump, {constant: rate})
            for transition, guard, rate in zip(model.transitions, model.guards, rates, strict=True)
            if all(part.covers(here) for part, here in zip(guard, piece.intervals, strict=True))
        ]
        drifts.append(tuple(_drift(ring, term, piece, moves) for term in terms))
        total: Polynomial = {}
        for term, weight in zip(cost, weights or (), strict=True):
            _accumulate(total, ring, values_on(term, piece, (0,) * len(model.state)), {(): weight})
        costs.append({e: c for e, c in total.items() if not c.num.is_zero()})
    return DriftTable(
        model, ring, tuple(terms), tuple(pieces), tuple(drifts), tuple(costs), tuple(rates)
    )


def _pieces(model: Model, terms: Iterable[Term]) -> list[Piece]:
    jumps = {(0,) * len(model.state), *(t.jump for t in model.transitions)}
    cuts: list[set[int]] = [set() for _ in model.state]
    boxes = [(guard, (0,) * len(model.state)) for guard in model.guards]
    boxes += [(term.box, jump) for term in terms for jump in jumps]
    for box, jump in boxes:
        for i, (low, high) in enumerate(box):
            if low is not None:
                cuts[i].add(low - jump[i])
            if high is not None:
                cuts[i].add(high + 1 - jump[i])
    parts = [_cut(str(x), w, c) for x, w, c in zip(model.state, model.ranges, cuts, strict=True)]
    return [
        Piece(
            tuple(interval for interval, _, _ in chosen),
            tuple(origin for _, origin, _ in chosen),
            tuple(direction for _, _, direction in chosen),
        )
        for chosen in product(*parts)
    ]


def _cut(name: str, whole: Interval, cuts: set[int]) -> list[tuple[Interval, int, int]]:
    """A range cut into single values and half-lines: (interval, origin, direction)."""
    low, high = whole
    inner = sorted(c for c in cuts if (low is None or c > low) and (high is None or c <= high))
    if low is None and high is None and not inner:
        inner = [0]
    first = low if low is not None else inner[0] if inner else int(high or 0)
    last = high if high is not None else inner[-1] - 1 if inner else first - 1
    if low is not None and not inner and high is None:
        return [(Interval(low, None), low, 1)]
    if last - first > LONGEST_RANGE:
        raise ModelError(f"the range {low} to {high} of {name} is too long to be cut into values")
    parts = [(Interval(None, first - 1), first - 1, -1)] if low is None else []
    parts += [(Interval(j, j), j, 0) for j in range(first, last + 1)]
    if high is None:
        parts.append((Interval(last + 1, None), last + 1, 1))
    return parts


def values_on(term: Term, piece: Piece, jump: Sequence[int]) -> dict[Exponents, int]:
    """The term at x + jump, a polynomial in y with integer coefficients."""
    reached = [part.shifted(step) for part, step in zip(piece.intervals, jump, strict=True)]
    if not all(box.covers(part) for box, part in zip(term.box, reached, strict=True)):
        return {}
    value: dict[Exponents, int] = {(): 1}
    for power, origin, direction, step in zip(
        term.powers, piece.origin, piece.direction, jump, strict=True
    ):
        at = origin + step
        # (at + direction y)^power
        factor = {
            k: comb(power, k) * at ** (power - k) * direction**k
            for k in range(power + 1 if direction else 1)
        }
        value = {(*e, k): c * f for e, c in value.items() for k, f in factor.items() if c * f}
    return value


def _drift(
    ring: Ring, term: Term, piece: Piece, moves: Sequence[tuple[Exponents, Polynomial]]
) -> Polynomial:
    total: Polynomial = {}
    here = values_on(term, piece, (0,) * len(piece.origin))
    for jump, rate in moves:
        difference = dict(values_on(term, piece, jump))
        for e, c in here.items():
            difference[e] = difference.get(e, 0) - c
        _accumulate(total, ring, {e: c for e, c in difference.items() if c}, rate)
    return {e: c for e, c in total.items() if not c.num.is_zero()}


def _accumulate(
    total: Polynomial, ring: Ring, integers: dict[Exponents, int], other: Polynomial
) -> None:
    """Add a product of an integer polynomial and one over QQ(parameters)."""
    for e, c in integers.items():
        for f, weight in other.items():
            key = tuple(a + b for a, b in zip(e, f, strict=True)) if f else e
            number = lowest_terms(weight.num * c, weight.den)
            total[key] = total[key] + number if key in total else number
