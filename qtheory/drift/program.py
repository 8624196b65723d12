"""The bound ladder as a linear program with rational-function data.

Unknowns are the coefficients of the test function V and the bound c. For an upper bound, every
coefficient of c - f - QV on every piece is to be nonnegative, and c as small as possible; for a
lower bound the signs turn. At a rational point the program is solved in floating point only to
learn which inequalities are tight at the optimum: the solution is then computed exactly from
these, and every inequality is checked exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import fmpq, fmpq_mat

from qtheory.arithmetic import Ratio
from qtheory.drift.terms import DriftTable, Exponents, values_on

Direction = Literal["<=", ">="]


@dataclass(frozen=True)
class Row:
    """One inequality ``sum coefficients[j] v_j + constant_on_c c >= right`` of the program."""

    piece: int
    monomial: Exponents
    coefficients: dict[int, Ratio]
    on_bound: int
    """+1 (upper) or -1 (lower) for a constant term, else 0."""

    right: Ratio


@dataclass(frozen=True)
class Program:
    """The rows of a ladder; column j < len(terms) is v_j, the last column is c."""

    table: DriftTable
    direction: Direction
    rows: tuple[Row, ...]

    @property
    def width(self) -> int:
        return len(self.table.terms) + 1


@dataclass(frozen=True)
class Vertex:
    """An exact feasible solution at a rational point, and the rows and columns that fix it."""

    values: tuple[Fraction, ...]
    tight: tuple[int, ...]
    zero: tuple[int, ...]
    """Columns set to zero because the tight rows leave them free."""

    optimal: bool
    """Whether exact multipliers prove that no smaller (larger) c exists in this ladder."""

    @property
    def bound(self) -> Fraction:
        return self.values[-1]


def program(table: DriftTable, direction: Direction, positive: bool = False) -> Program:
    """The inequalities of an upper (``<=``) or lower (``>=``) bound.

    With `positive`, V is also to have nonnegative coefficients on every piece, except for its
    constants: then it is bounded below.
    """
    sign = 1 if direction == "<=" else -1
    zero = table.ring.zero
    rows = []
    for k, (drifts, cost) in enumerate(zip(table.drifts, table.costs, strict=True)):
        constant = (0,) * len(table.model.state)
        monomials = {constant, *cost, *(e for drift in drifts for e in drift)}
        for e in sorted(monomials):
            coefficients = {
                j: -drift[e] if sign > 0 else drift[e]
                for j, drift in enumerate(drifts)
                if e in drift
            }
            right = cost.get(e, zero)
            on_bound = sign if e == constant else 0
            if coefficients or on_bound or not right.num.is_zero():
                rows.append(Row(k, e, coefficients, on_bound, right if sign > 0 else -right))
        if positive:
            rows += _bounded_below(table, k)
    return Program(table, direction, tuple(_distinct(rows)))


def _bounded_below(table: DriftTable, k: int) -> list[Row]:
    still = (0,) * len(table.model.state)
    values = [values_on(term, table.pieces[k], still) for term in table.terms]
    monomials = sorted({e for value in values for e in value if any(e)})
    return [
        Row(
            k,
            e,
            {j: table.ring.integer(value[e]) for j, value in enumerate(values) if e in value},
            0,
            table.ring.zero,
        )
        for e in monomials
    ]


def _distinct(rows: Sequence[Row]) -> list[Row]:
    seen: list[tuple[Any, ...]] = []
    kept = []
    for row in rows:
        key = (row.coefficients, row.on_bound, row.right)
        if key not in seen:
            seen.append(key)
            kept.append(row)
    return kept


@dataclass(frozen=True)
class Numbers:
    """A program at a rational point: ``matrix z >= right``, exact."""

    matrix: tuple[dict[int, fmpq], ...]
    right: tuple[fmpq, ...]
    width: int


def at_point(found: Program, values: Mapping[str, Fraction]) -> Numbers:
    """The rows of the program with the parameters replaced by numbers."""
    ring = found.table.ring
    point = ring.point(values)

    def number(value: Ratio) -> fmpq:
        return ring.evaluate(value.num, point) / ring.evaluate(value.den, point)

    matrix = []
    for row in found.rows:
        entries = {j: number(c) for j, c in row.coefficients.items()}
        if row.on_bound:
            entries[found.width - 1] = fmpq(row.on_bound)
        matrix.append({j: c for j, c in entries.items() if c != 0})
    return Numbers(tuple(matrix), tuple(number(row.right) for row in found.rows), found.width)


class Unbounded(Exception):
    """The program has no finite optimum or no feasible point; `status` is HiGHS's word."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def solve(numbers: Numbers, direction: Direction) -> Vertex:
    """An optimal vertex, exact. Raises `Unbounded` where there is none."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    sign = 1.0 if direction == "<=" else -1.0
    objective = np.zeros(numbers.width)
    objective[-1] = sign
    data = [(i, j, float(c)) for i, row in enumerate(numbers.matrix) for j, c in row.items()]
    i, j, c = zip(*data, strict=True)
    scale = np.array(
        [max(map(abs, map(float, row.values())), default=1.0) for row in numbers.matrix]
    )
    matrix = csr_array((np.array(c) / scale[list(i)], (i, j)), shape=(len(scale), numbers.width))
    right = np.array([float(b) for b in numbers.right]) / scale
    answer = linprog(objective, A_ub=-matrix, b_ub=-right, bounds=(None, None), method="highs-ds")
    if answer.status != 0:
        raise Unbounded({2: "infeasible", 3: "unbounded"}.get(answer.status, answer.message))
    slack = matrix @ answer.x - right
    duals = -answer.ineqlin.marginals
    # rows that carry the optimum first, then the tightest
    order = sorted(range(len(slack)), key=lambda k: (duals[k] * sign <= 1e-9, abs(slack[k])))
    tight_enough = [k for k in order if abs(slack[k]) < 1e-6 * (1 + abs(right[k]))]
    return _exact_vertex(numbers, tight_enough, direction)


def _exact_vertex(numbers: Numbers, order: Sequence[int], direction: Direction) -> Vertex:
    chosen, pivots = _independent_rows(numbers, order)
    zero = [j for j in range(numbers.width) if j not in pivots]
    size = len(chosen)
    system = fmpq_mat(
        size, size, [numbers.matrix[k].get(j, fmpq(0)) for k in chosen for j in pivots]
    )
    right = fmpq_mat(size, 1, [numbers.right[k] for k in chosen])
    solution = system.solve(right)
    z = [fmpq(0)] * numbers.width
    for n, j in enumerate(pivots):
        z[j] = solution[n, 0]
    if not feasible(numbers, z):
        raise Unbounded("not solved exactly: the tight rows of the optimum are not consistent")
    return Vertex(
        tuple(Fraction(int(x.p), int(x.q)) for x in z),
        tuple(chosen),
        tuple(zero),
        _is_optimal(numbers, system, pivots, direction),
    )


def feasible(numbers: Numbers, z: Sequence[fmpq]) -> bool:
    """Whether a point satisfies every row, exactly."""
    return all(
        sum((c * z[j] for j, c in row.items()), fmpq(0)) >= b
        for row, b in zip(numbers.matrix, numbers.right, strict=True)
    )


def _is_optimal(
    numbers: Numbers, system: fmpq_mat, pivots: Sequence[int], direction: Direction
) -> bool:
    """Whether nonnegative multipliers of the tight rows give the objective exactly."""
    size = len(pivots)
    if numbers.width - 1 not in pivots:
        return False
    sign = 1 if direction == "<=" else -1
    target = fmpq_mat(size, 1, [fmpq(sign if j == numbers.width - 1 else 0) for j in pivots])
    multipliers = system.transpose().solve(target)
    return all(multipliers[k, 0] >= 0 for k in range(size))


def _independent_rows(numbers: Numbers, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The first independent rows, and pivot columns that make them a square system."""
    dense = fmpq_mat(
        len(order),
        numbers.width,
        [numbers.matrix[k].get(j, fmpq(0)) for k in order for j in range(numbers.width)],
    )
    by_rows = _pivots(dense.transpose())
    chosen = [order[k] for k in by_rows]
    square = fmpq_mat(
        len(chosen),
        numbers.width,
        [numbers.matrix[k].get(j, fmpq(0)) for k in chosen for j in reversed(range(numbers.width))],
    )
    return chosen, sorted(numbers.width - 1 - j for j in _pivots(square))


def _pivots(matrix: fmpq_mat) -> list[int]:
    reduced, rank = matrix.rref()
    found: list[int] = []
    for r in range(rank):
        start = found[-1] + 1 if found else 0
        found.append(next(j for j in range(start, reduced.ncols()) if reduced[r, j] != 0))
    return found
