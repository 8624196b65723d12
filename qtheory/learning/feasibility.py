"""Whether a central scheduler can stabilise the queues, and by how much it could fail.

Queues are sorted by decreasing lambda, servers by decreasing mu; L_k and M_k are the sums of the
k largest rates, with mu_j = 0 beyond the last server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import sympy as sp

from qtheory.errors import ModelError
from qtheory.formulas import formula, relation
from qtheory.learning.rates import read_rates


@dataclass(frozen=True, repr=False)
class Feasibility:
    """The criterion L_k < M_k, k = 1, ..., n, at rational rates; nothing is rounded.

    `lam` and `mu` are as given; what is indexed by k uses the k largest rates.
    """

    lam: tuple[Fraction, ...]
    mu: tuple[Fraction, ...]

    @cached_property
    def _rates(self) -> tuple[list[Fraction], list[Fraction]]:
        """Both sorted decreasingly, with as many servers as queues."""
        return sorted_rates(self.lam, self.mu)

    @cached_property
    def arrivals(self) -> tuple[Fraction, ...]:
        """L_1, ..., L_n."""
        return tuple(accumulate(self._rates[0]))

    @cached_property
    def services(self) -> tuple[Fraction, ...]:
        """M_1, ..., M_n."""
        return tuple(accumulate(self._rates[1]))

    @cached_property
    def slacks(self) -> tuple[Fraction, ...]:
        """M_k - L_k."""
        return tuple(m - x for x, m in zip(self.arrivals, self.services, strict=True))

    @property
    def is_feasible(self) -> bool:
        """Whether L_k < M_k for all k."""
        return min(self.slacks) > 0

    def __bool__(self) -> bool:
        return self.is_feasible

    @property
    def scale(self) -> Fraction:
        """c* = min M_k / L_k: the rates c lambda are feasible if and only if c < c*."""
        return min(m / x for x, m in zip(self.arrivals, self.services, strict=True))

    @property
    def margin(self) -> Fraction:
        """eps* = min (M_k - L_k) / k.

        It is the largest eps with a randomised schedule that clears each queue with probability
        at least lambda_i + eps in every step (weak majorisation).
        """
        return min(slack / k for k, slack in enumerate(self.slacks, 1))

    @property
    def saturated(self) -> int:
        """How many leading pairs have lambda_k = mu_k = 1."""
        pairs = zip(*self._rates, strict=True)
        return next((k for k, pair in enumerate(pairs) if pair != (1, 1)), len(self.lam))

    @property
    def is_stabilisable(self) -> bool:
        """Whether some central scheduler makes the system strongly stable.

        That is feasibility, except that leading pairs with lambda_k = mu_k = 1 do not count: each
        such server serves the packet that its queue gets in every step, so that it stays empty.
        """
        # the first pairs contribute equally to both sums
        return all(slack > 0 for slack in self.slacks[self.saturated :])

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("k", "lambda_k", "mu_k", "L_k", "M_k", "M_k - L_k")]
        columns = zip(*self._rates, self.arrivals, self.services, self.slacks, strict=True)
        for k, values in enumerate(columns, 1):
            rows.append((str(k), *map(str, values)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([f"{self._word}: c* = {self.scale}, eps* = {self.margin}", *lines])

    @property
    def _word(self) -> str:
        if self.is_feasible:
            return "feasible"
        return "not feasible, yet stabilisable" if self.is_stabilisable else "not feasible"

    def latex(self) -> str:
        """The table of L_k, M_k and their difference."""
        from qtheory.show.latex import latex

        rows = [r"k & L_{k} & M_{k} & M_{k} - L_{k} \\ \hline"]
        for k, values in enumerate(
            zip(self.arrivals, self.services, self.slacks, strict=True), start=1
        ):
            rows.append(" & ".join([str(k), *map(latex, values)]) + r" \\")
        return "\\begin{array}{r|rrr}\n" + "\n".join(rows) + "\n\\end{array}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def feasibility(lam: Sequence[Any], mu: Sequence[Any]) -> Feasibility:
    """The criterion of central feasibility, L_k < M_k for k = 1, ..., n, at rational rates.

    `lam` are the arrival rates of the queues, in (0, 1], `mu` the success probabilities of the
    servers, in [0, 1], both in any order. If it holds, a randomised schedule makes the system
    strongly stable; conversely, the packets of k queues occupy at most k servers in a step, so
    E[Q^1_t + ... + Q^k_t] >= t (L_k - M_k) (Gaitonde, Tardos 2020).

    >>> found = feasibility(["1/2", "2/5", "1/10"], ["9/10", "1/3"])
    >>> found
    feasible: c* = 37/30, eps* = 7/90
    k  lambda_k  mu_k   L_k    M_k  M_k - L_k
    1       1/2  9/10   1/2   9/10        2/5
    2       2/5   1/3  9/10  37/30        1/3
    3      1/10     0     1  37/30       7/30
    >>> found.slacks[2], bool(found), feasibility([1], [1]).is_stabilisable
    (Fraction(7, 30), True, True)

    Raises `ModelError` without a queue or a server, `DomainError` for a rate out of range, and
    `ExpressionError` for one that is no rational number.
    """
    return Feasibility(*read_rates(lam, mu))


def feasibility_conditions(
    lam: Sequence[Any], mu: Sequence[Any], factors: Sequence[Any] | None = None
) -> tuple[sp.Rel, ...]:
    """The conditions c_k L_k < M_k on symbolic rates, which are given in decreasing order.

    Without `factors` all c_k are 1: central feasibility. Rates may be formulas or text.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> feasibility_conditions([lam, lam], [1, mu])
    (lambda < 1, 2*lambda < mu + 1)

    Raises `ModelError` without a queue or a server, or for another number of factors.
    """
    arrivals, services = _formulas(lam), _formulas(mu)
    if not arrivals or not services:
        raise ModelError(
            f"needs at least one queue and one server, got {len(arrivals)} and {len(services)}"
        )
    times = _formulas(factors) if factors is not None else [sp.Integer(1)] * len(arrivals)
    if len(times) != len(arrivals):
        raise ModelError(f"{len(times)} factors for {len(arrivals)} queues")
    services += [sp.Integer(0)] * (len(arrivals) - len(services))
    # more servers than queues: the slowest are not needed
    sums = zip(times, accumulate(arrivals), accumulate(services), strict=False)
    return tuple(relation(c * x, "<", m) for c, x, m in sums)


def sorted_rates(
    lam: Sequence[Fraction], mu: Sequence[Fraction]
) -> tuple[list[Fraction], list[Fraction]]:
    """Both decreasing; as many servers as queues, the fastest ones or with rates 0 added."""
    n = len(lam)
    missing = [Fraction(0)] * (n - len(mu))
    return sorted(lam, reverse=True), [*sorted(mu, reverse=True)[:n], *missing]


def _formulas(values: Sequence[Any]) -> list[sp.Expr]:
    return [formula(v) if isinstance(v, str) else sp.sympify(v) for v in values]
