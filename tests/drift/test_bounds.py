"""The bound ladder: published values, models it was not made for, and what it must refuse."""

import json
from fractions import Fraction

import pytest
import sympy as sp

from qtheory import Domain, Model, Transition, prove
from qtheory.check import check
from qtheory.drift import NoBoundError, NotShownError, bound_by, bounds, foster, moment_certificate
from qtheory.drift.search import with_numbers
from qtheory.errors import ModelError, UnstableError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq

COST = 2 * sq.m + sq.d
lam, mu, p = sq.lam, sq.mu, sq.p

# lam, p, then [lower, upper] for L = 0, 1, 2, 3 at mu = 1, as published to 5 digits. They came from
# the inequalities at the states of a finite window, which a little less than the best bound
# satisfies: at lam = 1, p = 0, L = 0 windows of 12, 40 and 100 give 1.4891, 1.4968 and 1.4987,
# published is 1.49988, and the best bound on the whole lattice is 3/2.
LADDER = [
    ("1/2", "0", [(0.54667, 0.55238), (0.55042, 0.55058), (0.55050, 0.55050), (0.55050, 0.55050)]),
    (
        "1/2",
        "3/5",
        [(0.60350, 0.60873), (0.60737, 0.60786), (0.60776, 0.60781), (0.60780, 0.60780)],
    ),
    ("1", "0", [(1.37500, 1.49988), (1.42106, 1.43747), (1.42577, 1.42812), (1.42626, 1.42662)]),
    ("1", "3/5", [(1.55995, 1.68908), (1.62569, 1.65737), (1.64280, 1.65084), (1.64734, 1.64942)]),
    ("3/2", "0", [(3.15484, 4.08000), (3.57927, 3.82278), (3.64959, 3.71876), (3.66593, 3.68706)]),
    (
        "3/2",
        "9/10",
        [(4.90744, 5.52472), (4.95299, 5.37444), (5.06425, 5.30566), (5.12933, 5.26996)],
    ),
]


@pytest.mark.parametrize(("rate", "fraction", "values"), LADDER)
def test_the_ladder_has_the_published_values(rate, fraction, values):
    at = {"lam": rate, "mu": 1, "p": fraction}
    for layers, (low, high) in enumerate(values):
        found = bounds(sq.model(), COST, layers, at=at)
        assert float(found.lower.bound) == pytest.approx(low, rel=3e-4)
        assert float(found.upper.bound) == pytest.approx(high, rel=3e-4)
        assert found.lower.bound <= found.upper.bound


def test_the_best_bound_without_layers_is_three_halves():
    found = bounds(sq.model(), COST, 0, at={"lam": 1, "mu": 1, "p": 0})
    assert (found.lower.bound, found.upper.bound) == (sp.Rational(11, 8), sp.Rational(3, 2))
    assert found.optimal == (True, True)


def test_closed_form_of_the_upper_bound():
    found = bounds(sq.model(), COST, layers=0)
    stated = (
        2
        * lam
        * mu
        * (lam * p**2 - 3 * lam * p + 3 * lam - 2 * mu * p + 4 * mu)
        / ((2 * mu - lam) * (2 * mu + (2 - p) * lam) * (mu + (1 - p) * lam))
    )
    everywhere = [c for c in found.upper if c.domain == sq.domain]
    assert any(sp.cancel(c.bound - stated) == 0 for c in everywhere)
    value = stated.subs({lam: sp.Rational(3, 2), mu: 1, p: sp.Rational(3, 10)})
    assert float(value) == pytest.approx(4.300187617, abs=1e-9)
    for certificate in (*found.lower, *found.upper):
        check(json.loads(json.dumps(certificate.data)))


def test_symbolic_bounds_agree_with_the_numeric_ones_where_they_are_optimal():
    found = bounds(sq.model(), COST, layers=1)
    for point in sq.domain.sample(6, seed=9):
        exact = bounds(sq.model(), COST, layers=1, at=point)
        held = [c for c in found.upper if c.domain.contains(point)]
        assert min(c.bound.subs(point) for c in held) >= exact.upper.bound
        held = [c for c in found.lower if c.domain.contains(point)]
        assert max(c.bound.subs(point) for c in held) <= exact.lower.bound


x, y = sp.symbols("x y", integer=True, nonnegative=True)
a, b = sp.symbols("a b", positive=True)
mu1, mu2 = sp.symbols("mu_1 mu_2", positive=True)


def single():
    return Model(x, Domain(stable=a < b), [Transition(a, (1,)), Transition(b, (-1,), when=x >= 1)])


def batch():
    return Model(
        x, Domain(stable=2 * a < b), [Transition(a, (2,)), Transition(b, (-1,), when=x >= 1)]
    )


def tandem():
    return Model(
        (x, y),
        Domain(stable=(a < mu1, a < mu2)),
        [
            Transition(a, (1, 0)),
            Transition(mu1, (-1, 1), when=x >= 1),
            Transition(mu2, (0, -1), when=y >= 1),
        ],
    )


def priority():
    return Model(
        (x, y),
        Domain(stable=a + b < mu),
        [
            Transition(a, (1, 0)),
            Transition(b, (0, 1)),
            Transition(mu, (-1, 0), when=x >= 1),
            Transition(mu, (0, -1), when=sp.And(sp.Eq(x, 0), y >= 1)),
        ],
    )


def jockeying():
    """M/M/2 with instantaneous use of an idle server: total service 2 mu unless one is alone."""
    return Model(
        (x, y),
        Domain(stable=a < 2 * mu),
        [
            Transition(a, (1, 0), when=sp.Eq(x, 0)),
            Transition(a, (0, 1), when=x >= 1),
            Transition(mu, (-1, 0), when=sp.And(x >= 1, sp.Eq(y, 0))),
            Transition(2 * mu, (0, -1), when=sp.And(x >= 1, y >= 1)),
        ],
        ranges={x: (0, 1)},
    )


def discrete():
    arrive, serve = sp.symbols("r s", positive=True)
    return Model(
        x,
        Domain(serve < 1, stable=arrive < serve),
        [
            Transition(arrive, (1,), when=sp.Eq(x, 0)),
            Transition(arrive * (1 - serve), (1,), when=x >= 1),
            Transition(serve * (1 - arrive), (-1,), when=x >= 1),
        ],
        time="discrete",
    )


# the mean by the textbook at a point
KNOWN = [
    (single, x, {"a": "1/2", "b": 1}, Fraction(1)),
    # batches of two: E = rho (1 + 2)/2/(1 - rho), rho = 2 a/b
    (batch, x, {"a": "1/4", "b": 1}, Fraction(3, 2)),
    (tandem, x + y, {"a": "1/2", "mu_1": 1, "mu_2": 2}, 1 + Fraction(1, 3)),
    # preemptive priority: the first class is M/M/1, all together too
    (priority, x + y, {"a": "1/4", "b": "1/4", "mu": 1}, Fraction(1)),
    (priority, x, {"a": "1/4", "b": "1/4", "mu": 1}, Fraction(1, 3)),
    # M/M/2 with a = 1, mu = 1: 4 a mu/(4 mu^2 - a^2)
    (jockeying, x + y, {"a": 1, "mu": 1}, Fraction(4, 3)),
    (discrete, x, {"r": "1/3", "s": "1/2"}, Fraction(4, 3)),
]


@pytest.mark.parametrize(("build", "cost", "at", "mean"), KNOWN)
def test_other_models_and_their_known_means(build, cost, at, mean):
    gaps = []
    for layers in (0, 1, 2):
        try:
            found = bounds(build(), cost, layers, at=at)
        except NoBoundError:
            continue
        low = found.lower.bound if found.lower else -sp.oo
        high = found.upper.bound if found.upper else sp.oo
        exact = sp.Rational(mean.numerator, mean.denominator)
        assert low <= exact <= high
        gaps.append(float(high - low))
    assert gaps
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-12 or build in (tandem, priority)


def test_three_queues_by_their_identity():
    model = ds.model(3)
    total = 3 * model.state[0] + 2 * model.state[1] + model.state[2]
    found = bounds(model, total, 0, at={"lam": "2/5", "lam_s": "3/10", "mu": 1})
    assert float(found.lower.bound) / 3 <= 1.4912508930 <= float(found.upper.bound) / 3


def test_a_test_function_of_the_author():
    certificate = bound_by(sq.model(), COST, *_author())
    assert sp.cancel(certificate.bound - sq.JB) == 0
    check(certificate.data)
    with pytest.raises(NotShownError, match="the drift exceeds the bound"):
        bound_by(sq.model(), COST, _author()[0], sq.JB - sp.Rational(1, 10**9))


def _author():
    # V = (x1^2 + x2^2 + x1 + x2)/(2 mu - lam): f + QV <= 2 lam/(2 mu - lam) since (1 - p) d >= 0
    m, d = sq.m, sq.d
    return (m**2 + (m + d) ** 2 + 2 * m + d) / (2 * mu - lam), sq.JB


def test_unstable_chains_get_no_bound():
    with pytest.raises(UnstableError):
        bounds(sq.model(), COST, 1, at={"lam": 2, "mu": 1, "p": 0})
    unstable = Model(
        x,
        Domain(),
        [Transition(sp.Integer(1), (1,)), Transition(sp.Integer(1), (-1,), when=x >= 1)],
    )
    with pytest.raises(NoBoundError):
        bounds(unstable, x, 1, at={})
    with pytest.raises(NoBoundError):
        foster(unstable)
    with pytest.raises(NoBoundError):
        foster(Model(x, Domain("a > 0, b > 0"), single().transitions))


def test_rates_that_grow_and_unknown_costs_are_refused():
    growing = Model(x, Domain(a > 0), [Transition(a, (1,)), Transition(x, (-1,), when=x >= 1)])
    with pytest.raises(ModelError, match="depends on the state"):
        bounds(growing, x, 0, at={"a": 1})
    with pytest.raises(ModelError, match="the cost names z"):
        bounds(single(), sp.Symbol("z"), 0)


@pytest.mark.parametrize("build", [single, batch, tandem, priority, jockeying, discrete])
def test_stability_is_proved_on_the_whole_domain(build):
    found = foster(build())
    check(found.data)
    assert found.domain == build().domain


def test_foster_of_a_single_queue_by_hand():
    found = foster(single())
    assert sp.cancel(found.certificate.bound - a / (b - a)) == 0
    assert bool(prove(sp.Ge(found.certificate.bound, 0, evaluate=False), found.domain))


def test_moments_of_the_numeric_model():
    model = with_numbers(sq.model(), {"lam": "3/2", "mu": 1, "p": "3/10"})
    assert model.parameters == ()
    check(moment_certificate(model).data)


def test_the_regimes_cover_the_domain_at_exact_points():
    """At any point the best closed form is the exact optimum of the ladder there."""
    found = bounds(sq.model(), COST, layers=0)
    points = sq.domain.sample(15, seed=21) + sq.domain.sample(10, seed=22, near_boundary=True)
    for point in points:
        exact = bounds(sq.model(), COST, layers=0, at=point)
        assert found.best("<=", point).bound.subs(point) == exact.upper.bound
        assert found.best(">=", point).bound.subs(point) == exact.lower.bound


def test_the_boundary_between_the_two_upper_bounds_that_hold_everywhere():
    found = bounds(sq.model(), COST, layers=0)
    whole = [k for k, c in enumerate(found.upper) if c.domain == sq.domain]
    assert len(found.upper) == 3
    assert len(whole) == 2
    (boundary,) = found.boundaries("<=")[tuple(whole)]
    stated = (2 - p) * lam**2 + 2 * p * lam * mu - 4 * mu**2
    assert sp.expand(boundary + stated) == 0 or sp.expand(boundary - stated) == 0
