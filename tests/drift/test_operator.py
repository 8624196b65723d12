"""The drift of a test function, against hand computation and against the generator."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory import Domain, Model, Transition, generator
from qtheory.drift import drift
from qtheory.errors import ModelError
from qtheory.model import coordinates
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq

m, d, lam, mu, p = sq.m, sq.d, sq.lam, sq.mu, sq.p


def test_drift_of_the_difference_by_hand():
    found = drift(sq.model(), d)
    assert found.at((0, 0)) == lam
    assert sp.expand(found.at((3, 0)) - (lam + 2 * mu)) == 0
    assert sp.expand(found.at((0, 2)) - (lam * p - lam - mu)) == 0
    assert sp.expand(found.at((1, 1)) - (lam * p - lam)) == 0
    assert len(found.cases) == 4


def test_boundary_layers_split_the_lattice():
    found = drift(sq.model(), sp.KroneckerDelta(d, 0))
    assert found.at((2, 0)) == -(lam + 2 * mu)
    assert sp.expand(found.at((2, 1)) - (lam * (1 - p / 2) + mu + mu)) != 0  # up from (2, 1) only
    assert sp.expand(found.at((2, 1)) - (lam * (1 - p / 2) + mu)) == 0
    assert found.at((2, 2)) == 0
    assert "m >= 1, d >= 2" in str(found)


def test_quadratic_drift_in_sorted_lengths():
    # sum of squares of two queues: lam (2 x_min + 1) ... - the identity behind (I2)
    found = drift(sq.model(), (m**2 + (m + d) ** 2) / 2)
    for state, busy in [((0, 0), 0), ((0, 4), 1), ((3, 0), 2), ((2, 5), 2)]:
        claimed = lam / 2 + mu * busy / 2 - (2 * mu - lam) * m - (mu - lam * p / 2) * d
        here = dict(zip((m, d), state, strict=True))
        assert sp.expand(found.at(state) - claimed.subs(here)) == 0


FUNCTIONS = [
    m**2 * d + 3 * d,
    sp.Piecewise((m, d >= 2), (d**2, True)),
    sp.KroneckerDelta(m, 1) * d + sp.KroneckerDelta(d, 0) * m**2,
    sp.Piecewise((1, sp.And(m >= 1, d <= 1)), (m * d, True)),
]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(FUNCTIONS), st.integers(1, 3), st.integers(0, 10))
def test_drift_is_the_generator_applied(function, rate, tenths):
    """Inside a window, away from its boundary, QV by the matrix is QV by regions."""
    at = {lam: sp.Rational(rate, 2), mu: 1, p: sp.Rational(tenths, 10)}
    if not rate < 4:
        return
    model = sq.model()
    states = coordinates(model, 6)
    matrix = generator(model, box=6, at=at, field="float")
    values = sp.lambdify((m, d), function.replace(sp.KroneckerDelta, _indicator))
    V = np.array([float(values(*map(int, state))) for state in states])
    found = drift(model, function)
    for k, state in enumerate(states.tolist()):
        if max(state) <= 4:
            expected = float(found.at(state).subs(at))
            assert (matrix @ V)[k] == pytest.approx(expected, abs=1e-9)


def _indicator(x, c):
    return sp.Piecewise((1, sp.Eq(x, c)), (0, True))


def test_discrete_time():
    n = sp.Symbol("n", integer=True, nonnegative=True)
    a, s = sp.symbols("a s", nonnegative=True)
    queue = Model(
        n,
        Domain(a <= 1, s <= 1),
        [
            Transition(a, when=sp.Eq(n, 0), jump=(+1,)),
            Transition(a * (1 - s), when=n >= 1, jump=(+1,)),
            Transition(s * (1 - a), when=n >= 1, jump=(-1,)),
        ],
        time="discrete",
    )
    found = drift(queue, n)
    assert found.at(0) == a
    assert sp.expand(found.at(5) - (a - s)) == 0


def test_absolute_value_and_integers():
    model = sq.targeted_model()
    delta = model.state[1]
    found = drift(model, sp.Abs(delta))
    assert found.at((0, 0)) == lam
    assert sp.expand(found.at((2, -3)) + lam) == 0
    assert sp.expand(found.at((2, 3)) - (2 * lam * p - lam)) == 0


def test_three_queues_lose_no_customer():
    # V = total number of customers: drift = N (lam + lam_s) - mu busy
    model = ds.model(3)
    total = 3 * model.state[0] + 2 * model.state[1] + model.state[2]
    found = drift(model, total)
    for state, busy in [((0, 0, 0), 0), ((0, 0, 1), 1), ((0, 2, 0), 2), ((1, 0, 0), 3)]:
        assert sp.expand(found.at(state) - 3 * (ds.lam + ds.lam_s) + ds.mu * busy) == 0


def test_conditions_on_two_variables_are_refused():
    with pytest.raises(ModelError, match="compares two state variables"):
        drift(sq.model(), sp.Piecewise((1, m >= d), (0, True)))
    with pytest.raises(ModelError, match="not in the lattice"):
        drift(sq.model(), d).at((-1, 0))
