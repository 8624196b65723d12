r"""The shape of the cost J itself: it increases in p, its slope at full attack, and convexity."""

from fractions import Fraction
from math import floor

from sympy import Derivative, Eq, Function, Rational, Symbol, symbols

from qtheory import Domain, bound_by, identities, prove, theorem
from qtheory.formulas import relation
from qtheory.inequality import Open
from qtheory.systems.shorter_queue import (
    JB,
    SOURCE,
    Jbar,
    a,
    b,
    d,
    dJbar,
    domain,
    lam,
    m,
    model,
    mu,
    p,
    rates,
)
from qtheory.systems.shorter_queue.cost_shape import convexity
from qtheory.systems.shorter_queue.exact_cost import full_slope

cost = 2 * m + d
longer, longer_1 = symbols("l l_1", nonnegative=True)
total, total_1 = symbols("t t_1", nonnegative=True)


@theorem("C1.3.increasing", source=SOURCE)
def attacks_raise_the_cost():
    r"""The cost $J(p)$ increases strictly in the misrouted fraction $p$, for all rates.

    A state is $(l, t)$, the longer queue and the sum of both, $l <= t <= 2l$; let $(l, t)$ be
    below $(l_1, t_1)$ if $l <= l_1$ and $t <= t_1$. Couple the systems with $p < p_1$: the longer
    queue of each is served at rate $\mu$, and so is the shorter one; jobs join the shorter queue
    of each at rate $\lambda(1 - p_1/2)$, the longer one of each at rate $\lambda p/2$, and at rate
    $\lambda(p_1 - p)/2$ the shorter one of the first and the longer one of the second. The longer
    queue grows when a job joins it, or the shorter of two equal queues; it falls when it is
    served and is strictly longer.

    Every event keeps the order. One that moves a coordinate moves it by 1, up in both systems or
    down in both, so the order in a coordinate can break only from equality, in the cases below;
    each of them contradicts the order of the other coordinate. A job that joins the longer queue
    in the second system raises both of its coordinates, which nothing in the first one exceeds.

    Started empty, the sums stay in order, so $J(p) <= J(p_1)$. The inequality is strict: when the
    second system empties, which it does again and again, both are empty, and until the next time
    there is a positive probability that the lengths are 1 and 0 in both, then 1, 1 in the first
    and 2, 0 in the second, and then the shorter queue is served, which leaves 1 job and 2 jobs.
    """
    step = Symbol("i", nonnegative=True)
    return {
        "joining the shorter, $l = l_1$: if $2l = t$ but $2l_1 > t_1$, then $t_1 < t$": prove(
            total_1 < total, Domain(total >= 2 * longer, total_1 < 2 * longer)
        ),
        "serving the longer, $l = l_1$: if $2l_1 > t_1$ but $2l = t$, then $t_1 < t$": prove(
            total_1 < total,
            Domain(longer_1 <= longer, total_1 < 2 * longer_1, total >= 2 * longer),
        ),
        "serving the longer, $t = t_1$: $l_1 <= 2l$, so if $l = 0$ both are empty": prove(
            longer_1 <= 2 * longer, Domain(longer_1 <= total, total <= 2 * longer)
        ),
        "serving the shorter, $t = t_1$: if $t = l$ but $t_1 > l_1$, then $l_1 < l$": prove(
            longer_1 < longer, Domain(total <= longer, total > longer_1)
        ),
        "joining the shorter against the longer": prove(
            longer + step <= longer_1 + 1, Domain(longer <= longer_1, step <= 1)
        ),
    }


@theorem("C1.3.slope", source=SOURCE)
def slope_at_full_attack():
    r"""$J'(1) = 4\mu\lambda^2/((2\mu - \lambda)^2(2\mu + \lambda))$, which is $2\mu/(2\mu -
    \lambda)$ times $\bar J'(1)$.

    The drift of $(x_1^2 + x_2^2)/2$ gives $(2\mu - \lambda) J = 2\lambda - (1-p)\lambda\, E|D|$,
    and $J(1) = 2\lambda/(2\mu - \lambda)$. So $(J(1) - J(p))/(1 - p) = \lambda\, E|D|/(2\mu -
    \lambda)$, and $J'(1)$ is its limit. The second moments are bounded in $p$; so the laws are
    tight, a limit of them as $p$ tends to 1 is stationary at $p = 1$, where only one law is, and
    $E|D|$ converges to its value there.

    At $p = 1$ every job joins either queue with probability 1/2, so the queues are independent
    and geometric, $P(x_1 = k) = (1 - r) r^k$ with $r = \lambda/(2\mu)$. Then $P(|D| = k) =
    2 (1-r)^2 r^k/(1 - r^2)$ for $k >= 1$, and $\sum_{j >= k} j r^j = r^k (k/(1-r) + r/(1-r)^2)$.
    """
    V = identities(model()).test_function((2 * mu - lam) * cost + (1 - p) * lam * d)
    tied = (2 * mu - lam) * cost + (1 - p) * lam * d
    K = 2 / (3 * (2 * mu - lam))
    L = K * 3 * (lam + 2 * mu) / (2 * mu - lam)
    cubes = K * (m**3 + (m + d) ** 3) + L * (m**2 + (m + d) ** 2) / 2
    r, k, y = Symbol("r", positive=True), Symbol("k", positive=True), Symbol("y", positive=True)
    geometric = Domain(r < 1, symbols=(r,)).over(k, y)
    imbalance = 2 * r / (1 - r**2)
    load = lam / (2 * mu)

    def same(left, right, on):
        return prove(Eq(left, right, evaluate=False), on)

    def rest(count, power):
        return power * (count / (1 - r) + r / (1 - r) ** 2)

    return {
        "the identity, at most": bound_by(model(), tied, V, 2 * lam).proved,
        "the identity, at least": bound_by(model(), tied, V, 2 * lam, ">=").proved,
        "second moments are bounded in $p$": bound_by(
            model(), m**2 + (m + d) ** 2, cubes, K * lam + L * (lam + 2 * mu) / 2
        ).proved,
        "balance of one queue at $p = 1$": same(lam / 2 * y, mu * load * y, rates.over(y)),
        "the sum telescopes, $y = r^k$": same(rest(k, y) - rest(k + 1, r * y), k * y, geometric),
        "$E|D|$ at $p = 1$": same(
            2 * (1 - r) ** 2 / (1 - r**2) * rest(Rational(1), r), imbalance, geometric
        ),
        "the slope": same(lam * imbalance.subs(r, load) / (2 * mu - lam), full_slope, rates),
        r"against $\bar J'(1)$": same(full_slope, 2 * mu / (2 * mu - lam) * dJbar(1), rates),
        r"it is steeper": prove(full_slope > dJbar(1), rates),
        r"$J(1) = \bar J(1)$": same(JB, Jbar(1), rates),
    }


@theorem(
    "C1.3.exact",
    source=SOURCE,
    given=r"$J''(p) >= k$ on $0 <= p <= 1$ for the number $k$ in each claim: certified power "
    "series of qtheory.systems.shorter_queue.cost_shape.convexity, in ball arithmetic, not in "
    "the certificate",
)
def attacking_some_jobs_is_never_best_on_the_cost():
    r"""At $\lambda/\mu = 1/10, 1/4, 1/2$ and 1 the cost $J$ itself is strictly convex: attacking
    a fraction $0 < a < 1$ of the jobs, not all of them defended, is worse than attacking all or
    none.

    With $J'' >= k$ the payoff $J(a(1-b)) - c_a a$ lies below its chord by at least $k a (1-a)
    (1-b)^2/2$. The cost scales with the rates: only $\lambda/\mu$ matters.
    """
    claims = {}
    for ratio in ("1/10", "1/4", "1/2", "1"):
        k = _down(convexity(ratio, 1).least)
        curvature = Symbol("k", positive=True)
        inside = Domain(a > 0, a < 1, b < 1, curvature >= k, symbols=(a, b, curvature))
        loss = curvature * a * (1 - a) * (1 - b) ** 2 / 2
        claims[rf"$\lambda/\mu = {ratio}$"] = prove(loss > 0, inside)
    return claims


def _down(value: Fraction) -> Rational:
    """A short decimal below."""
    return Rational(floor(value * 10**6), 10**6)


@theorem("C1.3.conjecture", expected="open", source=SOURCE)
def the_cost_is_convex():
    r"""Conjecture: for all rates the cost $J$ is strictly convex in the misrouted fraction $p$."""
    J = Function("J")(p)
    return Open(
        relation(Derivative(J, p, 2), ">", Rational(0)),
        domain,
        (
            "proved at single rational rates (C1.3.exact), no counterexample was seen at others",
            "the coupling that shows that J increases does not order second differences",
        ),
    )
