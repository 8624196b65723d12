"""The negated claim for satisfiability solvers: as SMT-LIB 2 text, and through z3 if installed.

A model is only a hint until it is evaluated exactly; "no model" is reported, not counted as proof.
"""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, to_fmpq
from qtheory.semialgebraic import Point, SemialgebraicSet
from qtheory.text import text_name

MILLISECONDS = 3000
"""What z3 may take."""

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def smtlib(verdict: Any) -> str:
    """The negated claim of a verdict as an SMT-LIB 2 script: ``unsat`` means that the claim holds.

    >>> import sympy as sp
    >>> from qtheory.domain import Domain
    >>> from qtheory.inequality.prove import prove
    >>> x = sp.Symbol("x", positive=True)
    >>> print(smtlib(prove(x**2 < x + 1, Domain(x))))  # doctest: +SKIP
    """
    from qtheory.inequality.problem import pose

    problem = pose(verdict.claim, verdict.domain)
    return script(problem.region, problem.difference, verdict.claim.rel_op)


def script(region: SemialgebraicSet, difference: Ratio, relation: str) -> str:
    """An SMT-LIB 2 script that asks for a point of the region where the relation fails."""
    ring = region.ring
    lines = ["(set-logic QF_NRA)"]
    lines += [f"(declare-const {text_name(name)} Real)" for name in ring.names]
    for constraint in region.constraints:
        kind = "=" if constraint.kind == "==" else constraint.kind
        lines.append(f"(assert ({kind} {_term(ring, constraint.poly)} 0))")
    product = _term(ring, difference.num * difference.den)
    lines.append(f"(assert (not (= {_term(ring, difference.den)} 0)))")
    negated = _NEGATED[relation]
    if negated == "!=":
        lines.append(f"(assert (not (= {product} 0)))")
    else:
        lines.append(f"(assert ({'=' if negated == '==' else negated} {product} 0))")
    return "\n".join([*lines, "(check-sat)", "(get-model)", ""])


def _term(ring: Ring, poly: fmpz_mpoly) -> str:
    terms = []
    for exponents, coefficient in poly.terms():
        factors = [_integer(int(coefficient))]
        for name, power in zip(ring.names, exponents, strict=True):
            factors += [text_name(name)] * int(power)
        terms.append(factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})")
    if not terms:
        return "0"
    return terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


def _integer(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def counterexample(
    region: SemialgebraicSet, difference: Ratio, relation: str
) -> tuple[Point | None, str]:
    """A rational candidate for a counterexample by z3, and its word."""
    if find_spec("z3") is None:
        return None, "z3 is not installed"
    import z3

    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.from_string(script(region, difference, relation).replace("(get-model)", ""))
    answer = solver.check()
    if answer == z3.unsat:
        return None, "z3 finds no counterexample (its word, without a certificate)"
    if answer != z3.sat:
        return None, "z3 gives up"
    model = solver.model()
    values = {str(name): model[name] for name in model.decls()}
    point = tuple(_rational(values.get(text_name(name))) for name in region.ring.names)
    return point, "z3 finds a point that is not rational"


def _rational(value: Any) -> fmpq:
    if value is None:
        return fmpq(0)
    if hasattr(value, "as_fraction"):
        return to_fmpq(value.as_fraction())
    return to_fmpq(Fraction(value.approx(20).as_fraction()))
