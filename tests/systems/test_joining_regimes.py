"""The cases of the joining game against the game at points, and against the general engines."""

import pytest
import sympy as sp
from hypothesis import given, settings
from joining_games import games

from qtheory.check import check
from qtheory.errors import DomainError, UnstableError
from qtheory.games import joining_regimes as equilibria_of
from qtheory.games import reply_regimes
from qtheory.games.algebraic import algebraic
from qtheory.systems import dedicated_streams as ds
from qtheory.systems.dedicated_streams.joining_game import (
    equilibrium,
    optimum,
    price_of_anarchy,
)
from qtheory.systems.dedicated_streams.joining_regimes import CASES, regimes


@given(games)
@settings(max_examples=25, deadline=None)
def test_the_cases_agree_with_the_game_at_points(game):
    """`joining_game` finds them by roots and stationary points, without the cases."""
    anarchy, found = price_of_anarchy(game), CASES.at(game.at)
    assert 1 <= len(found) <= 2
    for values in found.values():
        assert algebraic(values["q_e"]) == algebraic(equilibrium(game).point)
        assert algebraic(values["q_opt"]) == algebraic(optimum(game).replies[0].point)
        assert algebraic(values["S_e"]) == algebraic(anarchy.worst)
        assert algebraic(values["S_opt"]) == algebraic(optimum(game).value)


def test_all_cases_and_their_boundaries():
    """With lam 2/5, lam_s 3/10, mu = C = 1 the thresholds of R are 13/10, 13/6 and 65/18."""
    names = [regime.name for regime in CASES.regimes]
    expected = {
        "6/5": names[:1],
        "13/10": names[:2],
        "13/8": names[1:2],
        "13/6": names[1:3],
        "3": names[2:3],
        "65/18": names[2:],
        "4": names[3:],
    }
    equilibria = equilibria_of(ds.utility, ds.q, ds.game)
    optima = reply_regimes(ds.welfare(), ds.q, ds.game)
    for R, which in expected.items():
        at = {"lam": "2/5", "lam_s": "3/10", "mu": 1, "R": R, "C": 1}
        found = CASES.at(at)
        assert list(found) == which
        # on a boundary the formulas of both cases agree
        assert len({tuple(values.items()) for values in found.values()}) == 1
        assert {v["q_e"] for v in found.values()} == {v["q_e"] for v in equilibria.at(at).values()}
        assert {v["q_opt"] for v in found.values()} == {v["q"] for v in optima.at(at).values()}


def test_the_claims_are_proved_and_checked():
    verdicts = regimes().verify()
    assert all(verdicts.values())
    for verdict in verdicts.values():
        assert check(verdict.certificate)
    proved = regimes().regimes
    assert [r.conditions for r in proved] == [r.conditions for r in CASES.regimes]
    # none is missing
    signs = [[c.statement for c in r.claims if " at q = " in c.statement] for r in proved]
    assert signs == [
        ["U <= 0 at q = 0", "S' <= 0 at q = 0"],
        ["U >= 0 at q = 0", "U <= 0 at q = 1", "S' >= 0 at q = 0", "S' <= 0 at q = 1"],
        ["U >= 0 at q = 1", "S' >= 0 at q = 0", "S' <= 0 at q = 1"],
        ["U >= 0 at q = 1", "S' >= 0 at q = 1"],
    ]


def test_a_wrong_case_is_not_proved():
    """With the optimum in the place of the equilibrium the claim U = 0 fails."""
    some = next(r for r in regimes().regimes if r.name == "some join, fewer should")
    claim = next(c for c in some.claims if c.statement == "U = 0 at q_e")
    assert claim.verdict()
    wrong = sp.Eq(ds.utility.subs(ds.q, ds.interior_q_opt), 0)
    from qtheory.inequality import prove

    assert not prove(wrong, claim.domain)


def test_points_outside_the_domain():
    with pytest.raises(UnstableError):
        CASES.at({"lam": 1, "lam_s": 1, "mu": 1, "R": 2, "C": 1})
    with pytest.raises(DomainError):
        CASES.at({"lam": "1/4", "lam_s": "1/4", "mu": 1, "R": "1/2", "C": 1})
