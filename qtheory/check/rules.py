"""The rules that show the sign of a polynomial on a domain.

A polynomial has a sign on a domain when
- `given`: it is a positive multiple of a condition of the domain;
- `coefficients`: written in the coordinates of a chart (see `Chart`), and after the recorded
  subdivision, its coefficients have one sign on every cell that meets the domain;
- `quadratic`: as A x^2 + B x + C it has A > 0 and 4 A C - B^2 >= 0;
- `factors`: it is a constant times factors whose signs are proved;
- `cases`: it has the sign where another polynomial is >= 0, and where it is <= 0;
- `scaling`: it and the domain are homogeneous for some weights, and it has the sign where a
  positive variable of nonzero weight is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from qtheory.check.charts import Chart, Constraint
from qtheory.check.polynomials import (
    Functions,
    Poly,
    Quotient,
    add,
    coefficients,
    constant,
    divide,
    divide_out,
    multiply,
)
from qtheory.errors import CertificateError
from qtheory.text import parse_relations

IMPLIED_BY = {
    "<": {"<"},
    "<=": {"<", "<=", "=="},
    ">": {">"},
    ">=": {">", ">=", "=="},
    "==": {"=="},
    "!=": {"<", ">"},
}


def single_relation(text: str, reader: Functions) -> tuple[Quotient, str, Quotient]:
    found = parse_relations(text, _Statement(reader))
    if len(found) != 1:
        raise CertificateError(f"certificate rejected: not one relation: {text}")
    return found[0]


class _Statement:
    """The algebra of what a certificate states: only parameters have names there."""

    def __init__(self, reader: Functions) -> None:
        self.reader, self.number, self.sqrt = reader, reader.number, reader.sqrt

    def symbol(self, name: str) -> Quotient:
        if name not in self.reader.public:
            raise CertificateError(f"certificate rejected: {name} is not a parameter")
        return self.reader.symbol(name)


def read_constraint(text: str, reader: Functions) -> Constraint:
    """A condition of the domain as a polynomial; a denominator is multiplied to its numerator."""
    left, sign, right = single_relation(text, reader)
    if sign not in (">", ">=", "=="):
        raise CertificateError(f"certificate rejected: not a condition poly > 0: {text}")
    difference = left - right
    return multiply(difference.num, difference.den), sign


def factor_signs(
    entries: Iterable[Mapping[str, Any]], reader: Functions, constraints: Sequence[Constraint]
) -> list[tuple[Poly, str]]:
    """The factors of a certificate with their signs, each verified."""
    shown = []
    for entry in entries:
        poly, sign = reader.poly(entry["poly"]), entry["sign"]
        if sign in (">", ">="):
            verify(poly, sign == ">", entry["proof"], reader, constraints)
        elif sign != "real":
            raise CertificateError(f"certificate rejected: unknown sign {sign}")
        shown.append((poly, sign))
    return shown


def sign_by(poly: Poly, shown: Iterable[tuple[Poly, str]]) -> str | None:
    """The sign of a polynomial as a constant times factors of known sign (`real`: unknown)."""
    if not poly:
        return "=="
    strict = True
    for factor, sign in shown:
        poly, times = divide_out(poly, factor)
        if times and sign == "real" and times % 2:
            return None
        strict &= not times or sign == ">"
    value = constant(poly)
    if not value:
        return None
    return (">" if value > 0 else "<") + ("" if strict else "=")


def verify(
    poly: Poly,
    strict: bool,
    proof: Mapping[str, Any],
    reader: Functions,
    constraints: Sequence[Constraint],
) -> None:
    """The proof shows that the polynomial is positive (nonnegative if not strict)."""
    rule = proof["by"]
    if rule == "given":
        stated, kind = constraints[proof["constraint"]]
        quotient = divide(poly, stated) if stated else None
        scale = None if quotient is None else constant(quotient)
        if scale is None or scale <= 0 or kind not in ((">",) if strict else (">", ">=")):
            raise CertificateError("certificate rejected: not a condition of the domain")
    elif rule == "coefficients":
        chart = Chart(proof["chart"], reader, constraints)
        chart.decide(poly, strict, proof["cells"])
    elif rule == "quadratic":
        parts = coefficients(poly, reader.names.index(proof["in"]))
        if len(parts) != 3:
            raise CertificateError("certificate rejected: not quadratic")
        free, linear, leading = parts
        discriminant = add(
            multiply({e: 4 * c for e, c in leading.items()}, free), multiply(linear, linear), -1
        )
        verify(leading, True, proof["leading"], reader, constraints)
        verify(discriminant, strict, proof["discriminant"], reader, constraints)
    elif rule == "factors":
        sign = sign_by(poly, factor_signs(proof["factors"], reader, constraints))
        if sign not in IMPLIED_BY[">" if strict else ">="]:
            raise CertificateError("certificate rejected: the factors do not show the sign")
    elif rule == "cases":
        on = reader.poly(proof["on"])
        above, below = (on, ">="), (add({}, on, -1), ">=")
        verify(poly, strict, proof["above"], reader, [*constraints, above])
        verify(poly, strict, proof["below"], reader, [*constraints, below])
    elif rule == "scaling":
        smaller = _set_to_one([(poly, ""), *constraints], proof, reader)
        verify(smaller[0][0], strict, proof["proof"], reader, smaller[1:])
    else:
        raise CertificateError(f"certificate rejected: unknown rule {rule}")


def _set_to_one(
    polys: Sequence[Constraint], proof: Mapping[str, Any], reader: Functions
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
            at_one = add(at_one, {(*e[:i], 0, *e[i + 1 :]): c})
        smaller.append((at_one, kind))
    return smaller
