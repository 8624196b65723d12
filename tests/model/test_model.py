"""Models: guards, regions, validation, printing."""

import copy
import dataclasses
import pickle

import pytest
import sympy as sp
from sympy import And, Eq, Ne, Rational, symbols

from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError, NonConservativeError
from qtheory.model import Interval, Model, Transition

lam, mu, p = symbols("lambda mu p", positive=True)
m, d = symbols("m d", integer=True, nonnegative=True)
z = sp.Symbol("z", integer=True)


def shorter_queue(order=range(6)):
    transitions = [
        Transition(lam, when=Eq(d, 0), jump=(0, +1)),
        Transition(2 * mu, when=Eq(d, 0) & (m >= 1), jump=(-1, +1)),
        Transition(lam * (1 - p / 2), when=d >= 1, jump=(+1, -1)),
        Transition(lam * p / 2, when=d >= 1, jump=(0, +1)),
        Transition(mu, when=d >= 1, jump=(0, -1)),
        Transition(mu, when=(d >= 1) & (m >= 1), jump=(-1, +1)),
    ]
    return Model(
        state=(m, d),
        domain=Domain(p <= 1, stable=lam < 2 * mu),
        transitions=[transitions[i] for i in order],
        name="shorter queue",
    )


def one(rate, jump=(1, 0), when=True, state=(m, d), domain=None, **options):
    """A model with a single transition."""
    transition = Transition(rate, jump, when)
    return Model(state, domain or Domain(), [transition], **options)


def test_guards_become_intervals():
    assert shorter_queue().guards == (
        (Interval(0, None), Interval(0, 0)),
        (Interval(1, None), Interval(0, 0)),
        (Interval(0, None), Interval(1, None)),
        (Interval(0, None), Interval(1, None)),
        (Interval(0, None), Interval(1, None)),
        (Interval(1, None), Interval(1, None)),
    )


@pytest.mark.parametrize(
    ("guard", "interval"),
    [
        (d >= 2, (2, None)),
        (d > 2, (3, None)),
        (d <= 2, (0, 2)),
        (d < 2, (0, 1)),
        (Eq(d, 2), (2, 2)),
        (Eq(2, d), (2, 2)),
        (sp.Le(2, d, evaluate=False), (2, None)),
        (sp.Lt(2, d, evaluate=False), (3, None)),
        (And(d > 0, d < 3), (1, 2)),
        (And(d >= 1, d >= 4), (4, None)),
        (d >= 2.0, (2, None)),
        (True, (0, None)),
        (m >= 0, (0, None)),
        ("d >= 1, d < 5", (1, 4)),
        ([d >= 1, d < 5], (1, 4)),
    ],
)
def test_forms_of_a_guard(guard, interval):
    assert one(lam, when=guard).guards[0] == (Interval(0, None), Interval(*interval))


def test_equivalent_guards_give_equal_models():
    assert one(lam, when=d > 0) == one(lam, when=(d >= 1) & (m >= 0))
    assert one(lam, when=d > 0) != one(lam, when=d > 1)


def test_regions_of_the_shorter_queue():
    regions = shorter_queue().regions()
    assert [region.intervals for region in regions] == [
        ((0, 0), (0, 0)),
        ((0, 0), (1, None)),
        ((1, None), (0, 0)),
        ((1, None), (1, None)),
    ]
    jumps = [[t.jump for t in region.transitions] for region in regions]
    assert jumps == [
        [(0, 1)],
        [(1, -1), (0, 1), (0, -1)],
        [(0, 1), (-1, 1)],
        [(1, -1), (0, 1), (0, -1), (-1, 1)],
    ]


def test_regions_cover_every_state_once_with_its_transitions():
    model = Model(
        (z, m),
        Domain(),
        [
            Transition(1, (1, 0), when=z <= 1),
            Transition(1, (-1, 0), when=z >= -2),
            Transition(1, (0, 1), when=(m < 3) & Eq(z, 0)),
            Transition(1, (0, -1), when=m >= 2),
        ],
        ranges={m: (1, 4)},
    )
    for x in range(-6, 7):
        for y in range(1, 5):
            (region,) = [r for r in model.regions() if r.contains((x, y))]
            expected = [
                t
                for t, holds in zip(
                    model.transitions, [x <= 1, x >= -2, y < 3 and x == 0, y >= 2], strict=True
                )
                if holds
            ]
            assert list(region.transitions) == expected
    assert not any(r.contains((0, 0)) or r.contains((0, 5)) for r in model.regions())


def test_a_model_without_guards_has_one_region():
    (region,) = one(1, jump=1, state=z).regions()
    assert region.intervals == (Interval(None, None),)


def test_ranges_of_the_variables():
    k = sp.Symbol("k", integer=True, positive=True)
    assert one(1, jump=1, state=m).ranges == (Interval(0, None),)
    assert one(1, jump=1, state=k).ranges == (Interval(1, None),)
    assert one(1, jump=1, state=z).ranges == (Interval(None, None),)
    assert one(1, jump=1, when=z < 5, state=z, ranges={z: (0, 5)}).ranges == (Interval(0, 5),)


def test_parameters_of_rates_join_the_domain():
    model = one(lam * mu, domain=Domain(lam < 2))
    assert model.parameters == (lam, mu)
    with pytest.raises(DomainError, match="mu > 0"):
        model.domain.require({lam: 1, mu: -1})


def test_symbols_are_told_apart_by_name():
    plain = one(sp.Symbol("lambda") * sp.Symbol("m"), domain=Domain(lam < 2))
    assert plain == one(lam * m, domain=Domain(lam < 2))
    assert plain.parameters == (lam,)
    assert one("lam/4", domain=Domain(lam < 2)) == one(lam / 4, domain=Domain(lam < 2))


def test_floats_are_the_decimals_they_print():
    assert one(0.1 * lam).transitions[0].rate == lam / 10
    assert one(0.1).transitions[0].rate == Rational(1, 10)


def test_equality_hash_copies_and_pickle():
    model = shorter_queue()
    assert model == shorter_queue() and hash(model) == hash(shorter_queue())
    assert model != shorter_queue(order=[1, 0, 2, 3, 4, 5])
    assert copy.deepcopy(model) == model
    assert pickle.loads(pickle.dumps(model)) == model
    renamed = dataclasses.replace(model, name="other")
    assert renamed != model and renamed.transitions == model.transitions


def test_models_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        shorter_queue().name = "x"


def test_text_and_latex():
    model = shorter_queue()
    lines = repr(model).splitlines()
    assert lines[0] == "shorter queue: (m, d), continuous time"
    assert lines[2] == "  to (m - 1, d + 1)  rate 2*mu              when m >= 1, d = 0"
    rows = model.latex().splitlines()
    assert len(rows) == 9
    assert rows[4] == (
        r"d \geq 1 & \left( m + 1, \  d - 1\right) & \lambda \left(1 - \frac{p}{2}\right) \\"
    )
    assert model._repr_latex_() == f"${model.latex()}$"


BAD = [
    (lambda: one(1, when=lam >= 1), "guard lambda >= 1 names no state variable"),
    (lambda: one(1, when=d >= lam), "guard d >= lambda names lambda"),
    (lambda: one(1, when=m >= d), "guard .* compares two state variables"),
    (lambda: one(1, when=d >= 1.5), "the bound 1.50* is not an integer"),
    (lambda: one(1, when=d >= Rational(1, 2)), "the bound 1/2 is not an integer"),
    (lambda: one(1, when=d >= sp.sqrt(2)), r"the bound sqrt\(2\) is not an integer"),
    (lambda: one(1, when=2 * d >= 2), "must compare d itself with an integer"),
    (lambda: one(1, when=(d >= 1) | (m >= 1)), "not a conjunction of comparisons"),
    (lambda: one(1, when=Ne(d, 0)), r"guard Ne\(d, 0\) is no interval"),
    (lambda: one(1, when=d == 0), r"false at every state \(write Eq\(d, 0\), not d == 0\)"),
    (lambda: one(1, when=Eq(d, 0) & Eq(d, 1)), "holds at no state"),
    (lambda: one(1, when=d > 3, ranges={d: (0, 3)}), "holds at no state"),
    (lambda: one(1, jump=1), r"jump \(1,\) has 1 entries for 2 state variables"),
    (lambda: one(1, jump=(1, 0, 0)), "has 3 entries for 2 state variables"),
    (lambda: one(1, jump=(1, 0.5)), r"jump \(1, 0.5\) is not made of integers"),
    (
        lambda: one(1, jump=(-1, 1)),
        r"jump \(-1, 1\) leaves the lattice at m = 0: guard the transition with m >= 1",
    ),
    (lambda: one(1, jump=(-3, 1), when=m >= 1), "lattice at m = 1: .* with m >= 3"),
    (lambda: one(1, jump=1, state=z, ranges={z: (0, 5)}), "lattice at z = 5: .* with z <= 4"),
    (lambda: one(1, jump=-1, state=z, ranges={z: (-2, 5)}), "at z = -2: .* with z >= -1"),
    (lambda: one(-1), "rate -1 is negative at every state"),
    (lambda: one(lam - mu), r"rate lambda - mu is negative at lambda = \S+, mu = "),
    (lambda: one(lam * (1 - p)), r"is negative at lambda = \S+, p = "),
    (lambda: one(lam * (3 - m)), "is negative at m = 5, "),
    (lambda: one(lam * z, jump=1, state=z), "is negative at z = -1, "),
    (lambda: one(1 / (1 - p), domain=Domain(p <= 1)), r"rate 1/\(1 - p\) is undefined at p = 1"),
    (lambda: one(lam / (m + 1)), "not rational in the parameters and polynomial in the state"),
    (lambda: one(sp.sqrt(lam)), "not rational in the parameters"),
    (lambda: one(sp.exp(lam)), "not rational in the parameters"),
    (lambda: one(float("inf")), "not rational in the parameters"),
    (lambda: one(m >= 1), "rate m >= 1 is not an expression"),
    (lambda: one(1, domain=Domain(m <= 3)), "state variable m appears in the domain"),
    (lambda: one(1, state=(m, m)), "state variable m appears twice"),
    (lambda: one(1, state=(m, sp.Symbol("m", integer=True))), "state variable m appears twice"),
    (lambda: one(1, jump=1, state=sp.Symbol("q")), "q must be declared with integer=True"),
    (lambda: one(1, state=()), "at least one state variable"),
    (lambda: Model(m, Domain(), []), "at least one transition"),
    (lambda: Model(m, Domain(), [(1, 1)]), "not a Transition"),
    (lambda: Model(m, lam < 1, [Transition(1, 1)]), "domain must be a Domain"),
    (lambda: one(1, time="hybrid"), "time must be 'continuous' or 'discrete', got 'hybrid'"),
    (lambda: one(1, ranges={z: (0, 1)}), "range for z, which is no state variable"),
    (lambda: one(1, ranges={m: (3, 2)}), "range .* of m is empty"),
    (lambda: one(1, ranges={m: (-1, 2)}), "range .* of m contradicts m >= 0"),
    (lambda: one(1, ranges={m: 3}), "range 3 of m is not a pair of integers"),
    (lambda: one(1, ranges={m: (0, 1.5)}), "is not a pair of integers"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_models_are_refused(build, message):
    with pytest.raises(ModelError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_edges_of_validity_are_accepted():
    one(0)
    one(lam * (1 - p), domain=Domain(p <= 1))
    one(lam * (3 - m), when=m <= 3)
    one(1, jump=(-3, 1), when=m >= 3)
    one(lam * z**2, jump=1, state=z)


def test_probabilities_may_sum_to_one_and_no_more():
    def walk(*transitions):
        return Model(m, Domain(p <= Rational(1, 2)), transitions, time="discrete")

    walk(Transition(p, +1), Transition(p, -1, when=m >= 1))
    walk(Transition(p, +1), Transition(1 - p, 0))
    walk(Transition(1, +1, when=m <= 2), Transition(1, -1, when=m >= 3))
    with pytest.raises(NonConservativeError, match=r"sum to \S+ > 1 at m = 1, p = "):
        walk(Transition(1 - p, +1), Transition(1, -1, when=m >= 1))
    with pytest.raises(NonConservativeError, match=r"sum to \S+ > 1 at m = 3"):
        walk(Transition(1, +1), Transition(Rational(1, 9), +2, when=m >= 3))
    with pytest.raises(NonConservativeError, match="sum to 5/4 > 1 at m = 5"):
        walk(Transition(m / 4, +1))


def test_an_empty_domain_is_refused():
    with pytest.raises(DomainError, match="no point found"):
        one(lam, domain=Domain(lam < 1, lam > 2))
