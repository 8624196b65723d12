"""Random paths of strategic queues for exact checks: arrays that a seed gives, and adversaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qtheory.learning import UCB1, Exp3, Exp3P1, Mixed, Trace, Uniform, trace

STRATEGIES = (
    Exp3(),
    Exp3P1(),
    UCB1(),
    Uniform(),
    (Exp3(0.3), Mixed((0.2, 0.3, 0.5)), UCB1()),
)
"""For three queues and three servers."""

RULES: tuple[dict[str, Any], ...] = ({}, {"ties": "random"}, {"selection": "random"})
"""The oldest packet first with fixed and with random ties, and no priorities."""


@dataclass(frozen=True, eq=False)
class Script:
    """Choices (steps, queues, paths) that were written down before: any adversary."""

    choices: np.ndarray

    def start(self, queues: int, servers: tuple[int, ...], replications: int) -> None:
        return None

    def assign(
        self, memory: None, uniforms: np.ndarray, ages: np.ndarray, sends: np.ndarray, t: int
    ) -> np.ndarray:
        return self.choices[t]


def random_path(
    seed: int,
    strategy: Any,
    shape: tuple[int, int] = (3, 3),
    steps: int = 40,
    paths: int = 20,
    **options: Any,
) -> tuple[np.ndarray, Trace]:
    """The arrivals (steps, queues, paths) and the path, with rates that the seed gives too."""
    random = np.random.default_rng(seed)
    queues, servers = shape
    size = steps, queues, paths
    arrivals = random.random(size) < random.uniform(0.2, 1)
    coins = random.random((steps, servers, paths)) < random.random((servers, 1))
    uniforms, priorities = random.random(size), random.random(size)
    return arrivals, trace(arrivals, coins, strategy, uniforms, priorities=priorities, **options)


def crowded_choices(seed: int, shape: tuple[int, int], steps: int, paths: int) -> Script:
    """Choices at random, with a share of all packets at server 0 that the seed gives."""
    random = np.random.default_rng([seed, 1])
    queues, servers = shape
    size = steps, queues, paths
    at_first = random.random(size) < random.random()
    return Script(np.where(at_first, 0, random.integers(0, servers, size)))
