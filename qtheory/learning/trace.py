"""Paths from given arrivals and coins, in the standard and in the dual model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qtheory.errors import ModelError
from qtheory.learning.draws import PRIORITIES, Supply
from qtheory.learning.learner import Learner, Scheduler
from qtheory.learning.rounds import Deciders, Priority, Selection, Ties, counterfactuals, rounds
from qtheory.learning.waiting import EMPTY, Fifo, Waiting

Kind = Literal["dual", "standard"]


@dataclass(frozen=True, repr=False, eq=False)
class Trace:
    """Paths of R replications over T steps, with n queues and m servers.

    `sizes` (T + 1, n, R) are the queue sizes at the beginning of each step and at the end; the
    other arrays have a row for each step: `ages` (T, n, R) of the oldest packets, 0 without one;
    `sends` (T, n, R): whether there is a packet; `choices` (T, n, R) the servers, -1 for none;
    `keys` (T, n, R): of two packets at a server the one with the smaller key is selected; `coins`
    (T, m, R); `served` (T, n, R); and the counterfactual indicators S^{i,j}: `would_be_served`
    (T, n, m, R).
    """

    sizes: np.ndarray
    ages: np.ndarray
    sends: np.ndarray
    choices: np.ndarray
    keys: np.ndarray
    coins: np.ndarray
    served: np.ndarray
    would_be_served: np.ndarray

    def __len__(self) -> int:
        return len(self.served)

    def __repr__(self) -> str:
        steps, queues, servers, replications = self.would_be_served.shape
        return f"Trace({steps} steps, {queues} queues, {servers} servers, {replications} paths)"

    def regret(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """The regret of each queue in the steps start, ..., stop - 1, of shape (n, R).

        max_j sum_t S^{i,j}_t - sum_t S^i_t; it can be negative. Raises `ModelError` for a window
        outside the path.
        """
        within = self._window(start, stop)
        gains = self.would_be_served[within].sum(axis=0)
        found: np.ndarray = gains.max(axis=1) - self.served[within].sum(axis=0)
        return found

    def _window(self, start: int, stop: int | None) -> slice:
        end = len(self) if stop is None else stop
        if not 0 <= start < end <= len(self):
            raise ModelError(
                f"no window of the steps 0, ..., {len(self) - 1}: from {start} to {end}"
            )
        return slice(start, end)


def trace(
    arrivals: Any,
    coins: Any,
    strategy: Learner | Scheduler | Sequence[Learner],
    uniforms: Any = None,
    *,
    model: Kind = "dual",
    selection: Selection = "oldest",
    ties: Ties = "index",
    priorities: Any = None,
) -> Trace:
    """The path that given arrivals, coins and private random numbers lead to.

    `arrivals` (T, n) or (T, n, R), `coins` (T, m) or (T, m, R) are 0 or 1, `uniforms` like the
    arrivals are the private numbers of the strategies (0 by default), and `priorities` like the
    arrivals are random numbers of [0, 1) for a random selection or random ties. In the dual model
    the times between arrivals are those of the given arrivals. Both models give the same path
    (Gaitonde, Tardos 2020); in the dual model the size of a queue is the number of arrivals since
    its timestamp.

    >>> from qtheory.learning import Mixed
    >>> path = trace([[1], [1], [0]], [[0], [1], [1]], Mixed((1,)))
    >>> path.sizes[:, 0, 0].tolist(), path.ages[:, 0, 0].tolist()
    ([0, 1, 1, 0], [0, 1, 1])

    Raises `ModelError` for arrays that do not fit.
    """
    jobs, successes = _array("arrivals", arrivals), _array("coins", coins)
    steps, queues, replications = jobs.shape
    if successes.shape[::2] != jobs.shape[::2] or not (steps and queues and successes.shape[1]):
        raise ModelError(f"arrivals of shape {jobs.shape} and coins of shape {successes.shape}")
    private = np.zeros(jobs.shape) if uniforms is None else _array("uniforms", uniforms, float)
    priority = Priority(selection, ties)
    if priority.is_random and priorities is None:
        raise ModelError("a random order of the packets needs priorities")
    order = None
    if priorities is not None:
        order = (_array("priorities", priorities, float) * PRIORITIES).astype(np.int64)
    for name, given in (("uniforms", private), ("priorities", order)):
        if given is not None and given.shape != jobs.shape:
            raise ModelError(f"{name} of shape {given.shape}, arrivals of shape {jobs.shape}")
    if model not in ("dual", "standard"):
        raise ModelError(f"model must be 'dual' or 'standard', got {model!r}")
    waiting: Waiting = _Replayed(jobs) if model == "dual" else Fifo(queues, replications)
    # the order of the servers by their rates, which a central rule may use, is that of their index
    rates = range(successes.shape[1], 0, -1)
    deciders = Deciders(strategy, queues, rates, replications)
    supplies = (
        Supply(successes[t], private[t], jobs[t], None if order is None else order[t])
        for t in range(steps)
    )
    sizes, rows, gains = [waiting.sizes(0).copy()], [], []
    for step in rounds(waiting, deciders, supplies, priority):
        sizes.append(waiting.sizes(step.t + 1).copy())
        rows.append((step.ages, step.sends, step.choices, step.keys, step.served))
        gains.append(counterfactuals(step))
    ages, sends, choices, keys, served = (np.array(column) for column in zip(*rows, strict=True))
    return Trace(np.array(sizes), ages, sends, choices, keys, successes, served, np.array(gains))


class _Replayed:
    """The dual model, with the times between given arrivals (T, n, R)."""

    def __init__(self, arrivals: np.ndarray) -> None:
        steps = len(arrivals)
        self._counts = np.zeros((steps + 1, *arrivals.shape[1:]), dtype=np.int64)
        np.cumsum(arrivals, axis=0, out=self._counts[1:])
        # the first arrival at step t or later
        self._next = np.full((steps + 1, *arrivals.shape[1:]), EMPTY)
        for t in range(steps - 1, -1, -1):
            self._next[t] = np.where(arrivals[t], t, self._next[t + 1])
        self.oldest = self._next[0].copy()

    def arrive(self, t: int, jobs: np.ndarray) -> None:
        pass

    def remove(self, served: np.ndarray, jobs: np.ndarray) -> None:
        rows, columns = np.nonzero(served)
        self.oldest[served] = self._next[self.oldest[served] + 1, rows, columns]

    def sizes(self, t: int) -> np.ndarray:
        earlier = np.take_along_axis(self._counts, np.minimum(self.oldest, t)[None], axis=0)[0]
        return self._counts[t] - earlier


def _array(name: str, given: Any, dtype: type = bool) -> np.ndarray:
    found = np.asarray(given)
    if found.ndim == 2:
        found = found[:, :, None]
    if found.ndim != 3:
        raise ModelError(f"{name} must have shape (steps, number) or (steps, number, replications)")
    if dtype is bool and not np.isin(found, (0, 1)).all():
        raise ModelError(f"{name} must be 0 or 1")
    if dtype is float and not ((found >= 0) & (found < 1)).all():
        raise ModelError(f"{name} must be at least 0 and less than 1")
    return found.astype(dtype)
