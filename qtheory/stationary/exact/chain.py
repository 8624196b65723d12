"""One way to give a finite chain: a model in a window, a table, a graph or a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

from qtheory.errors import ModelError, NonConservativeError
from qtheory.model.model import Model
from qtheory.model.rates import RateTable, rate_table, table_from_graph, table_from_matrix
from qtheory.stationary.exact.points import table_at

if TYPE_CHECKING:
    from qtheory.model.flows import Boundary


def finite_table(
    chain: Any,
    box: Any = None,
    where: Any = None,
    at: Mapping[Any, Any] | None = None,
    boundary: Boundary = "drop",
) -> RateTable:
    """The rates of a finite chain, for all parameters or `at` a rational point of all of them.

    The chain is a `Model` in a window (see `rate_table`), a `RateTable`, a directed networkx
    graph whose edges carry a ``rate``, or a matrix whose rows sum to zero (rates) or all to one
    (probabilities, in discrete time).

    >>> len(finite_table([["-a", "a"], ["b", "-b"]]).states)
    2

    Raises `ModelError` for a box with a chain that is finite already and for what is no chain.
    """
    if isinstance(chain, Model):
        return rate_table(chain, box, where, boundary, at)
    if box is not None or where is not None:
        raise ModelError("a box is for a Model: this chain is already finite")
    if isinstance(chain, RateTable):
        table = chain
    elif hasattr(chain, "is_directed"):
        table = table_from_graph(chain)
    else:
        table = _table_from_matrix(chain)
    return table if at is None else table_at(table, at)


def _table_from_matrix(matrix: Any) -> RateTable:
    rows = isinstance(matrix, Iterable) and not isinstance(matrix, (str, Mapping, Set))
    if not (rows or hasattr(matrix, "tolist") or hasattr(matrix, "toarray")):
        raise ModelError(f"neither a model nor a table, a graph or a matrix of rates: {matrix!r}")
    try:
        return table_from_matrix(matrix)
    except NonConservativeError:
        try:
            return table_from_matrix(matrix, time="discrete")
        except NonConservativeError:
            pass
        raise
