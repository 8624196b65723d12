"""Run every benchmark of this folder and write the ratios to RESULTS.md.

python -m benchmarks             all of them
python -m benchmarks stationary  some of them, printed only
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

COLUMNS = ("work", "qtheory (s)", "peer", "peer (s)", "ratio")

HEAD = """# Benchmarks

Each line times qtheory and a peer on the same work, side by side in one run on one machine: read
the ratios, not the seconds. "out" is a peer that was stopped at its time cap;
it is left out at larger sizes.
"""


def benchmarks(names: list[str]) -> list[ModuleType]:
    """The sibling modules that have a function `run`."""
    here = Path(__file__).parent
    found = []
    for info in pkgutil.iter_modules([str(here)]):
        if not info.name.startswith("_") and (not names or info.name in names):
            module = importlib.import_module(f"benchmarks.{info.name}")
            if hasattr(module, "run"):
                found.append(module)
    return found


def table(rows: list[dict[str, str]]) -> str:
    """The rows as a Markdown table."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(str(row[column]) for column in COLUMNS)} |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    names = sys.argv[1:]
    sections = [HEAD]
    for module in benchmarks(names):
        title = module.__name__.rpartition(".")[2]
        section = f"## {title}\n\n{(module.__doc__ or '').strip()}\n\n{table(module.run())}\n"
        print(section, flush=True)
        sections.append(section)
    if not names:
        Path(__file__).with_name("RESULTS.md").write_text("\n".join(sections))


if __name__ == "__main__":
    main()
