"""Simulations: exact laws, growth, resuming, drift estimates, bad input. z-scores up to 4.5."""

import math
import pickle
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from qtheory.errors import DomainError, ModelError
from qtheory.learning import (
    UCB1,
    AgeGreedy,
    Exp3,
    Exp3P1,
    LearningRun,
    Mixed,
    RandomisedSchedule,
    Uniform,
    estimate_drift,
    simulate,
)
from qtheory.learning.draws import STREAM, Draws
from qtheory.learning.rounds import Deciders, Priority, rounds
from qtheory.learning.run import estimate
from qtheory.learning.stability import potential_square
from qtheory.learning.waiting import Deferred, Fifo

LIMIT = 4.5
MU = (1, Fraction(1, 3), Fraction(1, 3))
FIRST = Mixed((1, 0, 0))
module = import_module("qtheory.learning.simulate")


def z(values, exact):
    """The z-score of the mean of independent values."""
    return (values.mean() - float(exact)) / (values.std(ddof=1) / math.sqrt(len(values)))


@pytest.mark.parametrize("model", ["dual", "standard"])
def test_all_to_one_server(model):
    # E Q = n (n - 1) lambda^2 / (2 (1 - n lambda)) = 3/4 for n = 3, lambda = 1/4
    run = simulate([0.25] * 3, MU, FIRST, 1000, 1000, seed=5, model=model)
    assert abs(run.average_size.z(Fraction(3, 4))) <= LIMIT
    assert run.average_size.half_width < 0.03
    assert abs(run.growth.z(0)) <= LIMIT


@pytest.mark.parametrize("model", ["dual", "standard"])
@pytest.mark.parametrize("selection", ["oldest", "random"])
def test_single_queue_has_a_geometric_law(model, selection):
    # lambda = 1/3, mu = 1/2: rho = 1/2, E Q = 1, E T = 2, E T^2 = 14
    run = simulate(
        ["1/3"], ["1/2"], Mixed((1,)), 400, 3000, seed=2, model=model, selection=selection
    )
    ages = run.ages[:, -1, 0]
    assert abs(z(run.sizes[:, -1, 0], 1)) <= LIMIT
    assert abs(z(ages, 2)) <= LIMIT
    assert abs(z(ages**2, 14)) <= LIMIT
    for k in (1, 2, 5):
        # P(T >= 1) = rho, and the tail of the age has the ratio (1 - mu)/(1 - lambda) = 3/4
        assert abs(z(ages >= k, 0.5 * 0.75 ** (k - 1))) <= LIMIT
        if model == "standard":
            assert abs(z(run.sizes[:, -1, 0] >= k, 0.5**k)) <= LIMIT


def test_transient_mean_of_a_single_queue():
    # E Q_t for lambda = mu = 1/2 (reflected walk), at t = 1, 2, 3, 4, 10
    run = simulate(["1/2"], ["1/2"], Mixed((1,)), 10, 40_000, seed=9, every=1)
    exact = {1: "1/4", 2: "7/16", 3: "19/32", 4: "187/256", 10: "707825/524288"}
    for t, value in exact.items():
        assert abs(z(run.sizes[:, t, 0], Fraction(value))) <= LIMIT
    assert run.sizes[:, 0].max() == 0


def test_random_selection_against_the_oldest_packet():
    # the total is the same walk when everybody is at server 1, the ages are not
    oldest = simulate([0.25] * 3, MU, FIRST, 600, 1000, seed=3)
    randomly = simulate([0.25] * 3, MU, FIRST, 600, 1000, seed=3, selection="random")
    tied = simulate([0.25] * 3, MU, FIRST, 600, 1000, seed=3, ties="random")
    for run in (randomly, tied):
        assert abs(run.average_size.z(Fraction(3, 4))) <= LIMIT
    # of equal packets the first queue is served first, unless ties are random
    first, _, last = oldest.mean_ages[32:].mean(axis=0)
    assert last > 1.2 * first
    first, _, last = tied.mean_ages[32:].mean(axis=0)
    assert abs(last - first) < 0.1 * first


@pytest.mark.parametrize(("rule", "served"), [(FIRST, 1), (Uniform(), Fraction(95, 81))])
def test_exact_growth(rule, served):
    # n lambda minus the rate of service when all queues are busy
    run = simulate([0.45] * 3, MU, rule, 1500, 500, seed=1)
    assert abs(run.growth.z(3 * Fraction(9, 20) - served)) <= LIMIT
    assert sum(own.mean for own in run.queue_growths) == pytest.approx(run.growth.mean)
    if rule == FIRST:
        for queue in run.age_growths:
            # the ages of all queues grow at 1 - 1/(n lambda)
            assert abs(queue.z(1 - 1 / 1.35)) <= LIMIT


def test_short_horizons_of_learners():
    # c = 1.05: everything that learns grows, and central scheduling does not
    lam = [Fraction(100, 189)] * 3
    for rule in (Exp3(), Exp3P1(), UCB1()):
        assert simulate(lam, MU, rule, 1500, 100).growth.interval[0] > 0.2
    assert abs(simulate(lam, MU, AgeGreedy(), 1500, 300).growth.mean) < 0.005


def test_regret():
    # server 1 alone works: the regret of uniform choice is 2/3 of its gains
    run = simulate([1], [0.5, 0, 0], Uniform(), 600, 300, window=200, seed=4)
    assert run.regret.shape == (300, 3, 1)
    assert abs(run.regret_per_step[0].z(0.5 * 2 / 3)) <= LIMIT
    assert (simulate([0.45] * 3, MU, FIRST, 300, 20, window=1).regret <= 1).all()
    none = simulate([0.45] * 3, [1, 0, 0], FIRST, 300, 20, window=300)
    assert (none.regret == 0).all()
    with pytest.raises(ModelError, match="no regret was recorded"):
        _ = simulate([0.45] * 3, MU, FIRST, 300, 20).regret_per_step


def test_conditional_mean_sizes():
    # (2.3): in the standard model, given the age T >= 1, Q is 1 + Bin(T - 1, lambda)
    run = simulate([0.3, 0.4], [0.6, 0.3], Uniform(), 300, 4000, seed=8, model="standard")
    for i, lam in enumerate((0.3, 0.4)):
        ages, sizes = run.ages[:, -1, i], run.lengths[:, -1, i]
        assert np.array_equal(ages >= 1, sizes >= 1)
        there = ages >= 1
        residual = sizes[there] - 1 - lam * (ages[there] - 1)
        assert abs(z(residual, 0)) <= LIMIT
        spread = residual**2 - lam * (1 - lam) * (ages[there] - 1)
        assert abs(z(spread, 0)) <= LIMIT


def test_unsorted_rates():
    # queues and servers in another order: the same laws, in the order that was given
    lam, mu = [Fraction(1, 10), Fraction(1, 2), Fraction(2, 5)], [Fraction(1, 3), Fraction(9, 10)]
    run = simulate(lam, mu, Exp3(), 400, 600, seed=6, ties="random")
    ordered = simulate(sorted(lam)[::-1], sorted(mu)[::-1], Exp3(), 400, 600, seed=7, ties="random")
    for own, other in ((0, 2), (1, 0), (2, 1)):
        a, b = (r.sizes[:, 32:, k].mean(axis=1) for r, k in ((run, own), (ordered, other)))
        error = math.hypot(a.std() / math.sqrt(len(a)), b.std() / math.sqrt(len(b)))
        assert abs(a.mean() - b.mean()) <= LIMIT * error
    # the fastest server is found wherever it is
    run = simulate(["1/2"], mu, AgeGreedy(), 600, 1000, seed=6)
    assert abs(z(run.sizes[:, -1, 0], Fraction(1, 8))) <= LIMIT


def test_central_schedule_has_the_sizes_of_single_queues():
    # service (7/12, 1/3) for rates (1/2, 1/4): E Q = lambda (1 - y)/(y - lambda) = 5/2 and 2
    schedule = RandomisedSchedule(("4/5", "1/5"), ((0, 1), (1, 0)))
    run = simulate(["1/2", "1/4"], ["2/3", "1/4"], schedule, 1200, 1500, seed=3)
    for i, exact in enumerate((Fraction(5, 2), 2)):
        assert abs(z(run.sizes[:, -1, i], exact)) <= LIMIT


def test_learners_of_their_own():
    mixed = simulate([0.4, 0.2], [1, 0.5], [Exp3(), Mixed((0, 1))], 300, 50)
    alone = simulate([0.4], [1, 0.5], [Exp3()], 300, 50)
    assert mixed.ages.shape == (50, 65, 2) and alone.ages.shape == (50, 65, 1)
    with pytest.raises(ModelError, match="one learner for each of the 2 queues"):
        simulate([0.4, 0.2], [1, 0.5], [Exp3()], 300, 50)


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in ("ages", "lengths", "regret")
    )


@pytest.mark.parametrize("model", ["dual", "standard"])
def test_a_path_depends_on_its_seed_and_index_only(model, monkeypatch):
    whole = simulate([0.4, 0.3], [0.7, 0.6], Exp3(), 50, STREAM + 44, model=model, window=10)
    part = simulate([0.4, 0.3], [0.7, 0.6], Exp3(), 50, 30, model=model, window=10)
    assert np.array_equal(whole.ages[:30], part.ages)
    assert np.array_equal(whole.regret[:30], part.regret)
    monkeypatch.setattr(module, "TOGETHER", STREAM)
    cut = simulate([0.4, 0.3], [0.7, 0.6], Exp3(), 50, STREAM + 44, model=model, window=10)
    assert same(whole, cut)
    other = simulate([0.4, 0.3], [0.7, 0.6], Exp3(), 50, 30, model=model, window=10, seed=1)
    assert not same(part, other)


def test_interrupted_and_taken_up_again(tmp_path, monkeypatch):
    arguments = ([0.4, 0.3], [0.7, 0.6], Exp3(), 60)
    whole = simulate(*arguments, 3 * STREAM, window=20)
    monkeypatch.setattr(module, "TOGETHER", STREAM)
    chunks = module._chunk
    done = []

    def stop_at_the_second(*given):
        if done:
            raise KeyboardInterrupt
        done.append(chunks(*given))
        return done[0]

    file = tmp_path / "run.npz"
    with monkeypatch.context() as patched:
        patched.setattr(module, "_chunk", stop_at_the_second)
        first = simulate(*arguments, 3 * STREAM, window=20, resume=file)
        assert first.interrupted and first.replications == STREAM
        assert "interrupted" in repr(first)
        with pytest.raises(KeyboardInterrupt):
            simulate(*arguments, 3 * STREAM, window=20)
    again = simulate(*arguments, 3 * STREAM, window=20, resume=file)
    assert same(again, whole) and not again.interrupted
    # finished: nothing is simulated, and fewer are a part
    with monkeypatch.context() as patched:
        patched.setattr(module, "_chunk", None)
        fewer = simulate(*arguments, 10, window=20, resume=file)
    assert np.array_equal(fewer.ages, whole.ages[:10])
    # more replications go on in the middle of a stream
    odd = tmp_path / "odd.npz"
    simulate(*arguments, 100, window=20, resume=odd)
    assert same(simulate(*arguments, 3 * STREAM, window=20, resume=odd), whole)
    with pytest.raises(ModelError, match="another run: steps is 60, not 61"):
        simulate(*arguments[:3], 61, 10, window=20, resume=file)
    with pytest.raises(ModelError, match="another run: learner"):
        simulate(*arguments[:2], Exp3(0.5), 60, 10, window=20, resume=file)
    broken = tmp_path / "broken.npz"
    broken.write_text("not a checkpoint")
    with pytest.raises(ModelError, match="no finished replications"):
        simulate(*arguments, 10, resume=broken)
    for cut in (0, 100, file.stat().st_size // 2):
        broken.write_bytes(file.read_bytes()[:cut])
        with pytest.raises(ModelError, match="no finished replications"):
            simulate(*arguments, 10, window=20, resume=broken)
    # a file that cannot be written is known before anything is simulated
    monkeypatch.setattr(module, "_chunk", None)
    with pytest.raises(ModelError, match="no folder"):
        simulate(*arguments, 10, resume=tmp_path / "nowhere" / "run.npz")


def test_a_file_is_taken_up_by_the_same_run_only(tmp_path):
    file = tmp_path / "run.npz"
    lam, mu, rest = ["1/2", "1/3"], [1, "1/2"], (Uniform(), 20, 10)
    simulate(lam, mu, *rest, resume=file)
    with pytest.raises(ModelError, match="another run: lam"):
        simulate(["1/2", "1/4"], mu, *rest, resume=file)
    with pytest.raises(ModelError, match="another run: mu"):
        simulate(lam, [1, 1], *rest, resume=file)
    for name, value in (
        ("seed", 1),
        ("model", "standard"),
        ("selection", "random"),
        ("ties", "random"),
        ("every", 5),
        ("window", 5),
    ):
        with pytest.raises(ModelError, match=f"another run: {name}"):
            simulate(lam, mu, *rest, **{name: value}, resume=file)


def test_an_interrupted_saving_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "run.npz"
    arguments = ([0.4, 0.3], [0.7, 0.6], Uniform(), 20)
    simulate(*arguments, 10, resume=file)
    before = file.read_bytes()

    def half(stream, **arrays):
        stream.write(b"half of it")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", half)
        run = simulate(*arguments, 30, resume=file)
    assert run.interrupted and run.replications == 30
    assert file.read_bytes() == before
    assert not simulate(*arguments, 30, resume=file).interrupted


def test_little_is_lost(monkeypatch):
    # the work between two savings is bounded, down to one stream of random numbers
    done = []

    def chunk(waiting, deciders, draws, priority, times, *rest):
        done.append(len(draws.members))
        return {"ages": np.zeros((len(draws.members), len(times), 1), dtype=int)}

    monkeypatch.setattr(module, "_chunk", chunk)
    for steps, size in ((30_000, 2048), (60_000, 1024), (1_000_000, STREAM)):
        done.clear()
        simulate(["1/4"], ["1/2"], Uniform(), steps, 2048)
        assert done == [size] * (2048 // size)
        assert size == STREAM or size * steps <= 2**26


def test_progress(monkeypatch):
    monkeypatch.setattr(module, "REPORT_EVERY", 0.0)
    said = []
    simulate([0.4], [0.7], Mixed((1,)), 64, 10, progress=said.append)
    assert said[-1] == "simulated 640 steps, 100% of the run"
    assert len(said) == 64


def test_text_and_pickle():
    run = simulate(["1/4", 0.25], [1, "1/2"], Exp3(), 200, 40, window=50, seed=3)
    lines = repr(run).splitlines()
    assert lines[0] == "Exp3(rate=None) at servers of rates 1, 1/2"
    assert lines[1].split()[-6:] == ["growth", "per", "step", "regret", "per", "step"]
    assert lines[4].startswith("  total  1/2")
    assert lines[5].endswith("from 40 replications of 200 steps, seed 3")
    assert lines[2].startswith("  1 ")
    assert lines[6] == "  dual model, oldest packet first; queues count from 1"
    again = pickle.loads(pickle.dumps(run))
    assert isinstance(again, LearningRun) and repr(again) == repr(run) and same(run, again)
    one = simulate([0.4], [0.7], Mixed((1,)), 64, 1)
    assert "unknown" in repr(one) and "from 1 replication of 64 steps" in repr(one)


def test_the_numbers_of_a_step():
    lam, mu = np.array([1.0, 0.3, 0.001]), np.array([1.0, 0.0, 0.25])
    draws = Draws(0, range(2000), lam, mu, True)
    times = draws.first_times().copy()
    coins, arrivals, gaps = np.zeros(3), np.zeros(3), []
    for supply in draws.steps(50, arrivals=True):
        coins += supply.coins.sum(axis=1)
        arrivals += supply.jobs.sum(axis=1)
        assert 0 <= supply.priorities.min() and supply.priorities.max() < 2**24
        assert 0 <= supply.uniforms.min() and supply.uniforms.max() < 1
    for supply in draws.steps(50, arrivals=False):
        gaps.append(supply.jobs.copy())
    gaps = np.concatenate([times, *gaps], axis=1)
    assert coins[0] == 100_000 and coins[1] == 0 and arrivals[0] == 100_000
    assert abs(coins[2] - 25_000) < LIMIT * math.sqrt(100_000 * 3 / 16)
    assert abs(arrivals[1] - 30_000) < LIMIT * math.sqrt(100_000 * 0.21)
    assert (gaps[0] == 1).all()
    for row, rate in ((gaps[1], 0.3), (gaps[2], 0.001)):
        assert row.min() == 1
        assert abs(z(row, 1 / rate)) <= LIMIT
        assert abs(z(row == 1, rate)) <= LIMIT
        assert abs(z(row > 4, (1 - rate) ** 4)) <= LIMIT


def test_rare_arrivals():
    # times of single precision would have no such length
    times = Draws(0, range(4000), np.array([1e-10]), np.array([1.0]), False).first_times()[0]
    assert times.min() >= 1
    assert abs(z(times, 1e10)) <= LIMIT
    assert abs(z(times > 10**10, math.exp(-1))) <= LIMIT


def test_an_interval_is_of_the_law_of_student():
    found = estimate("size", np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (found.mean, found.standard_error) == (3, pytest.approx(math.sqrt(1 / 2)))
    # the tabulated quantile for 4 degrees of freedom
    assert found.half_width == pytest.approx(2.776 * math.sqrt(1 / 2), rel=1e-3)
    assert math.isnan(estimate("size", np.array([1.0, 1.0])).half_width)


def test_the_potential_is_that_of_the_theorem():
    run = simulate(["1/2", "1/5"], ["2/5", "1/4"], Uniform(), 40, 5)
    for r, k in np.ndindex(run.potential.shape):
        square = potential_square(run.lam, run.ages[r, k].tolist())
        assert run.potential[r, k] ** 2 == pytest.approx(float(square))
    assert run.potential.max() > 1


def test_averages_are_of_the_second_half():
    # the records of a run do not change it; those before the half do not count
    whole = simulate(["1/2"], ["1/4"], Mixed((1,)), 90, 50, every=1)
    for every, times in ((90, [90]), (30, [60, 90]), (18, [54, 72, 90]), (1, range(45, 91))):
        run = simulate(["1/2"], ["1/4"], Mixed((1,)), 90, 50, every=every)
        expected = whole.sizes[:, list(times), 0].mean()
        assert run.average_size.mean == pytest.approx(expected)


def test_long_queues_in_the_standard_model():
    # no service: all packets wait, in a ring that grows
    waiting = Fifo(2, 3)
    random = np.random.default_rng(1)
    arrivals = random.random((100, 2, 3)) < 0.7
    expected = [[[] for _ in range(3)] for _ in range(2)]
    for t in range(100):
        waiting.arrive(t, arrivals[t])
        served = (waiting.lengths > 0) & (random.random((2, 3)) < 0.2)
        for i, r in np.ndindex(2, 3):
            if arrivals[t, i, r]:
                expected[i][r].append(t)
            if expected[i][r]:
                assert waiting.oldest[i, r] == expected[i][r][0]
            if served[i, r]:
                expected[i][r].pop(0)
        waiting.remove(served, arrivals[t])
        assert waiting.lengths.tolist() == [[len(own) for own in row] for row in expected]
    assert waiting.lengths.max() > 32


def test_learners_are_told_nothing_but_their_own():
    seen = []

    class Spy:
        def start(self, agents, arms):
            seen.append((agents, arms))

        def choose(self, memory, uniforms, ages, t):
            seen.append((uniforms.shape, ages.copy()))
            return np.zeros(len(ages), dtype=int)

        def learn(self, memory, arms, served, sent):
            seen.append((arms.shape, served.copy(), sent.copy()))

    spy = Spy()
    lam, mu = np.array([0.5, 0.5]), np.array([0.5])
    draws = Draws(0, range(4), lam, mu, False)
    waiting = Deferred(draws.first_times(), lam)
    deciders = Deciders([spy, Uniform()], 2, [0.5], 4)
    for step in rounds(waiting, deciders, draws.steps(20, False), Priority()):
        assert np.array_equal(seen[-2][1], step.ages[0])
        assert np.array_equal(seen[-1][1], step.served[0])
        assert np.array_equal(seen[-1][2], step.sends[0])
    assert seen[0] == (4, 1)


def test_drift_estimates():
    # all to server 1 at c = 7/4: the potential falls from high levels
    run = simulate([Fraction(20, 63)] * 3, MU, FIRST, 6000, 300, every=50, seed=1)
    assert run.potential.shape == (300, 121)
    found = estimate_drift(run.potential, [0, 4, 10, 20, 1000, 2000])
    assert [own.is_negative for own in found] == [False, True, True, True, False]
    assert found[4].count == 0 and math.isnan(found[4].drift)
    assert sum(own.count for own in found) == 300 * 120
    assert "no proof" in repr(found) and "unknown" in repr(found)
    # a walk with a known drift, paths that depend on themselves
    random = np.random.default_rng(2)
    steps = np.where(random.random((400, 200)) < 0.4, 1, -1)
    walk = 1000 + np.cumsum(steps, axis=1)
    (whole,) = estimate_drift(walk, [0, 2000])
    assert abs(whole.drift + 0.2) <= LIMIT * whole.half_width / 1.96
    assert whole.third_moment == 1
    for levels, edges in (
        (walk[:1], [0, 1]),
        (walk[:, :1], [0, 1]),
        (walk[0], [0, 1]),
        (walk, [0]),
        (walk, [1, 0]),
        (walk, [0, 0]),
    ):
        with pytest.raises(ModelError):
            estimate_drift(levels, edges)


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (([], [1], Uniform(), 10), {}, ModelError),
        (([0.5], [], Uniform(), 10), {}, ModelError),
        (([0], [1], Uniform(), 10), {}, DomainError),
        (([1.1], [1], Uniform(), 10), {}, DomainError),
        (([-0.1], [1], Uniform(), 10), {}, DomainError),
        (([0.5], [1.1], Uniform(), 10), {}, DomainError),
        (([0.5], [-0.1], Uniform(), 10), {}, DomainError),
        (([0.5], [1, 0.5, 0.2], Mixed((0.5, 0.5)), 10), {}, ModelError),
        (([0.5], [1], Exp3(), 10), {}, ModelError),
        (([0.5], [1], "Exp3", 10), {}, ModelError),
        (([0.5], [1, 0.5], Exp3, 10), {}, ModelError),
        (([0.5], [1, 0.5], AgeGreedy, 10), {}, ModelError),
        (([0.5, 0.5], [1, 0.5], [Exp3(), Exp3], 10), {}, ModelError),
        (([0.5], [1, 0.5], None, 10), {}, ModelError),
        ((0.5, [1], Uniform(), 10), {}, ModelError),
        (("11", [1, 1], Uniform(), 10), {}, ModelError),
        (([0.5], [1], Uniform(), 1), {}, ModelError),
        (([0.5], [1], Uniform(), 10.5), {}, ModelError),
        (([0.5], [1], Uniform(), 10, 0), {}, ModelError),
        (([0.5], [1], Uniform(), 10, 5, -1), {}, ModelError),
        (([0.5], [1], Uniform(), 10), {"model": "both"}, ModelError),
        (([0.5], [1], Uniform(), 10), {"selection": "newest"}, ModelError),
        (([0.5], [1], Uniform(), 10), {"ties": "newest"}, ModelError),
        (([0.5], [1], Uniform(), 10), {"every": 3}, ModelError),
        (([0.5], [1], Uniform(), 10), {"every": 0}, ModelError),
        (([0.5], [1], Uniform(), 10), {"window": -5}, ModelError),
        (([0.5], [1], Uniform(), 10), {"window": 11}, ModelError),
    ],
)
def test_bad_input(arguments, options, error):
    with pytest.raises(error):
        simulate(*arguments, **options)
