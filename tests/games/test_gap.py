"""The gap of a profile: exact where it can be, enclosed otherwise."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.balls import Enclosure, evaluate
from qtheory.errors import DomainError
from qtheory.games import Player, gap, segment

x, y = sp.symbols("x y", real=True)
players = Player(x, x * (1 - x - y)), Player(y, y * (1 - x - y))
third = sp.Rational(1, 3)
units = st.fractions(0, 1, max_denominator=30)


@settings(max_examples=30, deadline=None)
@given(units, units)
def test_gains_by_hand(p, q):
    # the best reply to q is (1-q)/2, worth (1-q)^2/4
    found = gap(players, {x: p, y: q})
    assert found.gains[x].lower == found.gains[x].upper == (1 - q) ** 2 / 4 - p * (1 - p - q)
    assert found.is_equilibrium == (p == q == Fraction(1, 3))


@settings(max_examples=15, deadline=None)
@given(units, units)
def test_enclosed_gains_hold_the_exact_ones(p, q):
    wide = {
        x: Enclosure(p, p, 15),
        y: Enclosure(q - Fraction(1, 10**20), q + Fraction(1, 10**20), 15),
    }
    exact, enclosed = gap(players, {x: p, y: q}), gap(players, wide)
    for action in (x, y):
        assert exact.gains[action].lower in enclosed.gains[action]
        assert enclosed.gains[action].upper - enclosed.gains[action].lower < Fraction(1, 10**11)


@settings(max_examples=15, deadline=None)
@given(units, units)
def test_enclosed_gains_hold_those_at_both_ends_of_the_digits(p, q):
    ends = max(q - Fraction(1, 50), Fraction(0)), min(q + Fraction(1, 50), Fraction(1))
    enclosed = gap(players, {x: p, y: Enclosure(*ends, 2)})
    for end in ends:
        exact = gap(players, {x: p, y: end})
        assert all(exact.gains[action].lower in enclosed.gains[action] for action in (x, y))


def test_mixtures():
    matching = Player(x, x * y + (1 - x) * (1 - y)), Player(y, x * (1 - y) + (1 - x) * y)
    even = {0: "1/2", 1: "1/2"}
    assert gap(matching, {x: even, y: even}).is_equilibrium
    assert gap(matching, {x: {0: 1}, y: even}).epsilon == Fraction(1, 2)
    irrational = {0: "1/2", sp.sqrt(2) / 2: "1/2"}
    # against it the other player gains |sqrt(2)/2 - 1| / 2 at most
    found = gap(matching, {x: irrational, y: even})
    assert found.gains[y].lower <= found.gains[y].upper
    assert float(found.gains[y]) == pytest.approx((1 - 0.7071067811865476) / 2, abs=1e-11)


def test_an_irrational_profile_and_its_digits():
    root = sp.sqrt(2) / 2
    # the cube has its maximum at the end: x (x^2 - 1/2) on [0, root]
    hill = Player(x, x * (half_square - x**2), segment(0, 1)), Player(y, -(y**2))
    best = sp.sqrt(sp.Rational(1, 6))
    assert gap(hill, {x: best, y: 0}).epsilon < Fraction(1, 10**11)
    digits = evaluate(best, {}, 25)
    assert gap(hill, {x: digits, y: 0}).epsilon < Fraction(1, 10**11)
    # at x = sqrt(1/2) the payoff is 0, at the best x it is best/3
    worse = gap(hill, {x: root, y: 0}).gains[x]
    assert worse.lower <= Fraction(13608276348795434, 10**17) <= worse.upper


half_square = sp.Rational(1, 2)


def test_bad_profiles():
    with pytest.raises(DomainError, match="a profile needs x, y, got x"):
        gap(players, {x: 0})
    with pytest.raises(DomainError, match="x = 2 is outside"):
        gap(players, {x: 2, y: 0})
    with pytest.raises(DomainError, match="not probabilities"):
        gap(players, {x: {0: "1/2"}, y: 0})
    with pytest.raises(DomainError, match="not finite"):
        gap((Player(x, 1 / (3 * x - 1) ** 2), Player(y, y)), {x: sp.sqrt(2) / 2, y: 1})
    with pytest.raises(DomainError, match="not finite at x = 1/3"):
        gap((Player(x, 1 / (3 * x - 1) ** 2), Player(y, y)), {x: 1, y: 1})
