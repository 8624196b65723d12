"""The sparse solver against exact laws, closed forms and published values; stiff chains."""

from fractions import Fraction
from math import factorial

import networkx as nx
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array

from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError, NonConservativeError, ReducibleError
from qtheory.model import Model, Transition, generator, rate_table, table_from_matrix
from qtheory.stationary import exact_law
from qtheory.stationary.floats import sparse
from qtheory.stationary.floats.gth import gth
from qtheory.stationary.floats.refinement import Flows
from qtheory.stationary.floats.sparse import AccuracyError, solve, solve_rates, sparse_law
from qtheory.systems import shorter_queue as sq

lam, mu = sp.symbols("lambda mu", positive=True)
n = sp.Symbol("n", integer=True, nonnegative=True)
QUEUE = Model(
    n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)], name="M/M/1"
)

RATES = st.builds(
    lambda digits, power: Fraction(digits) * Fraction(10) ** power,
    st.integers(1, 99),
    st.integers(-6, 5),
)


@st.composite
def irreducible(draw, largest: int = 9) -> list[list[Fraction]]:
    """Rates over twelve decades: a cycle through all states, and further ones."""
    size = draw(st.integers(2, largest))
    rows = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        rows[i][(i + 1) % size] = draw(RATES)
    places = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    for i, j in draw(st.lists(places, max_size=2 * size)):
        if i != j:
            rows[i][j] = draw(RATES)
    return rows


def generator_of(rows) -> np.ndarray:
    rates = np.array([[float(rate) for rate in row] for row in rows])
    return rates - np.diag(rates.sum(axis=1))


def exact(rows: list[list[Fraction]]) -> np.ndarray:
    closed = [[v if i != j else -sum(row) for j, v in enumerate(row)] for i, row in enumerate(rows)]
    return np.array([float(v) for v in exact_law(table_from_matrix(closed)).at({}).values()])


def distance(law: np.ndarray, wanted: np.ndarray) -> float:
    return float(abs(law - wanted).sum() / 2)


@settings(max_examples=60, deadline=None)
@given(irreducible())
def test_stiff_chains_agree_with_exact_arithmetic(rows):
    found, wanted = solve(generator_of(rows)), exact(rows)
    np.testing.assert_allclose(found.probabilities, wanted, rtol=1e-13)
    assert found.residual < 1e-15
    # the rates are rounded, and so is each probability
    assert distance(found.probabilities, wanted) <= 3 * found.error + 2e-16


@settings(max_examples=30, deadline=None)
@given(irreducible(), st.randoms(use_true_random=False))
def test_names_order_and_unit_of_time_do_not_matter(rows, random):
    matrix = generator_of(rows)
    order = list(range(len(rows)))
    random.shuffle(order)
    law = solve(matrix).probabilities
    moved = solve(matrix[np.ix_(order, order)]).probabilities
    np.testing.assert_allclose(moved, law[order], rtol=1e-13)
    np.testing.assert_array_equal(solve(matrix / 2**20).probabilities, law)
    np.testing.assert_allclose(solve(matrix * 3e5).probabilities, law, rtol=1e-13)


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(2, 8))
def test_reversible_chains_have_the_law_they_were_made_of(data, size):
    # detailed balance: w_i q_ij = c_ij = c_ji
    weights = [data.draw(RATES) for _ in range(size)]
    rows = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            flow = data.draw(RATES) if j == i + 1 or data.draw(st.booleans()) else Fraction(0)
            rows[i][j], rows[j][i] = flow / weights[i], flow / weights[j]
    wanted = np.array([float(w / sum(weights)) for w in weights])
    np.testing.assert_allclose(solve(generator_of(rows)).probabilities, wanted, rtol=1e-13)


def blocks(coupling: float, size: int = 30) -> np.ndarray:
    """Two halves that hardly ever meet."""
    rates = np.random.default_rng(3).random((size, size))
    rates[: size // 2, size // 2 :] *= coupling
    rates[size // 2 :, : size // 2] *= 3 * coupling
    np.fill_diagonal(rates, 0)
    return rates


@pytest.mark.parametrize("coupling", [1e-4, 1e-8, 1e-12, 1e-15, 1e-20, 1e-100])
def test_nearly_decomposable_chains_keep_every_digit(coupling):
    rates = blocks(coupling)
    wanted = gth(rates - np.diag(rates.sum(axis=1)))
    found = solve_rates(csr_array(rates))
    np.testing.assert_allclose(found.probabilities, wanted, rtol=1e-14)
    assert 0.1 < wanted[:15].sum() < 0.9
    assert found.error < 1e-14


def test_where_rounding_wins_the_next_method_is_named(monkeypatch):
    monkeypatch.setattr(sparse, "GTH_LIMIT", 29)
    assert solve_rates(csr_array(blocks(1e-12))).error < 1e-15
    with pytest.raises(AccuracyError, match=r"of these 30 states.*use the exact method.*29 .*GTH"):
        solve_rates(csr_array(blocks(1e-20)))


@pytest.mark.parametrize("ratio", [0.5, 0.99, 1.0, 2.0, 1e3])
@pytest.mark.parametrize("pin", [0, 57, 199, None])
def test_any_state_may_be_fixed_first(ratio, pin):
    # the law of M/M/1/199 spans up to 600 decades
    rates = diags_array([np.full(199, ratio), np.ones(199)], offsets=[1, -1]).tocsr()
    found = solve_rates(rates, pin=pin)
    powers = (np.arange(200) - (199 if ratio > 1 else 0)) * np.log(ratio)
    wanted = np.exp(powers) / np.exp(powers).sum()
    np.testing.assert_allclose(found.probabilities, wanted, rtol=1e-12, atol=1e-290)


def test_the_surplus_of_flow_is_exact_to_twice_the_precision():
    draw = np.random.default_rng(5)
    rates, law = csr_array(blocks(1e-6)), draw.random(30)
    flows = Flows(rates)
    wanted, through = [Fraction(0)] * 30, [Fraction(0)] * 30
    for i, j, rate in zip(flows.sources, flows.targets, flows.rates, strict=True):
        flow = Fraction(float(law[i])) * Fraction(float(rate))
        wanted[j] += flow
        wanted[i] -= flow
        through[j] += flow
    for value, right, flow in zip(flows.surplus(law), wanted, through, strict=True):
        # the result itself is rounded once
        assert abs(Fraction(float(value)) - right) <= abs(right) * 2**-52 + flow * 2**-98


def test_the_response_is_the_change_of_the_law():
    rates = blocks(0.1, 10)
    law = solve_rates(csr_array(rates))
    more = np.zeros((10, 10))
    more[2, 7] = 1e-6 * rates[2, 7]
    changed = solve_rates(csr_array(rates + more)).probabilities - law.probabilities
    surplus = law.probabilities @ more - law.probabilities * more.sum(axis=1)
    np.testing.assert_allclose(law.response(surplus), changed, rtol=1e-5, atol=1e-14)
    assert sum(law.response(surplus)) == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize(
    ("rate", "p", "cost"),
    [
        (1, 0, 1.426320751167),
        (1, "1/2", 1.596560789354),
        ("1/2", 0, 0.550501032069),
        ("1/2", "1/2", 0.596182077806),
        ("3/2", 0, 3.672080290233),
    ],
)
def test_shorter_queue_reference_values(rate, p, cost):
    at = {"lambda": rate, "mu": 1, "p": p}
    law = sparse_law(sq.model(), {"m": 70, "d": 45}, at=at)
    assert law.expect("2*m + d") == pytest.approx(cost, abs=1e-12)
    values = {s: sp.Rational(v) for s, v in zip((sq.lam, sq.mu, sq.p), (rate, 1, p), strict=True)}
    # I1: V = |x1 - x2|; and as much work leaves as comes
    assert law.probability(sp.Eq(sq.d, 0)) == pytest.approx(
        float(sq.equal_queues.subs(values)), abs=1e-13
    )
    busy = law.expect(lambda state: (state[0] >= 1) + (state[0] + state[1] >= 1))
    assert busy == pytest.approx(float(sp.Rational(rate)), abs=1e-13)
    assert law.residual < 1e-15
    assert law.method == "sparse"


def test_two_queues_and_their_minimum_and_difference_agree():
    at = {"lambda": "3/2", "mu": 1, "p": "1/3"}
    delta = sp.Symbol("delta", integer=True)
    m = sq.m
    by_sides = Model(
        (m, delta),
        sq.domain,
        [
            Transition(sq.lam / 2, (0, +1), when=sp.Eq(delta, 0)),
            Transition(sq.lam / 2, (0, -1), when=sp.Eq(delta, 0)),
            Transition(sq.mu, (-1, +1), when=sp.Eq(delta, 0) & (m >= 1)),
            Transition(sq.mu, (-1, -1), when=sp.Eq(delta, 0) & (m >= 1)),
            *(
                transition
                for s, when in ((1, delta >= 1), (-1, delta <= -1))
                for transition in (
                    Transition(sq.lam * (1 - sq.p / 2), (+1, -s), when=when),
                    Transition(sq.lam * sq.p / 2, (0, s), when=when),
                    Transition(sq.mu, (0, -s), when=when),
                    Transition(sq.mu, (-1, s), when=when & (m >= 1)),
                )
            ),
        ],
    )
    whole = sparse_law(by_sides, {m: 12, delta: (-12, 12)}, [m + delta <= 12, m - delta <= 12], at)
    lumped = sparse_law(sq.model(), 12, "m + d <= 12", at)
    assert len(whole) == 13**2
    for (m_value, d_value), mass in zip(lumped, lumped.probabilities, strict=True):
        sides = {(m_value, d_value), (m_value, -d_value)}
        assert sum(whole[side] for side in sides) == pytest.approx(mass, rel=1e-13)


def test_erlang_loss_and_delay():
    # M/M/c/K: p_n = a^n/n! up to c servers, then times a/c
    queue = Model(
        n, Domain(), [Transition(lam, +1)] + [Transition(mu, -1, when=n >= k) for k in range(1, 5)]
    )
    law = sparse_law(queue, 60, at={lam: 3, mu: 1})
    weights = [
        3.0**k / factorial(k) if k <= 4 else 3.0**4 / 24 * 0.75 ** (k - 4) for k in range(61)
    ]
    np.testing.assert_allclose(law.probabilities, np.array(weights) / sum(weights), rtol=1e-14)


def test_equal_rates_give_the_uniform_law():
    free = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    law = sparse_law(free, 999, at={lam: "1/3", mu: "1/3"})
    np.testing.assert_allclose(law.probabilities, 1e-3, rtol=1e-13)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-15)


def test_transient_and_absorbing_states():
    # storm#1063: rates of 1e-4 into a state that is never left
    absorbing = [[-1e-4, 1e-4, 0, 0], [0, -1e-4, 1e-4, 0], [0] * 4, [0, 0, 1e-4, -1e-4]]
    found = solve(absorbing)
    assert (found.probabilities.tolist(), found.residual, found.error) == ([0, 0, 1, 0], 0, 0)
    law = solve([[-5, 2, 3], [0, -1, 1], [0, 4, -4]])
    np.testing.assert_allclose(law.probabilities, [0, 0.8, 0.2], rtol=1e-15)
    assert law.response(np.array([0, 1e-3, -1e-3])).tolist()[0] == 0
    assert solve([[0]]).probabilities.tolist() == [1]


def test_several_closed_classes_are_named():
    with pytest.raises(ReducibleError, match=r": 128 closed classes \{0\}, \{1\}, \{2\}, \.\.\.$"):
        solve(np.zeros((128, 128)))
    matrix = [[-2, 1, 1, 0], [0, 0, 0, 0], [0, 0, -1, 1], [0, 0, 1, -1]]
    with pytest.raises(ReducibleError, match=r"2 closed classes \{a\}, \{left, right\}$"):
        sparse_law(matrix, states=["start", "a", "left", "right"])
    pairs = Model(n, Domain(), [Transition(lam, +2), Transition(mu, -2, when=n >= 2)])
    with pytest.raises(ReducibleError, match=r"\{\(0,\), \(2,\), \(4,\), \.\.\.\}, \{\(1,\)"):
        sparse_law(pairs, 10, at={lam: 1, mu: 2})


def test_every_kind_of_chain_gives_the_same_law():
    at = {lam: "1/2", mu: 1}
    matrix = np.array([[-0.5, 0.5, 0], [1, -1.5, 0.5], [0, 1, -1]])
    symbolic = sp.Matrix([[-lam, lam, 0], [mu, -lam - mu, lam], [0, mu, -mu]])
    graph = nx.DiGraph()
    graph.add_edges_from([(0, 1, {"rate": 0.5}), (1, 2, {"rate": 0.5})])
    graph.add_edges_from([(1, 0, {"rate": 1}), (2, 1, {"rate": 1})])
    laws = [
        sparse_law(QUEUE, 2, at=at),
        sparse_law(QUEUE, 5, n <= 2, at),
        sparse_law(rate_table(QUEUE, 2), at=at),
        sparse_law(rate_table(QUEUE, 2, at=at)),
        sparse_law(graph),
        sparse_law(matrix),
        sparse_law(matrix.tolist()),
        sparse_law(csr_array(matrix)),
        sparse_law(symbolic, at=at),
        sparse_law(sp.Matrix(matrix.tolist())),
        sparse_law(generator(QUEUE, 2, at, "float")),
    ]
    for law in laws:
        np.testing.assert_allclose(law.probabilities, [4 / 7, 2 / 7, 1 / 7], rtol=1e-15)
        assert law[2] == law.probabilities[2]
    assert laws[2].parameters == {lam: Fraction(1, 2), mu: 1} == laws[0].parameters
    assert laws[0].truncation is None


def test_states_keep_their_names_and_order():
    law = sparse_law([[-1, 1], [3, -3]], states=["up", ("down", 1)])
    assert list(law) == ["up", ("down", 1)]
    assert law[("down", 1)] == 0.25


def test_rounds_of_discrete_time():
    coin = Model(
        n, Domain(), [Transition("1/4", +1), Transition("1/2", -1, when=n >= 1)], time="discrete"
    )
    law = sparse_law(coin, 3)
    np.testing.assert_allclose(law.probabilities, np.array([8, 4, 2, 1]) / 15, rtol=1e-15)
    np.testing.assert_array_equal(solve(generator(coin, 3, {}, "float")).probabilities,
                                  law.probabilities)  # fmt: skip


def test_a_redirected_move_changes_the_law():
    pair = Model(n, Domain(), [Transition(lam, +2), Transition(mu, -1, when=n >= 1)])
    at = {lam: 1, mu: 1}
    # 3 states: 0 -> 2, and with redirection also 1 -> 2
    assert sparse_law(pair, 2, at=at).probabilities == pytest.approx([1 / 3] * 3, rel=1e-15)
    redirected = sparse_law(pair, 2, at=at, boundary="redirect").probabilities
    assert redirected == pytest.approx([1 / 4, 1 / 4, 1 / 2], rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((QUEUE, 5, None, {lam: 2, mu: 1}), DomainError, "unstable: needs lambda < mu"),
        ((QUEUE, 5), DomainError, "no value given for"),
        ((QUEUE, None, None, {lam: 1, mu: 2}), ModelError, "n is unbounded"),
        ((QUEUE, 5, None, {lam: 1, mu: 2}, "drop", ["a"]), ModelError, "this chain has its own"),
        ((nx.DiGraph(), None, None, None, "drop", ["a"]), ModelError, "this chain has its own"),
        (([[-1, 1], [1, -1]], 3), ModelError, "a box is for a Model"),
        (
            ([[-1, 1], [1, -1]], None, None, None, "drop", "a"),
            ModelError,
            "1 different names",
        ),
        (
            ([[-1, 1], [1, -1]], None, None, None, "drop", "aa"),
            ModelError,
            "1 different names",
        ),
        (([[-1, 2], [1, -1]],), NonConservativeError, "row 0 sums to 1"),
        ((sp.Matrix([["-a", "a"], [1, -1]]),), DomainError, "no value given for a"),
        ((table_from_matrix([["-a", "a"], [1, -1]]), None, None, {"a": -1}), DomainError, "-1 < 0"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        sparse_law(*arguments)


def test_many_states_at_once():
    # two independent M/M/1/149 queues have a product law
    law = sparse_law(sq.bernoulli_model(), 149, at={"lambda": "9/5", "mu": 1})
    one = 0.9 ** np.arange(150)
    wanted = np.outer(one, one).ravel() / one.sum() ** 2
    np.testing.assert_allclose(law.probabilities, wanted, rtol=1e-12)
    assert distance(law.probabilities, wanted) <= 3 * law.error.value + 1e-15
    assert law.error.kind == "estimated"
    assert law.residual < 1e-16


def test_large_rates_are_not_mistaken_for_probabilities():
    # a rounding error of a row of 1e13 is larger than one
    law = solve([[-1e13, 1e13], [3e13, -3e13]]).probabilities
    assert law.tolist() == [0.75, 0.25]
    assert gth([[-1e300, 1e300], [3e300, -3e300]]).tolist() == [0.75, 0.25]


def test_rates_that_floats_cannot_compare_are_refused():
    for rates in ([[-1e300, 1e300], [1e-300, -1e-300]], [[-1e-200, 1e-200], [1.0, -1.0]]):
        for method in (solve, gth):
            with pytest.raises(AccuracyError, match="span too much for floats: use the exact"):
                method(rates)
    # 30 rare steps in a row: of order 1e-3000
    ladder = np.diag(np.full(30, 1e-100), 1) + np.diag(np.ones(30), -1)
    law = gth(ladder - np.diag(ladder.sum(axis=1)))
    assert law[0] == 1 and law[1] == pytest.approx(1e-100) and law[30] == 0


@pytest.mark.parametrize(("size", "seen"), [(500, True), (640, False), (700, False), (5200, False)])
def test_two_wells_whose_barrier_floats_do_not_see(size, seen):
    # by symmetry half of the mass is in each well: 10^(-size/2) lies between them
    towards = np.where(np.arange(size) < size / 2, 1.0, 10.0)
    rates = diags_array([towards, towards[::-1]], offsets=[1, -1], shape=(size + 1, size + 1))
    generator = csr_array(rates) - diags_array(csr_array(rates).sum(axis=1))
    for method in (gth, lambda matrix: solve(matrix).probabilities)[size > 5000 :]:
        if seen:
            law = method(generator)
            assert law[0] == pytest.approx(0.45, rel=1e-10) and law == pytest.approx(law[::-1])
        else:
            with pytest.raises(AccuracyError, match="use the exact method"):
                method(generator)


def test_complex_entries_are_refused():
    matrix = np.array([[-1 + 1j, 1 - 1j], [1, -1]])
    for kind in (csr_array, np.array):
        with pytest.raises(ModelError, match="complex entries"):
            solve(kind(matrix))
