"""Functions of the state at a rational point, as polynomials on boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.relational import Relational

from qtheory.arithmetic import Ring
from qtheory.drift.chain import State
from qtheory.errors import ExpressionError, ModelError
from qtheory.formulas import text_of
from qtheory.model import Interval, Model
from qtheory.model.guards import guard_intervals
from qtheory.model.lattice import Window, polynomial_values
from qtheory.model.regions import split

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Piece:
    """f on a box of states: its text, and its terms with the values of the parameters."""

    box: tuple[Interval, ...]
    text: str
    terms: Mapping[State, Fraction]


def pieces(model: Model, function: sp.Expr, values: Mapping[str, Fraction]) -> tuple[Piece, ...]:
    """f as polynomials on boxes; the first box that holds a state counts, the last holds all."""
    function = function.replace(
        sp.KroneckerDelta, lambda x, c: sp.Piecewise((1, sp.Eq(x, c)), (0, True))
    ).replace(sp.Abs, lambda x: sp.Piecewise((x, x >= 0), (-x, True)))
    boxes = {
        relation: guard_intervals(relation, model.state)
        for relation in sorted(function.atoms(Relational), key=str)
    }
    found = []
    for region in split(model.ranges, (), (), list(boxes.values())):
        decided = {
            relation: sp.true
            if all(part.covers(r) for part, r in zip(box, region.intervals, strict=True))
            else sp.false
            for relation, box in boxes.items()
        }
        value = sp.piecewise_fold(function.xreplace(decided))
        found.append(Piece(region.intervals, text_of(value), _terms(model, value, values)))
    last = found.pop()
    others = [piece for piece in found if piece.terms != last.terms]
    return (*others, Piece(model.ranges, last.text, last.terms))


def owners(window: Window, parts: Sequence[Piece]) -> np.ndarray:
    """For each state of a window the position of its piece: the first whose box holds it."""
    import numpy as np

    found = np.zeros(len(window), dtype=int)
    for i, part in reversed(list(enumerate(parts))):
        here = np.ones(len(window), dtype=bool)
        for values, (low, high) in zip(window.coordinates.T, part.box, strict=True):
            here &= (values >= (values if low is None else low)) & (
                values <= (values if high is None else high)
            )
        found[here] = i
    return found


def window_values(window: Window, parts: Sequence[Piece]) -> tuple[np.ndarray, int]:
    """f on a window as integers over a common denominator."""
    import numpy as np

    below = lcm(*(c.denominator for part in parts for c in part.terms.values()))
    found = np.zeros(len(window), dtype=object)
    held = owners(window, parts)
    for i, part in enumerate(parts):
        here = held == i
        if here.any():
            terms = {e: int(c * below) for e, c in part.terms.items()}
            found[here] = polynomial_values(terms, window.coordinates[here])
    return found, below


def _terms(model: Model, value: sp.Expr, values: Mapping[str, Fraction]) -> dict[State, Fraction]:
    """A polynomial in the state variables at given values of the parameters."""
    names = {symbol.name for symbol in model.state}
    for symbol in value.free_symbols:
        if symbol.name not in names and symbol.name not in values:
            raise ModelError(f"{symbol} in {value} is neither a state variable nor a parameter")
    at = {
        symbol: sp.Rational(*values[symbol.name].as_integer_ratio())
        for symbol in value.free_symbols
        if symbol.name not in names
    }
    ratio = Ring(model.state).ratio(value.subs(at))
    if not ratio.den.is_constant():
        raise ExpressionError(f"{value} is not polynomial in the state variables")
    below = int(ratio.den.leading_coefficient())
    return {
        tuple(map(int, exponents)): Fraction(int(coefficient), below)
        for exponents, coefficient in ratio.num.terms()
    }
