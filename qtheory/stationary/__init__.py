"""Stationary laws: closed forms, exact elimination, matrix-geometric, series, floats.

`stationary(model, ...)` chooses the engine; each has its own module and can be called by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from qtheory.stationary.birth_death.closed_form import birth_death_law
from qtheory.stationary.birth_death.law import BirthDeathLaw
from qtheory.stationary.choice import Method, solve
from qtheory.stationary.exact.chain import finite_table
from qtheory.stationary.exact.law import ExactLaw
from qtheory.stationary.exact.points import table_at
from qtheory.stationary.exact.solve import exact_law
from qtheory.stationary.floats.law import Error, NumericLaw

if TYPE_CHECKING:
    from qtheory.model.flows import Boundary
    from qtheory.stationary.choice import Law
    from qtheory.stationary.exact.hitting import absorption_probabilities, hitting_times
    from qtheory.stationary.exact.solve import law_size
    from qtheory.stationary.exact.trees import tree_weights
    from qtheory.stationary.families.family import family
    from qtheory.stationary.families.law import FamilyLaw
    from qtheory.stationary.floats.deep_digits import Estimate, deep_digits
    from qtheory.stationary.floats.sparse import sparse_law
    from qtheory.stationary.floats.truncation import truncated_law
    from qtheory.stationary.qbd import MatrixGeometricLaw, matrix_geometric
    from qtheory.stationary.series.law import CompensationLaw, compensation

__all__ = [
    "BirthDeathLaw",
    "CompensationLaw",
    "Error",
    "Estimate",
    "ExactLaw",
    "FamilyLaw",
    "MatrixGeometricLaw",
    "NumericLaw",
    "absorption_probabilities",
    "birth_death_law",
    "compensation",
    "deep_digits",
    "exact_law",
    "family",
    "finite_table",
    "hitting_times",
    "law_size",
    "matrix_geometric",
    "sparse_law",
    "stationary",
    "table_at",
    "tree_weights",
    "truncated_law",
]

_LATER = {
    "CompensationLaw": "series.law",
    "Estimate": "floats.deep_digits",
    "FamilyLaw": "families.law",
    "MatrixGeometricLaw": "qbd",
    "absorption_probabilities": "exact.hitting",
    "compensation": "series.law",
    "deep_digits": "floats.deep_digits",
    "family": "families.family",
    "hitting_times": "exact.hitting",
    "law_size": "exact.solve",
    "matrix_geometric": "qbd",
    "sparse_law": "floats.sparse",
    "tree_weights": "exact.trees",
    "truncated_law": "floats.truncation",
}


def stationary(
    model: Any,
    box: Any = None,
    where: Any = None,
    at: Mapping[Any, Any] | None = None,
    method: Method | None = None,
    boundary: Boundary = "drop",
    digits: int | None = None,
    tolerance: float | None = None,
    budget: float | None = None,
) -> Law:
    """The stationary law of a chain, for every parameter or at a rational point `at`.

    The chain is a `Model`, a `RateTable`, a directed networkx graph whose edges carry a
    ``rate``, or a matrix (SymPy, NumPy or nested lists) whose rows sum to zero (rates) or to one
    (probabilities).

    A finite chain, and a model in a finite window (`box` and `where`; moves across the `boundary`
    are dropped, or redirected to the nearest state of the box), is solved

    - ``"exact"``: by elimination over QQ(parameters); `budget` limits the terms of the answer;
    - ``"sparse"``: in floats, by default with numeric rates and more than 1000 states.

    A bound of the box that is a symbol, ``box=K``, asks for the law of a chain in one variable
    for every K at once, in closed form (`family`).

    A model on its whole infinite lattice is solved by the first that fits of

    - ``"closed_form"``: a birth-death chain, geometric from a threshold on;
    - ``"matrix_geometric"``: one unbounded variable; exact, in floats `at` a point, or with
      proven `digits` there;
    - ``"compensation"``: the symmetric shorter queue as a series, with proven `digits`;
    - ``"truncation"``: at a point, in floats, in a window that grows until what it leaves out is
      estimated to be below the `tolerance` (10^-12) in total variation.

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
    >>> from qtheory.systems import shorter_queue as sq
    >>> stationary(sq.model(), at={"lam": 1, "mu": 1, "p": "1/2"}).method
    'truncation'
    >>> print(stationary(sq.model(), at={"lam": 1, "mu": 1, "p": 0}, digits=30).expect(sq.m))
    0.426320751167241187741569412926

    Every law has ``law[state]``, `expect`, `probability` of an event, and ``marginal(variable, k)``
    and ``tail(variable, k)`` for P(variable = k) and P(variable >= k); without k, these give all
    values at once where they are finitely many. It knows its `method`, `residual`, `error` and
    `truncation`.

    Raises `ReducibleError` for a chain with several closed classes, `UnstableError` where no
    stationary law exists, `DomainError` for a point outside the domain, and `ModelError` where no
    method fits or an option belongs to another method.
    """
    return solve(model, box, where, at, method, boundary, digits, tolerance, budget)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'qtheory.stationary' has no attribute {name!r}")
    return getattr(import_module(f"qtheory.stationary.{_LATER[name]}"), name)


class _Entry(ModuleType):
    """The package is also its one entry: ``qtheory.stationary(model)`` solves a model.

    Importing the package puts it in the place of the function in ``qtheory``, so that without
    this ``from qtheory import stationary`` would depend on what was imported before.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Law:
        return stationary(*arguments, **options)


sys.modules[__name__].__class__ = _Entry
