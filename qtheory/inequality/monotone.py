"""Monotonicity and convexity as relations between exact derivatives and zero.

They say what they name where the domain's section along the variable is an interval, which holds
whenever the conditions are linear in that variable.
"""

from __future__ import annotations

import sympy as sp

from qtheory.formulas import relation


def nondecreasing(expression: sp.Expr, variable: sp.Symbol) -> sp.Rel:
    """``d expression / d variable >= 0``.

    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> nondecreasing(lam/mu, lam)
    1/mu >= 0
    """
    return _derivative(expression, variable, ">=")


def nonincreasing(expression: sp.Expr, variable: sp.Symbol) -> sp.Rel:
    """``d expression / d variable <= 0``."""
    return _derivative(expression, variable, "<=")


def increasing(expression: sp.Expr, variable: sp.Symbol) -> sp.Rel:
    """``d expression / d variable > 0``."""
    return _derivative(expression, variable, ">")


def decreasing(expression: sp.Expr, variable: sp.Symbol) -> sp.Rel:
    """``d expression / d variable < 0``."""
    return _derivative(expression, variable, "<")


def convex(expression: sp.Expr, variable: sp.Symbol) -> sp.Rel:
    """``d^2 expression / d variable^2 > 0``: strictly convex."""
    return _derivative(expression, variable, ">", 2)


def concave(expression: sp.Expr, variable: sp.Symbol) -> sp.Rel:
    """``d^2 expression / d variable^2 < 0``: strictly concave."""
    return _derivative(expression, variable, "<", 2)


def _derivative(expression: sp.Expr, variable: sp.Symbol, sign: str, order: int = 1) -> sp.Rel:
    return relation(sp.diff(expression, variable, order), sign, sp.Integer(0))
