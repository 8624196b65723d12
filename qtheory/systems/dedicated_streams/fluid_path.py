"""Fluid trajectories of join-the-shortest-queue with dedicated streams, from any initial state.

s_k is the fraction of queues with at least k customers. While the levels 1, ..., j are full
(s_1 = ... = s_j = 1 > s_(j+1)) the smart stream first makes up for the queues that service takes
out of level j, at rate mu (1 - s_(j+1)), and what is left of lam_s feeds level j + 1:

    s_(j+1)' = lam (1 - s_(j+1)) - mu (s_(j+1) - s_(j+2)) + lam_s - mu (1 - s_(j+1)) 1{j >= 1},
    s_k' = lam (s_(k-1) - s_k) - mu (s_k - s_(k+1)),  k >= j + 2.

This sliding mode ends upwards when level j + 1 is full, and downwards when lam_s no longer makes
up for service. In each mode the equations are linear.

*Levels.* With n levels at the start and r = lam/mu, s_k(t) <= r^(k - n) for k > n: this is a
fixed point of the equations beyond n, and lam_s < mu - lam never feeds a level above n as long as
s_(n+1) <= r. *Truncation.* With s_(K+1) = 0 in place of the true value the solution is lower, and
the sum of the errors at levels 1, ..., K is at most mu t r^(K + 1 - n): order is kept (as in the
finite systems, coupled by the rank of a queue), and the sum of the errors grows by at most
mu s_(K+1) for each unit of time.

Source: Bu, Liu, Tang, Zhao, arXiv 2012.14955.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import ModelError
from qtheory.systems.dedicated_streams import lam as _own
from qtheory.systems.dedicated_streams import lam_s as _smart
from qtheory.systems.dedicated_streams import mu as _service

if TYPE_CHECKING:
    import numpy as np

domain = Domain(stable=_own + _smart < _service, symbols=(_own, _smart, _service))

TAIL = 1e-12
"""The truncation error that the number of levels is chosen for."""

TOLERANCE = 1e-12
"""Relative and absolute tolerance of a step of the integration."""

PHASES = 10_000
"""The most changes of the mode."""


class Phase(NamedTuple):
    """From this time on, until the next phase, this many levels are full."""

    start: float
    full: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The tails s_1, ..., s_K at given times: `tails` has shape (times, K).

    `truncation` bounds the sum of the errors that the levels beyond K cause at the levels up to K
    (proved), and so `beyond` does the sum of s_k, k > K; the errors of the integration are
    estimated, about 1e-10.
    """

    rates: tuple[float, float, float]
    times: np.ndarray
    tails: np.ndarray
    phases: tuple[Phase, ...]
    truncation: float
    beyond: float

    @property
    def means(self) -> np.ndarray:
        """The mean queue length at each time, the sum of the tails."""
        found: np.ndarray = self.tails.sum(axis=1)
        return found

    @property
    def sliding_ends(self) -> float:
        """The time from which on no level is full; inf if that is beyond the last time."""
        last = self.phases[-1]
        return last.start if last.full == 0 else math.inf

    @property
    def lyapunov(self) -> np.ndarray:
        """V = sum of (mu/lam)^(k/2) |s_k - s_k(oo)| at each time.

        V' <= -(sqrt(mu) - sqrt(lam))^2 V while s_1 < 1 (C2.8).
        """
        import numpy as np

        lam, lam_s, mu = self.rates
        K = self.tails.shape[1]
        weights = np.sqrt(mu / lam) ** np.arange(1, K + 1)
        found: np.ndarray = abs(self.tails - fixed_point(lam, lam_s, mu, K)) @ weights
        return found


def fixed_point(lam: float, lam_s: float, mu: float, levels: int) -> np.ndarray:
    """s_k(oo) = ((lam + lam_s)/mu) (lam/mu)^(k - 1) for k = 1, ..., levels.

    >>> fixed_point(0.5, 0.25, 1.0, 3).tolist()
    [0.75, 0.375, 0.1875]
    """
    import numpy as np

    found: np.ndarray = (lam + lam_s) / mu * (lam / mu) ** np.arange(levels)
    return found


def drift(tails: np.ndarray, full: int, lam: float, lam_s: float, mu: float) -> np.ndarray:
    """s' at tails of which the first `full` stay 1, in floats; s_(K+1) = 0.

    >>> import numpy as np
    >>> drift(np.array([1.0, 0.9]), 1, 0.4, 0.3, 1.0).round(12).tolist()
    [0.0, -0.66]
    """
    import numpy as np

    above = np.concatenate([[1.0], tails[:-1]])
    below = np.append(tails[1:], 0.0)
    found: np.ndarray = lam * (above - tails) - mu * (tails - below)
    found[:full] = 0.0
    if full < len(tails):
        found[full] += lam_s - (mu * (1 - tails[full]) if full else 0.0)
    return found


def trajectory(
    tails: Sequence[Any], times: Sequence[float] | np.ndarray, lam: Any, lam_s: Any, mu: Any
) -> Trajectory:
    """The fluid limit from tails s_1 >= s_2 >= ... >= 0 (0 beyond those given), at these times.

    Each phase is integrated with an explicit Runge-Kutta method of order 8 up to the event that
    ends it. All queues with two customers at the start:

    >>> path = trajectory([1, 1], [0, 1, 2, 40], "2/5", "3/10", 1)
    >>> path.means.round(6).tolist()
    [2.0, 1.705424, 1.492263, 1.166665]
    >>> [phase.full for phase in path.phases]
    [1, 0]

    Raises `ModelError` unless the tails decrease from at most 1 to at least 0 and the times
    increase from at least 0, `UnstableError` or `DomainError` for rates outside the domain.
    """
    import numpy as np

    values = domain.require({_own: exact(lam), _smart: exact(lam_s), _service: exact(mu)})
    rates = (float(values[_own]), float(values[_smart]), float(values[_service]))
    moments = np.asarray(times, dtype=float)
    if moments.ndim != 1 or not len(moments) or moments[0] < 0 or (np.diff(moments) < 0).any():
        raise ModelError(f"times must increase from at least 0, got {times}")
    given = [float(exact(s)) for s in tails]
    if any(above < below for above, below in pairwise([1.0, *given, 0.0])):
        raise ModelError(f"tails must decrease from 1 to 0, got {list(map(str, tails))}")
    end = float(moments[-1])
    start = sum(s > 0 for s in given)
    ratio = rates[0] / rates[2]
    levels = _levels(ratio, rates[2] * max(end, 1.0)) + start
    state = np.array([*given[:start], *[0.0] * (levels - start)])
    found = np.empty((len(moments), levels))
    phases: list[Phase] = []
    now, full, done = 0.0, _full(state, rates), 0
    while True:
        phases.append(Phase(now, full))
        if len(phases) > PHASES:
            raise ModelError(f"more than {PHASES} changes of the mode up to t = {now}")
        solution = _integrated(state, full, now, end, rates)
        upto = int(np.searchsorted(moments, solution.t[-1], side="right"))
        if upto > done:
            found[done:upto] = solution.sol(moments[done:upto]).T if end > now else state
            done = upto
        if solution.status != 1:
            break
        now, state = float(solution.t[-1]), solution.y[:, -1].copy()
        full = full + 1 if len(solution.t_events[0]) else full - 1
        state[:full] = 1.0
    rest = ratio ** (levels + 1 - start)
    return Trajectory(
        rates=rates,
        times=moments,
        tails=found,
        phases=tuple(phases),
        truncation=rates[2] * end * rest,
        beyond=rest / (1 - ratio),
    )


def _levels(ratio: float, scale: float) -> int:
    """So many levels beyond the first ones that scale ratio^levels is within `TAIL`."""
    return max(math.ceil(math.log(TAIL / (scale / (1 - ratio))) / math.log(ratio)), 1)


def _full(state: np.ndarray, rates: tuple[float, float, float]) -> int:
    """How many levels stay full: one less where lam_s does not make up for service."""
    _, lam_s, mu = rates
    full = int((state == 1.0).sum())
    return full - 1 if full and mu * (1 - state[full]) > lam_s else full


def _integrated(
    state: np.ndarray, full: int, now: float, end: float, rates: tuple[float, float, float]
) -> Any:
    """The solution of a phase up to the event that ends it: level full, or no longer full."""
    from scipy.integrate import solve_ivp

    _, lam_s, mu = rates
    leaves = full < len(state) and state[full] >= 1.0

    def fills(t: float, s: np.ndarray) -> float:
        # a level that was full a moment ago counts as filled only after it has left 1
        return float(s[full]) - 1.0 if not leaves or t > now else -1.0

    def falls(t: float, s: np.ndarray) -> float:
        return mu * (1 - float(s[full])) - lam_s if full else -1.0

    events: list[Callable[[float, np.ndarray], float]] = [fills, falls]
    for event in events:
        event.terminal = True  # type: ignore[attr-defined]
        event.direction = 1.0  # type: ignore[attr-defined]
    return solve_ivp(
        lambda _, s: drift(s, full, *rates),
        (now, end),
        state,
        method="DOP853",
        dense_output=True,
        events=events,
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
