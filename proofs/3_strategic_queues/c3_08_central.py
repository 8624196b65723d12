"""Central schedulers: who can be stabilised, and the schedules that do it."""

from fractions import Fraction
from itertools import combinations
from random import Random

from _evidence import estimated, seen
from sympy import Add, Eq, Ge, Le, symbols

from qtheory import Domain, prove, theorem
from qtheory.learning import AgeGreedy, feasibility, schedule, simulate
from qtheory.learning import single_queue as sq
from qtheory.learning.feasibility import sorted_rates
from qtheory.systems.strategic_queues import SOURCE

COUNT = 150


def feasible_rates(seed, queues=7, servers=9):
    """Rational rates in any order that a central scheduler can serve."""
    random = Random(seed)
    lam = [Fraction(random.randint(1, 12), 12) for _ in range(random.randint(1, queues))]
    mu = [Fraction(random.randint(0, 12), 12) for _ in range(random.randint(1, servers))]
    mu[0] = Fraction(random.randint(1, 12), 12)
    largest = feasibility(lam, mu).scale
    return [x * min(Fraction(1), largest * Fraction(random.randint(5, 19), 20)) for x in lam], mu


def schedules():
    for seed in range(COUNT):
        yield schedule(*feasible_rates(seed))


WHERE = f"{COUNT} random rational instances, at most 7 queues and 9 servers, seeds 0 to {COUNT - 1}"


@theorem("C3.8", expected="supported", source=SOURCE)
def feasible_systems_have_a_schedule():
    r"""If $L_k < M_k$ for all $k$, a randomised schedule serves each queue with probability at
    least $\lambda_i + \epsilon^*$ in every step, $\epsilon^* = \min_k (M_k - L_k)/k$.

    $\lambda + \epsilon^*$ is weakly majorised by $\mu$; it is raised to some $y$ that is
    majorised, $y = P\mu$ by T-transforms (Hardy, Littlewood, Polya 1934), and $P$ is a mixture of
    permutations (Birkhoff 1946, von Neumann 1953). A T-transform with weight $\theta = d/(c_i -
    c_k)$ moves $d$ from the entry $c_i > y_i$ to the entry $c_k < y_k$. The steps are proved; that
    the algorithm ends with such a schedule is checked on instances.
    """
    ci, ck, yi, yk, d, x, m, eps = symbols("c_i c_k y_i y_k d L M epsilon", nonnegative=True)
    k = symbols("k", positive=True)
    y, rate, P, mu = symbols("y lambda P mu", positive=True)
    share = d / (ci - ck)
    moved = Domain(yi >= yk, d <= ci - yi, d <= yk - ck, ci > yi, ck < yk)

    def clears():
        for found in schedules():
            yield all(
                p >= rate + found.margin for p, rate in zip(found.clearing, found.lam, strict=True)
            )
            yield found.margin == min(
                slack / j for j, slack in enumerate(feasibility(found.lam, found.mu).slacks, 1)
            )

    def mixes():
        for found in schedules():
            services = sorted_rates(found.lam, found.mu)[1]
            yield all(sum(row) == 1 and min(row) >= 0 for row in found.mixing)
            yield all(sum(column) == 1 for column in zip(*found.mixing, strict=True))
            yield sorted(found.clearing, reverse=True) == [
                sum(p * rate for p, rate in zip(row, services, strict=True)) for row in found.mixing
            ]
            yield sum(found.weights) == 1 and min(found.weights) > 0
            for i, cleared in enumerate(found.clearing):
                pairs = zip(found.weights, found.assignments, strict=True)
                yield cleared == sum(w * found.mu[row[i]] for w, row in pairs if row[i] >= 0)

    return {
        "the margin": prove(Ge(m - (x + k * eps), 0, evaluate=False), Domain(k * eps <= m - x)),
        "a T-transform is a mixture": prove(share <= 1, moved),
        "which lowers one entry": prove(
            Eq((1 - share) * ci + share * ck, ci - d, evaluate=False), moved
        ),
        "and raises the other": prove(
            Eq(share * ci + (1 - share) * ck, ck + d, evaluate=False), moved
        ),
        "each queue is served often enough": seen(
            Ge(y, rate + eps, evaluate=False), clears(), WHERE
        ),
        "by a mixture of assignments": seen(Eq(y, P * mu, evaluate=False), mixes(), WHERE),
    }


@theorem("C3.9", expected="supported")
def the_margin_is_the_largest():
    r"""No randomised schedule serves every queue with probability at least $\lambda_i + \epsilon$
    for an $\epsilon > \epsilon^*$.

    The services of the $k$ fastest queues add up to at most $M_k$, so that $L_k + k\epsilon <=
    M_k$. The linear program over all schedules is solved in floating point as a second method.
    """
    k, eps, x, m = symbols("k epsilon L M", positive=True)

    def optima():
        import numpy as np
        from scipy.optimize import linprog

        for seed in range(40):
            lam, mu = feasible_rates(seed, 4, 5)
            queues, servers = len(lam), len(mu)
            rows = []
            for i in range(queues):
                served = np.zeros((queues, servers))
                served[i] = [-float(rate) for rate in mu]
                rows.append([*served.ravel(), 1.0])
            for axis, size in ((0, queues), (1, servers)):
                for own in range(size):
                    used = np.zeros((queues, servers))
                    used[(own,) if axis == 0 else (slice(None), own)] = 1
                    rows.append([*used.ravel(), 0.0])
            limits = [*(-float(rate) for rate in lam), *[1.0] * (queues + servers)]
            found = linprog([*[0.0] * (queues * servers), -1.0], A_ub=rows, b_ub=limits)
            yield abs(-found.fun - float(feasibility(lam, mu).margin)) < 1e-9

    where = "linear programs of 40 random instances, seeds 0 to 39, difference below 1e-9"
    largest = symbols("epsilon_max", positive=True)
    return {
        "at most": prove(eps <= (m - x) / k, Domain(k >= 1, x + k * eps <= m)),
        "the linear program": seen(
            Eq(largest, symbols("epsilon_star", positive=True), evaluate=False),
            optima(),
            where,
            kind="checks in floating point",
        ),
    }


@theorem("C3.10", expected="supported")
def number_of_assignments():
    r"""The schedule uses at most $|supp P| - 2n + c + 1 <= (n - 1)^2 + 1$ assignments, where the
    support of $P$, as a bipartite graph, has $c$ components.

    The doubly stochastic matrices on the support have dimension $|supp P| - 2n + c$. With
    components of sizes $n_1, ..., n_c$ the support has at most $\sum n_i^2$ entries; merging two
    components of sizes $a$ and $b$ never lowers the bound.
    """
    a, b = symbols("a b", positive=True)
    used, bound = symbols("assignments bound", positive=True)

    def few():
        for found in schedules():
            yield len(found.weights) <= found.largest_count <= (len(found.lam) - 1) ** 2 + 1

    return {
        "merged components": prove(
            Le((a - 1) ** 2 + (b - 1) ** 2, (a + b - 1) ** 2, evaluate=False),
            Domain(a >= 1, b >= 1),
        ),
        "assignments": seen(Le(used, bound, evaluate=False), few(), WHERE),
    }


@theorem("C3.10.connected", expected="refuted")
def components_count():
    r"""$|supp P| - 2n + 2$ assignments are always enough.

    This is refuted: the identity has $n$ entries and needs one assignment. The bound holds where
    the support is connected.
    """
    n = symbols("n", positive=True)
    return prove(1 <= n - 2 * n + 2, Domain(n >= 1))


@theorem(
    "C3.11",
    source=SOURCE,
    given="a submartingale that is bounded in L1 converges almost surely (Doob)",
)
def infeasible_systems_are_not_stable():
    r"""$E[Q^1_t + ... + Q^k_t] >= t(L_k - M_k)$ under every scheduler; and if $L_k = M_k$, some
    scheduler is strongly stable only where $\lambda_i = \mu_i = 1$ for all $i <= k$.

    In a step the packets of $k$ queues are at some set of at most $k$ servers, which serve at
    most $M_k$ of them in the mean (proved for three servers; with more the argument is the same).
    If $L_k = M_k$, the sum of the sizes is an integer submartingale. It grows with probability at
    least $\lambda_1 ... \lambda_k (1 - \mu_k)$ in every step, so it cannot converge, unless
    $\mu_k = 1$. Then all these $\mu_i$, and with them the $\lambda_i$, are 1, and $Q^i_t = 0$.
    """
    rates = symbols("mu_1:4", nonnegative=True)
    ordered = Domain(rates[0] >= rates[1], rates[1] >= rates[2])
    claims = {}
    for k in (1, 2, 3):
        for size in range(1, k + 1):
            for used in combinations(range(3), size):
                servers = ", ".join(str(j + 1) for j in used)
                claims[f"$k = {k}$ at the servers {servers}"] = prove(
                    Le(Add(*(rates[j] for j in used)), Add(*rates[:k]), evaluate=False), ordered
                )
        claims[f"$k = {k}$, with $\\mu_k = 1$ all are 1"] = prove(
            Ge(Add(*rates[:k]), k, evaluate=False), ordered.where(rates[k - 1] >= 1)
        )
    return claims


@theorem("C3.12")
def mean_sizes_under_the_schedule():
    r"""Under a schedule that serves queue $i$ with probability $y_i$ in each step, independently,
    $E[Q^i] = \lambda_i (1 - y_i)/(y_i - \lambda_i)$.

    Each queue is one queue with its own server, of rate $y_i$: see C3.5.
    """
    return {
        "mean of the geometric law": prove(
            Eq(sq.mean, sq.ratio / (1 - sq.ratio), evaluate=False), sq.domain
        ),
        "its ratio is below 1": prove(sq.ratio < 1, sq.domain),
    }


@theorem("C3.12.simulated", expected="supported")
def mean_sizes_under_the_schedule_simulated():
    r"""For $\lambda = (1/2, 2/5, 1/10)$ and $\mu = (9/10, 1/3)$ the schedule has $E[Q] = 19/7 +
    94/35 + 37/35$.
    """
    found = schedule(["1/2", "2/5", "1/10"], ["9/10", "1/3"])

    def size():
        return simulate(found.lam, found.mu, found.scheduler(), 2000, 512, seed=5).average_size

    where = "steps 1000 to 2000 from empty queues, 512 replications, seed 5"
    return estimated("mean_size", "==", sum(found.mean_sizes), size, where)


@theorem("C3.13", expected="supported")
def the_oldest_packet_to_the_fastest_server():
    r"""Sending the oldest packet to the fastest server, the next oldest to the next, is stable
    whenever $L_k < M_k$ for all $k$. For $\mu = (1, 1/3, 1/3)$ and three equal queues it is at
    factor 1.05, and below factor 1 the queues grow by $L_3 - M_3$ per step.

    The $k$ oldest queues are served at the rate $M_k$, so that the drift of C3.16 applies with
    $M_k$ in the place of $M_k/(2 - 1/k)$.
    """

    def growth(factor):
        rates = [Fraction(5, 9) / factor] * 3
        return simulate(rates, [1, "1/3", "1/3"], AgeGreedy(), 4000, 256, seed=6).growth

    where = "steps 2000 to 4000 from empty queues, 256 replications, seed 6"
    low = Fraction(19, 20)
    return {
        "factor 1.05": estimated("growth", "==", 0, lambda: growth(Fraction(21, 20)), where),
        "factor 0.95": estimated(
            "growth", "==", 3 * Fraction(5, 9) / low - Fraction(5, 3), lambda: growth(low), where
        ),
    }
