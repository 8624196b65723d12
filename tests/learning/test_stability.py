"""The conditions of stability, the inequalities of the proof, and the cited theorems."""

import math
from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory import Domain, evaluate, prove
from qtheory.balls import Enclosure
from qtheory.errors import DomainError, ModelError
from qtheory.learning.moment_theorems import Hajek, PemantleRosenthal
from qtheory.learning.regret_bounds import exp3p_bound
from qtheory.learning.stability import (
    WindowCondition,
    drift_constants,
    drift_steps,
    fourth_moment,
    norm_inequalities,
    norm_one,
    potential_square,
    slack,
    strong_stability,
    window_condition,
)


def test_slack():
    found = slack(["2/5", "2/5"], [1, "1/2"])
    assert found.ratios == (Fraction(4, 5), Fraction(16, 15)) and found.margin == -Fraction(1, 15)
    assert not found and repr(found).startswith("fails with eta = -1/15")
    refined = slack(["2/5", "2/5"], ["1/2", 1], refined=True)
    assert refined.factors == (1, Fraction(3, 2)) and refined.margin == Fraction(1, 5)
    assert refined and "\\frac{3}{2}" in refined._repr_latex_()
    with pytest.raises(DomainError, match="mu > 0"):
        slack(["1/2"], [0])
    with pytest.raises(ModelError, match="at least one queue"):
        slack([], [1])


rates = st.lists(st.fractions("1/20", 1, max_denominator=20), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(rates, rates, st.fractions("1/50", "49/50", max_denominator=50))
def test_the_margin_is_the_largest_eta(lam, mu, eta):
    for refined in (False, True):
        found = slack(lam, mu, refined)
        whole = all(
            (2 - Fraction(refined, k)) * sum(sorted(lam)[-k:]) <= (1 - eta) * sum(sorted(mu)[-k:])
            for k in range(1, len(lam) + 1)
        )
        assert whole == (eta <= found.margin)
    assert slack(lam, mu, True).margin >= slack(lam, mu).margin
    # the factor 2 is central feasibility of twice the rates
    assert slack(lam, mu).holds == (found.feasibility.scale > 2)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_norms(data):
    lam = sorted(data.draw(rates), reverse=True)
    ages = [data.draw(st.integers(-9, 9)) for _ in lam]
    one, square = norm_one(lam, ages), potential_square(lam, ages)
    assert lam[-1] * square <= one**2 <= sum(lam) * square
    assert norm_one(lam, [0] * (len(lam) - 1) + [3]) == 3 * lam[-1]
    equal = [5] * len(lam)
    assert norm_one(lam, equal) ** 2 == sum(lam) * potential_square(lam, equal)
    last = [0] * (len(lam) - 1) + [5]
    assert norm_one(lam, last) ** 2 == lam[-1] * potential_square(lam, last)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_norm_inequalities_are_proved(count):
    for claim, domain in norm_inequalities(count).values():
        assert prove(claim, domain)


@pytest.mark.parametrize("step", drift_steps())
def test_steps_of_the_drift_are_proved(step):
    claim, domain = drift_steps()[step]
    assert prove(claim, domain)


def test_the_steps_need_their_conditions():
    claim, domain = drift_steps()["small gaps"]
    shorter = Domain(*(c for c in domain.conditions if "w >= 4" not in str(c)), "w >= 1")
    assert prove(claim, shorter).verdict == "refuted"


def test_constants():
    found = drift_constants(["1/4"] * 3, "1/5", 1000)
    # A = 4.5 * 9 * 4 + 3 * 12, s = 1/2
    assert (found.A, found.alpha, found.beta) == (198, 7920000, sp.Rational(25, 2))
    lam, eta, w = sp.symbols("lambda eta w", positive=True)
    formulas = drift_constants([lam, lam], eta, w)
    assert sp.simplify(formulas.A - 24 / lam) == 0
    assert sp.simplify(formulas.beta - eta * w * sp.sqrt(lam) / 8) == 0
    # at Phi = alpha the two terms of the drift leave -beta
    left = -eta * w * sp.sqrt(lam) / 4 + formulas.A * w**2 / (2 * formulas.alpha)
    assert sp.simplify(left + formulas.beta) == 0
    with pytest.raises(ModelError, match="at least one queue"):
        drift_constants([], "1/5", 10)


def test_windows():
    lam, eta, delta = ["1/4"] * 3, "1/5", "1/1000"
    assert not window_condition(lam, eta, 10**6, delta, exp3p_bound(3, 10**6, 0.001))
    assert window_condition(lam, eta, 5 * 10**6, delta, exp3p_bound(3, 5 * 10**6, 0.001))
    # the exponential counts: 3 (1/1000 + e^(-w/4)) against 1/40
    short = window_condition(lam, eta, 19, delta, 0)
    assert float(short.left) == pytest.approx(3 * (0.001 + math.exp(-19 / 4)))
    assert not short and window_condition(lam, eta, 20, delta, 0)
    assert str(short) == "0.0289551 > 1/40"
    # the smallest rate counts
    assert window_condition(["1/2", "1/4", "1/3"], eta, 20, delta, 0).right == Fraction(1, 40)
    # digits that leave it open prove nothing
    unclear = WindowCondition(Enclosure(Fraction(1, 3), Fraction(1, 2), 1), Fraction(2, 5))
    assert not unclear and "not shown <=" in str(unclear)
    with pytest.raises(DomainError, match="w >= 1, got -5"):
        window_condition(lam, eta, -5, delta, 0)
    with pytest.raises(DomainError, match="a whole window w >= 1, got 41/2"):
        window_condition(lam, eta, 20.5, delta, 0)
    # 10^-28 above the right side, which a quotient of floats does not see
    above = Fraction(1000, 30) + Fraction(1, 10**25)
    for steps in (1000, 1000.0):
        assert not window_condition(["1/3"], eta, steps, 0, above)
        assert window_condition(["1/3"], eta, steps, 0, above - Fraction(2, 10**25))
    with pytest.raises(DomainError, match="0 < eta < 1, got 1"):
        window_condition(lam, 1, 10, delta, 0)
    with pytest.raises(DomainError, match="0 < lambda <= 1, got 0"):
        window_condition([0], eta, 10, delta, 0)
    with pytest.raises(DomainError, match="delta >= 0, got -1"):
        window_condition(lam, eta, 10, -1, 0)
    with pytest.raises(DomainError, match="regret phi >= 0, got -10"):
        # max(Reg, 0) is never below 0, so that this says no more than phi = 0
        window_condition(lam, eta, 10**6, Fraction(1, 2), -(10**7))
    with pytest.raises(ModelError, match="at least one queue"):
        window_condition([], eta, 10, delta, 0)


def test_windows_that_are_long_enough_are_longer_than_eight():
    # eta lambda_n <= eta (1 - eta) <= 1/4 makes e^(-w/4) at most 1/(8n)
    for n in (1, 2, 5):
        for eta in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
            assert not window_condition([1 - eta] * n, eta, 8, 0, 0)


def test_fourth_moments():
    # E[X^4] of a geometric time with lambda = 1/2 is 150
    series = sum(Fraction(k**4, 2**k) for k in range(1, 200))
    assert abs(series - 150) < Fraction(1, 10**9)
    assert fourth_moment(["1/2"], 3) == 8 * 81 * sp.Rational(1, 2) * sp.Rational(151, 2)
    with pytest.raises(ModelError, match="at least one queue"):
        fourth_moment([], 3)


def test_strong_stability():
    # mu = (1, 1/3, 1/3): the factor is 5/3, here 1.75
    lam, mu = ["20/63"] * 3, [1, "1/3", "1/3"]
    regret = Fraction(1, 10**4) * 10**7
    found = strong_stability(lam, mu, 10**7, "1/10000", regret)
    eta = slack(lam, mu, refined=True).margin
    assert eta == Fraction(1, 21)
    constants = drift_constants(lam, eta, 10**7)
    assert (found.drift, found.level) == (constants.beta, constants.alpha)
    assert not found.is_complete and found.report().count("shown: ") == 3
    assert "assumed: in 10000000 steps, after every history, P(regret > 1000) <=" in found.report()
    with pytest.raises(DomainError, match="the window is too short"):
        strong_stability(lam, mu, 10**7, "1/100", regret)
    with pytest.raises(DomainError, match=r"needs \(2 - 1/k\) L_k < M_k for all k: fails"):
        strong_stability(["1/3"] * 3, mu, 10**7, "1/10000", regret)


def test_pemantle_and_rosenthal():
    assumed = PemantleRosenthal(drift="1/8", level=10, order="7/2", moment=81)
    assert not assumed.is_complete and assumed.report().count("assumed") == 3
    shown = PemantleRosenthal(
        "1/8", 10, 4, 81, 3, drift_shown="algebra", moment_shown="bounded jumps"
    )
    assert shown.is_complete and "assumed" not in shown.report()
    assert "0 < r < 3" in shown.report() and "X_0 <= 3" in shown.report()
    for wrong, word in (
        ({"drift": 0}, "a > 0"),
        ({"order": 2}, "p > 2"),
        ({"moment": -1}, "K >= 0"),
        ({"start": 11}, "X_0 <= J"),
    ):
        with pytest.raises(DomainError, match=word):
            PemantleRosenthal(**{"drift": 1, "level": 10, "order": 3, "moment": 1, **wrong})


def test_hajek_on_an_exact_chain():
    # a queue with lambda = 1/3, mu = 1/2: up 1/6, down 1/3; increments at most 1
    up, down = Fraction(1, 6), Fraction(1, 3)
    bound = Hajek(drift="1/6", level=0, exponent=1, transform=sp.E, mean=1, drift_shown="down - up")
    law = [Fraction(1)]
    for k in range(1, 41):
        after = [Fraction(0)] * (len(law) + 1)
        for q, p in enumerate(law):
            after[q + 1] += p * up
            after[max(q - 1, 0)] += p * down
            after[q] += p * (1 - up - down)
        law = after
        for b in (1, 5, 20):
            for s in ("1/20", "1/10", "1/5"):
                above = evaluate(bound.tail_bound(b, s, k)).lower
                assert sum(law[b:]) <= above
    # P(X_0 >= 200) = 1 from the start 200: at k = 0, and so for all k
    assert evaluate(bound.tail_bound(200, "1/10", start=200)).lower >= 1
    assert bound.tail_bound(200, "1/10", 0, start=200) == 1
    # c = (D - 1 - h E[Z]) / h^2 with increments of 1 and h = 2
    assert Hajek("1/6", 0, 2, sp.exp(2), 1).curvature.equals((sp.exp(2) - 3) / 4)
    # far out it says something for all times
    assert evaluate(bound.tail_bound(200, "1/10")).upper < Fraction(1, 10**5)
    assert "assumed: |X_(k+1) - X_k| <= Z" in bound.report() and not bound.is_complete
    with pytest.raises(DomainError, match="s c < e0"):
        bound.tail_bound(5, "1/2", 3)
    with pytest.raises(DomainError, match="0 < s <= h"):
        bound.tail_bound(5, 2, 3)
    for k in (-3, 2.5):
        with pytest.raises(DomainError, match="a whole number k >= 0"):
            bound.tail_bound(5, "1/10", k)
    # a level written as a decimal is exact
    assert bound.tail_bound(5.5, "1/10") == bound.tail_bound("11/2", "1/10")
    assert bound.tail_bound(5.1, "1/10", 3) == bound.tail_bound("51/10", "1/10", 3)
    with pytest.raises(DomainError, match="drift e0 > 0"):
        Hajek(0, 0, 1, sp.E, 1)
    with pytest.raises(DomainError, match="D >= 1"):
        Hajek(1, 0, 1, 1, 1)
