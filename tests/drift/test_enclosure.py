"""Certified expectations on infinite chains, against exact ones and against identities."""

import pickle
from fractions import Fraction as F

import pytest
import sympy as sp

from qtheory import Domain, Model, Transition
from qtheory.check.enclosure import check_enclosure
from qtheory.drift import enclose
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError, ExpressionError, ModelError, UnstableError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq

n, x, y = sp.symbols("n x y", integer=True, nonnegative=True)
z = sp.Symbol("z", integer=True)
lam, mu = sq.lam, sq.mu
delta = sq.targeted_model().state[1]
JOBS = 2 * sq.m + sq.d

mm1 = Model(n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
tandem = Model(
    (x, y),
    Domain(),
    [
        Transition(1, (1, 0)),
        Transition(2, (-1, 1), when=x >= 1),
        Transition(3, (0, -1), when=y >= 1),
    ],
)
priority = Model(
    (x, y),
    Domain(),
    [
        Transition("1/3", (1, 0)),
        Transition("1/4", (0, 1)),
        Transition(1, (-1, 0), when=x >= 1),
        Transition(1, (0, -1), when=sp.Eq(x, 0) & (y >= 1)),
    ],
)
jockeying = Model(
    (n, z),
    Domain(),
    [
        Transition(1, (0, +1), when=sp.Eq(z, 0)),
        Transition(1, (1, -1), when=sp.Eq(z, 1)),
        Transition(2, (-1, 1), when=sp.Eq(z, 0) & (n >= 1)),
        Transition(2, (0, -1), when=sp.Eq(z, 1) & (n >= 1)),
        Transition(1, (0, -1), when=sp.Eq(z, 1) & sp.Eq(n, 0)),
    ],
    ranges={z: (0, 1)},
)
discrete = Model(
    n, Domain(), [Transition("1/3", +1), Transition("1/2", -1, when=n >= 1)], time="discrete"
)
batches = Model(n, Domain(), [Transition("1/4", +2), Transition(1, -1, when=n >= 1)])
three_servers = Model(
    n,
    Domain(),
    [
        Transition(2, +1),
        Transition(n, -1, when=(n >= 1) & (n <= 3)),
        Transition(3, -1, when=n >= 4),
    ],
)
walk = Model(
    z,
    Domain(),
    [
        Transition(2, +1, when=z <= -1),
        Transition(1, -1, when=z <= 0),
        Transition(1, +1, when=z >= 0),
        Transition(2, -1, when=z >= 1),
    ],
)
finite = Model(
    n,
    Domain(),
    [Transition(1, 1, when=n <= 9), Transition(1, -1, when=n >= 1)],
    ranges={n: (0, 10)},
)
HALF = {"lam": 1, "mu": 2}


@pytest.mark.parametrize(
    ("model", "function", "at", "expected"),
    [
        (mm1, n, HALF, 1),
        (mm1, n**2, HALF, 3),
        (mm1, n**3 - lam * n, HALF, 12),
        (mm1, n, {"lam": "99/100", "mu": 1}, 99),
        (mm1, sp.KroneckerDelta(n, 0), {"lam": "1/3", "mu": 1}, F(2, 3)),
        (mm1, sp.Piecewise((n, n >= 3), (0, True)), HALF, F(1, 2)),
        (mm1, sp.KroneckerDelta(n, 15), {"lam": "1/10", "mu": 1}, F(9, 10**16)),
        (mm1, sp.Integer(7), HALF, 7),
        (mm1, n - 1, HALF, 0),
        (sq.bernoulli_model(), sq.x1 + sq.x2, {"lam": 1, "mu": 1}, 2),
        (sq.bernoulli_model(), sq.x1 * sq.x2, {"lam": 1, "mu": 1}, 1),
        (sq.model(), JOBS, {"lam": 1, "mu": 1, "p": 1}, 2),
        (sq.model(), sp.KroneckerDelta(sq.d, 0), {"lam": 1, "mu": 1, "p": "3/10"}, F(17, 37)),
        (tandem, x + 2 * y, {}, 2),
        (priority, x, {}, F(1, 2)),
        (priority, x + y, {}, F(7, 5)),
        (jockeying, 2 * n + z, {}, F(4, 3)),
        (discrete, n, {}, 2),
        (batches, n, {}, F(3, 2)),
        (three_servers, n, {}, F(26, 9)),
        (walk, z, {}, 0),
        (walk, sp.Abs(z), {}, F(4, 3)),
        (finite, n**2, {}, 35),
    ],
)
def test_exact_expectations_are_enclosed(model, function, at, expected):
    found = enclose(model, function, at, digits=14)
    assert expected in found.value
    width = found.value.upper - found.value.lower
    assert width <= F(3, 10**16) * (abs(F(expected)) or 1)
    assert check_enclosure(found.certificate) == found.claim


@pytest.mark.parametrize(
    ("p", "value"),
    [
        ("0", "1.42632075116724118774156941292662037432025977451383"),
        ("3/10", "1.51392815671281922749799836327134785637278662414411"),
        ("1/2", "1.59656078935434128713826509439166938316481900445735"),
        ("9/10", "1.88171279212231785485387599061799270704961843664622"),
    ],
)
def test_fifty_digits_of_the_shorter_queue(p, value):
    found = enclose(sq.model(), JOBS, {"lam": 1, "mu": 1, "p": p}, digits=50)
    assert str(found.value) == value[:51]
    assert found.states < 20_000


def test_targeted_attacks_that_do_not_happen_are_uniform_ones():
    found = enclose(sq.targeted_model(), 2 * sq.m + sp.Abs(delta), {"lam": 1, "mu": 1, "p": 0}, 12)
    assert str(found.value) == "1.42632075116"
    assert 0 in enclose(sq.targeted_model(), delta, {"lam": 1, "mu": 1, "p": 0}, 12).value


def test_targeted_attacks_cost_more():
    """The increases of the cost over no attack for the shorter queue, as published."""
    for rate, p, increase in (("3/5", "1/5", "0.0289"), ("6/5", "1/2", "0.7910")):
        free, attacked = (
            enclose(
                sq.targeted_model(), 2 * sq.m + sp.Abs(delta), {"lam": rate, "mu": 1, "p": q}, 8
            )
            for q in (0, p)
        )
        assert abs(float(attacked.value) - float(free.value) - float(increase)) < 6e-5


def test_layers_make_a_window_where_the_product_fails():
    found = enclose(sq.model(), JOBS, {"lam": "3/2", "mu": 1, "p": "7/10"}, digits=20)
    assert found.moment.cells > 1
    # (I4), with E[min] from its own enclosure
    least = enclose(sq.model(), sq.m, {"lam": "3/2", "mu": 1, "p": "7/10"}, digits=20)
    ends = [(3 + F(9, 10) * end) / F(95, 100) for end in (least.value.lower, least.value.upper)]
    assert ends[0] <= found.value.upper and found.value.lower <= ends[1]


@pytest.mark.parametrize(("queues", "digits"), [(2, 15), (3, 4)])
def test_dedicated_streams_satisfy_the_identity_of_the_mean(queues, digits):
    """(I5): E_N[X] = (lam + lam_s (1 + E_N[M]))/(mu - lam)."""
    model = ds.model(queues)
    at = {"lam": "1/4", "lam_s": "1/4", "mu": 1}
    shortest, *gaps = model.state
    total = shortest + sum((queues - 1 - i) * gap for i, gap in enumerate(gaps)) / sp.Integer(
        queues
    )
    mean, least = enclose(model, total, at, digits), enclose(model, shortest, at, digits)
    ends = [
        (F(1, 4) + F(1, 4) * (1 + end)) / F(3, 4) for end in (least.value.lower, least.value.upper)
    ]
    assert ends[0] <= mean.value.upper and mean.value.lower <= ends[1]


def test_printing():
    found = enclose(mm1, n, HALF, digits=10)
    assert str(found) == "E[n] = 1.000000000000 +- 1e-12"
    assert found._repr_latex_().startswith("$") and r"\pm" in found._repr_latex_()
    third = enclose(mm1, sp.KroneckerDelta(n, 0), {"lam": 1, "mu": 3}, digits=10)
    assert str(third.value) == "0.6666666666"
    assert set(third.seconds) == {"moment", "window"}
    assert str(enclose(finite, n, digits=8)) == "E[n] = 5"


def test_a_result_pickles_with_its_certificate():
    found = enclose(mm1, n, HALF, digits=8)
    again = pickle.loads(pickle.dumps(found))
    assert again.value == found.value
    assert check_enclosure(again.certificate) == found.claim


def test_errors_name_the_condition():
    with pytest.raises(UnstableError, match=r"unstable: needs lambda < 2\*mu"):
        enclose(sq.model(), JOBS, {"lam": 2, "mu": 1, "p": 0})
    with pytest.raises(DomainError, match="no value given for mu"):
        enclose(mm1, n, {"lam": 1})
    with pytest.raises(DomainError, match="digits must be at least 1"):
        enclose(mm1, n, HALF, digits=0)
    with pytest.raises(ModelError, match="neither a state variable nor a parameter"):
        enclose(mm1, n * x, HALF)
    with pytest.raises(ExpressionError, match="not polynomial"):
        enclose(mm1, 1 / (n + 1), HALF)
    with pytest.raises(PrecisionError, match="ask for fewer digits"):
        enclose(sq.model(), JOBS, {"lam": "1999/1000", "mu": 1, "p": 0}, 50)
    apart = Model(z, Domain(), [Transition(1, 1, when=sp.Eq(z, 0))], ranges={z: (0, 3)})
    with pytest.raises(PrecisionError, match="is not reached"):
        enclose(apart, z)
