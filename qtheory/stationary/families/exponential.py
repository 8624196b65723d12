"""Families with constant rates and bounded jumps: sums of powers in the state and the size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import sympy as sp
from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, by_power, irreducible_factors, lowest_terms
from qtheory.errors import CertificateError, ModelError, ReducibleError
from qtheory.model.classes import closed_classes
from qtheory.model.guards import guard_intervals
from qtheory.model.rates import rate_table
from qtheory.stationary.families.end_equations import EndEquations, Move, PowerField, Powers
from qtheory.stationary.families.hypergeometric import Term, one_signed
from qtheory.stationary.families.law import Case, Family, FamilyLaw, known_positive


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialLaw(FamilyLaw):
    """The law of a family whose rates are constant from some state on.

    Away from both ends the balance equations are a recurrence with constant coefficients, so the
    law is a sum of n^m x^n over the roots x of its characteristic polynomial. The finitely many
    equations at the ends are solved over the field of the parameters, K and the powers x^K.
    Where roots can be equal, every formula has a branch for it.
    """

    equations: EndEquations
    solutions: tuple[tuple[Powers, Any], ...]

    @property
    def least(self) -> int:
        return self.equations.least

    @property
    def _field(self) -> PowerField:
        return self.equations.field

    @property
    def _ring(self) -> Ring:
        return self._field.ring

    @property
    def _branches(self) -> Sequence[tuple[Powers, Any]]:
        return self.solutions

    def _cases(self, n: sp.Expr) -> Iterator[Case]:
        def share(part: Literal["below", "above"], i: int) -> Callable[[Powers], sp.Expr]:
            return lambda powers: self._shown(powers, getattr(powers, part)[i] / self._sum(powers))

        ends = self.solutions[0][0]
        for i in range(len(ends.below)):
            yield share("below", i), sp.Eq(n, self.first + i)
        for i in range(len(ends.above)):
            yield share("above", i), sp.Eq(n, self.size - i)
        yield lambda powers: self._between(powers, n), sp.true

    def _between(self, powers: Powers, n: sp.Expr) -> sp.Expr:
        """The probability of a state away from the ends."""
        field = self._field
        parts = [a * field.n**m * field.mark(powers, j, True) for j, m, a in powers.terms]
        return self._put(powers, sum(parts, field.zero) / self._sum(powers), n)

    def _put(self, powers: Powers, value: Ratio, n: sp.Expr) -> sp.Expr:
        """The value with a state in the place of n, and the powers of the roots."""
        field, shown = self._field, self._shown(powers, value)
        put = {field.symbols(j)[1]: field.ring.factored(x) ** n for j, x in enumerate(powers.roots)}
        return shown.xreplace({self.variable: n, **put})

    def _tail_cases(self, n: sp.Expr) -> Iterator[Case]:
        def above(i: int, downwards: bool) -> Callable[[Powers], sp.Expr]:
            def shown(powers: Powers) -> sp.Expr:
                total, zero = self._sum(powers), self._field.zero
                if downwards:
                    return self._shown(powers, sum(powers.above[: i + 1], zero) / total)
                return self._shown(powers, (total - sum(powers.below[:i], zero)) / total)

            return shown

        ends = self.solutions[0][0]
        for i in range(len(ends.below)):
            yield above(i, False), sp.Eq(n, self.first + i)
        for i in range(len(ends.above)):
            yield above(i, True), sp.Eq(n, self.size - i)
        yield lambda powers: self._tail_between(powers, n), sp.true

    def _tail_between(self, powers: Powers, n: sp.Expr) -> sp.Expr:
        """P(X >= n) for a state n away from the ends."""
        field, total = self._field, sum(powers.above, self._field.zero)
        for j, m, a in powers.terms:
            g, end = self._telescoped(powers, j, field.n**m)
            total = total + a * (end - field.mark(powers, j, True) * g)
        return self._put(powers, total / self._sum(powers), n)

    def _telescoped(self, powers: Powers, j: int, f: Ratio) -> tuple[Ratio, Ratio]:
        """g with f(n) x^n = x^(n+1) g(n+1) - x^n g(n), and the upper end of its sum.

        The sum over the states from n to the last one away from the ends is end - x^n g(n).
        """
        field = self._field
        place = field.state - 1, field.state, frozenset[int]()
        term = Term(field.ring, *place, 0, powers.roots[j], field.one, field.one)
        g, rest = term.telescoped(f)
        if not rest.num.is_zero():
            raise CertificateError("a geometric sum does not telescope")
        beyond = len(powers.above) - 1
        top = field.at(g, field.size.num - beyond)
        return g, field.power(powers, j, (True, beyond)) * top

    def _sum(self, powers: Powers, f: Ratio | None = None) -> Ratio:
        """The sum of f(n) times the weights, f a polynomial in n, by default 1."""
        field = self._field
        f, total = field.one if f is None else f, field.zero
        low = self.first + len(powers.below)
        for k, weight in enumerate(powers.below, self.first):
            total = total + weight * field.at(f, field.number(k).num)
        for i, weight in enumerate(powers.above):
            total = total + weight * field.at(f, field.size.num - i)
        for j, m, a in powers.terms:
            g, end = self._telescoped(powers, j, f * field.n**m)
            start = field.power(powers, j, (False, low)) * field.at(g, field.number(low).num)
            total = total + a * (end - start)
        return total

    def _mean(self, branch: Powers, f: Ratio) -> Ratio:
        return self._sum(branch, f) / self._sum(branch)

    def _shown(self, branch: Powers, value: Ratio) -> sp.Expr:
        field = self._field
        shown = field.ring.factored(value, self._typical)
        roots = enumerate(branch.roots)
        return shown.xreplace(
            {field.symbols(j)[0]: field.ring.factored(x) ** self.size for j, x in roots}
        )

    @cached_property
    def _typical(self) -> list[fmpq]:
        """A point at which factors are shown positive."""
        symbols, ring = self.parameters, self._ring
        point = self.family.domain.sample(1)[0] if symbols else {}
        values = [fmpq(int(point[s].p), int(point[s].q)) for s in symbols]
        marks = len(ring.symbols) - len(values) - 2
        return [*values, fmpq(1000), fmpq(1), *(fmpq(1, 7 + i) for i in range(marks))]

    @property
    def proof(self) -> str:
        ring, K = self._ring, self.size
        x = sp.Symbol("x")
        recurrence = enumerate(self.equations.recurrence())
        shown = sp.Add(*(ring.factored(c) * x**i for i, c in recurrence))
        lines = [f"balance away from the ends is a recurrence with polynomial {shown}"]
        for powers, where in self.solutions:
            roots = ", ".join(str(ring.factored(root)) for root in powers.roots)
            lines.append(
                f"if {where}: roots {roots}; each balance equation at the ends holds as an "
                f"identity in the parameters, {K} and the powers root**{K}"
            )
        lines.append(f"one closed class for every {K} >= {self.least}, so the law is unique")
        return "\n".join(lines)


def exponential_law(family: Family) -> ExponentialLaw:
    """The law of a family with constant rates from some state on, for K large enough.

    Raises `ModelError` where the rates are not constant, where a root of the characteristic
    polynomial is not rational in the parameters, or where neither +1 nor -1 is a jump of every
    state beyond the first ones, and `ReducibleError` for several closed classes.
    """
    base = (*family.domain.symbols, family.size, family.variable)
    steps = [t.jump[0] for t in family.transitions]
    up, down = max(0, *steps), max(0, *(-step for step in steps))
    # a name with a space is no name of a parameter
    marks = [sp.Symbol(f"power {i}") for i in range(2 * (up + down))]
    ring = Ring((*base, *marks))
    moves = tuple(
        Move(t.jump[0], guard_intervals(t.when, (family.variable,))[0], ring.ratio(t.rate))
        for t in family.transitions
    )
    ends = [m.guard.low if m.guard.high is None else m.guard.high + 1 for m in moves]
    settled = max([family.first, *(end for end in ends if end is not None)])
    if family.edge != "wrap":
        # where a jump leads below the first state, the moves are not yet those of later states
        for move in moves:
            if (move.guard.low or family.first) + move.jump < family.first:
                settled = max(settled, family.first - move.jump)
    for move, t in zip(moves, family.transitions, strict=True):
        varies = {family.size, family.variable} & t.rate.free_symbols
        if move.guard.high is None and varies:
            raise ModelError(f"no sum of powers: the rate {t.rate} is not constant")
    if not {1, -1} & {move.jump for move in moves if move.guard.high is None}:
        raise ModelError("neither +1 nor -1 is a jump of every state beyond the first ones")
    field = PowerField(ring, len(base) - 1)
    equations = EndEquations(field, moves, family.edge, family.first, settled, up, down)
    # by steps of one, all states beyond the first ones lead to one state, so that the number of
    # closed classes is the same for all sizes
    classes = closed_classes(rate_table(family.instance(equations.least + 1)))
    if len(classes) > 1:
        raise ReducibleError(f"no unique stationary law: {len(classes)} closed classes")
    solutions = tuple(_solutions(equations, known_positive(family.domain, (">",))))
    return ExponentialLaw(family, equations, solutions)


def _solutions(equations: EndEquations, positive: set[int]) -> Iterator[tuple[Powers, Any]]:
    """The solution where the roots differ, then those where some of them are equal."""
    ring = equations.field.ring
    equal: list[fmpz_mpoly] = []
    for (x, _), (y, _) in combinations(equations.factors[0], 2):
        for factor, _ in irreducible_factors((x - y).num)[1]:
            if not one_signed(factor, positive) and factor not in equal:
                equal.append(factor)
    sides = [_sides(ring, factor) for factor in equal]
    yield equations.solved(), sp.And(*(sp.Ne(*pair) for pair in sides))
    for k, factor in enumerate(equal):
        place, value = _parameter(ring, factor)
        moves = tuple(
            replace(move, rate=_put(ring, move.rate, place, value)) for move in equations.moves
        )
        here = sp.true if k == len(equal) - 1 else sp.Eq(*sides[k])
        for powers, condition in _solutions(replace(equations, moves=moves), positive):
            yield powers, sp.And(here, condition)


def _sides(ring: Ring, poly: fmpz_mpoly) -> tuple[sp.Expr, sp.Expr]:
    """The terms with a plus and those with a minus."""
    terms = poly.to_dict().items()
    plus, minus = ({e: s * c for e, c in terms if s * c > 0} for s in (1, -1))
    return tuple(ring.expression(ring.context.from_dict(part)) for part in (plus, minus))


def _parameter(ring: Ring, factor: fmpz_mpoly) -> tuple[int, Ratio]:
    """A parameter in which the factor is linear, and its value where the factor is zero."""
    for i, degree in enumerate(factor.degrees()):
        if degree == 1:
            constant, slope = by_power(factor, i, ring.context)
            return i, lowest_terms(-constant, slope)
    raise ModelError(f"no formula where {ring.expression(factor)} = 0: linear in no parameter")


def _put(ring: Ring, rate: Ratio, place: int, value: Ratio) -> Ratio:
    """A rate with the value in the place of a parameter."""

    def put(poly: fmpz_mpoly) -> Ratio:
        total = ring.number(Fraction(0))
        for part in reversed(by_power(poly, place, ring.context)):
            total = total * value + Ratio(part, ring.context.constant(1))
        return total

    return put(rate.num) / put(rate.den)
