"""State elimination with rows kept free of common factors, for large polynomial weights.

Minors (see `qtheory.stationary.exact.elimination`) carry factors that the rates out of one state
have in common. Dividing them out costs greatest common divisors, which pay once polynomials are
long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flint import fmpz_mpoly, fmpz_mpoly_ctx

from qtheory.arithmetic import Ratio, content, lowest_terms
from qtheory.errors import ModelError


def primitive_row_weights(
    rows: Sequence[Mapping[int, fmpz_mpoly]], context: fmpz_mpoly_ctx, order: Sequence[int]
) -> list[fmpz_mpoly]:
    """The stationary weights, states eliminated in the given order.

    >>> from flint import Ordering
    >>> context = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex)
    >>> a, b = context.gens()
    >>> primitive_row_weights([{1: a}, {0: b}], context, [0, 1])
    [b, a]

    Raises `ModelError` where the rates out of a state cancel.
    """
    zero, one = context.constant(0), context.constant(1)
    work = [dict(row) for row in rows]
    sources: list[set[int]] = [set() for _ in rows]
    for i, row in enumerate(rows):
        for j in row:
            sources[j].add(i)
    # scale[i] times the censored rates out of state i are the row that is kept
    scale = [Ratio(one, one)] * len(rows)
    steps = []
    for k in order[:-1]:
        row = work[k]
        pivot = sum(row.values(), zero)
        if pivot.is_zero():
            raise ModelError(f"the rates out of a state cancel: row {k} sums to zero")
        incoming = {}
        for i in sources[k]:
            into = work[i].pop(k)
            incoming[i] = lowest_terms(into * scale[i].den, scale[i].num)
            share = lowest_terms(into, pivot)
            detour, keep = share.num, share.den
            changed = {j: v * keep for j, v in work[i].items()}
            for j, v in row.items():
                if j in changed:
                    changed[j] += detour * v
                elif j != i:
                    changed[j] = detour * v
                    sources[j].add(i)
            common = content(changed.values()) or one
            work[i] = {j: v / common for j, v in changed.items()}
            scale[i] = scale[i] * lowest_terms(keep, common)
        for j in row:
            sources[j].discard(k)
        steps.append((k, scale[k] / Ratio(pivot, one), incoming))
    weights = {order[-1]: Ratio(one, one)}
    for k, leaving, incoming in reversed(steps):
        inflow = Ratio(zero, one)
        for i, rate in incoming.items():
            inflow = inflow + weights[i] * rate
        weights[k] = inflow * leaving
    clearing = one
    for weight in weights.values():
        clearing = clearing * lowest_terms(weight.den, clearing).num
    return [weights[i].num * (clearing / weights[i].den) for i in range(len(rows))]
