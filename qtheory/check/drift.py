"""The check of a drift certificate: a test function V, a bound c, and why it holds everywhere.

The chain is recomputed from its transitions. The lattice is cut so that on every piece each
coordinate is fixed or runs over a half-line y = 0, 1, 2, ... and V, the cost f and the drift QV
are polynomials in y. Then

- f + QV <= c on every piece (all of it times a positive `scale`, so that the certificate holds
  polynomials in the parameters), by the signs of the coefficients in y, and V bounded below with
  f >= 0, or E|V| finite, gives E[f] <= c in steady state;
- f + QV >= c on every piece and E|V| finite gives E[f] >= c.

E|V| is finite by a nested certificate f + QW <= c with a cost f that grows linearly in every
coordinate and a quadratic W with positive squares. Jumps and rates are bounded, so W changes by
O(1 + |x|) in a jump and Q(W^k) <= W^(k-1) (k QW + C): applied to all k, every moment is finite
(Foster and Lyapunov; Meyn and Tweedie 1993). Rates must not depend on the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

from qtheory.check.polynomials import Functions, Poly, Quotient, multiply
from qtheory.check.rules import factor_signs, read_constraint, sign_by
from qtheory.errors import CertificateError

LONGEST_RANGE = 64

Interval = tuple[int | None, int | None]
Monomials = dict[tuple[int, ...], Quotient]
"""A polynomial in y with coefficients over the parameters."""


def cost_text(cost: Sequence[Mapping[str, Any]], state: Sequence[str]) -> str:
    """The cost as text, from its terms."""
    parts = []
    for term in cost:
        factors = [f"({term['times']})"]
        factors += [f"{x}**{k}" for x, k in zip(state, term["powers"], strict=True) if k]
        for x, (low, high) in zip(state, term["box"], strict=True):
            if low is not None or high is not None:
                left = "" if low is None else f"{low} <= "
                right = "" if high is None else f" <= {high}"
                factors.append(f"1{{{left}{x}{right}}}")
        parts.append("*".join(factors))
    return " + ".join(parts) or "0"


def check_drift(certificate: Mapping[str, Any]) -> str:
    """The claim of a drift certificate."""
    reader = Functions(certificate["parameters"])
    constraints = [read_constraint(text, reader) for text in certificate["domain"]]
    chain = _Chain(certificate["model"], reader)
    shown = factor_signs(certificate["factors"], reader, constraints)
    cost, function = certificate["cost"], certificate["function"]
    direction = certificate["direction"]
    if direction not in ("<=", ">="):
        raise CertificateError("certificate rejected: unknown direction")
    claim = f"E[{cost_text(cost, chain.state)}] {direction} {certificate['bound']}"
    if certificate["claim"] != claim:
        raise CertificateError("certificate rejected: the claim is not about this cost and bound")
    scale, scaled = reader.read(certificate["scale"]), reader.read(certificate["scaled_bound"])
    if not (reader.read(certificate["bound"]) * scale).equals(scaled):
        raise CertificateError("certificate rejected: the scaled bound is another one")
    if not _is_positive(scale, shown):
        raise CertificateError("certificate rejected: the scale may not be positive")
    for term in [*cost, *function]:
        chain.check_term(term)
    for rate in chain.rates:
        _require(rate, shown, "a rate may be negative")
    lemma = certificate.get("moments")
    if lemma is None and direction == ">=":
        raise CertificateError("certificate rejected: a lower bound needs finite moments")
    if lemma is not None:
        _check_lemma(lemma, certificate)
    for piece in chain.pieces([*cost, *function]):
        here = chain.values(cost, piece, None)
        left = chain.drift(function, piece)
        for key, value in here.items():
            value = value * scale
            left[key] = left[key] + value if key in left else value
        for key, value in left.items():
            rest = value - scaled if not any(key) else value
            rest = -rest if direction == "<=" else rest
            _require(rest, shown, "the drift is not within the bound on a region")
        if chain.discrete:
            _require(chain.staying(piece), shown, "the probabilities of a state may exceed one")
        if not any(not any(key) for key in left):
            _require(scaled if direction == "<=" else -scaled, shown, "the bound has no sign")
        if lemma is None:
            for value in here.values():
                _require(value, shown, "the cost may be negative")
            for key, value in chain.values(function, piece, None).items():
                if any(key):
                    _require(value, shown, "the test function may not be bounded below")
    for divisor in reader.divisors:
        if sign_by(divisor, shown) not in (">", "<"):
            raise CertificateError("certificate rejected: a divisor may be zero on the domain")
    return claim


def _require(value: Quotient, shown: Sequence[tuple[Poly, str]], otherwise: str) -> None:
    """The value is nonnegative on the domain."""
    if sign_by(multiply(value.num, value.den), shown) not in (">", ">=", "=="):
        raise CertificateError(f"certificate rejected: {otherwise}")


def _check_lemma(lemma: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    """A nested bound for the same chain, on this or a larger domain: all moments are finite."""
    same = all(lemma[key] == whole[key] for key in ("model", "parameters"))
    larger = set(lemma["domain"]) <= set(whole["domain"])
    if not (same and larger and lemma["direction"] == "<=" and lemma.get("moments") is None):
        raise CertificateError("certificate rejected: the moment lemma is about something else")
    check_drift(lemma)
    reader = Functions(lemma["parameters"])
    constraints = [read_constraint(text, reader) for text in lemma["domain"]]
    chain = _Chain(lemma["model"], reader)
    shown = factor_signs(lemma["factors"], reader, constraints)
    for piece in chain.pieces([*lemma["cost"], *lemma["function"]]):
        cost = chain.values(lemma["cost"], piece, None)
        function = chain.values(lemma["function"], piece, None)
        steps = [chain.change(lemma["function"], piece, k) for k in range(len(chain.jumps))]
        if any(sum(key) > 1 for step in steps for key in step):
            raise CertificateError("certificate rejected: W may change by more than O(|x|)")
        for i, (_, direction) in enumerate(piece):
            for values, power in ((cost, 1), (function, 2)):
                key = tuple(power * (j == i) for j in range(len(piece)))
                value = values.get(key)
                if direction and (value is None or not _is_positive(value, shown)):
                    raise CertificateError("certificate rejected: the moments may be infinite")


def _is_positive(value: Quotient, shown: Sequence[tuple[Poly, str]]) -> bool:
    return sign_by(multiply(value.num, value.den), shown) == ">"


class _Chain:
    """A chain on a lattice, read from data: its pieces, and terms and drifts on them."""

    def __init__(self, model: Mapping[str, Any], reader: Functions) -> None:
        self.reader = reader
        self.state: list[str] = model["state"]
        if len({*self.state, *reader.names}) != len(self.state) + len(reader.names):
            raise CertificateError("certificate rejected: a name is declared twice")
        if model["time"] not in ("continuous", "discrete"):
            raise CertificateError("certificate rejected: unknown kind of time")
        self.discrete = model["time"] == "discrete"
        self.ranges = [_interval(pair) for pair in model["ranges"]]
        self.jumps = [tuple(map(_integer, t["jump"])) for t in model["transitions"]]
        self.guards = [[_interval(pair) for pair in t["guard"]] for t in model["transitions"]]
        self.rates = [reader.read(t["rate"]) for t in model["transitions"]]
        lengths = {len(self.state), len(self.ranges), *map(len, self.jumps), *map(len, self.guards)}
        if any(low is not None and high is not None and low > high for low, high in self.ranges):
            raise CertificateError("certificate rejected: the lattice is empty")
        if not all(isinstance(x, str) and x.isidentifier() for x in self.state):
            raise CertificateError("certificate rejected: a state variable is not a name")
        if len(lengths) != 1:
            raise CertificateError("certificate rejected: the model is not of one dimension")
        for jump, guard in zip(self.jumps, self.guards, strict=True):
            for step, here, whole in zip(jump, guard, self.ranges, strict=True):
                here = _meet(here, whole)
                if not _covers(whole, _shifted(here, step)):
                    raise CertificateError("certificate rejected: a jump leaves the lattice")

    def check_term(self, term: Mapping[str, Any]) -> None:
        """Well formed, also where its box misses the lattice: a claim shows its text."""
        self.reader.read(term["times"])
        powers, box = [_integer(k) for k in term["powers"]], [_interval(b) for b in term["box"]]
        if not len(powers) == len(box) == len(self.state) or min(powers, default=0) < 0:
            raise CertificateError("certificate rejected: not a monomial on a box")

    def pieces(self, terms: Sequence[Mapping[str, Any]]) -> Iterator[list[tuple[Interval, int]]]:
        """The pieces of the lattice, per coordinate (interval, direction of y)."""
        still = (0,) * len(self.state)
        boxes = [(guard, still) for guard in self.guards]
        boxes += [
            ([_interval(pair) for pair in term["box"]], jump)
            for term in terms
            for jump in {still, *self.jumps}
        ]
        parts = []
        for i, (low, high) in enumerate(self.ranges):
            cuts = {0} if low is None and high is None else set()
            for box, jump in boxes:
                cuts |= {end + 0 - jump[i] for end in box[i][:1] if end is not None}
                cuts |= {end + 1 - jump[i] for end in box[i][1:] if end is not None}
            parts.append(_cut((low, high), cuts))
        return (list(chosen) for chosen in product(*parts))

    def staying(self, piece: Sequence[tuple[Interval, int]]) -> Quotient:
        """One minus the sum of the rates on a piece."""
        rest = self.reader.number(Fraction(1))
        for guard, rate in zip(self.guards, self.rates, strict=True):
            if all(_covers(g, part) for g, (part, _) in zip(guard, piece, strict=True)):
                rest = rest - rate
        return rest

    def values(
        self,
        terms: Sequence[Mapping[str, Any]],
        piece: Sequence[tuple[Interval, int]],
        jump: Sequence[int] | None,
    ) -> Monomials:
        """A sum of terms at x + jump, as a polynomial in y."""
        jump = jump or (0,) * len(self.state)
        total: Monomials = {}
        for term in terms:
            reached = [_shifted(part, step) for (part, _), step in zip(piece, jump, strict=True)]
            box = [_interval(pair) for pair in term["box"]]
            if not all(_covers(b, r) for b, r in zip(box, reached, strict=True)):
                continue
            times = self.reader.read(term["times"])
            for key, weight in _monomial(term["powers"], piece, jump).items():
                number = times * self.reader.number(Fraction(weight))
                total[key] = total[key] + number if key in total else number
        return {key: value for key, value in total.items() if value.num}

    def drift(
        self, terms: Sequence[Mapping[str, Any]], piece: Sequence[tuple[Interval, int]]
    ) -> Monomials:
        """The sum of rate (V(x + jump) - V(x)) over the transitions possible on the piece."""
        total: Monomials = {}
        for k, rate in enumerate(self.rates):
            for key, value in self.change(terms, piece, k).items():
                total[key] = total[key] + rate * value if key in total else rate * value
        return {key: value for key, value in total.items() if value.num}

    def change(
        self, terms: Sequence[Mapping[str, Any]], piece: Sequence[tuple[Interval, int]], k: int
    ) -> Monomials:
        """V(x + jump) - V(x) for a transition, zero where it is not possible."""
        if not all(_covers(g, part) for g, (part, _) in zip(self.guards[k], piece, strict=True)):
            return {}
        here = self.values(terms, piece, None)
        there = self.values(terms, piece, self.jumps[k])
        zero = self.reader.number(Fraction(0))
        change = {e: there.get(e, zero) - here.get(e, zero) for e in {**there, **here}}
        return {key: value for key, value in change.items() if value.num}


def _monomial(
    powers: Sequence[int], piece: Sequence[tuple[Interval, int]], jump: Sequence[int]
) -> dict[tuple[int, ...], int]:
    """prod (origin + jump + direction y)^power, by powers of y."""
    found: dict[tuple[int, ...], int] = {(): 1}
    for power, ((low, high), direction), step in zip(powers, piece, jump, strict=True):
        end = high if direction < 0 else low
        if end is None or power < 0:
            raise CertificateError("certificate rejected: not a monomial on a piece")
        at = end + step
        found = {
            (*e, k): c * comb(power, k) * at ** (power - k) * direction**k
            for e, c in found.items()
            for k in range(power + 1 if direction else 1)
        }
    return found


def _cut(whole: Interval, cuts: set[int]) -> list[tuple[Interval, int]]:
    """A range as single values and half-lines: (interval, direction)."""
    low, high = whole
    inner = sorted(c for c in cuts if (low is None or c > low) and (high is None or c <= high))
    if low is not None and high is not None:
        if high - low > LONGEST_RANGE:
            raise CertificateError("certificate rejected: a range is too long")
        return [((j, j), 0) for j in range(low, high + 1)]
    if low is not None:
        last = inner[-1] if inner else low
        return [*(((j, j), 0) for j in range(low, last)), ((last, None), 1)]
    first = inner[0] if inner else (high or 0) + 1
    parts: list[tuple[Interval, int]] = [((None, first - 1), -1)]
    last = high + 1 if high is not None else inner[-1]
    if last - first > LONGEST_RANGE:
        raise CertificateError("certificate rejected: a range is too long")
    parts += [((j, j), 0) for j in range(first, last)]
    return parts if high is not None else [*parts, ((last, None), 1)]


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CertificateError(f"certificate rejected: not an integer: {value}")
    return value


def _interval(pair: Any) -> Interval:
    low, high = (None if end is None else _integer(end) for end in pair)
    return low, high


def _shifted(interval: Interval, step: int) -> Interval:
    low, high = interval
    return None if low is None else low + step, None if high is None else high + step


def _meet(a: Interval, b: Interval) -> Interval:
    lows = [end for end in (a[0], b[0]) if end is not None]
    highs = [end for end in (a[1], b[1]) if end is not None]
    return max(lows, default=None), min(highs, default=None)


def _covers(outer: Interval, inner: Interval) -> bool:
    return _meet(outer, inner) == inner
