"""The bound ladder: closed-form and numeric bounds on a stationary mean, with their proofs.

V ranges over polynomials plus L boundary layers. At a rational point the best bound is an exact
rational number; for all parameters, the tight inequalities of the optimum at a point are solved
over QQ(parameters), and the closed form is proved wherever the other inequalities hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, relation
from qtheory.check import check, digest
from qtheory.domain import Domain
from qtheory.drift.certificate import DriftCertificate, SignBook, Undecided, Weighted, certify
from qtheory.drift.cost import as_terms
from qtheory.drift.program import (
    Direction,
    Program,
    Unbounded,
    Vertex,
    at_point,
    program,
    solve,
)
from qtheory.drift.terms import Term, drift_table, ladder
from qtheory.errors import CertificateError, QTheoryError
from qtheory.model import Interval, Model, Transition
from qtheory.model.guards import INTEGERS


class NoBoundError(QTheoryError):
    """No test function of the ladder bounds the cost."""


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
    sample = _points(model.domain, points)
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
        where = [relation(ring.expression(poly), ">=", sp.Integer(0)) for poly in conditions]
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


def moment_certificate(model: Model, layers: int = 1, cost: Any = None) -> DriftCertificate:
    """A bound on a linear cost by a quadratic W that shows that all moments are finite.

    f + QW <= c, where f grows in every coordinate and W has positive squares: with bounded jumps
    and rates all stationary moments are finite, for every parameter of the domain. The cost is
    the sum of the coordinates' absolute values, or the given linear cost.

    Raises `NoBoundError` where none is found, as for an unstable model.
    """
    ring = Ring(model.parameters)
    n = len(model.state)
    choices = [as_terms(model, cost, ring)] if cost is not None else []
    choices += [_absolute_values(model, ring, weights) for weights in ([1] * n, range(n, 0, -1))]
    for extra in range(layers + 1):
        for terms in choices:
            table = drift_table(
                model, [t for t, _ in terms], [w for _, w in terms], ladder(model, 2, extra)
            )
            posed = program(table, "<=", positive=True)
            for point in _points(model.domain):
                try:
                    vertex = solve(at_point(posed, point), "<=")
                    function, bound = symbolic_solution(posed, vertex)
                    found = certify(table, terms, function, bound, "<=", model.domain)
                    check(with_moments_of_its_own(found))
                    return found
                except (Unbounded, Undecided, CertificateError):
                    continue
    raise NoBoundError(
        f"no quadratic test function with {layers} layers shows that the moments are finite"
    )


def with_moments_of_its_own(certificate: DriftCertificate) -> dict[str, Any]:
    """The certificate with itself as the lemma that its moments are finite."""
    content = {**certificate.data, "moments": certificate.data}
    return {**content, "digest": digest(content)}


def _points(domain: Domain, count: int = 6) -> list[dict[str, Fraction]]:
    if not domain.symbols:
        return [{}]
    return [
        {symbol.name: Fraction(int(v.p), int(v.q)) for symbol, v in point.items()}
        for point in domain.sample(count, seed=5)
    ]


def _absolute_values(model: Model, ring: Ring, weights: Iterable[int]) -> Weighted:
    """The sum of weights[i] |x_i| as terms; bounded coordinates do not matter."""
    found = []
    for i, ((low, high), weight) in enumerate(zip(model.ranges, weights, strict=True)):
        powers = tuple(int(j == i) for j in range(len(model.ranges)))
        for start, end, sign in ((0, None, 1), (None, -1, -1)):
            if (low if sign < 0 else high) is None:
                box = [INTEGERS] * len(model.ranges)
                if low is None and high is None:
                    box[i] = Interval(start, end)
                found.append((Term(powers, tuple(box)), ring.integer(sign * weight)))
    return tuple(found)


def symbolic_solution(posed: Program, vertex: Vertex) -> tuple[Weighted, Ratio]:
    """V and the bound over QQ(parameters) from the tight rows of a vertex.

    Raises `Unbounded` when the rows are dependent as rational functions.
    """
    ring = posed.table.ring
    columns = [j for j in range(posed.width) if j not in vertex.zero]
    rows: list[list[Ratio]] = []
    for k in vertex.tight:
        row = posed.rows[k]
        entries = dict(row.coefficients)
        if row.on_bound:
            entries[posed.width - 1] = ring.integer(row.on_bound)
        rows.append([*(entries.get(j, ring.zero) for j in columns), row.right])
    values = _solve_square(rows, ring)
    solution = dict(zip(columns, values, strict=True))
    function = tuple(
        (term, solution[j]) for j, term in enumerate(posed.table.terms) if j in solution
    )
    return function, solution.get(posed.width - 1, ring.zero)


def _solve_square(rows: list[list[Ratio]], ring: Ring) -> list[Ratio]:
    """Gauss-Jordan elimination over QQ(parameters), sparse rows and short pivots first."""
    n = len(rows)
    order: list[int] = []
    left = list(range(n))
    for _ in range(n):
        candidates = [
            (sum(not e.num.is_zero() for e in rows[i]), len(rows[i][j].num), i, j)
            for i in left
            for j in range(n)
            if j not in order and not rows[i][j].num.is_zero()
        ]
        if not candidates:
            raise Unbounded("the tight rows are dependent")
        _, _, i, j = min(candidates)
        left.remove(i)
        pivot = rows[i][j]
        rows[i] = [e / pivot if not e.num.is_zero() else e for e in rows[i]]
        for k in range(n):
            factor = rows[k][j]
            if k != i and not factor.num.is_zero():
                rows[k] = [
                    e if p.num.is_zero() else e - factor * p
                    for e, p in zip(rows[k], rows[i], strict=True)
                ]
        order.append(j)
        rows.append(rows[i])
    return _read_off(rows[:n], n, ring)


def _read_off(rows: Sequence[Sequence[Ratio]], n: int, ring: Ring) -> list[Ratio]:
    values = [ring.zero] * n
    for row in rows:
        j = next(j for j in range(n) if not row[j].num.is_zero())
        values[j] = row[n]
    return values
