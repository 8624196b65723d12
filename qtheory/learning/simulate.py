"""Simulation of queues that learn, many replications at once."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qtheory.errors import ModelError
from qtheory.learning import checkpoint
from qtheory.learning.draws import STREAM, Draws
from qtheory.learning.learner import Learner, Scheduler
from qtheory.learning.rates import read_rates
from qtheory.learning.rounds import Deciders, Priority, Selection, Ties, counterfactuals, rounds
from qtheory.learning.run import LearningRun
from qtheory.learning.trace import Kind
from qtheory.learning.waiting import Deferred, Fifo, Waiting

RECORDS = 64
"""By default the ages are recorded so many times, and at the start."""

TOGETHER = 2048
"""The most replications simulated at once, and ..."""

CHUNK_STEPS = 2**26
"""... about the most steps of all of them, after which the finished replications are kept: some
seconds of work, unless the steps are so many that `STREAM` replications take longer."""

REPORT_EVERY = 1.0
"""Seconds between two reports of the progress."""


def simulate(
    lam: Sequence[Any],
    mu: Sequence[Any],
    learner: Learner | Scheduler | Sequence[Learner],
    steps: int,
    replications: int = 256,
    seed: int = 0,
    *,
    model: Kind = "dual",
    selection: Selection = "oldest",
    ties: Ties = "index",
    every: int | None = None,
    window: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> LearningRun:
    """Queues that choose servers, in discrete steps, from empty queues (Gaitonde, Tardos 2020).

    In each step a packet arrives at queue i with probability ``lam[i]``; every queue with packets
    sends its oldest one to a server; server j selects one of those it gets and serves it with
    probability ``mu[j]``; all others go back. `learner` is a `Learner` for all queues, one for
    each queue, or a central `Scheduler`. Queues and servers may come in any order.

    - `model`: ``"dual"`` keeps one timestamp per queue, ``"standard"`` all of them; the ages, the
      choices and the service have the same law.
    - `selection`: the server takes the ``"oldest"`` packet or a ``"random"`` one; `ties` between
      packets of equal age go to the queue of smaller index, or are ``"random"`` in each step.
    - `every`: the ages are recorded every so many steps (by default about 64 times);
    - `window`: the regret is recorded for each window of so many steps.

    The path of a replication depends on the seed and its index, not on how many others there are.
    `resume` names a file that keeps the finished replications: a run with it goes on where the
    last one with the same arguments ended, also with more replications. A run that is interrupted
    (Ctrl-C) gives the replications that are finished, if there are any; they are finished in groups
    of 256 to 2048, fewer for more steps. `progress` is called about once a second.

    >>> from qtheory.learning import Mixed
    >>> run = simulate(["1/4"] * 3, [1, "1/3", "1/3"], Mixed((1, 0, 0)), steps=1000, seed=1)
    >>> abs(run.average_size.z(3 / 4)) < 4.5
    True

    Raises `ModelError` for bad options and a learner that does not fit, `DomainError` for rates
    outside (0, 1] or [0, 1], and `ModelError` for a file of another run.
    """
    arrivals, services = read_rates(lam, mu)
    priority = Priority(selection, ties)
    if model not in ("dual", "standard"):
        raise ModelError(f"model must be 'dual' or 'standard', got {model!r}")
    steps, seed = _whole("steps", steps, 2), _whole("seed", seed, 0)
    wanted = _whole("replications", replications, 1)
    times = _times(steps, every)
    if window is not None and _whole("window", window, 1) > steps:
        raise ModelError(f"a window of {window} steps in a run of {steps}")
    # what is neither a learner nor several of them is refused like one that does not fit
    given: Any = learner
    rule = tuple(given) if isinstance(given, (list, tuple)) else given
    # a learner that does not fit fails before anything else is done
    Deciders(rule, len(arrivals), services, 1)
    settings = {"lam": arrivals, "mu": services, "steps": steps, "seed": seed, "model": model}
    settings |= {"selection": selection, "ties": ties, "every": every, "window": window}
    about = {name: _text(value) for name, value in settings.items()} | {"learner": _text(rule)}
    path = None if resume is None else Path(resume)
    if path is not None and not path.parent.is_dir():
        raise ModelError(f"no folder {path.parent} for the finished replications")
    kept = None if path is None else checkpoint.load(path, about)
    parts = [] if kept is None else [kept]
    finished = 0 if kept is None else len(kept["ages"])
    chunk = STREAM * max(1, min(TOGETHER, CHUNK_STEPS // steps) // STREAM)
    report = _reporter(progress, wanted * steps)
    interrupted = False
    try:
        while finished < wanted:
            members = range(finished, min(wanted, finished + chunk - finished % STREAM))
            rates = np.array(arrivals, dtype=float), np.array(services, dtype=float)
            draws = Draws(seed, members, *rates, priority.is_random)
            waiting: Waiting = (
                Deferred(draws.first_times(), rates[0])
                if model == "dual"
                else Fifo(len(arrivals), len(members))
            )
            deciders = Deciders(rule, len(arrivals), services, len(members))
            parts.append(_chunk(waiting, deciders, draws, priority, times, window, report))
            finished += len(members)
            if path is not None:
                parts = [checkpoint.join(parts)]
                checkpoint.save(path, about, parts[0])
    except KeyboardInterrupt:
        if not parts:
            raise
        interrupted = True
    found = {name: values[:wanted] for name, values in checkpoint.join(parts).items()}
    return LearningRun(
        lam=arrivals,
        mu=services,
        learner=rule,
        steps=steps,
        seed=seed,
        model=model,
        selection=selection,
        ties=ties,
        times=times,
        ages=found["ages"],
        lengths=found.get("lengths"),
        window=window,
        regret=found.get("regret"),
        interrupted=interrupted,
    )


def _chunk(
    waiting: Waiting,
    deciders: Deciders,
    draws: Draws,
    priority: Priority,
    times: np.ndarray,
    window: int | None,
    report: Callable[[int], None],
) -> checkpoint.Finished:
    """Some replications from start to end; the arrays have the replications first."""
    steps = int(times[-1])
    queues, replications = waiting.oldest.shape
    ages = np.zeros((len(times), queues, replications), dtype=np.int64)
    has_lengths = isinstance(waiting, Fifo)
    lengths = np.zeros_like(ages) if has_lengths else None
    regret: list[np.ndarray] = []
    gains = np.zeros((queues, deciders.servers, replications), dtype=np.int64)
    own = np.zeros((queues, replications), dtype=np.int64)
    record = 1
    supplies = draws.steps(steps, arrivals=has_lengths)
    for step in rounds(waiting, deciders, supplies, priority):
        now = step.t + 1
        if window is not None:
            gains += counterfactuals(step)
            own += step.served
            if now % window == 0:
                regret.append(gains.max(axis=1) - own)
                gains[:], own[:] = 0, 0
        if now == times[record]:
            np.maximum(now - waiting.oldest, 0, out=ages[record])
            if lengths is not None:
                lengths[record] = waiting.sizes(now)
            record += 1
            report(draws.members.start * steps + now * replications)
    found = {"ages": ages.transpose(2, 0, 1)}
    if lengths is not None:
        found["lengths"] = lengths.transpose(2, 0, 1)
    if window is not None:
        found["regret"] = np.array(regret).transpose(2, 0, 1)
    return found


def _times(steps: int, every: int | None) -> np.ndarray:
    if every is None:
        return np.unique(np.linspace(0, steps, min(RECORDS, steps) + 1).round().astype(np.int64))
    if steps % _whole("every", every, 1):
        raise ModelError(f"every = {every} does not divide the {steps} steps")
    return np.arange(0, steps + 1, every)


def _text(value: Any) -> str:
    """A setting as text, the same in another process."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    if type(value).__repr__ is object.__repr__:
        return type(value).__qualname__
    return str(value)


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ModelError(f"{name} must be a whole number, got {value}") from None
    if number < least:
        raise ModelError(f"{name} must be at least {least}, got {value}")
    return number


def _reporter(progress: Callable[[str], None] | None, whole: int) -> Callable[[int], None]:
    """Pass on how far a run is, at most once in `REPORT_EVERY` seconds."""
    last = time.monotonic()

    def report(done: int) -> None:
        nonlocal last
        if progress is not None and time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            progress(f"simulated {done} steps, {done / whole:.0%} of the run")

    return report
