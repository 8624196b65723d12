"""Regimes: a parameter domain split into parts, with a closed form of the equilibrium on each.

Conditions are closed (<=, >=), so on a boundary the formulas of all adjacent regimes hold. That
the regimes cover the domain, that they meet in boundaries only, and what is claimed of the
formulas is proved by `qtheory.inequality.prove`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import sympy as sp
from sympy.core.relational import Relational

from qtheory.domain import Domain
from qtheory.errors import DomainError
from qtheory.formulas import relation
from qtheory.games.algebraic import algebraic
from qtheory.inequality import Open, Proved, Refuted, prove

_NEGATED = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}
_OPEN = {"<=": "<", ">=": ">", "<": "<", ">": ">"}


@dataclass(frozen=True)
class Claim:
    """A statement in words, and the relation on a domain that says it."""

    statement: str
    claim: Relational
    domain: Domain

    def __reduce__(self) -> tuple[Any, ...]:
        return _claim, (self.statement, _sides(self.claim), self.domain)

    def verdict(self) -> Proved | Refuted | Open:
        """What `prove` finds."""
        return prove(self.claim, self.domain)


@dataclass(frozen=True)
class Regime:
    """A part of the parameter domain with closed forms, and what shows that they are right."""

    name: str
    conditions: tuple[Relational, ...]
    values: Mapping[str, sp.Expr]
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        kept = tuple(c for c in self.conditions if c not in (True, sp.true))
        for condition in kept:
            if not isinstance(condition, Relational) or condition.rel_op not in _NEGATED:
                raise DomainError(f"not a condition of a regime: {condition}")
        object.__setattr__(self, "conditions", kept)

    def __reduce__(self) -> tuple[Any, ...]:
        sides = [_sides(condition) for condition in self.conditions]
        return _regime, (self.name, sides, dict(self.values), self.claims)


# SymPy evaluates a relation that it unpickles, so the sides travel apart
Sides = tuple[sp.Expr, str, sp.Expr]


def _sides(condition: Relational) -> Sides:
    return condition.lhs, condition.rel_op, condition.rhs


def _claim(statement: str, sides: Sides, domain: Domain) -> Claim:
    return Claim(statement, relation(*sides), domain)


def _regime(
    name: str, sides: list[Sides], values: Mapping[str, sp.Expr], claims: tuple[Claim, ...]
) -> Regime:
    return Regime(name, tuple(relation(*part) for part in sides), values, claims)


@dataclass(frozen=True)
class Regimes:
    r"""The regimes of a domain.

    >>> c = sp.Symbol("c", positive=True)
    >>> low = Regime("cheap", (sp.Le(c, 1),), {"q": 1 - c/2})
    >>> high = Regime("dear", (sp.Ge(c, 1),), {"q": sp.Rational(1, 2)})
    >>> both = Regimes(Domain(symbols=(c,)), (low, high))
    >>> both.at({"c": "1/2"})
    {'cheap': {'q': 3/4}}
    >>> print(both.latex("q"))
    q = \begin{cases} 1 - \frac{c}{2} & c \leq 1 \\ \frac{1}{2} & c \geq 1 \end{cases}
    >>> all(both.verify().values())
    True
    """

    domain: Domain
    regimes: tuple[Regime, ...]

    def __getitem__(self, name: str) -> Regime:
        for regime in self.regimes:
            if regime.name == name:
                return regime
        known = ", ".join(regime.name for regime in self.regimes)
        raise DomainError(f"unknown regime {name}; known: {known}")

    def at(self, point: Mapping[Any, Any]) -> dict[str, dict[str, sp.Expr]]:
        """The exact values at a rational point, by regime; on a boundary, of all that meet there.

        Raises `DomainError` or `UnstableError` outside the domain.
        """
        place = {symbol.name: value for symbol, value in self.domain.require(point).items()}
        return {
            regime.name: {
                name: algebraic(value, place).expression for name, value in regime.values.items()
            }
            for regime in self.regimes
            if all(_holds(condition, place) for condition in regime.conditions)
        }

    def latex(self, *names: str) -> str:
        """The values of those names (by default all) as ``cases``, with the conditions."""
        from qtheory.show.latex import latex, symbol_latex

        wanted = names or tuple(dict.fromkeys(n for r in self.regimes for n in r.values))
        left = ", ".join(map(symbol_latex, wanted))
        lines = []
        for regime in self.regimes:
            shown = [regime.values.get(name) for name in wanted]
            formulas = r",\; ".join("-" if value is None else latex(value) for value in shown)
            conditions = r",\; ".join(map(latex, regime.conditions))
            lines.append(f"{formulas} & {conditions}")
        body = r" \\ ".join(lines)
        left = left if len(wanted) == 1 else rf"\left({left}\right)"
        return rf"{left} = \begin{{cases}} {body} \end{{cases}}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __str__(self) -> str:
        return "\n".join(
            f"{regime.name}: "
            + ", ".join(f"{name} = {value}" for name, value in regime.values.items())
            + " where "
            + ", ".join(map(str, regime.conditions))
            for regime in self.regimes
        )

    def verify(self) -> dict[str, Proved | Refuted | Open]:
        """The verdicts on covering, on overlaps, and on the claims of every regime."""
        found: dict[str, Proved | Refuted | Open] = {}
        for number, verdict in enumerate(self.covers(), 1):
            found[f"the regimes cover the domain ({number})"] = verdict
        for first, second in combinations(self.regimes, 2):
            inside = [_opened(c) for c in (*first.conditions, *second.conditions)]
            label = f"{first.name} and {second.name} meet in boundaries only"
            found[label] = no_point(self.domain, inside)
        for regime in self.regimes:
            for claim in regime.claims:
                found[f"{regime.name}: {claim.statement}"] = claim.verdict()
        return found

    def covers(self) -> Iterator[Proved | Refuted | Open]:
        """That no point fails a condition of every regime, one verdict for each way to fail."""
        for failing in product(*(regime.conditions for regime in self.regimes)):
            yield no_point(self.domain, [_negated(condition) for condition in failing])


def _holds(condition: Relational, place: Mapping[str, Fraction]) -> bool:
    """Whether a condition holds at a point, decided exactly also where roots occur."""
    sign = (algebraic(condition.lhs, place) - algebraic(condition.rhs, place)).sign
    return {"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[condition.rel_op]


def _negated(condition: Relational) -> Relational:
    return relation(condition.lhs, _NEGATED[condition.rel_op], condition.rhs)


def _exclude(first: Relational, second: Relational) -> bool:
    """Whether two conditions, read as text, say that one side is less and is greater."""
    if {first.rel_op[0], second.rel_op[0]} != {"<", ">"}:
        return False
    strict = len(first.rel_op) == 1 or len(second.rel_op) == 1
    return strict and (first.lhs, first.rhs) == (second.lhs, second.rhs)


def _opened(condition: Relational) -> Relational:
    return relation(condition.lhs, _OPEN[condition.rel_op], condition.rhs)


def no_point(domain: Domain, conditions: Iterable[Relational]) -> Proved | Refuted | Open:
    """A verdict that no point of the domain satisfies all the conditions.

    The claim is that one of them fails where the others hold.

    >>> x = sp.Symbol("x", positive=True)
    >>> print(no_point(Domain(symbols=(x,)), [x < 1, x > 2]))
    proved: x <= 2
    """
    stated = list(dict.fromkeys(conditions))
    for first, second in combinations(stated, 2):
        if _exclude(first, second):
            stated = [first, second]
            break
    verdict: Proved | Refuted | Open | None = None
    for last in reversed(stated):
        others = [condition for condition in stated if condition != last]
        found = prove(_negated(last), domain.where(*others))
        if isinstance(found, (Proved, Refuted)):
            return found
        verdict = verdict or found
    if verdict is None:
        raise DomainError("that no point exists needs at least one condition")
    return verdict
