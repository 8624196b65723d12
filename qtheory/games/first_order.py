"""Pure equilibria of two concave payoffs: solutions of the first-order conditions.

Each player is at the lower end with slope <= 0, at the upper end with slope >= 0, or between them
with slope 0; for concave payoffs this is necessary and sufficient.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from qtheory.games.algebraic import Algebraic
from qtheory.games.payoff import Payoff, midpoint, roots_between

Span = tuple[Algebraic, Algebraic]
Spans = list[tuple[Span, Span]]


def pure_equilibria(
    payoffs: list[Payoff], ranges: list[Span]
) -> tuple[Spans, Literal["all", "some"]]:
    """Sets of pure equilibria as pairs of spans; "some" if a curve of them is left out."""
    slopes = [payoffs[0].derivative(0), payoffs[1].derivative(1)]
    found: Spans = []
    for own in (0, 1):
        for end, side in zip(ranges[own], (-1, 1), strict=True):
            mine, other = slopes[own].fixed(own, end), slopes[1 - own].fixed(own, end)
            for reply in replies(other, ranges[1 - own]):
                for part in where(mine, reply, side):
                    found.append(((end, end), part) if own == 0 else (part, (end, end)))
    inside, complete = _interior(slopes, ranges)
    return without_repeats(found + inside), complete


def replies(slope: Payoff, span: Span) -> list[Span]:
    """The best replies by the slope of a concave payoff: a point or an interval."""
    low, high = span
    if slope.is_zero:
        return [span]
    if slope.sign(low) <= 0:
        return [(low, low)]
    if slope.sign(high) >= 0:
        return [(high, high)]
    return [(root, root) for root in roots_between(slope.ratio.num, low, high)]


def where(slope: Payoff, span: Span, side: int) -> list[Span]:
    """The closed parts of a span where the slope is zero or has the sign of a side."""
    low, high = span
    if slope.is_zero:
        return [span]
    if low == high:
        return [span] if slope.sign(low) * side >= 0 else []
    places = sorted({low, high, *roots_between(slope.ratio.num, low, high)})
    parts: list[Span] = []
    for left, right in pairwise(places):
        if slope.sign(midpoint(left, right)) == side:
            parts.append((left, right))
    touched = {end for part in parts for end in part}
    isolated = [p for p in places if p not in touched and slope.sign(p) * side >= 0]
    return sorted([*parts, *((place, place) for place in isolated)])


def _interior(slopes: list[Payoff], ranges: list[Span]) -> tuple[Spans, Literal["all", "some"]]:
    """The common zeros of both slopes strictly between the ends."""
    polys = [slope.ratio.num for slope in slopes]
    if any(poly.is_zero() for poly in polys):
        return [], "some"
    common = polys[0].gcd(polys[1])
    # where both slopes vanish on a curve, only the points apart from it are given
    complete: Literal["all", "some"] = "all" if common.is_constant() else "some"
    first, second = (poly / common for poly in polys)
    columns = []
    for kept in (0, 1):
        low, high = ranges[kept]
        eliminant = first.resultant(second, 1 - kept)
        columns.append([r for r in roots_between(eliminant, low, high) if low < r < high])
    spans = [
        ((x, x), (y, y))
        for x in columns[0]
        for y in columns[1]
        if all(slope.sign(x, y) == 0 for slope in slopes)
    ]
    return spans, complete


def without_repeats(spans: Spans) -> Spans:
    """The spans that lie in no other one, in increasing order."""
    kept: Spans = []
    for span in dict.fromkeys(spans):
        if not any(span != other and _inside(span, other) for other in spans):
            kept.append(span)
    return sorted(kept)


def _inside(span: tuple[Span, Span], other: tuple[Span, Span]) -> bool:
    return all(
        theirs[0] <= mine[0] and mine[1] <= theirs[1]
        for mine, theirs in zip(span, other, strict=True)
    )
