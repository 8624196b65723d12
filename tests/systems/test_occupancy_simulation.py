"""Simulation of many queues: known means, rare minima, the identities and bad options."""

import math

import numpy as np
import pytest

from qtheory.errors import ModelError, UnstableError
from qtheory.systems.dedicated_streams.occupancy import occupancy_law
from qtheory.systems.dedicated_streams.occupancy_simulation import (
    _bands,
    _empty,
    _Paths,
    _resampled,
    simulate_occupancy,
)

RATES = ("2/5", "3/10", 1)


@pytest.mark.parametrize(("N", "shortest"), [(1, 7 / 3), (3, 0.6491684530), (5, 0.329390)])
def test_means_of_few_queues(N, shortest):
    found = simulate_occupancy(N, *RATES, seed=N)
    assert abs(found.shortest.z(shortest)) < 4.5
    assert abs(found.length.z((0.4 + 0.3 * (1 + shortest)) / 0.6)) < 4.5
    assert abs(found.busy.z(0.7)) < 4.5
    assert found.shortest.half_width < 0.25 * shortest


def test_rare_minima_are_met():
    """E_10[M] is 0.014139 at half the dedicated rate; most paths of this length see less."""
    law = occupancy_law(10, *RATES, "1/2", tolerance=1e-5)
    found = simulate_occupancy(10, *RATES, "1/2", horizon=80, seed=4)
    assert abs(found.shortest.z(law.mean_shortest)) < 4.5
    assert found.shortest.half_width < 0.15 * law.mean_shortest


def test_the_identity_gives_a_sharper_length():
    found = simulate_occupancy(12, *RATES, horizon=40, ensembles=8, seed=5)
    better = found.length_by_identity
    assert better.half_width < found.length.half_width / 3
    assert abs(better.mean - found.length.mean) < 4.5 * found.length.standard_error
    assert found.tails[0] == pytest.approx(1)
    assert sum(found.tails[1:]) == pytest.approx(found.length.mean)


def test_without_a_smart_stream_queues_are_independent():
    found = simulate_occupancy(4, "3/5", 0, 1, horizon=120, seed=6)
    load = 0.6**4
    assert abs(found.shortest.z(load / (1 - load))) < 4.5
    assert abs(found.length.z(1.5)) < 4.5


def test_the_same_seed_gives_the_same_run():
    first, again, other = (simulate_occupancy(3, *RATES, horizon=20, seed=s) for s in (1, 1, 2))
    assert first.shortest == again.shortest
    assert first.shortest != other.shortest


def test_resampling_keeps_the_weight_of_every_band():
    generator = np.random.default_rng(0)
    band = _bands(10, 0.3)
    assert band[0] == 0
    assert (np.diff(band) >= 0).all()
    assert band[-1] == band[3]
    idle = generator.integers(0, 11, 300)
    counts = np.zeros((4, 300), dtype=np.int32)
    counts[0], counts[1] = 10, 10 - idle
    ensemble = np.repeat([0, 1, 2], 100)
    weight = 10.0 ** generator.uniform(-12, 0, 300)
    paths = _Paths(counts, weight, ensemble)
    for walkers in (1, 7):
        after = _resampled(paths, band, walkers, generator)
        key = band[after.counts[0] - after.counts[1]] + 100 * after.ensemble
        before = band[idle] + 100 * ensemble
        assert set(key) == set(before)
        for group in set(before):
            expected = weight[before == group].sum()
            assert after.weight[key == group].sum() == pytest.approx(expected, rel=1e-12)
            assert (key == group).sum() == walkers


def test_resampling_draws_in_proportion_to_the_weights():
    generator = np.random.default_rng(1)
    start = _empty(5, 2)
    paths = start._replace(weight=np.array([0.25, 0.75]), ensemble=np.array([0, 0]))
    paths.counts[1, 1] = paths.counts[2, 1] = 1  # another state of the same band
    drawn = _resampled(paths, np.zeros(6, dtype=int), 400, generator)
    assert (drawn.counts[2] == 1).sum() == pytest.approx(300, abs=1)


def test_what_is_never_met_has_no_known_error():
    found = simulate_occupancy(400, "1/10", "1/10", 1, horizon=0.5, warm_up=0, walkers=1)
    assert found.shortest.mean == 0
    assert math.isnan(found.shortest.standard_error)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"ensembles": 1}, ModelError),
        ({"walkers": 0}, ModelError),
        ({"horizon": 0}, ModelError),
        ({"warm_up": -1}, ModelError),
        ({"level": 1}, ModelError),
        ({"q": 2}, ValueError),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error):
        simulate_occupancy(2, *RATES, **options)


def test_bad_rates():
    with pytest.raises(UnstableError):
        simulate_occupancy(2, "2/5", "3/5", 1)
    with pytest.raises(ModelError):
        simulate_occupancy(0, *RATES)
