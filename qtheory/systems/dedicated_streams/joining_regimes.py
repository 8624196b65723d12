"""Equilibrium and optimum of the joining game for every parameter: four cases, each proved.

The thresholds on R are nested, since mu^2 >= mu (mu - lam) >= (mu - lam)^2: at first nobody joins,
then some join in equilibrium and in the optimum, then all join but fewer should, then all should.

Source: Bu, Liu, Tang, Zhao, arXiv 2012.14955.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import sympy as sp

from qtheory.domain import Domain
from qtheory.formulas import relation
from qtheory.games.regimes import Claim, Regime, Regimes
from qtheory.inequality.monotone import increasing
from qtheory.systems.dedicated_streams import (
    C,
    R,
    game,
    interior_q_e,
    interior_q_opt,
    interior_welfare_opt,
    lam,
    lam_s,
    mu,
    q,
    utility,
    welfare,
)

_y = sp.Symbol("y", positive=True)

_ZERO, _ONE = sp.Integer(0), sp.Integer(1)
_CROWD = C * (mu + lam_s)
_NONE, _ALL, _SHOULD = R * mu**2, R * mu * (mu - lam), R * (mu - lam) ** 2


def _case(name: str, q_e: sp.Expr, q_opt: sp.Expr, *conditions: sp.Rel) -> Regime:
    in_equilibrium = lam_s * (R - C / mu) if q_e == interior_q_e else welfare(q_e)
    best = interior_welfare_opt if q_opt == interior_q_opt else welfare(q_opt)
    values = {"q_e": q_e, "q_opt": q_opt, "S_e": in_equilibrium, "S_opt": best}
    return Regime(name, conditions, values)


CASES = Regimes(
    game,
    (
        _case("nobody joins", _ZERO, _ZERO, relation(_NONE, "<=", _CROWD)),
        _case(
            "some join, fewer should",
            interior_q_e,
            interior_q_opt,
            relation(_NONE, ">=", _CROWD),
            relation(_ALL, "<=", _CROWD),
        ),
        _case(
            "all join, fewer should",
            _ONE,
            interior_q_opt,
            relation(_ALL, ">=", _CROWD),
            relation(_SHOULD, "<=", _CROWD),
        ),
        _case("all join and should", _ONE, _ONE, relation(_SHOULD, ">=", _CROWD)),
    ),
)
"""The cases before anything is claimed of them: what a query at a point needs."""


@cache
def regimes() -> Regimes:
    """The four cases with q_e, q_opt and their welfare S_e, S_opt, and the claims that prove them.

    U and S' increase in the free capacity y = mu - lam q > 0. So a sign at q = 0 or q = 1 decides,
    and where they are at least 0 at q = 0 and at most 0 at q = 1, their zero with y > 0 is the
    joining probability.

    >>> regimes().at({"lam": "2/5", "lam_s": "3/10", "mu": 1, "R": "13/8", "C": 1})
    {'some join, fewer should': {'q_e': 1/2, 'q_opt': 5/2 - sqrt(5), 'S_e': 3/16,
     'S_opt': 249/80 - 13*sqrt(5)/10}}
    """
    free, slope = game.over(_y), sp.diff(welfare(), q)
    shapes = tuple(
        Claim(
            f"{name} increases in y = mu - lambda q",
            increasing(function.subs(q, (mu - _y) / lam), _y),
            free,
        )
        for name, function in (("U", utility), ("S'", slope))
    )
    found = []
    for case in CASES.regimes:
        part = game.where(*case.conditions)
        q_e, q_opt = case.values["q_e"], case.values["q_opt"]
        claims = [
            *_root("U", "q_e", utility, q_e, part),
            *_root("S'", "q_opt", slope, q_opt, part),
        ]
        for name, place in (("S_e", q_e), ("S_opt", q_opt)):
            same = relation(welfare(place), "==", case.values[name])
            claims.append(Claim(f"{name} is S at {name.replace('S', 'q')}", same, part))
        found.append(replace(case, claims=(*shapes, *claims)))
    return Regimes(game, tuple(found))


def _root(name: str, which: str, function: sp.Expr, place: sp.Expr, part: Domain) -> list[Claim]:
    """That a function decreasing in q is 0 at a place inside, or has the sign an end needs."""
    first, last = (sp.factor(function.subs(q, end)) for end in (_ZERO, _ONE))
    if place == _ZERO:
        return [Claim(f"{name} <= 0 at q = 0", relation(first, "<=", _ZERO), part)]
    if place == _ONE:
        return [Claim(f"{name} >= 0 at q = 1", relation(last, ">=", _ZERO), part)]
    there = sp.factor(function.subs(q, place))
    return [
        Claim(f"{name} >= 0 at q = 0", relation(first, ">=", _ZERO), part),
        Claim(f"{name} <= 0 at q = 1", relation(last, "<=", _ZERO), part),
        Claim(f"{name} = 0 at {which}", relation(there, "==", _ZERO), part),
        Claim(f"y > 0 at {which}", relation(sp.expand(mu - lam * place), ">", _ZERO), part),
    ]
