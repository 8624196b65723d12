"""The stationary law of a family of finite chains on 0, ..., K, for every K at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, exact, values_by_name
from qtheory.domain import Domain
from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.formulas import formula, relation
from qtheory.model.guards import guard_intervals
from qtheory.model.model import Model, Transition
from qtheory.stationary.events import event_relation, variable_position
from qtheory.stationary.floats.law import Error

Edge = Literal["drop", "redirect", "wrap"]
Case = tuple[Callable[[Any], sp.Expr], Any]
"""A value in each branch, and the condition on the state under which it holds."""


@dataclass(frozen=True)
class Family:
    """The chains with these transitions on first, ..., K, for K = 1, 2, ...

    A move out of first, ..., K is not made ("drop"), ends at the nearest state ("redirect"), or
    goes round, as if K were next to the first state ("wrap").
    """

    variable: sp.Symbol
    size: sp.Symbol
    domain: Domain
    transitions: tuple[Transition, ...]
    first: int
    edge: Edge = "drop"

    def instance(self, size: int) -> Model:
        """The member of one size; `ModelError` where it has no transitions."""
        n, last = self.variable, size
        kept = []
        for transition in self.transitions:
            (step,) = transition.jump
            ((low, high),) = guard_intervals(transition.when, (n,))
            low = self.first if low is None else max(low, self.first)
            high = last if high is None else min(high, last)
            rate = transition.rate.subs(self.size, size)
            for start, end, jump in self._moves(low, high, step, last):
                if start <= end and jump and rate != 0:
                    when = relation(n, ">=", start) & relation(n, "<=", end)
                    kept.append(Transition(rate, (jump,), when=when))
        if not kept:
            raise ModelError(f"no transition is possible for {self.size} = {size}")
        return Model(n, self.domain, kept, ranges={n: (self.first, last)})

    def _moves(self, low: int, high: int, step: int, last: int) -> Iterator[tuple[int, int, int]]:
        """The states from which a transition makes one jump, by its first and last state."""
        yield max(low, self.first - step), min(high, last - step), step
        if self.edge == "drop":
            return
        for state in range(low, high + 1):
            if self.first <= state + step <= last:
                continue
            if self.edge == "redirect":
                target = min(max(state + step, self.first), last)
            else:
                target = self.first + (state + step - self.first) % (last - self.first + 1)
            yield state, state, target - state


@dataclass(frozen=True, eq=False, repr=False)
class FamilyLaw:
    """P(X = n) in closed form in the state n and the size K, for every K >= least.

    Where the parameters can make a formula 0/0, as rho = 1 does, it has a branch of its own.
    """

    family: Family

    method: ClassVar[str] = "closed_form"
    residual: ClassVar[float] = 0.0
    error: ClassVar[Error] = Error(0.0, "certified")
    truncation: ClassVar[None] = None
    outside: ClassVar[None] = None
    # the number of states is a symbol: without this, a loop over the law would never end
    __iter__: ClassVar[None] = None

    # what a kind of law knows

    @property
    def least(self) -> int:
        """The smallest K for which the formulas hold."""
        raise NotImplementedError

    @property
    def proof(self) -> str:
        """The identities that were checked, for every K >= least, as text."""
        raise NotImplementedError

    @property
    def _ring(self) -> Ring:
        """The parameters, K, n, and then symbols that stand for powers and sums."""
        raise NotImplementedError

    @property
    def _branches(self) -> Sequence[tuple[Any, Any]]:
        """The branches, each with the condition on the parameters under which it is the first."""
        raise NotImplementedError

    def _cases(self, n: sp.Expr) -> Iterator[Case]:
        """The probability of a state n from first to K, the last case without a condition."""
        raise NotImplementedError

    def _tail_cases(self, n: sp.Expr) -> Iterator[Case]:
        """The probability to be at or above a state from first + 1 to K."""
        raise NotImplementedError

    def _mean(self, branch: Any, f: Ratio) -> Ratio:
        """The expectation of a polynomial in n."""
        raise NotImplementedError

    def _shown(self, branch: Any, value: Ratio) -> sp.Expr:
        """The value with everything put in that the symbols stand for."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.family == other.family

    def __hash__(self) -> int:
        return hash(self.family)

    # what every law answers

    @property
    def variable(self) -> sp.Symbol:
        """The state variable n."""
        return self.family.variable

    @property
    def variables(self) -> tuple[sp.Symbol, ...]:
        """The one state variable."""
        return (self.variable,)

    @property
    def size(self) -> sp.Symbol:
        """The size K, which is the last state."""
        return self.family.size

    @property
    def first(self) -> int:
        """The first state."""
        return self.family.first

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The symbols of the law other than the state and the size."""
        return self.family.domain.symbols

    def __getitem__(self, state: Any) -> sp.Expr:
        """The probability of a state, an integer or an expression such as K."""
        return self.pmf(state[0] if isinstance(state, tuple) and len(state) == 1 else state)

    def pmf(self, n: Any) -> sp.Expr:
        """P(X = n), for an integer, a symbol or an expression such as K or K - 1."""
        n = self._place(n)
        outside = (lambda branch: sp.Integer(0), (n < self.first) | (n > self.size))
        return self._by_cases([outside, *self._cases(n)])

    def marginal(self, variable: Any, k: Any = None) -> sp.Expr:
        """P(variable = k); without k as a formula in the variable."""
        variable_position(variable, self.variables)
        return self.pmf(self.variable if k is None else k)

    def tail(self, n: Any, k: Any = None) -> sp.Expr:
        """P(X >= n), for an integer, a symbol or an expression in K.

        As for other laws, ``tail(variable)`` and ``tail(variable, k)`` are known, too.
        """
        if k is not None:
            variable_position(n, self.variables)
            return self.tail(k)
        n = self._place(n)
        below = (lambda branch: sp.Integer(1), n <= self.first)
        above = (lambda branch: sp.Integer(0), n > self.size)
        return self._by_cases([below, above, *self._tail_cases(n)])

    def probability(self, event: Any) -> sp.Expr:
        """P(X = n) for a state, or the probability of a comparison of X with an integer.

        The probability of the state K is the blocking probability of Poisson arrivals.
        `ModelError` for other events.
        """
        relation = event_relation(event, self.variables)
        if relation is None:
            if callable(event) and not isinstance(event, sp.Basic):
                raise ModelError("an event for every size is a relation, not a function")
            return self.pmf(event)
        if relation is sp.false:
            return sp.Integer(0)
        ((low, high),) = found = guard_intervals(relation, self.variables)
        if found[0].is_empty:
            return sp.Integer(0)
        above = self.tail(self.first if low is None else low)
        return above if high is None else above - self.tail(high + 1)

    def mean(self) -> sp.Expr:
        """E[X] in closed form."""
        return self.expect(self.variable)

    def variance(self) -> sp.Expr:
        """E[X^2] - E[X]^2 in closed form."""
        n = self._ring.ratio(self.variable)

        def shown(branch: Any) -> sp.Expr:
            mean = self._mean(branch, n)
            return self._shown(branch, self._mean(branch, n * n) - mean * mean)

        return self._by_cases([(shown, sp.true)])

    def expect(self, f: Any) -> sp.Expr:
        """E[f(X)] for a polynomial f in the state variable; coefficients may have any symbols.

        `ExpressionError` for anything that is not a polynomial in the state variable.
        """
        known = (self.variable, self.size, *self.parameters)
        f = formula(f, known) if isinstance(f, str) else sp.sympify(f)
        own = {symbol.name: symbol for symbol in known}
        f = f.xreplace({s: own[s.name] for s in f.free_symbols if s.name in own})
        try:
            polynomial = sp.Poly(f, self.variable)
        except sp.PolynomialError:
            raise ExpressionError(f"not a polynomial in {self.variable}: {f}") from None
        n = self._ring.ratio(self.variable)

        def shown(branch: Any) -> sp.Expr:
            if f.free_symbols <= set(known):
                return self._shown(branch, self._mean(branch, self._ring.ratio(f)))
            return sp.Add(
                *(
                    coefficient * self._shown(branch, self._mean(branch, n**power))
                    for (power,), coefficient in polynomial.terms()
                )
            )

        return self._by_cases([(shown, sp.true)])

    def instance(self, size: int) -> Model:
        """The chain of one size K, a model on first, ..., K that any other method can solve."""
        return self.family.instance(size)

    def at(self, point: Mapping[Any, Any]) -> dict[int, Fraction]:
        """The law at a rational point of the parameters and the size, exactly, by the formula.

        `DomainError` for unknown or missing values, a size below `least`, and where a rate that the
        formula divides by is zero.
        """
        known = {s.name: s for s in (*self.parameters, self.size)}
        values = values_by_name(point, known)
        for name in values.keys() - known.keys():
            raise DomainError(f"unknown parameter {name}; known: {', '.join(known)}")
        for name in known.keys() - values.keys():
            raise DomainError(f"no value given for {name}")
        last = values.pop(self.size.name)
        if last.denominator != 1 or last < self.least:
            raise DomainError(f"needs an integer {self.size} >= {self.least}, got {last}")
        self.family.domain.require(values)
        place = {known[name]: sp.Rational(*v.as_integer_ratio()) for name, v in values.items()}
        place[self.size] = sp.Integer(int(last))
        fixed, states = _value(self._pmf, place), range(self.first, int(last) + 1)
        try:
            return {n: exact(fixed.xreplace({self.variable: sp.Integer(n)})) for n in states}
        except ExpressionError:
            shown = ", ".join(f"{s} = {v}" for s, v in place.items())
            raise DomainError(f"the formula has no value at {shown}") from None

    def latex(self) -> str:
        r"""The probabilities of the states first, ..., K as LaTeX, with a ``cases`` environment."""
        return rf"\pi_{{{sp.latex(self.variable)}}} = {sp.latex(self._pmf)}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __repr__(self) -> str:
        shown, n, K = self._pmf, self.variable, self.size
        cases = shown.args if isinstance(shown, sp.Piecewise) else [(shown, sp.true)]
        lines = [
            f"  pi({n}) = {value}" + ("" if condition is sp.true else f"  if {condition}")
            for value, condition in cases
        ]
        head = f"stationary law on {n} = {self.first}, ..., {K}, for every {K} >= {self.least}"
        return "\n".join([head, *lines])

    def _place(self, n: Any) -> sp.Expr:
        """A state, for which the names of the state and of the size may stand."""
        own = {self.variable.name: self.variable, self.size.name: self.size}
        n = own.get(n, n) if isinstance(n, str) else sp.sympify(n)
        if not isinstance(n, sp.Expr) or n.is_integer is False:
            raise DomainError(f"state variables have integer values, got {n}")
        return n

    @cached_property
    def _pmf(self) -> sp.Expr:
        """P(X = n) for n = first, ..., K."""
        return self._by_cases(list(self._cases(self.variable)))

    def _by_cases(self, cases: Sequence[Case]) -> sp.Expr:
        """The value of the first condition that holds, in each branch."""
        pieces: list[tuple[sp.Expr, Any]] = []
        for value, stated in cases:
            condition = self._decided(stated)
            if condition is sp.false:
                continue
            found = [(value(branch), where) for branch, where in self._branches]
            if all(shown == found[0][0] for shown, _ in found):
                found = [(found[0][0], sp.true)]
            pieces += [(shown, sp.And(condition, where)) for shown, where in found]
            if condition is sp.true:
                break
        return sp.Piecewise(*pieces)

    def _decided(self, condition: Any) -> Any:
        """The condition, or its truth where it is the same for every K >= least."""
        more = sp.Dummy(integer=True, nonnegative=True)
        found = sp.sympify(condition).subs(self.size, self.least + more)
        return found if found in (sp.true, sp.false) else sp.sympify(condition)


def known_positive(domain: Domain, kinds: Sequence[str]) -> set[int]:
    """The positions of the parameters p with a condition p > 0, or of another of the kinds."""
    return {
        i
        for i, generator in enumerate(domain.ring.generators)
        if any(c.kind in kinds and c.poly == generator for c in domain.constraints)
    }


def _value(expression: sp.Expr, point: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """The value at a point, finite sums term by term: SymPy's own summation is not relied on."""

    def summed(total: sp.Sum) -> sp.Expr:
        (k, low, high), terms = total.limits[0], total.function
        return sp.Add(*(terms.xreplace({k: sp.Integer(i)}) for i in range(int(low), int(high) + 1)))

    fixed = expression.xreplace(dict(point))
    return fixed.xreplace({total: summed(total) for total in fixed.atoms(sp.Sum)})
