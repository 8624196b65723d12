"""Stability and finite moments: quadratic test functions with negative drift far away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from qtheory.arithmetic import Ratio, Ring
from qtheory.check import check, digest
from qtheory.domain import Domain
from qtheory.drift.certificate import DriftCertificate, Undecided, Weighted, certify
from qtheory.drift.cost import as_terms
from qtheory.drift.program import Program, Unbounded, at_point, program, solve
from qtheory.drift.terms import Term, drift_table, ladder
from qtheory.drift.vertex import symbolic_solution
from qtheory.errors import CertificateError, QTheoryError
from qtheory.model import Interval, Model
from qtheory.model.guards import INTEGERS


class NoBoundError(QTheoryError):
    """No test function of the ladder bounds the cost."""


def moment_certificate(model: Model, layers: int = 1, cost: Any = None) -> DriftCertificate:
    """A bound on a linear cost by a quadratic W that shows that all moments are finite.

    f + QW <= c, where f grows in every coordinate and W has positive squares: with bounded jumps
    and rates all stationary moments are finite, for every parameter of the domain. The cost is
    the sum of the coordinates' absolute values, or the given linear cost.

    Raises `NoBoundError` where none is found, as for an unstable model.
    """
    ring = Ring(model.parameters)
    choices = [as_terms(model, cost, ring)] if cost is not None else []
    choices += growing_costs(model, ring)
    for extra in range(layers + 1):
        for terms in choices:
            table = drift_table(
                model, [t for t, _ in terms], [w for _, w in terms], ladder(model, 2, extra)
            )
            posed = program(table, "<=", positive=True)
            for point in sample_points(model.domain):
                try:
                    vertex = solve(at_point(posed, point), "<=")
                    function, bound = symbolic_solution(posed, vertex)
                    found = certify(table, terms, function, bound, "<=", model.domain)
                    check(with_moments_of_its_own(found))
                    return found
                except (Unbounded, Undecided, CertificateError):
                    continue
    raise NoBoundError(
        "the stationary moments are not seen to be finite: no quadratic test function has negative "
        "drift far away on the whole domain (a proof with a function of yours: bound_by)"
    )


def growing_costs(model: Model, ring: Ring) -> list[Weighted]:
    """Linear costs that grow in every coordinate: equal weights, and falling ones."""
    n = len(model.state)
    return [_absolute_values(model, ring, weights) for weights in ([1] * n, range(n, 0, -1))]


def scaled_function(model: Model, function: Any) -> DriftCertificate:
    """A multiple of a given V, and a growing cost f, with f + QV <= c and V bounded below.

    Raises `NoBoundError` where no multiple is seen to do on the whole domain.
    """
    ring = Ring(model.parameters)
    weighted = as_terms(model, function, ring)
    for cost in growing_costs(model, ring):
        table = drift_table(
            model, [t for t, _ in cost], [w for _, w in cost], [t for t, _ in weighted]
        )
        posed = _one_column(program(table, "<="), [w for _, w in weighted])
        for point in sample_points(model.domain):
            try:
                vertex = solve(at_point(posed, point), "<=")
                ((_, times),), bound = symbolic_solution(posed, vertex)
                scaled = tuple((term, weight * times) for term, weight in weighted)
                return certify(table, cost, scaled, bound, "<=", model.domain)
            except (Unbounded, Undecided, ValueError):
                continue
    raise NoBoundError(f"no multiple of {function} is seen to have negative drift")


def _one_column(posed: Program, weights: Sequence[Ratio]) -> Program:
    """The program in which only a common factor of the given V is unknown."""
    rows = []
    for row in posed.rows:
        total = posed.table.ring.zero
        for j, coefficient in row.coefficients.items():
            total = total + coefficient * weights[j]
        coefficients = {} if total.num.is_zero() else {0: total}
        rows.append(replace(row, coefficients=coefficients))
    return Program(replace(posed.table, terms=posed.table.terms[:1]), "<=", tuple(rows))


def with_moments_of_its_own(certificate: DriftCertificate) -> dict[str, Any]:
    """The certificate with itself as the lemma that its moments are finite."""
    content = {**certificate.data, "moments": certificate.data}
    return {**content, "digest": digest(content)}


def sample_points(domain: Domain, count: int = 6) -> list[dict[str, Fraction]]:
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
