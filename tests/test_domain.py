"""Domains: membership, errors that name the failed condition, sampling."""

import pickle

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.domain import Domain
from qtheory.errors import DomainError, ExpressionError, UnstableError

LAM, MU = sp.symbols("lambda mu", positive=True)
P = sp.Symbol("p", nonnegative=True)
N = sp.Symbol("n", integer=True, positive=True)
X, Y = sp.symbols("x y", real=True)
QUEUE = Domain(P <= 1, stable=LAM < 2 * MU)


def test_assumptions_are_conditions():
    assert QUEUE.contains({LAM: 1, MU: 1, P: 0})
    assert not QUEUE.contains({LAM: 0, MU: 1, P: 0})
    assert not QUEUE.contains({LAM: 2, MU: 1, P: 0})
    assert QUEUE.contains({"lam": "0.1", "mu": 1, "p": 1})
    assert not Domain(symbols=[N]).contains({N: "1/2"})
    assert not Domain(symbols=[sp.Symbol("q", negative=True)]).contains({"q": 0})


@pytest.mark.parametrize(
    ("at", "error", "words"),
    [
        (
            {LAM: 3, MU: 1, P: 0},
            UnstableError,
            r"unstable: needs lambda < 2\*mu, got lambda = 3, mu",
        ),
        ({LAM: 1, MU: 1, P: 2}, DomainError, "outside the domain: needs p <= 1, got p = 2"),
        ({LAM: 1, MU: 1}, DomainError, "no value given for p"),
        ({LAM: 1, MU: 1, P: 0, "q": 1}, DomainError, "unknown parameter q; known: p, lambda, mu"),
        ({LAM: 1, MU: 1, P: float("nan")}, ExpressionError, "not a rational number: nan"),
        ({LAM: 1, MU: sp.pi, P: 0}, ExpressionError, "not a rational number: pi"),
        ({LAM: "1/", MU: 1, P: 0}, ExpressionError, "malformed expression"),
        (3, DomainError, "a point is a mapping"),
    ],
)
def test_points_that_are_refused(at, error, words):
    with pytest.raises(error, match=words) as caught:
        QUEUE.require(at)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)


def test_an_integer_parameter_needs_an_integer():
    with pytest.raises(DomainError, match="needs an integer, got n = 3/2"):
        Domain(N <= 5).require({N: "3/2"})


def symbol(name, **assumptions):
    return sp.Symbol(name, **assumptions)


@pytest.mark.parametrize(
    ("conditions", "symbols", "error", "words"),
    [
        ([3], [], DomainError, "not a condition on parameters: 3"),
        ([None], [], DomainError, "not a condition on parameters: None"),
        ([X], [], DomainError, "not a condition on parameters: x"),
        ([LAM < -1], [], DomainError, "false for every parameter"),
        (["x"], [], ExpressionError, "malformed expression"),
        (["x < 1/0"], [], ExpressionError, "division by zero"),
        ([], ["x"], DomainError, "not a symbol: 'x'"),
        ([], [symbol("x y")], DomainError, "letters, digits and _, got 'x y'"),
        ([], [symbol("x^2")], DomainError, "letters, digits and _"),
        ([], [symbol("λ")], DomainError, "letters, digits and _"),
        ([], [symbol("lam"), symbol("lambda")], DomainError, "lam and lambda are both written lam"),
        ([], [symbol("e", even=True)], DomainError, "assumed even"),
        ([], [symbol("q", prime=True)], DomainError, "assumed prime"),
        ([], [symbol("w", nonzero=True, real=True)], DomainError, "assumed nonzero"),
        ([], [symbol("w", zero=True)], DomainError, "assumed zero"),
        ([], [symbol("w", imaginary=True)], DomainError, "assumed not real|assumed nonzero"),
    ],
)
def test_what_is_no_domain(conditions, symbols, error, words):
    with pytest.raises(error, match=words):
        Domain(*conditions, symbols=symbols)


@pytest.mark.parametrize(
    ("condition", "error", "words"),
    [
        (sp.Ne(X, 0), DomainError, "use <, <=, >, >= or =="),
        (sp.exp(X) > 1, ExpressionError, "not a formula"),
        (sp.sqrt(X) < 1, ExpressionError, "a square root is not a rational function"),
        (X**Y < 1, ExpressionError, "neither an integer nor a half"),
    ],
)
def test_conditions_that_are_not_polynomial(condition, error, words):
    with pytest.raises(error, match=words):
        Domain(condition).constraints  # noqa: B018


def test_denominators_are_cleared_of_positive_factors():
    assert Domain("0 < lam, 0 < mu, lam/mu < 2").texts == ["lam > 0", "mu > 0", "2*mu - lam > 0"]
    # the sign of mu is not known here, so the denominator stays
    assert Domain("lam/mu > 2").texts == ["lam*mu - 2*mu**2 > 0"]


@pytest.mark.parametrize(
    ("condition", "inside", "undefined"),
    [
        ("1/x >= 0", {"x": 1}, {"x": 0}),
        ("x/y == 0", {"x": 0, "y": 1}, {"x": 0, "y": 0}),
        ("x/y >= 0", {"x": 0, "y": 1}, {"x": 1, "y": 0}),
        ("(x**2 - 1)/(x - 1) >= 0", {"x": 2}, {"x": 1}),
    ],
)
def test_a_condition_fails_where_it_is_undefined(condition, inside, undefined):
    domain = Domain(condition)
    assert domain.contains(inside)
    assert not domain.contains(undefined)


def test_parts_and_intersections():
    part = QUEUE.where("lam <= mu")
    assert part.contains({LAM: 1, MU: 1, P: 0})
    assert not part.contains({LAM: "3/2", MU: 1, P: 0})
    with pytest.raises(UnstableError):
        QUEUE.where("p <= 1/2").require({LAM: 3, MU: 1, P: 0})
    both = QUEUE & Domain(X > 0)
    assert set(both.symbols) == {LAM, MU, P, X}
    assert both.stability == QUEUE.stability
    assert QUEUE.over(Y).contains({LAM: 1, MU: 1, P: 0, Y: -100})


def test_domains_pickle_and_compare():
    again = pickle.loads(pickle.dumps(QUEUE))
    assert again == QUEUE
    assert hash(again) == hash(QUEUE)
    assert again.stability == QUEUE.stability
    assert Domain(X > 0) != Domain(X >= 0)
    assert Domain(X > 0) != "x > 0"


DOMAINS = [
    QUEUE,
    Domain("0 <= x, x <= 1"),
    Domain("x > 0, x*y == 1"),
    Domain("x >= -1, x <= 2*y - 1, y <= 1"),
    Domain("x + y == 1, x >= 0, y >= 0"),
    Domain("x**2 < y, y <= 4"),
    Domain("1/x >= 1"),
    Domain("-1 <= x, x <= 0, x <= y, y <= 0"),
    Domain(N <= 7, N >= 2),
    Domain(symbols=[X]),
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DOMAINS), st.integers(0, 10**6), st.booleans())
def test_samples_lie_in_the_domain(domain, seed, near_boundary):
    points = domain.sample(5, seed, near_boundary)
    assert points
    assert all(domain.contains(point) for point in points)
    for point in points:  # by SymPy, a second evaluation
        assert all(condition.subs(point) == sp.true for condition in domain.conditions)
    assert points == domain.sample(5, seed, near_boundary)


def test_an_empty_domain_has_no_samples():
    with pytest.raises(DomainError, match="no point found"):
        Domain("x > 1, x < 0").sample(1)


def test_a_symbol_called_as_it_is_typed_is_found_by_its_name():
    lam, mu = sp.symbols("lam mu", positive=True)
    domain = Domain(lam < mu)
    assert domain.contains({"lam": 1, "mu": 2})
    assert not domain.contains({"lam": 3, "mu": 2})
    assert domain.where("2*lam < mu").symbols == (lam, mu)
