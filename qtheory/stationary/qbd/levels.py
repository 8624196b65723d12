"""The levels and phases of a model: where its generator repeats itself.

One state variable, the level, is unbounded and the others, the phase, take finitely many values.
From some level on the same moves are possible at the same rates. Levels are taken in groups as
large as the largest jump, so that a move reaches the neighbouring groups at most:

    Q = [ B00  B01            ]
        [ B10  A1   A0        ]
        [      A2   A1   A0   ]
        [           ...  ...  ]

The boundary, the levels before the first group, may have any structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import fmpq

from qtheory.arithmetic import Ratio, Ring
from qtheory.errors import DomainError, ModelError
from qtheory.model.flows import flows, rate_at, rate_polynomials
from qtheory.model.lattice import window

if TYPE_CHECKING:
    import numpy as np

    from qtheory.model.model import Model

GROUP_LIMIT = 3000
"""The most states of the boundary, and of a group: their matrices are dense."""


class Arcs(NamedTuple):
    """The moves of one block of the generator: from ``rows[k]`` to ``columns[k]``.

    ``moves[k]`` is the number of the transition and ``states[k]`` the state it starts from.
    """

    rows: np.ndarray
    columns: np.ndarray
    moves: np.ndarray
    states: np.ndarray


@dataclass(frozen=True, eq=False)
class Levels:
    """The states of the boundary and of the first group, and the moves in every block.

    `axis` is the position of the level among the state variables, `threshold` the first level of
    the first group and `size` the number of levels in a group. States are rows of coordinates,
    sorted by level.
    """

    model: Model
    axis: int
    threshold: int
    size: int
    boundary: np.ndarray
    group: np.ndarray
    arcs: Mapping[str, Arcs]


class Block(NamedTuple):
    """One block of the generator: ``rates[kinds[k]]`` from ``rows[k]`` to ``columns[k]``.

    Rates that are zero are left out; there may be several moves from one state to another.
    """

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    kinds: np.ndarray


@dataclass(frozen=True, eq=False)
class Rates:
    """The off-diagonal blocks of the generator, over QQ(parameters) or at a rational point."""

    ring: Ring
    rates: tuple[Ratio, ...]
    blocks: Mapping[str, Block]

    def entries(self, *names: str) -> Iterator[tuple[int, int, int]]:
        """The moves of some blocks, as (row, column, kind); there may be several for one place."""
        for name in names:
            _, rows, columns, kinds = self.blocks[name]
            yield from zip(rows.tolist(), columns.tolist(), kinds.tolist(), strict=True)

    @cached_property
    def rationals(self) -> tuple[fmpq, ...]:
        """The rates at a point, where they are rational numbers; `DomainError` below zero."""
        found = tuple(fmpq(rate.num(), rate.den()) for rate in self.rates)
        if found and min(found) < 0:
            raise DomainError(f"outside the domain: a rate is {min(found)} < 0 at this point")
        return found

    def pattern(self, name: str) -> np.ndarray:
        """Where a block is not zero."""
        import numpy as np

        found = np.zeros(self.blocks[name].shape, dtype=bool)
        found[self.blocks[name].rows, self.blocks[name].columns] = True
        return found


@lru_cache(maxsize=32)
def levels(model: Model) -> Levels:
    """The levels and phases of a model.

    Raises `ModelError` unless exactly one variable is unbounded, upwards only, and the rates
    do not depend on it from some level on.
    """
    import numpy as np

    axis = _level_axis(model)
    first, settled = _threshold(model, axis)
    size = max(abs(transition.jump[axis]) for transition in model.transitions) or 1
    box = [(low or 0, high or 0) for low, high in model.ranges]
    box[axis] = (first, settled + 3 * size - 1)
    phases = prod(high - low + 1 for i, (low, high) in enumerate(box) if i != axis)
    for what, count in (("boundary", settled - first), ("group of levels", size)):
        if count * phases > GROUP_LIMIT:
            raise ModelError(
                f"a {what} of {count * phases} states is too large (limit {GROUP_LIMIT})"
            )
    held = window(model, box)
    others = [i for i in range(len(model.state)) if i != axis]
    order = np.lexsort([held.coordinates[:, i] for i in (*reversed(others), axis)])
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    states = held.coordinates[order]
    inner, m = phases * (settled - first), phases * size
    found: dict[str, list[tuple[np.ndarray, np.ndarray, int]]] = {name: [] for name in _BLOCKS}
    for flow in flows(model, held, "drop"):
        sources, targets = place[flow.sources], place[flow.targets]
        for name, (source, target) in _BLOCKS.items():
            kept = (_part(sources, inner, m) == source) & (_part(targets, inner, m) == target)
            rows, columns = sources[kept], targets[kept]
            found[name].append((rows, columns, flow.transition))
    arcs = {}
    for name, (source, target) in _BLOCKS.items():
        rows = np.concatenate([rows for rows, _, _ in found[name]])
        columns = np.concatenate([columns for _, columns, _ in found[name]])
        moves = np.concatenate([np.full(len(rows), move) for rows, _, move in found[name]])
        arcs[name] = Arcs(
            rows - _start(source, inner, m), columns - _start(target, inner, m), moves, states[rows]
        )
    return Levels(model, axis, settled, size, states[:inner], states[inner : inner + m], arcs)


_BLOCKS = {
    "B00": (0, 0),
    "B01": (0, 1),
    "B10": (1, 0),
    "A0": (2, 3),
    "A1": (2, 2),
    "A2": (2, 1),
}
"""From where to where: 0 is the boundary, 1, 2, ... are the groups."""


def rates_at(found: Levels, at: Mapping[Any, Any] | None = None) -> Rates:
    """The rates of the blocks, over the model's parameters or at a point of its domain."""
    import numpy as np

    ring, polynomials = rate_polynomials(found.model, at)
    rates: list[Ratio] = []
    constant: dict[int, int] = {}
    for move, polynomial in enumerate(polynomials):
        if all(not any(exponents) for exponents in polynomial):
            constant[move] = len(rates)
            rates.append(next(iter(polynomial.values()), ring.zero))
    sizes = len(found.boundary), len(found.group), len(found.group), len(found.group)
    blocks = {}
    for name, arcs in found.arcs.items():
        kinds = np.array([constant.get(move, -1) for move in range(len(polynomials))])[arcs.moves]
        for k in np.flatnonzero(kinds < 0).tolist():
            kinds[k] = len(rates)
            rates.append(rate_at(ring, polynomials[arcs.moves[k]], arcs.states[k].tolist()))
        source, target = _BLOCKS[name]
        kept = np.array([not rate.num.is_zero() for rate in rates])[kinds]
        blocks[name] = Block(
            (sizes[source], sizes[target]), arcs.rows[kept], arcs.columns[kept], kinds[kept]
        )
    return Rates(ring, tuple(rates), blocks)


def _level_axis(model: Model) -> int:
    unbounded = [i for i, (low, high) in enumerate(model.ranges) if low is None or high is None]
    if not unbounded:
        raise ModelError("no matrix-geometric law: the chain is finite, so it has no level")
    names = ", ".join(str(model.state[i]) for i in unbounded)
    if len(unbounded) > 1:
        raise ModelError(
            f"no matrix-geometric law: {names} are unbounded, one level is wanted: "
            "give all but one a finite range"
        )
    if model.ranges[unbounded[0]].low is None:
        raise ModelError(f"no matrix-geometric law: the level {names} has no lowest value")
    return unbounded[0]


def _threshold(model: Model, axis: int) -> tuple[int, int]:
    """The lowest level, and the one from which on the moves and rates stay the same."""
    first = settled = model.ranges[axis].low or 0
    _, polynomials = rate_polynomials(model)
    for transition, guard, polynomial in zip(
        model.transitions, model.guards, polynomials, strict=True
    ):
        low, high = guard[axis]
        edge = low if high is None else high + 1
        settled = max(settled, first if edge is None else edge)
        if high is None and any(exponents[axis] for exponents in polynomial):
            raise ModelError(
                f"no matrix-geometric law: rate {transition.rate} depends on the level "
                f"{model.state[axis]} at every level"
            )
    return first, settled


def _part(positions: np.ndarray, inner: int, m: int) -> np.ndarray:
    """0 for the boundary, 1, 2, ... for the groups."""
    import numpy as np

    return np.where(positions < inner, 0, (positions - inner) // m + 1)


def _start(part: int, inner: int, m: int) -> int:
    return 0 if part == 0 else inner + (part - 1) * m
