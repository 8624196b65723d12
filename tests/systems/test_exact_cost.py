"""The exact cost of the shorter queue: values, derivatives and shape, each by a second method."""

from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.arithmetic import exact
from qtheory.drift import enclose
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError, UnstableError
from qtheory.systems import shorter_queue as sq
from qtheory.systems.shorter_queue import cost_shape, exact_cost
from qtheory.systems.shorter_queue.cost_shape import convexity, increasing
from qtheory.systems.shorter_queue.exact_cost import Expansion, cost, slope, taylor
from qtheory.systems.shorter_queue.geometric_drift import geometric_drift

# lam = mu = 1: by drift certificates, see tests/drift/test_enclosure.py
FIFTY = {
    "0": "1.4263207511672411877415694129266203743202597745138309",
    "1/2": "1.5965607893543412871382650943916693831648190044573596",
}
KNOWN = {
    ("1/2", "0"): "0.550501032069",
    ("1/2", "1/2"): "0.596182077806",
}


def middle(enclosure):
    return (enclosure.lower + enclosure.upper) / 2


def moves(lam, mu, p, m, d):
    """The chain, written down again."""
    if d == 0:
        yield lam, m, 1
        if m:
            yield 2 * mu, m - 1, 1
    else:
        yield lam * (1 - p / 2), m + 1, d - 1
        yield lam * p / 2, m, d + 1
        yield mu, m, d - 1
        if m:
            yield mu, m - 1, d + 1


@pytest.mark.parametrize(("p", "digits"), FIFTY.items())
def test_published_digits(p, digits):
    found = cost(1, 1, p, digits=30)
    assert str(found) == digits[:31]
    assert exact(digits) in cost(1, 1, p, digits=6)


@pytest.mark.parametrize(("point", "digits"), KNOWN.items())
def test_reference_values(point, digits):
    lam, p = point
    assert abs(middle(cost(lam, 1, p, digits=13)) - exact(digits)) < F(1, 10**12)


def test_a_reference_value_in_heavier_traffic():
    assert abs(middle(cost("3/2", 1, 0, digits=8)) - exact("3.672080290233")) < F(1, 10**8)


def test_the_drift_engine_encloses_the_same_number():
    at = {"lam": "1/2", "mu": 1, "p": "9/10"}
    mine = cost("1/2", 1, "9/10", digits=20)
    # by (I2), with E|D| from the drift engine
    apart = enclose(sq.model(), sq.d, at, digits=20).value
    by_identity = [(1 - F(1, 20) * end) / F(3, 2) for end in (apart.upper, apart.lower)]
    assert by_identity[0] <= mine.upper and mine.lower <= by_identity[1]


def test_the_ends_in_closed_form():
    assert cost(1, 1, 1).is_exact and cost(1, 1, 1).lower == 2
    assert slope(1, 1, 1).lower == F(4, 3)
    values = taylor("3/4", "5/4", 1, 1, digits=12)
    assert cost("3/4", "5/4", 1).lower in values[0]
    assert slope("3/4", "5/4", 1).lower in values[1]
    ratio = exact_cost.full_slope / sq.dJbar(1)
    assert (ratio - 2 * sq.mu / (2 * sq.mu - sq.lam)).simplify() == 0


@pytest.mark.parametrize("p", [F(2, 3)])
def test_derivatives_against_difference_quotients(p):
    lam, h = F(1, 3), F(1, 200)
    values = {k: middle(cost(lam, 1, p + k * h, digits=30)) for k in range(-4, 5)}
    first = [F(4, 5), F(-1, 5), F(4, 105), F(-1, 280)]
    second = [F(8, 5), F(-1, 5), F(8, 315), F(-1, 560)]
    quotient = sum(c * (values[k] - values[-k]) for k, c in enumerate(first, 1)) / h
    curvature = sum(c * (values[k] + values[-k]) for k, c in enumerate(second, 1))
    curvature = (curvature - F(205, 72) * values[0]) / h**2
    found = taylor(lam, 1, p, 2, digits=18)
    assert found[1].upper - found[1].lower < F(1, 10**17)
    assert abs(middle(found[1]) - quotient) < F(1, 10**15)
    assert abs(2 * middle(found[2]) - curvature) < F(1, 10**13)


def test_the_derivative_solves_the_differentiated_balance_equations():
    """pi' Q = -pi Q' on a box of doubles."""
    size, lam, mu, p = 26, 0.5, 1.0, 0.5

    def matrix(p):
        held = np.zeros((size, size, size, size))
        for m in range(size):
            for d in range(size):
                for rate, i, j in moves(lam, mu, p, m, d):
                    if i < size and j < size:
                        held[m, d, i, j] += rate
                        held[m, d, m, d] -= rate
        return held.reshape(size**2, size**2)

    here, along = matrix(p), matrix(1.0) - matrix(0.0)
    here_and_one = np.column_stack([here, np.ones(size**2)]).T
    right = np.zeros((size**2 + 1, 1))
    right[-1] = 1
    law = np.linalg.lstsq(here_and_one, right, rcond=None)[0][:, 0]
    right = np.append(-law @ along, 0)
    change = np.linalg.lstsq(here_and_one, right, rcond=None)[0]
    jobs = np.add.outer(2 * np.arange(size), np.arange(size)).ravel()
    values = taylor("1/2", 1, "1/2", 1, digits=12)
    assert abs(law @ jobs - float(values[0])) < 1e-9
    assert abs(change @ jobs - float(values[1])) < 1e-9


def test_fewer_digits_enclose_more():
    fine = taylor("1/2", 1, "3/10", 3, digits=18)
    for digits in (1, 5, 9):
        for wide, narrow in zip(taylor("1/2", 1, "3/10", 3, digits), fine, strict=True):
            assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper


@given(
    st.fractions(F(1, 20), F(4, 5), max_denominator=20),
    st.fractions(0, 1, max_denominator=12),
    st.sampled_from([F(1, 3), F(2), F(7, 5)]),
)
@settings(max_examples=4, deadline=None)
def test_the_unit_of_time_does_not_matter(lam, p, unit):
    here, there = (taylor(lam * k, k, p, 1, digits=9) for k in (1, unit))
    for left, right in zip(here, there, strict=True):
        assert left.lower <= right.upper and right.lower <= left.upper
    # between the pooled queue and the closed-form bound
    at = {sq.lam: lam, sq.mu: 1, sq.p: p}
    assert exact(sq.pooled.subs(at)) <= here[0].upper
    assert here[0].lower <= exact(sq.Jbar().subs(at)) and here[1].lower > 0


@pytest.mark.parametrize("unit", ["1e-200", "1e-12", "1e12", F(10) ** 400])
def test_any_unit_of_time(unit):
    unit = exact(unit)
    assert cost(unit, unit, "1/2") == cost(1, 1, "1/2")
    assert slope(unit, unit, "1/2") == slope(1, 1, "1/2")
    here, there = convexity("1/4", 1), convexity(unit / 4, unit)
    assert there.least == here.least and there.mu == unit
    assert geometric_drift(unit, unit).kappa == unit * geometric_drift(1, 1).kappa


@pytest.mark.parametrize("jobs", [True, False])
def test_errors_carry_what_the_window_leaves_out_and_the_errors_before(jobs):
    """e_0 >= f/V beyond the window, where B_0 >= 0, and eta_n >= spread eta_(n-1)."""
    drift, top = geometric_drift(1, 1), 60
    series = Expansion(F(1), F(1), F(1, 2), top, 200).series(jobs, 3)
    beyond = [(m, d) for m in range(top) for d in range(top) if top < 3 * m + 2 * d <= top + 3]
    left_out = max((2 * m + d if jobs else 1) / drift.at(m, d) for m, d in beyond)
    assert series.errors[0] >= drift.at(0, 1) * left_out / drift.kappa
    assert all(after >= drift.spread * before for before, after in pairwise(series.errors))


def test_numbers_beyond_doubles_are_refused():
    long = F(10**330 - 1, 10**330)
    with pytest.raises(PrecisionError, match="lambda/mu has too many digits"):
        cost(long, 1, "1/3")
    with pytest.raises(PrecisionError, match="too many digits"):
        cost(1, 1, long)
    with pytest.raises(PrecisionError, match="too many digits"):
        convexity("1e-400", 1)


# p = 1 decides kappa at load 1/10, p = 0 at load 3/2
@pytest.mark.parametrize(("lam", "mu"), [("1/10", 1), ("1/2", 1), ("9/2", 3)])
def test_the_geometric_drift_state_by_state(lam, mu):
    drift, lam, mu = geometric_drift(lam, mu), exact(lam), exact(mu)
    assert drift.kappa > 0 and min(drift.values) >= 1 and drift.base > 1
    for m in range(26):
        for d in range(26):
            here = drift.at(m, d)
            if not m and not d:
                continue
            for p in (F(0), F(2, 5), F(1)):
                change = sum(r * (drift.at(i, j) - here) for r, i, j in moves(lam, mu, p, m, d))
                assert change <= -drift.kappa * here
            if d:
                both = drift.at(m, d + 1) + drift.at(m + 1, d - 1)
                assert lam / 2 * both <= drift.spread * drift.kappa * here


def test_the_cost_increases():
    assert increasing()
    values = [cost("1/2", 1, F(i, 6), digits=10) for i in range(7)]
    assert all(left.upper < right.lower for left, right in pairwise(values))


def test_the_check_of_the_order_can_fail(monkeypatch):
    """Where equal queues were not served, (1, 1) would not stay below (2, 0)."""

    def unequal(longer, total):
        return longer - (2 * longer > total), total - (2 * longer > total)

    monkeypatch.setitem(cost_shape.EVENTS, "serve the longer", unequal)
    assert not increasing.__wrapped__()


@pytest.mark.parametrize("lam", ["1/4", "1/2"])
def test_convexity_is_proved(lam):
    found = convexity(lam, 1)
    step = F(1, 10)
    values = [cost(lam, 1, step * i, digits=12) for i in range(11)]
    for before, here, after in zip(values, values[1:], values[2:], strict=False):
        assert before.upper + after.upper - 2 * here.lower >= found.least * step**2 > 0
    # the least curvature lies at p = 0, and little is lost
    assert found.least <= 2 * taylor(lam, 1, 0, 2, 6)[2].upper <= found.least * F(3, 2)


def test_a_curve_that_is_not_convex_is_not_proved():
    """J = X/Y with X = 1 - s^2 and Y = 1."""
    none = F(0)
    jobs = exact_cost.Series((F(1), none, F(-1)), (none,) * 3, F(1, 10**9), F(1))
    time = exact_cost.Series((none,) * 3, (none,) * 3, F(1, 10**9), F(1))
    assert cost_shape._bisected(jobs, time, F(1, 8)) is None
    flipped = exact_cost.Series((F(1), none, F(1)), (none,) * 3, F(1, 10**9), F(1))
    least, _ = cost_shape._bisected(flipped, time, F(1, 8))
    assert F(19, 10) < least <= 2


def test_the_coefficients_beyond_the_last_count():
    """J = -1/(1 - s) has J'' = -2/(1 - s)^3, all of its coefficients being -1."""
    none = F(0)
    jobs = exact_cost.Series((F(-1),) * 8, (none,) * 8, F(1), F(1))
    time = exact_cost.Series((none,) * 8, (none,) * 8, F(1, 10**9), F(1))
    half = F(1, 2)
    assert cost_shape._Curvature(jobs, time, half)(half, half) <= -16


def test_errors_name_the_condition():
    with pytest.raises(UnstableError, match=r"needs lambda < 2\*mu"):
        cost(2, 1, "1/2")
    with pytest.raises(UnstableError, match=r"needs lambda < 2\*mu"):
        convexity(3, 1)
    with pytest.raises(DomainError):
        slope(1, 1, "11/10")
    with pytest.raises(DomainError, match="order -1"):
        taylor(1, 1, 0, -1)
    with pytest.raises(DomainError, match="digits 0"):
        taylor(1, 1, 0, 0, digits=0)
    for coefficient in (cost, slope):
        with pytest.raises(DomainError, match="digits must be from 1"):
            coefficient(1, 1, 1, digits=0)
    with pytest.raises(PrecisionError, match="more than 250"):
        cost(1, 1, 0, digits=300)
