"""A stationary law whose groups of levels are geometric in a matrix, and its moments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp

from qtheory.arithmetic import Ring, parameters
from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.formulas import formula
from qtheory.model.guards import Interval, guard_intervals
from qtheory.model.lattice import polynomial_values
from qtheory.stationary.events import (
    event_relation,
    integer_of,
    integer_value,
    variable_position,
)
from qtheory.stationary.floats.law import Error
from qtheory.stationary.qbd.numbers import Balls, Exact, Floats, Numbers, pickled, unpickled
from qtheory.stationary.qbd.numeric import Solution
from qtheory.stationary.qbd.stability import LevelDrift

if TYPE_CHECKING:
    import numpy as np

EMPTY = Interval(1, 0)


@dataclass(frozen=True, eq=False, repr=False)
class MatrixGeometricLaw:
    """The law pi with pi_k = pi_0 R^k on the k-th group of levels from the threshold on.

    A group has `size` levels, mostly one, and `group_states` are the states of the first group.
    Answers are SymPy expressions over the parameters, `Enclosure`s with proven digits at a point,
    or floats, as `arithmetic` says. `drifts` are the mean rates at which groups of levels are
    gained and lost far from the boundary; `residual` is the largest |(pi Q)_j| divided by the
    largest rate out of a state.
    """

    variables: tuple[sp.Symbol, ...]
    axis: int
    threshold: int
    size: int
    boundary_states: np.ndarray
    group_states: np.ndarray
    numbers: Numbers
    solution: Solution
    drifts: tuple[LevelDrift, ...]
    point: Mapping[sp.Symbol, Fraction]

    method: ClassVar[str] = "matrix_geometric"
    truncation: ClassVar[None] = None
    outside: ClassVar[None] = None
    # there are infinitely many states: without this, a loop over the law would never end
    __iter__: ClassVar[None] = None

    @property
    def level(self) -> sp.Symbol:
        """The unbounded state variable."""
        return self.variables[self.axis]

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The symbols of an exact law, or those that the point gives a value."""
        return self.numbers.ring.symbols if isinstance(self.numbers, Exact) else tuple(self.point)

    @property
    def residual(self) -> float:
        """How far pi Q is from zero: exact laws were checked and have residual 0."""
        return float(self.solution.residual)

    @property
    def error(self) -> Error | None:
        """None but for exact laws: balls carry the error of each answer, floats have none."""
        return Error(0.0, "certified") if isinstance(self.numbers, Exact) else None

    @property
    def arithmetic(self) -> str:
        """exact, balls (proven digits) or floats (estimated)."""
        return {Exact: "exact", Balls: "balls", Floats: "floats"}[type(self.numbers)]

    @property
    def R(self) -> Any:
        """The rate matrix: NumPy, ``arb_mat`` or SymPy. Minimal with A0 + R A1 + R^2 A2 = 0."""
        return self.numbers.show_matrix(self.solution.R)

    @property
    def G(self) -> Any:
        """The first passage probabilities: minimal with A2 + A1 G + A0 G^2 = 0."""
        return self.numbers.show_matrix(self.solution.G)

    def __reduce__(self) -> tuple[Any, ...]:
        # balls of python-flint do not pickle
        residual, *arrays = self.solution
        packed = [(array.shape, [pickled(value) for value in array.flat]) for array in arrays]
        plain = [getattr(self, field.name) for field in fields(self)]
        plain[_SOLUTION] = packed, residual
        plain[-1] = dict(self.point)
        return _rebuilt, tuple(plain)

    def __getitem__(self, state: Hashable) -> Any:
        """The probability of a state; `DomainError` for one that the chain does not have."""
        given = state if isinstance(state, tuple) else (state,)
        place = tuple(k for k in map(integer_of, given) if k is not None)
        with self.numbers.working():
            known = len(place) == len(given) == len(self.variables)
            position = self._boundary_positions.get(place) if known else None
            if position is not None:
                return self._shown(self.solution.boundary[position])
            if known and place[self.axis] >= self.threshold:
                group, offset = divmod(place[self.axis] - self.threshold, self.size)
                base = (
                    *place[: self.axis],
                    self.threshold + offset,
                    *place[self.axis + 1 :],
                )
                if base in self._group_positions:
                    return self._shown(self._group(group)[self._group_positions[base]])
        raise DomainError(f"the law has no state {state}")

    def pmf(self, n: int) -> Any:
        """P(level = n)."""
        return self.marginal(self.level, n)

    def _within(self, variable: Any, low: int, high: int | None) -> Any:
        """P(low <= variable <= high)."""
        place = variable_position(variable, self.variables)
        return self._probability([(low, high) if i == place else (None, None) for i in self._axes])

    def tail(self, variable: Any, k: Any = None) -> Any:
        """P(variable >= k), of the level also as ``tail(k)``.

        Without k by each value of a variable of the phase.
        """
        if k is not None:
            return self._within(variable, integer_value(k), None)
        level = integer_of(variable)
        if level is not None:
            return self._within(self.level, level, None)
        return {value: self.tail(variable, value) for value in self.marginal(variable)}

    def marginal(self, variable: Any, k: Any = None) -> Any:
        """P(variable = k); without k by each value of a variable of the phase.

        Raises `ModelError` for the level without k, since it takes infinitely many values.
        """
        axis = variable_position(variable, self.variables)
        if k is not None:
            return self._within(variable, integer_value(k), integer_value(k))
        if axis == self.axis:
            raise ModelError(
                f"the level {variable} is unbounded: use marginal({variable}, k) and tail(k)"
            )
        found: dict[int, Any] = {}
        with self.numbers.working():
            for states, masses in (
                (self.group_states, self.solution.group @ self.solution.sums),
                (self.boundary_states, self.solution.boundary),
            ):
                for value, mass in zip(states[:, axis].tolist(), masses, strict=True):
                    found[value] = found[value] + mass if value in found else mass
            return {value: self._shown(found[value]) for value in sorted(found)}

    def probability(self, event: Any) -> Any:
        """The probability of a state, or of comparisons of state variables with integers.

        Raises `ModelError` for an event of another kind.
        """
        relation = event_relation(event, self.variables)
        if relation is None:
            if callable(event):
                raise ModelError("an event on an infinite lattice is a relation, not a function")
            return self[event]
        box = (EMPTY,) if relation is sp.false else guard_intervals(relation, self.variables)
        if any(part.is_empty for part in box):
            return self._shown(self.numbers.number(Fraction(0)))
        return self._probability(box)

    def expect(self, f: Any) -> Any:
        """E[f] for a formula in the state variables that is a polynomial in the level.

        The sum over the groups is closed: the sum over k of C(k, i) R^k is
        R^i (I - R)^{-(i+1)}. An exact law takes coefficients with further parameters, for example
        costs. Raises `ExpressionError` for a formula of another kind.
        """
        f = self._formula(f)
        if isinstance(self.numbers, Exact):
            known = {*self.numbers.ring.names, *(s.name for s in self.variables)}
            if any(symbol.name not in known for symbol in f.free_symbols):
                return self._expect_with_costs(f)
        with self.numbers.working():
            return self._shown(self._expectation(f))

    def mean(self) -> Any:
        """The mean of the level."""
        return self.expect(self.level)

    def variance(self) -> Any:
        """The variance of the level."""
        with self.numbers.working():
            first, second = (self._expectation(self.level**k) for k in (1, 2))
            return self._shown(second - first * first)

    def __repr__(self) -> str:
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.point.items())
        states = "state" if len(self.group_states) == 1 else "states"
        several = f" and groups of {self.size} levels" if self.size > 1 else ""
        lines = [
            f"matrix-geometric law{' at ' if at else ''}{at}",
            f"  level       {self.level}, from {self.threshold} on pi_k = pi_0 R^k",
            f"  R           {len(self.group_states)} {states} each way{several}",
            f"  arithmetic  {self.arithmetic}",
            f"  residual    {self.residual:.1g}",
        ]
        for up, down in self.drifts:
            shown = (value if value.free_symbols else f"{float(value):.6g}" for value in (up, down))
            lines.append("  drift       {} up, {} down".format(*shown))
        return "\n".join(lines)

    def latex(self) -> str:
        r"""The recursion as LaTeX, with R where it is exact."""
        step = "k" if self.size == 1 else f"{self.size} k"
        levels = rf"{sp.latex(self.level)} \ge {self.threshold} + {step}"
        shown = rf",\quad R = {sp.latex(self.R)}" if isinstance(self.numbers, Exact) else ""
        return rf"\pi_k = \pi_0 R^k\ ({levels}){shown}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    @cached_property
    def _boundary_positions(self) -> dict[Hashable, int]:
        return {tuple(state): i for i, state in enumerate(self.boundary_states.tolist())}

    @cached_property
    def _group_positions(self) -> dict[Hashable, int]:
        return {tuple(state): i for i, state in enumerate(self.group_states.tolist())}

    @property
    def _axes(self) -> range:
        return range(len(self.variables))

    def _shown(self, value: Any) -> Any:
        return self.numbers.show(value)

    def _group(self, k: int) -> np.ndarray:
        """pi_0 R^k."""
        found = self.solution.group
        for _ in range(k):
            found = found @ self.solution.R
        return found

    def _probability(self, box: Any) -> Any:
        low, high = box[self.axis]
        with self.numbers.working():
            total = self._from_level(low, box)
            return self._shown(total if high is None else total - self._from_level(high + 1, box))

    def _from_level(self, low: int | None, box: Any) -> Any:
        """The probability of the states of a box, from a level on, without an upper end."""
        total = self.numbers.number(Fraction(0))
        for i in _inside(self.boundary_states, box, self.axis, low):
            total = total + self.solution.boundary[i]
        first = 0 if low is None else max(low - self.threshold, 0) // self.size
        here = self._group(first)
        later = here @ self.solution.R @ self.solution.sums
        base = None if low is None else low - first * self.size
        for i in _inside(self.group_states, box, self.axis, base):
            total = total + here[i]
        for i in _inside(self.group_states, box, self.axis, None):
            total = total + later[i]
        return total

    def _formula(self, f: Any) -> sp.Expr:
        if isinstance(f, str):
            own = self.numbers.ring.symbols if isinstance(self.numbers, Exact) else self.point
            f = formula(f, (*self.variables, *own))
        if callable(f) and not isinstance(f, sp.Basic):
            raise ExpressionError("a function of infinitely many states: give it as a formula")
        f = sp.sympify(f)
        named = {symbol.name: symbol for symbol in self.variables}
        for symbol, value in self.point.items():
            named.setdefault(symbol.name, sp.Rational(value.numerator, value.denominator))
        f = f.xreplace({s: named[s.name] for s in f.free_symbols if s.name in named})
        if not isinstance(self.numbers, Exact):
            unknown = sorted(s.name for s in f.free_symbols - set(self.variables))
            if unknown:
                raise ExpressionError(f"no value for {', '.join(unknown)} in {f}")
        return f

    def _expect_with_costs(self, f: sp.Expr) -> sp.Expr:
        try:
            terms = sp.Poly(f, *self.variables).terms()
        except sp.PolynomialError:
            names = ", ".join(map(str, self.variables))
            raise ExpressionError(f"not a polynomial in {names}: {f}") from None
        total = sp.Integer(0)
        for powers, coefficient in terms:
            monomial = sp.Mul(*(x**e for x, e in zip(self.variables, powers, strict=True)))
            total += coefficient * self.expect(monomial)
        ring = Ring(parameters(total))
        return ring.factored(ring.ratio(total))

    def _expectation(self, f: sp.Expr) -> Any:
        values, degree = self._values(f)
        total = self.numbers.number(Fraction(0))
        if len(self.boundary_states):
            total = total + self.solution.boundary @ values(self.boundary_states)
        shift = [self.size if i == self.axis else 0 for i in self._axes]
        ahead = [
            values(self.group_states + [k * step for step in shift]) for k in range(degree + 1)
        ]
        weights = self.solution.group @ self.solution.sums
        for i in range(degree + 1):
            # the i-th difference in the number k of the group is the coefficient of C(k, i)
            signs = [
                self.numbers.number(Fraction((-1) ** (i - k) * comb(i, k))) for k in range(i + 1)
            ]
            difference = ahead[0] * signs[0]
            for sign, part in zip(signs[1:], ahead[1:], strict=False):
                difference = difference + part * sign
            total = total + weights @ difference
            weights = weights @ self.solution.R @ self.solution.sums
        return total

    def _values(self, f: sp.Expr) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """f as a function of states, and its degree in the level."""
        try:
            polynomial = Ring(self.variables).ratio(f)
        except ExpressionError:
            return self._general_values(f)
        if not polynomial.den.is_constant():
            return self._general_values(f)
        terms = {tuple(map(int, e)): int(c) for e, c in polynomial.num.terms()}
        below = int(polynomial.den.leading_coefficient())

        def values(states: np.ndarray) -> np.ndarray:
            found = polynomial_values(terms, states).tolist()
            return self.numbers.array([self.numbers.number(Fraction(v, below)) for v in found])

        return values, max((e[self.axis] for e in terms), default=0)

    def _general_values(self, f: sp.Expr) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """The same for a formula that need not be polynomial in the phase."""
        try:
            degree = sp.Poly(f, self.level).degree() if f.has(self.level) else 0
        except sp.PolynomialError:
            raise ExpressionError(f"not a polynomial in the level {self.level}: {f}") from None

        def values(states: np.ndarray) -> np.ndarray:
            return self.numbers.array(
                [
                    self.numbers.value(
                        f.subs(dict(zip(self.variables, state, strict=True)), simultaneous=True)
                    )
                    for state in states.tolist()
                ]
            )

        return values, degree


def _rebuilt(*plain: Any) -> MatrixGeometricLaw:
    parts = list(plain)
    packed, residual = parts[_SOLUTION]
    numbers = parts[_SOLUTION - 1]
    arrays = [
        numbers.array([unpickled(value) for value in values]).reshape(shape)
        for shape, values in packed
    ]
    parts[_SOLUTION] = Solution(residual, *arrays)
    return MatrixGeometricLaw(*parts)


_SOLUTION = [field.name for field in fields(MatrixGeometricLaw)].index("solution")


def _inside(states: np.ndarray, box: Any, axis: int, low: int | None) -> list[int]:
    """The positions of the states in a box, the level being bounded from below only."""
    import numpy as np

    found = np.ones(len(states), dtype=bool)
    for i, (least, most) in enumerate(box):
        least, most = (low, None) if i == axis else (least, most)
        if least is not None:
            found &= states[:, i] >= least
        if most is not None:
            found &= states[:, i] <= most
    return np.flatnonzero(found).tolist()
