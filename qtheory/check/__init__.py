"""The independent checker of certificates: rational arithmetic, no search, standard library only.

It reads the statement of a certificate afresh, recomputes every polynomial, and accepts only what
follows from the rules in `qtheory.check.rules`. None of the code that finds proofs is used here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

from qtheory.check.charts import Constraint
from qtheory.check.drift import check_drift
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
from qtheory.check.rules import (
    IMPLIED_BY,
    factor_signs,
    read_constraint,
    sign_by,
    single_relation,
    verify,
)
from qtheory.errors import CertificateError, ExpressionError
from qtheory.text import parse_relations

FORMAT = "qtheory certificate 1"


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
        shown = "; ".join([_check(part) for part in certificate["parts"]])
        proved = all(part["verdict"] == "proved" for part in certificate["parts"])
        if certificate["verdict"] != ("proved" if proved else "refuted"):
            raise CertificateError("certificate rejected: the verdict is not that of its parts")
        return f"{certificate['verdict']}: {certificate['statement']} [{shown}]"
    if certificate["verdict"] == "refuted":
        return _check_witness(certificate)
    if certificate["verdict"] == "proved" and certificate.get("kind") == "drift":
        return check_drift(certificate)
    if certificate["verdict"] == "proved" and certificate.get("kind") == "enclosure":
        from qtheory.check.enclosure import check_enclosure

        return check_enclosure(certificate)
    if certificate["verdict"] == "proved":
        return _check_proof(certificate)
    raise CertificateError("certificate rejected: the verdict is neither proved nor refuted")


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


def _rational(text: str) -> Fraction:
    if not re.fullmatch(r"-?\d+(/\d+)?", text, re.ASCII):
        raise CertificateError(f"certificate rejected: not a rational number: {text[:40]}")
    return Fraction(text)


_HOLDS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


def _check_witness(certificate: Mapping[str, Any]) -> str:
    values = {name: _rational(value) for name, value in certificate["witness"].items()}
    if set(values) != set(certificate["parameters"]):
        raise CertificateError("certificate rejected: the witness is not a point of the domain")
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


def _check_proof(certificate: Mapping[str, Any]) -> str:
    roots = certificate.get("roots", [])
    reader = Functions(certificate["parameters"], [root["name"] for root in roots])
    if len(set(reader.names)) != len(reader.names):
        raise CertificateError("certificate rejected: a name is declared twice")
    for root in roots:
        _check_root(root, reader, certificate)
    for root in reversed(roots):
        reader.values[root["variable"]] = reader.read(root["value"])
    constraints = [read_constraint(text, reader) for text in certificate["domain"]]
    for root in roots:
        reader.roots.append(reader.symbol(root["name"]))
        kind = ">" if root["nonnegative"]["claim"].endswith("> 0") else ">="
        constraints.append((reader.roots[-1].num, kind))
    for entry in certificate.get("derived", ()):
        constraints.append(_derive(entry, reader, constraints))

    reader.divisors = []
    left, sign, right = single_relation(certificate["claim"], reader)
    difference = left - right
    shown = factor_signs(certificate["factors"], reader, constraints)
    for divisor in [*reader.divisors, difference.den]:
        if sign_by(divisor, shown) not in (">", "<"):
            raise CertificateError("certificate rejected: a divisor may be zero on the domain")
    found = sign_by(multiply(difference.num, difference.den), shown)
    if found not in IMPLIED_BY[sign]:
        raise CertificateError("certificate rejected: the factors do not prove the claim")
    return str(certificate["claim"])


def _check_root(root: Mapping[str, Any], reader: Functions, whole: Mapping[str, Any]) -> None:
    """A square root y of A, where A is linear in one variable, which y then replaces.

    The lemmas say that A >= 0 and that the coefficient of the variable in the numerator of A is
    not zero, so on the domain the variable is the stated function of y and the others.
    """
    radicand = reader.read(root["radicand"])
    index = reader.names.index(root["variable"])
    parts = coefficients(radicand.num, index)
    if len(parts) != 2 or len(coefficients(radicand.den, index)) != 1:
        raise CertificateError("certificate rejected: a radicand is not linear in its variable")
    free, linear = (Quotient(reader, part, reader.one) for part in parts)
    value, name = reader.read(root["value"]), reader.symbol(root["name"])
    scale = Quotient(reader, radicand.den, reader.one)
    if not (linear * value + free).equals(name * name * scale):
        raise CertificateError("certificate rejected: a root does not square to its radicand")
    if divide(linear.num, value.den) is None:
        raise CertificateError("certificate rejected: the value of a root may be undefined")
    _check_lemma(root["nonnegative"], radicand, (">", ">="), reader, whole)
    if not constant(linear.num):
        _check_lemma(root["coefficient"], linear, ("!=",), reader, whole)


def _check_lemma(
    lemma: Mapping[str, Any],
    quantity: Quotient,
    signs: tuple[str, ...],
    reader: Functions,
    whole: Mapping[str, Any],
) -> None:
    """The lemma proves ``quantity sign 0`` on the same domain."""
    left, sign, right = single_relation(lemma["claim"], reader)
    same = all(lemma[key] == whole[key] for key in ("domain", "parameters"))
    if not (same and lemma["verdict"] == "proved" and sign in signs):
        raise CertificateError("certificate rejected: a lemma is about something else")
    if right.num or not left.equals(quantity):
        raise CertificateError("certificate rejected: a lemma is about something else")
    _check_proof(lemma)


def _derive(
    entry: Mapping[str, Any], reader: Functions, constraints: Sequence[Constraint]
) -> Constraint:
    """A condition divided by factors of known sign, or a sum of positive multiples of some."""
    if "sum" in entry:
        return _sum(entry["sum"], reader, constraints)
    poly, kind = constraints[entry["from"]]
    for factor, sign in factor_signs(entry["factors"], reader, constraints):
        if sign != ">":
            raise CertificateError("certificate rejected: a factor of a condition may be zero")
        poly, _ = divide_out(poly, factor)
    return poly, kind


def _sum(
    terms: Sequence[Mapping[str, Any]], reader: Functions, constraints: Sequence[Constraint]
) -> Constraint:
    """Positive multiples of conditions, added; strict if one of them is."""
    total: Poly = {}
    strict = False
    for term in terms:
        poly, kind = constraints[term["of"]]
        times = reader.poly(term["times"])
        verify(times, True, term["proof"], reader, constraints)
        total = add(total, multiply(times, poly))
        strict |= kind == ">"
    return total, ">" if strict else ">="
