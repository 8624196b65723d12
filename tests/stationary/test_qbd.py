"""Matrix-geometric laws: numbers against closed forms and against large finite chains."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve

from qtheory import Domain, Model, Transition, generator, stationary
from qtheory.balls import Enclosure
from qtheory.errors import DomainError, ExpressionError, ModelError, ReducibleError, UnstableError
from qtheory.model import coordinates
from qtheory.stationary.floats.sparse import AccuracyError
from qtheory.stationary.qbd import matrix_geometric

lam, mu, nu = sp.symbols("lambda mu nu", positive=True)
n, k = sp.symbols("n k", integer=True, nonnegative=True)
x = sp.Symbol("x", integer=True)


def several_servers(c):
    """M/M/c."""
    return Model(
        n,
        Domain(stable=lam < c * mu),
        [
            Transition(lam, +1),
            *([Transition(mu * n, -1, when=(n >= 1) & (n < c))] if c > 1 else []),
            Transition(c * mu, -1, when=n >= c),
        ],
    )


def two_speeds(slow="1/2", fast=3):
    """M/M/1 in a random environment k: it has no closed form."""
    return Model(
        (n, k),
        Domain(),
        [
            Transition(lam, (1, 0)),
            Transition(slow, (-1, 0), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(fast, (-1, 0), when=(n >= 1) & sp.Eq(k, 1)),
            Transition(nu, (0, 1), when=sp.Eq(k, 0)),
            Transition(nu, (0, -1), when=sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )


def solved(model, box, at):
    """The law on a large window by SciPy, and its states: a second method."""
    rates = generator(model, box=box, at=at, field="float").tocsc()
    rest = spsolve(rates.T[1:, 1:].tocsc(), -rates.T[1:, [0]].toarray().ravel())
    law = np.concatenate([[1.0], rest])
    return law / law.sum(), coordinates(model, box)


@pytest.mark.parametrize("c", [1, 2, 5])
def test_one_phase_is_a_birth_death_chain(c):
    model = several_servers(c)
    whole = stationary(model)
    law = matrix_geometric(model)
    assert sp.cancel(law.mean() - whole.mean()) == 0
    assert sp.cancel(law.variance() - whole.variance()) == 0
    assert law.R == sp.ImmutableMatrix([[lam / (c * mu)]]) and law.G == sp.ImmutableMatrix([[1]])
    for i in (0, 1, c, c + 3):
        assert sp.cancel(law[i] - whole.pmf(i)) == 0
        assert sp.cancel(law.pmf(i) - whole.pmf(i)) == 0
        assert sp.cancel(law.tail(i) - whole.tail(i)) == 0


def test_float_and_ball_laws_of_the_same_chain():
    at = {lam: "7/2", mu: 1}
    exact = stationary(several_servers(4), at=at)
    rough = matrix_geometric(several_servers(4), at)
    proven = matrix_geometric(several_servers(4), at, digits=40)
    assert rough.mean() == pytest.approx(float(exact.mean()), rel=1e-13)
    assert rough.residual < 1e-14 and rough.method == proven.method == "matrix_geometric"
    assert (rough.arithmetic, proven.arithmetic) == ("floats", "balls")
    for question in (
        lambda law: law.mean(),
        lambda law: law.variance(),
        lambda law: law.tail(9),
        lambda law: law.pmf(30),
        lambda law: law.expect(n**3 - 2 * n),
        lambda law: law.probability((n >= 2) & (n <= 8)),
    ):
        value = question(proven)
        assert isinstance(value, Enclosure) and value.digits == 40
        assert Fraction(str(question(exact))) in value
        assert 0 < value.upper - value.lower < Fraction(1, 10**36)
        assert question(rough) == pytest.approx(float(value), rel=1e-12)


def test_matrices_solve_their_equations():
    at = {lam: 1, nu: "1/3"}
    law = matrix_geometric(two_speeds(), at)
    up, down = np.eye(2), np.diag([0.5, 3])
    level = np.array([[-1.5 - 1 / 3, 1 / 3], [1 / 3, -4 - 1 / 3]])
    assert abs(up + law.R @ level + law.R @ law.R @ down).max() < 1e-14
    assert abs(down + level @ law.G + up @ law.G @ law.G).max() < 1e-14
    assert abs(law.G.sum(axis=1) - 1).max() < 1e-14
    # up with rate 1, down with rate (1/2 + 3)/2: the environment is half of the time in each
    assert law.drifts[0].up == 1 and law.drifts[0].down == sp.Rational(7, 4)
    assert max(abs(np.linalg.eigvals(law.R))) < 1
    balls = matrix_geometric(two_speeds(), at, digits=30)
    for i in range(2):
        assert 1 in Enclosure(*_ends(sum(balls.G[i, j] for j in range(2))), 30)
        for j in range(2):
            assert float(balls.R[i, j]) == pytest.approx(law.R[i, j], rel=1e-13)


def _ends(ball):
    middle, radius = (Fraction(int(v.fmpq().p), int(v.fmpq().q)) for v in (ball.mid(), ball.rad()))
    return middle - radius, middle + radius


def test_answers_agree_with_a_large_finite_chain():
    at = {lam: 1, nu: "1/3"}
    law = matrix_geometric(two_speeds(), at)
    masses, states = solved(two_speeds(), {n: 250}, at)
    ns, ks = states.T
    for f, values in (
        (n, ns),
        (n**2 * k, ns**2 * ks),
        ("n*k + lam", ns * ks + 1),
        (sp.sqrt(k + 2) * n, np.sqrt(ks + 2) * ns),
        (sp.Max(k, 3), 0 * ks + 3),
    ):
        assert law.expect(f) == pytest.approx(masses @ values, rel=1e-11)
    for event, inside in (
        (n >= 3, ns >= 3),
        ((n >= 2) & sp.Eq(k, 1), (ns >= 2) & (ks == 1)),
        ("n <= 4", ns <= 4),
        (k >= 1, ks >= 1),
    ):
        assert law.probability(event) == pytest.approx(masses[inside].sum(), rel=1e-11)
    assert law.marginal(k) == pytest.approx({0: 0.5, 1: 0.5}, rel=1e-12)
    assert law[(7, 1)] == pytest.approx(masses[(ns == 7) & (ks == 1)][0], rel=1e-11)
    assert law.probability((7, 1)) == law[(7, 1)]


def test_the_level_need_not_come_first_nor_start_at_zero():
    moved = Model(
        (x, n),
        Domain(),
        [
            Transition(lam, (0, 1)),
            Transition("1/2", (0, -1), when=(n >= 4) & sp.Eq(x, -1)),
            Transition(3, (0, -1), when=(n >= 4) & sp.Eq(x, 0)),
            Transition(nu, (1, 0), when=sp.Eq(x, -1)),
            Transition(nu, (-1, 0), when=sp.Eq(x, 0)),
        ],
        ranges={x: (-1, 0), n: (3, None)},
    )
    at = {lam: 1, nu: 1}
    law, plain = matrix_geometric(moved, at), matrix_geometric(two_speeds(), at)
    assert law.level == n and law.threshold == 4
    assert law.mean() == pytest.approx(plain.mean() + 3, rel=1e-13)
    assert law[(-1, 9)] == pytest.approx(plain[(6, 0)], rel=1e-12)
    assert law.pmf(2) == 0


def test_jumps_of_several_levels_are_grouped():
    # batches of 2 and 3 arrive, two jobs are served at once
    model = Model(
        (n, k),
        Domain(),
        [
            Transition(lam, (2, 0), when=sp.Eq(k, 0)),
            Transition("1/5", (3, 0), when=sp.Eq(k, 1)),
            Transition(3, (-2, 0), when=n >= 2),
            Transition(1, (-1, 0), when=sp.Eq(n, 1)),
            Transition(1, (0, 1), when=sp.Eq(k, 0)),
            Transition(2, (0, -1), when=sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )
    at = {lam: "3/2"}
    law = matrix_geometric(model, at)
    masses, states = solved(model, {n: 400}, at)
    assert law.size == 3 and "groups of 3 levels" in repr(law)
    assert law.mean() == pytest.approx(masses @ states[:, 0], rel=1e-11)
    assert law.expect(n**2 * (1 + k)) == pytest.approx(
        masses @ (states[:, 0] ** 2 * (1 + states[:, 1])), rel=1e-11
    )
    for level in (0, 1, 2, 5, 9, 10, 11):
        assert law.pmf(level) == pytest.approx(masses[states[:, 0] == level].sum(), rel=1e-10)
        assert law.tail(level) == pytest.approx(masses[states[:, 0] >= level].sum(), rel=1e-10)
    assert float(matrix_geometric(model, at, 25).mean()) == pytest.approx(law.mean(), rel=1e-13)


@st.composite
def level_processes(draw):
    """Chains with up to three phases that drift down, other at level 1 than above."""
    phases = draw(st.integers(1, 3))
    moves = []

    def add(jump, i, j, rate, where=sp.true):
        if rate:
            moves.append(Transition(sp.Rational(rate, 2), (jump, j - i), where & sp.Eq(k, i)))

    for i in range(phases):
        goal = st.integers(0, phases - 1)
        add(1, i, draw(goal), draw(st.integers(0, 3)))
        add(-1, i, draw(goal), draw(st.integers(7, 9)), n >= 2)
        add(-1, i, draw(goal), draw(st.integers(1, 9)), sp.Eq(n, 1))
        if phases > 1:
            add(0, i, (i + 1) % phases, draw(st.integers(1, 4)))
    return Model((n, k), Domain(), moves, ranges={k: (0, phases - 1)})


@settings(max_examples=15, deadline=None)
@given(level_processes())
def test_random_chains_agree_with_truncation(model):
    masses, states = solved(model, {n: 80}, {})
    law, proven = matrix_geometric(model, {}), matrix_geometric(model, digits=20)
    for level in range(6):
        here = masses[states[:, 0] == level].sum()
        assert law.pmf(level) == pytest.approx(here, rel=1e-9, abs=1e-13)
        assert float(proven.pmf(level)) == pytest.approx(here, rel=1e-9, abs=1e-13)
    assert law.mean() == pytest.approx(masses @ states[:, 0], rel=1e-8)
    assert law.residual < 1e-14 and proven.residual < 1e-20


def test_transient_states_have_probability_zero():
    # (0, 1) is left for good: an arrival finds k = 0
    model = Model(
        (n, k),
        Domain(),
        [
            Transition(1, (1, 0), when=n >= 1),
            Transition(1, (1, 0), when=sp.Eq(n, 0) & sp.Eq(k, 0)),
            Transition(1, (1, -1), when=sp.Eq(n, 0) & sp.Eq(k, 1)),
            Transition(1, (0, 1), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(3, (-1, -1), when=(n >= 1) & sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )
    with pytest.raises(UnstableError):
        matrix_geometric(model, {})
    quicker = Model(
        model.state,
        model.domain,
        [*model.transitions, Transition(2, (0, 1), when=(n >= 1) & sp.Eq(k, 0))],
        ranges={k: (0, 1)},
    )
    for law in (matrix_geometric(quicker, {}), matrix_geometric(quicker)):
        assert law[(0, 1)] == 0 and law[(0, 0)] > 0
    assert matrix_geometric(quicker, digits=20)[(0, 1)] == Enclosure(Fraction(0), Fraction(0), 20)


def test_excursions_connect_the_boundary():
    # from n = 0 the phase only changes two levels up: the classes show above the first group
    moves = [
        Transition(1, (1, 0), when=n <= 2),
        Transition("1/4", (1, 0), when=n >= 3),
        Transition(2, (-1, 0), when=n >= 1),
        Transition(1, (0, 1), when=(n >= 4) & sp.Eq(k, 0)),
        Transition(1, (0, -1), when=(n >= 4) & sp.Eq(k, 1)),
    ]
    model = Model((n, k), Domain(), moves, ranges={k: (0, 1)})
    masses, states = solved(model, {n: 80}, {})
    law = matrix_geometric(model, {})
    assert law.mean() == pytest.approx(masses @ states[:, 0], rel=1e-12)
    assert law.marginal(k)[0] == pytest.approx(0.5, rel=1e-12)
    apart = Model((n, k), Domain(), moves[:3], ranges={k: (0, 1)})
    for at in ({}, None):
        with pytest.raises(ReducibleError, match="2 closed classes"):
            matrix_geometric(apart, at)


def test_probabilities_in_discrete_time():
    a, s = sp.Rational(1, 5), sp.Rational(1, 2)
    model = Model(
        n,
        Domain(),
        [
            Transition(a, +1, when=sp.Eq(n, 0)),
            Transition(a * (1 - s), +1, when=n >= 1),
            Transition(s * (1 - a), -1, when=n >= 1),
        ],
        time="discrete",
    )
    assert matrix_geometric(model).mean() == stationary(model).mean()
    assert matrix_geometric(model, {}).pmf(3) == pytest.approx(float(stationary(model).pmf(3)))


def test_unstable_chains_have_no_law():
    with pytest.raises(UnstableError, match="needs lambda < 2\\*mu"):
        matrix_geometric(several_servers(2), {lam: 2, mu: 1})
    # the mean service rate is (1/2 + 3)/2
    for rate in ("7/4", 2):
        with pytest.raises(UnstableError, match=f"mean rates are {rate} up and 7/4 down"):
            matrix_geometric(two_speeds(), {lam: rate, nu: 1})
    assert matrix_geometric(two_speeds(), {lam: "1749/1000", nu: 1}).mean() > 1000
    with pytest.raises(UnstableError, match=r"fails at lambda = .*: add it to the domain"):
        matrix_geometric(two_speeds())


def test_near_instability_digits_are_still_proven():
    at = {lam: "174999/100000", nu: 1}
    mean = matrix_geometric(two_speeds(), at, digits=30).mean()
    assert len(str(mean)) >= 30
    assert matrix_geometric(two_speeds(), at).mean() == pytest.approx(float(mean), rel=1e-5)


def test_one_phase_class_that_drifts_up_is_enough_to_be_unstable():
    model = Model(
        (n, k),
        Domain(),
        [
            Transition(lam, (1, 0)),
            Transition(2, (-1, 0), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(1, (-1, 0), when=(n >= 1) & sp.Eq(k, 1)),
            Transition(1, (0, 1), when=sp.Eq(n, 0) & sp.Eq(k, 0)),
            Transition(1, (0, -1), when=sp.Eq(n, 0) & sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )
    law = matrix_geometric(model, {lam: "1/2"})
    assert len(law.drifts) == 2
    masses, states = solved(model, {n: 150}, {lam: "1/2"})
    assert law.mean() == pytest.approx(masses @ states[:, 0], rel=1e-12)
    with pytest.raises(UnstableError, match="3/2 up and 1 down"):
        matrix_geometric(model, {lam: "3/2"})


def test_what_is_no_level_process_is_refused():
    queue = [Transition(lam, +1), Transition(mu * n, -1, when=n >= 1)]
    with pytest.raises(ModelError, match="mu\\*n depends on the level n at every level"):
        matrix_geometric(Model(n, Domain(), queue))
    with pytest.raises(ModelError, match="finite"):
        matrix_geometric(Model(n, Domain(), [Transition(1, +1, when=n <= 3)], ranges={n: (0, 4)}))
    moves = [Transition(1, (1, 0)), Transition(1, (0, 1))]
    with pytest.raises(ModelError, match="n, k are unbounded"):
        matrix_geometric(Model((n, k), Domain(), moves))
    with pytest.raises(ModelError, match="x has no lowest value"):
        matrix_geometric(Model(x, Domain(), [Transition(1, +1), Transition(2, -1)]))
    with pytest.raises(ModelError, match="boundary of 4001 states is too large"):
        matrix_geometric(Model(n, Domain(), [Transition(1, +1), Transition(2, -1, when=n > 4000)]))
    still = Model((n, k), Domain(), [Transition(1, (0, 1), when=k < 1)], ranges={k: (0, 1)})
    with pytest.raises(ReducibleError, match="the level never changes"):
        matrix_geometric(still, {})


def test_no_number_where_a_rate_is_negative():
    # such a point may hide in a domain: negative only on a thin part of it
    model = Model(
        n,
        Domain(lam < 2),
        [
            Transition((lam - sp.Rational(7, 11)) ** 2 * 10**6 - 1, +1, when=sp.Eq(n, 0)),
            Transition("1/2", +1, when=n >= 1),
            Transition(1, -1, when=n >= 1),
        ],
    )
    with pytest.raises(DomainError, match="a rate is -1 < 0"):
        matrix_geometric(model, {lam: "7/11"})


def test_a_chain_that_ends_at_the_boundary():
    model = Model(n, Domain(), [Transition(1, +1, when=n >= 1), Transition(2, -1, when=n >= 1)])
    for law in (matrix_geometric(model), matrix_geometric(model, {})):
        assert law[0] == 1 and law[1] == 0 and law.mean() == 0
    with pytest.raises(UnstableError, match="1 up and 0 down"):
        matrix_geometric(Model(n, Domain(), [Transition(1, +1)]))


def test_bad_questions():
    law = matrix_geometric(two_speeds(), {lam: 1, nu: 1})
    with pytest.raises(ExpressionError, match="not a polynomial in the level n"):
        law.expect(2**n)
    with pytest.raises(ExpressionError, match="no value for c"):
        law.expect(sp.Symbol("c") * n)
    with pytest.raises(ExpressionError, match="as a formula"):
        law.expect(lambda state: state)
    with pytest.raises(ModelError, match=r"use marginal\(n, k\)"):
        law.marginal(n)
    with pytest.raises(ModelError, match="no state variable"):
        law.marginal("z")
    for state in ((-1, 0), (3, 2), 3, (1, 2, 3)):
        with pytest.raises(DomainError, match="no state"):
            law[state]
    with pytest.raises(DomainError, match="digits must be"):
        matrix_geometric(two_speeds(), {lam: 1, nu: 1}, digits=0)
    with pytest.raises(DomainError, match="no value given"):
        matrix_geometric(two_speeds(), {lam: 1})


def test_laws_pickle_and_print():
    at = {lam: 1, nu: 1}
    for law in (
        matrix_geometric(several_servers(2)),
        matrix_geometric(two_speeds(), at),
        matrix_geometric(two_speeds(), at, digits=25),
    ):
        copy = pickle.loads(pickle.dumps(law))
        assert repr(copy) == repr(law) and law.arithmetic in repr(law)
        assert str(copy.mean()) == str(law.mean())
    assert "matrix-geometric law at lambda = 1, nu = 1" in repr(copy)
    assert "1 up, 1.75 down" in repr(copy) and copy.parameters == (lam, nu)
    assert r"R = \left[" in matrix_geometric(several_servers(2))._repr_latex_()
    assert copy.latex() == r"\pi_k = \pi_0 R^k\ (n \ge 1 + k)"


@pytest.mark.parametrize("size", [100, 640, 700])
def test_two_wells_in_the_boundary(size):
    # by symmetry equal masses at 0 and at the size; 10^(-size/2) lies between them
    half = size // 2
    steps = [
        Transition(1, +1, when=n < half),
        Transition(10, +1, when=(n >= half) & (n < size)),
        Transition("1/10", +1, when=n >= size),
        Transition(10, -1, when=(n >= 1) & (n <= half)),
        Transition(1, -1, when=n > half),
    ]
    wells = Model(n, Domain(), steps)
    if size == 100:
        law = matrix_geometric(wells, {})
        assert law[0] == pytest.approx(3 / 7, rel=1e-10)
        assert law[size] == pytest.approx(3 / 7, rel=1e-10)
    else:
        with pytest.raises(AccuracyError, match="falls apart too far for floats"):
            matrix_geometric(wells, {})
    assert Fraction(3, 7) in matrix_geometric(wells, {}, digits=5)[size]
