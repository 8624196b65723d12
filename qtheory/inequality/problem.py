"""A claim as polynomials on a region, with its square roots removed.

A square root y = sqrt(A) whose radicand A is linear in some variable z replaces that variable:
z becomes a rational function of y and the others. This loses nothing where A >= 0 and the
coefficient of z does not vanish, which is proved first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import sympy as sp
from flint import fmpz_mpoly
from sympy.core.relational import Relational

from qtheory.arithmetic import Ratio, Ring, by_power, divisors, exact, irreducible_factors, read
from qtheory.balls import rational_value
from qtheory.chart import Constraint
from qtheory.check.polynomials import Functions, integral
from qtheory.check.rules import read_constraint
from qtheory.domain import Domain
from qtheory.errors import QTheoryError
from qtheory.formulas import text_of
from qtheory.inequality.signs import coefficient_signs, factor_entry
from qtheory.semialgebraic import Point, SemialgebraicSet

Certificate = dict[str, Any]


@dataclass(frozen=True)
class Root:
    """``symbol = sqrt(radicand)``, by which `variable` becomes `value`."""

    symbol: sp.Symbol
    radicand: sp.Expr
    variable: sp.Symbol
    value: sp.Expr
    coefficient: sp.Expr


@dataclass(frozen=True)
class Problem:
    """The difference of the two sides, the divisors in them, and the region they live on."""

    claim: Relational
    domain: Domain
    region: SemialgebraicSet
    difference: Ratio
    divisors: tuple[fmpz_mpoly, ...]
    roots: tuple[Root, ...] = ()
    lemmas: Mapping[str, Certificate] = field(default_factory=dict)
    algebra: Any = None

    def parameters(self, point: Point) -> dict[sp.Symbol, sp.Rational] | None:
        """The parameter values at (integers: near) a point of the region, None if undefined."""
        values = {}
        for symbol in self.domain.symbols:
            value = self.algebra.symbol(symbol.name)
            den = exact(self.region.ring.evaluate(value.den, point))
            if den == 0:
                return None
            found = exact(self.region.ring.evaluate(value.num, point)) / den
            values[symbol] = (
                sp.Integer(round(found))
                if symbol.is_integer
                else sp.Rational(*found.as_integer_ratio())
            )
        return values

    def fails_at(self, values: Mapping[sp.Symbol, sp.Rational]) -> bool:
        """Whether a parameter point lies in the domain and violates the claim, exactly."""
        try:
            if not self.domain.contains(values):
                return False
            left, right = (rational_value(side, values) for side in self.claim.args)
        except (QTheoryError, ZeroDivisionError):
            return False
        if left is None or right is None:
            return False
        return not {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
            "==": left == right,
            "!=": left != right,
        }[self.claim.rel_op]


class _WithRoots:
    """An algebra for `read`: square roots are variables, and eliminated variables are replaced."""

    def __init__(self, ring: Ring, roots: Sequence[Root]) -> None:
        self.ring = ring
        self.values: dict[str, Ratio] = {}
        self.roots: list[Ratio] = []
        for root in reversed(roots):
            self.values[root.variable.name] = read(root.value, self)
        self.roots = [ring.symbol(root.symbol.name) for root in roots]

    def number(self, value: Fraction) -> Ratio:
        return self.ring.number(value)

    def symbol(self, name: str) -> Ratio:
        return self.values.get(name) or self.ring.symbol(name)

    def sqrt(self, value: Ratio) -> Ratio:
        for root in self.roots:
            if root * root == value:
                return root
        return self.ring.sqrt(value)


def pose(claim: Relational, domain: Domain) -> Problem:
    """The problem of a claim without square roots."""
    return _posed(claim, domain, domain.region, domain.ring)


def _posed(
    claim: Relational, domain: Domain, region: SemialgebraicSet, algebra: Any, **extra: Any
) -> Problem:
    under = tuple(read(divisor, algebra).num for divisor in divisors(claim))
    difference = read(claim.lhs, algebra) - read(claim.rhs, algebra)
    return Problem(claim, domain, region, difference, under, algebra=algebra, **extra)


def radicands(claim: sp.Basic) -> list[sp.Expr]:
    """What stands under square roots in a claim, in a deterministic order."""
    found: dict[sp.Expr, None] = {}
    for power in sp.preorder_traversal(claim):
        if power.is_Pow and power.exp.is_Rational and power.exp.q == 2:
            found[power.base] = None
    return list(found)


def without_roots(
    claim: Relational, domain: Domain, lemma: Callable[[Relational], Certificate | None]
) -> Iterator[Problem]:
    """The ways to pose a claim with its square roots replaced by variables.

    `lemma` proves a claim on the domain and gives its certificate, or None.
    """
    under = radicands(claim)
    if any(radicands(a) for a in under):
        return
    choices = [list(_eliminations(domain, number, a)) for number, a in enumerate(under, 1)]
    for chosen in product(*choices):
        if len({root.variable.name for root in chosen}) < len(chosen):
            continue
        for roots in permutations(chosen):
            if _triangular(roots):
                break
        else:
            continue
        lemmas = _lemmas(roots, lemma)
        if lemmas is not None:
            yield _posed_with_roots(claim, domain, roots, lemmas)


def _eliminations(domain: Domain, number: int, radicand: sp.Expr) -> Iterator[Root]:
    """The variables in which the radicand is linear, with their values."""
    ring = domain.ring
    ratio = ring.ratio(radicand)
    radicand = ring.expression(ratio)
    name = next(f"y{k}" for k in range(number, 1000) if f"y{k}" not in ring.names)
    y = sp.Symbol(name, real=True)
    for i, symbol in enumerate(domain.symbols):
        if ratio.num.degrees()[i] != 1 or ratio.den.degrees()[i] > 0:
            continue
        free, linear = by_power(ratio.num, i, ring.context)
        value = (y**2 * ring.expression(ratio.den) - ring.expression(free)) / ring.expression(
            linear
        )
        yield Root(y, radicand, symbol, value, ring.expression(linear))


def _triangular(roots: Sequence[Root]) -> bool:
    """Whether no value uses a variable that an earlier root eliminates."""
    return not any(
        earlier.variable in root.value.free_symbols
        for k, root in enumerate(roots)
        for earlier in roots[:k]
    )


def _lemmas(
    roots: Sequence[Root], lemma: Callable[[Relational], Certificate | None]
) -> dict[str, Certificate] | None:
    """The certificates that every radicand is nonnegative and every coefficient nonzero."""
    found: dict[str, Certificate] = {}
    for root in roots:
        positive = lemma(sp.Gt(root.radicand, 0, evaluate=False)) or lemma(
            sp.Ge(root.radicand, 0, evaluate=False)
        )
        if positive is None:
            return None
        found[f"{root.symbol.name} nonnegative"] = positive
        if root.coefficient.free_symbols:
            nonzero = lemma(sp.Ne(root.coefficient, 0, evaluate=False))
            if nonzero is None:
                return None
            found[f"{root.symbol.name} coefficient"] = nonzero
    return found


def _posed_with_roots(
    claim: Relational, domain: Domain, roots: tuple[Root, ...], lemmas: dict[str, Certificate]
) -> Problem:
    ring = Ring((*domain.symbols, *(root.symbol for root in roots)))
    algebra = _WithRoots(ring, roots)
    # the conditions as the checker reads them: it does not reduce fractions
    names = [*map(text_of, domain.symbols)], [text_of(root.symbol) for root in roots]
    reader = Functions(*names)
    for root in reversed(roots):
        reader.values[text_of(root.variable)] = reader.read(text_of(root.value))
    constraints = []
    for text in domain.texts:
        poly, kind = read_constraint(text, reader)
        terms = {e: int(c) for e, c in integral(poly).items()}
        constraints.append(Constraint(ring.context.from_dict(terms), kind))
    for root in roots:
        strict = lemmas[f"{root.symbol.name} nonnegative"]["claim"].endswith("> 0")
        constraints.append(Constraint(ring.symbol(root.symbol.name).num, ">" if strict else ">="))
    region = SemialgebraicSet(ring, tuple(constraints))
    return _posed(claim, domain, region, algebra, roots=roots, lemmas=lemmas)


ROUNDS = 3


def strengthened(region: SemialgebraicSet) -> tuple[SemialgebraicSet, list[dict[str, Any]]]:
    """The region with conditions that follow from its own, as certificates carry them.

    A condition is divided by its factors of known sign. Where a chart has a lower and an upper
    bound of a variable in no known order, that order is a condition without the variable.
    """
    entries: list[dict[str, Any]] = []
    seen: list[Constraint] = list(region.constraints)
    done = 0
    for _ in range(ROUNDS):
        new = [
            found
            for index in range(done, len(region.constraints))
            if (found := _without_factors(region, index)) is not None
        ]
        new += _resolvents(region)
        done = len(region.constraints)
        for constraint, entry in new:
            if constraint not in seen and not constraint.poly.is_constant():
                seen.append(constraint)
                entries.append(entry)
                region = region.where(constraint)
        if len(region.constraints) == done:
            break
    return region, entries


Derived = tuple[Constraint, dict[str, Any]]


def _without_factors(region: SemialgebraicSet, index: int) -> Derived | None:
    """The condition divided by its factors whose sign shows in the coefficients."""
    poly, kind = region.constraints[index]
    if poly.is_constant():
        return None
    factors = irreducible_factors(poly)[1]
    if len(factors) == 1 and factors[0][1] == 1:
        return None
    known = []
    for factor, times in factors:
        sign = coefficient_signs(region, factor)
        if sign is not None and sign.strict:
            known.append(factor_entry(region.ring, factor, sign))
            poly = poly / (factor * sign.direction) ** int(times)
    return (Constraint(poly, kind), {"from": index, "factors": known}) if known else None


def _resolvents(region: SemialgebraicSet) -> list[Derived]:
    """For bounds a x + b >= 0 and c - d x >= 0 in no known order: a c + b d >= 0."""
    found = []
    pairs = {
        (step.variable, step.lower, step.upper)
        for chart in region.charts[:2]
        for step in chart.steps
        if not step.ordered and step.lower is not None and step.upper is not None
    }
    for variable, lower, upper in sorted(pairs):
        bounds = [region.constraints[k] for k in (lower, upper)]
        (b, a), (c, minus_d) = (
            by_power(bound.poly, variable, region.ring.context) for bound in bounds
        )
        signs = [coefficient_signs(region, factor) for factor in (a, -minus_d)]
        if all(sign is not None and sign.strict and sign.direction == 1 for sign in signs):
            strict = any(bound.kind == ">" for bound in bounds)
            entry = {
                "sum": [
                    {"of": k, "times": region.ring.text(times), "proof": sign.proof}
                    for k, times, sign in zip(
                        (lower, upper), (-minus_d, a), signs[::-1], strict=True
                    )
                    if sign is not None
                ]
            }
            found.append((Constraint(a * c - b * minus_d, ">" if strict else ">="), entry))
    return found


def root_entries(problem: Problem) -> list[dict[str, Any]]:
    """The roots of a problem as certificates carry them."""
    return [
        {
            "name": root.symbol.name,
            "radicand": text_of(root.radicand),
            "variable": text_of(root.variable),
            "value": text_of(root.value),
            "nonnegative": problem.lemmas[f"{root.symbol.name} nonnegative"],
            "coefficient": problem.lemmas.get(f"{root.symbol.name} coefficient"),
        }
        for root in problem.roots
    ]
