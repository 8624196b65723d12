"""The command line: from `verify` and `prove` to `stationary`; ``qtheory --help`` lists it all.

Exit status: 0 when there is an answer (of `prove`, also that a claim is open), 1 when `verify`
finds a verdict that is not the declared one, 2 for bad input or a rejected certificate, 130 after
an interrupt.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qtheory.cli.games import add_game_commands
from qtheory.cli.learning import add_learning_commands
from qtheory.cli.means import add_drift_commands
from qtheory.cli.output import write
from qtheory.cli.stationary import add_stationary_command
from qtheory.errors import QTheoryError

if TYPE_CHECKING:
    from qtheory.systems import Formula, System
    from qtheory.theorems import Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except QTheoryError as error:
        print(f"qtheory: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # the reader has seen enough, for example `head`; nothing is left to be flushed to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"qtheory: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("qtheory: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qtheory", description="Exact and certified theory for queues with strategic agents."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    verify = commands.add_parser("verify", help="run theorem files like a test runner")
    verify.add_argument("path", nargs="?", default="proofs", help="file or folder (proofs)")
    verify.add_argument("-k", dest="select", default="", help="only ids or statements with this")
    verify.add_argument("--json", metavar="FILE", help="write the outcomes as JSON (- to print)")
    verify.add_argument("--latex", metavar="FILE", help="write a LaTeX document with the proofs")
    verify.add_argument("--certificates", metavar="DIR", help="write a certificate per theorem")
    verify.set_defaults(run=_verify)

    systems = commands.add_parser("systems", help="list the systems, their models and formulas")
    systems.set_defaults(run=_systems)

    show = commands.add_parser("show", help="show a system, a model or a formula")
    show.add_argument("system")
    show.add_argument("name", nargs="?", help="a formula or a model of the system")
    show.add_argument("--latex", action="store_true", help="as LaTeX")
    show.set_defaults(run=_show)

    evaluate = commands.add_parser("evaluate", help="a formula at a point, with proven digits")
    evaluate.add_argument("system")
    evaluate.add_argument("formula")
    evaluate.add_argument("at", nargs="*", metavar="NAME=VALUE", help="such as lam=1/2")
    evaluate.add_argument("--digits", type=int, default=15, help="significant digits (15)")
    evaluate.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    evaluate.set_defaults(run=_evaluate)

    prove = commands.add_parser("prove", help="prove or refute a relation on a domain")
    prove.add_argument("claim", help='such as "lam*p <= 2*mu"')
    prove.add_argument("--given", default="", help='conditions: "0 < lam, lam < 2*mu"')
    prove.add_argument("--cells", type=int, default=600, help="bound on the subdivision (600)")
    prove.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    prove.add_argument("--smtlib", metavar="FILE", help="write the negated claim as SMT-LIB 2")
    prove.set_defaults(run=_prove)

    add_drift_commands(commands)
    add_stationary_command(commands)
    add_game_commands(commands)
    add_learning_commands(commands)

    check = commands.add_parser("check", help="check certificates, independently of the prover")
    check.add_argument("certificate", nargs="+", help="JSON files of prove or verify")
    check.add_argument("-v", "--verbose", action="store_true", help="show what was checked")
    check.set_defaults(run=_check)
    return parser


def _verify(options: argparse.Namespace) -> int:
    from qtheory.theorems.report import details, line, summary
    from qtheory.theorems.run import run, selected

    quiet = options.json == "-"
    theorems = selected(options.path, options.select)
    if not theorems:
        wanted = f" with {options.select!r}" if options.select else ""
        raise QTheoryError(f"no theorem{wanted} in {options.path}")
    outcomes: list[Outcome] = []
    interrupted = False
    try:
        for number, item in enumerate(theorems, 1):
            if sys.stdout.isatty() and not quiet:
                name = getattr(item, "id", "")
                print(f"     {name} ({number} of {len(theorems)})", end="\r", flush=True)
            outcomes.append(run(item))
            if not quiet:
                print("\n".join([line(outcomes[-1]), *details(outcomes[-1])]), flush=True)
    except KeyboardInterrupt:
        interrupted = True
    if not quiet:
        left = len(theorems) - len(outcomes)
        print(summary(outcomes) + (f"; interrupted, {left} not run" if interrupted else ""))
    _write_reports(options, outcomes)
    if interrupted:
        return 130
    return 0 if all(outcome.as_declared for outcome in outcomes) else 1


def _write_reports(options: argparse.Namespace, outcomes: list[Outcome]) -> None:
    from qtheory.theorems.report import as_json, write_certificates

    if options.json:
        write(options.json, json.dumps(as_json(outcomes), indent=1))
    if options.latex:
        from qtheory.theorems.document import document

        write(options.latex, document(outcomes))
    if options.certificates:
        write_certificates(outcomes, options.certificates)


def _systems(options: argparse.Namespace) -> int:
    from qtheory.systems import NAMES, system

    for name in NAMES:
        found = system(name)
        print(f"{name}: {found.title} ({found.source})")
        print(f"  models: {', '.join(found.models)}")
        width = max(len(formula.name) for formula in found.formulas)
        for formula in found.formulas:
            print(f"  {formula.name:<{width}}  {formula.meaning}")
    return 0


def _show(options: argparse.Namespace) -> int:
    from qtheory.formulas import text_of
    from qtheory.systems import system
    from qtheory.systems.coordinates import find_model

    place, _, which = options.system.partition(":")
    found = system(place)
    name = options.name
    if which or name in found.models:
        model = find_model(options.system if which else f"{place}:{name}").model
        print(model.latex() if options.latex else model)
    elif name is None:
        _show_system(found, options.latex)
    else:
        formula = found.formula(name)
        if options.latex:
            print(formula.latex())
        else:
            print(f"{formula.label or formula.name} = {text_of(formula.expression)}")
            print(f"  {formula.meaning}")
            print(f"  where {', '.join(text_of(c) for c in formula.domain.conditions)}")
            if formula.source:
                print(f"  {formula.source}")
    return 0


def _show_system(found: System, latex: bool) -> None:
    from qtheory.formulas import text_of

    print(f"{found.title} ({found.source})")
    for symbol, meaning in found.parameters.items():
        print(f"  {text_of(symbol):<6} {meaning}")
    for formula in found.formulas:
        print(formula.latex() if latex else f"  {formula.name} = {text_of(formula.expression)}")


def _evaluate(options: argparse.Namespace) -> int:
    from qtheory.systems import system

    found = system(options.system)
    formula = found.formula(options.formula)
    value = formula.evaluate(_point(options.at, found, formula), options.digits)
    if options.json:
        data: dict[str, Any] = {
            "system": found.name,
            "formula": formula.name,
            "value": str(value),
            "exact": str(value.lower) if value.is_exact else None,
            "lower": str(value.lower),
            "upper": str(value.upper),
        }
        write(options.json, json.dumps(data, indent=1))
    if options.json != "-":
        print(value)
    return 0


def _point(assignments: Sequence[str], system: System, formula: Formula) -> dict[str, Any]:
    """The values of the formula's parameters; those of the system it does not use may be given."""
    from qtheory.arithmetic import exact
    from qtheory.errors import DomainError, ExpressionError
    from qtheory.text import symbol_name

    used = {symbol.name for symbol in formula.domain.symbols}
    known = used | {symbol.name for symbol in system.parameters}
    point = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ExpressionError(f"expected NAME=VALUE, got {assignment!r}")
        own = symbol_name(name.strip())
        if own not in known:
            raise DomainError(f"unknown parameter {name.strip()} of {system.name}")
        number = exact(value)
        if own in point:
            raise DomainError(f"{name.strip()} is given twice")
        if own in used:
            point[own] = number
    return point


def _prove(options: argparse.Namespace) -> int:
    from qtheory.domain import Domain
    from qtheory.formulas import text_of
    from qtheory.inequality import Open, Proved, Refuted, prove, smtlib
    from qtheory.inequality.verdict import VACUOUS

    domain = Domain(options.given) if options.given.strip() else Domain()
    verdict = prove(options.claim, domain, cells=options.cells)
    if options.smtlib:
        write(options.smtlib, smtlib(verdict))
    if options.json:
        data: dict[str, Any] = {
            "verdict": verdict.verdict,
            "claim": text_of(verdict.claim),
            "given": [text_of(condition) for condition in verdict.domain.conditions],
            "seconds": round(verdict.seconds, 6),
        }
        if isinstance(verdict, Refuted):
            data["witness"] = {text_of(s): str(value) for s, value in verdict.witness.items()}
        if isinstance(verdict, Proved) and not verdict.domain.is_inhabited:
            data["remark"] = VACUOUS
        if isinstance(verdict, Open):
            data["tried"] = list(verdict.tried)
        if isinstance(verdict, (Proved, Refuted)):
            data["certificate"] = verdict.certificate
        write(options.json, json.dumps(data, indent=1))
    if options.json != "-":
        print(verdict)
    return 0


def _check(options: argparse.Namespace) -> int:
    from qtheory.check import check
    from qtheory.errors import CertificateError

    status = 0
    for file in options.certificate:
        try:
            for certificate in _certificates(json.loads(Path(file).read_text())):
                statement = check(certificate)
                parts = certificate.get("parts", [certificate])
                claims = f"{len(parts)} claim{'s' * (len(parts) != 1)}"
                if len(options.certificate) > 1 and not options.verbose:
                    print(f"{certificate['verdict']:<8} {claims:<9} {file}")
                else:
                    print(f"{certificate['verdict']:<8} {statement}")
        except (CertificateError, json.JSONDecodeError, UnicodeDecodeError) as error:
            what = error if isinstance(error, CertificateError) else "not a JSON file"
            print(f"qtheory: {file}: {what}", file=sys.stderr)
            status = 2
    return status


def _certificates(data: Any) -> list[Any]:
    """The certificates in a file: one alone, or those in the JSON that the commands write."""
    from qtheory.errors import CertificateError

    if not isinstance(data, dict):
        raise CertificateError("certificate rejected: not a JSON object")
    found = [data] if "format" in data else list(_enclosed(data))
    if not found:
        raise CertificateError("certificate rejected: no certificate in this file")
    return found


def _enclosed(data: Any) -> Iterator[Any]:
    """What stands under the key ``certificate``, at any depth."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "certificate" and value is not None:
                yield value
            elif key != "certificate":
                yield from _enclosed(value)
    elif isinstance(data, list):
        for value in data:
            yield from _enclosed(value)


if __name__ == "__main__":
    sys.exit(main())
