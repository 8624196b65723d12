"""Many digits of a steady-state expectation, fast and estimated.

A law in floating point on a small window shows where the mass is; far out its logarithm grows in
proportion to the distance, so the window for n digits is the small one, scaled. There Poisson's
equation f + Qh = g is factored once in floating point and refined against a residual in exact
integers, about 15 digits a step (`qtheory.drift.window`). What the window leaves out is not
bounded but estimated, from the probability flow out of it; `qtheory.drift.enclose` proves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from itertools import count
from math import log10, prod
from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.arithmetic import values_by_name
from qtheory.drift.chain import Chain, chain_at
from qtheory.drift.exponential_search import StabilityError
from qtheory.drift.pieces import Piece, owners, pieces, window_values
from qtheory.drift.window import INCOMPLETE, STATES, Poisson, PrecisionError, level_window
from qtheory.errors import DomainError
from qtheory.formulas import formula
from qtheory.model import Model
from qtheory.model.lattice import Window
from qtheory.model.lattice import window as lattice_window
from qtheory.stationary.floats.sparse import AccuracyError, sparse_law

if TYPE_CHECKING:
    import numpy as np

SMALL = 60_000
"""The most states of the small window whose law shows where the mass is."""

DEPTH = 9
"""Digits of the small window."""

SHORTEST = 16
"""Steps of the small window in each direction at first."""

HIGHEST = 0.1
"""What the law at an end of the small window must fall below, relative to its maximum."""

DEEPEST = 270
"""The most digits of a window: floating point ends a little beyond."""

ROUGH = 6
"""Digits on the small window, which show how large E[f] and h are."""

SAFETY = 4
"""How many times the largest |h| inside a window h is taken to be just outside."""

ATTEMPTS = 10
"""Windows that are tried; two do unless the expectation is tiny."""

UNSETTLED = "the law does not settle on a small window: unstable, or too close to it"


@dataclass(frozen=True)
class Estimate:
    """A steady-state expectation whose digits are estimated, not proved.

    `error` estimates how far it is from the true value; `states` is the size of the window.
    """

    value: Fraction
    error: Fraction
    digits: int
    states: int

    @property
    def decimal(self) -> str:
        """The value, rounded to the digits asked for; 0 where it cannot be told from it."""
        if abs(self.value) <= 2 * self.error:
            return "0"
        rounded = Context(prec=self.digits).divide(self.value.numerator, self.value.denominator)
        return str(rounded)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return f"{self.decimal} (estimated)"

    def _repr_latex_(self) -> str:
        return rf"${self.decimal}\ \text{{(estimated)}}$"


def deep_digits(
    model: Model, f: Any, at: Mapping[Any, Any] | None = None, digits: int = 50
) -> Estimate:
    """E[f] in the steady state of a model at a rational point, to so many digits, estimated.

    f is a polynomial in the state variables; it may hold ``Piecewise``, ``KroneckerDelta(x, c)``
    and ``Abs(x)`` whose conditions compare one state variable with an integer, and parameters of
    the model. Where E[f] is zero or cannot be told from it, the error is at most 10^-(digits + 1).

    >>> from qtheory.systems.shorter_queue import d, m, model
    >>> print(deep_digits(model(), 2*m + d, at={"lam": 1, "mu": 1, "p": "1/2"}, digits=30))
    1.59656078935434128713826509439 (estimated)

    Raises `UnstableError` or `DomainError` for a point outside the domain, `StabilityError` where
    the law on a small window does not die out at its end, `PrecisionError` for digits out of reach,
    `ModelError` for rates that are not bounded, and `ExpressionError` for an f of another kind.
    """
    if digits < 1:
        raise DomainError(f"digits must be at least 1, got {digits}")
    chain = chain_at(model, at)
    values = values_by_name(at, [symbol.name for symbol in model.parameters])
    if isinstance(f, str):
        f = formula(f, (*model.state, *model.parameters))
    parts = pieces(model, sp.sympify(f), values)
    bulk = _bulk(model, chain, at or {}) if chain.directions else None
    depth = bulk.depth if bulk else 0.0
    wanted = Fraction(1, 10 ** (ROUGH if bulk else digits + 1))
    value: Fraction | None = None
    for _ in range(ATTEMPTS):
        if depth > DEEPEST:
            break
        window = (
            _scaled(chain, bulk, depth) if bulk else level_window(chain, ((0, 0),) * chain.size, 0)
        )
        if bulk and len(set(owners(window, parts).tolist())) < len(parts):
            # a piece of f is still outside
            depth *= 2
            continue
        value, error = _solved(chain, window, parts, wanted / 8, value)
        size = abs(value) if abs(value) > 2 * error else Fraction(1)
        wanted = size / 10 ** (digits + 1)
        if error <= wanted:
            return Estimate(value, error, digits, len(window))
        depth = _deeper(depth, _log10(error / wanted), parts)
    raise PrecisionError(f"{digits} digits are out of reach: ask for fewer")


@dataclass(frozen=True, eq=False)
class _Bulk:
    """The law in floating point on a box of states.

    `held` marks those of more than 10^-depth of the largest probability, and their neighbours.
    """

    window: Window
    law: np.ndarray
    held: np.ndarray
    depth: float


def _bulk(model: Model, chain: Chain, at: Mapping[Any, Any]) -> _Bulk:
    """A box that is made longer, where the law has not died out at its end, while it is small."""
    import numpy as np

    limit = SMALL if chain.size < 3 else INCOMPLETE
    ends = {(i, side): SHORTEST + abs(chain.cuts(i)[side]) for i, side in chain.directions}
    for grown in count():
        box = _box(chain, ends)
        try:
            law = sparse_law(model, box, at=at, boundary="redirect").probabilities
        except AccuracyError:
            raise StabilityError(UNSETTLED) from None
        window = lattice_window(model, box)
        at_end = {
            (i, side): law[window.coordinates[:, i] == box[i][side]] for i, side in chain.directions
        }
        short = [key for key, masses in at_end.items() if masses.sum() > 10.0**-DEPTH]
        longer = {key: 3 * end // 2 if key in short else end for key, end in ends.items()}
        highest = max(masses.max() for masses in at_end.values()) / law.max()
        if grown > 3 and highest == 1:
            raise StabilityError(UNSETTLED)
        if not short or prod(high - low + 1 for low, high in _box(chain, longer)) > limit:
            break
        ends = longer
    # near its end the box itself changes the law
    least = max(10.0**-DEPTH, 4 * highest)
    if least > HIGHEST:
        raise StabilityError(UNSETTLED)
    held = (law > least * law.max()).reshape([high - low + 1 for low, high in box])
    return _Bulk(window, law, _with_neighbours(held, chain), -float(np.log10(least)))


def _box(chain: Chain, ends: Mapping[tuple[int, int], int]) -> tuple[tuple[int, int], ...]:
    """The states within so many steps of the lattice's ends, or of zero."""
    found = []
    for i, (low, high) in enumerate(chain.ranges):
        start = low if low is not None else min(high or 0, 0)
        stop = high if high is not None else max(low or 0, 0)
        found.append((start - ends.get((i, 0), 0), stop + ends.get((i, 1), 0)))
    return tuple(found)


def _with_neighbours(held: np.ndarray, chain: Chain) -> np.ndarray:
    """The states within one jump of those held: not every state near them need recur."""
    from scipy.ndimage import maximum_filter

    return maximum_filter(held, [2 * step + 1 for step in chain.reach], mode="constant", cval=False)


def _deeper(depth: float, missing: float, parts: Sequence[Piece]) -> float:
    """The depth that gains the missing digits, and what h grows by meanwhile."""
    degree = max((sum(exponents) for part in parts for exponents in part.terms), default=0)
    deeper = depth + missing
    for _ in range(3):
        deeper = depth + missing + (degree + 1) * log10(max(deeper, 1.0) / max(depth, 1.0)) + 1
    return deeper


def _scaled(chain: Chain, bulk: _Bulk, depth: float) -> Window:
    """The states that hold all but about 10^-depth of the mass.

    They are those that lead into the bulk when their distance from the likeliest state is divided
    by the ratio of the depths. Coordinates of finite range are not scaled.
    """
    import numpy as np

    ratio = max(1.0, depth / bulk.depth)
    centre = bulk.window.coordinates[int(bulk.law.argmax())].tolist()
    bounds, images = [], []
    for i, (middle, (low, high)) in enumerate(zip(centre, bulk.window.bounds, strict=True)):
        bottom, top = chain.ranges[i]
        if bottom is None or top is None:
            first = int(middle - ratio * (middle - low + 1)) if bottom is None else bottom
            last = int(middle + ratio * (high - middle + 1)) if top is None else top
            away = np.arange(first, last + 1) - middle
            near = middle + np.sign(away) * np.floor(np.abs(away) / ratio).astype(int)
        else:
            first, last = bottom, top
            near = np.arange(first, last + 1)
        inside = (near >= low) & (near <= high)
        # an interval, as the states nearer to the centre are inside too
        kept = np.flatnonzero(inside) + first
        bounds.append((int(kept[0]), int(kept[-1])))
        images.append(near[inside] - low)
    sizes = [len(image) for image in images]
    if prod(sizes) > 100 * STATES:
        raise PrecisionError(f"a window in a box of {prod(sizes)} states: ask for fewer digits")
    codes = np.flatnonzero(bulk.held[np.ix_(*images)])
    if len(codes) > STATES:
        raise PrecisionError(f"a window of {len(codes)} states: ask for fewer digits")
    places = np.stack(np.unravel_index(codes, sizes), axis=1)
    return Window(tuple(bounds), places + np.array([low for low, _ in bounds]), codes)


def _solved(
    chain: Chain,
    window: Window,
    parts: Sequence[Piece],
    tolerance: Fraction,
    previous: Fraction | None,
) -> tuple[Fraction, Fraction]:
    """E[f] in the chain that returns to zero where it leaves the window, and its error.

    The whole chain has sum pi(x) q(x, y) h(y) more, over the moves that leave the window, pi being
    the law of the chain that returns; h(y) is taken to be a few times the largest |h| inside.
    """
    import numpy as np

    poisson = Poisson(chain, window, *window_values(window, parts))
    solution = poisson.solve(tolerance)
    value = Fraction(solution.gain, 2**solution.scale)
    error = max(abs(solution.least), abs(solution.greatest))
    leaving = np.zeros(len(window))
    for sources, targets, rates in poisson.moves:
        weight = np.broadcast_to(np.asarray(rates, dtype=float), sources.shape)
        np.add.at(leaving, sources[targets < 0], weight[targets < 0])
    if not leaving.any():
        return value, error
    if chain.size > 2 and len(window) > INCOMPLETE:
        # solved by iteration, which does not see tiny flows
        return value, error + (abs(value) + 1 if previous is None else abs(value - previous))
    # nothing is subtracted on the way, so tiny flows keep their relative accuracy
    _, flow = poisson.correction(leaving)
    return value, error + SAFETY * Fraction(flow) * solution.height


def _log10(value: Fraction) -> float:
    return log10(value.numerator) - log10(value.denominator)
