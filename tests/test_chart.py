"""Charts: every coordinate gives the parameters that direct substitution gives."""

from fractions import Fraction
from itertools import product

import flint
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.arithmetic import exact
from qtheory.chart import coefficient_sign
from qtheory.domain import Domain

DOMAINS = [
    Domain("0 < lam, lam < 2*mu, 0 <= p, p <= 1"),
    Domain("-1 <= x, x <= 0"),
    Domain("x >= -1, x <= 2*y - 1, y <= 1"),
    Domain("x > 0, y > 0, x*y <= 3"),
    Domain("x < 0, y < x, z <= y + x"),
    Domain("x > 0, x*y == 1"),
    Domain("x > 0, x*y == -1"),
    Domain("x + y + z <= 1, x >= 0, y >= 0, z >= 0"),
]
COORDINATES = st.lists(
    st.none() | st.builds(flint.fmpq, st.integers(0, 5), st.integers(1, 4)), min_size=3, max_size=3
)


def value(ring, poly, point):
    return exact(ring.evaluate(poly, [flint.fmpq(*exact(v).as_integer_ratio()) for v in point]))


def test_a_chart_by_hand():
    domain = Domain("-1 <= x, x <= 1")
    (chart,) = domain.region.charts
    at = [chart.point([t])[0] for t in (flint.fmpq(0), flint.fmpq(1), flint.fmpq(3), None)]
    assert at == [-1, 0, flint.fmpq(1, 2), 1]
    (x,) = domain.ring.generators
    # x = (t - 1)/(1 + t), so x^2 becomes (t - 1)^2, of formal degree two
    pulled = chart.pull_back(x**2)
    assert pulled == (x**2 - 2 * x + 1, (2,))
    assert chart.sign(x + 2) == ">"
    assert chart.sign(x + 1) == ">="
    assert chart.sign(x) is None
    assert chart.sign(x - 1) == "<="


def test_strictness_is_lost_only_at_attained_ends():
    signs = {}
    for low, high in product(("<", "<="), repeat=2):
        domain = Domain(f"0 {low} x, x {high} 1")
        (x,) = domain.ring.generators
        (chart,) = domain.region.charts
        signs[low, high] = chart.sign(x), chart.sign(1 - x)
    assert signs == {
        ("<", "<"): (">", ">"),
        ("<", "<="): (">", ">="),
        ("<=", "<"): (">=", ">"),
        ("<=", "<="): (">=", ">="),
    }


def test_a_vanishing_slope_keeps_its_formal_degree():
    """On [-1, 0] the end t = oo is x = 0, where x^2 vanishes."""
    domain = Domain("-1 <= x, x <= 0")
    (x,) = domain.ring.generators
    (chart,) = domain.region.charts
    assert chart.pull_back(x**2).degrees == (2,)
    assert chart.sign(x**2) == ">="


@pytest.mark.parametrize(
    ("terms", "sign"),
    [
        ({}, "=="),
        ({(1,): 3}, ">="),
        ({(0,): 1}, ">"),
        ({(0,): -1, (1,): -2}, "<"),
        ({(0,): 1, (1,): -2}, None),
    ],
)
def test_signs_of_coefficients(terms, sign):
    context = flint.fmpz_mpoly_ctx.get(("t",), flint.Ordering.degrevlex)
    poly = context.from_dict(terms)
    assert coefficient_sign(poly, (1,), [(True, False)]) == sign


POLYNOMIALS = st.dictionaries(
    st.tuples(*[st.integers(0, 2)] * 3), st.integers(-4, 4), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(DOMAINS), st.integers(0, 30), POLYNOMIALS, COORDINATES)
def test_pulled_back_signs_are_the_signs_at_the_point(domain, number, terms, coordinates):
    """The homogenised pull-back and the polynomial at the chart point differ by a positive factor.

    Where a scale is negative the point lies outside the domain, and nothing is claimed.
    """
    chart = domain.region.charts[number % len(domain.region.charts)]
    ring = domain.ring
    k = len(ring.names)
    if len(chart.variables) < k:
        return
    poly = ring.context.from_dict({e[:k]: c for e, c in terms.items() if c})
    coordinates = coordinates[:k]
    for step in chart.steps:
        if not step.two_sided:  # t = oo is no point there
            coordinates[step.variable] = coordinates[step.variable] or flint.fmpq(1)
    point = chart.point(coordinates)
    if point is None:
        return
    for step in chart.steps:
        if value(ring, step.scale, point) <= 0:
            return
    pulled, degrees = chart.pull_back(poly)
    total = Fraction(0)
    for exponents, coefficient in pulled.terms():
        term = Fraction(int(coefficient))
        for t, e, degree in zip(coordinates, exponents, degrees, strict=True):
            if t is not None:
                term *= exact(t) ** int(e)
            elif e != degree:
                term *= 0
        total += term
    found = value(ring, poly, point)
    assert (total > 0) - (total < 0) == (found > 0) - (found < 0)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(DOMAINS), st.integers(0, 10**6), POLYNOMIALS)
def test_the_sign_of_a_chart_holds_on_the_domain(domain, seed, terms):
    k = len(domain.ring.names)
    poly = domain.ring.context.from_dict({e[:k]: c for e, c in terms.items() if c})
    signs = {chart.sign(poly) for chart in domain.region.charts} - {None}
    expression = domain.ring.expression(poly)
    for point in domain.sample(4, seed, near_boundary=True):
        at = expression.subs(point)
        for sign in signs:
            assert sp.Rel(at, 0, sign) == sp.true
