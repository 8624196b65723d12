"""State elimination in floating point without a subtraction: every entry of the law is accurate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qtheory.errors import ModelError
from qtheory.stationary.floats.chain import (
    ACCURATE,
    UNDERFLOW,
    AccuracyError,
    rates_of_matrix,
    recurrent_states,
    require_range,
)

if TYPE_CHECKING:
    import numpy as np

GTH_LIMIT = 5000
"""The most states for which a dense matrix is eliminated."""

SMALLEST = 1e-250
"""The least rate of leaving a set of states, as a share of the largest rate of the chain."""

_PANEL = 64
"""States that are eliminated before the rates of the others are brought up to date."""


def gth(matrix: Any) -> np.ndarray:
    """The stationary law of a finite chain (row vector pi, pi Q = 0) by GTH elimination.

    `matrix` is a generator (rows sum to zero) or a transition matrix (rows sum to one) of n
    states: nested lists, NumPy, SciPy or SymPy without symbols. State k is eliminated by
    a_ij <- a_ij + a_ik a_kj / (sum of a_kl over l < k). Only sums, products and quotients of
    positive numbers occur, so each pi_i has a relative error of at most the order of n^2 units of
    rounding (O'Cinneide, Numer. Math. 65, 1993), mostly a few, however close the chain is to
    falling apart. Transient states get 0.

    >>> gth([[-1e-14, 1e-14], [1, -1]]).tolist()
    [0.99999999999999, 9.9999999999999e-15]

    Source: Grassmann, Taksar, Heyman, Operations Research 33 (1985). Raises `ReducibleError` for
    several closed classes, `NonConservativeError` for rows with other sums, and `ModelError` for
    a negative rate or more than 5000 recurrent states, and `AccuracyError` where rates, or how
    far the chain falls apart, are beyond the range of floats.
    """
    import numpy as np

    rates = rates_of_matrix(matrix)
    kept = recurrent_states(rates)
    law = np.zeros(rates.shape[0])
    law[kept] = eliminated(rates[kept][:, kept])
    return law


def eliminated(rates: Any) -> np.ndarray:
    """The law of an irreducible chain from its rates between different states (SciPy sparse)."""
    import numpy as np

    size = rates.shape[0]
    if size > GTH_LIMIT:
        raise ModelError(
            f"GTH elimination of {size} states is too large (limit {GTH_LIMIT}): use the sparse "
            "method"
        )
    require_range(rates)
    # by a power of two, so that scaled rates give the same law to the last digit
    a = rates.toarray()
    a *= 2.0 ** -int(np.frexp(a.max())[1])
    np.fill_diagonal(a, 0)
    totals = np.ones(size)
    for high in range(size, 0, -_PANEL):
        low = max(high - _PANEL, 0)
        for k in range(high - 1, max(low, 1) - 1, -1):
            totals[k] = a[k, :k].sum()
            if not totals[k] > SMALLEST:
                raise AccuracyError("a state is left too rarely for floats: use the exact method")
            a[:k, k] /= totals[k]
            # the rest of the panel at once, the other states by one matrix product
            a[low:k, :k] += np.outer(a[low:k, k], a[k, :k])
            a[:low, low:k] += np.outer(a[:low, k], a[k, low:k])
        a[:low, :low] += a[:low, low:high] @ a[low:high, :low]
    law, lost = np.zeros(size), np.zeros(size)
    law[0] = 1
    with np.errstate(all="ignore"):
        for k in range(1, size):
            law[k] = law[:k] @ a[:k, k]
            # at most as much as this is lost near underflow, here and in the states before
            lost[k] = lost[:k] @ a[:k, k] + UNDERFLOW * (k + law[:k].sum() / totals[k])
            if law[k] > 1e200:
                law, lost = law / law[k], lost / law[k] + UNDERFLOW
    if not lost.sum() < ACCURATE * law.sum():
        raise AccuracyError("the chain falls apart too far for floats: use the exact method")
    return law / law.sum()
