"""`prove`: a claim on a domain is proved with a certificate, refuted by a point, or open."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy as sp
from flint import fmpz_mpoly
from sympy.core.relational import Relational

from qtheory.arithmetic import relations, text_of
from qtheory.check import FORMAT, digest
from qtheory.domain import Domain
from qtheory.errors import ExpressionError
from qtheory.inequality.bernstein import FoundNegative
from qtheory.inequality.problem import (
    Problem,
    pose,
    radicands,
    root_entries,
    without_roots,
)
from qtheory.inequality.signs import (
    Sign,
    coefficient_signs,
    factor_entry,
    find_sign,
    prove_sign,
)
from qtheory.inequality.verdict import Open, Proved, Refuted, Verdict
from qtheory.semialgebraic import Point

STRICT = {"<", ">", "!="}


def prove(claim: Any, domain: Domain | None = None, cells: int = 600) -> Proved | Refuted | Open:
    """Decide whether a relation between formulas holds at every point of a domain.

    The claim is a SymPy relation or text such as ``"lam*p <= 2*mu"``; formulas are built from
    +, -, *, /, integer powers and square roots. A proof is exact and comes with a certificate
    that `qtheory.check.check` accepts; a refutation comes with a rational point. `cells` bounds
    the subdivision.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> domain = Domain(lam < 2*mu)
    >>> print(prove(2*lam/(2*mu - lam) <= (lam + 2*mu)/(2*mu - lam), domain))
    proved: 2*lambda/(-lambda + 2*mu) <= (lambda + 2*mu)/(-lambda + 2*mu)
    >>> print(prove("lam <= mu", domain))
    refuted: lambda <= mu fails at lambda = 2, mu = 13/12

    Raises `ExpressionError` for anything that is not one relation between such formulas, also
    for a relation that SymPy has already evaluated to True or False: pass that one as text.
    """
    started = time.perf_counter()
    domain = domain if domain is not None else Domain()
    relation = _as_relation(claim, domain)
    verdict = _decide(relation, domain, cells)
    object.__setattr__(verdict, "seconds", time.perf_counter() - started)
    return verdict


def _as_relation(claim: Any, domain: Domain) -> Relational:
    if isinstance(claim, str):
        found = relations(claim, domain.symbols)
        if len(found) != 1:
            raise ExpressionError(f"one relation is proved at a time, got {len(found)}")
        return found[0]
    claim = sp.sympify(claim)
    if claim in (sp.true, sp.false):
        raise ExpressionError(
            f"SymPy evaluated the relation to {claim}: pass it as text, or with evaluate=False"
        )
    if not isinstance(claim, Relational):
        raise ExpressionError(f"not a relation such as a <= b: {claim}")
    return claim


def _decide(claim: Relational, domain: Domain, cells: int) -> Proved | Refuted | Open:
    if not radicands(claim):
        return _Attempt(pose(claim, domain), cells).verdict()
    tried: list[str] = []

    def lemma(relation: Relational) -> dict[str, Any] | None:
        found = _decide(relation, domain, cells)
        if isinstance(found, Proved):
            return dict(found.certificate)
        tried.append(f"{relation} is not proved")
        return None

    verdict: Proved | Refuted | Open = Open(claim, domain, ())
    for problem in without_roots(claim, domain, lemma):
        verdict = _Attempt(problem, cells).verdict()
        if not isinstance(verdict, Open):
            return verdict
        tried += verdict.tried
    return Open(claim, domain, tuple(dict.fromkeys(tried)) or ("a square root was not removed",))


class _Attempt:
    """One way to decide a problem: the factors of both sides, their signs, and a search."""

    def __init__(self, problem: Problem, cells: int) -> None:
        self.problem, self.cells = problem, cells
        self.region, self.ring = problem.region, problem.region.ring
        self.strict = problem.claim.rel_op in STRICT
        self.tried: list[str] = []
        numerator = problem.difference.num
        self.factors = [] if numerator.is_zero() else numerator.factor()[1]
        self.constant = 0 if numerator.is_zero() else numerator.factor()[0]
        self.below = _irreducible([problem.difference.den, *problem.divisors])
        self.signs: dict[str, Sign] = {}

    def verdict(self) -> Proved | Refuted | Open:
        problem = self.problem
        if self._conclusive(coefficient_signs):
            return self._proved()
        witness = self._witness(self.region.samples)
        if witness is not None:
            return self._refuted(witness)
        if self._conclusive(lambda region, f: find_sign(region, f, self._needs(f), self.cells)):
            return self._proved()
        joint = self._joint_sign()
        if isinstance(joint, Mapping):
            return self._proved(joint)
        witness = self._witness(self._more_points())
        if witness is not None:
            return self._refuted(witness)
        return Open(problem.claim, problem.domain, tuple(self.tried))

    def _needs(self, factor: fmpz_mpoly) -> bool:
        """Whether the factor must not vanish."""
        return self.strict or any(factor == divisor for divisor in self.below)

    def _conclusive(self, sign_of: Any) -> bool:
        """Whether the signs of the single factors, as found by `sign_of`, prove the claim."""
        odd = [factor for factor, times in self.factors if times % 2]
        for factor in [*self.below, *(f for f, _ in self.factors)]:
            if str(factor) in self.signs and self.signs[str(factor)].strict >= self._needs(factor):
                continue
            found = sign_of(self.region, factor)
            if found is not None and found.strict >= self._needs(factor):
                self.signs[str(factor)] = found
            elif factor in odd or self._needs(factor):
                return False
        return self._overall() in _IMPLIED_BY[self.problem.claim.rel_op]

    def _overall(self) -> str | None:
        """The sign of the difference from the signs of its factors."""
        if self.constant == 0:
            return "=="
        direction = 1 if self.constant > 0 else -1
        strict = True
        for factor, times in self.factors:
            sign = self.signs.get(str(factor))
            if sign is None and times % 2:
                return None
            strict = strict and sign is not None and sign.strict
            direction *= sign.direction ** int(times) if sign is not None else 1
        for factor, times in self.problem.difference.den.factor()[1]:
            direction *= self.signs[str(factor)].direction ** int(times)
        constant = self.problem.difference.den.factor()[0]
        direction *= 1 if constant > 0 else -1
        return (">" if direction > 0 else "<") + ("" if strict else "=")

    def _joint_sign(self) -> Mapping[str, Any] | None:
        """The sign of the product of the factors that have no sign alone."""
        for divisor in self.below:
            if str(divisor) not in self.signs:
                self.tried.append(f"no proof that {self.ring.expression(divisor)} is never 0")
                return None
        alone = [f for f, times in self.factors if str(f) not in self.signs and times % 2]
        if self.problem.claim.rel_op in ("==", "!=") or not alone:
            self.tried.append("no sign found")
            return None
        product = self.ring.context.constant(1)
        for factor in alone:
            product *= factor
        wanted = 1 if self.problem.claim.rel_op in (">", ">=") else -1
        rest = [(f, times) for f, times in self.factors if f not in alone]
        for factor, times in [*rest, *self.problem.difference.den.factor()[1]]:
            sign = self.signs.get(str(factor))
            wanted *= sign.direction ** int(times) if sign is not None else 1
        wanted *= 1 if self.constant > 0 else -1
        try:
            proof = prove_sign(self.region, product * wanted, self.strict, self.cells)
        except FoundNegative as found:
            self.tried.append(f"a cell of the wrong sign near {found.point}")
            return None
        if proof is None:
            shown = self.ring.expression(product * wanted)
            self.tried.append(f"subdivision into {self.cells} cells did not show {shown} >= 0")
            return None
        return factor_entry(self.ring, product * wanted, Sign(1, self.strict, proof))

    def _more_points(self) -> Iterator[Point]:
        """Suspicious points first, then many samples."""
        for factor, times in self.factors:
            if times % 2 and str(factor) not in self.signs:
                for direction in (1, -1):
                    try:
                        prove_sign(self.region, factor * direction, self.strict, self.cells)
                    except FoundNegative as found:
                        yield found.point
        yield from self.region.sample(150, seed=3)
        yield from self.region.sample(150, seed=4, near_boundary=True)
        yield from self._solver_points()

    def _solver_points(self) -> Iterator[Point]:
        from qtheory.inequality.smt import counterexample

        point, word = counterexample(
            self.region, self.problem.difference, self.problem.claim.rel_op
        )
        self.tried.append(word)
        if point is not None:
            yield point

    def _witness(self, points: Iterable[Point]) -> dict[sp.Symbol, sp.Rational] | None:
        for point in points:
            values = self.problem.parameters(point)
            if values is not None and self.problem.fails_at(values):
                return values
        return None

    def _proved(self, joint: Mapping[str, Any] | None = None) -> Proved:
        problem = self.problem
        entries = [] if joint is None else [dict(joint)]
        seen: set[str] = set()
        for factor in [*self.below, *(f for f, _ in self.factors)]:
            key = str(factor)
            if key not in seen and (key in self.signs or joint is None):
                entries.append(factor_entry(self.ring, factor, self.signs.get(key)))
            elif key not in seen and any(f == factor and t % 2 == 0 for f, t in self.factors):
                entries.append(factor_entry(self.ring, factor, None))
            seen.add(key)
        content = {**_header(problem, "proved"), "factors": entries}
        if problem.roots:
            content["roots"] = root_entries(problem)
        if problem.derived:
            content["derived"] = list(problem.derived)
        return Proved(problem.claim, problem.domain, _sealed(content))

    def _refuted(self, witness: dict[sp.Symbol, sp.Rational]) -> Refuted:
        problem = self.problem
        content = {
            **_header(problem, "refuted"),
            "witness": {text_of(symbol): str(value) for symbol, value in witness.items()},
        }
        return Refuted(problem.claim, problem.domain, witness, _sealed(content))


_IMPLIED_BY: dict[str, set[str]] = {
    "<": {"<"},
    "<=": {"<", "<=", "=="},
    ">": {">"},
    ">=": {">", ">=", "=="},
    "==": {"=="},
    "!=": {"<", ">"},
}


def _irreducible(polys: Iterable[fmpz_mpoly]) -> list[fmpz_mpoly]:
    """The irreducible factors that occur, each once."""
    found: list[fmpz_mpoly] = []
    for poly in polys:
        for factor, _ in poly.factor()[1]:
            if factor not in found:
                found.append(factor)
    return found


def _header(problem: Problem, verdict: str) -> dict[str, Any]:
    header: dict[str, Any] = {
        "format": FORMAT,
        "verdict": verdict,
        "claim": text_of(problem.claim),
        "parameters": [text_of(symbol) for symbol in problem.domain.symbols],
        "domain": problem.domain.texts,
    }
    integers = [text_of(symbol) for symbol in problem.domain.symbols if symbol.is_integer]
    if integers:
        header["integers"] = integers
    return header


def _sealed(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "digest": digest(content)}


def combined(statement: str, verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """One certificate for several claims that were proved or refuted."""
    parts = [dict(v.certificate) for v in verdicts if isinstance(v, (Proved, Refuted))]
    proved = all(part["verdict"] == "proved" for part in parts)
    return _sealed(
        {
            "format": FORMAT,
            "verdict": "proved" if proved else "refuted",
            "statement": statement,
            "parts": parts,
        }
    )
