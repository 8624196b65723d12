"""Two players on intervals: by hand, by their regret, and against finite games."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.errors import DomainError, ExpressionError
from qtheory.games import Player, best_reply, bimatrix, equilibria, segment
from qtheory.games.algebraic import algebraic

x, y, c = sp.symbols("x y c", real=True)
half = sp.Rational(1, 2)


def spans(found):
    return [tuple(part.strategies.values()) for part in found.sets]


def test_cournot_duopoly():
    found = equilibria(Player(x, x * (1 - x - y) - c * x), Player(y, y * (1 - x - y)), {c: "1/10"})
    assert found.kind == "pure" and found.complete == "all"
    # first-order conditions: 2x + y = 9/10, x + 2y = 1
    assert spans(found) == [(segment("4/15"), segment("11/30"))]


def test_three_equilibria_of_a_coordination_game_are_all_found():
    # best replies cross at the two corners and at 1/2
    found = equilibria(
        Player(x, x * (3 * y**2 - 2 * y**3) - x**2 / 2),
        Player(y, y * (3 * x**2 - 2 * x**3) - y**2 / 2),
    )
    assert spans(found) == [(segment(v), segment(v)) for v in (0, half, 1)]
    assert found.complete == "all"


def test_irrational_equilibrium_has_no_regret():
    players = Player(x, -((x - y**2) ** 2)), Player(y, -((y - x / 2 - sp.Rational(1, 4)) ** 2))
    (only,) = equilibria(*players).sets
    profile = {s: part.point for s, part in only.strategies.items()}
    # y = y^2/2 + 1/4
    assert profile == {x: sp.Rational(3, 2) - sp.sqrt(2), y: 1 - sp.sqrt(2) / 2}
    assert only.regret(players) < Fraction(1, 10**11)


def test_an_indifferent_player_gives_an_interval():
    # the second player does not care, the first wants y = 1/2 to stay out
    found = equilibria(Player(x, x * (y - half) - x**2), Player(y, sp.Integer(0) * y))
    assert found.complete == "some"
    assert (segment(0), segment(0, half)) in spans(found)


def test_curves_of_equilibria_are_said_to_be_left_out():
    found = equilibria(Player(x, -((x - y) ** 2)), Player(y, -((x - y) ** 2)))
    assert found.complete == "some"
    assert spans(found) == [(segment(0), segment(0)), (segment(1), segment(1))]


bilinear = st.lists(st.integers(-3, 3), min_size=4, max_size=4)


@settings(max_examples=25, deadline=None)
@given(bilinear, bilinear)
def test_bilinear_games_agree_with_bimatrix_games(first, second):
    # x, y are the probabilities of the second row and column
    def table(entries):
        return [entries[:2], entries[2:]]

    def payoff(entries):
        (a, b), (d, e) = table(entries)
        return (1 - x) * ((1 - y) * a + y * b) + x * ((1 - y) * d + y * e)

    finite = bimatrix(table(first), table(second))
    found = equilibria(Player(x, payoff(first)), Player(y, payoff(second)))
    extreme = {(p[1], q[1]) for p, q in finite.equilibria().extreme}
    ends = {
        (algebraic(a).rational, algebraic(b).rational)
        for rows, columns in spans(found)
        for a in (rows.lower, rows.upper)
        for b in (columns.lower, columns.upper)
    }
    assert all(finite.regret((1 - p, p), (1 - q, q)) == 0 for p, q in ends)
    if found.complete == "all":
        assert ends == extreme


weights = st.fractions(Fraction(1, 10), 1, max_denominator=10)


@settings(max_examples=15, deadline=None)
@given(weights, weights)
def test_a_convex_against_a_concave_player(price, slope):
    # the gain 1 - y - price vanishes, and so does the slope 2 theta (1 - y) - slope
    players = Player(x, x**2 * (1 - y) - c * x), Player(y, -x * (1 - y) ** 2 - slope_symbol * y)
    at = {c: price, slope_symbol: slope}
    found = equilibria(*players, at)
    assert found.complete == "all"
    assert all(part.regret(players, at) == 0 for part in found.sets)
    if slope < 2 * price and price < 1:
        assert spans(found) == [(segment(slope / (2 * price)), segment(1 - price))]


slope_symbol = sp.Symbol("s", real=True)


def test_order_of_the_players_does_not_matter():
    first, second = Player(x, x**2 * (1 - y) - x / 4), Player(y, -x * (1 - y) ** 2 - y / 4)
    one, two = equilibria(first, second), equilibria(second, first)
    assert one.sets[0].strategies == two.sets[0].strategies
    assert one.sets[0].mixing == two.sets[0].mixing == (x,)
    assert "P(x = upper end) = 1/2" in str(one)


def test_two_convex_players_play_the_ends():
    found = equilibria(Player(x, (x - y) ** 2), Player(y, (x - y) ** 2))
    assert found.complete == "all"
    assert {tuple(p.lower for p in pair) for pair in spans(found)} == {(0, 1), (half, half), (1, 0)}
    # not strictly convex: where y = 0 every x is a best reply
    assert equilibria(Player(x, x**2 * y), Player(y, x * y**2)).complete == "some"


def test_equilibria_contain_only_best_replies():
    (only,) = equilibria(Player(x, x * y - x**2), Player(y, y * (1 - x) - y**2)).sets
    for mine, other in ((x, y), (y, x)):
        payoff = x * y - x**2 if mine == x else y * (1 - x) - y**2
        reply = best_reply(payoff, mine, at={other: only.strategies[other].point})
        assert only.strategies[mine].point in reply


def test_a_player_without_a_choice():
    found = equilibria(Player(x, -x, segment(half)), Player(y, x * y - y**2))
    assert spans(found) == [(segment(half), segment("1/4"))]


def test_bad_games():
    with pytest.raises(DomainError, match="the ends of x need to be rational"):
        equilibria(Player(x, -x, segment(0, sp.sqrt(2))), Player(y, -y))
    with pytest.raises(DomainError, match="not shown to be concave or convex in x"):
        equilibria(Player(x, (x - half) ** 3), Player(y, -y))
    with pytest.raises(ExpressionError, match="unknown parameter c"):
        equilibria(Player(x, -c * x), Player(y, -y))
    with pytest.raises(DomainError):
        equilibria(Player(x, 1 / (x - half) ** 2), Player(y, -y))
    with pytest.raises(DomainError, match="player of x is not shown to be finite"):
        equilibria(Player(x, x / (y - half)), Player(y, -y))
