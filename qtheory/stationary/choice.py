"""Which engine solves a chain: the first of a short list that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import sympy as sp

from qtheory.errors import ModelError
from qtheory.model.model import Model
from qtheory.stationary.birth_death.law import BirthDeathLaw
from qtheory.stationary.exact.law import ExactLaw
from qtheory.stationary.floats.law import NumericLaw

if TYPE_CHECKING:
    from qtheory.model.flows import Boundary
    from qtheory.stationary.families.law import FamilyLaw
    from qtheory.stationary.qbd import MatrixGeometricLaw
    from qtheory.stationary.series.law import CompensationLaw

    Law = ExactLaw | BirthDeathLaw | MatrixGeometricLaw | CompensationLaw | FamilyLaw | NumericLaw

Method = Literal["closed_form", "exact", "matrix_geometric", "compensation", "sparse", "truncation"]
FINITE = ("exact", "sparse")
INFINITE = ("closed_form", "matrix_geometric", "compensation", "truncation")

EXACT_STATES = 1000
"""The most states of a chain with given rates that is solved exactly unless told otherwise."""


def solve(
    chain: Any,
    box: Any,
    where: Any,
    at: Mapping[Any, Any] | None,
    method: Method | None,
    boundary: Boundary,
    digits: int | None,
    tolerance: float | None,
    budget: float | None,
) -> Law:
    """The law by the method, or by the first one that fits; `ModelError` says why none does."""
    if method not in (None, *get_args(Method)):
        raise ModelError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if isinstance(box, sp.Symbol):
        return _family(chain, box, where, at, method, boundary)
    finite = _is_finite(chain, box, where)
    fitting = FINITE if finite else INFINITE
    if method is not None and method not in fitting:
        raise ModelError(_misfit(method, chain, finite))
    if finite:
        chosen = method or _finite_method(chain, box, where, at)
        _require_options(chosen, digits, tolerance, budget)
        if chosen == "exact":
            from qtheory.stationary.exact.chain import finite_table
            from qtheory.stationary.exact.solve import exact_law

            variables = chain.state if isinstance(chain, Model) else ()
            return exact_law(finite_table(chain, box, where, at, boundary), variables, budget)
        from qtheory.stationary.floats.sparse import sparse_law

        return sparse_law(chain, box, where, at, boundary)
    if method is not None:
        _require_options(method, digits, tolerance, budget)
        return _infinite(chain, at, method, digits, tolerance)
    reasons = []
    for candidate in _infinite_methods(chain, at, digits):
        try:
            return _infinite(chain, at, candidate, digits, tolerance)
        except ModelError as error:
            reasons.append(str(error))
    missing = ": give a box, or a point `at`" if at is None else ": give a box"
    if digits is not None:
        missing += ", or use deep_digits for digits that are estimated"
    raise ModelError("; ".join(dict.fromkeys(reasons)) + missing)


def _family(
    model: Any, size: sp.Symbol, where: Any, at: Any, method: Method | None, boundary: Boundary
) -> FamilyLaw:
    from qtheory.stationary.families.family import family

    if at is not None or where is not None or method not in (None, "closed_form"):
        raise ModelError(f"the law for every {size} is a closed form in all parameters: only box")
    if not isinstance(model, Model):
        raise ModelError(f"a box with the bound {size} needs a Model in one state variable")
    return family(model, size, boundary=boundary)


def _is_finite(chain: Any, box: Any, where: Any) -> bool:
    windowed = box is not None or where is not None
    if isinstance(chain, Model):
        return windowed or all(None not in interval for interval in chain.ranges)
    if windowed:
        raise ModelError("a box is for a Model: this chain is already finite")
    return True


def _misfit(method: str, chain: Any, finite: bool) -> str:
    if not finite:
        return f"the {method} method needs a finite chain: give a box"
    if isinstance(chain, Model):
        return f"the {method} method is for an infinite lattice: leave out the box"
    return f"the {method} method needs a Model on an infinite lattice"


def _finite_method(chain: Any, box: Any, where: Any, at: Mapping[Any, Any] | None) -> Method:
    """Exact, unless the rates are numbers and the states many."""
    if isinstance(chain, Model):
        numbers = at is not None or not chain.parameters
        return "sparse" if numbers and _window_size(chain, box, where) > EXACT_STATES else "exact"
    if hasattr(chain, "shape") and chain.shape[0] > EXACT_STATES:
        return "sparse"
    return "exact"


def _window_size(model: Model, box: Any, where: Any) -> int:
    from qtheory.model.lattice import window

    if box is None and where is None:
        return prod(1 + (high or 0) - (low or 0) for low, high in model.ranges)
    return len(window(model, box, where))


def _infinite_methods(
    model: Model, at: Mapping[Any, Any] | None, digits: int | None
) -> list[Method]:
    """What to try, most exact first."""
    numbers = at is not None or not model.parameters
    unbounded = sum(None in interval for interval in model.ranges)
    found: list[Method] = []
    if len(model.state) == 1 and digits is None:
        found.append("closed_form")
    if unbounded == 1:
        found.append("matrix_geometric")
    if digits is not None and unbounded > 1:
        found.append("compensation")
    if numbers and digits is None:
        found.append("truncation")
    if not found:
        names = ", ".join(map(str, model.state))
        raise ModelError(
            f"no closed form for the state variables {names}: give a box, or a point `at`"
        )
    return found


def _infinite(
    model: Model,
    at: Mapping[Any, Any] | None,
    method: Method,
    digits: int | None,
    tolerance: float | None,
) -> Law:
    if method == "closed_form":
        from qtheory.stationary.birth_death.closed_form import birth_death_law

        return birth_death_law(model, at)
    if method == "matrix_geometric":
        from qtheory.stationary.qbd import matrix_geometric

        return matrix_geometric(model, at, digits)
    if method == "compensation":
        from qtheory.stationary.series.law import compensation

        return compensation(model, at, *() if digits is None else (digits,))
    from qtheory.stationary.floats.truncation import truncated_law

    return truncated_law(model, at, *() if tolerance is None else (tolerance,))


def _require_options(
    method: Method, digits: int | None, tolerance: float | None, budget: float | None
) -> None:
    """Refuse an option that the method would ignore."""
    given = {"digits": digits, "tolerance": tolerance, "budget": budget}
    known = {
        "digits": ("matrix_geometric", "compensation"),
        "tolerance": ("truncation",),
        "budget": ("exact",),
    }
    for name, value in given.items():
        if value is not None and method not in known[name]:
            raise ModelError(
                f"{name} is for the method {' or '.join(known[name])}, and this is {method}"
            )
