"""Outcomes as lines of text, as JSON, and as certificate files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from qtheory.inequality import Open, Supported
from qtheory.theorems.run import Outcome

STATEMENT_WIDTH = 64
ID_WIDTH = 16


def line(outcome: Outcome) -> str:
    """One line: whether the verdict is the declared one, the verdict, the time, the statement."""
    mark = "ok  " if outcome.as_declared else "FAIL"
    text = outcome.error or plain(outcome.statement)
    if len(text) > STATEMENT_WIDTH:
        text = text[: STATEMENT_WIDTH - 3].rstrip() + "..."
    return f"{mark} {outcome.id:<{ID_WIDTH}} {outcome.verdict:<9} {outcome.seconds:7.3f} s  {text}"


def details(outcome: Outcome) -> list[str]:
    """What an outcome takes as given, what was seen, and why it is not the declared one."""
    lines = [f"     given: {plain(cited)}" for cited in outcome.given]
    for label, verdict in outcome.claims.items():
        name = f"{plain(label)}: " if label else ""
        if isinstance(verdict, Supported):
            lines.append(f"     seen: {name}{verdict.evidence}")
        if isinstance(verdict, Open) and outcome.expected == "open":
            lines += [f"     tried: {name}{text}" for text in verdict.tried]
    if outcome.as_declared:
        return lines
    lines += [f"     declared {outcome.expected}, found {outcome.verdict}"]
    for label, verdict in outcome.claims.items():
        if verdict.verdict not in (outcome.expected, "supported"):
            lines.append(f"     {label + ': ' if label else ''}{verdict}")
    return lines


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many theorems came out how, and how many as declared."""
    counts = dict.fromkeys(("proved", "refuted", "supported", "open", "error"), 0)
    for outcome in outcomes:
        counts[outcome.verdict] += 1
    cited = sum(outcome.verdict == "proved" and bool(outcome.given) for outcome in outcomes)
    words = {word: word for word in counts}
    if cited:
        words["proved"] += f" ({cited} given what they cite)"
    shown = ", ".join(f"{count} {words[word]}" for word, count in counts.items() if count)
    declared = sum(outcome.as_declared for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    return (
        f"{len(outcomes)} theorems: {shown or 'none'}; "
        f"{declared} of {len(outcomes)} as declared, {seconds:.2f} s"
    )


def as_json(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The outcomes as data, a list under ``theorems``."""
    return {
        "theorems": [
            {
                "id": outcome.id,
                "statement": outcome.statement,
                "verdict": outcome.verdict,
                "expected": outcome.expected,
                "seconds": round(outcome.seconds, 6),
                "claims": [
                    {
                        "label": label,
                        "verdict": verdict.verdict,
                        "claim": str(verdict.claim),
                        **(
                            {"evidence": verdict.evidence} if isinstance(verdict, Supported) else {}
                        ),
                        **({"tried": list(verdict.tried)} if isinstance(verdict, Open) else {}),
                    }
                    for label, verdict in outcome.claims.items()
                ],
                "certificate": outcome.certificate,
                **({"given": list(outcome.given)} if outcome.given else {}),
                **({"error": outcome.error} if outcome.error else {}),
            }
            for outcome in outcomes
        ]
    }


def write_certificates(outcomes: Iterable[Outcome], folder: str | Path) -> list[Path]:
    """One JSON file for every theorem with a certificate, named by its id."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for outcome in outcomes:
        certificate = outcome.certificate
        if certificate is not None:
            file = place / (re.sub(r"[^\w.-]", "_", outcome.id) + ".json")
            file.write_text(json.dumps(certificate, indent=1) + "\n")
            written.append(file)
    return written


def plain(statement: str) -> str:
    r"""A statement for a terminal: its LaTeX mathematics as plain text.

    >>> plain(r"the bound, $\bar J(p) <= 4\lambda\mu$, at $p = \sqrt{2}$")
    'the bound, Jbar(p) <= 4 lambda mu, at p = sqrt(2)'
    """
    text = statement.replace("$", "").replace(r"\,", " ")
    text = re.sub(r"\\(bar|hat|tilde)\s*\{?(\\?\w)\}?", r"\2\1", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
    text = re.sub(r"(?<=[0-9A-Za-z)])\\(?=[A-Za-z])", " ", text)
    text = text.replace(r"\ge", ">=").replace(r"\le", "<=")
    return re.sub(r"\\([A-Za-z]+)", r"\1", text).replace("{", "").replace("}", "")
