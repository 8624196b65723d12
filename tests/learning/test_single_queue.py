"""One queue with its server: closed forms, the generic engines, and the transient mean."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory import Domain, evaluate, foster, identities, prove, stationary
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.learning import single_queue as sq
from qtheory.learning.single_queue import lam, mu

VALUES = {
    ("1/3", "1/2"): {
        sq.ratio: "1/2",
        sq.pmf(0): "1/2",
        sq.mean: "1",
        sq.variance: "2",
        sq.tail(5): "1/32",
        sq.age_ratio: "3/4",
        sq.sending: "2/3",
        sq.signed_age_pmf(0): "1/6",
        sq.age_mean: "2",
        sq.age_second_moment: "14",
    },
    ("1/4", "4/5"): {
        sq.ratio: "1/12",
        sq.pmf(0): "11/12",
        sq.mean: "1/11",
        sq.variance: "12/121",
        sq.tail(5): "1/248832",
        sq.age_ratio: "4/15",
        sq.sending: "5/16",
        sq.signed_age_pmf(0): "11/48",
        sq.age_mean: "5/44",
        sq.age_second_moment: "95/484",
    },
}


def equal(left, right):
    return prove(sp.Eq(left, right, evaluate=False), sq.domain)


@pytest.mark.parametrize("point", VALUES)
def test_reference_values(point):
    at = dict(zip((lam, mu), map(sp.Rational, point), strict=True))
    for expression, value in VALUES[point].items():
        assert expression.subs(at) == sp.Rational(value)


def test_the_generic_engines_find_the_law():
    law = stationary(sq.model())
    assert equal(law.mean(), sq.mean) and equal(law.variance(), sq.variance)
    for k in range(4):
        assert equal(law.pmf(k), sq.pmf(k)) and equal(law.tail(k), sq.tail(k))
        assert equal(law.factorial_moment(k), sq.factorial_moment(k))
    assert equal(identities(sq.model(), degree=3).moment(sq.q), sq.mean)
    assert foster(sq.model()).certificate.proved


def test_the_law_of_the_signed_age():
    claims = sq.signed_age_balance()
    assert all(prove(claim, sq.domain) for claim in claims.values())
    # the law is one, and its moments are those of its truncation
    at = {lam: sp.Rational(1, 3), mu: sp.Rational(1, 2)}
    law = {y: sp.Rational(sq.signed_age_pmf(y).subs(at)) for y in range(-60, 200)}
    assert float(sum(law.values())) == pytest.approx(1, abs=1e-9)
    assert float(sum(y * p for y, p in law.items() if y > 0)) == pytest.approx(2, abs=1e-9)
    assert float(sum(p for y, p in law.items() if y >= 0)) == pytest.approx(2 / 3, abs=1e-9)


def test_relations_of_sizes_and_ages():
    assert equal(sq.age_mean, sq.mean / mu)
    assert equal(sq.ratio, sq.age_ratio * lam / mu)
    # P(T >= 1) = P(Q >= 1)
    assert equal(sq.age_constant * sq.age_ratio / (1 - sq.age_ratio), sq.ratio)


def mean_of_the_chain(arrival, service, t):
    """E[Q_t] from the law of the chain, step by step."""
    law = {0: Fraction(1)}
    for _ in range(t):
        after = {}
        for size, p in law.items():
            for new, chance in ((1, arrival), (0, 1 - arrival)):
                here = size + new
                for served, coin in ((1, service), (0, 1 - service)):
                    there = here - (1 if served and here else 0)
                    after[there] = after.get(there, Fraction(0)) + p * chance * coin
        law = after
    return sum(size * p for size, p in law.items())


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(0, 1, max_denominator=9), st.fractions(0, 1, max_denominator=9), st.integers(0, 7)
)
def test_the_transient_mean(arrival, service, t):
    assert sq.mean_at(arrival, service, t) == mean_of_the_chain(arrival, service, t)


def test_published_transient_means():
    assert sq.mean_at("1/3", "1/2", 3) == Fraction(13, 36)
    assert sq.mean_at("1/3", "1/2", 7) == Fraction(2947, 5184)
    assert sq.mean_at("1/4", "4/5", 3) == Fraction(159, 2000)
    assert sq.mean_at("1/4", "4/5", 7) == Fraction(28651819, 320000000)
    # overloaded: E[Q_t]/t tends to lambda - mu
    assert float(sq.mean_at("3/4", "1/4", 200) / 200) == pytest.approx(0.5, abs=0.01)


def test_critical_at_one_half():
    values = {1: "1/4", 2: "7/16", 3: "19/32", 4: "187/256", 5: "437/512", 10: "707825/524288"}
    for t, value in values.items():
        assert sq.mean_at_half(t) == sq.mean_at("1/2", "1/2", t) == Fraction(value)
    assert str(evaluate(sp.Rational(*sq.mean_at_half(100).as_integer_ratio()), digits=20)) == (
        "5.1630221404302704358"
    )
    assert prove(sq.half_telescopes(), Domain(sp.Symbol("t", positive=True) >= 1))
    large = 10**4
    asymptotic = (large / sp.pi) ** sp.Rational(1, 2) - sp.Rational(1, 2)
    assert float(sq.mean_at_half(large) - asymptotic) == pytest.approx(0.0021, abs=1e-4)


def test_critical_growth():
    for p in (Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)):
        root = float(sp.sqrt(sq.critical_constant.subs(lam, p) * 400))
        assert float(sq.mean_at(p, p, 400)) + 0.5 == pytest.approx(root, rel=3e-3)


def test_bad_input():
    with pytest.raises(DomainError, match="0 <= lambda <= 1, got 2"):
        sq.mean_at(2, "1/2", 3)
    with pytest.raises(DomainError, match="0 <= mu <= 1, got -1/2"):
        sq.mean_at("1/2", "-1/2", 3)
    with pytest.raises(ModelError, match="t >= 0, got -1"):
        sq.mean_at("1/2", "1/2", -1)
    with pytest.raises(ModelError, match="t >= 0"):
        sq.mean_at_half(-2)
    with pytest.raises(UnstableError, match="needs lambda < mu"):
        sq.domain.require({lam: "1/2", mu: "1/2"})
