"""Transient quantities of finite chains, exact over QQ(parameters): hitting times, absorption.

Both solve, with u given on some states, ``sum_j q_ij (u_i - u_j) = r_i`` on the others. Read as a
row vector, (u, 1) balances the chain with the rates transposed and one more state, from which r_i
leads to state i: its stationary weights, found by elimination, are the answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp
from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, lowest_terms
from qtheory.errors import CertificateError, DomainError, ReducibleError
from qtheory.model.classes import closed_classes
from qtheory.model.rates import RateTable
from qtheory.stationary.exact.chain import finite_table
from qtheory.stationary.exact.elimination import polynomial_weights
from qtheory.stationary.exact.ordering import minimum_degree_order, sources_of
from qtheory.stationary.exact.presentation import expression_of
from qtheory.stationary.exact.solve import cleared_rows
from qtheory.stationary.exact.weights import unbalanced

if TYPE_CHECKING:
    from qtheory.model.flows import Boundary


def hitting_times(
    chain: Any,
    targets: Any,
    box: Any = None,
    where: Any = None,
    at: Mapping[Any, Any] | None = None,
    boundary: Boundary = "drop",
) -> dict[Hashable, sp.Expr]:
    """The mean time until the chain enters a set of states, for each state it may start from.

    With u_i for the mean from state i: u = 0 on the targets and ``sum_j q_ij (u_i - u_j) = 1``
    elsewhere, in units of time in continuous time and in steps in discrete time. The chain is
    given as to `stationary`; the targets are a state, a collection of states or a predicate on
    states (J. R. Norris, "Markov Chains", 1997, theorems 1.3.5 and 3.3.3).

    >>> hitting_times([["-a", "a", 0], ["b", "-a-b", "a"], [0, "b", "-b"]], targets=2)
    {0: (2*a + b)/a**2, 1: (a + b)/a**2, 2: 0}

    Raises `DomainError` for a target that is no state and `ReducibleError` where the targets
    cannot be reached, or are missed with positive probability, so that the mean is infinite.
    """
    table = finite_table(chain, box, where, at, boundary)
    held = _targets(table, targets)
    _require_hit(table, held)
    found = _solved(table, {i: [0] for i in held}, [1])
    return {
        state: expression_of(table.ring, values[0])
        for state, values in zip(table.states, found, strict=True)
    }


def absorption_probabilities(
    chain: Any,
    box: Any = None,
    where: Any = None,
    at: Mapping[Any, Any] | None = None,
    boundary: Boundary = "drop",
) -> dict[Hashable, dict[Hashable, sp.Expr]]:
    """The probability to end in each closed class, for each state the chain may start from.

    A class of one state, an absorbing state, is named by the state, a larger one by the tuple of
    its states. The chain is given as to `stationary`, in continuous or discrete time.

    >>> chain = [[0, 0, 0], ["a", "-a-b", "b"], [0, 0, 0]]
    >>> absorption_probabilities(chain)[1]
    {0: a/(a + b), 2: b/(a + b)}
    """
    table = finite_table(chain, box, where, at, boundary)
    classes = closed_classes(table)
    position = {state: i for i, state in enumerate(table.states)}
    known = {
        position[state]: [int(c == k) for k in range(len(classes))]
        for c, states in enumerate(classes)
        for state in states
    }
    found = _solved(table, known, [0] * len(classes))
    names = [states[0] if len(states) == 1 else states for states in classes]
    return {
        state: {
            name: expression_of(table.ring, value)
            for name, value in zip(names, values, strict=True)
        }
        for state, values in zip(table.states, found, strict=True)
    }


def _targets(table: RateTable, targets: Any) -> set[int]:
    position = {state: i for i, state in enumerate(table.states)}

    def place(state: Any) -> int | None:
        try:
            return position.get(state, position.get((state,)))
        except TypeError:
            return None

    if place(targets) is not None:
        wanted: list[Any] = [targets]
    elif isinstance(targets, Iterable) and not isinstance(targets, str):
        wanted = list(targets)
    elif callable(targets):
        wanted = [state for state in table.states if targets(state)]
    else:
        wanted = [targets]
    if not wanted:
        raise DomainError("no state is a target")
    found = set()
    for state in wanted:
        i = place(state)
        if i is None:
            raise DomainError(f"the chain has no state {state}")
        found.add(i)
    return found


def _require_hit(table: RateTable, targets: set[int]) -> None:
    """Every state must reach the targets, without a way to a closed class that has none."""
    sources = sources_of(table.rows)
    reaching, pending = set(targets), list(targets)
    while pending:
        for i in sources[pending.pop()] - reaching:
            reaching.add(i)
            pending.append(i)
    lost = [i for i in range(len(table.states)) if i not in reaching]
    if not lost:
        return
    missing, pending = set(lost), list(lost)
    while pending:
        for i in sources[pending.pop()] - missing - targets:
            missing.add(i)
            pending.append(i)
    never = _named(table, lost)
    message = f"the targets cannot be reached from {never}"
    others = sorted(missing - set(lost))
    if others:
        message += f", and are missed with positive probability from {_named(table, others)}"
    raise ReducibleError(f"infinite mean hitting times: {message}")


def _named(table: RateTable, places: Sequence[int]) -> str:
    shown = ", ".join(str(table.states[i]) for i in places[:3])
    more = f", ... ({len(places)} in all)" if len(places) > 3 else ""
    return f"state{'s' if len(places) > 1 else ''} {shown}{more}"


def _solved(
    table: RateTable, known: Mapping[int, Sequence[int]], rewards: Sequence[int]
) -> list[list[Ratio]]:
    """The solutions u of ``sum_j q_ij (u_i - u_j) = r``, one for each reward r.

    ``known[i]`` holds the values of the solutions at a state where they are given.
    """
    ring = table.ring
    found = [[ring.integer(value) for value in known.get(i, ())] for i in range(len(table.states))]
    places = [i for i in range(len(table.states)) if i not in known]
    cleared, clearing = cleared_rows(ring, [table.rows[i] for i in places])
    number = {i: k for k, i in enumerate(places)}
    transposed: list[dict[int, fmpz_mpoly]] = [{} for _ in places]
    # what leaves a state less what enters it: with it the rows sum to zero
    excess = [sum(row.values(), ring.context.constant(0)) for row in cleared]
    for i, row in enumerate(cleared):
        for j, rate in row.items():
            if j in number:
                transposed[number[j]][i] = rate
                excess[number[j]] -= rate
    last = len(places)
    rows = [
        row if rest.is_zero() else {**row, last: rest}
        for row, rest in zip(transposed, excess, strict=True)
    ]
    # The last pivots are minors of the balance equations of the unknowns, never zero; they could
    # be with the state that was added before them.
    order = [*minimum_degree_order(transposed), last]
    for c, reward in enumerate(rewards):
        start = {}
        for i, (row, factor) in enumerate(zip(cleared, clearing, strict=True)):
            given = (rate * known[j][c] for j, rate in row.items() if j in known)
            entry = sum(given, factor * reward)
            if not entry.is_zero():
                start[i] = entry
        if start:
            weights = _weights(ring, [*rows, start], order)
        else:
            weights = [ring.context.constant(int(i == last)) for i in range(last + 1)]
        for i, weight in zip(places, weights, strict=False):
            found[i].append(lowest_terms(weight, weights[last]))
    return found


def _weights(
    ring: Ring, rows: Sequence[Mapping[int, fmpz_mpoly]], order: Sequence[int]
) -> list[fmpz_mpoly]:
    weights = polynomial_weights(rows, ring.context, order)
    state = unbalanced(rows, weights)
    if state is not None:
        raise CertificateError(f"equation {state} of the hitting problem is not solved")
    return weights
