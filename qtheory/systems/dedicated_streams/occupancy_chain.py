"""The chain of N queues with dedicated streams on windows that grow along its probability.

Every move changes the number of customers by one, so even totals are left for odd ones only:
linear equations over a window are solved on its even half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qtheory.systems.dedicated_streams.occupancy_window import (
    Rates,
    Window,
    after,
    moves,
    outflow,
    window_of,
)

if TYPE_CHECKING:
    import numpy as np

FINER = 10
"""By how much the least probability that is kept falls from one window to the next."""

ROUNDING = 1e-14
"""A relative change of a law that is left."""

ACCURATE = 1e-6
"""The law of a window is found up to this share of the flow out of the window."""

SWEEPS = 3
"""Plain iterations at the end of a solution, which leave no negative probability."""


@dataclass(frozen=True, eq=False)
class Jumps:
    """The jumps between states of a window: `matrix[x, y]` is the rate from x to y."""

    window: Window
    rates: Rates
    matrix: Any

    @cached_property
    def out(self) -> np.ndarray:
        """The total rate out of each state, also to states outside the window."""
        return outflow(self.window.states, self.rates)

    @cached_property
    def inside(self) -> np.ndarray:
        """The rate at which each state is left for others of the window."""
        return self.matrix @ (0 * self.out + 1)

    def drift(self, values: np.ndarray) -> np.ndarray:
        """Qv on the window, for v zero outside it."""
        found: np.ndarray = self.matrix @ values - self.out * values
        return found

    def potential(self, cost: np.ndarray, home: int) -> np.ndarray:
        """The v with Qv + cost = 0 in the window but at the row `home`, zero there and outside."""
        from scipy.sparse import csr_array, diags_array

        others = 0 * self.out + 1
        others[home] = 0
        step = csr_array(diags_array(others / self.out) @ self.matrix)
        return _fixed_point(step, self.window.totals, others * cost / self.out)

    def law(self, guess: np.ndarray) -> np.ndarray:
        """The stationary law of the chain whose moves out of the window are left out."""
        from scipy.sparse import csr_array, diags_array

        if len(guess) == 1:
            return guess / guess.sum()
        out = self.inside
        # flows out of the states: they are a fixed point of the transposed jump chain
        step = csr_array(self.matrix.T @ diags_array(1 / out))
        flows = guess * out / (guess @ out)
        change = step @ flows - flows
        leak = 1 - flows @ (out / self.out)
        while abs(change).sum() > max(ACCURATE * leak, ROUNDING):
            better = flows + _fixed_point(step, self.window.totals, change, 1e-7, 300)
            better /= better.sum()
            left = step @ better - better
            if not abs(left).sum() < abs(change).sum() / 2:
                break
            flows, change = better, left
        flows = flows.clip(min=0)
        for _ in range(SWEEPS):
            flows = (flows + step @ flows) / 2
        law: np.ndarray = flows / out
        return law / law.sum()


def jumps(window: Window, rates: Rates) -> Jumps:
    """The rates of the jumps between states of a window, in floating point."""
    import numpy as np
    from scipy.sparse import csr_array

    rates = Rates(*map(float, rates))
    sources, targets, values = [], [], []
    for move in moves(window.states, rates):
        found = window.targets(window.states, move)
        inside = found >= 0
        sources.append(move.sources[inside])
        targets.append(found[inside])
        values.append(move.rate[inside])
    places = (np.concatenate(sources), np.concatenate(targets))
    size = len(window)
    return Jumps(window, rates, csr_array((np.concatenate(values), places), shape=(size, size)))


def _fixed_point(
    step: Any, totals: np.ndarray, right: np.ndarray, tolerance: float = 1e-13, most: int = 3000
) -> np.ndarray:
    """The x with x = right + step x, where the matrix joins even totals to odd ones.

    The odd half is eliminated, which squares the convergence of the iteration at no cost.
    """
    import numpy as np
    from scipy.sparse.linalg import LinearOperator, bicgstab, gmres

    even, odd = np.flatnonzero(totals % 2 == 0), np.flatnonzero(totals % 2)
    to_odd, to_even = step[even][:, odd], step[odd][:, even]
    x = right.copy()
    operator = LinearOperator(
        (len(even),) * 2, lambda values: values - to_odd @ (to_even @ values), dtype=float
    )
    start = right[even] + to_odd @ right[odd]
    # breakdown is judged by absolute sizes
    size = abs(start).max(initial=0.0) or 1.0
    found, broken = bicgstab(operator, start / size, rtol=tolerance, maxiter=most)
    if broken < 0:
        found, _ = gmres(operator, start / size, x0=found, rtol=tolerance, restart=50, maxiter=20)
    x[even] = size * found
    x[odd] = right[odd] + to_even @ x[even]
    return x


@dataclass(frozen=True, eq=False)
class Grown:
    """A window with the law of the chain on it and an estimate of the mass outside."""

    rates: Rates
    jumps: Jumps
    law: np.ndarray
    outside: float

    @property
    def window(self) -> Window:
        return self.jumps.window


def grow(N: int, rates: Rates) -> Iterator[Grown]:
    """Ever larger windows, from the empty system: the states that are likely enough.

    A state outside the last window gets the probability that flows into it over the rate out of
    it, and so do the states that it leads to in turn, as long as that exceeds a threshold. The
    mass outside is estimated by the flow out of the window times the mean excursion: the busy
    period of one queue, or the mean time until the system has one customer less, if longer.
    """
    import numpy as np

    excursion = max(1 / (rates.service - rates.dedicated), 1 / (N * rates.spare))
    window = window_of(np.zeros((1, N), dtype=np.int64))
    law, threshold = np.ones(1), 1e-3
    while True:
        found = jumps(window, rates)
        law = found.law(law)
        outside = float(law @ (found.out - found.inside)) * float(excursion)
        yield Grown(rates, found, law, max(outside, 0.0))
        window, law = _likely(found, law, threshold)
        threshold /= FINER


def _likely(jumps: Jumps, law: np.ndarray, threshold: float) -> tuple[Window, np.ndarray]:
    """The window with the states around it that are likely enough, and their probabilities."""
    import numpy as np

    window, rates = jumps.window, jumps.rates
    parts, masses = [window.states], [law]
    inner = np.flatnonzero(jumps.inside < jumps.out * (1 - ROUNDING))
    frontier, mass = window.states[inner], law[inner]
    while len(frontier):
        ahead, flows = [], []
        for move in moves(frontier, rates):
            ahead.append(after(frontier, move))
            flows.append(mass[move.sources] * move.rate)
        states, flow = np.concatenate(ahead), np.concatenate(flows)
        known = np.concatenate(parts)
        both = window_of(np.concatenate([known, states]))
        rows = both.find(states)
        inflow = np.bincount(rows, flow, minlength=len(both))
        inflow[both.find(known)] = 0
        rows = np.flatnonzero(inflow > 0)
        mass = inflow[rows] / outflow(both.states[rows], rates)
        likely = mass > threshold
        frontier, mass = both.states[rows[likely]], mass[likely]
        parts.append(frontier)
        masses.append(mass)
    states = np.concatenate(parts)
    grown = window_of(states)
    found = np.empty(len(grown))
    found[grown.find(states)] = np.concatenate(masses)
    return grown, found
