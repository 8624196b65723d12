"""Exact stationary laws of finite chains over QQ(parameters), by state elimination."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import lcm
from typing import Any

import sympy as sp
from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, exact, values_by_name
from qtheory.errors import CertificateError, DomainError, ReducibleError
from qtheory.model.classes import closed_classes
from qtheory.model.rates import RateTable
from qtheory.stationary.elimination import polynomial_weights, rational_weights
from qtheory.stationary.law import ExactLaw, primitive

Rows = Sequence[Mapping[int, fmpz_mpoly]]


def exact_law(table: RateTable, variables: tuple[sp.Symbol, ...] = ()) -> ExactLaw:
    """The stationary law of a finite chain: pi Q = 0 (row vector), the probabilities sum to 1.

    >>> from qtheory.model import table_from_matrix
    >>> exact_law(table_from_matrix([["-a", "a"], ["b", "-b"]]))
    stationary law of 2 states over a, b: weights, to be divided by W
      0  b
      1  a
      W  a + b

    A chain may have transient states, which get probability zero. `ReducibleError` when it has
    several closed classes, since the law is then not unique. The balance is checked, in exact
    arithmetic, at a random integer point of the parameters.
    """
    closed = closed_classes(table)
    if len(closed) > 1:
        shown = ", ".join(_class_text(states) for states in closed[:3])
        more = ", ..." if len(closed) > 3 else ""
        raise ReducibleError(
            f"no unique stationary law: {len(closed)} closed classes {shown}{more}"
        )
    position = {state: i for i, state in enumerate(table.states)}
    kept = [position[state] for state in closed[0]]
    place = {i: k for k, i in enumerate(kept)}
    rates = [{place[j]: rate for j, rate in table.rows[i].items()} for i in kept]
    solve = _parametric if table.ring.symbols else _rational
    found = solve(table.ring, rates)
    zero = table.ring.context.constant(0)
    weights = [zero] * len(table.states)
    for i, weight in zip(kept, found, strict=True):
        weights[i] = weight
    law = ExactLaw(table.states, table.ring, primitive(weights), variables)
    require_balance(table, law)
    return law


def table_at(table: RateTable, at: Mapping[Any, Any]) -> RateTable:
    """The chain at a rational point of all its parameters.

    `DomainError` for unknown or missing parameters and where a rate is negative or undefined.
    """
    values = values_by_name(at, table.ring.names)
    unknown = [name for name in values if name not in table.ring.names]
    if unknown:
        known = ", ".join(table.ring.names) or "none"
        raise DomainError(f"unknown parameter {unknown[0]}; known: {known}")
    place, numbers = table.ring.point(values), Ring(())
    rows = []
    for i, row in enumerate(table.rows):
        found = {}
        for j, rate in row.items():
            below = table.ring.evaluate(rate.den, place)
            above = table.ring.evaluate(rate.num, place)
            if below == 0 or above / below < 0:
                shown = "undefined" if below == 0 else f"{above / below} < 0"
                raise DomainError(
                    f"the rate from state {table.states[i]} to state {table.states[j]} is {shown}"
                )
            if above != 0:
                found[j] = numbers.number(exact(above / below))
        rows.append(found)
    return replace(table, ring=numbers, rows=tuple(rows))


def require_balance(table: RateTable, law: ExactLaw, seed: int = 1) -> None:
    """Check pi Q = 0 exactly at a random integer point; `CertificateError` where it fails.

    A law that is wrong passes with probability below degree/10^9 (Schwartz-Zippel).
    """
    draw = random.Random(seed)
    point = [draw.randint(1, 10**9) for _ in table.ring.names]
    weights = [fmpq(numerator(*point)) for numerator in law.numerators]
    balance = [fmpq(0)] * len(weights)
    for i, row in enumerate(table.rows):
        for j, rate in row.items():
            flow = weights[i] * fmpq(rate.num(*point), rate.den(*point))
            balance[i] -= flow
            balance[j] += flow
    for state, surplus in zip(table.states, balance, strict=True):
        if surplus != 0:
            raise CertificateError(f"the weights do not balance at state {state}")


def _parametric(ring: Ring, rows: Sequence[Mapping[int, Ratio]]) -> list[fmpz_mpoly]:
    """The weights over QQ(parameters), up to a common factor."""
    # Row i times a polynomial c_i has the solution pi_i / c_i.
    clearing = [_common_denominator(ring, row.values()) for row in rows]
    cleared = [
        {j: rate.num * (c / rate.den) for j, rate in row.items()}
        for row, c in zip(rows, clearing, strict=True)
    ]
    weights = polynomial_weights(cleared, ring.context)
    return [
        weight if c.is_one() else weight * c for weight, c in zip(weights, clearing, strict=True)
    ]


def _common_denominator(ring: Ring, rates: Any) -> fmpz_mpoly:
    common = ring.context.constant(1)
    for rate in rates:
        if not rate.den.is_one():
            common = common * rate.den / common.gcd(rate.den)
    return common


def _rational(ring: Ring, rows: Sequence[Mapping[int, Ratio]]) -> list[fmpz_mpoly]:
    """The weights of a chain without parameters, as integers."""
    point = ()
    weights = rational_weights(
        [{j: fmpq(r.num(*point), r.den(*point)) for j, r in row.items()} for row in rows]
    )
    scale = lcm(*(int(weight.q) for weight in weights))
    return [ring.context.constant((weight * scale).p) for weight in weights]


def _class_text(states: Sequence[Any]) -> str:
    shown = ", ".join(map(str, states[:3]))
    return f"{{{shown}{', ...' if len(states) > 3 else ''}}}"
