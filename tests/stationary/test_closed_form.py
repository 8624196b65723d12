"""Closed forms of birth-death chains against the literature and the balance equations."""

import pickle

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.domain import Domain
from qtheory.errors import (
    CertificateError,
    DomainError,
    ExpressionError,
    ModelError,
    ReducibleError,
    UnstableError,
)
from qtheory.model import Model, Transition
from qtheory.stationary import BirthDeathLaw, birth_death_law, stationary
from qtheory.stationary.birth_death.closed_form import require_birth_death_balance

lam, mu, lam_s = sp.symbols("lambda mu lambda_s", positive=True)
n = sp.Symbol("n", integer=True, nonnegative=True)


def mm1(*conditions) -> Model:
    return Model(n, Domain(*conditions), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])


def mmc(servers: int) -> Model:
    return Model(
        n,
        Domain(stable=lam < servers * mu),
        [
            Transition(lam, +1),
            *([Transition(n * mu, -1, when=(n >= 1) & (n < servers))] if servers > 1 else []),
            Transition(servers * mu, -1, when=n >= servers),
        ],
    )


MEAN_FIELD = Model(
    n,
    Domain(stable=lam + lam_s < mu),
    [
        Transition(lam + lam_s * mu / (mu - lam - lam_s), +1, when=sp.Eq(n, 0)),
        Transition(lam, +1, when=n >= 1),
        Transition(mu, -1, when=n >= 1),
    ],
)


def same(left, right) -> bool:
    return sp.cancel(left - right) == 0


def test_mm1():
    law = birth_death_law(mm1(lam < mu))
    rho = lam / mu
    assert law.threshold == 0
    assert law.stability == sp.Lt(lam, mu)
    assert same(law.pmf(0), 1 - rho)
    assert same(law.pmf(7), (1 - rho) * rho**7)
    assert same(law.tail(7), rho**7)
    assert law.pmf(-1) == 0 and law.tail(-1) == 1
    assert str(law.mean()) == "lambda/(-lambda + mu)"
    assert same(law.variance(), rho / (1 - rho) ** 2)
    for k in range(6):
        assert same(law.factorial_moment(k), sp.factorial(k) * (rho / (1 - rho)) ** k)


@pytest.mark.parametrize("servers", [1, 2, 3, 6])
def test_mmc_is_erlang_c(servers):
    law = birth_death_law(mmc(servers))
    load = lam / mu
    rho = load / servers
    partial = sum(load**k / sp.factorial(k) for k in range(servers))
    last = load**servers / sp.factorial(servers) / (1 - rho)
    wait = last / (partial + last)
    assert law.threshold == servers - 1
    assert same(law.tail(servers), wait)
    assert same(law.mean(), load + wait * rho / (1 - rho))


def test_mean_field_queue():
    law = birth_death_law(MEAN_FIELD)
    assert law.threshold == 1
    assert same(law.pmf(0), 1 - (lam + lam_s) / mu)
    for k in range(1, 5):
        expected = (lam + lam_s) * (mu - lam) / mu**2 * (lam / mu) ** (k - 1)
        assert same(law.pmf(k), expected)
    assert str(law.mean()) == "(lambda + lambda_s)/(-lambda + mu)"
    assert str(law.pmf(0)) == "(-lambda - lambda_s + mu)/mu"


@pytest.mark.parametrize("model", [mm1(lam < mu), mmc(3), MEAN_FIELD])
def test_symbolic_n_agrees_with_every_integer(model):
    law = birth_death_law(model)
    k = sp.Symbol("k", integer=True)
    for value in range(-1, 7):
        assert same(law.pmf(k).subs(k, value), law.pmf(value))
        assert same(law.tail(k).subs(k, value), law.tail(value))
        assert same(law.tail(value) - law.tail(value + 1), law.pmf(value))


@pytest.mark.parametrize("model", [mm1(lam < mu), mmc(2), mmc(4), MEAN_FIELD])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_moments_against_long_sums(model, order):
    law = birth_death_law(model)
    point = {lam: sp.Rational(1, 3), mu: 1, lam_s: sp.Rational(1, 5)}
    total = sum((sp.ff(k, order) * law.pmf(k)).subs(point) for k in range(120))
    assert abs(sp.N(law.factorial_moment(order).subs(point) - total, 30)) < 1e-20


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=4),
    st.integers(1, 9),
    st.integers(1, 9),
)
@settings(max_examples=40, deadline=None)
def test_random_boundaries(boundary, birth, extra):
    """Any rates below a threshold; the exact law on a long box is close, and equal in ratios."""
    death, size = birth + extra, len(boundary)
    transitions = [
        Transition(birth * mu, +1, when=n >= size),
        Transition(death * mu, -1, when=n >= size + 1),
    ]
    for k, (up, down) in enumerate(boundary):
        transitions.append(Transition(up * mu, +1, when=sp.Eq(n, k)))
        transitions.append(Transition(down * mu, -1, when=sp.Eq(n, k + 1)))
    model = Model(n, Domain(), transitions)
    law = birth_death_law(model)
    box = stationary(model, box=size + 3)
    for k in range(size + 3):
        assert same(law.pmf(k + 1) / law.pmf(k), box[k + 1] / box[k])
    assert same(sum(law.pmf(k) for k in range(size + 3)) + law.tail(size + 3), 1)


def test_polynomial_expectations():
    law = birth_death_law(mm1(lam < mu))
    cost = sp.Symbol("c")
    assert same(law.expect(n**2) - law.mean() ** 2, law.variance())
    assert same(law.expect(cost * n + mu), cost * law.mean() + mu)
    assert same(law.expect("3*n^3"), 3 * lam * (lam**2 + 4 * lam * mu + mu**2) / (mu - lam) ** 3)
    assert law.expect(1) == 1
    with pytest.raises(ExpressionError, match="not a polynomial in n"):
        law.expect(1 / (n + 1))
    with pytest.raises(ModelError, match="order k >= 0"):
        law.factorial_moment(-1)


def test_proven_digits():
    law = birth_death_law(mm1(lam < mu))
    assert str(law.evaluate(n, {"lam": 1, "mu": 8}, digits=20)) == "0.14285714285714285714"


def test_first_state_one():
    level = sp.Symbol("k", integer=True, positive=True)
    model = Model(level, Domain(lam < mu), [Transition(lam, 1), Transition(mu, -1, level >= 2)])
    law = birth_death_law(model)
    assert law.first == 1
    assert same(law.mean(), 1 + lam / (mu - lam))
    assert law.pmf(0) == 0


def test_at_a_point():
    law = birth_death_law(MEAN_FIELD, at={lam: "2/5", lam_s: "3/10", mu: 1})
    assert law.mean() == sp.Rational(7, 6)
    assert law.parameters == ()


def test_discrete_time_has_the_same_balance():
    up, down = sp.Symbol("a", positive=True), sp.Symbol("b", positive=True)
    model = Model(
        n,
        Domain(up + down <= 1, up < down),
        [Transition(up, +1), Transition(down, -1, when=n >= 1)],
        time="discrete",
    )
    assert same(birth_death_law(model).pmf(0), 1 - up / down)


def test_round_trip_and_display():
    law = birth_death_law(mmc(3))
    copy = pickle.loads(pickle.dumps(law))
    assert copy == law and hash(copy) == hash(law) and copy != birth_death_law(mmc(2))
    assert "stable where lambda < 3*mu" in repr(law)
    assert r"\begin{cases}" in law.latex() and law._repr_latex_().startswith("$")


def test_unstable_chains_name_the_condition():
    with pytest.raises(UnstableError, match=r"needs lambda < mu, which fails at lambda = .*mu = "):
        birth_death_law(mm1())
    with pytest.raises(UnstableError, match="needs lambda < mu, which fails"):
        birth_death_law(mm1(lam <= mu))
    with pytest.raises(UnstableError, match="needs lambda < mu"):
        birth_death_law(mm1(lam < 2 * mu))
    with pytest.raises(UnstableError, match=r"needs lambda < 3\*mu, got lambda = 3, mu = 1"):
        birth_death_law(mmc(3), at={lam: 3, mu: 1})
    with pytest.raises(UnstableError, match="needs birth rate < death rate, got 2 and 2"):
        birth_death_law(Model(n, Domain(), [Transition(2, 1), Transition(2, -1, when=n >= 1)]))
    with pytest.raises(DomainError, match="needs mu > 0"):
        birth_death_law(mm1(lam < mu), at={lam: 1, mu: -1})


def test_models_without_a_closed_form():
    infinite_servers = Model(n, Domain(), [Transition(lam, 1), Transition(n * mu, -1, when=n >= 1)])
    with pytest.raises(ModelError, match=r"rate mu\*n depends on n at every state; give a box"):
        birth_death_law(infinite_servers)
    batches = Model(n, Domain(), [Transition(lam, 2), Transition(mu, -1, when=n >= 1)])
    with pytest.raises(ModelError, match="jump 2 is neither"):
        birth_death_law(batches)
    whole = sp.Symbol("z", integer=True)
    with pytest.raises(ModelError, match="naturals"):
        birth_death_law(Model(whole, Domain(), [Transition(lam, 1), Transition(mu, -1)]))
    with pytest.raises(ReducibleError, match="no death at state 1"):
        birth_death_law(Model(n, Domain(), [Transition(lam, 1)]))
    gap = [Transition(lam, 1, when=n <= 2), Transition(mu, -1, when=n >= 1)]
    with pytest.raises(ReducibleError, match="no birth at state 3"):
        birth_death_law(Model(n, Domain(), gap))


def test_a_wrong_law_fails_the_balance():
    law = birth_death_law(mmc(2))
    ring = law.ring
    births = [ring.ratio(lam)] * 2
    deaths = [ring.ratio(mu), ring.ratio(2 * mu)]
    require_birth_death_balance(law, births, deaths)
    first, second = law.boundary
    swapped = BirthDeathLaw(
        law.variable, ring, 0, (second, first), law.ratio, law.stability, law.domain
    )
    with pytest.raises(CertificateError, match="balance at state 0"):
        require_birth_death_balance(swapped, births, deaths)
    doubled = tuple(value + value for value in law.boundary)
    unnormalised = BirthDeathLaw(
        law.variable, ring, 0, doubled, law.ratio, law.stability, law.domain
    )
    with pytest.raises(CertificateError, match="sum to one"):
        require_birth_death_balance(unnormalised, births, deaths)
