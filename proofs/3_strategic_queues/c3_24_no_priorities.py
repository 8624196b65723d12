r"""Servers without priorities: the factor grows like the square root of n.

n small queues of total rate a = 1 - 1/K and a big one of rate (1 + e)/K, all at a server of rate
1, which takes any of their packets; n other servers.
"""

from fractions import Fraction

import numpy as np
from _evidence import estimated, seen
from _paths import RULES, crowded_choices, random_path
from sympy import Add, Eq, Ge, Gt, Le, Lt, symbols

from qtheory import Domain, prove, theorem
from qtheory.drift import bound_by, identities
from qtheory.learning import no_priorities as family
from qtheory.learning import simulate
from qtheory.learning import single_queue as sq
from qtheory.learning.run import estimate
from qtheory.systems.strategic_queues import SOURCE

n, K, e, a = family.n, family.K, family.e, family.a
FOSTER = (
    "a chain whose drift is negative outside a finite set is positive recurrent (Foster), and the "
    "drift of a quadratic test function has the mean 0 in steady state"
)
ERGODIC = "the ergodic theorem for positive recurrent chains"


def same(left, right, on):
    return prove(Eq(left, right, evaluate=False), on)


@theorem("C3.24", given=FOSTER)
def packets_of_the_small_queues():
    r"""While the big queue has packets, the small queues have, after the arrivals, $E[L] = (2a -
    a^2/2 - 3a^2/(2n))/(1 - a - a/n)$ packets in the mean, for all $n$ and $a(1 + 1/n) < 1$.

    With $N$ small queues that are not empty, $L$ falls with probability $N/(N + 1)$ and each
    queue with probability $1/(N + 1)$. The balance of $L^2$ and that of the sum of the squares
    hold two unknowns, $E[L]$ and $E[L/(N + 1)]$. In the sum of the two drifts $L/(N + 1)$ cancels,
    and the rest is negative for large $L$.
    """
    L, N = symbols("L N", nonnegative=True)
    of_square, of_squares = -2 * (L - L / (N + 1)) + 2 * a * L, -2 * L / (N + 1) + 2 * (a / n) * L
    stable = Domain(n >= 1, stable=a * (n + 1) < n)
    claims = {f"balance {label}": prove(claim, stable) for label, claim in family.balance().items()}
    return claims | {
        "the sum of the drifts, but for a constant": same(
            of_square + of_squares, -2 * (1 - a - a / n) * L, stable.over(L, N)
        ),
        "falls in $L$": prove(Gt(1 - a - a / n, 0, evaluate=False), stable),
        "$E[L]$ is positive": prove(Gt(family.mean_packets(a), 0, evaluate=False), stable),
    }


@theorem("C3.24.chain")
def packets_from_the_chain():
    r"""For $n = 1, 2, 3$ the chain of the small queues is positive recurrent where $a(1 + 1/n) <
    1$, and $E[L]$ is the stated one.

    The chain is taken before the arrivals, so its mean is $E[L] - a$. The drift of a test function
    is checked on every region, in both directions; the upper bound gives positive recurrence
    (Foster).
    """
    claims = {}
    for queues in (1, 2, 3):
        chain = family.small_queues(queues)
        total = Add(*chain.state)
        V = identities(chain, degree=2).test_function(total)
        mean = family.mean_packets(a, queues) - a
        for sign, word in (("<=", "at most"), (">=", "at least")):
            claims[f"{word}, $n = {queues}$"] = bound_by(chain, total, V, mean, sign).proved
    return claims


@theorem("C3.25", given=ERGODIC)
def linear_growth_at_the_order_of_root_n():
    r"""The big queue grows at rate $e/K$, while the system is feasible at the factors below $c^* =
    \min(1/\lambda_B, (1 + n\mu)/(\lambda_B + a))$. For $e \to 0$ the best $K$ is $K^*(n) =
    (n\sqrt{6n + 3}/3 - 1)/(n - 1)$, with $c^* \to K^*$, and $\sqrt{6n + 3}/3 <= K^* <= \sqrt{6n +
    3}/3 + 1$: linear growth at factors of the order $\sqrt{2n/3}$.

    Server 1 serves one packet per step and the small queues take $a$, so that $1 - a = 1/K$ is
    left. The least $M_k/L_k$ is at $k = 1$ or $k = n + 1$, for in between the ratio moves towards
    $\mu/(a/n)$ always from the same side. At $e = 0$ the first term of $c^*$ grows in $K$ and the
    second falls.
    """
    on = {"falls": family.domain}
    claims = {
        f"feasibility: {label}": prove(claim, family.domain)
        for label, claim in family.mediants().items()
    }
    for label, claim in family.exponent().items():
        claims[f"best $K$: {label}"] = prove(claim, on.get(label, Domain(n >= 2)))
    growth = family.big_rate - (1 - family.load)
    claims["growth of the big queue"] = same(growth, family.big_growth, family.domain)
    claims["it is positive"] = prove(Gt(family.big_growth, 0, evaluate=False), family.domain)
    return claims


@theorem("C3.25.simulated", expected="supported")
def growth_simulated():
    r"""For $n = 20$, $K = 4$, $e = 3/10$ the big queue grows by $e/K = 3/40$ per step, and $E[L]$
    is the stated one.
    """
    found = family.instance(20, 4, "3/10")
    runs = []

    def run():
        if not runs:
            rule = {"selection": "random", "seed": 13}
            runs.append(simulate(found.lam, found.mu, found.learners(), 3000, 256, **rule))
        return runs[0]

    def packets():
        half = len(run().times) // 2
        small = run().sizes[:, half:, :-1].sum(axis=2).mean(axis=1)
        return estimate("packets", small + float(family.load.subs(K, 4)))

    where = "steps 1500 to 3000, 256 replications, seed 13"
    return {
        "growth": estimated(
            "growth", "==", found.big_growth, lambda: run().queue_growths[-1], where
        ),
        "packets": estimated("E_L", "==", found.mean_packets, packets, where),
    }


@theorem("C3.26", given=ERGODIC)
def nobody_regrets_server_1():
    r"""In this family the average regret of every queue has an upper limit of at most 0.

    The big queue gets $1/K$ at server 1 and would get $\mu < 1/K$ elsewhere. In the long run a
    small queue is served in $a/E[N]$ of the steps in which it has packets, and elsewhere it
    would be in $\mu = a/E[L]$ of them; $N <= L$. This is an average over time, not a statement on
    every history.
    """
    N, L = symbols("N L", positive=True)
    return {
        "the other servers": same(
            family.mu_other, family.load / family.mean_packets(family.load), family.domain
        ),
        "are worse for the big queue": prove(
            Lt(family.mu_other, 1 / K, evaluate=False), family.domain
        ),
        "and for the small ones": prove(a / N >= a / L, Domain(N <= L, symbols=(a,))),
        "the small queues are stable": prove(
            Lt(family.load * (1 + 1 / n), 1, evaluate=False), family.domain
        ),
    }


@theorem("C3.27")
def coordinated_queues_never_gain():
    r"""Let $\min(N, K - 1)$ of the $N$ small queues with packets, chosen uniformly, and the big
    queue be at server 1, the other small queues at private servers of rate $1/K$. After every
    history no server offers a queue more than it gets in the mean. For $K^2 <= n$ and small
    queues of total rate $1 <= a' <= 1 + e/2$ the system is feasible at the factors below $K/(1 +
    e)$, which for the largest such $K$ is at least $(\sqrt n - 1)/(1 + e)$.
    """
    x, load, j = symbols("N load j", nonnegative=True)
    ratio = (1 + j / K) / (family.big_rate + j * load / n)
    sizes = Domain(K >= 2, K**2 <= n, load >= 1, load <= 1 + e / 2, e <= 1)
    return {
        "server 1 gives at least $1/K$": prove(
            Ge(1 / (x + 1), 1 / K, evaluate=False), Domain(K >= 2, x <= K - 1)
        ),
        "one more at server 1 would get at most $1/K$, with $N >= K$ packets there": prove(
            Le(1 / x, 1 / K, evaluate=False), Domain(K >= 2, x >= K)
        ),
        "the big queue comes first": prove(Le(load / n, family.big_rate, evaluate=False), sizes),
        "$M_k/L_k$ is least at $k = 1$, with $j = k - 1$": prove(
            Ge(ratio, 1 / family.big_rate, evaluate=False), sizes.over(j)
        ),
        "the largest $K$": prove(
            Ge(K / (1 + e), (n ** Fraction(1, 2) - 1) / (1 + e), evaluate=False),
            Domain(K >= 1, (K + 1) ** 2 >= n, e <= 1),
        ),
    }


@theorem("C3.27.simulated", expected="supported")
def coordinated_queues_grow():
    r"""Then the big queue still grows, at $n = 60$, $K = 7$, $a' = 7/5$, $e = 3/20$: feasible at
    factors up to 6.08.

    It gets $E[1/(1 + \min(N, K - 1))]$ per step; that this exceeds $1/K$ by an exponentially
    small amount only, so that the factor $\sqrt n (1 - o(1))$ is reached, is a sketch and not
    proved here.
    """
    rates, servers = family.coordinated_rates(60, 7, "7/5", "3/20")

    def growth():
        rule = {"selection": "random", "seed": 14}
        run = simulate(rates, servers, family.Coordinated(7), 2400, 64, **rule)
        return run.queue_growths[-1]

    return estimated("growth", ">", 0, growth, "steps 1200 to 2400, 64 replications, seed 14")


@theorem("C3.28", expected="supported")
def path_inequality_of_one_queue():
    r"""For every rule of the servers, in a window in which queue $i$ always has packets, $\sum_t
    S^{i,j}_t >= V_j - Clear_j$ and $n(C_i + Reg_i^+) >= \sum_{j <= n} V_j - Clear$, where $Clear_j$
    are the packets that server $j$ serves, and $Clear$ those that all servers do.

    In a step with a success of $j$ some packet is served by $j$, or queue $i$ would be. The
    second part adds the first one over $n$ servers.
    """
    S, coins, clear, served, regret = symbols("S V Clear C Reg", nonnegative=True)

    def windows(joint):
        for seed in range(60):
            random = np.random.default_rng([seed, 3])
            shape = int(random.integers(2, 5)), int(random.integers(2, 5))
            choices = crowded_choices(seed, shape, 30, 10)
            _, path = random_path(seed, choices, shape, 30, 10, **RULES[seed % 3])
            start = int(random.integers(5, 20))
            window = slice(start, int(random.integers(start + 1, 31)))
            successes = path.coins[window].sum(axis=0)
            at = np.arange(shape[1])[:, None] == path.choices[window][:, :, None]
            cleared = (at & path.served[window][:, :, None]).sum(axis=(0, 1))
            gains = path.would_be_served[window].sum(axis=0)
            own = path.served[window].sum(axis=0)
            blame = np.maximum(path.regret(window.start, window.stop), 0)
            most = -np.sort(-successes, axis=0)[: shape[0]].sum(axis=0)
            for i in range(shape[0]):
                applies = path.sends[window, i].all(axis=0)
                if not joint:
                    yield (gains[i] >= successes - cleared)[:, applies]
                    continue
                left_side = shape[0] * (own[i] + blame[i])
                yield (left_side >= most - path.served[window].sum(axis=(0, 1)))[applies]

    where = "windows of 600 random paths of 30 steps, 2 to 4 queues, seeds 0 to 59, 3 rules"
    return {
        "one server": seen(Ge(S, coins - clear, evaluate=False), windows(False), where),
        "all servers": seen(
            Ge(n * (served + regret), coins - clear, evaluate=False), windows(True), where
        ),
    }


@theorem("C3.29", given="the path inequality C3.28, whose proof is in words")
def no_linear_growth_above_one_plus_root_n():
    r"""If the system is feasible at a factor $c >= 1 + \sqrt n$ and queue $i$ has the regret
    $o(t)$, then almost surely $\liminf Q^i_t/t = 0$, whatever the others do.

    Otherwise queue $i$ would always have packets from some time on. Let $s$ be the lower limit of
    its service rate and $Lam = L_n$. By C3.28 and without regret $s >= \mu_1 - Lam$ and $s >= (M_n
    - Lam)/n$; the queue grows, so $s < \lambda_i$; and $c\, Lam < M_n$, $c\lambda_i < \mu_1$. The
    steps give $(c - 1)^2 < n$. Strong stability at this factor is open.
    """
    return {
        f"step {number}": prove(claim, domain)
        for number, (claim, domain) in enumerate(family.no_linear_growth().values(), 1)
    }


@theorem(
    "C3.30",
    source=SOURCE,
    given="a negative drift with bounded moments of the steps bounds the moments of the process "
    "(Pemantle, Rosenthal 1999, Theorem 1)",
)
def the_factor_n_suffices():
    r"""If $n\lambda_i < \mu_1$ for all $i$: with everybody at server 1, $E[Q^i] <= \lambda_i(1 -
    \mu_1/n)/(\mu_1/n - \lambda_i)$; and a queue without regret is strongly stable, whatever the
    others do.

    With $N <= n - 1$ other packets a packet is served with probability $\mu_1/(N + 1) >= \mu_1/n$,
    so the queue is below one with its own server of that rate (coupling). A queue with regret at
    most $\phi$ that always has packets in $w$ steps is served at least $w\mu_1/n - \phi$ times in
    the mean, so that it falls if $w$ is large.
    """
    rate, best, others, w, phi = symbols("lambda_i mu_1 N w phi", positive=True)
    factor_n = Domain(n >= 1, best <= 1, n * rate < best)
    return {
        "success": prove(
            Ge(best / (others + 1), best / n, evaluate=False), Domain(best <= 1, others <= n - 1)
        ),
        "mean size": same(
            family.mean_at_factor_n(rate, best, n),
            sq.mean.subs({sq.lam: rate, sq.mu: best / n}, simultaneous=True),
            factor_n,
        ),
        "drift without regret": prove(
            Lt(rate * w - (w * best / n - phi), 0, evaluate=False),
            factor_n.where(phi < w * (best / n - rate)),
        ),
    }


@theorem("C3.31")
def the_factor_exceeds_the_cube_root():
    r"""Linear growth is possible at factors above $n^{1/3}$: the best member of C3.25 has $K^* >=
    \sqrt{6n + 3}/3 >= n^{1/3}$.

    The claim is on the sixth powers. The exponent 1/3 is recalled as that of Gaitonde and Tardos
    and is not confirmed here.
    """
    return prove(Ge(((6 * n + 3) / 9) ** 3, n**2, evaluate=False), Domain(n >= 1))
