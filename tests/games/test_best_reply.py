"""Best replies: by hand, by grids, and as cases for all parameters."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory import Domain
from qtheory.errors import DomainError, ExpressionError
from qtheory.games import best_reply, reply_regimes, segment
from qtheory.games.algebraic import algebraic

x, c = sp.symbols("x c", real=True)
k = sp.Symbol("k", positive=True)
small = st.integers(-5, 5)


@settings(max_examples=12, deadline=None)
@given(st.lists(small, min_size=3, max_size=5), st.integers(1, 4), st.integers(-3, 0))
def test_no_point_of_a_grid_pays_more(coefficients, pole, low):
    payoff = sum(a * x**i for i, a in enumerate(coefficients)) / (x + pole - low)
    found = best_reply(payoff, x, segment(low, 2))
    best = float(algebraic(found.value))
    paid = sp.lambdify(x, payoff, "math")
    assert all(paid(low + (2 - low) * i / 400) <= best + 1e-12 for i in range(401))
    for part in found.replies:
        assert paid(float(algebraic(part.lower))) == pytest.approx(best, abs=1e-9)


def test_ties_give_all_best_replies():
    found = best_reply(-((x**2 - sp.Rational(1, 2)) ** 2), x, segment(-1, 1))
    assert [part.point for part in found.replies] == [-sp.sqrt(2) / 2, sp.sqrt(2) / 2]
    assert found.value == 0
    assert not found.is_unique
    both = best_reply(x * (x - 1), x)
    assert [part.point for part in both.replies] == [0, 1]


def test_a_tie_of_irrational_values_is_exact_and_a_near_tie_is_none():
    # x^3 - x on [-2/sqrt(3), 1]: the maximum 2/(3 sqrt(3)) at -1/sqrt(3) only; and a double tie
    cubic = x**3 - x
    end = 2 / sp.sqrt(3)
    found = best_reply(cubic, x, segment(-1, end))
    assert [part.point for part in found.replies] == [-sp.sqrt(3) / 3, 2 * sp.sqrt(3) / 3]
    nearly = best_reply(cubic, x, segment(-1, sp.Rational(str(end.n(30))) - sp.Rational(1, 10**28)))
    assert [part.point for part in nearly.replies] == [-sp.sqrt(3) / 3]


def test_an_action_that_does_not_matter_is_an_interval():
    found = best_reply(c, x, segment(0, 3), at={c: "1/7"})
    assert found.replies == (segment(0, 3),)
    assert found.value == sp.Rational(1, 7)
    assert Fraction(5, 2) in found


def test_minimising_mirrors_maximising():
    payoff = x**4 - x
    low, high = best_reply(payoff, x, minimise=True), best_reply(-payoff, x)
    assert low.replies == high.replies
    assert algebraic(low.value) == -algebraic(high.value)
    # 4 x^3 = 1
    assert algebraic(low.replies[0].point) ** 3 == algebraic("1/4")


def test_bad_payoffs():
    with pytest.raises(DomainError, match="not finite at x = 1/2"):
        best_reply(1 / (2 * x - 1) ** 2, x)
    with pytest.raises(ExpressionError, match="unknown parameter c"):
        best_reply(c * x, x)
    with pytest.raises(ExpressionError):
        best_reply(sp.sqrt(x), x)
    with pytest.raises(DomainError, match="lower <= upper"):
        segment(1, 0)


def test_cases_of_a_convex_payoff():
    cases = reply_regimes(x**2 - k * x, x, Domain(symbols=(k,)))
    assert cases.at({k: "1/2"}) == {"upper end": {"x": 1}}
    assert cases.at({k: 2}) == {"lower end": {"x": 0}}
    assert set(cases.at({k: 1})) == {"lower end", "upper end"}
    assert all(cases.verify().values())


@settings(max_examples=8, deadline=None)
@given(st.fractions(Fraction(1, 20), 4, max_denominator=30))
def test_cases_of_a_concave_payoff_agree_with_the_exact_reply(value):
    payoff = -1 / (1 + x) - k * x**2
    cases = reply_regimes(-1 / (1 + x) - k * x, x, Domain(symbols=(k,)))
    direct = best_reply(-1 / (1 + x) - k * x, x, at={k: value})
    for found in cases.at({k: value}).values():
        assert algebraic(found["x"]) == algebraic(direct.replies[0].point)
    with pytest.raises(DomainError, match="degree 3"):
        reply_regimes(payoff, x, Domain(symbols=(k,)))


def test_the_cases_of_a_concave_payoff_are_proved():
    cases = reply_regimes(-1 / (1 + x) - k * x, x, Domain(symbols=(k,)))
    assert [regime.name for regime in cases.regimes] == ["lower end", "inside", "upper end"]
    assert all(cases.verify().values())


def test_a_payoff_without_shape_is_refused():
    with pytest.raises(DomainError, match="neither to be strictly convex nor strictly concave"):
        reply_regimes(x**3 - k * x**2, x, Domain(symbols=(k,)))
