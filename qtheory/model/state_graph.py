"""The state graph of a model on a finite window, for looking, checking and small chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.model.flows import Boundary, arcs
from qtheory.model.lattice import window
from qtheory.model.rates import rate_table

if TYPE_CHECKING:
    import networkx as nx

    from qtheory.model.model import Model


def state_graph(
    model: Model, box: Any = None, where: Any = None, boundary: Boundary = "drop"
) -> nx.DiGraph:
    """The transitions between the states of a finite window, as a directed graph.

    Nodes are the states in lexicographic order; an edge carries its `rate` (per unit time, or
    the probability), a SymPy expression. Parallel transitions are one edge with the sum of their
    rates, self-loops are left out. The arguments are those of `qtheory.model.rates.rate_table`.

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Model, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> list(state_graph(queue, 1).edges(data="rate"))
    [((0,), (1,), lambda), ((1,), (0,), mu)]
    """
    import networkx as nx

    held = window(model, box, where)
    table = rate_table(model, box, where, boundary)
    graph = nx.DiGraph(name=model.name, time=model.time, boundary=boundary)
    graph.add_nodes_from(table.states)
    for (i, j), transitions in arcs(model, held, boundary).items():
        if j not in table.rows[i]:
            continue
        if len(transitions) == 1:
            # as it was written: lambda*(1 - p/2) reads better than -lambda*(p - 2)/2
            here = {
                symbol: sp.Integer(value)
                for symbol, value in zip(model.state, held.coordinates[i].tolist(), strict=True)
            }
            rate = model.transitions[transitions[0]].rate.xreplace(here)
        else:
            rate = table.ring.factored(table.rows[i][j])
        graph.add_edge(table.states[i], table.states[j], rate=rate)
    return graph
