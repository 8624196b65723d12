"""The attack game on the exact cost: regimes by brute force, maps, two-sided bounds, targeting."""

from fractions import Fraction as F

import numpy as np
import pytest

from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError, UnstableError
from qtheory.systems import shorter_queue as sq
from qtheory.systems.shorter_queue import attack_game
from qtheory.systems.shorter_queue.cost_shape import convexity
from qtheory.systems.shorter_queue.exact_attack import crossing, equilibrium, gain
from qtheory.systems.shorter_queue.exact_cost import cost, slope
from qtheory.systems.shorter_queue.exact_map import compare_maps, cost_curve, exact_regime_map
from qtheory.systems.shorter_queue.robust_attack import cost_bounds, robust_regime
from qtheory.systems.shorter_queue.targeted_cost import increase_under_targeted_attack

LAM = F(1, 2)
POINTS = {
    "I": (F(1, 5), F(1, 10)),
    "II": (F(1, 20), F(1, 5)),
    "III": (F(1, 100), F(1, 8)),
    "IV": (F(1, 100), F(1, 20)),
}
GRID = [F(i, 10) for i in range(11)]
SMALL = F(1, 10**6)


def middle(enclosure):
    return (enclosure.lower + enclosure.upper) / 2


def at(p):
    return middle(cost(LAM, 1, p, digits=9))


@pytest.mark.parametrize("regime", POINTS)
def test_no_deviation_on_a_grid_pays(regime):
    ca, cb = POINTS[regime]
    found = equilibrium(LAM, 1, ca, cb, digits=8)
    assert found.regime == regime
    theta, b = middle(found.theta), middle(found.b)
    near = [b + step for step in (F(-1, 100), F(1, 100)) if 0 <= b + step <= 1]

    def attack(a):
        return at(a * (1 - b)) - ca * a

    def expected(defended):
        return theta * at(1 - defended) + (1 - theta) * at(0) + cb * defended

    played = theta * attack(F(1)) + (1 - theta) * attack(F(0))
    assert all(attack(a) <= played + SMALL for a in GRID)
    assert all(expected(x) >= expected(b) - SMALL for x in [*GRID, *near])
    assert abs(expected(b) - middle(found.risk)) < SMALL
    if regime == "IV":
        # all and none pay the same, and the operator's slope vanishes
        assert 0 < theta < 1 and abs(attack(F(1)) - attack(F(0))) < SMALL
        assert abs(theta * middle(slope(LAM, 1, 1 - b)) - cb) < SMALL
        assert abs(attack(F(1, 2)) - played) > 100 * SMALL
    if regime == "III":
        assert 0 < b < 1 and abs(middle(slope(LAM, 1, 1 - b)) - cb) < SMALL
        assert attack(F(1)) > attack(F(0)) + 100 * SMALL
    for enclosure in (found.theta, found.b, found.p, found.risk):
        assert 0 <= enclosure.upper - enclosure.lower < F(1, 10**6)
    assert middle(found.p) == 1 - b


def test_what_is_proved_and_what_it_rests_on():
    ca, cb = POINTS["III"]
    found = equilibrium(LAM, 1, ca, cb)
    assert not found.is_proved and "convex" in found.rests_on[0]
    assert str(found).startswith("regime III (if J is convex): theta = 1, b = 0.36")
    assert found.facts[0].startswith("ca = 1/100 < J(1) - J(0) = 0.1161")
    proof = convexity(LAM, 1)
    proved = equilibrium(LAM, 1, ca, cb, convex=proof)
    assert proved.is_proved and proved.rests_on == () and proved.facts == found.facts
    assert str(proved).startswith("regime III (proved)")
    with pytest.raises(DomainError, match="the proof of convexity is for lambda = 1/2"):
        equilibrium(F(1, 3), 1, ca, cb, convex=proof)


def test_the_boundary_of_undefended_attacks_is_exact():
    """cb = J'(1) = 8/45 is in II; on the bound Jbar'(1) = 2/15 already is."""
    full = slope(LAM, 1, 1).lower
    assert full == F(8, 45)
    assert equilibrium(LAM, 1, F(1, 20), full).regime == "II"
    assert equilibrium(LAM, 1, F(1, 20), full - F(1, 1000)).regime == "III"
    assert attack_game.equilibrium(LAM, 1, F(1, 20), full - F(1, 1000)).regimes == ("II",)


def test_crossings_are_bracketed():
    value = cost(LAM, 1, F(1, 7), digits=18)
    low, high = crossing(LAM, F(1), 0, (value.lower, value.upper), F(0), 8)
    assert low < F(1, 7) < high and high - low <= F(4, 10**8)
    steep = slope(LAM, 1, F(6, 7), digits=18)
    low, high = crossing(LAM, F(1), 1, (steep.lower, steep.upper), F(0), 8)
    assert low < F(6, 7) < high and high - low <= F(4, 10**8)
    with pytest.raises(PrecisionError, match="not decided"):
        crossing(LAM, F(1), 1, F(1, 100), F(0), 2)


def test_the_gain():
    assert F(0) in gain(LAM, 1, 0)
    added = gain(1, 1, 1, digits=12)
    assert abs(middle(added) - (2 - F("1.4263207511672411877"))) < F(1, 10**12)


def test_a_point_on_a_boundary_is_not_decided():
    near = gain(LAM, 1, 1, digits=40)
    with pytest.raises(PrecisionError, match=r"cannot be told from J\(1\) - J\(0\)"):
        equilibrium(LAM, 1, middle(near), 1, digits=3)
    # a little further it is
    assert equilibrium(LAM, 1, middle(near) + F(1, 10**20), 1, digits=3).regime == "I"


def test_few_digits_do_not_decide_for_the_wrong_regime():
    """J'(phat) = 0.0900505... at ca = 1/50; 2 digits leave it between 0.088 and 0.092."""
    above, below = (equilibrium(LAM, 1, F(1, 50), cb, digits=2) for cb in (F("0.091"), F("0.09")))
    assert (above.regime, below.regime) == ("III", "IV")
    assert F(99, 100) < below.theta.lower <= F("0.09") / F("0.0900505")
    assert F("0.09") / F("0.0900506") <= below.theta.upper < 1


def test_the_map_agrees_with_certified_points():
    points = [*POINTS.values(), (F(115, 1000), F(17, 100)), (F(117, 1000), F(17, 100))]
    regimes = []
    for ca, cb in points:
        regimes.append(equilibrium(LAM, 1, ca, cb, digits=4).regime)
        number = int(exact_regime_map(0.5, 1.0, float(ca), float(cb)))
        assert ("I", "II", "III", "IV")[number - 1] == regimes[-1]
        assert regimes[-1] in robust_regime(LAM, 1, ca, cb, layers=1, cells=4).possible
    assert regimes == [*POINTS, "IV", "I"]


def test_curves_and_maps():
    curve = cost_curve(0.5)
    assert curve.error < 1e-9
    for p in (0.0, 0.5, 1.0):
        assert abs(curve.cost(p) - float(cost(LAM, 1, F(p)))) < 1e-9
        assert abs(curve.slope(p) - float(slope(LAM, 1, F(p)))) < 1e-6
    assert exact_regime_map(np.array([0.5, 2.0, -1.0]), 1.0, 0.2, 0.1).tolist() == [1, 0, 0]
    # rates scale together, and costs do not
    assert int(exact_regime_map(1.0, 2.0, 0.01, 0.05)) == 4
    axis = np.linspace(0.005, 0.2, 40)
    found = compare_maps(0.5, 1.0, axis, axis[:, None])
    assert found.points == 1600 and 0 < found.share < 0.5
    assert list(found.by_load) == [0.5] and found.by_load[0.5] == found.share
    # Jbar(1) - Jbar(0) < J(1) - J(0): attacks that pay are missed on the bound, none are invented
    assert found.counts["II", "I"] > 0 and not any(x == "I" != y for x, y in found.counts)
    assert "points have another regime (estimated)" in str(found)
    with pytest.raises(DomainError):
        compare_maps(3.0, 1.0, axis, axis)
    with pytest.raises(DomainError):
        cost_curve(2.0)


def test_robust_regimes():
    low, high = cost_bounds(LAM, 1, F(0))
    assert low <= cost(LAM, 1, 0).lower and cost(LAM, 1, 0).upper <= high
    for regime, (ca, cb) in POINTS.items():
        found = robust_regime(LAM, 1, ca, cb, layers=2)
        assert regime in found.possible
        assert found.gain[0] <= middle(gain(LAM, 1, 1)) <= found.gain[1]
        if found.steepness:
            bracket = crossing(LAM, F(1), 0, at(0) + ca, F(0), 6)
            assert found.phat[0] <= bracket[1] and bracket[0] <= found.phat[1]
            steep = middle(slope(LAM, 1, bracket[0]))
            assert found.steepness[0] < steep < found.steepness[1]
    assert robust_regime(LAM, 1, *POINTS["I"]).regime == "I"
    assert robust_regime(LAM, 1, *POINTS["II"]).regime == "II"
    assert robust_regime(LAM, 1, F(1, 100), F(17, 100), layers=2).regime == "III"
    assert robust_regime(LAM, 1, F(1, 50), F(1, 25), layers=2).regime == "IV"
    tie = robust_regime(LAM, 1, middle(gain(LAM, 1, 1)), F(1, 5))
    assert tie.regime is None and str(tie) == "undecided: I or II"


@pytest.mark.parametrize(
    ("lam", "p", "shorter", "bernoulli"),
    [("3/5", "1/2", "0.1284", "0.1375"), ("4/5", "1", "2.9930", "2.6667")],
)
def test_increases_under_targeted_attacks(lam, p, shorter, bernoulli):
    """(C1.6); the other two published pairs are in tests/drift/test_enclosure.py."""
    found = increase_under_targeted_attack(lam, 1, p)
    assert abs(middle(found.shorter) - F(shorter)) <= F(1, 20000)
    assert found.shorter.upper - found.shorter.lower < F(1, 10**6)
    assert abs(found.bernoulli - F(bernoulli)) <= F(1, 20000)
    assert found.is_larger is (middle(found.shorter) > found.bernoulli)


def test_targeted_attacks_at_the_ends():
    nothing = increase_under_targeted_attack(LAM, 1, 0)
    assert F(0) in nothing.shorter and nothing.bernoulli == 0 and nothing.is_larger is None
    full = increase_under_targeted_attack(LAM, 1, 1)
    # both policies cost lam/(mu - lam), and the shorter queue costs less without attacks
    assert abs(middle(full.shorter) - (1 - at(0))) < SMALL and full.is_larger
    assert full.bernoulli == F(1, 3)
    assert str(full).startswith("shorter queue 0.44")
    with pytest.raises(UnstableError):
        increase_under_targeted_attack(F(6, 5), 1, F(9, 10))


def test_bad_input():
    for costs in ((0, 1), (1, 0), (F(-1), 1), (1, F(-1, 2))):
        with pytest.raises(DomainError, match="needs c"):
            equilibrium(LAM, 1, *costs)
        with pytest.raises(DomainError, match="needs ca > 0"):
            robust_regime(LAM, 1, *costs)
    with pytest.raises(UnstableError, match=r"needs lambda < 2\*mu"):
        equilibrium(2, 1, 1, 1)
    with pytest.raises(DomainError, match="digits must be at least 1"):
        equilibrium(LAM, 1, 1, 1, digits=0)
    with pytest.raises(DomainError):
        gain(1, 1, 2)
    assert sq.JB.subs({sq.lam: 1, sq.mu: 1}) == cost(1, 1, 1).lower
