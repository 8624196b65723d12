"""Every law answers the same questions in the same words, and refuses the same ones."""

import pickle
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
import sympy as sp

from qtheory import Domain, Model, Transition
from qtheory.errors import DomainError, ExpressionError, ModelError, QTheoryError, UnstableError
from qtheory.stationary import NumericLaw, compensation, family, stationary
from qtheory.systems import shorter_queue as sq

lam, mu = sp.symbols("lambda mu", positive=True)
n = sp.Symbol("n", integer=True, nonnegative=True)
K = sp.Symbol("K", integer=True, positive=True)
QUEUE = Model(n, Domain(stable=lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
POINT = {lam: 1, mu: 2}
SERIES = compensation(sq.model(), {"lam": 1, "mu": 1, "p": 0})
LAWS = {
    "exact": stationary(QUEUE, box=60),
    "birth-death": stationary(QUEUE),
    "sparse": stationary(QUEUE, box=60, at=POINT, method="sparse"),
    "truncation": stationary(QUEUE, at=POINT, method="truncation"),
    "matrix-geometric": stationary(QUEUE, method="matrix_geometric"),
    "floats": stationary(QUEUE, at=POINT, method="matrix_geometric"),
    "balls": stationary(QUEUE, at=POINT, digits=20),
    "family": family(QUEUE, K),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def value(answer):
    """A number at lambda = 1, mu = 2, from what any of the laws answers."""
    return float(answer.subs({lam: 1, mu: 2, K: 60}) if isinstance(answer, sp.Expr) else answer)


@each_law
def test_the_same_questions_of_every_law(law):
    # P(X >= k) = 2^-k up to 2^-60
    assert value(law[3]) == value(law[(3,)]) == pytest.approx(1 / 16, abs=1e-12)
    assert value(law[np.int64(3)]) == value(law[sp.Integer(3)]) == value(law[3])
    assert value(law.tail(n, 3)) == pytest.approx(1 / 8, abs=1e-12)
    assert value(law.tail("n", 0)) == pytest.approx(1, abs=1e-12)
    assert value(law.marginal("n", 3)) == pytest.approx(1 / 16, abs=1e-12)
    assert value(law.mean()) == value(law.expect(n)) == pytest.approx(1, abs=1e-9)
    assert value(law.variance()) == pytest.approx(2, abs=1e-9)
    for event in (n >= 2, "n >= 2"):
        assert value(law.probability(event)) == pytest.approx(1 / 4, abs=1e-12)
    assert value(law.probability("n >= 1, n <= 2")) == pytest.approx(3 / 8, abs=1e-12)
    assert law.variables == (n,) and set(law.parameters) <= {lam, mu}
    assert isinstance(law.method, str) and law.residual < 1e-15
    assert (law.truncation is None) == (law.outside is None)


@each_law
def test_events_that_always_or_never_happen(law):
    for event in (True, sp.true):
        assert value(law.probability(event)) == pytest.approx(1, abs=1e-12)
    for event in (False, sp.false, (n >= 5) & (n < 3)):
        assert value(law.probability(event)) == 0


@each_law
def test_what_is_no_state_has_no_probability(law):
    for state in (1.5, sp.Rational(1, 2), [1], "m + 1"):
        with pytest.raises((DomainError, ExpressionError)):
            law[state]
    with pytest.raises(ModelError, match="z is no state variable; known: n"):
        law.marginal("z", 1)
    with pytest.raises(ModelError, match="z is no state variable; known: n"):
        law.tail("z", 1)
    for ask in (law.marginal, law.tail):
        with pytest.raises(QTheoryError, match="integer"):
            ask(n, 1.5)


@pytest.mark.parametrize("name", ["birth-death", "matrix-geometric", "floats", "balls", "family"])
def test_infinite_laws_refuse_to_be_listed(name):
    law = LAWS[name]
    with pytest.raises(TypeError, match="not iterable"):
        list(islice(iter(law), 3))
    with pytest.raises(ModelError, match="is a relation, not a function"):
        law.probability(lambda state: True)


def test_all_values_of_a_variable_where_they_are_finitely_many():
    for name in ("exact", "sparse"):
        law = LAWS[name]
        assert (list(law.marginal(n)), list(law.tail(n))) == ([*range(61)], [*range(61)])
        assert 3 in law and (3,) in law and 61 not in law and [3] not in law
        assert law.marginal(n, 61) == law.tail(n, 61) == 0
        assert law.tail(n, -5) == pytest.approx(1)
    for name in ("matrix-geometric", "floats", "balls"):
        with pytest.raises(ModelError, match=r"unbounded: use marginal\(n, k\)"):
            LAWS[name].marginal(n)
    assert LAWS["birth-death"].tail(n) == (lam / mu) ** n
    assert LAWS["birth-death"].marginal(n) == LAWS["birth-death"].pmf(n)


def test_the_series_answers_them_too():
    with pytest.raises(ModelError, match=r"m is unbounded: use marginal\(m, k\)"):
        SERIES.marginal(sq.m)
    with pytest.raises(ModelError, match="unbounded"):
        SERIES.tail(sq.m)
    assert SERIES.probability("m >= 3") == SERIES.tail("m", 3)
    assert SERIES.probability((sq.m >= 5) & (sq.m < 3)) == SERIES.probability(False)
    assert float(SERIES.probability(False)) == 0
    assert SERIES.parameters == sq.model().parameters
    assert (SERIES.residual, SERIES.error, SERIES.truncation) == (None, None, None)
    with pytest.raises(TypeError, match="not iterable"):
        iter(SERIES)


def test_a_closed_form_has_no_value_where_the_queue_is_unstable():
    law = pickle.loads(pickle.dumps(LAWS["birth-death"]))
    assert law.evaluate(n, {lam: 1, mu: 2}).lower == 1
    # lambda/(mu - lambda) would be -3
    with pytest.raises(UnstableError, match="needs lambda < mu, got lambda = 3, mu = 2"):
        law.evaluate(n, {lam: 3, mu: 2})
    with pytest.raises(DomainError, match="no value given for mu"):
        law.evaluate(n, {lam: 3})
    assert law.evaluate("c*n", {lam: 1, mu: 2, "c": 5}).lower == 5
    with pytest.raises(DomainError, match="no state -1"):
        law[-1]


def test_floats_that_are_no_numbers_are_no_answers():
    law = NumericLaw(np.arange(2)[:, None], np.array([0.5, 0.5]), "sparse", 0.0, (n,))
    assert law.expect(1 / (n + 1)) == 0.75
    for f in (1 / n, sp.nan, lambda state: float("inf") if state == (0,) else 1.0):
        with pytest.raises(ExpressionError, match=r"no finite number at state \(0,\)"):
            law.expect(f)
    with pytest.raises(ExpressionError, match="not a finite number"):
        LAWS["floats"].expect(sp.nan)
    assert (law.mean(), law.variance()) == (0.5, 0.25)
    assert law.marginal(n, 1) == Fraction(1, 2)
