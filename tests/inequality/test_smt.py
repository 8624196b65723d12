"""SMT-LIB scripts of negated claims, read back by z3."""

import pytest
import sympy as sp

from qtheory.domain import Domain
from qtheory.inequality import Open, Proved, Refuted, prove, smtlib
from qtheory.inequality.problem import pose
from qtheory.inequality.smt import counterexample

z3 = pytest.importorskip("z3")

QUEUE = "0 < lam, 0 < mu, lam < 2*mu, 0 <= p, p <= 1"

TRUE = [
    ("lam*p <= 2*mu", QUEUE),
    ("2*lam/(2*mu - lam) <= (lam + 2*mu)/(2*mu - lam)", QUEUE),
    ("x**2 + y**2 >= 2*x*y", "x > 0, y > 0"),
    ("x*(1 - x) <= 1/4", "0 <= x, x <= 1"),
    ("x*y == 1", "x == 2, y == 1/2"),
    ("x != 0", "x > 0"),
    ("1/x > 0", "x > 0"),
    ("x**2 < 4", "-2 < x, x < 2"),
]
FALSE = [
    ("lam <= mu", QUEUE),
    ("x**2 > 0", "-1 <= x, x <= 0"),
    ("x*y == 1", "x > 0, y > 0"),
    ("x != 1", "x > 0"),
    ("x/(1 + x) < 1/2", "x > 0"),
]


def answer(verdict):
    solver = z3.Solver()
    solver.set("timeout", 10_000)
    solver.from_string(smtlib(verdict).replace("(get-model)", ""))
    return solver.check()


@pytest.mark.parametrize(("claim", "conditions"), TRUE)
def test_true_claims_are_unsatisfiable_negated(claim, conditions):
    verdict = prove(claim, Domain(conditions))
    assert not isinstance(verdict, Refuted)
    assert answer(verdict) == z3.unsat


@pytest.mark.parametrize(("claim", "conditions"), FALSE)
def test_false_claims_have_a_model(claim, conditions):
    verdict = prove(claim, Domain(conditions))
    assert isinstance(verdict, Refuted)
    assert answer(verdict) == z3.sat


def test_the_script_by_hand():
    x = sp.Symbol("x", positive=True)
    script = smtlib(prove(x**2 < x + 1, Domain(x <= 1)))
    assert script.splitlines() == [
        "(set-logic QF_NRA)",
        "(declare-const x Real)",
        "(assert (> x 0))" if "(assert (> x 0))" in script else "(assert (> (* 1 x) 0))",
        "(assert (>= (+ (* (- 1) x) 1) 0))",
        "(assert (not (= 1 0)))",
        "(assert (>= (+ (* 1 x x) (* (- 1) x) (- 1)) 0))",
        "(check-sat)",
        "(get-model)",
    ]


def test_a_model_of_the_solver_is_only_a_candidate():
    """The only counterexample is irrational: sqrt(2)."""
    verdict = prove("x**2 != 2", Domain("x > 0"))
    assert isinstance(verdict, Open)
    assert "z3 finds a point that is not rational" in str(verdict)


def test_a_thin_counterexample_is_found_by_the_solver():
    domain = Domain("x > 0, y > 0")
    (claim,) = [prove("x != 12345/6789", domain).claim]
    problem = pose(claim, domain)
    point, _ = counterexample(problem.region, problem.difference, "!=")
    assert point[0] * 6789 == 12345


def test_names_and_unknown_parameters_are_declared():
    verdict = prove("lam + w**2 >= w**2", Domain("lam >= 0"))
    assert isinstance(verdict, Proved)
    assert "(declare-const lam Real)" in smtlib(verdict)
