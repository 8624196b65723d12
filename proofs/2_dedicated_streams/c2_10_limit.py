r"""The finite systems against their limit: the distance for every N, and certified values.

E_N[M] is a symbol M_N between the certified ends; what follows from the ends is proved.
"""

from functools import cache

from sympy import Eq, Rational, Symbol

from qtheory import prove, theorem
from qtheory.formulas import relation
from qtheory.systems.dedicated_streams import SOURCE, domain, lam, lam_s, mean_queue, mu
from qtheory.systems.dedicated_streams.finite_joining import finite_equilibrium
from qtheory.systems.dedicated_streams.joining_game import equilibrium, joining_game
from qtheory.systems.dedicated_streams.occupancy_bounds import enclose_shortest

RATES = Rational(2, 5), Rational(3, 10), 1
ENCLOSED = (
    r"the interval of each $E_N[M]$ in the conditions: drift comparison with a quadratic function "
    "plus one of finite support, in rational numbers "
    "(qtheory.systems.dedicated_streams.occupancy_bounds), not in the certificate"
)
MEANS = {
    1: "2.3333333333",
    2: "1.6977697259",
    3: "1.4912508931",
    4: "1.3904192",
    5: "1.33136",
    6: "1.29297",
}
"""E_N[X] at these rates, rounded."""

place = domain.where("lam == 2/5", "lam_s == 3/10", "mu == 1")
M = {N: Symbol(f"M_{N}", nonnegative=True) for N in MEANS}


def mean_of(shortest):
    """(I5): the mean queue length by that of the shortest queue."""
    return (lam + lam_s * (1 + shortest)) / (mu - lam)


def between(symbol, value):
    """The conditions that the symbol lies in an enclosure, or is the value if that is exact."""
    low, high = (Rational(str(end)) for end in (value.lower, value.upper))
    return (relation(symbol, "==", low),) if low == high else (symbol >= low, symbol <= high)


@cache
def shortest(N, q):
    """E_N[M], enclosed as narrowly as the stated digits need."""
    width = Rational(1, 10 ** (len(MEANS[N]) - 2)) if q == 1 else Rational(1, 10**5)
    return enclose_shortest(N, *RATES, q, str(width)).shortest


@theorem("C2.10.distance", source=SOURCE)
def distance_to_the_limit():
    r"""For every $N$ the law of a queue lies above the limit law $\pi$ in the stochastic order,
    with the same probability of being busy, and their Wasserstein distance is $E_N[X] - E[X] =
    \lambda_s E_N[M]/(\mu - \lambda)$.

    The flow between the lengths $k - 1$ and $k$ balances: $\mu P(X >= k) = \lambda P(X >= k-1) +
    \lambda_s P(M >= k-1)$, and in the limit $M = 0$. So the excess $\delta_k$ of the tails obeys
    $\mu\delta_k = \lambda\delta_{k-1} + \lambda_s P(M >= k-1)$ for $k >= 2$, with $\delta_1 = 0$;
    the distance is their sum.
    """
    before, tail = Symbol("delta", nonnegative=True), Symbol("P_M", nonnegative=True)
    limit, total = Symbol("x", nonnegative=True), Symbol("M", nonnegative=True)
    flow = domain.over(before, tail, limit)

    def same(left, right, on):
        return prove(Eq(left, right, evaluate=False), on)

    return {
        "the excess obeys its equation": same(
            (lam * (limit + before) + lam_s * tail) / mu - lam * limit / mu,
            (lam * before + lam_s * tail) / mu,
            flow,
        ),
        "and stays nonnegative": prove(
            (lam * (limit + before) + lam_s * tail) / mu >= lam * limit / mu, flow
        ),
        "the difference of the means": same(
            mean_of(total) - mean_queue, lam_s * total / (mu - lam), domain.over(total)
        ),
        "which is the sum of the excesses": same(
            lam * (lam_s * total / (mu - lam)) + lam_s * total,
            mu * (lam_s * total / (mu - lam)),
            domain.over(total),
        ),
    }


@theorem(
    "C2.10.interchange",
    source=SOURCE,
    given=r"$E_N[M] \to 0$ as $N \to \infty$, which a fluid limit theorem and the global stability "
    "of the limit (C2.8) give; certified for small $N$ only (C2.10.values)",
)
def stationary_laws_converge():
    r"""The stationary law of a queue converges to $\pi$ as $N$ tends to infinity, and $E_N[X]$ to
    $(\lambda + \lambda_s)/(\mu - \lambda)$.

    The distance is $\lambda_s E_N[M]/(\mu - \lambda)$ (C2.10.distance), below any $\epsilon$ as
    soon as $E_N[M]$ is below $\epsilon(\mu - \lambda)/(\lambda_s + 1)$.
    """
    total, epsilon = Symbol("M", nonnegative=True), Symbol("epsilon", positive=True)
    near = domain.over(total, epsilon).where(total * (lam_s + 1) <= epsilon * (mu - lam))
    return prove(lam_s * total / (mu - lam) < epsilon, near)


@theorem("C2.10.values", source=SOURCE, given=ENCLOSED)
def mean_queue_lengths():
    r"""At $\lambda = 2/5$, $\lambda_s = 3/10$, $\mu = 1$ the mean queue length is $E_N[X] = 7/3$,
    1.6977697259, 1.4912508931, 1.3904192, 1.33136 and 1.29297 for $N = 1, ..., 6$, rounded; it
    decreases, and stays above the limit $7/6$.
    """
    claims = {}
    for N, digits in MEANS.items():
        inside = place.over(M[N]).where(*between(M[N], shortest(N, 1)))
        half = Rational(5, 10 ** (len(digits) - 1))
        length, stated = mean_of(M[N]), Rational(digits)
        claims[f"$N = {N}$, at least"] = prove(length >= stated - half, inside)
        claims[f"$N = {N}$, at most"] = prove(length <= stated + half, inside)
        claims[f"$N = {N}$, above the limit"] = prove(length > mean_queue, inside)
        if N > 1:
            both = inside.where(*between(M[N - 1], shortest(N - 1, 1)))
            claims[f"$N = {N}$, less than for ${N - 1}$"] = prove(length < mean_of(M[N - 1]), both)
    return claims


@theorem("C2.10.gap", source=SOURCE, given=ENCLOSED)
def gaps_of_the_equilibrium_of_the_limit():
    r"""At $\lambda = 2/5$, $\lambda_s = 3/10$, $\mu = 1$, $R = 13/8$, $C = 1$, where $q_e = 1/2$,
    the gap $\epsilon_N = q_e R\lambda_s E_N[M]/(\mu + \lambda_s)$ decreases for $N = 1, ..., 6$, by
    more than a quarter with each queue, from more than 0.187 to less than 0.011.
    """
    game = joining_game(*RATES, "13/8", 1)
    q_e = equilibrium(game).point
    factor = q_e * Rational(13, 8) * lam_s / (mu + lam_s)
    claims = {}
    for N in MEANS:
        inside = place.over(M[N]).where(*between(M[N], shortest(N, q_e)))
        if N == 1:
            claims["the first one"] = prove(factor * M[1] > Rational(187, 1000), inside)
        else:
            both = inside.where(*between(M[N - 1], shortest(N - 1, q_e)))
            claims[f"$N = {N}$"] = prove(factor * M[N] < Rational(3, 4) * factor * M[N - 1], both)
    claims["the last one"] = prove(factor * M[6] < Rational(11, 1000), inside)
    return claims


@theorem(
    "C2.10.equilibria",
    source=SOURCE,
    given=r"the interval of each $q_e(N)$ in the conditions: certified $E_N[M]$ and the monotone "
    "$U_N$ (C2.9.equilibrium), in rational numbers "
    "(qtheory.systems.dedicated_streams.finite_joining), not in the certificate",
)
def equilibria_approach_the_limit_from_below():
    r"""With the same parameters $q_e(N)$ increases for $N = 1, ..., 5$, and stays below $q_e =
    1/2$.
    """
    game = joining_game(*RATES, "13/8", 1)
    claims, before = {}, None
    for N in range(1, 6):
        q = Symbol(f"q_{N}", nonnegative=True)
        inside = between(q, finite_equilibrium(game, N, "1/200").q)
        here = place.over(q).where(*inside)
        claims[f"$q_e({N}) < q_e$"] = prove(q < Rational(1, 2), here)
        if before is not None:
            known = here.over(before[0]).where(*before[1])
            claims[f"$q_e({N}) > q_e({N - 1})$"] = prove(q > before[0], known)
        before = q, inside
    return claims
