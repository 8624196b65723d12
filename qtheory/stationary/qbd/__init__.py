"""Matrix-geometric laws of chains with one unbounded variable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qtheory.arithmetic import exact
from qtheory.balls import MAXIMAL_DIGITS, MAXIMAL_PRECISION, Enclosure
from qtheory.errors import DomainError, ModelError
from qtheory.stationary.qbd.closed import closed_solution
from qtheory.stationary.qbd.law import MatrixGeometricLaw
from qtheory.stationary.qbd.levels import levels, rates_at
from qtheory.stationary.qbd.numbers import Balls, Exact, Floats, Numbers
from qtheory.stationary.qbd.numeric import Solution, ball_solution, float_solution
from qtheory.stationary.qbd.reduction import PrecisionError
from qtheory.stationary.qbd.stability import LevelDrift, level_drifts, recurrent

if TYPE_CHECKING:
    from qtheory.model import Model

__all__ = ["LevelDrift", "MatrixGeometricLaw", "matrix_geometric"]

GUARD = 10
"""Bits beyond the wanted digits."""


def matrix_geometric(
    model: Model, at: Mapping[Any, Any] | None = None, digits: int | None = None
) -> MatrixGeometricLaw:
    """The stationary law of a chain with one unbounded variable, the level.

    The other variables, the phase, have finite ranges, and from some level on the rates do not
    depend on the level. Then pi_{k+1} = pi_k R from there on, where R is the minimal nonnegative
    solution of A0 + R A1 + R^2 A2 = 0 (A0 are the rates up a level, A2 down, A1 within).

    - Without a point `at` the law is exact over QQ(parameters), where R is rational in them.
    - At a point it is in floats, estimated; R comes from logarithmic reduction.
    - With `digits`, it is in balls. The reduction bounds its own truncation, since the rows of G
      sum to one for a level that drifts down, which is decided exactly: answers are proven.

    >>> import sympy as sp
    >>> from qtheory import Domain, Model, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n, k = sp.symbols("n k", integer=True, nonnegative=True)
    >>> erlang = Model((n, k), Domain(stable=lam < mu), [
    ...     Transition(lam, jump=(1, 0)),
    ...     Transition(2*mu, jump=(0, 1), when=(n >= 1) & (k < 1)),
    ...     Transition(2*mu, jump=(-1, -1), when=(n >= 1) & sp.Eq(k, 1)),
    ... ], ranges={k: (0, 1)})
    >>> law = matrix_geometric(erlang)
    >>> law.mean()
    lambda*(-lambda + 4*mu)/(4*mu*(-lambda + mu))
    >>> print(matrix_geometric(erlang, {lam: "1/3", mu: 1}, digits=30).mean())
    0.458333333333333333333333333333

    Raises `ModelError` for a model without this structure, or without `at` where no closed form
    is found; `UnstableError` unless the level drifts down; `ReducibleError` for several closed
    classes of states.

    M. F. Neuts, "Matrix-geometric solutions in stochastic models", Johns Hopkins (1981).
    """
    if digits is not None and not 1 <= digits <= MAXIMAL_DIGITS:
        raise DomainError(f"digits must be from 1 to {MAXIMAL_DIGITS}, got {digits}")
    if digits is not None and at is None:
        at = {}
    found = levels(model)
    rates = rates_at(found, at)
    drifts = level_drifts(found, rates)

    def law(numbers: Numbers, solution: Solution) -> MatrixGeometricLaw:
        return MatrixGeometricLaw(
            model.state,
            found.axis,
            found.threshold,
            found.size,
            found.boundary,
            found.group,
            numbers,
            solution,
            drifts,
            {} if at is None else model.domain.require(at),
        )

    if at is None:
        (point,) = model.domain.sample(1) if rates.ring.symbols else [{}]
        place = tuple(exact(point[symbol]) for symbol in rates.ring.symbols)
        return law(Exact(rates.ring, place), closed_solution(found, rates))
    states, lowest = recurrent(found, rates), model.ranges[found.axis].low
    if digits is None:
        return law(Floats(), float_solution(rates, states))
    wanted = int(3.33 * digits) + GUARD
    bits, precision = wanted + GUARD, wanted + 8 * GUARD
    while precision <= MAXIMAL_PRECISION:
        numbers = Balls(precision, digits)
        try:
            with numbers.working():
                proven = law(numbers, ball_solution(rates, states, bits))
        except PrecisionError:
            precision *= 2
            continue
        lost = wanted - _bits(proven.expect(proven.level - lowest))
        if lost <= 0:
            return proven
        bits, precision = bits + lost, precision + 2 * lost
    raise ModelError(f"{digits} digits are out of reach at this point: it is too near instability")


def _bits(value: Enclosure) -> int:
    """How many bits of a number are proven."""
    if value.is_exact:
        return MAXIMAL_PRECISION
    ratio = max(abs(value.lower), abs(value.upper)) / (value.upper - value.lower)
    return ratio.numerator.bit_length() - ratio.denominator.bit_length()
