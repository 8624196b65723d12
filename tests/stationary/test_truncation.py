"""Adaptive windows against laws of infinite chains that are known, and where there is none."""

import numpy as np
import pytest
import sympy as sp

from qtheory.domain import Domain
from qtheory.errors import DomainError, ModelError, ReducibleError, UnstableError
from qtheory.model import Model, Transition
from qtheory.stationary import stationary
from qtheory.stationary.floats.sparse import AccuracyError, sparse_law
from qtheory.stationary.floats.truncation import truncated_law
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq

lam, mu, nu = sp.symbols("lambda mu nu", positive=True)
n, k = sp.symbols("n k", integer=True, nonnegative=True)
z = sp.Symbol("z", integer=True)

UP, DOWN = Transition(lam, +1), Transition(mu, -1, when=n >= 1)
QUEUE = Model(n, Domain(stable=lam < mu), [UP, DOWN])
FREE = Model(n, Domain(), [UP, DOWN])
TANDEM = Model(
    (n, k),
    Domain(),
    [
        Transition(lam, (1, 0)),
        Transition(mu, (-1, 1), when=n >= 1),
        Transition(nu, (0, -1), when=k >= 1),
    ],
)


def missed(law, wanted) -> float:
    """The total variation distance to a law on the lattice, given by its density."""
    density = wanted(*law.states.T.astype(float))
    return float(abs(law.probabilities - density).sum() + 1 - density.sum()) / 2


def require_honest(law, wanted, tolerance: float) -> None:
    """Within the tolerance, and an estimate that is neither too small nor far too large."""
    true = missed(law, wanted)
    assert true <= tolerance + 1e-14
    assert true / 3 - 1e-14 <= law.error.value <= tolerance + 1e-13
    assert law.outside.value <= law.error.value
    assert law.error.kind == law.outside.kind == "estimated"


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 1e-12])
@pytest.mark.parametrize("load", ["0.001", "0.5", "0.95", "0.99"])
def test_one_server(load, tolerance):
    rho = float(load)
    law = truncated_law(QUEUE, {lam: load, mu: 1}, tolerance)
    require_honest(law, lambda x: (1 - rho) * rho**x, tolerance)
    assert law.method == "truncation"
    assert law.truncation == f"n <= {len(law) - 1}"


def poisson(mean: float):
    """p_{n+1} = p_n mean / (n + 1), from the largest one on."""

    def density(x):
        mode = int(mean)
        above = np.cumprod(mean / np.arange(mode + 1, x[-1] + 1))
        below = np.cumprod(np.arange(mode, 0, -1) / mean)[::-1]
        weights = np.concatenate([below, [1.0], above])
        return weights / weights.sum()

    return density


@pytest.mark.parametrize("mean", [0.01, 1, 40, 2000])
def test_many_servers(mean):
    # the window must begin by finding the mass, far from the empty state
    law = truncated_law(Model(n, Domain(), [UP, Transition(mu * n, -1, when=n >= 1)]),
                        {lam: mean, mu: 1})  # fmt: skip
    require_honest(law, poisson(mean), 1e-12)


def test_a_finite_number_of_servers():
    # M/M/3: with load a, p_n = a^n/n! up to 3, then times a/3
    servers = [Transition(mu, -1, when=n >= i) for i in (1, 2, 3)]
    law = truncated_law(Model(n, Domain(), [UP, *servers]), {lam: "5/2", mu: 1})
    weights = np.array([1, 2.5, 2.5**2 / 2, 2.5**3 / 6])
    total = weights[:3].sum() + weights[3] * 6

    def density(x):
        return np.where(x < 3, weights[np.minimum(x, 3).astype(int)],
                        weights[3] * (5 / 6) ** (x - 3)) / total  # fmt: skip

    require_honest(law, density, 1e-12)


def test_mass_on_both_sides_of_zero():
    # up at rate lam from z >= 0, down at rate nu from z <= 0, back at rate mu
    moves = [
        Transition(lam, +1, when=z >= 0),
        Transition(mu, -1, when=z >= 1),
        Transition(mu, +1, when=z <= -1),
        Transition(nu, -1, when=z <= 0),
    ]
    law = truncated_law(Model(z, Domain(), moves), {lam: "1/2", mu: 1, nu: "9/10"})
    centre = 1 / (1 + 1 + 9)
    require_honest(law, lambda x: centre * np.where(x > 0, 0.5, 0.9) ** abs(x), 1e-12)
    low, high = int(law.states.min()), int(law.states.max())
    assert law.truncation == f"{low} <= z <= {high}"
    assert -low > 4 * high


def test_a_range_bounded_above():
    moves = [Transition(lam, -1), Transition(mu, +1, when=z <= -1)]
    model = Model(z, Domain(), moves, ranges={z: (None, 0)})
    law = truncated_law(model, {lam: "1/2", mu: 1})
    require_honest(law, lambda x: 0.5 ** (1 - x), 1e-12)
    assert law.truncation == f"{law.states.min()} <= z"


def test_queues_in_tandem_have_product_form():
    # Jackson (Operations Research 5, 1957)
    law = truncated_law(TANDEM, {lam: 1, mu: 2, nu: "5/4"})
    require_honest(law, lambda x, y: 0.5 ** (x + 1) * 0.2 * 0.8**y, 1e-12)
    assert law.marginal(n)[3] == pytest.approx(1 / 16, abs=1e-12)


@pytest.mark.parametrize(("rate", "p"), [(1, 0), ("9/5", "1/2"), ("19/10", 0)])
@pytest.mark.parametrize("tolerance", [1e-5, 1e-12])
def test_what_is_cut_off_disturbs_the_rest(rate, p, tolerance):
    # near instability the few states beyond the last difference matter more than they weigh
    at = {"lambda": rate, "mu": 1, "p": p}
    law = truncated_law(sq.model(), at, tolerance)
    most, widest = law.states.max(axis=0).tolist()
    larger = sparse_law(sq.model(), (int(1.6 * most) + 9, int(1.6 * widest) + 9), at=at)
    inside = np.array([larger[state] for state in law])
    true = float(abs(inside - law.probabilities).sum() + 1 - inside.sum()) / 2
    assert true <= tolerance
    assert true / 3 - 1e-15 <= law.error.value <= 4 * true + 1e-15


@pytest.mark.parametrize(
    ("rate", "p", "cost"),
    [(1, 0, 1.426320751167), ("1/2", "1/2", 0.596182077806), ("3/2", 0, 3.672080290233)],
)
def test_shorter_queue_reference_values(rate, p, cost):
    law = truncated_law(sq.model(), {"lambda": rate, "mu": 1, "p": p})
    assert law.expect("2*m + d") == pytest.approx(cost, abs=1e-10)
    assert law.parameters[sq.mu] == 1


@pytest.mark.parametrize("p", [0, "1/2", 1])
def test_targeted_attacks_need_more_room_on_one_side(p):
    at = {"lambda": "4/5", "mu": 1, "p": p}
    law = truncated_law(sq.targeted_model(), at)
    # busy servers: the load; at p = 1 all jobs go to queue 1
    lengths = (
        law.states[:, 0] + np.maximum(law.states[:, 1], 0),
        law.states[:, 0] + np.maximum(-law.states[:, 1], 0),
    )
    busy = sum(float(law.probabilities[length >= 1].sum()) for length in lengths)
    assert busy == pytest.approx(0.8, abs=1e-11)
    if p == 1:
        assert float(lengths[0] @ law.probabilities) == pytest.approx(4, abs=1e-9)


def test_a_closed_form_of_the_library():
    model, at = ds.mean_field_model(), {"lambda": "2/5", "lambda_s": "1/2", "mu": 1}
    law, form = truncated_law(model, at), stationary(model)
    values = {ds.lam: sp.Rational(2, 5), ds.lam_s: sp.Rational(1, 2), ds.mu: 1}
    for i in (0, 1, 5, 20):
        assert law[i] == pytest.approx(float(form.pmf(i).subs(values)), abs=1e-12)


def test_batches():
    # arrivals in pairs: with r = lam/mu, P(z) = (1 - 2r) / (1 - r z - r z^2)
    pairs = Model(n, Domain(), [Transition(lam, +2), DOWN])
    law = truncated_law(pairs, {lam: "3/10", mu: 1})
    wanted = [0.4, 0.12]
    while len(wanted) < len(law):
        wanted.append(0.3 * (wanted[-1] + wanted[-2]))
    require_honest(law, lambda x: np.array(wanted)[x.astype(int)], 1e-12)


def test_a_second_mode_behind_a_valley_is_seen():
    # Schloegl's model: births a n(n-1) + b, deaths c n(n-1)(n-2) + d n; no drift at 20, 1000, 1500
    def births(x):
        return (2517 * x * (x - 1) + 30_000_000) / 10_000

    def deaths(x):
        return (x * (x - 1) * (x - 2) + 1_547_481 * x) / 10_000

    moves = [Transition(births(n), +1), Transition(deaths(n), -1, when=n >= 1)]
    law = truncated_law(Model(n, Domain(), moves))
    states = np.arange(1.0, len(law))
    logs = np.concatenate([[0.0], np.cumsum(np.log(births(states - 1) / deaths(states)))])
    weights = np.exp(logs - logs.max())
    wanted = weights / weights.sum()
    np.testing.assert_allclose(law.probabilities, wanted, rtol=1e-9, atol=1e-300)
    assert min(logs[20], logs[1500]) > logs[1000] + 5
    assert len(law) > 1500


def test_slow_tails():
    # pi_{n+1} / pi_n = (n^2 + 1) / ((n + 1)(n + 3)): the tail beyond n falls as n^-3
    model = Model(
        n, Domain(), [Transition(n**2 + 1, +1), Transition(n**2 + 2 * n, -1, when=n >= 1)]
    )
    law = truncated_law(model, None, 1e-6)
    bound = [1.0]
    for i in range(200_000):
        bound.append(bound[-1] * (i**2 + 1) / ((i + 1) * (i + 3)))
    outside = sum(bound[len(law) :]) / sum(bound)
    assert outside <= 2e-6
    assert outside / 3 <= law.outside.value <= 3 * outside
    with pytest.raises(AccuracyError, match=r"\(n <= \d+\) leaves about .* of the mass outside, "):
        truncated_law(model, None, 1e-12, 2000)


def test_a_chain_that_ends_in_one_state():
    law = truncated_law(Model(n, Domain(), [DOWN]), {mu: 1})
    assert law[0] == 1
    assert (law.error.value, law.outside.value) == (0, 0)


def test_a_finite_model_needs_no_window():
    model = Model(n, Domain(), [Transition(lam, +1, when=n <= 2), DOWN], ranges={n: (0, 3)})
    law = truncated_law(model, {lam: 1, mu: 1})
    assert law.probabilities == pytest.approx([0.25] * 4, rel=1e-15)
    assert (law.truncation, law.outside) == (None, None)


@pytest.mark.parametrize(
    ("model", "at"),
    [
        (FREE, {lam: 2, mu: 1}),
        (FREE, {lam: 1000, mu: 1}),
        (FREE, {lam: "10001/10000", mu: 1}),
        (FREE, {lam: 1, mu: 1}),
    ],
)
def test_without_a_stationary_law_there_is_no_number(model, at):
    with pytest.raises(UnstableError, match=r"no sign of a stationary law: .* edge of n: unstable"):
        truncated_law(model, at, states=20_000)


def test_the_direction_of_instability_is_named():
    with pytest.raises(UnstableError, match=r"states \(n <= \d+, k <= \d+\).* edge of .*k: unsta"):
        truncated_law(TANDEM, {lam: 1, mu: 2, nu: "9/10"}, states=10_000)
    away = [Transition(lam, -1), Transition(mu, -1), Transition(mu, +1, when=z <= -1)]
    with pytest.raises(UnstableError, match=r"\(-\d+ <= z\).* edge of z: unstable"):
        truncated_law(Model(z, Domain(), away, ranges={z: (None, 0)}), {lam: "1/9", mu: 1},
                      states=5000)  # fmt: skip


def test_escape_behind_a_barrier_is_seen():
    # up to 100 the chain is pushed back, beyond it runs away
    moves = [
        Transition(1, +1, when=n < 100),
        Transition(3, -1, when=(n >= 1) & (n <= 100)),
        Transition(2, +1, when=n >= 100),
        Transition(1, -1, when=n >= 101),
    ]
    with pytest.raises(UnstableError, match="no sign of a stationary law"):
        truncated_law(Model(n, Domain(), moves), states=20_000)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((QUEUE, {lam: 2, mu: 1}), UnstableError, "unstable: needs lambda < mu, got lambda = 2"),
        ((sq.model(), {"lambda": 2, "mu": 1, "p": 0}), UnstableError, "lambda < 2*mu"),
        ((QUEUE, {lam: 1}), DomainError, "no value given for mu"),
        ((QUEUE,), DomainError, "no value given for lambda, mu"),
        ((QUEUE, {lam: 1, mu: 2}, 0), ModelError, "tolerance must lie between 0 and 1, got 0"),
        ((QUEUE, {lam: 1, mu: 2}, 1.5), ModelError, "between 0 and 1, got 1.5"),
        ((QUEUE, {lam: 1, mu: 2}, 1e-9, 5), ModelError, "the first window has 10 states, more"),
        ((QUEUE, {lam: "99/100", mu: 1}, 1e-9, 900), AccuracyError, "allow more states"),
        (
            (Model(n, Domain(), [Transition(1, +2), Transition(2, -2, when=n >= 2)]),),
            ReducibleError,
            "2 closed classes",
        ),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message.replace("*", r"\*")):
        truncated_law(*arguments)


def test_a_law_whose_sum_overflows_in_an_unstable_window():
    n, k = sp.symbols("n k", integer=True, nonnegative=True)
    steps = [
        Transition("1/480", (1, 0), when=sp.Eq(n, 0) & sp.Eq(k, 2)),
        Transition("1/60", (2, 0)),
        Transition("1/48", (-1, 1), when=(n >= 1) & (k <= 1)),
        Transition("1/80", (-1, 0), when=n >= 1),
    ]
    model = Model((n, k), Domain(), steps, time="discrete", ranges={k: (0, 2)})
    with pytest.raises(AccuracyError, match=r"in a window of \d+ states.*unstable"):
        truncated_law(model, {}, 1e-11)


@pytest.mark.parametrize("p", [0, "1/2", 1])
def test_the_mass_outside_is_proved_on_request(p):
    point = {"lambda": 1, "mu": 1, "p": p}
    law = truncated_law(sq.model(), point, certified=True)
    assert law.outside.kind == "certified" and law.outside.value <= 1e-12
    assert law.error.kind == "estimated"
    # a much larger window tells the true mass outside, which is below the bound
    smaller = truncated_law(sq.model(), point, 1e-4, certified=True)
    high_m, high_d = smaller.states.max(axis=0)
    beyond = law.probability(sp.Or(sq.m > int(high_m), sq.d > int(high_d)))
    assert 0 < beyond <= smaller.outside.value <= 1e-4
