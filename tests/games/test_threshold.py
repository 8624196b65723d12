"""Joining games: the equilibria by hand, by Sturm's count, and by the definition on a grid."""

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory import Domain
from qtheory.errors import DomainError, ExpressionError
from qtheory.games import joining_equilibria, joining_regimes, segment
from qtheory.games.algebraic import algebraic
from qtheory.systems import dedicated_streams as ds

q = sp.Symbol("q", nonnegative=True)
half = sp.Rational(1, 2)


def shown(utility, at=None):
    return [str(found) for found in joining_equilibria(utility, q, at)]


def test_crowds_avoided_and_followed():
    assert shown(half - q) == ["1/2 (stable)"]
    assert shown(-q - 1) == ["0 (stable)"]
    assert shown(2 - q) == ["1 (stable)"]
    assert shown(3 * q - 1) == ["0 (stable)", "1/3 (not stable)", "1 (stable)"]


def test_ties_at_the_ends():
    assert shown(-q) == ["0 (stable)"]
    assert shown(q) == ["0 (not stable)", "1 (stable)"]
    assert shown(1 - q) == ["1 (stable)"]
    assert shown(q - 1) == ["0 (stable)", "1 (not stable)"]


def test_touching_zero_is_an_equilibrium_but_not_stable():
    assert shown((q - half) ** 2) == ["1/2 (not stable)", "1 (stable)"]
    assert shown(-((q - half) ** 2)) == ["0 (stable)", "1/2 (not stable)"]


def test_indifference_gives_intervals():
    assert shown(0 * q) == ["[0, 1] (not stable)"]
    flat = sp.Piecewise((half - q, q < half), (0, q < sp.Rational(3, 4)), (3 - 4 * q, True))
    assert shown(flat) == ["[1/2, 3/4] (not stable)"]
    rising = sp.Piecewise((q - half, q < half), (0, True))
    assert shown(rising) == ["0 (stable)", "[1/2, 1] (not stable)"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=5).filter(any))
def test_the_number_of_equilibria_is_sturms_count(coefficients):
    utility = sum(sp.Integer(a) * q**i for i, a in enumerate(coefficients))
    found = joining_equilibria(utility, q)
    if not utility.has(q):
        return
    zeros = sp.Poly(utility, q).count_roots(0, 1)
    ends = bool(utility.subs(q, 0) < 0) + bool(utility.subs(q, 1) > 0)
    assert len(found) == zeros + ends
    for item in found:
        place = float(algebraic(item.q.point))
        invaders = [place + s * 1e-4 for s in (-1, 1) if 0 <= place + s * 1e-4 <= 1]
        if abs(float(algebraic(utility.subs(q, sp.Rational(place))))) < 1e-9:
            gaps = [abs(place - float(algebraic(o.q.point))) for o in found if o is not item]
            if any(g < 1e-3 for g in gaps):
                continue
            ahead = [(place - v) * float(utility.subs(q, sp.Rational(v))) for v in invaders]
            assert item.stable == all(a > 0 for a in ahead)
        else:
            assert item.stable


def test_dedicated_customers_join_as_the_formulas_say():
    cases = joining_regimes(ds.utility, ds.q, ds.game)
    assert all(cases.verify().values())
    assert cases["some join"].values["q_e"].equals(ds.interior_q_e)
    for reward in ("1/2", "5/4", "3/2", 2, "5/2", 4):
        at = {"lam": "1/2", "mu": 1, "lam_s": "1/4", "C": 1, "R": reward}
        (direct,) = joining_equilibria(ds.utility, ds.q, at)
        for found in _values(cases, at):
            assert segment(found) == direct.q


def _values(cases, at):
    try:
        return [values["q_e"] for values in cases.at(at).values()]
    except DomainError:  # the paper needs R >= C / mu
        assert sp.Rational(at["R"]) < 1
        return []


def test_a_followed_crowd_for_all_parameters():
    c = sp.Symbol("c", positive=True)
    cases = joining_regimes((q - c) / (1 + q), q, Domain(symbols=(c,)))
    assert all(cases.verify().values())
    assert cases.at({c: "1/3"}) == {
        "none, some or all join": {"q_0": 0, "q_e": sp.Rational(1, 3), "q_1": 1}
    }
    assert cases.at({c: 2}) == {"none join": {"q_0": 0}}
    assert [str(f.q) for f in joining_equilibria((q - c) / (1 + q), q, {c: "1/3"})] == [
        "0",
        "1/3",
        "1",
    ]


def test_bad_utilities():
    c = sp.Symbol("c", positive=True)
    with pytest.raises(DomainError, match="jumps at q = 1/2"):
        joining_equilibria(sp.Piecewise((1, q < half), (-1, True)), q)
    with pytest.raises(DomainError, match="not finite at q = 1/2"):
        joining_equilibria(1 / (q - half), q)
    with pytest.raises(ExpressionError, match="unknown parameter c"):
        joining_equilibria(c - q, q)
    with pytest.raises(ExpressionError, match="by q against a number"):
        joining_equilibria(sp.Piecewise((1 - q, q < c), (0, True)), q, {c: half})
    with pytest.raises(DomainError, match="not linear-fractional"):
        joining_regimes(c - q**2, q, Domain(symbols=(c,)))
    with pytest.raises(DomainError, match="neither to increase nor to decrease"):
        joining_regimes((c - 1) * q, q, Domain(symbols=(c,)))
