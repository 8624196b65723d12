"""Laws in floating point: what can be asked of them, by lattice point and by name."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.stationary.floats.law import Error, NumericLaw

lam, mu, c = sp.symbols("lambda mu c", positive=True)
x, y = sp.symbols("x y", integer=True)

STATES = [(0, -1), (0, 0), (1, 0), (1, 2), (3, 0)]
MASSES = [0.5, 0.25, 0.125, 0.0625, 0.0625]
LAW = NumericLaw(
    np.array(STATES),
    np.array(MASSES),
    "truncation",
    3e-17,
    (x, y),
    {lam: Fraction(1, 2), mu: Fraction(2)},
    Error(2.5e-13, "estimated"),
    "x <= 3, -1 <= y <= 2",
    Error(1e-14, "certified"),
)
NAMED = NumericLaw(("idle", ("busy", 1)), np.array([0.75, 0.25]), "sparse", 0.0)
QUEUE = NumericLaw(np.array([[2], [3]]), np.array([0.75, 0.25]), "sparse", 0.0, (x,))


def test_it_is_a_sequence_of_states_in_the_order_of_the_chain():
    assert len(LAW) == 5
    assert list(LAW) == STATES
    assert [LAW[state] for state in LAW] == MASSES
    assert list(NAMED) == ["idle", ("busy", 1)]
    assert all(type(entry) is int for state in LAW for entry in state)
    assert (1, 0) in LAW and (2, 0) not in LAW and "idle" in NAMED


def test_one_variable_needs_no_tuple():
    assert QUEUE[3] == QUEUE[(3,)] == 0.25
    assert 2 in QUEUE and (2,) in QUEUE and 4 not in QUEUE
    assert QUEUE.probability(2) == 0.75
    assert QUEUE.expect(x) == 2.25


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (x, 0.375),
        ("x", 0.375),
        ("x*y + 1", 1.125),
        (x**2 + sp.Abs(y), 0.75 + 0.625),
        (sp.Max(x, y), 0.4375),
        (sp.Piecewise((y, x >= 1), (0, True)), 0.125),
        (lam * x, 0.1875),
        ("lambda*x/mu", 0.09375),
        (5, 5),
        (lambda state: state[0] - state[1], 0.375 + 0.375),
    ],
)
def test_expectations(f, wanted):
    assert LAW.expect(f) == wanted


def test_small_masses_are_not_lost_in_the_sum():
    law = NumericLaw(
        np.arange(100_001)[:, None], np.array([1.0] + [1e-17] * 100_000), "sparse", 0.0, (x,)
    )
    assert law.expect(1) == 1 + 1e-12 != 1
    assert law.expect(lambda state: 1) == law.expect(1)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ((1, 2), 0.0625),
        (x >= 1, 0.25),
        ((x >= 1) & (y < 2), 0.1875),
        ((x >= 1) | (y < 0), 0.75),
        (sp.Eq(x, 3), 0.0625),
        (sp.Ne(x, 0), 0.25),
        (~(x >= 1), 0.75),
        (x > y, 0.6875),
        (x + y > 2 * lam, 0.125),
        (sp.true, 1),
        (sp.false, 0),
        (lambda state: state[1] % 2 == 1, 0.5),
    ],
)
def test_probabilities_of_events(event, wanted):
    assert LAW.probability(event) == wanted


def test_marginals_and_tails():
    assert LAW.marginal(x) == {0: 0.75, 1: 0.1875, 3: 0.0625}
    assert LAW.marginal("y") == {-1: 0.5, 0: 0.4375, 2: 0.0625}
    assert LAW.tail(x) == {0: 1, 1: 0.25, 3: 0.0625}
    assert list(LAW.tail(y)) == [-1, 0, 2]


def test_small_tails_keep_their_digits():
    masses = 0.5 ** np.arange(1, 201)
    law = NumericLaw(np.arange(200)[:, None], masses, "sparse", 0.0, (x,))
    tail = law.tail(x)
    assert tail[150] == pytest.approx(2.0**-150, rel=1e-14)
    assert math.isclose(tail[0], 1)


def test_it_pickles_before_and_after_use():
    for law in (LAW, NAMED, QUEUE):
        list(law)
        again = pickle.loads(pickle.dumps(law))
        assert list(again) == list(law)
        assert repr(again) == repr(law)
        assert [again[state] for state in again] == [law[state] for state in law]
    assert pickle.loads(pickle.dumps(LAW)).expect("lambda*x") == 0.1875


def test_it_says_how_good_it_is():
    assert repr(LAW).splitlines() == [
        "stationary law of 5 states at lambda = 1/2, mu = 2",
        "  method    truncation",
        "  residual  3e-17",
        "  error     about 2e-13 (estimated)",
        "  window    x <= 3, -1 <= y <= 2",
        "  outside   at most 1e-14 (certified)",
    ]
    assert repr(NAMED).splitlines()[0] == "stationary law of 2 states"
    assert repr(NAMED).splitlines()[-1] == "  error     unknown"


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: LAW[(9, 9)], DomainError, r"the law has no state \(9, 9\)"),
        (lambda: LAW[0], DomainError, "the law has no state 0"),
        (lambda: LAW.probability("x"), DomainError, "the law has no state x"),
        (lambda: LAW.expect(c * x), ExpressionError, "no value for c in c"),
        (lambda: LAW.expect("x +"), ExpressionError, "x"),
        (lambda: LAW.marginal("z"), ModelError, "z is no state variable; known: x, y"),
        (lambda: NAMED.marginal(x), ModelError, "x is no state variable; known: none"),
        (lambda: NAMED.expect(x), ExpressionError, "no value for x"),
    ],
)
def test_what_it_cannot_answer(ask, error, message):
    with pytest.raises(error, match=message):
        ask()
