"""Dedicated streams: the finite system, the mean-field law and the game's closed forms."""

from fractions import Fraction
from itertools import product

import pytest
import sympy as sp
from test_shorter_queue import solved

from qtheory import state_graph, stationary
from qtheory.balls import evaluate
from qtheory.errors import DomainError, ModelError, UnstableError
from qtheory.systems import dedicated_streams as ds

POINT = {"lam": "2/5", "lam_s": "3/10", "mu": 1}


def value(name, **at):
    return ds.system.formula(name).evaluate(at)


@pytest.mark.parametrize(
    ("N", "box", "mean", "shortest"),
    [
        (1, 120, 7 / 3, 7 / 3),
        (2, (40, 60), 1.6977697259, 1.0622061184),
        (3, (16, 20, 20), 1.4912508930, 0.6491684530),
    ],
)
def test_finite_system_has_the_published_means(N, box, mean, shortest):
    law, states = solved(ds.model(N), box, POINT)
    weights = [(N - i) / N for i in range(N)]  # gap i separates i queues from the N - i longer ones
    assert law @ (states @ weights) == pytest.approx(mean, abs=3e-6)
    assert law @ states[:, 0] == pytest.approx(shortest, abs=3e-6)
    # (I5): E_N[X] = (lam + lam_s (1 + E_N[M]))/(mu - lam)
    assert (0.4 + 0.3 * (1 + law @ states[:, 0])) / 0.6 == pytest.approx(mean, abs=3e-6)


def test_gap_coordinates_are_the_occupancy_chain():
    """Rates from the sorted lengths, as the paper states them for occupancies."""
    N = 3
    graph = state_graph(ds.model(N), box=3)
    lam, lam_s, mu = ds.lam, ds.lam_s, ds.mu
    for state in product(range(3), repeat=N):
        lengths = [sum(state[: i + 1]) for i in range(N)]
        expected = {}
        for level in set(lengths):
            count = lengths.count(level)
            up = sorted(
                [*lengths[: lengths.index(level)], level + 1, *lengths[lengths.index(level) + 1 :]]
            )
            rate = count * lam + (N * lam_s if level == lengths[0] else 0)
            expected[tuple(up)] = rate
            if level:
                down = sorted(
                    [
                        *lengths[: lengths.index(level)],
                        level - 1,
                        *lengths[lengths.index(level) + 1 :],
                    ]
                )
                expected[tuple(down)] = count * mu
        found = {
            tuple(sum(target[: i + 1]) for i in range(N)): data["rate"]
            for _, target, data in graph.out_edges(state, data=True)
        }
        inside = {
            target: rate
            for target, rate in expected.items()
            if all(b - a <= 3 for a, b in zip((0, *target), target, strict=False))
        }
        assert found.keys() == inside.keys()
        assert all(sp.expand(found[key] - inside[key]) == 0 for key in found)


def test_shorter_queue_is_two_queues_with_dedicated_streams():
    from qtheory.systems import shorter_queue as sq

    p, lam = sq.p, sq.lam
    two = state_graph(ds.model(2), box=3)
    one = state_graph(sq.model(), box=3)
    assert set(two.edges) == set(one.edges)
    for edge in two.edges:
        rate = two.edges[edge]["rate"].subs(
            {ds.lam: lam * p / 2, ds.lam_s: lam * (1 - p) / 2}, simultaneous=True
        )
        assert sp.expand(rate - one.edges[edge]["rate"]) == 0


def test_mean_field_law_by_hand():
    law = stationary(ds.mean_field_model())
    at = {ds.lam: sp.Rational(2, 5), ds.lam_s: sp.Rational(3, 10), ds.mu: 1}
    assert [sp.nsimplify(law.pmf(k).subs(at)) for k in range(3)] == [
        sp.Rational(3, 10),
        sp.Rational(42, 100),
        sp.Rational(168, 1000),
    ]
    assert law.mean().subs(at) == sp.Rational(7, 6)
    for k in range(5):
        assert ds.pi_k.subs(ds.k, k).subs(at) == law.pmf(k).subs(at)


def test_fluid_adds_up_and_slides():
    half, quarter = sp.Rational(1, 2), sp.Rational(1, 4)
    inflow = ds.lam + ds.lam_s
    for tails in ([], [half], [half, quarter], [1], [1, half], [1, 1, quarter]):
        rates = ds.fluid(tails)
        busy = tails[0] if tails else 0
        assert len(rates) == len(tails) + 1
        assert sp.expand(sum(rates) - inflow + ds.mu * busy) == 0
    # a full first level is held by the smart stream as long as it suffices
    at = {ds.lam: sp.Rational(2, 5), ds.lam_s: sp.Rational(3, 10), ds.mu: 1}
    assert [r.subs(at) for r in ds.fluid([1, sp.Rational(9, 10)])][:1] == [0]
    assert [r.subs(at) for r in ds.fluid([1, half])][:1] == [sp.Rational(3, 10) - half]


def test_fluid_rests_at_the_stationary_tails():
    # s_k = ((lam + lam_s)/mu) (lam/mu)^(k-1); the first rates vanish there
    at = {ds.lam: sp.Rational(2, 5), ds.lam_s: sp.Rational(3, 10), ds.mu: 1}
    tails = [sp.Rational(7, 10) * sp.Rational(2, 5) ** k for k in range(6)]
    assert [rate.subs(at) for rate in ds.fluid(tails)[:5]] == [0] * 5


def test_fluid_refuses_tails_that_do_not_decrease():
    with pytest.raises(ModelError, match="tails must decrease"):
        ds.fluid(["1/4", "1/2"])
    with pytest.raises(ModelError, match="tails must decrease"):
        ds.fluid(["3/2"])


def test_equilibrium_and_optimum_in_their_three_cases():
    base = {"lam": "1/2", "lam_s": "1/5", "mu": 1, "C": 1}
    # the thresholds are 6/5 (nobody), 12/5 (all join), 24/5 (all should join)
    assert value("q_e", R="6/5", **base).lower == 0
    assert value("q_e", R="3/2", **base).lower == Fraction(2, 5)  # (1 - 4/5)/(1/2)
    assert value("q_e", R="12/5", **base).lower == 1
    assert value("q_opt", R="6/5", **base).lower == 0
    assert value("q_opt", R="24/5", **base).lower == 1
    # R = 6/5 * 25/16 makes the root 4/5
    assert value("q_opt", R="15/8", **base).lower == Fraction(2, 5)
    assert value("S_e", R="3/2", **base).lower == Fraction(1, 10)


def test_welfare_is_greatest_at_the_optimum():
    at = {"lam": "1/2", "lam_s": "1/5", "mu": 1, "C": 1, "R": 3}
    best = float(value("S_opt", **at))
    for k in range(101):
        assert float(evaluate(ds.welfare(), {**at, "q": Fraction(k, 100)})) <= best + 1e-12
    optimum = float(value("q_opt", **at))
    assert float(evaluate(ds.welfare(), {**at, "q": repr(optimum)})) == pytest.approx(
        best, abs=1e-12
    )


def test_price_of_anarchy():
    at = {"lam": "1/2", "lam_s": "1/5", "mu": 1, "C": 1, "R": 3}
    assert float(value("PoA", **at)) == pytest.approx(
        float(value("S_opt", **at)) / float(value("S_e", **at))
    )
    with pytest.raises(DomainError, match="lambda_s > 0"):
        value("PoA", **{**at, "lam_s": 0})


def test_outside_the_domain_there_is_no_number():
    with pytest.raises(UnstableError, match="needs lambda \\+ lambda_s < mu"):
        value("EX", lam=1, lam_s=0, mu=1)
    with pytest.raises(DomainError, match="R\\*mu >= C"):
        value("q_e", lam="1/2", lam_s="1/5", mu=1, C=2, R=1)
    with pytest.raises(ModelError, match="at least one queue"):
        ds.model(0)
