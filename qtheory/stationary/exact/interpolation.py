"""Stationary weights by evaluation and interpolation, for large polynomials in few parameters.

The chain is solved modulo primes at the points of a grid, many points at once. At each point the
weights are known up to a factor. Along a line in one parameter the quotient of two random
combinations of the weights is a rational function; its reduced denominator is one of the
combinations itself, which gives the factors relative to each other and, from the degree, the
size of the grid. The coefficients follow by interpolation and the Chinese remainder theorem.

Degrees, supports and the number of primes are found by probing, not bounded beforehand: the
caller must check pi Q = 0 as an identity of polynomials, which proves the result whatever the
probes said, as the stationary vector is unique up to a factor (see `exact.require_balance`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from flint import fmpz_mpoly, fmpz_mpoly_ctx

from qtheory.errors import ModelError
from qtheory.stationary.exact.grading import Grading, grading
from qtheory.stationary.exact.modular import (
    fraction,
    from_digits,
    interpolation,
    inverse,
    mixed_digits,
    powers,
    primes,
    product,
    recurrences,
)
from qtheory.stationary.exact.ordering import minimum_degree_order, sources_of

if TYPE_CHECKING:
    import numpy as np

Rows = Sequence[Mapping[int, fmpz_mpoly]]

_ATTEMPTS = 4
"""How often a random point may hit a zero, each time with probability below 10^-3."""

_CHUNK = 4096
"""Points that are solved together: their residues stay in the cache of a processor core."""


@dataclass(frozen=True)
class Shape:
    """What the weights of a chain look like: a chain with parameters `free`, the others being 1.

    `degrees` are the degrees of the weights in the free parameters.
    """

    rows: Rows
    order: tuple[int, ...]
    grading: Grading
    free: tuple[int, ...]
    degrees: tuple[int, ...]

    @property
    def points(self) -> int:
        """The points of the grid."""
        return prod(degree + 1 for degree in self.degrees)


def shape_of(rows: Rows, context: fmpz_mpoly_ctx, order: Sequence[int] | None = None) -> Shape:
    """The degrees of the weights without common factors, found on random lines modulo a prime.

    They are right with probability above 1 - 10^-5 (Schwartz-Zippel).

    >>> from flint import Ordering
    >>> context = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex)
    >>> a, b = context.gens()
    >>> shape_of([{1: a}, {0: b, 2: a}, {1: b}], context).degrees
    (2,)
    """
    order = tuple(minimum_degree_order(rows) if order is None else order)
    units = grading(rows, context.nvars())
    free = tuple(k for k in range(context.nvars()) if k not in units.units)
    found = Shape(rows, order, units, free, ())
    prime, draw = next(primes()), random.Random(1)
    degrees = (_lucky(partial(_degree, found, k, prime, draw)) for k in range(len(free)))
    return Shape(rows, order, units, free, tuple(degrees))


def interpolated_weights(
    shape: Shape, context: fmpz_mpoly_ctx, progress: Callable[[str], None] | None = None
) -> list[fmpz_mpoly]:
    """The stationary weights, without common factors, that the probes suggest.

    >>> from flint import Ordering
    >>> context = fmpz_mpoly_ctx.get(("a", "b"), Ordering.degrevlex)
    >>> a, b = context.gens()
    >>> interpolated_weights(shape_of([{1: a}, {0: b, 2: a}, {1: b}], context), context)
    [b^2, a*b, a^2]

    Raises `ModelError` where the rates out of a state cancel.
    """
    import numpy as np

    draw = random.Random(2)
    moduli: list[int] = []
    residues: list[np.ndarray] = []
    support = np.zeros(0, dtype=np.int64)
    scale = 1
    for prime in primes():
        if progress:
            progress(f"{shape.points} points modulo prime number {len(moduli) + 1}")
        values = _lucky(partial(_coefficients, shape, prime, draw))
        flat = values.ravel()
        nonzero = np.flatnonzero(flat)
        if not moduli:
            lead = nonzero[0]
        if flat[lead] == 0:
            continue
        # a coefficient that is new was zero modulo all primes before
        wider = np.union1d(support, nonzero)
        residues = [_spread(residue, support, wider) for residue in residues]
        support = wider
        # up to a factor for each prime: let the same coefficient be 1 for all
        residues.append(flat[support] * pow(int(flat[lead]), -1, prime) % prime)
        moduli.append(prime)
        numbers, scale = _integers(residues, moduli, scale)
        if numbers is not None:
            places = np.unravel_index(support, values.shape)
            return _polynomials(shape, context, places, numbers)
    raise AssertionError("there is always one more prime")


def _spread(values: np.ndarray, places: np.ndarray, wider: np.ndarray) -> np.ndarray:
    """Values at some places as values at more places, zero at the new ones."""
    import numpy as np

    found = np.zeros(len(wider), dtype=np.int64)
    found[np.searchsorted(wider, places)] = values
    return found


def _integers(
    residues: list[np.ndarray], moduli: list[int], scale: int
) -> tuple[np.ndarray | None, int]:
    """The coefficients times a multiple of `scale` that makes them whole, and that multiple.

    None where there are too few primes to tell: the last one has to confirm the others.
    """
    import numpy as np

    if len(moduli) < 2:
        return None, scale
    modulus = prod(moduli)
    while True:
        scaled = [r * (scale % p) % p for r, p in zip(residues, moduli, strict=True)]
        digits = mixed_digits(scaled, moduli)
        wrong = np.flatnonzero(digits[-1])
        if not len(wrong):
            return from_digits(digits[:-1], moduli), scale
        place = wrong[len(wrong) // 2]
        value = int(from_digits([digit[place : place + 1] for digit in digits], moduli)[0])
        found = fraction(value % modulus, modulus)
        if found is None or found[1] == 1 or scale * found[1] > modulus:
            return None, scale
        scale *= found[1]


def _polynomials(
    shape: Shape, context: fmpz_mpoly_ctx, places: Sequence[np.ndarray], numbers: np.ndarray
) -> list[fmpz_mpoly]:
    import numpy as np

    states, *powers_of_free = places
    exponents = np.zeros((context.nvars(), len(states)), dtype=np.int64)
    for k, column in zip(shape.free, powers_of_free, strict=True):
        exponents[k] = column
    shape.grading.restore(states, exponents)
    ends = np.searchsorted(states, np.arange(len(shape.rows) + 1))
    monomials, coefficients = list(map(tuple, exponents.T.tolist())), numbers.tolist()
    return [
        context.from_dict(dict(zip(monomials[a:b], coefficients[a:b], strict=True)))
        for a, b in itertools.pairwise(ends.tolist())
    ]


def _lucky(attempt: Callable[[], Any]) -> Any:
    """The result of the first attempt that meets no zero."""
    for _ in range(_ATTEMPTS):
        try:
            return attempt()
        except ZeroDivisionError:
            continue
    raise ModelError("the rates out of a state cancel: a row sums to zero everywhere")


def _degree(shape: Shape, k: int, prime: int, draw: random.Random) -> int:
    """The degree of the weights in one parameter, on a line through a random point."""
    import numpy as np

    place = [draw.randrange(1, prime) for _ in shape.free]
    mixing = _mixing(shape, prime, draw)
    count, line, values = 32, np.zeros(0, np.int64), np.zeros(0, np.int64)
    while True:
        further = _distinct(count - len(line), prime, draw)
        points = np.array([[x] * len(further) for x in place])
        points[k] = further
        line = np.concatenate([line, further])
        values = np.concatenate([values, _quotients(shape, points, mixing, prime)])
        length = int(_denominators(line, values[None], prime)[1][0])
        if 2 * length + 4 <= count:
            return length
        count *= 2


def _coefficients(shape: Shape, prime: int, draw: random.Random) -> np.ndarray:
    """The coefficients modulo a prime, up to one factor: an axis of states, one a parameter."""
    import numpy as np

    mixing = _mixing(shape, prime, draw)
    # on each line as many points again as the grid has, to find the denominators
    lines = [_distinct(2 * degree + 2, prime, draw) for degree in shape.degrees]
    grid = [line[: len(line) // 2] for line in lines]
    weights = _weights(shape, _mesh(grid), prime)
    first, second = product(mixing, weights, prime)
    below = inverse(second, prime)
    sizes = tuple(map(len, grid))
    quotients = (first * below % prime).reshape(sizes)
    weights = (weights * below % prime).reshape(-1, *sizes)
    factors = np.ones((), dtype=np.int64)
    for k, line in enumerate(lines):
        rest = (0,) * (len(lines) - k - 1)
        known = quotients[(..., *rest)].reshape(-1, sizes[k])
        base = [points[:1] for points in grid[k + 1 :]]
        further = _mesh([*grid[:k], line[sizes[k] :], *base])
        found = _quotients(shape, further, mixing, prime).reshape(known.shape)
        monic, lengths = _denominators(line, np.concatenate([known, found], axis=1), prime)
        if (lengths != shape.degrees[k]).any():
            raise ZeroDivisionError("the degree drops on a line")
        values = product(monic, powers(grid[k], sizes[k], prime), prime)
        values = values * inverse(values[:, :1], prime) % prime
        factors = factors[..., None] * values.reshape(sizes[: k + 1]) % prime
    weights = weights * factors % prime
    for k, points in enumerate(grid, 1):
        moved = np.moveaxis(weights, k, 0)
        flat = product(interpolation(points, prime), moved.reshape(len(points), -1), prime)
        weights = np.moveaxis(flat.reshape(moved.shape), 0, k)
    return weights


def _denominators(
    line: np.ndarray, values: np.ndarray, prime: int
) -> tuple[np.ndarray, np.ndarray]:
    """The monic denominators, lowest power first, and degrees of rational functions on a line.

    Each row holds the values of one function, whose numerator has at most the degree d of its
    denominator, at more than 2d points.
    """
    # For polynomials f of degree below N - 1 the sum of f(x_j) / prod_(l != j) (x_j - x_l) over
    # N points is zero. With f = x^t times the numerator, this is a recurrence for the sums with
    # x^t times the values, and its coefficients are those of the denominator.
    import numpy as np

    # the highest coefficients of the Lagrange polynomials
    nodal = interpolation(line, prime)[-1]
    sums = product(values * nodal % prime, powers(line, len(line) - 1, prime).T, prime)
    found, lengths = recurrences(sums, prime)
    degree = int(lengths.max())
    return np.ascontiguousarray(found[:, degree::-1]), lengths


def _mixing(shape: Shape, prime: int, draw: random.Random) -> np.ndarray:
    """Two random combinations of the weights, as rows."""
    import numpy as np

    return np.array([[draw.randrange(1, prime) for _ in shape.rows] for _ in range(2)])


def _distinct(count: int, prime: int, draw: random.Random) -> np.ndarray:
    import numpy as np

    return np.array(draw.sample(range(1, prime), count), dtype=np.int64)


def _mesh(axes: Sequence[np.ndarray]) -> np.ndarray:
    """The points of a grid as columns, the last parameter running fastest."""
    import numpy as np

    if not axes:
        return np.zeros((0, 1), dtype=np.int64)
    return np.array([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])


def _quotients(shape: Shape, points: np.ndarray, mixing: np.ndarray, prime: int) -> np.ndarray:
    """The quotient of two combinations of the weights at points."""
    first, second = product(mixing, _weights(shape, points, prime), prime)
    return first * inverse(second, prime) % prime


def _weights(shape: Shape, points: np.ndarray, prime: int) -> np.ndarray:
    """The weights at points, up to a factor for each point: a row for each state."""
    import numpy as np

    found = np.empty((len(shape.rows), points.shape[1]), dtype=np.int64)
    for start in range(0, points.shape[1], _CHUNK):
        part = points[:, start : start + _CHUNK]
        rows = _rates(shape, part, prime)
        found[:, start : start + _CHUNK] = _eliminated(rows, shape.order, prime)
    return found


def _rates(shape: Shape, points: np.ndarray, prime: int) -> list[dict[int, np.ndarray]]:
    """The rates at points; rates that occur often are evaluated once."""
    import numpy as np

    known: dict[str, np.ndarray] = {}
    for text, rate in {str(rate): rate for row in shape.rows for rate in row.values()}.items():
        total = np.zeros(points.shape[1], dtype=np.int64)
        for exponents, coefficient in rate.terms():
            term = np.full(points.shape[1], int(coefficient) % prime, dtype=np.int64)
            for k, place in zip(shape.free, points, strict=True):
                for _ in range(int(exponents[k])):
                    term = term * place % prime
            total += term
        known[text] = total % prime
    return [{j: known[str(rate)] for j, rate in row.items()} for row in shape.rows]


def _eliminated(rows: list[dict[int, np.ndarray]], order: Sequence[int], prime: int) -> np.ndarray:
    """State elimination (see `qtheory.stationary.exact.elimination`) at many points at once."""
    import numpy as np

    sources = sources_of(rows)
    steps = []
    for k in order[:-1]:
        row = rows[k]
        leaving = inverse(np.asarray(sum(row.values())) % prime, prime)
        incoming = {}
        for i in sources[k]:
            incoming[i] = share = rows[i].pop(k) * leaving % prime
            into = rows[i]
            for j, rate in row.items():
                if j in into:
                    into[j] = (into[j] + share * rate) % prime
                elif j != i:
                    into[j] = share * rate % prime
                    sources[j].add(i)
        for j in row:
            sources[j].discard(k)
        steps.append((k, incoming))
    weights = np.empty((len(rows), *next(iter(rows[order[0]].values())).shape), dtype=np.int64)
    weights[order[-1]] = 1
    for k, incoming in reversed(steps):
        total = sum(weights[i] * share % prime for i, share in incoming.items())
        weights[k] = total % prime
    return weights
