"""The attack game: its regimes against brute force and against the general solver."""

import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from qtheory import check, prove
from qtheory.errors import DomainError, UnstableError
from qtheory.games import equilibria, gap, reply_regimes, segment
from qtheory.games.algebraic import algebraic
from qtheory.inequality import Refuted
from qtheory.systems import shorter_queue as sq
from qtheory.systems.shorter_queue import attack_game as game
from qtheory.systems.shorter_queue import comparisons


def bound(lam, mu, p):
    """The closed-form bound, written down again."""
    return 2 * lam * (2 * mu + lam) / ((2 * mu - lam) * (2 * mu + (2 - p) * lam))


def random_point(source):
    """Rates and costs around the boundaries of the regimes, as fractions."""
    mu = Fraction(source.randint(1, 30), source.randint(1, 10))
    lam = 2 * mu * Fraction(source.randint(1, 39), 40)
    most = bound(lam, mu, 1) - bound(lam, mu, 0)
    steep = 2 * lam**2 / ((2 * mu - lam) * (2 * mu + lam))
    ca = most * Fraction(source.randint(1, 130), 100)
    cb = steep * Fraction(source.randint(1, 130), 100)
    return lam, mu, ca, cb


def near(number, digits=40):
    """A rational number within 10^-30 of an exact one."""
    found = algebraic(number).enclosure(digits)
    return (found.lower + found.upper) / 2


GRID = [Fraction(i, 30) for i in range(31)]
SMALL = Fraction(1, 10**25)


def check_by_brute_force(lam, mu, ca, cb):
    """No deviation on grids pays, and the regime follows from the players' replies."""
    found = game.equilibrium(lam, mu, ca, cb)
    theta, b = near(found.theta.point), near(found.b.point)

    def attack(a, defended):
        return bound(lam, mu, a * (1 - defended)) - ca * a

    def cost(defended):
        paid = theta * bound(lam, mu, 1 - defended) + (1 - theta) * bound(lam, mu, 0)
        return paid + cb * defended

    played = theta * attack(1, b) + (1 - theta) * attack(0, b)
    assert all(attack(a, b) <= played + SMALL for a in GRID)
    around = [b + step for k in range(1, 9) for step in (Fraction(-1, 10**k), Fraction(1, 10**k))]
    tries = [*GRID, *(x for x in around if 0 <= x <= 1)]
    assert all(cost(x) >= cost(b) - SMALL for x in tries)
    assert abs(cost(b) - near(found.risk.point)) < SMALL
    # the regime from the replies: the operator's to full attack by bisection on its slope
    gain = attack(1, 0) - attack(0, 0)
    least, most = Fraction(0), Fraction(1)
    for _ in range(60):
        middle = (least + most) / 2
        rise = (bound(lam, mu, 1 - middle) - bound(lam, mu, 1 - middle - SMALL)) / SMALL
        least, most = (middle, most) if rise > cb else (least, middle)
    reply = least
    stays = attack(1, reply) - attack(0, reply)
    expected = "I" if gain < 0 else "IV" if stays < 0 else "III" if reply > SMALL else "II"
    assert found.regimes == (expected,)
    if expected == "IV":
        assert 0 < theta < 1 and abs(attack(1, b) - attack(0, b)) < SMALL
        # no pure equilibrium: full attack is answered by a defence that deters it, none by none
        assert not found.is_pure and stays < 0 < gain
        slope = -theta * cost_slope(lam, mu, 1 - b) + cb
        assert abs(slope) < SMALL
    else:
        assert found.is_pure
    return expected


def cost_slope(lam, mu, p):
    return bound(lam, mu, p) * lam / (2 * mu + (2 - p) * lam)


def test_equilibria_by_brute_force():
    source = random.Random(7)
    seen = dict.fromkeys(("I", "II", "III", "IV"), 0)
    for _ in range(100):
        point = random_point(source)
        lam, mu, ca, cb = point
        borders = [
            bound(lam, mu, 1) - bound(lam, mu, 0) - ca,
            cost_slope(lam, mu, 1) - cb,
            bound(lam, mu, 0) - (2 * (2 * mu + lam) * cb / (2 * mu - lam)) ** 0.5 + ca,
        ]
        if min(map(abs, borders)) > 1e-9:
            seen[check_by_brute_force(*point)] += 1
    assert min(seen.values()) >= 5


def test_the_general_solver_finds_the_same_sets():
    source = random.Random(8)
    points = [random_point(source) for _ in range(6)]
    lam, mu, ca, cb = points[0]
    most, steep = bound(lam, mu, 1) - bound(lam, mu, 0), cost_slope(lam, mu, 1)
    points += [(lam, mu, most, y) for y in (steep, steep / 3, 2 * steep)]
    points += [(lam, mu, x, steep) for x in (most / 2, 2 * most)]
    points += [(lam, mu, x, y) for x in (0, ca) for y in (0, steep / 5, steep / 2, 2 * steep)]
    # the tie of regimes III and IV: ca = G(1/2), cb = Jbar'(1/2)
    tie = bound(lam, mu, Fraction(1, 2)) - bound(lam, mu, 0), cost_slope(lam, mu, Fraction(1, 2))
    points.append((lam, mu, *tie))
    for lam, mu, ca, cb in points:
        found = game.equilibrium(lam, mu, ca, cb)
        at = {sq.lam: lam, sq.mu: mu, sq.ca: ca, sq.cb: cb}
        solved = equilibria(game.attacker, game.operator, at)
        assert solved.complete == "all"
        (only,) = solved.sets
        assert same(only.strategies[sq.a], found.theta)
        assert same(only.strategies[sq.b], found.b)


def same(left, right):
    return (algebraic(left.lower), algebraic(left.upper)) == (
        algebraic(right.lower),
        algebraic(right.upper),
    )


def test_the_regimes_are_proved():
    found = game.regimes()
    verdicts = found.verify()
    assert all(verdicts.values()), [name for name, v in verdicts.items() if not v]
    assert [name for name in verdicts if name.startswith("the regimes cover")]
    for first, second in (("I", "II"), ("III", "IV"), ("II", "III"), ("I", "IV")):
        assert verdicts[f"{first} and {second} meet in boundaries only"]
    for verdict in list(verdicts.values())[::7]:
        assert check.check(verdict.certificate)


def test_values_by_hand():
    # mu = lam = 1: Jbar(p) = 6/(4-p), G(1) = 1/2, Jbar'(1) = 2/3, Jbar'(0) = 3/8
    def at(ca, cb):
        return game.equilibrium(1, 1, ca, cb)

    assert str(at(1, 1)) == "regime I: theta = 0, b = 0, risk = 3/2"
    assert str(at("1/4", 1)) == "regime II: theta = 1, b = 0, risk = 2"
    # Jbar'(1/2) = 24/49 and Jbar(1/2) + 24/49 / 2 = 12/7 + 12/49
    assert str(at("1/10", "24/49")) == "regime III: theta = 1, b = 1/2, risk = 96/49"
    # G(2/3) = 3/10, Jbar'(2/3) = 27/50
    mixed = at("3/10", "27/100")
    assert (mixed.theta.point, mixed.b.point) == (sp.Rational(1, 2), sp.Rational(1, 3))
    assert mixed.risk.point == sp.Rational(3, 2) + sp.Rational(3, 20) + sp.Rational(9, 100)


def test_ties_are_sets():
    def shown(ca, cb):
        found = game.equilibrium(1, 1, ca, cb)
        return found.regimes, str(found.theta), str(found.b), str(found.risk)

    assert shown("1/2", 1) == (("I", "II"), "[0, 1]", "0", "[3/2, 2]")
    assert shown("1/2", "1/3") == (("I", "IV"), "[0, 1/2]", "0", "[3/2, 7/4]")
    assert shown("1/2", "2/3") == (("I", "II", "III", "IV"), "[0, 1]", "0", "[3/2, 2]")
    assert shown("1/4", "2/3") == (("II", "III"), "1", "0", "2")
    # G(1/2) = 3/14 and Jbar'(1/2) = 24/49
    assert shown("3/14", "24/49") == (("III", "IV"), "1", "1/2", "96/49")


def test_free_attacks_and_free_defence():
    def shown(ca, cb):
        found = game.equilibrium(1, 1, ca, cb)
        return str(found.theta), str(found.b), str(found.p), str(found.risk)

    assert shown(0, "1/8") == ("[1/3, 1]", "1", "0", "13/8")
    assert shown(0, "3/8") == ("1", "1", "0", "15/8")
    assert shown(0, 1) == ("1", "0", "1", "2")
    assert shown("3/14", 0) == ("0", "[1/2, 1]", "[0, 1/2]", "3/2")
    for attack in ("1/2", "3/4"):
        assert shown(attack, 0) == ("0", "[0, 1]", "[0, 1]", "3/2")
    assert shown(0, 0) == ("[0, 1]", "1", "0", "3/2")
    assert game.equilibrium(1, 1, 0, 0).regimes == ()


def test_no_deviation_pays_in_an_irrational_equilibrium():
    at = {sq.lam: 1, sq.mu: 1, sq.ca: "1/10", sq.cb: "1/2"}
    found = game.equilibrium(1, 1, "1/10", "1/2")
    profile = {sq.a: 1, sq.b: found.b.point}
    assert gap((game.attacker, game.operator), profile, at).epsilon < Fraction(1, 10**11)
    lower, upper = found.b.enclosures(30)
    assert lower == upper and str(lower) == "0.464101615137754587054892683011"


def test_the_closed_forms_are_those_of_the_system():
    for at in ({"lambda": 1, "mu": 1, "c_b": "1/2"}, {"lambda": "3/2", "mu": 2, "c_b": "1/4"}):
        place = {s: sp.Rational(at[s.name]) for s in (sq.lam, sq.mu, sq.cb)}
        both = (game.p_defended.subs(place), sq.p_star.subs(place))
        assert algebraic(both[0]) == algebraic(both[1])
    assert prove(sp.Eq(game.mixed_boundary, sq.dJbar(sq.p_hat), evaluate=False), game.costs)
    assert prove(sp.Eq(game.peaceful, sq.Jbar(sp.Integer(0)), evaluate=False), game.costs)


def test_the_operators_replies_come_out_of_the_general_engine():
    cost = sq.Jbar(1 - sq.b) + sq.cb * sq.b
    cases = reply_regimes(cost, sq.b, sq.rates.over(sq.cb), minimise=True)
    assert all(cases.verify().values())
    for defence, reply in (("1/5", 1), ("24/49", sp.Rational(1, 2)), (1, 0)):
        (found,) = cases.at({"lam": 1, "mu": 1, "cb": defence}).values()
        assert found["b"] == reply


def test_how_defence_and_attack_move_with_the_arrival_rate():
    assert all(comparisons.sensitivities().values())
    # by differences: b rises, theta falls
    for ca, cb, regime in (("1/100", "9/20", "III"), ("2/5", "1/10", "IV")):
        one, two = (game.equilibrium(lam, 1, ca, cb) for lam in ("1", "101/100"))
        assert one.regimes == two.regimes == (regime,)
        assert float(algebraic(two.b.point)) > float(algebraic(one.b.point))
        if regime == "IV":
            assert two.theta.point < one.theta.point


def test_the_risk_against_bernoulli_routing():
    found = comparisons.against_bernoulli()
    refuted = found.pop("higher for lam < mu (regime IV)")
    assert isinstance(refuted, Refuted)
    assert all(found.values())
    at = {symbol.name: value for symbol, value in refuted.witness.items()}
    assert at["lambda"] < at["mu"]
    point = (at["lambda"], at["mu"], at["c_a"], at["c_b"])
    risk = game.equilibrium(*point).risk.point
    assert risk < 2 * at["lambda"] / (2 * at["mu"] - at["lambda"])
    assert all(comparisons.targeted_against_bernoulli().values())


def test_the_map_agrees_with_the_exact_regimes():
    source = random.Random(9)
    points = [random_point(source) for _ in range(25)]
    columns = (np.array([float(v) for v in column]) for column in zip(*points, strict=True))
    numbers = game.regime_map(*columns)
    names = ("I", "II", "III", "IV")
    for number, (lam, mu, ca, cb) in zip(numbers, points, strict=True):
        at = {"lam": lam, "mu": mu, "ca": ca, "cb": cb}
        assert names[number - 1] in game.regimes().at(at)
    axis = np.linspace(0.02, 1, 200)
    whole = game.regime_map(1.0, 1.0, axis, axis[:, None])
    assert whole.shape == (200, 200) and set(np.unique(whole)) == {1, 2, 3, 4}
    outside = game.regime_map(np.array([2.0, np.nan, -1.0, 1.0]), 1.0, [0.1, 0.1, 0.1, -1.0], 0.1)
    assert outside.tolist() == [0, 0, 0, 0]


def test_latex_has_four_cases():
    shown = game.regimes().latex("theta")
    assert shown.startswith(r"\theta = \begin{cases} 0 & c_{a} \geq \frac{\lambda^{2}}")
    assert shown.count(r"\\") == 3
    assert pickle.loads(pickle.dumps(game.regimes())) == game.regimes()


def test_bad_points():
    with pytest.raises(UnstableError, match="needs lambda < 2\\*mu, got lambda = 2, mu = 1"):
        game.equilibrium(2, 1, 1, 1)
    with pytest.raises(DomainError, match="needs ca >= 0, got ca = -1"):
        game.equilibrium(1, 1, -1, 1)
    with pytest.raises(DomainError, match="needs cb >= 0, got cb = -1/2"):
        game.equilibrium(1, 1, 1, "-1/2")
    with pytest.raises(DomainError, match="needs lambda > 0"):
        game.equilibrium(0, 1, 1, 1)
    with pytest.raises(DomainError, match="a set of values"):
        game.equilibrium(1, 1, "1/2", 1).theta.point  # noqa: B018
    assert segment(0, 1) == game.equilibrium(1, 1, "1/2", 1).theta
