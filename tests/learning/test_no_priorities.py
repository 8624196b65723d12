"""Families without priorities: exact values, limits, and the bound from above."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from qtheory import Domain, evaluate, foster, identities, prove
from qtheory.errors import DomainError, ModelError
from qtheory.learning import no_priorities as np1
from qtheory.learning import simulate
from qtheory.learning.feasibility import feasibility
from qtheory.learning.no_priorities import K, a, e, n


def test_reference_instances():
    first = np1.instance(50, 5, "1/20")
    assert sum(first.lam[:-1]) == Fraction(4, 5)
    assert (first.mu[1], first.lam[-1], first.lam[0]) == (
        Fraction(23, 197),
        Fraction(21, 100),
        Fraction(2, 125),
    )
    assert (first.mean_packets, first.big_growth) == (Fraction(788, 115), Fraction(1, 100))
    assert feasibility(first.lam, first.mu).scale == Fraction(100, 21)
    second = np1.instance(100, 8, "1/20")
    assert (second.mu[1], second.lam[-1], second.lam[0]) == (
        Fraction(186, 2479),
        Fraction(21, 160),
        Fraction(7, 800),
    )
    assert (second.mean_packets, second.big_growth) == (Fraction(17353, 1488), Fraction(1, 160))
    assert feasibility(second.lam, second.mu).scale == Fraction(160, 21)
    assert second.profile[0] == (1, *[0] * 100) and len(second.learners()) == 101


def test_the_scale_of_the_instances():
    for count, k, extra in ((1, "3/2", "1/4"), (4, 2, "1/2"), (9, "5/2", "1/10"), (30, 6, 2)):
        member = np1.instance(count, k, extra)
        at = {n: count, K: sp.Rational(str(k)), e: sp.Rational(str(extra))}
        assert feasibility(member.lam, member.mu).scale == np1.scale.subs(at)
        assert member.mu[1] == np1.mu_other.subs(at)
        assert member.big_growth == np1.big_growth.subs(at)
    assert all(prove(claim, np1.domain) for claim in np1.mediants().values())


def test_the_mean_number_of_packets():
    # the balances of the small queues next to a big one, for every load, n = 1, 2, 3
    for count in (1, 2, 3):
        chain = np1.small_queues(count)
        found = identities(chain, degree=2).moment(sum(chain.state)) + a
        claim = sp.Eq(found, np1.mean_packets(a, count), evaluate=False)
        assert prove(claim, chain.domain)
        assert count == 3 or foster(chain).certificate.proved
    domain = Domain(n >= 1, a * (n + 1) < n)
    assert all(prove(claim, domain) for claim in np1.balance().values())
    assert np1.mean_packets(Fraction(3, 10), 2) == Fraction(39, 44)
    assert np1.mean_packets(Fraction(1, 2), 2) == Fraction(11, 4)


def test_nobody_gains_at_a_fixed_server():
    size = np1.mean_packets(np1.load)
    claims = (
        sp.Eq(np1.mu_other, np1.load / size, evaluate=False),
        sp.Lt(np1.mu_other, 1 / K, evaluate=False),
        sp.Gt(np1.mu_other, 0, evaluate=False),
        sp.Lt(np1.load * (1 + 1 / n), 1, evaluate=False),
    )
    assert all(prove(claim, np1.domain) for claim in claims)


def test_the_exponent_is_one_half():
    assert sp.limit(np1.best_K / sp.sqrt(n), n, sp.oo) == np1.constant
    assert np1.constant**2 == sp.Rational(2, 3)
    claims = np1.exponent()
    for name in ("lower", "upper", "balanced"):
        assert prove(claims[name], Domain(n >= 2))
    assert prove(claims["falls"], np1.domain)
    kappa = sp.Symbol("kappa", positive=True)
    second = (1 + n * np1.mu_other).subs(K, kappa * sp.sqrt(n)) / sp.sqrt(n)
    assert sp.simplify(sp.limit(second, n, sp.oo) - 2 / (3 * kappa)) == 0
    values = {10: "2.82861256784955", 100: "8.25793209280045", 1000: "25.8511943346245"}
    values[10000] = "81.6597652852386"
    for count, value in values.items():
        assert str(evaluate(np1.best_K.subs(n, count), digits=15))[:15] == value[:15]


def test_the_coordinated_family():
    lam, mu = np1.coordinated_rates(200, 12, "7/5", "3/20")
    found = feasibility(lam, mu)
    at = {n: 200, K: 12, e: sp.Rational(3, 20)}
    assert found.scale == np1.coordinated_scale(sp.Rational(7, 5)).subs(at)
    assert float(found.scale) == pytest.approx(10.4, abs=0.04)
    ends = np1.coordinated_scale(1).subs(e, 0).subs(K, sp.sqrt(n))
    assert sp.simplify(ends - sp.sqrt(n)) == 0


def test_the_coordinated_profile():
    profile = np1.Coordinated(3)
    sends = np.array([[True, True], [True, False], [True, False], [True, True], [True, True]])
    uniforms = np.array([[0.9, 0.9], [0.1, 0.1], [0.5, 0.5], [0.2, 0.2], [0.3, 0.3]])
    # of the small queues 0, ..., 3 the two with the least numbers share server 0
    chosen = profile.assign(None, uniforms, np.zeros_like(sends), sends, 0)
    assert chosen.tolist() == [[1, 0], [0, -1], [3, -1], [0, 0], [0, 0]]
    with pytest.raises(ModelError, match="K >= 2 and a server for each queue"):
        profile.start(5, (0, 1, 2, 3), 1)
    # with a load above 1 the big queue gets little more than 1/K
    lam, mu = np1.coordinated_rates(20, 3, "7/5", 1)
    run = simulate(lam, mu, profile, 2000, 64, seed=4, selection="random")
    assert run.queue_growths[-1].mean == pytest.approx(1 / 3, abs=0.02)
    assert float(feasibility(lam, mu).scale) == 1.5


def test_no_family_grows_linearly_at_one_plus_the_root():
    for claim, domain in np1.no_linear_growth().values():
        assert prove(claim, domain)
    # without the last step's condition nothing follows
    (claim, domain) = np1.no_linear_growth()["(c - 1)^2 < n"]
    assert not prove(claim, Domain(n >= 1, symbols=domain.symbols))


def test_a_factor_of_n_is_enough():
    rate, best = sp.symbols("lambda mu", positive=True)
    bound = np1.mean_at_factor_n(rate, best, n)
    assert prove(bound >= 0, Domain(n >= 1, best <= 1, n * rate < best))
    assert np1.mean_at_factor_n(Fraction(1, 4), Fraction(1), 3) == 2
    # for one queue it is the law of the queue alone
    assert np1.mean_at_factor_n(Fraction(1, 3), Fraction(1, 2), 1) == 1


def test_bad_input():
    with pytest.raises(ModelError, match="n >= 1"):
        np1.instance(0, 2, 1)
    with pytest.raises(DomainError, match="K > 1, got 1"):
        np1.instance(5, 1, 1)
    with pytest.raises(DomainError, match=r"K < n \+ 1"):
        np1.instance(5, 6, 1)
    with pytest.raises(DomainError, match="e > 0, got 0"):
        np1.instance(5, 2, 0)
    with pytest.raises(DomainError, match="<= 1, got 3/2"):
        np1.instance(5, 2, 2)
    with pytest.raises(DomainError, match="1 < load <= n, got load = 1"):
        np1.coordinated_rates(5, 2, 1, "1/2")
    with pytest.raises(ModelError, match="n >= 1"):
        np1.small_queues(0)
