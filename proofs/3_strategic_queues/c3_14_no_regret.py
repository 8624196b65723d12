"""No regret with timestamps: counterfactuals, the path inequality, and the drift of the ages."""

from fractions import Fraction
from itertools import permutations

import numpy as np
from _evidence import estimated, seen
from _paths import RULES, STRATEGIES, crowded_choices, random_path
from sympy import Add, E, Eq, Ge, Le, Lt, Rational, symbols

from qtheory import Domain, prove, theorem
from qtheory.balls import evaluate
from qtheory.learning import Exp3, Hajek, estimate_drift, path_inequality, simulate, stability
from qtheory.learning.rounds import serve
from qtheory.model.simulation.result import Estimate
from qtheory.systems.strategic_queues import SOURCE

PEMANTLE_ROSENTHAL = (
    "a negative drift with bounded moments of the steps bounds the moments of the process "
    "(Pemantle, Rosenthal 1999, Theorem 1)"
)
PATHS = "the path inequality C3.15, whose proof is in words"
CHERNOFF = (
    r"the bound of Chernoff: a queue has $w$ arrivals in $2w/\lambda$ steps, but for probability "
    r"$e^{-w/4}$"
)


@theorem("C3.14", expected="supported")
def counterfactuals_are_the_step_run_again():
    r"""$S^{i,j}_t$, which compares the key of queue $i$ with the least key at server $j$, is what
    running the step again with queue $i$ at server $j$ gives.
    """
    indicator, again = symbols("S_ij S_again", nonnegative=True)

    def both():
        for rule in RULES:
            for strategy in STRATEGIES[:3]:
                _, path = random_path(4, strategy, **rule)
                for t in range(len(path)):
                    for i in range(3):
                        for j in range(3):
                            choices = path.choices[t].copy()
                            choices[i] = np.where(path.sends[t, i], j, -1)
                            moved = serve(choices, path.keys[t], path.coins[t])
                            yield path.would_be_served[t, i, j] == moved[i]

    where = "3 queues, 3 servers, 180 random paths of 40 steps, seed 4, 3 rules, 3 strategies"
    return seen(Eq(indicator, again, evaluate=False), both(), where)


def old_groups():
    """Random windows with their k oldest queues, learners and adversaries."""
    for seed in range(60):
        random = np.random.default_rng([seed, 2])
        shape = int(random.integers(2, 5)), int(random.integers(2, 5))
        adversary = crowded_choices(seed, shape, 30, 10)
        _, path = random_path(seed, adversary if seed % 3 else Exp3(), shape, 30, 10)
        start = int(random.integers(5, 20))
        stop = int(random.integers(start + 1, 31))
        oldest = np.argsort(path.keys[start, :, 0])
        for k in range(1, shape[0] + 1):
            yield path_inequality(path, oldest[:k].tolist(), start, stop)


@theorem("C3.15", expected="supported")
def path_inequality_of_the_oldest_queues():
    r"""Let $k$ queues always have packets in a window, older ones than all other queues. Then
    $\sum_t S^{i,j}_t >= V_j - \sum_{l \ne i} C^{l,j}$ for each of them and every server, and $(2 -
    1/k) \sum_i C_i + \sum_i Reg_i^+ >= V_1 + ... + V_k$, on every path and for all choices.

    In a step with a success of $j$, another one of the $k$ queues is served by $j$, or queue $i$
    would be: this is the first part. For the second, add the first over $i$ with the servers
    $\sigma(i)$ and average over all bijections $\sigma$: each pair $(i, j)$ has weight $1/k$, so
    that the own packets $C^{i,j}$ are left out of a share $1/k$ of all. The average is proved for
    $k = 2, 3$; both inequalities are checked on windows.
    """
    S, coins, others, own, regret = symbols("S V C C_own Reg", nonnegative=True)
    count = symbols("k", positive=True)
    claims = {}
    for k in (2, 3):
        V = symbols(f"V_1:{k + 1}", nonnegative=True)
        C = [symbols(f"C_{i + 1}1:{i + 1}{k + 1}", nonnegative=True) for i in range(k)]
        everywhere = Domain(symbols=(*V, *(c for row in C for c in row)))
        totals = [
            Add(
                *(
                    V[j] - Add(*(C[other][j] for other in range(k) if other != i))
                    for i, j in enumerate(own)
                )
            )
            for own in permutations(range(k))
        ]
        cleared = Add(*(c for row in C for c in row))
        claims[f"average over the bijections, $k = {k}$"] = prove(
            Eq(
                Add(*totals) / len(totals), Add(*V) - (1 - Rational(1, k)) * cleared, evaluate=False
            ),
            everywhere,
        )
    where = "windows of 600 random paths of 30 steps, 2 to 4 queues and servers, seeds 0 to 59"
    return claims | {
        "one queue, one server": seen(
            Ge(S, coins - others, evaluate=False),
            (found.single[:, :, found.applies] >= 0 for found in old_groups()),
            where,
        ),
        "all $k$ of them": seen(
            Ge((2 - 1 / count) * own + regret, coins, evaluate=False),
            (found.joint[found.applies] >= 0 for found in old_groups()),
            where,
        ),
    }


@theorem("C3.16", source=SOURCE, given=(PATHS, CHERNOFF))
def drift_of_the_potential():
    r"""Let $(2 - 1/k) L_k <= (1 - \eta) M_k$ for all $k$, and let each regret in $w$ steps be at
    most $\phi$ but for probability $\delta$, after every history, with $\phi/w + n(\delta +
    e^{-w/4}) <= \eta\lambda_n/2$. Then $\Phi = (\sum_i \lambda_i T_i^2)^{1/2}$ falls, $E[\Phi_{t+w}
    - \Phi_t] <= -\beta$ on $\Phi_t >= \alpha$, with $\beta = (\eta/8) w \sqrt{\lambda_n}$, $\alpha
    = 4Aw/(\eta \sqrt{\lambda_n})$, $A = 9n^2/(2\lambda_n) + 3 \sum_i 1/\lambda_i$.

    $Z_i$ is the advance of the timestamp of queue $i$, and $T_i$ becomes at most $T_i + w - Z_i$.
    Summation by parts over the ages in decreasing order leaves the drifts of the $k$ oldest
    queues, which the path inequality bounds where the gap to the next age is at least
    $2w/\lambda_n + 1$. Smaller gaps cost a constant.
    """
    return {
        label: prove(claim, domain) for label, (claim, domain) in stability.drift_steps().items()
    }


@theorem("C3.17", source=SOURCE)
def norms_of_the_ages():
    r"""For up to three queues $\sqrt{\lambda_n}\, \Phi <= \sum_i \lambda_i T_i <= (\sum_i
    \lambda_i)^{1/2} \Phi$, where $\lambda_n$ is the least rate; both sides are attained.

    The claims are on the squares. For more queues the second is the inequality of Cauchy and
    Schwarz.
    """
    claims = {}
    for n in (1, 2, 3):
        for side, (claim, domain) in stability.norm_inequalities(n).items():
            claims[f"{side}, $n = {n}$"] = prove(claim, domain)
    x, y, age = symbols("lambda_1 lambda_2 T", positive=True)
    positive = Domain(symbols=(x, y, age))
    claims["upper attained at equal ages"] = prove(
        Eq((x * age + y * age) ** 2, (x + y) * (x * age**2 + y * age**2), evaluate=False), positive
    )
    claims["lower attained by the slowest queue alone"] = prove(
        Eq((y * age) ** 2, y * (y * age**2), evaluate=False), positive
    )
    return claims


@theorem("C3.18", source=SOURCE, given=(PEMANTLE_ROSENTHAL, "the drift C3.16"))
def no_regret_is_strongly_stable():
    r"""If $(2 - 1/k) L_k < M_k$ for all $k$, queues without regret, with a window $w$ as in C3.16,
    are strongly stable: $E[Q_t^r]$ is bounded over time for every $r$.

    This is the cited theorem for $\Phi$ at the times $0, w, 2w, ...$, with steps of bounded
    moments of an order $p > r + 1$. An age changes by at most $w + Z$, where $Z$ is at most the
    sum of $w$ geometric times, which have all moments; here for $p = 4$. The factor 2 of the
    source is more than $2 - 1/k$.
    """
    r, w, Z, x, y, a, b = symbols("r w Z lambda_1 lambda_2 x_1 x_2", positive=True)
    return {
        "an order for every $r$": prove(Lt(r, (r + 3) - 1, evaluate=False), Domain(symbols=(r,))),
        "moments of a sum": prove(
            Le((w + Z) ** 4, 8 * (w**4 + Z**4), evaluate=False), Domain(symbols=(w, Z))
        ),
        "moments of $\\Phi$, two queues": prove(
            Le((x * a**2 + y * b**2) ** 2, (x + y) * (x * a**4 + y * b**4), evaluate=False),
            Domain(symbols=(x, y, a, b)),
        ),
    }


@theorem("C3.18.simulated", expected="supported")
def drift_simulated():
    r"""With EXP3 and $\mu = (1, 1/3, 1/3)$ the drift of $\Phi$ over 50 steps is negative on $\Phi
    >= 10$ at the factor 1.75, above $2 - 1/n = 5/3$, and positive at 1.25.

    The simulated windows are far shorter than C3.16 demands, so this illustrates the theorem only.
    """

    def drift(factor):
        rates = [Fraction(5, 9) / factor] * 3
        run = simulate(rates, [1, "1/3", "1/3"], Exp3(), 2500, 256, seed=8, every=50)
        own = estimate_drift(run.potential, [10, 10**9])[0]
        # the interval is of Student's t with many degrees of freedom
        return Estimate("drift", own.drift, own.half_width / 1.96, own.half_width, 0.95)

    where = "256 replications of 2500 steps from empty queues, seed 8"
    return {
        "factor 1.75": estimated("drift", "<", 0, lambda: drift(Fraction(7, 4)), where),
        "factor 1.25": estimated("drift", ">", 0, lambda: drift(Fraction(5, 4)), where),
    }


@theorem("C3.19", expected="supported")
def exponential_tails_of_one_chain():
    r"""The bound of Hajek (1982) on $P(X_k >= b)$ holds for one queue with $\lambda = 1/3$ and $\mu
    = 1/2$, where the drift is $-1/6$ and steps are at most 1.

    The theorem itself is cited and not proved here. The law of the queue is computed in rational
    numbers, the bound with proven digits.
    """
    tail, bound = symbols("P_tail bound", nonnegative=True)
    lam, mu = Fraction(1, 3), Fraction(1, 2)
    hajek = Hajek(drift=mu - lam, level=0, exponent=1, transform=E, mean=1)

    def below():
        law = [Fraction(1)]
        up, down = lam * (1 - mu), mu * (1 - lam)
        for k in range(1, 121):
            padded = [*law, Fraction(0), Fraction(0)]
            law = [
                padded[q] * (1 - up - (down if q else 0))
                + (padded[q - 1] * up if q else 0)
                + padded[q + 1] * down
                for q in range(len(law) + 1)
            ]
            if k % 20 == 0:
                for b in range(10, k + 1, 10):
                    yield sum(law[b:]) <= evaluate(hajek.tail_bound(b, "1/10", k)).lower

    where = "k = 20, 40, ..., 120 and b = 10, 20, ..., k with s = 1/10"
    return seen(tail <= bound, below(), where)
