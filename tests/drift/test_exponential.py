"""Exponential moments of the steady state: proved bounds, and honest failure."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from qtheory import Domain, Model, Transition
from qtheory.drift.chain import chain_at
from qtheory.drift.exponential import proved, representatives
from qtheory.drift.exponential_search import StabilityError, exponential_moment
from qtheory.errors import ModelError, QTheoryError, UnstableError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq

n = sp.Symbol("n", integer=True, nonnegative=True)
lam, mu = sq.lam, sq.mu


def queue(arrivals, departures=1):
    return Model(n, Domain(), [Transition(arrivals, +1), Transition(departures, -1, when=n >= 1)])


def drift_ratio(chain, moment, state):
    """(E + QV)/E by the definition."""
    level = moment.level(state)
    here = moment.value(state) * moment.base**level
    change = sum(
        rate * (moment.value(reached) * moment.base ** moment.level(reached) - here)
        for rate, reached in chain.steps(state)
    )
    return 1 + change / moment.base**level


@pytest.mark.parametrize(
    ("model", "at"),
    [
        (sq.model(), {"lam": 1, "mu": 1, "p": "1/2"}),
        (sq.model(), {"lam": "3/2", "mu": 1, "p": "7/10"}),
        (sq.targeted_model(), {"lam": 1, "mu": 1, "p": "1/2"}),
        (ds.model(2), {"lam": "1/2", "lam_s": "1/4", "mu": 1}),
    ],
)
def test_the_drift_inequality_holds_also_beyond_the_states_that_are_tried(model, at):
    chain, moment = chain_at(model, at), exponential_moment(model, at, digits=10)
    first = moment.low[1] - 6
    for x in range(15):
        for y in range(first if model.ranges[1].low is None else 0, 15):
            ratio = drift_ratio(chain, moment, (x, y))
            assert ratio <= 0 or ratio * moment.base ** moment.level((x, y)) <= moment.bound
    far = (40, 40)
    assert drift_ratio(chain, moment, far) <= 0


def test_the_moment_of_a_single_queue():
    moment = exponential_moment(queue("1/2"))
    ((_, theta),) = moment.thetas
    # P(N = k) = 2^-(k + 1)
    assert 1 < theta < 2
    assert float(moment.bound) >= 0.5 / (1 - theta / 2)
    assert "E[prod theta^|x|] <=" in str(moment)


def test_layers_are_found_where_a_product_does_not_do():
    at = {"lam": "3/2", "mu": 1, "p": "7/10"}
    moment = exponential_moment(sq.model(), at)
    assert moment.cells > 1
    chain = chain_at(sq.model(), at)
    flat = replace(moment, values=(Fraction(1),) * moment.cells)
    assert proved(chain, flat) is None


def test_a_proof_needs_nonnegative_values_and_a_negative_drift():
    chain, moment = chain_at(queue("1/2"), {}), exponential_moment(queue("1/2"))
    assert proved(chain, replace(moment, values=(Fraction(-1),) * moment.cells)) is None
    assert proved(chain, replace(moment, base=Fraction(2), weights=((0, 1),))) is None
    # theta = 2 is critical, 3/2 is not: QV/V = 1/2 (3/2) + 2/3 - 3/2 = -1/12
    found = proved(chain, replace(moment, base=Fraction(3, 2), weights=((0, 1),)))
    assert found is not None and found.values[-1] >= 12


def test_representatives_cover_bounded_coordinates_whole():
    k = sp.Symbol("k", integer=True, nonnegative=True)
    model = Model(
        (n, k),
        Domain(),
        [
            Transition(1, (1, 0)),
            Transition(2, (-1, 0), when=n >= 1),
            Transition(1, (0, 1), when=k <= 8),
            Transition(1, (0, -1), when=k >= 1),
        ],
        ranges={k: (0, 9)},
    )
    found = list(representatives(chain_at(model, {}), (0, 0), (0, 9)))
    assert {state[1] for state, _ in found} == set(range(10))
    assert all(far == (state[0] == max(s[0] for s, _ in found)) for state, far in found)


@pytest.mark.parametrize("arrivals", [1, "1000001/1000000", 2])
def test_an_unstable_queue_gets_no_bound(arrivals):
    with pytest.raises(StabilityError, match="stability not proved: no exponential Lyapunov"):
        exponential_moment(queue(arrivals))
    assert issubclass(StabilityError, QTheoryError)


def test_the_boundary_of_stability_gets_no_bound():
    free = Model(sq.model().state, Domain(sq.p <= 1), sq.model().transitions)
    for p in (0, "1/2", 1):
        with pytest.raises(StabilityError, match="lam = 2, mu = 1"):
            exponential_moment(free, {"lam": 2, "mu": 1, "p": p})
    with pytest.raises(UnstableError, match=r"unstable: needs lambda < 2\*mu"):
        exponential_moment(sq.model(), {"lam": 2, "mu": 1, "p": 0})


def test_rates_that_grow_are_refused():
    model = Model(n, Domain(), [Transition(1, +1), Transition(n, -1, when=n >= 1)])
    with pytest.raises(ModelError, match="rate n is not bounded"):
        exponential_moment(model)


def test_a_null_recurrent_walk_gets_no_bound():
    z = sp.Symbol("z", integer=True)
    with pytest.raises(StabilityError):
        exponential_moment(Model(z, Domain(), [Transition(1, +1), Transition(1, -1)]))
