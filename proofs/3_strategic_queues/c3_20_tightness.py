r"""The factor 2 - 1/n is exact: everybody at server 1, oldest packet first.

n queues of rate lambda, servers of rates 1 and (1 - e)/n, n - 1 times; all send to server 1.
"""

from fractions import Fraction

import numpy as np
from _evidence import estimated
from sympy import Eq, Gt, Le, Lt, Symbol, pi, symbols

from qtheory import Domain, prove, theorem
from qtheory.drift import bound_by, identities
from qtheory.learning import simulate, trace
from qtheory.learning import tightness as family
from qtheory.learning.run import estimate
from qtheory.systems.strategic_queues import SOURCE

n, lam, e = family.n, family.lam, family.e


LIMITS = (
    "the strong law of large numbers",
    "the limit law of a reflected random walk",
    "the drift of a quadratic test function has the mean 0 in steady state",
)


def same(left, right, on):
    return prove(Eq(left, right, evaluate=False), on)


@theorem("C3.20", given=LIMITS)
def growth_of_the_queues():
    r"""The total size is the walk $Q' = \max(Q + A - 1, 0)$ with $A$ binomial, of mean $n\lambda$.
    If $n\lambda > 1$, then $Q_t/t \to n\lambda - 1$, $Q^i_t/t \to \lambda - 1/n$ and $T^i_t/t \to 1
    - 1/(n\lambda)$; if $n\lambda = 1$, $E[Q_t] \sim \sqrt{2(1 - 1/n)t/\pi}$; if $n\lambda < 1$,
    $E[Q] = n(n-1)\lambda^2/(2(1 - n\lambda))$.

    Server 1 serves one packet in every step in which there is one, in the global order of the
    timestamps, so $T^i_t$ is the age of the oldest of $Q_t \approx n\lambda T^i_t$ packets. For
    the mean let $U = 1$ if $Q + A = 0$, else 0: $Q' = Q + A - 1 + U$ gives $P(U = 1) = 1 -
    n\lambda$, and $Q'^2 = (Q + A - 1)^2 - U$ gives $E[Q]$. At $n\lambda = 1$ the walk has the
    variance $\sigma^2 = 1 - 1/n$ per step and $E[Q_t] \sim \sqrt{2\sigma^2 t/\pi}$.
    """
    squares = n * lam * (1 - lam) + (n * lam - 1) ** 2
    moments = squares + 2 * family.mean_total * (n * lam - 1) - (1 - n * lam)
    return {
        "mean for $n\\lambda < 1$": same(moments, 0, family.stable),
        "queues add up": same(n * family.queue_growth, family.total_growth, family.domain),
        "ages and sizes": same(lam * family.age_growth, family.queue_growth, family.domain),
        "all grow": prove(Gt(family.queue_growth, 0, evaluate=False), family.growing),
        "variance at $n\\lambda = 1$": same(
            (n * lam * (1 - lam)).subs(lam, 1 / n),
            family.critical_constant * pi / 2,
            Domain(n >= 1),
        ),
    }


@theorem("C3.20.chain")
def mean_size_from_the_chain():
    r"""For up to four queues the total is positive recurrent where $n\lambda < 1$, with $E[Q] =
    n(n-1)\lambda^2/(2(1 - n\lambda))$.

    The test function $V$ is found from $E[PV - V] = 0$. The drift is checked on every region of
    the chain, in both directions; $Q + PV - V <= E[Q]$ also gives positive recurrence (Foster).
    """
    claims = {}
    for queues in (1, 2, 3, 4):
        chain = family.total_queue(queues)
        (total,) = chain.state
        V = identities(chain, degree=2).test_function(total)
        mean = family.mean_total.subs(n, queues)
        for sign, word in (("<=", "at most"), (">=", "at least")):
            claims[f"{word}, $n = {queues}$"] = bound_by(chain, total, V, mean, sign).proved
    return claims


@theorem("C3.20.simulated", expected="supported")
def growth_simulated():
    r"""With $n = 5$, $\lambda = 21/100$ the total grows by $1/20$ a step, each age by $1/21$."""
    found = family.instance(5, "21/100")
    runs = []

    def run():
        if not runs:
            runs.append(simulate(found.lam, found.mu, found.learners(), 4000, 256, seed=11))
        return runs[0]

    where = "steps 2000 to 4000, 256 replications, seed 11"
    at = {n: 5, lam: Fraction(21, 100)}
    return {
        "total": estimated(
            "growth", "==", family.total_growth.subs(at), lambda: run().growth, where
        ),
        "age": estimated(
            "age_growth", "==", family.age_growth.subs(at), lambda: run().age_growths[0], where
        ),
    }


@theorem("C3.21", source=SOURCE)
def factor_of_the_family():
    r"""The system is feasible at the factors below $c^* = (1 + (1 - 1/n)(1 - e))/(n\lambda)$. Over
    the members that are not stable, $n\lambda >= 1$, its supremum is $2 - 1/n$, attained at
    $\lambda = 1/n$ only, where the growth is not linear; and $2 - 1/n$ tends to 2.

    $M_k/L_k$ falls in $k$, so that it is least at $k = n$.
    """
    k = Symbol("k", positive=True)
    ratio = (1 + (k - 1) * (1 - e) / n) / (k * lam)
    return {
        "least at $k = n$": prove(family.feasibility_decreases(), family.domain),
        "its value there": same(ratio.subs(k, n), family.scale, family.domain),
        "$e = 0$": same(family.scale.subs(e, 0), family.factor / (n * lam), family.domain),
        "at most $2 - 1/n$": prove(
            Le(family.scale, family.factor, evaluate=False), family.domain.where(n * lam >= 1)
        ),
        "attained": same(family.scale.subs({e: 0, lam: 1 / n}), family.factor, Domain(n >= 1)),
        "not where the queues grow linearly": prove(
            Lt(family.scale, family.factor, evaluate=False), family.growing
        ),
        "below 2 by $1/n$": same(2 - family.factor, 1 / n, Domain(n >= 1)),
    }


@theorem("C3.22", expected="supported")
def regret_of_the_family():
    r"""For $e = 0$ and $n\lambda > 1$ no queue regrets server 1, and what another server would
    gain, $\Delta = \sum_t (V^j_t - S^i_t)$ over $w$ steps, has $Var(\Delta)/w \to (1/n)(1 - 1/n)(2
    - \lambda)$. So the regret is of the order $\sqrt w = o(w)$.

    $(1/n)(1 - 1/n)$ comes from the coin, and $(1/n)(1 - 1/n)(1 - \lambda)$ from how many of the
    next $w$ packets belong to queue $i$. Chernoff's and Hoeffding's bounds give $Reg <= 2 +
    2\sqrt{w \ln(4/\delta)} + \sqrt{w \ln(2(n-1)/\delta)/2}$, but for probability $\delta +
    e^{-w/4}$.
    """
    share = (1 / n) * (1 - 1 / n)

    def squares():
        random = np.random.default_rng(12)
        found, steps, warm, paths = family.instance(3, "4/5"), 1200, 200, 500
        arrivals = random.random((steps, 3, paths)) < 0.8
        rates = np.array([float(rate) for rate in found.mu])
        coins = random.random((steps, 3, paths)) < rates[:, None]
        path = trace(arrivals, coins, found.learners())
        own = path.served[warm:].sum(axis=0)
        gains = path.would_be_served[warm:, :, 1:].sum(axis=0) - own[:, None]
        return estimate("variance", (gains.astype(float) ** 2).mean(axis=(0, 1)) / (steps - warm))

    value = family.regret_variance.subs({n: 3, lam: Fraction(4, 5)})
    where = "n = 3, lambda = 4/5, 500 windows of 1000 steps after 200 steps, seed 12"
    return {
        "two parts": same(family.regret_variance, share + share * (1 - lam), family.domain),
        "simulated": estimated("variance", "==", value, squares, where),
    }


@theorem(
    "C3.23",
    given=(
        "strong stability without regret where $(2 - 1/k) L_k < M_k$ for all $k$ (C3.18)",
        "the regret of the family is $o(w)$ (C3.22, by the bounds of Chernoff and Hoeffding)",
    ),
)
def the_factor_is_exact():
    r"""For every $n$, the factor $2 - 1/n$ is exact: queues without regret are stable if
    $(2 - 1/n) L_k < M_k$ for all $k$, and no smaller factor suffices.

    At $\lambda = 1/n$ and $e = 0$ the slack $M_k - (2 - 1/k) L_k$ is $(n - k)/n$, which is 0 at $k
    = n$ only. For $\lambda > 1/n$ the queues of the family grow though they are feasible at
    factors up to $(2 - 1/n)/(n\lambda)$, as close to $2 - 1/n$ as one likes.
    """
    k, factor = symbols("k c", positive=True)
    slack = (1 + (k - 1) / n) - (2 - 1 / k) * k / n
    rate = (family.factor + factor) / (2 * factor * n)
    below = Domain(n >= 2, factor >= 1, factor < family.factor)
    return {
        "a factor for $n$ is one for $k$": prove(
            Le(2 - 1 / k, family.factor, evaluate=False), Domain(k >= 1, k <= n)
        ),
        "the slack": same(slack, (n - k) / n, Domain(k >= 1, k <= n)),
        "a rate that grows": prove(Gt(n * rate, 1, evaluate=False), below),
        "is a rate": prove(Le(rate, 1, evaluate=False), below),
        "and feasible at a smaller factor $c$": prove(
            Gt(family.factor / (n * rate), factor, evaluate=False), below
        ),
    }
