"""Equilibria of two players who choose from intervals, with closed-form payoffs, exactly.

Three classes are solved at a rational parameter point. If both payoffs are concave in the own
action, pure equilibria exist (Rosen 1965) and the first-order conditions are necessary and
sufficient. If one payoff is convex and the other concave, the first player needs only the ends of
the interval, and mixes over them where no pure equilibrium exists. If both are convex, the game
is the finite game on the ends. Convexity is proved, so an equilibrium found has regret 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import DomainError
from qtheory.formulas import relation
from qtheory.games.algebraic import Algebraic, algebraic
from qtheory.games.finite import bimatrix
from qtheory.games.first_order import pure_equilibria
from qtheory.games.gap import gap
from qtheory.games.mixed_ends import mixed_equilibria
from qtheory.games.payoff import Player, at_point, midpoint
from qtheory.games.segment import Segment, between
from qtheory.inequality import prove


@dataclass(frozen=True)
class EquilibriumSet:
    """A set of equilibria: each combination of the strategies of the two segments.

    The strategy of a player in `mixing` is the probability of the upper end of the interval (the
    lower end has the rest); that of another player is an action. The regret of every profile in
    the set is 0, which convexity proves; `regret` computes it again.
    """

    strategies: Mapping[sp.Symbol, Segment]
    mixing: tuple[sp.Symbol, ...] = ()

    @property
    def is_point(self) -> bool:
        """Whether the set is one profile."""
        return all(part.is_point for part in self.strategies.values())

    def regret(self, players: Iterable[Player], at: Mapping[Any, Any] | None = None) -> Fraction:
        """A bound on what a player gains by deviating from a corner of the set.

        It is exactly 0 where the corners are rational, and at most 10^-11 where they are known by
        their digits. Raises `DomainError` for a mixture with an irrational probability.
        """
        players = tuple(players)
        choices = [
            [(player, end) for end in dict.fromkeys((part.lower, part.upper))]
            for player in players
            for part in (self.strategies[player.action],)
        ]
        corners = [
            {player.action: self._strategy(player, end) for player, end in corner}
            for corner in product(*choices)
        ]
        return max(gap(players, corner, at).epsilon for corner in corners)

    def _strategy(self, player: Player, end: sp.Expr) -> Any:
        if player.action not in self.mixing:
            return end
        if not end.is_Rational:
            raise DomainError(f"the gap of a mixture needs rational probabilities, got {end}")
        return {player.actions.lower: 1 - end, player.actions.upper: end}

    def __str__(self) -> str:
        shown = (
            f"P({action} = upper end) = {part}" if action in self.mixing else f"{action} = {part}"
            for action, part in self.strategies.items()
        )
        return ", ".join(shown)


@dataclass(frozen=True)
class Equilibria:
    """Sets of equilibria whose union is `complete`: all of them, or some."""

    sets: tuple[EquilibriumSet, ...]
    kind: Literal["pure", "mixed over ends"]
    complete: Literal["all", "some"]

    def __len__(self) -> int:
        return len(self.sets)

    def __str__(self) -> str:
        return f"{self.complete} equilibria ({self.kind}): " + "; ".join(map(str, self.sets))


def equilibria(first: Player, second: Player, at: Mapping[Any, Any] | None = None) -> Equilibria:
    """The equilibria of two players at a rational parameter point.

    They are pure where both payoffs are concave in the own action, and mixed over the ends of the
    interval for a player whose payoff is convex. "All" means all of this kind; for strictly
    convex payoffs there are no others.

    >>> a, b = sp.symbols("a b")
    >>> attacker = Player(a, a**2 * (1 - b) - a/4)
    >>> defender = Player(b, -a * (1 - b)**2 - b/4)
    >>> print(equilibria(attacker, defender))
    all equilibria (mixed over ends): P(a = upper end) = 1/2, b = 3/4

    Raises `DomainError` where a payoff is neither concave nor convex in the own action, or not
    finite, and for intervals whose ends are not rational.
    """
    for player in (first, second):
        if not (player.actions.lower.is_Rational and player.actions.upper.is_Rational):
            raise DomainError(f"the ends of {player.action} need to be rational: {player.actions}")
    shape_first, shape_second = _shape(first, second, at), _shape(second, first, at)
    payoffs = [at_point(p.payoff, (first.action, second.action), at) for p in (first, second)]
    ranges = [(algebraic(p.actions.lower), algebraic(p.actions.upper)) for p in (first, second)]
    symbols = (first.action, second.action)
    if "concave" in shape_first and "concave" in shape_second:
        found, complete = pure_equilibria(payoffs, ranges)
        return Equilibria(_sets(symbols, found), "pure", complete)
    if "convex" in shape_first and "concave" in shape_second:
        found, complete = mixed_equilibria(payoffs, ranges)
        return Equilibria(_sets(symbols, found, (first.action,)), "mixed over ends", complete)
    if "concave" in shape_first and "convex" in shape_second:
        turned = [at_point(p.payoff, symbols[::-1], at) for p in (second, first)]
        found, complete = mixed_equilibria(turned, ranges[::-1])
        back = [(y, x) for x, y in found]
        return Equilibria(_sets(symbols, back, (second.action,)), "mixed over ends", complete)
    tables = [[[exact(f(x, y).rational) for y in ranges[1]] for x in ranges[0]] for f in payoffs]
    solved = bimatrix(*tables).equilibria()
    spans = [
        tuple(_span([weights[1] for weights in side]) for side in subset)
        for subset in solved.subsets
    ]
    strict = "strictly convex" in shape_first and "strictly convex" in shape_second
    return Equilibria(
        _sets(symbols, spans, symbols), "mixed over ends", "all" if strict else "some"
    )


Span = tuple[Algebraic, Algebraic]


def _span(weights: list[Any]) -> Span:
    return algebraic(min(weights)), algebraic(max(weights))


def _sets(
    symbols: tuple[sp.Symbol, sp.Symbol], found: Any, mixing: tuple[sp.Symbol, ...] = ()
) -> tuple[EquilibriumSet, ...]:
    return tuple(
        EquilibriumSet({s: between(*part) for s, part in zip(symbols, spans, strict=True)}, mixing)
        for spans in found
    )


def _shape(player: Player, other: Player, at: Mapping[Any, Any] | None) -> set[str]:
    """What is proved of a payoff in the own action, for every action of the other player."""
    action = player.action
    function = at_point(player.payoff, (action, other.action), at)
    ends = [
        condition
        for p in (player, other)
        for condition in (
            relation(p.action, ">=", p.actions.lower),
            relation(p.action, "<=", p.actions.upper),
        )
    ]
    box = Domain(*ends, symbols=(action, other.action))
    below = function.ring.expression(function.ratio.den)
    if not (below.is_number or prove(relation(below, "!=", _ZERO), box)):
        raise DomainError(f"the payoff of the player of {action} is not shown to be finite")
    bend = function.derivative(0).derivative(0)
    if bend.is_zero:
        return {"concave", "convex"}
    middles = [
        midpoint(*map(algebraic, (p.actions.lower, p.actions.upper))) for p in (player, other)
    ]
    kinds = {
        1: (("strictly convex", ">"), ("convex", ">=")),
        -1: (("concave", "<="),),
        0: (("concave", "<="), ("convex", ">=")),
    }
    formula = function.ring.expression(bend.ratio)
    shown = {
        name
        for name, sign in kinds[bend.sign(*middles)]
        if prove(relation(formula, sign, _ZERO), box)
    }
    if not shown:
        raise DomainError(
            f"the payoff of the player of {action} is not shown to be concave or convex in {action}"
        )
    return shown


_ZERO = sp.Integer(0)
