"""Poisson's equation f + Qh = g on a finite window of the lattice, solved to any precision.

h is zero outside the window and at one state of it, so with Q the generator of the whole chain
the equation is a nonsingular linear system. Its matrix, an M-matrix, is factored once in floating
point; h and g are integers over a power of two, refined until the residual f + Qh - g, which is
computed exactly, is as small as wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm, log2, prod
from typing import TYPE_CHECKING, Any

from qtheory.drift.chain import Chain, Move, State
from qtheory.drift.exponential import Weights
from qtheory.errors import QTheoryError
from qtheory.model.lattice import Window

if TYPE_CHECKING:
    import numpy as np

STATES = 3_000_000
"""The most states of a window."""

HEADROOM = 58
"""Corrections are integers of so many bits, which leaves room for rounding in 64."""


INCOMPLETE = 20_000
"""States of a window in three or more dimensions beyond which its factors would fill up."""

UNREACHED = "the state nearest to zero is not reached from every state"


class PrecisionError(QTheoryError):
    """A precision that is out of reach: too large a window, or a refinement that stalls."""


@dataclass(frozen=True, eq=False)
class Solution:
    """h on a window as integers over 2^scale, g alike, and the exact range of f + Qh - g there."""

    window: Window
    scale: int
    values: np.ndarray
    gain: int
    least: Fraction
    greatest: Fraction

    @property
    def height(self) -> Fraction:
        """The greatest |h|."""
        return Fraction(int(abs(self.values).max()), 2**self.scale)


def level_window(chain: Chain, weights: Weights, top: int) -> Window:
    """The states with sum of weight_i |x_i| <= top, in lexicographic order.

    Raises `PrecisionError` when there are too many.
    """
    import numpy as np

    bounds = [
        (-(top // down) if low is None else low, top // up if high is None else high)
        for (low, high), (down, up) in zip(chain.ranges, weights, strict=True)
    ]
    sizes = [high - low + 1 for low, high in bounds]
    if prod(sizes) > 100 * STATES:
        raise PrecisionError(f"a window in a box of {prod(sizes)} states: ask for fewer digits")
    level: Any = np.zeros((1,) * len(sizes), dtype=np.int32)
    for i, ((low, high), (down, up)) in enumerate(zip(bounds, weights, strict=True)):
        axis = np.arange(low, high + 1)
        size = np.where(axis > 0, up * axis, -down * axis).astype(np.int32)
        level = level + size.reshape([-1 if j == i else 1 for j in range(len(sizes))])
    codes = np.flatnonzero(level <= top)
    if len(codes) > STATES:
        raise PrecisionError(f"a window of {len(codes)} states: ask for fewer digits")
    places = np.stack(np.unravel_index(codes, sizes), axis=1)
    return Window(tuple(bounds), places + np.array([low for low, _ in bounds]), codes)


class Poisson:
    """Poisson's equation on a window: the moves as arrays, and the float factorisation.

    f is `cost`, integers at the states of the window, over `below`. Rates and costs become
    integers by one common denominator, so that residuals are integers.
    """

    def __init__(self, chain: Chain, window: Window, cost: np.ndarray, below: int) -> None:
        import numpy as np

        self.window = window
        coefficients = [c for move in chain.moves for _, c in move.terms]
        self.denominator = lcm(below, *(c.denominator for c in coefficients))
        self.cost = cost.astype(object) * (self.denominator // below)
        self.moves = [self._arrays(move) for move in chain.moves]
        self.reference = int(window.positions(np.array([_reference(chain)]))[0])
        self._factor()

    def _arrays(self, move: Move) -> tuple[np.ndarray, np.ndarray, Any]:
        """Sources, targets (-1 outside the window) and rates of one move, as integers."""
        import numpy as np

        states = self.window.coordinates
        possible = np.ones(len(states), dtype=bool)
        for values, (low, high) in zip(states.T, move.guard, strict=True):
            possible &= values >= (values if low is None else low)
            possible &= values <= (values if high is None else high)
        sources = np.flatnonzero(possible)
        targets = self.window.positions(states[sources] + np.array(move.jump))
        if all(not any(exponents) for exponents, _ in move.terms):
            return sources, targets, self._integer(move.rate(states[0].tolist()))
        rates = [self._integer(move.rate(state)) for state in states[sources].tolist()]
        return sources, targets, np.array(rates)

    def _integer(self, value: Fraction) -> int:
        return int(value * self.denominator)

    def _factor(self) -> None:
        """Factor -Q on the window without the reference state."""
        import numpy as np
        from scipy.sparse import coo_array

        size = len(self.window)
        outflow = np.zeros(size)
        entries, rows, columns = [], [], []
        for sources, targets, rates in self.moves:
            weight = np.broadcast_to(np.asarray(rates, dtype=float), sources.shape)
            np.add.at(outflow, sources, weight)
            inside = targets >= 0
            entries.append(-weight[inside])
            rows.append(sources[inside])
            columns.append(targets[inside])
        every = np.arange(size)
        matrix = coo_array(
            (
                np.concatenate([*entries, outflow]),
                (np.concatenate([*rows, every]), np.concatenate([*columns, every])),
            ),
            shape=(size, size),
        ).tocsc()
        self.others = np.flatnonzero(every != self.reference)
        self.row = -matrix.tocsr()[[self.reference], :].toarray()[0, self.others]
        many = len(self.window.bounds) > 2 and size > INCOMPLETE
        self.solver = _solver(matrix[self.others][:, self.others], incomplete=many)
        # expected hitting times of the reference state
        self.times = self._solve(np.full(size, float(self.denominator)))
        self.cycle = self.denominator + float(self.row @ self.times)

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return self.solver(right[self.others])

    def correction(self, residual: np.ndarray) -> tuple[np.ndarray, float]:
        """The h and g (in floating point) that bring a residual to zero."""
        import numpy as np

        part = self._solve(residual)
        gain = (residual[self.reference] + float(self.row @ part)) / self.cycle
        values = np.zeros(len(residual))
        values[self.others] = part - gain * self.times
        return values, gain

    def drift(self, values: np.ndarray) -> np.ndarray:
        """The common denominator times Qh, in the integers of the array `values`."""
        import numpy as np

        padded = np.append(values, values[:1] * 0)  # at position -1: h is zero outside
        total = np.zeros_like(values)
        for sources, targets, rates in self.moves:
            # each source occurs once
            total[sources] += (padded[targets] - values[sources]) * rates
        return total

    def solve(self, tolerance: Fraction) -> Solution:
        """h and g with a residual of at most `tolerance`, known exactly.

        Raises `PrecisionError` when the refinement stalls.
        """
        import numpy as np

        wanted = (tolerance.denominator // tolerance.numerator).bit_length() + 8
        if max(np.abs(self.cost)) >= 2**HEADROOM:
            raise PrecisionError("the costs on the window are too large for 64 bits")
        scale, residual = 0, self.cost.astype(np.int64)
        values, gain = np.zeros(len(residual), dtype=object), 0
        while True:
            part, rate = self.correction(residual.astype(float))
            size = max(np.abs(part).max(initial=0.0), abs(rate))
            if not np.isfinite(size):
                raise PrecisionError(UNREACHED)
            finer = HEADROOM - ceil(log2(size)) if size else wanted
            finer = min(finer, max(wanted - scale, 8))
            if finer < 8:
                raise PrecisionError(f"refinement stalls at {scale} bits: ask for fewer digits")
            scale += finer
            step = np.rint(part * 2.0**finer).astype(np.int64)
            lift = round(rate * 2.0**finer)
            # exact although sums may wrap around: the result is small, modulo 2^64 it is known
            residual = (residual << finer) + self.drift(step) - _wrapped(self.denominator * lift)
            values, gain = (values << finer) + step, (gain << finer) + lift
            left = Fraction(int(np.abs(residual).max()), self.denominator << scale)
            if scale >= wanted and left <= tolerance:
                break
        exact = (self.cost << scale) + self.drift(values) - self.denominator * gain
        unit = Fraction(1, self.denominator << scale)
        return Solution(self.window, scale, values, gain, exact.min() * unit, exact.max() * unit)


def _solver(matrix: Any, incomplete: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Solves linear systems with an M-matrix, by its factors or by iteration with rough ones."""
    from scipy.sparse.linalg import LinearOperator, bicgstab, spilu, splu

    if not matrix.shape[0]:
        return lambda right: right
    # pivots on the diagonal: minimum degree keeps its order, and an M-matrix needs no others
    options: dict[str, Any] = {
        "permc_spec": "MMD_AT_PLUS_A",
        "diag_pivot_thresh": 0.0,
        "options": {"SymmetricMode": True},
    }
    try:
        if not incomplete:
            return splu(matrix, **options).solve
        rough = spilu(matrix, drop_tol=1e-3, fill_factor=10, **options)
    except RuntimeError:
        raise PrecisionError(UNREACHED) from None
    operator = LinearOperator(matrix.shape, rough.solve)

    def solve(right: np.ndarray) -> np.ndarray:
        # what the iteration leaves is left to the next refinement
        return bicgstab(matrix, right, M=operator, rtol=1e-10, maxiter=200)[0]

    return solve


def _wrapped(value: int) -> int:
    """The signed integer of 64 bits that is equal modulo 2^64."""
    return (value + 2**63) % 2**64 - 2**63


def _reference(chain: Chain) -> State:
    """The state nearest to zero."""
    return tuple(
        max(low, 0) if low is not None else min(high, 0) if high is not None else 0
        for low, high in chain.ranges
    )
