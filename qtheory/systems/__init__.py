"""The systems that the library carries completely, by name."""

from __future__ import annotations

from importlib import import_module

from qtheory.errors import DomainError
from qtheory.systems.formula import Formula, System

NAMES = ("shorter-queue", "dedicated-streams", "strategic-queues")


def system(name: str) -> System:
    """The system of that name.

    >>> system("shorter-queue").formula("P(D=0)").expression
    (-lambda*p + 2*mu)/(lambda*(2 - p) + 2*mu)

    Raises `DomainError` for an unknown name.
    """
    if name not in NAMES:
        raise DomainError(f"unknown system {name}; known: {', '.join(NAMES)}")
    return import_module(f"qtheory.systems.{name.replace('-', '_')}").system


__all__ = ["NAMES", "Formula", "System", "system"]
