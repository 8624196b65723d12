"""Finished replications in a file, so that a run can be stopped and taken up again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from qtheory.errors import ModelError

Finished = dict[str, np.ndarray]
"""Arrays by name, all with the replications first."""


def load(path: Path, about: Mapping[str, str]) -> Finished | None:
    """The finished replications of the run that is described; None where there is no file.

    Raises `ModelError` for a file of another run, and for one that is no such file.
    """
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        other = dict(json.loads(str(arrays.pop("about"))))
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile) as error:
        raise ModelError(f"{path} holds no finished replications: {error}") from None
    for name, value in about.items():
        if other.get(name) != value:
            raise ModelError(f"{path} is of another run: {name} is {other.get(name)}, not {value}")
    return arrays


def save(path: Path, about: Mapping[str, str], finished: Finished) -> None:
    """Write the file anew; an interruption leaves the old one or the new one."""
    part = path.with_name(f"{path.name}.part")
    # Any, since savez also has a keyword that is no array
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about)), **finished}
    with part.open("wb") as file:
        np.savez(file, **arrays)
    os.replace(part, path)


def join(parts: list[Finished]) -> Finished:
    """The replications of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
