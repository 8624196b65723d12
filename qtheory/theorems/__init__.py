"""Theorems as code: declare them, collect them, run them, report them."""

from qtheory.theorems.collect import collect
from qtheory.theorems.run import Outcome, verify
from qtheory.theorems.theorem import Theorem, theorem

__all__ = ["Outcome", "Theorem", "collect", "theorem", "verify"]
