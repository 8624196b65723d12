"""Exact and certified theory for queues with strategic agents.

    from qtheory import Domain, Model, Transition, prove, state_graph, generator, stationary

Names are imported when they are first used, so that ``import qtheory`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qtheory.balls import evaluate
    from qtheory.domain import Domain
    from qtheory.drift import bound_by, bounds, enclose, foster, identities
    from qtheory.inequality import Open, Proved, Refuted, Supported, prove, smtlib
    from qtheory.inequality.monotone import (
        concave,
        convex,
        decreasing,
        increasing,
        nondecreasing,
        nonincreasing,
    )
    from qtheory.model import Model, Transition, generator, sample_path, simulate, state_graph
    from qtheory.show.latex import latex
    from qtheory.stationary import stationary
    from qtheory.systems import system
    from qtheory.theorems import theorem, verify

__version__ = "0.1.0"
__all__ = [
    "Domain",
    "Model",
    "Open",
    "Proved",
    "Refuted",
    "Supported",
    "Transition",
    "bound_by",
    "bounds",
    "concave",
    "convex",
    "decreasing",
    "enclose",
    "evaluate",
    "foster",
    "generator",
    "identities",
    "increasing",
    "latex",
    "nondecreasing",
    "nonincreasing",
    "prove",
    "sample_path",
    "simulate",
    "smtlib",
    "state_graph",
    "stationary",
    "system",
    "theorem",
    "verify",
]

_HOME = {
    "Domain": "domain",
    "bound_by": "drift",
    "bounds": "drift",
    "enclose": "drift",
    "foster": "drift",
    "identities": "drift",
    "Model": "model",
    "Transition": "model",
    "evaluate": "balls",
    "generator": "model",
    "latex": "show.latex",
    "sample_path": "model",
    "simulate": "model",
    "state_graph": "model",
    "stationary": "stationary",
    "system": "systems",
    "theorem": "theorems",
    "verify": "theorems",
}
_SHAPES = {"concave", "convex", "decreasing", "increasing", "nondecreasing", "nonincreasing"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'qtheory' has no attribute {name!r}")
    home = _HOME.get(name, "inequality.monotone" if name in _SHAPES else "inequality")
    return getattr(import_module(f"qtheory.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
