"""The law of N queues on the states that hold the mass: means, marginals, laws known exactly."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.systems.dedicated_streams.occupancy import occupancy_law
from qtheory.systems.dedicated_streams.occupancy_window import (
    Rates,
    after,
    moves,
    outflow,
    partitions,
    states_below,
    window_of,
)

POINT = ("2/5", "3/10", 1)

PUBLISHED = {
    # N: E_N[X], E_N[M] at lam = 2/5, lam_s = 3/10, mu = 1
    1: (7 / 3, 7 / 3),
    2: (1.6977697258, 1.0622061184),
    3: (1.4912508930, 0.6491684530),
    4: (1.39041916, 0.447505),
    5: (1.33136, 0.32939),
}

laws = {N: occupancy_law(N, *POINT) for N in PUBLISHED}


@pytest.mark.parametrize("N", PUBLISHED)
def test_means_are_the_published_ones(N):
    law, (length, shortest) = laws[N], PUBLISHED[N]
    assert law.mean_shortest == pytest.approx(shortest, abs=2e-6)  # five digits at N = 5
    assert law.mean_length == pytest.approx(length, abs=3e-6)
    # (I5), which the truncated chain does not know of
    assert abs(law.discrepancy) < 1e-6
    assert law.outside <= 1e-8
    assert law.residual < 1e-14


@pytest.mark.parametrize("N", PUBLISHED)
def test_a_queue_is_idle_for_the_share_that_the_load_leaves(N):
    typical = laws[N].typical
    assert typical[0] == pytest.approx(0.3, abs=1e-8)
    assert typical.sum() == pytest.approx(1, abs=1e-12)
    assert typical @ np.arange(len(typical)) == pytest.approx(laws[N].mean_length, abs=1e-12)


def test_mean_length_falls_to_the_mean_field_limit():
    lengths = [laws[N].mean_length for N in sorted(laws)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] > 7 / 6


def test_one_queue_is_geometric():
    law = laws[1]
    assert law.states[:, 0].tolist() == list(range(len(law)))
    expected = 0.3 * 0.7 ** np.arange(len(law))
    assert law.probabilities == pytest.approx(expected, abs=1e-9)


def test_independent_queues_have_the_product_law():
    law = occupancy_law(3, "1/3", 0, 1)
    expected = {}
    for state in combinations_with_replacement(range(8), 3):
        orders = {1: 1, 2: 3, 3: 6}[len(set(state))]
        expected[state] = orders * (2 / 3) ** 3 / 3 ** sum(state)
    found = dict(zip(map(tuple, law.states.tolist()), law.probabilities, strict=True))
    for state, probability in expected.items():
        assert found.get(state, 0.0) == pytest.approx(probability, abs=1e-8)
    # P(M >= k) = load^(3 k)
    assert law.mean_shortest == pytest.approx(1 / 26, abs=1e-7)


def test_only_the_joining_customers_count():
    joined = occupancy_law(2, "2/5", "3/10", 1, q="1/2")
    thinned = occupancy_law(2, "1/5", "3/10", 1)
    assert joined.mean_shortest == thinned.mean_shortest


def test_nobody_joins_the_dedicated_streams():
    law = occupancy_law(2, "2/5", "3/10", 1, q=0)
    # I5 without dedicated customers: E[X] = lam_s (1 + E[M])/mu
    assert law.mean_length == pytest.approx(0.3 * (1 + law.mean_shortest), abs=1e-7)
    assert law.typical[0] == pytest.approx(0.7, abs=1e-8)


def test_nobody_arrives():
    law = occupancy_law(4, 1, 0, 2, q=0)
    assert (law.mean_shortest, law.mean_length, law.outside) == (0, 0, 0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_the_mass_outside_is_estimated_from_above(tolerance):
    rough = occupancy_law(4, *POINT, tolerance=tolerance)
    fine = window_of(laws[4].states)
    inside = laws[4].probabilities[fine.find(rough.states)].sum()
    assert 0.2 * rough.outside < 1 - inside < rough.outside


@settings(max_examples=5, deadline=None)
@given(
    N=st.integers(2, 3),
    lam=st.fractions("1/10", "2/5", max_denominator=10),
    lam_s=st.fractions(0, "3/10", max_denominator=10),
)
def test_balance_equations_hold_at_likely_states(N, lam, lam_s):
    law = occupancy_law(N, lam, lam_s, 1, tolerance=1e-6)
    assert abs(law.discrepancy) < 1e-3
    window, rates = window_of(law.states), Rates(float(lam), float(lam_s), 1.0)
    inflow = np.zeros(len(law))
    for move in moves(law.states, rates):
        rows = window.find(after(law.states, move))
        np.add.at(inflow, rows[rows >= 0], (law.probabilities[move.sources] * move.rate)[rows >= 0])
    likely = law.probabilities > 1e-5
    flow = law.probabilities * outflow(law.states, rates)
    assert inflow[likely] == pytest.approx(flow[likely], rel=1e-2)


def test_moves_are_those_of_the_occupancy():
    """Counted per level, as the paper states the rates."""
    states = np.array(list(combinations_with_replacement(range(4), 4)))
    rates = Rates(Fraction(2), Fraction(3), Fraction(5))
    found = {tuple(state): {} for state in states.tolist()}
    for move in moves(states, rates, object):
        for source, target, rate in zip(
            states[move.sources].tolist(), after(states, move).tolist(), move.rate, strict=True
        ):
            assert target == sorted(target)
            found[tuple(source)][tuple(target)] = rate
    for state, targets in found.items():
        expected = {}
        for level in set(state):
            others = list(state)
            others.remove(level)
            count = state.count(level)
            smart = 4 * 3 if level == min(state) else 0
            expected[tuple(sorted([*others, level + 1]))] = count * 2 + smart
            if level:
                expected[tuple(sorted([*others, level - 1]))] = count * 5
        assert targets == expected


@pytest.mark.parametrize(("most", "parts"), [(0, 3), (7, 1), (9, 3), (12, 5)])
def test_partitions_are_all_sorted_rows_up_to_a_sum(most, parts):
    rows = [tuple(row) for row in partitions(most, parts).tolist()]
    every = combinations_with_replacement(range(most + 1), parts)
    assert len(rows) == len(set(rows))
    assert set(rows) == {row for row in every if sum(row) <= most}


def test_states_below_are_counted_by_shortest_and_excess():
    rows = {tuple(row) for row in states_below(3, [4, 2]).tolist()}
    every = combinations_with_replacement(range(7), 3)
    limits = {0: 4, 1: 2}
    assert rows == {x for x in every if sum(x) - 3 * x[0] <= limits.get(x[0], -1)}


def test_a_window_finds_its_states_and_no_others():
    window = window_of(np.array([[0, 0], [0, 3], [1, 1], [0, 3]]))
    assert len(window) == 3
    every = np.array(list(combinations_with_replacement(range(9), 2)))
    rows = window.find(every)
    inside = {tuple(x) for x in every[rows >= 0].tolist()}
    assert inside == {(0, 0), (0, 3), (1, 1)}
    assert (window.states[rows[rows >= 0]] == every[rows >= 0]).all()
    boundary = {tuple(x) for x in window.boundary.states.tolist()}
    assert boundary == {(0, 1), (0, 2), (1, 3), (0, 4), (1, 2)}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0, *POINT), ModelError),
        ((2, "1/2", "1/2", 1), UnstableError),
        ((2, "1/2", "1/4", "1/2"), UnstableError),
        ((2, -1, 0, 1), DomainError),
        ((2, *POINT, 2), DomainError),
        ((2, *POINT, 1, 0), DomainError),
    ],
)
def test_no_number_without_a_law(arguments, error):
    with pytest.raises(error):
        occupancy_law(*arguments)
