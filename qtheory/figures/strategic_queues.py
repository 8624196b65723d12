"""Figures of queues that learn: growth by the capacity, ages, regret, drift, and what is known.

What is simulated is drawn with its 95 % intervals. Every function draws into the axes it is given,
or into new ones, and returns the axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from qtheory.arithmetic import exact
from qtheory.errors import DomainError, ModelError
from qtheory.show.plots import COLOURS, MARKERS, STYLES, new_axes, tidy

if TYPE_CHECKING:
    import numpy as np

    from qtheory.learning import DriftEstimate, Learner, LearningRun, Scheduler

Table = Mapping[str, Sequence[tuple[float, float, float]]]
"""For each learner: the factor, the growth of all queues per step, and its half-width."""

PATIENT = math.e / (math.e - 1)


def growth_by_factor(
    learners: Mapping[str, Learner | Scheduler | Sequence[Learner]],
    factors: Sequence[Any],
    lam: Sequence[Any] = (1, 1, 1),
    mu: Sequence[Any] = (1, "1/3", "1/3"),
    *,
    steps: int = 30_000,
    replications: int = 64,
    seed: int = 0,
) -> dict[str, list[tuple[float, float, float]]]:
    """The growth of the queues by simulation: (c, growth per step, half-width) for each learner.

    At the factor c the arrival rates are `lam` scaled so that min over k of M_k/L_k = c, that is,
    the servers could work off c times the arrivals.

    >>> from qtheory.learning import AgeGreedy
    >>> table = growth_by_factor({"greedy": AgeGreedy()}, [2], steps=400, replications=32)
    >>> abs(table["greedy"][0][1]) < 0.01
    True

    Raises `DomainError` for a factor that is not positive or needs rates above 1, and what
    `qtheory.learning.simulate` raises.
    """
    from qtheory.learning import simulate
    from qtheory.learning.feasibility import feasibility

    base = feasibility(lam, mu)
    table: dict[str, list[tuple[float, float, float]]] = {name: [] for name in learners}
    for factor in map(exact, factors):
        if not factor > 0:
            raise DomainError(f"needs a factor c > 0, got {factor}")
        rates = [rate * base.scale / factor for rate in base.lam]
        for name, learner in learners.items():
            run = simulate(rates, base.mu, learner, steps, replications, seed)
            table[name].append((float(factor), run.growth.mean, run.growth.half_width))
    return table


def plot_growth(table: Table, queues: int, axes: Any = None) -> Any:
    """The growth of all queues against the capacity factor, for each learner, with intervals.

    `table` is that of `growth_by_factor`, or one with known numbers. The lines mark 2 - 1/n, above
    which n queues without regret are stable, and e/(e - 1), above which every equilibrium of
    patient queues is (Gaitonde, Tardos 2020, 2021).
    """
    axes = new_axes(axes)
    styles = zip(cycle(COLOURS), cycle(STYLES), cycle(MARKERS), strict=False)
    axes.axhline(0, color="0.7", linewidth=0.8)
    for (name, rows), (colour, style, marker) in zip(table.items(), styles, strict=False):
        factors, growths, widths = zip(*sorted(rows), strict=True)
        axes.errorbar(
            factors,
            growths,
            # a width that is not known is not drawn
            yerr=[0 if math.isnan(width) else width for width in widths],
            color=colour,
            linestyle=style,
            marker=marker,
            markersize=4,
            linewidth=1.2,
            capsize=2.5,
            label=name,
        )
    places = [(2 - 1 / queues, f"$2 - 1/n = {2 - 1 / queues:.3g}$"), (PATIENT, "$e/(e - 1)$")]
    # the labels stand on the outer sides of the two lines
    for (place, text), side, shift in zip(sorted(places), ("right", "left"), (-3, 3), strict=True):
        axes.axvline(place, color="0.35", linestyle=(0, (1, 1.5)), linewidth=1)
        axes.annotate(
            text,
            (place, 1),
            xycoords=("data", "axes fraction"),
            xytext=(shift, -2),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=8,
        )
    axes.set_xlabel("capacity factor $c = \\min_k M_k / L_k$")
    axes.set_ylabel("growth of all queues per step (estimated)")
    # without a frame, yet not crossed by the two lines
    axes.legend(framealpha=1, edgecolor="none", fontsize=8, loc="center right")
    tidy(axes)
    return axes


def plot_ages(run: LearningRun, axes: Any = None) -> Any:
    """The mean age of the oldest packet of each queue over time."""
    axes = _bands(new_axes(axes), run.times, run.ages)
    axes.set_xlabel("step $t$")
    axes.set_ylabel("mean age of the oldest packet (estimated)")
    return axes


def plot_sizes(run: LearningRun, axes: Any = None) -> Any:
    """The mean number of packets of each queue over time."""
    axes = _bands(new_axes(axes), run.times, run.sizes)
    axes.set_xlabel("step $t$")
    axes.set_ylabel("mean number of packets (estimated)")
    return axes


def plot_regret(run: LearningRun, axes: Any = None) -> Any:
    """The mean regret of each queue per step, window by window, at the ends of the windows.

    Raises `ModelError` where the regret was not recorded.
    """
    import numpy as np

    if run.regret is None or run.window is None:
        raise ModelError("no regret was recorded: simulate with a window")
    axes = new_axes(axes)
    axes.axhline(0, color="0.7", linewidth=0.8)
    ends = run.window * np.arange(1, run.regret.shape[1] + 1)
    _bands(axes, ends, run.regret / run.window)
    axes.set_xlabel("step $t$")
    axes.set_ylabel(f"regret per step in {run.window} steps (estimated)")
    return axes


def _bands(axes: Any, times: np.ndarray, values: np.ndarray) -> Any:
    """Means over the replications of values (R, times, n), each with its 95 % interval."""
    from scipy.special import stdtrit

    replications = len(values)
    means = values.mean(axis=0)
    widths = 0 * means
    if replications > 1:
        errors = values.std(axis=0, ddof=1) / math.sqrt(replications)
        widths = stdtrit(replications - 1, 0.975) * errors
    styles = zip(cycle(COLOURS), cycle(STYLES), strict=False)
    for i, (colour, style) in zip(range(values.shape[2]), styles, strict=False):
        own, width = means[:, i], widths[:, i]
        axes.fill_between(times, own - width, own + width, color=colour, alpha=0.2, linewidth=0)
        axes.plot(times, own, color=colour, linestyle=style, label=f"queue {i + 1}")
    axes.legend(frameon=False, fontsize=8)
    tidy(axes)
    return axes


def plot_drift(estimates: DriftEstimate | Mapping[str, DriftEstimate], axes: Any = None) -> Any:
    """The mean change of the potential over a window, by the level from which it starts.

    A horizontal bar is a bin of levels and a vertical one the interval of its mean; several
    estimates are named by their keys. Bins without a change are left out.
    """
    axes = new_axes(axes)
    named = estimates if isinstance(estimates, Mapping) else {"": estimates}
    axes.axhline(0, color="0.7", linewidth=0.8)
    styles = zip(cycle(COLOURS), cycle(MARKERS), strict=False)
    for (name, estimate), (colour, marker) in zip(named.items(), styles, strict=False):
        seen = [own for own in estimate if own.count]
        # a last bin without an end is drawn as wide as the one before
        ends = [own.high if math.isfinite(own.high) else 1.5 * own.low for own in seen]
        middles = [(own.low + end) / 2 for own, end in zip(seen, ends, strict=True)]
        halves = [(end - own.low) / 2 for own, end in zip(seen, ends, strict=True)]
        axes.errorbar(
            middles,
            [own.drift for own in seen],
            xerr=halves,
            yerr=[0 if math.isnan(own.half_width) else own.half_width for own in seen],
            color=colour,
            linestyle="none",
            marker=marker,
            markersize=4,
            capsize=2.5,
            linewidth=1.2,
            label=name,
        )
    axes.set_xlabel(r"level $\Phi = (\sum_i \lambda_i T_i^2)^{1/2}$ at the start of a window")
    axes.set_ylabel(r"mean change of $\Phi$ (estimated)")
    if any(named):
        axes.legend(frameon=False, fontsize=8)
    tidy(axes)
    return axes


def plot_regions(mu: Sequence[Any] = (1, "1/2"), axes: Any = None) -> Any:
    r"""For two queues and servers of rates `mu`: where the queues are known to be stable.

    With L_1 = max(lambda_1, lambda_2), L_2 = lambda_1 + lambda_2 and M_1, M_2 likewise: centrally
    L_k < M_k; without regret and with the oldest packet first (2 - 1/k) L_k < M_k; every
    equilibrium of patient queues L_k < (1 - 1/e) M_k; without regret, by the factor 2,
    2 L_k < M_k. Boundaries do not belong to the regions.

    Raises `ModelError` unless there are two servers, and `DomainError` for rates out of range.
    """
    from qtheory.learning.rates import read_rates

    services = sorted(read_rates((1, 1), mu)[1], reverse=True)
    if len(services) != 2:
        raise ModelError(f"the regions are drawn for two servers, got {len(services)}")
    most, total = float(services[0]), float(sum(services))
    axes = new_axes(axes)
    for label, (one, two), colour, style in (
        ("central: $L_k < M_k$", (1.0, 1.0), COLOURS[5], "-"),
        ("no regret: $(2 - 1/k)\\, L_k < M_k$", (1.0, 1.5), COLOURS[0], "--"),
        ("patient: $L_k < (1 - 1/e)\\, M_k$", (PATIENT, PATIENT), COLOURS[1], "-."),
        ("no regret, factor 2: $2 L_k < M_k$", (2.0, 2.0), COLOURS[2], ":"),
    ):
        corners = _corners(most / one, total / two)
        axes.fill(*zip(*corners, strict=True), facecolor=colour, alpha=0.16, linewidth=0)
        xs, ys = zip(*corners[1:], strict=True)
        axes.plot(xs, ys, color=colour, linestyle=style, linewidth=1.6, label=label)
    axes.set_xlim(0, 1.02 * most)
    axes.set_ylim(0, 1.02 * most)
    axes.set_aspect("equal")
    axes.set_xlabel(r"$\lambda_1$")
    axes.set_ylabel(r"$\lambda_2$")
    axes.set_title(rf"$\mu = ({', '.join(str(rate) for rate in services)})$", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    tidy(axes)
    return axes


def _corners(most: float, total: float) -> list[tuple[float, float]]:
    """The corners of {x, y >= 0, max(x, y) <= most, x + y <= total}, from the origin."""
    most = min(most, total)
    low = min(most, total - most)
    return [(0, 0), (most, 0), (most, low), (low, most), (0, most)]
