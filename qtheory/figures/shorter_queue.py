"""Figures of the shorter queue under attack: regimes, risk, defence, and bounds on the cost.

Rates are per unit time, costs per unit time unless per job. Curves of closed forms are exact up
to drawing; each function says what of the rest is certified and what is estimated. Every function
draws into the axes it is given, or into new ones, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.balls import evaluate
from qtheory.errors import DomainError
from qtheory.figures.regions import HATCH, bands, boundaries, contours, fill, grid
from qtheory.show.latex import latex, symbol_latex
from qtheory.show.plots import COLOURS, new_axes, tidy
from qtheory.systems import shorter_queue as sq
from qtheory.systems.shorter_queue import attack_game as game

BLUE, RED, GREEN, PINK, ORANGE, _SKY, BLACK = COLOURS
LADDER = ((ORANGE, "--"), (PINK, "-."), (GREEN, ":"))

ARRIVALS = r"$\lambda$: arrival rate of jobs per unit time"
MISROUTED = "$p$: fraction of misrouted jobs"

Range = tuple[Any, Any]


def plot_attack_regimes(
    lam: Any, mu: Any = 1, point: tuple[Any, Any] | None = None, axes: Any = None
) -> Any:
    """The four regimes of the game on the bound, over the costs of attacking and of defending.

    A `point` (ca, cb) is marked.

    Raises `UnstableError` unless lam < 2 mu, and `DomainError` for a negative cost.
    """
    place = sq.rates.require({"lam": lam, "mu": mu})
    attack, defence = map(float, _costs(*point)) if point else (0.0, 0.0)
    axes = new_axes(axes)
    fractions = [Fraction(k, 40) for k in range(41)]
    added, slopes = (
        [float(evaluate(formula, {**place, sq.p: r})) for r in fractions]
        for formula in (sq.G(), sq.dJbar())
    )
    right, top = max(1.5 * added[-1], 1.1 * attack), max(1.4 * slopes[-1], 1.1 * defence)
    xs, ys = grid(axes, right, top)
    arrival, service = map(float, place.values())
    fill(axes, xs, ys, game.regime_map(arrival, service, xs, ys[:, None]))
    boundaries(axes, added, slopes, *_looks())
    if point:
        axes.plot(attack, defence, color=BLACK, marker="o", markersize=4, clip_on=False)
    _label_costs(axes, place)
    return axes


def plot_exact_regimes(lam: Any, mu: Any = 1, axes: Any = None) -> Any:
    """The regimes on the exact cost (solid) against those on the bound (dashed).

    Names and fills are those of the exact cost, hatched where the two differ. The exact cost is
    interpolated from stationary laws in floating point: estimated, not certified
    (`qtheory.systems.shorter_queue.exact_attack` certifies a point).

    Raises `UnstableError` unless lam < 2 mu.
    """
    import numpy as np

    from qtheory.systems.shorter_queue.exact_map import cost_curve, exact_regime_map

    place = sq.rates.require({"lam": lam, "mu": mu})
    axes = new_axes(axes)
    arrival, service = map(float, place.values())
    curve = cost_curve(arrival / service)
    fractions = np.linspace(0, 1, 61)
    added, slopes = curve.cost(fractions) - curve.cost(0.0), curve.slope(fractions)
    closed = [
        sp.lambdify((sq.lam, sq.mu, sq.p), formula, "numpy")(arrival, service, fractions)
        for formula in (sq.G(), sq.dJbar())
    ]
    xs, ys = grid(axes, 1.3 * added[-1], 1.35 * slopes[-1])
    found = exact_regime_map(arrival, service, xs, ys[:, None])
    fill(axes, xs, ys, found, game.regime_map(arrival, service, xs, ys[:, None]))
    solid = {"color": BLACK, "linewidth": 1.4}
    dashed = {"color": RED, "linestyle": "--", "linewidth": 1.4}
    boundaries(axes, added, slopes, solid, solid, {**solid, "label": "exact cost $J$"})
    boundaries(axes, *closed, dashed, dashed, {**dashed, "label": r"bound $\bar{J}$"})
    hatch = {"facecolor": "none", "edgecolor": HATCH, "hatch": "////", "linewidth": 0}
    axes.fill_between([], [], **hatch, label="another regime")
    _label_costs(axes, place)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    return axes


def plot_regimes_by_rate(
    mu: Any = 1, ratio: Any = 1, per_job: bool = False, most: Any = "3/2", axes: Any = None
) -> Any:
    """The regimes of the game on the bound over the arrival rate and c, with ca = c, cb = ratio c.

    These are costs per unit time; with `per_job`, c is that of attacking one job, so ca = c lam
    and cb = ratio c lam. c goes up to `most`.

    For ratio 1 only I and IV occur. Let h(c) = Jbar'(phat(c)) - c = k (c + Jbar(0))^2 - c with
    k = (2mu - lam)/(2(2mu + lam)), a convex function. At c = G(1), h = Jbar'(1) - G(1) > 0 and
    h' = 2 lam/(2mu + lam) - 1 < 0, so h > 0 below G(1).

    Raises `DomainError` unless mu, ratio and `most` are positive.
    """
    service, times, top = _positive(mu=mu, ratio=ratio, most=most)
    axes = new_axes(axes)
    xs, ys = grid(axes, 2 * float(service), float(top))
    attack = ys[:, None] * xs if per_job else ys[:, None] + 0 * xs
    values = xs, float(service), attack, float(times) * attack
    fill(axes, xs, ys, game.regime_map(*values))
    first, second, third = (
        sp.lambdify((sq.lam, sq.mu, sq.ca, sq.cb), boundary, "numpy")(*values) + 0 * attack
        for boundary in (game.undefended, game.undefended_slope, game.mixed_boundary)
    )
    defence, some = values[3], attack < first
    gaps = (
        (attack - first, attack == attack),
        (defence - second, some),
        (defence - third, some & (defence < second)),
    )
    looks = [(look["color"], look["linestyle"]) for look in _looks()]
    contours(axes, xs, ys, [(*gap, *look) for gap, look in zip(gaps, looks, strict=True)])
    axes.set_xlabel(ARRIVALS)
    axes.set_ylabel(f"$c$: cost of attacking, per {'job' if per_job else 'unit time'}")
    defended = sp.Mul(_rational(times), sp.Symbol("c"), sp.Symbol("lambda") if per_job else 1)
    attacked = r"c \lambda" if per_job else "c"
    title = rf"$c_a = {attacked},\ c_b = {latex(defended)},\ \mu = {latex(_rational(service))}$"
    axes.set_title(title)
    tidy(axes)
    return axes


def plot_risk(
    ca: Any,
    cb: Any,
    mu: Any = 1,
    per_job: bool = False,
    between: Range = ("1/20", "8/5"),
    points: int = 120,
    axes: Any = None,
) -> Any:
    """The operator's equilibrium cost on the bound against lam, and that of Bernoulli routing.

    The costs are per unit time, or, with `per_job`, per job: then ca lam and cb lam per unit time.
    The bands are the regimes. Exact at the points; under Bernoulli routing attacks change nothing.

    Raises `UnstableError` or `DomainError` for rates or costs outside the domain.
    """
    rates, found = _equilibria(ca, cb, mu, per_job, between, points)
    axes = new_axes(axes)
    xs = [float(rate) for rate in rates]
    bernoulli = [float(evaluate(sq.JB, {"lam": rate, "mu": mu})) for rate in rates]
    risks = [float(e.risk.upper) for e in found]
    axes.plot(xs, bernoulli, color=RED, linestyle="--", label="Bernoulli routing")
    names = [_name(e) for e in found]
    _plot_with_jumps(axes, xs, risks, names, color=BLUE, label="shorter queue")
    axes.set_ylim(0, 1.12 * max(*bernoulli, *risks))
    bands(axes, xs, names)
    axes.set_ylabel("security risk: cost per unit time")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.93))
    _label_play(axes, ca, cb, mu, per_job)
    return axes


def plot_defence(
    ca: Any,
    cb: Any,
    mu: Any = 1,
    per_job: bool = False,
    between: Range = ("1/20", "8/5"),
    points: int = 120,
    axes: Any = None,
) -> Any:
    """The defended fraction b and the probability theta of an attack against lam, on the bound.

    Costs and errors are those of `plot_risk`.
    """
    rates, found = _equilibria(ca, cb, mu, per_job, between, points)
    axes = new_axes(axes)
    xs, names = [float(rate) for rate in rates], [_name(e) for e in found]
    axes.plot(xs, [float(e.b.lower) for e in found], color=BLUE, label="$b$: defended fraction")
    attacked = [float(e.theta.lower) for e in found]
    label = r"$\theta$: probability of an attack"
    _plot_with_jumps(axes, xs, attacked, names, color=RED, linestyle="--", label=label)
    axes.set_ylim(-0.02, 1.12)
    bands(axes, xs, names)
    axes.set_ylabel("fraction, probability")
    axes.legend(frameon=False, loc="center left")
    _label_play(axes, ca, cb, mu, per_job)
    return axes


def plot_cost_bounds(
    at: Mapping[str, Any],
    variable: str = "p",
    between: Range = (0, 1),
    layers: Sequence[int] = (0, 1),
    points: int = 16,
    axes: Any = None,
) -> Any:
    """J, Jbar, the bounds of the ladder and the M/M/2 bound, against p or against lam.

    `at` gives the other parameters. Against lam all are divided by the cost of Bernoulli routing.
    J is certified to 4 digits at the points, and the bounds are proved there.

    Raises `DomainError` for another variable, and outside the domain.
    """
    from qtheory.systems.shorter_queue.exact_cost import cost
    from qtheory.systems.shorter_queue.robust_attack import cost_bounds

    name = symbol_latex(variable)
    if name not in ("p", r"\lambda"):
        raise DomainError(f"the cost is drawn against p or lam, got {variable}")
    places = [sq.domain.require({**at, variable: x}) for x in _points(between, points)]
    axes = new_axes(axes)
    own = sq.p if name == "p" else sq.lam
    xs = [float(place[own]) for place in places]
    scale = [1.0 if name == "p" else float(evaluate(sq.JB, place)) for place in places]

    def draw(values: Sequence[Any], **look: Any) -> None:
        axes.plot(xs, [float(v) / s for v, s in zip(values, scale, strict=True)], **look)

    rates = [(place[sq.lam], place[sq.mu], place[sq.p]) for place in places]
    draw([evaluate(sq.Jbar(), place) for place in places], color=RED, label=r"$\bar{J}$")
    for layer, (colour, style) in zip(layers, LADDER, strict=False):
        pairs = [cost_bounds(*rate, layer) for rate in rates]
        look = {"color": colour, "linestyle": style}
        draw([high for _, high in pairs], label=f"ladder, $L = {layer}$", **look)
        draw([low for low, _ in pairs], **look)
    draw([cost(*rate, digits=4) for rate in rates], color=BLACK, linewidth=2, label="$J$, exact")
    pooled = [evaluate(sq.pooled, place) for place in places]
    draw(pooled, color=BLUE, linestyle=(0, (1, 1)), label="M/M/2")
    if name == "p":
        axes.set_xlabel(MISROUTED)
        axes.set_ylabel("cost per unit time")
    else:
        axes.axhline(1, color="0.7", linewidth=0.8, zorder=0)
        axes.set_xlabel(ARRIVALS)
        axes.set_ylabel("cost / cost of Bernoulli routing")
    axes.set_title(_equations({s: v for s, v in places[0].items() if s != own}))
    axes.legend(frameon=False, fontsize=8)
    tidy(axes)
    return axes


def plot_exact_cost(lam: Any, mu: Any = 1, points: int = 20, axes: Any = None) -> Any:
    """The exact cost J and its slope J' against p, with those of the bound, in a pair of axes.

    J and J' are certified to 6 digits at the points.

    Raises as `qtheory.systems.shorter_queue.exact_cost.taylor` does.
    """
    from qtheory.systems.shorter_queue.exact_cost import taylor

    fractions = _points((0, 1), points)
    terms = [taylor(lam, mu, fraction, 1, 6) for fraction in fractions]
    pair = new_axes(axes, columns=2)
    place = sq.rates.require({"lam": lam, "mu": mu})
    xs = [float(fraction) for fraction in fractions]
    names = (("$J$", r"$\bar{J}$"), ("$J'$", r"$\bar{J}\,'$"))
    for order, (side, bound) in enumerate(zip(pair, (sq.Jbar(), sq.dJbar()), strict=True)):
        own, other = names[order]
        look = {"color": BLUE, "marker": "o", "markersize": 2.5}
        side.plot(xs, [float(term[order]) for term in terms], label=f"{own}, exact", **look)
        closed = [float(evaluate(bound, {**place, sq.p: r})) for r in fractions]
        side.plot(xs, closed, color=RED, linestyle="--", label=f"{other}, closed form")
        side.set_xlabel(MISROUTED)
        side.set_title(_equations(place))
        side.legend(frameon=False)
        tidy(side)
    pair[0].set_ylabel("cost per unit time")
    pair[1].set_ylabel("slope of the cost, per unit time")
    return pair


def _looks() -> tuple[dict[str, str], ...]:
    """The boundary of I, that of II and III, that of III and IV."""
    return tuple({"color": c, "linestyle": s} for c, s in ((RED, "--"), (GREEN, "-."), (BLUE, "-")))


def _label_costs(axes: Any, place: Mapping[sp.Symbol, Fraction]) -> None:
    axes.set_xlabel("$c_a$: cost of attacking, per unit time")
    axes.set_ylabel("$c_b$: cost of defending, per unit time")
    axes.set_title(_equations(place))
    tidy(axes)


def _equilibria(
    ca: Any, cb: Any, mu: Any, per_job: bool, between: Range, points: int
) -> tuple[list[Fraction], list[game.Equilibrium]]:
    """The equilibria on the bound along a range of arrival rates."""
    rates = _points(between, points)
    attack, defence = exact(ca), exact(cb)
    scales = rates if per_job else [Fraction(1)] * len(rates)
    return rates, [
        game.equilibrium(rate, mu, attack * scale, defence * scale)
        for rate, scale in zip(rates, scales, strict=True)
    ]


def _plot_with_jumps(
    axes: Any, xs: list[float], ys: list[float], names: list[str], label: str, **look: Any
) -> None:
    """A line that breaks where attacks begin to pay: there theta and the risk jump."""
    jumps = [i for i in range(1, len(xs)) if (names[i] == "I") != (names[i - 1] == "I")]
    for start, stop in zip([0, *jumps], [*jumps, len(xs)], strict=True):
        axes.plot(xs[start:stop], ys[start:stop], label=None if start else label, **look)


def _name(found: game.Equilibrium) -> str:
    return found.regimes[-1] if found.regimes else ""


def _label_play(axes: Any, ca: Any, cb: Any, mu: Any, per_job: bool) -> None:
    scale = sp.Symbol("lambda") if per_job else sp.Integer(1)
    costs = {"c_a": _rational(exact(ca)) * scale, "c_b": _rational(exact(cb)) * scale}
    shown = [f"{name} = {latex(value)}" for name, value in costs.items()]
    axes.set_title("$" + r",\ ".join([*shown, rf"\mu = {latex(_rational(exact(mu)))}"]) + "$")
    axes.set_xlabel(ARRIVALS)
    tidy(axes)


def _equations(values: Mapping[sp.Symbol, Fraction]) -> str:
    shown = (f"{symbol_latex(s.name)} = {latex(_rational(v))}" for s, v in values.items())
    return "$" + r",\ ".join(shown) + "$"


def _costs(ca: Any, cb: Any) -> tuple[Fraction, Fraction]:
    attack, defence = exact(ca), exact(cb)
    if attack < 0 or defence < 0:
        raise DomainError(f"needs ca >= 0 and cb >= 0, got ca = {attack}, cb = {defence}")
    return attack, defence


def _positive(**given: Any) -> list[Fraction]:
    values = {name: exact(value) for name, value in given.items()}
    for name, value in values.items():
        if value <= 0:
            raise DomainError(f"needs {name} > 0, got {name} = {value}")
    return list(values.values())


def _rational(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)


def _points(between: Range, points: int) -> list[Fraction]:
    low, high = map(exact, between)
    if not (low < high and points >= 1):
        raise DomainError(f"needs low < high and points >= 1, got {low}, {high}, {points}")
    return [low + (high - low) * Fraction(k, points) for k in range(points + 1)]
