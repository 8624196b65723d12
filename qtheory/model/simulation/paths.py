"""Paths of independent replications, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from qtheory.errors import ReducibleError
from qtheory.model.simulation.kernel import Kernel

BLOCK_ENTRIES = 2**18
"""Steps of a block times replications: what fits in a processor's cache."""

LONGEST_BLOCK = 4096
"""The most steps of a block."""


class Block(NamedTuple):
    """Consecutive steps: state ``states[k]`` from ``times[k]`` until ``times[k + 1]``.

    `states` has shape (steps, variables, replications) and `times` (steps + 1, replications), or
    (steps + 1, 1) where every step takes the time 1 (`even`).
    """

    states: np.ndarray
    times: np.ndarray
    even: bool


class Streams:
    """Two streams of random numbers for each replication, one for jumps and one for clocks.

    The numbers of a replication depend on the seed and its own index alone, not on how many
    others there are or how many numbers are drawn at once.
    """

    def __init__(self, seed: int, replications: int) -> None:
        pairs = [own.spawn(2) for own in np.random.SeedSequence(seed).spawn(replications)]
        self._jumps = [np.random.default_rng(jumps) for jumps, _ in pairs]
        self._clocks = [np.random.default_rng(clocks) for _, clocks in pairs]

    def uniforms(self, steps: int) -> np.ndarray:
        """Uniform numbers of [0, 1), of shape (steps, replications)."""
        return np.ascontiguousarray(np.array([own.random(steps) for own in self._jumps]).T)

    def exponentials(self, steps: int) -> np.ndarray:
        """Exponential numbers of mean 1, of shape (steps, replications)."""
        drawn = np.array([own.standard_exponential(steps) for own in self._clocks])
        return np.ascontiguousarray(drawn.T)


def block_length(replications: int, expected: float) -> int:
    """How many steps a block has, when a replication is expected to take so many."""
    longest = min(LONGEST_BLOCK, BLOCK_ENTRIES // replications)
    return max(16, min(longest, math.ceil(expected)))


def blocks(
    kernel: Kernel, streams: Streams, start: np.ndarray, steps: int, absorb: bool = False
) -> Iterator[Block]:
    """The paths from a start of shape (variables, replications), for ever.

    Time is counted in steps where the kernel has a clock. Raises `ReducibleError` at an absorbing
    state, unless paths may end there (`absorb`) in a sojourn without end.
    """
    state = start
    clock = np.zeros((1, 1 if kernel.clock is not None else start.shape[1]))
    while True:
        states, totals = kernel.run(state, streams.uniforms(steps))
        if not absorb and totals is not None and totals.min() == 0:
            k, column = np.argwhere(totals == 0)[0]
            place = tuple(states[k, :, column].tolist())
            raise ReducibleError(f"state {place} is absorbing: it has no transition with a rate")
        if kernel.clock is not None:
            times = clock + np.arange(steps + 1.0)[:, None]
        else:
            with np.errstate(divide="ignore"):
                holds = streams.exponentials(steps) / totals
            times = np.concatenate([clock, clock + holds.cumsum(axis=0)])
        yield Block(states[:-1], times, kernel.clock is not None)
        state, clock = states[-1], times[-1:]


def record(
    upto: np.ndarray,
    carried: np.ndarray,
    values: np.ndarray,
    block: Block,
    warm_up: float,
    width: float,
) -> None:
    """Integrate functions over a block, and write down the integrals up to equidistant times.

    ``upto[:, c]`` is the integral until the time ``warm_up + c * width`` and `carried` the one
    until the end of the block, both of shape (functions, ..., replications); `values` has shape
    (functions, steps, replications). Where the block is even, these times are ends of blocks.
    """
    last = upto.shape[1] - 1
    chunk = np.floor((block.times - warm_up) / width).clip(-1, last).astype(np.int64)
    if block.even:
        carried += values.sum(axis=1)
        if chunk[-1, 0] != chunk[-2, 0]:
            upto[:, chunk[-1, 0]] = carried
        return
    collected = values * np.diff(block.times, axis=0)
    np.cumsum(collected, axis=1, out=collected)
    collected += carried[:, None]
    k, column = np.nonzero(chunk[1:] != chunk[:-1])
    # a long sojourn can pass several of the times
    mark = chunk[k, column] + 1
    while len(mark):
        left = block.times[k + 1, column] - (warm_up + mark * width)
        upto[:, mark, column] = collected[:, k, column] - values[:, k, column] * left
        more = mark < chunk[k + 1, column]
        k, column, mark = k[more], column[more], mark[more] + 1
    carried[:] = collected[:, -1]


class Cycles(NamedTuple):
    """Integrals between visits to one state: of each function, and of 1 (the lengths)."""

    integrals: np.ndarray
    lengths: np.ndarray


def cycles(
    block: Block, values: np.ndarray, at_state: np.ndarray, since: np.ndarray, horizon: float
) -> tuple[Cycles, np.ndarray]:
    """The cycles that end in a block, and what has been collected since each last visit.

    `values` has shape (functions, steps, n); `at_state` tells where the state of regeneration is
    taken; `since` of shape (functions + 1, n) is what was collected before, the time last.
    Cycles that start at the horizon or later are left out.
    """
    holds = np.broadcast_to(np.diff(block.times, axis=0), at_state.shape)
    collected = np.empty((len(values) + 1, len(holds) + 1, holds.shape[1]))
    collected[:, 0] = 0
    np.cumsum(values * holds, axis=1, out=collected[:-1, 1:])
    np.cumsum(holds, axis=0, out=collected[-1, 1:])
    column, k = np.nonzero(at_state.T)
    upto = collected[:, k, column]
    first = np.ones(len(column), dtype=bool)
    first[1:] = column[1:] != column[:-1]
    before = np.empty_like(upto)
    before[:, 1:] = upto[:, :-1]
    before[:, first] = -since[:, column[first]]
    found = upto - before
    starts = np.broadcast_to(block.times[:-1], at_state.shape)[k, column] - found[-1]
    # nothing was collected before the visit at time 0
    kept = (found[-1] > 0) & (starts < horizon)
    last = np.ones(len(column), dtype=bool)
    last[:-1] = first[1:]
    left = collected[:, -1] + since
    left[:, column[last]] = collected[:, -1, column[last]] - upto[:, last]
    return Cycles(found[:-1, kept], found[-1, kept]), left
