"""Which engine a chain goes to, and that the engines agree where several fit."""

import pickle

import numpy as np
import pytest
import sympy as sp

from qtheory.domain import Domain
from qtheory.errors import ModelError, UnstableError
from qtheory.model import Model, Transition, generator
from qtheory.stationary import (
    BirthDeathLaw,
    CompensationLaw,
    ExactLaw,
    MatrixGeometricLaw,
    NumericLaw,
    stationary,
)
from qtheory.systems import shorter_queue as sq

lam, mu = sp.symbols("lambda mu", positive=True)
n, k = sp.symbols("n k", integer=True, nonnegative=True)
QUEUE = Model(n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
INFINITE_SERVER = Model(n, Domain(), [Transition(lam, +1), Transition(mu * n, -1, when=n >= 1)])
ERLANG = Model(
    (n, k),
    Domain(stable=lam < mu),
    [
        Transition(lam, jump=(1, 0)),
        Transition(2 * mu, jump=(0, 1), when=(n >= 1) & (k < 1)),
        Transition(2 * mu, jump=(-1, -1), when=(n >= 1) & sp.Eq(k, 1)),
    ],
    ranges={k: (0, 1)},
)
POINT = {"lambda": "1/2", "mu": 1}
SHORTER = {"lam": 1, "mu": 1, "p": 0}


@pytest.mark.parametrize(
    ("arguments", "kind", "method"),
    [
        ({"model": QUEUE}, BirthDeathLaw, "closed_form"),
        ({"model": QUEUE, "at": POINT}, BirthDeathLaw, "closed_form"),
        ({"model": QUEUE, "at": POINT, "digits": 20}, MatrixGeometricLaw, "matrix_geometric"),
        ({"model": QUEUE, "box": 3}, ExactLaw, "exact"),
        ({"model": QUEUE, "box": 2000, "at": POINT}, NumericLaw, "sparse"),
        ({"model": ERLANG}, MatrixGeometricLaw, "matrix_geometric"),
        ({"model": ERLANG, "at": POINT}, MatrixGeometricLaw, "matrix_geometric"),
        ({"model": INFINITE_SERVER, "at": POINT}, NumericLaw, "truncation"),
        ({"model": sq.model(), "at": SHORTER}, NumericLaw, "truncation"),
        ({"model": sq.model(), "at": SHORTER, "digits": 20}, CompensationLaw, "compensation"),
    ],
)
def test_the_first_method_that_fits(arguments, kind, method):
    law = stationary(**arguments)
    assert isinstance(law, kind) and law.method == method


def test_a_large_matrix_of_floats_is_solved_in_floats():
    matrix = generator(QUEUE, 1500, at=POINT, field="float")
    law = stationary(matrix)
    assert law.method == "sparse"
    assert law[0] == pytest.approx(0.5, rel=1e-12)
    assert law[40] == pytest.approx(0.5**41, rel=1e-12)


def test_every_engine_gives_the_same_shorter_queue():
    at = {"lam": 1, "mu": 1, "p": 0}
    cost = 2 * sq.m + sq.d
    proven = float(stationary(sq.model(), at=at, digits=20).expect(cost))
    for law in (
        stationary(sq.model(), at=at),
        stationary(sq.model(), box=60, at=at, method="sparse"),
        stationary(sq.threshold_jockeying_model(40), at=at),
        stationary(sq.threshold_blocking_model(40), at=at, method="truncation"),
    ):
        assert float(law.expect(cost)) == pytest.approx(proven, abs=1e-10)
    assert proven == pytest.approx(1.426320751167, abs=5e-13)  # 1-shorter-queue.md


def test_exact_and_sparse_agree_in_the_same_window():
    exact = stationary(sq.model(), box=6, at=SHORTER)
    floats = stationary(sq.model(), box=6, at=SHORTER, method="sparse")
    assert list(exact) == list(floats)
    wanted = np.array([float(exact[state]) for state in exact])
    assert np.allclose(floats.probabilities, wanted, rtol=1e-14, atol=0)


def test_every_law_pickles_and_knows_its_method():
    for arguments in (
        {"model": QUEUE},
        {"model": QUEUE, "box": 3},
        {"model": ERLANG, "at": POINT},
        {"model": INFINITE_SERVER, "at": POINT},
        {"model": sq.model(), "at": SHORTER, "digits": 10},
    ):
        law = stationary(**arguments)
        again = pickle.loads(pickle.dumps(law))
        assert again.method == law.method
        state = (0, 0) if len(arguments["model"].state) == 2 else 0
        assert str(again[state]) == str(law[state])


def test_a_symbolic_bound_gives_the_law_for_every_size():
    size = sp.Symbol("K", integer=True, positive=True)
    law = stationary(QUEUE, box=size)
    exact = stationary(QUEUE, box=4).at(POINT)
    assert law.at({size: 4, **POINT}) == {state: mass for (state,), mass in exact.items()}
    with pytest.raises(ModelError, match="for every K"):
        stationary(QUEUE, box=size, at=POINT)


def test_an_option_of_another_method_is_refused():
    with pytest.raises(ModelError, match="digits is for the method matrix_geometric or comp"):
        stationary(QUEUE, box=3, digits=20)
    with pytest.raises(ModelError, match="tolerance is for the method truncation"):
        stationary(QUEUE, at=POINT, method="matrix_geometric", tolerance=1e-9)
    with pytest.raises(ModelError, match="budget is for the method exact"):
        stationary(QUEUE, box=3000, at=POINT, budget=10)


def test_where_no_method_fits_every_reason_is_said():
    with pytest.raises(ModelError, match=r"north, north-east and east.*: give a box"):
        stationary(sq.model(), at={"lam": 1, "mu": 1, "p": "1/2"}, digits=20)
    with pytest.raises(ModelError, match="depends on n"):
        stationary(INFINITE_SERVER)
    with pytest.raises(ModelError, match="no closed form for the state variables m, d"):
        stationary(sq.model())
    with pytest.raises(UnstableError):
        stationary(sq.model(), at={"lam": 2, "mu": 1, "p": 0})
