"""Foster's criterion: negative drift outside a finite set, so the chain is positive recurrent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from qtheory.domain import Domain
from qtheory.drift.certificate import DriftCertificate
from qtheory.drift.stability import moment_certificate, scaled_function
from qtheory.model import Model


@dataclass(frozen=True)
class Foster:
    """QV <= -1 outside the finite set where f <= c + 1, by f + QV <= c with f growing.

    By Foster's theorem an irreducible chain is then positive recurrent at every parameter of the
    domain, and by the drift comparison E[f] <= c.
    """

    certificate: DriftCertificate

    @property
    def function(self) -> sp.Expr:
        """The Lyapunov function V."""
        return self.certificate.function

    @property
    def domain(self) -> Domain:
        """The parameters for which it is proved."""
        return self.certificate.domain

    @property
    def finite_set(self) -> sp.Rel:
        """The condition on the state that describes the finite set."""
        return sp.Le(self.certificate.cost, sp.factor(self.certificate.bound + 1), evaluate=False)

    @property
    def data(self) -> Mapping[str, Any]:
        """What `qtheory.check.check` re-checks."""
        return self.certificate.data

    def __str__(self) -> str:
        return f"QV <= -1 unless {self.finite_set}, V = {self.function}"


def foster(model: Model, function: Any = None, layers: int = 1) -> Foster:
    """A proof of stability on the whole domain of a model, by a quadratic Lyapunov function.

    The function is found, or a given one is scaled so that f + QV <= c for a cost f that grows in
    every coordinate.

    >>> from qtheory.systems import dedicated_streams as ds, shorter_queue as sq
    >>> print(foster(ds.mean_field_model()).certificate)
    E[k] <= (lambda + lambda_s)/(-lambda + mu)
    >>> m, d = sq.m, sq.d
    >>> foster(sq.model(), m**2 + (m + d)**2).domain == sq.domain
    True

    Raises `NoBoundError` where the drift is not seen to be negative outside a finite set.
    """
    if function is None:
        return Foster(moment_certificate(model, layers))
    return Foster(scaled_function(model, function))
