"""Rate tables, state graphs and generators, against hand-made matrices and each other."""

from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Eq, Rational, symbols

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import (
    DomainError,
    ExpressionError,
    ModelError,
    NonConservativeError,
    UnstableError,
)
from qtheory.model import (
    Model,
    Transition,
    generator,
    lattice,
    rate_table,
    state_graph,
    table_from_graph,
    table_from_matrix,
)

lam, mu = symbols("lambda mu", positive=True)
p = sp.Symbol("p", nonnegative=True)
m, d, n = symbols("m d n", integer=True, nonnegative=True)
z = sp.Symbol("z", integer=True)
POINT = {lam: 1, mu: Rational(3, 4), p: 0.2}

MOVES = [
    Transition(lam, when=Eq(d, 0), jump=(0, +1)),
    Transition(2 * mu, when=Eq(d, 0) & (m >= 1), jump=(-1, +1)),
    Transition(lam * (1 - p / 2), when=d >= 1, jump=(+1, -1)),
    Transition(lam * p / 2, when=d >= 1, jump=(0, +1)),
    Transition(mu, when=d >= 1, jump=(0, -1)),
    Transition(mu, when=(d >= 1) & (m >= 1), jump=(-1, +1)),
]
DOMAIN = Domain(p <= 1, stable=lam < 2 * mu)
SHORTER = Model((m, d), DOMAIN, MOVES, name="shorter queue")
RIGHT, WRONG = lam * (1 - p / 2), lam * p / 2

DROPPED = {
    ((0, 0), (0, 1)): lam,
    ((0, 1), (0, 0)): mu,
    ((0, 1), (0, 2)): WRONG,
    ((0, 1), (1, 0)): RIGHT,
    ((0, 2), (0, 1)): mu,
    ((0, 2), (1, 1)): RIGHT,
    ((1, 0), (0, 1)): 2 * mu,
    ((1, 0), (1, 1)): lam,
    ((1, 1), (0, 2)): mu,
    ((1, 1), (1, 0)): mu,
    ((1, 1), (1, 2)): WRONG,
    ((1, 1), (2, 0)): RIGHT,
    ((1, 2), (1, 1)): mu,
    ((1, 2), (2, 1)): RIGHT,
    ((2, 0), (1, 1)): 2 * mu,
    ((2, 0), (2, 1)): lam,
    ((2, 1), (1, 2)): mu,
    ((2, 1), (2, 0)): mu,
    ((2, 1), (2, 2)): WRONG,
    ((2, 2), (2, 1)): mu,
}
REDIRECTED = DROPPED | {
    ((1, 2), (0, 2)): mu,
    ((2, 1), (2, 0)): mu + RIGHT,
    ((2, 2), (2, 1)): mu + RIGHT,
    ((2, 2), (1, 2)): mu,
}
SQUARE = [(i, j) for i in range(3) for j in range(3)]


def rates(table):
    """A table as a dictionary of SymPy rates by pairs of states."""
    return {
        (table.states[i], table.states[j]): table.ring.expression(rate)
        for i, row in enumerate(table.rows)
        for j, rate in row.items()
    }


def same(found, expected):
    return found.keys() == expected.keys() and all(
        sp.expand(found[key] - expected[key]) == 0 for key in expected
    )


def rational(matrix):
    """A flint matrix as lists of fractions."""
    return [[exact(entry) for entry in row] for row in matrix.tolist()]


@pytest.mark.parametrize(("boundary", "expected"), [("drop", DROPPED), ("redirect", REDIRECTED)])
def test_shorter_queue_on_a_square(boundary, expected):
    table = rate_table(SHORTER, 2, boundary=boundary)
    assert table.states == tuple(SQUARE) and table.time == "continuous"
    assert same(rates(table), expected)
    graph = state_graph(SHORTER, 2, boundary=boundary)
    assert list(graph) == SQUARE
    assert same({(s, t): rate for s, t, rate in graph.edges(data="rate")}, expected)
    assert list(graph.edges) == sorted(expected)
    assert graph.graph == {"name": "shorter queue", "time": "continuous", "boundary": boundary}
    matrix = generator(SHORTER, 2, boundary=boundary)
    for i, j in product(range(9), repeat=2):
        if i != j:
            wanted = expected.get((SQUARE[i], SQUARE[j]), 0)
        else:
            wanted = -sum(rate for (source, _), rate in expected.items() if source == SQUARE[i])
        assert sp.expand(matrix[i, j] - wanted) == 0


def test_single_rates_stay_as_they_were_written():
    edges = state_graph(SHORTER, 2).edges
    assert edges[(0, 1), (1, 0)]["rate"] == lam * (1 - p / 2)
    busy = Model(n, Domain(), [Transition(lam, 1), Transition(n * mu, -1, when=n >= 1)])
    assert state_graph(busy, 3).edges[(3,), (2,)]["rate"] == 3 * mu


def test_a_triangle_drops_what_leaves_it():
    table = rate_table(SHORTER, 2, where=m + d <= 2)
    kept = [state for state in SQUARE if sum(state) <= 2]
    assert list(table.states) == kept
    assert same(rates(table), {a: r for a, r in DROPPED.items() if a[0] in kept and a[1] in kept})
    with pytest.raises(ModelError, match=r"cannot redirect to \(2, 1\)"):
        rate_table(SHORTER, 2, where=m + d <= 2, boundary="redirect")


def test_the_fields_agree_at_a_point():
    exact_matrix = generator(SHORTER, 4, at=POINT)
    assert isinstance(exact_matrix, fmpq_mat)
    expected = rational(exact_matrix)
    assert all(sum(row) == 0 for row in expected)
    values = {s: sp.Rational(str(v)) for s, v in POINT.items()}
    symbolic = generator(SHORTER, 4)
    assert isinstance(symbolic, sp.ImmutableSparseMatrix)
    assert [[exact(e) for e in row] for row in symbolic.subs(values).tolist()] == expected
    at_point = generator(SHORTER, 4, at=POINT, field="symbolic")
    assert [[exact(e) for e in row] for row in at_point.tolist()] == expected
    balls = generator(SHORTER, 4, at=POINT, field="ball")
    for i, j in product(range(25), repeat=2):
        assert balls[i, j].contains(arb(fmpq(*expected[i][j].as_integer_ratio())))
        assert balls[i, j].rad() < 1e-9
    floats = generator(SHORTER, 4, at=POINT, field="float")
    assert floats.format == "csr"
    np.testing.assert_allclose(floats.toarray(), np.array(expected, dtype=float), rtol=1e-15)
    assert floats.nnz == sum(entry != 0 for row in expected for entry in row)


def test_finite_queue():
    queue = Model(
        n,
        Domain(),
        [Transition(lam, +1, when=n < 3), Transition(mu, -1, when=n >= 1)],
        ranges={n: (0, 3)},
        name="M/M/1/3",
    )
    assert generator(queue) == sp.Matrix(
        [
            [-lam, lam, 0, 0],
            [mu, -lam - mu, lam, 0],
            [0, mu, -lam - mu, lam],
            [0, 0, mu, -mu],
        ]
    )
    assert generator(queue) == generator(queue, boundary="redirect")


def test_servers_with_rates_that_grow_with_the_state():
    patience = Model(
        (n, m),
        Domain(),
        [
            Transition(lam * (2 - n) * (m + 1), (1, 0), when=n <= 2),
            Transition(n * mu / 2 + n**2, (-1, 0), when=n >= 1),
            Transition(1, (0, 1), when=m < 1),
        ],
        ranges={n: (0, 3), m: (0, 1)},
    )
    assert same(
        rates(rate_table(patience)),
        {
            ((0, 0), (1, 0)): 2 * lam,
            ((0, 1), (1, 1)): 4 * lam,
            ((1, 0), (2, 0)): lam,
            ((1, 1), (2, 1)): 2 * lam,
            ((1, 0), (0, 0)): mu / 2 + 1,
            ((1, 1), (0, 1)): mu / 2 + 1,
            ((2, 0), (1, 0)): mu + 4,
            ((2, 1), (1, 1)): mu + 4,
            ((3, 0), (2, 0)): 3 * mu / 2 + 9,
            ((3, 1), (2, 1)): 3 * mu / 2 + 9,
            ((0, 0), (0, 1)): 1,
            ((1, 0), (1, 1)): 1,
            ((2, 0), (2, 1)): 1,
            ((3, 0), (3, 1)): 1,
        },
    )
    at = {lam: Rational(1, 3), mu: 0.7}
    np.testing.assert_allclose(
        generator(patience, at=at, field="float").toarray(),
        np.array(rational(generator(patience, at=at)), dtype=float),
        rtol=1e-14,
    )


def test_discrete_queue():
    a, b = symbols("a b", positive=True)
    queue = Model(
        n,
        Domain(a + b <= 1),
        [Transition(a, +1), Transition(b, -1, when=n >= 1), Transition(1 - a - b, 0)],
        time="discrete",
    )
    matrix = generator(queue, 2)
    assert matrix.applyfunc(sp.expand) == sp.Matrix(
        [[1 - a, a, 0], [b, 1 - a - b, a], [0, b, 1 - b]]
    )
    at = {a: 0.25, b: 0.5}
    assert rational(generator(queue, 2, at=at)) == [
        [Fraction(3, 4), Fraction(1, 4), 0],
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [0, Fraction(1, 2), Fraction(1, 2)],
    ]
    assert generator(queue, 2, at=at, field="float").toarray().tolist() == [
        [0.75, 0.25, 0],
        [0.5, 0.25, 0.25],
        [0, 0.5, 0.5],
    ]
    assert rate_table(queue, 2).time == "discrete"
    assert table_from_graph(state_graph(queue, 2)).time == "discrete"


def test_walk_on_the_integers():
    walk = Model(
        z,
        Domain(),
        [Transition(lam, +1, when=z <= 0), Transition(mu, -2), Transition(1, +1, when=z >= 0)],
    )
    assert same(
        rates(rate_table(walk, [(-2, 1)])),
        {
            ((-2,), (-1,)): lam,
            ((-1,), (0,)): lam,
            ((0,), (1,)): lam + 1,
            ((0,), (-2,)): mu,
            ((1,), (-1,)): mu,
        },
    )
    redirected = rates(rate_table(walk, [(-2, 1)], boundary="redirect"))
    assert redirected[(-1,), (-2,)] == mu and ((-2,), (-2,)) not in redirected


def test_rates_that_vanish_are_no_entries():
    at = {lam: 1, mu: 1, p: 0}
    table = rate_table(SHORTER, 2, at=at)
    assert len(rates(table)) == len(DROPPED) - 3
    assert table.ring.names == ()
    idle = Model(n, Domain(), [Transition(0, 1), Transition(n, +1), Transition(lam, 0)])
    assert set(rates(rate_table(idle, 2))) == {((1,), (2,))}
    assert list(state_graph(idle, 2).edges) == [((1,), (2,))]
    assert generator(idle, 2, at={lam: 1}, field="float").nnz == 2


def test_absorbing_rows_are_zero():
    pure_death = Model(n, Domain(), [Transition(mu, -1, when=n >= 1)])
    matrix = generator(pure_death, 2, at={mu: 0.0001})
    assert rational(matrix)[0] == [0, 0, 0]
    assert generator(pure_death, 2, at={mu: 1}, field="float").toarray()[0].tolist() == [0, 0, 0]


def test_rates_at_a_point_need_a_point_of_the_domain():
    with pytest.raises(UnstableError, match=r"needs lambda < 2\*mu, got lambda = 3, mu = 1"):
        rate_table(SHORTER, 2, at={lam: 3, mu: 1, p: 0})
    with pytest.raises(DomainError, match="no value given for p"):
        generator(SHORTER, 2, at={lam: 1, mu: 1})
    with pytest.raises(DomainError, match="needs p <= 1"):
        generator(SHORTER, 2, at={lam: 1, mu: 1, p: 2}, field="float")
    with pytest.raises(ModelError, match="field 'float' needs values for p, lambda, mu"):
        generator(SHORTER, 2, field="float")
    with pytest.raises(ModelError, match="field must be symbolic, rational, ball or float"):
        generator(SHORTER, 2, at=POINT, field="double")
    with pytest.raises(ModelError, match="boundary must be 'drop' or 'redirect'"):
        generator(SHORTER, 2, boundary="reflect")
    for field in ("rational", "ball"):
        with pytest.raises(ModelError, match=f"a dense {field} matrix of 10201 states"):
            generator(SHORTER, 100, at=POINT, field=field)


@pytest.mark.parametrize("where", [None, m + d <= 1412])
def test_a_million_states(where):
    matrix = generator(SHORTER, 999 if where is None else 1412, POINT, "float", where)
    assert matrix.shape[0] == (10**6 if where is None else 1413 * 1414 // 2)
    assert abs(matrix.sum(axis=1)).max() < 1e-14
    i = 1000 * 400 + 7 if where is None else sum(1413 - k for k in range(400)) + 7
    row = matrix[[i]].tocoo()
    below = 999 if where is None else 1413 - 399 - 1
    above = 999 if where is None else 1413 - 400 - 1
    expected = {i - 1: 0.75, i + 1: 0.1, i - below: 0.75, i + above: 0.9, i: -2.5}
    assert dict(zip(row.coords[1].tolist(), row.data.tolist(), strict=True)) == pytest.approx(
        expected
    )


# --- against a plain loop over states and transitions, on random models -------------------------

moves = st.tuples(
    st.fractions(0, 5, max_denominator=6),
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
)


def modelled(listed):
    """Random moves as a model on the quadrant and as plain data."""
    transitions, plain = [], []
    for rate, jump, (low_m, low_d), (power_m, power_d) in listed:
        low = (max(low_m, -jump[0]), max(low_d, -jump[1]))
        transitions.append(
            Transition(
                Rational(*rate.as_integer_ratio()) * m**power_m * d**power_d,
                jump,
                when=(m >= low[0]) & (d >= low[1]),
            )
        )
        plain.append((rate, jump, low, (power_m, power_d)))
    return Model((m, d), Domain(), transitions), plain


def looped(states, plain, high, boundary):
    """The generator by a loop over states and moves."""
    order = {state: i for i, state in enumerate(states)}
    matrix = [[Fraction(0)] * len(states) for _ in states]
    for (x, y), i in order.items():
        for rate, jump, low, (a, b) in plain:
            if x < low[0] or y < low[1]:
                continue
            target = (x + jump[0], y + jump[1])
            if boundary == "redirect":
                target = (min(target[0], high), min(target[1], high))
            if target in order:
                matrix[i][order[target]] += rate * x**a * y**b
                matrix[i][i] -= rate * x**a * y**b
    return matrix


@settings(max_examples=40, deadline=None)
@given(
    st.lists(moves, min_size=1, max_size=5),
    st.sampled_from([("drop", None), ("redirect", None), ("drop", m + d <= 4)]),
)
def test_random_models_against_a_loop(listed, options):
    boundary, where = options
    model, plain = modelled(listed)
    states = [s for s in product(range(4), repeat=2) if where is None or sum(s) <= 4]
    assert lattice(model, 3, where) == states
    expected = looped(states, plain, 3, boundary)
    found = generator(model, 3, {}, where=where, boundary=boundary)
    assert rational(found) == expected
    floats = generator(model, 3, {}, "float", where, boundary)
    np.testing.assert_allclose(
        floats.toarray(), np.array(expected, dtype=float), rtol=1e-13, atol=1e-12
    )
    graph = state_graph(model, 3, where, boundary)
    symbolic = generator(model, 3, where=where, boundary=boundary)
    for i, j in product(range(len(states)), repeat=2):
        assert exact(symbolic[i, j]) == expected[i][j]
        if i != j:
            data = graph.get_edge_data(states[i], states[j], {"rate": sp.Integer(0)})
            assert exact(data["rate"]) == expected[i][j]
    assert rates(table_from_graph(graph)) == rates(rate_table(model, 3, where, boundary))


@settings(max_examples=20, deadline=None)
@given(st.permutations(MOVES))
def test_the_order_of_transitions_does_not_matter(order):
    assert same(rates(rate_table(Model((m, d), DOMAIN, order), 2)), DROPPED)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.fractions(0, 1, max_denominator=9))
def test_parallel_transitions_are_summed(k, share):
    split, part = MOVES[k], Rational(*share.as_integer_ratio())
    doubled = [
        *MOVES[:k],
        Transition(part * split.rate, split.jump, split.when),
        *MOVES[k + 1 :],
        Transition((1 - part) * split.rate, split.jump, split.when),
    ]
    model = Model((m, d), DOMAIN, doubled)
    assert same(rates(rate_table(model, 2)), DROPPED)
    graph = state_graph(model, 2)
    assert same({(s, t): rate for s, t, rate in graph.edges(data="rate")}, DROPPED)


def test_renaming_and_reordering_the_variables():
    x, y = symbols("x y", integer=True, nonnegative=True)
    swapped = [
        Transition(t.rate, t.jump[::-1], t.when if t.when is True else t.when.subs({m: y, d: x}))
        for t in MOVES
    ]
    found = rates(rate_table(Model((x, y), DOMAIN, swapped), 2))
    assert same({(s[::-1], t[::-1]): rate for (s, t), rate in found.items()}, DROPPED)


# --- chains from matrices and graphs ------------------------------------------------------------


@pytest.mark.parametrize(
    "matrix",
    [
        [[-1, 1, 0], ["1/2", "-3/2", 1], [0, 2, -2]],
        sp.Matrix([[-1, 1, 0], [Rational(1, 2), -Rational(3, 2), 1], [0, 2, -2]]),
        np.array([[-1, 1, 0], [0.5, -1.5, 1], [0, 2, -2]]),
        fmpq_mat([[fmpq(-1), fmpq(1), 0], [fmpq(1, 2), fmpq(-3, 2), 1], [0, 2, -2]]),
        ((-1, 1, 0), (0.5, -1.5, 1), (0, 2, -2)),
    ],
)
def test_every_kind_of_matrix(matrix):
    table = table_from_matrix(matrix, states=["a", "b", "c"])
    assert rates(table) == {
        ("a", "b"): 1,
        ("b", "a"): Rational(1, 2),
        ("b", "c"): 1,
        ("c", "b"): 2,
    }


def test_matrices_come_back_from_generators():
    table = rate_table(SHORTER, 3)
    states = table.states
    assert same(rates(table_from_matrix(generator(SHORTER, 3), states)), rates(table))
    at_point = rates(rate_table(SHORTER, 3, at=POINT))
    assert rates(table_from_matrix(generator(SHORTER, 3, at=POINT), states)) == at_point
    floats = generator(SHORTER, 3, at=POINT, field="float")
    assert rates(table_from_matrix(floats, states)) == at_point


def test_rows_of_floats_may_miss_their_sum_by_rounding():
    assert rates(table_from_matrix([[-0.3, 0.1 + 0.2], [1, -1]]))[1, 0] == 1
    with pytest.raises(NonConservativeError, match="sums to"):
        table_from_matrix([[-0.3, 0.3 + 1e-9], [1, -1]])


def test_transition_matrices():
    third = 1 / 3
    table = table_from_matrix([[third, 1 - third], [0.25, 0.75]], time="discrete")
    assert rates(table)[1, 0] == Rational(1, 4)
    assert rates(table_from_matrix(np.eye(3), time="discrete")) == {}
    a = sp.Symbol("a")
    assert rates(table_from_matrix([[1 - a, a], [0.5, 0.5]], time="discrete"))[0, 1] == a


@pytest.mark.parametrize(
    ("matrix", "options", "kind", "message"),
    [
        ([[1, 1], [2, 2]], {}, NonConservativeError, r"row 0 \(state 0\) sums to 2, not to 0"),
        ([[-1, 1], [2, 2]], {"states": "ab"}, NonConservativeError, r"row 1 \(state b\) sums to 4"),
        ([[-lam, mu], [0, 0]], {}, NonConservativeError, r"sums to -lambda \+ mu, not to 0"),
        (
            [[0.5, 0.4], [0, 1]],
            {"time": "discrete"},
            NonConservativeError,
            "sums to 9/10, not to 1",
        ),
        ([[0, 0], [0, 1]], {"time": "discrete"}, NonConservativeError, "row 0 .* sums to 0"),
        ([["-1", "1.000000000001"], [0, 0]], {}, NonConservativeError, "sums to 1/1000000000000"),
        ([[1, -1], [1, -1]], {}, ModelError, "negative rate -1 from state 0 to state 1"),
        ([[-1, 2], [0, 1]], {"time": "discrete"}, ModelError, "negative rate -1 from state 0"),
        ([[-1, 1]], {}, ModelError, "not square: 1 rows, row 0 has 2 entries"),
        ([[-1, 1], [1]], {}, ModelError, "row 1 has 1 entries"),
        ([], {}, ModelError, "no states"),
        ([1, 2], {}, ModelError, "not square"),
        ([[-1, 1], [1, -1]], {"states": "abc"}, ModelError, "3 states named for a matrix with 2"),
        ([[-1, 1], [1, -1]], {"states": "aa"}, ModelError, "state a is named twice"),
        ([[-1, 1], [1, -1]], {"time": "daily"}, ModelError, "time must be"),
        ([[float("nan"), 1], [1, -1]], {}, ExpressionError, "not a rational number: nan"),
        ([[-1, float("inf")], [1, -1]], {}, ExpressionError, "not a rational number: inf"),
    ],
)
def test_bad_matrices_are_refused(matrix, options, kind, message):
    with pytest.raises(kind, match=message):
        table_from_matrix(matrix, **options)


def test_graphs_in_their_own_order():
    graph = nx.DiGraph()
    graph.add_nodes_from(["z", "a", (1, 2)])
    graph.add_edge("a", "z", rate="lam/2")
    graph.add_edge("z", (1, 2), rate=0.1)
    graph.add_edge("z", "a", rate=lam)
    graph.add_edge("a", "a", rate=7)
    table = table_from_graph(graph)
    assert table.states == ("z", "a", (1, 2)) and table.time == "continuous"
    assert same(
        rates(table),
        {
            ("z", "a"): sp.Symbol("lambda", positive=True),
            ("z", (1, 2)): Rational(1, 10),
            ("a", "z"): next(iter(table.ring.symbols)) / 2,
        },
    )
    assert list(table.rows[0]) == [1, 2]


def test_parallel_edges_are_summed():
    graph = nx.MultiDiGraph([(0, 1, {"rate": 1}), (0, 1, {"rate": 2}), (1, 0, {"rate": 0})])
    assert rates(table_from_graph(graph)) == {(0, 1): 3}


@pytest.mark.parametrize(
    ("graph", "time", "kind", "message"),
    [
        (nx.DiGraph([(0, 1)]), None, ModelError, "the edge from 0 to 1 has no rate"),
        (nx.Graph([(0, 1, {"rate": 1})]), None, ModelError, "not directed"),
        (nx.DiGraph(), None, ModelError, "no states"),
        (
            nx.DiGraph([(0, 1, {"rate": -2})]),
            None,
            ModelError,
            "negative rate -2 from state 0 to state 1",
        ),
        (
            nx.DiGraph([(0, 1, {"rate": 0.5}), (0, 2, {"rate": 0.6})]),
            "discrete",
            NonConservativeError,
            "the row of state 0 sums to 11/10 > 1",
        ),
        (nx.DiGraph([(0, 1, {"rate": 1})]), "weekly", ModelError, "time must be"),
    ],
)
def test_bad_graphs_are_refused(graph, time, kind, message):
    with pytest.raises(kind, match=message):
        table_from_graph(graph, time)
