r"""The shape of the exact cost J(p) of the shorter queue: increasing for all rates, and convex.

That J increases is a theorem (`increasing`). Convexity is proved rate by rate (`convexity`):
intervals of p around centres c, each no longer than the power series of
`exact_cost` allows, cover [0, 1]; on each, J'' is positive in ball arithmetic. With
X = lam H_f(0, 1), Y = 1 + lam H_1(0, 1) and J = X / Y,

    Y J' = X' - J Y',    Y J'' = X'' - 2 J' Y' - J Y''.

Beyond the last coefficient computed, the n-th one, coefficients grow at most by `spread` each, so
with q = spread |s| what they add to the j-th derivative over j! is at most a geometric series.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, comb, log10
from typing import Any

from flint import arb, ctx

from qtheory.arithmetic import exact, to_fmpq
from qtheory.drift.window import PrecisionError
from qtheory.systems.shorter_queue import rates
from qtheory.systems.shorter_queue.exact_cost import ATTEMPTS, Expansion, Series, balls, window_of
from qtheory.systems.shorter_queue.geometric_drift import geometric_drift

ORDER = 8
"""Coefficients computed at each centre."""

REACH = Fraction(7, 10)
"""The half length of an interval times `spread`."""

PIECES = 4096
"""The most pieces into which one interval is cut."""

Lengths = tuple[int, int]


@dataclass(frozen=True)
class Convexity:
    """A proof that J'' >= `least` > 0 on [0, 1] at one pair of rates.

    `centres` is the number of power series, `pieces` that of intervals on which J'' was bounded.
    """

    lam: Fraction
    mu: Fraction
    least: Fraction
    centres: int
    pieces: int

    def __str__(self) -> str:
        least = f"{float(self.least):.4g}"
        return f"J'' >= {least} on [0, 1] at lambda = {self.lam}, mu = {self.mu}"


def convexity(lam: Any, mu: Any, progress: Callable[[str], None] | None = None) -> Convexity:
    """The proof that J is strictly convex in p on [0, 1] at rational rates.

    >>> print(convexity("1/4", 1))
    J'' >= 0.0... on [0, 1] at lambda = 1/4, mu = 1

    Raises `UnstableError` unless lam < 2 mu, `StabilityError` and `PrecisionError` where it is not
    proved, as for lam near 2 mu.
    """
    place = rates.require({"lambda": lam, "mu": mu})
    arrival, service = (exact(place[symbol]) for symbol in rates.symbols)
    load = arrival / service
    drift = geometric_drift(load, 1)
    count = ceil(drift.spread / (2 * REACH))
    radius = Fraction(1, 2 * count)
    kept = 6 + 2 * log10(float(drift.spread) + 2)
    kept += log10(float((load + 2) / drift.kappa) + 2)
    least, pieces = None, 0
    for i in range(count):
        low, cut = _least_curvature(load, (2 * i + 1) * radius, radius, kept)
        least = low if least is None else min(least, low)
        pieces += cut
        if progress:
            progress(f"J'' >= {float(low):.4g} on [{i / count:.4g}, {(i + 1) / count:.4g}]")
    assert least is not None
    return Convexity(arrival, service, least, count, pieces)


def _least_curvature(
    load: Fraction, centre: Fraction, radius: Fraction, kept: float
) -> tuple[Fraction, int]:
    """A positive lower bound on J'' within a radius of a centre, and the pieces it took.

    J depends on the rates by the load lam/mu only, so mu = 1 here.
    """
    for attempt in range(ATTEMPTS):
        top, scale = window_of(geometric_drift(load, 1), kept + 4 * attempt)
        expansion = Expansion(load, Fraction(1), centre, top, scale)
        jobs, time = (expansion.series(jobs, ORDER) for jobs in (True, False))
        with ctx.workprec(scale + 64):
            found = _bisected(jobs, time, radius)
        if found:
            return found
    raise PrecisionError(f"J'' > 0 is not proved around p = {centre} at lambda/mu = {load}")


def _bisected(jobs: Series, time: Series, radius: Fraction) -> tuple[Fraction, int] | None:
    """The least of the lower bounds on J'' on pieces on which it is positive."""
    curvature = _Curvature(jobs, time, radius)
    least, done, todo = None, 0, [(-radius, radius)]
    while todo:
        low, high = todo.pop()
        bound = curvature(low, high)
        if bound > 0:
            least, done = bound if least is None else min(least, bound), done + 1
        elif done + len(todo) > PIECES or high - low < radius / 2**20:
            return None
        else:
            todo += [(low, (low + high) / 2), ((low + high) / 2, high)]
    assert least is not None
    return least, done


class _Curvature:
    """A lower bound on J'' on an interval of s."""

    def __init__(self, jobs: Series, time: Series, radius: Fraction) -> None:
        self.parts = [
            (balls(part), [_tail(part, radius, j) for j in range(3)]) for part in (jobs, time)
        ]

    def __call__(self, low: Fraction, high: Fraction) -> Fraction:
        place = arb(to_fmpq((low + high) / 2)) + arb(0, float((high - low) / 2) * (1 + 2**-40))
        (x0, x1, x2), (y0, y1, y2) = (
            [_value(terms, place, j) + arb(0, tails[j]) for j in range(3)]
            for terms, tails in self.parts
        )
        y0 += 1
        cost = x0 / y0
        slope = (x1 - cost * y1) / y0
        half = (x2 - slope * y1 - cost * y2) / y0
        if not half.is_finite():
            return Fraction(-1)
        return 2 * exact((half.mid() - half.rad()).lower().fmpq())


def _value(terms: list[arb], place: arb, j: int) -> arb:
    """The j-th derivative of a polynomial over j!, by Horner's rule."""
    total = arb(0)
    for n in range(len(terms) - 1, j - 1, -1):
        total = total * place + terms[n] * comb(n, j)
    return total


def _tail(series: Series, radius: Fraction, j: int) -> float:
    """A bound on what the coefficients beyond the last add to the j-th derivative over j!."""
    last = len(series.terms) - 1
    q = series.spread * radius
    ratio = q * Fraction(last + 2, last)
    assert ratio < 1
    first = series.last * radius ** (last - j) * comb(last + 1, j) * q
    return float(first / (1 - ratio)) * (1 + 2**-40) + 1e-300


EVENTS: dict[str, Callable[[int, int], Lengths]] = {
    "join the shorter": lambda longer, total: (longer + (2 * longer == total), total + 1),
    "join the longer": lambda longer, total: (longer + 1, total + 1),
    "serve the longer": lambda longer, total: (
        longer - (2 * longer > total),
        total - (longer > 0),
    ),
    "serve the shorter": lambda longer, total: (longer, total - (total > longer)),
}
"""What each event does to the longer queue and to the sum of both.

Of two equal queues the one that is served counts as the shorter afterwards.
"""


@cache
def increasing() -> bool:
    """J(p) increases strictly in p for all rates lam < 2 mu: the proof, instances checked.

    A state is (l, t): the longer queue and the sum of both, 2l >= t. Let (l, t) <= (l', t') when
    l <= l' and t <= t' (weak majorisation; Marshall, Olkin, Arnold, Inequalities, 2011). Two
    chains with p < p' share their events: serve the longer and serve the shorter at rate mu each,
    join the shorter at rate lam (1 - p'/2), join the longer at rate lam p/2; at rate
    lam (p' - p)/2 the first joins its shorter queue when the second joins its longer. All keep the
    order. One event changes l and t by at most 1 and never up in one state, down in the other; so
    it can break the order only from l = l' or t = t'.

    - Join the longer: both grow by 1 everywhere. First the shorter, second the longer: no less.
    - Join the shorter: t grows everywhere. From l = l', l grows but not l' if 2l = t, 2l' > t';
      then t' < t.
    - Serve the longer: from l = l', l' falls but not l if 2l' > t' and 2l = t; then t' < t. From
      t = t', t' falls but not t if l = 0; then t = 0.
    - Serve the shorter: l stays. From t = t', t' falls but not t if t = l, t' > l'; then l' < l.

    Started empty the sums stay ordered, so J(p) <= J(p'). It is strict: J(p') - J(p) is
    (p' - p) E_p'[Q' h] for h of Poisson's equation at p, which grows quadratically, and Q'h > 0
    where d >= 1: from (m, d+1) and (m+1, d-1) in this coupling the costs stay ordered, and after
    m + 1 services of the shorter queue they differ.

    The function checks the events on all ordered pairs of states with at most 8 jobs in a queue.

    >>> increasing()
    True
    """
    states = [(longer, longer + shorter) for longer in range(9) for shorter in range(longer + 1)]
    ordered = [(x, y) for x, y in product(states, states) if x[0] <= y[0] and x[1] <= y[1]]
    joins = [EVENTS["join the shorter"], EVENTS["join the longer"]]
    pairs = [*((event, event) for event in EVENTS.values()), (joins[0], joins[1])]
    return all(
        low <= high
        for below, above in pairs
        for x, y in ordered
        for low, high in zip(below(*x), above(*y), strict=True)
    )
