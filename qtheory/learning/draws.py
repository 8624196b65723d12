"""The random numbers of a simulation, block by block, the same however it is cut into parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

STREAM = 256
"""Replications that share a stream of random numbers."""

BLOCK = 8
"""Steps whose numbers are drawn at a time, few enough for a processor's cache."""

WORDS = 2**32
"""All random numbers are made of 32 bits."""

PRIORITIES = 2**24
"""Random priorities are below this; what is still equal is ordered by queue."""

RARE = 2**-8
"""With a smaller arrival rate, times between arrivals are computed in double precision."""

LONGEST = 2.0**40
"""No time between two arrivals is longer than this."""


class Supply(NamedTuple):
    """The random numbers of one step for R replications, valid until the next step.

    `coins` (servers, R): whether each server would succeed; `uniforms` (queues, R): for the
    strategies; `jobs` (queues, R): whether a packet arrives (standard model) or the time until
    the arrival after the oldest packet, should that be served (dual model); `priorities`
    (queues, R) where servers or ties choose at random.
    """

    coins: np.ndarray
    uniforms: np.ndarray
    jobs: np.ndarray
    priorities: np.ndarray | None


class Draws:
    """The random numbers of the replications `members`, from a seed.

    A replication has the same numbers in every run with its seed, rates and number of queues.
    A geometric time is ``floor(log u / log(1 - lambda)) + 1`` with u uniform on (0, 1].
    """

    def __init__(
        self, seed: int, members: range, lam: np.ndarray, mu: np.ndarray, prioritised: bool
    ) -> None:
        self._lam, self._mu, self._prioritised = lam, mu, prioritised
        self._float = np.float64 if lam.min() < RARE else np.float32
        with np.errstate(divide="ignore"):
            self._scale = (1 / np.log1p(-lam[:, None])).astype(self._float)
        self._own = [
            range(max(members.start, s * STREAM), min(members.stop, (s + 1) * STREAM))
            for s in range(members.start // STREAM, -(-members.stop // STREAM))
        ]
        self.members = members
        self._bits = [
            np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(own.start // STREAM,)))
            for own in self._own
        ]
        self._first = np.empty((1, len(lam), len(members)), dtype=np.int64)
        self._times(self._words(1, len(lam)), self._first)

    def _words(self, steps: int, rows: int) -> np.ndarray:
        """Numbers of 32 bits, of shape (steps, rows, replications)."""
        words = np.empty((steps, rows, len(self.members)), dtype=np.uint32)
        for bits, own in zip(self._bits, self._own, strict=True):
            drawn = bits.random_raw(steps * rows * STREAM // 2).view(np.uint32)
            skipped, begin = own.start % STREAM, own.start - self.members.start
            words[:, :, begin : begin + len(own)] = drawn.reshape(steps, rows, STREAM)[
                :, :, skipped : skipped + len(own)
            ]
        return words

    def _times(self, words: np.ndarray, out: np.ndarray) -> None:
        # an odd number is not 0
        u: np.ndarray = np.bitwise_or(words, 1, out=words).astype(self._float)
        np.multiply(u, 1 / WORDS, out=u)
        np.log(u, out=u)
        np.multiply(u, self._scale, out=u)
        if u.dtype == np.float64:
            np.minimum(u, LONGEST, out=u)
            np.add(u.astype(np.int64), 1, out=out)
        else:
            np.add(u.astype(np.int32), 1, out=out)

    def first_times(self) -> np.ndarray:
        """The times until the first arrivals (1 for an arrival at step 0)."""
        return self._first[0]

    def steps(self, count: int, arrivals: bool) -> Iterator[Supply]:
        """The numbers of so many steps, with arrivals (or else times between them)."""
        queues, servers, replications = len(self._lam), len(self._mu), len(self.members)
        coins = np.empty((BLOCK, servers, replications), dtype=bool)
        uniforms = np.empty((BLOCK, queues, replications))
        jobs = np.empty((BLOCK, queues, replications), dtype=bool if arrivals else np.int64)
        priorities = np.empty((BLOCK, queues, replications), dtype=np.int64)
        uniform, job, priority = servers, servers + queues, servers + 2 * queues
        rows = priority + (queues if self._prioritised else 0)
        served, arrived = _Successes(self._mu), _Successes(self._lam)
        for begin in range(0, count, BLOCK):
            # whole blocks, so that a run is the beginning of every longer one
            words = self._words(BLOCK, rows)
            served(words[:, :uniform], coins)
            np.multiply(words[:, uniform:job], 1 / WORDS, out=uniforms)
            if arrivals:
                arrived(words[:, job:priority], jobs)
            else:
                self._times(words[:, job:priority], jobs)
            if self._prioritised:
                np.floor_divide(words[:, priority:], WORDS // PRIORITIES, out=priorities)
            for k in range(min(BLOCK, count - begin)):
                own = priorities[k] if self._prioritised else None
                yield Supply(coins[k], uniforms[k], jobs[k], own)


class _Successes:
    """Whether events with given probabilities happen; 0 and 1 are never and always."""

    def __init__(self, rates: np.ndarray) -> None:
        self._last = np.maximum(np.ceil(rates * WORDS) - 1, 0).astype(np.uint32)[:, None]
        self._never = np.flatnonzero(rates == 0)

    def __call__(self, words: np.ndarray, out: np.ndarray) -> None:
        np.less_equal(words, self._last, out=out)
        if self._never.size:
            out[:, self._never] = False
