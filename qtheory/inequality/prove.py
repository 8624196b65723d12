"""`prove`: a claim on a domain is proved with a certificate, refuted by a point, or open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import sympy as sp
from flint import fmpz_mpoly
from sympy.core.relational import Relational

from qtheory.arithmetic import irreducible_factors, parameters
from qtheory.check import FORMAT, digest
from qtheory.check.rules import IMPLIED_BY
from qtheory.domain import Domain
from qtheory.errors import CertificateError, DomainError, ExpressionError
from qtheory.formulas import relations, text_of
from qtheory.inequality.bernstein import FoundNegative
from qtheory.inequality.problem import (
    Problem,
    pose,
    radicands,
    root_entries,
    strengthened,
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
from qtheory.semialgebraic import Point, SemialgebraicSet

STRICT = {"<", ">", "!="}
LOOK_AHEAD = 40


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
    refuted: lambda <= mu fails at lambda = 4, mu = 3

    Raises `ExpressionError` for anything that is not one relation between such formulas, also
    for a relation that SymPy has already evaluated to True or False: pass that one as text.
    """
    started = time.perf_counter()
    domain = domain if domain is not None else Domain()
    if not isinstance(domain, Domain):
        raise DomainError(f"not a domain: {domain}")
    relation = _as_relation(claim, domain)
    unknown = [s for s in parameters(relation) if s.name not in domain.ring.names]
    domain = domain.over(*unknown) if unknown else domain
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
    lemmas: dict[Relational, dict[str, Any] | None] = {}

    def lemma(relation: Relational) -> dict[str, Any] | None:
        if relation not in lemmas:
            found = _decide(relation, domain, cells)
            lemmas[relation] = dict(found.certificate) if isinstance(found, Proved) else None
            if lemmas[relation] is None:
                tried.append(f"{relation} is not proved")
        return lemmas[relation]

    problems = list(without_roots(claim, domain, lemma))
    for budget, last in ((cells // 12, False), (cells, True)):
        for problem in problems:
            verdict = _Attempt(problem, budget).verdict(last)
            if not isinstance(verdict, Open):
                return verdict
            tried += verdict.tried if last else ()
    return Open(claim, domain, tuple(dict.fromkeys(tried)) or ("a square root was not removed",))


class _Attempt:
    """One way to decide a problem: the factors of both sides, their signs, and a search."""

    def __init__(self, problem: Problem, cells: int) -> None:
        self.problem, self.cells = problem, cells
        self.region, self.ring = problem.region, problem.region.ring
        self.strict = problem.claim.rel_op in STRICT
        self.tried: list[str] = []
        numerator = problem.difference.num
        self.factors = [] if numerator.is_zero() else irreducible_factors(numerator)[1]
        self.constant = 0 if numerator.is_zero() else irreducible_factors(numerator)[0]
        self.below = _irreducible([problem.difference.den, *problem.divisors])
        self.product = self.ring.rational(numerator * problem.difference.den)
        self.rounded = any(symbol.is_integer for symbol in problem.domain.symbols)
        self.signs: dict[str, Sign] = {}
        self.joint: tuple[list[fmpz_mpoly], dict[str, Any]] = ([], {})
        self.suspects: list[Point] = []
        self.derived: list[dict[str, Any]] = []

    def verdict(self, last: bool = True) -> Proved | Refuted | Open:
        """The verdict; unless it is the last attempt, without an expensive search for points."""
        self._find(lambda region, f: coefficient_signs(region, f, self._needs(f)))
        if self._conclusive():
            return self._proved()
        witness = self._witness(self.region.samples)
        if witness is not None:
            return self._refuted(witness)
        self.region, self.derived = strengthened(self.region)
        self._find(lambda region, f: find_sign(region, f, self._needs(f), self.cells))
        if self._conclusive() or self._joint_sign():
            return self._proved()
        witness = self._witness(self._more_points() if last else self.suspects)
        if witness is not None:
            return self._refuted(witness)
        return Open(self.problem.claim, self.problem.domain, tuple(self.tried))

    def _needs(self, factor: fmpz_mpoly) -> bool:
        """Whether the factor must not vanish."""
        return self.strict or factor in self.below

    def _find(self, sign_of: Callable[[SemialgebraicSet, fmpz_mpoly], Sign | None]) -> None:
        """Find the signs of single factors that are still missing."""
        for factor in self._missing():
            found = sign_of(self.region, factor)
            if found is not None and found.strict >= self._needs(factor):
                self.signs[str(factor)] = found

    def _missing(self) -> list[fmpz_mpoly]:
        """The factors whose sign matters and is not known."""
        odd = [factor for factor, times in self.factors if times % 2 or self.strict]
        wanted = [*self.below, *(factor for factor in odd if factor not in self.below)]
        return [factor for factor in wanted if str(factor) not in self.signs]

    def _conclusive(self) -> bool:
        """Whether the signs of the single factors prove the claim."""
        if self._missing():
            return False
        sign = self._direction()
        shown = "==" if sign == 0 else (">" if sign > 0 else "<") + ("" if self.strict else "=")
        return shown in IMPLIED_BY[self.problem.claim.rel_op]

    def _direction(self) -> int:
        """The sign of the difference by the known signs; unknown factors count as positive."""
        sign = (self.constant > 0) - (self.constant < 0)
        constant, factors = irreducible_factors(self.problem.difference.den)
        for factor, times in [*self.factors, *factors]:
            if str(factor) in self.signs:
                sign *= self.signs[str(factor)].direction ** int(times)
        return sign if constant > 0 else -sign

    def _joint_sign(self) -> bool:
        """Find the sign of the product of the factors that have none alone."""
        missing = self._missing()
        for factor in missing:
            if factor in self.below:
                self.tried.append(f"no proof that {self.ring.expression(factor)} is never 0")
                return False
        odd = [factor for factor, times in self.factors if times % 2 and factor in missing]
        if not odd or len(odd) < len(missing) or self.problem.claim.rel_op in ("==", "!="):
            self.tried.append("no sign found")
            return False
        wanted = self._direction() * (1 if self.problem.claim.rel_op in (">", ">=") else -1)
        product = self.ring.context.constant(wanted)
        for factor in odd:
            product *= factor
        try:
            proof = prove_sign(self.region, product, self.strict, self.cells)
        except FoundNegative as found:
            self.suspects.append(found.point)
            return False
        if proof is None:
            shown = self.ring.expression(product)
            self.tried.append(f"subdivision into {self.cells} cells did not show {shown} >= 0")
            return False
        self.joint = odd, factor_entry(self.ring, product, Sign(1, self.strict, proof))
        return True

    def _more_points(self) -> Iterator[Point]:
        """Suspicious points first, then many samples, then what a solver finds."""
        yield from self.suspects
        for factor in self._missing():
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

    def _suspect(self, point: Point) -> bool:
        """Whether the claim may fail at a point, or near it for integers."""
        value = self.product(*point)
        shown = ">" if value > 0 else "<" if value < 0 else "=="
        return self.rounded or shown not in IMPLIED_BY[self.problem.claim.rel_op]

    def _witness(self, points: Iterable[Point]) -> dict[sp.Symbol, sp.Rational] | None:
        """The shortest of the parameter points where the claim fails, looking a little further
        than the first."""
        found: list[dict[sp.Symbol, sp.Rational]] = []
        for number, point in enumerate(points):
            values = self.problem.parameters(point) if self._suspect(point) else None
            if values is not None and self.problem.fails_at(values):
                found.append(values)
            if found and number >= LOOK_AHEAD:
                break
        return min(found, key=_length, default=None)

    def _proved(self) -> Proved:
        return Proved(self.problem.claim, self.problem.domain, self._proof)

    def _proof(self) -> dict[str, Any]:
        """The certificate of a proof."""
        problem = self.problem
        joined, entry = self.joint
        entries = [entry] if joined else []
        for factor in _irreducible([*self.below, *(factor for factor, _ in self.factors)]):
            if factor not in joined:
                entries.append(factor_entry(self.ring, factor, self.signs.get(str(factor))))
        content = {**_header(problem, "proved"), "factors": entries}
        if problem.roots:
            content["roots"] = root_entries(problem)
        if self.derived:
            content["derived"] = self.derived
        return _sealed(content)

    def _refuted(self, witness: dict[sp.Symbol, sp.Rational]) -> Refuted:
        problem = self.problem
        return Refuted(
            problem.claim, problem.domain, witness, lambda: _counterexample(problem, witness)
        )


def _counterexample(problem: Problem, witness: dict[sp.Symbol, sp.Rational]) -> dict[str, Any]:
    """The certificate of a refutation."""
    content = {
        **_header(problem, "refuted"),
        "witness": {text_of(symbol): str(value) for symbol, value in witness.items()},
    }
    return _sealed(content)


def _irreducible(polys: Iterable[fmpz_mpoly]) -> list[fmpz_mpoly]:
    """The irreducible factors that occur, each once."""
    found: list[fmpz_mpoly] = []
    for poly in polys:
        for factor, _ in irreducible_factors(poly)[1]:
            if factor not in found:
                found.append(factor)
    return found


def _length(point: dict[sp.Symbol, sp.Rational]) -> int:
    return sum(len(str(value)) for value in point.values())


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
    """One certificate for several claims that were proved or refuted.

    Raises `CertificateError` if there is none, or one that is neither.
    """
    parts = []
    for verdict in verdicts:
        if not isinstance(verdict, (Proved, Refuted)):
            raise CertificateError(f"no certificate of all claims: {verdict}")
        parts.append(dict(verdict.certificate))
    if not parts:
        raise CertificateError("no certificate: there is no claim")
    proved = all(part["verdict"] == "proved" for part in parts)
    return _sealed(
        {
            "format": FORMAT,
            "verdict": "proved" if proved else "refuted",
            "statement": statement,
            "parts": parts,
        }
    )
