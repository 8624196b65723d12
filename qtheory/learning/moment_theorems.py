"""Theorems that turn a negative drift into bounded moments or exponential tails: cited, not proved.

An object holds the constants of a theorem and checks them against each other; `report` says which
hypotheses were shown, and how, and which are only assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.balls import evaluate
from qtheory.errors import DomainError


@dataclass(frozen=True)
class PemantleRosenthal:
    """Moments of an adapted sequence X_k >= 0 with negative drift.

    If E[X_(k+1) - X_k | F_k] <= -a on X_k > J, E[|X_(k+1) - X_k|^p | F_k] <= K always, and
    X_0 <= J, then sup over k of E[X_k^r] is finite for every 0 < r < p - 1 (Pemantle, Rosenthal,
    Stochastic Processes and their Applications 82, 1999, Theorem 1). Here a = `drift`,
    J = `level`, p = `order`, K = `moment`, X_0 <= `start`; `drift_shown` and `moment_shown` say
    how the first two hypotheses are known, and `premise` what is assumed to that end.

    >>> print(PemantleRosenthal(drift="1/8", level=10, order=4, moment=81).report())
    Pemantle and Rosenthal (1999)
      assumed: E[X_(k+1) - X_k | F_k] <= -1/8 on X_k > 10
      assumed: E[|X_(k+1) - X_k|^4 | F_k] <= 81
      shown: X_0 <= 10 (X_0 <= 0)
      so sup E[X_k^r] < infinity for every 0 < r < 3, given what is assumed

    Raises `DomainError` unless a > 0, p > 2, K >= 0 and X_0 <= J.
    """

    drift: Any
    level: Any
    order: Any
    moment: Any
    start: Any = 0
    drift_shown: str = ""
    moment_shown: str = ""
    premise: str = ""

    def __post_init__(self) -> None:
        for name in ("drift", "level", "order", "moment", "start"):
            object.__setattr__(self, name, number(getattr(self, name)))
        _require(self.drift > 0, "a drift a > 0", self.drift)
        _require(self.order > 2, "an order p > 2", self.order)
        _require(self.moment >= 0, "a moment K >= 0", self.moment)
        _require(self.start <= self.level, f"X_0 <= J = {self.level}", self.start)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is only assumed."""
        return bool(self.drift_shown and self.moment_shown and not self.premise)

    def report(self) -> str:
        """The hypotheses with what is known of them, and the conclusion."""
        step = "X_(k+1) - X_k"
        lines = [
            "Pemantle and Rosenthal (1999)",
            *([_hypothesis(self.premise, "")] if self.premise else []),
            _hypothesis(
                f"E[{step} | F_k] <= -{self.drift} on X_k > {self.level}", self.drift_shown
            ),
            _hypothesis(f"E[|{step}|^{self.order} | F_k] <= {self.moment}", self.moment_shown),
            _hypothesis(f"X_0 <= {self.level}", f"X_0 <= {self.start}"),
        ]
        given = "" if self.is_complete else ", given what is assumed"
        lines.append(f"  so sup E[X_k^r] < infinity for every 0 < r < {self.order - 1}{given}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Hajek:
    """Exponential tails of an adapted sequence with negative drift and light increments.

    If E[X_(k+1) - X_k | F_k] <= -e0 on X_k > a and |X_(k+1) - X_k| is stochastically at most Z
    with D = E[e^(h Z)] finite, then for 0 < s <= h, s < e0/c,
    P(X_k >= b | F_0) <= q^k e^(s (X_0 - b)) + D e^(s (a - b)) (1 - q^k)/(1 - q), with
    c = (D - 1 - h E[Z]) / h^2 and q = 1 - s e0 + c s^2 (Hajek, Advances in Applied Probability 14,
    1982, Theorem 2.3). Here e0 = `drift`, a = `level`, h = `exponent`, D = `transform`,
    E[Z] = `mean`; exact numbers or formulas without symbols.

    >>> walk = Hajek(drift=sp.Rational(1, 6), level=0, exponent=1, transform=sp.E, mean=1)
    >>> walk.curvature
    -2 + E
    >>> print(evaluate(walk.tail_bound(b=100, s="1/10", k=100), digits=4))
    0.008012

    Raises `DomainError` unless e0, h > 0 and D >= 1 + h E[Z].
    """

    drift: Any
    level: Any
    exponent: Any
    transform: Any
    mean: Any
    drift_shown: str = ""
    increments_shown: str = ""

    def __post_init__(self) -> None:
        for name in ("drift", "level", "exponent", "transform", "mean"):
            object.__setattr__(self, name, number(getattr(self, name)))
        _require(self.drift > 0, "a drift e0 > 0", self.drift)
        _require(self.exponent > 0, "h > 0", self.exponent)
        _require(
            _at_most(1 + self.exponent * self.mean, self.transform),
            "D >= 1 + h E[Z]",
            self.transform,
        )

    @property
    def is_complete(self) -> bool:
        """Whether nothing is only assumed."""
        return bool(self.drift_shown and self.increments_shown)

    @property
    def curvature(self) -> sp.Expr:
        """c = (D - 1 - h E[Z]) / h^2."""
        return (self.transform - 1 - self.exponent * self.mean) / self.exponent**2

    def contraction(self, s: Any) -> sp.Expr:
        """q = 1 - s e0 + c s^2, below 1; `DomainError` unless 0 < s <= h and s < e0/c."""
        s = number(s)
        _require(s > 0 and _at_most(s, self.exponent), f"0 < s <= h = {self.exponent}", s)
        _require(not _at_most(self.drift, s * self.curvature), f"s c < e0 = {self.drift}", s)
        return 1 - s * self.drift + self.curvature * s**2

    def tail_bound(self, b: Any, s: Any, k: int | None = None, start: Any = 0) -> sp.Expr:
        """The bound on P(X_k >= b) for X_0 = start; without k it holds for every k.

        Raises `DomainError` for s as in `contraction`, and unless k is a whole number >= 0.
        """
        q, s, b = self.contraction(s), number(s), number(b)
        late, early = sp.exp(s * (self.level - b)), sp.exp(s * (number(start) - b))
        if k is None:
            return early + self.transform * late / (1 - q)
        steps = number(k)
        _require(steps.is_integer and steps >= 0, "a whole number k >= 0", k)
        return q**steps * early + self.transform * late * (1 - q**steps) / (1 - q)

    def report(self) -> str:
        """The hypotheses with what is known of them, and the conclusion."""
        step = "X_(k+1) - X_k"
        given = "" if self.is_complete else ", given what is assumed"
        return "\n".join(
            [
                "Hajek (1982)",
                _hypothesis(
                    f"E[{step} | F_k] <= -{self.drift} on X_k > {self.level}", self.drift_shown
                ),
                _hypothesis(
                    f"|{step}| <= Z in law, E[e^({self.exponent} Z)] = {self.transform}, "
                    f"E[Z] = {self.mean}",
                    self.increments_shown,
                ),
                f"  so the tails of X_k are exponential, uniformly in k{given}",
            ]
        )


def _hypothesis(statement: str, shown: str) -> str:
    return f"  shown: {statement} ({shown})" if shown else f"  assumed: {statement}"


def _at_most(left: sp.Expr, right: sp.Expr) -> bool:
    """Whether left <= right, decided by proven digits."""
    return bool(left == right) or evaluate(right - left).lower >= 0


def number(value: Any) -> sp.Expr:
    """A formula as it is, anything else as an exact number."""
    if isinstance(value, sp.Basic):
        return value
    return sp.Rational(*exact(value).as_integer_ratio())


def _require(holds: Any, condition: str, got: Any) -> None:
    if not holds:
        raise DomainError(f"needs {condition}, got {got}")
