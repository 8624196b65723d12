"""The steps of a chain for all replications at once, by tables or by formulas.

A table holds the law of the jump for each cell, a cell being a set of states with the same rates;
the jump is drawn by the alias method (Walker 1977), one uniform number for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import add
from typing import Literal, Protocol

import numpy as np

from qtheory.errors import ModelError, NonConservativeError
from qtheory.model.simulation.rates import PointRates

Method = Literal["uniformised", "event-driven"]

CELL_LIMIT = 2**18
"""The most cells of a table."""

FEW_REPLICATIONS = 8
"""Up to so many replications are simulated one by one."""

EVEN_RATES = 8.0
"""By default a chain is uniformised when its total rates differ by at most this factor."""


class Kernel(Protocol):
    """The steps of a chain; `clock` is the rate of the steps, None where it is the total rate."""

    @property
    def clock(self) -> float | None: ...

    def run(self, start: np.ndarray, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """One step for each row of the uniform numbers, of shape (steps, replications).

        `start` has shape (variables, replications). Returns the states, of shape (steps + 1,
        variables, replications), and the total rate before each step, which is None where it
        is known to be positive and not needed.
        """
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """A chain whose rates are constant on each of finitely many cells.

    A cell is the state with each variable clipped to ``[low, high]``. Variables are counted in
    units of `scales`, so that the clipped values (`lows` and `highs` are scaled, too) add up to
    twice the number of the cell, plus an offset. Slot s of cell c is at ``2 * (s * cells + c)``
    in `accept`, the probability with which it is kept; `jumps` has its scaled jump there, and
    next to it the jump of its alias. `totals` are the total rates, at twice the cell.
    """

    clock: float | None
    scales: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    is_clipped_below: bool
    accept: np.ndarray
    jumps: np.ndarray
    totals: np.ndarray

    def run(self, start: np.ndarray, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        scaled = uniforms * (len(self.accept) // len(self.totals))
        places = scaled.astype(np.int64)
        rests = np.subtract(scaled, places, out=scaled)
        places *= len(self.totals)
        places -= self._offset
        few = len(start.T) <= FEW_REPLICATIONS
        states, cells = (self._singly if few else self._together)(
            start * self.scales[:, None], places, rests
        )
        for i, scale in enumerate(self.scales.tolist()):
            states[:, i] //= scale
        if self.clock is not None and self.totals.min() > 0:
            return states, None
        cells -= self._offset
        return states, self.totals.take(cells)

    @property
    def _offset(self) -> int:
        return int(self.lows.sum())

    def _together(
        self, start: np.ndarray, places: np.ndarray, rests: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        states = np.empty((len(places) + 1, *start.shape), dtype=np.int64)
        states[0] = start
        cells = np.empty_like(places)
        clipped, jump = np.empty_like(start), np.empty_like(start)
        accept, is_alias = np.empty_like(rests[0]), np.empty_like(rests[0], dtype=bool)
        first, *others = clipped
        for state, following, place, rest, cell in zip(
            states[:-1], states[1:], places, rests, cells, strict=True
        ):
            np.minimum(state, self.highs, out=clipped)
            if self.is_clipped_below:
                np.maximum(clipped, self.lows, out=clipped)
            cell[:] = first
            for other in others:
                cell += other
            place += cell
            # 'clip' spares the check of indices that are right by construction
            self.accept.take(place, out=accept, mode="clip")
            np.greater_equal(rest, accept, out=is_alias)
            place += is_alias
            self.jumps.take(place, axis=1, out=jump, mode="clip")
            np.add(state, jump, out=following)
        return states, cells

    def _singly(
        self, start: np.ndarray, places: np.ndarray, rests: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same steps, one replication after the other: quicker than arrays of few entries."""
        accept, jumps, box = self._lists
        paths, rows = [], []
        for column in range(start.shape[1]):
            state = tuple(start[:, column].tolist())
            path, row = [state], []
            for place, rest in zip(
                places[:, column].tolist(), rests[:, column].tolist(), strict=True
            ):
                cell = 0
                for value, (low, high) in zip(state, box, strict=True):
                    cell += low if value < low else high if value > high else value
                place += cell
                state = tuple(map(add, state, jumps[place + (rest >= accept[place])]))
                path.append(state)
                row.append(cell)
            paths.append(path)
            rows.append(row)
        return np.array(paths).transpose(1, 2, 0), np.array(rows).T

    @cached_property
    def _lists(self) -> tuple[list[float], list[tuple[int, ...]], list[tuple[int, int]]]:
        box = list(zip(self.lows.ravel().tolist(), self.highs.ravel().tolist(), strict=True))
        return self.accept.tolist(), [tuple(jump) for jump in self.jumps.T.tolist()], box


@dataclass(frozen=True, eq=False)
class Formulas:
    """Any chain: the rates are evaluated at every step."""

    clock: float | None
    rates: PointRates

    def run(self, start: np.ndarray, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        steps, replications = uniforms.shape
        states = np.empty((steps + 1, len(start), replications), dtype=np.int64)
        states[0] = start
        totals = np.empty((steps, replications))
        stay = np.zeros((len(start), 1), dtype=np.int64)
        jumps = np.concatenate([self.rates.jumps, stay], axis=1)
        for k in range(steps):
            upto = self.rates(states[k]).cumsum(axis=0)
            totals[k] = upto[-1]
            if self.clock is None:
                # below the total, so that no impossible transition is taken by rounding
                target = np.minimum(uniforms[k] * upto[-1], np.nextafter(upto[-1], 0))
            else:
                target = uniforms[k] * self.clock
                _require_probabilities(upto[-1], states[k])
            states[k + 1] = states[k] + jumps[:, (upto <= target).sum(axis=0)]
        return states, totals


def kernel(rates: PointRates, method: Method | None = None) -> Kernel:
    """The steps of the chain at a point; `method` as in `qtheory.model.simulate.simulate`."""
    if method not in (None, "uniformised", "event-driven"):
        raise ModelError(f"method must be 'uniformised' or 'event-driven', got {method!r}")
    model = rates.model
    discrete = model.time == "discrete"
    if discrete and method is not None:
        raise ModelError("a discrete-time model goes step by step: leave out the method")
    spans = _spans(rates)
    cells = 0 if isinstance(spans, str) else prod(high - low + 1 for low, high in spans)
    if isinstance(spans, str) or cells > CELL_LIMIT:
        if method == "uniformised":
            reason = spans if isinstance(spans, str) else f"it takes {cells} values or more"
            raise ModelError(f"cannot uniformise: {reason}; use method='event-driven'")
        return Formulas(1.0 if discrete else None, rates)
    sizes = [high - low + 1 for low, high in spans]
    shifts = np.array([[low] for low, _ in spans])
    states = np.indices(sizes).reshape(len(sizes), -1) + shifts
    try:
        by_cell = rates(states)
    except ModelError:
        # the bad states may be out of reach: then the formulas never meet them
        if method == "uniformised":
            raise
        return Formulas(1.0 if discrete else None, rates)
    totals = by_cell.sum(axis=0)
    if discrete:
        if totals.max() > 1 + 1e-12:
            return Formulas(1.0, rates)
        clock: float | None = 1.0
    else:
        even = totals.max() <= EVEN_RATES * totals.min()
        chosen = method or ("uniformised" if even else "event-driven")
        clock = float(totals.max()) if chosen == "uniformised" else None
    below = any(low != whole.low for (low, _), whole in zip(spans, model.ranges, strict=True))
    return _table(rates.jumps, by_cell, totals, spans, clock, below)


def _spans(rates: PointRates) -> list[tuple[int, int]] | str:
    """The values of each variable that tell cells apart, or why there are infinitely many."""
    model = rates.model
    needed: list[set[int]] = [set() for _ in model.state]
    for k, guard in enumerate(model.guards):
        used = rates.variables(k)
        for i, (part, whole) in enumerate(zip(guard, model.ranges, strict=True)):
            if i in used and (part.low is None or part.high is None):
                name = model.state[i]
                return f"the rate {model.transitions[k].rate} is unbounded in {name}"
            ends = {part.low, part.high} if i in used else set()
            if part.low != whole.low and part.low is not None:
                ends |= {part.low - 1, part.low}
            if part.high != whole.high and part.high is not None:
                ends |= {part.high, part.high + 1}
            needed[i] |= {end for end in ends if end is not None and whole.contains(end)}
    return [(min(ends, default=0), max(ends, default=0)) for ends in needed]


def _table(
    jumps: np.ndarray,
    by_cell: np.ndarray,
    totals: np.ndarray,
    spans: list[tuple[int, int]],
    clock: float | None,
    is_clipped_below: bool,
) -> Table:
    """The table of a chain: its rates by cell, of shape (transitions, cells), and their totals."""
    distinct, which = np.unique(jumps, axis=1, return_inverse=True)
    weights = np.zeros((distinct.shape[1] + 1, len(totals)))
    np.add.at(weights, which.ravel(), by_cell)
    scale = totals if clock is None else np.full(len(totals), clock)
    weights[-1] = np.maximum(scale - totals, 0)
    weights[-1, totals == 0] = 1
    accept, alias = _alias(weights / weights.sum(axis=0))
    sizes = [high - low + 1 for low, high in spans]
    scales = np.array([2 * prod(sizes[i + 1 :]) for i in range(len(sizes))])
    moves = np.concatenate([distinct, np.zeros((len(distinct), 1), dtype=np.int64)], axis=1)
    moves *= scales[:, None]
    kept = np.repeat(np.arange(len(weights)), len(totals))
    ends = np.array(spans) * scales[:, None]
    return Table(
        clock=clock,
        scales=scales,
        lows=ends[:, :1],
        highs=ends[:, 1:],
        is_clipped_below=is_clipped_below,
        accept=np.repeat(accept.ravel(), 2),
        jumps=np.ascontiguousarray(moves[:, np.stack([kept, alias.ravel()], axis=1).ravel()]),
        totals=np.repeat(totals, 2),
    )


def _alias(law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The alias tables of several laws at once, one for each column (Walker 1977).

    Slot s is drawn uniformly, kept with probability ``accept[s]`` and else replaced by
    ``alias[s]``.
    """
    slots, columns = law.shape
    left = law * slots
    accept = np.ones(law.shape)
    alias = np.tile(np.arange(slots)[:, None], columns)
    open_slots = np.ones(law.shape, dtype=bool)
    every = np.arange(columns)
    for _ in range(slots - 1):
        least = np.where(open_slots, left, np.inf).argmin(axis=0)
        most = np.where(open_slots, left, -np.inf).argmax(axis=0)
        share = left[least, every]
        accept[least, every] = share
        alias[least, every] = most
        open_slots[least, every] = False
        left[most, every] -= np.where(least == most, 0, 1 - share)
    return accept, alias


def _require_probabilities(totals: np.ndarray, states: np.ndarray) -> None:
    if totals.max() > 1 + 1e-12:
        column = totals.argmax()
        raise NonConservativeError(
            f"the probabilities out of state {tuple(states[:, column].tolist())} "
            f"sum to {totals[column]:.6g} > 1"
        )
