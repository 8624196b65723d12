r"""A test function with geometric drift, for every fraction of misrouted jobs at once.

For the shorter queue under uniform attacks the generator is affine in the misrouted fraction p,
Q_p = Q_c + (p - c) Q', with Q'g(m, d) = (lam/2) (g(m, d+1) - g(m+1, d-1)) for d >= 1 and zero for
d = 0. Here is V >= 1 with, off the empty state o,

    Q_p V <= -kappa V for all p in [0, 1],    |Q'| V <= spread kappa V,

where |Q'| adds the two terms of Q' instead. Beyond a box V grows by constant factors, so that the
ratios of both sides are constant there and the inequalities are a check of finitely many numbers.

*Lemma.* If |g| <= a V for some a, g(o) = 0 and |Q_p g| <= eps V off o, then |g| <= (eps/kappa) V:
with tau the first time in o, E_x[V(X_t); t < tau] <= exp(-kappa t) V(x) (Dynkin's formula; Meyn
and Tweedie, Adv. Appl. Probab. 25, 1993), and |g(x)| <= E_x of the integral of eps V up to tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

from qtheory.arithmetic import exact
from qtheory.drift.chain import Chain, chain_at
from qtheory.drift.exponential import representatives
from qtheory.drift.exponential_search import StabilityError
from qtheory.drift.window import PrecisionError
from qtheory.systems.shorter_queue import model, rates

WEIGHTS = (3, 2)
"""The level of a state is l = 3m + 2d."""

CHOICES = ((8, 0.9), (12, 0.9), (20, 0.9), (20, 0.6), (32, 0.5), (48, 0.15))
"""Boundary layers, and the rate kappa as a part of (sqrt(mu) - sqrt(lam/2))^2, in this order."""

LONGEST = 600
"""The most bits of the denominator of lam/mu: longer numbers do not fit a double."""


@dataclass(frozen=True)
class GeometricDrift:
    """V(m, d) = v base^(3m + 2d), v the value at the nearest state of a box, with its two rates.

    The box is 0 <= m, d <= layers, `values` its values in lexicographic order, none below 1.
    """

    base: Fraction
    layers: int
    values: tuple[Fraction, ...]
    kappa: Fraction
    spread: Fraction

    def at(self, m: int, d: int) -> Fraction:
        """V at a state."""
        return self._value(m, d) * self.base ** _level(m, d)

    def _value(self, m: int, d: int) -> Fraction:
        return self.values[min(m, self.layers) * (self.layers + 1) + min(d, self.layers)]


def _level(m: int, d: int) -> int:
    return WEIGHTS[0] * m + WEIGHTS[1] * d


uniform = cache(model)
"""The model under uniform attacks, built once."""


def chain(lam: Fraction, mu: Fraction, p: Fraction) -> Chain:
    """The chain under uniform attacks at a point."""
    return chain_at(uniform(), {"lam": lam, "mu": mu, "p": p})


def geometric_drift(lam: Any, mu: Any) -> GeometricDrift:
    """A proved V for all p in [0, 1] at rational rates.

    Q_p V is affine in p, so the inequality at p = 0 and p = 1 is the one for all p. The values
    are a linear program in floating point; what is returned has been proved in rationals.

    >>> V = geometric_drift(1, 1)
    >>> V.kappa > 0, V.at(0, 1) >= 1
    (True, True)

    Raises `UnstableError` unless lam < 2 mu, `StabilityError` where no V is found and
    `PrecisionError` for a ratio lam/mu of too many digits.
    """
    place = rates.require({"lambda": lam, "mu": mu})
    arrival, service = (exact(place[symbol]) for symbol in rates.symbols)
    found = _at_load(arrival / service)
    return replace(found, kappa=found.kappa * service)


@cache
def _at_load(load: Fraction) -> GeometricDrift:
    """V at lam = load and mu = 1: with another unit of time only kappa differs."""
    if load.denominator.bit_length() > LONGEST:
        raise PrecisionError("lambda/mu has too many digits: round the rates")
    ends = [chain(load, Fraction(1), Fraction(p)) for p in (0, 1)]
    base = _below((2 / float(load)) ** 0.25)
    for layers, part in CHOICES:
        kappa = part * (1 - (float(load) / 2) ** 0.5) ** 2
        values = _proposal(ends[1], base, layers, kappa)
        found = values and _proved(ends, load, base, layers, values)
        if found:
            return found
    raise StabilityError(
        f"no geometric drift found at lambda/mu = {load}: too close to lambda = 2*mu"
    )


def _below(value: float) -> Fraction:
    """A short rational number just below one that exceeds 1."""
    unit = max(64, ceil(32 / (value - 1)))
    return Fraction(int(value * unit), unit)


def _proposal(at: Chain, base: Fraction, layers: int, kappa: float) -> tuple[Fraction, ...] | None:
    """Values of V, by linear programming: Q V + kappa V <= 0 off o, v >= 1, of least sum."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    entries, rows, columns, count = [], [], [], 0
    for state, _ in representatives(at, (0, 0), (layers, layers)):
        if state == (0, 0):
            continue
        here, total = _cell(state, layers), kappa
        for rate, reached in at.steps(state):
            entries.append(float(rate * base ** (_level(*reached) - _level(*state))))
            rows.append(count)
            columns.append(_cell(reached, layers))
            total -= float(rate)
        entries.append(total)
        rows.append(count)
        columns.append(here)
        count += 1
    size = (layers + 1) ** 2
    matrix = csr_array((entries, (rows, columns)), shape=(count, size))
    found = linprog(np.ones(size), matrix, np.zeros(count), bounds=(1, None), method="highs")
    if found.status != 0:
        return None
    return tuple(Fraction(max(round(v * 2**20), 2**20), 2**20) for v in found.x.tolist())


def _cell(state: tuple[int, ...], layers: int) -> int:
    return min(state[0], layers) * (layers + 1) + min(state[1], layers)


def _proved(
    ends: list[Chain], lam: Fraction, base: Fraction, layers: int, values: tuple[Fraction, ...]
) -> GeometricDrift | None:
    """The best kappa and spread of V, exactly; None where kappa is not positive."""
    powers = {change: base**change for change in range(-6, 7)}

    def ratio(state: tuple[int, ...], reached: tuple[int, ...]) -> Fraction:
        change = powers[_level(*reached) - _level(*state)]
        return values[_cell(reached, layers)] * change / values[_cell(state, layers)]

    kappa, largest = None, Fraction(0)
    for m, d in (x for x, _ in representatives(ends[1], (0, 0), (layers, layers)) if any(x)):
        for end in ends:
            decay = sum(rate * (1 - ratio((m, d), y)) for rate, y in end.steps((m, d)))
            kappa = decay if kappa is None else min(kappa, decay)
        if d:
            both = ratio((m, d), (m, d + 1)) + ratio((m, d), (m + 1, d - 1))
            largest = max(largest, lam / 2 * both)
    if kappa is None or kappa <= 0:
        return None
    # short numbers, on the safe side
    kappa = Fraction(int(kappa * 2**40), 2**40)
    return GeometricDrift(
        base, layers, values, kappa, Fraction(ceil(largest / kappa * 2**10), 2**10)
    )
