"""Joining games: symmetric equilibria of customers who join or balk, from a utility curve.

A customer who joins when the others join with probability q gets U(q), one who balks gets 0.
Then q is an equilibrium if U(q) = 0, or q = 0 and U(0) <= 0, or q = 1 and U(1) >= 0. Where U
decreases (avoid the crowd) there is one; where it increases (follow the crowd) there may be 0, 1
and one between (Hassin and Haviv, To Queue or Not to Queue, 2003). An equilibrium is
evolutionarily stable if it does better than every q near it against q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import DomainError, ExpressionError
from qtheory.formulas import relation
from qtheory.games.algebraic import Algebraic, algebraic
from qtheory.games.payoff import Payoff, at_point, midpoint, roots_between
from qtheory.games.regimes import Claim, Regime, Regimes
from qtheory.games.segment import Segment, between
from qtheory.inequality import Proved, prove
from qtheory.inequality.monotone import decreasing, increasing

_NONE, _ALL = algebraic(0), algebraic(1)


@dataclass(frozen=True)
class Joining:
    """A joining probability in equilibrium, or an interval of them, and whether it is stable.

    An interval, on which customers are indifferent, is not evolutionarily stable.
    """

    q: Segment
    stable: bool

    def __str__(self) -> str:
        return f"{self.q} ({'stable' if self.stable else 'not stable'})"


def joining_equilibria(
    utility: Any, q: sp.Symbol, at: Mapping[Any, Any] | None = None
) -> tuple[Joining, ...]:
    """All symmetric equilibria at a rational point, in increasing order.

    `utility` is a formula in q, or a continuous ``Piecewise`` whose conditions compare q with
    numbers. The equilibria are isolated exactly; on an interval where U vanishes they are the
    interval.

    >>> q = sp.Symbol("q")
    >>> print(*joining_equilibria(3*q - 1, q), sep=", ")
    0 (stable), 1/3 (not stable), 1 (stable)

    Raises `DomainError` where the utility is infinite or jumps, and `ExpressionError` for a
    parameter without a value.
    """
    pieces = _pieces(utility, q, at)
    places: list[Algebraic] = []
    signs: list[int] = []
    for low, high, function in pieces:
        ends = {
            low,
            high,
            *(() if function.is_zero else roots_between(function.ratio.num, low, high)),
        }
        cuts = sorted(ends)
        for left, right in pairwise(cuts):
            places.append(left)
            signs.append(function.sign(midpoint(left, right)))
    places.append(_ALL)
    at_places = [pieces[0][2].sign(_NONE)]
    at_places += [_at(pieces, place).sign(place) for place in places[1:]]
    return _found(places, signs, at_places)


def _found(places: list[Algebraic], signs: list[int], at_places: list[int]) -> tuple[Joining, ...]:
    """The equilibria by the signs of U between the places, and at them."""
    found: list[Joining] = []
    start: Algebraic | None = None
    last = len(places) - 1
    for i, place in enumerate(places):
        before = signs[i - 1] if i else 1
        after = signs[i] if i < last else -1
        if i < last and after == 0:
            start = place if start is None else start
        elif start is not None:
            found.append(Joining(between(start, place), False))
            start = None
        else:
            here = at_places[i]
            if here == 0 or (i == 0 and here < 0) or (i == last and here > 0):
                strict = here != 0 or (before > 0 and after < 0)
                found.append(Joining(between(place, place), strict))
    return tuple(found)


Piece = tuple[Algebraic, Algebraic, Payoff]


def _at(pieces: list[Piece], place: Algebraic) -> Payoff:
    return next(function for low, high, function in pieces if low < place <= high)


def _pieces(utility: Any, q: sp.Symbol, at: Mapping[Any, Any] | None) -> list[Piece]:
    """The curve on [0, 1] as rational functions between break points, checked for jumps."""
    utility = sp.piecewise_fold(sp.sympify(utility))
    if not isinstance(utility, sp.Piecewise):
        function = at_point(utility, (q,), at)
        function.require_finite(_NONE, _ALL)
        return [(_NONE, _ALL, function)]
    breaks = {Fraction(0), Fraction(1)}
    for _, condition in utility.args:
        for comparison in condition.atoms(sp.core.relational.Relational):
            number = comparison.rhs if comparison.lhs == q else comparison.lhs
            if q not in (comparison.lhs, comparison.rhs) or not number.is_Rational:
                raise ExpressionError(f"a piece is chosen by q against a number, got {comparison}")
            breaks.add(exact(number))
    cuts = sorted(place for place in breaks if 0 <= place <= 1)
    found: list[Piece] = []
    for low, high in pairwise(cuts):
        middle = sp.Rational(*((low + high) / 2).as_integer_ratio())
        chosen = next((f for f, where in utility.args if where.subs(q, middle) == sp.true), None)
        if chosen is None:
            raise DomainError(f"the utility has no value at {q} = {middle}")
        piece = algebraic(low), algebraic(high), at_point(chosen, (q,), at)
        piece[2].require_finite(*piece[:2])
        if found and found[-1][2](piece[0]) != piece[2](piece[0]):
            raise DomainError(f"the utility jumps at {q} = {low}")
        found.append(piece)
    return found


def joining_regimes(utility: Any, q: sp.Symbol, domain: Domain) -> Regimes:
    """The equilibria for every parameter, where the utility is linear-fractional in q.

    Of a decreasing utility the regimes give the one equilibrium; of an increasing one the
    regimes give the values ``q_0``, ``q_e`` and ``q_1`` that are equilibria.

    >>> q, c = sp.Symbol("q", nonnegative=True), sp.Symbol("c", positive=True)
    >>> joining_regimes(1 - c*(1 + q), q, Domain(symbols=(c,))).at({c: "2/3"})
    {'some join': {'q_e': 1/2}}

    Raises `DomainError` for a utility that is not linear-fractional in q or that is shown
    neither to increase nor to decrease.
    """
    utility = sp.together(utility)
    above, below = sp.fraction(utility)
    if any(sp.Poly(part, q).degree() > 1 for part in (above, below)):
        raise DomainError(f"the utility is not linear-fractional in {q}: {utility}")
    play = domain.over(q).where(q >= 0, q <= 1)
    claims = {"decreasing": decreasing(utility, q), "increasing": increasing(utility, q)}
    way = next((w for w, claim in claims.items() if isinstance(prove(claim, play), Proved)), None)
    if way is None:
        raise DomainError(f"the utility is shown neither to increase nor to decrease in {q}")
    constant, linear = sp.Poly(above, q).coeff_monomial(1), sp.Poly(above, q).coeff_monomial(q)
    inside = sp.factor(-constant / linear)
    first, last = sp.factor(utility.subs(q, 0)), sp.factor(utility.subs(q, 1))
    monotone = Claim(f"U is {way} in {q}", claims[way], play)
    zero = sp.Integer(0)
    if way == "decreasing":
        conditions = {
            "none join": (relation(first, "<=", zero),),
            "some join": (relation(first, ">=", zero), relation(last, "<=", zero)),
            "all join": (relation(last, ">=", zero),),
        }
        values = {"none join": {"q_e": 0}, "some join": {"q_e": inside}, "all join": {"q_e": 1}}
    else:
        conditions = {
            "all join": (relation(first, ">=", zero),),
            "none, some or all join": (relation(first, "<=", zero), relation(last, ">=", zero)),
            "none join": (relation(last, "<=", zero),),
        }
        values = {
            "all join": {"q_1": 1},
            "none, some or all join": {"q_0": 0, "q_e": inside, "q_1": 1},
            "none join": {"q_0": 0},
        }
    regimes = []
    for name, stated in conditions.items():
        shown = [monotone]
        if inside in values[name].values():
            part = domain.where(*stated)
            shown += [
                Claim(
                    f"U is 0 at {inside}",
                    relation(sp.together(utility.subs(q, inside)), "==", zero),
                    part,
                ),
                Claim("which is at least 0", relation(inside, ">=", zero), part),
                Claim("and at most 1", relation(inside, "<=", sp.Integer(1)), part),
            ]
        regimes.append(Regime(name, stated, _exact(values[name]), tuple(shown)))
    return Regimes(domain, tuple(regimes))


def _exact(values: Mapping[str, Any]) -> dict[str, sp.Expr]:
    return {name: sp.sympify(value) for name, value in values.items()}
