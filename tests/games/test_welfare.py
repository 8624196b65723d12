"""Welfare ratios by hand."""

import pytest
import sympy as sp

from qtheory import Domain
from qtheory.errors import DomainError
from qtheory.games import joining_equilibria, price_formula, price_of_anarchy, segment
from qtheory.systems import dedicated_streams as ds

q, R, C = sp.symbols("q R C", positive=True)


def test_an_interior_optimum_against_the_equilibrium():
    # S(q) = 3q - 4q^2 + 1 is greatest at 3/8, with 25/16; at q = 3/4 it is 1
    found = price_of_anarchy(3 * q - 4 * q**2 + 1, q, [sp.Rational(3, 4)])
    assert found.price_of_anarchy == found.price_of_stability == sp.Rational(25, 16)


def test_several_equilibria_have_a_worst_and_a_best():
    equilibria = [item.q for item in joining_equilibria(3 * q - 1, q)]
    found = price_of_anarchy(1 + q, q, equilibria)
    assert found.price_of_anarchy == 2
    assert found.price_of_stability == 1


def test_an_interval_of_equilibria_counts_from_its_worst_to_its_best():
    found = price_of_anarchy(1 + q - q**2, q, [segment("1/4", 1)])
    assert (found.worst, found.best) == (1, sp.Rational(5, 4))
    assert found.price_of_anarchy == sp.Rational(5, 4)


def test_dedicated_streams_by_the_closed_forms():
    at = {"lam": "1/2", "mu": 1, "lam_s": "1/4", "C": 1, "R": 2}
    utility = joining_equilibria(ds.utility, ds.q, at)
    found = price_of_anarchy(ds.welfare(ds.q), ds.q, [item.q for item in utility], at=at)
    # S(q_e) = lam_s (R - C/mu) = 1/4, S(q*) = (sqrt(R (mu + lam_s)) - sqrt(C))^2
    assert found.worst == sp.Rational(1, 4)
    assert sp.simplify(found.optimum.value - (sp.sqrt(sp.Rational(5, 2)) - 1) ** 2) == 0
    assert sp.simplify(found.price_of_anarchy - 4 * (sp.sqrt(sp.Rational(5, 2)) - 1) ** 2) == 0


def test_no_ratio_without_positive_welfare():
    found = price_of_anarchy(q * (1 - q), q, [0, sp.Rational(1, 2)])
    assert found.price_of_stability == 1
    with pytest.raises(DomainError, match="the worst equilibrium needs positive welfare, got 0"):
        found.price_of_anarchy  # noqa: B018
    with pytest.raises(DomainError, match="at least one equilibrium"):
        price_of_anarchy(q, q, [])
    with pytest.raises(DomainError, match="outside"):
        price_of_anarchy(q, q, [2])


def test_a_formula_of_the_ratio_needs_a_proof_of_the_sign():
    domain = Domain(symbols=(R, C))
    assert price_formula(R + C, R, domain) == (R + C) / R
    with pytest.raises(DomainError, match=r"R - C|-C \+ R"):
        price_formula(R, R - C, domain)
    assert price_formula(R, R - C, domain.where(R > C)) == R / (R - C)
