"""Queues that learn in plain Python, one replication at a time: the definitions, written down.

The peer of the benchmark, and what the tests compare the arrays with.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any


class PlainMixed:
    """A fixed mixed strategy."""

    def __init__(self, probabilities: Sequence[float]) -> None:
        self.probabilities = list(probabilities)

    def choose(self, uniform: float, age: int, t: int) -> int:
        return pick(self.probabilities, uniform)

    def learn(self, arm: int, reward: bool) -> None:
        pass


class PlainExp3:
    """Exp3 with the anytime rate, or a fixed one; weights may overflow in long runs."""

    def __init__(self, arms: int, rate: float | None = None) -> None:
        self.arms, self.rate, self.plays = arms, rate, 0
        self.weights = [1.0] * arms

    def choose(self, uniform: float, age: int, t: int) -> int:
        arms, weights = self.arms, self.weights
        self.gamma = self.rate or min(
            1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1) * (self.plays + 1)))
        )
        total, even = sum(weights), self.gamma / arms
        self.probabilities = [(1 - self.gamma) * w / total + even for w in weights]
        return pick(self.probabilities, uniform)

    def learn(self, arm: int, reward: bool) -> None:
        self.plays += 1
        if reward:
            self.weights[arm] *= math.exp(self.gamma / (self.arms * self.probabilities[arm]))


class PlainExp3P:
    """Exp3.P for a number of steps."""

    def __init__(self, arms: int, steps: int, delta: float) -> None:
        self.arms, self.steps = arms, steps
        self.gamma = min(3 / 5, 2 * math.sqrt(3 / 5 * arms * math.log(arms) / steps))
        self.alpha = 2 * math.sqrt(math.log(arms * steps / delta))
        self.bonus = self.alpha / math.sqrt(arms * steps)
        self.logs = [0.0] * arms

    def choose(self, uniform: float, age: int, t: int) -> int:
        top = max(self.logs)
        weights = [math.exp(log - top) for log in self.logs]
        total, even = sum(weights), self.gamma / self.arms
        self.probabilities = [(1 - self.gamma) * w / total + even for w in weights]
        return pick(self.probabilities, uniform)

    def learn(self, arm: int, reward: bool) -> None:
        factor = self.gamma / (3 * self.arms)
        for j, probability in enumerate(self.probabilities):
            self.logs[j] += factor * ((j == arm and reward) + self.bonus) / probability


class PlainExp3P1:
    """Exp3.P.1: Exp3.P for 2^r steps, r = r*, r* + 1, ..."""

    def __init__(self, arms: int, delta: float) -> None:
        self.arms, self.delta, self.round = arms, delta, 1
        while self._share() < arms * 2**self.round * math.exp(-arms * 2**self.round):
            self.round += 1
        self._begin()

    def _share(self) -> float:
        return self.delta / ((self.round + 1) * (self.round + 2))

    def _begin(self) -> None:
        self.left = 2**self.round
        self.own = PlainExp3P(self.arms, 2**self.round, self._share())

    @property
    def probabilities(self) -> list[float]:
        return self.own.probabilities

    def choose(self, uniform: float, age: int, t: int) -> int:
        return self.own.choose(uniform, age, t)

    def learn(self, arm: int, reward: bool) -> None:
        self.own.learn(arm, reward)
        self.left -= 1
        if self.left == 0:
            self.round += 1
            self._begin()


class PlainUCB1:
    """UCB1."""

    def __init__(self, arms: int) -> None:
        self.plays, self.gains, self.total = [0] * arms, [0] * arms, 0

    def choose(self, uniform: float, age: int, t: int) -> int:
        if self.total < len(self.plays):
            return self.total
        wide = 2 * math.log(self.total)
        best, chosen = -1.0, 0
        for j, (plays, gain) in enumerate(zip(self.plays, self.gains, strict=True)):
            index = gain / plays + math.sqrt(wide / plays)
            if index > best:
                best, chosen = index, j
        return chosen

    def learn(self, arm: int, reward: bool) -> None:
        self.total += 1
        self.plays[arm] += 1
        self.gains[arm] += reward


def pick(probabilities: Sequence[float], uniform: float) -> int:
    """The arm by inversion of the cumulative law."""
    upto = 0.0
    for arm, probability in enumerate(probabilities):
        upto += probability
        if uniform < upto:
            return arm
    return len(probabilities) - 1


def ages_after(
    lam: Sequence[float],
    mu: Sequence[float],
    learner: Callable[[], Any],
    steps: int,
    seed: int = 0,
) -> list[int]:
    """The ages of the oldest packets after so many steps of the dual model, oldest first.

    A learner is given its own age, the time and a private number; then whether it was served.
    """
    uniform = random.Random(seed).random
    scales = [1 / math.log1p(-rate) for rate in lam]
    oldest = [int(math.log(1 - uniform()) * scale) for scale in scales]
    learners = [learner() for _ in lam]
    queues, servers = range(len(lam)), range(len(mu))
    for t in range(steps):
        first = [-1] * len(mu)
        chosen = [-1] * len(lam)
        for i in queues:
            if oldest[i] <= t:
                j = chosen[i] = learners[i].choose(uniform(), t - oldest[i], t)
                if first[j] < 0 or oldest[i] < oldest[first[j]]:
                    first[j] = i
        served = [False] * len(lam)
        for j in servers:
            if uniform() < mu[j] and first[j] >= 0:
                served[first[j]] = True
        for i in queues:
            if chosen[i] >= 0:
                learners[i].learn(chosen[i], served[i])
                if served[i]:
                    oldest[i] += int(math.log(1 - uniform()) * scales[i]) + 1
    return [max(0, steps - stamp) for stamp in oldest]
