"""The epsilon-Nash gap of a profile: what the players gain by deviating, with a certified bound.

At rational actions and rational mixtures of them the gain is exact. At actions known by proven
digits it is enclosed by branch and bound in ball arithmetic: on each cell of the deviation
interval the payoff is bounded by its mean-value form, so the upper end is a bound for every
deviation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeGuard

import sympy as sp
from flint import arb, ctx

from qtheory.arithmetic import Ratio, exact, to_fmpq
from qtheory.balls import Enclosure
from qtheory.errors import DomainError
from qtheory.games.algebraic import Algebraic, algebraic, evaluated
from qtheory.games.best_reply import deviation_gain
from qtheory.games.payoff import Payoff, Player, at_point

BITS = 192
TOLERANCE = Fraction(1, 10**12)
CELLS = 2_000
"""The most cells into which a deviation interval is cut."""
SMALLEST = Fraction(1, 2**50)
"""The length of a cell at which the search ends without a bound."""


@dataclass(frozen=True)
class Gap:
    """By how much each player could gain; the profile is an `epsilon`-equilibrium."""

    gains: Mapping[sp.Symbol, Enclosure]

    @property
    def epsilon(self) -> Fraction:
        """A proven bound on the gain of every player."""
        return max(gain.upper for gain in self.gains.values())

    @property
    def is_equilibrium(self) -> bool:
        """Whether the profile is shown to be an exact equilibrium."""
        return self.epsilon == 0

    def __str__(self) -> str:
        return f"epsilon <= {float(self.epsilon):.3g}"


def gap(
    players: Iterable[Player],
    profile: Mapping[sp.Symbol, Any],
    at: Mapping[Any, Any] | None = None,
) -> Gap:
    """The greatest gain by a deviation from a profile, for each player, at a rational point.

    The profile gives each player an action, or a mixture as a mapping from actions to rational
    probabilities. An action is a rational number, a SymPy number with roots, or an `Enclosure`.

    >>> a, b = sp.symbols("a b")
    >>> players = Player(a, a*(1 - b) - a**2/2), Player(b, b*(1 - a) - b**2/2)
    >>> print(gap(players, {a: "1/2", b: "1/2"}).epsilon, gap(players, {a: 0, b: "1/2"}).epsilon)
    0 1/8

    Raises `DomainError` for a profile that is incomplete, outside the intervals or no
    probabilities, and where a payoff is not finite.
    """
    players = tuple(players)
    actions = [player.action for player in players]
    if set(profile) != set(actions):
        named = ", ".join(map(str, profile))
        raise DomainError(f"a profile needs {', '.join(map(str, actions))}, got {named}")
    mixtures = {player.action: _mixture(player, profile[player.action]) for player in players}
    places = [*mixtures.values()]
    gains = {}
    for index, player in enumerate(players):
        function = at_point(player.payoff, actions, at)
        if _are_rational(places):
            gains[player.action] = _exact_gain(player, function, index, places)
        else:
            gains[player.action] = _enclosed_gain(player, function, index, places)
    return Gap(gains)


Mixture = list[tuple[Algebraic | Enclosure, Fraction]]
RationalMixture = list[tuple[Algebraic, Fraction]]
"""A mixture of rational actions."""


def _are_rational(places: list[Mixture]) -> TypeGuard[list[RationalMixture]]:
    return all(
        isinstance(action, Algebraic) and action.is_rational
        for mixture in places
        for action, _ in mixture
    )


def _mixture(player: Player, strategy: Any) -> Mixture:
    given = strategy.items() if isinstance(strategy, Mapping) else [(strategy, 1)]
    low, high = algebraic(player.actions.lower), algebraic(player.actions.upper)
    found: Mixture = []
    for action, weight in given:
        place = action if isinstance(action, Enclosure) else algebraic(action)
        ends = (
            (algebraic(place.lower), algebraic(place.upper))
            if isinstance(place, Enclosure)
            else (place, place)
        )
        if ends[1] < low or high < ends[0]:
            raise DomainError(f"{player.action} = {action} is outside {player.actions}")
        found.append((place, exact(weight)))
    weights = [weight for _, weight in found]
    if sum(weights) != 1 or min(weights, default=Fraction(-1)) < 0:
        raise DomainError(f"not probabilities: {', '.join(map(str, weights))}")
    return found


def _expected(function: Payoff, index: int, places: list[RationalMixture]) -> Payoff:
    """The payoff against rational mixtures of the others, as a function of one action."""
    for other in reversed(range(len(places))):
        if other != index:
            parts = [
                function.fixed(other, action).times(weight) for action, weight in places[other]
            ]
            total = parts[0]
            for part in parts[1:]:
                total = total.plus(part)
            function = total
    return function


def _exact_gain(
    player: Player, function: Payoff, index: int, places: list[RationalMixture]
) -> Enclosure:
    own = _expected(function, index, places)
    low, high = algebraic(player.actions.lower), algebraic(player.actions.upper)
    total = algebraic(0)
    for action, weight in places[index]:
        total = total + algebraic(weight) * deviation_gain(own, low, high, action)
    return total.enclosure()


def _enclosed_gain(
    player: Player, function: Payoff, index: int, places: list[Mixture]
) -> Enclosure:
    with ctx.workprec(BITS):
        balls = [[(_ball(action), arb(to_fmpq(w))) for action, w in place] for place in places]
        slope = function.derivative(index)

        def expected(f: Payoff, own: arb) -> arb:
            return _mean(f.ratio, balls, index, own)

        played = sum((w * expected(function, x) for x, w in balls[index]), arb(0))
        low, high = (exact(algebraic(e).rational) for e in _ends(player))
        best = _greatest(lambda x: expected(function, x), lambda x: expected(slope, x), low, high)
        gain = best - played
        if not gain.is_finite():
            raise DomainError("the payoff is not finite at the profile")
        middle, radius = exact(gain.mid().fmpq()), exact(gain.rad().fmpq())
        # the played action is itself a deviation, so the gain is not negative
        return Enclosure(max(middle - radius, Fraction(0)), max(middle + radius, Fraction(0)), 15)


def _ends(player: Player) -> tuple[sp.Expr, sp.Expr]:
    return player.actions.lower, player.actions.upper


def _ball(action: Algebraic | Enclosure) -> arb:
    if isinstance(action, Algebraic):
        return action.ball(BITS)
    middle, radius = (action.lower + action.upper) / 2, (action.upper - action.lower) / 2
    return arb(to_fmpq(middle)) + _around(radius)


def _around(radius: Fraction) -> arb:
    """A ball around 0 that holds every number of at most this size."""
    bound = arb(to_fmpq(radius)).upper()
    return arb(0, bound)


def _mean(ratio: Ratio, balls: list[list[tuple[arb, arb]]], index: int, own: arb) -> arb:
    """The expected value when one player deviates to `own`."""
    total = arb(0)
    choices: list[tuple[list[arb], arb]] = [([], arb(1))]
    for other, mixture in enumerate(balls):
        options = [(own, arb(1))] if other == index else mixture
        choices = [([*place, x], weight * w) for place, weight in choices for x, w in options]
    for place, weight in choices:
        below = evaluated(ratio.den, place, arb(0))
        total += weight * evaluated(ratio.num, place, arb(0)) / below
    return total


def _greatest(function: Any, slope: Any, low: Fraction, high: Fraction) -> arb:
    """A ball that holds the greatest value on [low, high], by branch and bound."""
    cells = [(low, high)]
    floor = max(function(arb(to_fmpq(x))).lower() for x in (low, high))
    ceiling = floor
    tolerance = arb(to_fmpq(TOLERANCE))
    while cells:
        waiting: list[tuple[Fraction, Fraction]] = []
        for left, right in cells:
            middle, half = (left + right) / 2, _around((right - left) / 2)
            centre = function(arb(to_fmpq(middle)))
            floor = max(floor, centre.lower())
            change = slope(arb(to_fmpq(middle)) + half) * half
            upper = (centre + change).upper()
            # a cell much narrower than the profile is known gains nothing
            if upper <= floor + tolerance or change.rad() <= centre.rad():
                ceiling = max(ceiling, upper)
            else:
                waiting += [(left, middle), (middle, right)]
        cells = waiting
        if len(cells) > CELLS or (cells and cells[0][1] - cells[0][0] < SMALLEST):
            raise DomainError("the payoff is not finite or too steep on the deviation interval")
    return floor.union(ceiling)
