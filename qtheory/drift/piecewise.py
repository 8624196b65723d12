"""Piecewise polynomials in the state and their drifts, in one basis: equal functions look equal.

On each coordinate the basis holds the powers of x on its whole range and the indicators of
single values. A half-line is the whole range without the values before it; a coordinate over all
integers has the powers on x >= 1 besides, and one with a bounded range only has 1 and the
indicators of its values but the lowest. Products over the coordinates are linearly independent
functions on the lattice; their expectations are the moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb
from typing import Any

import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from qtheory.arithmetic import Ratio, Ring, lowest_terms, parameters
from qtheory.drift.moments import Moment
from qtheory.drift.terms import Term
from qtheory.errors import ExpressionError, ModelError
from qtheory.formulas import formula
from qtheory.model import Interval, Model
from qtheory.model.flows import StatePolynomial, rate_polynomials
from qtheory.model.guards import INTEGERS, guard_intervals, guard_relations
from qtheory.model.regions import split

Combination = dict[Term, Ratio]
"""A function of the state: weights in QQ(parameters) of the functions of the basis."""

Line = dict[tuple[Interval, int], int]
"""A function of one coordinate: weights of x^power on an interval."""

POSITIVE = Interval(1, None)


@dataclass(frozen=True)
class FunctionSpace:
    """The piecewise polynomials in the state of a model."""

    model: Model

    @cached_property
    def _rates(self) -> tuple[Ring, list[StatePolynomial]]:
        return rate_polynomials(self.model)

    @property
    def ring(self) -> Ring:
        """The polynomials in the parameters."""
        return self._rates[0]

    @cached_property
    def constant(self) -> Term:
        """The function 1."""
        count = len(self.model.state)
        return Term((0,) * count, (INTEGERS,) * count)

    def moment(self, term: Term) -> Moment:
        """The expectation of a function of the basis."""
        state = self.model.state
        monomial = sp.Mul(*(x**power for x, power in zip(state, term.powers, strict=True)))
        return Moment(monomial, guard_relations(term.box, self.constant.box, state))

    def growth(self, term: Term) -> int:
        """The degree of a function of the basis in the unbounded coordinates."""
        bounded = map(_is_bounded, self.model.ranges)
        return sum(k for k, fixed in zip(term.powers, bounded, strict=True) if not fixed)

    @cached_property
    def growth_of_rates(self) -> int:
        """The largest degree of a rate in the unbounded coordinates."""
        exponents = [powers for rate in self._rates[1] for powers in rate]
        degrees = (self.growth(Term(powers, self.constant.box)) for powers in exponents)
        return max(degrees, default=0)

    def read(self, function: Any) -> Combination:
        """A piecewise polynomial in the state, or the indicator of a condition.

        Raises `ModelError` for a condition that does not compare one state variable with an
        integer and for what is not a polynomial with coefficients rational in the parameters.
        """
        cases = _Cases(self.model, function)
        found: Combination = {}
        for intervals, value in cases.values():
            for powers, weight in self._polynomial(value).items():
                lines = [
                    on_line(whole, part, {power: 1})
                    for whole, part, power in zip(self.model.ranges, intervals, powers, strict=True)
                ]
                self._add(found, _tensor(lines), weight)
        return _without_zeros(found)

    def drift(self, function: Mapping[Term, Ratio]) -> Combination:
        """QV: the sum over the transitions of rate(x) (V(x + jump) - V(x)) where possible."""
        found: Combination = {}
        for term, weight in function.items():
            for moved, factor in self._drift_of(term).items():
                self._add(found, {moved: 1}, weight * factor)
        return _without_zeros(found)

    def _drift_of(self, term: Term) -> Combination:
        found: Combination = {}
        for transition, guard, rate in zip(
            self.model.transitions, self.model.guards, self._rates[1], strict=True
        ):
            for exponents, weight in rate.items():
                change = self._moved(term, transition.jump, guard, exponents)
                for key, value in self._moved(term, None, guard, exponents).items():
                    change[key] = change.get(key, 0) - value
                self._add(found, change, weight)
        return found

    def _moved(
        self,
        term: Term,
        jump: Sequence[int] | None,
        guard: Sequence[Interval],
        exponents: Sequence[int],
    ) -> dict[Term, int]:
        """x^exponents term(x + jump) where the guard holds."""
        lines = []
        for whole, part, power, box, step, extra in zip(
            self.model.ranges,
            guard,
            term.powers,
            term.box,
            jump or (0,) * len(guard),
            exponents,
            strict=True,
        ):
            # (x + step)^power x^extra by the binomial theorem
            polynomial = {k + extra: comb(power, k) * step ** (power - k) for k in range(power + 1)}
            lines.append(on_line(whole, part & box.shifted(-step), polynomial))
        return _tensor(lines)

    def _polynomial(self, value: sp.Expr) -> dict[tuple[int, ...], Ratio]:
        """A polynomial in the state by its exponents."""
        ring, count = self.ring, len(self.ring.symbols)
        names = {*ring.names, *(x.name for x in self.model.state)}
        for symbol in parameters(value):
            if symbol.name not in names:
                raise ModelError(f"{symbol} is neither a state variable nor a parameter")
        try:
            whole = Ring((*ring.symbols, *self.model.state)).ratio(value)
        except ExpressionError as error:
            raise ModelError(f"not a polynomial in the state: {value} ({error})") from None
        if any(degree > 0 for degree in whole.den.degrees()[count:]):
            raise ModelError(f"not a polynomial in the state: {value}")
        below = ring.context.from_dict({tuple(e[:count]): c for e, c in whole.den.terms()})
        parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for exponents, coefficient in whole.num.terms():
            powers = tuple(map(int, exponents))
            parts.setdefault(powers[count:], {})[powers[:count]] = coefficient
        return {e: lowest_terms(ring.context.from_dict(p), below) for e, p in parts.items()}

    def _add(self, total: Combination, integers: Mapping[Term, int], weight: Ratio) -> None:
        for term, value in integers.items():
            if value:
                summand = lowest_terms(weight.num * value, weight.den)
                total[term] = total[term] + summand if term in total else summand


def on_line(whole: Interval, part: Interval, polynomial: Mapping[int, int]) -> Line:
    """A polynomial in x on a part of its range, zero elsewhere, in the basis.

    >>> on_line(Interval(0, None), Interval(2, None), {0: 1})
    {(Interval(low=None, high=None), 0): 1, (Interval(low=0, high=0), 0): -1,
     (Interval(low=1, high=1), 0): -1}
    """
    found: Line = {}
    for power, weight in polynomial.items():
        for key, value in _monomial_on_line(whole, part & whole, power).items():
            found[key] = found.get(key, 0) + weight * value
    return {key: value for key, value in found.items() if value}


def _monomial_on_line(whole: Interval, part: Interval, power: int) -> Line:
    low, high = part
    if part.is_empty:
        return {}
    if low is not None and high is not None:
        return _values(whole, low, high, power)
    if part == whole:
        return {(INTEGERS, power): 1}
    if low is None:
        assert high is not None
        above = _monomial_on_line(whole, Interval(high + 1, None) & whole, power)
        return {(INTEGERS, power): 1} | {key: -value for key, value in above.items()}
    half, start = (POSITIVE, 1) if whole.low is None else (INTEGERS, whole.low)
    sign = 1 if low < start else -1
    between = _values(whole, min(low, start), max(low, start) - 1, power)
    return {(half, power): 1} | {key: sign * value for key, value in between.items()}


def _values(whole: Interval, low: int, high: int, power: int) -> Line:
    """x^power on low..high by the indicators of single values."""
    line: Line = {(Interval(j, j), 0): j**power for j in range(low, high + 1)}
    if _is_bounded(whole) and whole.low == low:
        # the indicator of the lowest value is 1 minus the others
        lowest = line.pop((Interval(low, low), 0))
        for j in range(low + 1, int(whole.high or 0) + 1):
            key = (Interval(j, j), 0)
            line[key] = line.get(key, 0) - lowest
        line[INTEGERS, 0] = lowest
    return line


def _is_bounded(whole: Interval) -> bool:
    return whole.low is not None and whole.high is not None


def _tensor(lines: Sequence[Line]) -> dict[Term, int]:
    """The product of functions of the single coordinates."""
    found: dict[Term, int] = {}
    for chosen in product(*(line.items() for line in lines)):
        value = 1
        for _, factor in chosen:
            value *= factor
        box, powers = zip(*(key for key, _ in chosen), strict=True)
        found[Term(powers, box)] = value
    return found


def _without_zeros(combination: Combination) -> Combination:
    return {term: weight for term, weight in combination.items() if not weight.num.is_zero()}


def is_condition(function: Any) -> bool:
    """Whether a SymPy object is a condition on the state (SymPy's symbols are Booleans too)."""
    return isinstance(function, Boolean) and not isinstance(function, sp.Expr)


def as_function(model: Model, function: Any) -> Any:
    """A function of the state, or a condition on it, over the model's own symbols."""
    own = {symbol.name: symbol for symbol in (*model.parameters, *model.state)}
    if isinstance(function, str):
        return formula(function, own.values())
    try:
        function = sp.sympify(function)
    except sp.SympifyError:
        raise ModelError(f"not a function of the state: {function}") from None
    if not (isinstance(function, sp.Expr) or is_condition(function)):
        raise ModelError(f"not a function of the state: {function}")
    return function.xreplace({s: own.get(s.name, s) for s in function.free_symbols})


class _Cases:
    """A piecewise function of the state, and its values where its conditions are decided."""

    def __init__(self, model: Model, function: Any) -> None:
        self.model = model
        function = as_function(model, function)
        if is_condition(function):
            function = sp.Piecewise((1, function), (0, True))
        function = function.replace(
            sp.KroneckerDelta, lambda x, c: sp.Piecewise((1, sp.Eq(x, c)), (0, True))
        )
        self.function = function.replace(sp.Abs, lambda x: sp.Piecewise((x, x >= 0), (-x, True)))
        # x != c is decided by the complement of x == c
        self.boxes = {
            condition: guard_intervals(
                sp.Eq(condition.lhs, condition.rhs, evaluate=False)
                if isinstance(condition, sp.Ne)
                else condition,
                model.state,
            )
            for condition in sorted(self.function.atoms(Relational), key=str)
        }

    def values(self) -> Iterator[tuple[tuple[Interval, ...], sp.Expr]]:
        """The boxes on which all conditions are decided, with the function there if not zero."""
        for region in split(self.model.ranges, (), (), tuple(self.boxes.values())):
            decided = {}
            for condition, box in self.boxes.items():
                holds = all(
                    part.covers(here) for part, here in zip(box, region.intervals, strict=True)
                )
                decided[condition] = sp.sympify(holds != isinstance(condition, sp.Ne))
            value = self.function.xreplace(decided)
            if value != 0:
                yield region.intervals, value
