"""Vectors of polynomials that matter up to a common factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flint import fmpq, fmpz, fmpz_mpoly

from qtheory.arithmetic import Ring, content


def primitive(weights: Sequence[fmpz_mpoly]) -> tuple[fmpz_mpoly, ...]:
    """Weights, not all zero, without common factors, and positive in sum where all symbols are 1.

    Rates such as lam (1 - p/2) are positive there; the sign only matters for how weights look.
    """
    common = content(weight for weight in weights if not weight.is_zero())
    total = sum(weights[1:], weights[0])
    at_one = sum(total.coeffs()) or (0 if total.is_zero() else total.leading_coefficient())
    sign = -1 if at_one < 0 else 1
    if common is None or (common.is_one() and sign == 1):
        return tuple(weights)
    return tuple(sign * weight / common for weight in weights)


def scaled_values(polynomials: Sequence[fmpz_mpoly], point: Sequence[fmpq]) -> list[fmpz]:
    """The values of polynomials at a rational point, all times the same positive number."""
    if all(x.q == 1 for x in point):
        return [polynomial(*(x.p for x in point)) for polynomial in polynomials]
    degrees = [
        max((int(polynomial.degrees()[k]) for polynomial in polynomials), default=0)
        for k in range(len(point))
    ]
    tables = [
        [x.p**e * x.q ** (degree - e) for e in range(degree + 1)]
        for x, degree in zip(point, degrees, strict=True)
    ]
    values = []
    for polynomial in polynomials:
        total = fmpz(0)
        for exponents, coefficient in polynomial.terms():
            for table, exponent in zip(tables, exponents, strict=True):
                coefficient = coefficient * table[exponent]
            total += coefficient
        values.append(total)
    return values


def lifted(poly: fmpz_mpoly, ring: Ring) -> fmpz_mpoly:
    """The polynomial in a ring with further symbols at the end."""
    more = len(ring.names) - poly.context().nvars()
    if not more:
        return poly
    return ring.context.from_dict({(*e, *(0,) * more): c for e, c in poly.to_dict().items()})


def unbalanced(
    rows: Sequence[Mapping[int, fmpz_mpoly]], weights: Sequence[fmpz_mpoly]
) -> int | None:
    """The first state where weights do not balance polynomial rates, None if they all do."""
    surplus = [weights[0] - weights[0]] * len(rows)
    for i, row in enumerate(rows):
        for j, rate in row.items():
            flow = weights[i] * rate
            surplus[i] = surplus[i] - flow
            surplus[j] = surplus[j] + flow
    return next((i for i, value in enumerate(surplus) if not value.is_zero()), None)
