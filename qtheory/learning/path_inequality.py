"""The path inequality behind the stability of queues without regret, on windows of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qtheory.errors import ModelError
from qtheory.learning.trace import Trace


@dataclass(frozen=True, eq=False)
class PathInequality:
    """The two sides' differences, all integers; both are >= 0 where the hypothesis `applies`.

    `applies` (R,): every queue of the group has a packet in each step of the window, and an older
    one than each queue outside. `single` (k, m, R), for queues i of the group, in increasing order,
    and servers j: sum_t S^{i,j} - (V_j - sum over l != i of C^{l,j}). `joint` (R,), times k:
    (2k - 1) sum_i C_i + k sum_i max(Reg_i, 0) - k (V_1 + ... + V_k), with the k servers that have
    the most successes.
    """

    applies: np.ndarray
    single: np.ndarray
    joint: np.ndarray

    @property
    def holds(self) -> bool:
        """Whether both inequalities hold in all replications in which the hypothesis does."""
        return bool(
            (self.single[:, :, self.applies] >= 0).all() and (self.joint[self.applies] >= 0).all()
        )


def path_inequality(
    path: Trace, group: Sequence[int], start: int = 0, stop: int | None = None
) -> PathInequality:
    """The path inequality for a group of k queues in the steps start, ..., stop - 1.

    In a window in which the group always has packets, older than those of all others,

        sum_t S^{i,j}_t >= V_j - sum over l in the group, l != i, of C^{l,j}    (each i, j),
        (2 - 1/k) sum_i C_i + sum_i max(Reg_i, 0) >= sum of V_j over any k servers,

    where V_j are the successes of the coin of server j, C^{l,j} the packets of l that j served,
    and C_l all packets of l that were served. Both hold on every path, for all choices. The first
    one counts the steps with a success of j in which no other member is served by j; the second
    averages it over all bijections from the group to the servers. With fewer than k servers the
    missing ones have no success.

    >>> from qtheory.learning import Mixed, trace
    >>> path = trace([[1, 1]] * 3, [[1, 0], [1, 1], [0, 1]], Mixed((1, 0)))
    >>> found = path_inequality(path, [0, 1])
    >>> found.applies.tolist(), found.joint.tolist(), found.single[:, :, 0].tolist()
    ([True], [2], [[0, 0], [0, 0]])

    Raises `ModelError` for an empty group, an unknown queue or a window outside the path.
    """
    queues, servers = path.would_be_served.shape[1:3]
    members = sorted(set(group))
    if not members or members[0] < 0 or members[-1] >= queues:
        raise ModelError(f"a group is made of queues 0, ..., {queues - 1}, got {list(group)}")
    regret = path.regret(start, stop)
    within = slice(start, stop)
    others = [i for i in range(queues) if i not in members]
    sends, keys = path.sends[within], path.keys[within]
    applies = np.logical_and.reduce(sends[:, members], axis=(0, 1))
    if others:
        latest = keys[:, members].max(axis=1)
        rivals = np.where(sends[:, others], keys[:, others], np.iinfo(np.int64).max)
        applies &= (latest < rivals.min(axis=1)).all(axis=0)
    successes = path.coins[within].sum(axis=0)
    at_server = np.stack([path.choices[within] == j for j in range(servers)], axis=2)
    cleared = (at_server & path.served[within][:, :, None]).sum(axis=0)[members]
    gains = path.would_be_served[within].sum(axis=0)[members]
    # all but the own packets of each member
    single = gains - successes + cleared.sum(axis=0) - cleared
    k = len(members)
    most = -np.sort(-successes, axis=0)[:k]
    blame = np.maximum(regret[members], 0).sum(axis=0)
    joint = (2 * k - 1) * cleared.sum(axis=(0, 1)) + k * blame - k * most.sum(axis=0)
    return PathInequality(applies, single, joint)
