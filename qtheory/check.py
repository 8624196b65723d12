"""The independent checker of certificates: rational arithmetic, no search, standard library only.

It reads the statement of a certificate afresh, recomputes every polynomial, and accepts only what
follows from the rules below. None of the code that finds proofs is used here.

A polynomial has a sign on a domain when
- `coefficients`: written in the coordinates of a chart (see `_Chart`), and after the recorded
  subdivision, its coefficients have one sign on every cell that meets the domain;
- `quadratic`: as A x^2 + B x + C it has A > 0 and 4 A C - B^2 >= 0;
- `factors`: it is a constant times factors whose signs are proved;
- `cases`: it has the sign where another polynomial is >= 0, and where it is <= 0;
- `scaling`: it and the domain are homogeneous for some weights, and it has the sign where a
  positive variable of nonzero weight is 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import comb, isqrt, lcm
from typing import Any

from qtheory.errors import CertificateError, ExpressionError
from qtheory.text import parse_expression, parse_relations

FORMAT = "qtheory certificate 1"
DEPTH_LIMIT = 60

Exponents = tuple[int, ...]
Poly = dict[Exponents, Fraction]
Constraint = tuple[Poly, str]


def check(certificate: Mapping[str, Any]) -> str:
    """The statement that a certificate proves or refutes.

    Raises `CertificateError` when the certificate was altered or does not prove its statement.
    """
    try:
        return _check(certificate)
    except CertificateError:
        raise
    except ExpressionError as error:
        raise CertificateError(f"certificate rejected: {error}") from None
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ZeroDivisionError,
    ) as error:
        raise CertificateError(
            f"certificate rejected: malformed ({type(error).__name__}: {error})"
        ) from None
    except RecursionError:
        raise CertificateError("certificate rejected: nested too deeply") from None


def digest(certificate: Mapping[str, Any]) -> str:
    """The SHA-256 of all fields but the digest itself; it tells any alteration."""
    content = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _check(certificate: Mapping[str, Any]) -> str:
    if certificate.get("format") != FORMAT:
        raise CertificateError(f"certificate rejected: the format is not {FORMAT!r}")
    if certificate.get("digest") != digest(certificate):
        raise CertificateError("certificate rejected: altered, its digest does not match")
    if "parts" in certificate:
        if not certificate["parts"]:
            raise CertificateError("certificate rejected: no parts")
        verdicts = [part["verdict"] for part in certificate["parts"] if _check(part)]
        proved = all(verdict == "proved" for verdict in verdicts)
        if certificate["verdict"] != ("proved" if proved else "refuted"):
            raise CertificateError("certificate rejected: the verdict is not that of its parts")
        return str(certificate["statement"])
    if certificate["verdict"] == "refuted":
        return _check_witness(certificate)
    if certificate["verdict"] == "proved":
        return _check_proof(certificate)
    raise CertificateError("certificate rejected: the verdict is neither proved nor refuted")


# --- refutations -------------------------------------------------------------------------------


class _Numbers:
    """Rational numbers at a point; square roots of perfect squares only."""

    number = staticmethod(Fraction)

    def __init__(self, values: Mapping[str, Fraction]) -> None:
        self.symbol = values.__getitem__

    def sqrt(self, value: Fraction) -> Fraction:
        if value >= 0:
            root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
            if root * root == value:
                return root
        raise CertificateError(f"certificate rejected: sqrt({value}) is not rational")


_HOLDS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


def _check_witness(certificate: Mapping[str, Any]) -> str:
    values = {name: Fraction(value) for name, value in certificate["witness"].items()}
    for name in certificate.get("integers", ()):
        if values[name].denominator != 1:
            raise CertificateError(f"certificate rejected: the witness has {name} not an integer")
    for condition in certificate["domain"]:
        for left, sign, right in parse_relations(condition, _Numbers(values)):
            if not _HOLDS[sign](left, right):
                raise CertificateError(f"certificate rejected: the witness violates {condition}")
    ((left, sign, right),) = parse_relations(certificate["claim"], _Numbers(values))
    if _HOLDS[sign](left, right):
        raise CertificateError("certificate rejected: the claim holds at the witness")
    return f"not ({certificate['claim']})"


# --- polynomials and fractions -----------------------------------------------------------------


def _add(p: Poly, q: Poly, scale: int = 1) -> Poly:
    total = dict(p)
    for exponents, coefficient in q.items():
        value = total.get(exponents, Fraction(0)) + scale * coefficient
        if value:
            total[exponents] = value
        else:
            total.pop(exponents, None)
    return total


def _multiply(p: Poly, q: Poly) -> Poly:
    total: Poly = {}
    for e, a in p.items():
        for f, b in q.items():
            key = tuple(map(int.__add__, e, f))
            total[key] = total.get(key, Fraction(0)) + a * b
    return {e: c for e, c in total.items() if c}


def _power(p: Poly, exponent: int, one: Poly) -> Poly:
    return reduce(_multiply, [p] * exponent, one)


def _divide(p: Poly, q: Poly) -> Poly | None:
    """The exact quotient, or None."""
    lead = max(q)
    quotient: Poly = {}
    rest = dict(p)
    while rest:
        top = max(rest)
        shift = tuple(map(int.__sub__, top, lead))
        if min(shift, default=0) < 0:
            return None
        coefficient = rest[top] / q[lead]
        quotient[shift] = coefficient
        for e, c in q.items():
            key = tuple(map(int.__add__, e, shift))
            value = rest.get(key, Fraction(0)) - coefficient * c
            if value:
                rest[key] = value
            else:
                rest.pop(key, None)
    return quotient


def _constant(p: Poly) -> Fraction | None:
    """The value of a constant polynomial, or None."""
    if not p:
        return Fraction(0)
    ((exponents, value), *others) = p.items()
    return None if others or any(exponents) else value


def _coefficients(p: Poly, i: int) -> list[Poly]:
    """The coefficients in variable i, lowest power first."""
    parts: list[Poly] = [{} for _ in range(max((e[i] for e in p), default=0) + 1)]
    for e, c in p.items():
        parts[e[i]][(*e[:i], 0, *e[i + 1 :])] = c
    return parts


def _integral(p: Poly) -> Poly:
    """A positive multiple with integer coefficients (faster to compute with)."""
    scale = lcm(*(c.denominator for c in p.values())) if p else 1
    return {e: c * scale for e, c in p.items()}


class _Quotient:
    """A rational function ``num / den``; its reader notes every polynomial divided by."""

    def __init__(self, reader: _Functions, num: Poly, den: Poly) -> None:
        self.reader, self.num, self.den = reader, num, den

    def _with(self, num: Poly, den: Poly) -> _Quotient:
        return _Quotient(self.reader, num, den)

    def __add__(self, other: _Quotient, scale: int = 1) -> _Quotient:
        if self.den == other.den:
            return self._with(_add(self.num, other.num, scale), self.den)
        left, right = _multiply(self.num, other.den), _multiply(other.num, self.den)
        return self._with(_add(left, right, scale), _multiply(self.den, other.den))

    def __sub__(self, other: _Quotient) -> _Quotient:
        return self.__add__(other, -1)

    def __neg__(self) -> _Quotient:
        return self._with({e: -c for e, c in self.num.items()}, self.den)

    def __mul__(self, other: _Quotient) -> _Quotient:
        return self._with(_multiply(self.num, other.num), _multiply(self.den, other.den))

    def __truediv__(self, other: _Quotient) -> _Quotient:
        if not other.num:
            raise ZeroDivisionError
        self.reader.divisors.append(other.num)
        return self._with(_multiply(self.num, other.den), _multiply(self.den, other.num))

    def __pow__(self, exponent: int) -> _Quotient:
        one = self.reader.one
        return self._with(_power(self.num, exponent, one), _power(self.den, exponent, one))

    def equals(self, other: _Quotient) -> bool:
        return _multiply(self.num, other.den) == _multiply(other.num, self.den)


class _Functions:
    """Reads formulas as rational functions; eliminated variables are replaced as they occur."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.one: Poly = {(0,) * len(self.names): Fraction(1)}
        self.divisors: list[Poly] = []
        self.values: dict[str, _Quotient] = {}
        self.roots: list[_Quotient] = []

    def number(self, value: Fraction) -> _Quotient:
        (unit,) = self.one
        return _Quotient(self, {unit: value} if value else {}, self.one)

    def symbol(self, name: str) -> _Quotient:
        if name in self.values:
            return self.values[name]
        if name not in self.names:
            raise CertificateError(f"certificate rejected: undeclared name {name}")
        unit = tuple(int(name == other) for other in self.names)
        return _Quotient(self, {unit: Fraction(1)}, self.one)

    def sqrt(self, value: _Quotient) -> _Quotient:
        for root in self.roots:
            if (root * root).equals(value):
                return root
        raise CertificateError("certificate rejected: a square root that is not declared")

    def read(self, text: str) -> _Quotient:
        return parse_expression(text, self)

    def poly(self, text: str) -> Poly:
        value = self.read(text)
        scale = _constant(value.den)
        if not scale:
            raise CertificateError(f"certificate rejected: {text} is not a polynomial")
        return {e: c / scale for e, c in value.num.items()}


# --- proofs ------------------------------------------------------------------------------------


def _check_proof(certificate: Mapping[str, Any]) -> str:
    roots = certificate.get("roots", [])
    names = [*certificate["parameters"], *(root["name"] for root in roots)]
    if len(set(names)) != len(names):
        raise CertificateError("certificate rejected: a name is declared twice")
    reader = _Functions(names)
    for root in roots:
        _check_root(root, reader, certificate)
    for root in reversed(roots):
        reader.values[root["variable"]] = reader.read(root["value"])
    constraints = [_read_constraint(text, reader) for text in certificate["domain"]]
    for root in roots:
        reader.roots.append(reader.symbol(root["name"]))
        kind = ">" if root["nonnegative"]["claim"].endswith("> 0") else ">="
        constraints.append((reader.roots[-1].num, kind))
    for entry in certificate.get("derived", ()):
        constraints.append(_derive(entry, reader, constraints))

    reader.divisors = []
    left, sign, right = _single_relation(certificate["claim"], reader)
    difference = left - right
    shown = _factor_signs(certificate["factors"], reader, constraints)
    for divisor in [*reader.divisors, difference.den]:
        if _sign_by(divisor, shown) not in (">", "<"):
            raise CertificateError("certificate rejected: a divisor may be zero on the domain")
    found = _sign_by(_multiply(difference.num, difference.den), shown)
    if found not in _IMPLIED_BY[sign]:
        raise CertificateError("certificate rejected: the factors do not prove the claim")
    return str(certificate["claim"])


_IMPLIED_BY = {
    "<": {"<"},
    "<=": {"<", "<=", "=="},
    ">": {">"},
    ">=": {">", ">=", "=="},
    "==": {"=="},
    "!=": {"<", ">"},
}


def _single_relation(text: str, reader: _Functions) -> tuple[_Quotient, str, _Quotient]:
    found = parse_relations(text, reader)
    if len(found) != 1:
        raise CertificateError(f"certificate rejected: not one relation: {text}")
    return found[0]


def _read_constraint(text: str, reader: _Functions) -> Constraint:
    """A condition of the domain as a polynomial; a denominator is multiplied to its numerator."""
    left, sign, right = _single_relation(text, reader)
    if sign not in (">", ">=", "=="):
        raise CertificateError(f"certificate rejected: not a condition poly > 0: {text}")
    difference = left - right
    return _multiply(difference.num, difference.den), sign


def _check_root(root: Mapping[str, Any], reader: _Functions, whole: Mapping[str, Any]) -> None:
    """A square root y of A, where A is linear in one variable, which y then replaces.

    The lemmas say that A >= 0 and that the coefficient of the variable in the numerator of A is
    not zero, so on the domain the variable is the stated function of y and the others.
    """
    radicand = reader.read(root["radicand"])
    index = reader.names.index(root["variable"])
    parts = _coefficients(radicand.num, index)
    if len(parts) != 2 or len(_coefficients(radicand.den, index)) != 1:
        raise CertificateError("certificate rejected: a radicand is not linear in its variable")
    free, linear = (_Quotient(reader, part, reader.one) for part in parts)
    value, name = reader.read(root["value"]), reader.symbol(root["name"])
    scale = _Quotient(reader, radicand.den, reader.one)
    if not (linear * value + free).equals(name * name * scale):
        raise CertificateError("certificate rejected: a root does not square to its radicand")
    if _divide(linear.num, value.den) is None:
        raise CertificateError("certificate rejected: the value of a root may be undefined")
    _check_lemma(root["nonnegative"], radicand, (">", ">="), reader, whole)
    if not _constant(linear.num):
        _check_lemma(root["coefficient"], linear, ("!=",), reader, whole)


def _check_lemma(
    lemma: Mapping[str, Any],
    quantity: _Quotient,
    signs: tuple[str, ...],
    reader: _Functions,
    whole: Mapping[str, Any],
) -> None:
    """The lemma proves ``quantity sign 0`` on the same domain."""
    left, sign, right = _single_relation(lemma["claim"], reader)
    same = all(lemma[key] == whole[key] for key in ("domain", "parameters"))
    if not (same and lemma["verdict"] == "proved" and sign in signs):
        raise CertificateError("certificate rejected: a lemma is about something else")
    if right.num or not left.equals(quantity):
        raise CertificateError("certificate rejected: a lemma is about something else")
    _check_proof(lemma)


def _derive(
    entry: Mapping[str, Any], reader: _Functions, constraints: Sequence[Constraint]
) -> Constraint:
    """A condition divided by factors of known sign."""
    poly, kind = constraints[entry["from"]]
    positive = True
    for factor, sign in _factor_signs(entry["factors"], reader, constraints):
        if sign not in (">", "<"):
            raise CertificateError("certificate rejected: a factor of a condition may be zero")
        poly, times = _divide_out(poly, factor)
        positive ^= sign == "<" and times % 2 == 1
    return (poly if positive else _add({}, poly, -1)), kind


def _divide_out(poly: Poly, factor: Poly) -> tuple[Poly, int]:
    """The polynomial without a factor, and how often it occurred."""
    times = 0
    if _constant(factor) is not None:
        return poly, times
    while poly and (quotient := _divide(poly, factor)) is not None:
        poly, times = quotient, times + 1
    return poly, times


def _factor_signs(
    entries: Iterable[Mapping[str, Any]], reader: _Functions, constraints: Sequence[Constraint]
) -> list[tuple[Poly, str]]:
    """The factors of a certificate with their signs, each verified."""
    shown = []
    for entry in entries:
        poly, sign = reader.poly(entry["poly"]), entry["sign"]
        if sign in (">", ">="):
            _verify(poly, sign == ">", entry["proof"], reader, constraints)
        elif sign != "real":
            raise CertificateError(f"certificate rejected: unknown sign {sign}")
        shown.append((poly, sign))
    return shown


def _sign_by(poly: Poly, shown: Iterable[tuple[Poly, str]]) -> str | None:
    """The sign of a polynomial as a constant times factors of known sign (`real`: unknown)."""
    if not poly:
        return "=="
    strict = True
    for factor, sign in shown:
        poly, times = _divide_out(poly, factor)
        if times and sign == "real" and times % 2:
            return None
        strict &= not times or sign == ">"
    constant = _constant(poly)
    if not constant:
        return None
    return (">" if constant > 0 else "<") + ("" if strict else "=")


def _verify(
    poly: Poly,
    strict: bool,
    proof: Mapping[str, Any],
    reader: _Functions,
    constraints: Sequence[Constraint],
) -> None:
    """The proof shows that the polynomial is positive (nonnegative if not strict)."""
    rule = proof["by"]
    if rule == "coefficients":
        chart = _Chart(proof["chart"], reader, constraints)
        chart.decide(poly, strict, proof["cells"])
    elif rule == "quadratic":
        parts = _coefficients(poly, reader.names.index(proof["in"]))
        if len(parts) != 3:
            raise CertificateError("certificate rejected: not quadratic")
        free, linear, leading = parts
        discriminant = _add(
            _multiply({e: 4 * c for e, c in leading.items()}, free), _multiply(linear, linear), -1
        )
        _verify(leading, True, proof["leading"], reader, constraints)
        _verify(discriminant, strict, proof["discriminant"], reader, constraints)
    elif rule == "factors":
        sign = _sign_by(poly, _factor_signs(proof["factors"], reader, constraints))
        if sign not in _IMPLIED_BY[">" if strict else ">="]:
            raise CertificateError("certificate rejected: the factors do not show the sign")
    elif rule == "cases":
        on = reader.poly(proof["on"])
        above, below = (on, ">="), (_add({}, on, -1), ">=")
        _verify(poly, strict, proof["above"], reader, [*constraints, above])
        _verify(poly, strict, proof["below"], reader, [*constraints, below])
    elif rule == "scaling":
        smaller = _set_to_one([(poly, ""), *constraints], proof, reader)
        _verify(smaller[0][0], strict, proof["proof"], reader, smaller[1:])
    else:
        raise CertificateError(f"certificate rejected: unknown rule {rule}")


def _set_to_one(
    polys: Sequence[Constraint], proof: Mapping[str, Any], reader: _Functions
) -> list[Constraint]:
    """The polynomials with one positive variable at 1, where all of them are homogeneous."""
    weights = [int(proof["weights"].get(name, 0)) for name in reader.names]
    i = reader.names.index(proof["one"])
    unit = {tuple(int(j == i) for j in range(len(weights))): Fraction(1)}
    if weights[i] == 0 or (unit, ">") not in polys[1:]:
        raise CertificateError("certificate rejected: the scaled variable is not positive")
    smaller = []
    for poly, kind in polys:
        if len({sum(map(int.__mul__, e, weights)) for e in poly}) > 1:
            raise CertificateError("certificate rejected: not homogeneous")
        at_one: Poly = {}
        for e, c in poly.items():
            at_one = _add(at_one, {(*e[:i], 0, *e[i + 1 :]): c})
        smaller.append((at_one, kind))
    return smaller


# --- charts ------------------------------------------------------------------------------------


class _Chart:
    """Variables written one after the other through coordinates t in [0, oo].

    With a x + b >= 0 below and c - d x >= 0 above, a, d > 0, where a, b, c, d are polynomials in
    the earlier variables: x = (start + slope t) / (scale (1 + t)), or without (1 + t) when only
    one of the two is used, and without t for a x + b == 0. Every point of the domain has such
    coordinates. A constraint that the chart does not use can rule out a cell.
    """

    def __init__(
        self, steps: Iterable[Sequence[Any]], reader: _Functions, constraints: Sequence[Constraint]
    ) -> None:
        self.one = reader.one
        self.steps: list[tuple[int, Poly, Poly, Poly, bool]] = []
        self.ends = [(True, False)] * len(reader.names)
        self.constraints = constraints
        for name, lower, upper in steps:
            i = reader.names.index(name)
            if lower is not None and lower == upper:
                self._add_equation(i, *constraints[lower])
            else:
                self._add_bounds(
                    i, *(None if k is None else constraints[k] for k in (lower, upper))
                )

    def _linear(self, i: int, poly: Poly) -> tuple[Poly, Poly]:
        """(a, b) of a x + b, with x new and all other variables known."""
        known = {step[0] for step in self.steps}
        parts = _coefficients(poly, i)
        if len(parts) != 2 or i in known:
            raise CertificateError("certificate rejected: a bound of the chart is not linear")
        if any(e[j] and j != i and j not in known for e in poly for j in range(len(e))):
            raise CertificateError("certificate rejected: the chart uses a variable too early")
        return parts[1], parts[0]

    def _require_positive(self, poly: Poly) -> None:
        self.decide(poly, True, "+")

    def _add_equation(self, i: int, poly: Poly, kind: str) -> None:
        a, b = self._linear(i, poly)
        if kind != "==":
            raise CertificateError("certificate rejected: not an equation")
        constant = _constant(a)
        if constant is None or constant > 0:
            self._require_positive(a)
        else:
            a, b = _add({}, a, -1), _add({}, b, -1)
        self.steps.append((i, _add({}, b, -1), {}, a, False))

    def _add_bounds(self, i: int, lower: Constraint | None, upper: Constraint | None) -> None:
        a = b = c = d = self.one
        if lower is not None:
            a, b = self._linear(i, lower[0])
            self._require_positive(a)
        if upper is not None:
            negative, c = self._linear(i, upper[0])
            d = _add({}, negative, -1)
            self._require_positive(d)
        minus_b = _add({}, b, -1)
        low = lower is not None and lower[1] != ">"
        high = upper is not None and upper[1] != ">"
        if lower is not None and upper is not None:
            step = (i, _multiply(minus_b, d), _multiply(a, c), _multiply(a, d), True)
            self.ends[i] = (low, high)
        elif lower is not None:
            step = (i, minus_b, self.one, a, False)
            self.ends[i] = (low, False)
        elif upper is not None:
            step = (i, c, _add({}, self.one, -1), d, False)
            self.ends[i] = (high, False)
        else:
            raise CertificateError("certificate rejected: a variable of the chart has no bound")
        self.steps.append(step)

    def _pull_back(self, poly: Poly) -> tuple[Poly, list[int]]:
        """The polynomial in chart coordinates, times a positive denominator, and its degrees."""
        degrees = [0] * len(self.ends)
        poly = _integral(poly)
        for i, start, slope, scale, two_sided in reversed(self.steps):
            parts = _coefficients(poly, i)
            if len(parts) == 1:
                continue
            t: Poly = {tuple(int(j == i) for j in range(len(self.ends))): Fraction(1)}
            value = _add(start, _multiply(slope, t))
            if two_sided:
                scale = _multiply(scale, _add(self.one, t))
            degree = len(parts) - 1
            poly, power = parts[degree], scale
            for part in reversed(parts[:degree]):
                poly = _add(_multiply(poly, value), _multiply(part, power))
                power = _multiply(power, scale)
            if slope:
                degrees[i] = degree
        known = {step[0] for step in self.steps}
        if any(e[j] for e in poly for j in range(len(self.ends)) if j not in known):
            raise CertificateError("certificate rejected: the chart leaves a variable out")
        return poly, degrees

    def decide(self, poly: Poly, strict: bool, cells: Any) -> None:
        """The polynomial is nonnegative (positive if strict) on every cell inside the domain."""
        self._decide(self._pull_back(poly), strict, cells, [], list(self.ends), 0)

    def _decide(
        self,
        pulled: tuple[Poly, list[int]],
        strict: bool,
        cells: Any,
        path: list[tuple[int, bool]],
        ends: list[tuple[bool, bool]],
        depth: int,
    ) -> None:
        if depth > DEPTH_LIMIT:
            raise CertificateError("certificate rejected: subdivided too deeply")
        if cells == "+":
            if not _nonnegative(*pulled, ends, strict):
                raise CertificateError("certificate rejected: a coefficient has the wrong sign")
        elif isinstance(cells, int):
            constraint, kind = self.constraints[cells]
            outside, degrees = self._pull_back(_add({}, constraint, -1))
            for axis, upper in path:
                outside = _half(outside, degrees, axis, upper)
            if kind == "==" or not _nonnegative(outside, degrees, ends, kind == ">="):
                raise CertificateError("certificate rejected: a cell is not outside the domain")
        else:
            axis, *halves = cells
            if len(halves) != 2:
                raise CertificateError("certificate rejected: a cell is not split in two")
            poly, degrees = pulled
            low, high = ends[axis]
            for upper, half in enumerate(halves):
                ends[axis] = (True, high) if upper else (low, True)
                part = _half(poly, degrees, axis, bool(upper))
                deeper = [*path, (axis, bool(upper))]
                self._decide((part, degrees), strict, half, deeper, ends, depth + 1)
            ends[axis] = (low, high)


def _half(poly: Poly, degrees: Sequence[int], axis: int, upper: bool) -> Poly:
    """The polynomial on t >= 1 (with t = 1 + 2 s) or on t <= 1 (with t = s/(2 + s))."""
    n, total = degrees[axis], {}
    for e, c in poly.items():
        i = e[axis]
        for k in range(i + 1) if upper else range(i, n + 1):
            key = (*e[:axis], k, *e[axis + 1 :])
            weight = comb(i, k) << k if upper else comb(n - i, k - i) << (n - k)
            total[key] = total.get(key, Fraction(0)) + c * weight
    return {e: c for e, c in total.items() if c}


def _nonnegative(
    poly: Poly, degrees: Sequence[int], ends: Sequence[tuple[bool, bool]], strict: bool
) -> bool:
    """Whether the coefficient signs show poly >= 0, or > 0 also at the attained ends."""
    if any(c < 0 for c in poly.values()):
        return False
    if not strict:
        return True
    corners = [
        [e for e, attained in ((0, low), (n, high)) if attained and n] or [None]
        for n, (low, high) in zip(degrees, ends, strict=True)
    ]
    return all(
        any(all(c is None or e[i] == c for i, c in enumerate(corner)) for e in poly)
        for corner in product(*corners)
    )
