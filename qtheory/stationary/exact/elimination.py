"""State elimination: the stationary vector of a sparse chain without a subtraction.

Censoring a chain on the states other than k adds the detours through k to the rates,

    q_ij + q_ik q_kj / sum_l q_kl,

and keeps the balance of the others. Only sums, products and exact quotients of rates occur, so
rates with nonnegative coefficients give weights with nonnegative coefficients.

W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state
distributions for Markov chains", Operations Research 33 (1985).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flint import fmpq, fmpq_mat, fmpz_mpoly, fmpz_mpoly_ctx

from qtheory.errors import ModelError
from qtheory.stationary.exact.interpolation import interpolated_weights, shape_of
from qtheory.stationary.exact.ordering import minimum_degree_order, sources_of
from qtheory.stationary.exact.primitive_rows import primitive_row_weights

MINOR_LIMIT = 250
"""The most terms of a minor; beyond it, the other methods were measured to be faster."""

GRID_LIMIT = 10_000_000
"""The most points of a grid times states, for interpolation: residues of 8 bytes."""

SYMBOL_LIMIT = 6
"""The most parameters for interpolation, whose grid grows exponentially with their number."""

FILL_LIMIT = 4
"""Updates of a rate, divided by the square of the number of states, from which a chain is dense."""


def polynomial_weights(
    rows: Sequence[Mapping[int, fmpz_mpoly]],
    context: fmpz_mpoly_ctx,
    order: Sequence[int] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[fmpz_mpoly]:
    """The stationary weights of an irreducible chain with polynomial rates.

    ``rows[i][j]`` is the rate from i to j != i. The weight of state i is the minor of the
    negative generator without row and column i: by the Markov chain tree theorem the sum, over
    the spanning trees directed to i, of the products of their rates. Where minors get long,
    common factors of the weights are left out: by interpolation, or where its grid would be too
    large by an elimination that divides them out. Interpolated weights are proved only by a
    check of their balance (see `qtheory.stationary.exact.interpolation`).

    >>> from flint import Ordering
    >>> context = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex)
    >>> a, b = context.gens()
    >>> polynomial_weights([{1: a}, {0: b}], context)
    [b, a]

    Raises `ModelError` where the rates out of a state cancel.
    """
    order = minimum_degree_order(rows) if order is None else order
    weights = minors(rows, context, order)
    if weights is not None:
        return weights
    if context.nvars() <= SYMBOL_LIMIT:
        if progress:
            progress(f"{len(rows)} states: probing the degrees")
        shape = shape_of(rows, context, order)
        if shape.points * len(rows) <= GRID_LIMIT:
            return interpolated_weights(shape, context, progress)
    if progress:
        progress(f"{len(rows)} states: eliminating one by one")
    return primitive_row_weights(rows, context, order)


def minors(
    rows: Sequence[Mapping[int, fmpz_mpoly]], context: fmpz_mpoly_ctx, order: Sequence[int]
) -> list[fmpz_mpoly] | None:
    """The weights without a greatest common divisor, None when polynomials get long."""
    # After a set S of states is gone, the entry (i, j) times the minor of S is the minor of
    # S + i by S + j (Sylvester), a polynomial: the division by the previous pivot is exact. A
    # row without a transition to k only changes by the factor pivot/previous, so it is left at
    # its old level until it is needed.
    work = [dict(row) for row in rows]
    sources = sources_of(rows)
    zero, pivot = context.constant(0), context.constant(1)
    level = [pivot] * len(rows)
    steps = []
    for k in order[:-1]:
        previous = pivot
        row = work[k]
        if level[k] is not previous:
            row = {j: v * previous / level[k] for j, v in row.items()}
        pivot = sum(row.values(), zero)
        if pivot.is_zero():
            raise ModelError(f"the rates out of a state cancel: row {k} sums to zero")
        if len(pivot) > MINOR_LIMIT:
            return None
        incoming = {}
        for i in sources[k]:
            into = work[i].pop(k)
            changed = {j: v * pivot for j, v in work[i].items()}
            for j, v in row.items():
                if j in changed:
                    changed[j] += into * v
                elif j != i:
                    changed[j] = into * v
                    sources[j].add(i)
            if not level[i].is_one():
                changed = {j: v / level[i] for j, v in changed.items()}
            incoming[i] = into * previous / level[i]
            work[i], level[i] = changed, pivot
        for j in row:
            sources[j].discard(k)
        steps.append((k, pivot, incoming))
    weights = [zero] * len(rows)
    weights[order[-1]] = pivot
    for k, pivot, incoming in reversed(steps):
        weights[k] = sum((weights[i] * rate for i, rate in incoming.items()), zero) / pivot
    return weights


def rational_weights(rows: Sequence[Mapping[int, fmpq]]) -> list[fmpq]:
    """The stationary weights of an irreducible chain with rational rates.

    ``rows[i][j]`` is the rate from i to j != i.

    >>> rational_weights([{1: fmpq(1)}, {0: fmpq(3, 2)}])
    [1, 2/3]

    Raises `ModelError` where the rates out of a state cancel.
    """
    weights = _sparse_rational(rows)
    return _dense_rational(rows) if weights is None else weights


def _sparse_rational(rows: Sequence[Mapping[int, fmpq]]) -> list[fmpq] | None:
    """The weights by state elimination, None when the chain fills up with transitions."""
    work = [dict(row) for row in rows]
    sources = sources_of(rows)
    order = minimum_degree_order(rows)
    allowed = FILL_LIMIT * len(rows) ** 2
    steps = []
    for k in order[:-1]:
        row = work[k]
        total = sum(row.values(), fmpq(0))
        if total == 0:
            raise ModelError(f"the rates out of a state cancel: row {k} sums to zero")
        allowed -= len(sources[k]) * len(row)
        if allowed < 0:
            return None
        incoming = {}
        for i in sources[k]:
            incoming[i] = share = work[i].pop(k) / total
            for j, v in row.items():
                if j in work[i]:
                    work[i][j] += share * v
                elif j != i:
                    work[i][j] = share * v
                    sources[j].add(i)
        for j in row:
            sources[j].discard(k)
        steps.append((k, incoming))
    weights = [fmpq(0)] * len(rows)
    weights[order[-1]] = fmpq(1)
    for k, incoming in reversed(steps):
        weights[k] = sum((weights[i] * share for i, share in incoming.items()), fmpq(0))
    return weights


def _dense_rational(rows: Sequence[Mapping[int, fmpq]]) -> list[fmpq]:
    """The weights, that of the last state being 1, by a p-adic solver."""
    last = len(rows) - 1
    # equation j is the balance of state j
    matrix, right = fmpq_mat(last, last), fmpq_mat(last, 1)
    for i, row in enumerate(rows):
        for j, rate in row.items():
            if i == last:
                right[j, 0] = -rate
            elif j < last:
                matrix[j, i] = rate
        if i < last:
            matrix[i, i] = -sum(row.values(), fmpq(0))
    try:
        found = matrix.solve(right)
    except ZeroDivisionError:
        raise ModelError("the rates out of a state cancel") from None
    return [*(found[i, 0] for i in range(last)), fmpq(1)]
