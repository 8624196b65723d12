"""Stationary laws, exact over QQ(parameters): state elimination and closed forms."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from qtheory.errors import ModelError
from qtheory.model.model import Model
from qtheory.model.rates import RateTable, rate_table, table_from_graph, table_from_matrix
from qtheory.stationary.birth_death import BirthDeathLaw
from qtheory.stationary.closed_form import birth_death_law
from qtheory.stationary.exact import exact_law, table_at
from qtheory.stationary.law import ExactLaw

if TYPE_CHECKING:
    from qtheory.model.flows import Boundary

__all__ = [
    "BirthDeathLaw",
    "ExactLaw",
    "birth_death_law",
    "exact_law",
    "stationary",
    "table_at",
]


def stationary(
    model: Any,
    box: Any = None,
    where: Any = None,
    at: Mapping[Any, Any] | None = None,
    method: Literal["exact", "closed_form"] | None = None,
    boundary: Boundary = "drop",
) -> ExactLaw | BirthDeathLaw:
    """The stationary law of a chain, for every parameter, or at a rational point `at`.

    The chain is a `Model`, a `RateTable`, a directed networkx graph whose edges carry a
    ``rate``, or a generator matrix with rows that sum to zero (SymPy, NumPy or nested lists).
    A finite chain, and a model in a finite window (`box` and `where`; moves across the `boundary`
    are dropped, or redirected to the nearest state of the box), is solved by elimination. A
    birth-death model without a box has a closed form on its whole lattice.

    >>> import sympy as sp
    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Model, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> stationary(queue).tail(3)
    lambda**3/mu**3
    >>> stationary(queue, box=2).expect(n)
    lambda*(2*lambda + mu)/(lambda**2 + lambda*mu + mu**2)

    Raises `ReducibleError` for a chain with several closed classes, `UnstableError` where no
    stationary law exists, and `ModelError` where a box is needed.
    """
    if method not in (None, "exact", "closed_form"):
        raise ModelError(f"method must be 'exact' or 'closed_form', got {method!r}")
    if isinstance(model, Model):
        return _of_model(model, box, where, at, method, boundary)
    if box is not None or where is not None:
        raise ModelError("a box is for a Model: this chain is already finite")
    if method == "closed_form":
        raise ModelError("a closed form needs a Model on an infinite lattice")
    table = _table(model)
    return exact_law(table if at is None else table_at(table, at))


def _of_model(
    model: Model, box: Any, where: Any, at: Mapping[Any, Any] | None, method: Any, boundary: Any
) -> ExactLaw | BirthDeathLaw:
    windowed = box is not None or where is not None
    finite = all(None not in interval for interval in model.ranges)
    if method == "closed_form" and (windowed or finite):
        raise ModelError("a closed form is for an infinite lattice: leave out the box")
    if windowed or finite:
        return exact_law(rate_table(model, box, where, boundary, at), model.state)
    if method == "exact":
        raise ModelError("the exact method needs a finite chain: give a box")
    if len(model.state) > 1:
        names = ", ".join(map(str, model.state))
        raise ModelError(f"no closed form for the state variables {names}: give a box")
    return birth_death_law(model, at)


def _table(chain: Any) -> RateTable:
    if isinstance(chain, RateTable):
        return chain
    if hasattr(chain, "is_directed"):
        return table_from_graph(chain)
    return table_from_matrix(chain)


class _Entry(ModuleType):
    """The package is also its one entry: ``qtheory.stationary(model)`` solves a model.

    Importing the package puts it in the place of the function in ``qtheory``, so that without
    this ``from qtheory import stationary`` would depend on what was imported before.
    """

    def __call__(self, *arguments: Any, **options: Any) -> ExactLaw | BirthDeathLaw:
        return stationary(*arguments, **options)


sys.modules[__name__].__class__ = _Entry
