"""One way to give a finite chain: a model in a window, a table, a graph or a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qtheory.errors import ModelError
from qtheory.model.model import Model
from qtheory.model.rates import RateTable, rate_table, table_from_graph, table_from_matrix
from qtheory.stationary.exact.solve import table_at

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
    graph whose edges carry a ``rate``, or a generator matrix with rows that sum to zero.

    >>> len(finite_table([["-a", "a"], ["b", "-b"]]).states)
    2

    Raises `ModelError` for a box with a chain that is finite already.
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
        table = table_from_matrix(chain)
    return table if at is None else table_at(table, at)
