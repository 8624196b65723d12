"""The packets that wait: all their timestamps, or only that of the oldest packet of each queue."""

from __future__ import annotations

from typing import Protocol

import numpy as np

EMPTY = 2**40
"""The timestamp of the oldest packet of a queue that will not have one."""


class Waiting(Protocol):
    """Queues of packets; `oldest` (queues, R) are timestamps, in the future for an empty queue."""

    oldest: np.ndarray

    def arrive(self, t: int, jobs: np.ndarray) -> None:
        """What happens at the beginning of step t."""
        ...

    def remove(self, served: np.ndarray, jobs: np.ndarray) -> None:
        """The oldest packets of the queues that are served leave; may change the jobs."""
        ...

    def sizes(self, t: int) -> np.ndarray:
        """The queue sizes at the beginning of step t, or their conditional means."""
        ...


class Deferred:
    """The dual model: the timestamp of the oldest packet, or of the next one to arrive.

    The next packet of a queue is drawn when its oldest one is served: the time between them is
    geometric (jobs are these times). Given the ages T, the queue sizes are independent, 0 for
    T = 0 and 1 + Bin(T - 1, lambda) otherwise, and `sizes` gives their means.
    """

    def __init__(self, first_times: np.ndarray, lam: np.ndarray) -> None:
        self.oldest = first_times - 1
        self._lam = lam[:, None]

    def arrive(self, t: int, jobs: np.ndarray) -> None:
        pass

    def remove(self, served: np.ndarray, jobs: np.ndarray) -> None:
        np.multiply(jobs, served, out=jobs)
        self.oldest += jobs

    def sizes(self, t: int) -> np.ndarray:
        return mean_sizes(np.maximum(t - self.oldest, 0), self._lam)


def mean_sizes(ages: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """The mean queue size of given age T: 1 + lambda (T - 1) for T >= 1, and 0 for T = 0.

    >>> mean_sizes(np.array([0, 1, 5]), np.array([0.25]))
    array([0., 1., 2.])
    """
    return np.where(ages >= 1, 1 + lam * (ages - 1), 0.0)


class Fifo:
    """The standard model: the timestamps of all packets, in a ring for each queue.

    `jobs` tells which queues have an arrival.
    """

    def __init__(self, queues: int, replications: int) -> None:
        shape = queues, replications
        self.oldest = np.full(shape, EMPTY)
        self.lengths = np.zeros(shape, dtype=np.int64)
        self._head = np.zeros(shape, dtype=np.int64)
        self._ring = np.zeros((16, *shape), dtype=np.int64)
        self._rows, self._columns = np.indices(shape)

    def arrive(self, t: int, jobs: np.ndarray) -> None:
        if self.lengths.max() == len(self._ring):
            self._grow()
        tail = (self._head + self.lengths)[jobs] % len(self._ring)
        self._ring[tail, self._rows[jobs], self._columns[jobs]] = t
        self.oldest[jobs & (self.lengths == 0)] = t
        self.lengths += jobs

    def remove(self, served: np.ndarray, jobs: np.ndarray) -> None:
        self._head[served] += 1
        self._head %= len(self._ring)
        self.lengths -= served
        following = self._ring[self._head[served], self._rows[served], self._columns[served]]
        self.oldest[served] = np.where(self.lengths[served] > 0, following, EMPTY)

    def sizes(self, t: int) -> np.ndarray:
        return self.lengths

    def _grow(self) -> None:
        """Twice the room, with the heads at 0."""
        size = len(self._ring)
        places = (np.arange(size)[:, None, None] + self._head) % size
        ring = np.zeros((2 * size, *self._head.shape), dtype=np.int64)
        ring[:size] = np.take_along_axis(self._ring, places, axis=0)
        self._ring = ring
        self._head[:] = 0
