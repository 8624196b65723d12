"""Exact stationary laws as text and as LaTeX, cut where polynomials get long."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import sympy as sp
from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring

if TYPE_CHECKING:
    from qtheory.stationary.exact.law import ExactLaw

FACTOR_LIMIT = 1000
"""The most terms of a polynomial that is factored when it is shown as an expression."""


def expression_of(ring: Ring, value: Ratio) -> sp.Expr:
    """A fraction of polynomials as an expression, factored where that is cheap."""
    small = max(len(value.num), len(value.den)) <= FACTOR_LIMIT
    return ring.factored(value) if small else ring.expression(value)


def law_text(law: ExactLaw, terms: int = 4, rows: int = 12) -> str:
    """The weights of the first states and their sum, with so many terms a polynomial."""
    over = ", ".join(law.ring.names) or "the rational numbers"
    shown = [(str(s), w) for s, w in islice(zip(law.states, law.numerators, strict=True), rows)]
    more = [f"  ... {len(law) - rows} more"] if len(law) > rows else []
    width = max(len(name) for name, _ in shown)
    shown_rows = [f"  {name:<{width}}  {_text(law.ring, weight, terms)}" for name, weight in shown]
    head = f"stationary law of {len(law)} states over {over}: weights, to be divided by W"
    total = f"  {'W':<{width}}  {_text(law.ring, law.denominator, terms)}"
    return "\n".join([head, *shown_rows, *more, total])


def law_latex(law: ExactLaw, terms: int, rows: int) -> str:
    """The probabilities as an aligned block of equations."""
    lines = [
        rf"\pi_{{{_state_latex(state)}}} &= \tfrac{{1}}{{Z}}\,"
        rf"\bigl({_polynomial_latex(law.ring, weight, terms)}\bigr)"
        for state, weight in islice(zip(law.states, law.numerators, strict=True), rows)
    ]
    if len(law) > rows:
        lines.append(rf"&\;\;\vdots \quad \text{{({len(law) - rows} more states)}}")
    lines.append(f"Z &= {_polynomial_latex(law.ring, law.denominator, terms)}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _head(ring: Ring, poly: fmpz_mpoly, terms: int) -> sp.Expr:
    """The first terms of a polynomial."""
    if len(poly) <= terms:
        return ring.expression(poly)
    return ring.expression(ring.context.from_dict(dict(islice(poly.terms(), terms))))


def _text(ring: Ring, poly: fmpz_mpoly, terms: int) -> str:
    more = f" + ... ({len(poly)} terms)" if len(poly) > terms else ""
    return f"{_head(ring, poly, terms)}{more}"


def _polynomial_latex(ring: Ring, poly: fmpz_mpoly, terms: int) -> str:
    more = rf" + \cdots \;\text{{({len(poly)} terms)}}" if len(poly) > terms else ""
    return sp.latex(_head(ring, poly, terms)) + more


def _state_latex(state: Any) -> str:
    if isinstance(state, tuple):
        return ", ".join(map(_state_latex, state))
    if isinstance(state, str):
        return rf"\text{{{state}}}"
    return sp.latex(sp.sympify(state)) if isinstance(state, (int, sp.Basic)) else str(state)
