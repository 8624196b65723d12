"""The constructive schedule: its invariants on random instances, and the worked examples."""

import random
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.errors import DomainError, UnstableError
from qtheory.learning.feasibility import feasibility
from qtheory.learning.schedule import completed, doubly_stochastic, schedule
from qtheory.learning.single_queue import lam as arrival_rate
from qtheory.learning.single_queue import mean
from qtheory.learning.single_queue import mu as service_rate


def feasible_instances(count, seed):
    draw = random.Random(seed)
    found = []
    while len(found) < count:
        n, m = draw.randint(1, 7), draw.randint(1, 9)
        lam = [Fraction(draw.randint(1, 20), draw.choice([20, 30, 57])) for _ in range(n)]
        mu = [Fraction(draw.randint(0, 40), 40) for _ in range(m)]
        if feasibility(lam, mu):
            found.append((lam, mu))
    return found


def require_valid(found, lam, mu):
    n = len(lam)
    assert sum(found.weights) == 1 and min(found.weights) > 0
    for row in found.assignments:
        used = [j for j in row if j != -1]
        assert len(row) == n and len(set(used)) == len(used) and set(used) <= set(range(len(mu)))
    # what the assignments do, from the weights alone
    cleared = tuple(
        sum(
            w * mu[row[i]]
            for w, row in zip(found.weights, found.assignments, strict=True)
            if row[i] != -1
        )
        for i in range(n)
    )
    assert cleared == found.clearing
    assert all(y >= x + found.margin for x, y in zip(lam, cleared, strict=True))
    assert all(sum(line) == 1 and min(line) >= 0 for line in found.mixing)
    assert all(sum(line) == 1 for line in zip(*found.mixing, strict=True))
    rates = [*sorted(mu, reverse=True), *[Fraction(0)] * n][:n]
    served = [sum(p * r for p, r in zip(line, rates, strict=True)) for line in found.mixing]
    assert served == sorted(cleared, reverse=True)
    graph = nx.Graph(
        (("queue", i), ("server", j))
        for i, row in enumerate(found.mixing)
        for j, p in enumerate(row)
        if p
    )
    bound = graph.number_of_edges() - 2 * n + nx.number_connected_components(graph) + 1
    assert found.largest_count == bound
    assert len(found.weights) <= bound <= (n - 1) ** 2 + 1


def test_every_feasible_instance_has_a_schedule():
    for lam, mu in feasible_instances(100, seed=5):
        found = schedule(lam, mu)
        require_valid(found, lam, mu)
        assert found.margin == feasibility(lam, mu).margin
        assert min(y - x for x, y in zip(lam, found.clearing, strict=True)) == found.margin


def test_the_bound_needs_the_components():
    # each queue has a server of its own rate: P is the identity
    found = schedule(["1/4", "1/2", "3/4"], ["1/2", "3/4", 1], margin="1/4")
    assert found.weights == (1,) and found.assignments == ((0, 1, 2),)
    edges = sum(p > 0 for row in found.mixing for p in row)
    assert found.largest_count == 1 > edges - 2 * 3 + 2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.fractions("1/50", 1, max_denominator=50))
def test_smaller_margins(seed, share):
    ((lam, mu),) = feasible_instances(1, seed)
    margin = feasibility(lam, mu).margin * share
    found = schedule(lam, mu, margin)
    assert found.margin == margin
    require_valid(found, lam, mu)


def test_the_worked_examples():
    found = schedule(["1/2", "2/5", "1/10"], ["9/10", "1/3"])
    assert found.clearing == (Fraction(26, 45), Fraction(43, 90), Fraction(8, 45))
    assert found.mean_sizes == (Fraction(19, 7), Fraction(94, 35), Fraction(37, 35))
    expected = (("494/867", "169/867", "4/17"), ("13/51", "38/51", "0"))
    expected += (("152/867", "52/867", "13/17"),)
    assert found.mixing == tuple(tuple(map(Fraction, row)) for row in expected)
    assert any(-1 in row for row in found.assignments)

    second = schedule(["1/2", "1/4"], ["2/3", "1/4", "1/6", "1/6"])
    assert second.margin == Fraction(1, 12)
    assert second.clearing == (Fraction(7, 12), Fraction(1, 3))
    assert second.mixing == ((Fraction(4, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(4, 5)))
    assert second.mean_sizes == (Fraction(5, 2), 2)
    assert "E[Q] = 5/2" in repr(second)
    assert second._repr_latex_().count("pmatrix") == 6


def test_mean_sizes_are_those_of_a_queue_of_its_own():
    found = schedule(["1/10", "1/2", "2/5"], ["1/3", "9/10"])
    for x, y, size in zip(found.lam, found.clearing, found.mean_sizes, strict=True):
        assert mean.subs({arrival_rate: x, service_rate: y}) == size


def test_the_scheduler_of_the_simulation():
    found = schedule(["1/4", "1/2"], ["2/3", "1/4"])
    run = found.scheduler()
    assert (run.weights, run.assignments) == (found.weights, found.assignments)


def test_the_parts():
    third = Fraction(1, 3)
    y = completed([third, third, third], [Fraction(1), Fraction(1, 2), Fraction(0)])
    assert sum(y) == Fraction(3, 2) and min(y) >= third
    mixing = doubly_stochastic([Fraction(1), Fraction(1, 2), Fraction(0)], y)
    rates = (1, Fraction(1, 2), 0)
    assert [sum(p * r for p, r in zip(row, rates, strict=True)) for row in mixing] == y


def test_what_has_no_schedule():
    with pytest.raises(UnstableError, match=r"needs L_k < M_k .* got 1 and 1 for k = 2"):
        schedule(["1/2", "1/2"], ["3/4", "1/4"])
    with pytest.raises(UnstableError, match="got 1 and 1 for k = 1"):
        schedule([1], [1])
    for margin in (0, "-1/10", "1/11"):
        with pytest.raises(DomainError, match=r"\(0, eps\*\] = \(0, 1/12\]"):
            schedule(["1/2", "1/4"], ["2/3", "1/4"], margin)
