"""Stationary laws of large finite chains in floating point, by one sparse factorisation.

With pi fixed at one state, the other balance equations have an M-matrix, whose LU factors need
no pivoting and keep the sparsity of a minimum-degree ordering. Its error is measured, and removed,
by iterative refinement with the balance of flows in twice the working precision.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp

from qtheory.arithmetic import Ring, exact, values_by_name
from qtheory.errors import ModelError
from qtheory.model.generator import float_rates, window_rates
from qtheory.model.lattice import window
from qtheory.model.model import Model
from qtheory.model.rates import RateTable, table_from_graph, table_from_matrix
from qtheory.stationary.exact.points import table_at
from qtheory.stationary.floats.chain import (
    AccuracyError,
    rates_of_matrix,
    recurrent_states,
    require_range,
)
from qtheory.stationary.floats.gth import GTH_LIMIT, eliminated
from qtheory.stationary.floats.law import Error, NumericLaw
from qtheory.stationary.floats.refinement import UNIT, Flows, Solution, walk

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

    from qtheory.model.flows import Boundary


_PINS = 4
"""The most states at which pi is fixed in turn."""


def solve(generator: Any) -> Solution:
    """The stationary vector of a finite chain: pi Q = 0 (row vector), the entries sum to 1.

    `generator` is a SciPy sparse matrix (or any that `gth` takes) whose rows sum to zero, or to
    one in discrete time. Every entry is accurate, also the small ones of stiff chains: the
    iterative refinement stops when the relative correction of each entry is a rounding error. A
    chain so nearly reducible that it does not converge is left to `gth` if it has at most 5000
    states. The estimated error is the last correction, and the change of the law when each rate
    moves by one rounding error in the worst direction.

    >>> solve([[-1, 1, 0], [1, -3, 2], [0, 2, -2]]).probabilities.round(6).tolist()
    [0.333333, 0.333333, 0.333333]

    Transient states get 0. Raises `ReducibleError` for several closed classes,
    `NonConservativeError` for rows with other sums, `ModelError` for a negative rate, and
    `AccuracyError`, which names the method to try instead, where rounding spoils the result.
    """
    return solve_rates(rates_of_matrix(generator))


def solve_rates(
    rates: csr_array, name: Callable[[int], Hashable] = int, pin: int | None = None
) -> Solution:
    """The stationary vector from the rates between different states (see `solve`).

    `name` names a state in messages; `pin` is a state of large probability, if one is known.
    """
    import numpy as np

    size = rates.shape[0]
    kept = recurrent_states(rates, name)
    if len(kept) == size:
        return _irreducible(rates, pin)
    start = None if pin is None else int(np.searchsorted(kept, pin)) % len(kept)
    found = _irreducible(rates[kept][:, kept], start)

    def extended(values: np.ndarray) -> np.ndarray:
        whole = np.zeros(size)
        whole[kept] = values
        return whole

    inner = found.response
    response = None if inner is None else lambda surplus: extended(inner(surplus[kept]))
    return found._replace(probabilities=extended(found.probabilities), response=response)


def sparse_law(
    chain: Any,
    box: Any = None,
    where: Any = None,
    at: Mapping[Any, Any] | None = None,
    boundary: Boundary = "drop",
    states: Iterable[Hashable] | None = None,
) -> NumericLaw:
    """The stationary law of a finite chain, or of a model in a finite window, in floating point.

    The chain is a `Model` with a window (`box`, `where` and `boundary` as in
    `qtheory.model.generator`), a `RateTable`, a directed networkx graph, or a generator or
    transition matrix whose `states` may be named. `at` gives the parameters their values. The
    error refers to this finite chain and is estimated (see `solve`).

    >>> from qtheory.systems import shorter_queue as sq
    >>> law = sparse_law(sq.model(), box=40, at={"lambda": 1, "mu": 1, "p": 0})
    >>> round(law.expect("2*m + d"), 9)
    1.426320751

    Raises the errors of `solve`, `ModelError` for a bad window, and `DomainError`
    (`UnstableError`) for a point outside the domain.
    """
    named = isinstance(chain, (Model, RateTable)) or hasattr(chain, "is_directed")
    if states is not None and named:
        raise ModelError("names of states are for a matrix: this chain has its own")
    if isinstance(chain, Model):
        held = window(chain, box, where)
        values = chain.domain.require(at or {})
        rates = window_rates(chain, held, float_rates(chain, values), boundary)
        return _law(held.coordinates, solve_rates(rates, held.state), chain.state, values)
    if box is not None or where is not None:
        raise ModelError("a box is for a Model: this chain is already finite")
    rates, names, values = _finite_chain(chain, at or {}, states)
    return _law(names, solve_rates(rates, names.__getitem__), (), values)


def _law(
    states: Any,
    found: Solution,
    variables: tuple[sp.Symbol, ...],
    values: dict[sp.Symbol, Fraction],
) -> NumericLaw:
    error = Error(found.error, "estimated")
    return NumericLaw(
        states, found.probabilities, "sparse", found.residual, variables, values, error
    )


def _finite_chain(
    chain: Any, at: Mapping[Any, Any], states: Iterable[Hashable] | None
) -> tuple[csr_array, tuple[Hashable, ...], dict[sp.Symbol, Fraction]]:
    """Rates between different states, the names of these, and the values of the parameters."""
    from scipy.sparse import csr_array

    table = None
    if isinstance(chain, RateTable):
        table = chain
    elif hasattr(chain, "is_directed"):
        table = table_from_graph(chain)
    elif at or isinstance(chain, sp.MatrixBase):
        table = table_from_matrix(chain, states)
    if table is None:
        rates = rates_of_matrix(chain)
        names = tuple(range(rates.shape[0]) if states is None else states)
        if len(set(names)) != len(names) or len(names) != rates.shape[0]:
            raise ModelError(f"{len(set(names))} different names for {rates.shape[0]} states")
        return rates, names, {}
    values = values_by_name(at, table.ring.names)
    found: dict[tuple[int, int], float] = {
        (i, j): float(exact(Ring(()).expression(rate)))
        for i, row in enumerate(table_at(table, at).rows)
        for j, rate in row.items()
    }
    size = len(table.states)
    sources, targets = zip(*found, strict=True) if found else ((), ())
    rates = csr_array((list(found.values()), (sources, targets)), shape=(size, size), dtype=float)
    return rates, table.states, {s: values[s.name] for s in table.ring.symbols}


def _irreducible(rates: csr_array, pin: int | None) -> Solution:
    """The law of an irreducible chain: elimination with refinement, or without subtraction."""
    import numpy as np

    size = rates.shape[0]
    if size == 1:
        return Solution(np.ones(1), 0.0, 0.0, np.zeros_like)
    require_range(rates)
    flows = Flows(rates)
    place = walk(rates, min(size // 20, 50_000)) if pin is None else pin
    for _ in range(_PINS):
        factors = flows.pinned(place)
        if factors is None:
            break
        law = factors.law()
        found = factors.refined(law)
        if found is not None:
            return found
        # overflow, and nearly singular factors, still point to the states of large probability
        huge = np.flatnonzero(~np.isfinite(law))
        better = int(huge[len(huge) // 2] if len(huge) else np.argmax(abs(law)))
        if better == place:
            break
        place = better
    if size <= GTH_LIMIT:
        law = eliminated(rates)
        return Solution(law, flows.residual(law), size * UNIT)
    raise AccuracyError(
        f"rounding errors spoil the law of these {size} states, since the chain nearly falls apart "
        f"or some rates are too small: use the exact method, or up to {GTH_LIMIT} states GTH"
    )
