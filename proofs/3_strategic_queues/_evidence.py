"""Verdicts on what was looked at: checks of finitely many instances, and simulations.

Both support a claim and never prove it. A claim that is contradicted comes out open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sympy import Rational, Symbol, sympify

from qtheory import Domain, Open, Supported
from qtheory.arithmetic import exact
from qtheory.formulas import relation
from qtheory.model.simulation.result import Estimate

FAR = 4.5
"""Standard errors between an estimate and a value that contradict each other."""


def seen(
    claim: Any,
    checks: Iterable[Any],
    where: str,
    kind: str = "exact checks",
    started: float | None = None,
) -> Supported | Open:
    """Whether a claim holds at every instance that was looked at.

    `checks` are truth values or arrays of them, made while they are counted, unless the work
    `started` before.
    """
    started = time.perf_counter() if started is None else started
    count = failed = 0
    for found in checks:
        count += np.size(found)
        failed += np.size(found) - int(np.sum(found))
    seconds = time.perf_counter() - started
    domain = Domain(symbols=sorted(claim.free_symbols, key=str))
    if failed or not count:
        tried = f"fails {failed} times of {count}: {where}"
        return Open(claim, domain, (tried,), seconds=seconds)
    evidence = f"{where}; {count} {kind} in {seconds:.1f} s, no exception"
    return Supported(claim, domain, evidence, seconds=seconds)


def estimated(
    name: str, sign: str, value: Any, sample: Callable[[], Estimate], where: str
) -> Supported | Open:
    """Whether a simulated mean agrees with ``name == value``, ``name > value``, ...

    An equation must be within 4.5 standard errors, an inequality be met by more than that.
    """
    started = time.perf_counter()
    found = sample()
    seconds = time.perf_counter() - started
    symbol = Symbol(name)
    number = sympify(value) if not hasattr(value, "as_integer_ratio") else _rational(value)
    claim, domain = relation(symbol, sign, number), Domain(symbols=(symbol,))
    z = found.z(float(number))
    agrees = {"==": abs(z) <= FAR, ">": z >= FAR, "<": z <= -FAR}[sign]
    evidence = f"{where}: {found}, {z:+.1f} standard errors from {float(number):.5g}"
    if not agrees:
        return Open(claim, domain, (evidence,), seconds=seconds)
    return Supported(claim, domain, f"{evidence}; {seconds:.1f} s", seconds=seconds)


def _rational(value: Any) -> Rational:
    return Rational(*exact(value).as_integer_ratio())
