"""A finite chain in floating point: its rates off the diagonal and the states that recur."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from qtheory.errors import ModelError, NonConservativeError, QTheoryError, ReducibleError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

ROUNDING = 2.0**-40
"""How far a row may miss its sum, relative to its largest entry."""

SHOWN = 3
"""How many classes, and states of one, a message names."""


UNDERFLOW = 2.0**-1074
"""The largest error of one rounding of a number near zero."""

ACCURATE = 1e-12
"""The largest share of the mass that may be lost near underflow."""

RANGE = 1e150
"""The largest quotient of two rates: products and quotients of some of them stay representable."""


class AccuracyError(QTheoryError):
    """Rounding errors leave no correct digits."""


def require_range(rates: csr_array) -> None:
    """Raise `AccuracyError` where floats do not span the rates, which would become 0 unseen."""
    if not rates.nnz:
        return
    low, high = float(rates.data.min()), float(rates.data.max())
    if high / RANGE > low:
        raise AccuracyError(
            f"rates from {low:.3g} to {high:.3g} span too much for floats: use the exact method"
        )


def rates_of_matrix(matrix: Any) -> csr_array:
    """The rates between different states, from a generator or a transition matrix.

    Entry (i, j) leads from state i to state j. Rows sum to zero (rates) or to one
    (probabilities); both kinds have the same stationary law for the same rates. The matrix is a
    nested list, or one of NumPy, SciPy or SymPy, without symbols.

    >>> rates_of_matrix([[-1, 1], [2, -2]]).toarray().tolist()
    [[0.0, 1.0], [2.0, 0.0]]

    Raises `NonConservativeError` for a row with another sum, and `ModelError` for a negative rate
    and for what is no square matrix of numbers.
    """
    import numpy as np
    from scipy.sparse import csr_array

    if np.iscomplexobj(matrix):
        raise ModelError("the matrix has complex entries")
    whole = csr_array(matrix, dtype=float) if hasattr(matrix, "tocsr") else _dense(matrix)
    rows, columns = whole.shape
    if rows != columns:
        raise ModelError(f"the matrix is not square: {rows} rows, {columns} columns")
    if not np.isfinite(whole.data).all():
        raise ModelError("the matrix has an entry that is not a finite number")
    whole.sum_duplicates()
    slack = ROUNDING * abs(whole).max(axis=1).toarray().ravel()
    sums = np.asarray(whole.sum(axis=1)).ravel()
    # large rates have a slack of more than one
    stochastic = (abs(sums - 1) <= slack).all() and not (abs(sums) <= slack).all()
    for i in np.flatnonzero(abs(sums) > slack)[: 0 if stochastic else 1]:
        raise NonConservativeError(
            f"row {i} sums to {sums[i]:g}: all rows must sum to 0 (rates) or 1 (probabilities)"
        )
    entries = whole.tocoo()
    source, target = entries.coords
    negative = (entries.data < 0) & ((source != target) | stochastic)
    for k in np.flatnonzero(negative)[:1]:
        raise ModelError(
            f"negative rate {entries.data[k]:g} from state {source[k]} to state {target[k]}"
        )
    kept = (source != target) & (entries.data > 0)
    return csr_array((entries.data[kept], (source[kept], target[kept])), shape=whole.shape)


def _dense(matrix: Any) -> csr_array:
    import numpy as np
    from scipy.sparse import csr_array

    try:
        numbers = np.array(getattr(matrix, "tolist", lambda: matrix)(), dtype=float)
    except (TypeError, ValueError):
        raise ModelError("not a matrix of numbers: give symbols their values first") from None
    if not numbers.size:
        raise ModelError("the matrix has no states")
    if numbers.ndim != 2:
        raise ModelError(f"not a matrix: an array of {numbers.ndim} dimensions")
    return csr_array(numbers)


def recurrent_states(rates: csr_array, name: Callable[[int], Hashable] = int) -> np.ndarray:
    """The positions of the one closed class, in order.

    Raises `ReducibleError` that names the classes where there are several: the stationary law is
    then not unique.
    """
    import numpy as np
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(rates, directed=True, connection="strong")
    closed = np.ones(count, dtype=bool)
    source, target = rates.tocoo().coords
    closed[label[source[label[source] != label[target]]]] = False
    if closed.sum() > 1:
        first: dict[int, int] = {}
        for i in np.flatnonzero(closed[label]):
            first.setdefault(int(label[i]), int(i))
            if len(first) > SHOWN:
                break
        classes = [_class_text(np.flatnonzero(label == k), name) for k in first][:SHOWN]
        more = ", ..." if closed.sum() > SHOWN else ""
        raise ReducibleError(
            f"no unique stationary law: {closed.sum()} closed classes {', '.join(classes)}{more}"
        )
    return np.flatnonzero(closed[label])


def _class_text(positions: np.ndarray, name: Callable[[int], Hashable]) -> str:
    shown = ", ".join(str(name(int(i))) for i in positions[:SHOWN])
    return f"{{{shown}{', ...' if len(positions) > SHOWN else ''}}}"
