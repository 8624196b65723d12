"""Stationary moments as atoms of SymPy formulas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp
from sympy.core.relational import Relational


class Moment(sp.Expr):
    """The stationary expectation of a function of the state on an event.

    It is an atom of SymPy formulas: substitutions do not reach the state variables inside.

    >>> d = sp.Symbol("d", integer=True, nonnegative=True)
    >>> Moment(d**2, [sp.Eq(d, 0)]), Moment(1, [d >= 2])
    (E[d**2; d = 0], P(d >= 2))
    """

    is_commutative = True
    is_real = True

    def __new__(cls, function: Any, event: Iterable[Relational] = ()) -> Moment:
        return super().__new__(cls, sp.sympify(function), sp.Tuple(*event))

    @property
    def function(self) -> sp.Expr:
        """The function of the state, without the event."""
        return self.args[0]

    @property
    def event(self) -> tuple[Relational, ...]:
        """The comparisons that must hold."""
        return tuple(self.args[1])

    @property
    def integrand(self) -> sp.Expr:
        """The function times the indicator of the event."""
        if not self.event:
            return self.function
        return sp.Piecewise((self.function, sp.And(*self.event)), (0, True))

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set()

    def _eval_subs(self, old: Any, new: Any) -> Moment:
        return self

    def _sympystr(self, printer: Any) -> str:
        event = ", ".join(
            f"{printer.doprint(c.lhs)} {'=' if isinstance(c, sp.Eq) else c.rel_op} {c.rhs}"
            for c in self.event
        )
        if self.event and self.function == 1:
            return f"P({event})"
        return f"E[{printer.doprint(self.function)}{'; ' if event else ''}{event}]"

    def _latex(self, printer: Any) -> str:
        event = r",\, ".join(map(printer.doprint, self.event))
        if self.event and self.function == 1:
            return rf"\mathbb{{P}}\left({event}\right)"
        separator = r";\, " if event else ""
        return rf"\mathbb{{E}}\left[{printer.doprint(self.function)}{separator}{event}\right]"
