"""The shorter queue: closed forms against the paper's numbers and against solved chains."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

from qtheory import generator, system
from qtheory.errors import DomainError, UnstableError
from qtheory.model import coordinates
from qtheory.systems import shorter_queue as sq

FORMULA = {formula.name: formula for formula in sq.system.formulas}


def solved(model, box, at):
    """The stationary law on a window by SciPy, and the states: a second method."""
    rates = generator(model, box=box, at=at, field="float")
    states = coordinates(model, box)
    balance = sparse.csc_matrix(rates.T)[1:, 1:]
    rest = spsolve(balance, -np.asarray(sparse.csc_matrix(rates.T)[1:, [0]].todense()).ravel())
    law = np.concatenate([[1.0], rest])
    return law / law.sum(), states


@pytest.mark.parametrize(
    ("lam", "p", "cost"),
    [
        ("1", "0", 1.426320751167),
        ("1", "1/2", 1.596560789354),
        ("1/2", "0", 0.550501032069),
        ("1/2", "1/2", 0.596182077806),
        ("3/2", "0", 3.672080290233),
    ],
)
def test_cost_of_the_chain_is_the_published_one(lam, p, cost):
    law, states = solved(sq.model(), 90, {"lam": lam, "mu": 1, "p": p})
    assert law @ (2 * states[:, 0] + states[:, 1]) == pytest.approx(cost, abs=2e-11)


@pytest.mark.parametrize(
    ("lam", "p"), [("1/2", "3/10"), ("1", "0"), ("1", "7/10"), ("3/2", "9/10")]
)
def test_closed_forms_bound_the_cost_of_the_chain(lam, p):
    at = {"lam": lam, "mu": 1, "p": p}
    law, states = solved(sq.model(), 110, at)
    cost = law @ (2 * states[:, 0] + states[:, 1])
    rates = {"lam": lam, "mu": 1}
    assert law[states[:, 1] == 0].sum() == pytest.approx(
        float(FORMULA["P_D0"].evaluate(at)), abs=1e-8
    )
    assert float(FORMULA["J_pooled"].evaluate(rates)) < cost + 1e-9
    assert cost < float(FORMULA["Jbar"].evaluate(at)) + 1e-9
    assert cost < float(FORMULA["JB"].evaluate(rates))


def test_targeted_attacks_raise_the_cost_as_published():
    # increase over no attack, shorter queue and Bernoulli, mu = 1
    for lam, p, shorter, bernoulli in [
        ("3/5", "1/5", 0.0289, 0.0211),
        ("3/5", "1/2", 0.1284, 0.1375),
        ("6/5", "1/2", 0.7910, 6.4286),
    ]:
        costs = []
        for fraction in ("0", p):
            at = {"lam": lam, "mu": 1, "p": fraction}
            law, states = solved(sq.targeted_model(), [(0, 60), (-60, 60)], at)
            costs.append(law @ (2 * states[:, 0] + abs(states[:, 1])))
        assert costs[1] - costs[0] == pytest.approx(shorter, abs=6e-5)
        closed = [
            float(FORMULA["JB_targeted"].evaluate({"lam": lam, "mu": 1, "p": f})) for f in ("0", p)
        ]
        assert closed[1] - closed[0] == pytest.approx(bernoulli, abs=6e-5)


def test_bernoulli_chain_costs_its_closed_form():
    at = {"lam": "1", "mu": 1}
    law, states = solved(sq.bernoulli_model(), 40, at)
    assert law @ states.sum(axis=1) == pytest.approx(float(FORMULA["JB"].evaluate(at)), abs=1e-9)


def test_values_by_hand():
    at = {"lam": 1, "mu": 1, "p": 0}
    assert FORMULA["Jbar"].evaluate(at).lower == Fraction(3, 2)
    assert FORMULA["JB"].evaluate({"lam": 1, "mu": 1}).lower == 2
    assert FORMULA["J_crude"].evaluate({"lam": 1, "mu": 1}).lower == 3
    assert FORMULA["J_pooled"].evaluate({"lam": 1, "mu": 1}).lower == Fraction(4, 3)
    assert FORMULA["G_1"].evaluate({"lam": 1, "mu": 1}).lower == Fraction(1, 2)
    assert FORMULA["P_D0"].evaluate(at).lower == Fraction(1, 2)


def test_p_star_and_p_hat_solve_their_equations():
    # Jbar'(1/2) = 2*3/(1*(7/2)^2) = 24/49 and G(1/2) = 3/2/(2*7/2) = 3/14 at lam = mu = 1
    assert FORMULA["p_star"].evaluate({"lam": 1, "mu": 1, "cb": "24/49"}).lower == Fraction(1, 2)
    assert FORMULA["p_hat"].evaluate({"lam": 1, "mu": 1, "ca": "3/14"}).lower == Fraction(1, 2)


def test_outside_the_domain_there_is_no_number():
    with pytest.raises(
        UnstableError, match="unstable: needs lambda < 2\\*mu, got lambda = 2, mu = 1"
    ):
        FORMULA["Jbar"].evaluate({"lam": 2, "mu": 1, "p": 0})
    with pytest.raises(UnstableError, match="lambda\\*p < mu"):
        sq.targeted_domain.require({"lam": "3/2", "mu": 1, "p": 1})
    with pytest.raises(DomainError, match="needs p <= 1, got p = 3/2"):
        FORMULA["Jbar"].evaluate({"lam": 1, "mu": 1, "p": "3/2"})
    with pytest.raises(DomainError, match="c_b"):
        FORMULA["p_star"].evaluate({"lam": 1, "mu": 1, "cb": 5})


def test_formulas_are_found_by_their_written_names():
    found = system("shorter-queue")
    assert found.formula("p*").name == "p_star"
    assert found.formula("phat").name == "p_hat"
    assert found.formula("P(D=0)").name == "P_D0"
    with pytest.raises(DomainError, match="unknown formula Jbra of shorter-queue"):
        found.formula("Jbra")
    with pytest.raises(DomainError, match="unknown system longer-queue"):
        system("longer-queue")


def test_latex_of_labels():
    assert sq.system.formula("dJbar").latex().startswith(r"\bar{J}'(p) = ")
    assert sq.system.formula("p_star").latex().startswith("p^{*} = ")
