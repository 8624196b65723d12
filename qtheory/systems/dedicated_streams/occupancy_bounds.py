"""Proved bounds on the mean shortest queue of N queues with dedicated streams.

With V = sum of x_i (x_i + 1)/2, S the number of customers and M the shortest length, the drift is

    QV = N (lam + lam_s) + N lam_s M - (mu - lam) S.

So for h = delta V + v with v zero outside a finite window, M + Qh is linear in M and S except in
the window and next to it, where finitely many values are computed exactly. For delta large enough
it falls as M or S - N M grows, and its maximum over all states is an upper bound on E[M] (drift
comparison: M >= 0, h bounded below). With -delta in place of delta it rises, and its minimum is a
lower bound, since E[V] is finite: the drift of the sum of x_i^3 is at most a constant less a
multiple of the sum of x_i^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm, log2
from typing import TYPE_CHECKING, Any

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure, decimal_digits, significant
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError
from qtheory.systems.dedicated_streams.occupancy_chain import Grown, Jumps, grow, jumps
from qtheory.systems.dedicated_streams.occupancy_window import (
    Rates,
    Window,
    moves,
    rates_at,
    states_below,
    window_of,
)

if TYPE_CHECKING:
    import numpy as np

UPPER, LOWER = Fraction(3, 2), Fraction(1, 4)
"""delta = UPPER/(N s) above and -LOWER/(N s) below, s = mu - lam - lam_s.

M + Qh falls in M for every UPPER above 1, but a window of many queues reaches its far end only for
larger ones; the bounds widen in proportion. For LOWER any positive number does.
"""

PROMISING = 50
"""Bounds are tried when this many times the mass outside the window is within the width."""

HOPELESS = 10**7
"""Where so many times the mass outside is within the width, rounding errors are in the way."""

MARGIN = Fraction(1, 100)
"""By how much the window exceeds the states whose M + Qh the quadratic part leaves too large."""

FINEST = Fraction(1, 10**11)
"""The narrowest width that h in floating point, before it is rounded, gives."""

ROUNDED = Fraction(1, 50)
"""The share of the width that rounding to decimals may take."""


@dataclass(frozen=True, eq=False)
class MeanBound:
    """h = weight V + v/2^scale with M + Qh <= bound at every state, or >= where `upper` is false.

    Q has these `rates`, in a unit of time near 1/mu; V = sum of x_i (x_i + 1)/2, and v is `values`
    at the states of the window and zero elsewhere.
    Hence E[M] <= bound (or >=), M being the shortest length.
    """

    rates: Rates
    upper: bool
    weight: Fraction
    window: Window
    values: np.ndarray
    scale: int
    bound: Fraction

    def h(self, lengths: Sequence[int]) -> Fraction:
        """The exact value of h at queue lengths in any order."""
        import numpy as np

        row = int(self.window.find(np.array([sorted(lengths)]))[0])
        corrected = Fraction(int(self.values[row]), 2**self.scale) if row >= 0 else Fraction(0)
        return self.weight * sum(x * (x + 1) for x in lengths) / 2 + corrected


@dataclass(frozen=True, eq=False)
class EnclosedShortest:
    """A proof that E[M], the mean shortest of N queues, and E[X] lie in intervals.

    Where the law is known, for one queue or independent ones, `bounds` is empty.
    """

    N: int
    rates: Rates
    shortest: Enclosure
    length: Enclosure
    bounds: tuple[MeanBound, ...] = ()

    @property
    def states(self) -> int:
        """The number of states of the window."""
        return len(self.bounds[0].window) if self.bounds else 0

    def __str__(self) -> str:
        return f"E[M] = {self.shortest}, E[X] = {self.length}"


def enclose_shortest(
    N: int, lam: Any, lam_s: Any, mu: Any, q: Any = 1, width: Any = Fraction(1, 10**6)
) -> EnclosedShortest:
    """E[M] of the shortest of N queues, and E[X] of any queue, within proved intervals.

    The interval of E[M] is at most `width` wide; (I5) E[X] = (lam + lam_s (1 + E[M]))/(mu - lam)
    gives the other, with lam the rate of each dedicated stream times the probability q of joining.
    The proof is drift comparison with a quadratic function plus one of finite support.

    >>> print(enclose_shortest(2, "2/5", "3/10", 1))
    E[M] = 1.06220, E[X] = 1.697769
    >>> print(enclose_shortest(1, "2/5", "3/10", 1))
    E[M] = 2.333333333333333, E[X] = 2.333333333333333

    Raises `ModelError` unless N >= 1, `UnstableError` or `DomainError` for rates outside the
    domain, and `PrecisionError` for a width or a number of queues out of reach.
    """
    rates = rates_at(N, lam, lam_s, mu, q)
    wanted = exact(width)
    if wanted < FINEST:
        raise PrecisionError(f"widths from {float(FINEST)} are within reach, got {width}")
    known = _known(N, rates)
    if known is not None:
        return _enclosed(N, rates, known, known, ())
    for grown in grow(N, _in_own_time(rates)):
        if grown.outside * PROMISING > wanted:
            continue
        found = _bounds(grown, wanted)
        if found is not None and found[0].bound - found[1].bound <= (1 - ROUNDED) * wanted:
            upper, lower = found
            return _enclosed(N, rates, max(lower.bound, Fraction(0)), upper.bound, found)
        if grown.outside * HOPELESS < wanted:
            break
    raise PrecisionError(f"a width of {float(wanted):g} is out of reach: ask for a larger one")


def _in_own_time(rates: Rates) -> Rates:
    """The rates in the unit of time, a power of 2, in which the service rate is between 1/2 and 2.

    E[M] does not depend on it, and doubles hold such rates.
    """
    service = rates.service
    shift = service.denominator.bit_length() - service.numerator.bit_length()
    return Rates(*(rate * Fraction(2) ** shift for rate in rates))


def _known(N: int, rates: Rates) -> Fraction | None:
    """E[M] of independent queues."""
    if N > 1 and rates.smart > 0:
        return None
    load = (rates.arrivals / rates.service) ** N
    return load / (1 - load)


def _enclosed(
    N: int, rates: Rates, lower: Fraction, upper: Fraction, bounds: tuple[MeanBound, ...]
) -> EnclosedShortest:
    def length(shortest: Fraction) -> Fraction:
        customers = rates.dedicated + rates.smart * (1 + shortest)
        return customers / (rates.service - rates.dedicated)

    shortest, mean = _rounded(lower, upper), _rounded(length(lower), length(upper))
    return EnclosedShortest(N, rates, shortest, mean, bounds)


def _rounded(lower: Fraction, upper: Fraction) -> Enclosure:
    """The interval between decimals, with as many digits as its width leaves, or one less."""
    if lower == upper:
        return Enclosure(lower, upper, 16)
    places = 0
    while (upper - lower) * 10 ** (places + 1) <= 1:
        places += 1
    unit = Fraction(1, 10 ** (places + 3))
    lower, upper = floor(lower / unit) * unit, ceil(upper / unit) * unit
    digits = max(len(str(int(upper * 10**places))), 1)
    try:
        proved = significant(decimal_digits(lower, upper, digits))
    except DomainError:
        proved = 0
    return Enclosure(lower, upper, proved if proved >= max(digits - 1, 1) else digits)


def _bounds(grown: Grown, wanted: Fraction) -> tuple[MeanBound, MeanBound] | None:
    """Both bounds from a window, None where it is too small for a proof."""
    import numpy as np

    rates, window = grown.rates, grown.window
    N = window.states.shape[1]
    mean = Fraction(float(grown.law @ window.states[:, 0]))
    sides = [_Side(N, rates, True), _Side(N, rates, False)]
    core = [
        states_below(N, side.excesses(mean * (1 - MARGIN) if side.upper else mean * (1 + MARGIN)))
        for side in sides
    ]
    window = window_of(np.concatenate([window.states, *core]))
    found = jumps(window, rates)
    home = int(window.find(grown.window.states[[grown.law.argmax()]])[0])
    leaving = found.out - found.inside
    times = found.potential(np.ones(len(window)), home)
    poisson = _Poisson(found, home, times, leaving, found.potential(leaving, home))
    upper, lower = (side.bound(poisson, wanted) for side in sides)
    return (upper, lower) if upper and lower else None


@dataclass(frozen=True, eq=False)
class _Poisson:
    """A window, the mean times to leave it or reach home, the rates and chances to leave first."""

    jumps: Jumps
    home: int
    times: np.ndarray
    leaving: np.ndarray
    escape: np.ndarray


@dataclass(frozen=True)
class _Side:
    """The upper bound, or the lower one, in exact numbers."""

    N: int
    rates: Rates
    upper: bool

    @property
    def sign(self) -> int:
        return 1 if self.upper else -1

    @property
    def weight(self) -> Fraction:
        return (UPPER if self.upper else -LOWER) / (self.N * self.rates.spare)

    @property
    def linear(self) -> tuple[Fraction, Fraction, Fraction]:
        """The coefficients of 1, M and S in M + weight QV."""
        dedicated, smart, service = self.rates
        most = self.weight * self.N
        return most * self.rates.arrivals, 1 + most * smart, self.weight * (dedicated - service)

    def excesses(self, level: Fraction) -> Iterator[int]:
        """For M = 0, 1, ... the most customers beyond N M with M + weight QV past the level.

        Past means above for the upper bound, below for the lower. It falls with M and with S.
        """
        constant, shortest, customers = (self.sign * c for c in self.linear)
        step = shortest + self.N * customers
        room = constant - self.sign * level
        while room >= 0:
            yield floor(room / -customers)
            room += step

    def bound(self, poisson: _Poisson, wanted: Fraction) -> MeanBound | None:
        """The bound from h on this window.

        v = a - g t + p c solves f + Qh = g in the window, p being its value at one state, and g
        depends on p. Next to the window, where h turns quadratic, f + Qh is within g for p far
        enough below zero (above, for the lower bound); farther costs more.
        """
        import numpy as np

        jumps, home = poisson.jumps, poisson.home
        window, beyond = jumps.window, jumps.window.boundary.states
        linear = [float(c) for c in self.linear]
        cost, cost_beyond = _combined(linear, window.states), _combined(linear, beyond)
        parts = [jumps.potential(cost, home), poisson.times, 1 - poisson.escape]
        cycle = 1 + jumps.drift(poisson.times)[home]
        fixed = (cost[home] + jumps.drift(parts[0])[home]) / cycle
        slope = -(poisson.leaving + jumps.drift(poisson.escape))[home] / cycle
        there = [_drift(window, beyond, jumps.rates, part, float) for part in parts]
        excess = cost_beyond + there[0] - fixed * (1 + there[1])
        ends = -excess / (there[2] - slope * (1 + there[1]))
        value = float(ends.min() if self.upper else ends.max())
        level = fixed + slope * value
        values = parts[0] - level * parts[1] + value * parts[2]
        values += jumps.potential(cost - level + jumps.drift(values), home)
        scale = ceil(log2(1000 * self.N * (self.rates.arrivals + self.rates.service) / wanted))
        return self._proved(window, np.rint(values * 2.0**scale), scale)

    def _proved(self, window: Window, values: np.ndarray, scale: int) -> MeanBound | None:
        """The bound that h proves, in exact arithmetic; None where it proves none."""
        import numpy as np

        unit = lcm(*(rate.denominator for rate in self.rates))
        whole = Rates(*(int(rate * unit) for rate in self.rates))
        if not np.isfinite(values).all():
            return None
        fits = 4 * self.N * (whole.arrivals + whole.service) * int(abs(values).max()) < 2**63
        kind = np.int64 if fits else object
        values = np.array([int(value) for value in values], dtype=kind)
        below = lcm(*(c.denominator for c in self.linear))
        linear = [int(c * below) for c in self.linear]
        ends = []
        for states in (window.states, window.boundary.states):
            drift = _drift(window, states, whole, values, kind).astype(object)
            total = (_combined(linear, states.astype(object)) * unit << scale) + drift * below
            ends.append(total.max() if self.upper else total.min())
        end = max(ends) if self.upper else min(ends)
        bound = Fraction(end, below * unit << scale)
        decided = states_below(self.N, self.excesses(bound))
        if not ((window.find(decided) >= 0) | (window.boundary.find(decided) >= 0)).all():
            return None
        return MeanBound(self.rates, self.upper, self.weight, window, values, scale, bound)


def _combined(linear: Sequence[Any], states: np.ndarray) -> np.ndarray:
    """A combination of 1, M and S at states."""
    constant, shortest, customers = linear
    total: np.ndarray = constant + shortest * states[:, 0] + customers * states.sum(axis=1)
    return total


def _drift(
    window: Window, states: np.ndarray, rates: Rates, values: np.ndarray, kind: Any
) -> np.ndarray:
    """Qv at states of the window or next to it, with v zero outside the window."""
    import numpy as np

    padded = np.append(values, values[:1] * 0)  # at row -1
    total = np.zeros(len(states), dtype=kind)
    own = padded[window.find(states)]
    for move in moves(states, rates, kind):
        ahead = padded[window.targets(states, move)]
        total[move.sources] += (ahead - own[move.sources]) * move.rate
    return total
