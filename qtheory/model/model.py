"""Models: Markov chains on a lattice, as a list of transitions with symbolic rates."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact, parameters
from qtheory.domain import Domain
from qtheory.errors import ModelError
from qtheory.formulas import formula
from qtheory.model.guards import INTEGERS, Interval, guard_intervals, guard_relations
from qtheory.model.presentation import latex_table, text_table
from qtheory.model.rates import Time
from qtheory.model.regions import Region, split
from qtheory.model.validation import check_jumps, check_probabilities, check_rates

Range = tuple[int | None, int | None]
"""Smallest and largest value, None where there is none."""


@dataclass(frozen=True)
class Transition:
    """A jump ``state -> state + jump`` at a rate, possible where the guard `when` holds.

    The rate is per unit time (in discrete time: the probability of the jump in one round). The
    jump has one integer for each state variable; for one variable it may be that integer.

    >>> lam = sp.Symbol("lambda", positive=True)
    >>> d = sp.Symbol("d", integer=True, nonnegative=True)
    >>> Transition(0.5*lam, when=sp.Eq(d, 0), jump=(0, +1))
    Transition(rate=lambda/2, jump=(0, 1), when=Eq(d, 0))

    Raises `ModelError` for a jump that is not made of integers or a rate that is no expression.
    """

    rate: sp.Expr
    jump: tuple[int, ...]
    when: Any = True

    def __post_init__(self) -> None:
        jump = self.jump if isinstance(self.jump, Iterable) else (self.jump,)
        try:
            object.__setattr__(self, "jump", tuple(operator.index(step) for step in jump))
        except TypeError:
            raise ModelError(f"jump {self.jump} is not made of integers") from None
        rate = formula(self.rate) if isinstance(self.rate, str) else sp.sympify(self.rate)
        if not isinstance(rate, sp.Expr):
            raise ModelError(f"rate {self.rate} is not an expression")
        decimals = {
            number: sp.Rational(*exact(number).as_integer_ratio())
            for number in rate.atoms(sp.Float)
        }
        object.__setattr__(self, "rate", rate.xreplace(decimals))


@dataclass(frozen=True, init=False, repr=False)
class Model:
    """A Markov chain on a lattice, in continuous or discrete time.

    State variables are integer SymPy symbols: nonnegative (or positive) ones range over the
    naturals, others over all integers, and ``ranges={x: (0, 5)}`` bounds them. Rates are rational
    in the parameters and polynomial in the state variables. Guards are conjunctions of
    comparisons of one state variable with an integer. In discrete time the rates are
    probabilities; the probability that is left over stays at the state.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> Model(n, Domain(stable=lam < mu), [
    ...     Transition(lam, jump=+1),
    ...     Transition(mu, when=n >= 1, jump=-1),
    ... ], name="M/M/1")
    M/M/1: (n), continuous time
      to (n + 1)  rate lambda
      to (n - 1)  rate mu      when n >= 1

    Symbols are told apart by name; parameters that only occur in rates are added to the domain.
    Raises `ModelError` for input that describes no chain on the lattice, and
    `NonConservativeError` for probabilities that sum to more than one. Rates are refuted at
    sampled points of the domain, so a rate that is negative elsewhere can pass unnoticed.
    """

    state: tuple[sp.Symbol, ...]
    domain: Domain
    transitions: tuple[Transition, ...]
    time: Time
    ranges: tuple[Interval, ...]
    name: str

    def __init__(
        self,
        state: sp.Symbol | Sequence[sp.Symbol],
        domain: Domain,
        transitions: Iterable[Transition],
        time: Time = "continuous",
        ranges: Mapping[sp.Symbol, Range] | Sequence[Range] = (),
        name: str = "",
    ) -> None:
        symbols = (state,) if isinstance(state, sp.Symbol) else tuple(state)
        _require_state(symbols)
        if time not in ("continuous", "discrete"):
            raise ModelError(f"time must be 'continuous' or 'discrete', got {time!r}")
        if not isinstance(domain, Domain):
            raise ModelError(f"domain must be a Domain, got {domain}")
        stated = tuple(transitions)
        if not stated:
            raise ModelError("a model needs at least one transition")
        for transition in stated:
            if not isinstance(transition, Transition):
                raise ModelError(f"not a Transition: {transition}")
        own = {symbol.name: symbol for symbol in symbols}
        for symbol in domain.symbols:
            if symbol.name in own:
                raise ModelError(f"state variable {symbol} appears in the domain")
        rate_symbols = [s for t in stated for s in parameters(t.rate) if s.name not in own]
        domain = domain.over(*rate_symbols)
        limits = _ranges(symbols, ranges)
        known = own | {symbol.name: symbol for symbol in domain.symbols}
        for field, value in (
            ("state", symbols),
            ("domain", domain),
            ("transitions", tuple(_canonical(t, symbols, limits, known) for t in stated)),
            ("time", time),
            ("ranges", limits),
            ("name", name),
        ):
            object.__setattr__(self, field, value)
        check_jumps(self)
        check_rates(self)
        check_probabilities(self)

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The parameters of the rates and of the domain."""
        return self.domain.symbols

    @cached_property
    def guards(self) -> tuple[tuple[Interval, ...], ...]:
        """For each transition, the values of each state variable at which it is possible."""
        return tuple(
            tuple(
                part & whole
                for part, whole in zip(
                    guard_intervals(transition.when, self.state), self.ranges, strict=True
                )
            )
            for transition in self.transitions
        )

    def regions(self) -> tuple[Region, ...]:
        """The boxes into which the guards split the lattice, in lexicographic order."""
        return split(self.ranges, self.guards, self.transitions)

    def __reduce__(self) -> tuple[Any, ...]:
        # a fresh copy of the domain: the polynomial rings that it caches do not pickle
        domain = self.domain.over()
        return Model, (self.state, domain, self.transitions, self.time, self.ranges, self.name)

    def __repr__(self) -> str:
        return text_table(self)

    def latex(self) -> str:
        """The transitions as a LaTeX array: from where, to where, at which rate."""
        return latex_table(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def _require_state(symbols: Sequence[sp.Symbol]) -> None:
    if not symbols:
        raise ModelError("a model needs at least one state variable")
    for i, symbol in enumerate(symbols):
        if not isinstance(symbol, sp.Symbol):
            raise ModelError(f"state variable {symbol} is not a SymPy symbol")
        if not symbol.is_integer:
            raise ModelError(f"state variable {symbol} must be declared with integer=True")
        if symbol.name in {other.name for other in symbols[:i]}:
            raise ModelError(f"state variable {symbol} appears twice")


def _ranges(
    symbols: Sequence[sp.Symbol], stated: Mapping[sp.Symbol, Range] | Sequence[Range]
) -> tuple[Interval, ...]:
    """The values of each state variable, by its assumptions and its stated range."""
    if not isinstance(stated, Mapping):
        if stated and len(stated) != len(symbols):
            raise ModelError(f"{len(stated)} ranges for {len(symbols)} state variables")
        stated = dict(zip(symbols, stated, strict=False))
    by_name = {str(symbol): pair for symbol, pair in stated.items()}
    for name in by_name.keys() - {symbol.name for symbol in symbols}:
        raise ModelError(f"range for {name}, which is no state variable")
    found = []
    for symbol in symbols:
        lowest = 1 if symbol.is_positive else 0 if symbol.is_nonnegative else None
        natural = INTEGERS if lowest is None else Interval(lowest, None)
        stated_range = _range(symbol.name, by_name.get(symbol.name, natural))
        if stated_range.is_empty:
            raise ModelError(f"range {tuple(stated_range)} of {symbol} is empty")
        if not natural.covers(stated_range):
            raise ModelError(
                f"range {tuple(stated_range)} of {symbol} contradicts {symbol} >= {lowest}"
            )
        found.append(stated_range)
    return tuple(found)


def _range(name: str, pair: Any) -> Interval:
    try:
        low, high = (None if end is None else operator.index(end) for end in pair)
    except (TypeError, ValueError):
        raise ModelError(f"range {pair} of {name} is not a pair of integers") from None
    return Interval(low, high)


def _canonical(
    transition: Transition,
    state: Sequence[sp.Symbol],
    ranges: Sequence[Interval],
    known: Mapping[str, sp.Symbol],
) -> Transition:
    """The transition over the model's own symbols, its guard in one standard form."""
    if len(transition.jump) != len(state):
        raise ModelError(
            f"jump {transition.jump} has {len(transition.jump)} entries "
            f"for {len(state)} state variables"
        )
    guard = tuple(
        part & whole
        for part, whole in zip(guard_intervals(transition.when, state), ranges, strict=True)
    )
    if any(part.is_empty for part in guard):
        raise ModelError(f"guard {transition.when} of jump {transition.jump} holds at no state")
    rate = transition.rate.xreplace({s: known[s.name] for s in transition.rate.free_symbols})
    when = sp.And(*guard_relations(guard, ranges, state))
    return Transition(rate, transition.jump, when)
