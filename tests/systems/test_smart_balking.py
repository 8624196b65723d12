"""Smart customers who balk: the identities, one queue exactly, and the limit of long joins."""

from fractions import Fraction

import pytest
import sympy as sp

from qtheory import state_graph
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems.dedicated_streams.smart_balking import balking_means, longest_joined, model

AT = {"lam": "2/5", "lam_s": "3/10", "mu": 1}


@pytest.mark.parametrize(("N", "longest"), [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1)])
def test_drift_of_both_identities_at_every_state(N, longest):
    """V = sum x_i gives N (lam + lam_s 1{M <= k} - mu busy share); V = sum x_i (x_i + 1)/2 next."""
    lam, lam_s, mu = ds.lam, ds.lam_s, ds.mu
    box = 4
    graph = state_graph(model(N, longest), box=box)
    for state in graph:
        lengths = [sum(state[: i + 1]) for i in range(N)]
        if max(state) == box:
            continue  # moves out of the box are missing
        first = second = 0
        for _, target, data in graph.out_edges(state, data=True):
            ahead = [sum(target[: i + 1]) for i in range(N)]
            first += data["rate"] * (sum(ahead) - sum(lengths))
            second += data["rate"] * sum(
                sp.Rational(a * (a + 1) - b * (b + 1), 2)
                for a, b in zip(ahead, lengths, strict=True)
            )
        joins = 1 if lengths[0] <= longest else 0
        busy = sum(x > 0 for x in lengths)
        assert sp.expand(first - N * (lam + lam_s * joins) + mu * busy) == 0
        expected = N * (lam + lam_s * joins * (lengths[0] + 1)) - (mu - lam) * sum(lengths)
        assert sp.expand(second - expected) == 0


@pytest.mark.parametrize("longest", [0, 1, 2])
def test_one_queue_is_birth_death(longest):
    weights = [Fraction(1)]
    for _ in range(longest + 1):
        weights.append(weights[-1] * Fraction(7, 10))
    # beyond, the ratio is 2/5
    tail = weights[-1] / (1 - Fraction(2, 5))
    total = sum(weights[:-1]) + tail
    joins = sum(weights[: longest + 1]) / total
    found = balking_means(1, longest, AT)
    assert found.joins == pytest.approx(float(joins), abs=1e-9)
    assert found.shortest == pytest.approx(found.length)
    assert abs(found.discrepancy) < 1e-9


@pytest.mark.parametrize("N", [2, 3])
def test_balking_lies_between_none_and_all_joining(N):
    means = [balking_means(N, k, AT) for k in (0, 1, 4)]
    assert all(abs(m.discrepancy) < 1e-8 for m in means)
    joins, lengths = [m.joins for m in means], [m.length for m in means]
    assert joins == sorted(joins)
    assert lengths == sorted(lengths)
    always = {2: 1.6977697259, 3: 1.4912508930}[N]
    assert 2 / 3 < lengths[0] < lengths[-1] < always  # 2/3 without smart customers
    if N == 2:
        assert balking_means(2, 30, AT).length == pytest.approx(always, abs=1e-5)


def test_more_queues_mean_less_balking():
    shares = [balking_means(N, 0, AT).joins for N in (1, 2, 3)]
    assert shares == sorted(shares)


def test_the_longest_queue_that_is_joined():
    assert longest_joined("13/8", 1, 1) == 0
    assert longest_joined(2, 1, 1) == 1  # (M + 1)/mu = R/C: indifferent customers join
    assert longest_joined("199/100", 1, 1) == 0
    assert longest_joined(1, 1, 5) == 4
    with pytest.raises(DomainError):
        longest_joined("1/2", 1, 1)
    with pytest.raises(DomainError):
        longest_joined(1, 0, 1)


def test_stability_needs_the_dedicated_streams_only():
    crowded = balking_means(2, 0, {"lam": "2/5", "lam_s": 2, "mu": 1})
    assert abs(crowded.discrepancy) < 1e-8
    with pytest.raises(UnstableError):
        balking_means(2, 0, {"lam": 1, "lam_s": "1/10", "mu": 1})
    with pytest.raises(ModelError):
        model(2, -1)
    with pytest.raises(ModelError):
        model(0, 1)
