"""What a simulation of learning queues gives: estimates, never anything certified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from qtheory.errors import ModelError
from qtheory.learning.learner import Learner, Scheduler
from qtheory.learning.rounds import Selection, Ties
from qtheory.learning.trace import Kind
from qtheory.learning.waiting import mean_sizes
from qtheory.model.simulation.result import Estimate

LEVEL = 0.95
"""The confidence level of the intervals, from the replications by Student's t distribution."""


@dataclass(frozen=True, repr=False, eq=False)
class LearningRun:
    """Independent replications of n queues that learn, over `steps` steps from empty queues.

    Arrays have the replications first: `ages` (R, records, n) are the ages of the oldest packets
    at the recorded `times` (0 without a packet), `lengths` (R, records, n) the queue sizes, known
    in the standard model only, and `regret` (R, windows, n) the regret of each queue in
    consecutive windows of `window` steps, if that was asked for. `interrupted` says that fewer
    replications were finished than were asked for. Indices count from 0, texts from 1.
    """

    lam: tuple[Fraction, ...]
    mu: tuple[Fraction, ...]
    learner: Learner | Scheduler | tuple[Learner, ...]
    steps: int
    seed: int
    model: Kind
    selection: Selection
    ties: Ties
    times: np.ndarray
    ages: np.ndarray
    lengths: np.ndarray | None
    window: int | None
    regret: np.ndarray | None
    interrupted: bool = False

    @property
    def replications(self) -> int:
        """How many replications were finished."""
        return len(self.ages)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Queue sizes (R, records, n), in the dual model their means given the ages."""
        if self.lengths is not None:
            return self.lengths
        return mean_sizes(self.ages, np.array([float(rate) for rate in self.lam]))

    @property
    def mean_sizes(self) -> np.ndarray:
        """The mean queue sizes (records, n) over time."""
        found: np.ndarray = self.sizes.mean(axis=0)
        return found

    @property
    def mean_ages(self) -> np.ndarray:
        """The mean ages (records, n) over time."""
        found: np.ndarray = self.ages.mean(axis=0)
        return found

    @property
    def total_size(self) -> Estimate:
        """The mean number of packets after the last step."""
        return estimate("total size", self.sizes[:, -1].sum(axis=1))

    @property
    def average_size(self) -> Estimate:
        """The mean number of packets, averaged over the records of the second half."""
        late = self.times >= self.steps / 2
        return estimate("average size", self.sizes[:, late].sum(axis=2).mean(axis=1))

    @property
    def growth(self) -> Estimate:
        """The growth of the mean number of packets per step, over the second half."""
        return estimate("growth", self._growth(self.sizes).sum(axis=1))

    @property
    def queue_growths(self) -> tuple[Estimate, ...]:
        """The growth of the mean size of each queue per step, over the second half."""
        rows = self._growth(self.sizes).T
        return tuple(estimate(f"growth of queue {i}", row) for i, row in enumerate(rows, 1))

    @property
    def age_growths(self) -> tuple[Estimate, ...]:
        """The growth of the mean age of each queue per step, over the second half."""
        rows = self._growth(self.ages).T
        return tuple(estimate(f"age growth of queue {i}", row) for i, row in enumerate(rows, 1))

    @property
    def regret_per_step(self) -> tuple[Estimate, ...]:
        """The mean regret of each queue in a window, divided by its steps.

        Raises `ModelError` where the regret was not recorded.
        """
        if self.regret is None or self.window is None:
            raise ModelError("no regret was recorded: simulate with a window")
        rows = self.regret.mean(axis=1).T / self.window
        return tuple(estimate(f"regret of queue {i}", row) for i, row in enumerate(rows, 1))

    @property
    def potential(self) -> np.ndarray:
        """The potential Phi = sqrt(sum_i lambda_i T_i^2) of the ages (R, records)."""
        lam = np.array([float(rate) for rate in self.lam])
        found: np.ndarray = np.sqrt((lam * self.ages.astype(float) ** 2).sum(axis=2))
        return found

    @property
    def _half(self) -> int:
        """The last record of the first half."""
        return int(np.searchsorted(self.times, self.steps / 2, side="right")) - 1

    def _growth(self, values: np.ndarray) -> np.ndarray:
        """Changes per step over the second half (R, n): its two ends give an unbiased slope."""
        change: np.ndarray = values[:, -1] - values[:, self._half]
        return change / (self.steps - int(self.times[self._half]))

    def __repr__(self) -> str:
        head = ("queue", "lambda", "size at the end", "growth per step", "regret per step")
        rows: list[tuple[str, ...]] = [head]
        regret: Sequence[Any] = [None] * len(self.lam)
        if self.regret is not None:
            regret = self.regret_per_step
        sizes = [estimate("size", row) for row in self.sizes[:, -1].T]
        for i, rate in enumerate(self.lam):
            own = (sizes[i], self.queue_growths[i], regret[i])
            rows.append((str(i + 1), str(rate), *map(_cell, own)))
        rows.append(("total", str(sum(self.lam)), _cell(self.total_size), _cell(self.growth), ""))
        if self.regret is None:
            rows = [row[:-1] for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        order = "oldest packet first" if self.selection == "oldest" else "random packet first"
        return "\n".join(
            [
                f"{_names(self.learner)} at servers of rates {', '.join(map(str, self.mu))}",
                *(f"  {line.rstrip()}" for line in table),
                f"  estimated with {LEVEL * 100:g} % intervals from {self.replications} "
                f"replication{'s' * (self.replications > 1)} of {self.steps} steps, "
                f"seed {self.seed}",
                f"  {self.model} model, {order}; queues count from 1",
                *(["  interrupted: the finished replications only"] if self.interrupted else []),
            ]
        )


def estimate(name: str, values: np.ndarray) -> Estimate:
    """The mean of independent values with its interval; no interval where they do not vary."""
    from scipy.special import stdtrit

    count = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    error = error if error > 0 else math.nan
    quantile = float(stdtrit(count - 1, (1 + LEVEL) / 2)) if count > 1 else math.nan
    return Estimate(name, float(values.mean()), error, quantile * error, LEVEL)


def _cell(found: Estimate | None) -> str:
    return "" if found is None else " ± ".join(found.columns)


def _names(learner: Any) -> str:
    if not isinstance(learner, tuple):
        return str(learner)
    names = [str(one) for one in learner]
    return ", ".join(names)
