"""The stationary law of N queues with dedicated streams, on the states that hold the mass.

The state is the queue lengths in increasing order, which is the occupancy of the levels: how many
queues hold 0, 1, 2, ... customers (Bu, Liu, Tang, Zhao; arXiv 2012.14955).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qtheory.errors import DomainError
from qtheory.systems.dedicated_streams.occupancy_chain import grow
from qtheory.systems.dedicated_streams.occupancy_window import Rates, rates_at

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class OccupancyLaw:
    """The law pi of the lengths of N queues in increasing order, in floating point.

    `states` has one row of N lengths for each state of the window. `residual` is the largest
    |(pi Q)_j| of the chain kept in the window, divided by the largest rate of a state; `outside`
    estimates the mass that the window leaves out.
    """

    N: int
    rates: Rates
    states: np.ndarray
    probabilities: np.ndarray
    residual: float
    outside: float

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def mean_shortest(self) -> float:
        """E_N[M], the mean length of the shortest queue."""
        return float(self.probabilities @ self.states[:, 0])

    @property
    def mean_length(self) -> float:
        """E_N[X], the mean length of a queue."""
        return float(self.probabilities @ self.states.mean(axis=1))

    @property
    def discrepancy(self) -> float:
        """By how much the two means miss E_N[X] = (lam + lam_s (1 + E_N[M]))/(mu - lam)."""
        dedicated, smart, service = map(float, self.rates)
        expected = (dedicated + smart * (1 + self.mean_shortest)) / (service - dedicated)
        return self.mean_length - expected

    @cached_property
    def typical(self) -> np.ndarray:
        """The law of the length of one queue: the mean fraction of queues with k customers."""
        import numpy as np

        weights = np.repeat(self.probabilities / self.N, self.N)
        return np.bincount(self.states.ravel(), weights)

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"stationary law of {self.N} queues on {len(self)} states",
                f"  E[M]      {self.mean_shortest:.10g}",
                f"  E[X]      {self.mean_length:.10g}, off by {abs(self.discrepancy):.1g}",
                f"  residual  {self.residual:.1g}",
                f"  outside   about {self.outside:.1g} (estimated)",
            ]
        )


def occupancy_law(
    N: int, lam: Any, lam_s: Any, mu: Any, q: Any = 1, tolerance: float = 1e-8
) -> OccupancyLaw:
    """The stationary law of N queues, on a window that leaves out about `tolerance` of the mass.

    Each queue has its own stream of rate lam, whose customers join with probability q, and a
    server of rate mu; a smart stream of rate N lam_s joins a shortest queue. The window grows from
    the empty system along the probability, and moves out of it are left out.

    >>> law = occupancy_law(3, "2/5", "3/10", 1)
    >>> round(law.mean_shortest, 7), round(law.mean_length, 6)
    (0.6491684, 1.491251)

    Raises `ModelError` unless N >= 1, `UnstableError` or `DomainError` for rates outside the
    domain, and `PrecisionError` for a window with too many states.
    """
    if not tolerance > 0:
        raise DomainError(f"the tolerance must be positive, got {tolerance}")
    rates = rates_at(N, lam, lam_s, mu, q)
    found = next(grown for grown in grow(N, rates) if grown.outside <= tolerance)
    jumps, law = found.jumps, found.law
    left = jumps.matrix.T @ law - jumps.inside * law
    residual = float(abs(left).max() / jumps.out.max()) if len(law) > 1 else 0.0
    return OccupancyLaw(N, rates, found.window.states, law, residual, found.outside)
