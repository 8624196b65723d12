"""Proved intervals of the mean shortest queue: the inequality itself, and other methods' values."""

import random
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from qtheory.arithmetic import exact
from qtheory.drift import enclose
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems.dedicated_streams.occupancy import occupancy_law
from qtheory.systems.dedicated_streams.occupancy_bounds import UPPER, _Side, enclose_shortest
from qtheory.systems.dedicated_streams.occupancy_window import Rates, window_of

POINT = ("2/5", "3/10", 1)

found = {N: enclose_shortest(N, *POINT) for N in (2, 3, 4)}


def drift(h, lengths, lam, lam_s, mu):
    """Qh from the definition, customer by customer, the smart ones breaking ties uniformly."""
    here, total = h(lengths), Fraction(0)
    shortest = [i for i, x in enumerate(lengths) if x == min(lengths)]
    for i, x in enumerate(lengths):
        more, less = list(lengths), list(lengths)
        more[i] += 1
        less[i] -= 1
        joins = lam + (len(lengths) * lam_s / len(shortest) if i in shortest else 0)
        total += joins * (h(more) - here)
        if x:
            total += mu * (h(less) - here)
    return total


def holds(bound, lengths):
    value = min(lengths) + drift(bound.h, lengths, *bound.rates)
    return value <= bound.bound if bound.upper else value >= bound.bound


@pytest.mark.parametrize("N", found)
def test_inequality_holds_from_the_definition(N):
    """At states inside the window, next to it and far outside, in any order of the queues."""
    rng = random.Random(N)
    for bound in found[N].bounds:
        inside = rng.sample(range(len(bound.window)), 60)
        beyond = bound.window.boundary
        near = rng.sample(range(len(beyond)), min(60, len(beyond)))
        states = [bound.window.states[i].tolist() for i in inside]
        states += [beyond.states[i].tolist() for i in near]
        states += [[rng.randrange(12) for _ in range(N)] for _ in range(60)]
        states += [[rng.randrange(10 ** rng.randrange(1, 5)) for _ in range(N)] for _ in range(60)]
        for state in states:
            rng.shuffle(state)
            assert holds(bound, state)


def test_inequality_holds_at_every_small_state():
    """Where the quadratic part alone is not enough: the window must cover it."""
    for bound in found[2].bounds:
        assert all(holds(bound, list(x)) for x in combinations_with_replacement(range(45), 2))


def test_a_smaller_bound_fails_somewhere():
    """The bound is the extreme value, taken in the window or next to it."""
    for bound in found[2].bounds:
        states = [*bound.window.states.tolist(), *bound.window.boundary.states.tolist()]
        values = [min(x) + drift(bound.h, x, *bound.rates) for x in states]
        assert bound.bound == (max(values) if bound.upper else min(values))


@pytest.mark.parametrize(
    ("N", "shortest", "length"),
    [
        (2, "1.0622061184", "1.6977697258"),
        (3, "0.6491684530", "1.4912508930"),
        (4, "0.447505", "1.39041916"),
    ],
)
def test_published_values_lie_inside(N, shortest, length):
    result, rounding = found[N], Fraction(1, 10**6)
    assert result.shortest.upper - result.shortest.lower <= Fraction(1, 10**6)
    assert abs(Fraction(shortest) - Fraction(float(result.shortest))) < rounding
    assert abs(Fraction(length) - Fraction(float(result.length))) < rounding
    assert float(result.shortest) == pytest.approx(occupancy_law(N, *POINT).mean_shortest, abs=1e-6)


def test_more_queues_on_a_wider_interval():
    result = enclose_shortest(5, *POINT, width="1/10000")
    assert result.shortest.lower < Fraction("0.3293915") < result.shortest.upper
    assert result.shortest.upper - result.shortest.lower <= Fraction(1, 10**4)


def test_two_queues_agree_with_the_general_enclosure():
    at = {"lam": "2/5", "lam_s": "3/10", "mu": 1}
    other = enclose(ds.model(2), ds.model(2).state[0], at=at, digits=12).value
    mine = enclose_shortest(2, *POINT, width=Fraction(1, 10**9)).shortest
    assert mine.lower <= other.lower <= other.upper <= mine.upper
    assert mine.upper - mine.lower <= Fraction(1, 10**9)


@pytest.mark.parametrize(
    "point", [("3/10", "1/20", 1), ("1/10", "3/5", 1), ("1/3", "1/4", "7/9"), (2, 1, 5)]
)
def test_other_rates_enclose_the_float_means(point):
    result = enclose_shortest(2, *point, width="1/100000")
    law = occupancy_law(2, *point, tolerance=1e-10)
    assert float(result.shortest) == pytest.approx(law.mean_shortest, abs=1e-5)
    assert float(result.length) == pytest.approx(law.mean_length, abs=1e-4)
    assert all(holds(b, [x, y]) for b in result.bounds for x in range(9) for y in range(9))


def test_length_follows_from_the_shortest_by_the_identity():
    lam, lam_s, mu = map(Fraction, POINT)
    result = enclose_shortest(3, lam, lam_s, mu, q="1/3", width="1/1000")
    for end in (result.shortest.lower, result.shortest.upper):
        length = (lam / 3 + lam_s * (1 + end)) / (mu - lam / 3)
        near = Fraction(1, 10**4)
        assert result.length.lower - near <= length <= result.length.upper + near


def test_probabilities_with_long_fractions_need_no_64_bits():
    q = Fraction(123456789123456789, 10**18)
    result = enclose_shortest(2, *POINT, q=q)
    assert all(b.values.dtype == object for b in result.bounds)
    assert all(holds(b, [x, y]) for b in result.bounds for x in range(6) for y in range(6))


def test_the_window_must_cover_what_the_quadratic_part_leaves():
    side = _Side(2, Rates(*map(Fraction, POINT)), True)
    crude = side._proved(window_of(np.array([[0, 0]])), np.zeros(1), 0)
    # M + Qh at the empty state: delta N (lam + lam_s) with delta = UPPER/(N s)
    assert crude is not None
    assert crude.bound == UPPER * Fraction(7, 3)
    assert all(holds(crude, [x, y]) for x in range(9) for y in range(9))
    # the largest value is not looked at
    assert side._proved(window_of(np.array([[5, 5]])), np.zeros(1), 0) is None


def test_known_laws_are_exact():
    one = enclose_shortest(1, *POINT)
    assert one.shortest.is_exact
    assert one.shortest.lower == one.length.lower == Fraction(7, 3)
    # independent queues: P(M >= k) = load^(N k)
    free = enclose_shortest(3, "1/2", 0, 1)
    assert (free.shortest.lower, free.length.lower) == (Fraction(1, 7), 1)
    empty = enclose_shortest(3, 1, 0, 1, q=0)
    assert (empty.shortest.upper, empty.length.upper) == (0, 0)


def test_nobody_joins_the_dedicated_streams():
    result = enclose_shortest(3, *POINT, q=0)
    law = occupancy_law(3, *POINT, q=0, tolerance=1e-11)
    assert float(result.shortest) == pytest.approx(law.mean_shortest, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0, *POINT), ModelError),
        ((2, "1/2", "1/2", 1), UnstableError),
        ((2, *POINT, "3/2"), DomainError),
        ((2, *POINT, 1, 0), PrecisionError),
        ((2, *POINT, 1, Fraction(1, 10**30)), PrecisionError),
    ],
)
def test_no_interval_without_a_proof(arguments, error):
    with pytest.raises(error):
        enclose_shortest(*arguments)


@pytest.mark.parametrize("unit", ["1e-200", "1e12", Fraction(10) ** 400])
def test_any_unit_of_time(unit):
    """The proof is of rates near 1, and the same one."""
    unit = exact(unit)
    here, there = (enclose_shortest(2, k / 4, k / 4, k) for k in (Fraction(1), unit))
    assert here.shortest.lower <= there.shortest.upper and there.length.lower <= here.length.upper
    assert there.rates.service == unit and max(there.shortest.upper, here.shortest.upper) < 1
    scaled = there.bounds[0].rates
    assert Fraction(1, 2) <= scaled.service <= 2
    assert scaled.dedicated / scaled.service == Fraction(1, 4)


def test_service_rates_of_a_usual_size_are_left_alone():
    assert found[2].bounds[0].rates == Rates(Fraction(2, 5), Fraction(3, 10), Fraction(1))
