"""Hypergeometric terms whose ratio splits into linear factors, and their sums by telescoping."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy as sp
from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, by_power, irreducible_factors, lowest_terms
from qtheory.errors import CertificateError, ModelError

CANCELLED = 4
"""Up to this distance, a quotient of factorials is shown as a polynomial."""


@dataclass(frozen=True, eq=False)
class Term:
    """t_start = 1 and t_{n+1} / t_n = ratio births(n) / deaths(n + 1), both monic in n.

    All are fractions over the symbols of the ring; `size` and `variable` are the positions of K
    and n among them. `positive` are the positions of the symbols that are known to be > 0.
    """

    ring: Ring
    size: int
    variable: int
    positive: frozenset[int]
    start: int
    ratio: Ratio
    births: Ratio
    deaths: Ratio

    @property
    def is_geometric(self) -> bool:
        return self.births.num.is_one() and self.deaths.num.is_one()

    @property
    def may_be_one(self) -> bool:
        """Whether the ratio could be 1 at some parameters, where sums change their form."""
        gap = self.ratio - self.one
        balanced = self.degree(self.births) == self.degree(self.deaths)
        return balanced and not gap.num.is_zero() and not one_signed(gap.num, self.positive)

    @cached_property
    def one(self) -> Ratio:
        return self.ring.number(Fraction(1))

    @cached_property
    def n(self) -> Ratio:
        return Ratio(self.ring.generators[self.variable], self.one.num)

    def degree(self, f: Ratio) -> int:
        """The degree in n of a polynomial in n, -1 for zero."""
        return int(f.num.degrees()[self.variable]) if len(f.num) else -1

    def coefficient(self, f: Ratio, power: int) -> Ratio:
        """The coefficient of a power of n in a polynomial in n."""
        parts = by_power(f.num, self.variable, self.ring.context)
        zero = self.ring.context.constant(0)
        return lowest_terms(parts[power] if power < len(parts) else zero, f.den)

    def at(self, f: Ratio, n: Ratio) -> Ratio:
        """A polynomial in n with another polynomial over the integers in its place."""
        place = list(self.ring.generators)
        place[self.variable] = n.num
        return lowest_terms(f.num.compose(*place), f.den)

    def step(self, g: Ratio) -> Ratio:
        """s(n) = ratio births(n) g(n + 1) - deaths(n) g(n), for a polynomial g.

        Since births and deaths balance, the sum of s(n) t_n over n = m, ..., K is
        ratio births(K) g(K + 1) t_K - deaths(m) g(m) t_m.
        """
        above = self.ratio * self.births * self.at(g, self.n + self.one)
        return above - self.deaths * g

    def telescoped(self, f: Ratio) -> tuple[Ratio, Ratio]:
        """Polynomials g and r in n with f = step(g) + r, and r of low degree.

        The sum of f(n) t_n is then a boundary term plus the sum of r(n) t_n. `CertificateError`
        where the identity fails.
        """
        g = rest = f - f
        rest = rest + f
        steps: dict[int, tuple[Ratio, Ratio]] = {}
        for k in range(self.degree(f) + 2):
            power = self.n**k
            step = self.step(power)
            degree = self.degree(step)
            if degree >= 0 and self._never_zero(self.coefficient(step, degree)):
                steps.setdefault(degree, (power, step))
        for degree in range(self.degree(f), -1, -1):
            if degree in steps and not self.coefficient(rest, degree).num.is_zero():
                power, step = steps[degree]
                share = self.coefficient(rest, degree) / self.coefficient(step, degree)
                g, rest = g + share * power, rest - share * step
        if self.step(g) + rest != f:
            raise CertificateError("the telescoping identity fails")
        return g, rest

    def _never_zero(self, lead: Ratio) -> bool:
        # ratio = 1 is a case of its own wherever it can occur
        if lead == self.ratio - self.one:
            return True
        place = list(self.ring.generators)
        place[self.size] += 1  # K >= 1
        return one_signed(lead.num.compose(*place), self.positive)

    def summed(self, f: Ratio) -> Ratio:
        """The sum of f(n) t_n over n = start, ..., K, for a polynomial f in n.

        It is a fraction in the parameters, K and the marks: the first one stands for t_K (for a
        geometric term: t_{K+1}), the following ones for the sums of t_n, n t_n, n^2 t_n, ...
        Raises `ModelError` where more of them would be needed.
        """
        g, rest = self.telescoped(f)
        total = self.end(g) - self.at(self.deaths * g, self.ring.number(Fraction(self.start)))
        for power in range(self.degree(rest) + 1):
            if power + 1 >= len(self.marks) - 1:
                raise ModelError(f"no closed form: it needs the sum of n**{power} over the law")
            total = total + self.coefficient(rest, power) * self.mark(power + 1)
        return total

    def end(self, g: Ratio) -> Ratio:
        """The boundary term ratio births(K) g(K + 1) t_K of a telescoping sum at K."""
        K = Ratio(self.ring.generators[self.size], self.one.num)
        above = self.at(g, K + self.one) * self.mark(0)
        return above if self.is_geometric else self.ratio * self.at(self.births, K) * above

    @property
    def marks(self) -> tuple[sp.Symbol, ...]:
        """The symbols of the ring after n, which stand for powers, factorials and sums."""
        return self.ring.symbols[self.variable + 1 :]

    def mark(self, index: int) -> Ratio:
        return Ratio(self.ring.generators[self.variable + 1 :][index], self.one.num)

    @cached_property
    def total(self) -> sp.Expr | None:
        """The sum of all t_n in closed form where one of two theorems gives it, else None.

        The binomial theorem, for t_n = C(K, n) z^n, and the Chu-Vandermonde identity
        2F1(-K, b; c; 1) = (c - b)_K / (c)_K.
        """
        ring = self.ring
        size = Ratio(ring.generators[self.size], self.one.num)
        K = ring.symbols[self.size]
        above, below = self._shifts
        if self.start != 0 or -size not in above or self.one not in below:
            return None
        above.remove(-size)
        below.remove(self.one)
        if not above and not below:
            return ring.factored(self.one - self.ratio) ** K
        if len(above) == len(below) == 1 and self.ratio == self.one:
            (b,), (c,) = above, below
            sign = (-1) ** K if _falls(c - b) != _falls(c) else 1
            return sign * _product(ring, c - b, K) / _product(ring, c, K)
        return None

    @property
    def _shifts(self) -> tuple[list[Ratio], list[Ratio]]:
        """The e with n + e a factor of births(n), and of deaths(n + 1)."""
        return self._split(self.births), self._split(self.at(self.deaths, self.n + self.one))

    def _split(self, f: Ratio) -> list[Ratio]:
        found = []
        for factor, power in irreducible_factors(f.num)[1]:
            degree = int(factor.degrees()[self.variable])
            if degree > 1:
                shown = self.ring.expression(factor)
                raise ModelError(f"no product formula: {shown} has no linear factors in the state")
            if degree == 1:
                constant, slope = by_power(factor, self.variable, self.ring.context)
                found += [lowest_terms(constant, slope)] * int(power)
        return found

    def splits_as_shown(self) -> bool:
        """Whether the linear factors of the product formula multiply to births and deaths."""
        above, below = self._shifts
        products = [self.one, self.one]
        for i, shifts in enumerate((above, below)):
            for shift in shifts:
                products[i] = products[i] * (self.n + shift)
        return products == [self.births, self.at(self.deaths, self.n + self.one)]

    def expression(self, n: Any) -> sp.Expr:
        """t_n as powers, factorials and Pochhammer symbols, for start <= n <= K."""
        ring, K = self.ring, self.ring.symbols[self.size]
        m, sign, parts = n - self.start, 1, sp.Integer(1)
        above, below = self._shifts
        for low, steps, direction in self._whole_distances(above, below):
            # (e + d)_m / (e)_m = (e + m)_d / (e)_d
            first = ring.expression(low)
            parts *= sp.Mul(*((first + m + i) / (first + i) for i in range(steps))) ** direction
        for shifts, direction in ((above, 1), (below, -1)):
            for shift in shifts:
                first = shift + ring.number(Fraction(self.start))
                sign = -sign if _falls(first) else sign
                shown = ring.expression(first)
                spare = -shown - K + self.start
                if shown.is_Integer and shown > 0:
                    product = sp.factorial(shown + m - 1) / sp.factorial(shown - 1)
                elif spare.is_Integer and spare >= 0:
                    product = sp.factorial(-shown) / sp.factorial(-shown - m)
                else:
                    product = _product(ring, first, m)
                parts *= product**direction
        return ring.factored(self.ratio if sign > 0 else -self.ratio) ** m * parts

    def _whole_distances(
        self, above: list[Ratio], below: list[Ratio]
    ) -> Iterator[tuple[Ratio, int, int]]:
        """Take out pairs e + d, e at a small distance: e, d, and 1 where e + d is from `above`.

        The values e are those at the first state; all are positive, so that none is divided by
        zero.
        """
        start = self.ring.number(Fraction(self.start))
        for shift in list(above):
            for other in below:
                gap = (shift - other).num
                distance = int(gap.leading_coefficient())
                low = (other if distance > 0 else shift) + start
                whole = gap.is_constant() and (shift - other).den.is_one()
                if whole and abs(distance) <= CANCELLED and self._is_positive(low):
                    above.remove(shift)
                    below.remove(other)
                    yield low, abs(distance), 1 if distance > 0 else -1
                    break

    def _is_positive(self, value: Ratio) -> bool:
        return all(
            one_signed(poly, self.positive) and poly.leading_coefficient() > 0
            for poly in (value.num, value.den)
        )


def _falls(first: Ratio) -> bool:
    """Whether first (first + 1) ... is shown as a falling factorial of -first."""
    return sum(first.num.coeffs()) < 0 or first.num.leading_coefficient() < 0


def _product(ring: Ring, first: Ratio, m: sp.Expr) -> sp.Expr:
    """first (first + 1) ... with m factors, without the sign (-1)^m where it falls."""
    shown = ring.expression(first)
    return sp.ff(-shown, m) if _falls(first) else sp.rf(shown, m)


def one_signed(poly: fmpz_mpoly, positive: Collection[int]) -> bool:
    """Whether all coefficients have one sign, and all symbols are known to be positive.

    Then the polynomial has no zero where the symbols are positive.
    """
    signs = {int(c) > 0 for c in poly.coeffs()}
    used = {i for i, degree in enumerate(poly.degrees()) if degree > 0}
    return len(signs) == 1 and used <= set(positive)
