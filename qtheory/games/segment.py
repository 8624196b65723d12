"""Closed intervals with exact ends: how sets of best replies and of equilibria are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from qtheory.balls import Enclosure
from qtheory.errors import DomainError
from qtheory.games.algebraic import Algebraic, algebraic


@dataclass(frozen=True)
class Segment:
    """The numbers from `lower` to `upper`, both included; one point where they are equal.

    The ends are exact: rational numbers, numbers with square roots, or roots of polynomials.

    >>> half = segment("1/2")
    >>> print(half, segment(0, sp.sqrt(2) / 2))
    1/2 [0, sqrt(2)/2]
    >>> sp.Rational(7, 10) in segment(0, sp.sqrt(2) / 2)
    True
    """

    lower: sp.Expr
    upper: sp.Expr

    @property
    def is_point(self) -> bool:
        """Whether the segment is one number."""
        return self.lower == self.upper

    @property
    def point(self) -> sp.Expr:
        """The number of a segment that is one point; `DomainError` for an interval."""
        if not self.is_point:
            raise DomainError(f"a set of values, not one: {self}")
        return self.lower

    def enclosures(self, digits: int = 15) -> tuple[Enclosure, Enclosure]:
        """Both ends with proven digits."""
        lower, upper = algebraic(self.lower), algebraic(self.upper)
        return lower.enclosure(digits), upper.enclosure(digits)

    def __contains__(self, number: Any) -> bool:
        place = algebraic(number)
        return algebraic(self.lower) <= place <= algebraic(self.upper)

    def __float__(self) -> float:
        return float(self.point)

    def __str__(self) -> str:
        return str(self.lower) if self.is_point else f"[{self.lower}, {self.upper}]"

    def latex(self) -> str:
        """The number, or the interval."""
        from qtheory.show.latex import latex

        if self.is_point:
            return latex(self.lower)
        return rf"\left[{latex(self.lower)}, {latex(self.upper)}\right]"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def segment(lower: Any, upper: Any = None) -> Segment:
    """The segment between two numbers, or one number.

    Raises `DomainError` when the lower end is above the upper one and `ExpressionError` for an
    end that is not a real algebraic number.
    """
    low = algebraic(lower)
    high = low if upper is None else algebraic(upper)
    if high < low:
        raise DomainError(f"an interval needs lower <= upper, got [{lower}, {upper}]")
    return between(low, high)


def between(low: Algebraic, high: Algebraic) -> Segment:
    """The segment between two ordered algebraic numbers."""
    return Segment(low.expression, high.expression)
