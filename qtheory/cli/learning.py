"""The commands on queues that learn: feasible, growth, and simulate with its learners.

Queues and servers are numbered from 1, in the order in which they are given.
"""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qtheory.cli.output import write
from qtheory.cli.simulate import add_simulate_command

if TYPE_CHECKING:
    from qtheory.learning.feasibility import Feasibility
    from qtheory.learning.patient_gap import PatientGap
    from qtheory.learning.schedule import Schedule

LAM = "arrival rates of the queues, such as 1/2,1/4"
MU = "success probabilities of the servers, such as 1,1/3,1/3"


def add_learning_commands(commands: Any) -> None:
    """Add the commands to the parser of the command line."""
    add_simulate_command(commands)

    feasible = commands.add_parser(
        "feasible",
        help="whether queues can be stabilised: centrally, and without regret",
        description="Exact criteria. Queues and servers count from 1, as given.",
    )
    feasible.add_argument("--lam", required=True, help=LAM)
    feasible.add_argument("--mu", required=True, help=MU)
    feasible.add_argument("--schedule", action="store_true", help="with a schedule that does it")
    feasible.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    feasible.set_defaults(run=_feasible)

    growth = commands.add_parser(
        "growth",
        help="exact growth rates of queues that never change",
        description="Exact growth rates. Queues and servers count from 1, as given.",
    )
    growth.add_argument("--lam", required=True, help=LAM)
    growth.add_argument("--mu", required=True, help=MU)
    growth.add_argument(
        "--profile", required=True, help='the law that each queue plays, such as "1,0; 1/2,1/2"'
    )
    growth.add_argument("--nash", action="store_true", help="with the best deviation of each queue")
    growth.add_argument("--json", metavar="FILE", help="write as JSON (- to print)")
    growth.set_defaults(run=_growth)


def _feasible(options: argparse.Namespace) -> int:
    from qtheory.learning.feasibility import feasibility
    from qtheory.learning.schedule import schedule

    lam, mu = options.lam.split(","), options.mu.split(",")
    found = feasibility(lam, mu)
    made = schedule(lam, mu) if options.schedule else None
    refined = [2 - Fraction(1, k) for k in range(1, len(lam) + 1)]
    conditions = {
        "2": _condition(found, [Fraction(2)] * len(lam)),
        "2 - 1/k": _condition(found, refined),
    }
    if options.json:
        data: dict[str, Any] = {
            "lam": _texts(found.lam),
            "mu": _texts(found.mu),
            "feasible": found.is_feasible,
            "stabilisable": found.is_stabilisable,
            "slacks": _texts(found.slacks),
            "scale": str(found.scale),
            "margin": str(found.margin),
            "no_regret": conditions,
            "schedule": None if made is None else _schedule_data(made),
        }
        write(options.json, json.dumps(data, indent=1))
    if options.json == "-":
        return 0
    print(found)
    if found.is_stabilisable and not found.is_feasible:
        print("the leading pairs with lambda = mu = 1 stay empty and do not count")
    print("without regret, oldest packet first:")
    for name, condition in conditions.items():
        factor = name if name.isdigit() else f"({name})"
        verdict = "L_k < M_k for all k" if condition["holds"] else "L_k < M_k fails"
        eta = f", eta = {condition['eta']}" if condition["eta"] else ""
        print(f"  {factor} {verdict}{eta}; slacks {', '.join(condition['slacks'])}")
    if made is not None:
        print(made)
    return 0


def _condition(found: Feasibility, factors: list[Fraction]) -> dict[str, Any]:
    """c_k L_k < M_k for all k: M_k - c_k L_k, and the largest eta of c_k L_k <= (1 - eta) M_k."""
    sums = list(zip(factors, found.arrivals, found.services, strict=True))
    slacks = [m - c * x for c, x, m in sums]
    # M_1 = 0 where no server ever succeeds: then there is no eta
    eta = 1 - max(c * x / m for c, x, m in sums) if any(found.mu) else None
    return {
        "holds": min(slacks) > 0,
        "eta": None if eta is None else str(eta),
        "slacks": _texts(slacks),
    }


def _schedule_data(made: Schedule) -> dict[str, Any]:
    return {
        "margin": str(made.margin),
        "clearing": _texts(made.clearing),
        "mean_sizes": _texts(made.mean_sizes),
        "weights": _texts(made.weights),
        "servers": [[j + 1 if j >= 0 else None for j in row] for row in made.assignments],
    }


def _growth(options: argparse.Namespace) -> int:
    from qtheory.learning.patient import growth, profile_from_text
    from qtheory.learning.patient_gap import patient_gap

    lam, mu = options.lam.split(","), options.mu.split(",")
    profile = profile_from_text(options.profile)
    found = growth(lam, mu, profile)
    gap = patient_gap(lam, mu, profile) if options.nash else None
    parts = [*found.chain, *([found.rest] if found.rest else [])]
    if options.json:
        data: dict[str, Any] = {
            "lam": _texts(found.lam),
            "mu": _texts(found.mu),
            "profile": [_texts(row) for row in found.profile],
            "age_rates": _texts(found.rates),
            "size_rates": _texts(found.size_rates),
            "stable": found.is_stable,
            "chain": [{"queues": _numbers(own), "ratio": str(ratio)} for own, ratio in parts],
            "nash": None if gap is None else _gap_data(gap),
        }
        write(options.json, json.dumps(data, indent=1))
    if options.json == "-":
        return 0
    print(found)
    if gap is not None:
        print(gap)
    return 0


def _gap_data(gap: PatientGap) -> dict[str, Any]:
    deviations = [
        {
            "queue": own.queue + 1,
            "strategy": _texts(own.strategy),
            "rate": str(own.rate),
            "gain": str(own.gain),
        }
        for own in gap.deviations
    ]
    equilibrium = {"equilibrium": gap.is_equilibrium, "epsilon": str(gap.epsilon)}
    return {**equilibrium, "deviations": deviations}


def _numbers(members: tuple[int, ...]) -> list[int]:
    return [i + 1 for i in members]


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values]
