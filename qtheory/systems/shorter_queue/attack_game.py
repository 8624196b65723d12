r"""The game of attacker and operator on the closed-form bound (Tang, Wen, Jin; arXiv 1909.11199).

The attacker chooses the fraction a of jobs to attack and maximises Jbar(a (1 - b)) - ca a, the
operator the fraction b to defend and minimises Jbar(a (1 - b)) + cb b; Jbar is the bound of
`qtheory.systems.shorter_queue` under uniform attacks, costs are per unit time. Jbar is strictly
convex, so the attacker attacks all jobs or none: all of them with probability theta.

Attacking all jobs gains G(1 - b) - ca, which falls in b, and the operator's best b grows with
theta. So in two equilibria with different theta the gain is 0, hence b is the same; where b > 0
the operator's first-order condition then fixes theta. For positive costs the equilibrium is
therefore unique unless ca = G(1), where b = 0 goes with an interval of theta.

The boundary between pure and mixed equilibria is cb = Jbar'(phat(ca)), a rational function of the
rates and of ca. In the proofs of regime III the misrouted fraction r = p*(cb) stands for cb =
Jbar'(r), which avoids its square root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.errors import DomainError
from qtheory.formulas import relation
from qtheory.games.payoff import Player
from qtheory.games.regimes import Claim, Regime, Regimes
from qtheory.games.segment import Segment, segment
from qtheory.inequality.monotone import convex, increasing
from qtheory.systems.shorter_queue import (
    JB,
    G,
    Jbar,
    a,
    b,
    ca,
    cb,
    dJbar,
    lam,
    mu,
    p,
    p_hat,
    rates,
)
from qtheory.systems.shorter_queue import domain as fractions

r = sp.Symbol("r", nonnegative=True)
costs = rates.over(ca, cb)
"""Rates with lam < 2 mu, and positive costs of attacking and of defending."""

attacker = Player(a, Jbar(a * (1 - b)) - ca * a)
operator = Player(b, -(Jbar(a * (1 - b)) + cb * b))

undefended = G(sp.Integer(1))
"""What attacking all jobs gains when none is defended: the boundary of regime I in ca."""
undefended_slope = dJbar(sp.Integer(1))
"""The boundary between regimes II and III in cb."""
peaceful = lam * (2 * mu + lam) / ((2 * mu - lam) * (mu + lam))
"""Jbar(0), the bound on the cost without attacks."""
mixed_boundary = (2 * mu - lam) * (ca + peaceful) ** 2 / (2 * (2 * mu + lam))
"""Jbar'(phat(ca)): the boundary between regimes III and IV in cb."""

theta_mixed = cb / mixed_boundary
root = sp.sqrt(2 * (2 * mu + lam) * cb / (2 * mu - lam))
p_defended = (2 * mu + 2 * lam) / lam - root / cb
"""p*(cb), with one square root."""

risks = {
    "I": peaceful,
    "II": JB,
    "III": 2 * root - cb * (2 * mu + lam) / lam,
    "IV": peaceful + theta_mixed * ca + cb * (1 - p_hat),
}
"""The operator's cost Jbar + cb b in equilibrium, in IV the mean over the attacker's mixing."""


def at_least(left: sp.Expr, right: sp.Expr) -> sp.Rel:
    """``left >= right``, not evaluated by SymPy."""
    return relation(left, ">=", right)


def at_most(left: sp.Expr, right: sp.Expr) -> sp.Rel:
    """``left <= right``, not evaluated by SymPy."""
    return relation(left, "<=", right)


def equal(left: sp.Expr, right: sp.Expr) -> sp.Rel:
    """``left == right``, not evaluated by SymPy."""
    return relation(left, "==", right)


@cache
def regimes() -> Regimes:
    """The four regimes with theta, b, the misrouted fraction p of an attack, and the risk.

    In regime III the attacker attacks surely, in IV with probability theta. Source: Tang, Wen,
    Jin, arXiv 1909.11199, on the closed-form bound.

    >>> regimes().at({"lam": 1, "mu": 1, "ca": "3/10", "cb": "2/5"})
    {'IV': {'theta': 20/27, 'b': 1/3, 'p': 2/3, 'risk': 167/90}}
    >>> list(regimes().at({"lam": 1, "mu": 1, "ca": "1/2", "cb": 1}))
    ['I', 'II']
    """
    claims = {
        "I": _claims_no_attack,
        "II": _claims_undefended,
        "III": _claims_defended,
        "IV": _claims_mixed,
    }
    return Regimes(
        costs,
        tuple(replace(regime, claims=claims[regime.name]()) for regime in CASES.regimes),
    )


def _regime(name: str, theta: sp.Expr, left: sp.Expr, *conditions: sp.Rel) -> Regime:
    values = {"theta": sp.sympify(theta), "b": 1 - left, "p": left, "risk": risks[name]}
    return Regime(name, conditions, values)


_ONE = sp.Integer(1)
_SOME = at_most(ca, undefended)
CASES = Regimes(
    costs,
    (
        _regime("I", 0, _ONE, at_least(ca, undefended)),
        _regime("II", 1, _ONE, _SOME, at_least(cb, undefended_slope)),
        _regime(
            "III",
            1,
            p_defended,
            _SOME,
            at_most(cb, undefended_slope),
            at_least(cb, mixed_boundary),
        ),
        _regime("IV", theta_mixed, p_hat, _SOME, at_most(cb, mixed_boundary)),
    ),
)
"""The regimes before anything is claimed of them: what a query at a point needs."""


def _claims_no_attack() -> tuple[Claim, ...]:
    none = costs.where(at_least(ca, undefended))
    return (
        Claim(
            "no attack is the best reply to b = 0",
            at_most(Jbar(a) - ca * a, Jbar(0)),
            none.over(a).where(a <= 1),
        ),
        Claim(
            "no defence is the best reply to no attack",
            at_least(Jbar(0) + cb * b, Jbar(0)),
            none.over(b).where(b <= 1),
        ),
        Claim("the risk is Jbar(0)", equal(risks["I"], Jbar(0)), none),
    )


def _claims_undefended() -> tuple[Claim, ...]:
    part = costs.where(at_most(ca, undefended), at_least(cb, undefended_slope))
    return (
        Claim(
            "attacking all is the best reply to b = 0",
            at_most(Jbar(a) - ca * a, Jbar(1) - ca),
            part.over(a).where(a <= 1),
        ),
        Claim(
            "no defence is the best reply to attacking all",
            at_least(Jbar(1 - b) + cb * b, Jbar(1)),
            part.over(b).where(b <= 1),
        ),
        Claim("the risk is Jbar(1)", equal(risks["II"], Jbar(1)), part),
    )


def _claims_defended() -> tuple[Claim, ...]:
    """With r in the place of p*(cb), so that cb = Jbar'(r)."""
    part = rates.over(r).where(r <= 1)
    distance, price = 2 * mu + (2 - r) * lam, dJbar(r)
    square = 2 * (2 * mu + lam) * price / (2 * mu - lam)
    lowest = at_least(mixed_boundary, dJbar(sp.Integer(0)))
    return (
        Claim("Jbar' is increasing", increasing(dJbar(p), p), fractions),
        Claim("cb is Jbar'(r) for some r, being at least Jbar'(0)", lowest, costs),
        Claim(
            "the formulas have the root cb (2 mu + (2 - r) lam) / lam, by its square",
            equal((price * distance / lam) ** 2, square),
            part,
        ),
        Claim("which is positive", relation(distance, ">", sp.Integer(0)), part),
        Claim(
            "b = 1 - r is the best reply to attacking all",
            at_least(Jbar(1 - b) + price * b, Jbar(r) + price * (1 - r)),
            part.over(b).where(b <= 1),
        ),
        Claim(
            "the condition says that the attack pays: cb >= Jbar'(phat) as G(r) >= ca",
            at_least(price, dJbar(p_hat)),
            part.over(ca).where(at_least(G(r), ca)),
        ),
        Claim(
            "and only then",
            relation(price, "<", dJbar(p_hat)),
            part.over(ca).where(relation(G(r), "<", ca), at_most(ca, undefended)),
        ),
        Claim(
            "then attacking all is the best reply to b = 1 - r",
            at_most(Jbar(a * r) - ca * a, Jbar(r) - ca),
            part.over(a, ca).where(a <= 1, at_least(G(r), ca)),
        ),
        Claim(
            "the risk is Jbar(r) + cb (1 - r)",
            equal(
                2 * price * distance / lam - price * (2 * mu + lam) / lam,
                Jbar(r) + price * (1 - r),
            ),
            part,
        ),
    )


def _claims_mixed() -> tuple[Claim, ...]:
    attacks = rates.over(ca).where(at_most(ca, undefended))
    part = costs.where(at_most(ca, undefended), at_most(cb, mixed_boundary))
    expected = theta_mixed * Jbar(1 - b) + (1 - theta_mixed) * Jbar(0) + cb * b
    return (
        Claim("G is increasing", increasing(G(p), p), fractions),
        Claim(
            "Jbar' is positive, so the operator's best b grows with theta",
            relation(dJbar(1 - b), ">", sp.Integer(0)),
            rates.over(b).where(b <= 1),
        ),
        Claim("0 < phat", relation(p_hat, ">", sp.Integer(0)), attacks),
        Claim("phat <= 1", at_most(p_hat, sp.Integer(1)), attacks),
        Claim("the boundary is Jbar'(phat)", equal(dJbar(p_hat), mixed_boundary), attacks),
        Claim(
            "attacking all and none pay the same",
            equal(Jbar(p_hat) - ca, Jbar(0)),
            attacks,
        ),
        Claim(
            "attacking a part pays no more",
            at_most(Jbar(a * p_hat) - ca * a, Jbar(0)),
            attacks.over(a).where(a <= 1),
        ),
        Claim("theta is a probability", at_most(theta_mixed, sp.Integer(1)), part),
        Claim(
            "the operator's slope vanishes at b = 1 - phat",
            equal(sp.diff(expected, b).subs(b, 1 - p_hat), sp.Integer(0)),
            part,
        ),
        Claim(
            "where the operator's cost is convex",
            convex(expected, b),
            part.over(b).where(b <= 1),
        ),
        Claim("the risk", equal(expected.subs(b, 1 - p_hat), risks["IV"]), part),
    )


@dataclass(frozen=True)
class Equilibrium:
    """All equilibria at a point: every theta with every b of the segments.

    `theta` is the probability that all jobs are attacked (none otherwise); `b` the defended
    fraction; `p` = 1 - b the fraction of jobs misrouted by an attack; `risk` the operator's cost
    per unit time, an interval where it depends on which equilibrium is played. `regimes` are the
    regimes that meet at the point, none where a cost is zero. For ca = 0 a defence b = 1 makes
    every law of the attack optimal; then theta is the mean attacked fraction.
    """

    regimes: tuple[str, ...]
    theta: Segment
    b: Segment
    p: Segment
    risk: Segment

    @property
    def is_unique(self) -> bool:
        """Whether there is one equilibrium."""
        return self.theta.is_point and self.b.is_point

    @property
    def is_pure(self) -> bool:
        """Whether an equilibrium without mixing is among them."""
        return 0 in self.theta or 1 in self.theta

    def __str__(self) -> str:
        name = f"regime {', '.join(self.regimes)}: " if self.regimes else ""
        return f"{name}theta = {self.theta}, b = {self.b}, risk = {self.risk}"


def equilibrium(lam: Any, mu: Any, ca: Any, cb: Any) -> Equilibrium:
    """All equilibria at exact rational rates and costs, costs at least zero.

    >>> print(equilibrium(1, 1, "1/10", "1/2"))
    regime III: theta = 1, b = -3 + 2*sqrt(3), risk = -3/2 + 2*sqrt(3)
    >>> print(equilibrium(1, 1, "1/2", "1/5"))
    regime I, IV: theta = [0, 3/10], b = 0, risk = [3/2, 33/20]

    Raises `UnstableError` unless lam < 2 mu and `DomainError` for a negative cost.
    """
    at = _point(lam, mu)
    attack, defence = _cost("ca", ca), _cost("cb", cb)
    if attack == 0:
        return _free_attacks(at, defence)
    if defence == 0:
        return _free_defence(at, attack)
    found = CASES.at({**at, _CA: attack, _CB: defence})
    first = next(iter(found.values()))
    theta, risk = segment(first["theta"]), segment(first["risk"])
    if "I" in found and len(found) > 1:
        # b = 0 leaves the attacker indifferent, and is best for the operator up to this theta
        most = min(sp.Integer(1), defence / undefended_slope.subs(at))
        low, high = peaceful.subs(at), JB.subs(at)
        theta, risk = segment(0, most), segment(low, low + most * (high - low))
    return Equilibrium(tuple(found), theta, segment(first["b"]), segment(first["p"]), risk)


_CA, _CB = ca, cb
Point = Mapping[sp.Symbol, sp.Rational]


def _point(arrival: Any, service: Any) -> Point:
    place = rates.require({"lambda": arrival, "mu": service})
    return {symbol: _rational(value) for symbol, value in place.items()}


def _cost(name: str, given: Any) -> sp.Rational:
    cost = _rational(exact(given))
    if cost < 0:
        raise DomainError(f"outside the domain: needs {name} >= 0, got {name} = {cost}")
    return cost


def _rational(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)


def _free_attacks(at: Point, defence: sp.Rational) -> Equilibrium:
    """ca = 0: all jobs are attacked, or all are defended and enough of them attacked."""
    full = dJbar(sp.Integer(0)).subs(at)
    if defence <= full:
        risk = segment(peaceful.subs(at) + defence)
        return Equilibrium((), segment(defence / full, 1), segment(1), segment(0), risk)
    if defence >= undefended_slope.subs(at):
        return Equilibrium((), segment(1), segment(0), segment(1), segment(JB.subs(at)))
    left, risk = (f.subs({**at, cb: defence}) for f in (p_defended, risks["III"]))
    return Equilibrium((), segment(1), segment(1 - left), segment(left), segment(risk))


def _free_defence(at: Point, attack: sp.Rational) -> Equilibrium:
    """cb = 0: enough is defended, which costs nothing, to keep the attacker away."""
    left = sp.Integer(1)
    if attack < undefended.subs(at):
        left = p_hat.subs({**at, ca: attack})
    return Equilibrium(
        (), segment(0), segment(1 - left, 1), segment(0, left), segment(peaceful.subs(at))
    )


def regime_map(lam: Any, mu: Any, ca: Any, cb: Any) -> Any:
    """The number 1 to 4 of the regime on arrays of floats that broadcast, 0 outside the domain.

    A picture, not a verdict: points within rounding of a boundary may fall on either side.

    >>> import numpy as np
    >>> regime_map(1.0, 1.0, np.array([0.6, 0.1]), np.array([[1.0], [0.5], [0.1]])).tolist()
    [[1, 2], [1, 3], [1, 4]]
    """
    import numpy as np

    values = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (lam, mu, ca, cb)))
    arrival, service, attack, defence = values
    inside = (arrival > 0) & (arrival < 2 * service) & (attack >= 0) & (defence >= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second, third = (
            sp.lambdify(costs.symbols, boundary, "numpy")(*values)
            for boundary in (undefended, undefended_slope, mixed_boundary)
        )
    chosen = np.select([attack >= first, defence >= second, defence >= third], [1, 2, 3], 4)
    return np.where(inside, chosen, 0)
