"""What a learner and a central scheduler are, and a check that a learner keeps the rules.

In the dual model a queue is one timestamp (Gaitonde, Tardos 2020). It has the law of the standard
model only when the choice of a queue depends on its own past feedback, its own age, the time and
private random numbers. So that is all a learner gets: arrays with one entry for each *agent*, an
agent being one queue in one replication. A central scheduler may compare the ages of all queues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from qtheory.errors import ModelError

if TYPE_CHECKING:
    import numpy as np


@runtime_checkable
class Learner(Protocol):
    """A rule by which each queue chooses its server, the same for many agents at once.

    A learner is a value (its parameters); what it has learnt is in the memory, of any type,
    that `start` makes and `learn` changes. All arrays have shape (agents,). A learner in ten lines,
    which stays at a server until it fails there:

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class StayIfServed:
    ...     def start(self, agents, arms):
    ...         return {"arm": np.zeros(agents, dtype=int), "arms": arms}
    ...     def choose(self, memory, uniforms, ages, t):
    ...         return memory["arm"]
    ...     def learn(self, memory, arms, served, sent):
    ...         memory["arm"] = (memory["arm"] + (sent & ~served)) % memory["arms"]
    >>> check_learner(StayIfServed())
    >>> from qtheory.learning import simulate
    >>> run = simulate(["1/4", "1/4"], [1, "1/2"], StayIfServed(), steps=400, replications=64)
    >>> run.total_size.mean < 2
    True
    """

    def start(self, agents: int, arms: int) -> Any:
        """The memory of agents that know nothing yet; `ModelError` for a bad number of arms."""
        ...

    def choose(self, memory: Any, uniforms: np.ndarray, ages: np.ndarray, t: int) -> np.ndarray:
        """The arms (servers 0, 1, ...) at step t.

        `uniforms` are private numbers of [0, 1); `ages` are those of the oldest packets, 0 also
        where there is none. What is chosen for a queue without packets is not used.
        """
        ...

    def learn(self, memory: Any, arms: np.ndarray, served: np.ndarray, sent: np.ndarray) -> None:
        """Take in which agents sent a packet to their arm, and which of these were served.

        Where nothing was sent, `served` is False and the arm has no meaning: it is -1.
        """
        ...


@runtime_checkable
class Scheduler(Protocol):
    """A central rule that sees the ages of all queues and may keep a queue silent (-1)."""

    def start(self, queues: int, servers: tuple[int, ...], replications: int) -> Any:
        """The memory; `servers` are the servers from the fastest to the slowest."""
        ...

    def assign(
        self, memory: Any, uniforms: np.ndarray, ages: np.ndarray, sends: np.ndarray, t: int
    ) -> np.ndarray:
        """The servers at step t, or -1; all arrays have shape (queues, replications).

        `sends` tells which queues have a packet.
        """
        ...


def check_learner(learner: Learner, arms: int = 3, agents: int = 5, steps: int = 200) -> None:
    """Check on random feedback that a learner chooses arms that exist, for each agent by itself.

    Each agent must choose the same whether it is asked together with others or alone, and
    whatever arm it is told where it sent nothing.

    Raises `ModelError` where it does not.
    """
    import numpy as np

    random = np.random.default_rng(0)
    together = learner.start(agents, arms)
    alone = [learner.start(1, arms) for _ in range(agents)]
    ages = np.zeros(agents, dtype=np.int64)
    for t in range(steps):
        uniforms, sent = random.random(agents), random.random(agents) < 0.8
        chosen = np.array(learner.choose(together, uniforms, ages, t))
        if chosen.shape != (agents,) or chosen.min() < 0 or chosen.max() >= arms:
            raise ModelError(f"{learner} must choose one of {arms} arms for each agent at step {t}")
        single = [
            int(learner.choose(memory, uniforms[[k]], ages[[k]], t)[0])
            for k, memory in enumerate(alone)
        ]
        if chosen.tolist() != single:
            raise ModelError(
                f"{learner} mixes its agents, or learns from arms where nothing was sent: at step "
                f"{t} one chooses otherwise alone"
            )
        served = sent & (random.random(agents) < 0.5)
        learner.learn(together, np.where(sent, chosen, -1), served, sent)
        for k, memory in enumerate(alone):
            learner.learn(memory, chosen[[k]], served[[k]], sent[[k]])
        ages = np.where(served, 0, ages + sent)
