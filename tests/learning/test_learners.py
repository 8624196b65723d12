"""Learners against their definitions in plain Python, regret bounds, bad input."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._plain_queues import (
    PlainExp3,
    PlainExp3P,
    PlainExp3P1,
    PlainMixed,
    PlainUCB1,
    ages_after,
)
from qtheory.errors import ExpressionError, ModelError
from qtheory.learning import (
    UCB1,
    AgeGreedy,
    Exp3,
    Exp3P,
    Exp3P1,
    Learner,
    Mixed,
    RandomisedSchedule,
    Restarted,
    Scheduler,
    Uniform,
    check_learner,
    exp3_bound,
    exp3p1_bound,
    exp3p1_start,
    exp3p_bound,
    exp3p_parameters,
    restarted_bound,
    simulate,
    trace,
)

LEARNERS = [
    Exp3(),
    Exp3(0.2),
    Exp3P(500, 0.05),
    Exp3P1(0.05),
    UCB1(),
    Uniform(),
    Mixed((0.1, 0.6, 0.3)),
    Restarted(Exp3(), 30),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_each_agent_by_itself(learner):
    assert isinstance(learner, Learner)
    check_learner(learner)


PLAIN = [
    (Exp3(), lambda arms: PlainExp3(arms)),
    (Exp3(0.2), lambda arms: PlainExp3(arms, 0.2)),
    (Exp3P(100, 0.1), lambda arms: PlainExp3P(arms, 100, 0.1)),
    (Exp3P1(0.05), lambda arms: PlainExp3P1(arms, 0.05)),
    (UCB1(), lambda arms: PlainUCB1(arms)),
]


@pytest.mark.parametrize(("learner", "plain"), PLAIN, ids=lambda value: str(value)[:12])
@settings(max_examples=8, deadline=None)
@given(arms=st.integers(2, 5), seed=st.integers(0, 2**32), activity=st.sampled_from([0.3, 1.0]))
def test_step_by_step_as_defined(learner, plain, arms, seed, activity):
    random = np.random.default_rng(seed)
    agents, rates = 4, random.random(arms)
    memory = learner.start(agents, arms)
    own = [plain(arms) for _ in range(agents)]
    ages = np.zeros(agents, dtype=np.int64)
    for t in range(80):
        uniforms, sent = random.random(agents), random.random(agents) < activity
        chosen = np.array(learner.choose(memory, uniforms, ages, t))
        expected = [own[k].choose(uniforms[k], 0, t) for k in range(agents)]
        assert chosen.tolist() == expected
        if hasattr(learner, "probabilities"):
            laws = learner.probabilities(memory)
            assert np.allclose(laws.sum(axis=0), 1, rtol=0, atol=1e-12)
            assert (laws > 0).all()
            for k in range(agents):
                assert np.allclose(laws[:, k], own[k].probabilities, rtol=1e-9, atol=0)
        served = sent & (random.random(agents) < rates[chosen])
        learner.learn(memory, chosen, served, sent)
        for k in np.flatnonzero(sent):
            own[k].learn(int(chosen[k]), bool(served[k]))


def test_the_plain_loop_and_the_arrays_give_one_law():
    lam, mu, steps = [0.5, 0.4, 0.2], [0.9, 0.5], 60
    for learner, plain in ((Exp3(), lambda: PlainExp3(2)), (UCB1(), lambda: PlainUCB1(2))):
        ages = simulate(lam, mu, learner, steps, 2048, seed=11).ages[:, -1]
        loop = np.array([ages_after(lam, mu, plain, steps, seed) for seed in range(500)])
        for own, other in zip(ages.T, loop.T, strict=True):
            error = math.hypot(own.std() / math.sqrt(2048), other.std() / math.sqrt(500))
            assert abs(own.mean() - other.mean()) <= 4.5 * error


def test_mixed_strategies_choose_by_inversion():
    grid = (np.arange(1000) + 0.5) / 1000
    law = (0.2, 0.0, 0.5, 0.3)
    memory = Mixed(law).start(1000, 4)
    chosen = Mixed(law).choose(memory, grid, grid, 0)
    assert np.bincount(chosen, minlength=4).tolist() == [200, 0, 500, 300]
    assert chosen.tolist() == [PlainMixed(law).choose(u, 0, 0) for u in grid]
    uniform = Uniform().choose(Uniform().start(1000, 5), grid, grid, 0)
    assert np.bincount(uniform).tolist() == [200] * 5
    many = Uniform().choose(Uniform().start(1000, 500), grid, grid, 0)
    assert np.bincount(many).tolist() == [2] * 500


def test_ucb1_plays_each_arm_once_and_finds_the_best():
    random = np.random.default_rng(1)
    ucb, agents = UCB1(), 50
    memory = ucb.start(agents, 3)
    sent, plays = np.ones(agents, dtype=bool), np.zeros(3)
    for t in range(3000):
        chosen = ucb.choose(memory, np.zeros(agents), np.zeros(agents), t)
        if t < 3:
            assert (chosen == t).all()
        ucb.learn(memory, chosen, random.random(agents) < np.array([0.2, 0.8, 0.5])[chosen], sent)
        plays += np.bincount(chosen, minlength=3)
    assert plays[1] > 0.9 * plays.sum()
    # the bound of its authors: 8 ln n / gap plays of a worse arm, and a constant
    assert plays[0] / agents < 8 * math.log(3000) / 0.6**2 + 1 + math.pi**2 / 3


@pytest.mark.parametrize("learner", [Exp3(), Exp3(1.0), Exp3P(10**7, 0.05), Exp3P1(0.05)], ids=str)
def test_no_overflow_and_no_arm_is_lost(learner):
    memory = learner.start(1, 3)
    always = np.array([True])
    for t in range(300):
        learner.learn(memory, np.array([t % 2]), always, always)
    # 1e7 steps with gain, in one: weights differ by more than the range of floats
    gap = 1e7 * 0.01 / 3
    memory.logs[:] = [[-gap], [0.0], [-gap]]
    learner.learn(memory, np.array([1]), always, always)
    law = learner.probabilities(memory)[:, 0]
    assert np.isfinite(law).all() and abs(law.sum() - 1) < 1e-12
    assert law[1] == law.max()
    # the worst arm keeps its distance, and a gain brings it nearer
    lost = memory.logs[0, 0]
    assert -math.inf < lost < -1e4
    learner.learn(memory, np.array([0]), always, always)
    assert lost < memory.logs[0, 0] < 0
    if learner == Exp3(1.0):
        # at the probability 1/3: exp(1 / (3/3))
        assert memory.logs[0, 0] == pytest.approx(lost + 1, abs=1e-9)


def test_exp3_regret_is_within_its_bound():
    # one queue that always has a packet, and rewards that no arm foresees
    random = np.random.default_rng(3)
    steps, paths = 1500, 60
    coins = np.repeat(random.random((steps, 3, 1)) < [[0.2], [0.5], [0.4]], paths, axis=2)
    arrivals = np.ones((steps, 1, paths))
    uniforms = random.random((steps, 1, paths))
    best = coins[:, :, 0].sum(axis=0).max()
    for learner, bound in (
        (Exp3(math.sqrt(3 * math.log(3) / ((math.e - 1) * best))), exp3_bound(3, best)),
        (Exp3P(steps, 0.05), exp3p_bound(3, steps, 0.05)),
        (Exp3P1(0.05), exp3p1_bound(3, steps, 0.05)),
    ):
        regret = trace(arrivals, coins, learner, uniforms).regret()[0]
        assert 0 < regret.mean() <= bound


def test_restarts_forget():
    random = np.random.default_rng(4)
    arrivals, coins = np.ones((60, 1, 5)), random.random((60, 2, 5)) < 0.5
    uniforms = random.random((60, 1, 5))
    restarted = trace(arrivals, coins, Restarted(Exp3P1(), 20), uniforms)
    for start in (0, 20, 40):
        part = slice(start, start + 20)
        fresh = trace(arrivals[part], coins[part], Exp3P1(), uniforms[part])
        assert np.array_equal(restarted.choices[part], fresh.choices)


def test_published_parameters_and_bounds():
    assert exp3p_parameters(3, 1024, 0.05) == (0.08788980404289025, 6.641028946728527)
    assert exp3p_bound(3, 1024, 0.05) == pytest.approx(1124.3700999595485, rel=1e-14)
    starts = {(2, 0.05): 2, (3, 0.05): 2, (3, 0.001): 2, (10, 0.05): 1}
    for (arms, delta), r in starts.items():
        assert exp3p1_start(arms, delta) == r
    # gamma is capped in short rounds
    assert exp3p_parameters(3, 1, 0.05)[0] == 0.6
    assert exp3_bound(2, 100) == pytest.approx(2.63 * math.sqrt(200 * math.log(2)))
    # T = 1024: ln(K T / delta) + 2 ln(2 + log2 T) = ln(61440 * 144)
    confidence = math.log(8847360)
    by_hand = 10 * (math.sqrt(2) + 1) * math.sqrt(6144 * confidence) + 110 * confidence
    assert exp3p1_bound(3, 1024, 0.05) == pytest.approx(by_hand, rel=1e-14)
    # the bounds grow like sqrt(T log T)
    assert exp3p1_bound(3, 2**24, 0.05) / exp3p1_bound(3, 2**22, 0.05) < 2.3
    assert restarted_bound(10**6, 10**4, exp3p1_bound(3, 10**4, 0.05)) > 2 * 10**4
    # 3 whole runs and parts of two more
    assert restarted_bound(10_000, 3000, 60.0) == 6000 + 3 * 60


@pytest.mark.parametrize(
    "call",
    [
        lambda: Exp3(0),
        lambda: Exp3(1.5),
        lambda: Exp3(math.nan),
        lambda: Exp3().start(4, 1),
        lambda: Exp3P(0, 0.05),
        lambda: Exp3P(10, 0),
        lambda: Exp3P(10, 0.05).start(4, 1),
        lambda: Exp3P1(1),
        lambda: Exp3P1().start(4, 1),
        lambda: Mixed(()),
        lambda: Mixed((0.5, 0.6)),
        lambda: Mixed((1.5, -0.5)),
        lambda: Mixed((math.nan, 1)),
        lambda: Mixed((0.5, 0.5)).start(4, 3),
        lambda: Restarted(Exp3(), 0),
        lambda: Restarted(AgeGreedy(), 10),
        lambda: exp3_bound(1, 10),
        lambda: exp3_bound(2, -1),
        lambda: exp3p_bound(1, 10, 0.1),
        lambda: exp3p1_bound(3, 2, 0.05),
        lambda: exp3p1_start(3, 2),
        lambda: restarted_bound(10, 11, 1.0),
        lambda: RandomisedSchedule((), ()),
        lambda: RandomisedSchedule((1,), ((0, 0),)),
        lambda: RandomisedSchedule((1,), ((0, -2),)),
        lambda: RandomisedSchedule((0.5,), ((0, 1),)),
        lambda: RandomisedSchedule((1,), ((0, 1),)).start(3, (0, 1), 1),
        lambda: RandomisedSchedule((1,), ((0, 1),)).start(2, (0,), 1),
    ],
)
def test_bad_learners(call):
    with pytest.raises(ModelError):
        call()


def test_probabilities_that_are_no_numbers():
    for call in (lambda: Mixed(("half",)), lambda: RandomisedSchedule(("half",), ((0, 1),))):
        with pytest.raises(ExpressionError):
            call()


@dataclass(frozen=True)
class Gossip:
    """Against the rules: all agents do what the first one does."""

    def start(self, agents, arms):
        return arms

    def choose(self, memory, uniforms, ages, t):
        return np.full(len(uniforms), int(uniforms[0] * memory))

    def learn(self, memory, arms, served, sent):
        pass


@dataclass(frozen=True)
class Elsewhere:
    """Chooses a server that does not exist."""

    def start(self, agents, arms):
        return arms

    def choose(self, memory, uniforms, ages, t):
        return np.full(len(uniforms), memory)

    def learn(self, memory, arms, served, sent):
        pass


@dataclass(frozen=True)
class Forgetful:
    """Against the rules: goes on from the arm it is told, also where it sent nothing."""

    def start(self, agents, arms):
        return {"arm": np.zeros(agents, dtype=int), "arms": arms}

    def choose(self, memory, uniforms, ages, t):
        return memory["arm"]

    def learn(self, memory, arms, served, sent):
        memory["arm"] = (arms + (sent & ~served)) % memory["arms"]


def test_learners_that_break_the_rules():
    with pytest.raises(ModelError, match="learns from arms where nothing was sent"):
        check_learner(Forgetful())
    with pytest.raises(ModelError, match="mixes its agents"):
        check_learner(Gossip())
    with pytest.raises(ModelError, match="one of 3 arms"):
        check_learner(Elsewhere())
    with pytest.raises(ModelError, match=r"chose 2, but the servers are 0, \.\.\., 1"):
        trace([[1]], [[1, 1]], Elsewhere())
    assert isinstance(AgeGreedy(), Scheduler) and not isinstance(AgeGreedy(), Learner)
