"""A finite chain as sparse rows of transition rates over QQ(parameters)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, exact, parameters
from qtheory.errors import ModelError, NonConservativeError
from qtheory.formulas import formula

if TYPE_CHECKING:
    from qtheory.model.flows import Boundary
    from qtheory.model.model import Model

Time = Literal["continuous", "discrete"]

_ROUNDING = Fraction(1, 2**40)
"""How far a row of floats may miss its sum, relative to its largest entry."""


@dataclass(frozen=True)
class RateTable:
    """The off-diagonal rates (probabilities in discrete time) of a finite Markov chain.

    ``rows[i][j]`` is the rate from ``states[i]`` to ``states[j]``, j != i, never zero. What is
    left on the diagonal follows: minus the row sum in continuous time, one minus it in discrete
    time. Both have the same stationary law for the same rows.
    """

    states: tuple[Hashable, ...]
    ring: Ring
    rows: tuple[dict[int, Ratio], ...]
    time: Time = "continuous"


def rate_table(
    model: Model,
    box: Any = None,
    where: Any = None,
    boundary: Boundary = "drop",
    at: Mapping[Any, Any] | None = None,
) -> RateTable:
    """The rates between the states of a finite window (see `qtheory.model.lattice.window`).

    Parallel transitions are summed, self-loops left out. A move out of the window is not made
    (``boundary="drop"``) or ends at the nearest state of the box (``"redirect"``). The rates are
    over the parameters of the model; at a point `at` of its domain they are rational numbers.

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Model, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> table = rate_table(queue, 1)
    >>> [{j: table.ring.expression(r) for j, r in row.items()} for row in table.rows]
    [{1: lambda}, {0: mu}]

    Raises `ModelError` for a bad window, `DomainError` (`UnstableError`) for a point outside
    the domain.
    """
    from qtheory.model.flows import arcs, rate_at, rate_polynomials
    from qtheory.model.lattice import window

    held = window(model, box, where)
    ring, polynomials = rate_polynomials(model, at)
    states = held.states
    rows: list[dict[int, Ratio]] = [{} for _ in states]
    for (i, j), transitions in arcs(model, held, boundary).items():
        total = rate_at(ring, polynomials[transitions[0]], states[i])
        for k in transitions[1:]:
            total = total + rate_at(ring, polynomials[k], states[i])
        if not total.num.is_zero():
            rows[i][j] = total
    return RateTable(tuple(states), ring, tuple(rows), model.time)


def table_from_matrix(
    matrix: Any, states: Iterable[Hashable] | None = None, time: Time = "continuous"
) -> RateTable:
    """The chain of a generator (rows sum to zero) or transition matrix (rows sum to one).

    Entry (i, j) is the rate, per unit time, or the probability from state i to state j. The
    matrix may be a nested list, or a matrix of SymPy, NumPy, SciPy or python-flint; its symbols
    become the parameters. States are numbered from 0 unless they are named.

    >>> table_from_matrix([["-1/2", "1/2"], [3, -3]]).rows[1][0].num
    3

    Raises `NonConservativeError` for a row with another sum, `ModelError` for a matrix that is
    not square or has a negative rate. Rows with floats may miss their sum by rounding.
    """
    written = _square(matrix)
    names = tuple(range(len(written)) if states is None else states)
    _require_names(names, len(written))
    entries = [{j: _entry(value) for j, value in enumerate(row) if value != 0} for row in written]
    ring = _ring(entry for row in entries for entry in row.values())
    wanted = 0 if _known_time(time) == "continuous" else 1
    rows = []
    for i, row in enumerate(entries):
        values = {j: _ratio(ring, entry) for j, entry in row.items()}
        for j, value in values.items():
            if (i != j or time == "discrete") and _number(value, Fraction(0)) < 0:
                raise ModelError(
                    f"negative rate {row[j]} from state {names[i]} to state {names[j]}"
                )
        total = sum(values.values(), ring.number(Fraction(-wanted)))
        if not (total.num.is_zero() or abs(_number(total, Fraction(1))) <= _slack(written[i])):
            found = ring.expression(total) + wanted
            raise NonConservativeError(
                f"row {i} (state {names[i]}) sums to {found}, not to {wanted}"
            )
        rows.append({j: v for j, v in values.items() if j != i and not v.num.is_zero()})
    return RateTable(names, ring, tuple(rows), time)


def table_from_graph(graph: Any, time: Time | None = None) -> RateTable:
    """The chain of a directed networkx graph whose edges carry a ``rate``.

    States are the nodes in the order of the graph; parallel edges are summed. Without `time` it
    is the graph's own attribute ``time``, or continuous. In discrete time the probability that
    is left over stays at the state.

    Raises `ModelError` for an edge without a rate or with a negative one, and
    `NonConservativeError` for probabilities that sum to more than one.
    """
    if not graph.is_directed():
        raise ModelError("the graph is not directed: each edge needs one direction")
    time = _known_time(time or graph.graph.get("time", "continuous"))
    names = tuple(graph.nodes)
    if not names:
        raise ModelError("the graph has no states")
    position = {name: i for i, name in enumerate(names)}
    edges = list(graph.edges(data="rate"))
    for source, target, rate in edges:
        if rate is None:
            raise ModelError(f"the edge from {source} to {target} has no rate")
    entries = [_entry(rate) for _, _, rate in edges]
    ring = _ring(entries)
    rows: list[dict[int, Ratio]] = [{} for _ in names]
    for (source, target, _), entry in zip(edges, entries, strict=True):
        value = _ratio(ring, entry)
        if _number(value, Fraction(0)) < 0:
            raise ModelError(f"negative rate {entry} from state {source} to state {target}")
        row, j = rows[position[source]], position[target]
        row[j] = row[j] + value if j in row else value
    if time == "discrete":
        for name, row in zip(names, rows, strict=True):
            total = _number(sum(row.values(), ring.number(Fraction(0))), Fraction(0))
            if total > 1 + _ROUNDING:
                raise NonConservativeError(f"the row of state {name} sums to {total} > 1")
    return RateTable(
        names,
        ring,
        tuple(
            {j: row[j] for j in sorted(row) if j != i and not row[j].num.is_zero()}
            for i, row in enumerate(rows)
        ),
        time,
    )


def _known_time(time: Any) -> Time:
    if time not in ("continuous", "discrete"):
        raise ModelError(f"time must be 'continuous' or 'discrete', got {time!r}")
    return time


def _square(matrix: Any) -> list[list[Any]]:
    """The entries, as they were written, of a square matrix of any of the known kinds."""
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    listed = matrix.tolist() if hasattr(matrix, "tolist") else list(matrix)
    rows = [list(row) if isinstance(row, Iterable) else [row] for row in listed]
    if not rows:
        raise ModelError("the matrix has no states")
    for i, row in enumerate(rows):
        if len(row) != len(rows):
            raise ModelError(
                f"the matrix is not square: {len(rows)} rows, row {i} has {len(row)} entries"
            )
    return rows


def _entry(value: Any) -> sp.Expr | Fraction:
    """A symbolic entry as it is, a number as a fraction."""
    if isinstance(value, str):
        value = formula(value)
    return value if getattr(value, "free_symbols", None) else exact(value)


def _ring(entries: Iterable[Any]) -> Ring:
    return Ring(parameters(*(entry for entry in entries if not isinstance(entry, Fraction))))


def _ratio(ring: Ring, entry: sp.Expr | Fraction) -> Ratio:
    return ring.number(entry) if isinstance(entry, Fraction) else ring.ratio(entry)


def _require_names(names: Sequence[Hashable], count: int) -> None:
    if len(names) != count:
        raise ModelError(f"{len(names)} states named for a matrix with {count} rows")
    if len(set(names)) != count:
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise ModelError(f"state {repeated} is named twice")


def _number(value: Ratio, otherwise: Fraction) -> Fraction:
    """The value of a constant ratio."""
    if not (value.num.is_constant() and value.den.is_constant()):
        return otherwise
    top = value.num.leading_coefficient() if not value.num.is_zero() else 0
    return Fraction(int(top), int(value.den.leading_coefficient()))


def _slack(row: Sequence[Any]) -> Fraction:
    """What rounding may add to the sum of a row: nothing, unless it holds floats."""
    if not any(isinstance(value, (float, sp.Float)) for value in row):
        return Fraction(0)
    numbers = (_entry(value) for value in row)
    return _ROUNDING * max(abs(number) for number in numbers if isinstance(number, Fraction))
