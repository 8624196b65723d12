"""What is asked of a law, read in the same way by every law: events, variables and states."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import sympy as sp
from sympy.logic.boolalg import Boolean

from qtheory.errors import DomainError, ModelError
from qtheory.formulas import relations

T = TypeVar("T")


def event_relation(event: Any, symbols: Sequence[sp.Symbol]) -> Boolean | None:
    """An event as a relation in the state variables; None for a state and for a predicate.

    >>> n = sp.Symbol("n", integer=True)
    >>> event_relation("n >= 1", [n]), event_relation(True, [n]), event_relation(1, [n])
    (n >= 1, True, None)
    """
    if isinstance(event, str) and any(sign in event for sign in "<>=!"):
        return sp.And(*relations(event, symbols))
    # SymPy counts symbols among the Boolean expressions, too
    states = not isinstance(event, (bool, Boolean)) or isinstance(event, sp.Symbol)
    return None if states else sp.sympify(event)


def variable_position(variable: Any, variables: Sequence[sp.Symbol]) -> int:
    """The position of a state variable, given as a symbol or by its name."""
    names = [symbol.name for symbol in variables]
    if str(variable) not in names:
        raise ModelError(f"{variable} is no state variable; known: {', '.join(names) or 'none'}")
    return names.index(str(variable))


def integer_of(value: Any) -> int | None:
    """An integer of Python, NumPy or SymPy; None for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def integer_value(value: Any) -> int:
    """The integer at which a variable is asked for; `DomainError` for anything else."""
    found = integer_of(value)
    if found is None:
        raise DomainError(f"state variables have integer values, got {value}")
    return found


def tail_of(masses: Mapping[int, T], zero: T) -> dict[int, T]:
    """The sums from each value on, added from the far end so that small tails stay accurate."""
    found, above = {}, zero
    for k, mass in sorted(masses.items(), reverse=True):
        above = above + mass  # type: ignore[operator]
        found[k] = above
    return dict(reversed(found.items()))


def tail_at(tails: Mapping[int, T], k: Any, zero: T) -> T:
    """The tail at an integer that need not be one of its values."""
    wanted = integer_value(k)
    return next((mass for value, mass in tails.items() if value >= wanted), zero)
