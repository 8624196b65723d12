"""What the commands on games share: points of a game, values as text and JSON, progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isnan
from typing import TYPE_CHECKING, Any

from qtheory.errors import DomainError, ExpressionError

if TYPE_CHECKING:
    from qtheory.systems.dedicated_streams.gaps import GapRow
    from qtheory.systems.dedicated_streams.joining_game import JoiningGame

SYSTEMS = {
    "shorter-queue": ("lambda", "mu", "c_a", "c_b"),
    "dedicated-streams": ("lambda", "lambda_s", "mu", "R", "C"),
}
"""The systems with a game, and the parameters of the game."""


def game_parameters(system: str) -> tuple[str, ...]:
    """The parameters of the game of a system; `DomainError` for one without a game here."""
    if system not in SYSTEMS:
        raise DomainError(f"no game of {system}; known: {', '.join(SYSTEMS)}")
    return SYSTEMS[system]


def read_values(assignments: Iterable[str], known: Iterable[str]) -> dict[str, Fraction]:
    """The values that are given as NAME=VALUE, by the names of the symbols."""
    from qtheory.arithmetic import exact
    from qtheory.text import symbol_name, text_name

    names = list(known)
    values: dict[str, Fraction] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ExpressionError(f"expected NAME=VALUE, got {assignment!r}")
        own = symbol_name(name.strip())
        if own not in names:
            shown = ", ".join(map(text_name, names))
            raise DomainError(f"unknown parameter {name.strip()}; known: {shown}")
        if own in values:
            raise DomainError(f"{name.strip()} is given twice")
        values[own] = exact(value)
    return values


def whole_point(values: Mapping[str, Fraction], system: str) -> list[Fraction]:
    """The values in the order of the parameters; `DomainError` where one is missing."""
    from qtheory.text import text_name

    missing = [text_name(name) for name in game_parameters(system) if name not in values]
    if missing:
        raise DomainError(f"no value given for {', '.join(missing)}")
    return [values[name] for name in game_parameters(system)]


def joining_at(values: Mapping[str, Fraction]) -> JoiningGame:
    """The joining game at a whole point."""
    from qtheory.systems.dedicated_streams.joining_game import joining_game

    return joining_game(*whole_point(values, "dedicated-streams"))


def value_text(value: Any) -> str:
    """A proved, an estimated or a simulated value, without a remark on its kind."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ± ".join(value.columns) if hasattr(value, "columns") else str(value)


def row_data(row: GapRow) -> dict[str, Any]:
    """A row as JSON."""
    values = {"shortest": row.shortest, "epsilon": row.epsilon, "distance": row.distance}
    shown = {name: value_data(value) for name, value in values.items()}
    return {"N": row.N, "kind": row.kind, **shown}


def value_data(value: Any) -> dict[str, Any]:
    """A value as JSON: the ends of a proved interval, a float, or an estimate with its interval."""
    if isinstance(value, float):
        return {"value": value}
    if hasattr(value, "half_width"):
        width = None if isnan(value.half_width) else value.half_width
        return {"value": value.mean, "half_width": width, "level": value.level}
    return {"value": str(value), "lower": str(value.lower), "upper": str(value.upper)}
