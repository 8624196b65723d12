r"""The product forms of the symmetric shorter queue, and sums over them with a proven remainder.

The state is m, the shorter queue, and d, the difference. Away from the axes alpha^m beta^d solves
the balance equations, jobs arriving at rate lam and each server working at rate mu, iff

    (lam + 2 mu) alpha beta = lam beta^2 + mu alpha beta^2 + mu alpha^2.                      (K)

One product form satisfies the equations of the axis d = 0, the first one; a second one with the
same beta mends the axis m = 0, a third one with the same alpha mends d = 0 again, and so on (Adan,
Wessels, Zijm, Analysis of the symmetric shortest queue problem, Stochastic Models 6, 1990):

    x(m, d) = sum_i d_i (c_i alpha_i^m + c_{i+1} alpha_{i+1}^m) beta_i^d,    d >= 1, m + d >= 2.

*Why it is the law.* The series satisfies every balance equation whose states have m + d >= 2; x at
(0, 1), (1, 0), (0, 0) is defined by the equations at (0, 1), (1, 0), (0, 0). One equation is left,
at (1, 1). The rates are bounded and x is absolutely summable, so that the equations sum to zero and
the last one holds too. A summable solution of the balance equations of an irreducible chain with
bounded rates is a multiple of its only stationary law.

*Remainder.* Let u_i = beta_i/alpha_i, v_i = alpha_{i+1}/beta_i, s = lam + 2 mu. By (K), u_i and
1/v_i are the roots of lam z^2 - (s - mu beta_i) z + mu, and 1 lies between them for beta_i < 1; so
alpha_i > beta_i > alpha_{i+1} > ..., and as beta_i falls, u_i and v_i = (lam/mu) u_i fall. Hence

    c_{i+1}/c_i = u_i (1 - v_i)/(1 - u_i) <= u_k/(1 - u_k),
    |d_{i+1} beta_{i+1}| / |d_i beta_i| <= 1/(1 - s beta_k/lam),
    beta_{i+1}/beta_i <= alpha_{i+1}/alpha_i = u_i v_i <= (lam/mu) u_k^2       for every i >= k,

and where m + d >= 2 the absolute values of the terms fall at least by the product q_k of the three
bounds, which falls in k. With rho = lam/(2 mu), alpha_0 = rho^2 and beta_0 = rho^2/(2 + rho) it
starts at q_0 = 2 rho/((1 + rho)(2 + rho)(2 - rho^2)) < 1/3, so the series converges absolutely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import comb
from typing import Any, NamedTuple

import sympy as sp
from flint import arb, ctx

from qtheory.arithmetic import Ring, exact, to_fmpq
from qtheory.errors import DomainError
from qtheory.model import Interval

Number = Any
"""Of any field: rational numbers, rational functions, balls."""


@dataclass(frozen=True)
class ProductTerm:
    """The numbers alpha_i, beta_i, c_i, d_i of the series."""

    alpha: Number
    beta: Number
    c: Number
    d: Number


class Part(NamedTuple):
    """The function weight m^powers[0] d^powers[1] on a box of states, zero elsewhere."""

    weight: Fraction
    powers: tuple[int, int]
    box: tuple[Interval, Interval]


def product_terms(lam: Number, mu: Number) -> Iterator[ProductTerm]:
    """The series, term by term, in the field of the rates; c_0 = d_0 = 1.

    By Vieta's formulas for (K) the reciprocals of alpha and beta obey a linear recursion, so
    all terms are rational in the rates.

    >>> term, following = islice(product_terms(Fraction(1), Fraction(1)), 2)
    >>> term.alpha, term.beta, following.alpha, following.beta
    (Fraction(1, 4), Fraction(1, 10), Fraction(1, 25), Fraction(1, 65))
    """
    both = mu + mu
    total = lam + both
    # reciprocals: alpha_0 = rho^2, beta_0 = rho^2/(2 + rho)
    a = both * both / (lam * lam)
    b = both * (both + total) / (lam * lam)
    one = lam / lam
    c = d = one
    while True:
        yield ProductTerm(one / a, one / b, c, d)
        next_a = (total * b - mu) / lam - a
        next_b = total * next_a / mu - b
        edge = both + lam * next_a
        c = c * a * (next_a - b) / (next_a * (b - a))
        d = -d * (edge * next_b - total * next_a) / (edge * b - total * next_a)
        a, b = next_a, next_b


def symbolic_terms(count: int, lam: sp.Symbol, mu: sp.Symbol) -> tuple[ProductTerm, ...]:
    """The first terms as factored formulas in the rates.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> first, second = symbolic_terms(2, lam, mu)
    >>> first.alpha, first.beta
    (lambda**2/(4*mu**2), lambda**2/(2*mu*(lambda + 4*mu)))
    >>> second.alpha
    lambda**3/(mu*(lambda + 4*mu)**2)
    """
    ring = Ring((lam, mu))
    found = islice(product_terms(ring.ratio(lam), ring.ratio(mu)), count)
    return tuple(
        ProductTerm(*(ring.factored(x) for x in (t.alpha, t.beta, t.c, t.d))) for t in found
    )


class Series:
    """The series in balls: sums of x over states, unnormalised.

    All values are balls at the working precision of the caller, which must be the one given.
    """

    def __init__(self, lam: Fraction, mu: Fraction, precision: int) -> None:
        self.precision = precision
        self.lam, self.mu = arb(to_fmpq(lam)), arb(to_fmpq(mu))
        self.total = self.lam + 2 * self.mu
        self.terms = self._terms()
        self.low = self._low()

    def _terms(self) -> list[ProductTerm]:
        """So many that the first one left out is negligible; one more for the remainder."""
        found: list[ProductTerm] = []
        smallest = None
        for term in product_terms(self.lam, self.mu):
            found.append(term)
            size = abs(term.d) * term.c * term.alpha * term.beta
            if smallest is None:
                smallest = size.mid() * arb(2) ** -self.precision
            # where precision is lost there is no point in going on
            if size.mid() < smallest or size.rel_accuracy_bits() < 2:
                return found
        raise AssertionError

    def _low(self) -> dict[tuple[int, int], arb]:
        """x at the three states with m + d <= 1, by the balance equations of these states."""
        lam, mu, total = self.lam, self.mu, self.total
        beside, above = (
            self._sum([Part(Fraction(1), (0, 0), (Interval(m, m), Interval(d, d)))])
            for m, d in ((1, 1), (0, 2))
        )
        one = (mu * total * above + 2 * mu**2 * beside) / lam**2
        return {(0, 1): one, (1, 0): (lam * one + mu * beside) / total, (0, 0): mu * one / lam}

    def sum(self, parts: Sequence[Part]) -> arb:
        """The sum of f(m, d) x(m, d) over all states, f being the sum of the parts."""
        value = self._sum(parts)
        for state, x in self.low.items():
            for weight, powers, box in parts:
                if all(part.contains(n) for part, n in zip(box, state, strict=True)):
                    # 0**0 is 1
                    value += _ball(weight) * state[0] ** powers[0] * state[1] ** powers[1] * x
        return value

    def _sum(self, parts: Sequence[Part]) -> arb:
        """The sum over the states with m + d >= 2, and a ball around it for the remainder."""
        value = arb(0)
        for i, term in enumerate(self.terms[:-2]):
            first, second = self._pair(i)
            for weight, powers, box in parts:
                part = first * self._product(term.alpha, term.beta, powers, box)
                part += second * self._product(self.terms[i + 1].alpha, term.beta, powers, box)
                value += _ball(weight) * part
        return value + self._remainder(parts) * arb(0, 1)

    def _pair(self, i: int) -> tuple[arb, arb]:
        """The coefficients d_i c_i and d_i c_{i+1}."""
        return self.terms[i].d * self.terms[i].c, self.terms[i].d * self.terms[i + 1].c

    def _remainder(self, parts: Sequence[Part]) -> arb:
        """An upper bound on the sum of the absolute values of the terms from the last pair on."""
        k = len(self.terms) - 2
        term = self.terms[k]
        u = term.beta / term.alpha
        ratio = self.lam / self.mu * u**3 / (1 - u) / (1 - self.total * term.beta / self.lam)
        if not ratio < 1:
            return arb("inf")
        first, second = (abs(x) for x in self._pair(k))
        size = arb(0)
        for weight, powers, box in parts:
            part = first * abs(self._product(term.alpha, term.beta, powers, box))
            part += second * abs(self._product(self.terms[k + 1].alpha, term.beta, powers, box))
            size += abs(_ball(weight)) * part
        return (size / (1 - ratio)).abs_upper()

    def _product(
        self, alpha: arb, beta: arb, powers: tuple[int, int], box: tuple[Interval, Interval]
    ) -> arb:
        """The sum of m^j d^k times one product form over the states of a box with m + d >= 2.

        On d = 0 it is what the balance equation at (m, 0) makes of it.
        """
        columns, rows = box
        value = arb(0)
        if columns.contains(0):
            # the state (0, 1) has m + d < 2
            value += 0 ** powers[0] * power_sum(beta, powers[1], rows & Interval(2, None))
        upper = power_sum(beta, powers[1], rows & Interval(1, None))
        value += upper * power_sum(alpha, powers[0], columns & Interval(1, None))
        if rows.contains(0) and powers[1] == 0:
            axis = beta * (self.lam / alpha + self.mu) / self.total
            value += axis * power_sum(alpha, powers[0], columns & Interval(2, None))
        return value


@lru_cache(maxsize=8)
def _cached_series(lam: Fraction, mu: Fraction, precision: int) -> Series:
    return Series(lam, mu, precision)


def ratio_of_sums(
    parts: Sequence[Part], lam: Fraction, mu: Fraction, digits: int
) -> tuple[Fraction, Fraction]:
    """E[f], f being the sum of the parts: an interval about 10^-(digits + 4) of the value wide.

    Where E[f] is zero or cannot be told from it, 10^-(digits + 2) wide. `DomainError` where so
    many digits need too high a precision.
    """
    everything = [Part(Fraction(1), (0, 0), (Interval(0, None), Interval(0, None)))]
    start = precision = int(3.33 * digits) + 64
    while precision <= 16 * start + 4096:
        with ctx.workprec(precision):
            series = _cached_series(lam, mu, precision)
            ball = series.sum(parts) / series.sum(everything)
            small = ball.contains(0) and ball.rad() < arb(10) ** -(digits + 3)
            if ball.is_finite() and (
                ball.rel_accuracy_bits() > 3.33 * digits + 16 or (small and precision >= 4 * start)
            ):
                middle, radius = exact(ball.mid().fmpq()), exact(ball.rad().fmpq())
                return middle - radius, middle + radius
        precision *= 2
    raise DomainError(f"{digits} digits are out of reach for lambda = {lam}, mu = {mu}")


def _ball(value: Fraction) -> arb:
    return arb(to_fmpq(value))


def power_sum(x: arb, power: int, span: Interval) -> arb:
    """The sum of n^power x^n over an interval of the naturals, 0 < x < 1.

    With the differences D^l of n^power it is the sum over l of D^l(low) x^(low+l)/(1-x)^(l+1),
    less the same from the end of the interval on.
    """
    low, high = span
    assert low is not None
    if high is None:
        return _tail_sum(x, power, low)
    if high < low:
        return arb(0)
    if high == low:
        return low**power * x**low
    return _tail_sum(x, power, low) - _tail_sum(x, power, high + 1)


def _tail_sum(x: arb, power: int, low: int) -> arb:
    gap = 1 - x
    total, factor = arb(0), x**low / gap
    for difference in _differences(power, low):
        total += difference * factor
        factor *= x / gap
    return total


@lru_cache(maxsize=256)
def _differences(power: int, low: int) -> tuple[int, ...]:
    """The forward differences of n^power at n = low, which are not negative."""
    return tuple(
        sum((-1) ** (order - i) * comb(order, i) * (low + i) ** power for i in range(order + 1))
        for order in range(power + 1)
    )
