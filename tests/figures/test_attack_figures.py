"""Figures of the shorter queue under attack: what is drawn, and where."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from qtheory.errors import DomainError, UnstableError
from qtheory.figures.shorter_queue import (
    plot_attack_regimes,
    plot_cost_bounds,
    plot_defence,
    plot_exact_cost,
    plot_exact_regimes,
    plot_regimes_by_rate,
    plot_risk,
)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def line(axes, label):
    """The values of the line with this label."""
    found = next(x for x in axes.get_lines() if x.get_label() == label)
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def named(axes):
    return {text.get_text().split("\n")[0] for text in axes.texts}


def has_labels(*all_axes):
    return all(axes.get_xlabel() and axes.get_ylabel() and axes.get_title() for axes in all_axes)


def test_regime_boundaries_meet_at_their_corner():
    axes = plot_attack_regimes(lam=1, mu=1)
    vertical, horizontal, curve = axes.get_lines()
    # G(1) = 1/2, Jbar'(1) = 2/3, Jbar'(0) = 3/8 at lambda = mu = 1
    assert vertical.get_xdata()[0] == pytest.approx(1 / 2)
    assert horizontal.get_ydata()[0] == pytest.approx(2 / 3)
    assert (curve.get_xdata()[0], curve.get_ydata()[0]) == pytest.approx((0, 3 / 8))
    assert (curve.get_xdata()[-1], curve.get_ydata()[-1]) == pytest.approx((1 / 2, 2 / 3))
    assert named(axes) == {"I", "II", "III", "IV"} and has_labels(axes)
    # every name stands in its region: no attack on the right, mixed below the curve
    places = {text.get_text().split("\n")[0]: text.get_position() for text in axes.texts}
    assert places["I"][0] > 1 / 2 and places["II"][1] > 2 / 3
    assert places["III"][1] > 3 / 8 > places["IV"][1]


def test_a_point_is_marked_and_on_the_map():
    axes = plot_attack_regimes(1, point=("1/5", 3))
    assert axes.get_lines()[-1].get_xydata().tolist() == [[0.2, 3.0]]
    assert axes.get_ylim()[1] > 3 and axes.get_xlim()[1] == pytest.approx(0.75)
    with pytest.raises(DomainError, match="needs ca >= 0"):
        plot_attack_regimes(1, point=(-1, 1))


def test_unstable_rates_have_no_figure():
    for draw in (plot_attack_regimes, plot_exact_regimes):
        with pytest.raises(UnstableError, match="unstable"):
            draw(lam=2, mu=1)


def test_axes_that_are_given_are_used():
    import matplotlib.pyplot as plt

    _, (first, second) = plt.subplots(1, 2)
    assert plot_attack_regimes(1, axes=second) is second and not first.get_lines()
    pair = plt.subplots(1, 2)[1]
    assert plot_exact_cost("1/2", points=2, axes=pair) is pair


def test_the_exact_map_against_the_bound():
    axes = plot_exact_regimes("1/2")
    xs, ys = line(axes, "exact cost $J$")
    # J(0) = 0.550501, J(1) = 2/3, J'(1) = 8/45
    assert (xs[0], xs[-1]) == pytest.approx((0, 2 / 3 - 0.550501032069))
    assert ys[-1] == pytest.approx(8 / 45, rel=1e-6)
    xs, ys = line(axes, r"bound $\bar{J}$")
    assert (xs[-1], ys[-1]) == pytest.approx((1 / 9, 2 / 15))
    assert has_labels(axes)
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["exact cost $J$", r"bound $\bar{J}$", "another regime"]


def test_regimes_over_the_arrival_rate():
    axes = plot_regimes_by_rate()
    assert named(axes) == {"I", "IV"} and len(axes.collections) == 2
    axes = plot_regimes_by_rate(ratio=2, per_job=True)
    assert len(axes.collections) == 4 and has_labels(axes)
    assert axes.get_title() == r"$c_a = c \lambda,\ c_b = 2 c \lambda,\ \mu = 1$"
    assert axes.get_ylabel().endswith("per job")
    # c_a = c lam = G(1) at c = lam/((2 - lam)(1 + lam)), 1/2 at lam = 1
    boundary = axes.collections[1].get_paths()[0].vertices
    assert np.allclose(
        boundary[:, 1], boundary[:, 0] / ((2 - boundary[:, 0]) * (1 + boundary[:, 0])), atol=2e-3
    )
    for wrong in ({"mu": 0}, {"ratio": -1}, {"most": 0}):
        with pytest.raises(DomainError, match=f"needs {next(iter(wrong))} > 0"):
            plot_regimes_by_rate(**wrong)


def test_the_risk_is_at_most_that_of_bernoulli_routing():
    axes = plot_risk("1/5", "2/5", points=31)
    xs, bernoulli = line(axes, "Bernoulli routing")
    assert bernoulli == pytest.approx(2 * xs / (2 - xs))
    risk = np.concatenate([x.get_ydata() for x in axes.get_lines()[1:]])
    assert (risk <= bernoulli + 1e-12).all()
    # at lam = 1 (ca = 1/5, cb = 2/5): regime IV
    assert float(np.interp(1.0, xs, risk)) == pytest.approx(5427 / 2890, abs=2e-3)
    assert named(axes) == {"I", "II", "III", "IV"} and has_labels(axes)
    with pytest.raises(UnstableError):
        plot_risk("1/5", "2/5", between=(1, 2), points=2)
    with pytest.raises(DomainError, match="needs ca >= 0"):
        plot_risk(-1, 1, points=2)
    with pytest.raises(DomainError, match="low < high"):
        plot_risk(1, 1, between=(1, 1))


def test_a_cost_of_zero_has_a_risk():
    axes = plot_risk(0, "2/5", points=4)
    assert named(axes) <= {""} and has_labels(axes)


def test_the_defence_grows_with_the_arrival_rate():
    axes = plot_defence("1/5", "2/5", per_job=True, points=31)
    _, b = line(axes, "$b$: defended fraction")
    assert (np.diff(b) >= 0).all() and b[0] == 0 < b[-1] < 1
    pieces = [x.get_ydata() for x in axes.get_lines()[1:]]
    # no attack, then surely, then with falling probability
    assert len(pieces) == 2 and set(pieces[0]) == {0.0}
    assert pieces[1][0] == 1 and (np.diff(pieces[1]) <= 0).all()
    assert axes.get_title() == r"$c_a = \frac{\lambda}{5},\ c_b = \frac{2 \lambda}{5},\ \mu = 1$"


def test_bounds_enclose_the_cost():
    axes = plot_cost_bounds({"lam": 1, "mu": 1}, points=3)
    _, exact = line(axes, "$J$, exact")
    # J(0) = 1.426320751167 and J(1) = 2
    assert (exact[0], exact[-1]) == pytest.approx((1.426320751167, 2), rel=1e-4)
    _, bound = line(axes, r"$\bar{J}$")
    lines = [np.asarray(x.get_ydata(), float) for x in axes.get_lines()]
    upper_0, lower_0, upper_1, lower_1 = lines[1:5]
    slack = 1e-4
    assert (bound + slack >= upper_0).all() and (upper_0 + slack >= upper_1).all()
    assert (upper_1 + slack >= exact).all() and (exact + slack >= lower_1).all()
    assert (lower_1 + slack >= lower_0).all()
    # published: [1.37500, 1.49988] and [1.42106, 1.43747] at p = 0
    assert (lower_0[0], lower_1[0]) == pytest.approx((1.375, 27 / 19))
    _, pooled = line(axes, "M/M/2")
    assert pooled == pytest.approx(4 / 3) and has_labels(axes)


def test_bounds_relative_to_bernoulli_routing():
    axes = plot_cost_bounds({"p": 0, "mu": 1}, "lam", ("1/2", 1), layers=(0,), points=1)
    _, exact = line(axes, "$J$, exact")
    assert exact == pytest.approx([0.550501032069 * 1.5 / 1, 1.426320751167 / 2], rel=1e-4)
    assert "Bernoulli" in axes.get_ylabel()
    with pytest.raises(DomainError, match="drawn against p or lam, got mu"):
        plot_cost_bounds({"lam": 1, "p": 0}, "mu")
    with pytest.raises(UnstableError):
        plot_cost_bounds({"lam": 2, "mu": 1})


def test_the_exact_cost_and_its_slope():
    left, right = plot_exact_cost(1, points=2)
    assert line(left, "$J$, exact")[1] == pytest.approx([1.426320751, 1.596560789, 2], rel=1e-6)
    # J'(1) = 4/3
    assert line(right, "$J'$, exact")[1][1:] == pytest.approx([0.4813896096, 4 / 3], rel=1e-5)
    assert line(right, r"$\bar{J}\,'$, closed form")[1][-1] == pytest.approx(2 / 3)
    assert has_labels(left, right)
