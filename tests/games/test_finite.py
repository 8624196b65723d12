"""Finite games: published degenerate ones, and completeness by brute force."""

from fractions import Fraction
from itertools import combinations

import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qtheory.errors import DomainError, ExpressionError
from qtheory.games import bimatrix


def fractions(*entries):
    return tuple(Fraction(entry) for entry in entries)


def negated(table):
    return [[-entry for entry in line] for line in table]


def check_all(game):
    found = game.equilibria()
    assert found.extreme
    assert all(game.regret(*pair) == 0 for pair in found.extreme)
    for rows, columns in found.subsets:
        mixed = [
            tuple(sum(entries) / len(side) for entries in zip(*side, strict=True))
            for side in (rows, columns)
        ]
        assert game.regret(*mixed) == 0
    return found


def test_eight_equilibria_of_a_game_of_costs():
    # Nashpy issue 82, whose author lists them
    A = [[0, 0, 6, 0, 0], [0, 0, 3, 2, 1], [4, 3, 0, 0, 1]]
    B = [[3, 0, 2, 1, 0], [0, 2, 0, 0, 4], [4, 0, 2, 4, 4]]
    found = check_all(bimatrix(negated(A), negated(B)))
    listed = {
        (fractions(1, 0, 0), fractions(0, 1, 0, 0, 0)),
        (fractions(1, 0, 0), fractions(0, 0, 0, 0, 1)),
        (fractions("2/3", "1/3", 0), fractions(0, 1, 0, 0, 0)),
        (fractions("1/3", "1/2", "1/6"), fractions(0, "4/9", "2/9", "1/3", 0)),
        (fractions(0, "1/2", "1/2"), fractions(0, "1/2", "1/2", 0, 0)),
        (fractions(0, 1, 0), fractions("3/7", 0, "4/7", 0, 0)),
        (fractions(0, 1, 0), fractions(1, 0, 0, 0, 0)),
        (fractions(0, 1, 0), fractions("3/8", 0, "1/4", "3/8", 0)),
    }
    assert set(found.extreme) == listed
    assert not found.is_finite


def test_degenerate_zero_sum_games():
    # Nashpy issue 39: four extreme equilibria span a square
    game = bimatrix([[0, 1, 0, -1], [-1, 0, 1, 1], [0, -1, 0, 1], [1, -1, -1, 0]])
    found = check_all(game)
    assert len(found) == 4
    assert len(found.subsets) == len(found.components) == 1
    # Nashpy issue 41
    one = check_all(bimatrix([[0, -1, 1, 1], [1, 0, -1, -1], [-1, 1, 0, -1], [-1, 1, 1, 0]]))
    assert one.extreme == ((fractions("1/3", "1/3", 0, "1/3"),) * 2,)
    # Nashpy issue 231
    M = [
        [0, -1, -1, -1, 1, -1],
        [1, 0, 1, -1, -1, -1],
        [1, -1, 0, -1, -1, 1],
        [1, 1, 1, 0, -1, -1],
        [-1, 1, 1, 1, 0, -1],
        [1, 1, -1, 1, 1, 0],
    ]
    six = check_all(bimatrix(M))
    assert six.extreme == ((fractions(0, 0, "1/3", 0, "1/3", "1/3"),) * 2,)


def test_a_decimal_payoff_keeps_the_equilibrium():
    # Nashpy issue 60: one entry changed from -50 to -33.3333333 lost it
    rows = [[-100, 0, 0, -100], [0, 0, 0, -100], [-100, 0, 0, 0], [0, 0, 0, -50]]
    found = check_all(bimatrix(rows))
    assert found.extreme == ((fractions(0, 0, "1/3", "2/3"), fractions("1/3", 0, 0, "2/3")),)
    rows[3][3] = -33.3333333
    changed = check_all(bimatrix(rows))
    weight = Fraction(333333333, 1333333333)
    assert changed.extreme == (((0, 0, weight, 1 - weight), (weight, 0, 0, 1 - weight)),)


def test_a_continuum_has_its_end_points():
    # Nashpy issue 222: (p, 1) with p from 0 to 2/7
    game = bimatrix([[-3, 3], [-3, 5]], [[2, 7], [4, 2]])
    found = check_all(game)
    assert found.extreme == (
        (fractions(0, 1), fractions(1, 0)),
        (fractions("2/7", "5/7"), fractions(1, 0)),
    )
    assert game.regret(("1/10", "9/10"), (1, 0)) == 0
    assert game.regret(("3/10", "7/10"), (1, 0)) > 0


def by_supports(game):
    """Equilibria of a non-degenerate game by equal supports, solved by SymPy."""
    m, n = game.shape
    A, B = sp.Matrix(game.rows), sp.Matrix(game.columns)
    found = set()
    for size in range(1, min(m, n) + 1):
        for R in combinations(range(m), size):
            for S in combinations(range(n), size):
                x = indifferent(B.T.extract(list(S), list(R)))
                y = indifferent(A.extract(list(R), list(S)))
                if x is None or y is None:
                    continue
                full = [
                    tuple(dict(zip(support, w, strict=True)).get(i, Fraction(0)) for i in range(k))
                    for support, w, k in ((R, x, m), (S, y, n))
                ]
                if game.regret(*full) == 0:
                    found.add(tuple(full))
    return found


def indifferent(payoffs):
    """Positive weights that make all lines pay the same."""
    size = payoffs.rows
    system = payoffs.row_join(-sp.ones(size, 1)).col_join(sp.ones(1, size).row_join(sp.zeros(1, 1)))
    if system.det() == 0:
        return None
    solved = system.LUsolve(sp.Matrix([0] * size + [1]))[:size]
    if any(w <= 0 for w in solved):
        return None
    return [Fraction(int(w.p), int(w.q)) for w in solved]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=18, max_size=18, unique=True))
def test_generic_games_against_equal_supports(entries):
    tables = [[entries[9 * t + 3 * i : 9 * t + 3 * i + 3] for i in range(3)] for t in (0, 1)]
    game = bimatrix(*tables)
    found = check_all(game)
    assume(found.is_finite and len(found) % 2)
    assert set(found.extreme) == by_supports(game)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_every_equilibrium_of_a_small_game_lies_in_a_subset(entries):
    game = bimatrix([entries[:2], entries[2:4]], [entries[4:6], entries[6:]])
    found = check_all(game)

    def inside(weight, side):
        values = [vertex[0] for vertex in side]
        return min(values) <= weight <= max(values)

    grid = [Fraction(i, 12) for i in range(13)]
    for x in grid:
        for y in grid:
            covered = any(inside(x, rows) and inside(y, cols) for rows, cols in found.subsets)
            assert covered == (game.regret((x, 1 - x), (y, 1 - y)) == 0)


def test_adding_a_constant_changes_nothing():
    # Gambit issue 654: a zero payoff changed the answer
    rows, columns = [[1, 0], [0, 2]], [[0, 3], [1, 0]]
    shifted = bimatrix([[e + 7 for e in line] for line in rows], columns)
    assert shifted.equilibria() == bimatrix(rows, columns).equilibria()


def test_bad_games_and_strategies():
    with pytest.raises(DomainError, match="without gaps"):
        bimatrix([[1, 2], [3]])
    with pytest.raises(DomainError, match="without gaps"):
        bimatrix([])
    with pytest.raises(DomainError, match="1 and 2 rows"):
        bimatrix([[1]], [[1], [2]])
    with pytest.raises(ExpressionError):
        bimatrix([[float("nan")]])
    game = bimatrix([[1, 0], [0, 1]])
    with pytest.raises(DomainError, match="not probabilities"):
        game.regret((1, 1), (1, 0))
    with pytest.raises(DomainError, match="needs 2 weights, got 3"):
        game.regret((1, 0, 0), (1, 0))
    with pytest.raises(DomainError, match="too large"):
        bimatrix([[0] * 12 for _ in range(12)]).equilibria()
