"""Costs as users write them: in the coordinates of a model, or of the queues it lumps together."""

from __future__ import annotations

import importlib.util
import re
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import sympy as sp

from qtheory.errors import DomainError, ModelError
from qtheory.formulas import formula
from qtheory.model import Model
from qtheory.systems import system


class NamedModel(NamedTuple):
    """A model, and whether its state is the shortest queue and the gaps between sorted queues."""

    model: Model
    sorted_lengths: bool


def find_model(name: str) -> NamedModel:
    """A model by the name of a system (``shorter-queue``, ``shorter-queue:targeted``,
    ``dedicated-streams:3`` for three queues) or of a variable in a file (``model.py:queue``).

    Raises `DomainError` for a name that is not known and `ModelError` for a file without it.
    """
    place, _, which = name.partition(":")
    if place.endswith(".py"):
        return NamedModel(_from_file(Path(place), which or "model"), False)
    found = system(place)
    first = next(iter(found.models))
    kind = which if which and not which.isdigit() else first
    if kind not in found.models:
        raise DomainError(f"unknown model {which} of {place}; known: {', '.join(found.models)}")
    build = found.models[kind]
    if which.isdigit() and not signature(build).parameters:
        raise DomainError(f"the model {kind} of {place} takes no number")
    sizes = (int(which),) if which.isdigit() else ()
    return NamedModel(build(*sizes), kind in found.sorted_lengths)


def _from_file(file: Path, name: str) -> Model:
    if not file.exists():
        raise ModelError(f"no such file: {file}")
    spec = importlib.util.spec_from_file_location("user_model", file)
    if spec is None or spec.loader is None:
        raise ModelError(f"not a Python file: {file}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(f"{file} raises {type(error).__name__}: {error}") from None
    found = getattr(module, name, None)
    if not isinstance(found, Model):
        raise ModelError(f"{file} has no Model called {name}")
    return found


def read_cost(model: Model, text: str, sorted_lengths: bool = False) -> sp.Expr:
    """A cost in the state variables, or in the queues x1, x2, ... of a chain of sorted lengths.

    With lengths m, m + g_1, ... the expression must be symmetric in the queues; ``max(x1, x2)``,
    ``min(x1, x2)`` and ``|x1 - x2|`` are understood for two of them.

    >>> from qtheory.systems import shorter_queue as sq
    >>> read_cost(sq.model(), "x1 + x2", True), read_cost(sq.model(), "|x1 - x2|", True)
    (d + 2*m, d)

    Raises `ModelError` for an expression that is not symmetric or names something else.
    """
    lengths = [sp.Symbol(f"x_{k}", real=True) for k in range(1, len(model.state) + 1)]
    text = re.sub(r"\bx(\d+)\b", r"x_\1", text)
    if not re.search(r"\bx_\d+\b", text) or "x_1" in {x.name for x in model.state}:
        return _in_state(model, text)
    if not sorted_lengths:
        raise ModelError("the queues x1, x2, ... are not coordinates of this model")
    pair = r"\(\s*x_1\s*,\s*x_2\s*\)|\(\s*x_2\s*,\s*x_1\s*\)"
    if len(lengths) == 2:
        gap = model.state[1].name
        shortest = model.state[0].name
        text = re.sub(rf"\bmax(?:{pair})", f"({shortest} + {gap})", text)
        text = re.sub(rf"\bmin(?:{pair})", shortest, text)
        difference = r"x_1\s*-\s*x_2|x_2\s*-\s*x_1"
        text = re.sub(rf"\|\s*(?:{difference})\s*\||\babs\(\s*(?:{difference})\s*\)", gap, text)
    cost = formula(text, (*model.state, *model.parameters, *lengths))
    for k in range(len(lengths) - 1):
        swap = {lengths[k]: lengths[k + 1], lengths[k + 1]: lengths[k]}
        if sp.expand(cost.subs(swap, simultaneous=True) - cost) != 0:
            raise ModelError(f"{text} is not symmetric in the queues, which the model lumps")
    places: dict[Any, Any] = {}
    total: Any = sp.Integer(0)
    for x, gap_symbol in zip(lengths, model.state, strict=True):
        total = total + gap_symbol
        places[x] = total
    return _known(model, sp.expand(cost.subs(places, simultaneous=True)))


def _in_state(model: Model, text: str) -> sp.Expr:
    return _known(model, formula(text, (*model.state, *model.parameters)))


def _known(model: Model, cost: sp.Expr) -> sp.Expr:
    own = {x.name: x for x in (*model.state, *model.parameters)}
    for symbol in cost.free_symbols:
        if symbol.name not in own:
            names = ", ".join(x.name for x in model.state)
            raise ModelError(f"unknown name {symbol} in the cost; state variables: {names}")
    return cost.xreplace({s: own[s.name] for s in cost.free_symbols})
