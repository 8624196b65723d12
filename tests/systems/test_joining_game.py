"""The joining game: exact in the limit, certified for N queues, and its gap as N grows."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from joining_games import games
from scipy.optimize import brentq, minimize_scalar

from qtheory.balls import Enclosure, evaluate
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.games.algebraic import algebraic
from qtheory.systems import dedicated_streams as ds
from qtheory.systems.dedicated_streams.finite_joining import (
    finite_equilibrium,
    finite_optimum,
    finite_price_of_anarchy,
)
from qtheory.systems.dedicated_streams.gaps import fit_decay, gap_table, total_variation
from qtheory.systems.dedicated_streams.joining_game import (
    equilibrium,
    finite_play,
    joining_game,
    optimum,
    price_of_anarchy,
    utility_at,
    welfare_at,
)
from qtheory.systems.dedicated_streams.occupancy import occupancy_law

PUBLISHED = {  # arXiv 2012.14955's system at lam 0.4, lam_s 0.3, mu 1: E_N[X], E_N[M]
    1: (7 / 3, 7 / 3),
    2: (1.6977697259, 1.0622061184),
    3: (1.4912508930, 0.6491684530),
    4: (1.39041916, 0.447505),
}
INTERIOR = joining_game("2/5", "3/10", 1, "13/8", 1)
ALL_JOIN = joining_game("2/5", "3/10", 1, "13/6", 1)


def same(number, formula, game):
    """Whether an exact number lies in the proved enclosure of a closed form."""
    mine = algebraic(number).enclosure(20)
    other = evaluate(ds.system.formula(formula).expression, game.at, digits=20)
    return mine.lower <= other.upper and other.lower <= mine.upper


# The limit


@given(games)
@settings(max_examples=20, deadline=None)
def test_the_game_has_the_closed_forms_and_their_order(game):
    q_e, best = equilibrium(game), optimum(game)
    assert same(q_e.point, "q_e", game)
    assert same(best.replies[0].point, "q_opt", game)
    assert same(best.value, "S_opt", game)
    assert algebraic(best.replies[0].point) <= algebraic(q_e.point)
    assert not algebraic(best.value) < algebraic(welfare_at(game, q_e.point))


@pytest.mark.parametrize("R", ["5/4", "3/2", "13/8", 2, 3])
def test_nobody_gains_by_deviating_and_no_fraction_is_better(R):
    game = joining_game("2/5", "3/10", 1, R, 1)
    q_e = equilibrium(game).point
    U = utility_at(game, q_e)
    assert all(Fraction(p, 50) * U <= Fraction(sp.Rational(q_e)) * U for p in range(51))
    best = algebraic(optimum(game).value)
    assert all(not best < algebraic(welfare_at(game, Fraction(p, 50))) for p in range(51))


def test_boundaries_of_the_regimes():
    """R = C (mu + lam_s)/mu^2 and R = C (mu + lam_s)/(mu (mu - lam)) with lam 2/5, lam_s 3/10."""
    low = joining_game("2/5", "3/10", 1, "13/10", 1)
    assert equilibrium(low).point == 0
    assert optimum(low).replies[0].point == 0
    assert utility_at(low, 0) == 0
    assert equilibrium(ALL_JOIN).point == 1
    assert utility_at(ALL_JOIN, 1) == 0
    just_above = joining_game("2/5", "3/10", 1, Fraction(13, 10) + Fraction(1, 10**9), 1)
    assert 0 < float(equilibrium(just_above)) < 1e-8
    should_all = joining_game("2/5", "3/10", 1, Fraction(130, 36), 1)  # R (mu - lam)^2 = C 13/10
    assert optimum(should_all).replies[0].point == 1


def test_indifferent_smart_customers():
    """At R = C/mu even an empty queue pays nothing: no dedicated customer joins, S = 0."""
    game = joining_game("2/5", "3/10", 2, "1/2", 1)
    assert equilibrium(game).point == 0
    assert optimum(game).value == 0
    with pytest.raises(DomainError, match="positive welfare"):
        _ = price_of_anarchy(game).price_of_anarchy
    with pytest.raises(DomainError, match=r"R\*mu"):
        joining_game("2/5", "3/10", 2, "49/100", 1)


def test_no_smart_stream_and_a_vanishing_one():
    game = joining_game("1/2", 0, 1, "3/2", 1)
    assert equilibrium(game).point == sp.Rational(2, 3)  # M/M/1: R = C/(mu - lam q)
    assert price_of_anarchy(game).worst == 0
    with pytest.raises(DomainError, match="positive welfare"):
        _ = price_of_anarchy(game).price_of_anarchy
    for k in (2, 5, 9):
        near = joining_game("1/2", Fraction(1, 10**k), 1, "3/2", 1)
        # q_e falls by C lam_s/(mu R lam)
        assert equilibrium(near).point == sp.Rational(2, 3) - sp.Rational(4, 3) / 10**k
        assert price_of_anarchy(near).price_of_anarchy > 10 ** (k - 2)


def test_no_dedicated_customers():
    assert equilibrium(joining_game(0, "3/10", 1, 2, 1)).point == 1
    assert equilibrium(joining_game(0, "3/10", 1, "6/5", 1)).point == 0
    indifferent = equilibrium(joining_game(0, "3/10", 1, "13/10", 1))
    assert (indifferent.lower, indifferent.upper) == (0, 1)
    assert price_of_anarchy(joining_game(0, "3/10", 1, 2, 1)).price_of_anarchy == 1
    play = finite_play(joining_game(0, "3/10", 1, 2, 1), 2, 1)
    assert play.shortest == finite_play(joining_game(0, "3/10", 1, 2, 1), 2, "1/3").shortest
    assert finite_equilibrium(joining_game(0, "3/10", 1, 2, 1), 2).q.lower == 1
    assert finite_equilibrium(joining_game(0, "3/10", 1, "6/5", 1), 2).q.upper == 0
    # S_N does not depend on q
    assert finite_optimum(joining_game(0, "3/10", 1, 2, 1), 2).parts == ((0, 1),)


def test_price_of_anarchy_in_the_interior():
    found = price_of_anarchy(INTERIOR)
    assert found.worst == sp.Rational(3, 10) * (sp.Rational(13, 8) - 1)
    ratio = (sp.sqrt(sp.Rational(13, 8) * sp.Rational(13, 10)) - 1) ** 2 / found.worst
    assert sp.simplify(found.price_of_anarchy - ratio) == 0
    low, high = equilibrium(INTERIOR).enclosures(30)
    assert low.lower == high.upper == Fraction(1, 2)


@pytest.mark.parametrize(
    ("point", "error"),
    [
        (("2/5", "3/5", 1, 2, 1), UnstableError),
        (("-1/5", "3/5", 1, 2, 1), DomainError),
        (("2/5", "-1/5", 1, 2, 1), DomainError),
        (("2/5", "1/5", 1, 2, 0), DomainError),
    ],
)
def test_bad_points(point, error):
    with pytest.raises(error):
        joining_game(*point)


# N queues


@pytest.mark.parametrize("N", PUBLISHED)
def test_certified_play_has_the_published_means(N):
    length, shortest = PUBLISHED[N]
    play = finite_play(ALL_JOIN, N, 1, "1/100000")
    assert abs(float(play.shortest) - shortest) < 1e-5
    assert abs(float(play.length) - length) < 1e-5
    assert play.utility.upper - play.utility.lower <= Fraction(1, 10**5)
    # U(1) = 0 here, so U_N = -C lam_s E_N[M]/(mu (mu - lam)) and eps_N = -U_N
    assert play.gap.upper == -play.utility.lower == play.shortest.upper / 2
    assert play.distance == Enclosure(
        play.shortest.lower / 2, play.shortest.upper / 2, play.distance.digits
    )


def test_play_agrees_with_the_law_in_floats():
    """(I5) is used by the certified value; the law knows nothing of it."""
    law = occupancy_law(3, "2/5", "3/10", 1, "1/4", tolerance=1e-8)
    play = finite_play(INTERIOR, 3, "1/4")
    assert float(play.length.lower) - 1e-7 < law.mean_length < float(play.length.upper) + 1e-7
    assert float(play.utility) == pytest.approx(13 / 8 - 1 - law.mean_length, abs=1e-4)
    joined = 0.4 / 4 + 0.3
    assert float(play.welfare) == pytest.approx(13 / 8 * joined - law.mean_length, abs=1e-4)


@pytest.mark.parametrize("fraction", [0, "3/10", "1/2", 1])
def test_gap_is_the_gain_of_the_best_deviation(fraction):
    play = finite_play(INTERIOR, 2, fraction)
    q = float(Fraction(fraction))
    for U in (float(play.utility.lower), float(play.utility.upper)):
        gain = max(p / 10 * U for p in range(11)) - q * U
        assert float(play.gap.lower) - 1e-12 <= gain <= float(play.gap.upper) + 1e-12
    assert play.gap.lower >= 0


def test_gap_may_be_zero_where_the_utility_may_be():
    """q_e(2) lies within 1/10^4 of 0.35833."""
    play = finite_play(INTERIOR, 2, "717/2000", "1/20")
    assert play.utility.lower < 0 < play.utility.upper
    assert play.gap.lower == 0 < play.gap.upper


def test_shortest_and_length_grow_with_q():
    plays = [finite_play(INTERIOR, 2, Fraction(k, 4)) for k in range(5)]
    for before, after in pairwise(plays):
        assert before.shortest.upper < after.shortest.lower
        # the bound of the module's docstring, with E[M] >= its lower end
        room = 1 - Fraction(2, 5) * before.q
        rise = Fraction(1, 4) * Fraction(2, 5) * (1 + Fraction(3, 10)) / room**2
        assert after.length.upper - before.length.lower >= rise


def test_equilibrium_of_one_queue_is_known():
    """M/M/1 with lam q + lam_s: R = C/(mu - lam q - lam_s)."""
    exact = (1 - Fraction(3, 10) - Fraction(8, 13)) / Fraction(2, 5)
    found = finite_equilibrium(INTERIOR, 1, "1/1000000").q
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower <= Fraction(1, 10**6)


@pytest.mark.parametrize("N", [2, 3])
def test_equilibrium_of_more_queues_holds_the_numeric_root(N):
    def utility(q):
        law = occupancy_law(N, "2/5", "3/10", 1, Fraction(q), tolerance=1e-8)
        return 13 / 8 - 1 - law.mean_length

    found = finite_equilibrium(INTERIOR, N)
    root = brentq(utility, float(found.q.lower) - 0.05, float(found.q.upper) + 0.05, xtol=1e-5)
    assert float(found.q.lower) - 2e-5 < root < float(found.q.upper) + 2e-5
    assert found.q.upper - found.q.lower <= Fraction(1, 10**4)
    assert found.q.upper < Fraction(1, 2)  # q_e of the limit


def test_equilibrium_at_the_corners():
    assert finite_equilibrium(joining_game("2/5", "3/10", 1, 9, 1), 2).q.is_exact
    assert finite_equilibrium(joining_game("2/5", "3/10", 1, 9, 1), 2).q.lower == 1
    assert finite_equilibrium(joining_game("2/5", "3/10", 1, "13/10", 1), 2).q.upper == 0
    # interior in the limit, but in a system of two queues nobody joins
    game = joining_game("2/5", "3/10", 1, "133/100", 1)
    assert 0 < equilibrium(game).point < 1
    assert finite_equilibrium(game, 2).q.upper == 0


def test_optimum_of_one_queue_is_known():
    """R x - C x/(mu - x) is greatest at the total rate x = mu - sqrt(C mu/R)."""
    game = joining_game("2/5", "3/10", 1, "13/4", 1)
    rate = 1 - (4 / 13) ** 0.5
    found = finite_optimum(game, 1, "1/1000")
    best = 3.25 * rate - rate / (1 - rate)
    assert float(found.welfare.lower) <= best <= float(found.welfare.upper)
    assert found.welfare.upper - found.welfare.lower <= Fraction(1, 1000)
    assert any(low <= (rate - 0.3) / 0.4 <= high for low, high in found.parts)
    assert found.q.upper - found.q.lower < Fraction(1, 5)


def test_optimum_of_two_queues_holds_the_numeric_one():
    game = joining_game("2/5", "3/10", 1, "13/4", 1)

    def loss(q):
        law = occupancy_law(2, "2/5", "3/10", 1, Fraction(q), tolerance=1e-6)
        return law.mean_length - 13 / 4 * (0.4 * q + 0.3)

    best = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-2})
    found = finite_optimum(game, 2, "1/100")
    assert float(found.welfare.lower) <= -best.fun + 1e-4
    assert -best.fun - 1e-4 <= float(found.welfare.upper)
    assert float(found.q.lower) < best.x < float(found.q.upper)
    # less than in the limit, where everybody should nearly join
    assert found.welfare.upper < algebraic(optimum(game).value).enclosure().lower
    assert found.q.upper < Fraction(sp.Rational(9, 10))


def test_price_of_anarchy_of_finite_systems():
    """The welfare of one queue in equilibrium is 0 (Edelson and Hildebrand, 1975)."""
    with pytest.raises(DomainError, match="positive welfare"):
        finite_price_of_anarchy(INTERIOR, 1)
    game = joining_game("1/5", "3/10", 1, "13/8", 1)
    found = finite_price_of_anarchy(game, 3, "1/50")
    q = finite_equilibrium(game, 3).q
    # at an interior equilibrium E[X] = R mu/C - 1, so S = R (lam q + lam_s - mu) + C
    welfare = [game.R * (game.lam * end + game.lam_s - 1) + 1 for end in (q.lower, q.upper)]
    best = finite_optimum(game, 3, "1/1000").welfare
    assert found.lower <= best.lower / welfare[1]
    assert best.upper / welfare[0] <= found.upper
    assert found.lower >= 1


def test_more_queues_join_more():
    found = [finite_equilibrium(INTERIOR, N, "1/100").q for N in (1, 2, 3)]
    assert all(before.upper < after.lower for before, after in pairwise(found))
    assert found[-1].upper < Fraction(1, 2)


def test_optimum_without_a_smart_stream_is_that_of_the_limit():
    game = joining_game("1/2", 0, 1, 2, 1)
    found = finite_optimum(game, 3, "1/10000")
    best = algebraic(optimum(game).value).enclosure()
    assert found.welfare.lower <= best.lower
    assert best.upper <= found.welfare.upper


def test_bad_finite_input():
    with pytest.raises(DomainError):
        finite_play(INTERIOR, 2, "3/2")
    with pytest.raises(ModelError):
        finite_play(INTERIOR, 0, 1)
    with pytest.raises(DomainError):
        finite_equilibrium(INTERIOR, 2, 0)
    with pytest.raises(DomainError):
        finite_optimum(INTERIOR, 2, -1)


# The gap as N grows


def test_gap_table_falls_and_says_how_it_knows():
    rows = gap_table(INTERIOR, range(1, 7), certified=3)
    assert [row.kind for row in rows] == ["certified"] * 3 + ["estimated"] * 3
    for before, after in pairwise(rows):
        assert all(a < b for a, b in zip(after.numbers, before.numbers, strict=True))
    # eps = q_e C lam_s E[M]/(mu (mu - lam q_e)) at an interior equilibrium
    for row in rows:
        shortest, epsilon, distance = row.numbers
        assert epsilon == pytest.approx(0.5 * 0.3 * shortest / 0.8, rel=1e-6)
        assert distance == pytest.approx(0.3 * shortest / 0.8, rel=1e-6)
    (certified,) = gap_table(INTERIOR, [4])
    assert float(certified.epsilon.lower) - 1e-5 < rows[3].epsilon
    assert rows[3].epsilon < float(certified.epsilon.upper) + 1e-5


def test_gap_without_dedicated_customers():
    """U_N = R - C (1 + E_N[X])/mu is the same for every q; nobody to deviate from q = 1."""
    game = joining_game(0, "3/10", 1, 2, 1)
    certified, estimated = gap_table(game, [2], 1)[0], gap_table(game, [2], 1, certified=0)[0]
    assert certified.epsilon.upper == 0
    assert estimated.epsilon == 0
    assert estimated.shortest == pytest.approx(float(certified.shortest), abs=1e-5)


def test_a_simulated_row_agrees_with_a_certified_one():
    certified, simulated = (gap_table(ALL_JOIN, [3], certified=c, estimated=0)[0] for c in (3, 0))
    assert simulated.kind == "simulated"
    assert abs(simulated.epsilon.z(float(certified.epsilon))) < 4.5
    assert 0 < simulated.epsilon.half_width < 0.1


def test_total_variation_lies_between_its_bounds():
    for N in (1, 2, 4):
        law = occupancy_law(N, "2/5", "3/10", 1, tolerance=1e-8)
        met = float(law.probabilities[law.states[:, 0] >= 1].sum())
        distance = total_variation(law)
        assert 0.3 * met - 1e-6 <= distance <= 0.3 * met / 0.6 + 1e-6
    alone = occupancy_law(1, "2/5", "3/10", 1, tolerance=1e-10)
    k = np.arange(1, 200)
    expected = abs(0.3 * 0.7**k - 0.42 * 0.4 ** (k - 1)).sum() / 2
    assert total_variation(alone) == pytest.approx(expected, abs=1e-6)


def test_fit_of_known_decays():
    queues = [1, 2, 3, 5, 9]
    found = fit_decay(queues, [np.exp(1 - 0.25 * N) / N**2 for N in queues])
    assert found[:3] == pytest.approx((1, 0.25, 2))
    assert found.error < 1e-9
    with pytest.raises(DomainError):
        fit_decay([1, 2, 3, 4], [1, 0.5, 0, 0.1])
    with pytest.raises(DomainError):
        fit_decay([1, 2, 3], [1, 0.5, 0.1])
