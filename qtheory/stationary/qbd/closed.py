"""Level processes whose rate matrix R has entries in QQ(parameters).

In general R solves a quadratic matrix equation and its entries are algebraic. They are rational
in the parameters in three cases:

- A2 has rank one, A2 = a v with v 1 = 1: the group below is always entered with the law v, so
  that G = 1 v and R = A0 (-(A1 + A0 G))^{-1};
- A0 has rank one, A0 = c r: R = c rho has the one nonzero eigenvalue eta = rho c, a root of
  det(A0 + z A1 + z^2 A2), and rho = -r (A1 + eta A2)^{-1}; a rational root does;
- the phase moves one way only: in that order of the phases R is triangular, its diagonal solves
  scalar quadratic equations, and the other entries follow linearly.

V. Ramaswami, G. Latouche, "A general class of Markov processes with explicit matrix-geometric
solutions", OR Spektrum 8 (1986).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, by_power, irreducible_factors, lowest_terms
from qtheory.errors import CertificateError, ModelError
from qtheory.model.rates import RateTable
from qtheory.stationary.exact.solve import exact_law
from qtheory.stationary.qbd.levels import Levels, Rates
from qtheory.stationary.qbd.numbers import objects
from qtheory.stationary.qbd.numeric import Solution

if TYPE_CHECKING:
    import numpy as np

    from qtheory.domain import Domain

DETERMINANT_LIMIT = 10
"""The most states of a group for which the eigenvalues of R are looked for."""


def closed_solution(found: Levels, rates: Rates) -> Solution:
    """The law over QQ(parameters), for a level that drifts down on the domain.

    R solves its equation and has its eigenvalues in [0, 1), so that the law is summable, and a
    chain with one recurrent class has only one summable invariant law. Raises
    `ModelError` where R is not seen to be rational in the parameters, and `ReducibleError` for
    several closed classes. The balance of all states is checked as identities in the parameters.
    """
    blocks = _blocks(rates)
    up, level, down = blocks["A0"], blocks["A1"], blocks["A2"]
    v = _common_row(down)
    if v is not None:
        passages = objects([v.tolist()] * len(level))
        times = inverse(-(level + up @ passages))
        raised = up @ times
    else:
        raised = _rate_matrix(found, rates.ring, up, level, down)
        times = inverse(-(level + raised @ down))
        passages = times @ down
    if not all(entry.num.is_zero() for entry in (up + raised @ (level + raised @ down)).flat):
        raise CertificateError("R does not solve its equation")
    sums = inverse(_identity(rates.ring, len(level)) - raised)
    entered = blocks["B01"] @ times
    weights = _boundary_weights(rates.ring, blocks["B00"] + entered @ blocks["B10"])
    group = weights @ entered
    total = weights.sum() + (group @ sums).sum()
    weights, group = objects([w / total for w in weights]), objects([w / total for w in group])
    balance = [
        *(weights @ blocks["B00"] + group @ blocks["B10"]),
        *(weights @ blocks["B01"] + group @ (level + raised @ down)),
    ]
    if not all(entry.num.is_zero() for entry in balance):
        raise CertificateError("the law does not balance at the boundary")
    return Solution(0.0, weights, group, raised, passages, sums)


def inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a matrix over QQ(parameters); `ZeroDivisionError` where there is none."""
    size = len(matrix)
    rows = [list(row) for row in matrix.tolist()]
    zero = rows[0][0] - rows[0][0]
    one = Ratio(zero.den, zero.den)
    rows = [row + [one if i == j else zero for j in range(size)] for i, row in enumerate(rows)]
    for k in range(size):
        _pivot(rows, k)
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k:
                _subtract(rows, i, k, rows[i][k])
    return objects([row[size:] for row in rows])


def _determinant(matrix: list[list[Ratio]]) -> Ratio:
    """The determinant up to its sign."""
    rows = [list(row) for row in matrix]
    for k in range(len(rows)):
        _pivot(rows, k)
        for i in range(k + 1, len(rows)):
            _subtract(rows, i, k, rows[i][k] / rows[k][k])
    return prod((row[k] for k, row in enumerate(rows[1:], 1)), start=rows[0][0])


def _pivot(rows: list[list[Ratio]], k: int) -> None:
    """Bring the shortest nonzero entry of a column into place."""
    useful = [i for i in range(k, len(rows)) if not rows[i][k].num.is_zero()]
    if not useful:
        raise ZeroDivisionError("the matrix is singular")
    best = min(useful, key=lambda i: len(rows[i][k].num) + len(rows[i][k].den))
    rows[k], rows[best] = rows[best], rows[k]


def _subtract(rows: list[list[Ratio]], i: int, k: int, factor: Ratio) -> None:
    if not factor.num.is_zero():
        rows[i] = [
            a if b.num.is_zero() else a - factor * b for a, b in zip(rows[i], rows[k], strict=True)
        ]


def _blocks(rates: Rates) -> dict[str, np.ndarray]:
    """The blocks with their diagonals."""
    import numpy as np

    found = {}
    for name, block in rates.blocks.items():
        found[name] = np.full(block.shape, rates.ring.zero, dtype=object)
        for i, j, kind in rates.entries(name):
            found[name][i, j] = found[name][i, j] + rates.rates[kind]
    for diagonal, names in {"A1": ("A0", "A1", "A2"), "B00": ("B00", "B01")}.items():
        for i, _, kind in rates.entries(*names):
            found[diagonal][i, i] = found[diagonal][i, i] - rates.rates[kind]
    return found


def _identity(ring: Ring, size: int) -> np.ndarray:
    return objects([[ring.integer(int(i == j)) for j in range(size)] for i in range(size)])


def _common_row(matrix: np.ndarray) -> np.ndarray | None:
    """The row v with v 1 = 1 of which all rows are multiples, None where there is none."""
    totals = [row.sum() for row in matrix]
    first = next((i for i, total in enumerate(totals) if not total.num.is_zero()), None)
    if first is None:
        return None
    v = objects([entry / totals[first] for entry in matrix[first]])
    for row, total in zip(matrix, totals, strict=True):
        if any(entry != total * share for entry, share in zip(row, v, strict=True)):
            return None
    return v


def _rate_matrix(
    found: Levels, ring: Ring, up: np.ndarray, level: np.ndarray, down: np.ndarray
) -> np.ndarray:
    """R where A0 has rank one, or where the phase moves one way only."""
    domain = found.model.domain
    order = _one_way([up, level, down])
    raised, r = None, _common_row(up)
    try:
        if order is not None:
            raised = _triangular(ring, domain, order, up, level, down)
        if raised is None and r is not None and len(level) <= DETERMINANT_LIMIT:
            raised = _of_rank_one(ring, domain, r, up, level, down)
    except ZeroDivisionError:
        raised = None
    if raised is None:
        why = "nor does A0, and the phase moves both ways"
        if order is not None:
            why = "and the diagonal of R is not seen to be rational"
        elif r is not None:
            why = "and the eigenvalue of R is not seen to be rational"
        raise ModelError(
            "no closed form: the rate matrix R is not seen to be rational in the parameters "
            f"(A2 does not have rank one, {why}): give a point `at`"
        )
    return raised


def _of_rank_one(
    ring: Ring,
    domain: Domain,
    r: np.ndarray,
    up: np.ndarray,
    level: np.ndarray,
    down: np.ndarray,
) -> np.ndarray | None:
    """c rho, where A0 = c r."""
    wide = _with_unknown(ring)
    z = wide.symbol(wide.names[-1])
    matrix = [
        [
            wide.lift(a) + z * (wide.lift(b) + z * wide.lift(c))
            for a, b, c in zip(*rows, strict=True)
        ]
        for rows in zip(up.tolist(), level.tolist(), down.tolist(), strict=True)
    ]
    eta = _root_inside(_determinant(matrix), ring, domain)
    if eta is None:
        return None
    rho = -(r @ inverse(level + objects([[eta * entry for entry in row] for row in down])))
    return objects([[row.sum() * share for share in rho] for row in up])


def _one_way(blocks: list[np.ndarray]) -> list[int] | None:
    """The phases in an order in which they only move forwards, None where there is none."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(blocks[0])))
    for block in blocks:
        for i, row in enumerate(block.tolist()):
            graph.add_edges_from(
                (i, j) for j, entry in enumerate(row) if i != j and not entry.num.is_zero()
            )
    if not nx.is_directed_acyclic_graph(graph):
        return None
    return list(nx.topological_sort(graph))


def _triangular(
    ring: Ring,
    domain: Domain,
    order: list[int],
    up: np.ndarray,
    level: np.ndarray,
    down: np.ndarray,
) -> np.ndarray | None:
    """The solution of A0 + R A1 + R^2 A2 = 0, row by row from the last phase."""
    import numpy as np

    place = np.ix_(order, order)
    up, level, down = up[place], level[place], down[place]
    size = len(order)
    found = np.full((size, size), ring.zero, dtype=object)
    for i in reversed(range(size)):
        root = _scalar_rate(ring, domain, up[i, i], level[i, i], down[i, i])
        if root is None:
            return None
        found[i, i] = root
        for j in range(i + 1, size):
            square = [found[i, i : k + 1] @ found[i : k + 1, k] for k in range(i, j)]
            known = up[i, j] + found[i, i:j] @ level[i:j, j] + objects(square) @ down[i:j, j]
            for k in range(i + 1, j):
                known = known + found[i, k] * found[k, j] * down[j, j]
            found[i, j] = -known / (level[j, j] + (root + found[j, j]) * down[j, j])
    raised = np.empty_like(found)
    raised[place] = found
    return raised


def _scalar_rate(ring: Ring, domain: Domain, up: Ratio, level: Ratio, down: Ratio) -> Ratio | None:
    """The root of up + level z + down z^2 in [0, 1)."""
    if up.num.is_zero():
        return ring.zero
    if down.num.is_zero():
        return -up / level
    wide = _with_unknown(ring)
    z = wide.symbol(wide.names[-1])
    a, b, c = map(wide.lift, (up, level, down))
    return _root_inside(a + z * (b + z * c), ring, domain)


def _root_inside(polynomial: Ratio, ring: Ring, domain: Domain) -> Ratio | None:
    """A rational root in the last symbol, proved to lie between 0 and 1 on the domain."""
    last = len(ring.symbols)
    context = polynomial.num.context()
    for factor, _ in irreducible_factors(polynomial.num)[1]:
        coefficients = by_power(factor, last, context)
        if len(coefficients) != 2:
            continue
        below, above = (
            ring.context.from_dict({tuple(e[:last]): c for e, c in part.terms()})
            for part in coefficients
        )
        root = lowest_terms(-below, above)
        if not root.num.is_zero() and _is_inside(ring.expression(root), domain):
            return root
    return None


def _is_inside(value: sp.Expr, domain: Domain) -> bool:
    from qtheory.inequality import prove

    if not value.free_symbols:
        return bool(0 < value < 1)
    sides = sp.Gt(value, 0, evaluate=False), sp.Lt(value, 1, evaluate=False)
    return all(prove(side, domain).verdict == "proved" for side in sides)


def _with_unknown(ring: Ring) -> Ring:
    return Ring((*ring.symbols, sp.Dummy("z")))


def _boundary_weights(ring: Ring, rates: np.ndarray) -> np.ndarray:
    """The stationary weights of the chain watched on the boundary."""
    size = len(rates)
    rows = tuple(
        {j: rates[i, j] for j in range(size) if j != i and not rates[i, j].num.is_zero()}
        for i in range(size)
    )
    law = exact_law(RateTable(tuple(range(size)), ring, rows))
    return objects([Ratio(weight, ring.context.constant(1)) for weight in law.numerators])
