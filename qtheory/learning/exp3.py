"""The exponential-weights learners Exp3, Exp3.P and Exp3.P.1.

Auer, Cesa-Bianchi, Freund, Schapire, *The nonstochastic multiarmed bandit problem* (2002). The
clock of an agent counts the steps in which it sends. Weights are kept as logarithms with the
largest at 0, so that they neither overflow nor are lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qtheory.errors import ModelError
from qtheory.learning.learners import pick
from qtheory.learning.regret_bounds import exp3p1_delta, exp3p1_start, exp3p_parameters


@dataclass
class _Shares:
    """The memory of Exp3: logarithms of the weights, and shares, the weights scaled to sum 1.

    Both have shape (arms, agents); `upto` (arms - 1, agents) are cumulative shares.
    """

    logs: np.ndarray
    shares: np.ndarray
    upto: np.ndarray
    clock: np.ndarray
    rates: np.ndarray


@dataclass(frozen=True)
class Exp3:
    """Exp3: arm j with probability ``(1 - g) w_j / sum(w) + g/K``; ``w_a *= exp(g x / (K p_a))``.

    Here a is the arm that was played and x its reward, 0 or 1. The rate g is fixed, or
    ``min(1, sqrt(K ln K / ((e - 1) t)))`` at the t-th play when it is None (anytime).

    >>> exp3 = Exp3(rate=0.5)
    >>> memory = exp3.start(agents=1, arms=2)
    >>> arms = exp3.choose(memory, np.array([0.7]), np.array([0]), 0)
    >>> exp3.learn(memory, arms, np.array([True]), np.array([True]))
    >>> exp3.probabilities(memory).ravel().round(4).tolist()
    [0.4388, 0.5612]

    Raises `ModelError` for a rate outside (0, 1], and when it starts, for fewer than 2 arms.
    """

    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate <= 1:
            raise ModelError(f"the rate of Exp3 must lie in (0, 1], got {self.rate}")

    def start(self, agents: int, arms: int) -> _Shares:
        if arms < 2:
            raise ModelError(f"Exp3 needs at least 2 arms, got {arms}")
        memory = _Shares(
            logs=np.zeros((arms, agents)),
            shares=np.full((arms, agents), 1 / arms),
            upto=np.repeat(np.arange(1, arms)[:, None] / arms, agents, axis=1),
            clock=np.zeros(agents),
            rates=np.full(agents, self.rate or 1.0),
        )
        self._set_rates(memory)
        return memory

    def _set_rates(self, memory: _Shares) -> None:
        """The rates of the next play of each agent."""
        if self.rate is None:
            arms = len(memory.logs)
            top = arms * math.log(arms) / (math.e - 1)
            # min(1, sqrt(top / t)) without a division by 0
            np.maximum(memory.clock + 1, top, out=memory.rates)
            np.divide(top, memory.rates, out=memory.rates)
            np.sqrt(memory.rates, out=memory.rates)

    def probabilities(self, memory: _Shares) -> np.ndarray:
        """The mixed strategies of the next play, of shape (arms, agents)."""
        found: np.ndarray = (1 - memory.rates) * memory.shares
        found += memory.rates / len(found)
        return found

    def choose(self, memory: _Shares, uniforms: np.ndarray, ages: np.ndarray, t: int) -> np.ndarray:
        arms = len(memory.logs)
        upto = np.arange(1, arms)[:, None] / arms - memory.upto
        upto *= memory.rates
        upto += memory.upto
        return pick(uniforms, upto)

    def learn(
        self, memory: _Shares, arms: np.ndarray, served: np.ndarray, sent: np.ndarray
    ) -> None:
        gained = np.flatnonzero(served)
        if gained.size:
            logs, shares, size = memory.logs, memory.shares, len(memory.logs)
            played = arms.take(gained).astype(np.int64)
            played *= len(served)
            played += gained
            rates, own = memory.rates.take(gained), shares.reshape(-1).take(played)
            # rate / (K p), where K p = K (1 - rate) share + rate
            logs.reshape(-1)[played] += rates / (rates + size * (1 - rates) * own)
            logs -= np.maximum.reduce(logs, axis=0)
            np.exp(logs, out=shares)
            shares /= np.add.reduce(shares, axis=0)
            memory.upto[0] = shares[0]
            for arm in range(1, size - 1):
                np.add(memory.upto[arm - 1], shares[arm], out=memory.upto[arm])
        memory.clock += sent
        self._set_rates(memory)


@dataclass
class _Weights:
    """The memory of Exp3.P: logarithms of weights and probabilities, of shape (arms, agents).

    For each agent: gamma, gamma/(3K), alpha/sqrt(K T), the number of its round and the plays that
    are left in it.
    """

    logs: np.ndarray
    chances: np.ndarray
    gamma: np.ndarray
    factor: np.ndarray
    bonus: np.ndarray
    round: np.ndarray
    left: np.ndarray


def _start(agents: int, arms: int) -> _Weights:
    return _Weights(
        logs=np.zeros((arms, agents)),
        chances=np.full((arms, agents), 1 / arms),
        gamma=np.empty(agents),
        factor=np.empty(agents),
        bonus=np.empty(agents),
        round=np.zeros(agents, dtype=np.int64),
        left=np.full(agents, math.inf),
    )


def _set_parameters(memory: _Weights, agents: np.ndarray, steps: int, delta: float) -> None:
    arms = len(memory.logs)
    gamma, alpha = exp3p_parameters(arms, steps, delta)
    memory.gamma[agents] = gamma
    memory.factor[agents] = gamma / (3 * arms)
    memory.bonus[agents] = alpha / math.sqrt(arms * steps)


def _learn(memory: _Weights, arms: np.ndarray, served: np.ndarray, sent: np.ndarray) -> None:
    """All weights are multiplied by exp(gamma/(3K) (1{j = a} x + alpha/sqrt(K T)) / p_j)."""
    agents = len(sent)
    growth = (memory.factor * sent) / memory.chances
    gained = np.flatnonzero(served)
    played = arms.take(gained).astype(np.int64) * agents + gained
    hits = growth.reshape(-1).take(played)
    growth *= memory.bonus
    growth.reshape(-1)[played] += hits
    memory.logs += growth
    memory.logs -= np.maximum.reduce(memory.logs, axis=0)
    np.exp(memory.logs, out=memory.chances)
    scale = (1 - memory.gamma) / np.add.reduce(memory.chances, axis=0)
    memory.chances *= scale
    memory.chances += memory.gamma / len(memory.logs)


class _ByChances:
    """A learner that plays the probabilities in its memory."""

    def probabilities(self, memory: _Weights) -> np.ndarray:
        """The mixed strategies of the next play, of shape (arms, agents)."""
        return memory.chances

    def choose(
        self, memory: _Weights, uniforms: np.ndarray, ages: np.ndarray, t: int
    ) -> np.ndarray:
        upto = memory.chances[:-1]
        if len(upto) > 1:
            upto = upto.copy()
            for arm in range(1, len(upto)):
                upto[arm] += upto[arm - 1]
        return pick(uniforms, upto)


@dataclass(frozen=True)
class Exp3P(_ByChances):
    """Exp3.P for T = `steps` plays: small regret with probability 1 - delta.

    ``w_j *= exp(gamma/(3K) (1{j = a} x / p_j + alpha / (p_j sqrt(K T))))`` for all arms j, with
    the parameters of `qtheory.learning.regret_bounds.exp3p_parameters`. It goes on in the same way
    after T plays, without a guarantee.
    """

    steps: int
    delta: float = 0.05

    def __post_init__(self) -> None:
        exp3p_parameters(2, self.steps, self.delta)

    def start(self, agents: int, arms: int) -> _Weights:
        exp3p_parameters(arms, self.steps, self.delta)
        memory = _start(agents, arms)
        _set_parameters(memory, np.arange(agents), self.steps, self.delta)
        return memory

    def learn(
        self, memory: _Weights, arms: np.ndarray, served: np.ndarray, sent: np.ndarray
    ) -> None:
        _learn(memory, arms, served, sent)


@dataclass(frozen=True)
class Exp3P1(_ByChances):
    """Exp3.P.1, which needs no horizon: Exp3.P(2^r, delta/((r+1)(r+2))) for r = r*, r* + 1, ...

    Each round starts from scratch; r* is `qtheory.learning.regret_bounds.exp3p1_start`.
    """

    delta: float = 0.05

    def __post_init__(self) -> None:
        exp3p_parameters(2, 1, self.delta)

    def start(self, agents: int, arms: int) -> _Weights:
        first = exp3p1_start(arms, self.delta)
        memory = _start(agents, arms)
        memory.round += first - 1
        self._next_round(memory, np.arange(agents))
        return memory

    def learn(
        self, memory: _Weights, arms: np.ndarray, served: np.ndarray, sent: np.ndarray
    ) -> None:
        _learn(memory, arms, served, sent)
        memory.left -= sent
        ended = np.flatnonzero(memory.left == 0)
        if ended.size:
            self._next_round(memory, ended)

    def _next_round(self, memory: _Weights, agents: np.ndarray) -> None:
        memory.round[agents] += 1
        memory.logs[:, agents] = 0
        memory.chances[:, agents] = 1 / len(memory.logs)
        rounds = memory.round[agents]
        memory.left[agents] = 2.0**rounds
        for r in np.unique(rounds).tolist():
            _set_parameters(memory, agents[rounds == r], 2**r, exp3p1_delta(self.delta, r))
