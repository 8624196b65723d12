"""Hitting times and absorption probabilities against textbook formulas."""

from fractions import Fraction
from itertools import pairwise

import networkx as nx
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError, ReducibleError
from qtheory.model import Model, Transition, table_from_matrix
from qtheory.stationary import stationary
from qtheory.stationary.exact.hitting import absorption_probabilities, hitting_times

lam, mu, p = sp.symbols("lambda mu p", positive=True)
n, m, d = sp.symbols("n m d", integer=True, nonnegative=True)
QUEUE = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])


def same(left, right) -> bool:
    return sp.cancel(left - right) == 0


def gambler(size: int):
    """Win one with probability p, lose one otherwise, until broke or at `size`."""
    chain = sp.zeros(size + 1, size + 1)
    chain[0, 0] = chain[size, size] = 1
    for i in range(1, size):
        chain[i, i + 1], chain[i, i - 1] = p, 1 - p
    return table_from_matrix(chain, time="discrete")


@pytest.mark.parametrize("size", [2, 3, 6])
def test_gamblers_ruin(size):
    # W. Feller, An Introduction to Probability Theory I (1968), XIV.2 and XIV.3
    found = absorption_probabilities(gambler(size))
    times = hitting_times(gambler(size), [0, size])
    ratio = (1 - p) / p
    for i in range(size + 1):
        ruin = (ratio**i - ratio**size) / (1 - ratio**size)
        assert same(found[i][0], ruin)
        assert same(found[i][0] + found[i][size], 1)
        duration = i / (1 - 2 * p) - size / (1 - 2 * p) * (1 - ratio**i) / (1 - ratio**size)
        assert same(times[i], duration)
    # at p = 1/2 the formulas above divide by zero: ruin (N - i)/N, duration i (N - i)
    for i in range(size + 1):
        assert found[i][0].subs(p, sp.Rational(1, 2)) == sp.Rational(size - i, size)
        assert times[i].subs(p, sp.Rational(1, 2)) == i * (size - i)


@pytest.mark.parametrize("capacity", [1, 2, 5, 12])
def test_busy_period_of_mm1k(capacity):
    # from n to n - 1 it takes sum_(k <= K - n) lambda^k / mu^(k + 1)
    times = hitting_times(QUEUE, 0, box=capacity)
    for k in range(1, capacity + 1):
        step = sum(lam**j / mu ** (j + 1) for j in range(capacity - k + 1))
        assert same(times[(k,)] - times[(k - 1,)], step)
    # renewal: idle time 1/lambda in a cycle of idle and busy time
    law = stationary(QUEUE, box=capacity)
    assert same(law[0], 1 / lam / (1 / lam + times[(1,)]))


def test_erlang_chain():
    # phases one after the other with rates a_k: the sum of the means
    rates = sp.symbols("a:5")
    graph = nx.DiGraph((k, k + 1, {"rate": rate}) for k, rate in enumerate(rates))
    times = hitting_times(graph, 5)
    for k in range(6):
        assert same(times[k], sum((1 / rate for rate in rates[k:]), sp.Integer(0)))


def test_competing_risks():
    a, b, c = sp.symbols("a b c", positive=True)
    found = absorption_probabilities([[-a - b - c, a, b, c], [0] * 4, [0] * 4, [0] * 4])
    assert [found[0][k] for k in (1, 2, 3)] == [a / (a + b + c), b / (a + b + c), c / (a + b + c)]
    # absorbing states keep their rates of zero (storm#1063)
    slow = absorption_probabilities([["-3/10000", "1/10000", "2/10000"], [0] * 3, [0] * 3])
    assert slow[0] == {1: sp.Rational(1, 3), 2: sp.Rational(2, 3)}


def test_closed_classes_of_several_states():
    chain = [[-2, 1, 1, 0], [0, -1, 1, 0], [0, 1, -1, 0], ["a", 0, 1, "-a-1"]]
    a = sp.Symbol("a", real=True)
    found = absorption_probabilities(chain)
    assert found[3] == {(1, 2): 1}
    chain = [[0, 0, 0, 0], [0, -1, 1, 0], [0, 1, -1, 0], ["a", 0, 1, "-a-1"]]
    found = absorption_probabilities(chain)
    assert found[3] == {0: a / (a + 1), (1, 2): 1 / (a + 1)}
    assert found[1] == {0: 0, (1, 2): 1}


def test_nested_fractions_and_named_states():
    x, y = sp.symbols("x y", positive=True)
    rate = 1 / (1 / x + 1 / y)
    table = table_from_matrix([[-rate, rate], [0, 0]], states=["up", "down"])
    assert same(hitting_times(table, "down")["up"], 1 / x + 1 / y)
    assert list(hitting_times(table, "down")) == ["up", "down"]


def test_two_queues_in_a_window():
    steps = [
        Transition(lam, (1, 0)),
        Transition(mu, (-1, 1), when=m >= 1),
        Transition(p, (0, -1), when=d >= 1),
    ]
    tandem = Model((m, d), Domain(), steps)
    times = hitting_times(tandem, (0, 0), box=(1, 1))
    by_predicate = hitting_times(tandem, lambda s: sum(s) == 0, box=(1, 1))
    assert times == by_predicate
    # first step analysis by SymPy's own linear algebra
    order = [(0, 1), (1, 0), (1, 1)]
    rates = {(0, 1): {(0, 0): p, (1, 1): lam}, (1, 0): {(0, 1): mu}, (1, 1): {(1, 0): p}}
    matrix = sp.zeros(3, 3)
    for i, state in enumerate(order):
        for target, rate in rates[state].items():
            matrix[i, i] += rate
            if target in order:
                matrix[i, order.index(target)] -= rate
    expected = matrix.LUsolve(sp.ones(3, 1))
    assert all(same(times[s], expected[i]) for i, s in enumerate(order))
    at = hitting_times(tandem, [(0, 0)], box=(1, 1), at={lam: 1, mu: 2, p: 3})
    assert all(at[s] == times[s].subs({lam: 1, mu: 2, p: 3}) for s in times)


@given(st.integers(2, 6), st.data())
@settings(max_examples=40, deadline=None)
def test_kac_formula(size, data):
    # the mean return time to a state is one over its stationary flow (Norris, theorem 3.5.3)
    rates = st.fractions(Fraction(1, 5), 5, max_denominator=7)
    graph = nx.DiGraph()
    for i in range(size):
        for j in range(size):
            if j == (i + 1) % size or (i != j and data.draw(st.booleans())):
                graph.add_edge(i, j, rate=data.draw(rates))
    law, times = stationary(graph), hitting_times(graph, 0)
    out = {j: sp.Rational(str(edge["rate"])) for _, j, edge in graph.out_edges(0, data=True)}
    total = sum(out.values())
    cycle = (1 + sum(rate * times[j] for j, rate in out.items())) / total
    assert law[0] == 1 / (total * cycle)


@given(st.lists(st.fractions(Fraction(1, 9), 9, max_denominator=9), min_size=2, max_size=5))
@settings(max_examples=20, deadline=None)
def test_probabilities_sum_to_one(rates):
    graph = nx.DiGraph()
    states = range(len(rates) + 1)
    for (i, j), rate in zip(pairwise(states), rates, strict=True):
        graph.add_edge(i, j, rate=rate)
        if i:
            graph.add_edge(i, i - 1, rate=sp.Symbol("x"))
    for probabilities in absorption_probabilities(graph).values():
        assert sp.cancel(sum(probabilities.values())) == 1


def test_infinite_means_are_refused():
    # parametric engines answered for targets out of reach (prism#4)
    with pytest.raises(ReducibleError, match=r"cannot be reached from states 1, 2$"):
        hitting_times([[-1, 1, 0], [0, -1, 1], [0, 1, -1]], 0)
    with pytest.raises(
        ReducibleError, match="from state 2, and are missed with positive probability from state 1"
    ):
        hitting_times([[0, 0, 0], ["a", "-a-b", "b"], [0, 0, 0]], 0)


def test_targets_that_do_not_exist():
    with pytest.raises(DomainError, match="no state 7"):
        hitting_times([[-1, 1], [1, -1]], 7)
    with pytest.raises(DomainError, match="no state 7"):
        hitting_times([[-1, 1], [1, -1]], [0, 7])
    with pytest.raises(DomainError, match="no state is a target"):
        hitting_times([[-1, 1], [1, -1]], lambda state: state > 3)
    with pytest.raises(DomainError, match="no state is a target"):
        hitting_times([[-1, 1], [1, -1]], [])
    with pytest.raises(ModelError, match="already finite"):
        hitting_times([[-1, 1], [1, -1]], 0, box=3)
