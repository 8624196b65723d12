"""Stability of queues without regret when the oldest packet has priority.

With L_k, M_k the sums of the k largest rates, the queues are strongly stable if 2 L_k < M_k for
all k (Gaitonde, Tardos 2020), and already if (2 - 1/k) L_k < M_k, which is exact. The proof is a
negative drift of Phi = (sum of lambda_i T_i^2)^(1/2) over windows of w steps, for the ages T_i.
This module has the conditions, the constants and the inequalities of the proof; the theorem that
turns the drift into moments is cited from `qtheory.learning.moment_theorems`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure, evaluate
from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError
from qtheory.formulas import relation
from qtheory.learning.feasibility import Feasibility, feasibility
from qtheory.learning.moment_theorems import PemantleRosenthal, number


@dataclass(frozen=True, repr=False)
class Slack:
    """The condition c_k L_k <= (1 - eta) M_k for k = 1, ..., n, with its largest eta."""

    feasibility: Feasibility
    factors: tuple[Fraction, ...]

    @cached_property
    def ratios(self) -> tuple[Fraction, ...]:
        """c_k L_k / M_k; all below 1 where the condition holds with some eta > 0."""
        sums = zip(self.factors, self.feasibility.arrivals, self.feasibility.services, strict=True)
        return tuple(c * x / m for c, x, m in sums)

    @property
    def margin(self) -> Fraction:
        """The largest eta, 1 - max c_k L_k / M_k; not positive where the condition fails."""
        return 1 - max(self.ratios)

    @property
    def holds(self) -> bool:
        """Whether c_k L_k < M_k for all k, that is, the condition holds for some eta > 0."""
        return self.margin > 0

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        word = "holds" if self.holds else "fails"
        shown = ", ".join(f"{c} L_{k}/M_{k} = {r}" for k, (c, r) in enumerate(self._pairs(), 1))
        return f"{word} with eta = {self.margin}: {shown}"

    def _repr_latex_(self) -> str:
        from qtheory.show.latex import latex

        rows = [
            rf"{latex(c)}\, L_{{{k}}} &= {latex(r)}\, M_{{{k}}}"
            for k, (c, r) in enumerate(self._pairs(), 1)
        ]
        return "$\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}$"

    def _pairs(self) -> zip[tuple[Fraction, Fraction]]:
        return zip(self.factors, self.ratios, strict=True)


def slack(lam: Sequence[Any], mu: Sequence[Any], refined: bool = False) -> Slack:
    """The assumption of the stability theorem, L_k <= (1 - eta) M_k / c_k, at rational rates.

    c_k = 2 as in Gaitonde and Tardos (2020), or c_k = 2 - 1/k if `refined`: of k queues that block
    each other, each one's own packets do not count as an obstacle to itself.

    >>> slack(["2/5"] * 2, [1, "1/2"])
    fails with eta = -1/15: 2 L_1/M_1 = 4/5, 2 L_2/M_2 = 16/15
    >>> slack(["2/5"] * 2, [1, "1/2"], refined=True)
    holds with eta = 1/5: 1 L_1/M_1 = 2/5, 3/2 L_2/M_2 = 4/5

    Raises what `feasibility` raises, and `DomainError` if all servers have rate 0.
    """
    found = feasibility(lam, mu)
    if not any(found.mu):
        raise DomainError("needs a server with mu > 0")
    count = range(1, len(found.lam) + 1)
    factors = tuple(2 - Fraction(1, k) if refined else Fraction(2) for k in count)
    return Slack(found, factors)


def norm_one(lam: Sequence[Any], ages: Sequence[Any]) -> Any:
    """||T||_1 = sum of lambda_i |T_i|.

    >>> norm_one([Fraction(1, 2), Fraction(1, 4)], [4, -4])
    Fraction(3, 1)
    """
    return sum(x * abs(age) for x, age in zip(lam, ages, strict=True))


def potential_square(lam: Sequence[Any], ages: Sequence[Any]) -> Any:
    """Phi^2 = ||T||_2^2 = sum of lambda_i T_i^2.

    >>> potential_square([Fraction(1, 2), Fraction(1, 4)], [4, -4])
    Fraction(12, 1)
    """
    return sum(x * age**2 for x, age in zip(lam, ages, strict=True))


@dataclass(frozen=True)
class WindowCondition:
    """phi/w + n (delta + exp(-w/4)) <= eta lambda_n / 2, with proven digits of the left side."""

    left: Enclosure
    right: Fraction

    @property
    def holds(self) -> bool:
        """Whether the condition is proved."""
        return self.left.upper <= self.right

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        word = "<=" if self.holds else ">" if self.left.lower > self.right else "not shown <="
        return f"{float(self.left):.6g} {word} {self.right}"


def window_condition(
    lam: Sequence[Any], eta: Any, steps: int, delta: Any, regret: Any
) -> WindowCondition:
    """Whether a window is long enough: phi/w + n (delta + e^(-w/4)) <= eta lambda_n/2.

    In every window of w = `steps` steps, after every history, each regret is at most phi =
    `regret`, but for probability delta. With the slack eta, lambda_n <= 1 - eta, so that the
    condition needs e^(-w/4) <= eta (1 - eta) / (2n) <= 1/(8n), that is w > 8.

    >>> print(window_condition(["1/4"] * 3, "1/5", 10**6, "1/1000", 20_000))
    0.023 <= 1/40

    Raises `DomainError` unless 0 < lambda <= 1, 0 < eta < 1, delta >= 0, phi >= 0 and w is a whole
    number >= 1.
    """
    rates, margin, share, regret = tuple(map(exact, lam)), exact(eta), exact(delta), exact(regret)
    w = exact(steps)
    if not rates:
        raise ModelError("needs at least one queue, got 0")
    for name, good, got in (
        ("0 < lambda <= 1", all(0 < x <= 1 for x in rates), ", ".join(map(str, rates))),
        ("0 < eta < 1", 0 < margin < 1, margin),
        ("delta >= 0", share >= 0, share),
        # the proof bounds max(Reg_i, 0), which no negative number does
        ("a regret phi >= 0", regret >= 0, regret),
        ("a whole window w >= 1", w >= 1 and w.denominator == 1, w),
    ):
        if not good:
            raise DomainError(f"needs {name}, got {got}")
    rational = regret / w + len(rates) * share
    left = number(rational) + len(rates) * sp.exp(-number(w / 4))
    return WindowCondition(evaluate(left), margin * min(rates) / 2)


@dataclass(frozen=True)
class DriftConstants:
    """E[Phi_w^2 - Phi_0^2] <= -(eta/2) w ||T_0||_1 + A w^2, so E[Phi_w - Phi_0] <= -beta on
    Phi_0 >= alpha; all exact numbers or formulas."""

    A: sp.Expr
    alpha: sp.Expr
    beta: sp.Expr


def drift_constants(lam: Sequence[Any], eta: Any, steps: Any) -> DriftConstants:
    """The constants of the drift over windows of w steps that satisfy `window_condition`.

    A = 9 n^2 / (2 lambda_n) + 3 sum of 1/lambda_i, beta = (eta/8) w sqrt(lambda_n),
    alpha = 4 A w / (eta sqrt(lambda_n)), with lambda_n the smallest rate; numbers or formulas.

    >>> drift_constants(["1/4"] * 3, "1/5", 1000)
    DriftConstants(A=198, alpha=7920000, beta=25/2)

    Raises `ModelError` without a queue.
    """
    rates, margin, w = _numbers(lam), number(eta), number(steps)
    least, n = sp.Min(*rates), len(rates)
    A = sp.Rational(9 * n**2, 2) / least + 3 * sum(1 / x for x in rates)
    root = sp.sqrt(least)
    return DriftConstants(A, 4 * A * w / (margin * root), margin / 8 * w * root)


def fourth_moment(lam: Sequence[Any], steps: Any) -> sp.Expr:
    """A bound on E[|Phi_(t+w) - Phi_t|^4] after every history, over w steps.

    8 w^4 (sum of lambda_i) (sum of lambda_i (1 + E[X_i^4])), with X_i ~ Geom(lambda_i): an age
    changes by at most w plus w of the times X_i between packets. Other moments are finite as well.

    >>> fourth_moment([1], 2)
    256

    Raises `ModelError` without a queue.
    """
    rates, w = _numbers(lam), number(steps)
    parts = [x * (1 + (2 - x) * (x**2 - 12 * x + 12) / x**4) for x in rates]
    return 8 * w**4 * sum(rates) * sum(parts)


def strong_stability(
    lam: Sequence[Any], mu: Sequence[Any], steps: int, delta: Any, regret: Any
) -> PemantleRosenthal:
    """The theorem of Pemantle and Rosenthal for Phi at the times 0, w, 2w, ..., filled in.

    Assumed is that in every window of w = `steps` steps, after every history, each regret is at
    most `regret`, but for probability `delta`. The drift is that of `drift_constants` with the
    largest eta for (2 - 1/k) L_k <= (1 - eta) M_k; the moments of order 4 are `fourth_moment`.

    >>> print(strong_stability(["1/4"] * 2, [1, 1], 10**5, "1/1000", 1000).report())
    Pemantle and Rosenthal (1999)
      assumed: in 100000 steps, after every history, P(regret > 1000) <= 1/1000
      shown: E[X_(k+1) - X_k | F_k] <= -15625/4 on X_k > 122880000 (the drift of Phi)
      shown: E[|X_(k+1) - X_k|^4 | F_k] <= 812200000000000000000000 (geometric times)
      shown: X_0 <= 122880000 (X_0 <= 0)
      so sup E[X_k^r] < infinity for every 0 < r < 3, given what is assumed

    Raises `DomainError` where (2 - 1/k) L_k < M_k fails for some k or the window is too short.
    """
    found = slack(lam, mu, refined=True)
    if not found:
        raise DomainError(f"needs (2 - 1/k) L_k < M_k for all k: {found}")
    window = window_condition(found.feasibility.lam, found.margin, steps, delta, regret)
    if not window:
        raise DomainError(
            f"the window is too short: needs phi/w + n (delta + exp(-w/4)) <= eta lambda_n/2, "
            f"got {window}"
        )
    constants = drift_constants(found.feasibility.lam, found.margin, steps)
    return PemantleRosenthal(
        drift=constants.beta,
        level=constants.alpha,
        order=4,
        moment=fourth_moment(found.feasibility.lam, steps),
        drift_shown="the drift of Phi",
        moment_shown="geometric times",
        premise=f"in {steps} steps, after every history, P(regret > {regret}) <= {delta}",
    )


def norm_inequalities(n: int) -> dict[str, tuple[sp.Rel, Domain]]:
    """lambda_n Phi^2 <= ||T||_1^2 <= (lambda_1 + ... + lambda_n) Phi^2, with ages T_i >= 0.

    The left side is attained where only queue n has an age, the right one at equal ages.
    """
    rates = sp.symbols(f"lambda_1:{n + 1}", positive=True)
    ages = sp.symbols(f"T_1:{n + 1}", nonnegative=True)
    one = sum(x * age for x, age in zip(rates, ages, strict=True))
    square = potential_square(rates, ages)
    domain = Domain(*(x >= rates[-1] for x in rates[:-1]), symbols=(*rates, *ages))
    return {
        "lower": (relation(rates[-1] * square, "<=", one**2), domain),
        "upper": (relation(one**2, "<=", sum(rates) * square), domain),
    }


def drift_steps() -> dict[str, tuple[sp.Rel, Domain]]:
    """The inequalities of the proof that Phi falls, each with the domain where it holds.

    Over a window of w steps Z is the advance of the timestamp of one queue and D_i = lambda_i w -
    E C_i, with the packets C_i that are cleared. For the k oldest queues L and C are the sums of
    lambda_i and E C_i; M = M_k, th = 2 - 1/k and lambda is the smallest rate. They stay older than
    the others where the gap to the next age is at least 2w/lambda + 1, but for probability
    e^(-w/4) each (Chernoff), and then th C_k + sum of regrets >= V_1 + ... + V_k on every path
    (`qtheory.learning.path_inequality`). phi bounds the regret and `bad` = n (delta + e^(-w/4)) the
    probability that it or the order fails. Smaller gaps cost at most 2 (2w/lambda + 1) k w each.
    N is ||T||_1 and s the root of lambda.
    """
    w, T, Z, lam, eta, M, L, C, phi, Phi, A, g = sp.symbols(
        "w T Z lambda eta M L C phi Phi A g", nonnegative=True
    )
    k, n, root, after, one, bad = sp.symbols("k n s Phi_w N bad", nonnegative=True)
    th = 2 - 1 / k
    rate = Domain(lam > 0, lam <= 1)
    group = Domain(k >= 1, eta > 0, eta < 1, lam > 0)
    a, b, c, x, y, z = sp.symbols("T_1 T_2 T_3 D_1 D_2 D_3", real=True)
    return {
        "square of an age": (
            relation((T + w - Z) ** 2 - T**2, "==", 2 * T * (w - Z) + (w - Z) ** 2),
            Domain(symbols=(T, w, Z)),
        ),
        "square of an advance": (
            relation((w - Z) ** 2, "<=", w**2 + Z**2),
            Domain(symbols=(w, Z)),
        ),
        "second moment of a geometric time": (
            relation((2 - lam) / lam**2, "<=", 2 / lam**2),
            rate,
        ),
        "weighted squares": (
            relation(lam * (w**2 + 2 * w**2 / lam**2), "<=", 3 * w**2 / lam),
            rate,
        ),
        "Abel summation, n = 3": (
            relation(
                a * x + b * y + c * z, "==", (a - b) * x + (b - c) * (x + y) + c * (x + y + z)
            ),
            Domain(symbols=(a, b, c, x, y, z)),
        ),
        "services of the k fastest": (
            relation(M, ">=", k * lam),
            group.where(th * L <= (1 - eta) * M, L >= k * lam),
        ),
        "path inequality in the mean": (
            relation(w * M - k * phi - k * w * bad, ">=", w * (M - k * eta * lam / 2)),
            group.where(phi + w * bad <= w * eta * lam / 2),
        ),
        "drift of the k oldest": (
            relation(w * L - C, "<=", -eta * w * M / 4),
            group.where(
                th * L <= (1 - eta) * M, th * C >= w * (M - k * eta * lam / 2), M >= k * lam
            ),
        ),
        "small gaps": (
            relation((2 * w / lam + 1) * n * (n + 1) * w, "<=", 9 * n**2 * w**2 / (2 * lam)),
            rate.where(n >= 1, w >= 4),
        ),
        "gaps and services": (relation(g * M, ">=", g * L), Domain(M >= L, symbols=(g,))),
        "from squares to the potential": (
            relation(after - Phi, "<=", (after**2 - Phi**2) / (2 * Phi)),
            Domain(Phi > 0),
        ),
        "norms": (
            relation(-(eta / 2) * w * one / (2 * Phi), "<=", -(eta / 4) * w * root),
            Domain(Phi > 0, one >= root * Phi, eta >= 0, w >= 0),
        ),
        "negative drift": (
            relation(-(eta / 4) * w * root + A * w**2 / (2 * Phi), "<=", -(eta / 8) * w * root),
            Domain(Phi > 0, eta > 0, root > 0, Phi * eta * root >= 4 * A * w),
        ),
    }


def _numbers(lam: Sequence[Any]) -> list[sp.Expr]:
    if not len(lam):
        raise ModelError("needs at least one queue, got 0")
    return [number(x) for x in lam]
