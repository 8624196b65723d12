"""Units of measurement: scalings of the parameters that only rescale the rows of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

from flint import fmpq_mat, fmpz_mpoly

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Grading:
    """Parameters that may be set to 1, and how their powers come back.

    Each parameter s in `units` has whole numbers ``degrees[s]``, one for each parameter, zero for
    the other units, in which all rates out of state i are homogeneous, of degree
    ``row_degrees[s][i]``. The weight of state i is then homogeneous, and its degree plus that of
    row i is the same for all states.
    """

    units: tuple[int, ...]
    degrees: Mapping[int, tuple[int, ...]]
    row_degrees: Mapping[int, tuple[int, ...]]

    def restore(self, states: np.ndarray, exponents: np.ndarray) -> None:
        """Fill in the exponents of the units, as small as they can be.

        Column t of `exponents` belongs to a monomial in the weight of ``states[t]``.
        """
        import numpy as np

        for s in self.units:
            exponents[s] = 0
            missing = -np.array(self.degrees[s]) @ exponents - np.array(self.row_degrees[s])[states]
            exponents[s] = (missing - missing.min()) // self.degrees[s][s]


def grading(rows: Sequence[Mapping[int, fmpz_mpoly]], count: int) -> Grading:
    """The units of a chain with polynomial rates in so many parameters.

    If every rate is a multiple of one of several speeds, one speed may be set to 1.

    >>> from flint import Ordering, fmpz_mpoly_ctx
    >>> a, b = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex).gens()
    >>> grading([{1: a}, {0: b, 2: a}, {1: b}], 2).units
    (1,)
    """
    firsts: list[tuple[int, ...]] = []
    differences: set[tuple[int, ...]] = set()
    for row in rows:
        monomials = [tuple(map(int, e)) for rate in row.values() for e in rate.monoms()]
        first = monomials[0] if monomials else (0,) * count
        firsts.append(first)
        differences.update(
            tuple(x - y for x, y in zip(exponents, first, strict=True)) for exponents in monomials
        )
    table = [list(row) for row in sorted(differences)] or [[0] * count]
    reduced, rank = fmpq_mat(table).rref()
    pivots = [next(j for j in range(count) if reduced[i, j] != 0) for i in range(rank)]
    units = tuple(j for j in range(count) if j not in pivots)
    degrees = {}
    for s in units:
        scale = lcm(*(int(reduced[i, s].q) for i in range(rank)))
        found = [scale * int(j == s) for j in range(count)]
        for i, j in enumerate(pivots):
            found[j] = int((-reduced[i, s] * scale).p)
        degrees[s] = tuple(found)
    row_degrees = {
        s: tuple(sum(d * e for d, e in zip(degrees[s], f, strict=True)) for f in firsts)
        for s in units
    }
    return Grading(units, degrees, row_degrees)
