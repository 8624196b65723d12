"""The bound ladder: closed-form and numeric bounds on a stationary mean, with their proofs.

V ranges over polynomials plus L boundary layers. At a rational point the best bound is an exact
rational number; for all parameters, the tight inequalities of the optimum at a point are solved
over QQ(parameters), and the closed form is proved wherever the other inequalities hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, irreducible_factors
from qtheory.balls import evaluate
from qtheory.domain import Domain
from qtheory.drift.certificate import DriftCertificate, SignBook, Undecided, Weighted, certify
from qtheory.drift.cost import as_terms
from qtheory.drift.program import (
    Direction,
    Unbounded,
    at_point,
    program,
    solve,
)
from qtheory.drift.stability import NoBoundError, moment_certificate, sample_points
from qtheory.drift.terms import drift_table, ladder
from qtheory.drift.vertex import symbolic_solution
from qtheory.errors import QTheoryError
from qtheory.formulas import relation
from qtheory.inequality.signs import find_sign
from qtheory.model import Model, Transition


class NotShownError(QTheoryError):
    """A test function that is not seen to prove a bound."""


@dataclass(frozen=True)
class Bounds:
    """A lower and an upper bound on E[cost], each with its certificate (None: not found)."""

    lower: DriftCertificate | None
    upper: DriftCertificate | None
    layers: int
    optimal: tuple[bool, bool]
    """Whether exact multipliers prove that this ladder has no better lower, upper bound."""

    def __str__(self) -> str:
        low = "-oo" if self.lower is None else str(self.lower.bound)
        high = "oo" if self.upper is None else str(self.upper.bound)
        cost = next(c.cost for c in (self.upper, self.lower) if c is not None)
        return f"{low} <= E[{cost}] <= {high}"


@dataclass(frozen=True)
class ClosedForms:
    """Bounds on E[cost] as formulas in the parameters, each proved on its part of the domain.

    A formula whose certificate's domain is the model's own holds everywhere; the others are
    better where they hold. In each direction they stand in the order in which they were the best
    of the ladder at most sample points.
    """

    lower: tuple[DriftCertificate, ...]
    upper: tuple[DriftCertificate, ...]
    layers: int
    everywhere: Domain

    def best(self, direction: Direction, at: Mapping[Any, Any]) -> DriftCertificate:
        """The best of the formulas that hold at a point.

        Raises `NoBoundError` where none of them holds.
        """
        point = self.everywhere.require(at)
        certificates = self.upper if direction == "<=" else self.lower
        held = [c for c in certificates if c.domain.contains(point)]
        if not held:
            raise NoBoundError("none of the formulas holds at this point")
        sign = 1 if direction == "<=" else -1
        return min(held, key=lambda c: sign * evaluate(c.bound, point).lower)

    def boundaries(self, direction: Direction) -> dict[tuple[int, int], tuple[sp.Expr, ...]]:
        """Where one formula takes over from another: polynomials that change sign there.

        For each pair of formulas, the factors of their difference that are not seen to keep one
        sign on the domain. A pair without any has a formula that is better everywhere.

        >>> from qtheory.systems import shorter_queue as sq
        >>> found = bounds(sq.model(), 2*sq.m + sq.d, layers=0)
        >>> found.boundaries("<=")[0, 2]
        (lambda*p - 2*lambda + 2*mu,)
        """
        ring = self.everywhere.ring
        values = [ring.ratio(c.bound) for c in (self.upper if direction == "<=" else self.lower)]
        found = {}
        for j, second in enumerate(values):
            for i, first in enumerate(values[:j]):
                factors = irreducible_factors((first - second).num)[1]
                found[i, j] = tuple(
                    ring.expression(factor)
                    for factor, _ in factors
                    if find_sign(self.everywhere.region, factor, False, BOUNDARY_CELLS) is None
                )
        return found

    def __str__(self) -> str:
        lines = []
        for certificate in (*self.lower, *self.upper):
            extra = [
                c for c in certificate.domain.conditions if c not in self.everywhere.conditions
            ]
            where = f"  if {', '.join(map(str, extra))}" if extra else ""
            lines.append(f"{certificate}{where}")
        return "\n".join(lines)


def bounds(
    model: Model,
    cost: Any,
    layers: int = 0,
    at: Mapping[Any, Any] | None = None,
    points: int = 24,
) -> Bounds | ClosedForms:
    """Bounds on the stationary mean of a cost by the ladder: exact at a point, else closed forms.

    >>> from qtheory.systems import shorter_queue as sq
    >>> at = {"lam": 1, "mu": 1, "p": 0}
    >>> print(bounds(sq.model(), 2*sq.m + sq.d, layers=1, at=at))
    27/19 <= E[d + 2*m] <= 23/16

    V has a degree one more than the cost. For closed forms the ladder is solved at a number of
    sample `points` of the domain; each optimum found gives a formula, which is then proved on
    the whole domain or on the part where its own inequalities hold.

    Raises `UnstableError` or `DomainError` for a point outside the domain, and `NoBoundError`
    where the ladder has no bound or the moments are not seen to be finite.
    """
    if at is not None:
        return _bounds_at(with_numbers(model, at), cost, layers)
    found = list(each_bound(model, cost, layers, points))
    return ClosedForms(
        tuple(c for c in found if c.direction == ">="),
        tuple(c for c in found if c.direction == "<="),
        layers,
        model.domain,
    )


def each_bound(
    model: Model, cost: Any, layers: int = 0, points: int = 24
) -> Iterator[DriftCertificate]:
    """The closed forms of `bounds` one after the other, as they are found."""
    ladders = _Ladders(model, cost, layers)
    sample = sample_points(model.domain, points)
    for direction in DIRECTIONS:
        yield from ladders.formulas(direction, sample)


def bound_by(
    model: Model, cost: Any, function: Any, bound: Any, direction: Direction = "<="
) -> DriftCertificate:
    """The bound that a given test function V proves: cost + QV <= bound at every state.

    >>> from qtheory.systems import shorter_queue as sq
    >>> m, d, lam, mu = sq.m, sq.d, sq.lam, sq.mu
    >>> V = (m**2 + (m + d)**2 + 2*m + d)/(2*mu - lam)
    >>> print(bound_by(sq.model(), 2*m + d, V, 2*lam/(2*mu - lam)))
    E[d + 2*m] <= 2*lambda/(-lambda + 2*mu)

    Raises `NotShownError` where an inequality is not proved on the domain.
    """
    ring = Ring(model.parameters)
    terms, weighted = as_terms(model, cost, ring), as_terms(model, function, ring)
    table = drift_table(
        model, [t for t, _ in terms], [w for _, w in terms], [t for t, _ in weighted]
    )
    exact_bound = ring.ratio(bound)
    try:
        # an upper bound by a V that is bounded below needs nothing else
        if direction == "<=":
            return certify(table, terms, weighted, exact_bound, direction, model.domain)
    except Undecided:
        pass
    lemma = moment_certificate(model, cost=cost).data
    try:
        return certify(table, terms, weighted, exact_bound, direction, model.domain, lemma)
    except Undecided as undecided:
        value = ring.factored(undecided.value)
        raise NotShownError(f"{undecided}: {value} is not seen to be nonnegative") from None


def _bounds_at(model: Model, cost: Any, layers: int) -> Bounds:
    ladders = _Ladders(model, cost, layers)
    found: dict[Direction, DriftCertificate] = {}
    optimal: dict[Direction, bool] = {}
    for direction in DIRECTIONS:
        try:
            vertex = solve(at_point(ladders.programs[direction], {}), direction)
        except Unbounded:
            continue
        ring = ladders.table.ring
        values = zip(ladders.table.terms, vertex.values, strict=False)
        function = tuple((term, ring.number(value)) for term, value in values)
        bound = ring.number(vertex.bound)
        found[direction] = ladders.certified(function, bound, direction, model.domain)
        optimal[direction] = vertex.optimal
    if not found:
        raise NoBoundError(f"no test function with {layers} layers bounds {cost}")
    return Bounds(
        found.get(">="),
        found.get("<="),
        layers,
        (optimal.get(">=", False), optimal.get("<=", False)),
    )


BOUNDARY_CELLS = 40
"""Cells spent on seeing that a factor of a difference keeps its sign."""

DIRECTIONS: tuple[Direction, Direction] = (">=", "<=")


class _Ladders:
    """The programs of one model and cost, and the lemma that its moments are finite."""

    def __init__(self, model: Model, cost: Any, layers: int) -> None:
        ring = Ring(model.parameters)
        self.cost = as_terms(model, cost, ring)
        if not self.cost:
            raise NoBoundError("the cost is zero")
        degree = 1 + max(sum(term.powers) for term, _ in self.cost)
        self.table = drift_table(
            model,
            [term for term, _ in self.cost],
            [weight for _, weight in self.cost],
            ladder(model, degree, layers),
        )
        self.moments = moment_certificate(model, cost=cost)
        self.programs = {d: program(self.table, d) for d in DIRECTIONS}

    def certified(
        self, function: Weighted, bound: Ratio, direction: Direction, domain: Domain
    ) -> DriftCertificate:
        return certify(self.table, self.cost, function, bound, direction, domain, self.moments.data)

    def formulas(
        self, direction: Direction, sample: Sequence[Mapping[str, Fraction]]
    ) -> Iterator[DriftCertificate]:
        """The closed forms that are optimal at the sample points, most frequent first."""
        found: dict[str, tuple[Weighted, Ratio]] = {}
        times: dict[str, int] = {}
        posed = self.programs[direction]
        for point in sample:
            try:
                vertex = solve(at_point(posed, point), direction)
                function, bound = symbolic_solution(posed, vertex)
            except Unbounded:
                continue
            key = str((bound.num, bound.den))
            found.setdefault(key, (function, bound))
            times[key] = times.get(key, 0) + 1
        for key in sorted(found, key=lambda key: -times[key]):
            certificate = self._somewhere(*found[key], direction)
            if certificate is not None:
                yield certificate

    def _somewhere(
        self, function: Weighted, bound: Ratio, direction: Direction
    ) -> DriftCertificate | None:
        """The formula on the whole domain, else where its inequalities hold, else None."""
        domain = self.table.model.domain
        conditions = []
        book = SignBook(domain)
        for value in self._slacks(function, bound, direction):
            needed = book.condition(value)
            if needed is not None and needed not in conditions:
                conditions.append(needed)
        ring = domain.ring
        where = [
            relation(ring.expression(poly), ">" if strict else ">=", sp.Integer(0))
            for poly, strict in conditions
        ]
        try:
            return self.certified(
                function, bound, direction, domain.where(*where) if where else domain
            )
        except Undecided:
            return None

    def _slacks(self, function: Weighted, bound: Ratio, direction: Direction) -> list[Ratio]:
        """What has to be nonnegative: the left side minus the right side of each row."""
        weights = dict(function)
        ring = self.table.ring
        found = []
        for row in self.programs[direction].rows:
            total = -row.right + ring.integer(row.on_bound) * bound
            for j, coefficient in row.coefficients.items():
                total = total + coefficient * weights.get(self.table.terms[j], ring.zero)
            if not total.num.is_zero():
                found.append(total)
        return found


def with_numbers(model: Model, at: Mapping[Any, Any]) -> Model:
    """The model at a point of its domain: its rates are numbers."""
    values = model.domain.require(at)
    numbers = {s: sp.Rational(*v.as_integer_ratio()) for s, v in values.items()}
    return Model(
        model.state,
        Domain(),
        [Transition(t.rate.subs(numbers), t.jump, t.when) for t in model.transitions],
        model.time,
        model.ranges,
        model.name,
    )
