"""Numbers with proven digits: formulas evaluated in ball arithmetic (Arb).

A ball is an interval that certainly holds the true value. The working precision is raised until
the ball is as narrow as the requested digits need, so every digit that is printed is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb, ctx

from qtheory.arithmetic import exact, read, to_fmpq, values_by_name
from qtheory.errors import DomainError

MAXIMAL_DIGITS = 1000

MAXIMAL_PRECISION = 1 << 16
"""In bits; beyond it a value is reported as not separable from a singularity."""


@dataclass(frozen=True)
class Enclosure:
    """A real number with proven digits: it lies in ``[lower, upper]``."""

    lower: Fraction
    upper: Fraction
    digits: int

    @property
    def is_exact(self) -> bool:
        """Whether the number is this one rational."""
        return self.lower == self.upper

    def __str__(self) -> str:
        """The digits, all proven; centre and radius next to a shorter decimal, such as 7/5."""
        try:
            text = decimal_digits(self.lower, self.upper, self.digits)
        except DomainError:
            text = ""
        if self.is_exact or significant(text) >= self.digits:
            return text
        return self._centred()

    def _centred(self) -> str:
        """The rounded centre, and a power of ten that its distance from both ends stays below."""
        size = max(abs(self.lower), abs(self.upper))
        radius = (self.upper - self.lower) / 2
        places = min(-_decimal_exponent(radius) - 1, self.digits + 2 - _decimal_exponent(size))
        places = max(places, 0)
        scaled = round((self.lower + self.upper) / 2 * 10**places)
        centre = Fraction(scaled, 10**places)
        error = max(self.upper - centre, centre - self.lower)
        digits = str(abs(scaled)).rjust(places + 1, "0")
        whole, tail = digits[: len(digits) - places], digits[len(digits) - places :]
        shown = f"{'-' if scaled < 0 else ''}{whole}" + (f".{tail}" if tail else "")
        return f"{shown} +- 1e{_decimal_exponent(error) + 1}"

    def __float__(self) -> float:
        return float((self.lower + self.upper) / 2)

    def __contains__(self, value: Any) -> bool:
        return self.lower <= exact(value) <= self.upper

    def _repr_latex_(self) -> str:
        return f"${self}$"


def decimal_digits(lower: Fraction, upper: Fraction, digits: int) -> str:
    """The longest decimal, of at most `digits` significant digits, proven for the interval.

    The last printed digit is correctly truncated: both ends agree on every printed digit.

    >>> decimal_digits(Fraction(1, 3), Fraction(1, 3), 5)
    '0.33333'
    >>> decimal_digits(Fraction(1, 2), Fraction(1, 2), 5)
    '0.5'
    """
    if lower == upper and lower.denominator == 1 and len(str(abs(lower.numerator))) <= digits:
        return str(lower.numerator)
    if lower < 0 < upper:
        raise DomainError("the value cannot be told from zero at the precision reached")
    sign = "-" if upper <= 0 and lower < 0 else ""
    low, high = sorted((abs(lower), abs(upper)))
    if high == 0:
        return "0"
    exponent = _decimal_exponent(high)
    for kept in range(digits, 0, -1):
        scale = Fraction(10) ** (kept - 1 - exponent)
        mantissa = int(low * scale)
        if mantissa == int(high * scale) and mantissa:
            ends_here = lower == upper and low * scale == mantissa
            return sign + _placed(str(mantissa), exponent, strip=ends_here)
    raise DomainError(f"no digit is proven: the value lies in [{float(lower)}, {float(upper)}]")


def significant(text: str) -> int:
    """How many significant digits a decimal shows."""
    return sum(c.isdigit() for c in text.split("e")[0].lstrip("-0."))


def _decimal_exponent(value: Fraction) -> int:
    """The power of ten of the leading digit."""
    exponent = int((value.numerator.bit_length() - value.denominator.bit_length()) * 0.30103)
    while Fraction(10) ** exponent > value:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def _placed(mantissa: str, exponent: int, strip: bool) -> str:
    """Put the decimal point into the digits of a number with the given leading power of ten."""
    if strip:
        mantissa = mantissa.rstrip("0")
    if 0 <= exponent < 25:
        whole = mantissa[: exponent + 1].ljust(exponent + 1, "0")
        tail = mantissa[exponent + 1 :]
    elif -7 < exponent < 0:
        whole, tail = "0", "0" * (-exponent - 1) + mantissa
    else:
        body = mantissa[0] + (f".{mantissa[1:]}" if mantissa[1:] else "")
        return f"{body}e{exponent:+d}"
    return f"{whole}.{tail}" if tail else whole


def evaluate(expression: Any, at: Mapping[Any, Any] | None = None, digits: int = 15) -> Enclosure:
    """The value of a formula at a rational point, with `digits` proven significant digits.

    >>> x = sp.Symbol("x")
    >>> print(evaluate(sp.sqrt(x), {x: 2}, digits=30))
    1.41421356237309504880168872420

    Rational values are exact. Raises `DomainError` for the square root of a negative number, for a
    parameter without a value, and where a value cannot be told from a singular one;
    `ExpressionError` for a division by zero.
    """
    if not 1 <= digits <= MAXIMAL_DIGITS:
        raise DomainError(f"digits must be from 1 to {MAXIMAL_DIGITS}, got {digits}")
    expression = sp.sympify(expression)
    values = values_by_name(at, [symbol.name for symbol in expression.free_symbols])
    whole = {
        s: sp.Integer(values[s.name].numerator)
        for s in expression.free_symbols
        if s.is_integer and s.name in values and values[s.name].denominator == 1
    }
    expression = expression.subs(whole)  # they may stand in exponents
    try:
        value = read(expression, _Exact(values))
        return Enclosure(value, value, digits)
    except _IrrationalError:
        pass
    substituted = expression.subs(
        {s: sp.Rational(*values[s.name].as_integer_ratio()) for s in expression.free_symbols}
    )
    if substituted.is_Rational:
        return Enclosure(exact(substituted), exact(substituted), digits)
    precision = int(3.33 * digits) + 64
    while precision <= MAXIMAL_PRECISION:
        with ctx.workprec(precision):
            try:
                ball = read(expression, _Balls(values))
            except _UndecidedError:
                precision *= 2
                continue
            if ball.is_finite() and (ball.rel_accuracy_bits() > 3.33 * digits + 8):
                lower, upper = _ends(ball)
                try:
                    text = decimal_digits(lower, upper, digits)
                except DomainError:
                    text = ""
                # next to a shorter decimal no precision makes the ends agree
                if significant(text) >= digits or precision > 12 * digits + 512:
                    return Enclosure(lower, upper, digits)
        precision *= 2
    raise DomainError(f"{expression} cannot be told from a singular value at this point")


def rational_value(expression: Any, at: Mapping[Any, Any]) -> Fraction | None:
    """The exact value at a rational point where it is seen to be rational, else None."""
    try:
        return read(expression, _Exact(values_by_name(at)))
    except _IrrationalError:
        return None


def _ends(ball: arb) -> tuple[Fraction, Fraction]:
    middle, radius = exact(ball.mid().fmpq()), exact(ball.rad().fmpq())
    return middle - radius, middle + radius


class _IrrationalError(Exception):
    """The value is not (seen to be) rational: use balls."""


class _UndecidedError(Exception):
    """A case distinction is not decided at the working precision."""


class _Choices:
    """Piecewise, minimum and maximum, for numbers that can be compared."""

    sign: Callable[[Any], int]

    def piecewise(self, expression: sp.Piecewise) -> Any:
        for value, condition in expression.args:
            if self._holds(condition):
                return read(value, self)
        raise DomainError(f"no case of {expression} applies at this point")

    def _holds(self, condition: Any) -> bool:
        if condition in (sp.true, sp.false):
            return bool(condition)
        if isinstance(condition, (sp.And, sp.Or)):
            holds = (self._holds(part) for part in condition.args)
            return all(holds) if isinstance(condition, sp.And) else any(holds)
        if isinstance(condition, sp.Not):
            return not self._holds(condition.args[0])
        sign = self.sign(read(condition.lhs, self) - read(condition.rhs, self))
        return {
            "<": sign < 0,
            "<=": sign <= 0,
            ">": sign > 0,
            ">=": sign >= 0,
            "==": sign == 0,
            "!=": sign != 0,
        }[condition.rel_op]

    def minimum(self, *values: Any) -> Any:
        best = values[0]
        for value in values[1:]:
            best = value if self.sign(value - best) < 0 else best
        return best

    def maximum(self, *values: Any) -> Any:
        return -self.minimum(*(-value for value in values))


class _Exact(_Choices):
    """The algebra of rational numbers at a point."""

    number = staticmethod(Fraction)

    def __init__(self, values: Mapping[str, Fraction]) -> None:
        self.values = values

    def symbol(self, name: str) -> Fraction:
        try:
            return self.values[name]
        except KeyError:
            raise DomainError(f"no value given for {name}") from None

    def sqrt(self, value: Fraction) -> Fraction:
        root = perfect_root(value)
        if root is None:
            raise _IrrationalError
        return root

    def sign(self, value: Fraction) -> int:
        return (value > 0) - (value < 0)

    def exp(self, value: Fraction) -> Fraction:
        if value == 0:
            return Fraction(1)
        raise _IrrationalError

    def log(self, value: Fraction) -> Fraction:
        if value == 1:
            return Fraction(0)
        raise _IrrationalError


class _Balls(_Choices):
    """The algebra of balls at a point, at the current working precision."""

    def __init__(self, values: Mapping[str, Fraction]) -> None:
        self.values = values

    def number(self, value: Fraction) -> arb:
        return arb(to_fmpq(value))

    def symbol(self, name: str) -> arb:
        try:
            return self.number(self.values[name])
        except KeyError:
            raise DomainError(f"no value given for {name}") from None

    def sqrt(self, value: arb) -> arb:
        if value < 0:
            raise DomainError(f"square root of the negative number {value.str(6, radius=False)}")
        return value.sqrt()

    def exp(self, value: arb) -> arb:
        return value.exp()

    def log(self, value: arb) -> arb:
        return value.log()

    def sign(self, value: arb) -> int:
        if value > 0:
            return 1
        if value < 0:
            return -1
        if value == 0:
            return 0
        raise _UndecidedError


def perfect_root(value: Fraction) -> Fraction | None:
    """The rational square root, or None where it is irrational; `DomainError` below zero."""
    if value < 0:
        raise DomainError(f"square root of the negative number {value}")
    root = to_fmpq(value).p.isqrt(), to_fmpq(value).q.isqrt()
    candidate = Fraction(int(root[0]), int(root[1]))
    return candidate if candidate * candidate == value else None
