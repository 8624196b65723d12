"""The Markov chain tree theorem: stationary weights as sums over spanning trees.

The probability of a state is proportional to the sum, over the spanning trees whose edges all
point towards it, of the products of the rates along the edges (F. T. Leighton and R. L. Rivest,
"Estimating a probability using finite memory", IEEE Transactions on Information Theory 32
(1986)). Far slower than elimination, and independent of it: a check on small chains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import sympy as sp
from flint import fmpz_mat

from qtheory.arithmetic import Ratio
from qtheory.errors import ModelError
from qtheory.model.rates import RateTable
from qtheory.stationary.exact.chain import finite_table
from qtheory.stationary.exact.ordering import sources_of

TREE_LIMIT = 20_000
"""The most spanning trees that are enumerated, to all roots together."""

Edge = tuple[int, int]


def tree_weights(chain: Any) -> dict[Hashable, sp.Expr]:
    """The sum over the spanning trees towards each state, as an expression that is not factored.

    The chain is a `RateTable`, a directed networkx graph with a ``rate`` on its edges or a
    generator matrix. Divided by their sum the weights are the stationary law, where it is unique.

    >>> tree_weights([["-a", "a", 0], ["b", "-b-c", "c"], ["d", 0, "-d"]])
    {0: b*d + c*d, 1: a*d, 2: a*c}

    Raises `ModelError` for a chain with more than `TREE_LIMIT` trees, which are counted first
    (W. T. Tutte, "The dissection of equilateral triangles into equilateral triangles", 1948).
    """
    table = finite_table(chain)
    count = sum(tree_count(table, root) for root in range(len(table.states)))
    if count > TREE_LIMIT:
        raise ModelError(
            f"{count} spanning trees, more than {TREE_LIMIT}: use exact_law for larger chains"
        )
    return {
        state: table.ring.expression(_weight(table, root))
        for root, state in enumerate(table.states)
    }


def tree_count(table: RateTable, root: int) -> int:
    """The number of spanning trees whose edges all point towards a state, given by its position.

    >>> from qtheory.model import table_from_matrix
    >>> chain = [[-2, 1, 1], [1, -2, 1], [1, 1, -2]]
    >>> tree_count(table_from_matrix(chain), 0)
    3
    """
    others = [i for i in range(len(table.states)) if i != root]
    laplacian = [
        [len(table.rows[i]) if i == j else -int(j in table.rows[i]) for j in others] for i in others
    ]
    return int(fmpz_mat(laplacian).det()) if others else 1


def spanning_trees(table: RateTable, root: int) -> Iterator[tuple[Edge, ...]]:
    """The edges of each spanning tree towards a state, as pairs of positions of states.

    >>> from qtheory.model import table_from_matrix
    >>> chain = [[-2, 1, 1], [1, -2, 1], [1, 1, -2]]
    >>> list(spanning_trees(table_from_matrix(chain), 0))
    [((1, 0), (2, 0)), ((1, 0), (2, 1)), ((1, 2), (2, 0))]
    """
    if _all_reach(table.rows, root, {}):
        others = [i for i in range(len(table.states)) if i != root]
        yield from _completed(table.rows, root, others, {})


def _completed(
    rows: Sequence[Mapping[int, Any]], root: int, others: Sequence[int], parent: dict[int, int]
) -> Iterator[tuple[Edge, ...]]:
    """The trees, at least one, in which the first states of a list have the given parents."""
    if len(parent) == len(others):
        yield tuple(parent.items())
        return
    i = others[len(parent)]
    for j in sorted(rows[i]):
        parent[i] = j
        # while all states can reach the root, there is a tree: no search ends in vain
        if len(rows[i]) == 1 or _all_reach(rows, root, parent):
            yield from _completed(rows, root, others, parent)
        del parent[i]


def _all_reach(rows: Sequence[Mapping[int, Any]], root: int, parent: Mapping[int, int]) -> bool:
    """Whether all states can reach the root, those with a parent only through it."""
    sources = sources_of(
        [(parent[i],) if i in parent else tuple(row) for i, row in enumerate(rows)]
    )
    reached, pending = {root}, [root]
    while pending:
        new = sources[pending.pop()] - reached
        reached |= new
        pending.extend(new)
    return len(reached) == len(rows)


def _weight(table: RateTable, root: int) -> Ratio:
    total = table.ring.zero
    for edges in spanning_trees(table, root):
        product = table.ring.integer(1)
        for i, j in edges:
            product = product * table.rows[i][j]
        total = total + product
    return total
