"""Certified digits of a steady-state expectation on the infinite chain of a model.

For h of finite support E[Qh] = 0, so E[f] - g = E[f + Qh - g]. In a window f + Qh - g is tiny, h
being the solution of Poisson's equation there; outside it is at most delta base^l(x), whose
expectation an exponential Lyapunov function bounds. Everything in the end is rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm, log, prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.core.relational import Relational

from qtheory.arithmetic import Ring, exact, text_of, values_by_name
from qtheory.balls import Enclosure, decimal_digits
from qtheory.check import FORMAT, digest
from qtheory.check.enclosure import claim
from qtheory.drift.exponential import (
    Chain,
    ExponentialMoment,
    State,
    chain_at,
    exponential_moment,
    largest_exit_rate,
)
from qtheory.drift.window import Poisson, PrecisionError, Solution, level_window
from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.model import Interval, Model
from qtheory.model.guards import guard_intervals
from qtheory.model.lattice import Window, polynomial_values
from qtheory.model.regions import split
from qtheory.text import text_name

if TYPE_CHECKING:
    import numpy as np

ATTEMPTS = 6
"""Windows that are tried; two do unless the expectation is tiny."""

ROUGH = 6
"""Digits of the first window, which shows how large E[f] and h are."""


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A proof that E[f] lies in an interval, in the steady state of an infinite chain.

    `value` is the interval, `moment` the exponential moment E[base^l] <= bound, `top` the level of
    the window {x: l(x) <= top}, `seconds` the time each phase took.
    """

    model: Model
    function: sp.Expr
    at: Mapping[str, Fraction]
    value: Enclosure
    moment: ExponentialMoment
    top: int
    solution: Solution
    pieces: tuple[Piece, ...]
    seconds: Mapping[str, float] = field(repr=False)

    @property
    def states(self) -> int:
        """The number of states of the window."""
        return len(self.solution.window)

    @property
    def claim(self) -> str:
        """The statement that is proved."""
        return str(self.certificate["claim"])

    def __str__(self) -> str:
        return f"E[{text_of(self.function)}] = {self._shown}"

    def _repr_latex_(self) -> str:
        from qtheory.show.latex import latex

        shown = self._shown.replace("+-", r"\pm")
        return rf"$\mathbb{{E}}\left[{latex(self.function)}\right] = {shown}$"

    @property
    def _shown(self) -> str:
        """The proven digits; centre and radius where the interval holds a shorter decimal."""
        lower, upper, digits = self.value.lower, self.value.upper, self.value.digits
        try:
            text = decimal_digits(lower, upper, digits)
        except DomainError:
            text = ""
        if sum(c.isdigit() for c in text.split("e")[0].lstrip("-0.")) >= digits:
            return text
        radius = (upper - lower) / 2
        places = max(-floor(log(radius) / log(10)), 0) if radius else digits
        centre = Fraction(round((lower + upper) / 2 * 10**places), 10**places)
        radius = max(upper - centre, centre - lower)
        sign = "-" if centre < 0 else ""
        whole, part = divmod(abs(centre.numerator) * 10**places // centre.denominator, 10**places)
        return f"{sign}{whole}.{part:0{places}} +- {float(radius) * 1.01:.0e}"

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The proof as JSON, for `qtheory.check.enclosure.check_enclosure`."""
        lower, upper = _decimal(self.value.lower), _decimal(self.value.upper)
        content = {
            "format": FORMAT,
            "kind": "enclosure",
            "verdict": "proved",
            "model": _model_data(self.model),
            "at": {text_name(name): str(value) for name, value in self.at.items()},
            "cost": [{"on": _box_data(part.box), "value": part.text} for part in self.pieces],
            "moment": {
                "base": str(self.moment.base),
                "weights": [list(pair) for pair in self.moment.weights],
                "low": list(self.moment.low),
                "high": list(self.moment.high),
                "values": [str(value) for value in self.moment.values],
                "bound": str(self.moment.bound),
            },
            "window": self.top,
            "scale": self.solution.scale,
            "gain": self.solution.gain,
            "values": [int(value) for value in self.solution.values],
            "lower": lower,
            "upper": upper,
        }
        content["claim"] = claim(content)
        return content | {"digest": digest(content)}


def enclose(
    model: Model, function: Any, at: Mapping[Any, Any] | None = None, digits: int = 20
) -> Enclosed:
    """E[f] in the steady state of the infinite chain at a rational point, with proven digits.

    f is a polynomial in the state variables; it may hold ``Piecewise``, ``KroneckerDelta(x, c)``
    and ``Abs(x)`` whose conditions compare one state variable with an integer, and parameters of
    the model. The interval is about 10^-(digits + 2) of the value wide; where E[f] is zero, or
    cannot be told from it, 10^-(digits + 2). It holds for every stationary law of the chain, and
    positive recurrence is proved with it.

    >>> from qtheory import Domain, Transition
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(), [Transition("1/3", +1), Transition(1, -1, when=n >= 1)])
    >>> print(enclose(queue, n**2, digits=10))
    E[n**2] = 1.000000000000 +- ...
    >>> from qtheory.systems.shorter_queue import d, m, model
    >>> print(enclose(model(), 2*m + d, at={"lam": 1, "mu": 1, "p": "1/2"}, digits=15))
    E[d + 2*m] = 1.59656078935434

    Raises `UnstableError` or `DomainError` for a point outside the domain, `StabilityError` when
    no Lyapunov function is found, `PrecisionError` for digits out of reach, `ModelError` for
    rates that are not bounded, and `ExpressionError` for an f of another kind.
    """
    if digits < 1:
        raise DomainError(f"digits must be at least 1, got {digits}")
    clock = [perf_counter()]
    chain = chain_at(model, at)
    values = values_by_name(at)
    pieces = _pieces(model, sp.sympify(function), values)
    moment = exponential_moment(model, at, digits)
    problem = _Problem(chain, pieces, moment, largest_exit_rate(chain, moment))
    clock.append(perf_counter())

    top, solution, lower, upper = problem.solve(Fraction(1, 10**ROUGH), None)
    for _ in range(ATTEMPTS):
        centre, radius = (lower + upper) / 2, (upper - lower) / 2
        size = abs(centre) if abs(centre) > 2 * radius else Fraction(1)
        wanted = size / 10 ** (digits + 2)
        if radius <= wanted and size != 1 or radius <= Fraction(1, 10 ** (digits + 2)):
            break
        top, solution, lower, upper = problem.solve(wanted / 2, solution)
    clock.append(perf_counter())
    return Enclosed(
        model,
        sp.sympify(function),
        values,
        Enclosure(lower, upper, digits),
        moment,
        top,
        solution,
        pieces,
        {"moment": clock[1] - clock[0], "window": clock[2] - clock[1]},
    )


@dataclass(frozen=True)
class Piece:
    """f on a box of states: its text, and its terms with the values of the parameters."""

    box: tuple[Interval, ...]
    text: str
    terms: Mapping[State, Fraction]
