"""GTH elimination in floating point: every entry against exact arithmetic."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
import sympy as sp
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from qtheory.errors import ModelError, NonConservativeError, ReducibleError
from qtheory.stationary.floats import gth as module
from qtheory.stationary.floats.gth import gth


def exact(rates: list[list[Fraction]]) -> list[Fraction]:
    """pi Q = 0 with sum 1, one balance equation replaced, by fraction-free linear algebra."""
    size = len(rates)
    system, right = fmpq_mat(size, size), fmpq_mat(size, 1)
    for i, row in enumerate(rates):
        for j, rate in enumerate(row):
            if i != j:
                value = fmpq(rate.numerator, rate.denominator)
                system[j, i] += value
                system[i, i] -= value
    for i in range(size):
        system[size - 1, i] = 1
    right[size - 1, 0] = 1
    found = system.solve(right)
    return [Fraction(int(found[i, 0].p), int(found[i, 0].q)) for i in range(size)]


def worst(law: np.ndarray, wanted: list[Fraction]) -> float:
    """The largest relative error of an entry."""
    return max(float(abs(Fraction(float(p)) - q) / q) for p, q in zip(law, wanted, strict=True))


def imitation(players: int, threshold: Fraction, mutation: Fraction) -> list[list[Fraction]]:
    """Kandori, Mailath, Rob (Econometrica 61, 1993): best replies of all players, mutations."""
    rows = []
    for adopters in range(players + 1):
        share = mutation / 2 if Fraction(adopters, players) < threshold else 1 - mutation / 2
        rows.append(
            [comb(players, k) * share**k * (1 - share) ** (players - k) for k in range(players + 1)]
        )
    return rows


@pytest.mark.parametrize(
    ("players", "mutation"), [(3, "1e-14"), (10, "1e-14"), (27, "1e-2"), (27, "1e-5")]
)
def test_rare_mutations_keep_every_digit(players, mutation):
    # QuantEcon.py#79: eigenvectors fail on these chains
    rows = imitation(players, Fraction(1, 3), Fraction(mutation))
    law = gth([[float(entry) for entry in row] for row in rows])
    assert worst(law, exact(rows)) < 1e-14


RATES = st.builds(lambda digits, power: Fraction(digits) * Fraction(10) ** power,
                  st.integers(1, 99), st.integers(-9, 9))  # fmt: skip


@st.composite
def irreducible(draw, largest: int = 9) -> list[list[Fraction]]:
    """A cycle through all states, and further rates."""
    size = draw(st.integers(2, largest))
    rows = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        rows[i][(i + 1) % size] = draw(RATES)
    places = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    for i, j in draw(st.lists(places, max_size=2 * size)):
        if i != j:
            rows[i][j] = draw(RATES)
    return rows


def generator_of(rows: list[list[Fraction]]) -> np.ndarray:
    rates = np.array([[float(rate) for rate in row] for row in rows])
    return rates - np.diag(rates.sum(axis=1))


@settings(max_examples=40, deadline=None)
@given(irreducible())
def test_entries_of_random_stiff_chains_are_accurate(rows):
    assert worst(gth(generator_of(rows)), exact(rows)) < 1e-13


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 130])
def test_panels_of_states_make_no_difference(size):
    draw = np.random.default_rng(size)
    rates = draw.random((size, size))
    np.fill_diagonal(rates, 0)
    law = gth(rates - np.diag(rates.sum(axis=1)))
    assert law.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(law @ rates, law * rates.sum(axis=1), rtol=1e-13)


def test_probabilities_and_rates_with_the_same_moves_have_one_law():
    moves = np.array([[0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0.125, 0.875]])
    law = gth(moves)
    np.testing.assert_array_equal(gth(moves - np.eye(3)), law)
    np.testing.assert_array_equal(gth(csr_array(moves)), law)
    np.testing.assert_array_equal(gth(sp.Matrix(moves.tolist())), law)
    np.testing.assert_allclose(law, [1 / 11, 2 / 11, 8 / 11], rtol=1e-15)


def test_rows_lead_away_from_a_state():
    # openturns#2673: a transposed matrix gives the uniform law
    law = gth([[0.5, 0, 0.5], [0.25, 0.75, 0], [0.25, 0.75, 0]])
    np.testing.assert_allclose(law, [1 / 3, 1 / 2, 1 / 6], rtol=1e-15)


def test_transient_states_get_zero():
    assert gth([[-2, 1, 1], [0, -3, 3], [0, 1, -1]]).tolist() == [0, 0.25, 0.75]
    # storm#1063: an absorbing state has a row of zeros
    assert gth([[-1e-4, 1e-4, 0], [0, -1e-4, 1e-4], [0, 0, 0]]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        ([[0, 0], [0, 0]], ReducibleError, r"no unique .*: 2 closed classes \{0\}, \{1\}$"),
        (np.eye(101), ReducibleError, r"101 closed classes \{0\}, \{1\}, \{2\}, \.\.\.$"),
        ([[1, 1], [2, 2]], NonConservativeError, "row 0 sums to 2"),
        ([[-1, 1], [0.5, 0.5]], NonConservativeError, "row 1 sums to 1: all rows must sum to 0"),
        ([[1, -1], [-2, 2]], ModelError, "negative rate -1 from state 0 to state 1"),
        ([[-1, 2], [0.5, 0.5]], ModelError, "negative rate -1 from state 0 to state 0"),
        ([[1, 0], [1.5, -0.5]], ModelError, "negative rate -0.5 from state 1 to state 1"),
        ([[-1, 1, 0], [1, -1, 0]], ModelError, "not square: 2 rows, 3 columns"),
        ([[float("nan"), 1], [1, -1]], ModelError, "not a finite number"),
        (sp.Matrix([["-a", "a"], [1, -1]]), ModelError, "give symbols their values"),
        ([1, 2], ModelError, "not a matrix: an array of 1 dimensions"),
        (np.zeros((0, 0)), ModelError, "the matrix has no states"),
    ],
)
def test_what_is_no_chain_is_refused(matrix, error, message):
    with pytest.raises(error, match=message):
        gth(matrix)


def test_large_dense_eliminations_are_refused(monkeypatch):
    monkeypatch.setattr(module, "GTH_LIMIT", 2)
    with pytest.raises(ModelError, match=r"3 states is too large \(limit 2\): use the sparse"):
        gth([[-1, 1, 0], [0, -1, 1], [1, 0, -1]])
