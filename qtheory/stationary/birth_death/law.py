"""The law of a birth-death chain with a geometric tail, and its moments in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, factorial, perm
from typing import Any, ClassVar

import sympy as sp
from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, irreducible_factors, values_by_name
from qtheory.balls import Enclosure, evaluate
from qtheory.domain import Domain
from qtheory.errors import CertificateError, DomainError, ExpressionError, ModelError
from qtheory.formulas import formula
from qtheory.model.guards import guard_intervals
from qtheory.stationary.events import event_relation, integer_of, variable_position
from qtheory.stationary.floats.law import Error


@dataclass(frozen=True, eq=False, repr=False)
class BirthDeathLaw:
    """P(X = n) = boundary[n - first] up to the threshold, then boundary[-1] ratio^(n - threshold).

    All values are exact, over QQ(parameters), and hold on the `domain`; `stability` is the
    condition ratio < 1 as a relation between the rates of birth and death beyond the threshold.
    """

    variable: sp.Symbol
    ring: Ring
    first: int
    boundary: tuple[Ratio, ...]
    ratio: Ratio
    stability: sp.Rel
    domain: Domain

    method: ClassVar[str] = "closed_form"
    residual: ClassVar[float] = 0.0
    error: ClassVar[Error] = Error(0.0, "certified")
    truncation: ClassVar[None] = None
    outside: ClassVar[None] = None
    # there are infinitely many states: without this, a loop over the law would never end
    __iter__: ClassVar[None] = None

    @property
    def threshold(self) -> int:
        """The state from which on the law is geometric."""
        return self.first + len(self.boundary) - 1

    @property
    def variables(self) -> tuple[sp.Symbol, ...]:
        """The one state variable."""
        return (self.variable,)

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The symbols of the law."""
        return self.ring.symbols

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BirthDeathLaw) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.variable, self.ring.symbols, self.first))

    def _key(self) -> tuple[Any, ...]:
        return self.variable, self.ring.symbols, self.first, self.boundary, self.ratio

    def __reduce__(self) -> tuple[Any, ...]:
        # polynomials of python-flint do not pickle
        values = [
            (value.num.to_dict(), value.den.to_dict()) for value in (*self.boundary, self.ratio)
        ]
        plain = (self.variable, self.ring.symbols, self.first, values, self.stability)
        return _rebuilt, (*plain, self.domain)

    def __getitem__(self, state: Any) -> sp.Expr:
        """The probability of a state; `DomainError` for one that the chain does not have."""
        n = integer_of(state[0] if isinstance(state, tuple) and len(state) == 1 else state)
        if n is None or n < self.first:
            raise DomainError(f"the law has no state {state}")
        return self.pmf(n)

    def pmf(self, n: Any) -> sp.Expr:
        """P(X = n) for an integer, or for a symbol as a Piecewise.

        The symbol stands for an integer; it is not above the threshold in all but the last case.
        """
        whole = integer_of(n)
        if whole is not None:
            return self._shown(self._pmf(whole))
        return self._by_cases(n, [(self._pmf(k), sp.Eq(n, k)) for k in self._inner], "pmf")

    def probability(self, event: Any) -> sp.Expr:
        """The probability of a state, or of a comparison of the variable with an integer.

        >>> from qtheory import stationary
        >>> from qtheory.systems import dedicated_streams as ds
        >>> law = stationary(ds.mean_field_model())
        >>> law.probability(ds.k >= 2)
        lambda*(lambda + lambda_s)/mu**2

        Raises `ModelError` for an event of another kind.
        """
        relation = event_relation(event, self.variables)
        if relation is None:
            if callable(event) and not isinstance(event, sp.Basic):
                raise ModelError("an event on an infinite lattice is a relation, not a function")
            return self[event]
        if relation is sp.false:
            return sp.Integer(0)
        ((low, high),) = found = guard_intervals(relation, self.variables)
        if found[0].is_empty:
            return sp.Integer(0)
        above = self._number(1) if low is None else self._tail(low)
        beyond = self._number(0) if high is None else self._tail(high + 1)
        return self._shown(above - beyond)

    def marginal(self, variable: Any, k: Any = None) -> sp.Expr:
        """P(variable = k); without k as a formula in the variable."""
        variable_position(variable, self.variables)
        return self.pmf(self.variable if k is None else k)

    def tail(self, n: Any, k: Any = None) -> sp.Expr:
        """P(X >= n) for an integer, or for a symbol as a Piecewise.

        As for other laws, ``tail(variable)`` and ``tail(variable, k)`` are known, too.
        """
        if k is not None:
            variable_position(n, self.variables)
            return self.tail(k)
        whole = integer_of(n)
        if whole is not None:
            return self._shown(self._tail(whole))
        cases = [(self._tail(k), sp.Eq(n, k)) for k in self._inner]
        return self._by_cases(n, cases, "tail")

    @cached_property
    def _gap(self) -> Ratio:
        """1 - ratio, which is positive."""
        return self._number(1) - self.ratio

    def _shown(self, value: Ratio) -> sp.Expr:
        return _oriented(self.ring, value, self._gap.num)

    @property
    def _inner(self) -> range:
        return range(self.first, self.threshold)

    def _by_cases(self, n: Any, cases: list[tuple[Ratio, sp.Rel]], kind: str) -> sp.Expr:
        n = self.variable if str(n) == self.variable.name else sp.sympify(n)
        if not isinstance(n, sp.Expr) or n.is_integer is False:
            raise DomainError(f"state variables have integer values, got {n}")
        start = self._pmf(self.threshold) if kind == "pmf" else self._tail(self.threshold)
        beyond = self._shown(start) * self._shown(self.ratio) ** (n - self.threshold)
        below = (0 if kind == "pmf" else 1, n < self.first)
        return sp.Piecewise(
            below,
            *((self._shown(value), condition) for value, condition in cases),
            (beyond, True),
        )

    def _pmf(self, n: int) -> Ratio:
        if n < self.first:
            return self._number(0)
        if n <= self.threshold:
            return self.boundary[n - self.first]
        return self.boundary[-1] * self.ratio ** (n - self.threshold)

    def _tail(self, n: int) -> Ratio:
        if n >= self.threshold:
            return self._pmf(n) / self._gap
        below = self.boundary[: max(n - self.first, 0)]
        return self._number(1) - sum(below, self._number(0))

    def _number(self, value: int) -> Ratio:
        return self.ring.number(Fraction(value))

    def factorial_moment(self, k: int) -> sp.Expr:
        """E[X (X - 1) ... (X - k + 1)] in closed form."""
        return self._shown(self._factorial_moment(k))

    def _factorial_moment(self, k: int) -> Ratio:
        if k < 0:
            raise ModelError(f"factorial moments have an order k >= 0, got {k}")
        total = self.boundary[-1] * self._tail_moment(self.threshold, k)
        for n in self._inner:
            total = total + self._number(perm(n, k)) * self._pmf(n)
        self._require_telescoping(k)
        return total

    def _tail_moment(self, n: int, k: int) -> Ratio:
        """The sum over j >= 0 of (n + j)(n + j - 1) ... (n + j - k + 1) ratio^j.

        By Vandermonde's identity for falling factorials, it is the sum over i of
        C(k, i) n^(k - i falling) i! ratio^i / (1 - ratio)^(i + 1).
        """
        total = self._number(0)
        for i in range(k + 1):
            share = self._number(comb(k, i) * perm(n, k - i) * factorial(i))
            total = total + share * self.ratio**i / self._gap ** (i + 1)
        return total

    def _require_telescoping(self, k: int) -> None:
        # Both sides are polynomials in n of degree k: k + 1 values prove the identity, and
        # ratio < 1 lets the telescoping sum converge.
        for n in range(self.threshold, self.threshold + k + 1):
            step = self._tail_moment(n, k) - self.ratio * self._tail_moment(n + 1, k)
            if step != self._number(perm(n, k)):
                raise CertificateError(f"the tail sum of order {k} fails at state {n}")

    def mean(self) -> sp.Expr:
        """E[X] in closed form."""
        return self.factorial_moment(1)

    def variance(self) -> sp.Expr:
        """E[X^2] - E[X]^2 in closed form."""
        mean = self._factorial_moment(1)
        return self._shown(self._factorial_moment(2) + mean - mean * mean)

    def expect(self, f: Any) -> sp.Expr:
        """E[f(X)] for a polynomial f in the state variable, in closed form.

        Coefficients may contain further parameters, for example costs. `ExpressionError` for
        anything that is not a polynomial in the state variable.
        """
        f = formula(f, (self.variable, *self.ring.symbols)) if isinstance(f, str) else sp.sympify(f)
        named = {s: self.variable for s in f.free_symbols if s.name == self.variable.name}
        try:
            polynomial = sp.Poly(f.xreplace(named), self.variable)
        except sp.PolynomialError:
            raise ExpressionError(f"not a polynomial in {self.variable}: {f}") from None
        further = sorted(
            (s for s in polynomial.free_symbols_in_domain if s.name not in self.ring.names),
            key=lambda s: s.name,
        )
        ring = Ring((*self.ring.symbols, *further))
        total = ring.number(Fraction(0))
        for (power,), coefficient in polynomial.terms():
            moment = sum(
                (
                    self._number(_stirling(power, k)) * self._factorial_moment(k)
                    for k in range(power + 1)
                ),
                self._number(0),
            )
            total = total + ring.ratio(coefficient) * ring.lift(moment)
        return _oriented(ring, total, ring.lift(self._gap).num)

    def evaluate(self, f: Any, at: Mapping[Any, Any] | None = None, digits: int = 15) -> Enclosure:
        """The expectation of a polynomial at a rational point of the domain, with proven digits.

        `UnstableError` or `DomainError` for a point outside the domain.
        """
        values = values_by_name(at, self.ring.names)
        if self.ring.symbols:
            self.domain.require({name: values[name] for name in self.ring.names if name in values})
        return evaluate(self.expect(f), values, digits)

    def __repr__(self) -> str:
        last = self.threshold
        power = "n" if last == 0 else f"(n - {last})"
        return "\n".join(
            [
                f"birth-death law, stable where {self.stability}",
                *(f"  pi({n}) = {self.pmf(n)}" for n in range(self.first, last + 1)),
                f"  pi(n) = pi({last})*r**{power} above, r = {self._shown(self.ratio)}",
            ]
        )

    def latex(self) -> str:
        r"""The probabilities as LaTeX, with a ``cases`` environment."""
        return rf"\pi_{{{self.variable}}} = {sp.latex(self.pmf(self.variable))}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def _rebuilt(
    variable: sp.Symbol,
    symbols: tuple[sp.Symbol, ...],
    first: int,
    values: list[tuple[Any, Any]],
    stability: sp.Rel,
    domain: Domain,
) -> BirthDeathLaw:
    ring = Ring(symbols)
    *boundary, ratio = (
        Ratio(ring.context.from_dict(num), ring.context.from_dict(den)) for num, den in values
    )
    return BirthDeathLaw(variable, ring, first, tuple(boundary), ratio, stability, domain)


def _oriented(ring: Ring, value: Ratio, gap: fmpz_mpoly) -> sp.Expr:
    """The factored value, with the positive `gap` in place of its negative."""
    sign, parts = sp.Integer(1), []
    for poly, direction in ((value.num, 1), (value.den, -1)):
        if poly.is_zero():
            return sp.Integer(0)
        content, factors = irreducible_factors(poly)
        sign *= sp.Integer(int(content)) ** direction
        for factor, power in factors:
            if factor == -gap:
                factor, sign = gap, sign * (-1) ** int(power)
            parts.append((factor, direction * int(power)))
    if sign < 0:
        # a minus in front goes into a factor whose sign does not show
        for k, (factor, power) in enumerate(parts):
            if power % 2 and power > 0 and factor != gap and min(factor.coeffs()) < 0:
                parts[k], sign = (-factor, power), -sign
                break
    return sp.Mul(sign, *(ring.expression(factor) ** power for factor, power in parts))


def _stirling(n: int, k: int) -> int:
    """Stirling numbers of the second kind: n^m = sum over k of S(m, k) (n falling k)."""
    from sympy.functions.combinatorial.numbers import stirling

    return int(stirling(n, k))
