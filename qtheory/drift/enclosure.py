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
from math import ceil, floor, log, prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.arithmetic import values_by_name
from qtheory.balls import Enclosure
from qtheory.check import FORMAT, digest
from qtheory.check.enclosure import claim
from qtheory.domain import Domain
from qtheory.drift.certificate import Mean
from qtheory.drift.chain import Chain, State, chain_at
from qtheory.drift.exponential import ExponentialMoment, largest_exit_rate
from qtheory.drift.exponential_search import exponential_moment
from qtheory.drift.pieces import Piece, pieces, window_values
from qtheory.drift.window import Poisson, PrecisionError, Solution, level_window
from qtheory.errors import DomainError
from qtheory.formulas import relation, text_of
from qtheory.inequality import Proved
from qtheory.model import Interval, Model
from qtheory.text import text_name

if TYPE_CHECKING:
    pass

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

    @property
    def proved(self) -> dict[str, Proved]:
        """The two ends as verdicts, ``at least`` and ``at most``, for theorem files."""
        place = {s: self.at[s.name].as_integer_ratio() for s in self.model.domain.symbols}
        domain = Domain(*(relation(s, "==", sp.Rational(*value)) for s, value in place.items()))
        ends = {"at least": (">=", self.value.lower), "at most": ("<=", self.value.upper)}
        return {
            word: Proved(
                relation(Mean(self.function), sign, sp.Rational(*end.as_integer_ratio())),
                domain,
                lambda: self.certificate,
            )
            for word, (sign, end) in ends.items()
        }

    def __str__(self) -> str:
        return f"E[{text_of(self.function)}] = {self.value}"

    def _repr_latex_(self) -> str:
        from qtheory.show.latex import latex

        shown = str(self.value).replace("+-", r"\pm")
        return rf"$\mathbb{{E}}\left[{latex(self.function)}\right] = {shown}$"

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
    values = values_by_name(at, [symbol.name for symbol in model.parameters])
    parts = pieces(model, sp.sympify(function), values)
    moment = exponential_moment(model, at, digits)
    problem = _Problem(chain, parts, moment, largest_exit_rate(chain, moment))
    clock.append(perf_counter())

    found = problem.solve(Fraction(1, 10**ROUGH), None)
    for _ in range(ATTEMPTS):
        size = abs(found.centre) if abs(found.centre) > 2 * found.radius else Fraction(1)
        wanted = size / 10 ** (digits + 2)
        if found.radius <= wanted:
            break
        found = problem.solve(wanted, found)
    else:
        raise PrecisionError(f"{digits} digits are out of reach: ask for fewer")
    clock.append(perf_counter())
    return Enclosed(
        model,
        sp.sympify(function),
        values,
        Enclosure(*_outward(found.centre, found.radius, digits), digits),
        moment,
        found.top,
        found.solution,
        parts,
        {"moment": clock[1] - clock[0], "window": clock[2] - clock[1]},
    )


@dataclass(frozen=True)
class _Attempt:
    """The solution on one window, and E[f] = centre +- radius that follows from it."""

    top: int
    solution: Solution
    centre: Fraction
    radius: Fraction


@dataclass(frozen=True)
class _Problem:
    chain: Chain
    pieces: tuple[Piece, ...]
    moment: ExponentialMoment
    fastest: Fraction

    def solve(self, wanted: Fraction, previous: _Attempt | None) -> _Attempt:
        """E[f] up to about `wanted`; a previous attempt tells how large h will be."""
        top = self._top(wanted / 2, previous)
        window = level_window(self.chain, self.moment.weights, top)
        cost, below = window_values(window, self.pieces)
        solution = Poisson(self.chain, window, cost, below).solve(wanted / 8)
        # the window has less than all of the mass: the sign of the residual there may not help
        least, greatest = min(solution.least, Fraction(0)), max(solution.greatest, Fraction(0))
        gain = Fraction(solution.gain, 2**solution.scale)
        spread = Fraction(0)
        if self.chain.directions:
            total = self._largest(top + 1) + abs(gain) + self.fastest * solution.height
            spread = self.moment.bound * total / self.moment.base ** (top + 1)
        return _Attempt(
            top, solution, gain + (least + greatest) / 2, spread + (greatest - least) / 2
        )

    @cached_property
    def monomials(self) -> dict[State, Fraction]:
        """The largest coefficient of each monomial of f, over the pieces."""
        found: dict[State, Fraction] = {}
        for piece in self.pieces:
            for exponents, coefficient in piece.terms.items():
                found[exponents] = max(found.get(exponents, Fraction(0)), abs(coefficient))
        return found

    @property
    def degree(self) -> int:
        return max((sum(exponents) for exponents in self.monomials), default=0)

    def _largest(self, level: int) -> Fraction:
        """A bound on |f| at level l that grows at most by ((l + 1)/l)^degree per level."""
        sizes = [
            max(
                Fraction(level, weight) if end is None else Fraction(abs(end))
                for end, weight in zip(ends, pair, strict=True)
            )
            for ends, pair in zip(self.chain.ranges, self.moment.weights, strict=True)
        ]
        return sum(
            (
                coefficient * prod(size**e for size, e in zip(sizes, exponents, strict=True))
                for exponents, coefficient in self.monomials.items()
            ),
            Fraction(0),
        )

    def _top(self, wanted: Fraction, previous: _Attempt | None) -> int:
        """The level up to which a window leaves no more than `wanted` outside, by an estimate."""
        if not self.chain.directions:
            return 0
        rate = log(self.moment.base)
        # beyond this level base^l grows faster than f
        least = top = ceil(self.degree / rate) + 1
        for _ in range(6):
            total = 1 + float(self._largest(top + 1))
            if previous is None:
                total *= 1 + float(self.fastest) * (top * rate) ** 2
            else:
                grown = (top / previous.top) ** (self.degree + 1)
                total += 2 * grown * float(self.fastest * previous.solution.height)
            digits = log(wanted.denominator) - log(wanted.numerator)
            top = max(least, ceil((log(total) + log(self.moment.bound) + digits) / rate))
        return top


def _outward(centre: Fraction, radius: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Decimals around an interval, of two more places than its width has."""
    places = _places(radius) + 3 if radius else digits + 4
    unit = Fraction(1, 10**places)
    return floor((centre - radius) / unit) * unit, ceil((centre + radius) / unit) * unit


def _places(width: Fraction) -> int:
    """The most decimal places of which one unit is no less than a width below 1."""
    places = 0
    while width * 10 ** (places + 1) <= 1:
        places += 1
    return places


def _decimal(value: Fraction, places: int = 0) -> str:
    """A number with finitely many decimals, all of them and at least so many."""
    while (value * 10**places).denominator != 1:
        places += 1
    whole, part = divmod(abs(int(value * 10**places)), 10**places)
    return f"{'-' if value < 0 else ''}{whole}" + (f".{part:0{places}}" if places else "")


def _box_data(box: Sequence[Interval]) -> list[list[int | None]]:
    return [list(part) for part in box]


def _model_data(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "time": model.time,
        "state": [text_name(symbol.name) for symbol in model.state],
        "ranges": _box_data(model.ranges),
        "transitions": [
            {"rate": text_of(t.rate), "jump": list(t.jump), "from": _box_data(guard)}
            for t, guard in zip(model.transitions, model.guards, strict=True)
        ],
    }
