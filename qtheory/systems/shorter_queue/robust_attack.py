r"""Regimes of the attack game that two-sided bounds on the cost already decide.

At rational points the bound ladder of `qtheory.drift.bounds` gives l <= J <= u at p = 0 and at a
grid of fractions; J(1) and J'(1) are known in closed form. A regime is robust when every cost
between the bounds, with those values at p = 1, leads to it. Slopes cannot be read from bounds
alone: with J convex, chords enclose them,

    (l(p) - u(q))/(p - q) <= J'(p) <= (u(r) - l(p))/(r - p),    q < p < r.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from qtheory.arithmetic import exact
from qtheory.drift import DriftCertificate, bounds
from qtheory.errors import DomainError
from qtheory.systems.shorter_queue import d, domain, m, rates
from qtheory.systems.shorter_queue.exact_cost import cost, slope
from qtheory.systems.shorter_queue.geometric_drift import uniform

Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class RobustRegime:
    """The regimes that the bounds leave possible; decided when there is one.

    `gain` encloses J(1) - J(0), `phat` the fraction with J(phat) - J(0) = ca and `steepness` its
    slope J'(phat), where they were needed. Membership in a regime uses that J is strictly convex
    (see `qtheory.systems.shorter_queue.cost_shape`); `gain` and `phat` are proved without it.
    """

    possible: tuple[str, ...]
    gain: Pair
    phat: Pair | None = None
    steepness: Pair | None = None

    @property
    def regime(self) -> str | None:
        """The regime, None when undecided."""
        return self.possible[0] if len(self.possible) == 1 else None

    def __str__(self) -> str:
        return self.regime or f"undecided: {' or '.join(self.possible)}"


@cache
def cost_bounds(lam: Any, mu: Any, p: Any, layers: int = 1) -> Pair:
    """Proved lower and upper bounds on J(p) at a rational point, by the ladder of that many layers.

    >>> [str(end) for end in cost_bounds(1, 1, 0)]
    ['27/19', '23/16']

    Raises as `qtheory.drift.bounds` does.
    """
    at = {"lam": lam, "mu": mu, "p": p}
    if domain.require(at)[domain.symbols[2]] == 1:
        value = cost(lam, mu, 1).lower
        return value, value
    found = bounds(uniform(), 2 * m + d, layers, at)
    ends = found.lower, found.upper
    assert isinstance(ends[0], DriftCertificate) and isinstance(ends[1], DriftCertificate)
    return exact(ends[0].bound), exact(ends[1].bound)


def robust_regime(
    lam: Any, mu: Any, ca: Any, cb: Any, layers: int = 1, cells: int = 8
) -> RobustRegime:
    """The regime at rational rates and positive costs as far as two-sided bounds decide it.

    Bounds are taken at the fractions i/cells.

    >>> print(robust_regime(1, 1, "3/5", 1), robust_regime(1, 1, "1/2", 2))
    I II
    >>> print(robust_regime(1, 1, "57/100", 1))
    undecided: I or III or IV

    Raises `UnstableError` unless lam < 2 mu, `DomainError` for a cost that is not positive or
    fewer than two cells.
    """
    place = rates.require({"lambda": lam, "mu": mu})
    arrival, service = (exact(place[symbol]) for symbol in rates.symbols)
    attack, defence = exact(ca), exact(cb)
    if attack <= 0 or defence <= 0 or cells < 2:
        raise DomainError(
            f"needs ca > 0, cb > 0, cells >= 2, got ca = {attack}, cb = {defence}, cells = {cells}"
        )
    full, steepest = cost(arrival, service, 1).lower, slope(arrival, service, 1).lower
    low, high = cost_bounds(arrival, service, Fraction(0), layers)
    gain = full - high, full - low
    if attack > gain[1]:
        return RobustRegime(("I",), gain)
    peace = () if attack < gain[0] else ("I",)
    if defence >= steepest:
        return RobustRegime((*peace, "II"), gain)
    grid = [Fraction(i, cells) for i in range(cells + 1)]
    held = [cost_bounds(arrival, service, p, layers) for p in grid]
    # J(p) - J(0) < ca below phat, > ca above
    first = max((i for i, (_, upper) in enumerate(held) if upper - low <= attack), default=0)
    last = min((i for i, (lower, _) in enumerate(held) if lower - high >= attack), default=cells)
    flattest = max(
        ((held[first][0] - held[i][1]) / (grid[first] - grid[i]) for i in range(first)),
        default=Fraction(0),
    )
    chords = (
        (held[i][1] - held[last][0]) / (grid[i] - grid[last]) for i in range(last + 1, cells + 1)
    )
    steepness = max(flattest, Fraction(0)), min([*chords, steepest])
    defended = () if defence < steepness[0] else ("III",)
    mixed = () if defence > steepness[1] else ("IV",)
    return RobustRegime((*peace, *defended, *mixed), gain, (grid[first], grid[last]), steepness)
