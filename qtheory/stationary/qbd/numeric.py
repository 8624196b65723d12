"""The law of a level process at a rational point, in floats or in balls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from flint import arb, arb_mat, fmpq, fmpq_mat

from qtheory.stationary.floats.chain import ACCURATE, UNDERFLOW, AccuracyError
from qtheory.stationary.qbd.levels import Rates
from qtheory.stationary.qbd.numbers import objects
from qtheory.stationary.qbd.reduction import PrecisionError, ball_passages, float_passages

if TYPE_CHECKING:
    import numpy as np


class Solution(NamedTuple):
    """The law on the boundary and on the first group, and the matrices that carry it upwards.

    The group n groups above the first has the law ``group R^n``; `sums` is (I - R)^{-1}. The
    residual is the largest |(pi Q)_j|, divided by the largest rate out of a state.
    """

    residual: float
    boundary: np.ndarray
    group: np.ndarray
    R: np.ndarray
    G: np.ndarray
    sums: np.ndarray


def float_solution(rates: Rates, recurrent: list[int]) -> Solution:
    """The law in floating point."""
    import numpy as np

    values = np.array([int(rate.p) / int(rate.q) for rate in rates.rationals])
    blocks = {}
    for name, (shape, rows, columns, kinds) in rates.blocks.items():
        blocks[name] = np.zeros(shape)
        np.add.at(blocks[name], (rows, columns), values[kinds])
    up, level, down = (blocks[name] for name in ("A0", "A1", "A2"))
    level -= np.diag((up + level + down).sum(axis=1))
    inner = blocks["B00"]
    inner -= np.diag(inner.sum(axis=1) + blocks["B01"].sum(axis=1))
    passages = float_passages(up, level, down)
    m = len(level)
    times = np.linalg.inv(-(level + up @ passages))
    raised = up @ times
    sums = np.linalg.inv(np.eye(m) - raised)
    entered = blocks["B01"] @ times
    weights = boundary_weights(inner + entered @ blocks["B10"], recurrent)
    group = weights @ entered
    total = weights.sum() + (group @ sums).sum()
    weights, group = weights / total, group / total
    balance = [
        weights @ inner + group @ blocks["B10"],
        weights @ blocks["B01"] + group @ (level + raised @ down),
        group @ (up + raised @ (level + raised @ down)),
    ]
    fastest = max(-inner.diagonal().min(), -level.diagonal().min())
    residual = max(float(np.abs(part).max()) for part in balance) / fastest
    return Solution(residual, weights, group, raised, passages, sums)


def ball_solution(rates: Rates, recurrent: list[int], bits: int) -> Solution:
    """Balls that contain the law, about `bits` bits accurate, at the working precision.

    Raises `PrecisionError` where that precision does not do.
    """
    blocks = _exact_blocks(rates)
    up, level, down = (arb_mat(blocks[name]) for name in ("A0", "A1", "A2"))
    passages = ball_passages(up, level, down, arb(2) ** -bits)
    m = level.nrows()
    one = arb_mat(m, m, [arb(int(i == j)) for i in range(m) for j in range(m)])
    try:
        times = (-(level + up * passages)).inv()
        raised = up * times
        sums = (one - raised).inv()
    except ZeroDivisionError:
        raise PrecisionError("a matrix is not seen to be regular") from None
    inner, into, back = (arb_mat(blocks[name]) for name in ("B00", "B01", "B10"))
    entered = into * times
    censored = objects((inner + entered * back).tolist())
    weights = arb_mat([boundary_weights(censored, recurrent).tolist()])
    group = weights * entered
    total = sum(weights.entries(), arb(0)) + sum((group * sums).entries(), arb(0))
    if not total > 0:
        raise PrecisionError("the mass of the weights is not seen to be positive")
    weights, group = weights * (1 / total), group * (1 / total)
    balance = (
        (weights * inner + group * back).entries()
        + (weights * into + group * (level + raised * down)).entries()
        + (group * (up + raised * (level + raised * down))).entries()
    )
    fastest = max(-float(block[i, i]) for block in (inner, level) for i in range(block.nrows()))
    residual = max(float(abs(value).upper()) for value in balance) / fastest
    vectors = (objects(vector.entries()) for vector in (weights, group))
    matrices = (objects(matrix.tolist()) for matrix in (raised, passages, sums))
    return Solution(residual, *vectors, *matrices)


def boundary_weights(rates: np.ndarray, recurrent: list[int]) -> np.ndarray:
    """The stationary weights of a chain with one closed class, by state elimination.

    ``rates[i, j]`` is the rate from i to j != i; the diagonal is not used. States outside the
    class have weight zero. Only sums, products and quotients of rates occur (Grassmann, Taksar,
    Heyman 1985), so that small weights keep their relative accuracy. `AccuracyError` where floats
    lose too much near underflow.
    """
    import numpy as np

    work = rates[np.ix_(recurrent, recurrent)]
    # a ball that may be zero is neither equal nor unequal to zero
    linked = ~((work == 0) & (work.T == 0))
    np.fill_diagonal(linked, True)
    starts = np.argmax(linked, axis=1).tolist()
    totals = [work.flat[0] * 0] * len(work)
    for k in range(len(work) - 1, 0, -1):
        # what is left of the first neighbour has no entries, and gets none
        start = starts[k]
        starts[k - 1] = min(starts[k - 1], start)
        row, column = work[k, start:k], work[start:k, k]
        totals[k] = row.sum()
        column[:] = column / totals[k]
        work[start:k, start:k] += column[:, None] * row
    found = np.array([rates.flat[0] * 0] * len(work), dtype=rates.dtype)
    found[0] += 1
    for k in range(1, len(work)):
        found[k] = found[starts[k] : k] @ work[starts[k] : k, k]
    if work.dtype == float:
        _require_seen(found, work, totals)
    weights = np.array([found[0] * 0] * len(rates), dtype=rates.dtype)
    weights[recurrent] = found
    return weights


def _require_seen(found: np.ndarray, work: np.ndarray, totals: Sequence[float]) -> None:
    """Raise `AccuracyError` where much of the weights may be lost near underflow (see `gth`)."""
    import numpy as np

    lost = np.zeros(len(found))
    with np.errstate(all="ignore"):
        for k in range(1, len(found)):
            lost[k] = lost[:k] @ work[:k, k] + UNDERFLOW * (k + found[:k].sum() / totals[k])
    if not lost.sum() < ACCURATE * found.sum():
        raise AccuracyError("the chain falls apart too far for floats: give the digits to prove")


def _exact_blocks(rates: Rates) -> dict[str, fmpq_mat]:
    """The blocks with their diagonals, as rational numbers."""
    found = {}
    for name, (shape, *_) in rates.blocks.items():
        found[name] = fmpq_mat(*shape)
        for i, j, kind in rates.entries(name):
            found[name][i, j] += rates.rationals[kind]
    for diagonal, names in {"A1": ("A0", "A1", "A2"), "B00": ("B00", "B01")}.items():
        exits: dict[int, fmpq] = {}
        for i, _, kind in rates.entries(*names):
            exits[i] = exits.get(i, fmpq(0)) + rates.rationals[kind]
        for i, total in exits.items():
            found[diagonal][i, i] -= total
    return found
