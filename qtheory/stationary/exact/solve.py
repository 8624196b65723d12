"""Exact stationary laws of finite chains over QQ(parameters), by state elimination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import lcm

import sympy as sp
from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring
from qtheory.errors import CertificateError
from qtheory.model.rates import RateTable
from qtheory.stationary.exact.elimination import polynomial_weights, rational_weights
from qtheory.stationary.exact.law import ExactLaw, primitive
from qtheory.stationary.exact.lumping import exact_lumping, lumped_rates
from qtheory.stationary.exact.points import only_closed_class
from qtheory.stationary.exact.size import LawSize, require_budget, weights_size


def exact_law(
    table: RateTable,
    variables: tuple[sp.Symbol, ...] = (),
    budget: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> ExactLaw:
    """The stationary law of a finite chain: pi Q = 0 (row vector), the probabilities sum to 1.

    >>> from qtheory.model import table_from_matrix
    >>> exact_law(table_from_matrix([["-a", "a"], ["b", "-b"]]))
    stationary law of 2 states over a, b: weights, to be divided by W
      0  b
      1  a
      W  a + b

    A chain may have transient states, which get probability zero. `ReducibleError` when it has
    several closed classes, since the law is then not unique. The balance is checked at the end
    as an identity of polynomials, which proves the law.

    A `budget` is the largest number of terms that the weights of all states may have together:
    where the estimate `law_size` is above it, `ModelError` says so before any long work.
    `progress` is called with a line of text at each step of long work.
    """
    kept, rows = _closed_rows(table)
    blocks = exact_lumping(table.ring, rows)
    if len(blocks) < len(rows):
        rows = lumped_rates(table.ring, rows, blocks)
    if budget is not None:
        require_budget(_size(table.ring, rows), budget)
    found = _parametric(table.ring, rows, progress) if table.ring.symbols else _rational(rows)
    weights = [table.ring.context.constant(0)] * len(table.states)
    for block, weight in zip(blocks, primitive(found), strict=True):
        for i in block:
            weights[kept[i]] = weight
    law = ExactLaw(table.states, table.ring, tuple(weights), variables, table)
    if progress:
        progress("checking the balance")
    require_balance(table, law)
    return law


def law_size(table: RateTable) -> LawSize:
    """How many terms the law of a chain will have: a quick estimate from above.

    >>> from qtheory.model import table_from_matrix
    >>> chain = [["-a", "a", 0], ["b", "-a-b", "a"], [0, "b", "-b"]]
    >>> print(law_size(table_from_matrix(chain)))
    up to about 3 terms in 3 weights (degrees a 2)

    States of equal probability for a reason of symmetry count once. `ReducibleError` when the
    chain has several closed classes.
    """
    _, rows = _closed_rows(table)
    blocks = exact_lumping(table.ring, rows)
    return _size(table.ring, lumped_rates(table.ring, rows, blocks))


def _closed_rows(table: RateTable) -> tuple[list[int], list[dict[int, Ratio]]]:
    """The states of the only closed class, and the rates between them."""
    position = {state: i for i, state in enumerate(table.states)}
    kept = [position[state] for state in only_closed_class(table)]
    place = {i: k for k, i in enumerate(kept)}
    return kept, [{place[j]: rate for j, rate in table.rows[i].items()} for i in kept]


def require_balance(table: RateTable, law: ExactLaw) -> None:
    """Check pi Q = 0, pi != 0 for all parameters; `CertificateError` where that fails."""
    if law.denominator.is_zero():
        raise CertificateError("the weights sum to zero")
    # what leaves a state and what enters it, over the common denominator of its rates
    zero = table.ring.context.constant(0)
    none = table.ring.integer(0)
    flows: list[list[tuple[fmpz_mpoly, Ratio]]] = [
        [(-weight, sum(row.values(), none))]
        for weight, row in zip(law.numerators, table.rows, strict=True)
    ]
    for weight, row in zip(law.numerators, table.rows, strict=True):
        for j, rate in row.items():
            flows[j].append((weight, rate))
    for state, terms in zip(table.states, flows, strict=True):
        common = _common_denominator(table.ring, (rate for _, rate in terms))
        surplus = zero
        for weight, rate in terms:
            cleared = rate.num if common.is_one() else rate.num * (common / rate.den)
            surplus += weight * cleared
        if not surplus.is_zero():
            raise CertificateError(f"the weights do not balance at state {state}")


def cleared_rows(
    ring: Ring, rows: Sequence[Mapping[int, Ratio]]
) -> tuple[list[dict[int, fmpz_mpoly]], list[fmpz_mpoly]]:
    """Rates as polynomials, and the factor by which each row was multiplied."""
    clearing = [_common_denominator(ring, row.values()) for row in rows]
    cleared = [
        {j: rate.num * (c / rate.den) for j, rate in row.items()}
        for row, c in zip(rows, clearing, strict=True)
    ]
    return cleared, clearing


def _size(ring: Ring, rows: Sequence[Mapping[int, Ratio]]) -> LawSize:
    return weights_size(cleared_rows(ring, rows)[0], ring.context)


def _parametric(
    ring: Ring, rows: Sequence[Mapping[int, Ratio]], progress: Callable[[str], None] | None
) -> list[fmpz_mpoly]:
    """The weights over QQ(parameters), up to a common factor."""
    # Row i times a polynomial c_i has the solution pi_i / c_i.
    cleared, clearing = cleared_rows(ring, rows)
    weights = polynomial_weights(cleared, ring.context, progress=progress)
    return [
        weight if c.is_one() else weight * c for weight, c in zip(weights, clearing, strict=True)
    ]


def _common_denominator(ring: Ring, rates: Iterable[Ratio]) -> fmpz_mpoly:
    common = ring.context.constant(1)
    for rate in rates:
        if not rate.den.is_one():
            common = common * rate.den / common.gcd(rate.den)
    return common


def _rational(rows: Sequence[Mapping[int, Ratio]]) -> list[fmpz_mpoly]:
    """The weights of a chain without parameters, as integers."""
    context = Ring(()).context
    weights = rational_weights(
        [{j: fmpq(rate.num(), rate.den()) for j, rate in row.items()} for row in rows]
    )
    scale = lcm(*(int(weight.q) for weight in weights))
    return [context.constant((weight * scale).p) for weight in weights]
