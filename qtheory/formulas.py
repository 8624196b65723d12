"""Formulas between text and SymPy: reading them, stating relations, printing them as typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.printing.str import StrPrinter

from qtheory.errors import ExpressionError
from qtheory.text import parse_expression, parse_relations, symbol_name, text_name


class _Symbolic:
    """The algebra of SymPy expressions, with real symbols."""

    def __init__(self, known: Mapping[str, sp.Symbol]) -> None:
        self.known = known

    def number(self, value: Fraction) -> sp.Expr:
        return sp.Rational(value.numerator, value.denominator)

    def symbol(self, name: str) -> sp.Expr:
        own = name if name in self.known else symbol_name(name)
        return self.known.get(own) or sp.Symbol(own, real=True)

    def sqrt(self, value: sp.Expr) -> sp.Expr:
        return sp.sqrt(value)


def formula(text: str, symbols: Iterable[sp.Symbol] = ()) -> sp.Expr:
    """The SymPy expression that a text states; known symbols keep their assumptions.

    >>> formula("2*lam/(2*mu - lam)")
    2*lambda/(-lambda + 2*mu)
    """
    value = parse_expression(text, _Symbolic({s.name: s for s in symbols}))
    if value.has(sp.zoo, sp.nan, sp.oo):
        raise ExpressionError(f"division by zero in {text!r}")
    return value


_RELATIONS = {"<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge, "==": sp.Eq, "!=": sp.Ne}


def relation(left: Any, sign: str, right: Any) -> sp.Rel:
    """The relation as it stands: SymPy does not evaluate it."""
    return _RELATIONS[sign](left, right, evaluate=False)


def relations(text: str, symbols: Iterable[sp.Symbol] = ()) -> list[sp.Rel]:
    """The SymPy relations that a text states (unevaluated, so that none is lost)."""
    algebra = _Symbolic({s.name: s for s in symbols})
    found = []
    for left, sign, right in parse_relations(text, algebra):
        if (left + right).has(sp.zoo, sp.nan, sp.oo):
            raise ExpressionError(f"division by zero in {text!r}")
        found.append(relation(left, sign, right))
    return found


def positive_first(terms: Sequence[sp.Expr]) -> list[sp.Expr]:
    """The terms of a sum, one without a minus in front: 2 mu - lam rather than -lam + 2 mu."""
    lead = next((t for t in terms if not t.could_extract_minus_sign()), None)
    return [*([] if lead is None else [lead]), *(t for t in terms if t is not lead)]


class _TextPrinter(StrPrinter):
    """Prints a formula so that `qtheory.text` reads it back."""

    def _print_Symbol(self, expr: sp.Symbol) -> str:
        return text_name(expr.name)

    def _as_ordered_terms(self, expr: sp.Add, order: str | None = None) -> list[sp.Expr]:
        return positive_first(super()._as_ordered_terms(expr, order))


def text_of(expression: Any) -> str:
    """A formula or relation as text of the library's grammar.

    >>> text_of(formula("(lam + ca)^2/mu"))
    '(ca + lam)**2/mu'
    """
    if isinstance(expression, sp.core.relational.Relational):
        return f"{text_of(expression.lhs)} {expression.rel_op} {text_of(expression.rhs)}"
    return _TextPrinter({"order": "lex"}).doprint(expression)
