"""The checker of enclosures of expectations on infinite chains: exact, no search, standard library.

A certificate states a chain, f, a base > 1, weights, v on a box, a bound, and h and g on the window
of the states of level l(x) = sum of weight_i |x_i| at most L. With E = base^l and V = v E it shows

    E + QV <= bound at every state, hence positive recurrence and E[base^l] <= bound;
    least <= f + Qh - g <= greatest in the window, where h is zero outside the window;
    |f + Qh - g| <= delta E outside, hence E[f] - g in [least, greatest] +- delta bound.

The first is decided at finitely many states that stand for all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any

from qtheory.check.polynomials import Functions, Poly
from qtheory.errors import CertificateError, ExpressionError

State = tuple[int, ...]
Box = tuple[tuple[int | None, int | None], ...]

LIMIT = 1_000_000
"""Larger scales, weights and numbers of states to try are refused."""


def check_enclosure(certificate: Mapping[str, Any]) -> str:
    """The claim ``E[f] in [lower, upper] at ...`` that a certificate proves.

    Raises `CertificateError` when the certificate was altered or does not prove its claim.
    """
    from qtheory.check import FORMAT, digest

    try:
        _require(certificate["format"] == FORMAT, f"the format is not {FORMAT!r}")
        _require(certificate["digest"] == digest(certificate), "altered, its digest does not match")
        _require(certificate["kind"] == "enclosure", "not an enclosure")
        _require(certificate["verdict"] == "proved", "the verdict is not proved")
        _require(certificate["claim"] == claim(certificate), "the claim is not what is stated")
        lower, upper = _proved_interval(certificate)
        _require(_rational(certificate["lower"]) <= lower, "the lower end is not proved")
        _require(_rational(certificate["upper"]) >= upper, "the upper end is not proved")
        return str(certificate["claim"])
    except CertificateError:
        raise
    except ExpressionError as error:
        raise CertificateError(f"certificate rejected: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise CertificateError(
            f"certificate rejected: malformed ({type(error).__name__}: {error})"
        ) from None
    except RecursionError:
        raise CertificateError("certificate rejected: nested too deeply") from None


def claim(certificate: Mapping[str, Any]) -> str:
    """What a certificate states, in words: ``E[2*m + d] in [1.42, 1.43] at lam = 1, mu = 1``."""
    parts = [
        f"{part['value']} if {_conditions(part['on'], certificate['model'])}"
        for part in certificate["cost"][:-1]
    ]
    last = certificate["cost"][-1]["value"]
    cost = "; ".join([*parts, f"{last} otherwise"]) if parts else last
    interval = f"[{certificate['lower']}, {certificate['upper']}]"
    place = ", ".join(f"{name} = {value}" for name, value in certificate["at"].items())
    return f"E[{cost}] in {interval}" + (f" at {place}" if place else "")


def _conditions(box: Any, model: Mapping[str, Any]) -> str:
    found = []
    for name, (low, high), whole in zip(model["state"], box, model["ranges"], strict=True):
        if low is not None and low == high:
            found.append(f"{name} == {low}")
            continue
        found += [f"{name} >= {low}"] if low != whole[0] else []
        found += [f"{name} <= {high}"] if high != whole[1] else []
    return " and ".join(found) or "true"


def _proved_interval(certificate: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    chain = _read_chain(certificate["model"], certificate["at"])
    moment = _read_moment(certificate["moment"], chain)
    fastest = _check_moment(chain, moment)
    cost = [(_box(part["on"]), chain.polynomial(part["value"])) for part in certificate["cost"]]
    _require(_covers(cost[-1][0], chain.ranges), "the cost is not stated for every state")

    top, scale, gain = (_integer(certificate[key]) for key in ("window", "scale", "gain"))
    _require(top >= 0 and 0 <= scale <= LIMIT, "a negative window or scale, or a huge one")
    values = [_integer(value) for value in certificate["values"]]
    table: dict[State, int] = {}
    for state in _window(chain.ranges, moment.weights, top):
        _require(len(table) < len(values), "h is not given on the whole window")
        table[state] = values[len(table)]
    _require(len(table) == len(values), "h is given outside the window")

    least, greatest = _residuals(chain, cost, table, gain, scale)
    centre = Fraction(gain, 2**scale)
    spread = Fraction(0)
    if not _is_whole(table, chain.ranges):
        height = Fraction(max(map(abs, values), default=0), 2**scale)
        spread = moment.bound * _outside(chain, moment, cost, top, abs(centre) + fastest * height)
    return centre + least - spread, centre + greatest + spread


@dataclass(frozen=True)
class _Chain:
    reader: Functions
    ranges: Box
    moves: tuple[tuple[State, Box, Poly], ...]
    discrete: bool

    def polynomial(self, text: str) -> Poly:
        return self.reader.poly(text)

    def steps(self, state: State) -> Iterator[tuple[Fraction, State]]:
        for jump, guard, rate in self.moves:
            if _inside(state, guard):
                yield _value(rate, state), tuple(map(int.__add__, state, jump))


@dataclass(frozen=True)
class _Moment:
    base: Fraction
    weights: tuple[State, ...]
    box: tuple[tuple[int, int], ...]
    values: tuple[Fraction, ...]
    bound: Fraction

    def level(self, state: State) -> int:
        return sum(
            up * x if x > 0 else -down * x
            for x, (down, up) in zip(state, self.weights, strict=True)
        )

    def value(self, state: State) -> Fraction:
        place = 0
        for x, (low, high) in zip(state, self.box, strict=True):
            place = place * (high - low + 1) + min(max(x, low), high) - low
        return self.values[place]


def _read_chain(model: Mapping[str, Any], at: Mapping[str, Any]) -> _Chain:
    names = model["state"]
    _require(len({*names, *at}) == len(names) + len(at) > 0, "a name is declared twice")
    _require(all(name.isidentifier() for name in [*names, *at]), "not a name")
    reader = Functions(names)
    for name, value in at.items():
        reader.values[name] = reader.number(_rational(value))
    ranges = _box(model["ranges"])
    _require(len(ranges) == len(names), "not one range for each state variable")
    _require(model["time"] in ("continuous", "discrete"), "time is neither continuous nor discrete")
    moves = []
    for transition in model["transitions"]:
        jump = tuple(map(_integer, transition["jump"]))
        guard = _box(transition["from"])
        _require(len(jump) == len(guard) == len(names), "a transition of the wrong dimension")
        _require(_covers(ranges, guard), "a guard is not a part of the lattice")
        rate = reader.poly(transition["rate"])
        for exponents in rate:
            bounded = all(not e or None not in g for e, g in zip(exponents, guard, strict=True))
            _require(bounded, "a rate is not bounded")
        moves.append((jump, guard, rate))
    return _Chain(reader, ranges, tuple(moves), model["time"] == "discrete")


def _read_moment(stated: Mapping[str, Any], chain: _Chain) -> _Moment:
    weights = tuple((_integer(down), _integer(up)) for down, up in stated["weights"])
    box = tuple(
        (_integer(low), _integer(high))
        for low, high in zip(stated["low"], stated["high"], strict=True)
    )
    values = tuple(map(_rational, stated["values"]))
    moment = _Moment(_rational(stated["base"]), weights, box, values, _rational(stated["bound"]))
    _require(len(weights) == len(box) == len(chain.ranges), "a moment of the wrong dimension")
    _require(moment.base > 1, "the base is not larger than 1")
    _require(all(low <= high for low, high in box), "an empty box")
    _require(len(values) == prod(high - low + 1 for low, high in box), "not a value for each state")
    _require(min(values) >= 0, "the Lyapunov function is not nonnegative")
    for ends, pair in zip(chain.ranges, weights, strict=True):
        for end, weight in zip(ends, pair, strict=True):
            positive = weight > 0 if end is None else weight >= 0
            _require(positive and weight <= LIMIT, "a direction without a weight, or a huge one")
    return moment


def _check_moment(chain: _Chain, moment: _Moment) -> Fraction:
    """E + QV <= bound at every state of a chain; returns its largest total rate.

    The outermost of the states that are tried stand for all beyond them: there a coordinate is
    past the ends of every guard, of the box and past zero, before and after a move.
    """
    spans = []
    for i, (low, high) in enumerate(chain.ranges):
        step = max((abs(jump[i]) for jump, _, _ in chain.moves), default=0)
        ends = [end for _, guard, _ in chain.moves for end in guard[i] if end is not None]
        ends += [end for end in (low, high) if end is not None]
        first = min([0, moment.box[i][0], *ends]) - step - 1 if low is None else low
        last = max([0, moment.box[i][1], *ends]) + step + 1 if high is None else high
        spans.append((first, last))
    count = prod(last - first + 1 for first, last in spans)
    _require(count <= LIMIT, f"{count} states to try for the drift")
    fastest = Fraction(0)
    for state in product(*(range(first, last + 1) for first, last in spans)):
        here, level = moment.value(state), moment.level(state)
        total = ratio = Fraction(0)
        for rate, reached in chain.steps(state):
            _require(rate >= 0, f"a negative rate at {state}")
            _require(_inside(reached, chain.ranges), f"a move from {state} leaves the lattice")
            total += rate
            growth = moment.base ** (moment.level(reached) - level)
            ratio += rate * (moment.value(reached) * growth - here)
        _require(total <= 1 or not chain.discrete, f"probabilities at {state} sum to {total} > 1")
        fastest = max(fastest, total)
        far = any(
            end is None and x == place
            for x, ends, span in zip(state, chain.ranges, spans, strict=True)
            for end, place in zip(ends, span, strict=True)
        )
        if far:
            _require(1 + ratio <= 0, f"the drift is not negative beyond {state}")
        else:
            met = (1 + ratio) * moment.base**level <= moment.bound
            _require(met, f"the drift exceeds the bound at {state}")
    return fastest


def _window(ranges: Box, weights: Sequence[State], top: int) -> Iterator[State]:
    """The states of level at most `top`, in lexicographic order."""
    if not ranges:
        yield ()
        return
    (low, high), (down, up) = ranges[0], weights[0]
    first = -(top // down) if low is None else low
    last = top // up if high is None else high
    for x in range(first, last + 1):
        left = top - (up * x if x > 0 else -down * x)
        if left >= 0:
            for rest in _window(ranges[1:], weights[1:], left):
                yield (x, *rest)


def _is_whole(table: Mapping[State, int], ranges: Box) -> bool:
    """Whether a window holds every state of a lattice."""
    if any(None in ends for ends in ranges):
        return False
    sizes = [high - low + 1 for low, high in ranges if low is not None and high is not None]
    return len(table) == prod(sizes)


def _residuals(
    chain: _Chain,
    cost: Sequence[tuple[Box, Poly]],
    table: Mapping[State, int],
    gain: int,
    scale: int,
) -> tuple[Fraction, Fraction]:
    """The least and the greatest f + Qh - g in the window, but zero if that is less or greater."""
    numbers = [c for _, _, rate in chain.moves for c in rate.values()]
    numbers += [c for _, poly in cost for c in poly.values()]
    unit = lcm(*(c.denominator for c in numbers))
    moves = [(jump, guard, _scaled(rate, unit)) for jump, guard, rate in chain.moves]
    costs = [(box, _scaled(poly, unit)) for box, poly in cost]
    least = greatest = 0
    for state, here in table.items():
        piece = next(poly for box, poly in costs if _inside(state, box))
        residual = (_value(piece, state) << scale) - unit * gain
        for jump, guard, rate in moves:
            if _inside(state, guard):
                there = table.get(tuple(map(int.__add__, state, jump)), 0)
                residual += _value(rate, state) * (there - here)
        least, greatest = min(least, residual), max(greatest, residual)
    return Fraction(least, unit << scale), Fraction(greatest, unit << scale)


def _outside(
    chain: _Chain,
    moment: _Moment,
    cost: Sequence[tuple[Box, Poly]],
    top: int,
    constant: Fraction,
) -> Fraction:
    """A delta with |f| + constant <= delta base^l at every state of level l > top.

    There |x_i| <= max(l/weight, |finite end|), so |f| is at most a sum P(l) of monomials that
    grow at most by ((l + 1)/l)^degree from one level to the next, not faster than base^l.
    """
    level = Fraction(top + 1)
    sizes = [
        max(
            level / weight if end is None else Fraction(abs(end))
            for end, weight in zip(ends, pair, strict=True)
        )
        for ends, pair in zip(chain.ranges, moment.weights, strict=True)
    ]
    monomials: dict[State, Fraction] = {}
    for _, poly in cost:
        for exponents, coefficient in poly.items():
            monomials[exponents] = max(abs(coefficient), monomials.get(exponents, Fraction(0)))
    degree = max((sum(exponents) for exponents in monomials), default=0)
    _require(((level + 1) / level) ** degree <= moment.base, "the window is too small for the cost")
    total = constant
    for exponents, coefficient in monomials.items():
        total += coefficient * prod(s**e for s, e in zip(sizes, exponents, strict=True))
    return total / moment.base ** (top + 1)


def _scaled(poly: Poly, unit: int) -> dict[State, int]:
    return {exponents: int(coefficient * unit) for exponents, coefficient in poly.items()}


def _value(poly: Mapping[State, Any], state: State) -> Any:
    total: Any = 0
    for exponents, coefficient in poly.items():
        for x, e in zip(state, exponents, strict=True):
            if e:
                coefficient = coefficient * x**e
        total += coefficient
    return total


def _inside(state: State, box: Box) -> bool:
    return all(
        (low is None or low <= x) and (high is None or x <= high)
        for x, (low, high) in zip(state, box, strict=True)
    )


def _covers(box: Box, inner: Box) -> bool:
    return all(
        (low is None or (a is not None and low <= a))
        and (high is None or (b is not None and b <= high))
        for (low, high), (a, b) in zip(box, inner, strict=True)
    )


def _box(stated: Any) -> Box:
    box = tuple(
        (None if low is None else _integer(low), None if high is None else _integer(high))
        for low, high in stated
    )
    for low, high in box:
        _require(low is None or high is None or low <= high, "an empty interval")
    return box


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise CertificateError(f"certificate rejected: not an integer: {str(value)[:40]}")
    return value


def _rational(text: str) -> Fraction:
    if not re.fullmatch(r"-?\d+(\.\d+|/\d+)?", text, re.ASCII):
        raise CertificateError(f"certificate rejected: not a rational number: {text[:40]}")
    return Fraction(text)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CertificateError(f"certificate rejected: {message}")
