"""The model: its steps, the dual model with one timestamp per queue, and sizes from ages."""

from itertools import product

import numpy as np
from _evidence import estimated, seen
from _paths import RULES, STRATEGIES, random_path
from sympy import Add, Eq, Ge, Mul, Rational, binomial, symbols

from qtheory import Domain, prove, theorem
from qtheory.learning import Exp3, Mixed, simulate, trace
from qtheory.learning.run import estimate
from qtheory.learning.waiting import mean_sizes
from qtheory.systems.strategic_queues import SOURCE

lam, mu = symbols("lambda mu", positive=True)
before, after, arrives, served, age, dual = symbols("Q Q_next B S T Q_dual", nonnegative=True)


def all_rules():
    return ((rule, strategy, seed) for rule in RULES for strategy in STRATEGIES for seed in (1, 2))


@theorem("C3.1", expected="supported", source=SOURCE)
def steps_of_the_model():
    r"""On every path $Q^i_{t+1} = Q^i_t + B^i_t - S^i_t$ with $S^i_t <= Q^i_t + B^i_t$, and a
    server that gets packets serves exactly one of them if its coin says so, else none.
    """

    def conservation():
        for rule, strategy, seed in all_rules():
            arrivals, path = random_path(seed, strategy, model="standard", **rule)
            yield np.diff(path.sizes, axis=0) == arrivals.astype(int) - path.served
            yield path.served <= path.sizes[:-1] + arrivals

    def service():
        for rule, strategy, seed in all_rules():
            _, path = random_path(seed, strategy, model="standard", **rule)
            for server in range(3):
                sent = path.choices == server
                due = sent.any(axis=1) & path.coins[:, server]
                yield (sent & path.served).sum(axis=1) == due

    where = "3 queues, 3 servers, 600 random paths of 40 steps, seeds 1, 2, 3 rules, 5 strategies"
    number, coin = symbols("served V", nonnegative=True)
    return {
        "sizes": seen(Eq(after, before + arrives - served, evaluate=False), conservation(), where),
        "services of a server with packets": seen(
            Eq(number, coin, evaluate=False), service(), where
        ),
    }


@theorem("C3.2", expected="supported", source=SOURCE)
def dual_model_is_the_standard_model():
    r"""The dual model, which keeps the timestamp of the oldest packet of each queue only, gives
    the path of the standard model: ages, choices, services; and $Q^i_t$ is the number of arrivals
    since the timestamp, so that $Q^i_t >= 1$ if and only if $T^i_t >= 1$, and $Q^i_t <= T^i_t$.
    """

    def both():
        for rule, strategy, seed in all_rules():
            paths = [
                random_path(seed, strategy, steps=100, model=model, **rule)[1]
                for model in ("standard", "dual")
            ]
            for name in ("sizes", "ages", "sends", "choices", "served"):
                yield getattr(paths[0], name) == getattr(paths[1], name)
            sizes, ages = paths[0].sizes[:-1], paths[0].ages
            yield ((sizes >= 1) == (ages >= 1)) & (sizes <= ages)

    where = "3 queues, 3 servers, 600 random paths of 100 steps, seeds 1, 2, 3 rules, 5 strategies"
    return seen(Eq(before, dual, evaluate=False), both(), where)


def joint_law(t):
    """P(T_t = a, Q_t = q) for one queue and one server, from all paths of t steps."""
    paths = np.array(list(product((0, 1), repeat=2 * t))).T
    idle = np.zeros((1, paths.shape[1]), dtype=int)
    arrivals, coins = (np.concatenate([part, idle])[:, None] for part in (paths[:t], paths[t:]))
    path = trace(arrivals, coins, Mixed((1,)), model="standard")
    law = {}
    for a, q, jobs, successes in zip(
        path.ages[t, 0], path.sizes[t, 0], paths[:t].sum(axis=0), paths[t:].sum(axis=0), strict=True
    ):
        chance = Mul(
            lam ** int(jobs),
            (1 - lam) ** (t - int(jobs)),
            mu ** int(successes),
            (1 - mu) ** (t - int(successes)),
        )
        law.setdefault((int(a), int(q)), []).append(chance)
    return {key: Add(*chances) for key, chances in law.items()}


@theorem("C3.3")
def size_given_the_age_of_one_queue():
    r"""At time 4, for one queue with one server and all rates: given the age $T = a >= 1$, the
    size $Q$ is $1 + Bin(a - 1, \lambda)$.

    All 256 paths are added up. The arrivals after the oldest packet had no influence so far; this
    is why the same holds at every time and for several queues.
    """
    law = joint_law(4)
    rates = Domain(lam <= 1, mu <= 1)
    claims = {}
    for a, q in sorted(key for key in law if key[0] >= 1):
        chance = binomial(a - 1, q - 1) * lam ** (q - 1) * (1 - lam) ** (a - q)
        whole = Add(*(value for (own, _), value in law.items() if own == a))
        claims[f"$T = {a}$, $Q = {q}$"] = prove(
            Eq(law[a, q], chance * whole, evaluate=False), rates
        )
    return claims


@theorem("C3.3.mean", expected="supported")
def mean_size_given_the_ages():
    r"""Given the ages, the mean size is $1 + \lambda_i (T^i_t - 1)$ where $T^i_t >= 1$ and 0 else,
    also for queues that learn: the mean difference is 0.
    """

    def differences():
        rates = [Rational(1, 2), Rational(2, 5), Rational(1, 5)]
        run = simulate(rates, [1, "1/2", "1/4"], Exp3(), 300, 1024, seed=3, model="standard")
        means = mean_sizes(run.ages, np.array([float(x) for x in rates]))
        return estimate("difference", (run.lengths - means)[:, -1].sum(axis=1))

    where = "3 queues with EXP3, the sum over them after 300 steps, 1024 replications, seed 3"
    return estimated("difference", "==", 0, differences, where)


@theorem(
    "C3.4",
    given=(
        "a median of a binomial law is at least the integer part of its mean (Kaas, Buhrman 1980)",
        "the inequality of Markov and the lemma of Borel and Cantelli",
    ),
)
def moments_of_sizes_and_of_ages():
    r"""$E[(T^i_t)^\alpha] <= 2 (2/\lambda_i)^\alpha E[(Q^i_t)^\alpha]$ and $Q^i_t <= T^i_t$, so
    sizes and ages have bounded moments together; and strong stability implies $Q_t = o(t^c)$
    almost surely for every $c > 0$.

    Given the age $a >= 1$, $Q = 1 + Bin(a - 1, \lambda)$ exceeds $(a - 1)\lambda$ with
    probability at least 1/2, which is at least $\lambda a/2$ for $a >= 2$; for $a = 1$, $Q = 1$.
    So $E[Q^\alpha | T = a] >= (\lambda a/2)^\alpha/2$. For the second part take $\alpha = 2/c$
    in $P(Q_t > t^c) <= C_\alpha t^{-c\alpha}$; the sum over $t$ is finite.
    """
    a, c = symbols("a c", positive=True)
    return {
        "half of the age": prove(
            Ge((a - 1) * lam, lam * a / 2, evaluate=False), Domain(a >= 2, lam <= 1)
        ),
        "age 1": prove(1 >= lam / 2, Domain(lam <= 1)),
        "the exponent": prove(Eq(c * (2 / c), 2, evaluate=False), Domain(symbols=(c,))),
    }
