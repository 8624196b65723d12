"""Parameter domains: symbols with polynomial constraints.

The assumptions of the symbols count as conditions: ``Symbol("mu", positive=True)`` contributes
``mu > 0``. Conditions under ``stable=`` are those without which no stationary law exists; a
point that violates one raises `UnstableError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy as sp
from flint import fmpz_mpoly
from sympy.core.relational import Relational

from qtheory.arithmetic import (
    Ring,
    divisors,
    exact,
    irreducible_factors,
    parameters,
    to_fmpq,
    values_by_name,
)
from qtheory.chart import Chart, Constraint, charts
from qtheory.errors import DomainError, UnstableError
from qtheory.formulas import relation, relations
from qtheory.semialgebraic import SemialgebraicSet
from qtheory.text import text_name

_SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "==", "!=": "!="}


class Domain:
    """A set of parameter points, given by polynomial (or rational) conditions.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> p = sp.Symbol("p", nonnegative=True)
    >>> domain = Domain(p <= 1, stable=lam < 2*mu)
    >>> domain.contains({"lam": 1, "mu": 1, "p": "1/2"})
    True
    >>> domain.require({lam: 3, mu: 1, p: 0})
    Traceback (most recent call last):
    qtheory.errors.UnstableError: unstable: needs lambda < 2*mu, got lambda = 3, mu = 1

    Conditions may also be text: ``Domain("0 < lam, lam < 2*mu")``. Raises `DomainError` for a
    condition that never holds and `ExpressionError` for one that is not polynomial.
    """

    def __init__(
        self,
        *conditions: Any,
        stable: Any = (),
        symbols: Iterable[sp.Symbol] = (),
    ) -> None:
        stated = _flatten(conditions)
        stability = _flatten(stable if isinstance(stable, (tuple, list)) else (stable,))
        self.symbols = _by_first_appearance(symbols, [*stated, *stability])
        self.conditions: tuple[Relational, ...] = tuple(
            dict.fromkeys([*_assumptions(self.symbols), *stated, *stability])
        )
        self.stability: frozenset[Relational] = frozenset(stability)

    def __repr__(self) -> str:
        return f"Domain({', '.join(map(str, self.conditions))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and (
            (self.symbols, self.conditions, self.stability)
            == (other.symbols, other.conditions, other.stability)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # SymPy evaluates a relation that it unpickles, so the sides travel apart
        sides = [(c.lhs, c.rel_op, c.rhs, c in self.stability) for c in self.conditions]
        return _rebuilt, (self.symbols, sides)

    def __hash__(self) -> int:
        return hash((self.symbols, self.conditions, self.stability))

    def _repr_latex_(self) -> str:
        from qtheory.show.latex import latex

        return f"${latex(self)}$"

    def where(self, *conditions: Any) -> Domain:
        """The part of the domain where further conditions hold."""
        return self._joined(_flatten(conditions, self.symbols), ())

    def over(self, *symbols: sp.Symbol) -> Domain:
        """The same conditions over additional parameters."""
        return self._joined((), symbols)

    def __and__(self, other: Domain) -> Domain:
        joined = self._joined(other.conditions, other.symbols)
        joined.stability = self.stability | other.stability
        return joined

    def _joined(self, conditions: Iterable[Any], symbols: Iterable[sp.Symbol]) -> Domain:
        stated = [c for c in self.conditions if c not in self.stability]
        return Domain(
            *stated,
            *conditions,
            stable=tuple(c for c in self.conditions if c in self.stability),
            symbols=(*self.symbols, *symbols),
        )

    @cached_property
    def ring(self) -> Ring:
        """The polynomials in the parameters."""
        return Ring(self.symbols)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The conditions as polynomials over the integers, in the order of `conditions`.

        A denominator is multiplied away; factors that the remaining conditions show to be
        positive are dropped.
        """
        return tuple(normalised(self.ring, self.conditions))

    @cached_property
    def _divisors(self) -> tuple[list[fmpz_mpoly], ...]:
        """What each condition divides by: it fails where one of them vanishes."""
        return tuple([self.ring.ratio(d).num for d in divisors(c)] for c in self.conditions)

    @cached_property
    def region(self) -> SemialgebraicSet:
        """The polynomial constraints with their charts."""
        return SemialgebraicSet(self.ring, self.constraints)

    @property
    def texts(self) -> list[str]:
        """The polynomial conditions as text, the form that certificates carry."""
        return [
            f"{self.ring.text(constraint.poly)} {constraint.kind} 0"
            for constraint in self.constraints
        ]

    @cached_property
    def is_inhabited(self) -> bool:
        """Whether a point of the domain was found; without one a proof may be vacuous."""
        try:
            return bool(self.sample(1) or not self.symbols)
        except DomainError:
            return False

    def point(self, at: Mapping[Any, Any]) -> dict[sp.Symbol, Fraction]:
        """The point as exact values by symbol; `DomainError` on unknown or missing names."""
        names = {symbol.name for symbol in self.symbols}
        values = values_by_name(at, names)
        for name in values:
            if name not in names:
                known = ", ".join(s.name for s in self.symbols) or "none"
                raise DomainError(f"unknown parameter {name}; known: {known}")
        missing = [s.name for s in self.symbols if s.name not in values]
        if missing:
            raise DomainError(f"no value given for {', '.join(missing)}")
        return {symbol: values[symbol.name] for symbol in self.symbols}

    def violated(self, at: Mapping[Any, Any]) -> Relational | None:
        """The first condition that fails at a point, or None."""
        values = self.point(at)
        place = tuple(to_fmpq(values[s]) for s in self.symbols)
        for symbol in self.symbols:
            if symbol.is_integer and values[symbol].denominator != 1:
                plain = sp.Symbol(symbol.name)  # of an integer symbol, SymPy knows Mod to be 0
                return sp.Eq(sp.Mod(plain, 1), 0, evaluate=False)
        for condition, constraint, under in zip(
            self.conditions, self.constraints, self._divisors, strict=True
        ):
            if not self.region.holds(constraint, place):
                return condition
            if any(self.ring.evaluate(divisor, place) == 0 for divisor in under):
                return condition
        return None

    def contains(self, at: Mapping[Any, Any]) -> bool:
        """Whether a rational point satisfies every condition."""
        return self.violated(at) is None

    def require(self, at: Mapping[Any, Any]) -> dict[sp.Symbol, Fraction]:
        """The exact values at a point of the domain.

        Raises `UnstableError` or `DomainError` that names the failed condition and the values.
        """
        values = self.point(at)
        failed = self.violated(at)
        if failed is None:
            return values
        names = {symbol.name for symbol in failed.free_symbols}
        got = ", ".join(f"{s} = {values[s]}" for s in self.symbols if s.name in names)
        if isinstance(failed, sp.Eq) and failed.has(sp.Mod):
            raise DomainError(f"outside the domain: needs an integer, got {got}")
        if failed in self.stability:
            raise UnstableError(f"unstable: needs {failed}, got {got}")
        raise DomainError(f"outside the domain: needs {failed}, got {got}")

    def sample(
        self, count: int, seed: int = 0, near_boundary: bool = False
    ) -> list[dict[sp.Symbol, sp.Rational]]:
        """Exact rational points of the domain, reproducible by the seed.

        With `near_boundary`, most coordinates lie close to, or on, the ends of their ranges.
        Raises `DomainError` when no point is found.
        """
        points: list[dict[sp.Symbol, sp.Rational]] = []
        for attempt, place in enumerate(self.region.draw(seed, near_boundary)):
            if len(points) == count or attempt > 200 * count + 200:
                break
            values = {
                s: sp.Integer(round(exact(v))) if s.is_integer else sp.Rational(int(v.p), int(v.q))
                for s, v in zip(self.symbols, place, strict=True)
            }
            if self.contains(values):
                points.append(values)
        if not points and count:
            raise DomainError(f"no point found in {self}: empty or too thin")
        return points


def _rebuilt(symbols: tuple[sp.Symbol, ...], sides: list[tuple[Any, str, Any, bool]]) -> Domain:
    stated = [(relation(left, sign, right), stable) for left, sign, right, stable in sides]
    return Domain(
        *(condition for condition, stable in stated if not stable),
        stable=tuple(condition for condition, stable in stated if stable),
        symbols=symbols,
    )


def normalised(ring: Ring, conditions: Iterable[Relational]) -> list[Constraint]:
    """Relations as polynomial constraints, cleared of denominators and positive factors."""
    rough: list[tuple[Constraint, bool]] = []
    for condition in conditions:
        if condition.rel_op == "!=":
            raise DomainError(f"{condition} is not a domain condition: use <, <=, >, >= or ==")
        greater = condition.rel_op in (">", ">=", "==")
        left, right = condition.lhs, condition.rhs
        value = ring.ratio(left - right if greater else right - left)
        kind = condition.rel_op if greater else _SWAPPED[condition.rel_op]
        plain = value.den.is_constant()
        rough.append((Constraint(value.num if plain else value.num * value.den, kind), plain))
    known = [constraint for constraint, plain in rough if plain]
    if all(plain for _, plain in rough):
        return known
    found = charts(ring, known)
    return [c if plain else _without_positive_factors(ring, c, found) for c, plain in rough]


def _without_positive_factors(ring: Ring, constraint: Constraint, known: list[Chart]) -> Constraint:
    """The constraint divided by its factors that keep one sign on the domain."""
    poly, kind = constraint
    if poly.is_zero():
        return constraint
    for factor, _ in irreducible_factors(poly)[1]:
        signs = {chart.sign(factor) for chart in known}
        sign = 1 if ">" in signs else -1 if "<" in signs else 0
        while sign:
            quotient, remainder = divmod(poly, factor)
            if not remainder.is_zero():
                break
            poly = quotient * sign
    return Constraint(poly, kind)


def _flatten(conditions: Iterable[Any], symbols: Iterable[sp.Symbol] = ()) -> list[Relational]:
    """Relations out of relations, conjunctions and text; true conditions are dropped."""
    found: list[Relational] = []
    for condition in conditions:
        if isinstance(condition, str):
            found += _flatten(relations(condition, symbols))
            continue
        condition = sp.sympify(condition)
        if isinstance(condition, Relational) and not condition.free_symbols:
            condition = condition.doit()
        if condition is sp.false:
            raise DomainError("empty domain: a condition is false for every parameter")
        if condition is sp.true:
            continue
        if isinstance(condition, sp.And):
            found += _flatten(condition.args)
        elif isinstance(condition, Relational):
            found.append(condition)
        else:
            raise DomainError(f"not a condition on parameters: {condition}")
    return found


def _by_first_appearance(
    symbols: Iterable[sp.Symbol], conditions: Iterable[Relational]
) -> tuple[sp.Symbol, ...]:
    named: dict[str, sp.Symbol] = {}
    for symbol in symbols:
        _require_parameter(symbol)
        named.setdefault(symbol.name, symbol)
    for condition in conditions:
        for symbol in parameters(condition.lhs, condition.rhs):
            _require_parameter(symbol)
            named.setdefault(symbol.name, symbol)
    texts: dict[str, str] = {}
    for name in named:
        other = texts.setdefault(text_name(name), name)
        if other != name:
            raise DomainError(f"{other} and {name} are both written {text_name(name)} in text")
    return tuple(named.values())


_NOT_ON_REALS = ("zero", "even", "odd", "prime", "composite", "noninteger", "irrational")


def _require_parameter(symbol: Any) -> None:
    """A parameter is a real or integer symbol whose sign, if any, is its only assumption."""
    if not isinstance(symbol, sp.Symbol):
        raise DomainError(f"not a symbol: {symbol!r}")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", symbol.name):
        raise DomainError(f"the name of a parameter has letters, digits and _, got {symbol.name!r}")
    refused = [word for word in _NOT_ON_REALS if getattr(symbol, f"is_{word}")]
    if symbol.is_nonzero and not (symbol.is_positive or symbol.is_negative):
        refused.append("nonzero")
    if symbol.is_real is False:
        refused.append("not real")
    if refused:
        raise DomainError(f"the parameter {symbol} is assumed {refused[0]}: state a condition")


def _assumptions(symbols: Iterable[sp.Symbol]) -> list[Relational]:
    """The sign assumptions of the symbols as relations that SymPy does not evaluate away."""
    found = []
    for symbol in symbols:
        for holds, sign in (
            (symbol.is_positive, ">"),
            (symbol.is_negative, "<"),
            (symbol.is_nonnegative, ">="),
            (symbol.is_nonpositive, "<="),
        ):
            if holds:
                found.append(relation(symbol, sign, sp.Integer(0)))
                break
    return found
