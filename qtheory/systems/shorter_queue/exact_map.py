"""The regimes of the attack game on grids: on the exact cost against the closed-form bound.

Pictures in floating point, estimated and not certified: for each arrival rate J is interpolated at
Chebyshev points in p, from stationary laws of `qtheory.stationary.truncated_law`. Points within
rounding of a boundary may fall on either side; `exact_attack` certifies a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from qtheory.errors import DomainError
from qtheory.systems.shorter_queue import d, m
from qtheory.systems.shorter_queue.attack_game import regime_map
from qtheory.systems.shorter_queue.geometric_drift import uniform

if TYPE_CHECKING:
    import numpy as np

POINTS = 33
"""Interpolation points in p."""

FINE = 4096
"""Points between which J is inverted linearly."""

NAMES = ("outside", "I", "II", "III", "IV")


@dataclass(frozen=True, eq=False)
class CostCurve:
    """J and J' on [0, 1] at one load lam/mu in (0, 2), as Chebyshev series in p; estimated."""

    load: float
    cost: Any
    slope: Any

    @property
    def error(self) -> float:
        """The size of the last coefficients of J, an estimate of its error."""
        return float(abs(self.cost.coef[-3:]).max())


@cache
def cost_curve(load: float) -> CostCurve:
    """The curve of J at lam = load, mu = 1; J depends on the rates by lam/mu only.

    >>> curve = cost_curve(1.0)
    >>> round(float(curve.cost(0.5)), 8), round(float(curve.slope(1.0)), 6)
    (1.59656079, 1.333333)

    Raises `DomainError` unless 0 < load < 2.
    """
    import numpy as np
    from numpy.polynomial import Chebyshev

    from qtheory.stationary import truncated_law

    if not 0 < load < 2:
        raise DomainError(f"the load lam/mu must lie between 0 and 2, got {load}")
    jobs = 2 * m + d

    def value(p: float) -> float:
        at = {"lam": load, "mu": 1, "p": min(max(p, 0.0), 1.0)}
        return float(truncated_law(uniform(), at, tolerance=1e-11).expect(jobs))

    series = Chebyshev.interpolate(
        lambda ps: np.array([value(p) for p in ps.tolist()]), POINTS - 1, domain=[0, 1]
    )
    return CostCurve(load, series, series.deriv())


def exact_regime_map(lam: Any, mu: Any, ca: Any, cb: Any) -> Any:
    """The number 1 to 4 of the regime on the exact cost, on arrays of floats that broadcast.

    0 outside the domain, as `attack_game.regime_map` does for the bound. The time
    goes with the number of different loads lam/mu, about a second each.

    >>> import numpy as np
    >>> exact_regime_map(1.0, 1.0, np.array([0.6, 0.1]), np.array([[1.5], [0.5], [0.1]])).tolist()
    [[1, 2], [1, 3], [1, 4]]
    """
    import numpy as np

    values = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (lam, mu, ca, cb)))
    arrival, service, attack, defence = values
    inside = (arrival > 0) & (arrival < 2 * service) & (attack >= 0) & (defence >= 0)
    loads = np.where(inside, arrival / np.where(service > 0, service, 1), 0.0)
    found = np.zeros(inside.shape, dtype=int)
    for load in np.unique(loads[inside]).tolist():
        here = inside & (loads == load)
        found[here] = _regimes(cost_curve(load), attack[here], defence[here])
    return found


def _regimes(curve: CostCurve, attack: np.ndarray, defence: np.ndarray) -> np.ndarray:
    import numpy as np

    load = curve.load
    fractions = np.linspace(0, 1, FINE + 1)
    added = curve.cost(fractions) - curve.cost(0.0)
    # both ends are known in closed form at p = 1
    most = 2 * load / (2 - load) - float(curve.cost(0.0))
    steepest = 4 * load**2 / ((2 - load) ** 2 * (2 + load))
    boundary = curve.slope(np.interp(attack, added, fractions))
    return np.select([attack >= most, defence >= steepest, defence >= boundary], [1, 2, 3], 4)


@dataclass(frozen=True)
class MapComparison:
    """How far the regimes on the bound are from those on the exact cost, over a grid.

    `counts` maps (regime on the exact cost, regime on the bound) to a number of grid points,
    `by_load` each load lam/mu to the share of its points where the two differ.
    """

    counts: dict[tuple[str, str], int]
    by_load: dict[float, float]

    @property
    def points(self) -> int:
        """The number of grid points inside the domain."""
        return sum(self.counts.values())

    @property
    def share(self) -> float:
        """The share of points with another regime."""
        return sum(n for (x, y), n in self.counts.items() if x != y) / self.points

    def __str__(self) -> str:
        lines = [f"{self.share:.2%} of {self.points} points have another regime (estimated)"]
        differing = sorted(((n, x, y) for (x, y), n in self.counts.items() if x != y), reverse=True)
        lines += [f"  {x} is {y} on the bound: {n}" for n, x, y in differing]
        lines += [f"  lam/mu = {load:.4g}: {share:.2%}" for load, share in self.by_load.items()]
        return "\n".join(lines)


def compare_maps(lam: Any, mu: Any, ca: Any, cb: Any) -> MapComparison:
    """The regimes on both costs, over arrays of floats that broadcast; estimated.

    >>> import numpy as np
    >>> axis = np.linspace(0.01, 0.6, 12)
    >>> found = compare_maps(1.0, 1.0, axis, 4 * axis[:, None])
    >>> found.points, found.counts["II", "II"] > 0, found.counts.get(("II", "III"), 0)
    (144, True, 0)

    Raises `DomainError` where no point lies in the domain.
    """
    import numpy as np

    on_cost, on_bound = exact_regime_map(lam, mu, ca, cb), regime_map(lam, mu, ca, cb)
    inside = on_cost > 0
    if not inside.any():
        raise DomainError("no point of the grid has 0 < lam < 2 mu and costs at least zero")
    loads = np.broadcast_to(np.asarray(lam, float) / np.asarray(mu, float), on_cost.shape)
    pairs, numbers = np.unique(
        np.stack([on_cost[inside], on_bound[inside]]), axis=1, return_counts=True
    )
    counts = {
        (NAMES[x], NAMES[y]): n
        for (x, y), n in zip(pairs.T.tolist(), numbers.tolist(), strict=True)
    }
    differs = on_cost != on_bound
    by_load = {
        load: float(differs[inside & (loads == load)].mean())
        for load in np.unique(loads[inside]).tolist()
    }
    return MapComparison(counts, by_load)
