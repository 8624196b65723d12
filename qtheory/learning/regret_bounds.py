"""Regret bounds of the learners, each for one run from its start, and the parameters they need.

All are of Auer, Cesa-Bianchi, Freund, Schapire (2002). `arms` is K, the number of servers; the
rewards are 0 or 1, and the regret is the gain of the best arm minus the gain of the learner.
"""

from __future__ import annotations

import math

from qtheory.errors import ModelError


def exp3_bound(arms: int, gain: float) -> float:
    """The bound 2.63 sqrt(G K ln K) on the mean regret of Exp3 (Corollary 3.2).

    It holds for the rate ``min(1, sqrt(K ln K / ((e - 1) G)))`` when no arm gains more than G.

    >>> round(exp3_bound(3, 1000), 1)
    151.0
    """
    _require_arms("Exp3", arms)
    if not gain >= 0:
        raise ModelError(f"no arm gains less than 0, got {gain}")
    return 2.63 * math.sqrt(gain * arms * math.log(arms))


def exp3p_parameters(arms: int, steps: int, delta: float) -> tuple[float, float]:
    """The share of exploration gamma and the confidence alpha of Exp3.P (Theorem 6.3).

    alpha = 2 sqrt(ln(K T / delta)), gamma = min(3/5, 2 sqrt((3/5) K ln K / T)).

    >>> exp3p_parameters(3, 1024, 0.05)
    (0.08788980404289025, 6.641028946728527)

    Raises `ModelError` unless K >= 2, T >= 1 and 0 < delta < 1.
    """
    _require("Exp3.P", arms, steps, delta)
    alpha = 2 * math.sqrt(math.log(arms * steps / delta))
    return min(0.6, 2 * math.sqrt(0.6 * arms * math.log(arms) / steps)), alpha


def exp3p_bound(arms: int, steps: int, delta: float) -> float:
    """The bound on the regret of Exp3.P over T steps, with probability 1 - delta (Theorem 6.3).

    4 sqrt(K T ln(K T / delta)) + 4 sqrt((5/3) K T ln K) + 8 ln(K T / delta).

    >>> round(exp3p_bound(3, 1024, 0.05), 4)
    1124.3701
    """
    _require("Exp3.P", arms, steps, delta)
    size, confidence = arms * steps, math.log(arms * steps / delta)
    return (
        4 * math.sqrt(size * confidence)
        + 4 * math.sqrt(5 / 3 * size * math.log(arms))
        + 8 * confidence
    )


def exp3p1_start(arms: int, delta: float) -> int:
    """The first round r* of Exp3.P.1: the least r >= 1 with delta_r >= K T_r exp(-K T_r).

    Here T_r = 2^r and delta_r = delta / ((r + 1)(r + 2)).

    >>> exp3p1_start(3, 0.05), exp3p1_start(10, 0.05)
    (2, 1)
    """
    _require("Exp3.P.1", arms, 1, delta)
    r = 1
    while exp3p1_delta(delta, r) < arms * 2**r * math.exp(-arms * 2**r):
        r += 1
    return r


def exp3p1_delta(delta: float, r: int) -> float:
    """The share delta / ((r + 1)(r + 2)) of the error probability that round r may use."""
    return delta / ((r + 1) * (r + 2))


def exp3p1_bound(arms: int, steps: int, delta: float) -> float:
    """The bound on the regret of Exp3.P.1 over T steps, with probability 1 - delta (Theorem 6.4).

    10/(sqrt(2) - 1) sqrt(2 K T (ln(K T/delta) + c)) + 10 (1 + log2 T) (ln(K T/delta) + c) with
    c = 2 ln(2 + log2 T), for T >= 2^r*.

    >>> round(exp3p1_bound(3, 1024, 0.05))
    9328

    Raises `ModelError` for fewer steps than the first round has.
    """
    _require("Exp3.P.1", arms, steps, delta)
    first = 2 ** exp3p1_start(arms, delta)
    if steps < first:
        raise ModelError(f"the bound of Exp3.P.1 needs at least {first} steps, got {steps}")
    rounds = math.log2(steps)
    confidence = math.log(arms * steps / delta) + 2 * math.log(2 + rounds)
    return (
        10 / (math.sqrt(2) - 1) * math.sqrt(2 * arms * steps * confidence)
        + 10 * (1 + rounds) * confidence
    )


def restarted_bound(window: int, every: int, bound: float) -> float:
    """The bound on the regret over any window of w steps of a learner restarted every B steps.

    2 B + (w / B) phi, where phi bounds the regret of each run of at most B plays: at most w/B runs
    lie within the window, and in the parts of two more the regret is at most their length. With
    B = w^(2/3) and phi = O(sqrt(B log B)) it is o(w). If phi fails with probability delta for each
    run, the bound fails with probability at most (w / B) delta.

    >>> restarted_bound(10_000, 1000, 60.0)
    2600.0
    """
    if not 1 <= every <= window:
        raise ModelError(f"needs 1 <= every <= window, got every = {every}, window = {window}")
    return 2 * every + window // every * bound


def _require_arms(name: str, arms: int) -> None:
    if arms < 2:
        raise ModelError(f"{name} needs at least 2 arms, got {arms}")


def _require(name: str, arms: int, steps: int, delta: float) -> None:
    _require_arms(name, arms)
    if steps < 1:
        raise ModelError(f"{name} needs at least 1 step, got {steps}")
    if not 0 < delta < 1:
        raise ModelError(f"{name} needs 0 < delta < 1, got delta = {delta}")
