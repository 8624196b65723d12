"""Patient queues: each plays a fixed law over the servers for ever (Gaitonde, Tardos, EC 2021)."""

import time
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod
from random import Random

from _evidence import estimated, seen
from sympy import Eq, Symbol, symbols

from qtheory import Domain, Open, prove, theorem
from qtheory.formulas import relation
from qtheory.learning import Mixed, feasibility, growth, patient, patient_gap, simulate
from qtheory.systems.strategic_queues import PATIENT

size = Symbol("n", positive=True)


def random_game(seed, most=5):
    """Rational rates and a profile with small denominators, so that ratios are often equal."""
    random = Random(seed)
    queues, servers = random.randint(1, most), random.randint(1, 4)
    lam = [Fraction(random.randint(1, 6), 6) for _ in range(queues)]
    mu = [Fraction(random.randint(0, 6), 6) for _ in range(servers)]
    profile = []
    for _ in range(queues):
        cuts = sorted(random.randint(0, 4) for _ in range(servers - 1))
        ends = [0, *cuts, 4]
        profile.append([Fraction(b - a, 4) for a, b in pairwise(ends)])
    return lam, mu, profile


def rates_by_hand(lam, mu, profile):
    """The growth rates by the definition: all sets of queues, one after the other."""
    left, fixed, rates = list(range(len(lam))), [], [Fraction(0)] * len(lam)

    def served(queues):
        return sum(m * (1 - prod(1 - profile[i][j] for i in queues)) for j, m in enumerate(mu))

    while left:
        ratios = {
            own: (served([*fixed, *own]) - served(fixed)) / sum(lam[i] for i in own)
            for count in range(1, len(left) + 1)
            for own in combinations(left, count)
        }
        least = min(ratios.values())
        if least >= 1:
            break
        union = sorted({i for own, ratio in ratios.items() if ratio == least for i in own})
        for i in union:
            rates[i] = 1 - least
        fixed += union
        left = [i for i in left if i not in union]
    return tuple(rates)


@theorem("C3.34", expected="supported", source=PATIENT)
def growth_rates_of_patient_queues():
    r"""$T^i_t/t \to r_i$ almost surely, where the $r_i = 1 - f^*$ come from the sets with the least
    ratio $f^*$ of service to arrivals, again and again; the ratios increase, and $0 <= r_i <= 1$.

    The theorem is cited. The structure is checked exactly against all sets of queues, the rates
    against simulations.
    """
    found, expected = symbols("r_i r_definition", nonnegative=True)

    def structure():
        for seed in range(200):
            game = random_game(seed)
            own = growth(*game)
            ratios = [ratio for _, ratio in own.chain]
            yield ratios == sorted(set(ratios))
            yield all(0 <= rate <= 1 for rate in own.rates)
            yield own.rates == rates_by_hand(*game)

    lam, mu = ["3/5", "2/5", "1/5"], ["1/2", "1/4", "1/10"]
    third = (Fraction(1, 3),) * 3
    profile = ((Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), third, (1, 0, 0))
    exact = growth(lam, mu, profile).rates
    runs = []

    def age_growth(i):
        if not runs:
            runs.append(simulate(lam, mu, [*map(Mixed, profile)], 6000, 256, seed=31))
        return runs[0].age_growths[i]

    where = "steps 3000 to 6000, 256 replications, seed 31"
    claims = {
        "structure": seen(
            Eq(found, expected, evaluate=False),
            structure(),
            "200 random rational games, at most 5 queues and 4 servers, seeds 0 to 199",
        )
    }
    for i, rate in enumerate(exact, 1):
        claims[f"queue {i}"] = estimated(f"r_{i}", "==", rate, lambda i=i: age_growth(i - 1), where)
    return claims


@theorem("C3.35", source=PATIENT, given=(r"$(1 - 1/n)^n \to 1/e$", "the growth rates C3.34"))
def symmetric_equilibrium():
    r"""$n$ queues of rate $\lambda$ that play $n$ servers of rate 1 uniformly are stable if and
    only if $\lambda < 1 - (1 - 1/n)^n$, and no queue gains by another fixed strategy. So the
    factor must be at least $1/(1 - (1 - 1/n)^n) \to e/(e - 1)$.

    Let $x = (1 - 1/n)^{k-1}$. A set of $k$ queues with one that deviates to one server is served at
    the rate $n - (n - 1) x$, as without the deviation, $n(1 - (1 - 1/n) x)$. The rate is linear in
    the strategy of one queue, so no mixture changes it. Then no growth rate changes either. By
    submodularity the ratio of service to arrivals is least for all queues together.
    """
    return prove(patient.symmetric_balance(), Domain(size >= 1))


@theorem("C3.35.exact", expected="supported")
def symmetric_equilibrium_exactly():
    r"""For $n = 2, ..., 6$ and $\lambda = 1$ the best deviation from the symmetric profile,
    computed in rational numbers, gains nothing, and all rates are $(1 - 1/n)^n$.
    """
    gain = Symbol("gain", nonnegative=True)

    def gaps():
        for n in range(2, 7):
            game = [1] * n, [1] * n, patient.symmetric_profile(n)
            yield patient_gap(*game).is_equilibrium
            yield growth(*game).rates == (Fraction(n - 1, n) ** n,) * n

    return seen(Eq(gain, 0, evaluate=False), gaps(), "n = 2, ..., 6 and lambda = 1")


@theorem("C3.36", given="the growth rates C3.34")
def all_at_server_1_is_no_equilibrium():
    r"""With servers of rates $1, 1/n, ..., 1/n$ and everybody at server 1, a patient queue gains by
    playing another server with probability $q^* = n(n-1)/(n^2 - n + 1)$: the rates fall from $1 -
    1/(n\lambda)$ to $\max(0, 1 - n/((n^2 - n + 1)\lambda))$. Moving entirely gains nothing.

    The queue alone is served at the rate $1 - q + q/n$, which falls in $q$, and all queues at $1 +
    q/n$, which grows; the least ratio is greatest where both are equal. At $q = 1$ the queue
    alone is at $1/n$ as before.
    """
    q = Symbol("q", nonnegative=True)
    several = Domain(size >= 2)
    claims = {label: prove(claim, several) for label, claim in patient.deviation_balance().items()}
    alone = 1 - q + q / size
    claims["falls in $q$"] = prove(relation(alone.diff(q), "<", 0), several.over(q))
    claims["moving entirely"] = prove(Eq(alone.subs(q, 1), 1 / size, evaluate=False), several)
    return claims


@theorem("C3.36.exact", expected="supported")
def best_deviation_exactly():
    r"""For $n = 2, ..., 5$ the best deviation from all at server 1 leads to this rate, and no
    fixed strategy to a lower one.
    """
    rate, stated = symbols("r r_stated", nonnegative=True)

    def rates():
        for n in range(2, 6):
            lam = Fraction(3, 2 * n)
            profile = ((1, *[0] * (n - 1)),) * n
            gap = patient_gap([lam] * n, [1, *[Fraction(1, n)] * (n - 1)], profile)
            for own in gap.deviations:
                yield own.rate == patient.deviation_rate(n, lam)
                yield own.gain > 0

    where = "n = 2, ..., 5 and lambda = 3/(2n), each queue"
    return seen(Eq(rate, stated, evaluate=False), rates(), where)


LAWS = {
    2: [(Fraction(k, 6), Fraction(6 - k, 6)) for k in range(7)],
    3: [tuple(Fraction(c, 3) for c in own) for own in product(range(4), repeat=3) if sum(own) == 3],
}
GRID = "all pairs of laws with denominators 6 (2 servers) and 3 (3 servers)"


def least_gaps(seeds, low, high):
    """Random games of two queues with c* in (low, high): the least gap of the profiles at which a
    queue grows; all in rational numbers."""
    found = []
    for seed in seeds:
        random = Random(seed)
        mu = [Fraction(random.randint(1, 12), 12) for _ in range(random.choice((2, 3)))]
        lam = [Fraction(random.randint(4, 12), 12) for _ in range(2)]
        wanted = low + (high - low) * Fraction(random.randint(1, 99), 100)
        rates = [x * feasibility(lam, mu).scale / wanted for x in lam]
        if max(rates) <= 1:
            found += [
                patient_gap(rates, mu, profile).epsilon
                for profile in product(LAWS[len(mu)], repeat=2)
                if any(growth(rates, mu, profile).rates)
            ]
    return found


@theorem("C3.37", expected="supported", source=PATIENT)
def equilibria_are_stable():
    r"""If $L_k < (1 - 1/e) M_k$ for all $k$, all growth rates are 0 in every equilibrium of patient
    queues.

    This is the theorem of the source, cited. It is looked at for two queues: no profile of a grid
    at which a queue grows is an equilibrium.
    """
    started = time.perf_counter()
    epsilon = Symbol("gap", nonnegative=True)
    gaps = least_gaps(range(25), Fraction(1582, 1000), Fraction(5, 2))
    where = (
        f"2 queues, 2 or 3 servers, factor in (1.582, 2.5), seeds 0 to 24; {GRID}; the least gap "
        f"where a queue grows is {float(min(gaps)):.2g}"
    )
    claim = relation(epsilon, ">", 0)
    return seen(claim, (gap > 0 for gap in gaps), where, started=started)


@theorem("C3.38", expected="open")
def constant_for_finitely_many_queues():
    r"""For $n$ patient queues the factor $1/(1 - (1 - 1/n)^n)$ already makes every equilibrium
    stable; for two queues it is $4/3$.

    This is a conjecture. It is the ratio of the symmetric equilibrium (C3.35), so that no smaller
    factor suffices.
    """
    gaps = least_gaps(range(100, 125), Fraction(1345, 1000), Fraction(158, 100))
    if min(gaps) == 0:
        raise AssertionError("an equilibrium at which a queue grows: the conjecture is false")
    tried = (
        f"a counterexample with 2 queues, 2 or 3 servers, factor in (1.345, 1.58), seeds 100 to "
        f"124, {GRID}: {len(gaps)} profiles at which a queue grows, none is an equilibrium, the "
        f"least exact gap is {float(min(gaps)):.2g}",
        "a proof: that of the source gives e/(e - 1) for all n",
    )
    rate, scale = Symbol("r_max", nonnegative=True), Symbol("c_star", positive=True)
    return Open(relation(rate, "==", 0), Domain(scale > Fraction(4, 3), symbols=(rate,)), tried)
