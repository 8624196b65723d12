"""Best replies for every parameter, where the payoff is proved to be convex or concave."""

from __future__ import annotations

from typing import Any

import sympy as sp

from qtheory.domain import Domain
from qtheory.errors import DomainError
from qtheory.formulas import relation
from qtheory.games.regimes import Claim, Regime, Regimes
from qtheory.inequality import Proved, prove
from qtheory.inequality.monotone import concave, convex

_ZERO = sp.Integer(0)


def reply_regimes(
    payoff: Any,
    action: sp.Symbol,
    domain: Domain,
    actions: tuple[Any, Any] = (0, 1),
    minimise: bool = False,
) -> Regimes:
    """The best reply between two ends, which may be formulas, as cases on a parameter domain.

    A strictly convex payoff is greatest at an end; a strictly concave one at an end, or where its
    slope vanishes. Each value is named by the action.

    >>> x = sp.Symbol("x", nonnegative=True)
    >>> c = sp.Symbol("c", positive=True)
    >>> reply = reply_regimes(x - c*x**2, x, Domain(symbols=(c,)))
    >>> reply.at({c: 2})
    {'inside': {'x': 1/4}}
    >>> print(reply.latex())
    x = \\begin{cases} \\frac{1}{2 c} & 1 - 2 c \\leq 0 \\\\ 1 & 1 - 2 c \\geq 0 \\end{cases}

    Raises `DomainError` for a payoff that is shown neither to be strictly convex nor strictly
    concave, and where the zero of the slope has no closed form (degree above 2).
    """
    gain = -sp.sympify(payoff) if minimise else sp.sympify(payoff)
    low, high = map(sp.sympify, actions)
    play = domain.over(action).where(relation(action, ">=", low), relation(action, "<=", high))
    bend = sp.factor(sp.diff(gain, action, 2))
    shapes = {"strictly convex": convex, "strictly concave": concave}
    for name, shape in shapes.items():
        if isinstance(prove(shape(gain, action), play), Proved):
            claim = Claim(f"the payoff is {name} in {action}", shape(gain, action), play)
            if name == "strictly convex":
                return _at_an_end(gain, action, domain, (low, high), claim)
            return _where_flat(gain, action, domain, (low, high), claim)
    raise DomainError(
        f"the payoff is shown neither to be strictly convex nor strictly concave in {action}: "
        f"its second derivative is {bend}"
    )


def _at_an_end(
    gain: sp.Expr, action: sp.Symbol, domain: Domain, ends: tuple[sp.Expr, sp.Expr], claim: Claim
) -> Regimes:
    low, high = ends
    advantage = sp.factor(gain.subs(action, high) - gain.subs(action, low))
    regimes = [
        Regime("lower end", (relation(advantage, "<=", _ZERO),), {action.name: low}, (claim,)),
        Regime("upper end", (relation(advantage, ">=", _ZERO),), {action.name: high}, (claim,)),
    ]
    return _inhabited(domain, regimes)


def _where_flat(
    gain: sp.Expr, action: sp.Symbol, domain: Domain, ends: tuple[sp.Expr, sp.Expr], claim: Claim
) -> Regimes:
    slope = sp.together(sp.diff(gain, action))
    first, last = (sp.factor(slope.subs(action, end)) for end in ends)
    regimes = [
        Regime("lower end", (relation(first, "<=", _ZERO),), {action.name: ends[0]}, (claim,)),
        Regime("upper end", (relation(last, ">=", _ZERO),), {action.name: ends[1]}, (claim,)),
    ]
    inside = (relation(first, ">=", _ZERO), relation(last, "<=", _ZERO))
    root, reasons = _zero_of(slope, action, claim.domain)
    regimes.insert(1, Regime("inside", inside, {action.name: root}, (claim, *reasons)))
    return _inhabited(domain, regimes)


def _zero_of(slope: sp.Expr, action: sp.Symbol, play: Domain) -> tuple[sp.Expr, tuple[Claim, ...]]:
    """The zero of a decreasing slope, and what shows that it is the right one.

    The slope is positive at the lower end and negative at the upper one, so it has a zero between
    them. Of the two zeros (-B +- sqrt(B^2 - 4 A C))/(2 A) of its numerator, the slope decreases
    at the one whose sign is opposite to that of the denominator.
    """
    above, below = sp.fraction(slope)
    poly = sp.Poly(above, action)
    if poly.degree() > 2:
        raise DomainError(f"the slope has degree {poly.degree()} in {action}: no closed form")
    leading = poly.all_coeffs()[0]
    sides = [_sign_of(leading, play, "the leading coefficient of the slope")]
    if poly.degree() == 1:
        linear, constant = poly.all_coeffs()
        return sp.factor(-constant / linear), (sides[0][1],)
    sides.append(_sign_of(below, play, "the denominator of the slope"))
    _, linear, constant = poly.all_coeffs()
    content, factors = sp.factor_list(linear**2 - 4 * leading * constant)
    outside = sp.Integer(1)
    for factor, power in factors:
        if power > 1:
            sign, _ = _sign_of(factor, play, "a factor of the discriminant")
            outside *= (sign * factor) ** (power // 2)
    root = sp.sqrt(sp.Mul(content, *(f for f, k in factors if k % 2)))
    away = sp.together(-sides[1][0] * outside / (2 * leading)) * root
    return sp.factor(-linear / (2 * leading)) + away, tuple(claim for _, claim in sides)


def _sign_of(formula: sp.Expr, play: Domain, name: str) -> tuple[int, Claim]:
    for sign, symbol, word in ((1, ">", "positive"), (-1, "<", "negative")):
        claim = Claim(f"{name} is {word}", relation(sp.sympify(formula), symbol, _ZERO), play)
        if isinstance(claim.verdict(), Proved):
            return sign, claim
    raise DomainError(f"{name} is not shown to keep one sign: {formula}")


def _inhabited(domain: Domain, regimes: list[Regime]) -> Regimes:
    """Without regimes whose conditions hold nowhere, and without conditions that always hold."""
    kept = []
    for regime in regimes:
        conditions = tuple(c for c in regime.conditions if not _holds(c, domain))
        if any(_holds(_reversed(c), domain) for c in conditions):
            continue
        kept.append(Regime(regime.name, conditions, regime.values, regime.claims))
    return Regimes(domain, tuple(kept))


def _holds(condition: sp.Rel, domain: Domain) -> bool:
    return isinstance(prove(condition, domain), Proved)


def _reversed(condition: sp.Rel) -> sp.Rel:
    return relation(condition.lhs, {"<=": ">", ">=": "<"}[condition.rel_op], condition.rhs)
