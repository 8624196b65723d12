"""The drift of a test function: QV in continuous time, E[V(next)] - V in discrete time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.core.relational import Relational

from qtheory.errors import ModelError
from qtheory.formulas import text_of
from qtheory.model import Interval, Model, Region
from qtheory.model.guards import guard_intervals, guard_relations
from qtheory.model.regions import split


@dataclass(frozen=True)
class Drift:
    """The drift of a test function, one polynomial in the state for each region of the lattice."""

    model: Model
    function: sp.Expr
    cases: tuple[tuple[Region, sp.Expr], ...]

    def at(self, state: Sequence[int] | int) -> sp.Expr:
        """The drift at one state.

        Raises `ModelError` for a state outside the lattice.
        """
        place = (state,) if isinstance(state, int) else tuple(state)
        for region, value in self.cases:
            if region.contains(place):
                at = dict(zip(self.model.state, place, strict=True))
                return sp.factor(value.subs(at, simultaneous=True))
        raise ModelError(f"state {state} is not in the lattice")

    def conditions(self, region: Region) -> tuple[Relational, ...]:
        """The comparisons that single out a region."""
        return guard_relations(region.intervals, self.model.ranges, self.model.state)

    def __str__(self) -> str:
        rows = [
            (", ".join(map(text_of, self.conditions(region))) or "everywhere", text_of(value))
            for region, value in self.cases
        ]
        width = max(len(where) for where, _ in rows)
        return "\n".join(f"{where:<{width}}  {value}" for where, value in rows)

    def latex(self) -> str:
        """The drift as LaTeX cases."""
        from qtheory.show.latex import latex

        rows = []
        for region, value in self.cases:
            where = r",\ ".join(map(latex, self.conditions(region)))
            rows.append(rf"{latex(value)} & {where} \\")
        return "\n".join([r"\begin{cases}", *rows, r"\end{cases}"])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def drift(model: Model, function: Any) -> Drift:
    """The drift of a piecewise polynomial in the state, on every region of the lattice.

        QV(x) = sum of rate(x) (V(x + jump) - V(x)) over the transitions possible at x,

    which in discrete time is E[V(next)] - V, the rates being probabilities. V may hold
    ``Piecewise``, ``KroneckerDelta(x, c)`` and ``Abs(x)`` whose conditions compare one state
    variable with an integer.

    >>> from qtheory import Domain, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> print(drift(queue, n**2))
    n == 0  lam
    n >= 1  2*lam*n + lam - 2*mu*n + mu

    Raises `ModelError` for a condition of another kind.
    """
    function = _with_conditions(sp.sympify(function))
    tests = _Conditions(model, function)
    cuts = [
        tuple(part.shifted(-step) for part, step in zip(box, jump, strict=True))
        for box in tests.boxes.values()
        for jump in {(0,) * len(model.state), *(t.jump for t in model.transitions)}
    ]
    regions = split(model.ranges, model.guards, model.transitions, cuts)
    cases = tuple((region, tests.drift_on(region)) for region in regions)
    return Drift(model, function, cases)


def _with_conditions(function: sp.Expr) -> sp.Expr:
    """Indicators and absolute values as ``Piecewise``."""
    function = function.replace(
        sp.KroneckerDelta, lambda x, c: sp.Piecewise((1, sp.Eq(x, c)), (0, True))
    )
    return function.replace(sp.Abs, lambda x: sp.Piecewise((x, x >= 0), (-x, True)))


@dataclass(frozen=True)
class _Conditions:
    """The comparisons in a test function, and its values where they are decided."""

    model: Model
    function: sp.Expr

    @cached_property
    def boxes(self) -> dict[Relational, tuple[Interval, ...]]:
        """The states at which each comparison holds."""
        found = sorted(self.function.atoms(Relational), key=str)
        return {relation: guard_intervals(relation, self.model.state) for relation in found}

    def value(self, intervals: Sequence[Interval], jump: Sequence[int]) -> sp.Expr:
        """V(x + jump) on a region where every comparison at x + jump is decided."""
        reached = [part.shifted(step) for part, step in zip(intervals, jump, strict=True)]
        decided = {
            relation: sp.true
            if all(part.covers(r) for part, r in zip(box, reached, strict=True))
            else sp.false
            for relation, box in self.boxes.items()
        }
        state = self.model.state
        moved = {
            x: sp.Integer(part.low) + step
            if part.low == part.high and part.low is not None
            else x + step
            for x, part, step in zip(state, intervals, jump, strict=True)
        }
        return self.function.xreplace(decided).subs(moved, simultaneous=True)

    def drift_on(self, region: Region) -> sp.Expr:
        here = self.value(region.intervals, (0,) * len(self.model.state))
        fixed = {
            x: part.low
            for x, part in zip(self.model.state, region.intervals, strict=True)
            if part.low == part.high
        }
        return sp.expand(
            sp.Add(
                *(
                    t.rate.subs(fixed) * (self.value(region.intervals, t.jump) - here)
                    for t in region.transitions
                )
            )
        )
