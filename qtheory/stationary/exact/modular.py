"""Vectorised arithmetic modulo a prime below 2^31: products of two residues fit into int64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def primes() -> Iterator[int]:
    """The primes below 2^31, the largest first."""
    import sympy as sp

    prime = 2**31
    while True:
        prime = sp.prevprime(prime)
        yield int(prime)


def inverse(values: np.ndarray, prime: int) -> np.ndarray:
    """The inverses of an array of residues; `ZeroDivisionError` if one of them is zero.

    Products of halves are inverted instead (P. L. Montgomery, "Speeding the Pollard and elliptic
    curve methods of factorization", Mathematics of Computation 48 (1987), section 10.3.1).

    >>> import numpy as np
    >>> inverse(np.array([1, 2, 3]), 7).tolist()
    [1, 4, 5]
    """
    import numpy as np

    flat = values.ravel()
    if len(flat) <= 8:
        if not flat.all():
            raise ZeroDivisionError("a residue without an inverse")
        found = np.array([pow(int(value), -1, prime) for value in flat], dtype=np.int64)
        return found.reshape(values.shape)
    half = len(flat) // 2
    left, right, rest = flat[:half], flat[half : 2 * half], flat[2 * half :]
    both = inverse(left * right % prime, prime)
    parts = [both * right % prime, both * left % prime]
    return np.concatenate([*parts, inverse(rest, prime)]).reshape(values.shape)


def product(left: np.ndarray, right: np.ndarray, prime: int) -> np.ndarray:
    """The matrix product, for an inner dimension below 2^15."""
    high, low = left >> 16, left & 0xFFFF
    return ((high @ right % prime << 16) + low @ right) % prime


def powers(points: np.ndarray, count: int, prime: int) -> np.ndarray:
    """Row k holds the k-th powers of the points, for k < count."""
    import numpy as np

    found = np.ones((count, len(points)), dtype=np.int64)
    for k in range(1, count):
        found[k] = found[k - 1] * points % prime
    return found


def interpolation(points: np.ndarray, prime: int) -> np.ndarray:
    """The matrix that takes values at distinct points to coefficients, the lowest power first."""
    import numpy as np

    count = len(points)
    master = np.zeros(count + 1, dtype=np.int64)
    master[0] = 1
    for x in points:
        # highest power first, times (X - x)
        master[1:] = (master[1:] - master[:-1] * x) % prime
    quotients = np.zeros((count, count), dtype=np.int64)
    slopes = np.zeros(count, dtype=np.int64)
    remainder = np.zeros(count, dtype=np.int64)
    for k in range(count):
        remainder = (remainder * points + master[k]) % prime
        quotients[count - 1 - k] = remainder
        slopes = (slopes * points + remainder) % prime
    return quotients * inverse(slopes, prime) % prime


def recurrences(sequences: np.ndarray, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """The shortest linear recurrence of each row: coefficients and lengths.

    For a row s the coefficients c with c_0 = 1 satisfy ``sum_i c_i s_(n-i) = 0`` for all n from
    the length on (J. Massey, "Shift-register synthesis and BCH decoding", IEEE Transactions on
    Information Theory 15 (1969)).

    >>> import numpy as np
    >>> coefficients, lengths = recurrences(np.array([[1, 1, 2, 3, 5, 8]]), 101)
    >>> coefficients[0, :3].tolist(), lengths.tolist()
    ([1, 100, 100], [2])
    """
    import numpy as np

    lines, terms = sequences.shape
    current = np.zeros((lines, terms + 1), dtype=np.int64)
    current[:, 0] = 1
    # the last recurrence that was too short, shifted, divided by its discrepancy
    failed = np.roll(current, 1, axis=1)
    lengths = np.zeros(lines, dtype=np.int64)
    for n in range(terms):
        gap = (current[:, : n + 1] * sequences[:, n::-1] % prime).sum(axis=1) % prime
        longer = (gap != 0) & (2 * lengths <= n)
        changed = (current - gap[:, None] * failed) % prime
        if longer.any():
            scale = inverse(gap[longer], prime)[:, None]
            failed[longer] = current[longer] * scale % prime
            lengths[longer] = n + 1 - lengths[longer]
        current = changed
        failed = np.roll(failed, 1, axis=1)
    return current, lengths


def fraction(residue: int, modulus: int) -> tuple[int, int] | None:
    """The small fraction congruent to a residue that is not zero, None where none stands out.

    It precedes the largest quotient of the Euclidean algorithm (M. Monagan, "Maximal quotient
    rational reconstruction", ISSAC 2004).

    >>> fraction(3 * pow(7, -1, 10**9 + 7) % (10**9 + 7), 10**9 + 7)
    (3, 7)
    """
    best, largest = None, 2**24
    upper, lower, before, now = modulus, residue, 0, 1
    while lower:
        quotient = upper // lower
        if quotient > largest:
            best, largest = (lower, now), quotient
        upper, lower = lower, upper - quotient * lower
        before, now = now, before - quotient * now
    if best is None or best[1] > 0:
        return best
    return -best[0], -best[1]


def mixed_digits(residues: Sequence[np.ndarray], moduli: Sequence[int]) -> list[np.ndarray]:
    """The digits d of the numbers ``d_0 + p_0 (d_1 + p_1 (d_2 + ...))`` with these residues.

    They are of least size; a last digit of zero says that the last prime was not needed.
    """
    import numpy as np

    digits: list[np.ndarray] = []
    for digit, prime in zip(residues, moduli, strict=True):
        for below, smaller in zip(digits, moduli, strict=False):
            digit = (digit - below) % prime * pow(smaller, -1, prime) % prime
        digits.append(np.where(digit > prime // 2, digit - prime, digit))
    return digits


def from_digits(digits: Sequence[np.ndarray], moduli: Sequence[int]) -> np.ndarray:
    """The numbers with these digits, as Python integers in an array.

    >>> import numpy as np
    >>> moduli = [5, 7]
    >>> from_digits(mixed_digits([np.array([3, 1]), np.array([4, 1])], moduli), moduli).tolist()
    [-17, 1]
    """
    total = digits[-1].astype(object)
    for k in reversed(range(len(digits) - 1)):
        total = total * moduli[k] + digits[k].astype(object)
    return total
