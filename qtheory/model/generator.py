"""The generator of a model on a finite window, in the arithmetic of one's choice.

Row i holds the rates out of state i, so rows sum to zero and a stationary law is a row vector
pi with pi Q = 0. In discrete time the matrix is the transition matrix: rows sum to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import sympy as sp

from qtheory.arithmetic import Ratio, exact, to_fmpq
from qtheory.errors import ModelError
from qtheory.model.flows import Boundary, flows, rate_polynomials
from qtheory.model.lattice import Window, window
from qtheory.model.rates import RateTable, rate_table
from qtheory.model.state_graph import state_graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from qtheory.model.model import Model

Field = Literal["symbolic", "rational", "ball", "float"]
FloatPolynomial = dict[tuple[int, ...], float]
"""A polynomial in the state variables: coefficients by exponents."""

DENSE_LIMIT = 5000
"""The most states for which a dense matrix is built."""


def generator(
    model: Model,
    box: Any = None,
    at: Mapping[Any, Any] | None = None,
    field: Field | None = None,
    where: Any = None,
    boundary: Boundary = "drop",
) -> Any:
    """The generator (rows sum to zero), or in discrete time the transition matrix (to one).

    Entry (i, j) is the rate per unit time from the i-th to the j-th state of the window, states
    in lexicographic order. The field is

    - ``"symbolic"`` (without `at`): a SymPy ``ImmutableSparseMatrix``;
    - ``"rational"`` (with `at`): a python-flint ``fmpq_mat``;
    - ``"ball"``: a python-flint ``arb_mat``, at the current working precision;
    - ``"float"``: a SciPy ``csr_array``, built without a Python loop over the states.

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Model, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> generator(queue, 1)
    Matrix([
    [-lambda, lambda],
    [     mu,    -mu]])
    >>> print(generator(queue, 1, at={lam: "1/2", mu: 1}))
    [-1/2, 1/2]
    [   1,  -1]

    Raises `ModelError` for a bad window, a numeric field without a point, or a dense matrix of
    more than 5000 states, and `DomainError` (`UnstableError`) for a point outside the domain.
    """
    field = field or ("symbolic" if at is None else "rational")
    if field not in ("symbolic", "rational", "ball", "float"):
        raise ModelError(f"field must be symbolic, rational, ball or float, got {field!r}")
    if field == "symbolic":
        return _symbolic(model, box, at, where, boundary)
    if at is None and model.parameters:
        names = ", ".join(map(str, model.parameters))
        raise ModelError(f"field {field!r} needs values for {names}: give a point `at`")
    at = at or {}
    if field == "float":
        return _float(model, box, at, where, boundary)
    size = len(window(model, box, where))
    if size > DENSE_LIMIT:
        raise ModelError(
            f"a dense {field} matrix of {size} states is too large (limit {DENSE_LIMIT}): "
            "use field='float' or a rate table"
        )
    return _dense(rate_table(model, box, where, boundary, at), field)


def _diagonal(table: RateTable, row: Mapping[int, Ratio]) -> Ratio:
    """What is left on the diagonal of a row."""
    left = table.ring.number(Fraction(0 if table.time == "continuous" else 1))
    for rate in row.values():
        left = left - rate
    return left


def _symbolic(
    model: Model, box: Any, at: Mapping[Any, Any] | None, where: Any, boundary: Boundary
) -> sp.ImmutableSparseMatrix:
    table = rate_table(model, box, where, boundary, at)
    ring, size = table.ring, len(table.states)
    entries = {(i, i): -ring.factored(-_diagonal(table, row)) for i, row in enumerate(table.rows)}
    if at is None:
        position = {state: i for i, state in enumerate(table.states)}
        graph = state_graph(model, box, where, boundary)
        entries |= {(position[s], position[t]): rate for s, t, rate in graph.edges(data="rate")}
    else:
        entries |= {
            (i, j): ring.expression(rate)
            for i, row in enumerate(table.rows)
            for j, rate in row.items()
        }
    return sp.ImmutableSparseMatrix(size, size, entries)


def _dense(table: RateTable, field: Field) -> Any:
    from flint import arb_mat, fmpq_mat

    matrix = fmpq_mat(len(table.states), len(table.states))
    for i, row in enumerate(table.rows):
        for j, rate in {**row, i: _diagonal(table, row)}.items():
            matrix[i, j] = to_fmpq(exact(table.ring.expression(rate)))
    return matrix if field == "rational" else arb_mat(matrix)


def _float(model: Model, box: Any, at: Mapping[Any, Any], where: Any, boundary: Boundary) -> Any:
    import numpy as np
    from scipy.sparse import diags_array

    rates = window_rates(model, window(model, box, where), float_rates(model, at), boundary)
    diagonal = (0.0 if model.time == "continuous" else 1.0) - rates.sum(axis=1)
    matrix = (rates + diags_array(np.asarray(diagonal))).tocsr()
    matrix.eliminate_zeros()
    return matrix


def float_rates(model: Model, at: Mapping[Any, Any]) -> list[FloatPolynomial]:
    """The rate of each transition at a point, as a polynomial in the state variables."""
    ring, polynomials = rate_polynomials(model, at)
    return [
        {e: float(exact(ring.expression(c))) for e, c in polynomial.items()}
        for polynomial in polynomials
    ]


def window_rates(
    model: Model, held: Window, rates: Sequence[FloatPolynomial], boundary: Boundary = "drop"
) -> csr_array:
    """The rates between different states of a window: the generator without its diagonal.

    `rates` are those of `float_rates`, so that several windows share the work at one point.
    """
    import numpy as np
    from scipy.sparse import csr_array

    rows, columns, values = [], [], []
    for flow in flows(model, held, boundary):
        total = np.zeros(len(flow.sources))
        for exponents, coefficient in rates[flow.transition].items():
            term = np.full(len(flow.sources), coefficient)
            for axis, exponent in enumerate(exponents):
                if exponent:
                    term *= held.coordinates[flow.sources, axis].astype(float) ** exponent
            total += term
        rows.append(flow.sources)
        columns.append(flow.targets)
        values.append(total)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = csr_array(entries, shape=(len(held), len(held)))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
