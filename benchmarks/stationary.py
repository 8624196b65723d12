"""Whole stationary vector of the shorter queue over QQ(lambda, mu, p), against SymPy.

States (m, d) = (shorter queue, difference) with m + d <= K. Both sides start from the finished
generator and solve it in full; qtheory returns canonical fractions and checks them, the peers'
are not cancelled further. SymPy runs with its default ground types. Matrices are sparse, each
peer has its own process. Times are the best of five runs, or of those that start within 5 s.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import sympy as sp

SIZES = (3, 4, 5, 6)
CAP = 40.0
"""Seconds after which a peer is stopped."""


def shorter_queue_matrix(size: int) -> sp.SparseMatrix:
    """The generator (rows sum to zero) with transitions that leave the window dropped."""
    lam, mu, p = sp.symbols("lambda mu p", positive=True)
    states = [(m, d) for m in range(size + 1) for d in range(size + 1 - m)]
    position = {state: i for i, state in enumerate(states)}
    matrix = sp.zeros(len(states), len(states))
    for (m, d), i in position.items():
        if d == 0:
            moves = [((m, 1), lam), ((m - 1, 1), 2 * mu)]
        else:
            moves = [
                ((m + 1, d - 1), lam * (1 - p / 2)),
                ((m, d + 1), lam * p / 2),
                ((m, d - 1), mu),
                ((m - 1, d + 1), mu),
            ]
        for target, rate in moves:
            if target in position:
                matrix[i, position[target]] += rate
                matrix[i, i] -= rate
    return matrix


def _limiting_distribution(matrix: Any) -> Callable[[], Any]:
    from sympy.stats import ContinuousMarkovChain

    states = list(range(matrix.rows))
    chain = ContinuousMarkovChain("C", state_space=states, gen_mat=sp.ImmutableMatrix(matrix))
    return chain.limiting_distribution


def _balance(matrix: Any, domain: Any) -> tuple[Any, Any]:
    """The balance equations without the last; all columns, and the columns with pi_0 = 1."""
    from sympy.polys.matrices import DomainMatrix

    symbols = sorted(matrix.free_symbols, key=str)
    field = sp.QQ.frac_field(*symbols) if domain == "field" else sp.QQ[symbols]
    return (
        DomainMatrix.from_Matrix(matrix.T).convert_to(field).to_sparse(),
        DomainMatrix.from_Matrix(matrix.T[:-1, :]).convert_to(field).to_sparse(),
    )


def _rref(matrix: Any, domain: str) -> Callable[[], Any]:
    whole, _ = _balance(matrix, domain)
    return whole.rref_den


def _nullspace(matrix: Any, domain: str) -> Callable[[], Any]:
    whole, _ = _balance(matrix, domain)
    return whole.nullspace


def _solve(matrix: Any, domain: str) -> Callable[[], Any]:
    _, equations = _balance(matrix, domain)
    rows, columns = equations.shape
    left = equations.extract(range(rows), range(1, columns))
    right = -equations.extract(range(rows), [0])
    return lambda: left.solve_den(right)


PEERS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "limiting_distribution": _limiting_distribution,
    "DomainMatrix ring solve_den": lambda matrix: _solve(matrix, "ring"),
    "DomainMatrix ring rref_den": lambda matrix: _rref(matrix, "ring"),
    "DomainMatrix ring nullspace": lambda matrix: _nullspace(matrix, "ring"),
    "DomainMatrix field solve_den": lambda matrix: _solve(matrix, "field"),
    "DomainMatrix field nullspace": lambda matrix: _nullspace(matrix, "field"),
}


def _seconds(solve: Callable[[], Any]) -> float:
    """The best of five runs; no further run is begun after five seconds."""
    best, begin = float("inf"), time.perf_counter()
    for _ in range(5):
        start = time.perf_counter()
        solve()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > 5:
            break
    return best


def _own_seconds(size: int) -> float:
    from qtheory.model import table_from_matrix
    from qtheory.stationary import exact_law

    table = table_from_matrix(shorter_queue_matrix(size))
    return _seconds(lambda: exact_law(table))


def _peer_seconds(size: int, peer: str) -> float | None:
    """The time of a peer in its own process, None when it exceeds the cap."""
    command = [sys.executable, "-m", "benchmarks.stationary", str(size), peer]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CAP, check=True)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout)


def run() -> list[dict[str, str]]:
    """The rows of the table; a peer that was out at one size is left out at the next."""
    rows = []
    out: set[str] = set()
    for size in SIZES:
        own = _own_seconds(size)
        for peer in PEERS:
            if peer in out:
                continue
            theirs = _peer_seconds(size, peer)
            if theirs is None:
                out.add(peer)
            rows.append(
                {
                    "work": f"K = {size}, {(size + 1) * (size + 2) // 2} states",
                    "qtheory (s)": f"{own:.2g}",
                    "peer": f"SymPy {peer}",
                    "peer (s)": "out" if theirs is None else f"{theirs:.2g}",
                    "ratio": f"> {CAP / own:.0f}" if theirs is None else f"{theirs / own:.0f}",
                }
            )
    return rows


if __name__ == "__main__":
    print(_seconds(PEERS[sys.argv[2]](shorter_queue_matrix(int(sys.argv[1])))))
