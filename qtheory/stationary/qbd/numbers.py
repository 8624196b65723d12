"""The three kinds of numbers of a matrix-geometric law: exact, balls and floats.

Vectors and matrices are NumPy arrays of floats, or of objects that know their own arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

import sympy as sp
from flint import arb, arb_mat, ctx

from qtheory.arithmetic import Ratio, Ring, exact, to_fmpq
from qtheory.balls import MAXIMAL_DIGITS, Enclosure, evaluate
from qtheory.errors import ExpressionError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Floats:
    """Floating-point numbers."""

    def working(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def number(self, value: Fraction) -> float:
        return float(value)

    def value(self, expression: sp.Expr) -> float:
        try:
            value = float(expression)
        except TypeError:
            raise ExpressionError(f"not a real number: {expression}") from None
        if not isfinite(value):
            raise ExpressionError(f"not a finite number: {expression}")
        return value

    def array(self, values: Sequence[Any]) -> np.ndarray:
        import numpy as np

        return np.array(values, dtype=float)

    def show(self, value: float) -> float:
        return float(value)

    def show_matrix(self, matrix: np.ndarray) -> np.ndarray:
        return matrix


@dataclass(frozen=True)
class Balls:
    """Balls at a working precision in bits, shown with at most so many proven digits."""

    precision: int
    digits: int

    def working(self) -> AbstractContextManager[Any]:
        return ctx.workprec(self.precision)

    def number(self, value: Fraction) -> arb:
        return arb(to_fmpq(value))

    def value(self, expression: sp.Expr) -> arb:
        if expression.free_symbols:
            raise ExpressionError(f"not a real number: {expression}")
        found = evaluate(expression, digits=min(int(self.precision * 0.3), MAXIMAL_DIGITS))
        return self.number(found.lower).union(self.number(found.upper))

    def array(self, values: Sequence[Any]) -> np.ndarray:
        return objects(values)

    def show(self, value: arb) -> Enclosure:
        middle, radius = exact(value.mid().fmpq()), exact(value.rad().fmpq())
        return Enclosure(middle - radius, middle + radius, self.digits)

    def show_matrix(self, matrix: np.ndarray) -> arb_mat:
        return arb_mat(matrix.tolist())


@dataclass(frozen=True)
class Exact:
    """The field QQ(parameters), shown with factors that are positive at one place."""

    ring: Ring
    place: tuple[Fraction, ...]

    def working(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def number(self, value: Fraction) -> Ratio:
        return self.ring.number(value)

    def value(self, expression: sp.Expr) -> Ratio:
        return self.ring.ratio(expression)

    def array(self, values: Sequence[Any]) -> np.ndarray:
        return objects(values)

    def show(self, value: Ratio) -> sp.Expr:
        return self.ring.factored(value, [to_fmpq(x) for x in self.place])

    def show_matrix(self, matrix: np.ndarray) -> sp.ImmutableMatrix:
        return sp.ImmutableMatrix([[self.show(value) for value in row] for row in matrix.tolist()])


Numbers = Floats | Balls | Exact


def objects(values: Sequence[Any]) -> np.ndarray:
    """An array of objects, of one dimension or, for a list of lists, of two."""
    import numpy as np

    found = np.empty(np.shape(values) if len(values) else 0, dtype=object)
    found[...] = values
    return found


def pickled(value: Any) -> Any:
    """A number in a form that pickles: balls of python-flint do not."""
    if not isinstance(value, arb):
        return value
    return tuple(tuple(map(int, part.man_exp())) for part in (value.mid(), value.rad()))


def unpickled(value: Any) -> Any:
    """The number that `pickled` packed."""
    if not isinstance(value, tuple):
        return value
    middle, radius = (arb(part) for part in value)
    return arb(middle, radius)
