"""Birth-death families: product formulas in the state and the size, with closed sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy as sp
from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, irreducible_factors, lowest_terms
from qtheory.errors import CertificateError, ModelError, ReducibleError
from qtheory.model.guards import guard_intervals
from qtheory.model.model import Transition
from qtheory.stationary.families.hypergeometric import Term, one_signed
from qtheory.stationary.families.law import Case, Family, FamilyLaw, known_positive


@dataclass(frozen=True, eq=False, repr=False)
class ProductLaw(FamilyLaw):
    """The law of a family of birth-death chains: weights times one hypergeometric term.

    With w_first = 1, the weights are boundary[n - first] for n <= term.start, and from there on
    boundary[-1] t_n. Where the ratio of t can be 1, every formula has a branch for it. Sums that
    no theorem closes stay finite sums.
    """

    boundary: tuple[Ratio, ...]
    term: Term

    @property
    def least(self) -> int:
        return max(self.term.start, self.first + 1)

    @property
    def _ring(self) -> Ring:
        return self.term.ring

    @cached_property
    def _branches(self) -> Sequence[tuple[Term, Any]]:
        term, ring, ratio = self.term, self.term.ring, self.term.ratio
        if not term.may_be_one:
            return [(term, sp.true)]
        differ = sp.Ne(ring.expression(ratio.num), ring.expression(ratio.den))
        return [(term, differ), (replace(term, ratio=term.one), sp.true)]

    def _cases(self, n: sp.Expr) -> Iterator[Case]:
        def share(weight: Ratio) -> Callable[[Term], sp.Expr]:
            return lambda term: self._shown(term, weight / self._sum(term, term.one))

        for k, weight in enumerate(self.boundary[:-1], self.first):
            yield share(weight), sp.Eq(n, k)
        last = share(self.boundary[-1])
        yield lambda term: last(term) * term.expression(n), sp.true

    def _tail_cases(self, n: sp.Expr) -> Iterator[Case]:
        def above(k: int) -> Callable[[Term], sp.Expr]:
            left = sum(self.boundary[: k - self.first], self._ring.number(Fraction(0)))

            def shown(term: Term) -> sp.Expr:
                total = self._sum(term, term.one)
                return self._shown(term, (total - left) / total)

            return shown

        for k in range(self.first + 1, self.term.start):
            yield above(k), sp.Eq(n, k)
        yield lambda term: self._tail(term, n), sp.true

    def _tail(self, term: Term, n: sp.Expr) -> sp.Expr:
        """P(X >= n) for n >= term.start."""
        g, rest = term.telescoped(term.one)
        here = term.mark(-1)
        closed = rest.num.is_zero()
        value = term.end(g) - self._at(term, term.deaths * g, n) * here if closed else here
        shown = self._shown(term, value * self.boundary[-1] / self._sum(term, term.one))
        if closed and not n.is_Integer:
            shown = shown.xreplace({self.variable: n})
        last = term.expression(n) if closed else self._finite_sum(term, 0, n)
        return shown.xreplace({term.marks[-1]: last})

    def _at(self, term: Term, f: Ratio, n: sp.Expr) -> Ratio:
        return term.at(f, term.ring.number(Fraction(int(n)))) if n.is_Integer else f

    def normalisation(self) -> sp.Expr:
        """The sum of the weights, 1 / P(X = first)."""
        return self._by_cases([(lambda t: self._shown(t, self._sum(t, t.one)), sp.true)])

    @property
    def proof(self) -> str:
        n, K, ring, start = self.variable, self.size, self.term.ring, self.term.start
        lines = [
            *(f"w[{k}] = {ring.factored(w)}" for k, w in enumerate(self.boundary, self.first)),
            f"w[n] = w[{start}]*t[n] for n >= {start}, t[n] = {self.term.expression(n)}",
            f"w[n]*birth(n) = w[n+1]*death(n+1) for n = {self.first}, ..., {K}-1",
        ]
        for term, where in self._branches:
            g, rest = term.telescoped(term.one)
            ratio, births, deaths, factor, left = (
                ring.factored(value) for value in (term.ratio, term.births, term.deaths, g, rest)
            )
            lines.append(
                f"if {where}: sum of t[n] for n = {start}, ..., {K} by "
                f"r*B(n)*g(n+1) - D(n)*g(n) = 1 - ({left}), "
                f"r = {ratio}, B = {births}, D = {deaths}, g = {factor}"
            )
            if not rest.num.is_zero() and term.total is not None:
                lines.append(f"sum of t[n] = {term.total} (binomial or Chu-Vandermonde)")
        return "\n".join(lines)

    def _sum(self, term: Term, f: Ratio) -> Ratio:
        """The sum of f(n) w_n over all states, for a polynomial f in n."""
        total = term.summed(f) * self.boundary[-1]
        for k, weight in enumerate(self.boundary[:-1], self.first):
            total = total + weight * term.at(f, term.ring.number(Fraction(k)))
        return total

    def _mean(self, branch: Term, f: Ratio) -> Ratio:
        return self._sum(branch, f) / self._sum(branch, branch.one)

    def _shown(self, branch: Term, value: Ratio) -> sp.Expr:
        shown = branch.ring.factored(value, self._typical)
        end, start = self.size + 1 if branch.is_geometric else self.size, sp.Integer(branch.start)
        put = {}
        for i, mark in enumerate(branch.marks[:-1]):
            if not shown.has(mark):
                continue
            closed = branch.total if i == 1 else None
            total = branch.expression(end) if i == 0 else closed
            put[mark] = self._finite_sum(branch, i - 1, start) if total is None else total
        return shown.xreplace(put)

    def _finite_sum(self, term: Term, power: int, low: sp.Expr) -> sp.Expr:
        names = {s.name for s in (self.variable, self.size, *self.parameters, *low.free_symbols)}
        name = next(name for name in ("k", "j", "i", "_k") if name not in names)
        k = sp.Symbol(name, integer=True, nonnegative=True)
        return sp.Sum(k**power * term.expression(k), (k, low, self.size))

    @cached_property
    def _typical(self) -> list[fmpq]:
        """A point, if there is one with ratio below 1, at which factors are shown positive."""
        term, symbols = self.term, self.parameters
        marks = [fmpq(1, 7), *[fmpq(3)] * (len(term.marks) - 2), fmpq(1, 2)]

        def place(point: Mapping[sp.Symbol, sp.Rational]) -> list[fmpq]:
            values = [fmpq(int(point[s].p), int(point[s].q)) for s in symbols]
            return [*values, fmpq(1000), fmpq(1), *marks]

        points = [place(point) for point in self.family.domain.sample(24)] if symbols else []
        for at in points:
            below = term.ring.evaluate(term.ratio.den, at)
            if below != 0 and 0 < term.ring.evaluate(term.ratio.num, at) / below < 1:
                return at
        return points[0] if points else place({})


def product_law(family: Family) -> ProductLaw:
    """The law of a family with jumps +1 and -1 that is cut at K.

    Raises `ModelError` where no product formula is known, `ReducibleError` without births or
    deaths.
    """
    base = (*family.domain.symbols, family.size, family.variable)
    size, first = len(base) - 2, family.first
    order = max(_degree(Ring(base), t.rate) for t in family.transitions)
    # a name with a space is no name of a parameter
    marks = [sp.Symbol(f"sum {i}") for i in range(order + 5)]
    ring = Ring((*base, *marks))
    rates = _Rates(ring, family.variable, family.transitions)
    start = settled = rates.settled(first)
    ratio = rates.ratio(None)
    boundary = [ring.number(Fraction(1))]
    for n in range(first, start):
        boundary.append(boundary[-1] * rates.ratio(n))
    strict = known_positive(family.domain, (">",)) | {size}
    _require_signs(rates, known_positive(family.domain, (">", ">=")) | strict, first, settled)
    while start > first and rates.same(ratio, start - 1):
        start -= 1
        boundary.pop()
    term = _term(ring, size, frozenset(strict), start, ratio)
    law = ProductLaw(family, tuple(boundary), term)
    require_detailed_balance(law, rates, settled)
    return law


class _Rates:
    """The total rates of birth and of death over QQ(parameters, K)[n]."""

    def __init__(self, ring: Ring, variable: sp.Symbol, transitions: Sequence[Transition]) -> None:
        self.ring, self.place = ring, ring.symbols.index(variable)
        self.moves = [
            (t.jump[0], guard_intervals(t.when, (variable,))[0], ring.ratio(t.rate))
            for t in transitions
        ]

    def settled(self, first: int) -> int:
        """The state from which on the same transitions are possible at every state."""
        ends = [g.low if g.high is None else g.high + 1 for _, g, _ in self.moves]
        return max([first, *(end for end in ends if end is not None)])

    def total(self, jump: int, n: int | None) -> Ratio:
        """The rate at the state n, or, for None, at every settled state as a polynomial in n."""
        found = self.ring.number(Fraction(0))
        for step, guard, rate in self.moves:
            if step == jump and (guard.high is None if n is None else guard.contains(n)):
                found = found + (rate if n is None else self.at(rate, n))
        return found

    def at(self, value: Ratio, n: int) -> Ratio:
        """A function of the state at the state n; `ZeroDivisionError` where it has none."""
        return self.composed(value, self.ring.context.constant(n))

    def composed(self, value: Ratio, n: fmpz_mpoly) -> Ratio:
        place = list(self.ring.generators)
        place[self.place] = n
        below = value.den.compose(*place)
        if below.is_zero():
            raise ZeroDivisionError
        return lowest_terms(value.num.compose(*place), below)

    def death_above(self, n: int | None) -> Ratio:
        """The death rate at the state n + 1."""
        if n is not None:
            return self.total(-1, n + 1)
        shifted = self.ring.generators[self.place] + 1
        return self.composed(self.total(-1, None), shifted)

    def ratio(self, n: int | None) -> Ratio:
        """b_n / d_{n+1}; `ReducibleError` where one of them is zero."""
        birth, death = self.total(1, n), self.death_above(n)
        if birth.num.is_zero():
            where = "from some state on" if n is None else f"at state {n}"
            raise ReducibleError(f"reducible: no birth {where}, so no state above is reached")
        if death.num.is_zero():
            where = "from some state on" if n is None else f"at state {n + 1}"
            raise ReducibleError(f"reducible: no death {where}, so it is never left downwards")
        return birth / death

    def same(self, ratio: Ratio, n: int) -> bool:
        """Whether a ratio as a function of n holds at the state n."""
        try:
            return self.at(ratio, n) == self.ratio(n)
        except ZeroDivisionError:
            return False


def _degree(ring: Ring, rate: sp.Expr) -> int:
    """The degree of a rate in the last symbol of the ring, in which it is a polynomial."""
    value = ring.ratio(rate)
    if value.den.degrees()[-1] > 0:
        raise ModelError(f"rate {rate} is not polynomial in {ring.symbols[-1]}")
    return max(int(value.num.degrees()[-1]), 0)


def _require_signs(rates: _Rates, known: set[int], first: int, settled: int) -> None:
    """`ModelError` unless every rate that depends on n or K keeps its sign, deaths without zero.

    Sound for all states and sizes: with n = settled + s and K = n + 1 + t, each factor has
    coefficients of one sign in s, t >= 0. Factors of parameters alone are left to `Model`.
    """
    ring, n = rates.ring, rates.place
    size, s = n - 1, ring.generators[n]
    t = ring.generators[n - 1]
    for state in [*range(first, settled), None]:
        place = list(ring.generators)
        place[n] = s + settled if state is None else ring.context.constant(state)
        place[size] = place[n] + 1 + t
        for value, strict in ((rates.total(1, state), False), (rates.death_above(state), True)):
            for factor, _ in irreducible_factors(value.num)[1]:
                if max(factor.degrees()[size : n + 1]) <= 0:
                    continue
                moved = factor.compose(*place)
                least = [e for e in moved.monoms() if not (e[size] or e[n])]
                if not one_signed(moved, known | {size, n}) or (strict and not least):
                    kind = "death" if strict else "birth"
                    wanted = "positive" if strict else "nonnegative"
                    raise ModelError(
                        f"the {kind} rate is not seen to be {wanted} at all states: "
                        f"factor {ring.expression(factor)}"
                    )


def _term(ring: Ring, size: int, positive: frozenset[int], start: int, ratio: Ratio) -> Term:
    """The term with t_{n+1}/t_n = ratio, a fraction of polynomials in n."""
    variable = size + 1
    one = ring.number(Fraction(1))
    plain = Term(ring, size, variable, positive, start, one, one, one)
    above, below = (Ratio(poly, one.num) for poly in (ratio.num, ratio.den))
    leads = [plain.coefficient(f, plain.degree(f)) for f in (above, below)]
    deaths = plain.at(below / leads[1], plain.n - one)
    return Term(
        ring, size, variable, positive, start, leads[0] / leads[1], above / leads[0], deaths
    )


def require_detailed_balance(law: ProductLaw, rates: _Rates, settled: int) -> None:
    """Check w_n b_n = w_{n+1} d_{n+1} for every n and K; `CertificateError` where it fails.

    Below the settled states by number, from there on as one identity of rational functions in n.
    """
    term = law.term
    above = term.at(term.deaths, term.n + term.one)
    ratio = term.ratio * term.births / above
    if ratio * rates.death_above(None) != rates.total(1, None):
        raise CertificateError("the weights do not balance beyond the threshold")
    for n in range(law.first, settled):
        step = (
            law.boundary[n + 1 - law.first] / law.boundary[n - law.first]
            if n < term.start
            else rates.at(ratio, n)
        )
        if step * rates.death_above(n) != rates.total(1, n):
            raise CertificateError(f"the weights do not balance at state {n}")
    if not term.splits_as_shown():
        raise CertificateError("the product formula has another ratio than the weights")
