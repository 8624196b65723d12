"""Row reduction over QQ(parameters), with polynomial rows that are kept free of common factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, content, lowest_terms

Row = dict[int, fmpz_mpoly]
"""A row by its nonzero entries: polynomial by column."""


def cleared(ring: Ring, row: Mapping[int, Ratio]) -> Row:
    """The polynomial row without a common factor that is a multiple of a row of fractions."""
    common = ring.integer(1).num
    for value in row.values():
        common = common * lowest_terms(value.den, common).num
    return _primitive({j: v.num * (common / v.den) for j, v in row.items() if not v.num.is_zero()})


def row_reduced(rows: Iterable[Row]) -> dict[int, Row]:
    """The reduced echelon form, by pivot column: no pivot column occurs in another row.

    >>> ring = Ring(())
    >>> one, two = ring.integer(1).num, ring.integer(2).num
    >>> row_reduced([{0: one, 1: one, 2: two}, {0: one, 1: two, 2: one}])
    {0: {0: 1, 2: 3}, 1: {1: 1, 2: -1}}
    """
    waiting = [row for row in rows if row]
    found: dict[int, Row] = {}
    while waiting:
        column = min(min(row) for row in waiting)
        # short rows with a short pivot keep the others short
        leading = [row for row in waiting if column in row]
        pivot = min(leading, key=lambda row: (len(row[column]), len(row)))
        waiting = [
            rest
            for row in waiting
            if row is not pivot and (rest := _eliminated(row, column, pivot))
        ]
        found[column] = pivot
    # from the last pivot up, so that each row is cleared by rows that are already final
    for column in sorted(found, reverse=True):
        for other in sorted(found):
            if other > column:
                found[column] = _eliminated(found[column], other, found[other])
    return {column: found[column] for column in sorted(found)}


def remainder(row: Mapping[int, Ratio], echelon: Mapping[int, Row]) -> dict[int, Ratio]:
    """What is left of a row when the pivot columns are eliminated from it."""
    left = {j: v for j, v in row.items() if j not in echelon}
    for column, value in row.items():
        if column not in echelon:
            continue
        pivot = echelon[column]
        for j, entry in pivot.items():
            if j != column:
                change = value * lowest_terms(entry, pivot[column])
                left[j] = left[j] - change if j in left else -change
    return {j: v for j, v in left.items() if not v.num.is_zero()}


def _eliminated(row: Row, column: int, pivot: Row) -> Row:
    """A primitive combination of two rows without the pivot's column."""
    if column not in row:
        return row
    ratio = lowest_terms(pivot[column], row[column])
    keep, share = ratio.num, ratio.den
    changed = {j: v * keep for j, v in row.items() if j != column}
    for j, v in pivot.items():
        if j != column:
            changed[j] = changed[j] - v * share if j in changed else -(v * share)
    return _primitive({j: v for j, v in changed.items() if not v.is_zero()})


def _primitive(row: Row) -> Row:
    common = content(row.values())
    return row if common is None or common.is_one() else {j: v / common for j, v in row.items()}
