"""The system of strategic queues: reference values, models against formulas, bad input."""

from fractions import Fraction

import pytest
import sympy as sp

from qtheory import identities, stationary, system
from qtheory.cli import main
from qtheory.errors import DomainError, UnstableError
from qtheory.learning import feasibility, growth, patient_gap
from qtheory.learning import no_priorities as np1
from qtheory.learning import tightness as ti
from qtheory.systems import NAMES
from qtheory.systems import strategic_queues as sq
from qtheory.systems.coordinates import find_model

FOUND = system("strategic-queues")


def value(name, **at):
    found = FOUND.formula(name).evaluate(at)
    assert found.is_exact
    return found.lower


SINGLE = [
    # lambda, mu: rho, E[Q], Var[Q], E[T], E[T^2]
    ({"lam": "1/3", "mu": "1/2"}, ("1/2", "1", "2", "2", "14")),
    ({"lam": "1/4", "mu": "4/5"}, ("1/12", "1/11", "12/121", "5/44", "95/484")),
]


@pytest.mark.parametrize(("at", "values"), SINGLE)
def test_one_queue(at, values):
    for name, expected in zip(("rho", "EQ", "VarQ", "ET", "ET2"), values, strict=True):
        assert value(name, **at) == Fraction(expected), name


def test_one_queue_with_one_third_and_one_half():
    at = {"lam": "1/3", "mu": "1/2"}
    assert value("r", **at) == Fraction(3, 4)
    assert value("P_send", **at) == Fraction(2, 3)
    tail = 1 - sum(value("P(Q=q)", **at, q=q) for q in range(5))
    assert tail == Fraction(1, 32)
    law = stationary(sq.model())
    at = {sq.lam: sp.Rational(1, 3), sq.mu: sp.Rational(1, 2)}
    for q in range(4):
        assert law.pmf(q).subs(at) == FOUND.formula("P_Q").expression.subs({**at, sq.q: q})


def test_the_family_of_the_factor_two():
    for n, factor in [(1, "1"), (2, "3/2"), (3, "5/3"), (10, "19/10"), (100, "199/100")]:
        assert value("c_oldest", n=n) == Fraction(factor)
    at = {"n": 5, "lam": "21/100"}
    assert value("c*", **at) == Fraction(12, 7)
    assert value("T_growth", **at) == Fraction(1, 21)
    assert value("v_regret", **at) == Fraction(179, 625)
    assert 5 * value("Q_growth", **at) == Fraction(1, 20)
    assert value("EQ_total", n=3, lam="1/4") == Fraction(3, 4)
    member = ti.instance(5, "21/100")
    assert feasibility(member.lam, member.mu).scale == Fraction(12, 7)
    assert growth(member.lam, member.mu, member.profile).rates == (Fraction(1, 21),) * 5


def test_the_family_without_priorities():
    for n, K, scale, other, packets in [
        (50, 5, "100/21", "23/197", "788/115"),
        (100, 8, "160/21", "186/2479", "17353/1488"),
    ]:
        at = {"n": n, "K": K, "e": "1/20"}
        assert value("c_random", **at) == Fraction(scale)
        assert value("mu_other", **at) == Fraction(other)
        assert value("E[L]", n=n, a=1 - Fraction(1, K)) == Fraction(packets)
        member = np1.instance(n, K, "1/20")
        assert feasibility(member.lam, member.mu).scale == Fraction(scale)
    assert value("EL", n=2, a="3/10") == Fraction(39, 44)
    assert value("EL", n=2, a="1/2") == Fraction(11, 4)
    for n, K in [(10, 2.82861256784955), (1000, 25.8511943346245)]:
        assert float(FOUND.formula("K_best").evaluate({"n": n})) == pytest.approx(K, rel=1e-14)


def test_patient_queues():
    ratios = ["1", "4/3", "27/19", "256/175", "3125/2101"]
    for n, ratio in enumerate(ratios, 1):
        assert value("c_patient", n=n) == Fraction(ratio)
        assert value("lam_patient", n=n) * Fraction(ratio) == 1
    assert value("lam_patient", n=10) == Fraction(6513215599, 10**10)
    for n, share, rest in [(2, "2/3", "2/3"), (3, "6/7", "3/7"), (4, "12/13", "4/13")]:
        assert value("q*", n=n) == Fraction(share)
        lam = Fraction(3, 4)
        assert value("r*", n=n, lam=lam) == max(0, 1 - Fraction(rest) / lam)
        servers = [1, *[Fraction(1, n)] * (n - 1)]
        found = patient_gap([lam] * n, servers, [[1, *[0] * (n - 1)]] * n)
        assert found.deviations[0].rate == value("r*", n=n, lam=lam)


@pytest.mark.parametrize("n", [2, 3])
def test_the_models_have_the_means(n):
    chain = find_model(f"strategic-queues:{n}").model
    (total,) = chain.state
    assert sp.cancel(identities(chain, degree=2).moment(total) - ti.mean_total.subs(ti.n, n)) == 0


def test_the_model_of_the_small_queues_has_the_mean():
    chain = find_model("strategic-queues:small").model
    expected = FOUND.formula("EL").expression.subs(sq.n, 2) - sq.a
    assert sp.cancel(identities(chain, degree=2).moment(sum(chain.state)) - expected) == 0


def test_outside_the_domain_there_is_no_number():
    for name, at in [
        ("EQ", {"lam": "1/2", "mu": "1/2"}),
        ("EQ_total", {"n": 4, "lam": "1/4"}),
        ("EL", {"n": 2, "a": "2/3"}),
    ]:
        with pytest.raises(UnstableError):
            FOUND.formula(name).evaluate(at)
    with pytest.raises(DomainError, match="K"):
        FOUND.formula("c_random").evaluate({"n": 3, "K": 5, "e": "1/20"})
    with pytest.raises(DomainError, match="n"):
        FOUND.formula("Q_growth").evaluate({"n": 2, "lam": "1/3"})


def test_the_commands_know_it(capsys):
    assert "strategic-queues" in NAMES
    assert main(["systems"]) == 0
    assert "strategic-queues: Strategic queues that learn" in capsys.readouterr().out
    assert main(["show", "strategic-queues", "c*"]) == 0
    assert "(2 - 1/n)/(lam*n)" in capsys.readouterr().out
    assert main(["show", "strategic-queues:single"]) == 0
    assert "probability" in capsys.readouterr().out
    assert main(["evaluate", "strategic-queues", "E[Q]", "lam=1/3", "mu=1/2"]) == 0
    assert capsys.readouterr().out.strip() == "1"


@pytest.mark.parametrize("formula", FOUND.formulas, ids=lambda formula: formula.name)
def test_every_formula_has_latex_and_a_domain(formula):
    latex = formula.latex()
    assert " = " in latex and latex.count("{") == latex.count("}")
    assert formula.domain.is_inhabited
    assert formula.domain.symbols
