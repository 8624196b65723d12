"""The compensation series against identities, published digits and a second method."""

import pickle
from fractions import Fraction as F
from itertools import islice, pairwise

import pytest
import sympy as sp
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory import Domain, Model, Transition
from qtheory.drift import enclose
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.stationary.series.law import compensation
from qtheory.stationary.series.terms import (
    Series,
    power_sum,
    product_terms,
    symbolic_terms,
)
from qtheory.systems import shorter_queue as sq
from qtheory.systems.shorter_queue import d, lam, m, mu

MODEL = sq.model()
JOBS = 2 * m + d
J1 = "1.4263207511672411877415694129266203743202597745138309"


def law(rate, digits=30):
    return compensation(MODEL, {"lam": rate, "mu": 1, "p": 0}, digits)


def test_digits_of_the_mean():
    value = law(1, 50).expect(JOBS)
    # 53 correctly rounded digits, from an exponential Lyapunov function and Poisson's equation
    assert str(value) == J1[: len(str(value))] and len(str(value)) == 51
    assert abs(value.lower - F(J1)) < F(1, 10**51)
    assert value.upper - value.lower < F(1, 10**52)
    hundred = str(law(1, 100).expect(JOBS))
    assert hundred.startswith(J1[:-1]) and len(hundred) == 101


@pytest.mark.parametrize("rate", ["1/2", "3/2", "19/10"])
def test_agrees_with_the_drift_enclosure(rate):
    proved = enclose(MODEL, JOBS, at={"lam": rate, "mu": 1, "p": 0}, digits=20).value
    value = law(rate).expect(JOBS)
    assert proved.lower <= value.lower <= value.upper <= proved.upper


@given(st.fractions(min_value=F(1, 1000), max_value=F(1999, 1000), max_denominator=1000))
@settings(max_examples=20, deadline=None)
def test_identities(rate):
    """I1, I2, the busy servers and the total mass, of which the series knows nothing."""
    found = law(rate, 25)
    assert F(1) in found.expect(1)
    assert 2 / (2 + 2 * rate) in found.marginal(d, 0)
    equal, empty = found.probability(sp.Eq(m, 0) & (d >= 1)), found[0, 0]
    assert 2 - equal.upper - 2 * empty.upper <= rate <= 2 - equal.lower - 2 * empty.lower
    jobs, difference = found.expect(JOBS), found.expect(d)
    ends = [(2 * rate - rate * x) / (2 - rate) for x in (difference.upper, difference.lower)]
    assert jobs.lower <= ends[1] and ends[0] <= jobs.upper


@pytest.mark.parametrize("rate", [F(1, 100), F(1), F(99, 50)])
def test_balance_at_every_state_near_the_origin(rate):
    """Also at (1, 1), the one equation that the construction does not use."""
    found = law(rate, 40)
    values = {(i, j): found[i, j] for i in range(6) for j in range(6)}

    def flow(i, j):
        if i < 0 or j < 0:
            return F(0), F(0)
        return values[i, j].lower, values[i, j].upper

    for i in range(5):
        for j in range(4):
            sources = [(flow(i - 1, j + 1), rate), (flow(i, j + 1), 1)]
            sources += [(flow(i + 1, j - 1), 2 if j == 1 else 1)] if j else []
            sources += [(flow(i, 0), rate)] if j == 1 else []
            out = rate + (j >= 1) + (i >= 1) * (1 if j else 2)
            sides = zip(*[(w * low, w * high) for (low, high), w in sources], strict=True)
            least, greatest = map(sum, sides)
            # where the difference is 0 or 1 not all of the moves above exist
            if j == 0:
                least, greatest = (rate * flow(i - 1, 1)[k] + flow(i, 1)[k] for k in (0, 1))
                out = rate + 2 * (i >= 1)
            assert least <= out * values[i, j].upper and out * values[i, j].lower <= greatest


def test_kernel_and_recursion():
    for rate, service in ((F(1), F(1)), (F(7, 3), F(5, 4))):
        total = rate + 2 * service
        terms = list(islice(product_terms(rate, service), 8))
        assert terms[0].alpha == (rate / (2 * service)) ** 2
        pairs = [(t.alpha, t.beta) for t in terms]
        pairs += [(after.alpha, t.beta) for t, after in pairwise(terms)]
        for a, b in pairs:
            assert total * a * b == rate * b**2 + service * a * b**2 + service * a**2
        falling = [x for t in terms for x in (t.alpha, t.beta)]
        assert all(x > y for x, y in pairwise(falling))


@given(st.fractions(min_value=F(1, 500), max_value=F(499, 500), max_denominator=500))
@settings(max_examples=25, deadline=None)
def test_ratio_bounds_of_the_remainder(rho):
    """The three bounds of the docstring, in exact arithmetic, on the first terms."""
    rate = 2 * rho
    terms = list(islice(product_terms(rate, F(1)), 7))
    total = rate + 2
    start = 2 * rho / ((1 + rho) * (2 + rho) * (2 - rho**2))
    products = []
    for k, term in enumerate(terms):
        u = term.beta / term.alpha
        growth, lift = u / (1 - u), 1 / (1 - total * term.beta / rate)
        fall = rate * u**2
        assert 0 < growth < 1 and lift > 0
        products.append(growth * lift * fall)
        for now, after in zip(terms[k:], terms[k + 1 :], strict=False):
            assert 0 < after.c / now.c <= growth
            assert 0 < -after.d * after.beta / (now.d * now.beta) <= lift
            assert after.beta / now.beta <= after.alpha / now.alpha <= fall
    assert products[0] == start < F(1, 3)
    assert products == sorted(products, reverse=True)


def test_remainder_holds_what_is_left_out():
    with ctx.workprec(300):
        series = Series(F(1), F(1), 300)
        everything = compensation(MODEL, {"lam": 1, "mu": 1, "p": 0})
        short = Series(F(1), F(1), 300)
        short.terms = short.terms[:6]
        for state in ((0, 2), (1, 1), (3, 0), (2, 5)):
            box = tuple(type(MODEL.ranges[0])(n, n) for n in state)
            part = [(F(1), (0, 0), box)]
            rough, fine = short._sum(part), series._sum(part)
            assert rough.contains(fine) and rough.rad() > 1000 * fine.rad()
            assert 0 < abs(rough.mid() - fine.mid()) <= rough.rad()
        assert everything.digits == 20


@pytest.mark.parametrize("span", [(0, None), (3, None), (2, 9), (4, 4), (5, 2)])
@pytest.mark.parametrize("power", [0, 1, 4])
def test_power_sums(span, power):
    interval = type(MODEL.ranges[0])(*span)
    with ctx.workprec(200):
        from flint import arb

        x = arb(1) / 3
        stop = 400 if span[1] is None else span[1]
        direct = sum((n**power * x**n for n in range(span[0], stop + 1)), arb(0))
        assert abs(power_sum(x, power, interval) - direct) < arb(2) ** -180


def test_symbolic_terms_are_those_at_a_point():
    for term, number in zip(symbolic_terms(3, lam, mu), product_terms(F(3), F(2)), strict=False):
        at = {lam: 3, mu: 2}
        for name in ("alpha", "beta", "c", "d"):
            value = getattr(number, name)
            assert getattr(term, name).subs(at) == sp.Rational(value.numerator, value.denominator)


def test_answers_add_up():
    found = law("3/2", 20)
    below = sum(float(found.marginal(m, k)) for k in range(4))
    assert abs(below + float(found.tail(m, 4)) - 1) < 1e-14
    assert abs(float(found.expect("m*d")) - float(found.expect(m * d))) == 0
    states = sum(k * float(found.marginal(d, k)) for k in range(60))
    assert abs(states - float(found.expect(d))) < 1e-13
    row = sum(float(found[2, k]) for k in range(50))
    assert abs(row - float(found.probability(sp.Eq(m, 2)))) < 1e-14
    assert found.probability((1, 2)) == found[1, 2]
    assert found.expect(0).is_exact
    # far out only the first product form is left: its ratio is alpha_0
    ratio = found[301, 1].lower / found[300, 1].lower
    assert abs(ratio - F(9, 16)) < F(1, 10**18)


def test_a_mean_of_zero_is_small():
    found = law(1, 20)
    value = found.expect(sp.Piecewise((1, sp.Eq(d, 0)), (0, True)) - sp.Rational(1, 2))
    assert 0 in value and value.upper < F(1, 10**22)


def test_other_names_scales_and_time():
    low, gap = sp.symbols("low gap", integer=True, nonnegative=True)
    scaled = Model(
        (low, gap),
        Domain(),
        [
            Transition("1/8", (0, 1), when=sp.Eq(gap, 0)),
            Transition("1/4", (-1, 1), when=(low >= 1) & sp.Eq(gap, 0)),
            Transition("1/8", (1, -1), when=gap >= 1),
            Transition("1/8", (0, -1), when=gap >= 1),
            Transition("1/16", (-1, 1), when=(gap >= 1) & (low >= 1)),
            Transition("1/16", (-1, 1), when=(gap >= 1) & (low >= 1)),
        ],
        time="discrete",
    )
    found = compensation(scaled, digits=20)
    assert found.expect(low * gap) == law(1, 20).expect(m * d)


def test_presentation_and_pickle():
    found = law(1, 15)
    assert r"\alpha_{1} &= \frac{1}{25}" in found.latex(2)
    assert found._repr_latex_().startswith("$")
    assert "compensation, 15 digits" in repr(found)
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found and copy[0, 1] == found[0, 1]


def test_what_is_refused():
    with pytest.raises(ModelError, match=r"north, north-east and east.*\(0, 1\) at rate lam\*p/2"):
        compensation(MODEL, {"lam": 1, "mu": 1, "p": "1/2"})
    with pytest.raises(ModelError, match="two state variables over the natural numbers"):
        compensation(sq.targeted_model(), {"lam": 1, "mu": 1, "p": 0})
    with pytest.raises(ModelError, match="north"):
        compensation(sq.bernoulli_model(), {"lam": 1, "mu": 1})
    with pytest.raises(UnstableError):
        compensation(MODEL, {"lam": 2, "mu": 1, "p": 0})
    with pytest.raises(DomainError):
        compensation(MODEL, {"lam": 1, "mu": 1})
    with pytest.raises(DomainError, match="digits"):
        compensation(MODEL, {"lam": 1, "mu": 1, "p": 0}, 0)
    found = law(1, 10)
    for state in ((-1, 0), (0.5, 1), (1,), 3):
        with pytest.raises(DomainError):
            found[state]
    with pytest.raises(ModelError, match="no state variable"):
        found.tail("x", 1)
    with pytest.raises(ModelError):
        found.expect(1 / (1 + m))
    with pytest.raises(ModelError, match="relation"):
        found.probability(lambda state: True)


def test_other_rates_say_where():
    def model(**change):
        rates = {"tie": 1, "both": 2, "join": 1, "leave": 1, "swap": 1} | change
        return Model(
            (m, d),
            Domain(),
            [
                Transition(rates["tie"], (0, 1), when=sp.Eq(d, 0)),
                Transition(rates["both"], (-1, 1), when=sp.Eq(d, 0) & (m >= 1)),
                Transition(rates["join"], (1, -1), when=d >= 1),
                Transition(rates["leave"], (0, -1), when=d >= 1),
                Transition(rates["swap"], (-1, 1), when=(d >= 1) & (m >= 1)),
            ],
        )

    assert F(1) in compensation(model()).expect(1)
    for change in ({"tie": 2}, {"both": 1}, {"join": "1/2"}, {"leave": 2}, {"swap": 2}):
        with pytest.raises(ModelError, match="not the symmetric shorter queue: at"):
            compensation(model(**change))
    with pytest.raises(UnstableError, match="needs arrival rate < 2"):
        compensation(model(tie=2, join=2))
