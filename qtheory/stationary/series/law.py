"""The stationary law of the symmetric shorter queue as a series of product forms.

Jobs arrive at rate lam and join the shorter of two queues, each served at rate mu; no job is
misrouted. `qtheory.stationary.series.terms` has the series and the proof of its remainder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar

import sympy as sp

from qtheory.arithmetic import Ring, exact
from qtheory.balls import MAXIMAL_DIGITS, Enclosure
from qtheory.drift.chain import Chain, Move, chain_at
from qtheory.drift.cost import as_terms
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.formulas import formula, text_of
from qtheory.model import Interval, Model
from qtheory.stationary.events import event_relation, integer_value, variable_position
from qtheory.stationary.series.terms import Part, ProductTerm, product_terms, ratio_of_sums

NATURALS = Interval(0, None)

NORTH_TO_EAST = ((0, 1), (1, 1), (1, 0))
"""The jumps that break the series: with them the terms that it adds do not die out."""


@dataclass(frozen=True)
class CompensationLaw:
    """The stationary law of the symmetric shorter queue at rational rates, in proven digits.

    Each answer is an `Enclosure` of `digits` significant digits (where it is zero or cannot be
    told from it, 10^-(digits + 2) wide), whose remainder is proved: the law as a whole needs no
    `residual` and no `error`.

    >>> from qtheory.systems.shorter_queue import d, m, model
    >>> law = compensation(model(), at={"lam": 1, "mu": 1, "p": 0}, digits=30)
    >>> print(law.expect(2*m + d))
    1.42632075116724118774156941292
    >>> print(law[0, 1], law.tail(m, 3))
    0.315967497982010768537215234970 0.0208040357200157863808197663824
    """

    model: Model
    point: Mapping[str, Fraction] = field(hash=False)
    digits: int
    arrival: Fraction
    service: Fraction
    method: ClassVar[str] = "compensation"
    residual: ClassVar[None] = None
    error: ClassVar[None] = None
    truncation: ClassVar[None] = None
    outside: ClassVar[None] = None
    # there are infinitely many states: without this, a loop over the law would never end
    __iter__: ClassVar[None] = None

    @property
    def variables(self) -> tuple[sp.Symbol, ...]:
        """The shorter queue m and the difference d."""
        return self.model.state

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The symbols that the point gives a value."""
        return self.model.parameters

    def __getitem__(self, state: Sequence[int]) -> Enclosure:
        names = ", ".join(map(str, self.variables))
        try:
            m, d = map(int, state)
        except (TypeError, ValueError):
            raise DomainError(f"a state is a pair of integers ({names}), got {state}") from None
        if min(m, d) < 0 or (m, d) != tuple(state):
            raise DomainError(f"the law has no state {state}")
        return self._sum([Part(Fraction(1), (0, 0), (Interval(m, m), Interval(d, d)))])

    def expect(self, f: Any) -> Enclosure:
        """E[f], f a polynomial in the state variables with indicators.

        Indicators are ``KroneckerDelta(x, c)`` and ``Piecewise((1, condition), (0, True))``.
        `ModelError` for an f of another kind.
        """
        if isinstance(f, str):
            f = formula(f, (*self.variables, *self.model.parameters))
        ring = Ring(self.model.parameters)
        point = ring.point(self.point)
        parts = []
        for term, weight in as_terms(self.model, f, ring):
            value = ring.evaluate(weight.num, point) / ring.evaluate(weight.den, point)
            (j, k), (columns, rows) = term.powers, term.box
            parts.append(Part(exact(value), (j, k), (NATURALS & columns, NATURALS & rows)))
        return self._sum(parts)

    def probability(self, event: Any) -> Enclosure:
        """The probability of a state, or of a conjunction of comparisons with integers.

        >>> from qtheory.systems.shorter_queue import d, m, model
        >>> law = compensation(model(), at={"lam": 1, "mu": 2, "p": 0}, digits=10)
        >>> print(law.probability((m >= 1) & (d <= 2)))
        0.09435406786
        """
        relation = event_relation(event, self.variables)
        if relation is not None:
            return self.expect(sp.Piecewise((1, relation), (0, True)))
        if callable(event):
            raise ModelError("an event on an infinite lattice is a relation, not a function")
        return self[event]

    def marginal(self, variable: Any, k: Any = None) -> Enclosure:
        """P(variable = k); `ModelError` without k, since the values are infinitely many."""
        return self.probability(sp.Eq(*self._asked(variable, k)))

    def tail(self, variable: Any, k: Any = None) -> Enclosure:
        """P(variable >= k); `ModelError` without k, since the values are infinitely many."""
        return self.probability(sp.Ge(*self._asked(variable, k)))

    def terms(self, count: int) -> tuple[ProductTerm, ...]:
        """The numbers alpha_i, beta_i, c_i, d_i of the first terms, exactly."""
        return tuple(islice(product_terms(self.arrival, self.service), count))

    def latex(self, terms: int = 3) -> str:
        r"""The series as LaTeX, with the numbers of its first terms.

        >>> from qtheory.systems.shorter_queue import model
        >>> print(compensation(model(), at={"lam": 1, "mu": 1, "p": 0}).latex(terms=1))
        \begin{aligned}
        \pi_{m,d} &= C \sum_{i \ge 0} d_i \bigl(c_i \alpha_i^{m} + ...
        \alpha_{0} &= \frac{1}{4},\; \beta_{0} = \frac{1}{10},\; c_{0} = 1,\; d_{0} = 1 \\
        &\;\;\vdots
        \end{aligned}
        """
        m, d = map(sp.latex, self.variables)
        lines = [
            rf"\pi_{{{m},{d}}} &= C \sum_{{i \ge 0}} d_i \bigl(c_i \alpha_i^{{{m}}}"
            rf" + c_{{i+1}} \alpha_{{i+1}}^{{{m}}}\bigr) \beta_i^{{{d}}},"
            rf" \quad {d} \ge 1,\ {m} + {d} \ge 2"
        ]
        for i, term in enumerate(self.terms(terms)):
            names = (r"\alpha", r"\beta", "c", "d")
            values = (term.alpha, term.beta, term.c, term.d)
            numbers = [
                f"{name}_{{{i}}} = {_latex(value)}"
                for name, value in zip(names, values, strict=True)
            ]
            lines.append(r",\; ".join(numbers).replace("=", "&=", 1))
        return "\\begin{aligned}\n" + " \\\\\n".join([*lines, r"&\;\;\vdots"]) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __repr__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        names = ", ".join(map(str, self.variables))
        return "\n".join(
            [
                f"stationary law of ({names}){' at ' if at else ''}{at}",
                f"  method    compensation, {self.digits} digits",
                f"  P(0, 0)   {self[0, 0]}",
            ]
        )

    def _asked(self, variable: Any, k: Any) -> tuple[sp.Symbol, int]:
        symbol = self.variables[variable_position(variable, self.variables)]
        if k is None:
            raise ModelError(f"{symbol} is unbounded: use marginal({symbol}, k), tail({symbol}, k)")
        return symbol, integer_value(k)

    def _sum(self, parts: Sequence[Part]) -> Enclosure:
        ends = ratio_of_sums(parts, self.arrival, self.service, self.digits)
        return Enclosure(*ends, self.digits)


def compensation(
    model: Model, at: Mapping[Any, Any] | None = None, digits: int = 20
) -> CompensationLaw:
    """The stationary law of the symmetric shorter queue at a rational point, in proven digits.

    The model has the state (m, d), m the shorter of two queues and d their difference, and with
    two rates lam < 2 mu the transitions (0, +1) at lam and, for m >= 1, (-1, +1) at 2 mu where
    d = 0; (+1, -1) at lam, (0, -1) at mu and, for m >= 1, (-1, +1) at mu where d >= 1. In
    discrete time they are probabilities.

    Source: Adan, Wessels, Zijm, Analysis of the symmetric shortest queue problem, Stochastic
    Models 6, 1990; A compensation approach for two-dimensional Markov processes, Advances in
    Applied Probability 25, 1993.

    Raises `ModelError` for another model, with the condition that fails, `UnstableError` where
    lam >= 2 mu, and `DomainError` for a point outside the domain or digits out of reach.
    """
    if not 1 <= digits <= MAXIMAL_DIGITS:
        raise DomainError(f"digits must be from 1 to {MAXIMAL_DIGITS}, got {digits}")
    if len(model.state) != 2 or any(tuple(part) != (0, None) for part in model.ranges):
        raise ModelError(
            "the compensation series is for two state variables over the natural numbers, "
            f"got {', '.join(map(str, model.state))}"
        )
    chain = chain_at(model, at)
    arrival, service = _rates(model, chain)
    if arrival >= 2 * service:
        raise UnstableError(
            f"unstable: needs arrival rate < 2 * service rate, got {arrival} and {service}"
        )
    point = {symbol.name: value for symbol, value in model.domain.require(at or {}).items()}
    return CompensationLaw(model, point, digits, arrival, service)


def _rates(model: Model, chain: Chain) -> tuple[Fraction, Fraction]:
    """The rates of arrival and of service, after every other rate is as it should be."""
    for move, transition in zip(chain.moves, model.transitions, strict=True):
        if not _by_region(move):
            raise ModelError(
                "the series needs rates that are constant on m = 0, m >= 1 and d = 0, d >= 1; "
                f"this model moves by {move.jump} at rate {text_of(transition.rate)} "
                f"when {transition.when}"
            )
    inside = _jumps(chain, (1, 1))
    for step in NORTH_TO_EAST:
        if step in inside:
            rates = sp.Add(
                *(
                    transition.rate
                    for move, transition in zip(chain.moves, model.transitions, strict=True)
                    if move.jump == step and move.possible((1, 1))
                )
            )
            raise ModelError(
                "the series needs no transitions to the north, north-east and east; "
                f"this model moves by {step} at rate {text_of(rates)}"
            )
    arrival = inside.get((1, -1), Fraction(0))
    service = inside.get((0, -1), Fraction(0))
    wanted: dict[tuple[int, int], dict[tuple[int, ...], Fraction]] = {
        (1, 1): {(1, -1): arrival, (0, -1): service, (-1, 1): service},
        (0, 1): {(1, -1): arrival, (0, -1): service},
        (1, 0): {(0, 1): arrival, (-1, 1): 2 * service},
        (0, 0): {(0, 1): arrival},
    }
    for state, rates in wanted.items():
        found = _jumps(chain, state)
        for jump in sorted({*rates, *found}):
            if found.get(jump, 0) != rates.get(jump, 0):
                raise ModelError(
                    f"not the symmetric shorter queue: at {_region(model, state)} the jump {jump} "
                    f"has rate {found.get(jump, 0)}, needs {rates.get(jump, 0)}"
                )
    if not (arrival and service):
        raise ModelError(f"the rates must be positive, got arrival {arrival}, service {service}")
    return arrival, service


def _by_region(move: Move) -> bool:
    """Whether a move has one rate and a guard that only tells zero from the other values."""
    constant = all(not any(exponents) for exponents, _ in move.terms)
    return constant and all(part in ((0, None), (1, None), (0, 0)) for part in move.guard)


def _jumps(chain: Chain, state: tuple[int, int]) -> dict[tuple[int, ...], Fraction]:
    """The total rate of each jump from a state, zero rates left out."""
    found: dict[tuple[int, ...], Fraction] = {}
    for rate, reached in chain.steps(state):
        jump = tuple(there - here for here, there in zip(state, reached, strict=True))
        found[jump] = found.get(jump, Fraction(0)) + rate
    return {jump: rate for jump, rate in found.items() if rate}


def _region(model: Model, state: tuple[int, int]) -> str:
    signs = (
        f"{x} >= 1" if value else f"{x} = 0" for x, value in zip(model.state, state, strict=True)
    )
    return ", ".join(signs)


def _latex(value: Fraction) -> str:
    return sp.latex(sp.Rational(value.numerator, value.denominator))
