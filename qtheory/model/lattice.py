"""Finite windows of the lattice: which states they hold, in which order, at which positions."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.core.relational import Relational

from qtheory.arithmetic import Ring
from qtheory.errors import ExpressionError, ModelError
from qtheory.model.guards import Interval, conjuncts

if TYPE_CHECKING:
    import numpy as np

    from qtheory.model.model import Model

BOX_LIMIT = 50_000_000
"""The most states of a box."""


@dataclass(frozen=True, eq=False)
class Window:
    """Finitely many states in lexicographic order.

    `coordinates` has shape (states, variables); `bounds` is the smallest and largest value of
    each variable in the box. `codes` numbers the states within the box when some of the box
    is left out, and is None otherwise.
    """

    bounds: tuple[tuple[int, int], ...]
    coordinates: np.ndarray
    codes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def states(self) -> list[tuple[int, ...]]:
        """The states as tuples."""
        return [tuple(row) for row in self.coordinates.tolist()]

    def state(self, position: int) -> tuple[int, ...]:
        """The state at a position."""
        return tuple(self.coordinates[position].tolist())

    def positions(self, states: np.ndarray) -> np.ndarray:
        """The position of each state, an array of shape (states, variables); -1 if outside."""
        import numpy as np

        lows, highs = (np.array(ends) for ends in zip(*self.bounds, strict=True))
        inside = ((states >= lows) & (states <= highs)).all(axis=1)
        found = np.where(inside, _codes(states, self.bounds), -1)
        if self.codes is None:
            return found
        place = np.minimum(np.searchsorted(self.codes, found), len(self.codes) - 1)
        return np.where(inside & (self.codes[place] == found), place, -1)


def window(model: Model, box: Any = None, where: Any = None) -> Window:
    """The states of a model in a box that satisfy further relations.

    `box` gives each state variable an inclusive upper bound or a pair ``(low, high)``, as a
    sequence, a mapping by symbol, or one bound for all; variables with a finite range need none.
    `where` holds polynomial relations in the state variables, such as ``m + d <= 4``.

    Raises `ModelError` for a missing or wrong bound and for a window without states.
    """
    import numpy as np

    bounds = _bounds(model, box)
    sizes = [high - low + 1 for low, high in bounds]
    if prod(sizes) > BOX_LIMIT:
        raise ModelError(f"a box of {prod(sizes)} states is too large (limit {BOX_LIMIT})")
    shifts = np.array([low for low, _ in bounds])
    states = np.indices(sizes).reshape(len(sizes), -1).T + shifts
    kept = np.ones(len(states), dtype=bool)
    relations = conjuncts(() if where is None else where, model.state)
    for relation in relations:
        kept &= _satisfied(relation, model.state, states)
    if not kept.any():
        raise ModelError(f"no state of the box satisfies {', '.join(map(str, relations))}")
    if kept.all():
        return Window(bounds, states)
    return Window(bounds, states[kept], _codes(states[kept], bounds))


def lattice(model: Model, box: Any = None, where: Any = None) -> list[tuple[int, ...]]:
    """The states of a finite window, in lexicographic order (see `window` for the arguments).

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Model, Transition
    >>> m, d = sp.symbols("m d", integer=True, nonnegative=True)
    >>> model = Model((m, d), Domain(), [Transition(1, jump=(1, 0))])
    >>> lattice(model, 2, where=m + d <= 1)
    [(0, 0), (0, 1), (1, 0)]
    """
    return window(model, box, where).states


def coordinates(model: Model, box: Any = None, where: Any = None) -> np.ndarray:
    """The states of a finite window as an integer array of shape (states, variables)."""
    return window(model, box, where).coordinates


def polynomial_values(terms: Mapping[tuple[int, ...], int], states: np.ndarray) -> np.ndarray:
    """The exact values of a polynomial with integer coefficients at integer points.

    `terms` maps exponents to coefficients; `states` has shape (points, variables).
    """
    import numpy as np

    largest = [int(size) for size in np.abs(states).max(axis=0)]
    bound = sum(
        abs(coefficient)
        * prod(max(size, 1) ** e for size, e in zip(largest, exponents, strict=True))
        for exponents, coefficient in terms.items()
    )
    # Python's own integers where 64 bits could overflow
    exact_states = states if bound < 2**62 else states.astype(object)
    total = np.zeros(len(states), dtype=exact_states.dtype)
    for exponents, coefficient in terms.items():
        total = total + coefficient * (exact_states ** np.array(exponents)).prod(axis=1)
    return total


def _satisfied(
    relation: Relational, state: tuple[sp.Symbol, ...], states: np.ndarray
) -> np.ndarray:
    """Where a polynomial relation in the state variables holds."""
    ring = Ring(state)
    try:
        difference = ring.ratio(relation.lhs) - ring.ratio(relation.rhs)
    except ExpressionError as error:
        raise ModelError(f"{relation} is no relation between state variables: {error}") from None
    if not difference.den.is_constant():
        raise ModelError(f"{relation} is not polynomial in the state variables")
    terms = {tuple(map(int, e)): int(c) for e, c in difference.num.terms()}
    compare = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }[relation.rel_op]
    return compare(polynomial_values(terms, states), 0).astype(bool)


def _codes(states: np.ndarray, bounds: tuple[tuple[int, int], ...]) -> np.ndarray:
    """The positions of states in the full box: their coordinates as digits, last one fastest."""
    code = states[:, 0] * 0
    for i, (low, high) in enumerate(bounds):
        code = code * (high - low + 1) + (states[:, i] - low)
    return code


def _bounds(model: Model, box: Any) -> tuple[tuple[int, int], ...]:
    """The smallest and largest value of each state variable in a box."""
    found = []
    for symbol, whole, stated in zip(
        model.state, model.ranges, _by_variable(model, box), strict=True
    ):
        low, high = whole & _interval(symbol, stated)
        if low is None:
            raise ModelError(f"{symbol} has no lowest value: give the box a pair (low, high)")
        if high is None:
            raise ModelError(f"{symbol} is unbounded: give the box an upper bound for it")
        if low > high:
            raise ModelError(f"box bound {stated} for {symbol} leaves no state")
        found.append((low, high))
    return tuple(found)


def _by_variable(model: Model, box: Any) -> list[Any]:
    """The stated bound of each state variable, None where there is none."""
    if isinstance(box, Mapping):
        stated = {str(key): bound for key, bound in box.items()}
        for name in stated.keys() - {symbol.name for symbol in model.state}:
            raise ModelError(f"box bound for {name}, which is no state variable")
        return [stated.get(symbol.name) for symbol in model.state]
    if not isinstance(box, Iterable):
        return [box] * len(model.state)
    bounds = list(box)
    if len(bounds) != len(model.state):
        raise ModelError(f"box has {len(bounds)} bounds for {len(model.state)} state variables")
    return bounds


def _interval(symbol: sp.Symbol, bound: Any) -> Interval:
    pair = tuple(bound) if isinstance(bound, Iterable) else (None, bound)
    try:
        low, high = (None if end is None else operator.index(end) for end in pair)
    except (TypeError, ValueError):
        raise ModelError(
            f"box bound {bound} for {symbol} is neither an integer nor a pair of integers"
        ) from None
    return Interval(low, high)
