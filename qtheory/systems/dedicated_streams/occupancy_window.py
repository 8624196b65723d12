"""States of N queues with dedicated streams, lengths in increasing order, and windows of them.

Rows of lengths are sorted, so a row stands for the occupancy of the levels (see
`dedicated_streams`); every move changes one length by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.drift.window import PrecisionError
from qtheory.errors import ModelError
from qtheory.systems.dedicated_streams import lam, lam_s, mu, q

if TYPE_CHECKING:
    import numpy as np

STATES = 3_000_000
"""The most states of a window."""

domain = Domain(q <= 1, stable=lam * q + lam_s < mu, symbols=(lam, lam_s, mu, q))


class Rates(NamedTuple):
    """What each queue's own stream, each queue's share of the smart one and each server do."""

    dedicated: Any
    smart: Any
    service: Any

    @property
    def arrivals(self) -> Any:
        """The rate of customers per queue."""
        return self.dedicated + self.smart

    @property
    def spare(self) -> Any:
        """The service rate less the rate of customers per queue."""
        return self.service - self.arrivals


def rates_at(N: int, dedicated: Any, smart: Any, service: Any, joining: Any) -> Rates:
    """The exact rates; `ModelError` for no queues, `DomainError` outside the domain."""
    if not isinstance(N, int) or N < 1:
        raise ModelError(f"needs at least one queue, got N = {N}")
    point = {lam: dedicated, lam_s: smart, mu: service, q: joining}
    values = domain.require({symbol: exact(value) for symbol, value in point.items()})
    return Rates(values[lam] * values[q], values[lam_s], values[mu])


class Move(NamedTuple):
    """One more (or one less) customer in the queue at a position, from these states (rows)."""

    sources: np.ndarray
    position: int
    step: int
    rate: np.ndarray


def moves(states: np.ndarray, rates: Rates, kind: Any = float) -> Iterator[Move]:
    """The moves out of states, with rates in the number type `kind` of NumPy.

    Of equal queues the last one gains a customer and the first one loses it: order is kept.
    """
    import numpy as np

    count, N = states.shape
    dedicated, smart, service = rates
    for i in range(N):
        last = np.ones(count, dtype=bool) if i == N - 1 else states[:, i] < states[:, i + 1]
        rows = np.flatnonzero(last)
        level = states[rows, i]
        equal = (states[rows] == level[:, None]).sum(axis=1).astype(kind)
        lowest = (states[rows, 0] == level).astype(kind)
        yield Move(rows, i, +1, equal * dedicated + lowest * (N * smart))
        first = states[:, i] > 0
        if i > 0:
            first &= states[:, i - 1] < states[:, i]
        rows = np.flatnonzero(first)
        equal = (states[rows] == states[rows, i][:, None]).sum(axis=1).astype(kind)
        yield Move(rows, i, -1, equal * service)


def after(states: np.ndarray, move: Move) -> np.ndarray:
    """The states that a move leads to."""
    targets: np.ndarray = states[move.sources]
    targets[:, move.position] += move.step
    return targets


def outflow(states: np.ndarray, rates: Rates) -> np.ndarray:
    """The total rate out of each state."""
    busy: np.ndarray = (states > 0).sum(axis=1)
    return states.shape[1] * float(rates.arrivals) + busy * float(rates.service)


@dataclass(frozen=True, eq=False)
class Window:
    """A finite set of states, rows of N lengths in increasing order; rows in order of `codes`."""

    states: np.ndarray
    places: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def totals(self) -> np.ndarray:
        """The number of customers of each state."""
        found: np.ndarray = self.states.sum(axis=1)
        return found

    def find(self, states: np.ndarray) -> np.ndarray:
        """The rows of states in the window, -1 for others."""
        import numpy as np

        found = self.find_codes(states @ self.places)
        return np.where((states <= self.states.max(axis=0)).all(axis=1), found, -1)

    def find_codes(self, codes: np.ndarray) -> np.ndarray:
        """The rows of codes, -1 for others; codes are unique up to two customers beyond."""
        import numpy as np

        rows = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[rows] == codes, rows, -1)

    def targets(self, states: np.ndarray, move: Move) -> np.ndarray:
        """The rows that a move leads to, from states of the window or next to it."""
        codes = states[move.sources] @ self.places
        return self.find_codes(codes + move.step * self.places[move.position])

    @cached_property
    def boundary(self) -> Window:
        """The states outside that differ from one inside by one customer."""
        import numpy as np

        outside = [self.states[:0]]
        for move in moves(self.states, Rates(1.0, 1.0, 1.0)):
            leaves = self.targets(self.states, move) < 0
            outside.append(after(self.states, move._replace(sources=move.sources[leaves])))
        return window_of(np.concatenate(outside))


def window_of(states: np.ndarray) -> Window:
    """The window of these states, each kept once; `PrecisionError` when they are too many."""
    import numpy as np

    places, size = [], 1
    for most in states.max(axis=0, initial=0).tolist():
        places.append(size)
        size *= most + 3  # two more customers keep their codes apart
    if size >= 2**63:
        raise PrecisionError(f"a window in a box of {size} states: ask for less")
    codes, rows = np.unique(states @ np.array(places), return_index=True)
    if len(codes) > STATES:
        raise PrecisionError(f"a window of {len(codes)} states: ask for less")
    return Window(states[rows], np.array(places), codes)


def partitions(most: int, parts: int) -> np.ndarray:
    """The rows of `parts` naturals in increasing order with a sum of at most `most`."""
    import numpy as np

    rows = np.zeros((1, 0), dtype=np.int64)
    for placed in range(parts):
        least = rows[:, -1] if placed else np.zeros(1, dtype=np.int64)
        room = (most - rows.sum(axis=1)) // (parts - placed) - least + 1
        which = np.repeat(np.arange(len(rows)), room)
        start = np.repeat(np.cumsum(room) - room, room)
        value = least[which] + np.arange(len(which)) - start
        rows = np.column_stack([rows[which], value])
    return rows


def states_below(N: int, excesses: Iterable[int]) -> np.ndarray:
    """The states of shortest length m with at most `excesses[m]` customers beyond N m."""
    import numpy as np

    found = [np.zeros((0, N), dtype=np.int64)]
    for shortest, excess in enumerate(excesses):
        above = partitions(excess, N - 1)
        found.append(shortest + np.column_stack([np.zeros(len(above), dtype=np.int64), above]))
    return np.concatenate(found)
