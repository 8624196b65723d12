"""Guards: conjunctions of comparisons of one state variable with an integer, as intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sympy as sp
from sympy.core.relational import Relational

from qtheory.arithmetic import exact
from qtheory.errors import ExpressionError, ModelError
from qtheory.formulas import relations

_SWAPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "=="}


class Interval(NamedTuple):
    """The integers from `low` to `high`, both included; None means that there is no bound.

    >>> Interval(0, None) & Interval(None, 3)
    Interval(low=0, high=3)
    """

    low: int | None
    high: int | None

    def __and__(self, other: Interval) -> Interval:
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Interval(max(lows, default=None), min(highs, default=None))

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low > self.high

    def contains(self, value: int) -> bool:
        """Whether the integer lies in the interval."""
        return not (self & Interval(value, value)).is_empty

    def covers(self, other: Interval) -> bool:
        """Whether the other interval is a part of this one."""
        return self & other == other

    def shifted(self, step: int) -> Interval:
        """The interval moved by an integer."""
        return Interval(*(None if end is None else end + step for end in self))


INTEGERS = Interval(None, None)


def conjuncts(condition: Any, symbols: Sequence[sp.Symbol] = ()) -> list[Relational]:
    """The relations of a conjunction: SymPy, text, or a list of these; true ones left out.

    Raises `ModelError` for anything else, and for a condition that is plainly false.
    """
    if isinstance(condition, str):
        return relations(condition, symbols)
    if isinstance(condition, (list, tuple)):
        return [relation for part in condition for relation in conjuncts(part, symbols)]
    condition = sp.sympify(condition)
    if condition is sp.true:
        return []
    if condition is sp.false:
        raise ModelError("a condition is false at every state (write Eq(d, 0), not d == 0)")
    if isinstance(condition, sp.And):
        return conjuncts(condition.args)
    if isinstance(condition, Relational):
        return [condition]
    raise ModelError(f"not a conjunction of comparisons: {condition}")


def guard_intervals(guard: Any, state: Sequence[sp.Symbol]) -> tuple[Interval, ...]:
    """The values of each state variable that a guard admits.

    >>> m, d = sp.symbols("m d", integer=True)
    >>> guard_intervals(sp.Eq(d, 0) & (m >= 1), (m, d))
    (Interval(low=1, high=None), Interval(low=0, high=0))

    Raises `ModelError` for what is not a conjunction of comparisons of one state variable with
    an integer.
    """
    positions = {symbol.name: i for i, symbol in enumerate(state)}
    found = [INTEGERS] * len(state)
    for relation in conjuncts(guard, state):
        name, interval = _comparison(relation, positions)
        found[positions[name]] &= interval
    return tuple(found)


def _comparison(relation: Relational, positions: dict[str, int]) -> tuple[str, Interval]:
    """The state variable of one comparison and the values that it admits."""
    names = {symbol.name for symbol in relation.free_symbols}
    known = sorted(names & positions.keys())
    others = sorted(names - positions.keys())
    if not known:
        raise ModelError(f"guard {relation} names no state variable; known: {_listed(positions)}")
    if others:
        raise ModelError(f"guard {relation} names {_listed(others)}, which is no state variable")
    if len(known) > 1:
        raise ModelError(f"guard {relation} compares two state variables; a bound is an integer")
    if relation.rel_op not in _SWAPPED:
        raise ModelError(f"guard {relation} is no interval: use <, <=, >, >= or Eq")
    sign, variable, bound = relation.rel_op, relation.lhs, relation.rhs
    if bound.is_Symbol:
        sign, variable, bound = _SWAPPED[sign], bound, variable
    if not variable.is_Symbol:
        raise ModelError(f"guard {relation} must compare {known[0]} itself with an integer")
    try:
        value = exact(bound)
    except ExpressionError:
        raise ModelError(f"guard {relation}: the bound {bound} is not an integer") from None
    if value.denominator != 1:
        raise ModelError(f"guard {relation}: the bound {bound} is not an integer")
    limit = int(value)
    return known[0], {
        ">=": Interval(limit, None),
        ">": Interval(limit + 1, None),
        "<=": Interval(None, limit),
        "<": Interval(None, limit - 1),
        "==": Interval(limit, limit),
    }[sign]


def guard_relations(
    guard: Sequence[Interval], ranges: Sequence[Interval], state: Sequence[sp.Symbol]
) -> tuple[Relational, ...]:
    """The comparisons that restrict each variable below its range, in the order of the state."""
    found: list[Relational] = []
    for symbol, inner, outer in zip(state, guard, ranges, strict=True):
        if inner.low == inner.high and inner.low is not None and inner != outer:
            found.append(sp.Eq(symbol, inner.low, evaluate=False))
            continue
        if inner.low != outer.low:
            found.append(sp.Ge(symbol, inner.low, evaluate=False))
        if inner.high != outer.high:
            found.append(sp.Le(symbol, inner.high, evaluate=False))
    return tuple(found)


def _listed(names: Any) -> str:
    return ", ".join(names)
