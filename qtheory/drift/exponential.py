"""Exponential moments of a steady state, proved by an exponential Lyapunov function.

The level of a state is l(x) = sum of weight_i |x_i|, with a weight for each infinite direction of
the lattice, and E(x) = base^l(x). A function V(x) = v(c(x)) E(x), where c(x) is the state of a
small box nearest to x, has a drift whose ratio to E is constant as soon as each coordinate is far
enough out: E + QV <= bound at every state is a check of finitely many. It proves positive
recurrence and E[base^l] <= bound. The values v on the box are the boundary layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, log, prod
from typing import TYPE_CHECKING, Any

from qtheory.arithmetic import exact
from qtheory.errors import ModelError, QTheoryError
from qtheory.model import Interval, Model
from qtheory.model.flows import rate_polynomials

if TYPE_CHECKING:
    import numpy as np

LAYERS = 6
"""The most boundary layers that are tried."""

CELLS = 3000
"""The most states of the box of boundary layers, unless a smaller one does not do."""

RESOLUTION = 12
"""The least weight: growth rates are rounded to about one part in so many."""

State = tuple[int, ...]
Weights = tuple[tuple[int, int], ...]
"""For each coordinate the weights of one step down from zero, and of one step up."""


class StabilityError(QTheoryError):
    """No Lyapunov function was found: the model is unstable, or too close to instability."""


@dataclass(frozen=True)
class Move:
    """A transition at a point: from the states of its guard by its jump, at a rational rate."""

    jump: State
    guard: tuple[Interval, ...]
    terms: tuple[tuple[State, Fraction], ...]

    def possible(self, state: Sequence[int]) -> bool:
        """Whether the transition can be made."""
        return all(part.contains(x) for part, x in zip(self.guard, state, strict=True))

    def rate(self, state: Sequence[int]) -> Fraction:
        """The rate at a state of the guard."""
        total = Fraction(0)
        for exponents, coefficient in self.terms:
            total += coefficient * prod(x**e for x, e in zip(state, exponents, strict=True))
        return total


@dataclass(frozen=True)
class Chain:
    """A model at a rational point of its domain; its rates are bounded."""

    ranges: tuple[Interval, ...]
    moves: tuple[Move, ...]

    def steps(self, state: State) -> Iterator[tuple[Fraction, State]]:
        """The rates out of a state and where they lead."""
        for move in self.moves:
            if move.possible(state):
                yield move.rate(state), tuple(map(int.__add__, state, move.jump))

    @property
    def reach(self) -> State:
        """The longest step in each coordinate."""
        return tuple(max(abs(move.jump[i]) for move in self.moves) for i in range(self.size))

    @property
    def size(self) -> int:
        return len(self.ranges)

    @property
    def directions(self) -> tuple[tuple[int, int], ...]:
        """The infinite directions of the lattice: coordinate, and 0 for down or 1 for up."""
        return tuple(
            (i, side) for i, ends in enumerate(self.ranges) for side in (0, 1) if ends[side] is None
        )

    def cuts(self, i: int) -> tuple[int, int]:
        """The least and the greatest value of a coordinate at which a guard starts or ends."""
        found = [end for move in self.moves for end in _changes(move.guard[i], self.ranges[i])]
        return min(found, default=0), max(found, default=0)


def _changes(guard: Interval, whole: Interval) -> list[int]:
    return [end for end, limit in zip(guard, whole, strict=True) if end not in (None, limit)]


def chain_at(model: Model, at: Mapping[Any, Any] | None) -> Chain:
    """The chain of a model at a rational point.

    Raises `DomainError` (`UnstableError`) for a point outside the domain, `ModelError` for a
    rate that grows without bound.
    """
    ring, polynomials = rate_polynomials(model, at or {})
    moves = []
    for transition, guard, polynomial in zip(
        model.transitions, model.guards, polynomials, strict=True
    ):
        terms = []
        for exponents, ratio in polynomial.items():
            if any(e and None in part for e, part in zip(exponents, guard, strict=True)):
                raise ModelError(f"rate {transition.rate} is not bounded on its guard")
            value = exact(ring.evaluate(ratio.num, ()) / ring.evaluate(ratio.den, ()))
            terms.append((exponents, value))
        moves.append(Move(transition.jump, guard, tuple(terms)))
    return Chain(model.ranges, tuple(moves))


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


def exponential_moment(
    model: Model, at: Mapping[Any, Any] | None = None, digits: int = 20
) -> ExponentialMoment:
    """An exponential moment of the steady state, the best for a window of so many digits.

    The growth of E and the number of boundary layers are searched for in floating point; the
    result is proved in exact arithmetic, and with it positive recurrence.

    >>> import sympy as sp
    >>> from qtheory import Domain, Transition
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(), [Transition(1, +1), Transition(2, -1, when=n >= 1)])
    >>> print(exponential_moment(queue))
    E[prod theta^|x|] <= ..., theta = (1...)

    Raises `StabilityError` when none is found with a few layers (the model is unstable, or too
    close to instability), `UnstableError` or `DomainError` for a point outside the domain, and
    `ModelError` for a rate that grows without bound.
    """
    chain = chain_at(model, at)
    best: tuple[float, ExponentialMoment] | None = None
    start = None
    for layers in range(LAYERS + 1):
        low, high = _box(chain, layers)
        size = prod(b - a + 1 for a, b in zip(low, high, strict=True))
        if best and size > CELLS:
            break
        program = _Program(chain, low, high)
        start = program.start() if start is None else start
        if start is None:
            continue
        cost, start = program.minimise(start, digits)
        found = _rounded(chain, program, start)
        # one more layer is worth its time while the window shrinks by a tenth
        if found and (best is None or cost < best[0] - 0.1):
            best = cost, found
        elif best:
            break
    if best is None:
        place = ", ".join(f"{name} = {value}" for name, value in (at or {}).items())
        raise StabilityError(
            f"stability not proved: no exponential Lyapunov function with up to {LAYERS} boundary "
            f"layers{' at ' + place if place else ''} (unstable, or too close to it)"
        )
    return best[1]


def _box(chain: Chain, layers: int) -> tuple[State, State]:
    """The states on which V takes values of its own: so many beyond the last change of a guard."""
    low, high = [], []
    for i, whole in enumerate(chain.ranges):
        first, last = chain.cuts(i)
        low.append(min(first, 0) - layers if whole.low is None else whole.low)
        high.append(max(last - 1, whole.low or 0) + layers if whole.high is None else whole.high)
    return tuple(low), tuple(high)


class _Program:
    """The linear program for the values of V on the box, in floating point."""

    def __init__(self, chain: Chain, low: State, high: State) -> None:
        import numpy as np

        self.low, self.high, self.directions = low, high, chain.directions
        self.count = prod(b - a + 1 for a, b in zip(low, high, strict=True))
        states, far = zip(*representatives(chain, low, high), strict=True)
        steps = [
            (row, float(rate), reached)
            for row, state in enumerate(states)
            for rate, reached in chain.steps(state)
        ]
        self.far = np.array(far)
        self.sizes = self._sizes(np.array(states))
        self.rows = np.array([row for row, _, _ in steps])
        self.rates = np.array([rate for _, rate, _ in steps])
        reached = np.array([state for _, _, state in steps])
        self.changes = self._sizes(reached) - self.sizes[self.rows]
        self.sources = self._cells(np.array(states))[self.rows]
        self.targets = self._cells(reached)

    def _sizes(self, states: np.ndarray) -> np.ndarray:
        """The distance from zero in each infinite direction."""
        import numpy as np

        columns = [np.maximum(states[:, i] * (2 * side - 1), 0) for i, side in self.directions]
        return np.array(columns, dtype=float).reshape(len(columns), len(states)).T

    def _cells(self, states: np.ndarray) -> np.ndarray:
        import numpy as np

        low, high = np.array(self.low), np.array(self.high)
        return np.ravel_multi_index(
            tuple((np.clip(states, low, high) - low).T), tuple(high - low + 1)
        )

    def _matrix(self, up: np.ndarray) -> Any:
        """The coefficients of v in the drift at each representative, growth `up` per move."""
        import numpy as np
        from scipy.sparse import csr_array

        entries = np.concatenate([self.rates * up, -self.rates])
        rows = np.concatenate([self.rows, self.rows])
        columns = np.concatenate([self.targets, self.sources])
        return csr_array((entries, (rows, columns)), shape=(len(self.far), self.count))

    def start(self) -> np.ndarray | None:
        """Growth rates for which a V exists: a multiple of the slopes of a linear one."""
        import numpy as np
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        k = len(self.directions)
        if not k:
            return np.zeros(0)
        drift = csr_array(
            np.array(
                [
                    np.bincount(self.rows, self.rates * change, len(self.far))
                    for change in self.changes.T
                ]
            ).T
        )
        rows = hstack([drift, self._matrix(np.ones(len(self.rows)))]).tocsr()[self.far]
        found = linprog(
            np.array([1.0] * k + [0.0] * self.count),
            A_ub=rows,
            b_ub=-np.ones(rows.shape[0]),
            bounds=[(0, None)] * k + [(None, None)] * self.count,
            method="highs",
        )
        if found.status != 0:
            return None
        slopes = np.maximum(found.x[:k], 1e-3 * found.x[:k].max())
        for halvings in range(30):
            rates = slopes / slopes.max() / 2**halvings
            if self.solve(rates) is not None:
                return rates
        return None

    def solve(self, rates: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The least bound on E[E] at given growth rates ln theta, with the values of V."""
        import numpy as np
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, diags_array, hstack

        weight = np.where(self.far, 1.0, np.exp(self.sizes @ rates))
        matrix = diags_array(weight) @ self._matrix(np.exp(self.changes @ rates))
        bound = csr_array(np.where(self.far, 0.0, -1.0)[:, None])
        found = linprog(
            np.append(np.zeros(self.count), 1.0),
            A_ub=hstack([matrix, bound]).tocsr(),
            b_ub=-weight,
            bounds=(0, None),
            method="highs",
        )
        if found.status != 0 or not np.isfinite(found.x).all():
            return None
        return max(found.x[-1], 1.0), found.x[:-1]

    def minimise(self, rates: np.ndarray, digits: int) -> tuple[float, np.ndarray]:
        """The logarithm of the number of states of a window, least by a pattern search."""
        import numpy as np

        def cost(rates: np.ndarray) -> float:
            found = self.solve(rates) if rates.max(initial=0.0) < 20 else None
            if found is None:
                return float("inf")
            height = (digits + 10) * log(10) + log(found[0])
            # the length of the window in each coordinate, both sides of zero together
            lengths = np.bincount(coordinates, height / rates, len(self.low))
            return float(np.log(lengths[lengths > 0]).sum())

        coordinates = np.array([i for i, _ in self.directions], dtype=int)
        best = cost(rates)
        moves = [
            sign * move for move in (np.ones(len(rates)), *np.eye(len(rates))) for sign in (1, -1)
        ]
        step = 1.0
        while step > 0.06 and len(rates):
            improved = False
            for move in moves:
                tried = rates * 2.0 ** (step * move)
                if (value := cost(tried)) < best - 0.01:
                    best, rates, improved = value, tried, True
            step = step if improved else step / 2
        return best, rates


def _rounded(chain: Chain, program: _Program, rates: np.ndarray) -> ExponentialMoment | None:
    """A proved moment with integer weights near the given growth rates."""
    import numpy as np

    for shrink in (1.0, 0.97, 0.9, 0.8, 0.6):
        unit = shrink * rates.min(initial=1.0) / RESOLUTION
        base = Fraction(1) + Fraction(1, ceil(1 / unit))
        whole = [int(shrink * rate / log(base) + 1e-9) for rate in rates]
        solved = program.solve(np.array(whole, dtype=float) * log(base))
        if solved is None:
            continue
        weights = [[0, 0] for _ in chain.ranges]
        for (i, side), weight in zip(chain.directions, whole, strict=True):
            weights[i][side] = weight
        unit = solved[1].max(initial=1.0) / 2**40
        candidate = ExponentialMoment(
            base,
            tuple((down, up) for down, up in weights),
            program.low,
            program.high,
            tuple(Fraction(round(float(v) / unit)) for v in solved[1]),
            Fraction(1),
        )
        found = proved(chain, candidate)
        if found is not None:
            return found
    return None
