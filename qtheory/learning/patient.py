"""Patient queues: each plays a fixed law over the servers, at every step, for ever.

With the oldest packet first, ages grow at deterministic rates (Gaitonde, Tardos, EC 2021). Let
N(S) = sum over j of mu_j (1 - product over i in S of (1 - p_ij)), the rate at which the queues of
S alone are served, and Lambda(S) the sum of their lambda_i. N is submodular, so its principal
partition with respect to Lambda exists: a chain of sets with increasing ratios f*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.errors import DomainError, ModelError
from qtheory.formulas import relation
from qtheory.learning.rates import read_rates

LARGEST = 18
"""The most kinds of queues: the sets of kinds are enumerated."""

Profile = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, repr=False)
class Growth:
    """How fast ages grow when queue i plays server j with probability ``profile[i][j]``.

    `rates` are r_i = lim T^i_t / t, almost surely; the sizes grow at the rates lambda_i r_i. The
    `chain` holds the sets of queues with f* < 1, which grow at 1 - f*, and `rest` the next set
    with its f* >= 1, or None when all queues grow. Indices count from 0, the texts from 1.
    """

    lam: tuple[Fraction, ...]
    mu: tuple[Fraction, ...]
    profile: Profile
    chain: tuple[tuple[tuple[int, ...], Fraction], ...]
    rest: tuple[tuple[int, ...], Fraction] | None

    @cached_property
    def rates(self) -> tuple[Fraction, ...]:
        """r_i, in [0, 1], in the order of the queues."""
        found = [Fraction(0)] * len(self.lam)
        for members, ratio in self.chain:
            for i in members:
                found[i] = 1 - ratio
        return tuple(found)

    @property
    def size_rates(self) -> tuple[Fraction, ...]:
        """lambda_i r_i = lim Q^i_t / t."""
        return tuple(x * r for x, r in zip(self.lam, self.rates, strict=True))

    @property
    def is_stable(self) -> bool:
        """Whether f* > 1 for all queues; at f* = 1 sizes grow slower than linearly, yet grow."""
        return not self.chain and self.rest is not None and self.rest[1] > 1

    def __repr__(self) -> str:
        lines = [
            f"growth of the ages: {', '.join(map(str, self.rates))}; queues count from 1",
            f"growth of the sizes: {', '.join(map(str, self.size_rates))}",
        ]
        lines += [f"  {_named(members)}: f* = {ratio}, grow" for members, ratio in self.chain]
        if self.rest is not None:
            members, ratio = self.rest
            word = "critical" if ratio == 1 else "stable"
            named = len(members) + sum(len(own) for own, _ in self.chain)
            later = ", and larger for all others" if named < len(self.lam) else ""
            lines.append(f"  {_named(members)}: f* = {ratio}, {word}{later}")
        return "\n".join(lines)

    def latex(self) -> str:
        """The rates of all queues."""
        from qtheory.show.latex import latex

        shown = (rf"r_{{{i}}} = {latex(rate)}" for i, rate in enumerate(self.rates, 1))
        return r",\; ".join(shown)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def growth(lam: Sequence[Any], mu: Sequence[Any], profile: Sequence[Sequence[Any]]) -> Growth:
    """The growth rates of the ages for a profile of fixed mixed strategies, in rational numbers.

    Repeat, with R the queues that have a rate: f* is the least ratio
    (N(R + S) - N(R)) / Lambda(S) over the sets S of other queues, U the union of all minimisers;
    if f* >= 1 the remaining rates are 0, else they are 1 - f* on U. Queues with equal rates and
    strategies are in U together, so only sets of such kinds are looked at.

    >>> growth(["1/2", "1/4"], ["1/2", "1/4"], [[1, 0], [1, 0]])
    growth of the ages: 1/3, 1/3; queues count from 1
    growth of the sizes: 1/6, 1/12
      queues 1, 2: f* = 2/3, grow

    Raises `ModelError` for a profile that does not fit and for more than 18 kinds of queues,
    `DomainError` for rates out of range and rows that are no probabilities.
    """
    arrivals, services = read_rates(lam, mu)
    played = read_profile(profile, len(arrivals), len(services))
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(zip(arrivals, played, strict=True)):
        kinds.setdefault(key, []).append(i)
    groups = list(kinds.values())
    if len(groups) > LARGEST:
        raise ModelError(f"{len(groups)} kinds of queues; at most {LARGEST} are enumerated")
    chain: list[tuple[tuple[int, ...], Fraction]] = []
    left = [Fraction(m) for m in services]
    while groups:
        chosen, ratio = _bottleneck(arrivals, left, played, groups)
        members = tuple(sorted(i for k in chosen for i in groups[k]))
        if ratio >= 1:
            return Growth(arrivals, services, played, tuple(chain), (members, ratio))
        chain.append((members, ratio))
        for j in range(len(left)):
            left[j] *= math.prod((1 - played[i][j] for i in members), start=Fraction(1))
        groups = [group for k, group in enumerate(groups) if k not in chosen]
    return Growth(arrivals, services, played, tuple(chain), None)


def _named(members: Sequence[int]) -> str:
    """The queues as they are named in texts, from 1."""
    return f"queue{'s' * (len(members) > 1)} {', '.join(str(i + 1) for i in members)}"


def _bottleneck(
    lam: Sequence[Fraction], mu: Sequence[Fraction], profile: Profile, groups: list[list[int]]
) -> tuple[list[int], Fraction]:
    """The union of all sets of groups with the least ratio N(S) / Lambda(S), and the ratio.

    All values are whole numbers over common denominators. Dinkelbach's iteration lowers the ratio
    to that of the set with the least N(S) - f Lambda(S); at the end this is 0 for the minimisers.
    """
    served, scale = _served(mu, profile, groups)
    rates, unit = _over_common([sum((lam[i] for i in group), Fraction(0)) for group in groups])
    arriving = _subset_sums(rates)
    best = len(arriving) - 1
    while True:
        # the empty set, where both are 0, comes first
        excess = served * arriving[best] - arriving * served[best]
        least = int(excess[1:].argmin()) + 1
        if excess[least] == 0:
            break
        best = least
    union = 0
    for mask in (excess == 0).nonzero()[0].tolist():
        union |= mask
    ratio = Fraction(int(served[best]) * unit, int(arriving[best]) * scale)
    return [k for k in range(len(groups)) if union >> k & 1], ratio


def _served(mu: Sequence[Fraction], profile: Profile, groups: list[list[int]]) -> tuple[Any, int]:
    """N(S) for all sets of groups, as Python integers over one denominator."""
    import numpy as np

    parts = []
    for j, rate in enumerate(mu):
        if not rate:
            continue
        misses, unit = _over_common(
            [math.prod((1 - profile[i][j] for i in g), start=Fraction(1)) for g in groups]
        )
        missed = np.array([1], dtype=object)
        for miss in misses:
            missed = np.concatenate([missed * unit, missed * miss])
        whole = unit ** len(groups)
        parts.append((rate / whole, whole - missed))
    if not parts:
        return np.zeros(2 ** len(groups), dtype=object), 1
    weights, scale = _over_common([weight for weight, _ in parts])
    return sum(w * values for w, (_, values) in zip(weights, parts, strict=True)), scale


def _subset_sums(values: Sequence[int]) -> Any:
    import numpy as np

    sums = np.array([0], dtype=object)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _over_common(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """The numbers times their common denominator, and this."""
    unit = math.lcm(*(value.denominator for value in values))
    return [value.numerator * (unit // value.denominator) for value in values], unit


def profile_from_text(text: str) -> Profile:
    """A profile written as rows of probabilities, such as ``"1,0; 1/2,1/2"``.

    >>> profile_from_text("1,0; 1/3,2/3")[1]
    (Fraction(1, 3), Fraction(2, 3))

    Raises `ExpressionError` for what is no number.
    """
    rows = [row for row in text.split(";") if row.strip()]
    return tuple(tuple(exact(cell.strip()) for cell in row.split(",")) for row in rows)


def read_profile(profile: Sequence[Sequence[Any]], queues: int, servers: int) -> Profile:
    """The profile in rational numbers, a row of probabilities for each queue.

    Raises `ModelError` for another shape and `DomainError` for rows that are no probabilities.
    """
    rows = tuple(tuple(map(exact, row)) for row in profile)
    if len(rows) != queues or any(len(row) != servers for row in rows):
        lengths = [len(row) for row in rows]
        raise ModelError(
            f"a profile needs {queues} rows of {servers} probabilities, got rows of {lengths}"
        )
    for i, row in enumerate(rows, 1):
        if min(row) < 0 or sum(row) != 1:
            raise DomainError(
                f"not probabilities for queue {i} of {queues}: {', '.join(map(str, row))}"
            )
    return rows


def symmetric_threshold(n: Any) -> sp.Expr:
    """1 - (1 - 1/n)^n: n queues of rate lambda that play n servers of rate 1 uniformly are stable
    if and only if lambda is below; this profile is an equilibrium.

    >>> [symmetric_threshold(n) for n in (1, 2, 3)]
    [1, 3/4, 19/27]
    """
    n = sp.sympify(n)
    return 1 - (1 - 1 / n) ** n


def symmetric_ratio(n: Any) -> sp.Expr:
    """The factor 1 / (1 - (1 - 1/n)^n) that the symmetric equilibrium needs; it tends to e/(e-1).

    >>> size = sp.Symbol("n", positive=True)
    >>> sp.simplify(sp.limit(symmetric_ratio(size), size, sp.oo) - sp.E/(sp.E - 1))
    0
    """
    return 1 / symmetric_threshold(n)


def symmetric_profile(n: int) -> Profile:
    """Every one of n queues plays n servers uniformly."""
    return ((Fraction(1, n),) * n,) * n


def deviation_share(n: Any) -> sp.Expr:
    """q* = n (n - 1) / (n^2 - n + 1), the best deviation from all queues at server 1.

    n queues of rate lambda, servers of rates 1, 1/n, ..., 1/n: a queue that plays another server
    with probability q* balances its own ratio with that of all queues (`deviation_balance`).
    """
    n = sp.sympify(n)
    return n * (n - 1) / (n**2 - n + 1)


def deviation_rate(n: Any, lam: Any) -> sp.Expr:
    """The growth rate of all queues after the best deviation: max(0, 1 - n/((n^2 - n + 1) lambda)).

    Before it was 1 - 1/(n lambda), and it still is if the queue moves entirely.
    """
    n, lam = sp.sympify(n), sp.sympify(lam)
    return sp.Max(0, 1 - n / ((n**2 - n + 1) * lam))


def deviation_balance() -> dict[str, sp.Rel]:
    """lambda f*, for the sets that matter when one queue plays q at another server.

    The queue alone is served at the rate 1 - q + q/n, all queues at 1 + q/n, the n - 1 others at 1.
    The first ratio falls in q and the second grows, so the least one is greatest where they meet.
    """
    n = sp.Symbol("n", positive=True)
    q, least = deviation_share(n), n / (n**2 - n + 1)
    return {
        "alone": relation(1 - q + q / n, "==", least),
        "all": relation((1 + q / n) / n, "==", least),
        "the others": relation(1 / (n - 1), ">", least),
        "better than before": relation(least, ">", 1 / n),
    }


def symmetric_balance() -> sp.Rel:
    """In the symmetric profile, what any deviation to one server leaves of the service of k queues.

    With x = (1 - 1/n)^(k - 1), n - (n - 1) x = n (1 - (1 - 1/n) x): the rate at which a set with
    the deviator is served does not change, so no rate does.
    """
    n, x = sp.symbols("n x", positive=True)
    return relation(n - (n - 1) * x, "==", n * (1 - (1 - 1 / n) * x))
