"""State elimination: the stationary vector of a sparse chain without a subtraction.

Censoring a chain on the states other than k adds the detours through k to the rates,

    q_ij + q_ik q_kj / sum_l q_kl,

and keeps the balance of the others. Only sums, products and exact quotients of rates occur, so
rates with nonnegative coefficients give weights with nonnegative coefficients.

W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state
distributions for Markov chains", Operations Research 33 (1985).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from flint import fmpq, fmpz_mpoly, fmpz_mpoly_ctx

from qtheory.errors import ModelError
from qtheory.stationary.primitive_rows import primitive_row_weights

MINOR_LIMIT = 250
"""The most terms of a minor; beyond it, dividing out common factors was measured to be faster."""


def minimum_degree_order(rows: Sequence[Iterable[int]]) -> list[int]:
    """An order of the states in which eliminating each one adds few new transitions.

    ``rows[i]`` holds the states to which state i has a transition.

    >>> minimum_degree_order([{1}, {0, 2, 3}, {1}, {1}])
    [3, 2, 1, 0]
    """
    targets = [set(row) for row in rows]
    sources = _sources(rows)

    def degree(k: int) -> tuple[int, int, int]:
        # among equals the last state: on boxes, from the far corner, this was fastest
        return len(targets[k]) * len(sources[k]), len(targets[k]) + len(sources[k]), -k

    heap = [degree(k) for k in range(len(rows))]
    heapify(heap)
    gone = [False] * len(rows)
    order = []
    while heap:
        found = heappop(heap)
        k = -found[2]
        if gone[k] or found != degree(k):
            continue
        gone[k] = True
        order.append(k)
        for i in sources[k]:
            targets[i].discard(k)
            targets[i] |= targets[k] - {i}
        for j in targets[k]:
            sources[j].discard(k)
            sources[j] |= sources[k] - {j}
        for i in sources[k] | targets[k]:
            heappush(heap, degree(i))
    return order


def polynomial_weights(
    rows: Sequence[Mapping[int, fmpz_mpoly]], context: fmpz_mpoly_ctx
) -> list[fmpz_mpoly]:
    """The stationary weights of an irreducible chain with polynomial rates.

    ``rows[i][j]`` is the rate from i to j != i. The weight of state i is the minor of the
    negative generator without row and column i: by the Markov chain tree theorem the sum, over
    the spanning trees directed to i, of the products of their rates.

    >>> from flint import Ordering
    >>> context = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex)
    >>> a, b = context.gens()
    >>> polynomial_weights([{1: a}, {0: b}], context)
    [b, a]

    Raises `ModelError` where the rates out of a state cancel.
    """
    order = minimum_degree_order(rows)
    weights = _minors(rows, context, order)
    return primitive_row_weights(rows, context, order) if weights is None else weights


def _minors(
    rows: Sequence[Mapping[int, fmpz_mpoly]], context: fmpz_mpoly_ctx, order: Sequence[int]
) -> list[fmpz_mpoly] | None:
    """The weights without a greatest common divisor, None when polynomials get long."""
    # After a set S of states is gone, the entry (i, j) times the minor of S is the minor of
    # S + i by S + j (Sylvester), a polynomial: the division by the previous pivot is exact. A
    # row without a transition to k only changes by the factor pivot/previous, so it is left at
    # its old level until it is needed.
    work = [dict(row) for row in rows]
    sources = _sources(rows)
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
    work = [dict(row) for row in rows]
    sources = _sources(rows)
    order = minimum_degree_order(rows)
    steps = []
    for k in order[:-1]:
        row = work[k]
        total = sum(row.values(), fmpq(0))
        if total == 0:
            raise ModelError(f"the rates out of a state cancel: row {k} sums to zero")
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


def _sources(rows: Sequence[Iterable[int]]) -> list[set[int]]:
    """For each state, the states with a transition to it."""
    found: list[set[int]] = [set() for _ in rows]
    for i, row in enumerate(rows):
        for j in row:
            found[j].add(i)
    return found
