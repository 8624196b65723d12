"""The balance equations of a chain with bounded jumps, solved at its two ends for every K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import sympy as sp
from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, by_power, irreducible_factors, lowest_terms
from qtheory.errors import CertificateError, ModelError, ReducibleError
from qtheory.model.guards import Interval
from qtheory.stationary.families.law import Edge

Place = tuple[bool, int]
"""A state: (False, n), or (True, i) for the state K - i."""


@dataclass(frozen=True)
class Powers:
    """Weights that are a sum of a n^m x^n over roots x, except at some states at the ends.

    `terms` holds the triples (position of x among the roots, m, a); `below` are the weights of
    the first states, `above` those of K, K - 1, ...
    """

    roots: tuple[Ratio, ...]
    below: tuple[Ratio, ...] = ()
    terms: tuple[tuple[int, int, Ratio], ...] = ()
    above: tuple[Ratio, ...] = ()


@dataclass(frozen=True)
class PowerField:
    """The fractions in the parameters, K, n, and two symbols x^K and x^n for each root x."""

    ring: Ring
    state: int  # the position of n, after that of K

    @cached_property
    def one(self) -> Ratio:
        return self.number(1)

    @cached_property
    def zero(self) -> Ratio:
        return self.number(0)

    @property
    def size(self) -> Ratio:
        return Ratio(self.ring.generators[self.state - 1], self.one.num)

    @property
    def n(self) -> Ratio:
        return Ratio(self.ring.generators[self.state], self.one.num)

    def number(self, value: int) -> Ratio:
        return self.ring.number(Fraction(value))

    def at(self, f: Ratio, n: fmpz_mpoly) -> Ratio:
        """The value of a polynomial in n."""
        place = list(self.ring.generators)
        place[self.state] = n
        return lowest_terms(f.num.compose(*place), f.den)

    def symbols(self, j: int) -> tuple[sp.Symbol, sp.Symbol]:
        """The symbols for x^K and x^n, for the root number j."""
        first, second = self.ring.symbols[self.state + 1 :][2 * j : 2 * j + 2]
        return first, second

    def mark(self, powers: Powers, j: int, of_state: bool) -> Ratio:
        """x^n or x^K for the root number j."""
        if powers.roots[j] == self.one:
            return self.one
        return Ratio(self.ring.generators[self.state + 1 + 2 * j + of_state], self.one.num)

    def power(self, powers: Powers, j: int, place: Place) -> Ratio:
        """The power of the root number j at a state near an end."""
        from_top, distance = place
        if not from_top:
            return powers.roots[j] ** distance
        step = powers.roots[j] if distance > 0 else self.one / powers.roots[j]
        return self.mark(powers, j, False) / step ** abs(distance)


@dataclass(frozen=True)
class Move:
    """A transition of a state n in the interval `guard` to n + jump."""

    jump: int
    guard: Interval
    rate: Ratio


@dataclass(frozen=True)
class EndEquations:
    """The balance equations of a chain on first, ..., K whose rates are constant from a state on.

    `up` and `down` bound the jumps. From the state `settled` on, the moves without an upper end
    of their guard, and only these, are possible.
    """

    field: PowerField
    moves: tuple[Move, ...]
    edge: Edge
    first: int
    settled: int
    up: int
    down: int

    @property
    def least(self) -> int:
        """The smallest K for which the equations of the two ends are apart."""
        return max(self.settled + self.up + max(self.up, self.down) - 1, self.first + 1)

    @cached_property
    def _reach(self) -> tuple[int, int]:
        """The largest jumps up and down at the states from `settled` on."""
        jumps = [move.jump for move in self.moves if move.guard.high is None]
        return max(0, *jumps), max(0, *(-jump for jump in jumps))

    def recurrence(self) -> list[Ratio]:
        """The coefficients, lowest first, of sum over jumps j of r_j (x^(u - j) - x^u).

        Balance away from the ends says that the weights solve this recurrence, u the largest j.
        """
        up, down = self._reach
        found = [self.field.zero] * (up + down + 1)
        for move in self.moves:
            if move.guard.high is None:
                found[up - move.jump] = found[up - move.jump] + move.rate
                found[up] = found[up] - move.rate
        return found

    @cached_property
    def factors(self) -> tuple[list[tuple[Ratio, int]], list[sp.Expr]]:
        """The rational roots of the recurrence with multiplicities, and the other factors."""
        field, coefficients = self.field, self.recurrence()
        common = field.one.num
        for c in coefficients:
            common = common * c.den / common.gcd(c.den)
        # n stands for the unknown x
        x, named = field.n.num, {field.ring.symbols[field.state]: sp.Symbol("x")}
        poly = sum((c.num * (common / c.den) * x**i for i, c in enumerate(coefficients)), 0 * x)
        roots, others = [], []
        for factor, multiplicity in irreducible_factors(poly)[1]:
            degree = int(factor.degrees()[field.state])
            if degree > 1:
                others.append(field.ring.expression(factor).xreplace(named))
            if degree == 1:
                constant, slope = by_power(factor, field.state, field.ring.context)
                roots.append((lowest_terms(-constant, slope), int(multiplicity)))
        return sorted(roots, key=lambda item: item[0] != field.one), others

    def solved(self) -> Powers:
        """The weights over the field, unique up to a factor.

        Unknowns are the weights near the ends and the coefficients of the powers; the equations
        are those of the states that the recurrence leaves out. As an identity in the symbols x^K
        the solution holds for every K >= least. Without a common factor it does not vanish where
        the chain of size K has one closed class: there the rank of the equations is one less than
        the number of unknowns, so some minors, which are a multiple of the solution, are not zero.
        `ModelError` where this takes roots that are not rational in the parameters.
        """
        field, (roots, others) = self.field, self.factors
        frame = Powers(tuple(x for x, _ in roots))
        basis = [(j, m) for j, (_, many) in enumerate(roots) for m in range(many)]
        width = max(self.up, self.down)
        low = self.settled - self.first + self.up - self._reach[0]
        high = width - self._reach[1]
        count = low + len(basis) + high

        def weight(place: Place) -> list[Ratio]:
            """The weight of a state as a linear form in the unknowns."""
            form = [field.zero] * count
            from_top, distance = place
            if from_top and distance < high:
                form[low + len(basis) + distance] = field.one
            elif not from_top and distance - self.first < low:
                form[distance - self.first] = field.one
            else:
                n = Ratio(self._state(place), field.one.num)
                for i, (j, m) in enumerate(basis):
                    form[low + i] = field.power(frame, j, place) * n**m
            return form

        start = self.settled + self.up
        rows = {(False, n): [field.zero] * count for n in range(self.first, start)}
        rows |= {(True, i): [field.zero] * count for i in reversed(range(width))}
        sources = [(False, n) for n in range(self.first, start + self.down)]
        sources += [(True, i) for i in range(width + self.up)]
        for source in sources:
            form = weight(source)
            for move in self.moves:
                target = self._target(source, move)
                if target is None:
                    continue
                rate = field.at(move.rate, self._state(source))
                for place, flow in ((target, rate), (source, -rate)):
                    if place in rows:
                        rows[place] = [a + flow * b for a, b in zip(rows[place], form, strict=True)]
        equations = list(rows.values())
        # all equations of the chain sum to zero, so one of them is left out, and checked
        found = null_vector(field, equations[:-1], count)
        if found is None:
            shown = ", ".join(map(str, others))
            raise ModelError(f"no sum of powers: irrational roots, of {shown}, take part")
        for equation in equations:
            total = sum((a * b for a, b in zip(equation, found, strict=True)), field.zero)
            if not total.num.is_zero():
                raise CertificateError("a balance equation at an end of the chain fails")
        inner = zip(basis, found[low : low + len(basis)], strict=True)
        terms = tuple((j, m, a) for (j, m), a in inner if not a.num.is_zero())
        return Powers(frame.roots, tuple(found[:low]), terms, tuple(found[low + len(basis) :]))

    def _state(self, place: Place) -> fmpz_mpoly:
        from_top, distance = place
        return self.field.size.num - distance if from_top else self.field.number(distance).num

    def _target(self, source: Place, move: Move) -> Place | None:
        """Where a move from a state near an end leads, None where it is not made."""
        from_top, distance = source
        inside = move.guard.high is None if from_top else move.guard.contains(distance)
        if not inside:
            return None
        # past the end by `over` states
        over = move.jump - distance if from_top else self.first - distance - move.jump
        if over <= 0:
            return (True, -over) if from_top else (False, self.first - over)
        if self.edge == "drop":
            return None
        if self.edge == "redirect":
            return (True, 0) if from_top else (False, self.first)
        return (False, self.first + over - 1) if from_top else (True, over - 1)


def null_vector(
    field: PowerField, equations: Sequence[Sequence[Ratio]], width: int
) -> list[Ratio] | None:
    """The polynomial solution without common factor of linear equations, unique up to a factor.

    There are `width` unknowns. None where there is only zero, `ReducibleError` where there are
    several solutions.
    """
    rows = [list(row) for row in equations]
    pivots: list[int] = []
    for column in range(width):
        k = len(pivots)
        pivot = next((i for i in range(k, len(rows)) if not rows[i][column].num.is_zero()), None)
        if pivot is None:
            continue
        rows[k], rows[pivot] = rows[pivot], rows[k]
        lead = rows[k][column]
        rows[k] = [value / lead for value in rows[k]]
        for i, row in enumerate(rows):
            if i != k and not row[column].num.is_zero():
                share = row[column]
                rows[i] = [a - share * b for a, b in zip(row, rows[k], strict=True)]
        pivots.append(column)
    free = [column for column in range(width) if column not in pivots]
    if not free:
        return None
    if len(free) > 1:
        raise ReducibleError(f"the balance equations have {len(free)} independent solutions")
    found = [field.zero] * width
    found[free[0]] = field.one
    for k, column in enumerate(pivots):
        found[column] = -rows[k][free[0]]
    common = field.one.num
    for value in found:
        common = common * value.den / common.gcd(value.den)
    return [Ratio(value.num * (common / value.den), field.one.num) for value in found]
