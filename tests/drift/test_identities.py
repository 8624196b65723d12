"""Exact moments by E[QV] = 0, against published identities and against solved chains."""

import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sparse
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve
from sympy import And, Eq, KroneckerDelta, Rational

from qtheory import Domain, Model, Transition, generator
from qtheory.drift import drift, identities
from qtheory.drift.moments import Moment
from qtheory.errors import ModelError, QTheoryError, UnstableError
from qtheory.model import coordinates
from qtheory.show.latex import latex
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq

m, d, lam, mu, p, lam_s = sq.m, sq.d, sq.lam, sq.mu, sq.p, ds.lam_s
n = sp.Symbol("n", integer=True, nonnegative=True)


def fixed(model, values):
    """The model with some parameters replaced by numbers."""
    conditions = [c.subs(values) for c in model.domain.conditions]
    rates = [Transition(t.rate.subs(values), t.jump, t.when) for t in model.transitions]
    return Model(model.state, Domain(*conditions), rates, model.time, model.ranges)


def one_queue():
    return Model(n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])


def round_queue():
    """One queue, one server, in rounds: an arrival, then a service."""
    return Model(
        n,
        Domain(mu <= 1, stable=lam < mu, symbols=(lam, mu)),
        [Transition(lam * (1 - mu), +1), Transition(mu * (1 - lam), -1, when=n >= 1)],
        time="discrete",
    )


def modulated_queue():
    """Arrivals while the environment e is 1."""
    e = sp.Symbol("e", integer=True, nonnegative=True)
    on, off = sp.symbols("alpha beta", positive=True)
    return Model(
        (n, e),
        Domain(stable=lam * on < mu * (on + off)),
        [
            Transition(lam, (1, 0), when=Eq(e, 1)),
            Transition(mu, (-1, 0), when=n >= 1),
            Transition(on, (0, 1), when=Eq(e, 0)),
            Transition(off, (0, -1), when=Eq(e, 1)),
        ],
        ranges={e: (0, 1)},
    )


@cache
def shorter_queue():
    return identities(sq.model())


@cache
def reference():
    """What the basis of the shorter queue determines, in its own order."""
    return shorter_queue().determined


def same(left, right):
    return sp.cancel(left - right) == 0


def multiple_of(equation, left, right):
    """Whether the relation is `left == right` (not 0) times a function of the parameters."""
    factor = sp.cancel(equation.rhs / right)
    expanded = sp.expand(equation.lhs - factor * left)
    return all(
        sp.cancel(expanded.coeff(moment)) == 0
        for moment in (equation.lhs.atoms(Moment) | left.atoms(Moment))
    )


def balances(model, function, V):
    """Whether f + QV is one constant on every region, by `drift` alone."""
    values = set()
    regions = drift(model, V)
    box = [range(low or 0, 5 if high is None else high + 1) for low, high in model.ranges]
    for state in np.stack(np.meshgrid(*box), axis=-1).reshape(-1, len(box)).tolist():
        here = dict(zip(model.state, state, strict=True))
        f = sp.Piecewise((1, function), (0, True)) if isinstance(function, sp.Rel) else function
        values.add(sp.cancel(regions.at(state) + f.subs(here, simultaneous=True)))
    return len(values) == 1


# the published identities, unaided


def test_equal_queues():
    found = shorter_queue()
    assert same(found.moment(Eq(d, 0)), sq.equal_queues)
    assert same(found.determined[Moment(1, [Eq(d, 0)])], sq.equal_queues)
    assert same(found.moment(KroneckerDelta(d, 0)), sq.equal_queues)
    assert same(found.moment(sp.Piecewise((0, Eq(d, 0)), (1, True))), 1 - sq.equal_queues)
    assert same(found.moment(d >= 1), 1 - sq.equal_queues)
    assert same(found.moment(sp.Ne(d, 0)), 1 - sq.equal_queues)


def test_busy_servers():
    empty = KroneckerDelta(m, 0)
    busy = 2 - empty - empty * KroneckerDelta(d, 0)
    assert shorter_queue().moment(busy) == lam / mu


def test_cost_by_the_imbalance_and_by_the_boundary():
    found, J = shorter_queue(), 2 * m + d
    assert multiple_of(
        found.relation(J, d),
        (2 * mu - lam) * Moment(J) + (1 - p) * lam * Moment(d),
        2 * lam,
    )
    assert multiple_of(
        found.relation(d, d * KroneckerDelta(m, 0)),
        (1 - p) * lam * Moment(d) + mu * Moment(d, [Eq(m, 0)]),
        lam,
    )
    assert multiple_of(
        found.relation(J, m),
        (2 * mu - p * lam) * Moment(J) - 2 * (1 - p) * lam * Moment(m),
        2 * lam,
    )
    assert found.moment(J) is None and found.test_function(J) is None
    assert found.relation(m) is None and found.relation(d, Eq(m, 0)) is None


def test_a_relation_is_a_determined_combination():
    found = shorter_queue()
    combination = (2 * mu - lam) * (2 * m + d) + (1 - p) * lam * d
    assert found.moment(combination) == 2 * lam
    assert balances(sq.model(), combination, found.test_function(combination))


@pytest.mark.parametrize("N", [2, 3])
def test_dedicated_streams(N):
    model = ds.model(N)
    found, (shortest, *gaps) = identities(model), model.state
    lengths = [shortest + sum(gaps[:k]) for k in range(N)]
    X = sp.expand(sum(lengths) / N)
    assert multiple_of(
        found.relation(X, shortest),
        (mu - lam) * Moment(X) - lam_s * Moment(shortest),
        lam + lam_s,
    )
    idle = sum(
        sp.Mul(KroneckerDelta(shortest, 0), *(KroneckerDelta(g, 0) for g in gaps[:k]))
        for k in range(N)
    )
    assert same(found.moment(idle / N), 1 - (lam + lam_s) / mu)
    assert balances(model, idle, found.test_function(idle))


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_moments_of_one_queue_are_geometric(degree):
    found = identities(one_queue(), degree, layers=2)
    rho = lam / mu
    for k in range(1, degree):
        z = sp.Symbol("z")
        series = (1 - rho) / (1 - rho * sp.exp(z))
        assert same(found.moment(n**k), sp.diff(series, z, k).subs(z, 0))
    assert found.moment(n**degree) is None
    for j in range(3):
        assert same(found.moment(Eq(n, j)), (1 - rho) * rho**j)
    assert same(found.moment(n >= 2), rho**2)
    assert not found.relations


def test_queue_in_rounds():
    found = identities(round_queue(), degree=3, layers=3)
    mean = lam * (1 - mu) / (mu - lam)
    variance = lam * (1 - lam) * mu * (1 - mu) / (mu - lam) ** 2
    ratio = lam * (1 - mu) / (mu * (1 - lam))
    assert same(found.moment(n), mean)
    assert same(found.moment((n - mean) ** 2), variance)
    for j in range(4):
        assert same(found.moment(Eq(n, j)), (1 - ratio) * ratio**j)
    assert found.requires == Moment(n**3)


def test_full_attack_is_two_independent_queues():
    model = fixed(sq.model(), {p: 1})
    found = identities(model, degree=3, layers=2)
    rho = lam / (2 * mu)
    assert same(found.moment(2 * m + d), sq.JB)
    # difference of two independent geometric lengths
    assert same(found.moment(Eq(d, 0)), (1 - rho) / (1 + rho))
    assert same(found.moment(d * KroneckerDelta(m, 0)), 2 * rho)
    assert same(found.moment(m**2 + (m + d) ** 2), 2 * rho * (1 + rho) / (1 - rho) ** 2)
    # E[d] takes infinitely many test functions
    assert found.moment(d) is None


def test_environment_of_a_queue():
    model = modulated_queue()
    e = model.state[1]
    on, off = sp.symbols("alpha beta", positive=True)
    found = identities(model)
    assert same(found.moment(e), on / (on + off))
    assert same(found.moment(Eq(e, 0)), off / (on + off))
    assert same(found.moment(Eq(n, 0)), 1 - lam * on / (mu * (on + off)))
    assert found.moment(n) is None
    assert found.requires == Moment(n**2)


def test_infinitely_many_servers():
    model = Model(n, Domain(), [Transition(lam, +1), Transition(mu * n, -1, when=n >= 1)])
    found = identities(model, degree=3, layers=2)
    assert found.moment(n) == lam / mu
    assert same(found.moment(n**2), lam / mu + lam**2 / mu**2)
    assert found.moment(Eq(n, 0)) is None  # exp(-lam/mu) is not rational
    assert found.requires == Moment(n**4)
    relation = found.relation(Eq(n, 0), Eq(n, 1))
    empty, one = (relation.lhs.coeff(Moment(1, [Eq(n, k)])) for k in (0, 1))
    assert relation.rhs == 0 and same(empty * mu, -one * lam)


# a second method: the chain solved on a window

POINTS = np.random.default_rng(7).integers(20, 70, size=(40, 3)).tolist()


def rational_points(names, scale):
    """Reproducible random points, the given fractions of the parameters apart from mu = 1."""
    for row in POINTS[:2]:
        values = {x: Rational(k, 100) * s for x, k, s in zip(names, row, scale, strict=False)}
        yield {**values, mu: sp.Integer(1)}


def solved(model, box, at):
    matrix = sparse.csc_matrix(generator(model, box=box, at=at, field="float"))
    if model.time == "discrete":
        matrix = matrix - sparse.identity(matrix.shape[0], format="csc")
    balance = sparse.csc_matrix(matrix.T)
    rest = spsolve(balance[1:, 1:], -np.asarray(balance[1:, [0]].todense()).ravel())
    law = np.concatenate([[1.0], rest])
    return law / law.sum(), coordinates(model, box)


def expected(moment, state, law, states):
    columns = dict(zip(state, states.T.astype(float), strict=True))
    values = np.ones(len(law)) * sp.lambdify(state, moment.function)(*columns.values())
    for condition in moment.event:
        here = columns[condition.lhs]
        limit = float(condition.rhs)
        values = values * (here == limit if isinstance(condition, Eq) else here >= limit)
    return float(law @ values)


SYSTEMS = {
    "shorter queue": (sq.model, (3, 2), 70, (lam, p), (2, 1)),
    "p = 1": (lambda: fixed(sq.model(), {p: 1}), (3, 2), 70, (lam,), (2,)),
    "targeted": (sq.targeted_model, (2, 1), [(0, 40), (-45, 45)], (lam, p), (1, 1)),
    "Bernoulli": (sq.bernoulli_model, (3, 1), 60, (lam,), (2,)),
    "two streams": (lambda: ds.model(2), (3, 2), 60, (lam, lam_s), (Rational(1, 2),) * 2),
    "three streams": (
        lambda: ds.model(3),
        (2, 1),
        [(0, 14), (0, 14), (0, 18)],
        (lam, lam_s),
        (Rational(1, 2), Rational(1, 3)),
    ),
    "modulated": (
        modulated_queue,
        (2, 2),
        [(0, 120), (0, 1)],
        (lam, *sp.symbols("alpha beta", positive=True)),
        (1, 1, 1),
    ),
    "rounds": (
        lambda: round_queue(),
        (4, 3),
        150,
        (lam,),
        (Rational(1, 2),),
    ),
    "typical queue": (
        ds.mean_field_model,
        (4, 2),
        150,
        (lam, lam_s),
        (Rational(1, 2), Rational(1, 3)),
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_moment_and_relation_holds_on_the_solved_chain(name):
    make, (degree, layers), box, names, scale = SYSTEMS[name]
    model = make()
    found = identities(model, degree, layers)
    assert found.determined or found.relations
    for at in rational_points(names, scale):
        if name == "rounds":
            at[mu] = Rational(4, 5)
        law, states = solved(model, box, at)
        for moment, value in found.determined.items():
            assert expected(moment, model.state, law, states) == pytest.approx(
                float(value.subs(at)), rel=1e-7, abs=1e-9
            )
        for relation in found.relations:
            numbers = {
                moment: expected(moment, model.state, law, states)
                for moment in relation.lhs.atoms(Moment)
            }
            sizes = {
                moment: float(sp.expand(relation.lhs).coeff(moment).subs(at)) for moment in numbers
            }
            left = sum(sizes[moment] * numbers[moment] for moment in numbers)
            size = max(abs(sizes[moment] * numbers[moment]) for moment in numbers)
            assert left == pytest.approx(float(relation.rhs.subs(at)), abs=1e-7 * max(size, 1e-2))


@pytest.mark.parametrize(
    "name", ["shorter queue", "p = 1", "two streams", "Bernoulli", "modulated", "rounds"]
)
def test_every_determined_moment_has_a_test_function(name):
    make, (degree, layers), *_ = SYSTEMS[name]
    model = make()
    found = identities(model, min(degree, 2), min(layers, 1))
    assert found.determined
    for moment, value in found.determined.items():
        V = found.test_function(moment.integrand)
        assert balances(model, moment.integrand, V)
        at = dict.fromkeys(model.state, 1)
        constant = drift(model, V).at(tuple(at.values())) + moment.integrand.subs(at)
        assert same(constant, value)


# the basis


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(shorter_queue().basis))))
def test_the_order_of_the_basis_does_not_matter(order):
    basis = shorter_queue().basis
    found = identities(sq.model(), basis=[basis[k] for k in order])
    assert found.determined == reference()
    assert found.relations == shorter_queue().relations


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(-3, 3))
def test_a_smaller_basis_determines_no_more(chosen, weight):
    basis = [shorter_queue().basis[k] for k in chosen]
    found = identities(sq.model(), basis=[*basis, weight * sum(basis) + 1])
    assert found.determined.items() <= reference().items()
    for relation in found.relations:
        assert same(shorter_queue().moment(integrand(relation.lhs)), relation.rhs)


def integrand(expression):
    return expression.replace(lambda x: isinstance(x, Moment), lambda x: x.integrand)


@pytest.mark.parametrize("basis", [[], [1], [3, lam]])
def test_a_basis_without_information(basis):
    found = identities(sq.model(), basis=basis)
    assert found.determined == {} and found.relations == ()
    assert found.moment(d) is None and found.moment(5) == 5
    assert found.requires is None
    assert str(found) == "no moment is determined"


def test_own_basis_of_text_and_plain_symbols():
    found = identities(sq.model(), basis=["m + d", "2*m + d"])
    assert same(found.moment(Eq(sp.Symbol("d"), 0)), sq.equal_queues)
    assert found.requires == Moment(m + d)
    assert balances(sq.model(), Eq(d, 0), found.test_function(Eq(d, 0)))


def test_absolute_values_of_integers():
    model = sq.targeted_model()
    delta = model.state[1]
    found = identities(model)
    relation = found.relation(2 * m + abs(delta), abs(delta), delta)
    assert multiple_of(
        relation,
        (2 * mu - lam) * Moment(2 * m + abs(delta))
        + (1 - p) * lam * Moment(abs(delta))
        - p * lam * Moment(delta),
        2 * lam,
    )
    assert found.requires == Moment((m + abs(delta)) ** 2)


def test_bad_input():
    model = sq.model()
    with pytest.raises(ModelError, match="degree must be an integer >= 1, got 0"):
        identities(model, degree=0)
    with pytest.raises(ModelError, match="layers must be an integer >= 0, got -1"):
        identities(model, layers=-1)
    with pytest.raises(ModelError, match="not a polynomial in the state: 1/"):
        identities(model, basis=[1 / (m + 1)])
    with pytest.raises(ModelError, match="z is neither a state variable nor a parameter"):
        identities(model, basis=[m * sp.Symbol("z")])
    with pytest.raises(ModelError, match="compares two state variables"):
        identities(model, basis=[sp.Piecewise((1, m >= d), (0, True))])
    with pytest.raises(ModelError, match="not a function of the state"):
        identities(model, basis=[(m, d)])
    with pytest.raises(QTheoryError):
        shorter_queue().moment(sp.sin(m))
    with pytest.raises(UnstableError, match="contradict each other"):
        identities(Model(n, Domain(), [Transition(lam, +1)]))


def test_shown_as_mathematics():
    found = identities(one_queue())
    assert str(found).splitlines()[0] == "P(n = 0) = (mu - lam)/mu"
    assert r"\mathbb{E}\left[n\right] &= \frac{\lambda}{" in found.latex()
    assert found._repr_latex_().startswith(r"$\displaystyle \begin{aligned}")
    assert str(identities(sq.model())).endswith("see relations")
    assert latex(Moment(m * d, [Eq(m, 0)])) == r"\mathbb{E}\left[d m;\, m = 0\right]"
    assert latex(Moment(1, [d >= 2])) == r"\mathbb{P}\left(d \geq 2\right)"


def test_moments_are_atoms():
    expression = lam * Moment(m, [Eq(d, 0)])
    assert expression.subs({lam: 2, m: 5}) == 2 * Moment(m, [Eq(d, 0)])
    assert expression.free_symbols == {lam}


def test_pickle():
    found = shorter_queue()
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.determined == found.determined
    assert again.moment(And(Eq(m, 0), Eq(d, 0))) is None
