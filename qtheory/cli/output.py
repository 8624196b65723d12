"""Where the commands put what they find: a file, or the terminal for ``-``."""

from __future__ import annotations

from pathlib import Path


def write(file: str, text: str) -> None:
    """Write a text to a file, making its folder; ``-`` prints it."""
    if file == "-":
        print(text)
        return
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
