"""Central schedulers, which see the ages of all queues: a baseline for queues that learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qtheory.arithmetic import exact
from qtheory.errors import ModelError
from qtheory.learning.learners import SUM_TOLERANCE

MANY = 2**62


@dataclass(frozen=True)
class AgeGreedy:
    """The oldest packet goes to the fastest server, the next oldest to the next server, ...

    Packets of equal age are ordered by their queues. It needs the order of the servers only, and
    is strongly stable whenever lambda_1 + ... + lambda_k < mu_1 + ... + mu_k for all k, with both
    sorted decreasingly, for the k oldest packets are served at the rate mu_1 + ... + mu_k.
    """

    def start(self, queues: int, servers: tuple[int, ...], replications: int) -> np.ndarray:
        # queues beyond the last server, and those without a packet, stay silent
        return np.array([*servers[:queues], *[-1] * (queues + 1 - len(servers[:queues]))])

    def assign(
        self, memory: np.ndarray, uniforms: np.ndarray, ages: np.ndarray, sends: np.ndarray, t: int
    ) -> np.ndarray:
        queues = len(ages)
        keys = np.arange(queues)[:, None] - ages * queues
        keys[~sends] = MANY
        places = np.zeros(keys.shape, dtype=np.int64)
        for other in keys:
            places += other < keys
        places[~sends] = queues
        return memory[places]


@dataclass(frozen=True)
class RandomisedSchedule:
    """In each step independently an assignment of queues to servers, drawn with given weights.

    ``assignments[r][i]`` is the server of queue i, or -1 where the queue stays silent.

    >>> RandomisedSchedule(weights=("4/5", "1/5"), assignments=((0, 1), (1, 0))).weights
    (Fraction(4, 5), Fraction(1, 5))

    Raises `ModelError` unless the weights are nonnegative with sum 1 and no assignment sends two
    queues to one server.
    """

    weights: tuple[Any, ...]
    assignments: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        weights = tuple(exact(w) if isinstance(w, str) else w for w in self.weights)
        assignments = tuple(tuple(row) for row in self.assignments)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "assignments", assignments)
        if not weights or len(weights) != len(assignments):
            raise ModelError(f"{len(weights)} weights for {len(assignments)} assignments")
        if not min(weights) >= 0 or not abs(float(sum(weights)) - 1) <= SUM_TOLERANCE:
            raise ModelError(f"the weights must be >= 0 and sum to 1, got {weights}")
        for row in assignments:
            used = [server for server in row if server != -1]
            if len(set(used)) < len(used) or min(used, default=0) < 0:
                raise ModelError(f"not one server (or -1) for each queue: {row}")

    def start(self, queues: int, servers: tuple[int, ...], replications: int) -> Any:
        for row in self.assignments:
            if len(row) != queues or max(row) >= len(servers):
                raise ModelError(f"no assignment of {queues} queues to {len(servers)}: {row}")
        return np.cumsum([float(w) for w in self.weights])[:-1], np.array(self.assignments).T

    def assign(
        self, memory: Any, uniforms: np.ndarray, ages: np.ndarray, sends: np.ndarray, t: int
    ) -> np.ndarray:
        upto, servers = memory
        found: np.ndarray = servers[:, np.searchsorted(upto, uniforms[0], side="right")]
        return found
