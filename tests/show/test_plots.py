"""Figures: what is drawn, and where its ends lie."""

import matplotlib
import pytest
import sympy as sp

matplotlib.use("Agg")

from qtheory import Domain, Model, Transition, state_graph, stationary
from qtheory.errors import DomainError, ModelError, ReducibleError
from qtheory.show.plots import plot_formulas, plot_graph, plot_marginals
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq


def test_formulas_are_drawn_where_they_are_defined():
    formulas = [sq.system.formula(name) for name in ("JB", "Jbar")]
    axes = plot_formulas(formulas, "lambda", (0, 2), {"mu": 1, "p": 1}, points=4)
    bernoulli, bound = (line.get_ydata() for line in axes.get_lines())
    # lambda = 0 and lambda = 2 are outside: 0 < lambda < 2 mu; at p = 1 the two agree
    assert [float(y) for y in bernoulli[1:4]] == pytest.approx([2 / 3, 2, 6])
    assert bernoulli[1:4] == pytest.approx(bound[1:4])
    assert bernoulli[0] != bernoulli[0]
    assert bernoulli[4] != bernoulli[4]
    assert axes.get_xlabel() == r"$\lambda$"


def test_state_graph_is_drawn_at_its_coordinates():
    axes = plot_graph(state_graph(sq.model(), box=1))
    assert {text.get_text() for text in axes.texts} >= {"0,0", "0,1", "1,0", "1,1", r"$\lambda$"}
    with pytest.raises(DomainError, match="at most two"):
        plot_graph(state_graph(ds.model(3), box=1))


lam, mu = sp.symbols("lambda mu", positive=True)
n = sp.Symbol("n", integer=True, nonnegative=True)
QUEUE = Model(n, Domain(lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
POINT = {lam: 1, mu: 2}


@pytest.mark.parametrize(
    ("law", "at"),
    [
        (stationary(QUEUE, box=50), POINT),
        (stationary(QUEUE), POINT),
        (stationary(QUEUE, at=POINT), None),
        (stationary(QUEUE, at=POINT, method="truncation"), None),
        (stationary(QUEUE, at=POINT, method="matrix_geometric"), None),
        (stationary(QUEUE, method="matrix_geometric"), POINT),
        (stationary(QUEUE, at=POINT, digits=10), None),
    ],
)
def test_the_marginal_of_any_law_is_drawn(law, at):
    axes = plot_marginals(law, at, values=6)
    (line,) = axes.get_lines()
    assert list(line.get_xdata()) == [0, 1, 2, 3, 4, 5]
    assert list(line.get_ydata()) == pytest.approx([2.0**-k for k in range(1, 7)], abs=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$k$", "probability")
    assert line.get_label() == "$P(n = k)$"


def test_marginals_of_several_variables_differ_in_more_than_colour():
    law = stationary(sq.model(), at={"lam": 1, "mu": 1, "p": 0}, digits=10)
    axes = plot_marginals(law)
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == ["$P(m = k)$", "$P(d = k)$"]
    for look in ("get_color", "get_linestyle", "get_marker"):
        assert len({getattr(line, look)() for line in lines}) == 2
    assert lines[1].get_ydata()[0] == pytest.approx(float(law.marginal(sq.d, 0)))
    assert len(lines[0].get_xdata()) == 12
    (only,) = plot_marginals(law, variables=["d"], values=3).get_lines()
    assert list(only.get_ydata()) == list(lines[1].get_ydata()[:3])


def test_a_point_without_a_law_has_no_marginals():
    with pytest.raises(DomainError, match="outside the domain: needs lambda < mu"):
        plot_marginals(stationary(QUEUE), {lam: 3, mu: 2})
    with pytest.raises(DomainError, match="no value given"):
        plot_marginals(stationary(QUEUE))
    with pytest.raises(ReducibleError):
        plot_marginals(stationary(QUEUE, box=3), {lam: 0, mu: 0})
    with pytest.raises(DomainError, match="no state variables"):
        plot_marginals(stationary([[-1, 1], [1, -1]]))
    with pytest.raises(ModelError, match="z is no state variable"):
        plot_marginals(stationary(QUEUE, box=3), POINT, variables=["z"])
