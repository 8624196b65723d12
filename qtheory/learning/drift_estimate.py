"""An estimate of the drift of a potential from simulated paths: an illustration, not a proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qtheory.errors import ModelError


@dataclass(frozen=True)
class DriftBin:
    """What the potential did from levels in [low, high), with its 95 % interval."""

    low: float
    high: float
    count: int
    drift: float
    half_width: float
    third_moment: float

    @property
    def is_negative(self) -> bool:
        """Whether the whole interval is below 0."""
        return self.drift + self.half_width < 0


@dataclass(frozen=True, repr=False)
class DriftEstimate:
    """Mean changes of a potential by its level before the change; estimated."""

    bins: tuple[DriftBin, ...]
    replications: int

    def __iter__(self) -> Any:
        return iter(self.bins)

    def __getitem__(self, k: int) -> DriftBin:
        return self.bins[k]

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("level", "count", "drift", "±", "E|change|^3")]
        for own in self.bins:
            cells = (own.drift, own.half_width, own.third_moment)
            rows.append(
                (
                    f"[{own.low:g}, {own.high:g})",
                    str(own.count),
                    *("unknown" if math.isnan(value) else f"{value:.4g}" for value in cells),
                )
            )
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        title = f"drift estimated from {self.replications} replications, 95 % intervals, no proof"
        return "\n".join([title, *(f"  {line}" for line in lines)])


def estimate_drift(levels: Any, edges: Sequence[float]) -> DriftEstimate:
    """The mean change of a potential from one record to the next, by the level it starts from.

    `levels` has shape (replications, records), such as `LearningRun.potential`; bin k is
    ``[edges[k], edges[k + 1])``. For each bin: the number of changes, their mean with a 95 %
    interval from the replications (ratio estimator, so that changes of one path may depend on
    each other), and their third absolute moment. The theorem of Pemantle and Rosenthal (1999)
    needs a negative drift above some level after *every* history and bounded moments of order
    p > 2; the estimate only illustrates it.

    >>> walk = np.array([[0, 1, 2, 1, 2], [2, 1, 2, 1, 0]])
    >>> print(estimate_drift(walk, [0, 1.5, 3]))
    drift estimated from 2 replications, 95 % intervals, no proof
         level  count   drift      ±  E|change|^3
      [0, 1.5)      5     0.6  6.099            1
      [1.5, 3)      3      -1      0            1

    Raises `ModelError` for other shapes, less than 2 replications, and edges that do not increase.
    """
    from scipy.special import stdtrit

    found = np.asarray(levels, dtype=float)
    if found.ndim != 2 or found.shape[0] < 2 or found.shape[1] < 2:
        raise ModelError(
            f"levels need the shape (replications >= 2, records >= 2), got {found.shape}"
        )
    ends = np.asarray(edges, dtype=float)
    if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0).all():
        raise ModelError(f"edges must be at least two increasing numbers, got {edges}")
    replications = len(found)
    quantile = float(stdtrit(replications - 1, 0.975))
    before, changes = found[:, :-1], np.diff(found, axis=1)
    bins = []
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        inside = (before >= low) & (before < high)
        counts = inside.sum(axis=1)
        total = int(counts.sum())
        if total == 0:
            bins.append(DriftBin(low, high, 0, math.nan, math.nan, math.nan))
            continue
        sums = np.where(inside, changes, 0).sum(axis=1)
        drift = sums.sum() / total
        spread = ((sums - drift * counts) ** 2).sum() * replications / (replications - 1)
        # paths that never were there say nothing about the error
        known = (counts > 0).sum() > 1
        half_width = quantile * math.sqrt(spread) / total if known else math.nan
        third = float((np.abs(changes[inside]) ** 3).mean())
        bins.append(DriftBin(low, high, total, float(drift), half_width, third))
    return DriftEstimate(tuple(bins), replications)
