"""Stationary vector in floating point, the shorter queue of capacity K per queue, mu = 1, p = 1/2.

"sparse" solves the given generator of the two queues (x1, x2), no structure used; "truncation" is
the adaptive window of `stationary(model, at=...)` on the infinite chain, model building included,
which must come within 1e-12 in total variation. Peers get the same finished generator: scipy
`spsolve` with one balance equation replaced by the normalisation, ARPACK around zero
(shift-invert), the dense elimination of QuantEcon, and Storm's default solver, one probability.
Each solve has its own process and one thread. Times are the best of five runs, or of those that
start within 5 s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from benchmarks._storm import long_run
from benchmarks._timing import elsewhere, installed, row, seconds

CAP = 90.0
"""Seconds after which a solve is stopped."""


def generator(capacity: int, lam: float) -> Any:
    """The generator on (x1, x2), 0 <= x <= K, rows sum to zero."""
    import numpy as np
    from scipy.sparse import csr_array, diags_array

    side = capacity + 1
    x, y = np.divmod(np.arange(side * side), side)
    # misrouted with probability p = 1/2: a quarter of the jobs join the longer queue
    first = lam * np.where(x == y, 0.5, np.where(x < y, 0.75, 0.25))
    moves = [(x < capacity, side, first), (y < capacity, 1, lam - first)]
    moves += [(x > 0, -side, np.ones_like(first)), (y > 0, -1, np.ones_like(first))]
    rows = np.concatenate([np.flatnonzero(possible) for possible, _, _ in moves])
    columns = np.concatenate([np.flatnonzero(possible) + step for possible, step, _ in moves])
    rates = np.concatenate([rate[possible] for possible, _, rate in moves])
    matrix = csr_array((rates, (rows, columns)), shape=(side * side, side * side))
    return (matrix - diags_array(matrix.sum(axis=1))).tocsr()


def _sparse(capacity: int, lam: float) -> Callable[[], Any]:
    from qtheory.stationary.floats.sparse import solve

    matrix = generator(capacity, lam)
    return lambda: solve(matrix)


def _truncation(capacity: int, lam: float) -> Callable[[], Any]:
    from qtheory.stationary import truncated_law
    from qtheory.systems import shorter_queue as sq

    point = {"lambda": str(lam), "mu": 1, "p": "1/2"}
    model = sq.model()
    return lambda: truncated_law(model, point)


def _matrix_geometric(capacity: int, lam: float) -> Callable[[], Any]:
    from qtheory.stationary import matrix_geometric
    from qtheory.systems import shorter_queue as sq

    point = {"lambda": str(lam), "mu": 1, "p": "1/2"}
    model = sq.threshold_jockeying_model(60)
    return lambda: matrix_geometric(model, point)


def _spsolve(capacity: int, lam: float) -> Callable[[], Any]:
    import numpy as np
    from scipy.sparse import csc_array, vstack
    from scipy.sparse.linalg import spsolve

    matrix = generator(capacity, lam)
    size = matrix.shape[0]
    balance = csc_array(vstack([matrix.T.tocsr()[:-1], np.ones((1, size))]))
    right = np.zeros(size)
    right[-1] = 1
    return lambda: spsolve(balance, right)


def _arpack(capacity: int, lam: float) -> Callable[[], Any]:
    from scipy.sparse.linalg import eigs

    matrix = generator(capacity, lam).T.tocsc()
    # a shift of exactly zero makes the factor singular
    return lambda: eigs(matrix, k=1, sigma=1e-12)


def _quantecon(capacity: int, lam: float) -> Callable[[], Any]:
    from quantecon.markov.gth_solve import gth_solve

    matrix = generator(capacity, lam).toarray()
    return lambda: gth_solve(matrix)


def _storm(capacity: int, lam: float) -> Callable[[], Any]:
    text = f"""ctmc
module queues
  x : [0..{capacity}] init 0; y : [0..{capacity}] init 0;
  <> x<{capacity} -> {lam} * (x=y ? 0.5 : (x<y ? 0.75 : 0.25)) : (x'=x+1);
  <> y<{capacity} -> {lam} * (x=y ? 0.5 : (y<x ? 0.75 : 0.25)) : (y'=y+1);
  <> x>0 -> 1 : (x'=x-1);
  <> y>0 -> 1 : (y'=y-1);
endmodule"""
    return long_run(text, "x=0 & y=0")


SOLVERS: dict[str, Callable[[int, float], Callable[[], Any]]] = {
    "sparse": _sparse,
    "truncation": _truncation,
    "matrix-geometric, d <= 60": _matrix_geometric,
    "scipy spsolve": _spsolve,
    "ARPACK shift-invert": _arpack,
    "QuantEcon gth_solve": _quantecon,
    "Storm, one state": _storm,
}
NEEDS = {"QuantEcon gth_solve": "quantecon", "Storm, one state": "stormpy"}


def run() -> list[dict[str, str]]:
    """The rows of the table; a peer that was out at one size is left out at the next."""
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = []
    peers = [p for p in list(SOLVERS)[3:] if p not in NEEDS or installed(NEEDS[p])]
    for capacity, lam in ((30, 1.0), (100, 1.0), (100, 1.8), (300, 1.0), (300, 1.8), (1000, 1.8)):
        time: dict[str, float | None] = {}
        for solver in (*list(SOLVERS)[:3], *peers):
            time[solver] = elsewhere("benchmarks.numeric_vector", capacity, lam, solver, cap=CAP)
            if time[solver] is None and solver in peers:
                peers.remove(solver)
        for own in list(SOLVERS)[:3]:
            for peer in [p for p in time if p in list(SOLVERS)[3:]]:
                work = f"K = {capacity}, lambda = {lam}, {own}"
                if time[own] is not None:
                    rows.append(row(work, time[own], peer, time[peer], CAP))
    return rows


if __name__ == "__main__":
    chain_capacity, chain_lam, chosen = sys.argv[1:]
    print(seconds(SOLVERS[chosen](int(chain_capacity), float(chain_lam))))
