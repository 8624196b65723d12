"""When a level process is positive recurrent, and to which states it returns.

Far from the boundary the phase moves by itself, with generator A = A0 + A1 + A2. In each closed
class of A with stationary law alpha the level drifts up at the rate alpha A0 1 and down at the
rate alpha A2 1. If every class drifts down, the boundary is reached from everywhere in finite
mean time: the passage probabilities G have rows that sum to one, and a stationary law exists.

M. F. Neuts, "Matrix-geometric solutions in stochastic models", Johns Hopkins (1981), theorem
1.7.1; G. Latouche, V. Ramaswami, "Introduction to matrix analytic methods in stochastic
modeling", SIAM (1999), chapter 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp
from flint import fmpq

from qtheory.errors import ReducibleError, UnstableError
from qtheory.model.rates import RateTable
from qtheory.stationary.exact.elimination import rational_weights
from qtheory.stationary.exact.solve import exact_law
from qtheory.stationary.qbd.levels import Levels, Rates

if TYPE_CHECKING:
    import numpy as np


class LevelDrift(NamedTuple):
    """The mean rates, per unit time, at which groups of levels are gained and lost."""

    up: sp.Expr
    down: sp.Expr


def level_drifts(found: Levels, rates: Rates) -> tuple[LevelDrift, ...]:
    """The drift of the level in each closed class of phases, all of them downwards.

    Raises `UnstableError` where one is not seen to be downwards on the model's domain, and
    `ReducibleError` for phases in which the level stands still.
    """
    drifts = []
    for phases in _closed(sum(map(rates.pattern, ("A1", "A2")), rates.pattern("A0"))):
        drift = _drift(rates, phases)
        if drift.up == drift.down == 0:
            shown = tuple(found.group[phases[0]].tolist())
            raise ReducibleError(f"reducible: from state {shown} on the level never changes")
        _require_negative(drift, found)
        drifts.append(drift)
    return tuple(drifts)


def recurrent(found: Levels, rates: Rates) -> list[int]:
    """The positions of the boundary states to which the chain returns for ever.

    The level drifts down, so the chain watched on the boundary and the first group is a finite
    one: from the first group it may come back to it over excursions to the levels above. Raises
    `ReducibleError` when it has several closed classes.
    """
    import numpy as np

    inner, m = len(found.boundary), len(found.group)
    graph = np.zeros((inner + m, inner + m), dtype=bool)
    graph[:inner, :inner], graph[:inner, inner:] = rates.pattern("B00"), rates.pattern("B01")
    graph[inner:, :inner], graph[inner:, inner:] = rates.pattern("B10"), rates.pattern("A1")
    graph[inner:, inner:] |= _product(rates.pattern("A0"), _first_passages(rates))
    classes = _closed(graph)
    if len(classes) > 1:
        states = [*found.boundary.tolist(), *found.group.tolist()]
        shown = ", ".join(str(tuple(states[members[0]])) for members in classes[:3])
        raise ReducibleError(
            f"no unique stationary law: {len(classes)} closed classes, around the states {shown}"
        )
    return [i for i in classes[0] if i < inner]


def _first_passages(rates: Rates) -> np.ndarray:
    """Which phases can be the first of the group below: the pattern of G.

    The least solution of G = A1* (A2 + A0 G G), where A1* is any number of moves in the group.
    """
    import numpy as np

    up, level, down = (rates.pattern(name) for name in ("A0", "A1", "A2"))
    within = level | np.eye(len(level), dtype=bool)
    for _ in range(len(level).bit_length()):
        within = _product(within, within)
    passages = np.zeros_like(level)
    while True:
        more = _product(within, down | _product(up, _product(passages, passages)))
        if (more == passages).all():
            return passages
        passages = more


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    import numpy as np

    # counts below 2^24 are exact in single precision
    return left.astype(np.float32) @ right.astype(np.float32) > 0


def _closed(graph: np.ndarray) -> list[list[int]]:
    """The classes of a graph, given by its adjacency matrix, that are never left."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    sources, targets = np.nonzero(graph)
    starts = np.searchsorted(sources, np.arange(len(graph) + 1))
    edges = csr_array((np.ones(len(sources)), targets.copy(), starts), shape=graph.shape)
    count, labels = connected_components(edges, connection="strong")
    left = set(labels[sources[labels[sources] != labels[targets]]].tolist())
    return [np.flatnonzero(labels == k).tolist() for k in range(count) if k not in left]


def _drift(rates: Rates, phases: list[int]) -> LevelDrift:
    """alpha A0 1 and alpha A2 1, exactly."""
    place = {phase: k for k, phase in enumerate(phases)}
    values = rates.rates if rates.ring.symbols else rates.rationals
    rows: list[dict[int, Any]] = [{} for _ in phases]
    exits: dict[str, dict[int, Any]] = {"A0": {}, "A1": {}, "A2": {}}
    for name, total in exits.items():
        for i, j, kind in rates.entries(name):
            if i in place:
                _add(total, i, values[kind])
                if i != j:
                    _add(rows[place[i]], place[j], values[kind])
    if rates.ring.symbols:
        law = exact_law(RateTable(tuple(phases), rates.ring, tuple(rows)))
        weights = {i: law.ratio(i) for i in phases}
        up, down = (_mean(weights, exits[name], rates.ring.zero) for name in ("A0", "A2"))
        return LevelDrift(rates.ring.factored(up), rates.ring.factored(down))
    found = rational_weights(rows)
    mass = sum(found, fmpq(0))
    weights = {i: weight / mass for i, weight in zip(phases, found, strict=True)}
    up, down = (_mean(weights, exits[name], fmpq(0)) for name in ("A0", "A2"))
    return LevelDrift(sp.Rational(int(up.p), int(up.q)), sp.Rational(int(down.p), int(down.q)))


def _mean(weights: dict[int, Any], values: dict[int, Any], zero: Any) -> Any:
    return sum((weights[i] * value for i, value in values.items()), zero)


def _add(row: dict[int, Any], j: int, rate: Any) -> None:
    row[j] = row[j] + rate if j in row else rate


def _require_negative(drift: LevelDrift, found: Levels) -> None:
    from qtheory.inequality import Refuted, prove

    level = found.model.state[found.axis]
    wanted = f"unstable: the level {level} must drift down"
    if not (drift.up.free_symbols or drift.down.free_symbols):
        if drift.up < drift.down:
            return
        raise UnstableError(
            f"{wanted}, but its mean rates are {_short(drift.up)} up and {_short(drift.down)} down"
        )
    condition = sp.Lt(drift.up, drift.down, evaluate=False)
    verdict = prove(condition, found.model.domain)
    if isinstance(verdict, Refuted):
        got = ", ".join(
            f"{s} = {v}" for s, v in verdict.witness.items() if s in condition.free_symbols
        )
        raise UnstableError(
            f"{wanted}: needs {condition}, which fails at {got}: add it to the domain"
        )
    if verdict.verdict != "proved":
        raise UnstableError(f"stability {condition} is not proved on {found.model.domain}: add it")


def _short(value: sp.Rational) -> str:
    return str(value) if len(str(value)) <= 12 else f"{float(value):.6g}"
