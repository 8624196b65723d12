"""Exponential moments of a steady state, proved by an exponential Lyapunov function.

The level of a state is l(x) = sum of weight_i |x_i|, with a weight for each infinite direction of
the lattice, and E(x) = base^l(x). A function V(x) = v(c(x)) E(x), where c(x) is the state of a
small box nearest to x, has a drift whose ratio to E is constant as soon as each coordinate is far
enough out: E + QV <= bound at every state is a check of finitely many. It proves positive
recurrence and E[base^l] <= bound. The values v on the box are the boundary layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil

from qtheory.drift.chain import Chain, State
from qtheory.errors import ModelError

Weights = tuple[tuple[int, int], ...]
"""For each coordinate the weights of one step down from zero, and of one step up."""


@dataclass(frozen=True)
class ExponentialMoment:
    """A proof of E[base^l(X)] <= bound in steady state, l(x) = sum of weight |x_i|.

    `weights` gives each coordinate its weights below and above zero (0 where it is bounded). The
    Lyapunov function is V(x) = v base^l(x), where v is the entry of `values` (the states of the
    box from `low` to `high` in lexicographic order) for the state of that box nearest to x.
    """

    base: Fraction
    weights: Weights
    low: State
    high: State
    values: tuple[Fraction, ...]
    bound: Fraction

    def level(self, state: Sequence[int]) -> int:
        """l(x), a nonnegative integer."""
        return sum(
            up * max(x, 0) + down * max(-x, 0)
            for x, (down, up) in zip(state, self.weights, strict=True)
        )

    def value(self, state: Sequence[int]) -> Fraction:
        """v at the state of the box nearest to a state."""
        place = 0
        for x, low, high in zip(state, self.low, self.high, strict=True):
            place = place * (high - low + 1) + min(max(x, low), high) - low
        return self.values[place]

    @property
    def cells(self) -> int:
        """The number of boundary layer values."""
        return len(self.values)

    @property
    def thetas(self) -> tuple[tuple[float, float], ...]:
        """The growth of E per step down from zero and per step up, for each coordinate."""
        return tuple((float(self.base**down), float(self.base**up)) for down, up in self.weights)

    def __str__(self) -> str:
        growth = ", ".join(
            f"{up:.4g}" if down == 1 else f"{down:.4g} | {up:.4g}" for down, up in self.thetas
        )
        return f"E[prod theta^|x|] <= {float(self.bound):.6g}, theta = ({growth})"


def representatives(chain: Chain, low: State, high: State) -> Iterator[tuple[State, bool]]:
    """States that stand for all others, each with whether it stands for infinitely many.

    Beyond the outermost of them along an infinite direction, the same moves are possible, they
    keep the nearest state of the box, and they change the level by the same amounts.
    """
    spans = []
    for i, whole in enumerate(chain.ranges):
        first, last = chain.cuts(i)
        step = chain.reach[i]
        least = min(low[i] - step, first - 1, -step) if whole.low is None else whole.low
        most = max(high[i] + step, last + 1, step) if whole.high is None else whole.high
        spans.append((least, most))
    for state in product(*(range(least, most + 1) for least, most in spans)):
        far = any(state[i] == spans[i][side] for i, side in chain.directions)
        yield state, far


def largest_exit_rate(chain: Chain, moment: ExponentialMoment) -> Fraction:
    """The supremum over the lattice of the total rate of the moves that are possible."""
    states = representatives(chain, moment.low, moment.high)
    return max(sum((rate for rate, _ in chain.steps(x)), Fraction(0)) for x, _ in states)


def proved(chain: Chain, candidate: ExponentialMoment) -> ExponentialMoment | None:
    """The candidate, V scaled so that E + QV <= bound holds with the bound stated, or None.

    Everything is rational arithmetic: what comes back is proved.
    """
    ratios = []
    for state, far in representatives(chain, candidate.low, candidate.high):
        here, level = candidate.value(state), candidate.level(state)
        ratio = Fraction(0)
        for rate, reached in chain.steps(state):
            if rate < 0:
                raise ModelError(f"the rate {rate} from {state} to {reached} is negative")
            growth = candidate.base ** (candidate.level(reached) - level)
            ratio += rate * (candidate.value(reached) * growth - here)
        ratios.append((ratio, level, far))
    slowest = max((ratio for ratio, _, far in ratios if far), default=Fraction(-1))
    if slowest >= 0 or min(candidate.values) < 0:
        return None
    scale = Fraction(ceil(-(2**20) / slowest), 2**20)
    bound = max(
        ((1 + scale * ratio) * candidate.base**level for ratio, level, far in ratios if not far),
        default=Fraction(1),
    )
    return ExponentialMoment(
        candidate.base,
        candidate.weights,
        candidate.low,
        candidate.high,
        tuple(scale * value for value in candidate.values),
        # the expectation of E >= 1 is at least 1
        Fraction(ceil(max(bound, Fraction(1)) * 16), 16),
    )
