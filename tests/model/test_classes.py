"""Reachability and communicating classes."""

import networkx as nx
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from qtheory.domain import Domain
from qtheory.errors import ModelError, ReducibleError
from qtheory.model import (
    Model,
    Transition,
    closed_classes,
    communicating_classes,
    rate_table,
    reachable,
    require_irreducible,
    state_graph,
    table_from_graph,
    table_from_matrix,
)

lam, p = sp.symbols("lambda p", nonnegative=True)
n = sp.Symbol("n", integer=True, nonnegative=True)


def table(*arcs, size):
    """A chain with rate one along each arc."""
    matrix = np.zeros((size, size), dtype=int)
    for i, j in arcs:
        matrix[i, j] = 1
        matrix[i, i] -= 1
    return table_from_matrix(matrix)


def test_two_absorbing_ends():
    chain = table((1, 0), (1, 2), (2, 1), (2, 3), size=4)
    assert communicating_classes(chain) == [(0,), (1, 2), (3,)]
    assert closed_classes(chain) == [(0,), (3,)]
    assert reachable(chain, 0) == {0}
    assert reachable(chain, 2) == {0, 1, 2, 3}
    with pytest.raises(
        ReducibleError,
        match=r"^reducible: 2 closed classes \{0\}, \{3\}; absorbing states 0, 3; "
        r"transient states 1, 2$",
    ):
        require_irreducible(chain)


def test_one_closed_class_with_transient_states():
    chain = table((0, 1), (1, 2), (2, 1), size=3)
    assert closed_classes(chain) == [(1, 2)]
    with pytest.raises(
        ReducibleError, match=r"^reducible: one closed class \{1, 2\}; transient state 0$"
    ):
        require_irreducible(chain)


def test_one_absorbing_state():
    with pytest.raises(
        ReducibleError, match=r"^reducible: absorbing state 2; transient states 0, 1$"
    ):
        require_irreducible(table((0, 1), (1, 0), (1, 2), size=3))


def test_identity_chain_has_singleton_classes():
    chain = table_from_matrix(np.eye(128, dtype=int), time="discrete")
    assert closed_classes(chain) == [(i,) for i in range(128)]
    with pytest.raises(
        ReducibleError, match=r"128 closed classes .*\.\.\. \(128 in all\)"
    ) as caught:
        require_irreducible(chain)
    assert len(str(caught.value)) < 200


def test_irreducible_chains_pass():
    require_irreducible(table((0, 1), (1, 2), (2, 0), size=3))
    require_irreducible(table_from_matrix([[0]]))
    queue = Model(n, Domain(), [Transition(1, 1), Transition(2, -1, when=n >= 1)])
    require_irreducible(rate_table(queue, 20))
    require_irreducible(state_graph(queue, 20))


def test_classes_depend_on_the_parameters_of_a_table():
    model = Model(n, Domain(), [Transition(lam, 1), Transition(1, -1, when=n >= 1)])
    require_irreducible(rate_table(model, 3))
    assert closed_classes(rate_table(model, 3, at={lam: 0})) == [((0,),)]


def test_graphs_with_labels_in_their_own_order():
    graph = nx.DiGraph([("b", "c"), ("c", "b"), ("a", "b"), (("x", 1), "a")])
    assert communicating_classes(graph) == [("b", "c"), ("a",), (("x", 1),)]
    assert closed_classes(graph) == [("b", "c")]
    graph.add_edge("b", "a", rate=0)
    assert closed_classes(graph) == [("b", "c")]


def test_bad_chains_are_refused():
    with pytest.raises(ModelError, match="the chain has no state 7"):
        reachable(table((0, 1), (1, 0), size=2), 7)
    with pytest.raises(ModelError, match="not directed"):
        communicating_classes(nx.Graph([(0, 1)]))
    with pytest.raises(ModelError, match="no states"):
        require_irreducible(nx.DiGraph())


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))), st.permutations(range(7)))
def test_against_the_transitive_closure(arcs, order):
    names = [f"s{k}" for k in order]
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(((names[i], names[j]) for i, j in arcs), rate=1)
    reach = np.eye(7, dtype=bool)
    for i, j in arcs:
        reach[i, j] = True
    for k in range(7):
        reach |= np.outer(reach[:, k], reach[k])
    mutual = reach & reach.T
    classes = sorted({tuple(np.flatnonzero(row).tolist()) for row in mutual})
    closed = [c for c in classes if not (reach[c[0]] & ~mutual[c[0]]).any()]
    for chain in (graph, table_from_graph(graph)):
        assert communicating_classes(chain) == [tuple(names[i] for i in c) for c in classes]
        assert closed_classes(chain) == [tuple(names[i] for i in c) for c in closed]
        assert reachable(chain, names[0]) == {names[j] for j in np.flatnonzero(reach[0])}
