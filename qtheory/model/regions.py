"""Regions: the boxes into which the guards of a model split its lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

from qtheory.model.guards import Interval

if TYPE_CHECKING:
    from qtheory.model.model import Transition


@dataclass(frozen=True)
class Region:
    """A box of states at which the same transitions are possible.

    `intervals` holds one interval of integers for each state variable.
    """

    intervals: tuple[Interval, ...]
    transitions: tuple[Transition, ...]

    def contains(self, state: Sequence[int]) -> bool:
        """Whether a state lies in the region."""
        return all(
            interval.contains(value) for interval, value in zip(self.intervals, state, strict=True)
        )


def split(
    ranges: Sequence[Interval],
    guards: Sequence[Sequence[Interval]],
    transitions: Sequence[Transition],
    cuts: Sequence[Sequence[Interval]] = (),
) -> tuple[Region, ...]:
    """The regions of a lattice in lexicographic order; together they are the whole lattice.

    The lattice is also cut at the ends of the boxes in `cuts`.
    """
    pieces = [_cut(whole, [box[i] for box in (*guards, *cuts)]) for i, whole in enumerate(ranges)]
    return tuple(
        Region(
            box,
            tuple(
                transition
                for transition, guard in zip(transitions, guards, strict=True)
                if all(part.covers(piece) for part, piece in zip(guard, box, strict=True))
            ),
        )
        for box in product(*pieces)
    )


def _cut(whole: Interval, parts: Sequence[Interval]) -> list[Interval]:
    """An interval cut wherever one of the parts starts or ends."""
    starts = {part.low for part in parts if part.low is not None}
    starts |= {part.high + 1 for part in parts if part.high is not None}
    inner = sorted(s for s in starts if s != whole.low and whole.contains(s))
    pieces = [
        Interval(low, None if following is None else following - 1)
        for low, following in pairwise([whole.low, *inner, None])
    ]
    return [piece & whole for piece in pieces]
