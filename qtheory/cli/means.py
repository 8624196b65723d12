"""The commands on stationary means: bound, identities, enclose."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from qtheory.cli.output import write

if TYPE_CHECKING:
    from qtheory.drift import DriftCertificate
    from qtheory.model import Model

MODEL = "a system (shorter-queue, dedicated-streams:3) or a variable in a file (model.py:name)"
COST = 'a function of the state, such as "2*m + d" or "x1 + x2"'


def add_drift_commands(commands: Any) -> None:
    """Add the commands to the parser of the command line."""
    bound = commands.add_parser("bound", help="bounds on a stationary mean, with their proofs")
    bound.add_argument("model", help=MODEL)
    bound.add_argument("cost", help=COST)
    bound.add_argument("--layers", type=int, default=0, help="boundary layers of V (0)")
    bound.add_argument("--at", help="a point, such as lam=1,mu=1,p=3/10; closed forms without it")
    bound.add_argument("--latex", action="store_true", help="print the bounds as LaTeX")
    bound.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    bound.set_defaults(run=_bound)

    found = commands.add_parser("identities", help="exact identities that E[QV] = 0 gives")
    found.add_argument("model", help=MODEL)
    found.add_argument("--degree", type=int, default=2, help="degree of the test functions (2)")
    found.add_argument("--layers", type=int, default=1, help="boundary layers (1)")
    found.add_argument("--of", metavar="COST", help="only the mean of this function of the state")
    found.add_argument("--latex", action="store_true", help="as LaTeX")
    found.set_defaults(run=_identities)

    enclose = commands.add_parser("enclose", help="a stationary mean to many proven digits")
    enclose.add_argument("model", help=MODEL)
    enclose.add_argument("cost", help=COST)
    enclose.add_argument("--at", required=True, help="a point, such as lam=1,mu=1,p=3/10")
    enclose.add_argument("--digits", type=int, default=15, help="significant digits (15)")
    enclose.add_argument("--certificate", metavar="FILE", help="write the certificate")
    enclose.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    enclose.set_defaults(run=_enclose)


def read_point(text: str) -> dict[str, Any]:
    """The point that is written as NAME=VALUE,..."""
    from qtheory.arithmetic import exact
    from qtheory.errors import ExpressionError

    point: dict[str, Any] = {}
    for assignment in text.split(","):
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ExpressionError(f"expected NAME=VALUE, got {assignment!r}")
        point[name.strip()] = exact(value)
    return point


def _bound(options: argparse.Namespace) -> int:
    from qtheory.systems.coordinates import find_model, read_cost

    model, sorted_lengths = find_model(options.model)
    cost = read_cost(model, options.cost, sorted_lengths)
    if options.at:
        return _bound_at(options, model, cost)
    return _closed_forms(options, model, cost)


def _bound_at(options: argparse.Namespace, model: Model, cost: Any) -> int:
    from qtheory.drift import Bounds, bounds

    found = bounds(model, cost, options.layers, at=read_point(options.at))
    assert isinstance(found, Bounds)
    data: dict[str, Any] = {"cost": str(cost), "layers": options.layers}
    for name, certificate, optimal in (
        ("lower", found.lower, found.optimal[0]),
        ("upper", found.upper, found.optimal[1]),
    ):
        if certificate is None:
            continue
        data[name] = {
            "value": str(certificate.bound),
            "optimal": optimal,
            "certificate": dict(certificate.data),
        }
        if options.json != "-":
            kind = "the best of the ladder" if optimal else "of the ladder"
            shown = certificate._repr_latex_() if options.latex else str(certificate)
            print(f"{shown}  ({float(certificate.bound):.9f}, rounded; {kind})")
    if options.json:
        write(options.json, json.dumps(data, indent=1))
    return 0


def _closed_forms(options: argparse.Namespace, model: Model, cost: Any) -> int:
    from qtheory.drift import each_bound

    data: dict[str, Any] = {
        "cost": str(cost),
        "layers": options.layers,
        "lower": {"cells": []},
        "upper": {"cells": []},
    }
    interrupted = False
    try:
        for certificate in each_bound(model, cost, options.layers):
            side = "upper" if certificate.direction == "<=" else "lower"
            data[side]["cells"].append(_cell(certificate, model))
            if options.json != "-":
                print(_shown(certificate, model, options.latex), flush=True)
    except KeyboardInterrupt:
        interrupted = True
        some = data["lower"]["cells"] or data["upper"]["cells"]
        word = "these are the bounds found so far" if some else "no bound was found yet"
        print(f"qtheory: interrupted; {word}", file=sys.stderr)
    if options.json:
        write(options.json, json.dumps(data, indent=1))
    return 130 if interrupted else 0


def _conditions(certificate: DriftCertificate, model: Model) -> list[Any]:
    """The conditions of a formula beyond those of the model."""
    return [c for c in certificate.domain.conditions if c not in model.domain.conditions]


def _cell(certificate: DriftCertificate, model: Model) -> dict[str, Any]:
    from qtheory.formulas import text_of

    return {
        "formula": text_of(certificate.bound),
        "conditions": [text_of(c) for c in _conditions(certificate, model)],
        "certificate": dict(certificate.data),
    }


def _shown(certificate: DriftCertificate, model: Model, latex: bool) -> str:
    from qtheory.formulas import text_of
    from qtheory.show.latex import conditions_latex

    further = _conditions(certificate, model)
    if latex:
        where = rf" \quad \text{{if }} {conditions_latex(further)}" if further else ""
        return certificate._repr_latex_().strip("$") + where
    where = f"  if {', '.join(map(text_of, further))}" if further else ""
    left = f"E[{text_of(certificate.cost)}]"
    return f"{left} {certificate.direction} {text_of(certificate.bound)}{where}"


def _identities(options: argparse.Namespace) -> int:
    from qtheory.drift import identities
    from qtheory.formulas import text_of
    from qtheory.show.latex import latex
    from qtheory.systems.coordinates import find_model, read_cost

    model, sorted_lengths = find_model(options.model)
    found = identities(model, options.degree, options.layers)
    if options.of is None:
        print(found.latex() if options.latex else found)
        return 0
    cost = read_cost(model, options.of, sorted_lengths)
    value = found.moment(cost)
    if value is None:
        print(f"E[{text_of(cost)}] is not determined by these test functions")
    else:
        print(latex(value) if options.latex else f"E[{text_of(cost)}] = {text_of(value)}")
    return 0


def _enclose(options: argparse.Namespace) -> int:
    from qtheory.drift import enclose
    from qtheory.systems.coordinates import find_model, read_cost

    model, sorted_lengths = find_model(options.model)
    cost = read_cost(model, options.cost, sorted_lengths)
    found = enclose(model, cost, at=read_point(options.at), digits=options.digits)
    if options.certificate:
        write(options.certificate, json.dumps(found.certificate))
    if options.json:
        data = {
            "cost": str(cost),
            "value": str(found.value),
            "lower": str(found.value.lower),
            "upper": str(found.value.upper),
            "certificate": found.certificate,
        }
        write(options.json, json.dumps(data, indent=1))
    if options.json != "-":
        print(found.value)
    return 0
