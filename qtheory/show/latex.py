r"""Formulas, conditions and domains as LaTeX.

Names follow the field: ``lam_s`` is \lambda_{s}, ``lambda_bar`` is \bar{\lambda}, ``rho_max`` is
\rho_{\max}, ``p_hat`` is \hat{p}, ``p_star`` is p^{*}.
"""

from __future__ import annotations

import re
from typing import Any

import sympy as sp
from sympy.core.relational import Relational
from sympy.printing.latex import LatexPrinter, translate

from qtheory.formulas import positive_first
from qtheory.text import symbol_name

_ACCENTS = {"bar", "hat", "tilde", "dot"}
_OPERATORS = {"max", "min", "inf", "sup"}


def symbol_latex(name: str) -> str:
    r"""The LaTeX of a symbol's name.

    >>> [symbol_latex(n) for n in ("lam_1", "lambda_bar", "rho_max", "p_star", "ca")]
    ['\\lambda_{1}', '\\bar{\\lambda}', '\\rho_{\\max}', 'p^{*}', 'c_{a}']
    """
    base, *parts = re.sub(r"(?<=[A-Za-z])(\d+)$", r"_\1", symbol_name(name)).split("_")
    text = translate(base)
    subscripts, power = [], ""
    for part in parts:
        if part in _ACCENTS:
            text = rf"\{part}{{{text}}}"
        elif part == "star":
            power = "^{*}"
        elif part in _OPERATORS:
            subscripts.append(rf"\{part}")
        elif len(part) > 3 and part.isalpha() and translate(part) == part:
            subscripts.append(rf"\mathrm{{{part}}}")
        else:
            subscripts.append(translate(part))
    return text + (f"_{{{','.join(subscripts)}}}" if subscripts else "") + power


class _Printer(LatexPrinter):
    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return symbol_latex(expr.name)

    def _as_ordered_terms(self, expr: sp.Add, order: str | None = None) -> list[sp.Expr]:
        return positive_first(super()._as_ordered_terms(expr, order))


def latex(value: Any, terms_per_line: int | None = None) -> str:
    r"""The LaTeX of a formula, a relation or a domain.

    Long sums break after `terms_per_line` terms inside ``aligned``.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> latex(2*lam/(2*mu - lam))
    '\\frac{2 \\lambda}{2 \\mu - \\lambda}'
    """
    if hasattr(value, "conditions"):
        return conditions_latex(value.conditions)
    value = sp.sympify(value)
    if terms_per_line is None or not value.is_Add or len(value.args) <= terms_per_line:
        return _Printer().doprint(value)
    terms = value.as_ordered_terms()
    lines = []
    for start in range(0, len(terms), terms_per_line):
        line = _Printer().doprint(sp.Add(*terms[start : start + terms_per_line], evaluate=False))
        plus = "" if start == 0 or line.lstrip().startswith("-") else "+ "
        lines.append(f"& {plus}{line}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def conditions_latex(conditions: Any) -> str:
    r"""Conditions on parameters; ``0 < x`` and ``x <= 1`` join to a chain.

    >>> p = sp.Symbol("p", nonnegative=True)
    >>> conditions_latex([sp.Ge(p, 0, evaluate=False), p <= 1])
    '0 \\leq p \\leq 1'
    """
    remaining = list(conditions)
    shown = []
    for condition in list(conditions):
        if condition not in remaining:
            continue
        remaining.remove(condition)
        if _bounds_below(condition):
            symbol = condition.lhs
            other = next(
                (c for c in remaining if c.lhs == symbol and c.rel_op in ("<", "<=")), None
            )
            below = r"\leq" if condition.rel_op == ">=" else "<"
            if other is not None:
                remaining.remove(other)
                above = r"\leq" if other.rel_op == "<=" else "<"
                shown.append(f"0 {below} {latex(symbol)} {above} {latex(other.rhs)}")
                continue
        shown.append(latex(condition))
    return r",\; ".join(shown)


def _bounds_below(condition: Relational) -> bool:
    return bool(condition.rel_op in (">", ">=") and condition.lhs.is_Symbol and condition.rhs == 0)
