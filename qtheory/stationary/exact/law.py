"""The exact stationary law of a finite chain: one polynomial weight for each state."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import sympy as sp
from flint import fmpz, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, lowest_terms, parameters, values_by_name
from qtheory.balls import Enclosure, evaluate
from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.formulas import formula
from qtheory.model.rates import RateTable
from qtheory.stationary.events import (
    event_relation,
    integer_value,
    tail_at,
    tail_of,
    variable_position,
)
from qtheory.stationary.exact.points import (
    known_values,
    only_closed_class,
    put_in,
    ring_without,
    table_where,
)
from qtheory.stationary.exact.presentation import expression_of, law_latex, law_text
from qtheory.stationary.exact.weights import lifted, primitive, scaled_values
from qtheory.stationary.floats.law import Error


@dataclass(frozen=True, eq=False, repr=False)
class ExactLaw:
    """The stationary law pi(s) = numerators[s] / sum of the numerators, over QQ(parameters).

    The numerators are polynomials with integer coefficients in the order of the states and have
    no common factor. SymPy expressions are built only for what is asked. `variables` names the
    entries of a state, so that functions of the state can be written as formulas. `table` is the
    chain, against which a point of the parameters is checked. `residual` and
    `error` are those of a `NumericLaw`, with respect to the finite chain that was given: zero.

    >>> from qtheory.stationary import stationary
    >>> law = stationary([["-lam", "lam", 0], ["mu", "-lam-mu", "lam"], [0, "mu", "-mu"]])
    >>> law[0]
    mu**2/(lambda**2 + lambda*mu + mu**2)
    >>> law.expect(lambda n: n)
    lambda*(2*lambda + mu)/(lambda**2 + lambda*mu + mu**2)
    >>> law.at({"lam": 1, "mu": 1})
    {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}
    """

    states: tuple[Hashable, ...]
    ring: Ring
    numerators: tuple[fmpz_mpoly, ...]
    variables: tuple[sp.Symbol, ...] = ()
    table: RateTable | None = None

    method: ClassVar[str] = "exact"
    residual: ClassVar[float] = 0.0
    error: ClassVar[Error] = Error(0.0, "certified")
    truncation: ClassVar[None] = None
    outside: ClassVar[None] = None

    def __len__(self) -> int:
        return len(self.states)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.states)

    def __contains__(self, state: object) -> bool:
        return self._position(state) is not None

    def __getitem__(self, state: Hashable) -> sp.Expr:
        return expression_of(self.ring, self.ratio(state))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactLaw) and (
            (self.states, self.ring.symbols, self.variables)
            == (other.states, other.ring.symbols, other.variables)
            and all(map(fmpz_mpoly.__eq__, self.numerators, other.numerators))
        )

    def __hash__(self) -> int:
        return hash((self.states, self.ring.symbols, self.variables))

    def __reduce__(self) -> tuple[Any, ...]:
        # polynomials of python-flint do not pickle
        weights = tuple(numerator.to_dict() for numerator in self.numerators)
        return _rebuilt, (self.states, self.ring.symbols, weights, self.variables, self.table)

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The symbols of the law."""
        return self.ring.symbols

    @cached_property
    def denominator(self) -> fmpz_mpoly:
        """The sum of the numerators."""
        return sum(self.numerators, self.ring.context.constant(0))

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {state: i for i, state in enumerate(self.states)}

    def _position(self, state: Any) -> int | None:
        if not isinstance(state, Hashable):
            return None
        return self._positions.get(state, self._positions.get((state,)))

    def ratio(self, state: Hashable) -> Ratio:
        """The probability of a state as a fraction of polynomials in lowest terms.

        A state of one variable may be given as its value. `DomainError` for an unknown state.
        """
        position = self._position(state)
        if position is None:
            raise DomainError(f"the law has no state {state}")
        return lowest_terms(self.numerators[position], self.denominator)

    def probability(self, event: Any) -> sp.Expr:
        """The probability of a state, of a predicate on states or of a relation in the variables.

        A relation may be text, such as ``"n >= 2"``.

        >>> from qtheory.stationary import stationary
        >>> law = stationary([["-a", "a"], ["b", "-b"]])
        >>> law.probability(lambda state: state >= 1)
        a/(a + b)
        """
        relation = event_relation(event, (*self.variables, *self.ring.symbols))
        if relation is not None:
            names = [variable.name for variable in self.variables]
            for symbol in relation.free_symbols:
                if symbol.name not in names:
                    known = ", ".join(names) or "none"
                    raise ExpressionError(
                        f"{relation} names {symbol}, which is no state variable; known: {known}"
                    )
            return self.expect(sp.Piecewise((1, relation), (0, True)))
        if callable(event) and event not in self:
            return self.expect(lambda state: int(bool(event(state))))
        return self[event]

    def expect(self, f: Any) -> sp.Expr:
        """The expectation of f, a function of the state or a formula in the state variables.

        The values of f may contain further parameters, for example costs.
        """
        values = self._values(f)
        further = [s for s in parameters(*values) if s.name not in self.ring.names]
        ring = Ring((*self.ring.symbols, *further)) if further else self.ring
        return expression_of(ring, self._mean(values, ring))

    def mean(self) -> sp.Expr:
        """The mean of the variable of a chain in one variable; `ModelError` for several."""
        return self.expect(self._variable())

    def variance(self) -> sp.Expr:
        """The variance of the variable of a chain in one variable; `ModelError` for several."""
        n = self._variable()
        first, second = self.expect_ratio(n), self.expect_ratio(n**2)
        return expression_of(self.ring, second - first * first)

    def _variable(self) -> sp.Symbol:
        if len(self.variables) != 1:
            raise ModelError("a law in several variables has no one mean: use expect(f)")
        return self.variables[0]

    def marginal(self, variable: Any, k: Any = None) -> Any:
        """P(variable = k), as an expression; without k by each value that the states take.

        >>> from qtheory.model import Model, Transition
        >>> from qtheory.domain import Domain
        >>> from qtheory.stationary import stationary
        >>> lam, mu = sp.symbols("lambda mu", positive=True)
        >>> n = sp.Symbol("n", integer=True, nonnegative=True)
        >>> steps = [Transition(lam, +1), Transition(mu, -1, when=n >= 1)]
        >>> stationary(Model(n, Domain(), steps), box=1).marginal(n)
        {0: mu/(lambda + mu), 1: lambda/(lambda + mu)}

        `ModelError` for a variable that the states do not have.
        """
        masses = self._masses(variable)
        if k is not None:
            return self._share(masses.get(integer_value(k), self.ring.context.constant(0)))
        return {value: self._share(mass) for value, mass in masses.items()}

    def tail(self, variable: Any, k: Any = None) -> Any:
        """P(variable >= k), as an expression; without k by each value that the states take."""
        zero = self.ring.context.constant(0)
        tails = tail_of(self._masses(variable), zero)
        if k is not None:
            return self._share(tail_at(tails, k, zero))
        return {value: self._share(mass) for value, mass in tails.items()}

    def _masses(self, variable: Any) -> dict[int, fmpz_mpoly]:
        """The sums of the numerators by the value of a variable, in order."""
        index, zero = variable_position(variable, self.variables), self.ring.context.constant(0)
        masses: dict[int, fmpz_mpoly] = {}
        for state, numerator in zip(self.states, self.numerators, strict=True):
            k = _entry(state, index)
            masses[k] = masses.get(k, zero) + numerator
        return dict(sorted(masses.items()))

    def _share(self, mass: fmpz_mpoly) -> sp.Expr:
        return expression_of(self.ring, lowest_terms(mass, self.denominator))

    def expect_ratio(self, f: Any) -> Ratio:
        """The expectation of f as a fraction of polynomials over the law's own ring."""
        return self._mean(self._values(f), self.ring)

    def _values(self, f: Any) -> list[sp.Expr]:
        if not isinstance(f, sp.Basic) and callable(f):
            return [sp.sympify(f(state)) for state in self.states]
        if isinstance(f, str):
            f = formula(f, (*self.variables, *self.ring.symbols))
        f = sp.sympify(f)
        if not self.variables and f.free_symbols:
            raise ExpressionError(f"the states have no variables: give {f} as a function of them")
        names = [variable.name for variable in self.variables]
        entries = {s: names.index(s.name) for s in f.free_symbols if s.name in names}
        return [
            f.xreplace({s: sp.Integer(_entry(state, i)) for s, i in entries.items()})
            for state in self.states
        ]

    def _mean(self, values: Sequence[sp.Expr], ring: Ring) -> Ratio:
        one, total = ring.context.constant(1), ring.context.constant(0)
        weights = [ring.ratio(value) for value in values]
        common = one
        for weight in weights:
            common = common * weight.den / common.gcd(weight.den)
        for weight, numerator in zip(weights, self.numerators, strict=True):
            if not weight.num.is_zero():
                total += weight.num * (common / weight.den) * lifted(numerator, ring)
        return lowest_terms(total, common * lifted(self.denominator, ring))

    def at(self, point: Mapping[Any, Any]) -> dict[Hashable, Fraction]:
        """The law at a rational point, exactly.

        Raises `DomainError` for unknown or missing parameters and where a rate of the chain is
        negative or undefined, `NonConservativeError` where probabilities sum to more than one, and
        `ReducibleError` where rates vanish so that the law is not unique.
        """
        values = known_values(point, self.ring.names)
        place = self.ring.point(values)
        self._table_where(values)
        weights = scaled_values(self.numerators, place)
        total = sum(weights, fmpz(0))
        if total == 0:
            raise DomainError(f"no unique stationary law at {_shown_point(values)}")
        law = {
            state: Fraction(int(weight), int(total))
            for state, weight in zip(self.states, weights, strict=True)
        }
        for state, probability in law.items():
            if probability < 0:
                shown = _shown_point(values)
                raise DomainError(f"not a law at {shown}: state {state} has {probability}")
        return law

    def evaluate(self, f: Any, at: Mapping[Any, Any] | None = None, digits: int = 15) -> Enclosure:
        """The expectation of f at a rational point, with proven digits.

        >>> from qtheory.stationary import stationary
        >>> law = stationary([["-a", "a"], ["b", "-b"]])
        >>> print(law.evaluate(lambda state: sp.sqrt(2) ** state, {"a": 1, "b": 1}, digits=20))
        1.2071067811865475244
        """
        values = values_by_name(at, self.ring.names)
        law = self.at({name: values[name] for name in self.ring.names if name in values})
        mean = sp.Add(
            *(
                sp.Rational(*law[state].as_integer_ratio()) * value
                for state, value in zip(self.states, self._values(f), strict=True)
            )
        )
        return evaluate(mean, values, digits)

    def subs(self, point: Mapping[Any, Any]) -> ExactLaw:
        """The law with rational values for some of the parameters, over the others.

        >>> from qtheory.stationary import stationary
        >>> stationary([["-a", "a"], ["b", "-b"]]).subs({"b": "1/2"})[0]
        1/(2*a + 1)
        """
        values = known_values(point, self.ring.names)
        table = self._table_where(values)
        ring = ring_without(self.ring, values)
        weights = put_in(self.numerators, self.ring, values)
        if all(weight.is_zero() for weight in weights):
            raise DomainError(f"no unique stationary law at {_shown_point(values)}")
        return ExactLaw(self.states, ring, primitive(weights), self.variables, table)

    def _table_where(self, values: Mapping[str, Fraction]) -> RateTable | None:
        """The chain with these values; where some rates vanish, its law must still be unique."""
        if self.table is None:
            return None
        table = table_where(self.table, values)
        if sum(map(len, table.rows)) < sum(map(len, self.table.rows)):
            only_closed_class(table)
        return table

    def __repr__(self) -> str:
        return law_text(self)

    def latex(self, terms: int = 6, rows: int = 12) -> str:
        r"""The probabilities as LaTeX, with at most so many terms a polynomial and so many rows.

        A longer polynomial ends in ``\cdots`` with the number of its terms.

        >>> from qtheory.stationary import stationary
        >>> print(stationary([["-a", "a"], ["b", "-b"]]).latex())
        \begin{aligned}
        \pi_{0} &= \tfrac{1}{Z}\,\bigl(b\bigr) \\
        \pi_{1} &= \tfrac{1}{Z}\,\bigl(a\bigr) \\
        Z &= a + b
        \end{aligned}
        """
        return law_latex(self, terms, rows)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def _rebuilt(
    states: tuple[Hashable, ...],
    symbols: tuple[sp.Symbol, ...],
    weights: Sequence[Mapping[tuple[int, ...], Any]],
    variables: tuple[sp.Symbol, ...],
    table: RateTable | None,
) -> ExactLaw:
    ring = Ring(symbols)
    return ExactLaw(states, ring, tuple(map(ring.context.from_dict, weights)), variables, table)


def _entry(state: Any, index: int) -> int:
    return state[index] if isinstance(state, tuple) else state


def _shown_point(values: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
