"""Finite two-player games with rational payoffs: all extreme equilibria, exactly.

The vertices of the two best-reply polyhedra are enumerated over the rationals; the completely
labelled pairs of vertices are the extreme equilibria, and every equilibrium is a convex
combination of those in one maximal Nash subset (Winkels 1979; Avis, Rosenberg, Savani, von
Stengel 2010). Nothing is lost in degenerate games.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

from flint import fmpq, fmpq_mat

from qtheory.arithmetic import exact, to_fmpq
from qtheory.errors import DomainError

BASES_LIMIT = 200_000
"""The most sets of tight constraints that are tried for one polyhedron."""

Strategy = tuple[Fraction, ...]


@dataclass(frozen=True)
class FiniteEquilibria:
    """All equilibria of a finite game: the extreme ones, and the sets that they span.

    A maximal Nash subset is a pair (rows, columns) of lists of vertices: every mixture of the
    first played against every mixture of the second is an equilibrium. The union of these sets
    is the set of all equilibria.
    """

    extreme: tuple[tuple[Strategy, Strategy], ...]
    subsets: tuple[tuple[tuple[Strategy, ...], tuple[Strategy, ...]], ...]

    def __len__(self) -> int:
        return len(self.extreme)

    @property
    def is_finite(self) -> bool:
        """Whether there are no equilibria besides the extreme ones."""
        return all(len(rows) == len(columns) == 1 for rows, columns in self.subsets)

    @cached_property
    def components(self) -> tuple[tuple[tuple[Strategy, Strategy], ...], ...]:
        """The extreme equilibria by connected component of the set of equilibria."""
        groups: list[set[tuple[Strategy, Strategy]]] = []
        for rows, columns in self.subsets:
            merged = {(x, y) for x in rows for y in columns}
            apart = [group for group in groups if not group & merged]
            for group in groups:
                if group & merged:
                    merged |= group
            groups = [*apart, merged]
        return tuple(tuple(sorted(group)) for group in groups)


@dataclass(frozen=True)
class Bimatrix:
    """A game in which the row player gets `rows[i][j]` and the column player `columns[i][j]`.

    Both maximise. Without `columns` the game is zero-sum.

    >>> game = bimatrix([[-3, 3], [-3, 5]], [[2, 7], [4, 2]])
    >>> for row, column in game.equilibria().extreme:
    ...     print(*row, "|", *column)
    0 1 | 1 0
    2/7 5/7 | 1 0
    >>> game.regret(["1/7", "6/7"], [1, 0])
    Fraction(0, 1)
    """

    rows: tuple[Strategy, ...]
    columns: tuple[Strategy, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self.rows), len(self.rows[0])

    def regret(self, row: Sequence[Any], column: Sequence[Any]) -> Fraction:
        """The most that a player gains by a deviation from mixed strategies, exactly.

        It is 0 if and only if they are an equilibrium. Raises `DomainError` for weights that are
        no probabilities.
        """
        x, y = self._strategy(row, 0), self._strategy(column, 1)
        by_row = [_dot(line, y) for line in self.rows]
        by_column = [_dot(line, x) for line in zip(*self.columns, strict=True)]
        return max(max(by_row) - _dot(x, by_row), max(by_column) - _dot(y, by_column))

    def _strategy(self, weights: Sequence[Any], side: int) -> Strategy:
        found = tuple(map(exact, weights))
        if len(found) != self.shape[side]:
            raise DomainError(f"a strategy needs {self.shape[side]} weights, got {len(found)}")
        if sum(found) != 1 or min(found) < 0:
            raise DomainError(f"not probabilities: {', '.join(map(str, found))}")
        return found

    def equilibria(self) -> FiniteEquilibria:
        """All extreme equilibria and the maximal Nash subsets.

        Raises `DomainError` for a game too large to enumerate.
        """
        m, n = self.shape
        if comb(m + n, min(m, n)) > BASES_LIMIT:
            raise DomainError(f"a game of {m} x {n} is too large to enumerate all equilibria")
        # labels 0..m-1 are rows, m..m+n-1 columns: own actions unplayed, others' best replies
        first = _vertices(_positive(zip(*self.columns, strict=True)), range(m), range(m, m + n))
        second = _vertices(_positive(self.rows), range(m, m + n), range(m))
        whole = frozenset(range(m + n))
        meets = {
            x: frozenset(y for y, other in second.items() if labels | other == whole)
            for x, labels in first.items()
        }
        pairs = tuple(sorted((x, y) for x, partners in meets.items() for y in partners))
        return FiniteEquilibria(pairs, _bicliques(meets))


def bimatrix(
    rows: Iterable[Iterable[Any]], columns: Iterable[Iterable[Any]] | None = None
) -> Bimatrix:
    """The game with these payoffs, read exactly (0.1 is one tenth); zero-sum without `columns`.

    Raises `DomainError` when the matrices are empty, ragged or of different shapes.
    """
    first = tuple(tuple(map(exact, line)) for line in rows)
    second = (
        tuple(tuple(-entry for entry in line) for line in first)
        if columns is None
        else tuple(tuple(map(exact, line)) for line in columns)
    )
    if not first or not first[0] or len({len(line) for line in (*first, *second)}) != 1:
        raise DomainError("a game needs two payoff matrices of one shape, without gaps")
    if len(first) != len(second):
        raise DomainError(f"the payoff matrices have {len(first)} and {len(second)} rows")
    return Bimatrix(first, second)


def _dot(left: Iterable[Fraction], right: Iterable[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _positive(lines: Iterable[Iterable[Fraction]]) -> list[list[Fraction]]:
    """The payoffs plus a constant that makes them positive: equilibria stay the same."""
    table = [list(line) for line in lines]
    shift = 1 - min(map(min, table))
    return [[entry + shift for entry in line] for line in table]


def _vertices(
    payoffs: list[list[Fraction]], own: Sequence[int], other: Sequence[int]
) -> dict[Strategy, frozenset[int]]:
    """Strategies at the vertices of {x >= 0, payoffs x <= 1}, each with all its labels.

    `payoffs` has a line for every reply of the other player; positive payoffs make the
    polyhedron bounded, and scaling a vertex other than 0 to total weight 1 gives a strategy.
    """
    size = len(own)
    lines = [[fmpq(int(i == j)) for j in range(size)] for i in range(size)]
    lines += [[to_fmpq(entry) for entry in line] for line in payoffs]
    bounds = [fmpq(0)] * size + [fmpq(1)] * len(payoffs)
    labels = [*own, *other]
    found: dict[Strategy, frozenset[int]] = {}
    for basis in combinations(range(len(lines)), size):
        if basis[-1] < size:
            continue  # the vertex 0
        try:
            solved = fmpq_mat([lines[i] for i in basis]).solve(
                fmpq_mat(size, 1, [bounds[i] for i in basis])
            )
        except ZeroDivisionError:
            continue
        place = [solved[i, 0] for i in range(size)]
        if any(entry < 0 for entry in place):
            continue
        paid = [sum((a * b for a, b in zip(line, place, strict=True)), fmpq(0)) for line in lines]
        if any(entry > 1 for entry in paid[size:]):
            continue
        total = exact(sum(place, fmpq(0)))
        strategy = tuple(exact(entry) / total for entry in place)
        tight = (i for i, entry in enumerate(paid) if entry == bounds[i])
        found[strategy] = frozenset(labels[i] for i in tight)
    return found


def _bicliques(
    meets: dict[Strategy, frozenset[Strategy]],
) -> tuple[tuple[tuple[Strategy, ...], tuple[Strategy, ...]], ...]:
    """The maximal complete pairs of sets of the graph of extreme equilibria."""
    partners: set[frozenset[Strategy]] = set()
    for mine in meets.values():
        partners |= {mine & known for known in partners} | {mine}
    found = []
    for columns in partners:
        if columns:
            rows = tuple(sorted(x for x, mine in meets.items() if columns <= mine))
            found.append((rows, tuple(sorted(columns))))
    return tuple(sorted(found))
