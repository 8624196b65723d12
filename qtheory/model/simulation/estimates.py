"""Means and their standard errors from the paths of independent replications."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from qtheory.errors import ModelError
from qtheory.model.simulation.kernel import Kernel
from qtheory.model.simulation.paths import Streams, blocks, cycles, record

CHUNKS = 32
"""Parts of a run: it can be interrupted after each, and there are at least as many batches."""

TREND_REPLICATIONS = 16
"""The fewest replications with which the two halves of a run are compared."""

REPORT_EVERY = 1.0
"""Seconds between two reports of the progress."""

Functions = Callable[[np.ndarray], np.ndarray]
"""From states of shape (steps, variables, n) to values of shape (functions, steps, n)."""

Progress = Callable[[str], None] | None


class Means(NamedTuple):
    """The estimates of a run, one entry for each function, and how they came about."""

    means: np.ndarray
    errors: np.ndarray
    samples: int
    horizon: float
    warm_up: float
    events: int
    trend: float | None
    interrupted: bool


def batch_means(
    kernel: Kernel,
    streams: Streams,
    start: np.ndarray,
    functions: Functions,
    steps: int,
    horizon: float,
    warm_up: float,
    progress: Progress,
) -> Means:
    """Means over the time after the warm-up, with errors from the means of batches."""
    replications = start.shape[1]
    unit, chunks = kernel.clock or 1.0, CHUNKS
    width, skipped = horizon / chunks, warm_up
    if kernel.clock is not None:
        # in steps, rounded up so that each chunk and the warm-up are whole blocks
        ticks = max(math.ceil(horizon * unit - 1e-9), 1)
        chunks = min(chunks, ticks)
        wanted = math.ceil(ticks / chunks)
        parts = math.ceil(wanted / steps)
        steps = math.ceil(wanted / parts)
        width, skipped = steps * parts, math.ceil(warm_up * unit / steps - 1e-9) * steps
    if chunks * replications < 2:
        raise ModelError("one step of one replication gives no interval: lengthen the horizon")
    upto = carried = np.zeros(0)
    finished = events = 0
    report = _reporter(progress)
    interrupted = False
    try:
        for block in blocks(kernel, streams, start, steps):
            reached = float(block.times[-1].min())
            if block.times[-1].max() > skipped:
                values = functions(block.states)
                if not upto.size:
                    upto = np.zeros((len(values), chunks + 1, replications))
                    carried = np.zeros((len(values), replications))
                record(upto, carried, values, block, skipped, width)
            events += steps * replications
            finished = min(max(math.floor((reached - skipped) / width), 0), chunks)
            if finished == chunks:
                break
            report(reached / (skipped + chunks * width), events)
    except KeyboardInterrupt:
        if finished < 2:
            raise
        interrupted = True
    by_chunk = np.diff(upto[:, : finished + 1], axis=1) / width
    means, errors, samples = _from_chunks(by_chunk)
    return Means(
        means=means,
        errors=errors,
        samples=samples,
        horizon=finished * width / unit,
        warm_up=skipped / unit,
        events=events,
        trend=_trend(by_chunk),
        interrupted=interrupted,
    )


def _from_chunks(by_chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Means, standard errors and the number of batches from means of shape (functions, chunks, n).

    The batches are as long as they can be for there to be `CHUNKS` of them; chunks in excess
    are left out at the start of the run.
    """
    functions, chunks, replications = by_chunk.shape
    batches = 1
    while batches * replications < CHUNKS and 2 * batches <= chunks:
        batches *= 2
    each = chunks // batches
    used = by_chunk[:, chunks - each * batches :].reshape(functions, batches, each, replications)
    values = used.mean(axis=2).reshape(functions, -1)
    samples = values.shape[1]
    return values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(samples), samples


def _trend(by_chunk: np.ndarray) -> float | None:
    """The z-score of the second half of the run minus the first half, largest in size."""
    _, chunks, replications = by_chunk.shape
    half = chunks // 2
    if half == 0 or replications < TREND_REPLICATIONS:
        return None
    changes = by_chunk[:, -half:].mean(axis=1) - by_chunk[:, :half].mean(axis=1)
    errors = changes.std(axis=1, ddof=1) / math.sqrt(replications)
    if not errors.any():
        return None
    scores = changes.mean(axis=1)[errors > 0] / errors[errors > 0]
    return float(scores[abs(scores).argmax()])


def regenerative(
    kernel: Kernel,
    streams: Streams,
    start: np.ndarray,
    functions: Functions,
    steps: int,
    horizon: float,
    progress: Progress,
) -> Means:
    """Ratios of mean integrals to mean lengths over the cycles between visits to the start.

    With integrals Y and lengths T of n cycles and r the ratio of their sums, the standard error
    is that of ``Y - r*T`` over n cycles, divided by the mean of T.
    """
    replications = start.shape[1]
    unit = kernel.clock or 1.0
    limit = horizon * unit
    report = _reporter(progress)
    sums: tuple[int, np.ndarray] = (0, np.zeros(0))
    since: np.ndarray | None = None
    done = np.zeros(replications, dtype=bool)
    events = 0
    interrupted = False
    try:
        for block in blocks(kernel, streams, start, steps):
            values = functions(block.states)
            at_state = (block.states == start).all(axis=1)
            if since is None:
                since = np.zeros((len(values) + 1, replications))
                sums = 0, np.zeros((5, len(values)))
            found, since = cycles(block, values, at_state, since, limit)
            # one assignment, so that an interruption leaves a consistent sum
            sums = sums[0] + len(found.lengths), sums[1] + _moments(found.integrals, found.lengths)
            done |= (at_state & (block.times[:-1] >= limit)).any(axis=0)
            events += steps * replications
            if done.all():
                break
            reached = float(block.times[-1].min())
            if reached > 2 * limit:
                raise ModelError(
                    f"{(~done).sum()} of {replications} replications did not return to "
                    f"{tuple(start[:, 0].tolist())} within twice the horizon: start at a state "
                    "that is visited more often, lengthen the horizon, or use batch means"
                )
            report(min(reached / limit, 1.0), events)
    except KeyboardInterrupt:
        if sums[0] < 2:
            raise
        interrupted = True
    samples, (y, t, yy, yt, tt) = sums
    if samples < 2:
        raise ModelError(f"{samples} cycle gives no interval: lengthen the horizon")
    ratio = y / t
    spread = np.maximum(yy - 2 * ratio * yt + ratio**2 * tt, 0)
    # differences of equal sums leave their rounding errors
    spread[spread < 1e-12 * yy] = 0
    return Means(
        means=ratio,
        errors=np.sqrt(spread * samples / (samples - 1)) / t,
        samples=samples,
        horizon=limit / unit,
        warm_up=0.0,
        events=events,
        trend=None,
        interrupted=interrupted,
    )


def _moments(integrals: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    t = np.broadcast_to(lengths, integrals.shape)
    return np.array(
        [s.sum(axis=1) for s in (integrals, t, integrals**2, integrals * t, t * t)], dtype=float
    )


def _reporter(progress: Progress) -> Callable[[float, int], None]:
    """Pass on how far a run is, at most once in `REPORT_EVERY` seconds."""
    last = time.monotonic()

    def report(share: float, events: int) -> None:
        nonlocal last
        if progress is not None and time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            progress(f"simulated {events} steps, {share:.0%} of the run")

    return report
