"""Paths: golden traces, both models alike, conservation, counterfactuals, the path inequality."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest

from qtheory.errors import ModelError
from qtheory.learning import (
    UCB1,
    AgeGreedy,
    Exp3,
    Exp3P1,
    Mixed,
    RandomisedSchedule,
    Uniform,
    path_inequality,
    trace,
)

MODELS = ("dual", "standard")
B = [[1, 1], [0, 1], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1], [0, 0], [1, 0], [0, 1], [1, 1], [0, 0]]
V = [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1], [1, 0], [0, 0], [1, 1], [1, 0], [0, 1]]


@dataclass(frozen=True)
class OldAndImpatient:
    """Leaves server 0 for the last one when the packet is old."""

    limit: int = 3

    def start(self, agents, arms):
        return arms

    def choose(self, memory, uniforms, ages, t):
        return np.where(ages > self.limit, memory - 1, np.int64(uniforms * memory))

    def learn(self, memory, arms, served, sent):
        pass


@dataclass(frozen=True)
class Script:
    """Choices that were written down before: any adversary."""

    choices: object

    def start(self, queues, servers, replications):
        return None

    def assign(self, memory, uniforms, ages, sends, t):
        return self.choices[t]


def random_path(seed, strategy, model, queues=3, servers=3, steps=25, paths=20, lam=0.5, **options):
    random = np.random.default_rng(seed)
    arrivals = random.random((steps, queues, paths)) < lam
    coins = random.random((steps, servers, paths)) < random.random((servers, 1))
    uniforms = random.random((steps, queues, paths))
    priorities = random.random((steps, queues, paths))
    return arrivals, trace(
        arrivals, coins, strategy, uniforms, model=model, priorities=priorities, **options
    )


@pytest.mark.parametrize("model", MODELS)
def test_golden_trace_all_to_the_first_server(model):
    path = trace(B, V, Mixed((1, 0)), model=model)
    sizes = [
        [0, 0, 0, 1, 2, 2, 2, 2, 1, 2, 2, 2, 2],
        [0, 1, 2, 1, 2, 1, 2, 3, 3, 3, 3, 4, 4],
    ]
    assert path.sizes[:, :, 0].T.tolist() == sizes
    ages = [[0, 0, 0, 1, 2, 3, 3, 4, 3, 4, 5, 3], [0, 1, 2, 2, 3, 2, 3, 4, 5, 6, 5, 6]]
    assert path.ages[:, :, 0].T.tolist() == ages
    served = [[1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0]]
    assert path.served[:, :, 0].T.astype(int).tolist() == served


@pytest.mark.parametrize("model", MODELS)
def test_golden_trace_crosswise(model):
    path = trace(B, V, [Mixed((0, 1)), Mixed((1, 0))], model=model)
    sizes = [[0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0], [0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0]]
    assert path.sizes[:, :, 0].T.tolist() == sizes
    ages = [[0, 1, 0, 0, 1, 2, 1, 0, 0, 1, 0, 1], [0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0]]
    assert path.ages[:, :, 0].T.tolist() == ages
    served = [[0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1], [1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0]]
    assert path.served[:, :, 0].T.astype(int).tolist() == served


STRATEGIES = [
    Exp3(),
    Exp3P1(),
    UCB1(),
    OldAndImpatient(),
    [Exp3(0.3), Mixed((0.2, 0.3, 0.5)), OldAndImpatient(1)],
]
RULES = [
    {},
    {"ties": "random"},
    {"selection": "random"},
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(5))
def test_both_models_give_the_same_path(seed, rule):
    # five strategies of twenty paths each: 500 instances of the main rule
    for strategy in STRATEGIES:
        arrivals, dual = random_path(seed, strategy, "dual", lam=0.2 + 0.1 * seed, **rule)
        _, standard = random_path(seed, strategy, "standard", lam=0.2 + 0.1 * seed, **rule)
        for name in ("sizes", "ages", "sends", "choices", "served", "would_be_served"):
            assert np.array_equal(getattr(dual, name), getattr(standard, name)), name
        # a queue is empty if and only if its age is 0, and no packet is younger than its queue
        sizes = dual.sizes[:-1]
        assert ((sizes >= 1) == (dual.ages >= 1)).all()
        assert (sizes <= dual.ages).all()
        assert np.array_equal(dual.sends, sizes + arrivals > 0)


@pytest.mark.parametrize("queues", [2, 3, 11])
@pytest.mark.parametrize("rule", RULES)
def test_conservation_and_one_service_per_server(queues, rule):
    arrivals, path = random_path(7, Uniform(), "standard", queues=queues, **rule)
    assert np.array_equal(np.diff(path.sizes, axis=0), arrivals.astype(int) - path.served)
    assert (path.served <= path.sizes[:-1] + arrivals).all()
    assert ((path.choices >= 0) == path.sends).all()
    for server in range(3):
        sent = path.choices == server
        # a server with a packet and a success serves exactly one
        served = (sent & path.served).sum(axis=1)
        assert np.array_equal(served, sent.any(axis=1) & path.coins[:, server])
    # and of those it gets, the one with the least key
    for t, i, r in np.argwhere(path.served):
        rivals = path.choices[t, :, r] == path.choices[t, i, r]
        assert path.keys[t, i, r] == path.keys[t, rivals, r].min()
    if not rule:
        oldest = np.where(path.sends, path.ages, -1)
        rivals = (path.choices[:, None] == path.choices[:, :, None]) & path.sends[:, None]
        assert (np.where(rivals, oldest[:, None], -1).max(axis=2) <= oldest)[path.served].all()


@pytest.mark.parametrize("queues", [3, 10])
@pytest.mark.parametrize("rule", RULES)
def test_counterfactuals_are_the_step_run_again(queues, rule):
    _, path = random_path(3, Uniform(), "dual", queues=queues, servers=3, paths=4, **rule)
    for t, r in np.ndindex(len(path), 4):
        for i, j in np.ndindex(queues, 3):
            choices = path.choices[t, :, r].tolist()
            if path.sends[t, i, r]:
                choices[i] = j
            at = [k for k in range(queues) if choices[k] == j]
            first = min(at, key=lambda k: path.keys[t, k, r], default=None)
            again = bool(path.sends[t, i, r] and first == i and path.coins[t, j, r])
            assert path.would_be_served[t, i, j, r] == again
    own = np.take_along_axis(path.would_be_served, path.choices[:, :, None].clip(0), axis=2)
    assert np.array_equal(own[:, :, 0] & path.sends, path.served)


def test_regret_of_a_window():
    path = trace([[1]] * 4, [[0, 1], [0, 1], [1, 0], [0, 1]], Mixed((1, 0)))
    assert path.regret()[0, 0] == 3 - 1
    assert path.regret(2, 3)[0, 0] == 0
    # a fixed arm may be worse than what was played
    switching = Script(np.array([[[1]], [[0]]]))
    assert trace([[1], [1]], [[0, 1], [1, 0]], switching).regret()[0, 0] == -1


def mean_over_bijections(path, group, start, stop):
    """The mean, over all bijections from the group to servers, of what the group would gain."""
    gains = path.would_be_served[start:stop].sum(axis=0)[group]
    k, servers = len(group), gains.shape[1]
    totals = [sum(gains[a, own[a]] for a in range(k)) for own in permutations(range(servers), k)]
    return np.mean(totals, axis=0)


def test_path_inequality_on_random_windows():
    applied = tight = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        queues, servers, steps = random.integers(2, 5), random.integers(2, 5), 30
        # from blind choices to one crowded server
        crowd = random.random()
        crowded = random.random((steps, queues, 10)) < crowd
        choices = np.where(crowded, 0, random.integers(0, servers, (steps, queues, 10)))
        learner = Script(choices) if seed % 3 else [Exp3(), UCB1(), *[Uniform()] * (queues - 2)]
        _, path = random_path(
            seed, learner, "dual", queues, servers, steps, paths=10, lam=random.uniform(0.4, 1)
        )
        start = int(random.integers(5, 20))
        stop = int(random.integers(start + 1, steps + 1))
        oldest = np.argsort(path.keys[start, :, 0])
        for k in range(1, queues + 1):
            group = oldest[:k].tolist()
            found = path_inequality(path, group, start, stop)
            assert found.holds
            applied += int(found.applies.sum())
            tight += int((found.joint[found.applies] == 0).sum())
            assert found.single.shape == (k, servers, 10)
            for j in range(servers):
                by_server = (path.served & (path.choices == j))[start:stop].sum(axis=0)
                successes = path.coins[start:stop, j].sum(axis=0)
                for own, i in enumerate(sorted(group)):
                    others = by_server[[other for other in group if other != i]].sum(axis=0)
                    gains = path.would_be_served[start:stop, i, j].sum(axis=0)
                    assert np.array_equal(found.single[own, j], gains - (successes - others))
            cleared = path.served[start:stop].sum(axis=0)[group].sum(axis=0)
            blame = np.maximum(path.regret(start, stop)[group], 0).sum(axis=0)
            most = np.sort(path.coins[start:stop].sum(axis=0), axis=0)[-k:].sum(axis=0)
            assert np.allclose(found.joint / k, (2 - 1 / k) * cleared + blame - most, atol=1e-9)
            if k <= servers and found.applies.any():
                # the best arm of each member gains at least the average over the bijections
                assert (
                    cleared + blame >= mean_over_bijections(path, group, start, stop) - 1e-9
                ).all()
    assert applied > 400
    assert tight > 20


def test_path_inequality_needs_its_hypothesis():
    # queue 0 alone is not older than queue 1, which blocks it
    path = trace([[1, 1]] * 4, [[1, 1]] * 4, [Mixed((1, 0)), Mixed((1, 0))])
    apart = path_inequality(path, [1])
    assert not apart.applies[0]
    assert path_inequality(path, [0, 1], 0, 4).applies[0]
    idle = trace([[0, 1]] * 4, [[1, 1]] * 4, Mixed((1, 0)))
    assert not path_inequality(idle, [0]).applies[0]


def test_age_greedy_and_schedules():
    random = np.random.default_rng(5)
    arrivals, coins = random.random((40, 4, 6)) < 0.5, random.random((40, 3, 6)) < 0.6
    path = trace(arrivals, coins, AgeGreedy())
    # the k-th oldest packet is at the k-th server, the rest stay
    for t, r in np.ndindex(40, 6):
        order = sorted(
            (i for i in range(4) if path.sends[t, i, r]), key=lambda i: path.keys[t, i, r]
        )
        expected = {i: place if place < 3 else -1 for place, i in enumerate(order)}
        assert all(path.choices[t, i, r] == expected.get(i, -1) for i in range(4))
    schedule = RandomisedSchedule((0.25, 0.75), ((0, 2, -1, 1), (1, 0, 2, -1)))
    uniforms = random.random((40, 4, 6))
    path = trace(arrivals, coins, schedule, uniforms)
    planned = np.where(uniforms[:, :1] < 0.25, [[[0], [2], [-1], [1]]], [[[1], [0], [2], [-1]]])
    assert np.array_equal(path.choices, np.where(path.sends, planned, -1))


@pytest.mark.parametrize(
    ("arrivals", "coins", "options"),
    [
        ([[1]], [[1], [0]], {}),
        ([1, 0], [[1], [0]], {}),
        ([[2]], [[1]], {}),
        ([[1]], [[0.5]], {}),
        ([[1]], [[1]], {"uniforms": [[1.0]]}),
        ([[1]], [[1]], {"uniforms": [[0, 0]]}),
        ([[1]], [[1]], {"model": "triple"}),
        ([[1]], [[1]], {"selection": "random"}),
        ([[1]], [[1]], {"selection": "newest"}),
        ([[1]], [[1]], {"ties": "newest"}),
        (np.zeros((0, 1)), np.zeros((0, 1)), {}),
        (np.zeros((2, 0)), np.zeros((2, 1)), {}),
        (np.zeros((2, 1)), np.zeros((2, 0)), {}),
    ],
)
def test_bad_arrays(arrivals, coins, options):
    with pytest.raises(ModelError):
        trace(arrivals, coins, Mixed((1,)), **options)


def test_bad_windows_and_groups():
    path = trace(B, V, Uniform())
    assert repr(path) == "Trace(12 steps, 2 queues, 2 servers, 1 paths)"
    for start, stop in ((-1, 3), (3, 3), (4, 2), (0, 13)):
        with pytest.raises(ModelError, match="no window"):
            path.regret(start, stop)
        with pytest.raises(ModelError, match="no window"):
            path_inequality(path, [0], start, stop)
    for group in ([], [2], [-1, 0]):
        with pytest.raises(ModelError, match="a group is made of"):
            path_inequality(path, group)
