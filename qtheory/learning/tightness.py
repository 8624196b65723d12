"""The family that shows the factor 2 - 1/n to be exact when the oldest packet has priority.

n queues of rate lambda all send to server 1, of rate 1; servers 2, ..., n have rate (1 - e)/n. No
queue regrets it on the realised path, yet for lambda > 1/n all queues grow. For e = 0 this is the
family of Gaitonde and Tardos (2020); e > 0 makes every other server strictly worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError
from qtheory.formulas import relation

if TYPE_CHECKING:
    from qtheory.learning.learners import Mixed
    from qtheory.model import Model

n, lam = sp.symbols("n lambda", positive=True)
e = sp.Symbol("e", nonnegative=True)

domain = Domain(n >= 1, lam <= 1, e < 1)
growing = domain.where(n * lam > 1)
stable = Domain(n >= 1, lam <= 1, stable=n * lam < 1)

scale = (1 + (1 - 1 / n) * (1 - e)) / (n * lam)
"""c*, the central feasibility at factor c < c*; (2 - 1/n) / (n lambda) for e = 0."""
factor = 2 - 1 / n
"""The supremum of c* over the members that are not stable, with lambda >= 1/n; it is 2 - 1/n."""

total_growth = n * lam - 1
"""lim Q_t / t for n lambda > 1, almost surely; Q is the total number of packets."""
queue_growth = lam - 1 / n
"""lim Q^i_t / t."""
age_growth = 1 - 1 / (n * lam)
"""lim T^i_t / t."""
mean_total = n * (n - 1) * lam**2 / (2 * (1 - n * lam))
"""E[Q] in steady state for n lambda < 1."""
critical_constant = 2 * (1 - 1 / n) / sp.pi
"""For n lambda = 1, E[Q_t] ~ sqrt(critical_constant * t)."""
regret_variance = (1 / n) * (1 - 1 / n) * (2 - lam)
"""For e = 0 and n lambda > 1, the variance per step of what a fixed other server would gain."""
regret_drift = -e / n
"""The mean gain per step of a fixed other server."""


@dataclass(frozen=True)
class Instance:
    """Rates of queues and servers, and for each queue a law over the servers that it plays."""

    lam: tuple[Fraction, ...]
    mu: tuple[Fraction, ...]
    profile: tuple[tuple[Fraction, ...], ...]

    def learners(self) -> tuple[Mixed, ...]:
        """The fixed strategies in the form that `qtheory.learning.simulate` runs."""
        from qtheory.learning.learners import Mixed

        return tuple(map(Mixed, self.profile))


def instance(n: int, lam: Any, e: Any = 0) -> Instance:
    """The member with n queues of rate lambda, which all send to server 1.

    >>> instance(2, "3/5").mu
    (Fraction(1, 1), Fraction(1, 2))

    Raises `ModelError` unless n >= 1 is an integer, and `DomainError` unless 0 < lambda <= 1 and
    0 <= e < 1.
    """
    n = require_count(n)
    rate, worse = exact(lam), exact(e)
    if not 0 < rate <= 1:
        raise DomainError(f"needs 0 < lambda <= 1, got {rate}")
    if not 0 <= worse < 1:
        raise DomainError(f"needs 0 <= e < 1, got {worse}")
    others = (n - 1) * ((1 - worse) / n,)
    return Instance((rate,) * n, (Fraction(1), *others), all_to_first(n, n))


def total_queue(n: int) -> Model:
    """The total number of packets, Q' = max(Q + A - 1, 0) with A ~ Bin(n, lambda), as a chain.

    Raises `ModelError` unless n >= 1 is an integer.
    """
    from qtheory.model import Model, Transition

    n = require_count(n)
    total = sp.Symbol("Q", integer=True, nonnegative=True)
    rates = [sp.binomial(n, k) * lam**k * (1 - lam) ** (n - k) for k in range(n + 1)]
    moves = [Transition(rates[0], jump=(-1,), when=total >= 1)]
    moves += [Transition(rates[k], jump=(k - 1,)) for k in range(2, n + 1)]
    return Model(total, Domain(stable=n * lam < 1), moves, time="discrete", name="total queue")


def feasibility_decreases() -> sp.Rel:
    """M_k / L_k >= M_(k+1) / L_(k+1) for real k >= 1, so that c* is the ratio at k = n."""
    k = sp.Symbol("k", positive=True)
    return relation(_prefix_ratio(k), ">=", _prefix_ratio(k + 1))


def refined_slack(k: Any) -> sp.Expr:
    """M_k - (2 - 1/k) L_k at lambda = 1/n and e = 0, which is (n - k)/n: zero at k = n only.

    >>> refined_slack(n)
    0
    """
    k = sp.sympify(k)
    return sp.simplify((1 + (k - 1) / n) - (2 - 1 / k) * k / n)


def regret_bound(steps: Any, delta: Any) -> sp.Expr:
    """A bound on Reg_i(w) for e = 0, n >= 2 and n lambda >= 1, while queue i has packets.

    2 + 2 sqrt(w ln(4/delta)) + sqrt(w ln(2 (n - 1)/delta) / 2), in a window of w steps, with
    probability at least 1 - delta - exp(-w/4). The w packets that server 1 serves arrived within
    2w steps (Chernoff); the share of queue i in them and the coins of the other servers are
    within the two roots of w/n (Hoeffding). It is o(w).
    """
    w, d = sp.sympify(steps), sp.sympify(delta)
    first = 2 * sp.sqrt(w * sp.log(4 / d))
    return 2 + first + sp.sqrt(w * sp.log(2 * (n - 1) / d) / 2)


def all_to_first(queues: int, servers: int) -> tuple[tuple[Fraction, ...], ...]:
    """The profile in which every queue sends to the first server."""
    row = (Fraction(1), *[Fraction(0)] * (servers - 1))
    return (row,) * queues


def require_count(n: Any) -> int:
    """A whole number n >= 1, else `ModelError`."""
    if isinstance(n, bool) or not isinstance(n, (int, sp.Integer)) or n < 1:
        raise ModelError(f"needs a number of queues n >= 1, got {n}")
    return int(n)


def _prefix_ratio(k: sp.Expr) -> sp.Expr:
    return (1 + (k - 1) * (1 - e) / n) / (k * lam)
