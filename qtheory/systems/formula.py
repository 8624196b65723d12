"""Named closed forms: a formula with its domain, its meaning and its source."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from qtheory.balls import Enclosure, evaluate
from qtheory.domain import Domain
from qtheory.errors import DomainError
from qtheory.model import Model


@dataclass(frozen=True)
class Formula:
    """A closed form that holds on a domain; rates are per unit time, costs per unit time."""

    name: str
    expression: sp.Expr
    domain: Domain
    meaning: str
    source: str = ""
    label: str = ""
    """How the literature writes it, such as ``E[X]``; defaults to the name."""

    def __str__(self) -> str:
        return f"{self.label or self.name} = {self.expression}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def latex(self) -> str:
        """The equation ``name = expression``."""
        from qtheory.show.latex import latex, symbol_latex

        label = re.sub(r"\bE\[", r"\\mathbb{E}[", self.label or self.name)
        label = re.sub(r"(?<!\\)(?<!\{)\b[A-Za-z]\w*", lambda m: symbol_latex(m.group()), label)
        return f"{label.replace('*', '^{*}')} = {latex(self.expression)}"

    def evaluate(self, at: Mapping[Any, Any], digits: int = 15) -> Enclosure:
        """The value at a point of the domain with proven digits.

        Raises `UnstableError` or `DomainError` that names the failed condition, and `DomainError`
        for an unknown or a missing parameter.
        """
        return evaluate(self.expression, self.domain.require(at), digits)


@dataclass(frozen=True)
class System:
    """A queueing system of the literature: its models and its named closed forms."""

    name: str
    title: str
    source: str
    parameters: Mapping[sp.Symbol, str]
    formulas: tuple[Formula, ...]
    models: Mapping[str, Callable[..., Model]] = field(default_factory=dict)
    sorted_lengths: frozenset[str] = frozenset()
    """The models whose state is the shortest queue and the gaps between the sorted queues."""

    def formula(self, name: str) -> Formula:
        """The formula of that name or label; spelling variants such as ``p*`` are understood."""
        for formula in self.formulas:
            if _key(name) in (_key(formula.name), _key(formula.label)):
                return formula
        known = ", ".join(formula.name for formula in self.formulas)
        raise DomainError(f"unknown formula {name} of {self.name}; known: {known}")


def _key(name: str) -> str:
    return re.sub(r"[\W_]", "", name.replace("*", "star"))
