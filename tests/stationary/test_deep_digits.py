"""Estimated digits against exact means, proved digits and the series at p = 0."""

import pickle
from fractions import Fraction as F

import pytest
import sympy as sp

from qtheory import Domain, Model, Transition
from qtheory.balls import Enclosure
from qtheory.drift import enclose
from qtheory.drift.exponential_search import StabilityError
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError, ExpressionError, ModelError, UnstableError
from qtheory.stationary.floats.deep_digits import Estimate, deep_digits
from qtheory.stationary.series.law import compensation
from qtheory.systems import shorter_queue as sq

n, x, y, z = sp.symbols("n x y z", integer=True, nonnegative=True)
w = sp.Symbol("w", integer=True)
MODEL, JOBS = sq.model(), 2 * sq.m + sq.d

# 50 decimals from an exponential Lyapunov function and Poisson's equation
REFERENCE = {
    "0": "1.4263207511672411877415694129266203743202597745138309",
    "3/10": "1.5139281567128192274979983632713478563727866241441114",
    "1/2": "1.5965607893543412871382650943916693831648190044573596",
    "9/10": "1.8817127921223178548538759906179927070496184366462202",
}


def mm1(birth, death):
    return Model(n, Domain(), [Transition(birth, +1), Transition(death, -1, when=n >= 1)])


@pytest.mark.parametrize("p", REFERENCE)
def test_published_digits(p):
    found = deep_digits(MODEL, JOBS, at={"lam": 1, "mu": 1, "p": p}, digits=50)
    assert abs(found.value - F(REFERENCE[p])) < found.error + F(1, 10**52)
    assert found.error < F(1, 10**50)
    assert found.decimal[:50] == REFERENCE[p][:50] and len(found.decimal) == 51
    assert str(found) == f"{found.decimal} (estimated)"


@pytest.mark.parametrize("rate", ["1/10", "3/2"])
def test_the_series_agrees(rate):
    at = {"lam": rate, "mu": 1, "p": 0}
    proved = compensation(MODEL, at, 100).expect(JOBS)
    found = deep_digits(MODEL, JOBS, at, 90)
    assert abs(found.value - proved.lower) < found.error < F(1, 10**90)


@pytest.mark.parametrize("digits", [8, 25])
@pytest.mark.parametrize("rate", ["1/2", "3/2"])
def test_the_error_is_above_the_true_one(rate, digits):
    """Two independent queues at p = 1."""
    found = deep_digits(MODEL, JOBS, at={"lam": rate, "mu": 1, "p": 1}, digits=digits)
    lam = F(rate)
    assert abs(found.value - 2 * lam / (2 - lam)) < found.error
    assert found.error < found.value / 10**digits


def test_agrees_with_the_drift_enclosure():
    at = {"lam": "6/5", "mu": 1, "p": "1/2"}
    model = sq.targeted_model()
    jobs = 2 * model.state[0] + sp.Abs(model.state[1])
    found = deep_digits(model, jobs, at, 25)
    proved = enclose(model, jobs, at, 12).value
    assert proved.lower - found.error <= found.value <= proved.upper + found.error


def test_product_forms():
    tandem = Model(
        (x, y, z),
        Domain(),
        [
            Transition(1, (1, 0, 0)),
            Transition(6, (-1, 1, 0), when=x >= 1),
            Transition(7, (0, -1, 1), when=y >= 1),
            Transition(8, (0, 0, -1), when=z >= 1),
        ],
    )
    found = deep_digits(tandem, x * y + z, digits=10)
    assert abs(found.value - (F(1, 30) + F(1, 7))) < found.error


def test_one_queue_and_its_far_tail():
    queue = mm1("1/3", 1)
    assert deep_digits(queue, n**2, digits=30).decimal == "1." + "0" * 29
    # relative where it is seen, absolute where it is not
    found = deep_digits(queue, sp.Piecewise((1, n >= 20), (0, True)), digits=20)
    assert abs(found.value - F(1, 3) ** 20) < F(1, 3) ** 20 / 10**20
    tail = sp.Piecewise((1, n >= 60), (0, True))
    assert deep_digits(queue, tail, digits=20).decimal == "0"
    # a piece of f that the mass does not reach still counts
    heavy = sp.Piecewise((1, n >= 24), (0, True)) * 3**24 + n
    assert abs(deep_digits(queue, heavy, digits=20).value - F(3, 2)) < F(1, 10**19)


def test_zero_is_no_relative_digit():
    found = deep_digits(mm1("1/3", 1), n - sp.Rational(1, 2), digits=20)
    assert found.decimal == "0" and abs(found.value) < F(1, 10**20)


def test_lattices_with_two_ends_and_gaps():
    two = Model(
        w,
        Domain(),
        [
            Transition(1, +1, when=w <= -1),
            Transition("1/3", -1, when=w <= 0),
            Transition(1, -1, when=w >= 1),
            Transition("1/2", +1, when=w >= 0),
        ],
    )
    # pi(w) = pi(0) 2^-w, pi(-w) = pi(0) 3^-w
    assert abs(deep_digits(two, w, digits=25).value - (2 - F(3, 4)) / (1 + 1 + F(1, 2))) < F(
        1, 10**25
    )
    # odd states are transient
    moves = [Transition(1, +2), Transition(3, -2, when=n >= 2), Transition(1, -1, when=sp.Eq(n, 1))]
    jumps = Model(n, Domain(), moves)
    assert abs(deep_digits(jumps, n, digits=25).value - 1) < F(1, 10**25)


def test_finite_chains():
    finite = Model(
        n,
        Domain(),
        [Transition(2, +1, when=n <= 8), Transition(1, -1, when=n >= 1)],
        ranges={n: (0, 9)},
    )
    exact = F(sum(k * 2**k for k in range(10)), 2**10 - 1)
    found = deep_digits(finite, n, digits=80)
    assert abs(found.value - exact) <= found.error < F(1, 10**80) and found.states == 10


def test_an_estimate_is_no_proof():
    found = deep_digits(mm1("1/3", 1), n, digits=15)
    assert isinstance(found, Estimate) and not isinstance(found, Enclosure)
    assert found._repr_latex_() == rf"${found.decimal}\ \text{{(estimated)}}$"
    assert float(found) == pytest.approx(0.5) and pickle.loads(pickle.dumps(found)) == found


def test_what_is_refused():
    at = {"lam": 2, "mu": 1, "p": 0}
    with pytest.raises(UnstableError):
        deep_digits(MODEL, JOBS, at)
    for birth in (1, 2, 1000):
        with pytest.raises(StabilityError, match="unstable"):
            deep_digits(mm1(birth, 1), n)
    with pytest.raises(DomainError, match="digits"):
        deep_digits(mm1("1/3", 1), n, digits=0)
    with pytest.raises(PrecisionError, match="ask for fewer"):
        deep_digits(mm1("1/3", 1), n, digits=400)
    with pytest.raises(PrecisionError, match="ask for fewer"):
        deep_digits(mm1("1/3", 1), sp.Piecewise((1, n >= 10**6), (0, True)))
    with pytest.raises(ExpressionError):
        deep_digits(mm1("1/3", 1), 1 / (n + 1))
    with pytest.raises(ModelError, match="not bounded"):
        deep_digits(Model(n, Domain(), [Transition(1, +1), Transition(n, -1, when=n >= 1)]), n)
