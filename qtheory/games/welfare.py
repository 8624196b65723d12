"""Welfare: its optimum, and the price of anarchy and of stability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from qtheory.domain import Domain
from qtheory.errors import DomainError
from qtheory.formulas import relation
from qtheory.games.algebraic import Algebraic, algebraic
from qtheory.games.best_reply import Reply, best_reply
from qtheory.games.segment import Segment, segment
from qtheory.inequality import Refuted, prove


@dataclass(frozen=True)
class Anarchy:
    """The welfare at the optimum and at the worst and the best equilibrium, exactly."""

    optimum: Reply
    worst: sp.Expr
    best: sp.Expr

    @property
    def price_of_anarchy(self) -> sp.Expr:
        """The optimal welfare over that of the worst equilibrium, at least 1.

        Raises `DomainError` where the worst equilibrium has no positive welfare.
        """
        return self._ratio(self.worst, "worst")

    @property
    def price_of_stability(self) -> sp.Expr:
        """The optimal welfare over that of the best equilibrium, at least 1.

        Raises `DomainError` where the best equilibrium has no positive welfare.
        """
        return self._ratio(self.best, "best")

    def _ratio(self, welfare: sp.Expr, which: str) -> sp.Expr:
        below = algebraic(welfare)
        if below.sign <= 0:
            raise DomainError(
                f"no ratio: the {which} equilibrium needs positive welfare, got {welfare}"
            )
        return (algebraic(self.optimum.value) / below).expression


def price_of_anarchy(
    welfare: Any,
    action: sp.Symbol,
    equilibria: Iterable[Any],
    actions: Segment | None = None,
    at: Mapping[Any, Any] | None = None,
) -> Anarchy:
    """Compare the optimum of a welfare formula on an interval with equilibria in it.

    An equilibrium is a number or a `Segment` of them, for example the ``q`` of
    `qtheory.games.threshold.joining_equilibria`. All values are exact at the rational point `at`.

    >>> q = sp.Symbol("q")
    >>> found = price_of_anarchy(1 + q - q**2, q, [0, 1])
    >>> found.price_of_anarchy, found.optimum.replies[0].point
    (5/4, 1/2)

    Raises `DomainError` without an equilibrium, for one outside the interval, and where the
    welfare is not finite.
    """
    actions = actions or segment(0, 1)
    welfare = sp.sympify(welfare)
    lows: list[Algebraic] = []
    highs: list[Algebraic] = []
    for item in equilibria:
        part = item if isinstance(item, Segment) else segment(item)
        if part.lower not in actions or part.upper not in actions:
            raise DomainError(f"the equilibrium {part} is outside {actions}")
        lows.append(algebraic(best_reply(welfare, action, part, at, minimise=True).value))
        highs.append(algebraic(best_reply(welfare, action, part, at).value))
    if not lows:
        raise DomainError("a price of anarchy needs at least one equilibrium")
    optimum = best_reply(welfare, action, actions, at)
    return Anarchy(optimum, min(lows).expression, max(highs).expression)


def price_formula(optimum: Any, equilibrium: Any, domain: Domain) -> sp.Expr:
    """The ratio of two closed forms of welfare, where the lower one is proved to be positive.

    >>> R, C = sp.symbols("R C", positive=True)
    >>> price_formula(R + C, R, Domain(symbols=(R, C)))
    (C + R)/R

    Raises `DomainError` with a witness where the welfare in equilibrium is not positive.
    """
    optimum, equilibrium = sp.sympify(optimum), sp.sympify(equilibrium)
    verdict = prove(relation(equilibrium, ">", sp.Integer(0)), domain)
    if isinstance(verdict, Refuted):
        place = ", ".join(f"{s} = {v}" for s, v in verdict.witness.items())
        raise DomainError(f"no ratio: the welfare {equilibrium} is not positive at {place}")
    if not verdict:
        raise DomainError(f"no ratio: the welfare {equilibrium} is not shown to be positive")
    return optimum / equilibrium
