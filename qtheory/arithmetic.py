"""Exact arithmetic: rational numbers, and the field QQ(parameters) on python-flint polynomials.

A parameter is identified by its name, so ``Symbol("mu")`` and ``Symbol("mu", positive=True)``
are the same quantity. Results stay polynomials until a SymPy expression is asked for: the
conversion can cost ten times the computation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational as RationalNumber
from typing import Any

import sympy as sp
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

from qtheory.errors import DomainError, ExpressionError
from qtheory.text import EXPONENT_LIMIT, parse_expression, symbol_name, text_name


def exact(value: Any) -> Fraction:
    """The rational number that was written.

    A float is read as the decimal that it prints: ``0.1`` is one tenth. Text such as ``"1/3"``
    is read by the grammar of `qtheory.text`.

    >>> exact(0.1), exact("2/6"), exact(sp.Rational(1, 3))
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 3))

    Raises `ExpressionError` for anything that is not a finite rational number.
    """
    if isinstance(value, str):
        return parse_expression(value, _Numbers())
    if isinstance(value, (fmpq, fmpz)):
        return Fraction(int(fmpq(value).p), int(fmpq(value).q))
    if isinstance(value, sp.Rational) and value.is_finite:
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, RationalNumber):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (float, sp.Float)) or hasattr(value, "dtype"):
        try:
            return Fraction(repr(float(value)) if not isinstance(value, sp.Float) else str(value))
        except (ValueError, OverflowError, TypeError):
            pass
    raise ExpressionError(f"not a rational number: {value}")


class _Numbers:
    """The algebra of plain rational numbers."""

    number = staticmethod(Fraction)

    def symbol(self, name: str) -> Fraction:
        raise ExpressionError(f"a number was expected, got the name {name}")

    def sqrt(self, value: Fraction) -> Fraction:
        raise ExpressionError(f"sqrt({value}) is not a rational number in general")


def to_fmpq(value: Fraction) -> fmpq:
    """The same rational number as a python-flint ``fmpq``."""
    return fmpq(value.numerator, value.denominator)


def parameters(*expressions: Any) -> tuple[sp.Symbol, ...]:
    """The free symbols of the expressions, sorted by name.

    Raises `ExpressionError` when two different symbols carry one name in one expression.
    """
    found: dict[str, sp.Symbol] = {}
    for expression in expressions:
        for symbol in sp.sympify(expression).free_symbols:
            found.setdefault(symbol.name, symbol)
    return tuple(found[name] for name in sorted(found))


def values_by_name(at: Mapping[Any, Any] | None, names: Iterable[str] = ()) -> dict[str, Fraction]:
    """A parameter point keyed by symbol name; keys may be symbols or typed names.

    A typed name that is one of `names` means that symbol: ``lam`` is short for ``lambda`` only
    where no symbol is called ``lam``.
    """
    if not isinstance(at, Mapping | None):
        raise DomainError(f"a point is a mapping from parameters to numbers, got {at}")
    own = set(names)

    def name(key: Any) -> str:
        if isinstance(key, sp.Symbol):
            return key.name
        return str(key) if str(key) in own else symbol_name(str(key))

    return {name(key): exact(value) for key, value in (at or {}).items()}


def read(expression: Any, algebra: Any) -> Any:
    """Evaluate a SymPy expression in another algebra (see `qtheory.text.Algebra`).

    The algebra may also know ``piecewise``, ``minimum``, ``maximum``, ``exp``, ``log``.
    """
    expression = sp.sympify(expression)
    if isinstance(expression, sp.Symbol):
        return algebra.symbol(expression.name)
    if expression.is_Rational:
        return algebra.number(exact(expression))
    if expression.is_Float:
        return algebra.number(exact(expression))
    if expression is sp.E and hasattr(algebra, "exp"):
        return algebra.exp(algebra.number(Fraction(1)))
    if expression.is_Add or expression.is_Mul:
        values = [read(part, algebra) for part in expression.args]
        total = values[0]
        for value in values[1:]:
            total = total + value if expression.is_Add else total * value
        return total
    if expression.is_Pow:
        return _read_power(expression, algebra)
    method = {sp.Min: "minimum", sp.Max: "maximum", sp.exp: "exp", sp.log: "log"}.get(
        expression.func
    )
    if method and hasattr(algebra, method):
        return getattr(algebra, method)(*(read(part, algebra) for part in expression.args))
    if isinstance(expression, sp.Piecewise) and hasattr(algebra, "piecewise"):
        return algebra.piecewise(expression)
    raise ExpressionError(f"not a formula in +, -, *, /, integer powers and sqrt: {expression}")


def divisors(expression: sp.Basic) -> Iterator[sp.Expr]:
    """Everything that an expression or relation divides by."""
    for power in sp.preorder_traversal(expression):
        if power.is_Pow and power.exp.is_Rational and power.exp < 0:
            yield power.base


def _read_power(expression: sp.Pow, algebra: Any) -> Any:
    base, exponent = expression.args
    if not (exponent.is_Rational and exponent.q in (1, 2)):
        raise ExpressionError(f"exponent {exponent} of {base} is neither an integer nor a half")
    if abs(exponent.p) > EXPONENT_LIMIT:
        raise ExpressionError(f"exponent {exponent} is larger than {EXPONENT_LIMIT}")
    value = read(base, algebra)
    if exponent.q == 2:
        value = algebra.sqrt(value)
    power = value ** abs(int(exponent.p))
    if exponent.p >= 0:
        return power
    try:
        return algebra.number(Fraction(1)) / power
    except ZeroDivisionError:
        raise ExpressionError(f"division by zero in {expression}") from None


@dataclass(frozen=True, slots=True)
class Ratio:
    """An element ``num / den`` of QQ(parameters), in lowest terms."""

    num: fmpz_mpoly
    den: fmpz_mpoly

    def __reduce__(self) -> tuple[Any, ...]:
        names = self.num.context().names()
        return _ratio_from_terms, (names, self.num.to_dict(), self.den.to_dict())

    def __add__(self, other: Ratio) -> Ratio:
        if self.den == other.den:
            return lowest_terms(self.num + other.num, self.den)
        shares = lowest_terms(self.den, other.den)
        total = self.num * shares.den + other.num * shares.num
        return lowest_terms(total, self.den * shares.den)

    def __neg__(self) -> Ratio:
        return Ratio(-self.num, self.den)

    def __sub__(self, other: Ratio) -> Ratio:
        return self + (-other)

    def __mul__(self, other: Ratio) -> Ratio:
        # common factors are crosswise only: that is where they are cheap to find
        left, right = lowest_terms(self.num, other.den), lowest_terms(other.num, self.den)
        return Ratio(left.num * right.num, left.den * right.den)

    def __truediv__(self, other: Ratio) -> Ratio:
        if other.num.is_zero():
            raise ZeroDivisionError("division by the zero rational function")
        if other.num.leading_coefficient() < 0:
            return self * Ratio(-other.den, -other.num)
        return self * Ratio(other.den, other.num)

    def __pow__(self, exponent: int) -> Ratio:
        return Ratio(self.num**exponent, self.den**exponent)


def _ratio_from_terms(names: Any, num: Mapping[Any, Any], den: Mapping[Any, Any]) -> Ratio:
    context = fmpz_mpoly_ctx.get(tuple(map(str, names)), Ordering.degrevlex)
    return Ratio(context.from_dict(dict(num)), context.from_dict(dict(den)))


def lowest_terms(num: fmpz_mpoly, den: fmpz_mpoly) -> Ratio:
    """``num / den`` with common factors removed and a positive leading denominator."""
    if den.is_one():
        return Ratio(num, den)
    common = num.gcd(den)
    if not common.is_one():
        num, den = num / common, den / common
    if den.leading_coefficient() < 0:
        num, den = -num, -den
    return Ratio(num, den)


def content(polynomials: Iterable[fmpz_mpoly]) -> fmpz_mpoly | None:
    """The greatest common divisor, None of no polynomials."""
    common = None
    for polynomial in sorted(polynomials, key=len):
        common = polynomial if common is None else common.gcd(polynomial)
        if common.is_one():
            break
    return common


class Ring:
    """The polynomials ZZ[parameters] and their fractions, an algebra for `read`.

    >>> lam, mu = sp.symbols("lambda mu")
    >>> ring = Ring((lam, mu))
    >>> ring.expression(ring.ratio((lam**2 - mu**2) / (lam - mu)))
    lambda + mu
    """

    def __init__(self, symbols: Iterable[sp.Symbol]) -> None:
        self.symbols: tuple[sp.Symbol, ...] = tuple(symbols)
        self.names = tuple(symbol.name for symbol in self.symbols)
        # flint accepts any distinct names; positions are all that it uses
        self.context = fmpz_mpoly_ctx.get(self.names, Ordering.degrevlex)
        self.generators: tuple[fmpz_mpoly, ...] = self.context.gens()
        self._one = self.context.constant(1)
        self._ratios = {
            name: Ratio(generator, self._one)
            for name, generator in zip(self.names, self.generators, strict=True)
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Ring, (self.symbols,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ring) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    @cached_property
    def _rational_context(self) -> fmpq_mpoly_ctx:
        return fmpq_mpoly_ctx.get(self.names, Ordering.degrevlex)

    def number(self, value: Fraction) -> Ratio:
        return Ratio(
            self.context.constant(value.numerator), self.context.constant(value.denominator)
        )

    def integer(self, value: int) -> Ratio:
        """A whole number as an element of the field."""
        return Ratio(self.context.constant(value), self._one)

    @cached_property
    def zero(self) -> Ratio:
        """The zero of the field."""
        return self.integer(0)

    def symbol(self, name: str) -> Ratio:
        try:
            return self._ratios[name]
        except KeyError:
            raise ExpressionError(
                f"unknown parameter {name}; known: {', '.join(self.names) or 'none'}"
            ) from None

    def sqrt(self, value: Ratio) -> Ratio:
        raise ExpressionError("a square root is not a rational function")

    def ratio(self, expression: Any) -> Ratio:
        """The expression as a reduced fraction of polynomials with integer coefficients."""
        return read(expression, self)

    def polynomial(self, expression: Any) -> fmpz_mpoly:
        """The expression as a polynomial with integer coefficients, else `ExpressionError`."""
        value = self.ratio(expression)
        if not value.den.is_one():
            raise ExpressionError(f"not a polynomial with integer coefficients: {expression}")
        return value.num

    def expression(self, value: Ratio | fmpz_mpoly) -> sp.Expr:
        """The SymPy form of a polynomial or a fraction."""
        if isinstance(value, Ratio):
            return self.expression(value.num) / self.expression(value.den)
        return sp.Add(
            *(
                sp.Mul(
                    sp.Integer(int(coefficient)),
                    *(s**e for s, e in zip(self.symbols, exponents, strict=True) if e),
                )
                for exponents, coefficient in value.terms()
            )
        )

    def text(self, poly: fmpz_mpoly) -> str:
        """A polynomial as text of the library's grammar, a positive term first."""
        terms = sorted(poly.terms(), reverse=True)
        lead = next((k for k, (_, coefficient) in enumerate(terms) if coefficient > 0), 0)
        shown = ""
        for exponents, coefficient in [*terms[lead : lead + 1], *terms[:lead], *terms[lead + 1 :]]:
            factors = [
                text_name(name) + (f"**{power}" if power > 1 else "")
                for name, power in zip(self.names, exponents, strict=True)
                if power
            ]
            size = abs(int(coefficient))
            if size != 1 or not factors:
                factors.insert(0, str(size))
            sign = " - " if coefficient < 0 else " + "
            shown += (sign if shown else sign.strip(" +")) + "*".join(factors)
        return shown or "0"

    def factored(self, value: Ratio | fmpz_mpoly, at: Sequence[fmpq] | None = None) -> sp.Expr:
        """The SymPy form with numerator and denominator factored over the rationals.

        Factors are written so that they are positive at a point, by default the one where all
        parameters are 1.
        """
        if isinstance(value, Ratio):
            above, below = self._oriented(value.num, at), self._oriented(value.den, at)
            if below[0] < 0:
                above, below = (-above[0], above[1]), (-below[0], below[1])
            return sp.Mul(above[0], *above[1]) / sp.Mul(below[0], *below[1])
        number, factors = self._oriented(value, at)
        return sp.Mul(number, *factors)

    def _oriented(
        self, value: fmpz_mpoly, at: Sequence[fmpq] | None
    ) -> tuple[sp.Integer, list[sp.Expr]]:
        """A polynomial as a number times powers of factors that are positive at a point."""
        if value.is_zero():
            return sp.Integer(0), []
        content, factors = irreducible_factors(value)
        shown = []
        for factor, power in factors:
            if (sum(factor.coeffs()) if at is None else self.evaluate(factor, at)) < 0:
                factor, content = -factor, content * (-1) ** int(power)
            shown.append(self.expression(factor) ** int(power))
        return sp.Integer(int(content)), shown

    def point(self, values: Mapping[str, Fraction]) -> tuple[fmpq, ...]:
        """The coordinates of a parameter point in the order of the symbols."""
        missing = [name for name in self.names if name not in values]
        if missing:
            raise DomainError(f"no value given for {', '.join(missing)}")
        return tuple(to_fmpq(values[name]) for name in self.names)

    def lift(self, value: Ratio) -> Ratio:
        """A fraction over a ring whose symbols are the first ones of this ring."""
        more = (0,) * (len(self.names) - value.num.context().nvars())
        num, den = (
            self.context.from_dict({(*e, *more): c for e, c in poly.to_dict().items()})
            for poly in (value.num, value.den)
        )
        return Ratio(num, den)

    def evaluate(self, value: fmpz_mpoly, point: Sequence[fmpq]) -> fmpq:
        """The exact value of a polynomial at a rational point."""
        return self.rational(value)(*point)

    def rational(self, value: fmpz_mpoly) -> fmpq_mpoly:
        """The polynomial as a function of rational points."""
        return fmpq_mpoly(value.to_dict(), self._rational_context)


def irreducible_factors(poly: fmpz_mpoly) -> tuple[fmpz, list[tuple[fmpz_mpoly, int]]]:
    """The content of a polynomial that is not zero, and its irreducible factors with powers.

    >>> lam, mu = Ring(sp.symbols("lambda mu")).generators
    >>> irreducible_factors(4 * lam**2 * (lam + 2**40 * mu))
    (4, [(lambda + 1099511627776*mu, 1), (lambda, 2)])
    """
    try:
        content, factors = poly.factor()
    except OverflowError:
        # python-flint 0.9 sorts fmpz_mpoly factors by their coefficients as C integers
        context = poly.context()
        rational = fmpq_mpoly_ctx.get(context.names(), context.ordering())
        above, found = fmpq_mpoly(poly.to_dict(), rational).factor()
        factors = [
            (context.from_dict({e: c.p for e, c in factor.to_dict().items()}), power)
            for factor, power in found
        ]
        content = above.p
    return content, [(factor, int(power)) for factor, power in factors]


def by_power(poly: fmpz_mpoly, index: int, context: fmpz_mpoly_ctx) -> list[fmpz_mpoly]:
    """Coefficients of a polynomial in one of its variables, lowest power first."""
    degree = max(poly.degrees()[index], 0) if len(poly) else 0
    parts: list[dict[tuple[int, ...], fmpz]] = [{} for _ in range(degree + 1)]
    for exponents, coefficient in poly.terms():
        rest = (*exponents[:index], 0, *exponents[index + 1 :])
        parts[exponents[index]][rest] = coefficient
    return [context.from_dict(part) for part in parts]
