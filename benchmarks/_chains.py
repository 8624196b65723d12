"""The symbolic chains that the benchmarks solve, as transitions {(state, state): rate}."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

Chain = dict[tuple[int, int], sp.Expr]
lam, mu, p, mu1, mu2 = sp.symbols("lambda mu p mu_1 mu_2", positive=True)


def _chain(states: list[Any], moves: Callable[..., list[tuple[Any, sp.Expr]]]) -> Chain:
    """Moves out of the list of states are dropped; parallel ones are added."""
    position = {state: i for i, state in enumerate(states)}
    found: Chain = {}
    for state, i in position.items():
        for target, rate in moves(*state):
            if target in position:
                arc = (i, position[target])
                found[arc] = found.get(arc, 0) + rate
    return found


def mm1k(size: int) -> Chain:
    """M/M/1/K, birth rate lambda and death rate mu."""
    states = [(n,) for n in range(size + 1)]
    return _chain(states, lambda n: [((n + 1,), lam), ((n - 1,), mu)])


def shorter_queue(size: int) -> Chain:
    """The shorter queue under attack, states (min, difference) with m + d <= K."""

    def moves(m: int, d: int) -> list[tuple[Any, sp.Expr]]:
        if d == 0:
            return [((m, 1), lam), ((m - 1, 1), 2 * mu)]
        return [
            ((m + 1, d - 1), lam * (1 - p / 2)),
            ((m, d + 1), lam * p / 2),
            ((m, d - 1), mu),
            ((m - 1, d + 1), mu),
        ]

    return _chain([(m, d) for m in range(size + 1) for d in range(size + 1 - m)], moves)


def _two_queues(size: int, smart: sp.Expr, other: sp.Expr, tie: Any, service: Any) -> Chain:
    """Two queues of capacity K: `smart` and `other` are the rates to the shorter and the longer."""

    def moves(x: int, y: int) -> list[tuple[Any, sp.Expr]]:
        first = tie if x == y else (smart if x < y else other)
        second = smart + other - first
        return [
            ((x + 1, y), first),
            ((x, y + 1), second),
            ((x - 1, y), service[0]),
            ((x, y - 1), service[1]),
        ]

    return _chain([(x, y) for x in range(size + 1) for y in range(size + 1)], moves)


def shorter_queue_unlumped(size: int) -> Chain:
    """The shorter queue under attack, states (x1, x2) up to K each."""
    return _two_queues(size, lam * (1 - p / 2), lam * p / 2, lam / 2, (mu, mu))


def two_queues(size: int) -> Chain:
    """The shorter of two queues with different servers; ties go to the first with probability p."""
    return _two_queues(size, lam, sp.Integer(0), lam * p, (mu1, mu2))


def ring(size: int) -> Chain:
    """A ring of n states with 2 n symbols."""
    up, down = sp.symbols(f"a:{size}", positive=True), sp.symbols(f"b:{size}", positive=True)
    states = [(i,) for i in range(size)]
    return _chain(states, lambda i: [(((i + 1) % size,), up[i]), (((i - 1) % size,), down[i])])


CHAINS: dict[str, tuple[Callable[[int], Chain], tuple[int, ...]]] = {
    "M/M/1/K": (mm1k, (10, 40, 400)),
    "shorter queue, (min, difference), K": (shorter_queue, (3, 4, 5, 6, 8, 12)),
    "shorter queue, (x1, x2), K": (shorter_queue_unlumped, (3, 4)),
    "two queues, 4 symbols, K": (two_queues, (2, 3, 4)),
    "ring, 2n symbols, n": (ring, (3, 5, 7, 40)),
}


def matrix(chain: Chain) -> sp.SparseMatrix:
    """The generator (rows sum to zero)."""
    size = 1 + max(map(max, chain))
    entries = dict(chain)
    for (i, _), rate in chain.items():
        entries[i, i] = entries.get((i, i), 0) - rate
    return sp.SparseMatrix(size, size, entries)
