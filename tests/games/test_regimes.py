"""Regimes: holes, overlaps and wrong claims are found."""

import pickle

import pytest
import sympy as sp

from qtheory import Domain, Refuted
from qtheory.errors import DomainError, UnstableError
from qtheory.games import Claim, Regime, Regimes, no_point

c, d = sp.symbols("c d", positive=True)
plane = Domain(symbols=(c, d))
q = sp.Symbol("q")


def regimes(first, second, domain=plane):
    return Regimes(
        domain,
        (Regime("low", (first,), {"q": c}), Regime("high", (second,), {"q": sp.sqrt(d)})),
    )


def test_a_partition_is_proved():
    found = regimes(c <= d**2, c >= d**2)
    verdicts = found.verify()
    assert all(verdicts.values())
    assert set(verdicts) == {
        "the regimes cover the domain (1)",
        "low and high meet in boundaries only",
    }


def test_a_hole_is_refuted_by_a_point_in_it():
    verdict = regimes(c <= d, c >= 2 * d).verify()["the regimes cover the domain (1)"]
    assert isinstance(verdict, Refuted)
    point = verdict.witness
    assert point[d] < point[c] < 2 * point[d]
    assert regimes(c <= d, c >= 2 * d).at(point) == {}


def test_an_overlap_is_refuted_by_a_point_in_it():
    verdict = regimes(c <= 2 * d, c >= d).verify()["low and high meet in boundaries only"]
    assert isinstance(verdict, Refuted)
    assert verdict.witness[d] < verdict.witness[c] < 2 * verdict.witness[d]


def test_a_wrong_claim_is_not_proved():
    claim = Claim("c is below 1", c < 1, plane)
    found = Regimes(plane, (Regime("all", (c > 0,), {"q": c}, (claim,)),))
    assert not found.verify()["all: c is below 1"]


def test_a_condition_that_always_holds_is_dropped_and_a_false_one_refused():
    assert Regime("all", (c > 0,), {"q": c}).conditions == ()
    with pytest.raises(DomainError, match="not a condition of a regime: False"):
        Regime("none", (c < 0,), {"q": c})


def test_values_at_points_and_on_boundaries():
    found = regimes(c <= d**2, c >= d**2)
    assert found.at({"c": 1, "d": 2}) == {"low": {"q": 1}}
    assert found.at({"c": 5, "d": 2}) == {"high": {"q": sp.sqrt(2)}}
    assert found.at({"c": 4, "d": 2}) == {"low": {"q": 4}, "high": {"q": sp.sqrt(2)}}
    assert found["low"].values["q"] == c
    with pytest.raises(DomainError, match="unknown regime middle; known: low, high"):
        found["middle"]
    with pytest.raises(DomainError, match="needs c > 0"):
        found.at({"c": 0, "d": 1})
    stable = Regimes(Domain(stable=c < d), (Regime("all", (c > 0,), {"q": c}),))
    with pytest.raises(UnstableError):
        stable.at({"c": 2, "d": 1})


def test_a_boundary_with_a_root_is_decided_exactly():
    found = regimes(c <= sp.sqrt(d), c >= sp.sqrt(d))
    assert set(found.at({"c": "1/3", "d": "1/9"})) == {"low", "high"}
    near = sp.Rational(str(sp.sqrt(2).n(40))) + sp.Rational(1, 10**30)
    assert set(found.at({"c": near, "d": 2})) == {"high"}


def test_latex_and_text():
    found = regimes(c <= d, c >= d)
    assert found.latex() == (r"q = \begin{cases} c & c \leq d \\ \sqrt{d} & c \geq d \end{cases}")
    assert found._repr_latex_() == f"${found.latex()}$"
    assert str(found).splitlines()[0] == "low: q = c where c <= d"


def test_pickles_without_evaluating_relations():
    found = regimes(sp.Le(c, d, evaluate=False), sp.Ge(c, d, evaluate=False))
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.at({"c": 1, "d": 1}) == found.at({"c": 1, "d": 1})


def test_no_point_needs_conditions():
    assert no_point(plane, [c < d, c > 2 * d])
    assert isinstance(no_point(plane, [c < d, 2 * c > d]), Refuted)
    # c <= d and c >= d do not exclude each other
    assert no_point(plane, [c <= d, c >= d, c > 1, d < 1])
    with pytest.raises(DomainError, match="at least one condition"):
        no_point(plane, [])
