"""Sparse elimination with pi fixed at one state, and its refinement to full accuracy.

Balance equations lose digits twice: in the elimination, and in the surplus of flow at a state,
where nearly equal numbers are subtracted. Iterative refinement mends the first if the second is
exact enough, so flows are multiplied and added here in twice the working precision (Dekker,
Numer. Math. 18, 1971; Rump, Ogita, Oishi, SIAM J. Sci. Comput. 31, 2008).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from qtheory.stationary.floats.chain import UNDERFLOW

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

UNIT = 2.0**-53
"""The largest relative error of one rounding."""

_ACCURATE = 1e-12
"""The largest relative correction of an entry with which a refinement may end."""

_STEPS = 20

_NEGLIGIBLE = 1e-280
"""Probabilities too close to underflow to be judged by their relative correction."""


class Solution(NamedTuple):
    """A stationary vector, its residual and an estimate of its total variation error.

    The residual is the largest |(pi Q)_j| divided by the largest exit rate. `response` gives the
    change of the law, to first order, when the surplus of flow pi Q changes by a given vector.
    """

    probabilities: np.ndarray
    residual: float
    error: float
    response: Callable[[np.ndarray], np.ndarray] | None = None


class Flows:
    """The rates of an irreducible chain between different states, by their sources and targets."""

    def __init__(self, rates: csr_array) -> None:
        import numpy as np

        # by a power of two, so that scaled rates give the same law to the last digit
        self.scale = 2.0 ** -int(np.frexp(rates.data.max())[1])
        entries = (rates * self.scale).tocoo()
        self.size = rates.shape[0]
        self.sources, self.targets = entries.coords
        self.rates = entries.data
        self.exits = np.bincount(self.sources, self.rates, self.size)

    def _balance(self, leaving: np.ndarray, arriving: np.ndarray) -> np.ndarray:
        """What arrives at each state less what leaves it, from two values for each move."""
        import numpy as np

        arrivals = np.bincount(self.targets, arriving, self.size)
        return arrivals - np.bincount(self.sources, leaving, self.size)

    @cached_property
    def _halves(self) -> tuple[np.ndarray, np.ndarray]:
        return _split(self.rates)

    def surplus(self, law: np.ndarray) -> np.ndarray:
        """pi Q, accurate to about the square of a rounding error times the flow."""
        import numpy as np

        # a product and its exact rounding error
        parts = _split(law)
        high, low = parts[0][self.sources], parts[1][self.sources]
        product = law[self.sources] * self.rates
        error = high * self._halves[0] - product
        error += high * self._halves[1] + low * self._halves[0]
        error += low * self._halves[1]
        # leading parts, multiples of one small power of two at each state, add up exactly
        largest = np.maximum(law * self.exits, np.bincount(self.targets, product, self.size))
        grid = np.ldexp(1.0, np.frexp(largest)[1] + 1)
        leaving = (grid[self.sources] + product) - grid[self.sources]
        arriving = (grid[self.targets] + product) - grid[self.targets]
        rest = self._balance(product - leaving + error, product - arriving + error)
        return self._balance(leaving, arriving) + rest

    def residual(self, law: np.ndarray) -> float:
        """The largest |(pi Q)_j| divided by the largest exit rate."""
        return float(abs(self.surplus(law)).max() / self.exits.max())

    def pinned(self, pin: int) -> Pinned | None:
        """The balance equations of all states but one, factored; None where that fails."""
        import numpy as np
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        kept = (self.sources != pin) & (self.targets != pin)
        sources, targets = self.sources[kept], self.targets[kept]
        diagonal = np.arange(self.size - 1, dtype=sources.dtype)
        rows = np.concatenate([targets - (targets > pin), diagonal])
        columns = np.concatenate([sources - (sources > pin), diagonal])
        exits = np.delete(self.exits, pin)
        # where rounding makes the factors singular, nearby ones still show where the mass is
        for shift in (0.0, 8 * UNIT):
            values = np.concatenate([-self.rates[kept], exits * (1 + shift)])
            matrix = csc_array((values, (rows, columns)), shape=(self.size - 1, self.size - 1))
            try:
                # an M-matrix needs no pivoting, and minimum degree keeps its factors sparse
                factors = splu(
                    matrix,
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options={"SymmetricMode": True},
                )
            except RuntimeError:
                continue
            return Pinned(self, pin, factors)
        return None


@dataclass(frozen=True, eq=False)
class Pinned:
    """Balance equations with pi fixed at one state, and their factors."""

    flows: Flows
    pin: int
    factors: Any

    def solve(self, right: np.ndarray, transposed: bool = False) -> np.ndarray:
        """The x with x_pin = 0 and (-x Q)_j = right_j elsewhere; (-Q x)_j if transposed."""
        import numpy as np

        found = self.factors.solve(np.delete(right, self.pin), "T" if transposed else "N")
        return np.insert(found, self.pin, 0.0)

    def law(self) -> np.ndarray:
        """The first solution; with entries that are negative or not finite where it fails."""
        import numpy as np

        leaving = self.flows.sources == self.pin
        inflow = np.zeros(self.flows.size)
        inflow[self.flows.targets[leaving]] = self.flows.rates[leaving]
        found = self.solve(inflow)
        found[self.pin] = 1.0
        return found

    def refined(self, law: np.ndarray) -> Solution | None:
        """The law with each entry accurate, or None where the factors are too poor for that."""
        import numpy as np

        if not (np.isfinite(law).all() and (law >= 0).all()):
            return None
        # the sum of finite entries may overflow
        law = law / law.max()
        law /= law.sum()
        last, distance = 0.5, 0.5
        for _ in range(_STEPS):
            change = self.solve(self.flows.surplus(law))
            judged = law > _NEGLIGIBLE
            relative = float((abs(change[judged]) / law[judged]).max())
            # not less than halved, or not a number: rounding errors are all that is left
            if not relative < last / 2:
                break
            law = np.maximum(law + change, 0.0)
            law /= law.sum()
            last, distance = relative, float(abs(change).sum() / 2)
            if relative < 4 * UNIT:
                break
        if last > _ACCURATE:
            return None
        times = self.solve(np.ones(self.flows.size), transposed=True)
        # what probabilities lose near underflow stays away from the pinned state that long
        with np.errstate(over="ignore"):
            lost = UNDERFLOW * float(abs(times).sum())
        if not lost < _ACCURATE:
            return None
        error = distance + lost + self._rounded_rates(law, times)

        def response(surplus: np.ndarray) -> np.ndarray:
            return self._change(law, surplus * self.flows.scale)

        return Solution(law, self.flows.residual(law), error, response)

    def _change(self, law: np.ndarray, surplus: np.ndarray) -> np.ndarray:
        found = self.solve(surplus)
        return found - law * found.sum()

    def _rounded_rates(self, law: np.ndarray, times: np.ndarray) -> float:
        """How far the law moves when each rate changes by one rounding error.

        All rates away from the pinned state, as measured by the times to reach it, change up and
        all towards it down, which is the worst of all directions for that time.
        """
        import numpy as np

        flows = self.flows
        away = np.sign(times[flows.targets] - times[flows.sources])
        moved = UNIT * away * law[flows.sources] * flows.rates
        return float(abs(self._change(law, flows._balance(moved, moved))).sum() / 2)


def _split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower halves of the digits, whose products are exact."""
    scaled = values * (2.0**27 + 1)
    high = scaled - (scaled - values)
    return high, values - high


def walk(rates: csr_array, jumps: int) -> int:
    """Where a simulated path ends: a state of large probability, if it is long enough."""
    import numpy as np

    draw = random.Random(1)
    starts, targets, values = rates.indptr, rates.indices, rates.data
    place = 0
    for _ in range(jumps):
        row = slice(starts[place], starts[place + 1])
        total = np.cumsum(values[row])
        place = targets[row][np.searchsorted(total, draw.random() * total[-1])]
    return int(place)
