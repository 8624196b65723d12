"""Polynomials as dictionaries of exponents, and rational functions, over the rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import lcm

from qtheory.errors import CertificateError
from qtheory.text import parse_expression

Exponents = tuple[int, ...]
Poly = dict[Exponents, Fraction]


def add(p: Poly, q: Poly, scale: int = 1) -> Poly:
    total = dict(p)
    for exponents, coefficient in q.items():
        value = total.get(exponents, Fraction(0)) + scale * coefficient
        if value:
            total[exponents] = value
        else:
            total.pop(exponents, None)
    return total


def multiply(p: Poly, q: Poly) -> Poly:
    total: Poly = {}
    for e, a in p.items():
        for f, b in q.items():
            key = tuple(map(int.__add__, e, f))
            total[key] = total.get(key, Fraction(0)) + a * b
    return {e: c for e, c in total.items() if c}


def power(p: Poly, exponent: int, one: Poly) -> Poly:
    return reduce(multiply, [p] * exponent, one)


def divide(p: Poly, q: Poly) -> Poly | None:
    """The exact quotient, or None."""
    lead = max(q)
    quotient: Poly = {}
    rest = dict(p)
    while rest:
        top = max(rest)
        shift = tuple(map(int.__sub__, top, lead))
        if min(shift, default=0) < 0:
            return None
        coefficient = rest[top] / q[lead]
        quotient[shift] = coefficient
        for e, c in q.items():
            key = tuple(map(int.__add__, e, shift))
            value = rest.get(key, Fraction(0)) - coefficient * c
            if value:
                rest[key] = value
            else:
                rest.pop(key, None)
    return quotient


def constant(p: Poly) -> Fraction | None:
    """The value of a constant polynomial, or None."""
    if not p:
        return Fraction(0)
    ((exponents, value), *others) = p.items()
    return None if others or any(exponents) else value


def coefficients(p: Poly, i: int) -> list[Poly]:
    """The coefficients in variable i, lowest power first."""
    parts: list[Poly] = [{} for _ in range(max((e[i] for e in p), default=0) + 1)]
    for e, c in p.items():
        parts[e[i]][(*e[:i], 0, *e[i + 1 :])] = c
    return parts


def integral(p: Poly) -> Poly:
    """A positive multiple with integer coefficients (faster to compute with)."""
    scale = lcm(*(c.denominator for c in p.values())) if p else 1
    return {e: c * scale for e, c in p.items()}


def divide_out(poly: Poly, factor: Poly) -> tuple[Poly, int]:
    """The polynomial without a factor, and how often it occurred."""
    times = 0
    if constant(factor) is not None:
        return poly, times
    while poly and (quotient := divide(poly, factor)) is not None:
        poly, times = quotient, times + 1
    return poly, times


class Quotient:
    """A rational function ``num / den``; its reader notes every polynomial divided by."""

    def __init__(self, reader: Functions, num: Poly, den: Poly) -> None:
        self.reader, self.num, self.den = reader, num, den

    def _with(self, num: Poly, den: Poly) -> Quotient:
        return Quotient(self.reader, num, den)

    def __add__(self, other: Quotient, scale: int = 1) -> Quotient:
        if self.den == other.den:
            return self._with(add(self.num, other.num, scale), self.den)
        left, right = multiply(self.num, other.den), multiply(other.num, self.den)
        return self._with(add(left, right, scale), multiply(self.den, other.den))

    def __sub__(self, other: Quotient) -> Quotient:
        return self.__add__(other, -1)

    def __neg__(self) -> Quotient:
        return self._with({e: -c for e, c in self.num.items()}, self.den)

    def __mul__(self, other: Quotient) -> Quotient:
        return self._with(multiply(self.num, other.num), multiply(self.den, other.den))

    def __truediv__(self, other: Quotient) -> Quotient:
        if not other.num:
            raise ZeroDivisionError
        self.reader.divisors.append(other.num)
        return self._with(multiply(self.num, other.den), multiply(self.den, other.num))

    def __pow__(self, exponent: int) -> Quotient:
        one = self.reader.one
        return self._with(power(self.num, exponent, one), power(self.den, exponent, one))

    def equals(self, other: Quotient) -> bool:
        return multiply(self.num, other.den) == multiply(other.num, self.den)


class Functions:
    """Reads formulas as rational functions; eliminated variables are replaced as they occur.

    The names are the parameters of a statement, then those that stand for square roots; only the
    parameters are `public`: the statement itself cannot speak of the other names.
    """

    def __init__(self, parameters: Sequence[str], roots: Sequence[str] = ()) -> None:
        self.names = (*parameters, *roots)
        self.public = frozenset(parameters)
        self.one: Poly = {(0,) * len(self.names): Fraction(1)}
        self.divisors: list[Poly] = []
        self.values: dict[str, Quotient] = {}
        self.roots: list[Quotient] = []

    def number(self, value: Fraction) -> Quotient:
        (unit,) = self.one
        return Quotient(self, {unit: value} if value else {}, self.one)

    def symbol(self, name: str) -> Quotient:
        if name in self.values:
            return self.values[name]
        if name not in self.names:
            raise CertificateError(f"certificate rejected: undeclared name {name}")
        unit = tuple(int(name == other) for other in self.names)
        return Quotient(self, {unit: Fraction(1)}, self.one)

    def sqrt(self, value: Quotient) -> Quotient:
        for root in self.roots:
            if (root * root).equals(value):
                return root
        raise CertificateError("certificate rejected: a square root that is not declared")

    def read(self, text: str) -> Quotient:
        return parse_expression(text, self)

    def poly(self, text: str) -> Poly:
        value = self.read(text)
        scale = constant(value.den)
        if not scale:
            raise CertificateError(f"certificate rejected: {text} is not a polynomial")
        return {e: c / scale for e, c in value.num.items()}
