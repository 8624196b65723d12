"""Figures of the game with dedicated streams: joining, welfare, the gap of N queues, the fluid.

Rates are per unit time; rewards per service and costs per unit time are in one money. Closed forms
are exact up to drawing; values for N queues are marked as certified, estimated or simulated. Every
function draws into the axes it is given, or into new ones, and returns the axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qtheory.arithmetic import exact, values_by_name
from qtheory.balls import Enclosure
from qtheory.errors import DomainError
from qtheory.model.simulation.result import Estimate
from qtheory.show.latex import latex, symbol_latex
from qtheory.show.plots import COLOURS, STYLES, new_axes, tidy
from qtheory.systems.dedicated_streams.joining_game import (
    JoiningGame,
    equilibrium,
    joining_game,
    optimum,
    price_of_anarchy,
)
from qtheory.text import symbol_name

if TYPE_CHECKING:
    from qtheory.systems.dedicated_streams.fluid_path import Trajectory
    from qtheory.systems.dedicated_streams.gaps import GapRow, Value
    from qtheory.systems.dedicated_streams.occupancy import OccupancyLaw

BLUE, RED, GREEN, PINK, *_ = COLOURS

KINDS = {
    "certified": {"color": BLUE, "marker": "o"},
    "estimated": {"color": RED, "marker": "s", "markerfacecolor": "white"},
    "simulated": {"color": GREEN, "marker": "D"},
}

NAMES = ("lambda", "lambda_s", "mu", "R", "C")

UNITS = {
    "lambda": "rate of a dedicated stream, per unit time",
    "lambda_s": "rate of smart customers per queue and unit time",
    "mu": "service rate of a queue, per unit time",
    "R": "reward per service",
    "C": "waiting cost per unit time",
}


def plot_joining(
    variable: str,
    between: tuple[Any, Any],
    at: Mapping[str, Any],
    points: int = 120,
    axes: Any = None,
) -> Any:
    """The joining probabilities q_e in equilibrium and q_opt of the optimum against a parameter.

    `at` gives the other parameters of lam, lam_s, mu, R, C. Exact at the points; gaps are outside
    the domain. Where several q are equilibria the greatest is drawn.

    Raises `DomainError` for an unknown variable or a missing parameter.
    """
    axes = _draw(
        {
            "$q_e$: equilibrium": lambda game: equilibrium(game).upper,
            r"$q_{\mathrm{opt}}$: optimum": lambda game: optimum(game).replies[-1].upper,
        },
        *(variable, between, at, points, axes),
    )
    axes.set_ylabel("joining probability")
    axes.set_ylim(-0.03, 1.03)
    return axes


def plot_welfare(
    variable: str,
    between: tuple[Any, Any],
    at: Mapping[str, Any],
    points: int = 120,
    axes: Any = None,
) -> Any:
    """The social benefits S(q_e) in equilibrium and S(q_opt) of the optimum against a parameter.

    `at` and the errors are those of `plot_joining`.
    """
    axes = _draw(
        {
            "$S(q_e)$: equilibrium": lambda game: price_of_anarchy(game).worst,
            r"$S(q_{\mathrm{opt}})$: optimum": lambda game: optimum(game).value,
        },
        *(variable, between, at, points, axes),
    )
    axes.set_ylabel("social benefit per queue and unit time")
    return axes


def _draw(
    curves: Mapping[str, Callable[[JoiningGame], Any]],
    variable: str,
    between: tuple[Any, Any],
    at: Mapping[str, Any],
    points: int,
    axes: Any,
) -> Any:
    own = symbol_name(variable)
    if own not in UNITS:
        raise DomainError(f"unknown parameter {variable}; known: lam, lam_s, mu, R, C")
    fixed = {name: value for name, value in values_by_name(at).items() if name != own}
    missing = [name for name in UNITS if name not in fixed and name != own]
    if missing:
        raise DomainError(f"no value given for {', '.join(missing)}")
    low, high = map(exact, between)
    values = [low + (high - low) * Fraction(k, points) for k in range(points + 1)]
    games = [_game({**fixed, own: value}) for value in values]
    axes = new_axes(axes)
    for (label, curve), colour, style in zip(curves.items(), COLOURS, STYLES, strict=False):
        ys = [math.nan if game is None else float(curve(game)) for game in games]
        axes.plot(list(map(float, values)), ys, color=colour, linestyle=style, label=label)
    axes.set_xlabel(f"${symbol_latex(own)}$: {UNITS[own]}")
    shown = (f"{symbol_latex(name)} = {latex(fixed[name])}" for name in UNITS if name != own)
    axes.set_title("$" + r",\ ".join(shown) + "$")
    axes.legend(frameon=False)
    tidy(axes)
    return axes


def _game(values: Mapping[str, Any]) -> JoiningGame | None:
    """The game, None outside its domain."""
    try:
        return joining_game(*(values[name] for name in NAMES))
    except DomainError:
        return None


def plot_gap(rows: Sequence[GapRow], axes: Any = None) -> Any:
    """The epsilon-Nash gap eps_N against N, of rows of `gap_table`.

    Certified, estimated and simulated values are told apart; bars are proved intervals, or those
    of the simulation.

    Raises `DomainError` without rows.
    """
    axes = _points(rows, lambda row: row.epsilon, axes)
    axes.set_ylabel(r"$\varepsilon_N$: gain by deviating, money per customer")
    axes.legend(frameon=False)
    return axes


def plot_shortest(rows: Sequence[GapRow], axes: Any = None) -> Any:
    """E_N[M], the mean length of the shortest queue, against N, with its fitted decay.

    The fit is that of `fit_decay`, empirical; it needs four rows.

    Raises `DomainError` without rows.
    """
    from qtheory.systems.dedicated_streams.gaps import fit_decay

    axes = _points(rows, lambda row: row.shortest, axes)
    axes.set_ylabel("$E_N[M]$: mean length of the shortest queue")
    queues, means = [row.N for row in rows], [row.numbers[0] for row in rows]
    if len(rows) >= 4 and min(means) > 0:
        constant, rate, power, _ = fit_decay(queues, means)
        grid = [min(queues) + (max(queues) - min(queues)) * i / 100 for i in range(101)]
        fitted = [math.exp(constant - rate * n) * n**-power for n in grid]
        label = rf"$\propto e^{{-{rate:.2g} N}} N^{{{-power:.2g}}}$, fitted"
        axes.plot(grid, fitted, color="0.5", linewidth=1, zorder=0, label=label)
    axes.legend(frameon=False)
    return axes


def plot_distance(
    rows: Sequence[GapRow], laws: Iterable[OccupancyLaw] = (), axes: Any = None
) -> Any:
    """The distance of the law of one of N queues to the limit pi, against N.

    The rows give the Wasserstein distance lam_s E_N[M]/(mu - lam q), the laws (for the same rates)
    the total variation, estimated.

    Raises `DomainError` without rows.
    """
    from qtheory.systems.dedicated_streams.gaps import total_variation

    axes = _points(rows, lambda row: row.distance, axes, "Wasserstein, ")
    varied = [(law.N, total_variation(law)) for law in laws]
    if varied:
        look = {"color": PINK, "marker": "^", "linestyle": ":", "markerfacecolor": "white"}
        axes.plot(*zip(*varied, strict=True), label="total variation, estimated", **look)
    axes.set_ylabel(r"distance of a queue's law to $\pi$")
    axes.legend(frameon=False)
    return axes


def _points(
    rows: Sequence[GapRow], value: Callable[[GapRow], Value], axes: Any, before: str = ""
) -> Any:
    """The values of the rows by kind, on a logarithmic scale where all are positive."""
    if not rows:
        raise DomainError("a figure needs at least one row")
    axes = new_axes(axes)
    for kind, look in KINDS.items():
        chosen = [row for row in rows if row.kind == kind]
        if chosen:
            middles, errors = zip(*(_interval(value(row)) for row in chosen), strict=True)
            axes.errorbar(
                [row.N for row in chosen],
                middles,
                yerr=errors,
                label=f"{before}{kind}",
                linestyle="none",
                markersize=5,
                capsize=2.5,
                **look,
            )
    if all(_interval(value(row))[0] > 0 for row in rows):
        axes.set_yscale("log")
    axes.set_xlabel("$N$: number of queues")
    axes.xaxis.get_major_locator().set_params(integer=True)
    tidy(axes)
    return axes


def _interval(value: Value) -> tuple[float, float]:
    """The middle and the half width; an unknown width is not drawn."""
    if isinstance(value, Estimate):
        return value.mean, 0.0 if math.isnan(value.half_width) else value.half_width
    if isinstance(value, Enclosure):
        return float(value), float(value.upper - value.lower) / 2
    return value, 0.0


def plot_fluid(path: Trajectory, levels: int = 4, axes: Any = None) -> Any:
    """A fluid trajectory: its first tails, and its Lyapunov function, in a pair of axes.

    s_k is the fraction of queues with at least k customers, thin lines its limit. V = sum of
    (mu/lam)^(k/2) |s_k - s_k(oo)| falls at least at the rate (sqrt(mu) - sqrt(lam))^2 once s_1 < 1,
    which the dashed line shows. Time is in the unit of the rates; integrated numerically.
    """
    from qtheory.systems.dedicated_streams.fluid_path import fixed_point

    pair = new_axes(axes, columns=2)
    left, right = pair
    dedicated, smart, service = path.rates
    shown = min(levels, path.tails.shape[1])
    limits = fixed_point(dedicated, smart, service, shown)
    for k in range(shown):
        colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
        look = {"color": colour, "linestyle": style}
        left.plot(path.times, path.tails[:, k], label=f"$s_{{{k + 1}}}$", **look)
        left.axhline(limits[k], color=colour, linewidth=0.5)
    left.set_ylabel("fraction of queues with at least $k$ customers")
    left.set_ylim(0, 1.03)
    left.legend(frameon=False, ncols=2)
    values = path.lyapunov
    right.semilogy(path.times, values, color=BLUE, label="$V$")
    start = next((i for i, t in enumerate(path.times) if t >= path.sliding_ends), None)
    if start is not None:
        rate = (math.sqrt(service) - math.sqrt(dedicated)) ** 2
        times = path.times[start:]
        proved = values[start] * math.e ** (-rate * (times - times[0]))
        right.semilogy(times, proved, color=RED, linestyle="--", label="proved decay")
    right.set_ylabel("Lyapunov function $V$")
    right.legend(frameon=False)
    for axis in pair:
        if 0 < path.sliding_ends < path.times[-1]:
            axis.axvline(path.sliding_ends, color="0.6", linewidth=0.8, linestyle=":")
        axis.set_xlabel("time")
        axis.set_title(rf"$\lambda = {dedicated:g},\ \lambda_s = {smart:g},\ \mu = {service:g}$")
        tidy(axis)
    return pair
