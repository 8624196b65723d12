"""The family that makes 2 - 1/n exact: rates, factors, and the total queue as a chain."""

from fractions import Fraction

import pytest
import sympy as sp

from qtheory import Domain, evaluate, foster, identities, prove
from qtheory.errors import DomainError, ModelError
from qtheory.learning import tightness as ti
from qtheory.learning.feasibility import feasibility
from qtheory.learning.stability import slack
from qtheory.learning.tightness import e, instance, lam, n


def test_the_scale_is_that_of_the_instances():
    for count in (1, 2, 3, 5, 10, 11):
        for rate, worse in ((Fraction(1, count), 0), (Fraction(3, 5), 0), ("2/5", "1/4")):
            rate = Fraction(rate)
            member = instance(count, rate, worse)
            at = {n: count, lam: sp.Rational(str(rate)), e: sp.Rational(str(worse))}
            assert feasibility(member.lam, member.mu).scale == ti.scale.subs(at)
    assert prove(ti.feasibility_decreases(), ti.domain)


def test_the_supremum_over_the_members_that_are_not_stable():
    at_most = sp.Le(ti.scale, ti.factor, evaluate=False)
    assert prove(at_most, ti.domain.where(n * lam >= 1))
    # with linear growth it is not attained
    assert prove(sp.Lt(ti.scale, ti.factor, evaluate=False), ti.growing)
    assert ti.scale.subs(lam, 1 / n).subs(e, 0) == ti.factor
    values = {2: "3/2", 3: "5/3", 5: "9/5", 10: "19/10", 100: "199/100"}
    for count, value in values.items():
        assert feasibility(*_rates(instance(count, Fraction(1, count)))).scale == Fraction(value)
    assert sp.limit(ti.factor, n, sp.oo) == 2


def _rates(member):
    return member.lam, member.mu


def test_reference_values():
    at = {n: 5, lam: sp.Rational(21, 100), e: 0}
    assert ti.scale.subs(at) == sp.Rational(12, 7)
    assert ti.age_growth.subs(at) == sp.Rational(1, 21)
    assert ti.total_growth.subs(at) == sp.Rational(1, 20)
    assert ti.queue_growth.subs(at) * 5 == ti.total_growth.subs(at)
    assert ti.regret_variance.subs(at) == sp.Rational(179, 625)
    assert ti.mean_total.subs({n: 3, lam: sp.Rational(1, 4)}) == sp.Rational(3, 4)
    assert ti.critical_constant.subs(n, 1) == 0
    assert ti.regret_drift.subs({n: 4, e: sp.Rational(1, 5)}) == -sp.Rational(1, 20)


def test_the_total_queue_as_a_chain():
    for count in (1, 2, 3, 4):
        chain = ti.total_queue(count)
        (size,) = chain.state
        assert foster(chain).certificate.proved
        found = identities(chain, degree=2).moment(size)
        assert prove(sp.Eq(found, ti.mean_total.subs(n, count), evaluate=False), chain.domain)


def test_the_refined_condition_is_tight_at_the_last_queue_only():
    k = sp.Symbol("k", positive=True)
    assert sp.simplify(ti.refined_slack(k) - (n - k) / n) == 0
    for count in (1, 2, 5):
        found = slack(*_rates(instance(count, Fraction(1, count))), refined=True)
        assert found.margin == 0 and not found
        assert [ratio == 1 for ratio in found.ratios] == [False] * (count - 1) + [True]
    # a little below 1/n it holds, while the factor 2 fails
    below = instance(3, "33/100")
    assert slack(*_rates(below), refined=True) and not slack(*_rates(below))


def test_the_profile():
    member = instance(3, "2/5", "1/10")
    assert member.mu == (1, Fraction(3, 10), Fraction(3, 10))
    assert member.profile == ((1, 0, 0),) * 3
    assert [own.probabilities for own in member.learners()] == [(1, 0, 0)] * 3


def test_regret_bound():
    bound = ti.regret_bound(10**4, sp.Rational(1, 10)).subs(n, 3)
    by_hand = 2 + 2 * (10**4 * sp.log(40)) ** 0.5 + (10**4 * sp.log(40) / 2) ** 0.5
    assert float(evaluate(bound)) == pytest.approx(float(by_hand))
    w = sp.Symbol("w", positive=True)
    assert sp.limit(ti.regret_bound(w, sp.Rational(1, 10)).subs(n, 3) / w, w, sp.oo) == 0


def test_bad_input():
    for count in (0, -1, True, 2.5):
        with pytest.raises(ModelError, match="number of queues n >= 1"):
            instance(count, "1/2")
    with pytest.raises(DomainError, match="0 < lambda <= 1, got 0"):
        instance(2, 0)
    with pytest.raises(DomainError, match="0 <= e < 1, got 1"):
        instance(2, "1/2", 1)
    with pytest.raises(ModelError, match="n >= 1"):
        ti.total_queue(0)
    assert Domain(*ti.stable.conditions).contains({n: 2, lam: "1/3"})
