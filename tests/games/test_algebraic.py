"""Real algebraic numbers against SymPy and the laws of a field."""

import pickle

import pytest
import sympy as sp
from flint import fmpz_poly
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qtheory.errors import DomainError, ExpressionError
from qtheory.games.algebraic import Algebraic, algebraic, real_roots
from qtheory.games.payoff import midpoint

x = sp.Symbol("x")
polynomials = st.lists(st.integers(-6, 6), min_size=3, max_size=5).filter(lambda c: c[-1] != 0)


def roots(coefficients):
    return real_roots(fmpz_poly(coefficients))


@settings(max_examples=40, deadline=None)
@given(polynomials)
def test_roots_are_those_that_sympy_counts_and_isolates(coefficients):
    poly = sp.Poly(list(reversed(coefficients)), x)
    found = roots(coefficients)
    assert len(found) == sp.Poly(poly.sqf_part(), x).count_roots()
    assert [float(r) for r in found] == pytest.approx(
        sorted(float(r) for r in set(poly.real_roots())), abs=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(polynomials, polynomials, st.data())
def test_sums_and_products_invert(first, second, data):
    left, right = roots(first), roots(second)
    assume(left and right)
    a, b = data.draw(st.sampled_from(left)), data.draw(st.sampled_from(right))
    assume(len(a.minimal) * len(b.minimal) <= 12)
    assert (a + b) - b == a
    assert a * b == b * a
    if b != algebraic(0):
        assert (a * b) / b == a
    assert (a < b) == (float(a - b) < 0)


def test_equal_numbers_written_differently_are_equal():
    assert algebraic(sp.sqrt(2) * sp.sqrt(3)) == algebraic(sp.sqrt(6))
    assert algebraic(sp.sqrt(5 + 2 * sp.sqrt(6))) == algebraic(sp.sqrt(2) + sp.sqrt(3))
    assert algebraic("0.5") == algebraic(sp.Rational(1, 2)) == algebraic(0.5)


def test_numbers_that_floats_cannot_tell_apart_are_ordered():
    # (sqrt(2) rounded down at 40 digits)^2 is below 2
    below = algebraic(sp.Rational(str(sp.sqrt(2).n(40))) - sp.Rational(1, 10**38))
    root = algebraic(sp.sqrt(2))
    assert below < root and not root < below
    assert float(below) == float(root)
    assert below < midpoint(below, root) < root


def test_the_golden_ratio_and_a_quintic():
    golden = algebraic((1 + sp.sqrt(5)) / 2)
    assert golden * golden == golden + algebraic(1)
    root = algebraic(sp.CRootOf(x**5 - x - 1, 0))
    assert root**5 - root == algebraic(1)
    assert str(root.enclosure(20)).startswith("1.167303978261418684")


def test_roots_of_negative_numbers_names_and_complex_roots_are_refused():
    with pytest.raises(DomainError, match="no value given for x"):
        algebraic(x + 1)
    with pytest.raises(ExpressionError):
        algebraic(sp.pi)
    with pytest.raises((DomainError, ExpressionError)):
        algebraic(sp.sqrt(-2))
    with pytest.raises(ExpressionError, match="not a real number"):
        algebraic(sp.CRootOf(x**3 - x - 1, 1))
    with pytest.raises(ZeroDivisionError):
        algebraic(1) / algebraic(0)
    with pytest.raises(ExpressionError, match="not a rational number"):
        algebraic(sp.sqrt(2)).rational  # noqa: B018


def test_pickles():
    number = algebraic(sp.sqrt(2))
    assert pickle.loads(pickle.dumps(number)) == number
    assert isinstance(number, Algebraic)
