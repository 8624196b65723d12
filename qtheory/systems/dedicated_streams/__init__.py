"""Join the shortest queue with dedicated streams, as a game (Bu, Liu, Tang, Zhao;
arXiv 2012.14955).

N queues with service rate mu, each with its own stream of rate lam; a smart stream of rate
N lam_s joins a shortest queue. Dedicated customers join with probability q for a reward R at a
waiting cost C per unit time; smart ones always join. In the mean-field limit the typical queue
is birth-death and a smart customer finds an empty queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sympy import And, Eq, Expr, Piecewise, Symbol, sqrt, symbols, sympify

from qtheory.domain import Domain
from qtheory.errors import ModelError
from qtheory.model import Model, Transition
from qtheory.systems.formula import Formula, System

lam, mu, R, C = symbols("lambda mu R C", positive=True)
lam_s, q = symbols("lambda_s q", nonnegative=True)
k = Symbol("k", integer=True, nonnegative=True)

SOURCE = "Bu, Liu, Tang, Zhao, arXiv 2012.14955"

domain = Domain(stable=lam + lam_s < mu, symbols=(lam, lam_s, mu))
joining = Domain(q <= 1, stable=lam * q + lam_s < mu, symbols=(lam, lam_s, mu, q, R, C))
game = Domain(R * mu >= C, stable=lam + lam_s < mu, symbols=(lam, lam_s, mu, R, C))


def model(N: int = 2) -> Model:
    """The system of N queues, on the shortest length m and the gaps g_1, ..., g_(N-1).

    In increasing order the lengths are m, m + g_1, m + g_1 + g_2, ...; equal queues are
    exchangeable, so this is the occupancy chain. Raises `ModelError` unless N >= 1.
    """
    if N < 1:
        raise ModelError(f"needs at least one queue, got N = {N}")
    gaps = symbols(f"g_1:{N}", integer=True, nonnegative=True)
    state = (Symbol("m", integer=True, nonnegative=True), *gaps)
    transitions = []
    for first in range(N):
        for last in range(first, N):
            group = _equal_queues(state, first, last)
            size = last - first + 1
            smart = N * lam_s if first == 0 else 0
            up = [0] * N
            up[last] += 1
            if last + 1 < N:
                up[last + 1] -= 1
            transitions.append(Transition(size * lam + smart, when=group, jump=tuple(up)))
            down = [0] * N
            down[first] -= 1
            if first + 1 < N:
                down[first + 1] += 1
            busy = And(group, state[0] >= 1) if first == 0 else group
            transitions.append(Transition(size * mu, when=busy, jump=tuple(down)))
    return Model(
        state=state,
        domain=domain,
        transitions=transitions,
        name=f"join the shortest of {N} queues, dedicated streams",
    )


def _equal_queues(state: Sequence[Any], first: int, last: int) -> Any:
    """The guard: queues first..last, counted by length, are equal and no others join them."""
    guard = [Eq(state[i], 0) for i in range(first + 1, last + 1)]
    if first > 0:
        guard.append(state[first] >= 1)
    if last + 1 < len(state):
        guard.append(state[last + 1] >= 1)
    return And(*guard)


def mean_field_model() -> Model:
    """The typical queue of the limit: birth rate lam + lam_s/pi_0 at 0, lam beyond."""
    idle = 1 - (lam + lam_s) / mu
    return Model(
        state=k,
        domain=domain,
        transitions=[
            Transition(lam + lam_s / idle, when=Eq(k, 0), jump=(+1,)),
            Transition(lam, when=k >= 1, jump=(+1,)),
            Transition(mu, when=k >= 1, jump=(-1,)),
        ],
        name="typical queue of the mean-field limit",
    )


def fluid(tails: Sequence[Any]) -> list[Expr]:
    """The right-hand side s_k' of the fluid limit at tails s_1 >= s_2 >= ... >= 0.

    s_k is the fraction of queues with at least k customers, 0 beyond the n given ones; the rates
    are those of s_1, ..., s_(n+1), so that they add up to lam + lam_s - mu s_1. While s_1 < 1,

        s_1' = lam (1 - s_1) + lam_s - mu (s_1 - s_2),
        s_k' = lam (s_(k-1) - s_k) - mu (s_k - s_(k+1)).

    When s_1 = ... = s_n = 1 > s_(n+1) the smart stream feeds level n + 1, but first makes up for
    the queues that service takes out of level n: if lam_s is not enough for that, s_n falls.

    Raises `ModelError` unless the tails decrease from at most 1 to at least 0.
    """
    values = [sympify(1), *(sympify(s) for s in tails), sympify(0), sympify(0)]
    numbers = all(value.is_number for value in values)
    if numbers and any(above < below for above, below in pairwise(values)):
        raise ModelError(f"tails must decrease from 1 to 0, got {list(map(str, tails))}")
    rates = [
        lam * (values[i - 1] - values[i]) - mu * (values[i] - values[i + 1])
        for i in range(1, len(values) - 1)
    ]
    full = next(i for i, value in enumerate(values) if value != 1) - 1
    if full == 0:
        rates[0] += lam_s
        return rates
    repaired = Piecewise((lam_s, lam_s < -rates[full - 1]), (-rates[full - 1], True))
    rates[full - 1] += repaired
    rates[full] += lam_s - repaired
    return rates


pi_0 = 1 - (lam + lam_s) / mu
pi_k = Piecewise(
    (pi_0, Eq(k, 0)), ((lam + lam_s) * (mu - lam) / mu**2 * (lam / mu) ** (k - 1), True)
)
mean_queue = (lam + lam_s) / (mu - lam)
sojourn = (mu + lam_s) / (mu * (mu - lam * q))
utility = R - C * sojourn

joins_none = R * mu**2 <= C * (mu + lam_s)
all_join = R * mu * (mu - lam) >= C * (mu + lam_s)
interior_q_e = (mu - C * (mu + lam_s) / (mu * R)) / lam
q_e = Piecewise((0, joins_none), (1, all_join), (interior_q_e, True))

all_should_join = R * (mu - lam) ** 2 >= C * (mu + lam_s)
interior_q_opt = (mu - sqrt(C * (mu + lam_s)) / sqrt(R)) / lam
q_opt = Piecewise((0, joins_none), (1, all_should_join), (interior_q_opt, True))


def welfare(fraction: Expr = q) -> Expr:
    """The social benefit per queue and unit time when this fraction of the dedicated join."""
    joined = lam * fraction + lam_s
    return R * joined - C * joined / (mu - lam * fraction)


interior_welfare_opt = (sqrt(R * (mu + lam_s)) - sqrt(C)) ** 2
welfare_e = Piecewise((welfare(1), all_join), (lam_s * (R - C / mu), True))
welfare_opt = Piecewise(
    (welfare(0), joins_none), (welfare(1), all_should_join), (interior_welfare_opt, True)
)
price_of_anarchy = welfare_opt / welfare_e

system = System(
    name="dedicated-streams",
    title="Join the shortest queue with dedicated streams",
    source=SOURCE,
    parameters={
        lam: "arrival rate of each dedicated stream",
        lam_s: "arrival rate of smart customers, per queue",
        mu: "service rate of each queue",
        q: "joining probability of dedicated customers",
        R: "reward per service",
        C: "waiting cost per unit time",
        Symbol("N"): "number of queues",
    },
    models={"finite": model, "mean-field": mean_field_model},
    sorted_lengths=frozenset({"finite"}),
    formulas=(
        Formula("pi_0", pi_0, domain, "fraction of idle queues, for every N", SOURCE),
        Formula("pi", pi_k, domain.over(k), "fraction of queues with k customers (limit)"),
        Formula("EX", mean_queue, domain, "mean queue length (limit)", label="E[X]"),
        Formula("EW", sojourn, joining, "mean sojourn time of a dedicated customer", label="E[W]"),
        Formula("U", utility, joining, "expected utility of joining"),
        Formula("q_e", q_e, game, "equilibrium joining probability", SOURCE),
        Formula("q_opt", q_opt, game, "socially optimal joining probability", SOURCE),
        Formula("S", welfare(), joining, "social benefit per queue and unit time"),
        Formula("S_e", welfare_e, game, "social benefit in equilibrium", label="S(q_e)"),
        Formula("S_opt", welfare_opt, game, "greatest social benefit", label="S(q_opt)"),
        Formula(
            "PoA",
            price_of_anarchy,
            game.where(lam_s > 0, R * mu > C),
            "price of anarchy, S(q_opt)/S(q_e)",
            label="PoA",
        ),
    ),
)
"""The system with its models and named closed forms."""
