"""The order in which the states of a sparse chain are eliminated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush


def minimum_degree_order(rows: Sequence[Iterable[int]]) -> list[int]:
    """An order of the states in which eliminating each one adds few new transitions.

    ``rows[i]`` holds the states to which state i has a transition.

    >>> minimum_degree_order([{1}, {0, 2, 3}, {1}, {1}])
    [3, 2, 1, 0]
    """
    targets = [set(row) for row in rows]
    sources = sources_of(rows)

    def degree(k: int) -> tuple[int, int, int]:
        # among equals the last state: on boxes, from the far corner, this was fastest
        return len(targets[k]) * len(sources[k]), len(targets[k]) + len(sources[k]), -k

    heap = [degree(k) for k in range(len(rows))]
    heapify(heap)
    gone = [False] * len(rows)
    order = []
    while heap:
        found = heappop(heap)
        k = -found[2]
        if gone[k] or found != degree(k):
            continue
        gone[k] = True
        order.append(k)
        for i in sources[k]:
            targets[i].discard(k)
            targets[i] |= targets[k] - {i}
        for j in targets[k]:
            sources[j].discard(k)
            sources[j] |= sources[k] - {j}
        for i in sources[k] | targets[k]:
            heappush(heap, degree(i))
    return order


def sources_of(rows: Sequence[Iterable[int]]) -> list[set[int]]:
    """For each state, the states with a transition to it."""
    found: list[set[int]] = [set() for _ in rows]
    for i, row in enumerate(rows):
        for j in row:
            found[j].add(i)
    return found
