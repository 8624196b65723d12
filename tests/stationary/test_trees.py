"""The Markov chain tree theorem, enumerated, against elimination."""

from fractions import Fraction
from itertools import product
from math import prod

import networkx as nx
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.errors import ModelError
from qtheory.model import table_from_matrix
from qtheory.stationary.exact.chain import finite_table
from qtheory.stationary.exact.solve import exact_law
from qtheory.stationary.exact.trees import spanning_trees, tree_count, tree_weights


def complete(size: int) -> nx.DiGraph:
    graph = nx.DiGraph()
    for i, j in product(range(size), repeat=2):
        if i != j:
            graph.add_edge(i, j, rate=sp.Symbol(f"q{i}{j}"))
    return graph


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_cayley_formula(size):
    # n^(n-2) trees on n labelled vertices (Cayley, 1889), each with one orientation to a root
    table = table_from_matrix(sp.ones(size, size) - size * sp.eye(size))
    for root in range(size):
        trees = list(spanning_trees(table, root))
        assert len(trees) == len(set(trees)) == tree_count(table, root) == size ** max(size - 2, 0)


def test_three_states_by_hand():
    weights = tree_weights(complete(3))
    q = {(i, j): sp.Symbol(f"q{i}{j}") for i in range(3) for j in range(3)}
    expected = q[1, 0] * q[2, 0] + q[1, 2] * q[2, 0] + q[2, 1] * q[1, 0]
    assert sp.expand(weights[0] - expected) == 0


def test_networkx_finds_the_same_trees():
    graph = nx.gnp_random_graph(6, 0.5, seed=3, directed=True)
    table = finite_table(nx.DiGraph((i, j, {"rate": 1}) for i, j in graph.edges))
    names = list(table.states)
    for root, name in enumerate(names):
        found = {
            frozenset((names[i], names[j]) for i, j in tree) for tree in spanning_trees(table, root)
        }
        # in-trees are the arborescences of the reversed graph
        reverse = nx.DiGraph(graph.reverse())
        reverse.remove_edges_from(list(reverse.in_edges(name)))
        expected = {
            frozenset((j, i) for i, j in tree.edges)
            for tree in (
                nx.ArborescenceIterator(reverse)
                if all(reverse.in_degree(v) for v in reverse if v != name)
                else ()
            )
        }
        assert found == expected


def test_symbolic_law_is_the_share_of_trees():
    law, weights = exact_law(finite_table(complete(4))), tree_weights(complete(4))
    assert [law.ring.polynomial(weights[state]) for state in law] == list(law.numerators)


@given(st.integers(2, 5), st.data())
@settings(max_examples=40, deadline=None)
def test_rational_law_is_the_share_of_trees(size, data):
    rates = st.fractions(Fraction(1, 5), 5, max_denominator=7)
    graph = nx.DiGraph()
    for i, j in product(range(size), repeat=2):
        if j == (i + 1) % size or (i != j and data.draw(st.booleans())):
            graph.add_edge(i, j, rate=data.draw(rates))
    law, weights = exact_law(finite_table(graph)).at({}), tree_weights(graph)
    total = sum(weights.values())
    assert all(sp.Rational(str(law[state])) == weights[state] / total for state in law)


def test_ring_of_many_states():
    # the in-trees of a cycle leave out one of its edges, and no search ends in vain
    size = 24
    graph = nx.DiGraph()
    for i in range(size):
        graph.add_edge(i, (i + 1) % size, rate=2)
        graph.add_edge((i + 1) % size, i, rate=3)
    expected = sum(2**k * 3 ** (size - 1 - k) for k in range(size))
    assert tree_weights(graph) == dict.fromkeys(range(size), expected)


def test_transient_states_and_several_classes():
    assert tree_weights([["-a", "a"], [0, 0]]) == {0: 0, 1: sp.Symbol("a", real=True)}
    assert tree_weights([[0, 0], [0, 0]]) == {0: 0, 1: 0}
    assert tree_weights([[0]]) == {0: 1}


def test_too_many_trees():
    with pytest.raises(ModelError, match=rf"{8 * 8**6} spanning trees, more than 20000"):
        tree_weights(complete(8))


def test_random_edges_multiply():
    # a directed cycle has one tree to each root: the product of all other rates
    rates = [sp.Integer(k + 2) for k in range(5)]
    graph = nx.DiGraph((k, (k + 1) % 5, {"rate": rate}) for k, rate in enumerate(rates))
    weights = tree_weights(graph)
    assert all(weights[k] * rates[k] == prod(rates) for k in range(5))
