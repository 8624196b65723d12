"""Figures of the game with dedicated streams: what is drawn, and where."""

import math

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from qtheory.errors import DomainError
from qtheory.figures.dedicated_streams import (
    plot_distance,
    plot_fluid,
    plot_gap,
    plot_joining,
    plot_shortest,
    plot_welfare,
)
from qtheory.model.simulation.result import Estimate
from qtheory.systems.dedicated_streams.fluid_path import trajectory
from qtheory.systems.dedicated_streams.gaps import GapRow, gap_table
from qtheory.systems.dedicated_streams.joining_game import joining_game
from qtheory.systems.dedicated_streams.occupancy import occupancy_law

AT = {"lam": "2/5", "lam_s": "3/10", "mu": 1, "R": "13/8", "C": 1}
GAME = joining_game(*AT.values())


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    certified = gap_table(GAME, [1, 2, 3, 4], certified=3)
    simulated = [Estimate(name, mean, mean / 20, mean / 10, 0.95) for name, mean in PARTS]
    return (*certified, GapRow(8, "simulated", *simulated))


PARTS = (("M", 0.0278), ("eps", 0.00521), ("distance", 0.0104))


def values(axes, part):
    found = next(x for x in axes.get_lines() if x.get_label().startswith(part))
    return np.asarray(found.get_ydata(), float)


def has_labels(*all_axes):
    return all(axes.get_xlabel() and axes.get_ylabel() for axes in all_axes)


@pytest.mark.parametrize(
    ("variable", "between", "way"),
    [("mu", ("4/5", 2), 1), ("lam_s", (0, "1/2"), -1), ("R", (1, 5), 1)],
)
def test_joining_probabilities(variable, between, way):
    axes = plot_joining(variable, between, AT, points=20)
    q_e, q_opt = values(axes, "$q_e$"), values(axes, "$q_{")
    assert (q_opt <= q_e).all() and (0 <= q_opt).all() and (q_e <= 1).all()
    assert (way * np.diff(q_e) >= 0).all() and (way * np.diff(q_opt) >= 0).all()
    assert has_labels(axes) and "C = 1" in axes.get_title()


def test_closed_forms_of_the_joining_probabilities():
    axes = plot_joining("R", (1, 3), AT, points=16)
    # at R = 13/8: q_e = 1/2, q_opt = 5/2 - sqrt(5)
    assert values(axes, "$q_e$")[5] == pytest.approx(1 / 2)
    assert values(axes, "$q_{")[5] == pytest.approx(5 / 2 - math.sqrt(5))


@pytest.mark.parametrize("variable", ["mu", "lam_s", "R"])
def test_welfare_grows_and_is_best_at_the_optimum(variable):
    between = {"mu": ("4/5", 2), "lam_s": (0, "1/2"), "R": (1, 5)}[variable]
    axes = plot_welfare(variable, between, AT, points=20)
    equilibrium, best = values(axes, "$S(q_e)$"), values(axes, "$S(q_{")
    assert (equilibrium <= best + 1e-12).all() and (np.diff(best) > 0).all()
    assert has_labels(axes)


def test_gaps_in_curves_are_outside_the_domain():
    axes = plot_welfare("mu", ("1/2", "3/2"), AT, points=10)
    # lam + lam_s = 7/10 < mu
    missing = np.isnan(values(axes, "$S(q_e)$"))
    assert missing.tolist() == [True] * 3 + [False] * 8
    with pytest.raises(DomainError, match="unknown parameter q"):
        plot_joining("q", (0, 1), AT)
    with pytest.raises(DomainError, match="no value given for mu, C"):
        plot_joining("R", (1, 2), {"lam": 1, "lam_s": 1})


def test_kinds_of_gaps_are_told_apart(rows):
    axes = plot_gap(rows)
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["certified", "estimated", "simulated"] and axes.get_yscale() == "log"
    drawn = [part[0].get_xydata() for part in axes.containers]
    # eps_1 = 3/16: M/M/1 with load 1/2
    assert drawn[0][0].tolist() == [1.0, 3 / 16]
    assert [len(points) for points in drawn] == [3, 1, 1]
    markers = {part[0].get_marker() for part in axes.containers}
    assert len(markers) == 3 and has_labels(axes)
    bar = axes.containers[2][2][0].get_segments()[0]
    assert bar[:, 1].tolist() == pytest.approx([0.00521 * 0.9, 0.00521 * 1.1])


def test_decay_of_the_shortest_queue_with_its_fit(rows):
    axes = plot_shortest(rows)
    fitted = axes.get_lines()[-1]
    assert "fitted" in axes.get_legend().get_texts()[0].get_text()
    assert fitted.get_ydata()[0] == pytest.approx(1, rel=0.05)  # E_1[M] = 1
    assert fitted.get_ydata()[-1] == pytest.approx(0.0278, rel=0.05)
    alone = plot_shortest(rows[:2])
    assert len(alone.get_legend().get_texts()) == 1 and has_labels(axes, alone)


def test_distance_to_the_limit_with_total_variation(rows):
    laws = [occupancy_law(N, "2/5", "3/10", 1, "1/2") for N in (1, 2, 3)]
    axes = plot_distance(rows, laws)
    varied = values(axes, "total variation")
    wasserstein = [row.numbers[2] for row in rows[:3]]
    # total variation is at most the Wasserstein distance
    assert (varied < wasserstein).all() and (np.diff(varied) < 0).all()
    assert axes.get_lines()[0].get_ydata().tolist() == pytest.approx(wasserstein)
    assert has_labels(axes)


def test_rows_without_a_gap_or_without_rows():
    none = gap_table(joining_game("1/2", 0, 1, "3/2", 1), [1, 2])
    axes = plot_gap(none)  # without smart customers nobody gains
    assert axes.get_yscale() == "linear"
    with pytest.raises(DomainError, match="at least one row"):
        plot_gap([])


def test_an_unknown_width_is_not_drawn(rows):
    unseen = Estimate("eps", 0.001, math.nan, math.nan, 0.95)
    axes = plot_gap([GapRow(90, "simulated", unseen, unseen, unseen)])
    assert np.isfinite(axes.containers[0][2][0].get_segments()[0]).all()


def test_a_fluid_trajectory_and_its_lyapunov_function():
    path = trajectory([1, 1], np.linspace(0, 15, 60), "2/5", "3/10", 1)
    left, right = plot_fluid(path, levels=3)
    assert values(left, "$s_{1}$") == pytest.approx(path.tails[:, 0])
    assert [text.get_text() for text in left.get_legend().get_texts()] == [
        "$s_{1}$",
        "$s_{2}$",
        "$s_{3}$",
    ]
    decay, V = values(right, "proved decay"), values(right, "$V$")
    # V falls at least as fast as proved once s_1 < 1
    assert (V[-len(decay) :] <= decay * (1 + 1e-9)).all()
    start = float(path.times[-len(decay)])
    assert start >= path.sliding_ends > 0 and has_labels(left, right)
    rate = (1 - math.sqrt(0.4)) ** 2
    assert decay[-1] / decay[0] == pytest.approx(math.exp(-rate * (15 - start)))
    # while a level stays full nothing is proved of V
    early = trajectory([1, 1], np.linspace(0, 0.5, 5), "2/5", "3/10", 1)
    assert len(plot_fluid(early)[1].get_lines()) == 1
