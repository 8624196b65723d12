r"""Theorems with their proofs as a LaTeX document, like the appendix of a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sympy.core.relational import Relational

from qtheory.drift import drift_proof_latex
from qtheory.inequality import Verdict
from qtheory.show.latex import conditions_latex, latex
from qtheory.show.polynomials import LINE, display, sign_latex, width
from qtheory.show.proof import escape, proof_latex
from qtheory.theorems.run import Outcome

TERMS_PER_LINE = 3

_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[a4paper, margin=25mm]{geometry}
\usepackage{amsmath, amssymb, amsthm, graphicx, longtable}
\IfFileExists{microtype.sty}{\usepackage{microtype}}{}
\theoremstyle{definition}
\newtheorem*{theorem}{Theorem}
\newtheorem*{refuted}{Claim (refuted)}
\newtheorem*{undecided}{Claim (not proved)}
% a display that is wider than the page is scaled to its width
\newsavebox{\displaybox}
\def\[#1\]{\begin{equation*}
\sbox{\displaybox}{$\displaystyle #1$}%
\ifdim\wd\displaybox>\linewidth\resizebox{\linewidth}{!}{\usebox{\displaybox}}%
\else\usebox{\displaybox}\fi
\end{equation*}}
\setlength{\emergencystretch}{4em}
\raggedbottom
"""


def document(outcomes: Iterable[Outcome], title: str = "Theorems") -> str:
    r"""A LaTeX document of theorems: a table of verdicts, then each theorem with its proof.

    >>> from qtheory import Domain, prove
    >>> square = Outcome(
    ...     "S", "A square is nonnegative: $x^2 >= 0$.", "proved", "proved", 0.0,
    ...     {"": prove("x**2 >= 0", Domain("x <= 1"))},
    ... )
    >>> text = document([square], "Squares")
    >>> r"\begin{theorem}[S]" in text, r"A square is nonnegative: $x^2 \ge 0$." in text
    (True, True)
    """
    found = list(outcomes)
    body = [_summary(found), *(_theorem(outcome) for outcome in found)]
    return (
        f"{_PREAMBLE}\\title{{{escape(title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
        + "\n\n".join(body)
        + "\n\n\\end{document}\n"
    )


def statement_latex(text: str) -> str:
    r"""Text with its mathematics between dollar signs, the rest escaped.

    >>> statement_latex(r"It is <= 5% if $\lambda <= \mu$.")
    'It is $\\le$ 5\\% if $\\lambda \\le \\mu$.'
    """
    parts = re.split(r"(?<!\\)\$", text)
    if len(parts) % 2 == 0:
        return escape(text)
    shown = [f"${_mathematics(p)}$" if i % 2 else _words(p) for i, p in enumerate(parts)]
    return "".join(shown)


def _mathematics(text: str) -> str:
    for sign in ("<=", ">=", "!="):
        text = re.sub(rf"\s*{sign}\s*", rf" \\{sign_latex(sign)[1:]} ", text)
    return text.strip()


def _words(text: str) -> str:
    return re.sub(r"``?([^`]*)``?", r"\1", escape(text)).replace('"', "''")


def _summary(outcomes: Sequence[Outcome]) -> str:
    rows = [
        f"{_id(outcome)} & {_verdict(outcome)} & {'yes' if outcome.as_declared else 'no'} \\\\"
        for outcome in outcomes
    ]
    return "\n".join(
        [
            r"\begin{longtable}{lll}",
            r"\hline Theorem & Verdict & As declared \\ \hline \endhead",
            *rows,
            r"\hline",
            r"\end{longtable}",
        ]
    )


def _verdict(outcome: Outcome) -> str:
    cited = outcome.verdict == "proved" and outcome.given
    return f"{outcome.verdict}, given what is cited" if cited else outcome.verdict


def _id(outcome: Outcome) -> str:
    return escape(outcome.id)


def _theorem(outcome: Outcome) -> str:
    kind = {"proved": "theorem", "refuted": "refuted"}.get(outcome.verdict, "undecided")
    source = outcome.theorem.source if outcome.theorem is not None else ""
    head = f"{_id(outcome)}{'; ' + escape(source) if source else ''}"
    lines = [f"\\begin{{{kind}}}[{head}]", statement_latex(outcome.statement)]
    if outcome.given:
        cited = "; ".join(statement_latex(text) for text in outcome.given)
        lines.append(f"\\par Given, and not proved here: {cited}.\\par")
    lines += _claims(outcome)
    lines.append(f"\\end{{{kind}}}")
    if outcome.error:
        lines.append(f"This was not decided; an error occurred: {escape(outcome.error)}.")
    if outcome.claims:
        lines += [f"\\begin{{proof}}[{_proof_head(outcome)}]", *_proofs(outcome), "\\end{proof}"]
    if not outcome.as_declared:
        lines.append(f"(The verdict was declared to be: {escape(outcome.expected)}.)")
    return "\n".join(lines)


def _proof_head(outcome: Outcome) -> str:
    return {"proved": "Proof", "refuted": "Refutation"}.get(outcome.verdict, "Evidence")


def _claims(outcome: Outcome) -> list[str]:
    """The conditions that all claims share, then each claim with its further conditions."""
    domains = [verdict.domain.conditions for verdict in outcome.claims.values()]
    if not domains:
        return []
    shared = [c for c in domains[0] if all(c in other for other in domains)]
    lines = [f"Let ${breakable(conditions_latex(shared))}$."] if shared else []
    for label, verdict in outcome.claims.items():
        words = [f"\\emph{{{statement_latex(sentence(label))}}}"] if label else []
        further = [c for c in verdict.domain.conditions if c not in shared]
        if further:
            words.append(f"if ${breakable(conditions_latex(further))}$")
        if len(outcome.claims) > 1:
            words.append(f"({verdict.verdict})")
        lines.append(f"\\par {' '.join(words)}:" if words else "Then")
        lines.append(display(claim_latex(verdict.claim, ".")))
    return lines


def sentence(label: str) -> str:
    """A label with a capital letter, unless it starts with a formula.

    >>> sentence("at most one"), sentence("b = 1")
    ('At most one', 'b = 1')
    """
    return label[:1].upper() + label[1:] if label[:2].isalpha() else label


def breakable(conditions: str) -> str:
    """Conditions between which a line may break."""
    return conditions.replace(r",\; ", r"$, $")


def claim_latex(claim: Relational, end: str = "") -> str:
    r"""A relation for a display, its sides below each other when they do not fit on a line.

    >>> from sympy.abc import mu, nu
    >>> claim_latex(mu < nu)
    '\\mu < \\nu'
    """
    left, right = (latex(side) for side in claim.args)
    sign = sign_latex(claim.rel_op)
    if width(f"{left} {right}") <= LINE:
        return f"{left} {sign} {right}{end}"
    left, right = (latex(side, TERMS_PER_LINE) for side in claim.args)
    return f"\\begin{{aligned}}\n& {left} \\\\\n& \\quad {sign} {right}{end}\n\\end{{aligned}}"


def _proofs(outcome: Outcome) -> list[str]:
    lines = []
    reasoning = outcome.theorem.reasoning if outcome.theorem is not None else ""
    if reasoning:
        lines += [*(statement_latex(p) + "\n" for p in re.split(r"\n\s*\n", reasoning))]
    for label, verdict in outcome.claims.items():
        name = f"\\emph{{{statement_latex(sentence(label))}.}} " if label else ""
        lines.append(name + _proof(verdict) + "\n")
    lines[-1] = lines[-1].rstrip()
    return lines


def _proof(verdict: Verdict) -> str:
    certificate = getattr(verdict, "certificate", {})
    if certificate.get("kind") == "drift":
        return drift_proof_latex(certificate)
    return proof_latex(verdict)
