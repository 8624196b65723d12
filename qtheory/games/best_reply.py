"""Best replies to a closed-form payoff on an interval, exact at a rational parameter point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from qtheory.games.algebraic import Algebraic, algebraic
from qtheory.games.payoff import Payoff, at_point, roots_between
from qtheory.games.segment import Segment, between, segment


@dataclass(frozen=True)
class Reply:
    """All best replies, as disjoint segments in increasing order, and what they pay."""

    replies: tuple[Segment, ...]
    value: sp.Expr

    @property
    def is_unique(self) -> bool:
        """Whether there is one best reply."""
        return len(self.replies) == 1 and self.replies[0].is_point

    def __contains__(self, action: Any) -> bool:
        return any(action in part for part in self.replies)

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.replies))} pays {self.value}"


def best_reply(
    payoff: Any,
    action: sp.Symbol,
    actions: Segment | None = None,
    at: Mapping[Any, Any] | None = None,
    minimise: bool = False,
) -> Reply:
    """All actions in an interval (by default [0, 1]) that maximise, or minimise, a formula.

    The payoff is a rational function of the action once the parameters have the values `at`. The
    ends and the stationary points are compared exactly, as real algebraic numbers; a payoff that
    does not depend on the action makes the whole interval a best reply.

    >>> x, c = sp.symbols("x c")
    >>> print(best_reply(x**2 - c*x, x, at={c: 1}))
    0, 1 pays 0
    >>> print(best_reply(x**3 - x, x, at={}, minimise=True))
    sqrt(3)/3 pays -2*sqrt(3)/9

    Raises `DomainError` where the payoff is not finite on the interval and `ExpressionError` for
    a parameter without a value or a payoff that is not a rational function.
    """
    actions = actions or segment(0, 1)
    payoff = sp.sympify(payoff)
    function = at_point(-payoff if minimise else payoff, (action,), at)
    low, high = algebraic(actions.lower), algebraic(actions.upper)
    best, paid = maximisers(function, low, high)
    replies = (actions,) if best is None else tuple(between(place, place) for place in best)
    return Reply(replies, (-paid if minimise else paid).expression)


def maximisers(
    function: Payoff, low: Algebraic, high: Algebraic
) -> tuple[list[Algebraic] | None, Algebraic]:
    """Where a function of one action is greatest, None for everywhere, and its greatest value."""
    function.require_finite(low, high)
    slope = function.derivative()
    if slope.is_zero or low == high:
        return None, function(low)
    places = sorted({low, high, *roots_between(slope.ratio.num, low, high)})
    values = [function(place) for place in places]
    greatest = max(values)
    return [place for place, paid in zip(places, values, strict=True) if paid == greatest], greatest


def deviation_gain(
    function: Payoff, low: Algebraic, high: Algebraic, played: Algebraic
) -> Algebraic:
    """What a player gains by the best reply over a played action."""
    return maximisers(function, low, high)[1] - function(played)
