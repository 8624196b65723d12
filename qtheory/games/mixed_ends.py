"""Equilibria of a convex against a concave payoff: the first player mixes over the two ends.

A payoff that is convex in the own action is greatest at an end, so the first player is described
by the probability theta of the upper end. The second player replies to the mixture, which leaves
the payoff concave: a reply is best if and only if the first-order condition holds.
"""

from __future__ import annotations

from typing import Literal

from qtheory.games.algebraic import Algebraic, algebraic
from qtheory.games.first_order import Span, Spans, replies, where, without_repeats
from qtheory.games.payoff import Payoff, roots_between

_NEVER, _SURELY = algebraic(0), algebraic(1)


def mixed_equilibria(
    payoffs: list[Payoff], ranges: list[Span]
) -> tuple[Spans, Literal["all", "some"]]:
    """Sets of equilibria as pairs of spans, of theta and of the second player's action."""
    low, high = ranges[0]
    gain = payoffs[0].fixed(0, high).minus(payoffs[0].fixed(0, low))
    slope = payoffs[1].derivative(1)
    below, above = slope.fixed(0, low), slope.fixed(0, high)
    found: Spans = []
    for theta, part, side in ((_NEVER, below, -1), (_SURELY, above, 1)):
        for reply in replies(part, ranges[1]):
            found += [((theta, theta), span) for span in where(gain, reply, side)]
    if gain.is_zero:
        # indifferent whatever the other does: the replies to each mixture are a curve
        return without_repeats(found), "some"
    for b in roots_between(gain.ratio.num, *ranges[1]):
        thetas = _mixtures(below, above, b, ranges[1])
        if thetas is not None:
            found.append((thetas, (b, b)))
    return without_repeats(found), "all"


def _mixtures(below: Payoff, above: Payoff, b: Algebraic, span: Span) -> Span | None:
    """The probabilities theta of the upper end to which b is a best reply.

    The slope theta above(b) + (1 - theta) below(b) is <= 0 at the lower end of the span, >= 0 at
    the upper one, 0 between them.
    """
    slopes = below.sign(b), above.sign(b)
    allowed = {0} | ({-1} if b == span[0] else set()) | ({1} if b == span[1] else set())
    fits = [slope in allowed for slope in slopes]
    if all(fits):
        return _NEVER, _SURELY
    if 0 in slopes or slopes[0] == slopes[1]:
        ends = (_NEVER,) if fits[0] else (_SURELY,) if fits[1] else ()
        return (ends[0], ends[0]) if ends else None
    balance = below.over(below.minus(above))(b)
    return (_NEVER if fits[0] else balance), (_SURELY if fits[1] else balance)
