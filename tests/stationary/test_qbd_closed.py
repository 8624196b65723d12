"""Matrix-geometric laws in closed form: classical formulas, and the same chains in numbers."""

import pickle
from fractions import Fraction

import pytest
import sympy as sp

from qtheory import Domain, Model, Transition
from qtheory.arithmetic import exact
from qtheory.balls import evaluate
from qtheory.errors import ModelError, ReducibleError, UnstableError
from qtheory.stationary.qbd import matrix_geometric
from qtheory.systems import shorter_queue as sq

lam, mu, nu, theta = sp.symbols("lambda mu nu theta", positive=True)
q = sp.Symbol("q", nonnegative=True)
n, k = sp.symbols("n k", integer=True, nonnegative=True)


def hyperexponential_queue():
    """M/H2/1: a service has rate mu with probability q, else nu; drawn when it starts."""
    moves = [
        Transition(lam, (1, 0), when=n >= 1),
        Transition(lam * q, (1, 0), when=sp.Eq(n, 0) & sp.Eq(k, 0)),
        Transition(lam * (1 - q), (1, 1), when=sp.Eq(n, 0) & sp.Eq(k, 0)),
        Transition(1, (0, -1), when=sp.Eq(n, 0) & sp.Eq(k, 1)),
    ]
    for phase, rate in ((0, mu), (1, nu)):
        here = sp.Eq(k, phase)
        moves += [
            Transition(rate * q, (-1, -phase), when=(n >= 2) & here),
            Transition(rate * (1 - q), (-1, 1 - phase), when=(n >= 2) & here),
            Transition(rate, (-1, -phase), when=sp.Eq(n, 1) & here),
        ]
    stable = lam * (q * nu + (1 - q) * mu) < mu * nu
    return Model((n, k), Domain(q <= 1, stable=stable), moves, ranges={k: (0, 1)})


def erlang_arrivals(rate, domain):
    """E2/M/1 with services of rate 1: k is the stage of the next arrival."""
    return Model(
        (n, k),
        domain,
        [
            Transition(rate, (0, 1), when=sp.Eq(k, 0)),
            Transition(rate, (1, -1), when=sp.Eq(k, 1)),
            Transition(1, (-1, 0), when=n >= 1),
        ],
        ranges={k: (0, 1)},
    )


def working_vacation(arrivals, slow, fast, end, domain):
    """M/M/1 that serves slowly (k = 0) from when it empties until its vacation ends."""
    return Model(
        (n, k),
        domain,
        [
            Transition(arrivals, (1, 0)),
            Transition(slow, (-1, 0), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(end, (0, 1), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(fast, (-1, 0), when=(n >= 2) & sp.Eq(k, 1)),
            Transition(fast, (-1, -1), when=sp.Eq(n, 1) & sp.Eq(k, 1)),
            Transition(fast, (0, -1), when=sp.Eq(n, 0) & sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )


def same(left, right):
    return sp.cancel(left - right) == 0


def test_hyperexponential_service_has_the_pollaczek_khinchine_mean():
    law = matrix_geometric(hyperexponential_queue())
    first, second = q / mu + (1 - q) / nu, 2 * q / mu**2 + 2 * (1 - q) / nu**2
    load = lam * first
    assert same(law.mean(), load + lam**2 * second / (2 * (1 - load)))
    assert same(law.pmf(0), 1 - load) and law[(0, 1)] == 0
    assert law.G == sp.ImmutableMatrix([[q, 1 - q]] * 2)
    assert (law.arithmetic, law.residual) == ("exact", 0)
    # the transform of the number: (1 - load)(1 - z) S/(S - z), S the transform of the service
    z = sp.Symbol("z")
    arrivals = lam * (1 - z)
    service = q * mu / (mu + arrivals) + (1 - q) * nu / (nu + arrivals)
    at = {lam: sp.Rational(1, 2), mu: 2, nu: sp.Rational(2, 3), q: sp.Rational(1, 3)}
    transform = sp.cancel(((1 - load) * (1 - z) * service / (service - z)).subs(at))
    assert transform.diff(z, 2).subs(z, 0) / 2 == law.pmf(2).subs(at)


def test_exact_numbers_and_balls_agree():
    at = {lam: "1/2", mu: 2, nu: "2/3", q: "1/3"}
    model = hyperexponential_queue()
    law, proven, rough = (
        matrix_geometric(model),
        matrix_geometric(model, at, digits=30),
        matrix_geometric(model, at),
    )
    for question in (
        lambda law: law.variance(),
        lambda law: law.tail(4),
        lambda law: law[(6, 1)],
        lambda law: law.expect(n**2 * k - n),
        lambda law: law.marginal(k)[1],
        lambda law: law.probability((n >= 2) & (n <= 5) & sp.Eq(k, 0)),
    ):
        value = evaluate(question(law), at)
        assert value.is_exact and value.lower in question(proven)
        assert question(rough) == pytest.approx(float(value), rel=1e-12)


def test_costs_may_be_symbols():
    c, h = sp.symbols("c h")
    law = matrix_geometric(hyperexponential_queue())
    assert same(law.expect(c * n + h * k), c * law.mean() + h * law.marginal(k)[1])


def test_batches_arrive():
    # batches of 2: the mean is load (1 + E[X^2]/E[X]) / (2 (1 - load))
    model = Model(
        n, Domain(stable=2 * lam < mu), [Transition(lam, +2), Transition(mu, -1, when=n >= 1)]
    )
    law = matrix_geometric(model)
    load = 2 * lam / mu
    assert law.size == 2 and same(law.mean(), 3 * load / (2 * (1 - load)))
    assert same(law.pmf(0), 1 - load)
    # pi_0 lam = pi_1 mu and pi_1 (lam + mu) = pi_2 mu
    assert same(law[1], law[0] * lam / mu) and same(law[2], law[1] * (lam + mu) / mu)


def test_erlang_arrivals_with_a_rational_root():
    # rate (s^2 - 1)/4: the root of z = A*(1 - z), A* the arrival transform, is (s - 1)^2/4
    s = sp.Symbol("s", positive=True)
    law = matrix_geometric(
        erlang_arrivals((s**2 - 1) / 4, Domain(s > 1, stable=s < 3, symbols=(s,)))
    )
    root, load = (s - 1) ** 2 / 4, (s**2 - 1) / 8
    assert same(law.mean(), load / (1 - root))
    for i in (1, 2, 5):
        assert same(law.pmf(i), load * (1 - root) * root ** (i - 1))
    assert law.R.rank() == 1 and same(law.R.trace(), root)


def test_erlang_arrivals_in_general_need_a_point():
    model = erlang_arrivals(lam, Domain(stable=lam < 2))
    with pytest.raises(ModelError, match=r"the eigenvalue of R is not seen to be rational.*`at`"):
        matrix_geometric(model)
    mean = matrix_geometric(model, {lam: "3/4"}, digits=30).mean()
    assert Fraction(1, 2) in mean  # s = 2 above


def test_triangular_rate_matrix():
    # the end of a vacation at (1 - r)(lam/r - slow) makes r the rate within vacations
    r, slow = sp.symbols("r s", positive=True)
    domain = Domain(r < 1, slow * r < lam, stable=lam < mu)
    model = working_vacation(lam, slow, mu, (1 - r) * (lam / r - slow), domain)
    law = matrix_geometric(model)
    assert same(law.R[0, 0], r) and same(law.R[1, 1], lam / mu) and law.R[1, 0] == 0
    at = {lam: "2/3", slow: "1/2", mu: 1, r: "1/2"}
    proven = matrix_geometric(model, at, digits=25)
    for f in (n, n**2, n * k, k):
        assert evaluate(law.expect(f), at).lower in proven.expect(f)
    with pytest.raises(ModelError, match="diagonal of R"):
        matrix_geometric(working_vacation(lam, slow, mu, theta, Domain(stable=lam < mu)))


def test_triangular_rate_matrix_of_three_phases():
    # a phase that is left at the rate (1 - r)(1/r - s), s the service rate, has the root r
    moves = [Transition(1, (1, 0))]
    for phase, service in ((0, "1/2"), (1, "1/4"), (2, 3)):
        moves.append(Transition(service, (-1, 0), when=(n >= 1) & sp.Eq(k, phase)))
    for phase, rate, jump in (
        (0, "1/4", (0, 1)),
        (0, "1/4", (0, 2)),
        (0, "1/4", (1, 1)),
        (1, "1/2", (0, 1)),
        (1, "3/8", (-1, 1)),
    ):
        moves.append(Transition(rate, jump, when=(n >= 1) & sp.Eq(k, phase)))
    moves.append(Transition(1, (0, -2), when=sp.Eq(n, 0) & sp.Eq(k, 2)))
    model = Model((n, k), Domain(), moves, ranges={k: (0, 2)})
    law, proven = matrix_geometric(model), matrix_geometric(model, digits=25)
    assert law.R.is_upper and law.R.diagonal() == sp.Matrix([["1/2", "1/2", "1/3"]])
    for f in (n, n**2 * k, k**2):
        assert exact(law.expect(f)) in proven.expect(f)


def test_vacations_add_what_arrives_in_the_rest_of_one():
    # Fuhrmann and Cooper (1985): load/(1 - load) + lam/theta for exponential vacations
    model = Model(
        (n, k),
        Domain(stable=lam < mu),
        [
            Transition(lam, (1, 0)),
            Transition(theta, (0, 1), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(mu, (-1, 0), when=(n >= 2) & sp.Eq(k, 1)),
            Transition(mu, (-1, -1), when=sp.Eq(n, 1) & sp.Eq(k, 1)),
            Transition(mu, (0, -1), when=sp.Eq(n, 0) & sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )
    law = matrix_geometric(model)
    assert same(law.mean(), lam / (mu - lam) + lam / theta)
    assert same(law.marginal(k)[1], lam / mu)


def test_phases_that_only_change_at_the_boundary():
    # the speed is drawn anew while the queue is empty: two closed classes of phases
    model = Model(
        (n, k),
        Domain(stable=(lam < mu, lam < nu)),
        [
            Transition(lam, (1, 0)),
            Transition(mu, (-1, 0), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(nu, (-1, 0), when=(n >= 1) & sp.Eq(k, 1)),
            Transition(theta, (0, 1), when=sp.Eq(n, 0) & sp.Eq(k, 0)),
            Transition(theta, (0, -1), when=sp.Eq(n, 0) & sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )
    law = matrix_geometric(model)
    assert len(law.drifts) == 2 and law.R.is_diagonal()
    assert same(law[(0, 0)], law[(0, 1)])
    assert same(law.marginal(k)[0], (1 / (mu - lam) * mu) / (mu / (mu - lam) + nu / (nu - lam)))
    with pytest.raises(UnstableError, match="add it to the domain"):
        matrix_geometric(
            Model(model.state, Domain(lam < mu), model.transitions, ranges={k: (0, 1)})
        )


def test_two_copies_of_a_queue_have_no_unique_law():
    model = Model(
        (n, k),
        Domain(stable=lam < mu),
        [Transition(lam, (1, 0)), Transition(mu, (-1, 0), when=n >= 1)],
        ranges={k: (0, 1)},
    )
    with pytest.raises(ReducibleError, match="2 closed classes"):
        matrix_geometric(model)


def test_no_closed_form_says_why():
    environment = Model(
        (n, k),
        Domain(stable=(lam < mu, lam < nu)),
        [
            Transition(lam, (1, 0)),
            Transition(mu, (-1, 0), when=(n >= 1) & sp.Eq(k, 0)),
            Transition(nu, (-1, 0), when=(n >= 1) & sp.Eq(k, 1)),
            Transition(theta, (0, 1), when=sp.Eq(k, 0)),
            Transition(theta, (0, -1), when=sp.Eq(k, 1)),
        ],
        ranges={k: (0, 1)},
    )
    with pytest.raises(
        ModelError, match=r"nor does A0, and the phase moves both ways.*give a point"
    ):
        matrix_geometric(environment)


def test_jockeying_at_threshold_one_is_the_pooled_queue():
    # with |x1 - x2| <= 1 no server idles while a job waits: the number of jobs is that of M/M/2
    law = matrix_geometric(sq.threshold_jockeying_model(1))
    assert same(law.expect(2 * sq.m + sq.d), sq.pooled)
    assert sq.p not in law.expect(2 * sq.m + sq.d).free_symbols
    copy = pickle.loads(pickle.dumps(law))
    assert copy.mean() == law.mean() and copy.R == law.R


def test_blocking_at_threshold_one_in_closed_form():
    model = sq.threshold_blocking_model(1)
    with pytest.raises(UnstableError, match="add it to the domain"):
        matrix_geometric(model)
    # drift: up (1 - q)(lam), down q 2 mu, where q = (lam (1 - p/2) + mu)/(...) has d = 0
    narrow = Model(
        model.state,
        Domain(
            sq.p <= 1,
            sq.lam * (sq.lam + 2 * sq.mu) < 2 * sq.mu * (sq.lam * (1 - sq.p / 2) + sq.mu),
            symbols=(sq.lam, sq.mu, sq.p),
        ),
        model.transitions,
        ranges={sq.d: (0, 1)},
    )
    law = matrix_geometric(narrow)
    at = {"lam": "1/2", "mu": 1, "p": "1/3"}
    cost = evaluate(law.expect(2 * sq.m + sq.d), at).lower
    assert cost in matrix_geometric(narrow, at, digits=30).expect(2 * sq.m + sq.d)
    assert exact(cost) > exact(sq.pooled.subs({sq.lam: sp.Rational(1, 2), sq.mu: 1}))
