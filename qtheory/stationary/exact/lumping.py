"""States that must have equal probabilities: the coarsest exact lumping of a chain.

If, within each block of a partition, all states have the same total rate out of the state and
the same rate in from every block, the balance equations have a solution that is constant on the
blocks (P. Buchholz, "Exact and ordinary lumpability in finite Markov chains", Journal of Applied
Probability 31 (1994)). Two equal queues have about half as many blocks as states.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from qtheory.arithmetic import Ratio, Ring

_PRIME = 2**61 - 1


def exact_lumping(ring: Ring, rows: Sequence[Mapping[int, Ratio]]) -> list[list[int]]:
    """The blocks of states that balance alike, each in order, by their first states.

    ``rows[i][j]`` is the rate from i to j != i. Rates are compared at a random point modulo a
    prime: they are taken as equal, though different, with probability about 10^-15.

    >>> from qtheory.model import table_from_matrix
    >>> table = table_from_matrix([["-2*a", "a", "a"], ["b", "-b", 0], ["b", 0, "-b"]])
    >>> exact_lumping(table.ring, table.rows)
    [[0], [1, 2]]
    """
    values = _values(ring, rows)
    block_of, blocks = [0] * len(rows), {0: set(range(len(rows)))}
    pending: set[int] = set()
    _split(block_of, blocks, pending, [sum(row.values()) % _PRIME for row in values])
    pending.update(blocks)
    while pending and len(blocks) < len(rows):
        inflow: dict[int, int] = defaultdict(int)
        for i in blocks[pending.pop()]:
            for j, rate in values[i].items():
                inflow[j] = (inflow[j] + rate) % _PRIME
        _split(block_of, blocks, pending, inflow)
    return sorted(sorted(block) for block in blocks.values())


def lumped_rates(
    ring: Ring, rows: Sequence[Mapping[int, Ratio]], blocks: Sequence[Sequence[int]]
) -> list[dict[int, Ratio]]:
    """A chain on the blocks whose weights are those of each state in the block.

    The rate from one block to another is the sum of the rates between their states.
    """
    block_of = {i: b for b, block in enumerate(blocks) for i in block}
    found: list[dict[int, Ratio]] = [{} for _ in blocks]
    for i, row in enumerate(rows):
        into = found[block_of[i]]
        for j, rate in row.items():
            target = block_of[j]
            if target != block_of[i]:
                into[target] = into[target] + rate if target in into else rate
    return found


def _split(
    block_of: list[int],
    blocks: dict[int, set[int]],
    pending: set[int],
    values: Mapping[int, int] | Sequence[int],
) -> None:
    """Split the blocks by the values of their states, zero where there is none."""
    items = values.items() if isinstance(values, Mapping) else enumerate(values)
    parts: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for state, value in items:
        if value:
            parts[block_of[state]][value].append(state)
    for block, groups in parts.items():
        rest = len(blocks[block]) - sum(map(len, groups.values()))
        moved = sorted(groups.values(), key=len)
        # A block that has split others need not do so again for its largest part: the rates from
        # it are those from the block less those from the other parts.
        if rest == 0:
            moved.pop()
        elif rest < len(moved[-1]):
            pending.add(block)
        for states in moved:
            new = len(blocks)
            blocks[new] = set(states)
            blocks[block] -= blocks[new]
            pending.add(new)
            for state in states:
                block_of[state] = new


def _values(ring: Ring, rows: Sequence[Mapping[int, Ratio]]) -> list[dict[int, int]]:
    draw = random.Random(1)
    point = [draw.randrange(1, _PRIME) for _ in ring.names]

    def value(rate: Ratio) -> int:
        above = int(rate.num(*point)) % _PRIME
        return (
            above if rate.den.is_one() else above * pow(int(rate.den(*point)), -1, _PRIME) % _PRIME
        )

    return [{j: value(rate) for j, rate in row.items()} for row in rows]
