"""The command equilibrium: of the attack game, on the bound or exactly, and of the joining game."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qtheory.cli.game_points import (
    SYSTEMS,
    game_parameters,
    joining_at,
    read_values,
    row_data,
    value_data,
    value_text,
    whole_point,
)
from qtheory.cli.output import reporting, write
from qtheory.errors import DomainError

if TYPE_CHECKING:
    from qtheory.systems.dedicated_streams.joining_game import JoiningGame

DIGITS = 15
EXACT_DIGITS = 8
CERTIFIED = 12
"""Up to so many queues a certified equilibrium is tried."""
WIDTHS = (Fraction(1, 10**4), Fraction(1, 10**3), Fraction(1, 10**2))
"""Of the bracket of the equilibrium of N queues, tried in this order."""


def add_equilibrium_command(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    found = commands.add_parser("equilibrium", help="the equilibrium of a game at a point")
    found.add_argument("system", help=" or ".join(SYSTEMS))
    found.add_argument("at", nargs="*", metavar="NAME=VALUE", help="such as lam=1 mu=1 ca=1/5")
    found.add_argument(
        "--exact", action="store_true", help="on the exact cost, certified (shorter-queue)"
    )
    found.add_argument(
        "--convex", action="store_true", help="with --exact: prove that the cost is convex, too"
    )
    found.add_argument("--digits", type=int, help=f"digits ({DIGITS}, with --exact {EXACT_DIGITS})")
    found.add_argument("--N", type=int, help="of N queues too (dedicated-streams)")
    found.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    found.set_defaults(run=_equilibrium)


def _equilibrium(options: argparse.Namespace) -> int:
    parameters = game_parameters(options.system)
    attack = options.system == "shorter-queue"
    if options.exact and not attack:
        raise DomainError(f"--exact is not for {options.system}")
    if options.convex and not options.exact:
        raise DomainError("--convex goes with --exact")
    if options.N is not None and attack:
        raise DomainError(f"--N is not for {options.system}")
    if options.digits is not None and options.digits < 1:
        raise DomainError(f"digits must be at least 1, got {options.digits}")
    values = read_values(options.at, parameters)
    whole_point(values, options.system)
    if not attack:
        data, lines = _joining(values, options.digits or DIGITS, options.N)
    elif options.exact:
        data, lines = _on_exact_cost(values, options.digits or EXACT_DIGITS, options.convex)
    else:
        data, lines = _on_bound(values, options.digits or DIGITS)
    if options.json:
        at = {name: str(value) for name, value in values.items()}
        write(options.json, json.dumps({"system": options.system, "at": at, **data}, indent=1))
    if options.json != "-":
        print("\n".join(lines))
    return 0


Answer = tuple[dict[str, Any], list[str]]


def _on_bound(values: Mapping[str, Fraction], digits: int) -> Answer:
    from qtheory.systems.shorter_queue.attack_game import equilibrium

    found = equilibrium(*whole_point(values, "shorter-queue"))
    parts = {"theta": found.theta, "b": found.b, "p": found.p, "risk": found.risk}
    data = {
        "cost": "Jbar",
        "regimes": list(found.regimes),
        "unique": found.is_unique,
        "pure": found.is_pure,
        **{name: _exactly(part.lower, part.upper, digits) for name, part in parts.items()},
    }
    where = ", ".join(found.regimes)
    lines = [f"on the bound Jbar: {f'regime {where}' if where else 'a cost is zero'}"]
    lines += _table({name: _shown(p.lower, p.upper, digits) for name, p in parts.items()})
    if not found.is_unique:
        lines.append("every theta with every b of the intervals is an equilibrium")
    return data, lines


def _on_exact_cost(values: Mapping[str, Fraction], digits: int, convex: bool) -> Answer:
    from qtheory.drift.exponential_search import StabilityError
    from qtheory.drift.window import PrecisionError
    from qtheory.systems.shorter_queue.cost_shape import convexity
    from qtheory.systems.shorter_queue.exact_attack import equilibrium

    lam, mu, ca, cb = whole_point(values, "shorter-queue")
    hint = "--convex tries to prove it at these rates"
    with reporting() as progress:
        found = equilibrium(lam, mu, ca, cb, digits, progress=progress)
        if convex:
            try:
                found = replace(found, convex=convexity(lam, mu, progress))
            except (PrecisionError, StabilityError) as error:
                hint = str(error)
    parts = {"theta": found.theta, "b": found.b, "p": found.p, "risk": found.risk}
    facts = [*found.facts, *([str(found.convex)] if found.convex else [])]
    data = {
        "cost": "J",
        "regime": found.regime,
        **{name: value_data(part) for name, part in parts.items()},
        "facts": facts,
        "proved": found.is_proved,
        "rests_on": list(found.rests_on),
    }
    lines = [f"on the exact cost J: regime {found.regime}"]
    lines += _table({name: str(part) for name, part in parts.items()})
    lines += ["proved at this point:", *(f"  {fact}" for fact in facts)]
    if found.is_proved:
        lines.append("hence the regime and the values are proved")
    else:
        lines += ["the regime and the values rest on:", *(f"  {x}" for x in found.rests_on)]
        lines.append(hint)
    return data, lines


def _joining(values: Mapping[str, Fraction], digits: int, N: int | None) -> Answer:
    from qtheory.systems.dedicated_streams.joining_game import (
        equilibrium,
        optimum,
        price_of_anarchy,
    )
    from qtheory.systems.dedicated_streams.joining_regimes import CASES

    game = joining_at(values)
    q_e, best, welfare = equilibrium(game), optimum(game), price_of_anarchy(game)
    # without dedicated customers the cases say nothing
    names = list(CASES.at(game.at)) if game.lam else []
    q_opt = best.replies[0].lower, best.replies[-1].upper
    pairs = {
        "q_e": (q_e.lower, q_e.upper),
        "q_opt": q_opt,
        "S(q_e)": (welfare.worst, welfare.best),
        "S(q_opt)": (best.value, best.value),
    }
    try:
        price, why = welfare.price_of_anarchy, ""
        pairs["price of anarchy"] = (price, price)
    except DomainError as error:
        price, why = None, str(error)
    keys = {"S(q_e)": "S_e", "S(q_opt)": "S_opt", "price of anarchy": "price_of_anarchy"}
    data: dict[str, Any] = {"cases": names}
    data |= {keys.get(name, name): _exactly(*pair, digits) for name, pair in pairs.items()}
    if price is None:
        data["price_of_anarchy"] = None
    lines = [f"many queues: {' and '.join(names) or 'no dedicated customers'}"]
    lines += _table({name: _shown(*pair, digits) for name, pair in pairs.items()})
    lines += [f"no price of anarchy: {why}"] if why else []
    if N is not None:
        more, further = _finite(game, N)
        data["finite"] = more
        lines += further
    return data, lines


def _finite(game: JoiningGame, N: int) -> Answer:
    """The equilibrium of N queues, and what a customer gains there by leaving q_e of the limit."""
    from qtheory.systems.dedicated_streams.gaps import gap_table
    from qtheory.systems.dedicated_streams.joining_game import equilibrium

    q_e = equilibrium(game)
    with reporting() as progress:
        kind, q = _equilibrium_of(game, N, progress)
        row = gap_table(game, [N], progress=progress)[0] if q_e.is_point else None
    known = None if q is None else value_data(q)
    data = {"N": N, "kind": kind, "q_e": known, "gap": row_data(row) if row else None}
    lines = [f"{N} queue{'s' * (N > 1)}:"]
    shown = {"q_e(N)": f"at most q_e ({kind})" if q is None else f"{value_text(q)}  ({kind})"}
    if kind == "certified" and q.lower != q.upper:
        shown["between"] = f"{float(q.lower):.8f} and {float(q.upper):.8f}, rounded"
    if row:
        shown["eps_N(q_e)"] = f"{value_text(row.epsilon)}  ({row.kind})"
    return data, lines + _table(shown)


def _equilibrium_of(
    game: JoiningGame, N: int, progress: Callable[[str], None] | None
) -> tuple[str, Any]:
    """The equilibrium of N queues: a certified bracket, else a float, else None for too many."""
    from qtheory.drift.window import PrecisionError
    from qtheory.systems.dedicated_streams.finite_joining import (
        estimated_equilibrium,
        finite_equilibrium,
    )

    for width in WIDTHS if N <= CERTIFIED else ():
        if progress:
            progress(f"q_e({N}) within {float(width):g}")
        try:
            return "certified", finite_equilibrium(game, N, width).q
        except PrecisionError:
            continue
    try:
        return "estimated", estimated_equilibrium(game, N, progress)
    except PrecisionError:
        return "out of reach", None


def _exactly(low: Any, high: Any, digits: int) -> dict[str, Any]:
    """Exact ends as text, and as decimals with proven digits."""
    from qtheory.games.algebraic import algebraic

    ends = {"lower": low, "upper": high}
    exact = {name: str(end) for name, end in ends.items()}
    decimals = {n: str(algebraic(end).enclosure(digits)) for n, end in ends.items()}
    return {**exact, "decimal": decimals["lower"] if low == high else list(decimals.values())}


def _shown(low: Any, high: Any, digits: int) -> str:
    """An exact number or interval, with decimals where it is irrational or long."""
    from qtheory.games.algebraic import algebraic

    if low != high:
        return f"[{low}, {high}]"
    decimal = str(algebraic(low).enclosure(digits))
    return str(low) if decimal == str(low) else f"{low} = {decimal}"


def _table(values: Mapping[str, str]) -> list[str]:
    width = max(map(len, values))
    return [f"  {name:<{width}} = {value}" for name, value in values.items()]
