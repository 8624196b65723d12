"""Queues whose servers choose a packet at random: how large the factor must be.

In the first family n small queues, with total rate a = 1 - 1/K, and a big queue, of rate
(1 + e)/K, all send to a server of rate 1; the other n servers have rate `mu_other`. Server 1 always
serves, so the big queue gets exactly 1/K and grows at rate e/K, while small queues succeed at
server 1 as often as they would elsewhere: nobody gains by a fixed server, on the average over
time. The system is centrally feasible at factors up to about sqrt(2n/3).

In the second family the small queues coordinate: min(N, K - 1) of the N active ones, chosen
uniformly, and the big queue go to server 1, the others to private servers of rate 1/K. Nobody ever
gains, and the factor tends to sqrt(n). No family reaches 1 + sqrt(n) (`no_linear_growth`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError
from qtheory.formulas import relation
from qtheory.learning.tightness import Instance, all_to_first, require_count

if TYPE_CHECKING:
    import numpy as np

    from qtheory.model import Model

n, K, e, a = sp.symbols("n K e a", positive=True)

domain = Domain(n >= 1, K > 1, K < n + 1, 1 + e <= K)

load = 1 - 1 / K
"""a, the total rate of the small queues."""
small_rate = load / n
"""The rate of each small queue."""
big_rate = (1 + e) / K
"""The rate of the big queue."""
mu_other = 2 * (n + 1 - K) / (3 * K * n - 3 * K + n + 3)
"""The rate of the n other servers; it is a / E[L]."""
big_growth = e / K
"""lim Q_t / t of the big queue."""
scale = sp.Min(1 / big_rate, (1 + n * mu_other) / (big_rate + load))
"""c*: the factors c < c* are centrally feasible; the minimum over k is at k = 1 or k = n + 1."""
best_K = (n * sp.sqrt(6 * n + 3) / 3 - 1) / (n - 1)
"""The real K with K = 1 + n mu_other, where c* tends to K as e -> 0; for n >= 2."""
constant = sp.sqrt(6) / 3
"""lim best_K / sqrt(n) = sqrt(2/3): linear growth at factors up to this times sqrt(n)."""


def mean_packets(load: Any, queues: Any = n) -> Any:
    """E[L], the mean number of packets at n small queues of total rate a, after the arrivals.

    The big queue always has a packet, and the server chooses uniformly among all queues:
    E[L] = (2a - a^2/2 - 3a^2/(2n)) / (1 - a - a/n), stable if a (1 + 1/n) < 1.

    >>> mean_packets(Fraction(1, 2), 2)
    Fraction(11, 4)
    """
    above = 2 * load - load**2 / 2 - 3 * load**2 / (2 * queues)
    return above / (1 - load - load / queues)


def balance() -> dict[str, sp.Rel]:
    """The second-moment balances that determine E[L], with `a` and n as symbols, at its value.

    N is the number of small queues that are not empty. In a step L falls by one with probability
    N/(N + 1), and a queue that is not empty falls with probability 1/(N + 1). E[L/(N + 1)] is
    eliminated between the balance of L^2 and that of the sum of the squares of the queues.
    """
    size = mean_packets(a)
    share = a * (2 * n**2 * (1 - a) + a**2 * (n - 1)) / (2 * n * (n - a * n - a))
    return {
        "of L^2": relation(
            -2 * (size - share) + 2 * a * size + a - 2 * a**2 + (a + a**2 - a**2 / n), "==", 0
        ),
        "of the squares": relation(-2 * share + 2 * (a / n) * size + 2 * a - 2 * a**2 / n, "==", 0),
    }


def small_queues(n: int) -> Model:
    """The n small queues at server 1 next to a big queue that is never empty, as a chain.

    The state is before the arrivals, so that `mean_packets` is the mean of its sum plus a.

    >>> from qtheory import identities
    >>> chain = small_queues(2)
    >>> found = identities(chain, degree=2).moment(sum(chain.state))
    >>> sp.simplify(found + a - mean_packets(a, 2))
    0

    Raises `ModelError` unless n >= 1 is an integer.
    """
    from qtheory.model import Model, Transition

    n = require_count(n)
    sizes = sp.symbols(f"x_1:{n + 1}", integer=True, nonnegative=True)
    rate = a / n
    moves: dict[tuple[tuple[bool, ...], tuple[int, ...]], sp.Expr] = {}
    for waiting in product((False, True), repeat=n):
        for arrivals in product((0, 1), repeat=n):
            chance = sp.Mul(*(rate if new else 1 - rate for new in arrivals))
            active = [i for i in range(n) if waiting[i] or arrivals[i]]
            # None: the packet of the big queue is served
            for served in (*active, None):
                jump = tuple(new - (i == served) for i, new in enumerate(arrivals))
                if any(jump):
                    known = moves.get((waiting, jump), sp.Integer(0))
                    moves[waiting, jump] = known + chance / (len(active) + 1)
    transitions = [
        Transition(
            sp.cancel(chance),
            jump,
            sp.And(
                *(x >= 1 if some else sp.Eq(x, 0) for x, some in zip(sizes, waiting, strict=True))
            ),
        )
        for (waiting, jump), chance in moves.items()
    ]
    return Model(
        sizes, Domain(stable=a * (n + 1) < n), transitions, time="discrete", name="small queues"
    )


@dataclass(frozen=True)
class RandomInstance(Instance):
    """A member of the first family: the n small queues first, then the big one."""

    mean_packets: Fraction
    big_growth: Fraction


def instance(n: int, K: Any, e: Any) -> RandomInstance:
    """The member of the first family with n small queues; run it with ``selection="random"``.

    >>> found = instance(50, 5, "1/20")
    >>> found.mu[1], found.lam[-1], found.mean_packets, found.big_growth
    (Fraction(23, 197), Fraction(21, 100), Fraction(788, 115), Fraction(1, 100))

    Raises `ModelError` unless n >= 1 is an integer and `DomainError` unless 1 < K < n + 1, 0 < e
    and (1 + e)/K <= 1.
    """
    small = require_count(n)
    k, extra = _numbers(K, e)
    if not k < small + 1:
        raise DomainError(f"needs K < n + 1, where the small queues are stable, got {k}, n = {n}")
    total = 1 - 1 / k
    others = 2 * (small + 1 - k) / (3 * k * small - 3 * k + small + 3)
    rates = (*small * (total / small,), (1 + extra) / k)
    services = (Fraction(1), *small * (others,))
    profile = all_to_first(small + 1, small + 1)
    return RandomInstance(rates, services, profile, mean_packets(total, small), extra / k)


def coordinated_rates(
    n: int, K: int, load: Any, e: Any
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Rates of the second family: n small queues of total rate `load` > 1, then the big one.

    Server 0 has rate 1 and is shared; servers 1, ..., n are private, of rate 1/K.

    >>> rates, services = coordinated_rates(200, 12, "7/5", "3/20")
    >>> rates[-1], services[1]
    (Fraction(23, 240), Fraction(1, 12))

    Raises `ModelError` unless n and K are integers >= 1 and `DomainError` for K < 2, load <= 1 or
    load > n, and (1 + e)/K > 1.
    """
    small, k = require_count(n), require_count(K)
    k_exact, extra = _numbers(k, e)
    total = exact(load)
    if not 1 < total <= small:
        raise DomainError(f"needs 1 < load <= n, got load = {total}, n = {small}")
    rates = (*small * (total / small,), (1 + extra) / k_exact)
    return rates, (Fraction(1), *small * (1 / k_exact,))


@dataclass(frozen=True)
class Coordinated:
    """The profile of the second family, for `qtheory.learning.simulate` with random selection.

    K - 1 of the small queues with packets, or all if they are fewer, chosen uniformly in each
    step, and the last queue send to server 0; small queue i sends to server i + 1 otherwise.
    Given that, a small queue is served with probability at least 1/K, and no server offers more.
    """

    K: int

    def start(self, queues: int, servers: tuple[int, ...], replications: int) -> Any:
        if self.K < 2 or len(servers) < queues:
            raise ModelError(
                f"needs K >= 2 and a server for each queue, got K = {self.K}, {queues} queues "
                f"and {len(servers)} servers"
            )
        return None

    def assign(
        self, memory: Any, uniforms: np.ndarray, ages: np.ndarray, sends: np.ndarray, t: int
    ) -> np.ndarray:
        import numpy as np

        own = np.arange(1, len(sends) + 1)[:, None] * np.ones_like(sends, dtype=np.int64)
        own[-1] = 0
        order = np.argsort(np.where(sends[:-1], uniforms[:-1], 2), axis=0)
        np.put_along_axis(own[:-1], order[: self.K - 1], 0, axis=0)
        return np.where(sends, own, -1)


def coordinated_scale(load: Any) -> sp.Expr:
    """c* of the second family, min(1/lambda_B, (1 + n/K) / (lambda_B + load)).

    >>> sp.simplify(coordinated_scale(1).subs(K, sp.sqrt(n)).subs(e, 0))
    sqrt(n)
    """
    return sp.Min(1 / big_rate, (1 + n / K) / (big_rate + sp.sympify(load)))


def mediants() -> dict[str, sp.Rel]:
    """Why the factor of the first family is least at k = 1 or k = n + 1.

    For 1 <= k <= n, adding a server of rate mu_other and a queue of rate a/n to k - 1 of them
    moves M_k / L_k towards mu_other / (a/n), and always from the same side.
    """
    k = sp.Symbol("k", nonnegative=True)
    now, then = ((1 + j * mu_other) / (big_rate + j * small_rate) for j in (k, k + 1))
    sense = mu_other * big_rate - small_rate
    step = (then - now) * (big_rate + k * small_rate) * (big_rate + (k + 1) * small_rate)
    return {
        "the big queue comes first": relation(small_rate, "<", big_rate),
        "the step has the sign of one number for all k": relation(step, "==", sense),
    }


def exponent() -> dict[str, sp.Rel]:
    """For n >= 2 the bounds that give best_K / sqrt(n) -> sqrt(2/3), and that it is balanced.

    sqrt(6n + 3)/3 <= best_K <= sqrt(6n + 3)/3 + 1. At e = 0 the ratio 1/lambda_B = K grows in K
    and (1 + n mu_other) / (lambda_B + a) = 1 + n mu_other falls, so c* is greatest where they meet.
    """
    root = sp.sqrt(6 * n + 3) / 3
    return {
        "lower": relation(best_K, ">=", root),
        "upper": relation(best_K, "<=", root + 1),
        "balanced": relation((1 + n * mu_other).subs(K, best_K), "==", best_K),
        "falls": relation(mu_other.diff(K), "<", 0),
    }


def no_linear_growth() -> dict[str, tuple[sp.Rel, Domain]]:
    """Why queue i cannot grow linearly at a factor c with (c - 1)^2 >= n, in steps.

    If it did, it would be never empty from some time on; let s be the lower limit of its service
    rate, and Lam = L_n. Without regret s >= mu_1 - Lam and s >= (M_n - Lam)/n for every rule of
    the servers, s < lambda_i, and feasibility at factor c is Lam < M_n/c, lambda_i < mu_1/c.
    The steps give (c - 1)^2 < n, which is excluded.
    """
    c, m, s, M, Lam = sp.symbols("c mu_1 s M Lam", positive=True)
    rate = sp.Symbol("lambda_i", positive=True)
    base = Domain(c > 1, n >= 1)
    return {
        "Lam > mu_1 (1 - 1/c)": (
            relation(Lam, ">", m * (1 - 1 / c)),
            base.where(s >= m - Lam, s < rate, c * rate < m),
        ),
        "s > (c - 1) Lam / n": (
            relation(s, ">", (c - 1) * Lam / n),
            base.where(n * s >= M - Lam, c * Lam < M),
        ),
        "(c - 1)^2 mu_1 < n c s": (
            relation((c - 1) ** 2 * m, "<", n * c * s),
            base.where(n * s > (c - 1) * Lam, c * Lam > m * (c - 1)),
        ),
        "(c - 1)^2 < n": (
            relation((c - 1) ** 2, "<", n),
            base.where((c - 1) ** 2 * m < n * c * s, c * s < m),
        ),
    }


def mean_at_factor_n(rate: Any, best: Any, queues: Any) -> Any:
    """A bound on E[Q^i] if all n queues send to the fastest server and n lambda_i < mu_1.

    A queue that is not empty is served with probability at least mu_1/n, so that it is below a
    queue with its own server of that rate: lambda_i (1 - mu_1/n) / (mu_1/n - lambda_i).

    >>> mean_at_factor_n(Fraction(1, 4), Fraction(1), 3)
    Fraction(2, 1)
    """
    own = best / (Fraction(queues) if isinstance(queues, int) else queues)
    return rate * (1 - own) / (own - rate)


def _numbers(K: Any, e: Any) -> tuple[Fraction, Fraction]:
    k, extra = exact(K), exact(e)
    if not k > 1:
        raise DomainError(f"needs K > 1, got {k}")
    if not extra > 0:
        raise DomainError(f"needs e > 0, got {extra}")
    if 1 + extra > k:
        raise DomainError(f"the big queue needs a rate (1 + e)/K <= 1, got {(1 + extra) / k}")
    return k, extra
