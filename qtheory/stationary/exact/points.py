"""Finite chains at rational values of some or all of their parameters, exactly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, lowest_terms, values_by_name
from qtheory.errors import DomainError, NonConservativeError, ReducibleError
from qtheory.model.classes import closed_classes
from qtheory.model.rates import RateTable

ROUNDING = Fraction(1, 2**40)
"""How far probabilities that came from floats may sum to more than one."""


def known_values(point: Mapping[Any, Any], names: Sequence[str]) -> dict[str, Fraction]:
    """The values of a point by name; `DomainError` for a name that is no parameter."""
    values = values_by_name(point, names)
    for name in values:
        if name not in names:
            raise DomainError(f"unknown parameter {name}; known: {', '.join(names) or 'none'}")
    return values


def table_at(table: RateTable, at: Mapping[Any, Any]) -> RateTable:
    """The chain at a rational point of all its parameters.

    `DomainError` for unknown or missing parameters and where a rate is negative or undefined,
    `NonConservativeError` where probabilities sum to more than one.
    """
    values = known_values(at, table.ring.names)
    table.ring.point(values)
    return table_where(table, values)


def table_where(table: RateTable, values: Mapping[str, Fraction]) -> RateTable:
    """The chain with values for some of its parameters, over the others.

    `DomainError` where a rate becomes undefined or a negative number, and in discrete time
    `NonConservativeError` where the probabilities out of a state sum to more than one.
    """
    ring = ring_without(table.ring, values)
    rows = []
    for i, row in enumerate(table.rows):
        found = {}
        for j, rate in row.items():
            num, den = put_in((rate.num, rate.den), table.ring, values)
            value = None if den.is_zero() else lowest_terms(num, den)
            if value is None or _is_negative(value):
                shown = "undefined" if value is None else f"{ring.expression(value)} < 0"
                raise DomainError(
                    f"the rate from state {table.states[i]} to state {table.states[j]} is {shown}"
                )
            if not num.is_zero():
                found[j] = value
        rows.append(found)
        if table.time == "discrete":
            _require_probabilities(found, ring, table.states[i])
    return replace(table, ring=ring, rows=tuple(rows))


def ring_without(ring: Ring, values: Mapping[str, Fraction]) -> Ring:
    """The ring of the symbols that have no value."""
    return Ring([symbol for symbol in ring.symbols if symbol.name not in values])


def put_in(
    polynomials: Sequence[fmpz_mpoly], ring: Ring, values: Mapping[str, Fraction]
) -> list[fmpz_mpoly]:
    """Polynomials with values for some symbols, all times one positive number, over the others."""
    fewer = ring_without(ring, values)
    kept = [i for i, name in enumerate(ring.names) if name not in values]
    fixed = [(i, values[name]) for i, name in enumerate(ring.names) if name in values]
    degrees = [max((int(p.degrees()[i]) for p in polynomials), default=0) for i, _ in fixed]
    found = []
    for polynomial in polynomials:
        terms: dict[tuple[int, ...], int] = {}
        for exponents, coefficient in polynomial.terms():
            value = int(coefficient)
            for (i, x), degree in zip(fixed, degrees, strict=True):
                # cleared of the denominator of x
                power = int(exponents[i])
                value *= x.numerator**power * x.denominator ** (degree - power)
            rest = tuple(int(exponents[i]) for i in kept)
            terms[rest] = terms.get(rest, 0) + value
        found.append(fewer.context.from_dict(terms))
    return found


def only_closed_class(table: RateTable) -> tuple[Hashable, ...]:
    """The states of the one closed class; `ReducibleError` for several: the law is not unique."""
    closed = closed_classes(table)
    if len(closed) > 1:
        shown = ", ".join(_class_text(states) for states in closed[:3])
        more = ", ..." if len(closed) > 3 else ""
        raise ReducibleError(
            f"no unique stationary law: {len(closed)} closed classes {shown}{more}"
        )
    return closed[0]


def _require_probabilities(row: Mapping[int, Ratio], ring: Ring, state: Hashable) -> None:
    excess = sum(row.values(), ring.number(-1 - ROUNDING))
    if not excess.num.is_zero() and _is_negative(-excess):
        total = ring.expression(sum(row.values(), ring.number(Fraction(0))))
        raise NonConservativeError(f"the row of state {state} sums to {total} > 1")


def _is_negative(value: Ratio) -> bool:
    constant = value.num.is_constant() and value.den.is_constant()
    return bool(constant and not value.num.is_zero() and value.num.leading_coefficient() < 0)


def _class_text(states: Sequence[Hashable]) -> str:
    shown = ", ".join(map(str, states[:3]))
    return f"{{{shown}{', ...' if len(states) > 3 else ''}}}"
