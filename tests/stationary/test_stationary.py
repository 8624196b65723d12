"""The one entry: which chain goes to which method, and what is refused."""

import networkx as nx
import pytest
import sympy as sp

from qtheory.domain import Domain
from qtheory.errors import ModelError, NonConservativeError, UnstableError
from qtheory.model import Model, Transition, rate_table, table_from_matrix
from qtheory.stationary import BirthDeathLaw, ExactLaw, stationary

lam, mu = sp.symbols("lambda mu", positive=True)
n, k = sp.symbols("n k", integer=True, nonnegative=True)

QUEUE = Model(n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
TANDEM = Model(
    (n, k),
    Domain(),
    [
        Transition(lam, (1, 0)),
        Transition(mu, (-1, 1), when=n >= 1),
        Transition(mu, (0, -1), when=k >= 1),
    ],
)


def test_every_kind_of_chain_gives_the_same_law():
    matrix = sp.Matrix([[-lam, lam, 0], [mu, -lam - mu, lam], [0, mu, -mu]])
    graph = nx.DiGraph()
    for i in range(2):
        graph.add_edge(i, i + 1, rate=lam)
        graph.add_edge(i + 1, i, rate=mu)
    wanted = [mu**2, lam * mu, lam**2]
    laws = [
        stationary(QUEUE, box=2),
        stationary(QUEUE, box=5, where=n <= 2),
        stationary(rate_table(QUEUE, 2)),
        stationary(graph),
        stationary(matrix),
        stationary(matrix.tolist()),
        stationary(table_from_matrix(matrix)),
    ]
    for law in laws:
        assert isinstance(law, ExactLaw)
        for state, weight in zip(law, wanted, strict=True):
            assert sp.cancel(law[state] - weight / sum(wanted)) == 0


def test_floats_mean_what_is_written():
    # symengine#447: floats in a symbolic elimination
    assert stationary([[-0.1, 0.1], [0.3, -0.3]])[0] == sp.Rational(3, 4)


def test_state_names_and_their_order_are_kept():
    graph = nx.DiGraph()
    graph.add_edge("busy", "idle", rate=mu)
    graph.add_edge("idle", "busy", rate=lam)
    law = stationary(graph)
    assert list(law) == ["busy", "idle"]
    assert sp.cancel(law["busy"] - lam / (lam + mu)) == 0


def test_without_a_box_a_birth_death_model_has_a_closed_form():
    assert isinstance(stationary(QUEUE), BirthDeathLaw)
    assert isinstance(stationary(QUEUE, method="closed_form"), BirthDeathLaw)
    assert isinstance(stationary(QUEUE, box=3, method="exact"), ExactLaw)


def test_a_finite_range_needs_no_box():
    bounded = Model(
        n,
        Domain(),
        [Transition(lam, +1, when=n <= 2), Transition(mu, -1, when=n >= 1)],
        ranges={n: (0, 3)},
    )
    law = stationary(bounded)
    assert isinstance(law, ExactLaw) and len(law) == 4
    with pytest.raises(ModelError, match="leave out the box"):
        stationary(bounded, method="closed_form")


def test_the_boundary_of_a_box():
    redirected = stationary(TANDEM, box=1, boundary="redirect")
    dropped = stationary(TANDEM, box=1)
    assert redirected.at({lam: 1, mu: 1}) != dropped.at({lam: 1, mu: 1})


def test_at_a_point():
    law = stationary(QUEUE, box=2, at={lam: 1, mu: 2})
    assert law.parameters == () and law[0] == sp.Rational(4, 7)
    assert stationary(rate_table(QUEUE, 2), at={lam: 1, mu: 2}) != law  # no named variables
    assert stationary(rate_table(QUEUE, 2), at={lam: 1, mu: 2}).at({}) == law.at({})
    with pytest.raises(UnstableError):
        stationary(QUEUE, at={lam: 2, mu: 1})


def test_what_needs_a_box_says_so():
    with pytest.raises(ModelError, match="no closed form for the state variables n, k: give a box"):
        stationary(TANDEM)
    with pytest.raises(ModelError, match="give a box"):
        stationary(QUEUE, method="exact")
    with pytest.raises(ModelError, match="leave out the box"):
        stationary(QUEUE, box=3, method="closed_form")
    with pytest.raises(ModelError, match="already finite"):
        stationary([[-1, 1], [1, -1]], box=3)
    with pytest.raises(ModelError, match="infinite lattice"):
        stationary([[-1, 1], [1, -1]], method="closed_form")
    with pytest.raises(ModelError, match="method must be"):
        stationary(QUEUE, method="fast")


def test_both_kinds_of_law_answer_the_same_questions():
    a, b = sp.symbols("a b", positive=True)
    n = sp.Symbol("n", integer=True, nonnegative=True)
    moves = [Transition(a, (1,)), Transition(b, (-1,), when=n >= 1)]
    whole = stationary(Model(n, Domain(stable=a < b), moves))
    part = stationary(Model(n, Domain(stable=a < b), moves), box=1)
    assert sp.cancel(part.mean() - a / (a + b)) == 0
    assert sp.cancel(part.variance() - a * b / (a + b) ** 2) == 0
    assert sp.cancel(whole.mean() - a / (b - a)) == 0
    assert sp.cancel(whole.probability(0) - (1 - a / b)) == 0
    assert sp.cancel(whole.probability(sp.And(n >= 1, n <= 2)) - (a / b - (a / b) ** 3)) == 0
    assert sp.cancel(part.probability(0) - b / (a + b)) == 0


def test_transition_matrices_are_told_by_their_rows():
    steps = [["1/2", "1/2", 0], [0, "1/2", "1/2"], [1, 0, 0]]
    law = stationary(steps)
    assert law.at({}) == stationary(table_from_matrix(steps, time="discrete")).at({})
    assert stationary([[0, 1], [1, 0]]).at({}) == {0: 0.5, 1: 0.5}
    assert str(stationary([["1-a", "a"], ["b", "1-b"]])[0]) == "b/(a + b)"
    for rows in ([[1, 0], [1, -1]], [["1/2", "1/2"], [0, 0]], [[-1, 2], [1, 0]]):
        with pytest.raises((NonConservativeError, ModelError)):
            stationary(rows)


@pytest.mark.parametrize("chain", [5, None, "abc", {0: {1: 2}}, {1, 2}])
def test_what_is_no_chain_is_refused(chain):
    with pytest.raises(ModelError, match="neither a model nor a table, a graph or a matrix"):
        stationary(chain)
