"""What a simulation gives: estimates with confidence intervals, never anything certified."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.relational import Relational

from qtheory.errors import ExpressionError
from qtheory.formulas import formula, relations, text_of

TREND_LIMIT = 4.5
"""A larger z-score between the two halves of a run says that the warm-up is too short."""


def read_function(f: Any, symbols: tuple[sp.Symbol, ...] = ()) -> sp.Basic:
    """A function of the state, or an event: SymPy, or text such as ``m + d`` or ``d >= 1``."""
    if isinstance(f, str):
        if any(sign in f for sign in "<>=!"):
            return sp.And(*relations(f, symbols))
        return formula(f, symbols)
    if callable(f) and not isinstance(f, sp.Basic):
        raise ExpressionError(f"a function of the state is a formula or text, got {f!r}")
    f = sp.sympify(f)
    if not isinstance(f, (sp.Expr, sp.logic.boolalg.Boolean)):
        raise ExpressionError(f"not a function of the state: {f}")
    return f


def label(f: sp.Basic) -> str:
    """A function of the state as text."""
    return text_of(f) if isinstance(f, (sp.Expr, Relational)) else str(f)


@dataclass(frozen=True)
class Estimate:
    """An estimated stationary mean: with the confidence `level` it is within the half-width.

    `function` is its text. The standard error is nan where the function was never seen to vary,
    as for an event that did not happen: then nothing is known about the error.

    >>> print(Estimate("n", 1.0023, 0.0016, 0.0031, 0.95))
    1.0023 ± 0.0031 (estimated, 95 % interval)
    """

    function: str
    mean: float
    standard_error: float
    half_width: float
    level: float

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the confidence interval."""
        return self.mean - self.half_width, self.mean + self.half_width

    def z(self, value: Any) -> float:
        """The distance from a value in standard errors: (mean - value) / standard error."""
        distance = self.mean - float(value)
        if self.standard_error == 0:
            return 0.0 if distance == 0 else math.copysign(math.inf, distance)
        return distance / self.standard_error

    def __str__(self) -> str:
        mean, width = self.columns
        return f"{mean} ± {width} (estimated, {self.level * 100:g} % interval)"

    @property
    def columns(self) -> tuple[str, str]:
        """The mean and the half-width as text, to two digits of the half-width."""
        if not (math.isfinite(self.half_width) and self.half_width > 0):
            width = "0" if self.half_width == 0 else "unknown (no variation seen)"
            return f"{self.mean:.6g}", width
        places = max(1 - math.floor(math.log10(self.half_width)), 0)
        return f"{self.mean:.{places}f}", f"{self.half_width:.{places}f}"


@dataclass(frozen=True, repr=False)
class Simulation:
    """Estimated stationary means of functions of the state, from a simulation.

    `estimates` has one `Estimate` for each function; they are also found by function:
    ``simulation["m + d"]``. `horizon` and `warm_up` are times (in discrete time: rounds) of each
    replication; the warm-up comes before the horizon and is left out of the means. `samples` is
    the number of batches or cycles behind the intervals; `events` counts the simulated steps,
    those of the warm-up among them (when uniformised, also the steps that change nothing).
    `trend` is the largest z-score, over the functions, of the difference between the second and
    the first half of the run; None where it is not known. `interrupted` says that the run
    was stopped early: the estimates are those of the part that was finished.
    """

    estimates: tuple[Estimate, ...]
    name: str
    parameters: Mapping[sp.Symbol, Fraction]
    start: tuple[int, ...]
    method: str
    interval: str
    level: float
    replications: int
    horizon: float
    warm_up: float
    samples: int
    events: int
    seed: int
    trend: float | None = None
    interrupted: bool = False

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, function: Any) -> Estimate:
        if isinstance(function, int):
            return self.estimates[function]
        wanted = label(read_function(function))
        for estimate in self.estimates:
            if estimate.function == wanted:
                return estimate
        known = ", ".join(estimate.function for estimate in self.estimates)
        raise ExpressionError(f"{wanted} was not estimated; known: {known}")

    def __repr__(self) -> str:
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.parameters.items())
        title = f"simulation of {self.name or 'a model'}{' at ' if at else ''}{at}"
        rows = [(estimate.function, *estimate.columns) for estimate in self.estimates]
        names, means = (max(len(row[i]) for row in rows) for i in (0, 1))
        table = [f"  {name:<{names}}  {mean:>{means}} ± {width}" for name, mean, width in rows]
        from_what = "cycles" if self.interval == "regenerative" else "batch means"
        what = f"{self.level * 100:g} % intervals from {self.samples} {from_what}"
        lines = [
            f"  estimated     {what}",
            f"  method        {self.method}, {self.events} steps, seed {self.seed}",
            f"  replications  {self.replications}, each over a time of {self.horizon:g}",
            f"  start         {_state(self.start)}, warm-up {self.warm_up:g}",
        ]
        if self.interrupted:
            lines.append("  interrupted: the means are those of the finished part")
        if self.trend is not None and abs(self.trend) > TREND_LIMIT:
            lines.append(
                f"  the halves of the run differ (z = {self.trend:.1f}): lengthen the warm-up"
            )
        return "\n".join([title, *table, *lines])


def _state(state: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, state))})"
