"""What targeted attacks add to the cost, under the shorter queue and under Bernoulli routing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure, rational_value
from qtheory.drift import enclose
from qtheory.errors import DomainError
from qtheory.systems.shorter_queue import JB, JB_targeted, m, targeted_domain, targeted_model
from qtheory.systems.shorter_queue.exact_cost import cost


@dataclass(frozen=True)
class Increase:
    """E[x1 + x2] under targeted attacks less the cost without attacks, for both policies.

    `bernoulli` is exact, None where Bernoulli routing is unstable under the attacks.
    """

    shorter: Enclosure
    bernoulli: Fraction | None

    @property
    def is_larger(self) -> bool | None:
        """Whether attacks add more to the shorter queue; None where the digits do not tell."""
        if self.bernoulli is None or self.shorter.upper < self.bernoulli:
            return False
        return True if self.shorter.lower > self.bernoulli else None

    def __str__(self) -> str:
        other = "unbounded" if self.bernoulli is None else f"{float(self.bernoulli):.6g}"
        return f"shorter queue {self.shorter}, Bernoulli routing {other}"


def increase_under_targeted_attack(lam: Any, mu: Any, p: Any, digits: int = 6) -> Increase:
    """The increase of the cost when a fraction p of the jobs is sent to server 1, certified.

    Under Bernoulli routing it is ``JB_targeted - JB`` of `qtheory.systems.shorter_queue`. For
    p = 1 and lam < mu all jobs go to server 1, so both policies cost lam/(mu - lam). The other
    costs of the shorter queue are enclosures of `qtheory.drift.enclose` on
    `shorter_queue.targeted_model`, with digits + 2 proven digits.

    >>> print(increase_under_targeted_attack("4/5", 1, 1))
    shorter queue 2.993018, Bernoulli routing 2.66667

    Raises `UnstableError` unless lam < 2 mu and p lam < mu, `DomainError` for p outside [0, 1].
    """
    if digits < 1:
        raise DomainError(f"digits must be at least 1, got {digits}")
    place = targeted_domain.require({"lambda": lam, "mu": mu, "p": p})
    rate, service, part = (exact(place[symbol]) for symbol in targeted_domain.symbols)
    attacked, free = _attacked(rate, service, part, digits), cost(rate, service, 0, digits + 4)
    return Increase(
        Enclosure(attacked.lower - free.upper, attacked.upper - free.lower, digits + 1),
        _bernoulli(place),
    )


@cache
def _attacked(lam: Fraction, mu: Fraction, p: Fraction, digits: int) -> Enclosure:
    """The cost of the shorter queue under targeted attacks."""
    if p == 0:
        return cost(lam, mu, p, digits + 4)
    if p == 1:
        whole = lam / (mu - lam)
        return Enclosure(whole, whole, digits)
    chain = targeted_model()
    function = 2 * m + sp.Abs(chain.state[1])
    return enclose(chain, function, {"lam": lam, "mu": mu, "p": p}, digits + 2).value


def _bernoulli(place: Mapping[sp.Symbol, Fraction]) -> Fraction | None:
    lam, mu, p = (place[symbol] for symbol in targeted_domain.symbols)
    if lam * (1 + p) >= 2 * mu:
        return None
    attacked, free = (rational_value(formula, place) for formula in (JB_targeted, JB))
    assert attacked is not None and free is not None
    return attacked - free
