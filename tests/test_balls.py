"""Proven digits, against exact values, higher precision and a second library."""

from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.balls import Enclosure, decimal_digits, evaluate, perfect_root, rational_value
from qtheory.errors import DomainError, ExpressionError

X, Y = sp.symbols("x y", real=True)
POSITIVE = st.builds(Fraction, st.integers(1, 400), st.integers(1, 50))


def test_rational_values_are_exact():
    found = evaluate(X / (1 - X), {X: "1/3"})
    assert found.is_exact
    assert found.lower == Fraction(1, 2)
    assert str(found) == "0.5"
    assert evaluate(sp.sqrt(X), {X: Fraction(9, 4)}).lower == Fraction(3, 2)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (Fraction(2, 3), 3, "0.666"),
        (Fraction(-2, 3), 3, "-0.666"),
        (Fraction(1, 8), 10, "0.125"),
        (Fraction(0), 5, "0"),
        (Fraction(999, 1000), 2, "0.99"),
        (Fraction(1234567), 7, "1234567"),
        (Fraction(1, 10**9), 3, "1e-9"),
        (Fraction(4, 3 * 10**8), 4, "1.333e-8"),
        (Fraction(100), 5, "100"),
    ],
)
def test_digits_by_hand(value, digits, text):
    assert decimal_digits(value, value, digits) == text


def test_an_interval_proves_only_common_digits():
    assert decimal_digits(Fraction("1.2341"), Fraction("1.2349"), 8) == "1.234"
    with pytest.raises(DomainError, match="no digit is proven"):
        decimal_digits(Fraction("0.9"), Fraction("1.1"), 5)
    with pytest.raises(DomainError, match="cannot be told from zero"):
        decimal_digits(Fraction(-1), Fraction(1), 5)


@settings(max_examples=60, deadline=None)
@given(POSITIVE, st.integers(1, 60))
def test_root_digits_are_truncated_correctly(value, digits):
    found = evaluate(sp.sqrt(X), {X: value}, digits)
    with localcontext() as context:
        context.prec = digits + 40
        root = (Decimal(value.numerator) / Decimal(value.denominator)).sqrt()
        context.prec = digits
        context.rounding = ROUND_DOWN
        assert Decimal(str(found)) == +root


@settings(max_examples=50, deadline=None)
@given(POSITIVE, POSITIVE)
def test_an_enclosure_holds_the_value_of_a_second_library(a, b):
    if rational_value(sp.sqrt(X), {X: a}) is not None:
        return
    found = evaluate(sp.sqrt(X) / (1 + Y) - X, {X: a, Y: b}, 20)
    with mpmath.workdps(60):
        x, y = (mpmath.mpf(v.numerator) / v.denominator for v in (a, b))
        other = mpmath.sqrt(x) / (1 + y) - x
        lower, upper = (mpmath.mpf(v.numerator) / v.denominator for v in (found.lower, found.upper))
        assert lower - mpmath.mpf(10) ** -50 <= other <= upper + mpmath.mpf(10) ** -50
    assert found.upper - found.lower < abs(found.upper) * Fraction(1, 10**19)


@settings(max_examples=40, deadline=None)
@given(POSITIVE)
def test_more_digits_continue_fewer(value):
    few = str(evaluate(sp.sqrt(X) + sp.sqrt(X + 2), {X: value}, 12))
    many = str(evaluate(sp.sqrt(X) + sp.sqrt(X + 2), {X: value}, 40))
    if "e" not in many and "." in many:
        assert many.startswith(few)


def test_cancellation_raises_the_precision():
    expression = sp.sqrt(X + 1) - sp.sqrt(X)
    found = evaluate(expression, {X: 10**40}, 10)
    assert str(found).startswith("4.999999999e-21")


def test_exponentials_and_logarithms():
    assert str(evaluate(sp.exp(X), {X: 1}, 20)) == "2.7182818284590452353"
    assert str(evaluate(sp.log(X), {X: 2}, 20)) == "0.69314718055994530941"
    assert evaluate(sp.exp(X), {X: 0}).lower == 1


def test_cases_minima_and_maxima():
    piecewise = sp.Piecewise((X, X < 1), (2 * X, True))
    assert evaluate(piecewise, {X: "1/2"}).lower == Fraction(1, 2)
    assert evaluate(piecewise, {X: 1}).lower == 2
    assert evaluate(sp.Min(X, Y), {X: 2, Y: "3/2"}).lower == Fraction(3, 2)
    assert evaluate(sp.Max(X, Y, 0), {X: -2, Y: -1}).lower == 0


@pytest.mark.parametrize(
    ("expression", "at", "error", "words"),
    [
        (sp.sqrt(X), {X: -2}, DomainError, "square root of the negative number -2"),
        (1 / X, {X: 0}, ExpressionError, "division by zero"),
        (X + Y, {X: 0}, DomainError, "no value given for y"),
        (sp.sqrt(X) + Y, {X: 2}, DomainError, "no value given for y"),
        (sp.sin(X), {X: 1}, ExpressionError, "not a formula"),
        (X, {X: float("nan")}, ExpressionError, "not a rational number: nan"),
        (X, 3, DomainError, "a point is a mapping"),
        (sp.Piecewise((X, X < 0)), {X: 1}, DomainError, "no case of"),
        (1 / (sp.sqrt(X) - sp.sqrt(Y)), {X: 2, Y: 2}, DomainError, "told from a singular value"),
    ],
)
def test_undefined_values(expression, at, error, words):
    with pytest.raises(error, match=words):
        evaluate(expression, at)


def test_at_least_one_digit():
    with pytest.raises(DomainError, match="digits must be from 1 to 1000, got 0"):
        evaluate(X, {X: 1}, digits=0)


@settings(max_examples=60, deadline=None)
@given(st.builds(Fraction, st.integers(0, 300), st.integers(1, 300)))
def test_perfect_roots(value):
    assert perfect_root(value * value) == value
    root = perfect_root(value)
    assert root is None or root * root == value


def test_a_case_is_decided_at_the_precision_it_needs():
    x = sp.Symbol("x", positive=True)
    close = sp.Rational(141421356237309504880168872420969807856967187537694, 10**50)
    value = sp.Piecewise((1, sp.sqrt(x) > close), (2, True)) * sp.sqrt(x)
    # sqrt(2) exceeds the rational number only in the 51st digit
    assert str(evaluate(value, {x: 2}, digits=5)) == "1.4142"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("7/5", "1.400000000000000000000 +- 1e-21"),
        ("5/2", "2.500000000000000000000 +- 1e-21"),
        ("-5/4", "-1.250000000000000000000 +- 1e-21"),
        ("1", "1.000000000000000000000 +- 1e-21"),
    ],
)
def test_next_to_a_short_decimal_no_proven_digit_is_lost(value, shown):
    radius = Fraction(1, 10**22)
    assert str(Enclosure(Fraction(value) - radius, Fraction(value) + radius, 20)) == shown


def test_nested_roots_with_a_short_value():
    found = evaluate(sp.sqrt(3 + 2 * sp.sqrt(X)) - sp.sqrt(X), {X: 2}, digits=20)
    assert 1 in found
    assert str(found).startswith("1.0000000000000000000")
    assert "+- 1e-" in str(found)


def test_whole_numbers_may_stand_in_exponents():
    k = sp.Symbol("k", integer=True, nonnegative=True)
    assert evaluate(X ** (k - 1), {X: "1/2", k: 3}).lower == Fraction(1, 4)
