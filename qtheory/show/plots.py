"""Figures: state graphs, formulas against a parameter, stationary laws.

Every function draws into the axes it is given, or into new ones, and returns the axes. Colours
are those of Okabe and Ito, which colour-blind readers can tell apart; lines also differ in style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.errors import DomainError, ModelError, QTheoryError
from qtheory.show.latex import latex, symbol_latex

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def new_axes(axes: Any, columns: int = 1) -> Any:
    """The axes, or new ones; several side by side for more than one column."""
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise QTheoryError("figures need matplotlib: pip install 'qtheory[plots]'") from None
    size = (5.6, 3.8) if columns == 1 else (4.4 * columns, 3.6)
    return plt.subplots(1, columns, figsize=size, layout="constrained")[1]


def plot_graph(graph: Any, axes: Any = None, rates: bool = True) -> Any:
    """A state graph of one or two state variables, each state at its coordinates."""
    axes = new_axes(axes)
    places = {state: (state[0], state[1] if len(state) > 1 else 0) for state in graph.nodes}
    if any(len(state) > 2 for state in graph.nodes):
        raise DomainError("a state graph is drawn in at most two state variables")
    for (source, target), data in graph.edges.items():
        bend = {"arrowstyle": "-|>", "color": "0.45", "connectionstyle": "arc3,rad=0.18"}
        axes.annotate(
            "", places[target], places[source], arrowprops={**bend, "shrinkA": 13, "shrinkB": 13}
        )
        if rates:
            (x0, y0), (x1, y1) = places[source], places[target]
            middle = (x0 + x1) / 2 + 0.13 * (y1 - y0), (y0 + y1) / 2 - 0.13 * (x1 - x0)
            axes.text(*middle, f"${latex(data['rate'])}$", fontsize=6, ha="center", va="center")
    for state, place in places.items():
        label = ",".join(map(str, state))
        axes.text(*place, label, ha="center", va="center", fontsize=8, bbox=_CIRCLE)
    xs, ys = zip(*places.values(), strict=True)
    axes.set_xlim(min(xs) - 0.5, max(xs) + 0.5)
    axes.set_ylim(min(ys) - 0.5, max(ys) + 0.5)
    axes.set_axis_off()
    return axes


_CIRCLE = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": COLOURS[0]}


def plot_formulas(
    formulas: Sequence[Any],
    variable: Any,
    between: tuple[Any, Any],
    at: Mapping[Any, Any],
    axes: Any = None,
    points: int = 60,
) -> Any:
    """Named formulas against one parameter, the others fixed; gaps where one is undefined.

    The ends of the range are left out when the formula's domain does not hold them.
    """
    axes = new_axes(axes)
    low, high = map(exact, between)
    grid = [low + (high - low) * Fraction(k, points) for k in range(points + 1)]
    given = {str(key): value for key, value in at.items()}
    for formula, colour, style in zip(formulas, cycle(COLOURS), cycle(STYLES), strict=False):
        used = {symbol.name for symbol in formula.domain.symbols}
        line = []
        for value in grid:
            place = {k: v for k, v in {**given, str(variable): value}.items() if k in used}
            try:
                line.append(float(formula.evaluate(place)))
            except DomainError:
                line.append(float("nan"))
        label = f"${formula.latex().split(' = ')[0]}$"
        axes.plot([float(x) for x in grid], line, color=colour, linestyle=style, label=label)
    axes.set_xlabel(f"${symbol_latex(str(variable))}$")
    axes.legend(frameon=False)
    tidy(axes)
    return axes


def plot_marginals(
    law: Any,
    at: Mapping[Any, Any] | None = None,
    variables: Sequence[Any] | None = None,
    values: int = 12,
    axes: Any = None,
) -> Any:
    """P(variable = k) against k for state variables of a stationary law, by default all of them.

    At most so many `values` of each variable are shown, the lowest of them. A law with parameters
    needs a point `at`. Raises `DomainError` for a point without a law and for a law without state
    variables.
    """
    wanted = law.variables if variables is None else variables
    if not wanted:
        raise DomainError("this law has no state variables to draw")
    if at is not None and hasattr(law, "evaluate"):
        law.evaluate(1, at)  # refuses points at which the formulas are no law
    lines = [(variable, _marginal(law, variable, at, values)) for variable in wanted]
    axes = new_axes(axes)
    for (variable, line), colour, style, marker in zip(
        lines, cycle(COLOURS), cycle(STYLES), cycle(MARKERS), strict=False
    ):
        look = {"color": colour, "linestyle": style, "marker": marker, "linewidth": 1}
        label = f"$P({symbol_latex(str(variable))} = k)$"
        axes.plot(list(line), list(line.values()), label=label, markersize=4.5, **look)
    axes.set_xlabel("$k$")
    axes.set_ylabel("probability")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    tidy(axes)
    return axes


def _marginal(law: Any, variable: Any, at: Any, count: int) -> dict[int, float]:
    """The probabilities of the lowest values of a variable."""
    from qtheory.balls import evaluate

    try:
        found = law.marginal(variable)
    except ModelError:
        found = None  # of a variable without bounds
    if not isinstance(found, dict):
        own = {symbol.name: symbol for symbol in law.variables}
        symbol = own.get(str(variable))
        low = 1 if symbol is not None and symbol.is_positive else 0
        found = {k: law.marginal(variable, k) for k in range(low, low + count)}
    shown = dict(list(found.items())[:count])
    return {k: float(evaluate(p, at) if isinstance(p, sp.Expr) else p) for k, p in shown.items()}


def tidy(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
