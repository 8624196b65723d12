"""Finite windows of the lattice."""

from itertools import product

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from sympy import And, Eq, Ne, symbols

from qtheory.domain import Domain
from qtheory.errors import ModelError
from qtheory.model import Model, Transition, coordinates, lattice
from qtheory.model.lattice import polynomial_values, window

m, d = symbols("m d", integer=True, nonnegative=True)
z = sp.Symbol("z", integer=True)
PLANE = Model((m, d), Domain(), [Transition(1, (1, 0))])
LINE = Model(z, Domain(), [Transition(1, 1)])
SLOTS = Model((z, m), Domain(), [Transition(1, (0, 1))], ranges={z: (-1, 1)})


def test_states_come_in_lexicographic_order():
    assert lattice(PLANE, (1, 2)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert all(type(x) is int for state in lattice(PLANE, 1) for x in state)


@pytest.mark.parametrize(
    ("model", "box", "expected"),
    [
        (PLANE, 1, [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (PLANE, {m: 0, d: 1}, [(0, 0), (0, 1)]),
        (PLANE, {"m": 0, "d": 1}, [(0, 0), (0, 1)]),
        (PLANE, [(3, 4), 0], [(3, 0), (4, 0)]),
        (PLANE, [(-2, 0), 1], [(0, 0), (0, 1)]),
        (LINE, [(-1, 1)], [(-1,), (0,), (1,)]),
        (SLOTS, {m: 0}, [(-1, 0), (0, 0), (1, 0)]),
        (SLOTS, 0, [(-1, 0), (0, 0)]),
        (SLOTS, {z: (0, 7), m: 0}, [(0, 0), (1, 0)]),
    ],
)
def test_boxes(model, box, expected):
    assert lattice(model, box) == expected


def test_a_finite_model_needs_no_box():
    finite = Model(z, Domain(), [Transition(1, 1, when=z < 2)], ranges={z: (0, 2)})
    assert lattice(finite) == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("model", "box", "where", "message"),
    [
        (PLANE, None, None, "m is unbounded"),
        (PLANE, {m: 3}, None, "d is unbounded"),
        (LINE, 3, None, "z has no lowest value"),
        (PLANE, -1, None, "box bound -1 for m leaves no state"),
        (PLANE, (2, (3, 1)), None, r"box bound \(3, 1\) for d leaves no state"),
        (SLOTS, {z: (5, 7), m: 1}, None, "for z leaves no state"),
        (PLANE, (1, 2, 3), None, "box has 3 bounds for 2 state variables"),
        (PLANE, {m: 1, z: 1}, None, "box bound for z, which is no state variable"),
        (PLANE, 1.5, None, "box bound 1.5 for m is neither an integer"),
        (PLANE, "ab", None, "is neither an integer nor a pair"),
        (PLANE, 10**5, None, "a box of 10000200001 states is too large"),
        (PLANE, 2, m + d > 4, r"no state of the box satisfies d \+ m > 4"),
        (PLANE, 2, m + z > 4, "no relation between state variables: unknown parameter z"),
        (PLANE, 2, (m > 1) | (d > 1), "not a conjunction of comparisons"),
        (PLANE, 2, False, "false at every state"),
        (PLANE, 2, 1 / (m + 1) > 0.5, "not polynomial in the state variables"),
    ],
)
def test_bad_windows_are_refused(model, box, where, message):
    with pytest.raises(ModelError, match=message):
        lattice(model, box, where)


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        (m + d <= 2, lambda x, y: x + y <= 2),
        (And(m >= 1, m + d < 4), lambda x, y: x >= 1 and x + y < 4),
        ([m >= 1, "m + d < 4"], lambda x, y: x >= 1 and x + y < 4),
        (Eq(m, 2 * d), lambda x, y: x == 2 * y),
        (Ne(m, d), lambda x, y: x != y),
        (m * d > sp.Rational(5, 2), lambda x, y: 2 * x * y > 5),
        (m - d**3 / 3 >= 0, lambda x, y: 3 * x >= y**3),
        (True, lambda x, y: True),
    ],
)
def test_where_restricts_the_box(where, holds):
    expected = [(x, y) for x, y in product(range(5), range(4)) if holds(x, y)]
    assert lattice(PLANE, (4, 3), where) == expected
    found = coordinates(PLANE, (4, 3), where)
    assert found.shape == (len(expected), 2) and found.dtype.kind == "i"
    assert [tuple(row) for row in found.tolist()] == expected


def test_where_is_exact_beyond_64_bits():
    big = 10**25
    assert lattice(PLANE, (3, 0), m * big >= 2 * big + 1) == [(3, 0)]
    assert lattice(PLANE, (1000, 0), Eq(m**40, 7**40)) == [(7, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers()), max_size=4),
    st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=1, max_size=5),
)
def test_polynomial_values_agree_with_python_integers(terms, points):
    coefficients = {(a, b): c for a, b, c in terms}
    found = polynomial_values(coefficients, np.array(points))
    assert found.tolist() == [
        sum(c * x**a * y**b for (a, b), c in coefficients.items()) for x, y in points
    ]


@pytest.mark.parametrize("where", [None, m + 2 * d <= 7])
def test_positions_invert_the_list_of_states(where):
    held = window(PLANE, ((1, 5), 3), where)
    order = {state: i for i, state in enumerate(held.states)}
    asked = [(x, y) for x in range(-2, 9) for y in range(-2, 6)]
    assert held.positions(np.array(asked)).tolist() == [order.get(s, -1) for s in asked]


def test_a_million_states():
    assert coordinates(PLANE, 999).shape == (10**6, 2)
    assert len(coordinates(PLANE, 999, m + d <= 999)) == 1000 * 1001 // 2
