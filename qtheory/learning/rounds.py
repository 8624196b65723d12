"""The steps of the system for all replications at once: choices, selection, service, feedback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from qtheory.errors import ModelError
from qtheory.learning.draws import PRIORITIES, Supply
from qtheory.learning.learner import Learner, Scheduler
from qtheory.learning.learners import arm_type
from qtheory.learning.waiting import Waiting

Selection = Literal["oldest", "random"]
Ties = Literal["index", "random"]

NEVER = 2**62
"""Later than every key."""

FEW = 8
"""Up to so many queues the packets at a server are compared in pairs."""


class Round(NamedTuple):
    """Step t, all arrays of shape (queues, R); they are valid until the next step.

    `ages` are those at the beginning of the step, `choices` the servers (-1 for none); of two
    packets at a server the one with the smaller key is selected.
    """

    t: int
    ages: np.ndarray
    sends: np.ndarray
    choices: np.ndarray
    keys: np.ndarray
    coins: np.ndarray
    served: np.ndarray


@dataclass(frozen=True)
class Priority:
    """Which of the packets at a server is selected: the oldest one, or any.

    Packets of equal age are ordered by the index of their queue, or anew in each step.
    """

    selection: Selection = "oldest"
    ties: Ties = "index"

    def __post_init__(self) -> None:
        if self.selection not in ("oldest", "random"):
            raise ModelError(f"selection must be 'oldest' or 'random', got {self.selection!r}")
        if self.ties not in ("index", "random"):
            raise ModelError(f"ties must be 'index' or 'random', got {self.ties!r}")

    @property
    def is_random(self) -> bool:
        """Whether it takes random numbers."""
        return "random" in (self.selection, self.ties)

    def keys(self, oldest: np.ndarray, priorities: np.ndarray | None) -> np.ndarray:
        """Keys that differ between queues; the smaller one is selected."""
        queues = len(oldest)
        if self.selection == "random":
            assert priorities is not None
            keys = priorities * queues
        elif self.ties == "random":
            assert priorities is not None
            # timestamps of packets to come may be huge: their keys wrap round and are not used
            keys = (oldest * PRIORITIES + priorities) * queues
        else:
            keys = oldest * queues
        keys += np.arange(queues)[:, None]
        return keys


class Deciders:
    """The strategies of all queues; each learner is told of its own queues only."""

    def __init__(
        self,
        strategy: Learner | Scheduler | Sequence[Learner],
        queues: int,
        mu: Sequence[Any],
        replications: int,
    ) -> None:
        self.servers = len(mu)
        self._central: Scheduler | None = None
        self._groups: list[tuple[Learner, Any, Any]] = []
        if isinstance(strategy, Scheduler) and not isinstance(strategy, type):
            fastest = tuple(sorted(range(len(mu)), key=lambda j: -mu[j]))
            self._central = strategy
            self._memory = strategy.start(queues, fastest, replications)
            return
        given: Any = strategy
        own = list(given) if isinstance(given, (list, tuple)) else [given] * queues
        # a class has the methods of its instances
        for one in own:
            if isinstance(one, type):
                raise ModelError(f"{one.__name__} is a class: give a learner, {one.__name__}(...)")
        if len(own) != queues or not all(isinstance(one, Learner) for one in own):
            raise ModelError(
                f"needs a learner, a scheduler, or one learner for each of the {queues} queues, "
                f"got {strategy}"
            )
        distinct = [one for i, one in enumerate(own) if one not in own[:i]]
        for learner in distinct:
            rows = [i for i in range(queues) if own[i] == learner]
            memory = learner.start(len(rows) * replications, self.servers)
            everything = slice(None) if len(rows) == queues else rows
            self._groups.append((learner, memory, everything))

    def choose(
        self, uniforms: np.ndarray, ages: np.ndarray, sends: np.ndarray, t: int
    ) -> np.ndarray:
        """The servers of all queues, -1 for those that send nothing."""
        if self._central is not None:
            choices = self._central.assign(self._memory, uniforms, ages, sends, t)
            choices = self._valid(choices, self._central, least=-1)
        elif len(self._groups) == 1:
            learner, memory, _ = self._groups[0]
            choices = learner.choose(memory, uniforms.reshape(-1), ages.reshape(-1), t)
            choices = self._valid(choices, learner).reshape(ages.shape)
        else:
            choices = np.empty(ages.shape, dtype=arm_type(self.servers))
            for learner, memory, rows in self._groups:
                own = ages[rows]
                chosen = learner.choose(memory, uniforms[rows].reshape(-1), own.reshape(-1), t)
                choices[rows] = self._valid(chosen, learner).reshape(own.shape)
        # 0 for a queue that sends, and -1, all bits 1, for one that does not
        idle = sends.view(np.int8) - np.int8(1)
        return choices | idle

    def _valid(self, choices: np.ndarray, chooser: Any, least: int = 0) -> np.ndarray:
        low, high = np.minimum.reduce(choices, axis=None), np.maximum.reduce(choices, axis=None)
        if low < least or high >= self.servers:
            raise ModelError(
                f"{chooser} chose {low if low < least else high}, "
                f"but the servers are 0, ..., {self.servers - 1}"
            )
        return choices.astype(arm_type(self.servers), copy=False)

    def learn(self, choices: np.ndarray, served: np.ndarray, sent: np.ndarray) -> None:
        """The feedback of a step."""
        for learner, memory, rows in self._groups:
            own = choices[rows].reshape(-1), served[rows].reshape(-1), sent[rows].reshape(-1)
            learner.learn(memory, *own)


def rounds(
    waiting: Waiting, deciders: Deciders, supplies: Iterable[Supply], priority: Priority
) -> Iterator[Round]:
    """The steps 0, 1, 2, ... of the system; each is yielded when it is over.

    1. packets arrive; 2. every queue with a packet sends its oldest one to a server; 3. each
    server selects one packet and serves it when its coin says so; 4. each queue learns whether
    its packet was served, and nothing else.
    """
    for t, (coins, uniforms, jobs, priorities) in enumerate(supplies):
        waiting.arrive(t, jobs)
        ages = t - waiting.oldest
        sends = ages >= 0
        np.maximum(ages, 0, out=ages)
        keys = priority.keys(waiting.oldest, priorities)
        choices = deciders.choose(uniforms, ages, sends, t)
        served = serve(choices, keys, coins)
        deciders.learn(choices, served, sends)
        waiting.remove(served, jobs)
        yield Round(t, ages, sends, choices, keys, coins, served)


def serve(choices: np.ndarray, keys: np.ndarray, coins: np.ndarray) -> np.ndarray:
    """Which packets are served: those with the least key at a server whose coin is True."""
    if len(choices) > FEW:
        at = np.maximum(choices, 0).astype(np.int64)
        first = first_keys(choices, keys, coins)
        best = keys <= np.take_along_axis(first, at, axis=0)
        best &= np.take_along_axis(coins, at, axis=0)
        best &= choices >= 0
        return best
    served = np.zeros(choices.shape, dtype=bool)
    for server, coin in enumerate(coins):
        at = choices == server
        at &= coin
        served |= at
    for apart in range(1, len(choices)):
        same = choices[apart:] == choices[:-apart]
        loses = keys[apart:] > keys[:-apart]
        loses &= same
        # for truth values a > b means: a and not b
        np.greater(served[apart:], loses, out=served[apart:])
        # where both are at one server, the other one loses
        same ^= loses
        np.greater(served[:-apart], same, out=served[:-apart])
    return served


def first_keys(choices: np.ndarray, keys: np.ndarray, coins: np.ndarray) -> np.ndarray:
    """The least key at each server, of shape (servers + 1, R); the last row is of no server."""
    servers, replications = coins.shape
    first = np.full((servers + 1, replications), NEVER)
    flat, columns = first.reshape(-1), np.arange(replications)
    for choice, key in zip(choices, keys, strict=True):
        # the choice -1 is a negative index, of the last row
        places = choice.astype(np.int64) * replications + columns
        flat[places] = np.minimum(flat[places], key)
    return first


def counterfactuals(step: Round) -> np.ndarray:
    """Whether each queue would have been served by each server, of shape (queues, servers, R).

    The indicator S^{i,j}: queue i has a packet, the coin of server j is True, and no *other* queue
    sent an older packet to j. All else is as it happened, so that at the server that was chosen
    it is whether the queue was served.
    """
    first = first_keys(step.choices, step.keys, step.coins)[:-1]
    found = step.keys[:, None] <= first
    found &= step.coins
    found &= step.sends[:, None]
    return found
