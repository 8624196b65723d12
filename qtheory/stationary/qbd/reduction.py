"""The passage probabilities of a level process, by logarithmic reduction.

G[i, j] is the probability that the group below is entered in phase j, starting in phase i. With
H = -A1^{-1} A0, L = -A1^{-1} A2 and, from step to step,

    U = H L + L H,   H <- (I - U)^{-1} H^2,   L <- (I - U)^{-1} L^2,

G is the sum of the products H_0 H_1 ... H_{k-1} L_k. After k steps the sum counts the passages
that stay below 2^k groups: it increases to G.

G. Latouche, V. Ramaswami, "A logarithmic reduction algorithm for quasi-birth-death processes",
J. Appl. Probab. 30 (1993).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb, arb_mat

if TYPE_CHECKING:
    import numpy as np

STEPS = 60
"""More than enough: passages below 2^60 groups."""


class PrecisionError(ArithmeticError):
    """The working precision is too small."""


def float_passages(up: np.ndarray, level: np.ndarray, down: np.ndarray) -> np.ndarray:
    """G in floating point, for a level that drifts down: its rows sum to about one."""
    import numpy as np

    inverse = np.linalg.inv(-level)
    h, lower = inverse @ up, inverse @ down
    passages, ahead, missing = lower, h, np.inf
    for _ in range(STEPS):
        defect = float(np.abs(1 - passages.sum(axis=1)).max())
        # quadratic until rounding stops it
        if defect <= 1e-15 or (defect < 1e-8 and defect >= missing / 2):
            break
        missing = defect
        u = h @ lower + lower @ h
        inverse = np.linalg.inv(np.eye(len(u)) - u)
        h, lower = inverse @ (h @ h), inverse @ (lower @ lower)
        passages = passages + ahead @ lower
        ahead = ahead @ h
    return passages / passages.sum(axis=1, keepdims=True)


def ball_passages(up: arb_mat, level: arb_mat, down: arb_mat, tolerance: arb) -> arb_mat:
    """Balls that contain G, at the current working precision.

    For a level that drifts down the rows of G sum to one exactly, and the sums are below G in
    every entry. So what a row misses of one bounds the error of each of its entries: the balls
    hold G, and are a proof. Raises `PrecisionError` where the rows miss more than the tolerance.
    """
    m = level.nrows()
    one = arb_mat(m, m, [arb(int(i == j)) for i in range(m) for j in range(m)])
    try:
        h, lower = _halves((-level).solve(_beside(up, down)))
        passages, ahead, missing = lower, h, None
        for _ in range(STEPS):
            defects = [_upper(1 - sum(row, arb(0))) for row in passages.tolist()]
            worst = max(defects, key=float)
            if worst < tolerance:
                return _widened(passages, defects)
            if missing is not None and missing < 1e-3 and not worst < missing:
                break
            missing = worst
            u = h * lower + lower * h
            h, lower = _halves((one - u).solve(_beside(h * h, lower * lower)))
            passages = passages + ahead * lower
            ahead = ahead * h
    except ZeroDivisionError:
        pass
    raise PrecisionError("the working precision does not separate G from its truncation")


def _upper(value: arb) -> arb:
    """The upper end of a ball."""
    return arb(value.upper())


def _widened(passages: arb_mat, defects: list[arb]) -> arb_mat:
    """The matrix with [0, defect] added to the entries of each row."""
    rows = []
    for row, defect in zip(passages.tolist(), defects, strict=True):
        half = defect / 2
        spread = arb(half, half.upper())
        rows.append([value + spread for value in row])
    return arb_mat(rows)


def _beside(left: arb_mat, right: arb_mat) -> arb_mat:
    return arb_mat([a + b for a, b in zip(left.tolist(), right.tolist(), strict=True)])


def _halves(both: arb_mat) -> tuple[arb_mat, arb_mat]:
    m = both.nrows()
    rows = both.tolist()
    return arb_mat([row[:m] for row in rows]), arb_mat([row[m:] for row in rows])
