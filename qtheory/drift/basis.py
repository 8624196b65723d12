"""The default test functions: monomials on the lattice and on its boundary layers."""

from __future__ import annotations

from itertools import product
from typing import Any

from qtheory.drift.piecewise import POSITIVE
from qtheory.drift.terms import Term
from qtheory.model import Interval, Model
from qtheory.model.guards import INTEGERS


def default_basis(model: Model, degree: int, layers: int) -> list[Term]:
    """Monomials on the lattice and on its boundary layers, simple ones first."""
    found = []
    for chosen in product(*(_factors(whole, degree, layers) for whole in model.ranges)):
        part, powers, on_layer = zip(*chosen, strict=True)
        if sum(powers) <= degree - any(on_layer):
            found.append(Term(powers, part))
    return sorted(found, key=complexity)[1:]


def _factors(whole: Interval, degree: int, layers: int) -> list[tuple[Interval, int, bool]]:
    """Functions x^power 1{x in part} of one coordinate, and whether they are a layer."""
    low, high = whole
    powers = [(INTEGERS, power, False) for power in range(degree + 1)]
    if low is not None and high is not None:
        # 1 and all values but the lowest span every function on the range
        return powers[:1] + [(Interval(j, j), 0, False) for j in range(low + 1, high + 1)]
    if low is None and high is None:
        powers += [(POSITIVE, power, False) for power in range(degree + 1)]
        values = range(1 - layers, layers)
    elif low is not None:
        values = range(low, low + layers)
    else:
        values = range(int(high or 0) - layers + 1, int(high or 0) + 1)
    return powers + [(Interval(j, j), 0, True) for j in values]


def complexity(term: Term) -> tuple[Any, ...]:
    """The order of moments: by degree, number of conditions, distance of these from 0."""
    ends = [abs(part.low or 0) for part in term.box if part != INTEGERS]
    return (
        sum(term.powers),
        len(ends),
        sum(ends),
        term.powers[::-1],
        term.box != INTEGERS,
        str(term.box),
    )
