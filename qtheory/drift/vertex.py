"""The optimum of a ladder for all parameters: its tight rows solved over QQ(parameters)."""

from __future__ import annotations

from collections.abc import Sequence

from qtheory.arithmetic import Ratio, Ring
from qtheory.drift.certificate import Weighted
from qtheory.drift.program import Program, Unbounded, Vertex


def symbolic_solution(posed: Program, vertex: Vertex) -> tuple[Weighted, Ratio]:
    """V and the bound over QQ(parameters) from the tight rows of a vertex.

    Raises `Unbounded` when the rows are dependent as rational functions.
    """
    ring = posed.table.ring
    columns = [j for j in range(posed.width) if j not in vertex.zero]
    rows: list[list[Ratio]] = []
    for k in vertex.tight:
        row = posed.rows[k]
        entries = dict(row.coefficients)
        if row.on_bound:
            entries[posed.width - 1] = ring.integer(row.on_bound)
        rows.append([*(entries.get(j, ring.zero) for j in columns), row.right])
    values = _solve_square(rows, ring)
    solution = dict(zip(columns, values, strict=True))
    function = tuple(
        (term, solution[j]) for j, term in enumerate(posed.table.terms) if j in solution
    )
    return function, solution.get(posed.width - 1, ring.zero)


def _solve_square(rows: list[list[Ratio]], ring: Ring) -> list[Ratio]:
    """Gauss-Jordan elimination over QQ(parameters), sparse rows and short pivots first."""
    n = len(rows)
    order: list[int] = []
    left = list(range(n))
    for _ in range(n):
        candidates = [
            (sum(not e.num.is_zero() for e in rows[i]), len(rows[i][j].num), i, j)
            for i in left
            for j in range(n)
            if j not in order and not rows[i][j].num.is_zero()
        ]
        if not candidates:
            raise Unbounded("the tight rows are dependent")
        _, _, i, j = min(candidates)
        left.remove(i)
        pivot = rows[i][j]
        rows[i] = [e / pivot if not e.num.is_zero() else e for e in rows[i]]
        for k in range(n):
            factor = rows[k][j]
            if k != i and not factor.num.is_zero():
                rows[k] = [
                    e if p.num.is_zero() else e - factor * p
                    for e, p in zip(rows[k], rows[i], strict=True)
                ]
        order.append(j)
    return _read_off(rows, n, ring)


def _read_off(rows: Sequence[Sequence[Ratio]], n: int, ring: Ring) -> list[Ratio]:
    values = [ring.zero] * n
    for row in rows:
        j = next(j for j in range(n) if not row[j].num.is_zero())
        values[j] = row[n]
    return values
