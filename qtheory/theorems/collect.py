"""Find the theorems of a file or a folder of theorem files."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from qtheory.errors import QTheoryError
from qtheory.theorems.theorem import Theorem


@dataclass(frozen=True)
class Unreadable:
    """A theorem file that could not be imported."""

    file: Path
    reason: str


def collect(path: str | Path) -> list[Theorem | Unreadable]:
    """The theorems of a file, or of all Python files below a folder, in the order of the text.

    Files and folders whose names start with ``_`` or ``.`` are left out. A file that fails to
    import is reported in place. Raises `QTheoryError` when the path does not exist or two
    theorems carry one id.
    """
    root = Path(path)
    if not root.exists():
        raise QTheoryError(f"no such file or folder: {root}")
    files = [root] if root.is_file() else sorted(f for f in root.rglob("*.py") if _seen(f, root))
    found: list[Theorem | Unreadable] = []
    for file in files:
        found += _theorems_in(file)
    ids = [item.id for item in found if isinstance(item, Theorem)]
    for id in ids:
        if ids.count(id) > 1:
            raise QTheoryError(f"two theorems are called {id}")
    return found


def _seen(file: Path, root: Path) -> bool:
    return not any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)


def _theorems_in(file: Path) -> list[Theorem | Unreadable]:
    # a name of its own for each path, so that files of one name do not replace each other
    tag = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"theorem_file_{tag}", file)
    if spec is None or spec.loader is None:
        return [Unreadable(file, "not a Python file")]
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        return [Unreadable(file, f"{type(error).__name__}: {error}")]
    finally:
        sys.path.remove(str(file.parent))
    return [
        value.theorem
        for value in vars(module).values()
        if isinstance(getattr(value, "theorem", None), Theorem)
        and getattr(value, "__module__", None) == spec.name
    ]
