"""Inequalities of queues: `prove` against z3, from the same SymPy claim and a fresh domain.

Both sides start from the parsed claim and the conditions. For qtheory a fresh `Domain` is built
in every timing and the proof comes with its certificate; z3 gets the negated claim and the
conditions through its Python API, divisions included, with a time limit of ten seconds. The time
is the median of nine for each side (of one where a call takes over a second); where z3 gives up
its time counts and the line says so. Lines end with the median ratio over all claims.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy as sp
import z3

from qtheory.arithmetic import divisors, read
from qtheory.domain import Domain
from qtheory.formulas import relations
from qtheory.inequality import Proved, Refuted, prove

LIMIT = 10_000
"""Of z3, in milliseconds."""

QUEUE = "0 < lam, 0 < mu, lam < 2*mu, 0 <= p, p <= 1"
SINGLE = "0 < lam, lam < mu"
SERVERS = "0 < a, a < 3"
STREAMS = "0 < a, 0 < b, 0 < mu, a < mu, b < mu"
LOSS = "0 < a"

CLAIMS: list[tuple[str, str, str, bool]] = [
    # the shorter of two queues
    (
        "shorter queue: pooled below split",
        "2*lam/(2*mu - lam) <= (lam + 2*mu)/(2*mu - lam)",
        QUEUE,
        True,
    ),
    ("shorter queue: load of a queue", "lam*p/2 < mu", QUEUE, True),
    ("shorter queue: drift of an arm", "lam*(1 - p/2) - 2*mu < 0", QUEUE, True),
    ("shorter queue: imbalance", "lam*(2 - p)/(2*mu*(2*mu + lam*(2 - p))) < 1/(2*mu)", QUEUE, True),
    ("shorter queue: bound grows with p", "lam/(2*mu - lam) >= lam/(2*mu - lam*p)", QUEUE, True),
    ("shorter queue: quadratic in p", "lam**2*p**2 - 4*lam*mu*p + 4*mu**2 > 0", QUEUE, True),
    ("shorter queue: single server is worse", "1/(mu - lam/2) > 1/(2*mu - lam)", QUEUE, True),
    ("shorter queue: always one server enough", "lam < mu", QUEUE, False),
    ("shorter queue: sharp bound too low", "lam*(2 - p) <= mu", QUEUE, False),
    ("shorter queue: cubic bound", "(2*mu - lam)**3 <= 8*mu**3 - lam**3*p", QUEUE, True),
    # M/M/1
    ("M/M/1: sojourn above service", "1/(mu - lam) > 1/mu", SINGLE, True),
    ("M/M/1: number is increasing", "mu/(mu - lam)**2 > 0", SINGLE, True),
    ("M/M/1: number is convex", "2*mu/(mu - lam)**3 > 0", SINGLE, True),
    ("M/M/1: waiting below sojourn", "lam/(mu*(mu - lam)) < 1/(mu - lam)", SINGLE, True),
    ("M/M/1: number at most two", "lam/(mu - lam) <= 2", SINGLE, False),
    ("M/M/1: welfare of splitting", "2*(lam/2)/(mu - lam/2) <= lam/(mu - lam)", SINGLE, True),
    ("M/M/1: square root staffing", "(mu - lam)*(mu + lam) <= mu**2", SINGLE, True),
    # dedicated streams: two arrivals, one server or two
    (
        "dedicated streams: total utility",
        "a/(mu - a) + b/(mu - b) >= 2*(a + b)/(2*mu - a - b)",
        STREAMS,
        True,
    ),
    (
        "dedicated streams: priority",
        "a/(mu - a) <= mu*(a + b)/((mu - a)*(2*mu - a - b)) + 1",
        STREAMS,
        True,
    ),
    (
        "dedicated streams: pooling gains",
        "(a + b)/(2*mu - a - b) < a/(mu - a) + b/(mu - b)",
        STREAMS,
        True,
    ),
    (
        "dedicated streams: equal loads",
        "a/(mu - a) + b/(mu - b) <= 2*(a + b)/(2*mu - a - b)",
        STREAMS,
        False,
    ),
    ("dedicated streams: utility is concave", "-2*mu/(mu - a)**3 - b/(mu - b) < 0", STREAMS, True),
    # M/M/1/K, by loads
    ("M/M/1/2: blocking grows", "(2*a + a**2)/(1 + a + a**2)**2 > 0", LOSS, True),
    (
        "M/M/1/3: blocking below M/M/1/2",
        "a**3/(1 + a + a**2 + a**3) < a**2/(1 + a + a**2)",
        LOSS,
        True,
    ),
    ("M/M/1/3: throughput", "(1 + a + a**2)/(1 + a + a**2 + a**3) > 1/(1 + a)", LOSS, True),
    ("M/M/1/3: number below 3", "(a + 2*a**2 + 3*a**3)/(1 + a + a**2 + a**3) < 3", LOSS, True),
    ("M/M/1/3: number below 2", "(a + 2*a**2 + 3*a**3)/(1 + a + a**2 + a**3) < 2", LOSS, False),
    (
        "M/M/1/5: blocking below M/M/1/4",
        "a**5*(1 + a + a**2 + a**3 + a**4) < a**4*(1 + a + a**2 + a**3 + a**4 + a**5)",
        LOSS,
        True,
    ),
    # Erlang losses
    ("Erlang loss: two servers below one", "(a**2/2)/(1 + a + a**2/2) < a/(1 + a)", LOSS, True),
    (
        "Erlang loss: three servers below two",
        "(a**3/6)/(1 + a + a**2/2 + a**3/6) < (a**2/2)/(1 + a + a**2/2)",
        LOSS,
        True,
    ),
    ("Erlang loss: carried load", "a*(1 + a + a**2/2)/(1 + a + a**2/2 + a**3/6) < 3", LOSS, True),
    (
        "Erlang loss: convex in servers",
        "(a**3/6)/(1 + a + a**2/2 + a**3/6) + a/(1 + a) > 2*(a**2/2)/(1 + a + a**2/2)",
        LOSS,
        True,
    ),
    ("Erlang loss: at most one half", "(a**2/2)/(1 + a + a**2/2) <= 1/2", LOSS, False),
    (
        "Erlang delay: three servers",
        "(a**3/6)*3/(3 - a) < (1 + a + a**2/2 + a**3/6)*3/(3 - a)",
        SERVERS,
        True,
    ),
]


class _Z3Terms:
    """The algebra of z3's real terms, for `qtheory.arithmetic.read`."""

    def number(self, value: Fraction) -> Any:
        return z3.RealVal(f"{value.numerator}/{value.denominator}")

    def symbol(self, name: str) -> Any:
        return z3.Real(name)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
}


def by_z3(claim: sp.Rel, conditions: list[sp.Rel]) -> str:
    """What z3 says of the claim: proved, refuted or unknown."""
    terms = _Z3Terms()

    def formula(relation: sp.Rel) -> Any:
        left, right = (read(side, terms) for side in relation.args)
        return _OPERATIONS[relation.rel_op](left, right)

    solver = z3.Solver()
    solver.set("timeout", LIMIT)
    solver.add(*(formula(condition) for condition in conditions))
    solver.add(*(read(divisor, terms) != 0 for divisor in divisors(claim)))
    solver.add(z3.Not(formula(claim)))
    return {"unsat": "proved", "sat": "refuted"}.get(str(solver.check()), "unknown")


def by_qtheory(claim: sp.Rel, conditions: list[sp.Rel]) -> str:
    """What `prove` says, on a domain built for the purpose."""
    return prove(claim, Domain(*conditions)).verdict


def _timed(decide: Callable[..., str], *arguments: Any) -> tuple[str, float]:
    seconds: list[float] = []
    while len(seconds) < 9 and sum(seconds) < 1:
        started = time.perf_counter()
        word = decide(*arguments)
        seconds.append(time.perf_counter() - started)
    return word, statistics.median(seconds)


def run() -> list[dict[str, str]]:
    """One row per claim, then the median of the ratios."""
    prove("x < 2*y", Domain("0 < x, x < y")), z3.Solver().check()  # both are loaded
    rows, ratios, reused = [], [], []
    for name, text, domain, truth in CLAIMS:
        ((claim,), conditions) = relations(text), relations(domain)
        word, own = _timed(by_qtheory, claim, conditions)
        if word != (Proved if truth else Refuted).verdict:
            raise AssertionError(f"{name}: {word}")
        answer, other = _timed(by_z3, claim, conditions)
        if answer not in (word, "unknown"):
            raise AssertionError(f"{name}: z3 says {answer}")
        ratios.append(other / own)
        shared = Domain(*conditions)
        _, again = _timed(lambda claim=claim, shared=shared: prove(claim, shared).verdict)
        reused.append(other / again)
        rows.append(
            _row(f"{name} ({word})", own, "z3" if answer == word else "z3, gives up", other)
        )
    for found, how in ((ratios, "fresh domain"), (reused, "one domain")):
        ends = f"{min(found):.2g} to {max(found):.2g}"
        work = f"median of {len(found)} claims, {how}, from {ends}"
        rows.append(_row(work, None, "z3", None, f"{statistics.median(found):.2f}"))
    return rows


def _row(
    work: str, own: float | None, peer: str, other: float | None, ratio: str | None = None
) -> dict[str, str]:
    if own is not None and other is not None:
        ratio = f"{other / own:.2f}"
    return {
        "work": work,
        "qtheory (s)": "" if own is None else f"{own:.4f}",
        "peer": peer,
        "peer (s)": "" if other is None else f"{other:.4f}",
        "ratio": ratio or "",
    }
