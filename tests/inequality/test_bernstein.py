"""Subdivision: halving keeps the values, and cells prove what they say."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.domain import Domain
from qtheory.inequality.bernstein import FoundNegative, _Form, subdivide


def at(values, points):
    """The homogenised value with t = numerator : denominator."""
    total = 0
    for index, coefficient in np.ndenumerate(values):
        term = coefficient
        for i, n, (t, s) in zip(index, values.shape, points, strict=True):
            term *= t**i * s ** (n - 1 - i)
        total += term
    return total


COEFFICIENTS = st.integers(-20, 20)
FORMS = st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(
        COEFFICIENTS, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
    ).map(lambda c: np.array(c, dtype=object).reshape(shape))
)


@settings(max_examples=120, deadline=None)
@given(FORMS, st.integers(0, 1), st.booleans(), st.integers(0, 6), st.integers(1, 5))
def test_halving_keeps_the_values(values, axis, upper, t, s):
    """On the upper half t = 1 + 2 s and on the lower one t = s/(2 + s), also at the ends."""
    half = _Form(values).half(axis, upper).values
    other = (2, 3)
    inner, outer = [other, other], [other, other]
    inner[axis] = (t, s)
    outer[axis] = (s + 2 * t, s) if upper else (t, 2 * s + t)
    assert at(half, inner) == at(values, outer)


@settings(max_examples=60, deadline=None)
@given(FORMS, st.integers(0, 1), st.booleans())
def test_halving_keeps_the_ends(values, axis, upper):
    half = _Form(values).half(axis, upper).values
    inner, outer = [(1, 1), (1, 1)], [(1, 1), (1, 1)]
    inner[axis] = (1, 0) if upper else (0, 1)
    outer[axis] = (1, 0) if upper else (0, 1)
    scale = 2 ** (values.shape[axis] - 1)
    assert at(half, inner) == scale * at(values, outer)


def test_nonnegative_forms():
    closed, opened = (True, True), (False, False)
    form = _Form(np.array([0, 1, 2], dtype=object))
    assert form.nonnegative([closed], strict=False)
    assert not form.nonnegative([closed], strict=True)
    assert form.nonnegative([opened], strict=True)
    assert form.nonnegative([(False, True)], strict=True)
    assert not _Form(np.array([1, -1, 1], dtype=object)).nonnegative([opened], strict=False)
    assert not _Form(np.zeros(3, dtype=object)).nonnegative([opened], strict=True)


def region_and_poly(domain, text):
    from qtheory.formulas import formula

    return domain.region, domain.ring.polynomial(formula(text, domain.symbols))


def test_cells_of_a_positive_polynomial():
    region, poly = region_and_poly(Domain("0 <= x, x <= 1"), "10*x^2 - 10*x + 3")
    tree = subdivide(region, region.charts[0], poly, True, 100)
    assert tree is not None
    assert tree[0] == 0


def test_a_negative_value_is_found():
    region, poly = region_and_poly(Domain("0 <= x, x <= 1"), "10*x^2 - 10*x + 2")
    with pytest.raises(FoundNegative) as found:
        subdivide(region, region.charts[0], poly, False, 200)
    (x,) = (Fraction(int(v.p), int(v.q)) for v in found.value.point)
    assert 10 * x**2 - 10 * x + 2 < 0


def test_a_zero_inside_is_not_settled_by_cells():
    """Both roots at 1/3, which no halving meets."""
    region, poly = region_and_poly(Domain("0 <= x, x <= 1"), "(3*x - 1)^2")
    assert subdivide(region, region.charts[0], poly, False, 60) is None
