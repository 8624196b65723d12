"""Where the commands put what they find, and how they show progress meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

WIDTH = 78
"""Of the line with the progress."""


def write(file: str, text: str) -> None:
    """Write a text to a file, making its folder; ``-`` prints it."""
    if file == "-":
        print(text)
        return
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


@contextmanager
def reporting() -> Iterator[Callable[[str], None] | None]:
    """What shows the progress on one line of the terminal, None without one."""
    if not sys.stderr.isatty():
        yield None
        return

    def show(text: str) -> None:
        print(f"\r{text[:WIDTH]:<{WIDTH}}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print(f"\r{'':<{WIDTH}}\r", end="", file=sys.stderr, flush=True)
