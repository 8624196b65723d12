"""Whole stationary vector over QQ(parameters), canonical and checked, against symbolic peers.

Both sides start from the finished generator. qtheory returns fractions in lowest terms and checks
them, and so are those of DomainMatrix over the polynomial ring, SymPy's fastest path, cancelled.
The answers of `limiting_distribution` and markon are left as they come, and Storm gives one
probability only, since it refuses the vector of a parametric chain. SymPy runs with its default
ground types on sparse matrices. Each solve has its own process. Times are the best of five runs,
or of those that start within 5 s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import sympy as sp

from benchmarks._chains import CHAINS, Chain, matrix
from benchmarks._storm import long_run
from benchmarks._timing import elsewhere, installed, row, seconds

CAP = 40.0
"""Seconds after which a solve is stopped."""


def _qtheory(chain: Chain) -> Callable[[], Any]:
    from qtheory.model import table_from_matrix
    from qtheory.stationary import exact_law

    table = table_from_matrix(matrix(chain))
    return lambda: exact_law(table)


def _limiting_distribution(chain: Chain) -> Callable[[], Any]:
    from sympy.stats import ContinuousMarkovChain

    generator = matrix(chain)
    states = list(range(generator.rows))
    found = ContinuousMarkovChain("C", state_space=states, gen_mat=sp.ImmutableMatrix(generator))
    return found.limiting_distribution


def _domain_matrix(chain: Chain) -> Callable[[], Any]:
    from sympy.polys.matrices import DomainMatrix

    balance = matrix(chain).T[:-1, :]
    ring = sp.QQ[sorted(balance.free_symbols, key=str)]
    equations = DomainMatrix.from_Matrix(balance).convert_to(ring).to_sparse()
    rows, columns = equations.shape
    left = equations.extract(range(rows), range(1, columns))
    right = -equations.extract(range(rows), [0])

    def solve() -> list[Any]:
        found, below = left.solve_den(right)
        weights = [below, *found.to_list_flat()]
        total = sum(weights, ring.zero)
        return [weight.cancel(total) for weight in weights]

    return solve


def _markon(chain: Chain) -> Callable[[], Any]:
    from markon import solve_ctmc

    named = {(f"s{i}", f"s{j}"): rate for (i, j), rate in chain.items()}
    # in the order of the chain: markon's own order changes from run to run, and some orders fail
    states = [f"s{i}" for i in range(1 + max(map(max, chain)))]
    return lambda: solve_ctmc(named, states)


def _storm(chain: Chain) -> Callable[[], Any]:
    size = 1 + max(map(max, chain))
    found = sorted(matrix(chain).free_symbols, key=str)
    names = {symbol: sp.Symbol(f"x{k}") for k, symbol in enumerate(found)}
    lines = [
        "ctmc",
        *(f"const double {name};" for name in names.values()),
        f"module chain s : [0..{size - 1}] init 0;",
        *(f"<> s={i} -> {rate.xreplace(names)} : (s'={j});" for (i, j), rate in chain.items()),
        "endmodule",
    ]
    return long_run("\n".join(lines), "s=0", parametric=True)


SOLVERS: dict[str, Callable[[Chain], Callable[[], Any]]] = {
    "qtheory": _qtheory,
    "SymPy limiting_distribution": _limiting_distribution,
    "SymPy DomainMatrix, cancelled": _domain_matrix,
    "markon": _markon,
    "stormpy, one state": _storm,
}
NEEDS = {"markon": "markon", "stormpy, one state": "stormpy"}


def run() -> list[dict[str, str]]:
    """The rows of the table; a peer that was out at one size is left out at the next."""
    rows = []
    for name, (_, sizes) in CHAINS.items():
        left = [s for s in SOLVERS if s != "qtheory" and (s not in NEEDS or installed(NEEDS[s]))]
        for size in sizes:
            own = elsewhere("benchmarks.exact_vector", name, size, "qtheory", cap=CAP)
            if own is None:
                break
            for peer in list(left):
                theirs = elsewhere("benchmarks.exact_vector", name, size, peer, cap=CAP)
                if theirs is None:
                    left.remove(peer)
                rows.append(row(f"{name} = {size}", own, peer, theirs, CAP))
            if not left:
                alone = {"peer": "none finished a smaller one", "peer (s)": "", "ratio": ""}
                rows.append({"work": f"{name} = {size}", "qtheory (s)": f"{own:.2g}"} | alone)
    return rows


if __name__ == "__main__":
    chain_name, chain_size, solver = sys.argv[1:]
    print(seconds(SOLVERS[solver](CHAINS[chain_name][0](int(chain_size)))))
