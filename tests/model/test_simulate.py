"""Simulation: estimates against exact laws, calibrated intervals, paths, bad input."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Eq, Rational, symbols

from qtheory.domain import Domain
from qtheory.errors import (
    DomainError,
    ExpressionError,
    ModelError,
    NonConservativeError,
    ReducibleError,
    UnstableError,
)
from qtheory.model import Model, Transition, generator, lattice, sample_path, simulate
from qtheory.model.simulation import estimates
from qtheory.model.simulation.kernel import Formulas, Table, _alias, kernel
from qtheory.model.simulation.paths import Block, Streams, blocks, cycles, record
from qtheory.model.simulation.rates import point_rates
from qtheory.stationary import stationary
from qtheory.systems import shorter_queue

lam, mu, p = symbols("lambda mu p", positive=True)
n = symbols("n", integer=True, nonnegative=True)
z = sp.Symbol("z", integer=True)
LIMIT = 4.5

QUEUE = Model(
    n,
    Domain(stable=lam < mu),
    [Transition(lam, +1), Transition(mu, -1, when=n >= 1)],
    name="M/M/1",
)
INFINITE = Model(n, Domain(), [Transition(lam, +1), Transition(mu * n, -1, when=n >= 1)])
SERVERS = Model(
    n,
    Domain(stable=lam < 3 * mu),
    [
        Transition(lam, +1),
        Transition(mu * n, -1, when=(n >= 1) & (n <= 2)),
        Transition(3 * mu, -1, when=n >= 3),
    ],
)
WAYS = [
    (method, interval)
    for method in ("uniformised", "event-driven")
    for interval in ("batch_means", "regenerative")
]


def joint_z(first, second):
    """The distance of two estimates in standard errors of their difference."""
    return (first.mean - second.mean) / math.hypot(first.standard_error, second.standard_error)


@pytest.mark.parametrize(("method", "interval"), WAYS)
def test_single_server_queue(method, interval):
    found = simulate(
        QUEUE,
        {lam: 1, mu: 2},
        ["n", "n**2", "n >= 1", Eq(n, 3)],
        horizon=2000,
        method=method,
        interval=interval,
        seed=1,
    )
    assert found.method == method
    # the geometric law: E n = 1, E n^2 = 3, P(n = k) = 2^-(k+1)
    for estimate, value in zip(found, (1, 3, Rational(1, 2), Rational(1, 16)), strict=True):
        assert abs(estimate.z(value)) <= LIMIT
        assert 0 < estimate.standard_error < 0.05


@pytest.mark.parametrize(("method", "interval"), WAYS)
def test_shorter_queue_against_published_digits(method, interval):
    found = simulate(
        shorter_queue.model(),
        {"lam": 1, "mu": 1, "p": 0},
        ["2*m + d", "d", "d == 0"],
        horizon=1500,
        method=method,
        interval=interval,
        seed=2,
    )
    for estimate, value in zip(found, (1.426320751167, 0.573679248833, 0.5), strict=True):
        assert abs(estimate.z(value)) <= LIMIT


def test_shorter_queue_with_misrouted_jobs():
    found = simulate(
        shorter_queue.model(), {"lam": 1, "mu": 1, "p": "1/2"}, "2*m + d", horizon=1500, seed=3
    )
    assert abs(found[0].z(1.596560789354)) <= LIMIT


def test_many_servers():
    # Erlang C with lam/mu = 2 and 3 servers: P(n = 0) = 1/9 and E n = 26/9
    found = simulate(SERVERS, {lam: 2, mu: 1}, ["n", "n == 0"], horizon=1500)
    assert found.method == "uniformised"
    assert abs(found["n"].z(Rational(26, 9))) <= LIMIT
    assert abs(found["n == 0"].z(Rational(1, 9))) <= LIMIT


@pytest.mark.parametrize("interval", ["batch_means", "regenerative"])
def test_rates_that_grow_with_the_state(interval):
    found = simulate(
        INFINITE, {lam: 2, mu: 1}, ["n", "n*(n - 1)", "n == 0"], horizon=150, interval=interval
    )
    assert found.method == "event-driven"
    # the Poisson law of mean 2
    for estimate, value in zip(found, (2, 4, math.exp(-2)), strict=True):
        assert abs(estimate.z(value)) <= LIMIT


@pytest.mark.parametrize("interval", ["batch_means", "regenerative"])
def test_discrete_time(interval):
    walk = Model(
        n, Domain(), [Transition("1/5", +1), Transition("2/5", -1, when=n >= 1)], time="discrete"
    )
    found = simulate(walk, {}, ["n", "n == 0"], horizon=1000, interval=interval)
    assert found.method == "step by step"
    assert abs(found["n"].z(1)) <= LIMIT
    assert abs(found["n == 0"].z(0.5)) <= LIMIT


@pytest.mark.parametrize("method", ["uniformised", "event-driven"])
def test_integer_variable_against_the_law_in_a_large_box(method):
    from scipy.sparse.linalg import spsolve

    model, at = shorter_queue.targeted_model(), {"lam": "3/5", "mu": 1, "p": "1/2"}
    box = {"m": 25, "delta": (-25, 40)}
    matrix = generator(model, box, at=at, field="float").T.tolil()
    states = np.array(lattice(model, box))
    matrix[0] = 1
    law = spsolve(matrix.tocsr(), np.eye(1, len(states))[0])
    total, skew = 2 * states[:, 0] + abs(states[:, 1]), states[:, 1]
    found = simulate(
        model, at, ["2*m", "delta", "delta == 0", "delta <= -1"], horizon=800, method=method
    )
    exact = [2 * states[:, 0] @ law, skew @ law, (skew == 0) @ law, (skew <= -1) @ law]
    for estimate, value in zip(found, exact, strict=True):
        assert abs(estimate.z(value)) <= LIMIT
    queue = simulate(model, at, 2 * sp.Symbol("m") + sp.Abs(sp.Symbol("delta")), horizon=800)
    assert abs(queue[0].z(total @ law)) <= LIMIT


FINITE = Model(
    (n, z),
    Domain(),
    [
        Transition(2, (1, 0), when=n <= 2),
        Transition(1 + n * (2 - z), (-1, 0), when=n >= 1),
        Transition(Rational(3, 2) * (2 - z), (0, 1), when=z <= 1),
        Transition(1, (0, -1), when=(z >= 0) & (n <= 1)),
        Transition(1, (-2, 1), when=(n >= 2) & (z <= 1)),
        Transition(1, (0, -1), when=z >= 2),
    ],
    ranges={n: (0, 3), z: (-1, 2)},
)


@pytest.mark.parametrize(("method", "interval"), WAYS)
def test_the_whole_law_of_a_finite_chain(method, interval):
    law = stationary(FINITE)
    events = [Eq(n, i) & Eq(z, j) for i, j in law]
    found = simulate(FINITE, {}, events, horizon=300, method=method, interval=interval, seed=5)
    scores = np.array([e.z(law[state]) for e, state in zip(found, law, strict=True)])
    assert len(scores) == 16
    assert abs(scores).max() <= LIMIT
    # like chi square: the errors are neither understated nor overstated
    assert 0.2 < (scores**2).mean() < 3
    assert sum(e.mean for e in found) == pytest.approx(1)


@pytest.mark.parametrize(("method", "interval"), WAYS)
def test_intervals_cover_as_often_as_they_say(method, interval):
    scores, covered = [], 0
    for seed in range(100):
        (estimate,) = simulate(
            QUEUE,
            {lam: 1, mu: 3},
            "n",
            horizon=100,
            warm_up=20 if interval == "batch_means" else None,
            replications=20,
            method=method,
            interval=interval,
            seed=seed,
        )
        low, high = estimate.interval
        covered += low <= 0.5 <= high
        scores.append(estimate.z(0.5))
    # 95 expected, with a standard deviation of about 2
    assert 87 <= covered <= 99
    assert 0.8 < np.std(scores) < 1.3
    assert abs(np.mean(scores)) < 0.45


def test_the_methods_agree():
    model, at = shorter_queue.model(), {"lam": "3/2", "mu": 1, "p": "9/10"}
    first, second = (
        simulate(model, at, ["2*m + d", "m >= 3"], horizon=2000, method=method, seed=4)
        for method in ("uniformised", "event-driven")
    )
    for one, other in zip(first, second, strict=True):
        assert abs(joint_z(one, other)) <= LIMIT
    assert abs(first["2*m + d"].z(5.22852)) <= LIMIT


def test_one_seed_gives_one_result():
    options = {"horizon": 50, "replications": 20}
    first = simulate(QUEUE, {lam: 1, mu: 2}, seed=7, **options)
    assert first == simulate(QUEUE, {lam: 1, mu: 2}, seed=7, **options)
    assert first[0].mean != simulate(QUEUE, {lam: 1, mu: 2}, seed=8, **options)[0].mean


@pytest.mark.parametrize(
    ("model", "at", "method", "kind"),
    [
        (shorter_queue.targeted_model(), {"lam": 1, "mu": 1, "p": "1/4"}, "uniformised", Table),
        (shorter_queue.targeted_model(), {"lam": 1, "mu": 1, "p": "1/4"}, "event-driven", Table),
        (INFINITE, {lam: 3, mu: 1}, None, Formulas),
    ],
)
def test_a_replication_does_not_depend_on_the_others(model, at, method, kind):
    chain = kernel(point_rates(model, model.domain.require(at)), method)
    assert isinstance(chain, kind)
    columns = []
    for replications, steps in ((3, 64), (40, 16)):
        start = np.zeros((len(model.state), replications), dtype=np.int64)
        paths = blocks(chain, Streams(11, replications), start, steps)
        parts = [next(paths) for _ in range(128 // steps)]
        columns.append(
            [
                np.concatenate([part.states[:, :, :3] for part in parts]),
                np.concatenate([part.times[:-1, :3] for part in parts]),
            ]
        )
    (states, times), (same_states, same_times) = columns
    assert np.array_equal(states, same_states)
    np.testing.assert_allclose(times, same_times, rtol=1e-12)
    assert (states[:, 0, 0] != states[:, 0, 1]).any()


@pytest.mark.parametrize(
    ("model", "at"),
    [
        (shorter_queue.targeted_model(), {"lam": 1, "mu": 2, "p": "1/4"}),
        (SERVERS, {lam: 2, mu: 1}),
        (FINITE, {}),
        # a variable without ends, with guards on both sides
        (Model(z, Domain(), [Transition(3, +1, when=z <= 1), Transition(5, -1, when=z >= -1)]), {}),
    ],
)
def test_a_table_has_the_rates_of_every_state(model, at):
    rates = point_rates(model, model.domain.require(at))
    sides = [
        range(-6 if low is None else low, 7 if high is None else high + 1)
        for low, high in model.ranges
    ]
    states = np.array(np.meshgrid(*sides, indexing="ij")).reshape(len(sides), -1)
    chain = kernel(rates, "event-driven")
    uniforms = (np.arange(4000) + 0.5).reshape(-1, 1) / 4000
    for state in states.T:
        column = np.repeat(state[:, None], 4000, axis=1)
        (_, reached), totals = chain.run(column, uniforms.T)
        own = rates(state[:, None])[:, 0]
        assert (totals == own.sum()).all()
        # evenly spread numbers hit each jump as often as its rate says
        for jump in set(map(tuple, rates.jumps.T.tolist())):
            rate = own[(rates.jumps.T == jump).all(axis=1)].sum()
            share = (reached.T == state + jump).all(axis=1).mean()
            assert share == pytest.approx(rate / own.sum(), abs=0.003)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
def test_alias_tables_have_the_law_that_they_are_made_of(weights):
    law = np.array(weights, dtype=float)[:, None] / sum(weights)
    accept, alias = _alias(np.repeat(law, 2, axis=1))
    drawn = np.zeros(len(law))
    np.add.at(drawn, np.arange(len(law)), accept[:, 1] / len(law))
    np.add.at(drawn, alias[:, 1], (1 - accept[:, 1]) / len(law))
    np.testing.assert_allclose(drawn, law[:, 0], atol=1e-14)
    for slot in np.flatnonzero(law[:, 0] == 0):
        assert accept[slot, 0] <= 0
        assert slot not in alias[np.arange(len(law)) != slot, 0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 5), st.sampled_from([0.3, 1.0, 7.0]))
def test_integrals_by_chunks_against_one_sojourn_after_the_other(seed, warm_up, width):
    rng = np.random.default_rng(seed)
    steps, replications, chunks, parts = 6, 3, 4, 5
    holds = rng.exponential(size=(steps * parts, replications))
    times = np.concatenate([np.zeros((1, replications)), holds.cumsum(axis=0)])
    values = rng.normal(size=(2, steps * parts, replications))
    upto, carried = np.zeros((2, chunks + 1, replications)), np.zeros((2, replications))
    for part in range(parts):
        own = slice(part * steps, (part + 1) * steps)
        block = Block(np.zeros(0), times[part * steps : (part + 1) * steps + 1], False)
        record(upto, carried, values[:, own], block, warm_up, width)
    for f in range(2):
        for r in range(replications):
            for c in range(chunks):
                low, high = warm_up + c * width, warm_up + (c + 1) * width
                if high > times[-1, r]:
                    continue
                overlap = np.minimum(times[1:, r], high) - np.maximum(times[:-1, r], low)
                expected = (values[f, :, r] * np.maximum(overlap, 0)).sum()
                assert upto[f, c + 1, r] - upto[f, c, r] == pytest.approx(expected, abs=1e-9)


def test_cycles_against_a_loop():
    rng = np.random.default_rng(3)
    steps, replications, parts, limit = 7, 4, 6, 25.0
    visits = rng.integers(0, 4, size=(steps * parts, replications))
    visits[0] = 0
    holds = rng.exponential(size=visits.shape)
    times = np.concatenate([np.zeros((1, replications)), holds.cumsum(axis=0)])
    values = rng.normal(size=(1, *visits.shape))
    since, found = np.zeros((2, replications)), []
    for part in range(parts):
        own = slice(part * steps, (part + 1) * steps)
        block = Block(np.zeros(0), times[part * steps : (part + 1) * steps + 1], False)
        got, since = cycles(block, values[:, own], visits[own] == 0, since, limit)
        found += zip(got.integrals[0], got.lengths, strict=True)
    expected = []
    for r in range(replications):
        ends = np.flatnonzero(visits[:, r] == 0)
        for i, j in pairwise(ends):
            if times[i, r] < limit:
                integral = (values[0, i:j, r] * holds[i:j, r]).sum()
                expected.append((integral, times[j, r] - times[i, r]))
    np.testing.assert_allclose(sorted(found), sorted(expected), atol=1e-9)


def test_a_small_run_of_one_replication():
    found = simulate(QUEUE, {lam: 1, mu: 2}, "n", replications=1, horizon=5000, seed=1)
    assert found.samples == 32
    assert abs(found[0].z(1)) <= LIMIT
    moving = simulate(
        QUEUE, {lam: 1, mu: 2}, "n", replications=1, horizon=5000, method="event-driven"
    )
    assert abs(moving[0].z(1)) <= LIMIT


def test_functions_that_do_not_vary():
    found = simulate(QUEUE, {lam: 1, mu: 2}, ["lam + 1", "n >= 500", "n >= 0"], horizon=20)
    assert (found[0].function, found[0].mean, found[0].half_width) == ("lam + 1", 2, 0)
    assert found["n >= 0"].half_width == 0
    # nothing is known about an event that was not seen: not even that its error is small
    assert found["n >= 500"].mean == 0
    assert math.isnan(found["n >= 500"].half_width)
    assert math.isnan(found["n >= 500"].z(0))
    assert "unknown (no variation seen)" in repr(found)


def test_parameters_in_functions_and_default_functions():
    at = {lam: 1, mu: 2}
    found = simulate(QUEUE, at, ["lam*n/mu", "n"], horizon=50)
    assert found[0].mean == pytest.approx(found["n"].mean / 2)
    (only,) = simulate(QUEUE, at, horizon=50)
    assert only == found["n"]


def test_the_result_prints_and_pickles():
    found = simulate(
        QUEUE, {lam: 1, mu: 2}, ["n", "n >= 1"], horizon=64, replications=32, warm_up=16
    )
    lines = repr(found).splitlines()
    assert lines[0] == "simulation of M/M/1 at lambda = 1, mu = 2"
    assert lines[3] == "  estimated     95 % intervals from 32 batch means"
    assert lines[4] == f"  method        uniformised, {found.events} steps, seed 0"
    assert lines[5] == "  replications  32, each over a time of 64"
    assert lines[6] == "  start         (0), warm-up 16"
    assert found.events == 32 * 3 * (64 + 16)
    assert "certified" not in repr(found)
    assert str(found["n"]).endswith("(estimated, 95 % interval)")
    assert pickle.loads(pickle.dumps(found)) == found


def test_student_quantiles():
    options = {"functions": "n", "horizon": 64, "replications": 32}
    narrow, wide = (simulate(QUEUE, {lam: 1, mu: 2}, level=q, **options)[0] for q in (0.9, 0.99))
    assert narrow.mean == wide.mean
    # tabulated quantiles of Student's t with 31 degrees of freedom
    assert narrow.half_width / narrow.standard_error == pytest.approx(1.6955, abs=1e-4)
    assert wide.half_width / wide.standard_error == pytest.approx(2.7440, abs=1e-4)


def test_a_warm_up_that_is_too_short_is_seen():
    options = {"start": 300, "horizon": 100}
    poor = simulate(QUEUE, {lam: 1, mu: 2}, warm_up=0, **options)
    assert poor.trend < -30
    assert "lengthen the warm-up" in repr(poor)
    good = simulate(QUEUE, {lam: 1, mu: 2}, warm_up=500, **options)
    assert abs(good.trend) < LIMIT
    assert "lengthen" not in repr(good)


@pytest.mark.parametrize(("method", "interval"), WAYS)
def test_an_interrupted_run_gives_its_finished_part(monkeypatch, method, interval):
    monkeypatch.setattr(estimates, "REPORT_EVERY", 0)
    messages = []

    def stop(message):
        messages.append(message)
        if len(messages) == 12:
            raise KeyboardInterrupt

    found = simulate(
        QUEUE,
        {lam: 1, mu: 2},
        "n",
        horizon=30_000,
        replications=64,
        method=method,
        interval=interval,
        progress=stop,
    )
    assert found.interrupted
    assert "interrupted" in repr(found)
    assert "of the run" in messages[-1]
    if interval == "batch_means":
        assert 1000 < found.horizon < 29_000
    assert abs(found[0].z(1)) <= LIMIT


def test_an_interruption_before_there_is_an_estimate_is_passed_on(monkeypatch):
    monkeypatch.setattr(estimates, "REPORT_EVERY", 0)

    def stop(message):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(QUEUE, {lam: 1, mu: 2}, "n", horizon=30_000, progress=stop)


def test_sample_path_moves_by_the_transitions():
    model = shorter_queue.targeted_model()
    times, states = sample_path(model, {"lam": 1, "mu": 1, "p": "1/4"}, 500, seed=1)
    assert times.shape == (len(states),)
    assert times[0] == 0
    assert (np.diff(times) > 0).all()
    assert 450 < times[-1] <= 500
    for state, following in pairwise(states):
        (region,) = [r for r in model.regions() if r.contains(state.tolist())]
        jumps = {t.jump for t in region.transitions}
        assert tuple((following - state).tolist()) in jumps
    # the clock: sojourns times total rates are exponential with mean 1
    m, delta = states[:-1].T
    totals = 1 + (m + np.maximum(delta, 0) >= 1) + (m - np.minimum(delta, 0) >= 1)
    scaled = np.diff(times) * totals
    assert abs(scaled.mean() - 1) * math.sqrt(len(scaled)) <= LIMIT


def test_sample_path_of_an_unstable_queue():
    at = {lam: 3, mu: 1}
    _, states = sample_path(QUEUE, at, 1000, start=5, seed=2)
    assert states[0] == 5
    # it grows at rate lam - mu = 2, with variance lam + mu = 4 per unit time
    assert abs(states[-1, 0] - 2000) / math.sqrt(4000) <= LIMIT
    with pytest.raises(UnstableError, match="needs lambda < mu, got lambda = 3, mu = 1"):
        simulate(QUEUE, at)
    with pytest.raises(DomainError, match="needs lambda > 0"):
        sample_path(QUEUE, {lam: -1, mu: 1}, 10)


def test_sample_path_in_discrete_time_and_to_an_absorbing_state():
    walk = Model(n, Domain(), [Transition("1/2", -1, when=n >= 1)], time="discrete")
    times, states = sample_path(walk, {}, 40, start=3)
    assert times.tolist() == list(range(41))
    assert states[-1, 0] == 0
    death = Model(n, Domain(), [Transition(n, -1, when=n >= 1)])
    times, states = sample_path(death, {}, 10**6, start=4)
    assert states[:, 0].tolist() == [4, 3, 2, 1, 0]
    for model in (walk, death):
        with pytest.raises(ReducibleError, match=r"state \(0,\) is absorbing"):
            simulate(model, {}, start=3, horizon=100)
    two = Model(n, Domain(), [Transition(1, -1, when=n >= 1)])
    with pytest.raises(ReducibleError, match=r"state \(0,\) is absorbing"):
        simulate(two, {}, start=3, horizon=100, method="uniformised")


HIDDEN = (n - 10) * (n - 12)


@pytest.mark.parametrize("ranges", [{}, {n: (0, 15)}])
def test_a_rate_that_is_negative_at_a_state_that_is_reached(ranges):
    top = n <= 14 if ranges else True
    model = Model(
        n,
        Domain(),
        [Transition(2, +1, when=top), Transition(HIDDEN, -1, when=n >= 8)],
        ranges=ranges,
    )
    with pytest.raises(ModelError, match=r"negative at state \(11,\): -1"):
        simulate(model, {}, horizon=100)
    with pytest.raises(ModelError, match="unbounded in n" if not ranges else r"state \(11,\)"):
        simulate(model, {}, horizon=100, method="uniformised")


def test_probabilities_above_one_at_a_state_that_is_reached():
    model = Model(
        n,
        Domain(),
        [
            Transition("1/2", +1, when=n <= 14),
            Transition(Rational(1, 2) - HIDDEN / 1000, -1, when=n >= 1),
        ],
        time="discrete",
        ranges={n: (0, 15)},
    )
    with pytest.raises(NonConservativeError, match=r"state \(11,\) sum to 1.001 > 1"):
        simulate(model, {}, horizon=2000)


def test_zero_rates_are_zero_in_spite_of_rounding():
    model = Model(
        n,
        Domain(),
        [Transition(2, +1, when=n <= 2), Transition((3 - n) * lam, -1, when=n >= 1)],
        ranges={n: (0, 3)},
    )
    states = np.array([[0, 1, 2, 3]])
    rounded = 0
    for digit in range(1, 10):
        values = model.domain.require({lam: f"0.{digit}2345678912345678913"})
        rates = point_rates(model, values)
        (_, first), (_, constant) = sorted(rates.polynomials[1], reverse=True)
        rounded += constant + 3 * first < 0
        found = rates(states)[1]
        exact = [0, 2 * values[lam], values[lam], 0]
        np.testing.assert_allclose(found, np.array(exact, dtype=float), atol=1e-15)
        assert (found >= 0).all()
    assert rounded


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replications": 0}, "replications must be at least 1, got 0"),
        ({"replications": 2.5}, "replications must be a whole number, got 2.5"),
        ({"horizon": -1}, "the horizon must be positive, got -1"),
        ({"horizon": 0}, "the horizon must be positive, got 0"),
        ({"horizon": "a lot"}, "the horizon must be a number"),
        ({"warm_up": -1}, "the warm-up must be at least 0, got -1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"level": 95}, "between 0 and 1, got 95"),
        ({"method": "fast"}, "method must be 'uniformised' or 'event-driven', got 'fast'"),
        ({"interval": "normal"}, "interval must be 'batch_means' or 'regenerative'"),
        ({"interval": "regenerative", "warm_up": 3}, "cycles need no warm-up"),
        ({"start": -1}, "the start -1 is no state of the model"),
        ({"start": (0, 0)}, r"the start \(0, 0\) is no state"),
        ({"start": 0.5}, "not made of integers"),
        ({"functions": []}, "nothing to estimate"),
        ({"replications": 1, "horizon": "1/10"}, "gives no interval"),
        ({"interval": "regenerative", "start": 60, "horizon": 50}, "did not return to"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ModelError, match=message):
        simulate(QUEUE, {lam: 1, mu: 2}, **options)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("n + x", "no value for x in n [+] x; known: n, lambda, mu"),
        ("x >= 1", "no value for x"),
        ("1/n", r"1/n is no finite number at state \(0,\)"),
        ("n +", "malformed expression"),
        ((n,), "not a function of the state"),
        (lambda state: state, "is a formula or text"),
    ],
)
def test_bad_functions(function, message):
    with pytest.raises(ExpressionError, match=message):
        simulate(QUEUE, {lam: 1, mu: 2}, [function], horizon=10)


def test_bad_requests():
    with pytest.raises(ModelError, match="unbounded in n; use method='event-driven'"):
        simulate(INFINITE, {lam: 1, mu: 1}, method="uniformised")
    walk = Model(n, Domain(), [Transition("1/2", +1)], time="discrete")
    with pytest.raises(ModelError, match="goes step by step: leave out the method"):
        simulate(walk, {}, method="event-driven")
    with pytest.raises(DomainError, match="no value given for mu"):
        simulate(QUEUE, {lam: 1})
    found = simulate(QUEUE, {lam: 1, mu: 2}, "n", horizon=10)
    with pytest.raises(ExpressionError, match=r"n\*\*2 was not estimated; known: n"):
        found["n**2"]
    divided = Model(n, Domain(), [Transition(1 / lam, +1), Transition(2, -1, when=n >= 1)])
    with pytest.raises(DomainError, match="needs lambda > 0"):
        simulate(divided, {lam: 0})
