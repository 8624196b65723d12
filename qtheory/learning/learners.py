"""Plain learners: fixed and uniform mixed strategies, UCB1, and restarts of any learner."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qtheory.arithmetic import exact
from qtheory.errors import ModelError
from qtheory.learning.learner import Learner

SUM_TOLERANCE = 1e-12
"""By how much the probabilities of a mixed strategy may miss 1."""

FAR = 1e300
"""The index of an arm that was never played."""


def arm_type(arms: int) -> type[np.signedinteger[Any]]:
    """The shortest integers that number the arms, and -1 for none."""
    return np.int8 if arms <= 127 else np.int16


def pick(uniforms: np.ndarray, upto: np.ndarray) -> np.ndarray:
    """The arms from uniform numbers (agents,) and the cumulative law (arms - 1, agents)."""
    if not len(upto):
        return np.zeros(uniforms.shape, dtype=np.int8)
    passed = (uniforms >= upto).view(np.int8)
    return np.add.reduce(passed, axis=0, dtype=arm_type(len(upto) + 1))


class _Fixed:
    """A learner whose memory is the cumulative law that it plays at every step."""

    def choose(
        self, memory: np.ndarray, uniforms: np.ndarray, ages: np.ndarray, t: int
    ) -> np.ndarray:
        return pick(uniforms, memory)

    def learn(
        self, memory: np.ndarray, arms: np.ndarray, served: np.ndarray, sent: np.ndarray
    ) -> None:
        pass


@dataclass(frozen=True)
class Mixed(_Fixed):
    """A fixed mixed strategy: server j with probability ``probabilities[j]``, at every step.

    >>> Mixed(("1/3", "2/3")).probabilities
    (Fraction(1, 3), Fraction(2, 3))

    Raises `ModelError` unless the probabilities are nonnegative and sum to 1.
    """

    probabilities: tuple[Any, ...]

    def __post_init__(self) -> None:
        given = (exact(p) if isinstance(p, str) else p for p in self.probabilities)
        object.__setattr__(self, "probabilities", tuple(given))
        law = [float(p) for p in self.probabilities]
        if not law or not min(law) >= 0 or not abs(sum(law) - 1) <= SUM_TOLERANCE:
            raise ModelError(f"probabilities must be >= 0 and sum to 1, got {self.probabilities}")

    def start(self, agents: int, arms: int) -> np.ndarray:
        if arms != len(self.probabilities):
            raise ModelError(
                f"a mixed strategy over {len(self.probabilities)} servers, but there are {arms}"
            )
        return _cumulative(self.probabilities)


@dataclass(frozen=True)
class Uniform(_Fixed):
    """Every server with the same probability, at every step."""

    def start(self, agents: int, arms: int) -> np.ndarray:
        return _cumulative([Fraction(1, arms)] * arms)


def _cumulative(probabilities: Any) -> np.ndarray:
    return np.cumsum([float(p) for p in probabilities])[:-1, None]


@dataclass
class _Counts:
    """Plays and gains of each arm, of shape (arms * agents,), and what the indices are made of."""

    arms: int
    clock: np.ndarray
    plays: np.ndarray
    gains: np.ndarray
    means: np.ndarray
    widths: np.ndarray


@dataclass(frozen=True)
class UCB1:
    """The index policy of Auer, Cesa-Bianchi, Fischer (2002).

    Each arm once, in order, then the arm with the largest ``mean + sqrt(2 ln t / plays)``, where t
    counts the plays so far; of equal arms the first. Its regret is small against arms with
    independent rewards; against other learners it has no guarantee.
    """

    def start(self, agents: int, arms: int) -> _Counts:
        none = np.zeros(arms * agents)
        return _Counts(arms, np.zeros(agents), none.copy(), none.copy(), none + FAR, none.copy())

    def choose(self, memory: _Counts, uniforms: np.ndarray, ages: np.ndarray, t: int) -> np.ndarray:
        stretch = np.sqrt(np.log(np.maximum(memory.clock, 1)))
        index = memory.widths.reshape(memory.arms, -1) * stretch
        index += memory.means.reshape(memory.arms, -1)
        best = index[0]
        chosen = np.zeros(len(stretch), dtype=arm_type(memory.arms))
        for arm in range(1, memory.arms):
            better = (index[arm] > best).view(np.int8)
            # the last improvement has the largest number
            np.maximum(chosen, better * chosen.dtype.type(arm), out=chosen)
            np.maximum(best, index[arm], out=best)
        return chosen

    def learn(
        self, memory: _Counts, arms: np.ndarray, served: np.ndarray, sent: np.ndarray
    ) -> None:
        memory.clock += sent
        agents = np.flatnonzero(sent)
        played = arms.take(agents).astype(np.int64)
        played *= len(sent)
        played += agents
        plays = memory.plays.take(played)
        plays += 1
        gains = memory.gains.take(played)
        gains += served.take(agents)
        memory.plays[played] = plays
        memory.gains[played] = gains
        memory.means[played] = gains / plays
        memory.widths[played] = np.sqrt(2 / plays)


@dataclass
class _Restarting:
    """The memory of the learner since its last start, and the size of the next one."""

    own: Any
    agents: int
    arms: int


@dataclass(frozen=True)
class Restarted:
    """A learner that forgets everything at the steps 0, `every`, 2 `every`, ...

    A bound for one run from its start so becomes one for every window of w steps, after every
    history: the window covers at most ``w / every`` whole runs, and parts of two more, in which
    the regret is at most their length (see `qtheory.learning.regret_bounds.restarted_bound`).

    >>> Restarted(UCB1(), every=1000)
    Restarted(learner=UCB1(), every=1000)
    """

    learner: Learner
    every: int

    def __post_init__(self) -> None:
        if not isinstance(self.learner, Learner):
            raise ModelError(f"only a learner can be restarted, got {self.learner}")
        if self.every < 1:
            raise ModelError(f"a learner is restarted after at least 1 step, got {self.every}")

    def start(self, agents: int, arms: int) -> _Restarting:
        return _Restarting(self.learner.start(agents, arms), agents, arms)

    def choose(
        self, memory: _Restarting, uniforms: np.ndarray, ages: np.ndarray, t: int
    ) -> np.ndarray:
        if t and t % self.every == 0:
            memory.own = self.learner.start(memory.agents, memory.arms)
        return self.learner.choose(memory.own, uniforms, ages, t)

    def learn(
        self, memory: _Restarting, arms: np.ndarray, served: np.ndarray, sent: np.ndarray
    ) -> None:
        self.learner.learn(memory.own, arms, served, sent)
