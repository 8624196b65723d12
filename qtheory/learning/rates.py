"""Arrival and service rates of queues and servers, as they are given."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from qtheory.arithmetic import exact
from qtheory.errors import DomainError, ModelError


def read_rates(
    lam: Sequence[Any], mu: Sequence[Any]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The arrival rates, in (0, 1], and the service rates, in [0, 1], as rational numbers.

    >>> read_rates(["1/2"], [1, 0.5])
    ((Fraction(1, 2),), (Fraction(1, 1), Fraction(1, 2)))

    Raises `ModelError` without a list, a queue or a server, and `DomainError` for a rate out of
    range.
    """
    for name, rates in (("lambda", lam), ("mu", mu)):
        # the letters of a text would be read as rates
        if isinstance(rates, str) or not hasattr(rates, "__iter__"):
            raise ModelError(f"{name} must be a list of rates, got {rates!r}")
    arrivals, services = tuple(map(exact, lam)), tuple(map(exact, mu))
    if not arrivals or not services:
        raise ModelError(
            f"needs at least one queue and one server, got {len(arrivals)} and {len(services)}"
        )
    for i, rate in enumerate(arrivals, 1):
        if not 0 < rate <= 1:
            raise DomainError(f"needs 0 < lambda <= 1, got {rate} for queue {i} of {len(arrivals)}")
    for j, rate in enumerate(services, 1):
        if not 0 <= rate <= 1:
            raise DomainError(f"needs 0 <= mu <= 1, got {rate} for server {j} of {len(services)}")
    return arrivals, services
