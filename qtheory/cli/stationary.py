"""The command on stationary laws: stationary."""

from __future__ import annotations

import argparse
import json
from typing import Any

from qtheory.cli.means import COST, MODEL, read_point
from qtheory.cli.output import write


def add_stationary_command(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    found = commands.add_parser("stationary", help="the stationary law of a model, and its means")
    found.add_argument("model", help=MODEL)
    found.add_argument(
        "--expect", metavar="COST", action="append", default=[], help=f"the mean of {COST}"
    )
    found.add_argument("--at", help="a point, such as lam=1,mu=1,p=3/10; all parameters without it")
    found.add_argument("--box", type=int, help="cut every unbounded variable at this value")
    found.add_argument("--method", help="the engine, chosen by the model without it")
    found.add_argument("--digits", type=int, help="proven digits, where the engine has them")
    found.add_argument("--latex", action="store_true", help="as LaTeX")
    found.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    found.set_defaults(run=_stationary)


def _stationary(options: argparse.Namespace) -> int:
    from qtheory.formulas import text_of
    from qtheory.show.latex import latex
    from qtheory.stationary import stationary
    from qtheory.systems.coordinates import find_model, read_cost

    model, sorted_lengths = find_model(options.model)
    costs = [read_cost(model, text, sorted_lengths) for text in options.expect]
    at = read_point(options.at) if options.at else None
    law = stationary(
        model, options.box, at=at, method=options.method or None, digits=options.digits
    )
    means = [(cost, law.expect(cost)) for cost in costs]
    if options.json:
        data = {
            "model": str(model.name or options.model),
            "method": law.method,
            "residual": getattr(law, "residual", None),
            "error": str(error) if (error := getattr(law, "error", None)) else None,
            "truncation": getattr(law, "truncation", None),
            "means": {text_of(cost): str(value) for cost, value in means},
        }
        write(options.json, json.dumps(data, indent=1))
    if options.json == "-":
        return 0
    show = getattr(law, "latex", None) if options.latex else None
    if not means:
        print(show() if show else law)
    for cost, value in means:
        if options.latex and hasattr(value, "free_symbols"):
            print(rf"\mathrm{{E}}[{latex(cost)}] = {latex(value)}")
        else:
            shown = text_of(value) if hasattr(value, "free_symbols") else value
            print(f"E[{text_of(cost)}] = {shown}{_remark(law, value)}")
    return 0


def _remark(law: Any, value: Any) -> str:
    """What is known about a value in floating point."""
    if not isinstance(value, float):
        return ""
    error = getattr(law, "error", None)
    return f"  ({law.method}; law off by {error})" if error else f"  ({law.method}; estimated)"
