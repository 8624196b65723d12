"""Real algebraic numbers: the exact values of stationary points and of what is paid there.

A number is a root of an irreducible polynomial over the integers, counted among its real roots.
Two numbers are equal when both agree; different ones are ordered by balls (Arb) narrow enough
not to meet, so that a comparison is never decided by rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, total_ordering
from typing import Any

import sympy as sp
from flint import Ordering, arb, ctx, fmpq, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_poly

from qtheory.arithmetic import Ratio, exact, irreducible_factors, read, to_fmpq
from qtheory.balls import Enclosure, rational_value
from qtheory.errors import DomainError, ExpressionError

_START = 64
"""Bits of the first ball of a number."""


@total_ordering
@dataclass(frozen=True)
class Algebraic:
    """The real root number `index`, in increasing order, of an irreducible polynomial.

    `minimal` holds the coefficients, the constant one first; the leading one is positive.

    >>> root = algebraic(sp.sqrt(2))
    >>> root.minimal, root.index
    ((-2, 0, 1), 1)
    >>> root * root == algebraic(2), root < algebraic("3/2")
    (True, True)
    """

    minimal: tuple[int, ...]
    index: int

    @property
    def is_rational(self) -> bool:
        """Whether the number is rational."""
        return len(self.minimal) == 2

    @property
    def rational(self) -> Fraction:
        """The value of a rational number; `ExpressionError` for an irrational one."""
        if not self.is_rational:
            raise ExpressionError(f"not a rational number: {self.expression}")
        return Fraction(-self.minimal[0], self.minimal[1])

    @property
    def expression(self) -> sp.Expr:
        """The number for SymPy: rational, with a square root, or a ``CRootOf``."""
        if self.is_rational:
            return sp.Rational(*self.rational.as_integer_ratio())
        if len(self.minimal) == 3:
            c, b, a = self.minimal
            root = sp.sqrt(sp.Integer(b * b - 4 * a * c))
            return sp.expand((-b + (root if self.index else -root)) / (2 * a))
        return sp.CRootOf(sp.Poly(list(reversed(self.minimal)), sp.Symbol("x")), self.index)

    def ball(self, bits: int) -> arb:
        """An interval that certainly holds the number and no other root of its polynomial."""
        if self.is_rational:
            with ctx.workprec(bits):
                return arb(to_fmpq(self.rational))
        return _real_balls(self.minimal, bits)[self.index]

    def enclosure(self, digits: int = 15) -> Enclosure:
        """The number with proven digits."""
        if self.is_rational:
            return Enclosure(self.rational, self.rational, digits)
        ball = self.ball(int(3.33 * digits) + 64)
        middle, radius = exact(ball.mid().fmpq()), exact(ball.rad().fmpq())
        return Enclosure(middle - radius, middle + radius, digits)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        if self == _ZERO:
            return 0
        return -1 if self < _ZERO else 1

    def __float__(self) -> float:
        return float(self.ball(_START).mid())

    def __lt__(self, other: Algebraic) -> bool:
        if self == other:
            return False
        bits = _START
        while (mine := self.ball(bits)).overlaps(yours := other.ball(bits)):
            bits *= 2
        return bool(mine < yours)

    def __neg__(self) -> Algebraic:
        return _ZERO - self

    def __add__(self, other: Algebraic) -> Algebraic:
        return value(Ratio(_X + _Y, _ONE), (self, other))

    def __sub__(self, other: Algebraic) -> Algebraic:
        return value(Ratio(_X - _Y, _ONE), (self, other))

    def __mul__(self, other: Algebraic) -> Algebraic:
        return value(Ratio(_X * _Y, _ONE), (self, other))

    def __truediv__(self, other: Algebraic) -> Algebraic:
        if other == _ZERO:
            raise ZeroDivisionError("division by zero")
        return _value(_X, _Y, (self, other))

    def __pow__(self, exponent: int) -> Algebraic:
        return value(Ratio(_X**exponent, _ONE), (self,))


_PAIRS = fmpz_mpoly_ctx.get(("x", "y"), Ordering.degrevlex)
_X, _Y = _PAIRS.gens()
_ONE = _PAIRS.constant(1)
_ZERO = Algebraic((0, 1), 0)


def algebraic(number: Any, at: Mapping[str, Fraction] | None = None) -> Algebraic:
    """The number that was written: rational, or with square roots or real ``CRootOf``.

    Symbols have the rational values `at`, by name. Raises `DomainError` for a symbol without a
    value and for the root of a negative number, `ExpressionError` for anything else.
    """
    if isinstance(number, Algebraic):
        return number
    if not isinstance(number, sp.Expr) or number.is_Rational or number.is_Float:
        return _rational(exact(number))
    roots = {r: sp.Symbol(f"root {i}") for i, r in enumerate(number.atoms(sp.CRootOf))}
    if not roots and (found := rational_value(number, at or {})) is not None:
        return _rational(found)
    named = {name: _rational(given) for name, given in (at or {}).items()}
    named |= {name.name: _root_of(root) for root, name in roots.items()}
    return read(number.xreplace(roots), _Field(named))


def _root_of(root: sp.CRootOf) -> Algebraic:
    found = real_roots(fmpz_poly([int(c) for c in reversed(root.poly.all_coeffs())]))
    if root.index >= len(found):
        raise ExpressionError(f"not a real number: {root}")
    return found[root.index]


def _rational(number: Fraction) -> Algebraic:
    return Algebraic((-number.numerator, number.denominator), 0)


class _Field:
    """The algebra of real algebraic numbers, some of which have names."""

    number = staticmethod(_rational)

    def __init__(self, named: Mapping[str, Algebraic]) -> None:
        self._named = named

    def symbol(self, name: str) -> Algebraic:
        if name not in self._named:
            raise ExpressionError(f"a number was expected, got the name {name}")
        return self._named[name]

    def sqrt(self, number: Algebraic) -> Algebraic:
        if number.sign < 0:
            raise DomainError(f"square root of the negative number {number.expression}")
        spread = [0] * (2 * len(number.minimal) - 1)
        spread[::2] = number.minimal
        roots = [root for root in real_roots(fmpz_poly(spread)) if root.sign >= 0]
        return next(root for root in roots if root * root == number)


@lru_cache(maxsize=4096)
def _real_balls(minimal: tuple[int, ...], bits: int) -> tuple[arb, ...]:
    """Disjoint balls around the real roots, in increasing order."""
    with ctx.workprec(bits):
        if len(minimal) == 2:
            return (arb(fmpq(-minimal[0], minimal[1])),)
        roots = fmpz_poly(list(minimal)).complex_roots()
        return tuple(root.real for root, _ in roots if root.imag == 0)


def real_roots(poly: fmpz_poly) -> list[Algebraic]:
    """The distinct real roots of a polynomial that is not zero, in increasing order.

    >>> [root.expression for root in real_roots(fmpz_poly([0, -2, 0, 1]))]
    [-sqrt(2), 0, sqrt(2)]
    """
    found: list[Algebraic] = []
    for factor, _ in irreducible_factors(poly)[1]:
        sign = 1 if factor.leading_coefficient() > 0 else -1
        minimal = tuple(sign * int(c) for c in factor.coeffs())
        if len(minimal) > 1:
            found += [Algebraic(minimal, i) for i in range(len(_real_balls(minimal, _START)))]
    return sorted(found)


def value(function: Ratio, at: Sequence[Algebraic]) -> Algebraic:
    """The exact value of a rational function at algebraic numbers, one for each variable.

    The value is a root of the resultant of ``num - y den`` with the minimal polynomials; the
    right root is the only one that the ball around the value meets. Raises `DomainError` where
    the denominator vanishes.
    """
    if function.den.is_constant() or sum(not number.is_rational for number in at) < 2:
        return _value(function.num, function.den, at)
    one = function.den.context().constant(1)
    above, below = _value(function.num, one, at), _value(function.den, one, at)
    return above / below


def _value(num: fmpz_mpoly, den: fmpz_mpoly, at: Sequence[Algebraic]) -> Algebraic:
    if all(number.is_rational for number in at):
        above = _at_rational(num, at)
        below = _at_rational(den, at)
        if below == 0:
            raise DomainError("the denominator of a payoff vanishes")
        return _rational(exact(above / below))
    names = [f"x{i}" for i in range(len(at))]
    context = fmpz_mpoly_ctx.get((*names, "y"), Ordering.degrevlex)
    y = context.gens()[-1]
    graph = _widened(num, context) - y * _widened(den, context)
    for i, number in enumerate(at):
        if graph.degrees()[i] > 0:
            x = context.gens()[i]
            minimal = sum((c * x**k for k, c in enumerate(number.minimal)), context.constant(0))
            graph = minimal.resultant(graph, i)
    if graph.is_zero() or graph.degrees()[-1] <= 0:
        raise DomainError("the denominator of a payoff vanishes")
    coefficients = [0] * (int(graph.degrees()[-1]) + 1)
    for exponents, coefficient in graph.terms():
        coefficients[int(exponents[-1])] = int(coefficient)
    return _nearest(real_roots(fmpz_poly(coefficients)), num, den, at)


def _widened(poly: fmpz_mpoly, context: fmpz_mpoly_ctx) -> fmpz_mpoly:
    width = context.nvars()
    terms = {(*map(int, e), *[0] * width)[:width]: c for e, c in poly.to_dict().items()}
    return context.from_dict(terms)


def _at_rational(poly: fmpz_mpoly, at: Sequence[Algebraic]) -> fmpq:
    return evaluated(poly, [to_fmpq(number.rational) for number in at], fmpq(0))


def _nearest(
    roots: list[Algebraic], num: fmpz_mpoly, den: fmpz_mpoly, at: Sequence[Algebraic]
) -> Algebraic:
    """The root that is the value of num / den."""
    bits = _START
    while True:
        with ctx.workprec(bits):
            place = [number.ball(bits) for number in at]
            ball = evaluated(num, place, arb(0)) / evaluated(den, place, arb(0))
            near = [r for r in roots if r.ball(bits).overlaps(ball)] if ball.is_finite() else roots
        if len(near) == 1:
            return near[0]
        bits *= 2


def evaluated(poly: fmpz_mpoly, place: Sequence[Any], zero: Any) -> Any:
    """The value of a polynomial at numbers of a ring, or at balls, whose zero is given."""
    total = zero
    for exponents, coefficient in poly.terms():
        term = zero + coefficient
        for number, power in zip(place, exponents, strict=False):
            for _ in range(int(power)):  # ** gives nan for a ball centred at 0
                term = term * number
        total = total + term
    return total
