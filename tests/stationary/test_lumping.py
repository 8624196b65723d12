"""States that balance alike, and what lumping them must not change."""

from fractions import Fraction
from itertools import product

import networkx as nx
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.model import table_from_graph, table_from_matrix
from qtheory.stationary import exact_law
from qtheory.stationary.exact import solve as exact
from qtheory.stationary.exact.lumping import exact_lumping, lumped_rates

lam, mu, nu = sp.symbols("lambda mu nu", positive=True)


HALF = sp.Rational(1, 2)


def two_queues(capacity, second=mu, tie=HALF):
    """Join the shorter of two finite queues, a tie being broken for the first with `tie`."""
    graph = nx.DiGraph()
    for x, y in product(range(capacity + 1), repeat=2):
        share = sp.Integer(x < y) if x != y else tie
        moves = {(x + 1, y): lam * share, (x, y + 1): lam * (1 - share)}
        moves |= {(x - 1, y): mu, (x, y - 1): second}
        for target, rate in moves.items():
            if max(target) <= capacity and min(target) >= 0 and rate != 0:
                graph.add_edge((x, y), target, rate=rate)
    return table_from_graph(graph)


def lumped_states(table):
    return [[table.states[i] for i in block] for block in exact_lumping(table.ring, table.rows)]


def test_equal_queues_are_exchanged():
    assert sorted(map(sorted, lumped_states(two_queues(2)))) == [
        [(0, 0)],
        [(0, 1), (1, 0)],
        [(0, 2), (2, 0)],
        [(1, 1)],
        [(1, 2), (2, 1)],
        [(2, 2)],
    ]


@pytest.mark.parametrize("table", [two_queues(2, second=nu), two_queues(2, tie=nu)])
def test_different_queues_are_kept_apart(table):
    assert all(len(block) == 1 for block in lumped_states(table))


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_lumping_does_not_change_the_law(capacity, monkeypatch):
    table = two_queues(capacity)
    law = exact_law(table)
    monkeypatch.setattr(exact, "exact_lumping", lambda ring, rows: [[i] for i in range(len(rows))])
    assert exact_law(table) == law


def test_equal_rates_out_are_not_enough():
    # states 1 and 2 may be merged for the transitions out of them, not for the probabilities
    table = table_from_matrix([["-3", 1, 2], ["lambda", "-lambda", 0], ["lambda", 0, "-lambda"]])
    assert exact_lumping(table.ring, table.rows) == [[0], [1], [2]]
    assert exact_law(table)[2] == 2 * exact_law(table)[1]


def test_complete_symmetry():
    table = table_from_matrix(sp.ones(6, 6) - 6 * sp.eye(6))
    assert exact_lumping(table.ring, table.rows) == [list(range(6))]
    assert set(exact_law(table).at({}).values()) == {Fraction(1, 6)}


@given(st.integers(2, 6), st.data())
@settings(max_examples=60, deadline=None)
def test_blocks_balance_alike(size, data):
    # against the definition; few different rates, so that blocks occur
    matrix = sp.zeros(size, size)
    for i, j in product(range(size), repeat=2):
        if i != j:
            matrix[i, j] = 1 if j == (i + 1) % size else data.draw(st.sampled_from([0, 1, 1, 2]))
    rates = matrix.tolist()
    for i in range(size):
        matrix[i, i] = -sum(rates[i])
    table = table_from_matrix(matrix)
    blocks = exact_lumping(table.ring, table.rows)
    assert sorted(i for block in blocks for i in block) == list(range(size))
    for block in blocks:
        for source in blocks:
            assert len({sum(rates[i][j] for i in source) for j in block}) == 1
        assert len({sum(rates[i]) for i in block}) == 1
    law = exact_law(table)
    assert all(len({law[i] for i in block}) == 1 for block in blocks)
    assert _coarsest(rates) == blocks


def _coarsest(rates):
    """Refinement of the trivial partition, all blocks in each round, until nothing changes."""
    size = len(rates)
    label = [0] * size
    while True:
        signs = [
            (
                label[j],
                sum(rates[j]),
                *(sum(rates[i][j] for i in range(size) if label[i] == c) for c in range(size)),
            )
            for j in range(size)
        ]
        new = [signs.index(sign) for sign in signs]
        if new == label:
            return sorted([j for j in range(size) if label[j] == c] for c in set(label))
        label = new


def test_lumped_rates_are_flows():
    table = table_from_matrix([["-2*a", "a", "a"], ["b", "-b", 0], ["b", 0, "-b"]])
    rows = lumped_rates(table.ring, table.rows, [[0], [1, 2]])
    shown = [{j: str(table.ring.expression(r)) for j, r in row.items()} for row in rows]
    assert shown == [{1: "2*a"}, {0: "2*b"}]
