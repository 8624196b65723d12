"""The chain of a model at a rational point: its moves, with rational rates that are bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from qtheory.arithmetic import exact
from qtheory.errors import ModelError
from qtheory.model import Interval, Model
from qtheory.model.flows import rate_polynomials

State = tuple[int, ...]


@dataclass(frozen=True)
class Move:
    """A transition at a point: from the states of its guard by its jump, at a rational rate."""

    jump: State
    guard: tuple[Interval, ...]
    terms: tuple[tuple[State, Fraction], ...]

    def possible(self, state: Sequence[int]) -> bool:
        """Whether the transition can be made."""
        return all(part.contains(x) for part, x in zip(self.guard, state, strict=True))

    def rate(self, state: Sequence[int]) -> Fraction:
        """The rate at a state of the guard."""
        total = Fraction(0)
        for exponents, coefficient in self.terms:
            total += coefficient * prod(x**e for x, e in zip(state, exponents, strict=True))
        return total


@dataclass(frozen=True)
class Chain:
    """A model at a rational point of its domain; its rates are bounded."""

    ranges: tuple[Interval, ...]
    moves: tuple[Move, ...]

    def steps(self, state: State) -> Iterator[tuple[Fraction, State]]:
        """The rates out of a state and where they lead."""
        for move in self.moves:
            if move.possible(state):
                yield move.rate(state), tuple(map(int.__add__, state, move.jump))

    @property
    def reach(self) -> State:
        """The longest step in each coordinate."""
        return tuple(max(abs(move.jump[i]) for move in self.moves) for i in range(self.size))

    @property
    def size(self) -> int:
        return len(self.ranges)

    @property
    def directions(self) -> tuple[tuple[int, int], ...]:
        """The infinite directions of the lattice: coordinate, and 0 for down or 1 for up."""
        return tuple(
            (i, side) for i, ends in enumerate(self.ranges) for side in (0, 1) if ends[side] is None
        )

    def cuts(self, i: int) -> tuple[int, int]:
        """The least and the greatest value of a coordinate at which a guard starts or ends."""
        found = [end for move in self.moves for end in _changes(move.guard[i], self.ranges[i])]
        return min(found, default=0), max(found, default=0)


def _changes(guard: Interval, whole: Interval) -> list[int]:
    return [end for end, limit in zip(guard, whole, strict=True) if end not in (None, limit)]


def chain_at(model: Model, at: Mapping[Any, Any] | None) -> Chain:
    """The chain of a model at a rational point.

    Raises `DomainError` (`UnstableError`) for a point outside the domain, `ModelError` for a
    rate that grows without bound.
    """
    ring, polynomials = rate_polynomials(model, at or {})
    moves = []
    for transition, guard, polynomial in zip(
        model.transitions, model.guards, polynomials, strict=True
    ):
        terms = []
        for exponents, ratio in polynomial.items():
            if any(e and None in part for e, part in zip(exponents, guard, strict=True)):
                raise ModelError(f"rate {transition.rate} is not bounded on its guard")
            value = exact(ring.evaluate(ratio.num, ()) / ring.evaluate(ratio.den, ()))
            terms.append((exponents, value))
        moves.append(Move(transition.jump, guard, tuple(terms)))
    return Chain(model.ranges, tuple(moves))
