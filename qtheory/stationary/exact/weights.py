"""Vectors of polynomials that matter up to a common factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flint import fmpq, fmpz, fmpz_mpoly

from qtheory.arithmetic import Ring


def primitive(weights: Sequence[fmpz_mpoly]) -> tuple[fmpz_mpoly, ...]:
    """Weights, not all zero, without common factors and with a positive leading sum."""
    common = None
    for weight in sorted((w for w in weights if not w.is_zero()), key=len):
        common = weight if common is None else common.gcd(weight)
        if common.is_one():
            break
    total = sum(weights[1:], weights[0])
    sign = -1 if not total.is_zero() and total.leading_coefficient() < 0 else 1
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
