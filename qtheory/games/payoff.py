"""Payoffs at a rational parameter point: rational functions of the actions, with exact signs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import ctx, fmpz_mpoly, fmpz_poly

from qtheory.arithmetic import Ratio, Ring, lowest_terms, read, values_by_name
from qtheory.errors import DomainError
from qtheory.games.algebraic import Algebraic, real_roots, value
from qtheory.games.segment import Segment, segment


@dataclass(frozen=True)
class Player:
    """A player who chooses `action` between two ends to maximise `payoff`.

    The payoff is a formula (+, -, *, / and integer powers) in the actions of all players and in
    parameters. A player who minimises a cost has the payoff ``-cost``.

    >>> a, b = sp.symbols("a b")
    >>> Player(a, -(a - b)**2).actions
    Segment(lower=0, upper=1)
    """

    action: sp.Symbol
    payoff: sp.Expr
    actions: Segment = field(default_factory=lambda: segment(0, 1))


class _RingAt(Ring):
    """The polynomials in the actions, an algebra in which parameters have values."""

    def __init__(self, symbols: Iterable[sp.Symbol], values: Mapping[str, Fraction]) -> None:
        super().__init__(symbols)
        self._values = values

    def symbol(self, name: str) -> Ratio:
        known = self._values.get(name) if name not in self.names else None
        return super().symbol(name) if known is None else self.number(known)


def at_point(payoff: Any, actions: Iterable[sp.Symbol], at: Mapping[Any, Any] | None) -> Payoff:
    """The payoff as a function of the actions alone.

    Raises `ExpressionError` for a parameter without a value and for anything that is not a
    rational function.
    """
    payoff, actions = sp.sympify(payoff), tuple(actions)
    names = {symbol.name for symbol in payoff.free_symbols}
    ring = _RingAt(actions, values_by_name(at, names))
    return Payoff(ring, read(payoff, ring))


@dataclass(frozen=True)
class Payoff:
    """A rational function of actions."""

    ring: Ring
    ratio: Ratio

    def derivative(self, index: int = 0) -> Payoff:
        """The derivative in one action."""
        num, den = self.ratio.num, self.ratio.den
        above = num.derivative(index) * den - num * den.derivative(index)
        return Payoff(self.ring, lowest_terms(above, den * den))

    def fixed(self, index: int, number: Algebraic) -> Payoff:
        """The function with a rational number in the place of one action."""
        values = {self.ring.names[index]: number.rational}
        others = [s for i, s in enumerate(self.ring.symbols) if i != index]
        ring = _RingAt(others, values)
        below = read(self.ring.expression(self.ratio.den), ring)
        if below.num.is_zero():
            raise DomainError("the denominator of a payoff vanishes")
        return Payoff(ring, read(self.ring.expression(self.ratio.num), ring) / below)

    def plus(self, other: Payoff) -> Payoff:
        """The sum with another function of the same actions."""
        return Payoff(self.ring, self.ratio + other.ratio)

    def times(self, number: Fraction) -> Payoff:
        """The function times a number."""
        return Payoff(self.ring, self.ratio * self.ring.number(number))

    def minus(self, other: Payoff) -> Payoff:
        """The difference to another function of the same actions."""
        return Payoff(self.ring, self.ratio - other.ratio)

    def over(self, other: Payoff) -> Payoff:
        """The quotient by another function of the same actions."""
        return Payoff(self.ring, self.ratio / other.ratio)

    def __call__(self, *place: Algebraic) -> Algebraic:
        return value(self.ratio, place)

    def sign(self, *place: Algebraic) -> int:
        """The sign at a place."""
        return self(*place).sign

    @property
    def is_zero(self) -> bool:
        """Whether the function vanishes everywhere."""
        return bool(self.ratio.num.is_zero())

    def require_finite(self, low: Algebraic, high: Algebraic) -> None:
        """Raise `DomainError` where a function of one action has a pole between the ends."""
        for root in roots_between(self.ratio.den, low, high):
            name = self.ring.symbols[0]
            raise DomainError(f"the payoff is not finite at {name} = {root.expression}")


def roots_between(poly: fmpz_mpoly, low: Algebraic, high: Algebraic) -> list[Algebraic]:
    """The distinct roots in [low, high], increasing, of a polynomial in one of its variables."""
    return [root for root in real_roots(_univariate(poly)) if low <= root <= high]


def _univariate(poly: fmpz_mpoly) -> fmpz_poly:
    coefficients = [0] * (max(int(poly.total_degree()), 0) + 1)
    for exponents, coefficient in poly.terms():
        coefficients[sum(map(int, exponents))] = int(coefficient)
    return fmpz_poly(coefficients)


def midpoint(low: Algebraic, high: Algebraic) -> Algebraic:
    """A rational number strictly between two numbers; the number if they are equal."""
    if low == high:
        return low
    bits = 64
    while True:
        with ctx.workprec(2 * bits):
            middle = ((low.ball(bits).upper() + high.ball(bits).lower()) / 2).mid().fmpq()
        number = Algebraic((-int(middle.p), int(middle.q)), 0)
        if low < number < high:
            return number
        bits *= 2
