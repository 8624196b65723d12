"""Laws in closed form for every size K: published formulas, exact solutions of the members."""

import pickle
from dataclasses import replace
from fractions import Fraction
from math import comb, factorial

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.domain import Domain
from qtheory.errors import (
    CertificateError,
    DomainError,
    ExpressionError,
    ModelError,
    ReducibleError,
)
from qtheory.model import Model, Transition, rate_table
from qtheory.stationary import exact_law, stationary
from qtheory.stationary.families.exponential import exponential_law
from qtheory.stationary.families.family import family, require_members
from qtheory.stationary.families.product import _Rates, require_detailed_balance

lam, mu = sp.symbols("lambda mu", positive=True)
r = sp.Symbol("r", positive=True)
n = sp.Symbol("n", integer=True, nonnegative=True)
K = sp.Symbol("K", integer=True, positive=True)
M, L = sp.symbols("M L", integer=True, positive=True)

QUEUE = Model(
    n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)], name="M/M/1"
)
THREE_SERVERS = Model(
    n,
    Domain(),
    [
        Transition(lam, +1),
        Transition(n * mu, -1, when=(n >= 1) & (n <= 2)),
        Transition(3 * mu, -1, when=n >= 3),
    ],
)
LOSS = Model(n, Domain(), [Transition(lam, +1), Transition(n * mu, -1, when=n >= 1)])
MACHINES = [Transition((K - n) * lam, +1), Transition(n * mu, -1)]
REPAIRMAN = [Transition((K - n) * lam, +1), Transition(mu, -1)]
TWO_REPAIRMEN = [
    Transition((K - n) * lam, +1),
    Transition(mu, -1, when=n <= 1),
    Transition(2 * mu, -1, when=n >= 2),
]
GROWTH = [Transition((n + 2) * lam, +1), Transition(n * mu, -1)]
URN = [Transition((K - n) * (K + M - n), +1), Transition(n * (L + n), -1)]
DEFECT = [Transition(lam, +1), Transition(mu, -1), Transition(lam, +1, when=sp.Eq(n, 0))]
# the rates are written so that r and -1 - r are the roots other than 1
BULK_SERVICE = [Transition(mu * r * (1 + r), +1), Transition(mu, -2)]
BATCHES = [Transition(mu, +2), Transition(mu * r * (1 + r), -1)]
SETUP = [
    Transition(lam, +3, when=sp.Eq(n, 0)),
    Transition(lam, +1, when=n >= 1),
    Transition(mu, -1),
    Transition(mu, -2, when=n <= 1),
]

LAWS = {
    "M/M/1/K": family(QUEUE, K),
    "M/M/3/K": family(THREE_SERVERS, K),
    "M/M/K/K": family(LOSS, K),
    "machines": family(MACHINES, K, n),
    "repairman": family(REPAIRMAN, K, n),
    "two repairmen": family(TWO_REPAIRMEN, K, n),
    "growth": family(GROWTH, K, n),
    "urn": family(URN, K, n),
    "ring with a defect": family(DEFECT, K, n, boundary="wrap"),
    "bulk service": family(BULK_SERVICE, K, n),
    "bulk service, redirected": family(BULK_SERVICE, K, n, boundary="redirect"),
    "batches": family(BATCHES, K, n),
    "batches, redirected": family(BATCHES, K, n, boundary="redirect"),
    "setup": family(SETUP, K, n),
    "setup on a ring": family(SETUP, K, n, boundary="wrap"),
}
POINTS = {
    "below one": {"lambda": 2, "mu": 3, "r": Fraction(1, 2), "M": 2, "L": 3},
    "at one": {"lambda": 3, "mu": 3, "r": 1, "M": 1, "L": 1},
    "at one, three servers": {"lambda": 9, "mu": 3, "r": 2, "M": 3, "L": 1},
}


def of(law, point):
    names = {s.name for s in law.parameters}
    return {name: value for name, value in point.items() if name in names}


def solved(law, size, point):
    """The member of one size by state elimination: a method that shares nothing with the law."""
    found = exact_law(rate_table(law.instance(size), at=of(law, point))).at({})
    return {state[0]: probability for state, probability in found.items()}


def value(expression, point, size, state=0):
    """The value of a formula; finite sums are added up one by one."""
    by_name = {**point, "K": size, "n": state}
    put = {s: sp.Rational(by_name[s.name]) for s in expression.free_symbols if s.name in by_name}
    expression = expression.xreplace(put)
    for total in expression.atoms(sp.Sum):
        ((k, low, high),) = total.limits
        terms = [total.function.xreplace({k: sp.Integer(i)}) for i in range(low, high + 1)]
        expression = expression.xreplace({total: sp.Add(*terms)})
    return Fraction(int(expression.p), int(expression.q))


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_members_are_solved_by_elimination(law, point):
    for size in (law.least, law.least + 1, law.least + 8):
        assert law.at({**of(law, point), "K": size}) == solved(law, size, point)


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_moments_and_tails_are_sums_of_the_law(law, point):
    mean, variance, cube, tail = law.mean(), law.variance(), law.expect(n**3 - K * n), law.tail(n)
    size = law.least + 2
    pi = solved(law, size, point)
    moments = [sum(state**k * p for state, p in pi.items()) for k in range(4)]
    assert value(mean, point, size) == moments[1]
    assert value(variance, point, size) == moments[2] - moments[1] ** 2
    assert value(cube, point, size) == moments[3] - size * moments[1]
    for state in range(size + 2):
        above = sum(p for other, p in pi.items() if other >= state)
        assert value(tail, point, size, state) == above


@pytest.mark.parametrize("name", ["M/M/1/K", "M/M/3/K", "ring with a defect"])
def test_twenty_sizes(name):
    law = LAWS[name]
    for size in range(law.least, law.least + 21):
        point = {"lambda": 5, "mu": 2}
        assert law.at({**point, "K": size}) == solved(law, size, point)


def test_single_server_queue_is_the_published_formula():
    """pi_n = (1 - rho) rho^n / (1 - rho^(K+1)), 1/(K+1) at rho = 1 (Gross and Harris, ch. 2)."""
    law, rho = LAWS["M/M/1/K"], lam / mu
    (generic, condition), (balanced, _) = law._pmf.args
    assert condition == sp.Ne(lam, mu)
    assert balanced == 1 / (K + 1)
    published = (1 - rho) * rho**n / (1 - rho ** (K + 1))
    assert sp.simplify(generic / published) == 1
    mean, _ = law.mean().args
    X = sp.Symbol("X")
    known = rho / (1 - rho) - (K + 1) * X / (1 - X)
    assert sp.cancel(mean[0].subs(rho ** (K + 1), X) - known) == 0
    assert law.mean().args[1][0] == K / 2
    assert law.normalisation().args[1][0] == K + 1


@pytest.mark.parametrize("formula", ["mean", "variance", "pmf", "tail"])
@pytest.mark.parametrize("name", ["M/M/1/K", "M/M/3/K", "ring with a defect"])
def test_the_branch_is_the_limit(name, formula):
    law = LAWS[name]
    found = getattr(law, formula)(*([4] if formula in ("pmf", "tail") else []))
    servers = 3 if "3" in name else 1
    inside = found.subs(K, 7)
    generic, balanced = inside.args[0][0], inside.args[1][0]
    generic = sp.cancel(generic)
    assert sp.simplify(generic.subs(lam, servers * mu) - balanced.subs(lam, servers * mu)) == 0


def test_rates_that_are_equal_numbers_have_no_other_branch():
    law = family([Transition(2, +1), Transition(2, -1)], K, n)
    assert law.pmf(0) == 1 / (K + 1)
    assert law.variance() == K * (K + 2) / 12


def test_erlang_loss():
    """B(0) = 1, B(c) = a B(c-1) / (c + a B(c-1)), past the size where SymPy's sums went wrong."""
    law = LAWS["M/M/K/K"]
    blocking = law.probability(K)
    assert blocking.atoms(sp.Sum) and not blocking.has(sp.zoo, sp.nan, sp.exp_polar)
    assert [value(blocking, {"lambda": 1, "mu": 1}, size) for size in (1, 2, 3, 4)] == [
        Fraction(1, 2),
        Fraction(1, 5),
        Fraction(1, 16),
        Fraction(1, 65),
    ]
    a, loss = Fraction(5, 2), Fraction(1)
    for size in range(1, 71):
        loss = a * loss / (size + a * loss)
        if size in (10, 49, 50, 51, 52, 70):
            point = {"lambda": 5, "mu": 2}
            assert value(blocking, point, size) == loss
            # the carried load
            assert value(law.mean(), point, size) == a * (1 - loss)


def test_erlang_loss_as_published():
    """Erlang's table: 5 erlang on 10 lines lose 1.84 per cent."""
    blocking = value(LAWS["M/M/K/K"].probability(K), {"lambda": 5, "mu": 1}, 10)
    assert round(float(blocking), 4) == 0.0184


def test_machine_repair_is_binomial():
    law, p = LAWS["machines"], lam / (lam + mu)
    assert law.normalisation() == ((lam + mu) / mu) ** K
    assert sp.simplify(law.mean() - K * p) == 0
    assert sp.simplify(law.variance() - K * p * (1 - p)) == 0
    share = Fraction(2, 5)
    for state, probability in law.at({"lambda": 2, "mu": 3, "K": 9}).items():
        assert probability == comb(9, state) * share**state * (1 - share) ** (9 - state)


def test_urn_is_hypergeometric():
    """Bernoulli-Laplace: C(K+M, n) C(K+L, K-n) / C(2K+M+L, K), by Chu-Vandermonde."""
    law = LAWS["urn"]
    assert not law.normalisation().atoms(sp.Sum)
    assert law.mean() == K * (K + M) / (2 * K + L + M)
    for state, p in law.at({"M": 2, "L": 3, "K": 6}).items():
        assert p == Fraction(comb(8, state) * comb(9, 6 - state), comb(17, 6))
    assert not law.variance().atoms(sp.Sum)


def test_repairman_weights():
    """pi_n proportional to K!/(K-n)! (lambda/mu)^n (Gross and Harris, finite-source queues)."""
    pi = LAWS["repairman"].at({"lambda": 1, "mu": 2, "K": 5})
    weights = [Fraction(factorial(5), factorial(5 - k) * 2**k) for k in range(6)]
    assert list(pi.values()) == [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize(
    "steps",
    [
        [Transition(lam, +1), Transition(mu, -1)],
        [Transition(lam, +2), Transition(mu, -1)],
        [Transition(lam, +3), Transition(mu, -2), Transition(r, -1)],
    ],
)
def test_a_homogeneous_ring_is_uniform(steps):
    law = family(steps, K, n, boundary="wrap")
    assert law.pmf(n) == sp.Piecewise((0, n > K), (1 / (K + 1), True))
    assert law.mean() == K / 2


def test_powers_and_products_agree():
    for name in ("M/M/1/K", "M/M/3/K"):
        product = LAWS[name]
        powers = exponential_law(product.family)
        for point in POINTS.values():
            at = {**of(product, point), "K": 8}
            assert powers.at(at) == product.at(at)


def test_a_ring_with_a_defect_is_linear_where_the_drift_vanishes():
    (_, _), (first, _), (_, condition), (balanced, _) = LAWS["ring with a defect"]._pmf.args
    assert condition == sp.Ne(lam, mu)
    assert first == 2 / (3 * K + 2)
    assert sp.simplify(balanced - 2 * (2 * (K + 1) - n) / ((K + 1) * (3 * K + 2))) == 0


def test_a_box_of_the_model_is_a_member():
    law = LAWS["M/M/3/K"]
    box = stationary(THREE_SERVERS, box=6)
    assert list(law.at({lam: 4, mu: 1, K: 6}).values()) == list(box.at({lam: 4, mu: 1}).values())


def test_states_as_formulas():
    law = LAWS["M/M/1/K"]
    rho, size, point = Fraction(1, 2), 5, {"lambda": 1, "mu": 2}
    total = sum(rho**k for k in range(size + 1))
    assert value(law.pmf(K - 1), point, size) == rho**4 / total
    assert value(law.pmf(7), point, size) == 0
    assert value(law.pmf(n), point, size, 7) == 0
    assert law.pmf(-1) == 0
    assert value(law.probability(n >= 2), point, size) == 1 - (1 + rho) / total
    assert value(law.probability((n >= 1) & (n <= 2)), point, size) == (rho + rho**2) / total
    assert law.tail(0) == 1


def test_costs_may_be_symbols():
    c = sp.Symbol("c")
    law = LAWS["machines"]
    assert sp.simplify(law.expect(c * n + 1) - c * K * lam / (lam + mu) - 1) == 0
    assert law.expect("n") == law.mean()
    with pytest.raises(ExpressionError, match="not a polynomial in n"):
        law.expect(2**n)


def test_a_first_state_above_zero():
    j = sp.Symbol("j", integer=True, positive=True)
    law = family([Transition(lam, +1), Transition(mu * j, -1)], K, j)
    assert law.least == 2 and law.first == 1
    assert law.at({"lambda": 2, "mu": 3, "K": 6}) == solved(law, 6, {"lambda": 2, "mu": 3})


def test_rates_may_depend_on_the_size():
    law = family([Transition(lam / K, +1), Transition(mu, -1)], K, n)
    point = {"lambda": 6, "mu": 2}
    for size in (2, 3, 4):  # at K = 3 the ratio is one
        assert law.at({**point, "K": size}) == solved(law, size, point)


def test_factors_that_vanish_are_not_cancelled():
    # 0 is absorbing; a quotient of factorials as a polynomial would read 0/0
    dying = family([Transition(2 * n, +1), Transition(2 * n, -1)], K, n)
    assert dying.at({"K": 3}) == {0: 1, 1: 0, 2: 0, 3: 0}
    odd = [
        Transition((K + n + 1) * (3 * K - 2 * n + 1), +1),
        Transition((K + n + 2) * (3 * K - 2 * n - 1), -1),
        Transition(3, -1, when=sp.Eq(n, 1)),
    ]
    law = family(odd, K, n)
    for size in (1, 2, 5):
        assert law.at({"K": size}) == solved(law, size, {})


def test_a_rate_that_vanishes_has_no_number():
    p = sp.Symbol("p", nonnegative=True)
    law = family([Transition(lam, +1), Transition(p, -1)], K, n)
    with pytest.raises(DomainError, match="no value at"):
        law.at({"lambda": 1, "p": 0, "K": 3})
    empty = family([Transition(p, +1), Transition(mu, -1)], K, n)
    assert empty.at({"mu": 1, "p": 0, "K": 2}) == {0: 1, 1: 0, 2: 0}


rates = st.fractions(min_value=Fraction(1, 6), max_value=6, max_denominator=6)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(rates, rates), min_size=1, max_size=3), st.integers(0, 6))
def test_birth_death_chains_with_any_rates(pairs, more):
    transitions = []
    for state, (birth, death) in enumerate(pairs):
        last = state == len(pairs) - 1
        here = n >= state if last else sp.Eq(n, state)
        above = n >= state + 1 if last else sp.Eq(n, state + 1)
        transitions.append(Transition(sp.Rational(birth), +1, when=here))
        transitions.append(Transition(sp.Rational(death), -1, when=above))
    law = family(transitions, K, n)
    size = law.least + more
    assert law.at({"K": size}) == solved(law, size, {})


@settings(max_examples=10, deadline=None)
@given(rates, rates, rates, st.sampled_from(["drop", "redirect", "wrap"]), st.integers(0, 5))
def test_batches_with_any_rates(root, service, start, boundary, more):
    # the arrivals at 0 have a rate of their own
    walk = [
        Transition(sp.Rational(service), -2),
        Transition(sp.Rational(service * root * (1 + root)), +1),
        Transition(sp.Rational(start), +2, when=sp.Eq(n, 0)),
    ]
    law = family(walk, K, n, boundary=boundary)
    size = law.least + more
    assert law.at({"K": size}) == solved(law, size, {})


def test_a_wrong_weight_is_found():
    law = LAWS["M/M/3/K"]
    ring = law.term.ring
    rates = _Rates(ring, n, law.family.transitions)
    require_detailed_balance(law, rates, 3)
    wrong = replace(law, boundary=(*law.boundary[:-1], law.boundary[-1] + law.boundary[0]))
    with pytest.raises(CertificateError, match="state 1"):
        require_detailed_balance(wrong, rates, 3)
    other = replace(law, term=replace(law.term, ratio=law.term.ratio * law.term.ratio))
    with pytest.raises(CertificateError, match="beyond the threshold"):
        require_detailed_balance(other, rates, 3)


def test_a_wrong_member_is_found():
    law = LAWS["batches"]
    (powers, where), *others = law.solutions
    (j, m, a), *rest = powers.terms
    wrong = replace(powers, terms=((j, m, a + a), *rest))
    require_members(law)
    with pytest.raises(CertificateError, match="no law for K = 4"):
        require_members(replace(law, solutions=((wrong, where), *others)))


def test_proof_and_presentation():
    law = LAWS["M/M/1/K"]
    assert "if Ne(lambda, mu): sum of t[n] for n = 0, ..., K" in law.proof
    assert "binomial" in LAWS["machines"].proof
    assert "roots 1, lambda/mu" in LAWS["ring with a defect"].proof
    assert law.latex().startswith(r"\pi_{n} = \begin{cases}")
    assert law._repr_latex_().startswith("$") and "for every K >= 1" in repr(law)
    again = pickle.loads(pickle.dumps(law))
    assert again == law and hash(again) == hash(law) and again.mean() == law.mean()
    assert law != LAWS["M/M/3/K"]


@pytest.mark.parametrize(
    "point, message",
    [
        ({"lambda": 1, "mu": 2, "K": 0}, "K >= 1, got 0"),
        ({"lambda": 1, "mu": 2, "K": Fraction(1, 2)}, "integer K"),
        ({"lambda": 1, "mu": 2}, "no value given for K"),
        ({"lambda": 1, "mu": 2, "K": 1, "nu": 1}, "unknown parameter nu"),
        ({"lambda": -1, "mu": 2, "K": 1}, "needs lambda > 0"),
    ],
)
def test_points_outside(point, message):
    with pytest.raises(DomainError, match=message):
        LAWS["M/M/1/K"].at(point)


@pytest.mark.parametrize(
    "transitions, error, message",
    [
        ([Transition(lam, +2), Transition(mu, -1)], ModelError, "irrational roots"),
        ([Transition(lam, +2), Transition(mu, -2)], ModelError, "neither .1 nor -1"),
        ([Transition(lam, +2), Transition(n * mu, -1)], ModelError, "is not constant"),
        ([Transition(lam * (n**2 + 1), +1), Transition(mu, -1)], ModelError, "no linear factors"),
        ([Transition(lam * (5 - n), +1), Transition(mu, -1)], ModelError, "birth rate"),
        ([Transition(lam, +1), Transition(mu * (K - n), -1)], ModelError, "death rate"),
        ([Transition(-lam, +1), Transition(mu, -1)], ModelError, "negative"),
        ([Transition(lam, +1)], ReducibleError, "no death"),
        (
            [Transition(lam, +1), Transition(mu, -1, when=sp.Ne(n, 3))],
            ModelError,
            "is no interval",
        ),
        (
            [Transition(lam, +1), Transition(mu, -1, when=n <= 2), Transition(mu, -1, when=n >= 4)],
            ReducibleError,
            "no death at state 3",
        ),
        ([Transition(lam / n, +1), Transition(mu, -1)], ModelError, "not polynomial in n"),
    ],
)
def test_chains_without_a_formula(transitions, error, message):
    with pytest.raises(error, match=message):
        family(transitions, K, n)


def test_bad_arguments():
    with pytest.raises(ModelError, match="must be a symbol with integer=True"):
        family(QUEUE, sp.Symbol("K"))
    with pytest.raises(ModelError, match="name of their integer state"):
        family(MACHINES, K)
    with pytest.raises(ModelError, match="both the state and the size"):
        family(MACHINES, n, n)
    with pytest.raises(ModelError, match="boundary must be"):
        family(QUEUE, K, boundary="reflect")
    with pytest.raises(ModelError, match="on the naturals"):
        family(Model(n, Domain(), [Transition(lam, -1, when=n >= 1)], ranges={n: (0, 3)}), K)
    with pytest.raises(ModelError, match="depends on the size"):
        family(Model(n, Domain(lam < K), [Transition(lam, +1)]), K)


def test_a_ring_that_is_run_through_in_one_direction():
    for step in (-1, 1):
        law = family([Transition(lam, step)], K, n, boundary="wrap")
        assert law.pmf(n).subs(n, 0) == 1 / (K + 1)
        assert law.at({lam: 2, K: 2}) == {k: Fraction(1, 3) for k in range(3)}
