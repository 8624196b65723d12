"""Verdicts: what is known of a claim, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import sympy as sp
from sympy.core.relational import Relational

from qtheory.domain import Domain
from qtheory.formulas import relation

Evidence = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""A certificate, or what writes it: formulas are printed only when somebody wants to read them."""


VACUOUS = "no point of the domain was found: it may be empty"


def written(evidence: Evidence) -> dict[str, Any]:
    """The certificate itself."""
    return dict(evidence() if callable(evidence) else evidence)


@dataclass(frozen=True)
class Verdict:
    """A claim on a domain with what was found out about it; true only when it is proved."""

    claim: Relational
    domain: Domain
    seconds: float = field(compare=False, kw_only=True, default=0.0)

    verdict: ClassVar[str]

    def __getstate__(self) -> dict[str, Any]:
        # SymPy evaluates a relation that it unpickles, so the sides travel apart
        sides = self.claim.lhs, self.claim.rel_op, self.claim.rhs
        state = {**vars(self), "claim": sides}
        if isinstance(self, (Proved, Refuted)):
            state["evidence"] = self.certificate
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "claim": relation(*state["claim"])})

    def __bool__(self) -> bool:
        return isinstance(self, Proved)

    def __str__(self) -> str:
        return f"{self.verdict}: {self.claim}"

    def _repr_latex_(self) -> str:
        from qtheory.show.latex import latex

        return rf"$\text{{{self.verdict}: }} {latex(self.claim)}$"


@dataclass(frozen=True)
class Proved(Verdict):
    """The claim holds at every point of the domain; `qtheory.check` accepts the certificate."""

    evidence: Evidence = field(repr=False, compare=False)

    verdict: ClassVar[str] = "proved"

    def __str__(self) -> str:
        shown = f"proved: {self.claim}"
        return shown if self.domain.is_inhabited else f"{shown} ({VACUOUS})"

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The proof as data, written when it is first asked for."""
        return written(self.evidence)


@dataclass(frozen=True)
class Refuted(Verdict):
    """The claim fails at the witness, a rational point of the domain."""

    witness: Mapping[sp.Symbol, sp.Rational]
    evidence: Evidence = field(repr=False, compare=False)

    verdict: ClassVar[str] = "refuted"

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The witness as data, written when it is first asked for."""
        return written(self.evidence)

    def __str__(self) -> str:
        point = ", ".join(f"{symbol} = {value}" for symbol, value in self.witness.items())
        return f"refuted: {self.claim} fails at {point}"


@dataclass(frozen=True)
class Open(Verdict):
    """Neither proved nor refuted; what was tried and how far it got."""

    tried: tuple[str, ...]

    verdict: ClassVar[str] = "open"

    def __str__(self) -> str:
        return f"open: {self.claim} ({'; '.join(self.tried)})"


@dataclass(frozen=True)
class Supported(Verdict):
    """Seen to hold where it was looked at (a grid, a simulation); never a proof."""

    evidence: str

    verdict: ClassVar[str] = "supported"

    def __str__(self) -> str:
        return f"supported: {self.claim} ({self.evidence})"
