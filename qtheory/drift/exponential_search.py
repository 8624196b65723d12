"""The search for an exponential Lyapunov function: growth rates, boundary layers, coefficients.

At given growth rates ln theta of E the values v of V on its box are a linear program: E + QV <= 0
at the representatives that stand for infinitely many states, E + QV <= b at the others, b least.
The growth rates start along the slopes of a linear Lyapunov function, found the same way, and are
moved until the window that they lead to is smallest. Floating point only proposes: what is
returned has been proved by `qtheory.drift.exponential.proved`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, log, prod
from typing import TYPE_CHECKING, Any

from qtheory.drift.chain import Chain, State, chain_at
from qtheory.drift.exponential import ExponentialMoment, proved, representatives
from qtheory.errors import QTheoryError
from qtheory.model import Model

if TYPE_CHECKING:
    import numpy as np

LAYERS = 6
"""The most boundary layers that are tried."""

CELLS = 3000
"""The most states of the box of boundary layers, unless a smaller one does not do."""

RESOLUTION = 12
"""The least weight: growth rates are rounded to about one part in so many."""


class StabilityError(QTheoryError):
    """No Lyapunov function was found: the model is unstable, or too close to instability."""


def exponential_moment(
    model: Model, at: Mapping[Any, Any] | None = None, digits: int = 20
) -> ExponentialMoment:
    """An exponential moment of the steady state, the best for a window of so many digits.

    The growth of E and the number of boundary layers are searched for in floating point; the
    result is proved in exact arithmetic, and with it positive recurrence.

    >>> import sympy as sp
    >>> from qtheory import Domain, Transition
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(), [Transition(1, +1), Transition(2, -1, when=n >= 1)])
    >>> print(exponential_moment(queue))
    E[prod theta^|x|] <= ..., theta = (1...)

    Raises `StabilityError` when none is found with a few layers (the model is unstable, or too
    close to instability), `UnstableError` or `DomainError` for a point outside the domain, and
    `ModelError` for a rate that grows without bound.
    """
    chain = chain_at(model, at)
    best: tuple[float, ExponentialMoment] | None = None
    start = None
    for layers in range(LAYERS + 1):
        low, high = _box(chain, layers)
        size = prod(b - a + 1 for a, b in zip(low, high, strict=True))
        if best and size > CELLS:
            break
        program = _Program(chain, low, high)
        start = program.start() if start is None else start
        if start is None:
            continue
        cost, start = program.minimise(start, digits)
        found = _rounded(chain, program, start)
        # one more layer is worth its time while the window shrinks by a tenth
        if found and (best is None or cost < best[0] - 0.1):
            best = cost, found
        elif best:
            break
    if best is None:
        place = ", ".join(f"{name} = {value}" for name, value in (at or {}).items())
        raise StabilityError(
            f"stability not proved: no exponential Lyapunov function with up to {LAYERS} boundary "
            f"layers{' at ' + place if place else ''} (unstable, or too close to it)"
        )
    return best[1]


def _box(chain: Chain, layers: int) -> tuple[State, State]:
    """The states on which V takes values of its own: so many beyond the last change of a guard."""
    low, high = [], []
    for i, whole in enumerate(chain.ranges):
        first, last = chain.cuts(i)
        low.append(min(first, 0) - layers if whole.low is None else whole.low)
        high.append(max(last - 1, whole.low or 0) + layers if whole.high is None else whole.high)
    return tuple(low), tuple(high)


class _Program:
    """The linear program for the values of V on the box, in floating point."""

    def __init__(self, chain: Chain, low: State, high: State) -> None:
        import numpy as np

        self.low, self.high, self.directions = low, high, chain.directions
        self.count = prod(b - a + 1 for a, b in zip(low, high, strict=True))
        states, far = zip(*representatives(chain, low, high), strict=True)
        steps = [
            (row, float(rate), reached)
            for row, state in enumerate(states)
            for rate, reached in chain.steps(state)
        ]
        self.far = np.array(far)
        self.sizes = self._sizes(np.array(states))
        self.rows = np.array([row for row, _, _ in steps])
        self.rates = np.array([rate for _, rate, _ in steps])
        reached = np.array([state for _, _, state in steps])
        self.changes = self._sizes(reached) - self.sizes[self.rows]
        self.sources = self._cells(np.array(states))[self.rows]
        self.targets = self._cells(reached)

    def _sizes(self, states: np.ndarray) -> np.ndarray:
        """The distance from zero in each infinite direction."""
        import numpy as np

        columns = [np.maximum(states[:, i] * (2 * side - 1), 0) for i, side in self.directions]
        return np.array(columns, dtype=float).reshape(len(columns), len(states)).T

    def _cells(self, states: np.ndarray) -> np.ndarray:
        import numpy as np

        low, high = np.array(self.low), np.array(self.high)
        return np.ravel_multi_index(
            tuple((np.clip(states, low, high) - low).T), tuple(high - low + 1)
        )

    def _matrix(self, up: np.ndarray) -> Any:
        """The coefficients of v in the drift at each representative, growth `up` per move."""
        import numpy as np
        from scipy.sparse import csr_array

        entries = np.concatenate([self.rates * up, -self.rates])
        rows = np.concatenate([self.rows, self.rows])
        columns = np.concatenate([self.targets, self.sources])
        return csr_array((entries, (rows, columns)), shape=(len(self.far), self.count))

    def start(self) -> np.ndarray | None:
        """Growth rates for which a V exists: a multiple of the slopes of a linear one."""
        import numpy as np
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        k = len(self.directions)
        if not k:
            return np.zeros(0)
        drift = csr_array(
            np.array(
                [
                    np.bincount(self.rows, self.rates * change, len(self.far))
                    for change in self.changes.T
                ]
            ).T
        )
        rows = hstack([drift, self._matrix(np.ones(len(self.rows)))]).tocsr()[self.far]
        found = linprog(
            np.array([1.0] * k + [0.0] * self.count),
            A_ub=rows,
            b_ub=-np.ones(rows.shape[0]),
            bounds=[(0, None)] * k + [(None, None)] * self.count,
            method="highs",
        )
        if found.status != 0:
            return None
        slopes = np.maximum(found.x[:k], 1e-3 * found.x[:k].max())
        for halvings in range(30):
            rates = slopes / slopes.max() / 2**halvings
            if self.solve(rates) is not None:
                return rates
        return None

    def solve(self, rates: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The least bound on E[E] at given growth rates ln theta, with the values of V."""
        import numpy as np
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, diags_array, hstack

        weight = np.where(self.far, 1.0, np.exp(self.sizes @ rates))
        matrix = diags_array(weight) @ self._matrix(np.exp(self.changes @ rates))
        bound = csr_array(np.where(self.far, 0.0, -1.0)[:, None])
        found = linprog(
            np.append(np.zeros(self.count), 1.0),
            A_ub=hstack([matrix, bound]).tocsr(),
            b_ub=-weight,
            bounds=(0, None),
            method="highs",
        )
        if found.status != 0 or not np.isfinite(found.x).all():
            return None
        return max(found.x[-1], 1.0), found.x[:-1]

    def minimise(self, rates: np.ndarray, digits: int) -> tuple[float, np.ndarray]:
        """The logarithm of the number of states of a window, least by a pattern search."""
        import numpy as np

        def cost(rates: np.ndarray) -> float:
            found = self.solve(rates) if rates.max(initial=0.0) < 20 else None
            if found is None:
                return float("inf")
            height = (digits + 10) * log(10) + log(found[0])
            # the length of the window in each coordinate, both sides of zero together
            lengths = np.bincount(coordinates, height / rates, len(self.low))
            return float(np.log(lengths[lengths > 0]).sum())

        coordinates = np.array([i for i, _ in self.directions], dtype=int)
        best = cost(rates)
        moves = [
            sign * move for move in (np.ones(len(rates)), *np.eye(len(rates))) for sign in (1, -1)
        ]
        step = 1.0
        while step > 0.06 and len(rates):
            improved = False
            for move in moves:
                tried = rates * 2.0 ** (step * move)
                if (value := cost(tried)) < best - 0.01:
                    best, rates, improved = value, tried, True
            step = step if improved else step / 2
        return best, rates


def _rounded(chain: Chain, program: _Program, rates: np.ndarray) -> ExponentialMoment | None:
    """A proved moment with integer weights near the given growth rates."""
    import numpy as np

    for shrink in (1.0, 0.97, 0.9, 0.8, 0.6):
        unit = shrink * rates.min(initial=1.0) / RESOLUTION
        base = Fraction(1) + Fraction(1, ceil(1 / unit))
        whole = [int(shrink * rate / log(base) + 1e-9) for rate in rates]
        solved = program.solve(np.array(whole, dtype=float) * log(base))
        if solved is None:
            continue
        weights = [[0, 0] for _ in chain.ranges]
        for (i, side), weight in zip(chain.directions, whole, strict=True):
            weights[i][side] = weight
        unit = solved[1].max(initial=1.0) / 2**40
        candidate = ExponentialMoment(
            base,
            tuple((down, up) for down, up in weights),
            program.low,
            program.high,
            tuple(Fraction(round(float(v) / unit)) for v in solved[1]),
            Fraction(1),
        )
        found = proved(chain, candidate)
        if found is not None:
            return found
    return None
