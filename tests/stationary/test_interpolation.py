"""Evaluation and interpolation: its arithmetic, and its agreement with both eliminations."""

from itertools import islice, product
from math import prod

import numpy as np
import pytest
from flint import Ordering, fmpz_mpoly_ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.errors import CertificateError, ModelError
from qtheory.model import rate_table
from qtheory.stationary import exact_law
from qtheory.stationary.exact import elimination
from qtheory.stationary.exact.elimination import minors, polynomial_weights
from qtheory.stationary.exact.grading import grading
from qtheory.stationary.exact.interpolation import interpolated_weights, shape_of
from qtheory.stationary.exact.modular import (
    fraction,
    from_digits,
    interpolation,
    inverse,
    mixed_digits,
    powers,
    primes,
    recurrences,
)
from qtheory.stationary.exact.modular import product as matrix_product
from qtheory.stationary.exact.ordering import minimum_degree_order
from qtheory.stationary.exact.primitive_rows import primitive_row_weights
from qtheory.stationary.exact.weights import primitive, unbalanced
from qtheory.systems import shorter_queue
from qtheory.systems.shorter_queue import d, m

PRIME = 2**31 - 1
CONTEXT = fmpz_mpoly_ctx.get(("a", "b", "c"), Ordering.degrevlex)
A, B, C = CONTEXT.gens()


def engines(rows, context=CONTEXT):
    """The weights without common factors by each of the three methods."""
    order = minimum_degree_order(rows)
    yield primitive(minors(rows, context, order))
    yield primitive(primitive_row_weights(rows, context, order))
    yield primitive(interpolated_weights(shape_of(rows, context), context))


def shorter_queue_rows(capacity):
    table = rate_table(shorter_queue.model(), capacity, where=m + d <= capacity)
    two = table.ring.context.constant(2)
    rows = [{j: r.num * (two / r.den) for j, r in row.items()} for row in table.rows]
    return rows, table.ring.context


# --- arithmetic modulo a prime ---


def test_primes():
    assert list(islice(primes(), 3)) == [2**31 - 1, 2**31 - 19, 2**31 - 61]


@given(st.lists(st.integers(1, PRIME - 1), min_size=1, max_size=40))
@settings(max_examples=30, deadline=None)
def test_inverses(values):
    array = np.array(values)
    assert (array * inverse(array, PRIME) % PRIME == 1).all()
    with pytest.raises(ZeroDivisionError):
        inverse(np.append(array, 0), PRIME)


def test_matrix_products_do_not_overflow():
    full = np.full((3, 200), PRIME - 1)
    assert (matrix_product(full, full.T, PRIME) == 200).all()


@given(st.lists(st.integers(0, PRIME - 1), min_size=1, max_size=12), st.randoms())
@settings(max_examples=30, deadline=None)
def test_interpolation_inverts_evaluation(coefficients, random):
    points = np.array(random.sample(range(1, PRIME), len(coefficients)))
    row = np.array([coefficients])
    values = matrix_product(row, powers(points, len(coefficients), PRIME), PRIME)
    found = matrix_product(interpolation(points, PRIME), values.T, PRIME)
    assert found[:, 0].tolist() == coefficients


@given(st.lists(st.integers(1, PRIME - 1), min_size=1, max_size=6), st.randoms())
@settings(max_examples=30, deadline=None)
def test_recurrence_of_a_sequence(coefficients, random):
    length = len(coefficients)
    terms = [random.randrange(1, PRIME) for _ in range(length)]
    while len(terms) < 2 * length + 6:
        terms.append(-sum(c * terms[-k] for k, c in enumerate(coefficients, 1)) % PRIME)
    found, lengths = recurrences(np.array([terms, [0] * len(terms)]), PRIME)
    assert lengths.tolist() == [length, 0]
    assert found[0, : length + 1].tolist() == [1, *coefficients]


@given(st.integers(-(10**9), 10**9).filter(bool), st.integers(1, 10**6))
@settings(max_examples=50, deadline=None)
def test_fractions_from_residues(above, below):
    modulus = prod(islice(primes(), 4))
    top, bottom = fraction(above * pow(below, -1, modulus) % modulus, modulus)
    assert bottom > 0 and top * below == above * bottom


@given(st.lists(st.integers(-(10**30), 10**30), min_size=1, max_size=9))
@settings(max_examples=30, deadline=None)
def test_chinese_remainders(numbers):
    moduli = list(islice(primes(), 5))
    residues = [np.array([number % p for number in numbers]) for p in moduli]
    digits = mixed_digits(residues, moduli)
    assert from_digits(digits, moduli).tolist() == numbers
    # four primes are enough, and the fifth digit says so
    assert not digits[-1].any()


# --- units of measurement ---


def test_speeds_have_one_unit():
    rows, context = shorter_queue_rows(2)
    found = grading(rows, context.nvars())
    assert found.units == (1,) and found.degrees == {1: (1, 1, 0)}


def test_units_of_powers_and_of_rows():
    # a^2 and b^3 in one row: a has degree 3 where b has 2; c is the speed of another row
    found = grading([{1: A**2, 2: B**3}, {0: C}, {0: C * B}], 3)
    assert found.units == (1, 2)
    assert found.degrees == {1: (3, 2, 0), 2: (0, 0, 1)}
    assert found.row_degrees == {1: (6, 0, 2), 2: (0, 1, 1)}


def test_no_units():
    assert grading([{1: A + 1}, {0: B + 1, 2: C + B}, {0: C + 1}], 3).units == ()


# --- three methods, one answer ---


@pytest.mark.parametrize("capacity", [1, 2, 4, 5])
def test_shorter_queue_by_three_methods(capacity):
    rows, context = shorter_queue_rows(capacity)
    first, second, third = engines(rows, context)
    assert first == second == third
    assert unbalanced(rows, third) is None


RATES = [A, B, C, A + B, A * B, 2 * A, A**2 + 3, CONTEXT.constant(1), 5 * B * C + 7]


@given(st.integers(2, 5), st.data())
@settings(max_examples=40, deadline=None)
def test_random_chains_by_three_methods(size, data):
    rows = [{} for _ in range(size)]
    for i, j in product(range(size), repeat=2):
        if j == (i + 1) % size or (i != j and data.draw(st.booleans())):
            rows[i][j] = data.draw(st.sampled_from(RATES))
    first, second, third = engines(rows)
    assert first == second == third


def test_large_coefficients_and_powers():
    big = 10**40 + 7
    rows = [{1: big * A**3}, {0: B, 2: A + big * C}, {1: B**2, 0: C}]
    first, second, third = engines(rows)
    assert first == second == third


def test_one_parameter_and_none():
    rows = [{1: 3 * A}, {0: A, 2: 2 * A}, {0: 5 * A}]
    assert shape_of(rows, CONTEXT).degrees == ()
    first, _, third = engines(rows)
    assert first == third and all(weight.is_constant() for weight in third)


def test_the_order_of_elimination_does_not_matter():
    rows, context = shorter_queue_rows(3)
    order = minimum_degree_order(rows)
    shapes = [shape_of(rows, context, o) for o in (order, order[::-1])]
    one, other = (primitive(interpolated_weights(s, context)) for s in shapes)
    assert one == other


def test_long_minors_switch_the_method(monkeypatch):
    table = rate_table(shorter_queue.model(), 4, where=m + d <= 4)
    law, said = exact_law(table), []
    monkeypatch.setattr(elimination, "MINOR_LIMIT", 10)
    assert exact_law(table, progress=said.append) == law
    assert any("135 points modulo prime number 2" in line for line in said)
    monkeypatch.setattr(elimination, "GRID_LIMIT", 10)
    said.clear()
    assert exact_law(table, progress=said.append) == law
    assert any("one by one" in line for line in said)


def test_a_wrong_result_does_not_pass(monkeypatch):
    table = rate_table(shorter_queue.model(), 4, where=m + d <= 4)

    def tampered(shape, context, progress=None):
        weights = interpolated_weights(shape, context, progress)
        return [weights[0] + 1, *weights[1:]]

    monkeypatch.setattr(elimination, "MINOR_LIMIT", 10)
    monkeypatch.setattr(elimination, "interpolated_weights", tampered)
    with pytest.raises(CertificateError, match="do not balance"):
        exact_law(table)


def test_rates_that_cancel():
    rows = [{1: A, 2: -A}, {0: B, 2: A}, {0: B}]
    with pytest.raises(ModelError, match="cancel"):
        shape_of(rows, CONTEXT, [0, 1, 2])
    with pytest.raises(ModelError, match="cancel"):
        polynomial_weights(rows, CONTEXT, [0, 1, 2])
