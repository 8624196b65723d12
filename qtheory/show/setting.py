"""What a proof works with: the variables, the conditions, and the names of long polynomials."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring
from qtheory.chart import Constraint
from qtheory.formulas import formula
from qtheory.show.latex import symbol_latex
from qtheory.show.polynomials import polynomial_latex


class Functions:
    """Rational functions for `read`, with some variables replaced and some square roots named."""

    def __init__(self, ring: Ring) -> None:
        self.ring, self.number = ring, ring.number
        self.values: dict[str, Ratio] = {}
        self.roots: list[Ratio] = []

    def symbol(self, name: str) -> Ratio:
        return self.values.get(name) or self.ring.symbol(name)

    def sqrt(self, value: Ratio) -> Ratio:
        return next(root for root in self.roots if root * root == value)


@dataclass(frozen=True)
class Setting:
    """The variables and conditions of a proof, and the names of its long polynomials."""

    ring: Ring
    constraints: tuple[Constraint, ...]
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [symbol_latex(name) for name in self.ring.names]

    def poly(self, text: str) -> fmpz_mpoly:
        return self.ring.polynomial(formula(text, self.ring.symbols))

    def show(self, poly: fmpz_mpoly) -> str:
        return self.labels.get(str(poly)) or polynomial_latex(poly, self.names)

    def where(self, poly: fmpz_mpoly) -> Setting:
        return replace(self, constraints=(*self.constraints, Constraint(poly, ">=")))

    def at_one(self, index: int) -> Setting:
        """The conditions with one variable at 1."""
        smaller = tuple(Constraint(self.at_one_of(c.poly, index), c.kind) for c in self.constraints)
        return Setting(self.ring, smaller)

    def at_one_of(self, poly: fmpz_mpoly, index: int) -> fmpz_mpoly:
        return poly.subs({self.ring.names[index]: 1})

    def stated(self, poly: fmpz_mpoly, strict: bool) -> int | None:
        """The first condition that says the sign."""
        wanted = (">",) if strict else (">", ">=")
        for index, (stated, kind) in enumerate(self.constraints):
            ours, theirs = abs(poly.leading_coefficient()), abs(stated.leading_coefficient())
            if kind in wanted and poly * theirs == stated * ours:
                return index
        return None

    def evident(self, poly: fmpz_mpoly, strict: bool) -> bool:
        """Whether the sign shows in every term."""
        known = {str(poly): kind for poly, kind in self.constraints}
        kinds = [known.get(str(generator)) for generator in self.ring.generators]
        terms = [[k for k, e in zip(kinds, es, strict=True) if e] for es, _ in poly.terms()]
        nonnegative = all(c > 0 for _, c in poly.terms()) and all(
            kind in (">", ">=") for term in terms for kind in term
        )
        return nonnegative and (not strict or any(set(term) <= {">"} for term in terms))
