"""Queues that learn: steps of 2048 replications as arrays against a loop in plain Python.

Three queues of rate 100/189 and servers of rates 1, 1/3, 1/3, in the dual model, oldest packet
first, on one core. The plain loop runs one replication; its time is scaled to 2048. The runs are
interleaved, and the best of each is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from benchmarks._plain_queues import (
    PlainExp3,
    PlainExp3P1,
    PlainMixed,
    PlainUCB1,
    ages_after,
)
from benchmarks._timing import row, seconds

LAM = (Fraction(100, 189),) * 3
MU = (Fraction(1), Fraction(1, 3), Fraction(1, 3))
MIXED = (0.5, 0.25, 0.25)
REPLICATIONS = 2048
STEPS = 256
RUNS = 25
PLAIN_STEPS = 10_000


def _peers() -> dict[str, tuple[Any, Callable[[], Any]]]:
    from qtheory.learning import UCB1, Exp3, Exp3P1, Mixed

    return {
        "fixed": (Mixed(MIXED), lambda: PlainMixed(MIXED)),
        "Exp3": (Exp3(), lambda: PlainExp3(3)),
        "Exp3.P.1": (Exp3P1(), lambda: PlainExp3P1(3, 0.05)),
        "UCB1": (UCB1(), lambda: PlainUCB1(3)),
    }


def run() -> list[dict[str, str]]:
    """One row for each learner; the seconds are those of 256 steps of 2048 replications."""
    from qtheory.learning import simulate

    lam, mu = [float(rate) for rate in LAM], [float(rate) for rate in MU]
    rows = []
    for name, (learner, plain) in _peers().items():
        arrays = partial(simulate, LAM, MU, learner, STEPS, REPLICATIONS)
        loop = partial(ages_after, lam, mu, plain, PLAIN_STEPS)
        own = theirs = float("inf")
        for _ in range(RUNS):
            own = min(own, seconds(arrays, 1))
            theirs = min(theirs, seconds(loop, 1))
        whole = theirs / PLAIN_STEPS * STEPS * REPLICATIONS
        rows.append(row(name, own, "plain Python loop", whole, float("inf")))
    return rows


if __name__ == "__main__":
    for line in run():
        print("  ".join(line.values()))
