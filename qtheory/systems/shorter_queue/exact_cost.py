r"""The exact cost J(p) of the shorter queue under uniform attacks, with its derivatives in p.

Let tau be the first time in the empty state o, f the cost 2m + d or the constant 1, and H_f(x) the
mean under x of the integral of f up to tau; o is left to (0, 1) only, at rate lam. Then
J = lam H_f(0, 1) / (1 + lam H_1(0, 1)), with f = 2m + d in the numerator, by the renewal-reward
theorem. The rest is perturbation of Q_p = Q_c + s Q', s = p - c, with V, kappa and spread of
`qtheory.systems.shorter_queue.geometric_drift`, and its lemma.

*Theorem.* H_f = sum of s^n A_n, where A_n(o) = 0 and, off o, Q_c A_0 = -f, Q_c A_n = -Q' A_(n-1);
by the lemma |A_n| <= spread |A_(n-1)| in the norm sup |g|/V, so the series converges for |s| <
1/spread, and its sum is H_f for p in [0, 1]. For functions B_n of finite support with B_n(o) = 0,
and e_n = sup |r_n|/V of their residuals r_0 = Q_c B_0 + f, r_n = Q_c B_n + Q' B_(n-1), the lemma
gives |B_n - A_n| <= eta_n V with eta_0 = e_0/kappa, eta_n = e_n/kappa + spread eta_(n-1).

The B_n are solved for in a window and refined in integers; their residuals are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, lcm, log, log2
from typing import TYPE_CHECKING, Any

import sympy as sp
from flint import arb, ctx

from qtheory.arithmetic import exact, to_fmpq
from qtheory.balls import Enclosure, evaluate
from qtheory.drift.window import Poisson, PrecisionError, level_window
from qtheory.errors import DomainError
from qtheory.systems.shorter_queue import JB, domain, lam, mu
from qtheory.systems.shorter_queue.geometric_drift import (
    WEIGHTS,
    GeometricDrift,
    chain,
    geometric_drift,
)

if TYPE_CHECKING:
    import numpy as np

    from qtheory.model.lattice import Window

ATTEMPTS = 6
"""Windows that are tried."""

REFINEMENTS = 60

MOST_DIGITS, MOST_BITS = 250, 940
"""Beyond these digits of an answer, or bits with those of the rates and p, the integers of a
window no longer fit a double, from which refinement starts."""


@dataclass(frozen=True)
class Series:
    """The power series of lam H_f(0, 1) for one f, about a point c.

    `terms` are the coefficients, each within its `errors`; from the last one on, coefficients are
    at most `last` times a power of `spread`.
    """

    terms: tuple[Fraction, ...]
    errors: tuple[Fraction, ...]
    last: Fraction
    spread: Fraction


class Expansion:
    """The window at one point: its equations, factored, and Q'."""

    def __init__(self, lam: Fraction, mu: Fraction, p: Fraction, top: int, scale: int) -> None:
        import numpy as np

        self.lam, self.top, self.scale = lam, top, scale
        self.drift = geometric_drift(lam, mu)
        if (top + 1) * (self.drift.base - 1) < 1:
            raise PrecisionError("the window is too small")
        if (lam.denominator * mu.denominator * p.denominator).bit_length() + scale > MOST_BITS:
            raise PrecisionError("lambda/mu or p has too many digits: round them")
        here = chain(lam, mu, p)
        self.window: Window = level_window(here, tuple((0, weight) for weight in WEIGHTS), top)
        states = self.window.coordinates
        self.jobs = 2 * states[:, 0] + states[:, 1]
        self.equations = Poisson(here, self.window, self.jobs, 1)
        self.below = lcm(self.equations.denominator, (lam / 2).denominator)
        self.fastest = lam + 2 * mu
        self.apart = np.flatnonzero(states[:, 1] >= 1)
        self.up, self.over = (
            self.window.positions(states[self.apart] + np.array(jump)) for jump in ((0, 1), (1, -1))
        )
        self.start = int(self.window.positions(np.array([[0, 1]]))[0])
        # V >= 1 in the window, V >= edge outside
        self.edge = self.drift.base ** (top + 1)
        v = np.array(self.drift.values, dtype=float).reshape(self.drift.layers + 1, -1)
        near = np.minimum(states, self.drift.layers)
        levels = states @ np.array(WEIGHTS)
        self.logs = np.log(v[near[:, 0], near[:, 1]]) + levels * log(self.drift.base)

    def series(self, jobs: bool, order: int) -> Series:
        """The expansion for f = 2m + d, or for f = 1."""
        import numpy as np

        f = self.jobs if jobs else np.ones(len(self.window), dtype=np.int64)
        right = f.astype(object) * (self.below << self.scale)
        # f / V outside: f <= 2 l / 3, and l / base^l falls beyond the window
        outside = Fraction(2 * (self.top + 1), 3) if jobs else Fraction(1)
        kappa, spread = self.drift.kappa, self.drift.spread
        unit = Fraction(1, 1 << self.scale)
        weight = self.lam * self.drift.at(0, 1)
        terms, errors, eta = [], [], Fraction(0)
        for _ in range(order + 1):
            values, residual = self._solve(right)
            height = int(abs(values).max()) * unit
            missed = residual + (outside + self.fastest * height) / self.edge
            eta = missed / kappa + spread * eta
            terms.append(self.lam * int(values[self.start]) * unit)
            errors.append(weight * eta)
            right, outside = self._apart(values), self.lam * height
        return Series(
            tuple(terms), tuple(errors), weight * (self._norm(values) + eta), self.drift.spread
        )

    def _apart(self, values: np.ndarray) -> np.ndarray:
        """Q' of a function that is zero outside the window, over below 2^scale."""
        import numpy as np

        padded = np.append(values, values[:1] * 0)
        total = values * 0
        total[self.apart] = (padded[self.up] - padded[self.over]) * int(self.below * self.lam / 2)
        return total

    def _norm(self, values: np.ndarray) -> Fraction:
        """An upper bound on sup |g|/V: doubles with room for their rounding."""
        import numpy as np

        sizes = np.abs(values).astype(float)
        with np.errstate(divide="ignore"):
            largest = (np.log(sizes) - self.logs).max() - self.scale * log(2)
        return exact(Fraction(float(np.exp(largest)))) * Fraction(1001, 1000) + Fraction(1, 10**30)

    def _solve(self, right: np.ndarray) -> tuple[np.ndarray, Fraction]:
        """g over 2^scale with Q g = -right off o and g(o) = 0, and its largest residual."""
        import numpy as np

        whole = np.frompyfunc(int, 1, 1)
        equations, one = self.equations, 1 << self.scale
        factor = self.below // equations.denominator
        # rounding the values leaves at most this
        rounding = ceil(2 * self.below * self.fastest)
        values, residual = right * 0, right
        for _ in range(REFINEMENTS):
            part = self._killed(residual.astype(float) / factor / float(one))
            values = values + whole(np.rint(part * float(one)))
            residual = right + equations.drift(values) * factor
            residual[equations.reference] = 0
            left = int(abs(residual).max())
            if left <= rounding:
                return values, Fraction(left, self.below * one)
        raise PrecisionError(f"refinement stalls at {self.scale} bits: ask for fewer digits")

    def _killed(self, residual: np.ndarray) -> np.ndarray:
        """The correction in floating point that keeps the value 0 at o."""
        values, gain = self.equations.correction(residual)
        values[self.equations.others] += gain * self.equations.times
        return values


def cost(lam: Any, mu: Any, p: Any, digits: int = 15) -> Enclosure:
    """The cost J(p) = E[x1 + x2] with so many proven digits; exactly 2 lam/(2mu - lam) at p = 1.

    >>> print(cost(1, 1, "1/2", digits=20), cost(1, 1, 1))
    1.5965607893543412871 2

    Raises as `taylor` does.
    """
    return _coefficient(lam, mu, p, 0, digits, JB)


def slope(lam: Any, mu: Any, p: Any, digits: int = 12) -> Enclosure:
    """The derivative J'(p) with so many proven digits; `full_slope`, exactly, at p = 1.

    >>> print(slope(1, 1, "1/2"), slope(1, 1, 1))
    0.481389609616 1.33333333333

    Raises as `taylor` does.
    """
    return _coefficient(lam, mu, p, 1, digits, full_slope)


def _coefficient(lam: Any, mu: Any, p: Any, order: int, digits: int, full: sp.Expr) -> Enclosure:
    """One of the coefficients of `taylor`; at p = 1 by its closed form."""
    place = domain.require({"lambda": lam, "mu": mu, "p": p})
    if place[domain.symbols[2]] == 1:
        return evaluate(full, place, digits)
    return taylor(lam, mu, p, order, digits)[order]


full_slope = 4 * mu * lam**2 / ((2 * mu - lam) ** 2 * (2 * mu + lam))
"""J'(1), in closed form.

The drift of x1^2 + x2^2 gives (2mu - lam) J = 2 lam - (1 - p) lam E|x1 - x2|, so J'(1) is
lam E|x1 - x2|/(2mu - lam) at p = 1. There the queues are independent and geometric with parameter
r = lam/(2mu), hence E|x1 - x2| = 2r/(1 - r^2). It is 2mu/(2mu - lam) times the
slope of `shorter_queue.Jbar` there.
"""


def taylor(lam: Any, mu: Any, p: Any, order: int, digits: int = 15) -> tuple[Enclosure, ...]:
    """Certified Taylor coefficients J(p), J'(p), J''(p)/2, ... at a rational point.

    The theorem is stated at the head of `exact_cost`. Derivatives at p = 0 and
    p = 1 are those from within. Each coefficient has so many proven significant digits, or lies
    within 10^-digits of zero.

    >>> print(*taylor(1, 1, "1/2", 2, digits=10))
    1.596560789 0.4813896096 0.3962262609

    Raises `UnstableError` unless lam < 2 mu, `DomainError` for p outside [0, 1], an order below 0
    or digits below 1, `StabilityError` and `PrecisionError` too close to lam = 2 mu.
    """
    if order < 0 or digits < 1:
        raise DomainError(f"needs order >= 0 and digits >= 1, got order {order}, digits {digits}")
    place = domain.require({"lambda": lam, "mu": mu, "p": p})
    arrival, service, part = (exact(place[symbol]) for symbol in domain.symbols)
    return _taylor(arrival / service, part, order, digits)


@cache
def _taylor(load: Fraction, p: Fraction, order: int, digits: int) -> tuple[Enclosure, ...]:
    """The coefficients at lam = load and mu = 1: the unit of time does not matter."""
    drift = geometric_drift(load, 1)
    kept = digits + 2 + (order + 1) * log(float(drift.spread) + 2) / log(10)
    kept += log(float((load + 2) / drift.kappa) + 2) / log(10)
    for _ in range(ATTEMPTS):
        top, scale = window_of(drift, kept)
        expansion = Expansion(load, Fraction(1), p, top, scale)
        parts = [expansion.series(jobs, order) for jobs in (True, False)]
        with ctx.workprec(scale + 64):
            found = [_ends(ball) for ball in quotient(*(balls(part) for part in parts))]
        missing = max(_missing(low, high, digits) for low, high in found)
        if missing <= 0:
            return tuple(Enclosure(low, high, digits) for low, high in found)
        kept += missing + 1
    raise PrecisionError(f"{digits} digits are out of reach: ask for fewer")


def window_of(drift: GeometricDrift, digits: float) -> tuple[int, int]:
    """The highest level of a window, and the bits of the values, for so many digits."""
    if digits > MOST_DIGITS:
        raise PrecisionError(f"about {digits:.0f} digits are needed, more than {MOST_DIGITS}")
    top = ceil((digits + 3) * log(10) / log(drift.base)) + ceil(1 / (drift.base - 1))
    return top, ceil(digits / log(2, 10)) + 24


def balls(series: Series) -> list[arb]:
    """The coefficients as balls, at the working precision."""
    return [
        arb(to_fmpq(term)) + arb(0, float(error) * (1 + 2**-40) + 1e-300)
        for term, error in zip(series.terms, series.errors, strict=True)
    ]


def quotient(jobs: list[arb], time: list[arb]) -> list[arb]:
    """The power series of J = jobs / (1 + time)."""
    found: list[arb] = []
    for n, term in enumerate(jobs):
        known = sum((time[k] * found[n - k] for k in range(1, n + 1)), arb(0))
        found.append((term - known) / (1 + time[0]))
    return found


def _ends(ball: arb) -> tuple[Fraction, Fraction]:
    middle, radius = exact(ball.mid().fmpq()), exact(ball.rad().fmpq())
    return middle - radius, middle + radius


def _missing(low: Fraction, high: Fraction, digits: int) -> float:
    """How many more digits are needed."""
    size = abs(low + high) / 2
    size = size if size > high - low else Fraction(1)
    width = (high - low) / size * 10 ** (digits + 1)
    return log2(width.numerator / width.denominator) * 0.302 if width > 1 else 0.0
