"""Threshold jockeying and threshold blocking bracket the cost of the shorter queue."""

from fractions import Fraction
from itertools import pairwise, product

import pytest

from qtheory import generator
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.model import coordinates
from qtheory.stationary.qbd import matrix_geometric
from qtheory.systems import shorter_queue as sq

COST = 2 * sq.m + sq.d

# J at lam = mu = 1 by drift certificates
PUBLISHED = {
    "0": "1.4263207511672411877415694129266203743202597745138309",
    "3/10": "1.5139281567128192274979983632713478563727866241441114",
    "1/2": "1.5965607893543412871382650943916693831648190044573596",
    "9/10": "1.8817127921223178548538759906179927070496184366462202",
}

EVENTS = {
    "join the shorter": lambda longer, shorter: (longer, shorter + 1),
    "join the longer": lambda longer, shorter: (longer + 1, shorter),
    "serve the longer": lambda longer, shorter: (max(longer - 1, 0), shorter),
    "serve the shorter": lambda longer, shorter: (longer, max(shorter - 1, 0)),
}
REDIRECTED = {
    sq.threshold_jockeying_model: lambda longer, shorter: (longer - 1, shorter + 1),
    sq.threshold_blocking_model: lambda longer, shorter: (longer, shorter + 1),
}


def happens(event, state):
    longer, shorter = EVENTS[event](*state)
    return max(longer, shorter), min(longer, shorter)


def below(state, other):
    return state[0] <= other[0] and sum(state) <= sum(other)


STATES = [(longer, shorter) for longer in range(7) for shorter in range(longer + 1)]


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_keeps_the_order(event):
    pairs = [(x, y) for x, y in product(STATES, STATES) if below(x, y)]
    assert len(pairs) > 200
    for x, y in pairs:
        assert below(happens(event, x), happens(event, y))


def test_jockeying_goes_below_and_blocking_above():
    for longer, shorter in STATES:
        if longer > shorter + 1:
            jockeying, blocking = (move(longer, shorter) for move in REDIRECTED.values())
            assert below(jockeying, (longer, shorter)) and below((longer, shorter), blocking)


@pytest.mark.parametrize("bound", REDIRECTED)
@pytest.mark.parametrize("threshold", [1, 2, 4])
def test_the_models_are_the_events_with_redirection(bound, threshold):
    at = {"lam": "3/4", "mu": 1, "p": "1/3"}
    rates = dict(zip(EVENTS, (0.75 * 5 / 6, 0.75 / 6, 1, 1), strict=True))
    model = bound(threshold)
    matrix = generator(model, {sq.m: 6}, at, field="float").toarray()
    states = [tuple(state) for state in coordinates(model, {sq.m: 6}).tolist()]
    for i, (least, difference) in enumerate(states):
        if least == 6:
            continue
        wanted = dict.fromkeys(states, 0.0)
        for event, rate in rates.items():
            longer, shorter = happens(event, (least + difference, least))
            if longer - shorter > threshold:
                longer, shorter = REDIRECTED[bound](longer, shorter)
                longer, shorter = max(longer, shorter), min(longer, shorter)
            wanted[(shorter, longer - shorter)] += rate
        del wanted[(least, difference)]
        found = {s: matrix[i, j] for j, s in enumerate(states) if j != i}
        assert found == pytest.approx(wanted)


@pytest.mark.parametrize("p", PUBLISHED)
def test_the_bracket_holds_the_published_cost(p):
    low, high = sq.bracket({"lam": 1, "mu": 1, "p": p}, threshold=16, digits=20)
    value = Fraction(PUBLISHED[p])
    assert low.upper < value < high.lower
    # the gap at this threshold falls from 1e-5 at p = 9/10 to 1e-15 at p = 0
    assert high.upper - low.lower < {"0": 1e-14, "3/10": 1e-10, "1/2": 2e-8}.get(p, 1e-4)


def test_the_bracket_closes_as_the_threshold_grows():
    at = {"lam": 1, "mu": 1, "p": "1/2"}
    brackets = [sq.bracket(at, threshold, digits=15) for threshold in (2, 4, 8, 12)]
    for (low, high), (lower, higher) in pairwise(brackets):
        assert low.upper < lower.lower < higher.upper < high.lower
        assert higher.upper - lower.lower < (high.upper - low.lower) / 8


def test_all_jobs_misrouted_are_two_single_queues():
    # p = 1: J = 2 lam/(2 mu - lam)
    low, high = sq.bracket({"lam": "1/2", "mu": 1, "p": 1}, threshold=20, digits=20)
    assert low.upper < Fraction(2, 3) < high.lower
    assert high.upper - low.lower < Fraction(1, 10**9)


def test_floats_and_balls_agree_near_saturation():
    at = {"lam": "9/5", "mu": 1, "p": "1/2"}
    for bound in REDIRECTED:
        rough = matrix_geometric(bound(12), at)
        proven = matrix_geometric(bound(12), at, digits=20).expect(COST)
        assert rough.expect(COST) == pytest.approx(float(proven), rel=1e-11)
        # P(D = 0) of the chain without a threshold lies between as well, about
        assert rough.marginal(sq.d)[0] == pytest.approx(1.1 / 4.7, abs=0.02)


def test_where_there_is_no_bracket():
    with pytest.raises(UnstableError, match="the level m must drift down"):
        sq.bracket({"lam": "9/5", "mu": 1, "p": "1/2"}, threshold=1)
    with pytest.raises(UnstableError, match="needs lambda < 2\\*mu"):
        sq.bracket({"lam": 2, "mu": 1, "p": 0})
    with pytest.raises(DomainError, match="needs p <= 1"):
        sq.bracket({"lam": 1, "mu": 1, "p": 2})
    with pytest.raises(ModelError, match="at least 1, got 0"):
        sq.threshold_blocking_model(0)
    with pytest.raises(ModelError, match="A2 does not have rank one, nor does A0"):
        matrix_geometric(sq.threshold_jockeying_model(3))
