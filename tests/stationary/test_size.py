"""The size of a law, estimated before it is computed."""

import networkx as nx
import pytest
import sympy as sp

from qtheory.domain import Domain
from qtheory.errors import ModelError, ReducibleError
from qtheory.model import Model, Transition, rate_table, table_from_graph, table_from_matrix
from qtheory.stationary.exact import elimination
from qtheory.stationary.exact.points import table_at
from qtheory.stationary.exact.solve import exact_law, law_size
from qtheory.systems import shorter_queue
from qtheory.systems.shorter_queue import d, m


def window(capacity):
    return rate_table(shorter_queue.model(), capacity, where=m + d <= capacity)


def mm1(capacity):
    lam, mu = sp.symbols("lambda mu", positive=True)
    n = sp.Symbol("n", integer=True, nonnegative=True)
    steps = [Transition(lam, +1), Transition(mu, -1, when=n >= 1)]
    return rate_table(Model(n, Domain(), steps), capacity)


def ring(size):
    graph = nx.DiGraph()
    for i in range(size):
        graph.add_edge(i, (i + 1) % size, rate=sp.Symbol(f"a{i}"))
        graph.add_edge((i + 1) % size, i, rate=sp.Symbol(f"b{i}"))
    return table_from_graph(graph)


@pytest.mark.parametrize("table", [window(1), window(2), window(4), mm1(9), ring(9)])
def test_the_estimate_is_above_the_truth(table):
    law, size = exact_law(table), law_size(table)
    terms = sum(map(len, law.numerators))
    assert terms <= size.terms * (1 + 1e-9) <= 20 * terms
    degrees = {
        name: max(int(w.degrees()[k]) for w in law.numerators)
        for k, name in enumerate(law.ring.names)
    }
    assert all(degrees[name] == degree for name, degree in size.degrees.items())


def test_one_tree_to_each_state_is_one_term():
    assert law_size(mm1(30)).terms == pytest.approx(31)
    # one edge is left out of each tree of a ring
    assert law_size(ring(40)).terms == pytest.approx(1600)


def test_a_budget_stops_before_the_work(monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("the work has begun")

    monkeypatch.setattr(elimination, "minors", never)
    with pytest.raises(ModelError, match=r"up to about 4\.1e\+05 terms in 91 weights") as caught:
        exact_law(window(12), budget=10_000)
    assert "lambda 90, p 48" in str(caught.value) and "at=" in str(caught.value)


def test_within_the_budget():
    assert exact_law(window(2), budget=1000) == exact_law(window(2))
    point = {"lambda": 1, "mu": 1, "p": "1/2"}
    assert len(exact_law(table_at(window(8), point), budget=45)) == 45


def test_the_size_of_no_law():
    with pytest.raises(ReducibleError):
        law_size(table_from_matrix([[0, 0], [0, 0]]))
