"""Digits of E[x1 + x2] of the shorter queue, lambda = mu = 1, by different methods of qtheory.

The second method is the bracket of threshold jockeying and threshold blocking, matrix-geometric in
balls, with the smallest threshold (8, 16, 32, 64, 128) whose two ends agree to the digits, when
that threshold is known. `enclose` and the compensation series prove their digits, as the bracket
does; `deep_digits` estimates them. Times are the best of three runs, or of those that start within
5 s; what a method keeps between calls is cleared.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from benchmarks._timing import row, seconds

CASES = ((0, 20), (0, 50), (Fraction(3, 10), 20), (Fraction(3, 10), 50), (Fraction(9, 10), 20))


def _bracket(point: dict[str, Any], digits: int) -> Callable[[], Any]:
    """The bracket at the smallest threshold that suffices."""
    from qtheory.systems import shorter_queue as sq

    for threshold in (8, 16, 32, 64, 128):
        low, high = sq.bracket(point, threshold, digits + 5)
        if high.upper - low.lower <= Fraction(1, 10 ** (digits - 1)):
            return lambda: sq.bracket(point, threshold, digits + 5)
    raise ValueError(f"no threshold up to 128 gives {digits} digits at {point}")


def run() -> list[dict[str, str]]:
    """The rows of the table."""
    from qtheory.drift import enclose
    from qtheory.stationary import compensation, deep_digits
    from qtheory.stationary.series.terms import ratio_of_sums
    from qtheory.systems import shorter_queue as sq

    model, cost, rows = sq.model(), 2 * sq.m + sq.d, []

    def series(point: dict[str, Any], digits: int) -> Any:
        cached = getattr(ratio_of_sums, "cache_clear", None)
        if cached:
            cached()
        return compensation(model, point, digits).expect(cost)

    for p, digits in CASES:
        point = {"lambda": 1, "mu": 1, "p": p}
        second = seconds(_bracket(point, digits), runs=3)
        methods: dict[str, Callable[[], Any]] = {
            "deep_digits": lambda point=point, n=digits: deep_digits(model, cost, point, n),
            "enclose": lambda point=point, n=digits: enclose(model, cost, point, n),
        }
        if p == 0:
            methods["compensation"] = lambda point=point, n=digits: series(point, n)
        for name, work in methods.items():
            own = seconds(work, runs=3)
            rows.append(row(f"p = {p}, {digits} digits, {name}", own, "bracket", second, 0.0))
    return rows
