"""Run theorems one after the other; one that raises does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qtheory.errors import DomainError
from qtheory.inequality import Proved, Refuted, Verdict, combined
from qtheory.inequality.verdict import VACUOUS
from qtheory.theorems.collect import Unreadable, collect
from qtheory.theorems.theorem import Theorem, combined_verdict


@dataclass(frozen=True)
class Outcome:
    """What became of one theorem."""

    id: str
    statement: str
    verdict: str
    """proved, refuted, supported, open, or error."""

    expected: str
    seconds: float
    claims: Mapping[str, Verdict] = field(default_factory=dict)
    theorem: Theorem | None = None
    error: str = ""

    @property
    def as_declared(self) -> bool:
        return self.verdict == self.expected

    @property
    def given(self) -> tuple[str, ...]:
        """What is cited and not proved by the claims."""
        return self.theorem.given if self.theorem is not None else ()

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The evidence: of one claim, or of all claims together; None without any."""
        certified = [v for v in self.claims.values() if isinstance(v, (Proved, Refuted))]
        if len(certified) != len(self.claims) or not certified:
            return None
        if len(certified) == 1:
            return dict(certified[0].certificate)
        cited = f" (given: {'; '.join(self.given)})" if self.given else ""
        return combined(self.statement + cited, certified)


def run(theorem: Theorem | Unreadable) -> Outcome:
    """Decide one theorem; an exception becomes the verdict ``error``."""
    if isinstance(theorem, Unreadable):
        return Outcome(str(theorem.file), "", "error", "proved", 0.0, error=theorem.reason)
    started = time.perf_counter()
    try:
        claims = theorem.claims()
        _require_points(claims)
    except Exception as error:
        seconds = time.perf_counter() - started
        message = f"{type(error).__name__}: {error}"
        return Outcome(
            theorem.id,
            theorem.statement,
            "error",
            theorem.expected,
            seconds,
            theorem=theorem,
            error=message,
        )
    return Outcome(
        theorem.id,
        theorem.statement,
        combined_verdict(claims),
        theorem.expected,
        time.perf_counter() - started,
        claims,
        theorem,
    )


def _require_points(claims: Mapping[str, Verdict]) -> None:
    """A theorem on an empty domain says nothing: that is an error of its file."""
    for label, verdict in claims.items():
        if isinstance(verdict, Proved) and not verdict.domain.is_inhabited:
            raise DomainError(f"{label + ': ' if label else ''}{VACUOUS}")


def outcomes(path: str | Path, select: str = "") -> Iterator[Outcome]:
    """Run the theorems below a path whose id or statement contains a text."""
    for item in selected(path, select):
        yield run(item)


def selected(path: str | Path, select: str = "") -> list[Theorem | Unreadable]:
    """The theorems below a path whose id or statement contains a text (any case)."""
    wanted = select.lower()
    return [
        item
        for item in collect(path)
        if isinstance(item, Unreadable)
        or wanted in item.id.lower()
        or wanted in item.statement.lower()
    ]


def verify(
    path: str | Path = "proofs",
    select: str = "",
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run all theorem files below a path and give the outcomes.

    `report` is called with each outcome as it comes. After an interrupt, the outcomes so far are
    in the ``outcomes`` attribute of the `KeyboardInterrupt`.
    """
    done: list[Outcome] = []
    try:
        for outcome in outcomes(path, select):
            done.append(outcome)
            if report is not None:
                report(outcome)
    except KeyboardInterrupt as interrupt:
        interrupt.outcomes = done  # type: ignore[attr-defined]
        raise
    return done
