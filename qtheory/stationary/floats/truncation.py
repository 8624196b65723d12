"""Stationary laws of infinite chains in floating point: a window grown until it holds the mass.

Along each infinite direction the outermost layers of the window show how fast the mass falls
there: that tells how much lies outside, and how far the window has to grow. How much the law
inside is disturbed is what it changes, to first order, when those outermost layers are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from qtheory.drift.exponential_search import exponential_moment
from qtheory.errors import ModelError, QTheoryError, UnstableError
from qtheory.model.generator import FloatPolynomial, float_rates, window_rates
from qtheory.model.lattice import Window, window
from qtheory.model.model import Model
from qtheory.stationary.floats.law import Error, NumericLaw
from qtheory.stationary.floats.outside import certified_box, certified_outside
from qtheory.stationary.floats.refinement import Solution
from qtheory.stationary.floats.sparse import AccuracyError, solve_rates

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

STATES = 500_000
"""The most states of a window, unless another number is given."""

_LAYERS = 8
"""Layers of the first window beyond the last place where a guard changes."""

_GROWTH = 7
"""How many times its size a window may grow by: what a small one shows does not reach far."""

Bounds = tuple[tuple[int, int], ...]


class Direction(NamedTuple):
    """An infinite direction of the lattice: up (+1) or down (-1) along one coordinate.

    Beyond `cut` no guard changes, nor the sign of the drift of a chain in one variable; no jump
    changes the coordinate by more than `reach`.
    """

    axis: int
    sign: int
    cut: int
    reach: int


class Tail(NamedTuple):
    """The mass beyond one edge of a window, where it falls by `decay` from layer to layer.

    Without it the law is off by `disturbance` times that mass, in total variation.
    """

    direction: Direction
    outside: float
    decay: float
    disturbance: float = 1.0


@dataclass(frozen=True, eq=False)
class Truncation:
    """The law in a window, and the mass beyond each of its edges."""

    window: Window
    law: Solution
    tails: tuple[Tail, ...]

    @property
    def outside(self) -> float:
        """The estimated mass outside."""
        return sum(tail.outside for tail in self.tails)

    @property
    def distance(self) -> float:
        """The estimated distance to the law of the infinite chain."""
        return sum(tail.outside * tail.disturbance for tail in self.tails)


def truncated_law(
    model: Model,
    at: Mapping[Any, Any] | None = None,
    tolerance: float = 1e-12,
    states: int = STATES,
    certified: bool = False,
) -> NumericLaw:
    """The stationary law of an infinite chain at a point, up to a total variation distance.

    The chain is solved in a box, moves out of it dropped, that grows until the mass outside, and
    what its absence changes inside, is estimated to be at most the tolerance; the box is the
    `truncation` of the law. The estimates suppose that the mass goes on falling as it falls at the
    edge of the box, as it does where rates and guards no longer change; they are no proof, and
    where rates depend on the state of several variables they may miss a second mode far away.
    With `certified`, an exponential Lyapunov function proves the bound on the mass `outside`, and
    the box is made long enough for it; the distance stays an estimate.

    >>> from qtheory.systems import shorter_queue as sq
    >>> law = truncated_law(sq.model(), {"lambda": 1, "mu": 1, "p": "1/2"})
    >>> round(law.expect("2*m + d"), 10), law.error.value <= 1e-12
    (1.5965607894, True)

    Raises `UnstableError` at a point where the model's stability condition fails, and where the
    mass stays at the edge of every window of up to `states` states; `AccuracyError` where such a
    window is too small for the tolerance; `DomainError`, `ReducibleError` and `ModelError` as
    `qtheory.stationary.floats.sparse.sparse_law` does. With `certified` also `StabilityError`
    where no Lyapunov function is found.
    """
    if not 0 < tolerance < 1:
        raise ModelError(f"the tolerance must lie between 0 and 1, got {tolerance}")
    values = model.domain.require(at or {})
    rates = float_rates(model, values)
    directions = _directions(model, rates)
    bounds = _first_bounds(model, directions)
    found = None
    while found is None or found.distance > tolerance:
        if found is not None:
            bounds = _grown(bounds, found.tails, tolerance)
        size = prod(high - low + 1 for low, high in bounds)
        if size > states:
            raise _too_large(model, found, size, states)
        try:
            found = _truncation(model, rates, directions, bounds, found)
        except AccuracyError as error:
            where = f"in a window of {size} states ({_text(model, bounds) or 'all'})"
            raise AccuracyError(f"{where}: {error}; or the chain is unstable") from None
    outside = Error(found.outside, "estimated")
    if certified and directions:
        moment, infinite = exponential_moment(model, values), [(d.axis, d.sign) for d in directions]
        longer = certified_box(moment, bounds, infinite, tolerance)
        size = prod(high - low + 1 for low, high in longer)
        if size > states:
            raise _too_large(model, found, size, states)
        if longer != bounds:
            bounds = longer
            found = _truncation(model, rates, directions, bounds, found)
        outside = certified_outside(moment, bounds, infinite)
    distance = Error(found.distance + found.law.error, "estimated")
    return NumericLaw(
        found.window.coordinates,
        found.law.probabilities,
        "truncation",
        found.law.residual,
        model.state,
        values,
        None if found.law.response is None else distance,
        _text(model, bounds) if directions else None,
        outside if directions else None,
    )


def _directions(model: Model, rates: Sequence[FloatPolynomial]) -> list[Direction]:
    found = []
    for axis, (low, high) in enumerate(model.ranges):
        ends = [end for guard in model.guards for end in guard[axis] if end is not None]
        ends += [end for end in (low, high) if end is not None] or [0]
        reach = max(1, *(abs(transition.jump[axis]) for transition in model.transitions))
        if low is None:
            found.append(Direction(axis, -1, min(*ends, *_turns(model, rates, 0), 0), reach))
        if high is None:
            found.append(Direction(axis, +1, max(*ends, *_turns(model, rates, 1), 0), reach))
    return found


def _turns(model: Model, rates: Sequence[FloatPolynomial], side: int) -> list[int]:
    """Where the drift of a chain in one variable changes its sign, beyond all guards.

    Between two such places the mass may fall, only to rise again behind the second.
    """
    import numpy as np

    if len(model.state) > 1:
        return []
    drift = np.zeros(1 + max((power for rate in rates for (power,) in rate), default=0))
    for transition, (guard,), rate in zip(model.transitions, model.guards, rates, strict=True):
        if guard[side] is None:
            for (power,), coefficient in rate.items():
                drift[power] += transition.jump[0] * coefficient
    if not drift.any():
        return []
    roots = np.polynomial.polynomial.polyroots(np.trim_zeros(drift, "b"))
    # a double root may come out as two complex ones
    real = roots.real[abs(roots.imag) <= 1e-3 * (1 + abs(roots.real))]
    return [ceil(root) if side else floor(root) for root in real]


def _first_bounds(model: Model, directions: Sequence[Direction]) -> Bounds:
    bounds: list[list[Any]] = [list(interval) for interval in model.ranges]
    for axis, sign, cut, reach in directions:
        bounds[axis][sign > 0] = cut + sign * max(_LAYERS, 4 * reach)
    return tuple((low, high) for low, high in bounds)


def _grown(bounds: Bounds, tails: Sequence[Tail], tolerance: float) -> Bounds:
    """A larger box, which is expected to meet the tolerance."""
    grown = [list(pair) for pair in bounds]
    for (axis, sign, cut, reach), outside, decay, disturbance in tails:
        width = abs(bounds[axis][sign > 0] - cut)
        missed = 2 * len(tails) * outside * disturbance / tolerance
        more = width if decay == 1 else 0
        if 1 < missed < inf:
            more = min(ceil(1.02 * log(missed) / -log(decay)) + reach, _GROWTH * width)
        grown[axis][sign > 0] += sign * more
    return tuple((low, high) for low, high in grown)


def _truncation(
    model: Model,
    rates: Sequence[FloatPolynomial],
    directions: Sequence[Direction],
    bounds: Bounds,
    smaller: Truncation | None,
) -> Truncation:
    held = window(model, bounds)
    moves = window_rates(model, held, rates)
    pin = None
    if smaller is not None:
        top = smaller.window.coordinates[[smaller.law.probabilities.argmax()]]
        pin = int(held.positions(top)[0])
    law = solve_rates(moves, held.state, pin)
    tails = tuple(_tail(held, moves, law, direction) for direction in directions)
    return Truncation(held, law, tails)


def _tail(held: Window, moves: csr_array, law: Solution, direction: Direction) -> Tail:
    """The mass beyond an edge, from two blocks of layers within it."""
    axis, sign, cut, reach = direction
    edge = held.bounds[axis][sign > 0]
    depth = abs(held.coordinates[:, axis] - edge)
    block = max(reach, abs(edge - cut) // 4)
    last = float(law.probabilities[depth < block].sum())
    before = float(law.probabilities[(depth >= block) & (depth < 2 * block)].sum())
    if last == 0:
        return Tail(direction, 0.0, 0.0)
    fall = last / before if before else inf
    if fall >= 1:
        return Tail(direction, inf, 1.0)
    disturbance = 1 + _disturbance(moves, law, depth < block) / last
    return Tail(direction, last * fall / (1 - fall), fall ** (1 / block), disturbance)


def _disturbance(moves: csr_array, law: Solution, lost: np.ndarray) -> float:
    """How far the law moves, to first order, when the moves into and out of states are dropped."""
    import numpy as np

    if law.response is None:
        return 0.0
    stays = law.probabilities * (moves @ lost.astype(float))
    arrives = np.where(lost, law.probabilities, 0.0) @ moves
    return float(abs(law.response(np.where(lost, 0.0, stays - arrives))).sum() / 2)


def _too_large(model: Model, last: Truncation | None, size: int, states: int) -> QTheoryError:
    """What to say where the next window has too many states."""
    if last is None:
        return ModelError(f"the first window has {size} states, more than {states}")
    where = f"a window of {len(last.window)} states ({_text(model, last.window.bounds)})"
    names = [model.state[t.direction.axis].name for t in last.tails if t.outside > 0.1]
    if names:
        return UnstableError(
            f"no sign of a stationary law: in {where} the mass does not fall off towards the edge "
            f"of {', '.join(dict.fromkeys(names))}: unstable, or too close to it"
        )
    return AccuracyError(
        f"{where} leaves about {last.outside:.1g} of the mass outside, and the next has {size} "
        "states: allow more states, a larger tolerance, or use the matrix-geometric method"
    )


def _text(model: Model, bounds: Bounds) -> str:
    """The box as relations, without those that hold everywhere."""
    shown = []
    for symbol, (low, high), whole in zip(model.state, bounds, model.ranges, strict=True):
        below = f"{low} <= " if low != whole.low else ""
        above = f" <= {high}" if high != whole.high else ""
        if below or above:
            shown.append(f"{below}{symbol}{above}")
    return ", ".join(shown)
