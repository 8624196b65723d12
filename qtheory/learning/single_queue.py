"""One queue with a server of its own: in each step an arrival, then service.

The packet that arrives can be served in the same step, so that from q >= 0 the queue grows with
probability lambda (1 - mu), and from q >= 1 it falls with probability mu (1 - lambda). Formulas
hold on `domain`; sizes are counted at the beginning of a step. A queue that a schedule serves with
probability y in each step, independently, is the case mu = y.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError
from qtheory.formulas import relation
from qtheory.model import Model, Transition

lam, mu = sp.symbols("lambda mu", positive=True)
q = sp.Symbol("q", integer=True, nonnegative=True)

domain = Domain(lam < 1, mu <= 1, stable=lam < mu)

ratio = lam * (1 - mu) / (mu * (1 - lam))
"""rho, the ratio of the geometric law of Q."""
mean = lam * (1 - mu) / (mu - lam)
"""E[Q]."""
variance = lam * (1 - lam) * mu * (1 - mu) / (mu - lam) ** 2
"""Var[Q]."""

critical_constant = 4 * lam * (1 - lam) / sp.pi
"""For mu = lambda < 1, E[Q_t] ~ sqrt(critical_constant * t), as of a reflected random walk."""

age_ratio = (1 - mu) / (1 - lam)
"""r, the ratio of the tail of the age T."""
age_constant = lam * (mu - lam) / (mu * (1 - lam))
"""A, the probability of the signed age 0: a packet that arrived just now is the oldest."""
sending = lam / mu
"""The probability that there is a packet to send in a step, after the arrival."""
age_mean = lam * (1 - mu) / (mu * (mu - lam))
"""E[T] = E[Q] / mu."""
age_second_moment = lam * (1 - mu) * (2 - lam - mu) / (mu * (mu - lam) ** 2)
"""E[T^2]."""


def model() -> Model:
    """The queue as a discrete-time birth-death chain.

    >>> from qtheory import stationary
    >>> sp.simplify(stationary(model()).mean() - mean)
    0
    """
    return Model(
        q,
        domain,
        [
            Transition(lam * (1 - mu), jump=(+1,)),
            Transition(mu * (1 - lam), jump=(-1,), when=q >= 1),
        ],
        time="discrete",
        name="one queue, one server",
    )


def pmf(size: Any) -> sp.Expr:
    """P(Q = size) = (1 - rho) rho^size, without a special mass at 0.

    >>> pmf(5).subs({lam: sp.Rational(1, 3), mu: sp.Rational(1, 2)})
    1/64
    """
    return (mu - lam) / (mu * (1 - lam)) * ratio ** sp.sympify(size)


def tail(size: Any) -> sp.Expr:
    """P(Q >= size) = rho^size."""
    return ratio ** sp.sympify(size)


def factorial_moment(k: int) -> sp.Expr:
    """E[Q (Q - 1) ... (Q - k + 1)] = k! (rho / (1 - rho))^k, with rho / (1 - rho) = E[Q]."""
    return sp.factorial(k) * mean**k


def signed_age_pmf(age: int) -> sp.Expr:
    """P(Y = age) for Y = t minus the timestamp of the oldest packet, or of the next one to come.

    A r^y for y >= 0 and A (1 - lambda)^k for y = -k < 0. The age is T = max(0, Y), and the queue
    can send if and only if Y >= 0.

    >>> signed_age_pmf(-1)
    lambda*(-lambda + mu)/mu
    """
    return age_constant * (age_ratio**age if age >= 0 else (1 - lam) ** (-age))


def signed_age_balance() -> dict[str, sp.Rel]:
    """The equations that make the law of the signed age stationary; all hold on `domain`.

    Y grows by 1, and by 1 - X with X ~ Geom(lambda) if the packet is served, which has probability
    mu for Y >= 0. The sums over Y and X are geometric, and the powers of r and 1 - lambda that are
    common to both sides are divided out, so one equation stands for all y >= 1, one for all y <= 0.
    """
    served = lam / (1 - age_ratio * (1 - lam))
    nonnegative, negative = 1 / (1 - age_ratio), (1 - lam) / lam
    return {
        "all probabilities": relation(age_constant * (nonnegative + negative), "==", 1),
        "y >= 1": relation((1 - mu) / age_ratio + mu * served, "==", 1),
        "y <= 0": relation((1 - lam) + mu * served, "==", 1),
        "P(Y >= 0)": relation(age_constant * nonnegative, "==", sending),
        "E[T]": relation(age_constant * age_ratio / (1 - age_ratio) ** 2, "==", age_mean),
        "E[T^2]": relation(
            age_constant * age_ratio * (1 + age_ratio) / (1 - age_ratio) ** 3,
            "==",
            age_second_moment,
        ),
    }


def mean_at(lam: Any, mu: Any, t: int) -> Fraction:
    """E[Q_t] from an empty queue, for rational rates in [0, 1], stable or not.

    The queue is a Lindley walk with the steps B - V of arrivals and coins, so that by Spitzer
    (1956) E[Q_t] = sum over k = 1, ..., t of E[(Bin(k, lambda) - Bin'(k, mu))^+] / k.

    >>> mean_at("1/3", "1/2", 3), mean_at("1/4", "4/5", 3)
    (Fraction(13, 36), Fraction(159, 2000))

    Raises `DomainError` for a rate outside [0, 1] and `ModelError` for a negative time.
    """
    from flint import fmpz_poly

    arrival, service = exact(lam), exact(mu)
    for name, rate in (("lambda", arrival), ("mu", service)):
        if not 0 <= rate <= 1:
            raise DomainError(f"needs 0 <= {name} <= 1, got {rate}")
    _require_time(t)
    up, down = arrival * (1 - service), service * (1 - arrival)
    scale = arrival.denominator * service.denominator
    # the coefficient of x^(k + j) is scale^k P(sum of k steps = j)
    step = fmpz_poly([int(scale * p) for p in (down, 1 - up - down, up)])
    total, law = Fraction(0), fmpz_poly([1])
    for k in range(1, t + 1):
        law = law * step
        # the mean of the positive part, as a derivative at 1
        above = int(law.right_shift(k).derivative()(1))
        total += Fraction(above, k * scale**k)
    return total


def mean_at_half(t: int) -> Fraction:
    """E[Q_t] from an empty queue for lambda = mu = 1/2: ((2t + 1) C(2t, t) / 4^t - 1) / 2.

    Here Bin(k, 1/2) - Bin'(k, 1/2) + k is Bin(2k, 1/2), with E[(. - k)^+] = (k/2) C(2k, k) / 4^k,
    and Spitzer's sum telescopes (see `half_telescopes`). It grows like sqrt(t / pi) - 1/2.

    >>> mean_at_half(10)
    Fraction(707825, 524288)

    Raises `ModelError` for a negative time.
    """
    _require_time(t)
    return (Fraction((2 * t + 1) * comb(2 * t, t), 4**t) - 1) / 2


def half_telescopes() -> sp.Rel:
    """One step of the sum, (2t + 1) u_t - (2t - 1) u_(t-1) = u_t for u_t = C(2t, t) / 4^t.

    Both sides are divided by u_(t-1); u_t / u_(t-1) = (2t - 1) / (2t).
    """
    t = sp.Symbol("t", positive=True)
    growth = (2 * t - 1) / (2 * t)
    return relation((2 * t + 1) * growth - (2 * t - 1), "==", growth)


def _require_time(t: int) -> None:
    if t < 0:
        raise ModelError(f"needs a time t >= 0, got {t}")
