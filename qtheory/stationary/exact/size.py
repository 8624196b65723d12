"""How large the symbolic law of a chain will be, before it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log

from flint import fmpz_mpoly, fmpz_mpoly_ctx

from qtheory.errors import ModelError
from qtheory.stationary.exact.interpolation import shape_of
from qtheory.stationary.exact.ordering import minimum_degree_order, sources_of

PROBE_LIMIT = 12
"""The most parameters whose degrees are probed: with more, few terms of a box occur anyway."""


@dataclass(frozen=True)
class LawSize:
    """An estimate from above of the number of terms of all weights of a law.

    `degrees` are those of the weights in the parameters that remain when units are chosen (one
    rate may be 1 where all scale together); empty where they were not probed.
    """

    states: int
    terms: float
    degrees: Mapping[str, int]

    def __str__(self) -> str:
        degrees = ", ".join(f"{name} {degree}" for name, degree in self.degrees.items())
        shown = f" (degrees {degrees})" if degrees else ""
        return f"up to about {self.terms:.2g} terms in {self.states} weights{shown}"


def weights_size(rows: Sequence[Mapping[int, fmpz_mpoly]], context: fmpz_mpoly_ctx) -> LawSize:
    """The size of the weights of an irreducible chain with polynomial rates.

    The lesser of two counts: the products of rates along spanning trees, which by the Markov
    chain tree theorem are all the terms before they are collected, and the monomials within the
    degree in each parameter, which probes modulo a prime find.

    >>> from flint import Ordering
    >>> context = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex)
    >>> a, b = context.gens()
    >>> print(weights_size([{1: a}, {0: b, 2: a}, {1: b}], context))
    up to about 3 terms in 3 weights (degrees a 2)
    """
    states, trees = len(rows), _tree_terms(rows)
    if context.nvars() > PROBE_LIMIT:
        return LawSize(states, trees, {})
    shape = shape_of(rows, context)
    names = context.names()
    degrees = {str(names[k]): d for k, d in zip(shape.free, shape.degrees, strict=True)}
    return LawSize(states, min(trees, states * shape.points), degrees)


def _tree_terms(rows: Sequence[Mapping[int, fmpz_mpoly]]) -> float:
    """The terms of all products of rates along spanning in-trees, counted in floating point."""
    # the weights of the chain in which each rate is its number of terms
    work = [{j: float(len(rate)) for j, rate in row.items()} for row in rows]
    sources = sources_of(rows)
    order = minimum_degree_order(rows)
    steps, scale = [], 0.0
    for k in order[:-1]:
        row = work[k]
        total = sum(row.values())
        scale += log(total)
        incoming = {}
        for i in sources[k]:
            incoming[i] = share = work[i].pop(k) / total
            for j, rate in row.items():
                if j != i:
                    work[i][j] = work[i].get(j, 0.0) + share * rate
                    sources[j].add(i)
        for j in row:
            sources[j].discard(k)
        steps.append((k, incoming))
    weights = {order[-1]: 1.0}
    for k, incoming in reversed(steps):
        weights[k] = sum(weights[i] * share for i, share in incoming.items())
    scale += log(sum(weights.values()))
    return exp(scale) if scale < 700 else inf


def require_budget(size: LawSize, budget: float) -> None:
    """Raise `ModelError` for a law of more terms than a budget."""
    if size.terms > budget:
        raise ModelError(
            f"the symbolic law has {size}, more than the budget of {budget:.2g} terms: "
            'give numbers for some parameters with at=, or use method="sparse" at a point'
        )
