"""Figures: state graphs, formulas against a parameter, and the regimes of the attack game.

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
from qtheory.errors import DomainError, QTheoryError
from qtheory.show.latex import latex, symbol_latex

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise QTheoryError("figures need matplotlib: pip install 'qtheory[plots]'") from None
    return plt.subplots(figsize=(5.6, 3.8), layout="constrained")[1]


def plot_graph(graph: Any, axes: Any = None, rates: bool = True) -> Any:
    """A state graph of one or two state variables, each state at its coordinates."""
    axes = _axes(axes)
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
    axes = _axes(axes)
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
    _tidy(axes)
    return axes


def plot_attack_regimes(lam: Any, mu: Any = 1, axes: Any = None) -> Any:
    """The four regimes of the game on the bound, over the costs of attacking and of defending."""
    from qtheory.balls import evaluate
    from qtheory.systems.shorter_queue import G, dJbar, rates

    axes = _axes(axes)
    point = rates.require({"lam": lam, "mu": mu})

    def value(expression: sp.Expr) -> float:
        return float(evaluate(expression, point))

    fractions = [sp.Rational(k, 40) for k in range(41)]
    curve = [(value(G(r)), value(dJbar(r))) for r in fractions]
    (_, least), (most, greatest) = curve[0], curve[-1]
    right, top = 1.5 * most, 1.4 * greatest
    xs, ys = zip(*curve, strict=True)
    axes.axvline(most, color=COLOURS[1], linestyle="--")
    axes.plot([0, most], [greatest] * 2, color=COLOURS[2], linestyle="-.")
    axes.plot(xs, ys, color=COLOURS[0])
    names = {
        "I\nno attack": ((most + right) / 2, top / 2),
        "II\nundefended attack": (most / 2, (greatest + top) / 2),
        "III\ndefended attack": (most / 4, (least + 3 * greatest) / 4),
        "IV\nmixed": (0.7 * most, least / 2),
    }
    for name, place in names.items():
        axes.text(*place, name, ha="center", va="center", fontsize=8)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    axes.set_xlabel("$c_a$: cost per unit time of attacking every job")
    axes.set_ylabel("$c_b$: cost per unit time of defending every job")
    axes.set_title(rf"$\lambda = {latex(sp.nsimplify(lam))},\ \mu = {latex(sp.nsimplify(mu))}$")
    _tidy(axes)
    return axes


def _tidy(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
