"""Central feasibility: the prefix sums, the scale factor, the margin, and the exception."""

import random
from fractions import Fraction
from itertools import permutations, product

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.learning.feasibility import feasibility, feasibility_conditions

arrivals = st.lists(st.fractions("1/20", 1, max_denominator=20), min_size=1, max_size=5)
services = st.lists(st.fractions(0, 1, max_denominator=20), min_size=1, max_size=6)


def test_the_worked_example():
    found = feasibility(["1/2", "2/5", "1/10"], ["9/10", "1/3"])
    assert found.slacks == (Fraction(2, 5), Fraction(1, 3), Fraction(7, 30))
    assert (found.scale, found.margin) == (Fraction(37, 30), Fraction(7, 90))
    assert found.is_feasible and found.is_stabilisable and found
    assert "feasible: c* = 37/30, eps* = 7/90" in repr(found)
    assert r"\frac{7}{30}" in found._repr_latex_()


def test_decimals_are_read_as_they_are_written_and_order_does_not_matter():
    assert feasibility([0.1, 0.5, 0.4], ["1/3", 0.9]).slacks == (
        feasibility(["1/2", "2/5", "1/10"], ["9/10", "1/3"]).slacks
    )
    assert feasibility([0.1], [1]).lam == (Fraction(1, 10),)


@settings(max_examples=60, deadline=None)
@given(arrivals, services, st.randoms())
def test_scale_and_margin_say_what_they_should(lam, mu, shuffle):
    found = feasibility(lam, mu)
    mixed = shuffle.sample(lam, len(lam)), shuffle.sample(mu, len(mu))
    assert feasibility(*mixed).slacks == found.slacks
    assert found.is_feasible == (found.scale > 1) == (found.margin > 0)
    # c lambda is feasible if and only if c < c*, by the sums of the k largest rates
    for c in (found.scale * Fraction(99, 100), found.scale):
        fits = all(c * sum(sorted(lam)[-k:]) < sum(sorted(mu)[-k:]) for k in range(1, len(lam) + 1))
        assert fits == (c < found.scale)


def test_the_margin_is_the_optimum_of_the_linear_program():
    import numpy as np
    from scipy.optimize import linprog

    draw = random.Random(3)
    for _ in range(25):
        n, m = draw.randint(1, 5), draw.randint(1, 6)
        lam = [Fraction(draw.randint(1, 20), 20) for _ in range(n)]
        mu = [Fraction(draw.randint(0, 20), 20) for _ in range(m)]
        # x_ij, the probability that queue i sends to j without a rival, and the margin
        above, right = [], []
        for i in range(n):
            row = np.zeros((n, m))
            row[i] = -np.array(mu, dtype=float)
            above.append([*row.ravel(), 1.0])
            right.append(-float(lam[i]))
        for axis, count in ((0, n), (1, m)):
            for k in range(count):
                row = np.zeros((n, m))
                row[(k, slice(None)) if axis == 0 else (slice(None), k)] = 1
                above.append([*row.ravel(), 0.0])
                right.append(1.0)
        cost = [0.0] * (n * m) + [-1.0]
        bounds = [(0, None)] * (n * m) + [(None, None)]
        found = linprog(cost, A_ub=above, b_ub=right, bounds=bounds)
        assert -found.fun == pytest.approx(float(feasibility(lam, mu).margin), abs=1e-9)


def test_no_assignment_serves_k_queues_better_than_the_k_fastest_servers():
    mu = [Fraction(1, 2), Fraction(1, 5), Fraction(9, 10)]
    for k in (1, 2, 3):
        best = max(sum(choice) for choice in permutations(mu, k))
        assert best == feasibility(["1/10"] * 3, mu).services[k - 1]


def test_equality_of_rates_one_is_the_only_exception():
    one = feasibility([1], [1])
    assert not one.is_feasible and one.is_stabilisable and one.saturated == 1
    assert feasibility([1, "1/2"], [1, "3/4"]).is_stabilisable
    assert not feasibility([1, "1/2"], [1, "1/2"]).is_stabilisable
    assert not feasibility(["1/2"], ["1/2"]).is_stabilisable
    assert not feasibility([1, 1], [1]).is_stabilisable
    grid = [Fraction(1, 3), Fraction(2, 3), Fraction(1)]
    for lam, mu in product(product(grid, repeat=2), repeat=2):
        found = feasibility(lam, mu)
        high, low = max(lam), min(lam)
        first, second = max(mu), min(mu)
        whole = high < first and high + low < first + second
        one = high == first == 1 and (low < second or low == second == 1)
        assert (found.is_feasible, found.is_stabilisable) == (whole, whole or one)


def test_symbolic_conditions():
    lam, mu = sp.symbols("lambda mu", positive=True)
    assert feasibility_conditions([lam, lam], [1, mu, mu]) == (
        sp.Lt(lam, 1, evaluate=False),
        sp.Lt(2 * lam, 1 + mu, evaluate=False),
    )
    (typed,) = feasibility_conditions(["2*lam"], ["1/2"], factors=[2])
    assert (typed.lhs, typed.rhs) == (4 * sp.Symbol("lambda", real=True), sp.Rational(1, 2))
    assert feasibility_conditions([1], [1]) == (sp.Lt(1, 1, evaluate=False),)
    with pytest.raises(ModelError, match="1 factors for 2 queues"):
        feasibility_conditions([lam, lam], [1], factors=[1])
    with pytest.raises(ModelError, match="at least one queue"):
        feasibility_conditions([], [1])


def test_bad_rates():
    with pytest.raises(ModelError, match="at least one queue and one server, got 0 and 1"):
        feasibility([], [1])
    with pytest.raises(ModelError, match="got 1 and 0"):
        feasibility(["1/2"], [])
    with pytest.raises(DomainError, match="0 < lambda <= 1, got 0 for queue 2 of 2"):
        feasibility(["1/2", 0], [1])
    with pytest.raises(DomainError, match="0 <= mu <= 1, got 3/2 for server 1 of 1"):
        feasibility(["1/2"], ["3/2"])
    with pytest.raises(ExpressionError):
        feasibility([float("nan")], [1])
