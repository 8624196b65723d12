"""Figures: what is drawn, and where its ends lie."""

import matplotlib
import pytest

matplotlib.use("Agg")

from qtheory import state_graph
from qtheory.errors import DomainError
from qtheory.show.plots import plot_attack_regimes, plot_formulas, plot_graph
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


def test_regime_boundaries_meet_at_their_corner():
    axes = plot_attack_regimes(lam=1, mu=1)
    vertical, horizontal, curve = axes.get_lines()
    # G(1) = 1/2, Jbar'(1) = 2/3, Jbar'(0) = 3/8 at lambda = mu = 1
    assert vertical.get_xdata()[0] == pytest.approx(1 / 2)
    assert horizontal.get_ydata()[0] == pytest.approx(2 / 3)
    assert (curve.get_xdata()[0], curve.get_ydata()[0]) == pytest.approx((0, 3 / 8))
    assert (curve.get_xdata()[-1], curve.get_ydata()[-1]) == pytest.approx((1 / 2, 2 / 3))


def test_unstable_rates_have_no_figure():
    with pytest.raises(DomainError, match="unstable"):
        plot_attack_regimes(lam=2, mu=1)


def test_state_graph_is_drawn_at_its_coordinates():
    axes = plot_graph(state_graph(sq.model(), box=1))
    assert {text.get_text() for text in axes.texts} >= {"0,0", "0,1", "1,0", "1,1", r"$\lambda$"}
    with pytest.raises(DomainError, match="at most two"):
        plot_graph(state_graph(ds.model(3), box=1))
