"""Patient queues: growth rates against brute force, and exact deviations."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qtheory import Domain, evaluate, prove
from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.learning import patient
from qtheory.learning.feasibility import feasibility
from qtheory.learning.patient import growth, profile_from_text, symmetric_profile
from qtheory.learning.patient_gap import best_deviation, matrix_game, patient_gap


def laws(m):
    weights = st.lists(st.integers(0, 3), min_size=m, max_size=m).filter(any)
    return weights.map(lambda w: tuple(Fraction(x, sum(w)) for x in w))


@st.composite
def systems(draw, most=4):
    n, m = draw(st.integers(1, most)), draw(st.integers(1, 3))
    lam = draw(st.lists(st.fractions("1/6", 1, max_denominator=6), min_size=n, max_size=n))
    mu = draw(st.lists(st.fractions(0, 1, max_denominator=6), min_size=m, max_size=m))
    return lam, mu, [draw(laws(m)) for _ in range(n)]


def ratio(lam, mu, profile, before, chosen):
    served = sum(
        rate
        * prod((1 - profile[i][j] for i in before), start=Fraction(1))
        * (1 - prod((1 - profile[i][j] for i in chosen), start=Fraction(1)))
        for j, rate in enumerate(mu)
    )
    return served / sum(lam[i] for i in chosen)


def by_definition(lam, mu, profile):
    """The rates by the definition, over all sets of queues."""
    done, rates = set(), [Fraction(0)] * len(lam)
    while len(done) < len(lam):
        rest = [i for i in range(len(lam)) if i not in done]
        sets = [s for k in range(1, len(rest) + 1) for s in combinations(rest, k)]
        ratios = {s: ratio(lam, mu, profile, done, s) for s in sets}
        least = min(ratios.values())
        if least >= 1:
            break
        union = {i for s, value in ratios.items() if value == least for i in s}
        for i in union:
            rates[i] = 1 - least
        done |= union
    return tuple(rates)


@settings(max_examples=80, deadline=None)
@given(systems())
def test_growth_by_definition(system):
    found = growth(*system)
    assert found.rates == by_definition(*system)
    ratios = [value for _, value in found.chain]
    assert ratios == sorted(set(ratios)) and all(0 <= value < 1 for value in ratios)
    assert found.rest is None or found.rest[1] >= 1
    assert found.size_rates == tuple(x * r for x, r in zip(system[0], found.rates, strict=True))


def test_reference_values():
    first = growth(["1/2", "1/4"], ["1/2", "1/4"], [[1, 0]] * 2)
    assert first.rates == (Fraction(1, 3),) * 2
    assert first.chain == (((0, 1), Fraction(2, 3)),) and first.rest is None
    second = growth(
        ["3/5", "2/5", "1/5"],
        ["1/2", "1/4", "1/10"],
        [["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], [1, 0, 0]],
    )
    assert second.rates == (Fraction(59, 120), Fraction(59, 120), Fraction(1, 6))
    assert second.chain == (((0, 1), Fraction(61, 120)), ((2,), Fraction(5, 6)))
    assert "r_{3} = \\frac{1}{6}" in second._repr_latex_()
    third = growth(["1/3"] * 3, ["1/2"] * 2, [["1/2", "1/2"]] * 3)
    assert third.rates == (Fraction(1, 8),) * 3
    assert growth([1], [0], [[1]]).rates == (1,)


def test_critical_queues_do_not_grow_linearly_and_are_not_stable():
    critical = growth(["1/2"], ["1/2"], [[1]])
    assert critical.rates == (0,) and not critical.is_stable and critical.rest == ((0,), 1)
    assert "critical" in repr(critical)
    assert growth(["1/3"], ["1/2"], [[1]]).is_stable
    # the second queue is stable although the first one grows
    mixed = growth(["1/2", "1/4"], ["1/4", "1/2"], [[1, 0], [0, 1]])
    assert mixed.rates == (Fraction(1, 2), 0) and not mixed.is_stable
    assert mixed.rest == ((1,), 2)


def test_texts_count_from_1_and_name_what_is_left():
    text = repr(growth(["1/3", "1/4"], [1, "1/4"], [[1, 0], [0, 1]])).splitlines()
    assert text[0] == "growth of the ages: 0, 0; queues count from 1"
    assert text[2:] == ["  queue 2: f* = 1, critical, and larger for all others"]
    text = repr(growth(["1/3"], ["1/2"], [[1]])).splitlines()
    assert text[2:] == ["  queue 1: f* = 3/2, stable"]
    text = repr(growth(["1/2", "1/4"], ["1/4", 1], [[1, 0], [0, 1]])).splitlines()
    assert text[2:] == ["  queue 1: f* = 1/2, grow", "  queue 2: f* = 4, stable"]


def test_equal_queues_are_one_kind():
    # 40 queues, two kinds
    lam = [Fraction(1, 30)] * 20 + [Fraction(1, 20)] * 20
    profile = [(1, 0)] * 20 + [(0, 1)] * 20
    found = growth(lam, ["1/2", "1/2"], profile)
    assert found.rates == (Fraction(1, 4),) * 20 + (Fraction(1, 2),) * 20
    distinct = [Fraction(k, 100) for k in range(1, 20)]
    with pytest.raises(ModelError, match="19 kinds of queues; at most 18"):
        growth(distinct, [1], [[1]] * 19)


def test_the_symmetric_profile_is_an_equilibrium_below_its_threshold():
    values = ["1", "3/4", "19/27", "175/256", "2101/3125"]
    for n, value in enumerate(values, 1):
        assert patient.symmetric_threshold(n) == sp.Rational(value)
        lam = min(Fraction(1), Fraction(value) * Fraction(21, 20))
        played = symmetric_profile(n)
        assert growth([lam] * n, [1] * n, played).rates == (1 - Fraction(value) / lam,) * n
        assert patient_gap([lam] * n, [1] * n, played).is_equilibrium
    assert patient.symmetric_threshold(10) == sp.Rational(6513215599, 10**10)
    stable = growth([Fraction(7, 10)] * 3, [1] * 3, symmetric_profile(3))
    assert stable.rest == ((0, 1, 2), Fraction(190, 189)) and stable.is_stable
    assert prove(patient.symmetric_balance(), Domain(sp.Symbol("n", positive=True) >= 1))


def test_the_limit_of_the_symmetric_ratio():
    n = sp.Symbol("n", positive=True)
    assert sp.limit(patient.symmetric_ratio(n), n, sp.oo).equals(sp.E / (sp.E - 1))
    ratios = [patient.symmetric_ratio(k) for k in range(1, 30)]
    assert ratios == sorted(set(ratios))
    assert ratios[:5] == [1, *map(sp.Rational, ("4/3", "27/19", "256/175", "3125/2101"))]
    assert str(evaluate(1 / (1 - sp.exp(-1)), digits=25)) == "1.581976706869326424385002"
    # all are below e/(e - 1), by proven digits of the limit
    assert all(ratio < sp.Rational("1.5819767") for ratio in ratios)


def test_all_at_one_server_is_no_equilibrium():
    for n in range(2, 7):
        least = Fraction(n, n * n - n + 1)
        lam = least * Fraction(11, 10)
        system = [lam] * n, [1, *[Fraction(1, n)] * (n - 1)], [(1, *[0] * (n - 1))] * n
        assert growth(*system).rates == (1 - 1 / (n * lam),) * n
        best = best_deviation(*system, 0)
        share = 1 - best.strategy[0]
        assert share == patient.deviation_share(n)
        assert best.rate == patient.deviation_rate(n, lam) == Fraction(1, 11)
        # then all queues grow at this rate; moving entirely changes nothing
        after = growth(system[0], system[1], [best.strategy, *system[2][1:]])
        assert after.rates == (best.rate,) * n
        moved = growth(system[0], system[1], [(0, 1, *[0] * (n - 2)), *system[2][1:]])
        assert moved.rates[0] == growth(*system).rates[0]
    assert [patient.deviation_share(n) for n in (2, 3, 4)] == [
        sp.Rational(2, 3),
        sp.Rational(6, 7),
        sp.Rational(12, 13),
    ]
    domain = Domain(sp.Symbol("n", positive=True) >= 2)
    assert all(prove(claim, domain) for claim in patient.deviation_balance().values())


@settings(max_examples=30, deadline=None)
@given(systems(3), st.data())
def test_no_deviation_beats_the_best_one(system, data):
    lam, mu, profile = system
    queue = data.draw(st.integers(0, len(lam) - 1))
    best = best_deviation(lam, mu, profile, queue)

    def rate(strategy):
        played = [strategy if i == queue else row for i, row in enumerate(profile)]
        return growth(lam, mu, played).rates[queue]

    assert rate(best.strategy) == best.rate == rate(profile[queue]) - best.gain
    for weights in product(range(4), repeat=len(mu)):
        if any(weights):
            strategy = tuple(Fraction(x, sum(weights)) for x in weights)
            assert rate(strategy) >= best.rate


@settings(max_examples=40, deadline=None)
@given(systems(3))
def test_growth_is_no_equilibrium_above_the_factor(system):
    # the theorem of Gaitonde and Tardos (2021): factor e/(e - 1) = 1.58...
    lam, mu, profile = system
    assume(any(mu))
    factor = feasibility(lam, mu).scale / Fraction(8, 5)
    lam = [min(Fraction(1), x * factor * Fraction(99, 100)) for x in lam]
    assert feasibility(lam, mu).scale > Fraction(8, 5)
    if any(growth(lam, mu, profile).rates):
        assert not patient_gap(lam, mu, profile).is_equilibrium


def test_gaps():
    found = patient_gap(["2/3", "2/3"], [1, "1/2"], [[1, 0], [1, 0]])
    assert found.epsilon == Fraction(1, 4) and not found.is_equilibrium
    assert "gains 1/4" in repr(found)
    # each queue has its own server of rate 1: nobody can gain
    apart = patient_gap([1, 1], [1, 1], [[1, 0], [0, 1]])
    assert apart.is_equilibrium and "no deviation gains" in repr(apart)


entries = st.integers(-3, 3).map(Fraction)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_matrix_games(rows, columns, data):
    payoff = [[data.draw(entries) for _ in range(columns)] for _ in range(rows)]
    value, law = matrix_game(payoff)
    assert sum(law) == 1 and min(law) >= 0

    def worst(q):
        return min(sum(a * p for a, p in zip(row, q, strict=True)) for row in payoff)

    assert worst(law) == value
    # the other player's optimum proves that no law does better
    dual, mixture = matrix_game([[-row[j] for row in payoff] for j in range(columns)])
    assert dual == -value and sum(mixture) == 1


def test_profiles():
    assert profile_from_text("1,0; 1/3,2/3") == ((1, 0), (Fraction(1, 3), Fraction(2, 3)))
    with pytest.raises(ExpressionError):
        profile_from_text("1,x")
    with pytest.raises(ModelError, match=r"needs 2 rows of 2 probabilities, got rows of \[2\]"):
        growth([1, 1], [1, 1], [[1, 0]])
    with pytest.raises(ModelError, match=r"got rows of \[1, 2\]"):
        growth([1, 1], [1, 1], [[1], [1, 0]])
    for row in (["1/2", "1/3"], ["3/2", "-1/2"]):
        with pytest.raises(DomainError, match="not probabilities for queue 2 of 2"):
            growth([1, 1], [1, 1], [[1, 0], row])
    with pytest.raises(DomainError, match="0 < lambda"):
        growth([0], [1], [[1]])
    with pytest.raises(ModelError, match=r"queues are 0, \.\.\., 0, got 1"):
        best_deviation([1], [1], [[1]], 1)
    with pytest.raises(ModelError, match="9 kinds of other queues; at most 8"):
        best_deviation([Fraction(k, 10) for k in range(1, 11)], ["1/10"], [[1]] * 10, 0)
