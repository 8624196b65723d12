"""The command simulate: queues that learn, and any model in steady state; all estimates."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qtheory.cli.means import COST, MODEL, read_point
from qtheory.cli.output import write
from qtheory.errors import ModelError, QTheoryError

if TYPE_CHECKING:
    from qtheory.learning import Learner, LearningRun, Scheduler
    from qtheory.model.simulation.result import Estimate

QUEUES = "strategic-queues"
"""The name that stands for queues that learn; every other one is a model."""

STEPS = 30_000
REPLICATIONS = {QUEUES: 64, "model": 256}

LEARNERS = (
    "exp3, exp3=RATE, exp3p, exp3p=DELTA, exp3p1, exp3p1=DELTA, ucb1, uniform, fixed:SERVER, "
    'a law such as "1,0,0", age-greedy, schedule'
)
DELTA = 0.05
"""The learners with a bound in probability miss it with this probability, if none is given."""

WIDTH = 60
"""Of the line with the progress."""


def add_simulate_command(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    found = commands.add_parser(
        "simulate",
        help="estimates with intervals: queues that learn, or a model in steady state",
        description="Estimates with 95 % intervals. Queues and servers count from 1, as given.",
    )
    found.add_argument("model", metavar="MODEL", help=f"{QUEUES}, or {MODEL}")
    found.add_argument("--replications", type=int, help="independent runs (64, of a model 256)")
    found.add_argument("--seed", type=int, default=0, help="seed of the random numbers (0)")
    found.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")

    own = found.add_argument_group(QUEUES)
    own.add_argument("--lam", help="arrival rates of the queues, such as 1/3,1/3,1/3")
    own.add_argument("--mu", help="success probabilities of the servers, such as 1,1/3,1/3")
    own.add_argument("--learner", help=f"one, or one for each queue between ';': {LEARNERS} (exp3)")
    own.add_argument("--steps", type=int, help=f"steps of each replication ({STEPS})")
    own.add_argument("--model", dest="kind", choices=("dual", "standard"), help="(dual)")
    own.add_argument("--selection", choices=("oldest", "random"), help="whom servers take (oldest)")
    own.add_argument("--resume", metavar="FILE", help="keep finished replications, and go on there")
    own.add_argument("--plot", metavar="FILE", help="draw the mean sizes over time")

    other = found.add_argument_group("other models")
    other.add_argument("--at", help="a point, such as lam=1,mu=1,p=3/10")
    other.add_argument("--of", metavar="COST", action="append", help=f"the mean of {COST}")
    other.add_argument("--horizon", help="the time of each replication, after the warm-up")
    found.set_defaults(run=_simulate)


def read_learner(
    text: str, lam: Sequence[Any], mu: Sequence[Any], steps: int
) -> Learner | Scheduler | tuple[Learner, ...]:
    """The learner of all queues, one for each queue between semicolons, or a central scheduler.

    >>> read_learner("exp3; fixed:2", ["1/4", "1/4"], [1, "1/2"], 1000)
    (Exp3(rate=None), Mixed(probabilities=(Fraction(0, 1), Fraction(1, 1))))

    Raises `ModelError` for an unknown name, with those that are known, and for a bad number.
    """
    from qtheory.learning import AgeGreedy
    from qtheory.learning.schedule import schedule

    if text == "age-greedy":
        return AgeGreedy()
    if text == "schedule":
        return schedule(lam, mu).scheduler()
    parts = [part.strip() for part in text.split(";")]
    for part in parts:
        if part in ("age-greedy", "schedule"):
            raise ModelError(f"{part} is a central rule, for all queues together: {text}")
    rules = tuple(_read_rule(part, len(mu), steps) for part in parts)
    return rules[0] if len(rules) == 1 else rules


def _read_rule(text: str, servers: int, steps: int) -> Learner:
    from qtheory.arithmetic import exact
    from qtheory.learning import UCB1, Exp3, Exp3P, Exp3P1, Mixed, Uniform

    if text.startswith("fixed:"):
        server = text.removeprefix("fixed:")
        if server not in map(str, range(1, servers + 1)):
            raise ModelError(f"servers are 1, ..., {servers}, got {text}")
        return Mixed(tuple(exact(int(j == int(server))) for j in range(1, servers + 1)))
    name, equals, value = text.partition("=")
    if name[:1].isdigit() or name[:1] == ".":
        return Mixed(tuple(exact(cell.strip()) for cell in text.split(",")))
    rate = float(exact(value)) if equals else None
    delta = DELTA if rate is None else rate
    if name == "exp3":
        return Exp3(rate)
    if name == "exp3p":
        return Exp3P(steps, delta)
    if name == "exp3p1":
        return Exp3P1(delta)
    if text == "ucb1":
        return UCB1()
    if text == "uniform":
        return Uniform()
    raise ModelError(f"unknown learner {text or 'without a name'}; known: {LEARNERS}")


def _simulate(options: argparse.Namespace) -> int:
    if options.model == QUEUES:
        _refuse(options, "of other models", ("at", "of", "horizon"))
        return _queues(options)
    queues_only = ("lam", "mu", "learner", "steps", "kind", "selection", "resume", "plot")
    _refuse(options, f"of {QUEUES}", queues_only)
    return _model(options)


def _refuse(options: argparse.Namespace, whose: str, names: Sequence[str]) -> None:
    for name in names:
        if getattr(options, name) is not None:
            option = "model" if name == "kind" else name
            raise QTheoryError(f"--{option} is an option {whose}, not of {options.model}")


def _queues(options: argparse.Namespace) -> int:
    from qtheory.learning import simulate
    from qtheory.learning.rates import read_rates

    if options.lam is None or options.mu is None:
        raise QTheoryError(f"{QUEUES} needs --lam and --mu, such as --lam 1/4,1/4 --mu 1,1/2")
    lam, mu = read_rates(options.lam.split(","), options.mu.split(","))
    steps = STEPS if options.steps is None else options.steps
    name = "exp3" if options.learner is None else options.learner
    learner = read_learner(name, lam, mu, steps)
    axes = None if options.plot is None else _new_axes(options.plot)
    wanted = REPLICATIONS[QUEUES] if options.replications is None else options.replications
    run = _keeping(options, lambda **how: simulate(lam, mu, learner, steps, wanted, **how), wanted)
    if axes is not None:
        from qtheory.figures.strategic_queues import plot_sizes

        plot_sizes(run, axes)
        Path(options.plot).parent.mkdir(parents=True, exist_ok=True)
        axes.figure.savefig(options.plot)
    if options.json:
        write(options.json, json.dumps(_run_data(run, name), indent=1))
    if options.json != "-":
        print(_run_text(run, name))
    return 130 if run.interrupted else 0


def _keeping(
    options: argparse.Namespace, simulated: Callable[..., LearningRun], wanted: int
) -> LearningRun:
    """A run that keeps its finished replications in a file until it is finished itself."""
    folder = None if options.resume else Path(tempfile.mkdtemp(prefix="qtheory-"))
    file = Path(options.resume) if folder is None else folder / "finished.npz"
    file.parent.mkdir(parents=True, exist_ok=True)
    interrupted = False
    try:
        run = simulated(
            seed=options.seed,
            model=options.kind or "dual",
            selection=options.selection or "oldest",
            resume=file,
            progress=_progress(),
        )
        interrupted = run.interrupted
    finally:
        _clear_progress()
        if folder is not None and not interrupted:
            shutil.rmtree(folder)
    if interrupted:
        print(
            f"qtheory: interrupted; {run.replications} of {wanted} replications are kept: "
            f"the same command with --resume {file} goes on",
            file=sys.stderr,
        )
    return run


def _run_text(run: LearningRun, name: str) -> str:
    from qtheory.learning.run import LEVEL, estimate

    rows = [("queue", "lambda", "size at the end", "growth per step")]
    columns = zip(run.lam, run.sizes[:, -1].T, run.queue_growths, strict=True)
    for i, (rate, sizes, growth) in enumerate(columns, 1):
        rows.append((str(i), str(rate), _cell(estimate("size", sizes)), _cell(growth)))
    rows.append(("total", str(sum(run.lam)), _cell(run.total_size), _cell(run.growth)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(
        [
            f"{name} at servers of rates {', '.join(map(str, run.mu))}",
            *(f"  {line.rstrip()}" for line in table),
            f"  packets on the average of the second half: {_cell(run.average_size)}",
            f"  estimated, with {LEVEL * 100:g} % intervals from {run.replications} "
            f"replication{'s' * (run.replications > 1)} of {run.steps} steps, seed {run.seed}",
            f"  {run.model} model, {run.selection} packet first; growth over the second half",
        ]
    )


def _run_data(run: LearningRun, name: str) -> dict[str, Any]:
    from qtheory.learning.run import LEVEL, estimate

    columns = zip(run.lam, run.sizes[:, -1].T, run.queue_growths, run.age_growths, strict=True)
    return {
        "kind": "estimated",
        "lam": [str(rate) for rate in run.lam],
        "mu": [str(rate) for rate in run.mu],
        "learner": name,
        "model": run.model,
        "selection": run.selection,
        "steps": run.steps,
        "replications": run.replications,
        "seed": run.seed,
        "interrupted": run.interrupted,
        "level": LEVEL,
        "growth": _estimate_data(run.growth),
        "total_size": _estimate_data(run.total_size),
        "average_size": _estimate_data(run.average_size),
        "queues": [
            {
                "lam": str(rate),
                "size": _estimate_data(estimate("size", sizes)),
                "growth": _estimate_data(growth),
                "age_growth": _estimate_data(age_growth),
            }
            for rate, sizes, growth, age_growth in columns
        ],
        "times": run.times.tolist(),
        "mean_sizes": run.mean_sizes.tolist(),
        "mean_ages": run.mean_ages.tolist(),
    }


def _model(options: argparse.Namespace) -> int:
    from qtheory.model import simulate
    from qtheory.systems.coordinates import find_model, read_cost

    model, sorted_lengths = find_model(options.model)
    costs = [read_cost(model, text, sorted_lengths) for text in options.of or ()]
    replications = options.replications
    try:
        found = simulate(
            model,
            read_point(options.at) if options.at else {},
            costs or None,
            horizon=options.horizon,
            replications=REPLICATIONS["model"] if replications is None else replications,
            seed=options.seed,
            progress=_progress(),
        )
    finally:
        _clear_progress()
    if options.json:
        data = {
            "kind": "estimated",
            "model": str(model.name or options.model),
            "at": {str(symbol): str(value) for symbol, value in found.parameters.items()},
            "method": found.method,
            "replications": found.replications,
            "horizon": found.horizon,
            "warm_up": found.warm_up,
            "seed": found.seed,
            "interrupted": found.interrupted,
            "level": found.level,
            "means": {own.function: _estimate_data(own) for own in found},
        }
        write(options.json, json.dumps(data, indent=1))
    if options.json != "-":
        print(found)
    if found.interrupted:
        print("qtheory: interrupted; the means are of the finished part", file=sys.stderr)
    return 130 if found.interrupted else 0


def _cell(found: Estimate) -> str:
    return " ± ".join(found.columns)


def _estimate_data(found: Estimate) -> dict[str, float | None]:
    """An estimate in JSON, where an unknown interval is null."""
    values = {"mean": found.mean, "half_width": found.half_width}
    values |= dict(zip(("low", "high"), found.interval, strict=True))
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _new_axes(file: str) -> Any:
    """Axes to be saved in that file; its kind is checked before anything is simulated."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise QTheoryError("figures need matplotlib: pip install 'qtheory[plots]'") from None
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    known = figure.canvas.get_supported_filetypes()
    kind = Path(file).suffix[1:]
    if kind not in known:
        raise QTheoryError(f"no figure of the kind {kind or file!r}; known: {', '.join(known)}")
    return figure.subplots()


def _progress() -> Callable[[str], None] | None:
    """Reports on one line of the terminal, if there is one."""
    if not sys.stderr.isatty():
        return None
    return lambda text: print(f"\r{text:<{WIDTH}}", end="", file=sys.stderr, flush=True)


def _clear_progress() -> None:
    if sys.stderr.isatty():
        print(f"\r{'':<{WIDTH}}\r", end="", file=sys.stderr, flush=True)
