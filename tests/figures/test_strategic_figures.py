"""Figures of queues that learn: what is drawn, with its labels and intervals."""

import math
from fractions import Fraction

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot

from qtheory.errors import DomainError, ModelError
from qtheory.figures.strategic_queues import (
    growth_by_factor,
    plot_ages,
    plot_drift,
    plot_growth,
    plot_regions,
    plot_regret,
    plot_sizes,
)
from qtheory.learning import AgeGreedy, Exp3, Mixed, estimate_drift, simulate
from qtheory.learning.feasibility import feasibility
from qtheory.learning.run import estimate
from qtheory.learning.stability import slack

LIMIT = 4.5
MU = (1, "1/3", "1/3")
FIRST = Mixed((1, 0, 0))


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def run():
    return simulate(["1/4", "1/3", "1/4"], MU, Exp3(), 200, 40, seed=1, window=50)


def labels(axes):
    return axes.get_xlabel(), axes.get_ylabel(), [t.get_text() for t in axes.get_legend().texts]


def drawn(axes):
    """It is drawn without an error."""
    axes.figure.canvas.draw()
    return axes


def test_growth_is_that_of_the_scaled_rates():
    table = growth_by_factor(
        {"first": FIRST, "greedy": AgeGreedy()}, ["5/4", 2], steps=800, replications=128, seed=2
    )
    assert [row[0] for row in table["first"]] == [1.25, 2.0]
    # lambda = (5/9)/c, and all at server 1 grow at 3 lambda - 1 if that is positive
    factor, mean, width = table["first"][0]
    assert abs(1.96 * (mean - (5 / 3 / factor - 1)) / width) < LIMIT
    assert abs(table["first"][1][1]) < 0.01 and abs(table["greedy"][0][1]) < 0.01
    # c* = 2 for these rates, so that they are doubled at c = 1
    row = growth_by_factor({"a": Mixed((1, 0))}, [1], ["1/4", "1/2"], [1, "1/2"], steps=40)["a"][0]
    own = simulate(["1/2", "1"], [1, "1/2"], Mixed((1, 0)), 40, 64).growth
    assert row == (1.0, own.mean, own.half_width)


def test_factors_without_rates_are_refused():
    with pytest.raises(DomainError, match="needs a factor c > 0, got 0"):
        growth_by_factor({"a": FIRST}, [0])
    with pytest.raises(DomainError, match="needs 0 < lambda <= 1"):
        growth_by_factor({"a": FIRST}, ["1/10"])


TABLE = {
    "all to server 1": [(1.5, 0.1117, 0.0014), (1.25, 0.3345, 0.0014), (1.75, 0.0, math.nan)],
    "Exp3": [(1.25, 0.2978, 0.0030), (1.5, 0.0754, 0.0036)],
}


def test_growth_is_drawn_with_its_intervals():
    axes = drawn(plot_growth(TABLE, queues=3))
    x, y, names = labels(axes)
    assert "M_k / L_k" in x and "estimated" in y and names == list(TABLE)
    first, second = axes.containers
    assert first.lines[0].get_xdata().tolist() == [1.25, 1.5, 1.75]
    assert second.lines[0].get_ydata().tolist() == [0.2978, 0.0754]
    bars = [segment[:, 1].tolist() for segment in second.lines[2][0].get_segments()]
    assert np.concatenate(bars) == pytest.approx([0.2948, 0.3008, 0.0718, 0.0790])
    # an interval that is not known has no length
    assert np.ptp(first.lines[2][0].get_segments()[2][:, 1]) == 0


@pytest.mark.parametrize(("queues", "exact"), [(2, 3 / 2), (3, 5 / 3)])
def test_the_two_factors_are_marked(queues, exact):
    axes = drawn(plot_growth(TABLE, queues))
    marks = {line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1}
    assert marks == {exact, math.e / (math.e - 1)}
    left, right = sorted(axes.texts, key=lambda text: text.xy[0])
    assert (left.get_ha(), right.get_ha()) == ("right", "left")
    assert ("2 - 1/n" in left.get_text()) == (queues == 2)
    assert f"{exact:.3g}" in left.get_text() + right.get_text()


@pytest.mark.parametrize(("plot", "name"), [(plot_ages, "ages"), (plot_sizes, "sizes")])
def test_means_over_time_have_their_bands(run, plot, name):
    axes = drawn(plot(run))
    x, y, names = labels(axes)
    assert x == "step $t$" and y.startswith("mean ") and y.endswith("(estimated)")
    assert names == ["queue 1", "queue 2", "queue 3"]
    assert len({line.get_color() for line in axes.lines}) == 3
    assert len({line.get_linestyle() for line in axes.lines}) == 3
    values = getattr(run, name)[:, -1, 1]
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(values.mean())
    # the band at the end is the interval of the library's own estimates
    low, high = estimate(name, values).interval
    band = axes.collections[1].get_paths()[0].vertices
    ends = band[band[:, 0] == 200][:, 1]
    assert [ends.min(), ends.max()] == pytest.approx([low, high])


def test_regret_by_window(run):
    axes = drawn(plot_regret(run))
    x, y, names = labels(axes)
    assert x == "step $t$" and "in 50 steps" in y and len(names) == 3
    line = axes.lines[1]
    assert line.get_xdata().tolist() == [50, 100, 150, 200]
    assert line.get_ydata().mean() == pytest.approx(run.regret_per_step[0].mean)
    with pytest.raises(ModelError, match="no regret was recorded"):
        plot_regret(simulate(["1/4"], [1], Mixed((1,)), 20, 5))


def test_drift_by_level():
    walk = np.array([[0, 1, 2, 1, 2], [2, 1, 2, 1, 0]])
    known = estimate_drift(walk, [0, 1.5, 3, 4, math.inf])
    axes = drawn(plot_drift({"walk": known, "the same": known}))
    x, y, names = labels(axes)
    assert r"\Phi" in x and r"\Phi" in y and names == ["walk", "the same"]
    # levels above 3 were never seen
    assert axes.containers[0].lines[0].get_xdata().tolist() == [0.75, 2.25]
    assert axes.containers[0].lines[0].get_ydata().tolist() == pytest.approx([0.6, -1])
    horizontal, vertical = axes.containers[0].lines[2]
    assert horizontal.get_segments()[0][:, 0].tolist() == [0, 1.5]
    assert np.ptp(vertical.get_segments()[0][:, 1]) == pytest.approx(2 * known[0].half_width)
    alone = drawn(plot_drift(estimate_drift(walk, [0, 1, math.inf])))
    assert alone.get_legend() is None
    assert alone.containers[0].lines[0].get_xdata().tolist() == [0.5, 1.25]


def test_regions_have_their_corners():
    axes = drawn(plot_regions(mu=("1/2", 1)))
    x, y, names = labels(axes)
    assert (x, y) == (r"$\lambda_1$", r"$\lambda_2$")
    assert [name.split(":")[0] for name in names] == [
        "central",
        "no regret",
        "patient",
        "no regret, factor 2",
    ]
    assert axes.get_title() == r"$\mu = (1, 1/2)$"
    corners = [list(zip(*map(list, line.get_data()), strict=True)) for line in axes.lines]
    # max <= 1 and lambda_1 + lambda_2 <= 3/2
    assert corners[0] == [(1, 0), (1, 1 / 2), (1 / 2, 1), (0, 1)]
    # lambda_1 + lambda_2 <= 1 cuts the square at its corners
    assert corners[1] == [(1, 0), (1, 0), (0, 1), (0, 1)]
    share = 1 - 1 / math.e
    assert corners[2][1] == pytest.approx((share, share / 2))
    assert corners[3][2] == pytest.approx((1 / 4, 1 / 2))


@pytest.mark.parametrize("mu", [(1, 1), (1, "1/4"), ("9/10", 0)])
def test_regions_agree_with_the_criteria(mu):
    axes = plot_regions(mu)
    patches = [patch.get_path() for patch in axes.patches]
    for a, b in [(k, j) for k in range(1, 14) for j in range(1, 14)]:
        lam = [Fraction(a, 14) + Fraction(1, 999), Fraction(b, 14) + Fraction(1, 777)]
        point = tuple(map(float, lam))
        inside = [path.contains_point(point) for path in patches]
        assert inside[0] == bool(feasibility(lam, mu))
        assert inside[1] == bool(slack(lam, mu, refined=True))
        assert inside[3] == bool(slack(lam, mu))


def test_regions_need_two_servers():
    with pytest.raises(ModelError, match="two servers, got 3"):
        plot_regions(MU)
    with pytest.raises(DomainError, match="needs 0 <= mu <= 1"):
        plot_regions((1, 2))


def test_given_axes_are_used(run):
    _, given = pyplot.subplots(ncols=2)
    assert plot_ages(run, given[0]) is given[0]
    assert plot_regions(axes=given[1]) is given[1]
    assert len(pyplot.get_fignums()) == 1
