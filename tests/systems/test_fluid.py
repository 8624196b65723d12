"""Fluid trajectories: the symbolic equations, M/M/1 transients, the sliding mode, Lyapunov."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems.dedicated_streams.fluid_path import drift, fixed_point, trajectory
from qtheory.systems.dedicated_streams.occupancy_simulation import _empty, _moved

LAM, LAM_S, MU = 0.4, 0.3, 1.0
RATES = ("2/5", "3/10", 1)
AT = {ds.lam: sp.Rational(2, 5), ds.lam_s: sp.Rational(3, 10), ds.mu: 1}

tenths = st.lists(st.integers(0, 10), min_size=1, max_size=5).map(
    lambda values: sorted(values, reverse=True)
)


@given(tenths)
@settings(max_examples=40, deadline=None)
def test_the_drift_is_that_of_the_symbolic_equations(values):
    tails = [sp.Rational(value, 10) for value in values]
    expected = [float(rate.subs(AT)) for rate in ds.fluid(tails)]
    full = values.count(10)
    padded = np.array([value / 10 for value in values] + [0.0])
    # the level that lam_s cannot hold falls: it is not among the full ones
    if full and MU * (1 - padded[full]) > LAM_S:
        full -= 1
    assert drift(padded, full, LAM, LAM_S, MU) == pytest.approx(expected)


def test_the_fixed_point_stands_still():
    tails = fixed_point(LAM, LAM_S, MU, 80)
    assert abs(drift(tails, 0, LAM, LAM_S, MU)).max() < 1e-12
    assert tails.sum() == pytest.approx(7 / 6)


def test_without_a_smart_stream_the_queues_are_independent():
    """The transient law of M/M/1 from two customers, by the matrix exponential."""
    size, t = 80, 3.0
    Q = np.diag([0.4] * (size - 1), 1) + np.diag([1.0] * (size - 1), -1)
    Q -= np.diag(Q.sum(axis=1))
    law = expm(Q * t)[2]
    expected = law[::-1].cumsum()[::-1][1:21]
    path = trajectory([1, 1], [t], "2/5", 0, 1)
    assert path.tails[0, :20] == pytest.approx(expected, abs=1e-9)


def test_the_mean_falls_at_a_constant_rate_while_a_level_is_full():
    path = trajectory([1, 1, 1, 1, "3/4"], np.linspace(0, 12, 61), *RATES)
    assert [phase.full for phase in path.phases] == [4, 3, 2, 1, 0]
    sliding = path.times <= path.sliding_ends
    assert 30 < sliding.sum() < 61
    assert path.means[sliding] == pytest.approx(4.75 - 0.3 * path.times[sliding], abs=1e-8)
    assert (path.tails[sliding, 0] == 1).all()
    assert (path.tails[~sliding, 0] < 1).all()
    # the phase must end before the mean would be below 1
    assert path.sliding_ends < 3.75 / 0.3


def test_partial_filling_lifts_the_next_level_before_it_falls():
    """Level 2 is fed by lam_s - mu (1 - s_2) = 0.2, fills up, and is let go again."""
    path = trajectory([1, "9/10", "9/10", "9/10", "4/5"], np.linspace(0, 8, 81), *RATES)
    assert [phase.full for phase in path.phases] == [1, 2, 1, 0]
    assert path.tails[1, 1] > 0.9
    start, end = path.phases[1].start, path.phases[2].start
    within = (path.times > start) & (path.times < end)
    assert (path.tails[within, 1] == 1).all()
    assert (path.tails[-1, :5] < 1).all()


def test_sliding_ends_when_service_outruns_the_smart_stream():
    """While s_1 = 1 = s_2(0) and s_3 = 0 nearly: the end has mu (1 - s_2) = lam_s."""
    first = trajectory([1, 1], [0], *RATES)
    assert [phase.full for phase in first.phases] == [1]
    assert first.sliding_ends == math.inf
    end = trajectory([1, 1], [5], *RATES).sliding_ends
    path = trajectory([1, 1], [end], *RATES)
    assert path.tails[0, 1] == pytest.approx(0.7, abs=1e-9)
    # just below and just above the threshold, at the start
    assert trajectory([1, "69/100"], [1], *RATES).phases[0].full == 0
    assert trajectory([1, "71/100"], [1], *RATES).phases[0].full == 1


@given(tenths)
@settings(max_examples=12, deadline=None)
def test_the_lyapunov_function_falls_at_its_rate_and_tails_stay_ordered(values):
    path = trajectory([Fraction(v, 10) for v in values], np.linspace(0, 30, 61), *RATES)
    after = path.times >= path.sliding_ends
    V = path.lyapunov[after]
    rate = (math.sqrt(MU) - math.sqrt(LAM)) ** 2
    assert (V[1:] <= V[:-1] * math.exp(-rate * 0.5) * (1 + 1e-6) + 1e-8).all()
    assert (np.diff(path.tails, axis=1) <= 1e-9).all()
    assert path.tails.min() > -1e-9
    assert path.tails.max() <= 1


@given(tenths, tenths)
@settings(max_examples=10, deadline=None)
def test_order_is_kept(first, second):
    size = max(len(first), len(second))
    pair = [v + [0] * (size - len(v)) for v in (first, second)]
    low, high = ([Fraction(f(a, b), 10) for a, b in zip(*pair, strict=True)] for f in (min, max))
    times = np.linspace(0, 6, 13)
    below, above = (trajectory(start, times, *RATES).tails for start in (low, high))
    width = min(below.shape[1], above.shape[1])
    assert (below[:, :width] <= above[:, :width] + 1e-8).all()


def test_levels_beyond_the_truncation_are_within_the_stated_bound():
    path = trajectory([1, 1, 1], np.linspace(0, 20, 5), *RATES)
    beyond = np.arange(path.tails.shape[1]) - 2  # level k = index + 1, n = 3
    assert (path.tails[:, 3:] <= 0.4 ** beyond[3:] + 1e-12).all()
    assert path.truncation < 1e-11
    assert path.beyond < 1e-11


def test_many_queues_follow_the_trajectory():
    """Independent systems of 1000 queues, from a state that is filled up and let go again."""
    N, t, systems = 1000, 3.0, 100
    tails = np.array([1, 0.9, 0.9, 0.9, 0.8])
    generator = np.random.default_rng(3)
    paths = _empty(N, systems)
    paths.counts[1:6] = np.rint(N * tails)[:, None]
    for _ in range(round(N * (LAM + LAM_S + MU) * t)):
        paths = _moved(paths, N, LAM, LAM_S, MU, generator)
    limit = trajectory([1, "9/10", "9/10", "9/10", "4/5"], [t], *RATES).tails[0]
    assert paths.counts[1:9].mean(axis=1) / N == pytest.approx(limit[:8], abs=0.02)


@pytest.mark.parametrize(
    ("tails", "times", "rates", "error"),
    [
        ([0.5, 0.7], [1], RATES, ModelError),
        ([1.2], [1], RATES, ModelError),
        ([0.5, -0.1], [1], RATES, ModelError),
        ([1], [2, 1], RATES, ModelError),
        ([1], [], RATES, ModelError),
        ([1], [-1], RATES, ModelError),
        ([1], [1], ("2/5", "3/5", 1), UnstableError),
        ([1], [1], (0, "3/5", 1), DomainError),
    ],
)
def test_bad_input(tails, times, rates, error):
    with pytest.raises(error):
        trajectory(tails, times, *rates)
