"""Exact numbers, and fractions of polynomials."""

import pickle
from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.arithmetic import (
    Ring,
    by_power,
    divisors,
    exact,
    lowest_terms,
    parameters,
    values_by_name,
)
from qtheory.errors import DomainError, ExpressionError

X, Y, Z = sp.symbols("x y z", real=True)
RING = Ring((X, Y, Z))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, Fraction(3)),
        (True, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-3, Fraction(1, 1000)),
        (np.float64(0.25), Fraction(1, 4)),
        (np.int64(7), Fraction(7)),
        ("2/6", Fraction(1, 3)),
        (sp.Rational(-2, 4), Fraction(-1, 2)),
        (sp.Float("0.5"), Fraction(1, 2)),
        (flint.fmpq(3, 9), Fraction(1, 3)),
        (flint.fmpz(5), Fraction(5)),
    ],
)
def test_numbers_are_read_as_written(value, number):
    assert exact(value) == number


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "not a rational number: nan"),
        (float("inf"), "not a rational number: inf"),
        (sp.oo, "not a rational number: oo"),
        (sp.nan, "not a rational number: nan"),
        (sp.pi, "not a rational number: pi"),
        (sp.sqrt(2), "not a rational number"),
        (None, "not a rational number: None"),
        (1j, "not a rational number"),
        (X, "not a rational number: x"),
        ("x", "a number was expected, got the name x"),
        ("sqrt(2)", r"sqrt\(2\) is not a rational number"),
        ([1], "not a rational number"),
    ],
)
def test_what_is_no_number_is_refused(value, words):
    with pytest.raises(ExpressionError, match=words):
        exact(value)


def test_fractions_are_in_lowest_terms_with_a_positive_leading_denominator():
    ratio = RING.ratio((X**2 - Y**2) / (Y - X))
    assert RING.expression(ratio) == -X - Y
    ratio = RING.ratio(X / (Y - X))
    assert ratio.den.leading_coefficient() > 0
    assert sp.simplify(RING.expression(ratio) - X / (Y - X)) == 0


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (sp.exp(X), "not a formula"),
        (sp.Abs(X), "not a formula"),
        (X**Y, "neither an integer nor a half"),
        (X ** sp.Rational(1, 3), "neither an integer nor a half"),
        (sp.sqrt(X), "a square root is not a rational function"),
        (X**201, "exponent 201 is larger than 200"),
        (X ** (-(10**9)), "is larger than 200"),
        (sp.Symbol("w"), "unknown parameter w; known: x, y, z"),
        (1 / sp.Add(X, -X, evaluate=False), "division by zero"),
        (sp.pi * X, "not a formula"),
    ],
)
def test_what_is_no_rational_function_is_refused(expression, words):
    with pytest.raises(ExpressionError, match=words):
        RING.ratio(expression)


def test_only_polynomials_with_integer_coefficients_are_polynomials():
    assert RING.expression(RING.polynomial(X * (Y + 1))) == X * Y + X
    for expression in (X / 2, 1 / Y):
        with pytest.raises(ExpressionError, match="not a polynomial with integer coefficients"):
            RING.polynomial(expression)


POLYS = st.dictionaries(
    st.tuples(*[st.integers(0, 3)] * 3), st.integers(-5, 5), min_size=1, max_size=5
).map(lambda terms: RING.context.from_dict({e: c for e, c in terms.items() if c}))
NUMBERS = st.builds(Fraction, st.integers(-6, 6), st.integers(1, 6))
POINTS = st.tuples(NUMBERS, NUMBERS, NUMBERS)


def at(poly, point):
    return exact(RING.evaluate(poly, [flint.fmpq(*v.as_integer_ratio()) for v in point]))


@settings(max_examples=80, deadline=None)
@given(POLYS, POLYS, POLYS, POLYS, POINTS)
def test_the_field_operations_agree_with_those_of_numbers(a, b, c, d, point):
    if 0 in (at(b, point), at(d, point)) or b.is_zero() or d.is_zero():
        return
    left, right = lowest_terms(a, b), lowest_terms(c, d)
    u, v = at(a, point) / at(b, point), at(c, point) / at(d, point)

    def value(ratio):
        return at(ratio.num, point) / at(ratio.den, point)

    assert value(left + right) == u + v
    assert value(left - right) == u - v
    assert value(left * right) == u * v
    assert value(left**3) == u**3
    if v:
        assert value(left / right) == u / v


@settings(max_examples=60, deadline=None)
@given(POLYS, st.integers(0, 2))
def test_coefficients_in_one_variable_rebuild_the_polynomial(poly, index):
    parts = by_power(poly, index, RING.context)
    total = sum((part * RING.generators[index] ** k for k, part in enumerate(parts)), poly * 0)
    assert total == poly
    assert all(part.degrees()[index] <= 0 for part in parts)


@settings(max_examples=60, deadline=None)
@given(POLYS)
def test_sympy_forms_come_back(poly):
    assert RING.polynomial(RING.expression(poly)) == poly
    assert sp.expand(RING.factored(poly) - RING.expression(poly)) == 0


def test_division_by_zero():
    zero, one = RING.ratio(sp.Integer(0)), RING.ratio(sp.Integer(1))
    with pytest.raises(ZeroDivisionError):
        one / zero


def test_divisors_are_all_bases_of_negative_powers():
    found = set(divisors(sp.Gt(1 / X + Y / (1 + 1 / Z), 2, evaluate=False)))
    assert found == {X, 1 + 1 / Z, Z}


def test_parameters_are_sorted_by_name():
    assert parameters(Z + X, Y) == (X, Y, Z)


def test_points_are_keyed_by_name():
    lam = sp.Symbol("lambda", positive=True)
    assert values_by_name({lam: 0.5, "mu": "1/3"}) == {
        "lambda": Fraction(1, 2),
        "mu": Fraction(1, 3),
    }
    assert values_by_name({"lam": 2}) == {"lambda": 2}
    assert values_by_name(None) == {}
    with pytest.raises(DomainError, match="a point is a mapping from parameters to numbers, got 3"):
        values_by_name(3)


def test_rings_and_fractions_pickle():
    ratio = RING.ratio((X - 1) / (Y + 2))
    assert pickle.loads(pickle.dumps(ratio)) == ratio
    assert pickle.loads(pickle.dumps(RING)) == RING
