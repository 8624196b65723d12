"""The rates of a model at one parameter point, in floating point, for many states at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from qtheory.arithmetic import Ring
from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.model.model import Model

Polynomial = tuple[tuple[tuple[int, ...], float], ...]
"""Exponents of the state variables, each with its coefficient."""

ROUNDING = 1e-12
"""Rates that are negative by less than this share of their terms are rounding errors of zero."""


@dataclass(frozen=True, eq=False)
class PointRates:
    """The transitions of a model at one point: rate k is polynomials[k] / denominators[k].

    `jumps` has shape (variables, transitions).
    """

    model: Model
    polynomials: tuple[Polynomial, ...]
    denominators: tuple[float, ...]
    jumps: np.ndarray

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """The rates at states of shape (variables, n), as an array of shape (transitions, n).

        Raises `ModelError` that names a state at which a rate is negative.
        """
        found = np.empty((len(self.polynomials), states.shape[1]))
        for row, terms, below, guard in zip(
            found, self.polynomials, self.denominators, self._guards, strict=True
        ):
            row[:] = _value(terms, states) / below
            for i, compare, end in guard:
                row *= compare(states[i], end)
        if found.size and found.min() < 0:
            self._require_nonnegative(found, states)
        return found

    def _require_nonnegative(self, found: np.ndarray, states: np.ndarray) -> None:
        for k, column in np.argwhere(found < 0).tolist():
            place = states[:, [column]]
            sizes = tuple((exponents, abs(c)) for exponents, c in self.polynomials[k])
            size = float(np.sum(_value(sizes, abs(place)))) / self.denominators[k]
            if found[k, column] < -ROUNDING * size:
                raise ModelError(
                    f"rate {self.model.transitions[k].rate} is negative at state "
                    f"{tuple(place[:, 0].tolist())}: {found[k, column]:.6g}"
                )
            found[k, column] = 0.0

    @cached_property
    def _guards(self) -> list[list[tuple[int, Any, int]]]:
        """For each transition the comparisons of a variable that its guard needs."""
        found: list[list[tuple[int, Any, int]]] = []
        for guard in self.model.guards:
            own: list[tuple[int, Any, int]] = []
            for i, (part, whole) in enumerate(zip(guard, self.model.ranges, strict=True)):
                if part.low is not None and part.low != whole.low:
                    own.append((i, np.greater_equal, part.low))
                if part.high is not None and part.high != whole.high:
                    own.append((i, np.less_equal, part.high))
            found.append(own)
        return found

    def variables(self, k: int) -> list[int]:
        """The state variables on which the rate of a transition depends."""
        exponents = [powers for powers, _ in self.polynomials[k]]
        return [i for i in range(len(self.jumps)) if any(powers[i] for powers in exponents)]


def _value(terms: Polynomial, states: np.ndarray) -> Any:
    total: Any = 0.0
    for exponents, coefficient in terms:
        term: Any = coefficient
        for values, exponent in zip(states, exponents, strict=True):
            for _ in range(exponent):
                term = term * values
        total = total + term
    return total


def point_rates(model: Model, values: Mapping[sp.Symbol, Fraction]) -> PointRates:
    """The rates with the parameters replaced by their values.

    Raises `DomainError` where a rate divides by zero.
    """
    point = {s: sp.Rational(v.numerator, v.denominator) for s, v in values.items()}
    ring = Ring(model.state)
    polynomials, denominators = [], []
    for transition in model.transitions:
        try:
            rate = ring.ratio(transition.rate.xreplace(point))
        except ExpressionError:
            raise DomainError(f"rate {transition.rate} is undefined at this point") from None
        # whole coefficients, so that c*mu - n*mu is exactly zero at n = c
        terms = [(tuple(map(int, e)), float(int(c))) for e, c in rate.num.terms()]
        polynomials.append(tuple(terms))
        denominators.append(float(int(rate.den.leading_coefficient())))
    jumps = np.array([t.jump for t in model.transitions], dtype=np.int64).T
    return PointRates(model, tuple(polynomials), tuple(denominators), jumps)
