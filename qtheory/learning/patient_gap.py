r"""What a patient queue can gain by another fixed strategy: the exact best deviation.

The ratio f* of queue i in the principal partition is

    f_i = max over X without i, min over Y that holds X and i, of (N(Y) - N(X)) / Lambda(Y \ X):

X = the part of the chain before i shows >=, and for every X, Y = X + the part of the chain up to i
shows <=, by submodularity (Fujishige 1980, lexicographically optimal bases). N(Y) is affine in the
strategy of i and N(X) does not depend on it, so for each X the best strategy solves a matrix game
of sets Y against servers. Its value is found by the simplex method in rational numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from qtheory.errors import ModelError
from qtheory.learning.patient import Profile, growth, read_profile
from qtheory.learning.rates import read_rates

MOST = 8
"""The most kinds of other queues: all pairs of nested sets of them are enumerated."""


@dataclass(frozen=True)
class Deviation:
    """The best fixed strategy of one queue against the others: the least growth rate of its age.

    `gain` is how much lower `rate` is than with the strategy of the profile; if nothing is gained
    the strategy is that one. `queue` counts from 0, the text from 1.
    """

    queue: int
    strategy: tuple[Fraction, ...]
    rate: Fraction
    gain: Fraction

    def __str__(self) -> str:
        if not self.gain:
            return f"queue {self.queue + 1}: r = {self.rate}, no deviation gains"
        played = ", ".join(map(str, self.strategy))
        return f"queue {self.queue + 1}: ({played}) gives r = {self.rate}, gains {self.gain}"


@dataclass(frozen=True, repr=False)
class PatientGap:
    """The best deviation of each queue from a profile; nothing is rounded, so this is a proof."""

    deviations: tuple[Deviation, ...]

    @property
    def epsilon(self) -> Fraction:
        """The greatest gain."""
        return max(own.gain for own in self.deviations)

    @property
    def is_equilibrium(self) -> bool:
        """Whether no queue gains by any fixed strategy."""
        return self.epsilon == 0

    def __repr__(self) -> str:
        word = "an equilibrium" if self.is_equilibrium else f"no equilibrium, gap {self.epsilon}"
        lines = [f"{word}; queues count from 1", *(f"  {own}" for own in self.deviations)]
        return "\n".join(lines)


def patient_gap(
    lam: Sequence[Any], mu: Sequence[Any], profile: Sequence[Sequence[Any]]
) -> PatientGap:
    """The best deviation of each queue in the game in which a queue pays its growth rate r_i.

    >>> patient_gap(["2/3", "2/3"], [1, "1/2"], [[1, 0], [1, 0]])
    no equilibrium, gap 1/4; queues count from 1
      queue 1: (1/3, 2/3) gives r = 0, gains 1/4
      queue 2: (1/3, 2/3) gives r = 0, gains 1/4
    >>> patient_gap([1, 1], [1, 1], [["1/2", "1/2"]]*2).is_equilibrium
    True

    Raises what `growth` raises, and `ModelError` for more than 8 kinds of other queues.
    """
    queues = range(len(growth(lam, mu, profile).lam))
    return PatientGap(tuple(best_deviation(lam, mu, profile, i) for i in queues))


def best_deviation(
    lam: Sequence[Any], mu: Sequence[Any], profile: Sequence[Sequence[Any]], queue: int
) -> Deviation:
    """The fixed strategy of one queue with the least growth rate of its age, and what it gains.

    Raises what `growth` raises, and `ModelError` for an unknown queue or more than 8 kinds of
    other queues.
    """
    arrivals, services = read_rates(lam, mu)
    played = read_profile(profile, len(arrivals), len(services))
    if not 0 <= queue < len(arrivals):
        raise ModelError(f"queues are 0, ..., {len(arrivals) - 1}, got {queue}")
    now = growth(arrivals, services, played).rates[queue]
    if now == 0:
        return Deviation(queue, played[queue], now, now)
    value, strategy = _greatest_ratio(arrivals, services, played, queue)
    rate = max(Fraction(0), 1 - value)
    return Deviation(queue, strategy if rate < now else played[queue], rate, now - rate)


def _greatest_ratio(
    lam: Sequence[Fraction], mu: Sequence[Fraction], profile: Profile, queue: int
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """The maximum of f_i over the strategies of i, and a strategy with it."""
    counts: dict[tuple[Any, ...], int] = {}
    for i, kind in enumerate(zip(lam, profile, strict=True)):
        if i != queue:
            counts[kind] = counts.get(kind, 0) + 1
    if len(counts) > MOST:
        raise ModelError(f"{len(counts)} kinds of other queues; at most {MOST} are enumerated")
    # equal queues are in X and Y together, as the largest minimisers are symmetric
    sets = {}
    for chosen in product((False, True), repeat=len(counts)):
        inside = [kind for kind, take in zip(counts.items(), chosen, strict=True) if take]
        left = [
            rate
            * math.prod(((1 - row[j]) ** times for (_, row), times in inside), start=Fraction(1))
            for j, rate in enumerate(mu)
        ]
        arriving = sum((rate * times for (rate, _), times in inside), Fraction(0))
        sets[chosen] = left, arriving
    best = Fraction(-1), profile[queue]
    for lower, (before, known) in sets.items():
        rows = []
        for upper, (left, arriving) in sets.items():
            if all(u or not x for x, u in zip(lower, upper, strict=True)):
                served = sum(before) - sum(left)
                rows.append([(served + rest) / (arriving - known + lam[queue]) for rest in left])
        value, strategy = matrix_game(rows)
        if value > best[0]:
            best = value, strategy
    return best


def matrix_game(
    payoff: Sequence[Sequence[Fraction]],
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """The value max over q of min over rows of sum_j payoff[row][j] q_j, and an optimal law q.

    The simplex method in rational numbers, with Bland's rule, on the linear program of the player
    who chooses the row.

    >>> matrix_game([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(3)]])
    (Fraction(3, 4), (Fraction(3, 4), Fraction(1, 4)))
    """
    rows, columns = len(payoff), len(payoff[0])
    lift = 1 - min(map(min, payoff))
    tableau = [
        [payoff[y][j] + lift for y in range(rows)]
        + [Fraction(int(j == k)) for k in range(columns)]
        + [Fraction(1)]
        for j in range(columns)
    ]
    prices = [Fraction(-1)] * rows + [Fraction(0)] * (columns + 1)
    basis = list(range(rows, rows + columns))
    while True:
        enter = next((k for k, price in enumerate(prices[:-1]) if price < 0), None)
        if enter is None:
            break
        leave = min(
            (j for j in range(columns) if tableau[j][enter] > 0),
            key=lambda j: (tableau[j][-1] / tableau[j][enter], basis[j]),
        )
        pivot = tableau[leave][enter]
        tableau[leave] = [x / pivot for x in tableau[leave]]
        for row in (*(tableau[j] for j in range(columns) if j != leave), prices):
            if row[enter]:
                times = row[enter]
                row[:] = [a - times * b for a, b in zip(row, tableau[leave], strict=True)]
        basis[leave] = enter
    value = 1 / prices[-1]
    return value - lift, tuple(price * value for price in prices[rows:-1])
