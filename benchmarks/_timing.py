"""Timing of one piece of work, here or in a process of its own that is stopped at a cap."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from math import isnan, nan
from typing import Any


def seconds(work: Callable[[], Any], runs: int = 5, enough: float = 5.0) -> float:
    """The best of some runs; no further run is begun after `enough` seconds."""
    best, begin = float("inf"), time.perf_counter()
    for _ in range(runs):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > enough:
            break
    return best


def elsewhere(module: str, *arguments: Any, cap: float) -> float | None:
    """The seconds that ``python -m module arguments`` prints.

    None when it exceeds the cap, nan when it ends in an error.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=cap, check=True)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError:
        return nan
    return float(done.stdout.split()[-1])


def installed(name: str) -> bool:
    """Whether an optional peer can be imported."""
    return importlib.util.find_spec(name) is not None


def row(work: str, own: float, peer: str, theirs: float | None, cap: float) -> dict[str, str]:
    """One line of the table; a peer without a time was out at the cap, or failed."""
    if theirs is not None and isnan(theirs):
        failed = {"peer": peer, "peer (s)": "failed", "ratio": ""}
        return {"work": work, "qtheory (s)": f"{own:.2g}"} | failed
    ratio = cap / own if theirs is None else theirs / own
    return {
        "work": work,
        "qtheory (s)": f"{own:.2g}",
        "peer": peer,
        "peer (s)": "out" if theirs is None else f"{theirs:.2g}",
        "ratio": ("> " if theirs is None else "")
        + (f"{ratio:.0f}" if ratio > 9.5 else f"{ratio:.1f}"),
    }
