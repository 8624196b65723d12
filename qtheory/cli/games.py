"""The commands on games: regimes, gap, and equilibrium."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qtheory.cli.equilibrium import add_equilibrium_command
from qtheory.cli.game_points import (
    SYSTEMS,
    game_parameters,
    joining_at,
    read_values,
    row_data,
    value_text,
)
from qtheory.cli.output import reporting, write
from qtheory.errors import DomainError, ExpressionError, QTheoryError

if TYPE_CHECKING:
    import sympy as sp

    from qtheory.games import Regimes
    from qtheory.systems.dedicated_streams.gaps import GapRow


def add_game_commands(commands: Any) -> None:
    """Add the commands to the parser of the command line."""
    games = " or ".join(SYSTEMS)
    regimes = commands.add_parser("regimes", help="the regimes of a game, with closed forms")
    regimes.add_argument("system", help=games)
    regimes.add_argument("--at", help="rates, or a whole point: lam=1,mu=1[,ca=1/5,cb=1/5]")
    how = regimes.add_mutually_exclusive_group()
    how.add_argument("--latex", action="store_true", help="print LaTeX cases")
    how.add_argument("--plot", metavar="FILE", help="draw a map into a file (.png, .pdf, .svg)")
    regimes.add_argument("--verify", action="store_true", help="prove the regimes once more")
    regimes.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    regimes.set_defaults(run=_regimes)

    add_equilibrium_command(commands)

    gap = commands.add_parser("gap", help="what a customer gains by deviating, with N queues")
    gap.add_argument("system", help="dedicated-streams")
    gap.add_argument("at", nargs="*", metavar="NAME=VALUE", help="lam, lam_s, mu, R, C")
    gap.add_argument("--N", required=True, help="numbers of queues, such as 1,2,3,4")
    gap.add_argument("--q", help="joining probability (the equilibrium of the limit)")
    gap.add_argument("--plot", metavar="FILE", help="draw the gaps into a file (.png, .pdf, .svg)")
    gap.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    gap.set_defaults(run=_gap)


def _regimes(options: argparse.Namespace) -> int:
    parameters = game_parameters(options.system)
    values = read_values(options.at.split(","), parameters) if options.at else {}
    if options.plot:
        figure = _figure(options.plot)
        _draw_regimes(options.system, values, figure.subplots())
        figure.savefig(options.plot, dpi=200)
    found = _closed_forms(options.system, values)
    data = {
        "system": options.system,
        "at": {name: str(value) for name, value in values.items()},
        "regimes": [_case(regime) for regime in found.regimes],
    }
    cases = {name: found.latex(name) for name in found.regimes[0].values} if options.latex else {}
    if cases:
        data["latex"] = cases
    quiet = options.json == "-"
    if not quiet:
        print("\n".join(cases.values()) if cases else _text(found))
    status = 0
    if options.verify:
        verdicts = _all_regimes(options.system, claims=True).verify()
        data["verdicts"] = {label: verdict.verdict for label, verdict in verdicts.items()}
        status = 0 if all(verdicts.values()) else 1
        if not quiet:
            print(*(f"{v.verdict:<8} {label}" for label, v in verdicts.items()), sep="\n")
    if options.json:
        write(options.json, json.dumps(data, indent=1))
    return status


def _all_regimes(system: str, claims: bool = False) -> Regimes:
    """The regimes for all parameters; their claims take time and are for `verify` only."""
    if system == "shorter-queue":
        from qtheory.systems.shorter_queue import attack_game

        return attack_game.regimes() if claims else attack_game.CASES
    from qtheory.systems.dedicated_streams import joining_regimes

    return joining_regimes.regimes() if claims else joining_regimes.CASES


def _closed_forms(system: str, values: Mapping[str, Fraction]) -> Regimes:
    """The regimes with the given parameters substituted; at a whole point, those that hold."""
    from dataclasses import replace

    import sympy as sp

    from qtheory.formulas import relation
    from qtheory.games import Regime, Regimes

    found = _all_regimes(system)
    if not values:
        return found
    place = _checked(system, values)
    numbers = {s: sp.Rational(v.numerator, v.denominator) for s, v in place.items()}
    if len(values) == len(game_parameters(system)):
        at = found.at(place)
        kept = [replace(r, values=at[r.name]) for r in found.regimes if r.name in at]
        return Regimes(found.domain, tuple(kept))

    def put(expression: Any) -> sp.Expr:
        return sp.factor(sp.sympify(expression).subs(numbers))

    substituted = (
        Regime(
            regime.name,
            tuple(relation(put(c.lhs), c.rel_op, put(c.rhs)) for c in regime.conditions),
            {name: put(value) for name, value in regime.values.items()},
        )
        for regime in found.regimes
    )
    return Regimes(found.domain, tuple(substituted))


def _checked(system: str, values: Mapping[str, Fraction]) -> dict[sp.Symbol, Fraction]:
    """The values, which are the rates or a whole point, in their domain."""
    if system == "shorter-queue":
        from qtheory.systems.shorter_queue import attack_game, rates

        if len({"c_a", "c_b"} & set(values)) == 1:
            raise DomainError("needs both ca and cb, or neither")
        return (attack_game.costs if "c_a" in values else rates).require(values)
    from qtheory.systems.dedicated_streams import domain, game

    if len({"R", "C"} & set(values)) == 1:
        raise DomainError("needs both R and C, or neither")
    return (game if "R" in values else domain).require(values)


def _case(regime: Any) -> dict[str, Any]:
    from qtheory.formulas import text_of

    return {
        "name": regime.name,
        "conditions": [text_of(condition) for condition in regime.conditions],
        "values": {name: text_of(value) for name, value in regime.values.items()},
    }


def _text(found: Regimes) -> str:
    lines = []
    for regime in found.regimes:
        case = _case(regime)
        lines.append(f"{regime.name}: if {' and '.join(case['conditions'])}")
        width = max(map(len, case["values"]))
        lines += [f"  {name:<{width}} = {value}" for name, value in case["values"].items()]
    return "\n".join(lines)


def _figure(file: str) -> Any:
    """A figure without a display; `QTheoryError` for a kind of file that cannot be written."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise QTheoryError("figures need matplotlib: pip install 'qtheory[plots]'") from None
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    kinds = figure.canvas.get_supported_filetypes()
    if file.rpartition(".")[2] not in kinds or "." not in file:
        raise QTheoryError(f"a figure is written as one of {', '.join(kinds)}, got {file}")
    return figure


def _draw_regimes(system: str, values: dict[str, Fraction], axes: Any) -> None:
    if system == "dedicated-streams":
        from qtheory.figures.dedicated_streams import plot_joining

        game = joining_at(values)
        last = game.C * (game.mu + game.lam_s) / (game.mu - game.lam) ** 2
        most = Fraction(6, 5) * max(game.R, last)
        plot_joining("R", (game.C / game.mu, most), values, axes=axes)
        axes.axvline(float(game.R), color="0.5", linewidth=0.8, linestyle=":")
        return
    from qtheory.figures.shorter_queue import plot_attack_regimes, plot_regimes_by_rate

    if not values:
        plot_regimes_by_rate(axes=axes)
        return
    place = {str(symbol): value for symbol, value in _checked(system, values).items()}
    point = (place["c_a"], place["c_b"]) if "c_a" in place else None
    plot_attack_regimes(place["lambda"], place["mu"], point, axes)


def _gap(options: argparse.Namespace) -> int:
    if options.system != "dedicated-streams":
        raise DomainError(f"no gap of {options.system}; known: dedicated-streams")
    from qtheory.arithmetic import exact
    from qtheory.systems.dedicated_streams.gaps import gap_table
    from qtheory.systems.dedicated_streams.joining_game import equilibrium, utility_at

    queues = _numbers(options.N)
    game = joining_at(read_values(options.at, game_parameters(options.system)))
    q = exact(options.q) if options.q else exact(equilibrium(game).point)
    utility_at(game, q)  # refuses what is no joining probability before anything is printed
    figure = _figure(options.plot) if options.plot else None
    quiet, interrupted = options.json == "-", False
    rows: list[GapRow] = []
    if not quiet:
        print(f"q = {q}{'' if options.q else ', the equilibrium of the limit'}")
        print(f"{'N':>5}  {'kind':<9}  {'E_N[M]':<22}  {'eps_N(q)':<22}  distance to the limit")
    try:
        with reporting() as progress:
            for N in queues:
                rows += gap_table(game, [N], q, progress=progress)
                if progress:
                    progress("")
                if not quiet:
                    print(_row(rows[-1]), flush=True)
    except KeyboardInterrupt:
        interrupted = True
        print(f"qtheory: interrupted; {len(rows)} of {len(queues)} rows are kept", file=sys.stderr)
    if options.json:
        data = {
            "at": {name: str(value) for name, value in game.at.items()},
            "q": str(q),
            "rows": [row_data(row) for row in rows],
        }
        write(options.json, json.dumps(data, indent=1))
    if figure is not None and rows:
        from qtheory.figures.dedicated_streams import plot_gap

        plot_gap(rows, figure.subplots())
        figure.savefig(options.plot, dpi=200)
    return 130 if interrupted else 0


def _numbers(text: str) -> list[int]:
    """The positive integers that are written as 1,2,3."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise ExpressionError(f"expected numbers of queues such as 1,2,3, got {text!r}") from None
    if min(found) < 1:
        raise DomainError(f"needs at least one queue, got N = {min(found)}")
    return found


def _row(row: GapRow) -> str:
    shown = [value_text(v) for v in (row.shortest, row.epsilon, row.distance)]
    return f"{row.N:>5}  {row.kind:<9}  {shown[0]:<22}  {shown[1]:<22}  {shown[2]}"
