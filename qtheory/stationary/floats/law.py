"""A stationary law in floating point, with what is known about its error."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import sympy as sp

from qtheory.errors import DomainError, ExpressionError, ModelError
from qtheory.formulas import formula
from qtheory.stationary.events import (
    event_relation,
    integer_value,
    tail_at,
    tail_of,
    variable_position,
)

if TYPE_CHECKING:
    import numpy as np

NumericMethod = Literal["sparse", "matrix_geometric", "truncation"]


@dataclass(frozen=True)
class Error:
    """A bound on the total variation distance to the true law, or an estimate of it.

    >>> print(Error(2e-13, "estimated"))
    about 2e-13 (estimated)
    """

    value: float
    kind: Literal["certified", "estimated"]

    def __str__(self) -> str:
        if self.value == 0 and self.kind == "certified":
            return "none (exact)"
        relation = "at most" if self.kind == "certified" else "about"
        return f"{relation} {self.value:.1g} ({self.kind})"


@dataclass(frozen=True, eq=False, repr=False)
class NumericLaw:
    """The stationary law pi of a chain at one point of its parameters, in floating point.

    `states` has one row for each state and one column for each of the `variables`, in the order
    of the chain; a chain whose states are not lattice points has its labels in `states` instead.
    `residual` is the largest |(pi Q)_j| divided by the largest exit rate. `error` is the distance
    to the law of the chain that was asked for; if that is infinite, `truncation` says which window
    of it was kept, and `outside` is the mass that it leaves out: certified or estimated, as they
    say. They are None where nothing is known.

    >>> from qtheory.stationary.floats.sparse import sparse_law
    >>> law = sparse_law([[-1, 1], [3, -3]], states=["up", "down"])
    >>> law["up"], law.probability(lambda state: state != "up")
    (0.75, 0.25)
    """

    states: np.ndarray | tuple[Hashable, ...]
    probabilities: np.ndarray
    method: NumericMethod
    residual: float
    variables: tuple[sp.Symbol, ...] = ()
    parameters: Mapping[sp.Symbol, Fraction] = field(default_factory=dict)
    error: Error | None = None
    truncation: str | None = None
    outside: Error | None = None

    def __len__(self) -> int:
        return len(self.probabilities)

    def __iter__(self) -> Iterator[Hashable]:
        if isinstance(self.states, tuple):
            yield from self.states
        else:
            yield from map(tuple, self.states.tolist())

    def __contains__(self, state: object) -> bool:
        return self._position(state) is not None

    def _position(self, state: Any) -> int | None:
        if not isinstance(state, Hashable):
            return None
        return self._positions.get(state, self._positions.get((state,)))

    def __getitem__(self, state: Hashable) -> float:
        position = self._position(state)
        if position is None:
            raise DomainError(f"the law has no state {state}")
        return float(self.probabilities[position])

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {state: i for i, state in enumerate(self)}

    def expect(self, f: Any) -> float:
        """The expectation of f: a formula in the state variables, or a function of one state."""
        import math

        # math.fsum: thousands of tiny probabilities must not add up to a rounding error
        return math.fsum(self._values(f) * self.probabilities)

    def probability(self, event: Any) -> float:
        """The probability of a state, of a predicate on states or of a relation in the variables.

        A relation may join several: ``(m >= 1) & (d < 3)``, or be text: ``"m >= 1"``.
        """
        relation = event_relation(event, (*self.variables, *self.parameters))
        if relation is not None:
            return self.expect(relation)
        if callable(event) and event not in self:
            return self.expect(lambda state: float(bool(event(state))))
        return self[event]

    def mean(self) -> float:
        """The mean of the variable of a chain in one variable; `ModelError` for several."""
        return self.expect(self._variable())

    def variance(self) -> float:
        """The variance of the variable of a chain in one variable; `ModelError` for several."""
        return self.expect((self._variable() - self.mean()) ** 2)

    def _variable(self) -> sp.Symbol:
        if len(self.variables) != 1:
            raise ModelError("a law in several variables has no one mean: use expect(f)")
        return self.variables[0]

    def marginal(self, variable: Any, k: Any = None) -> Any:
        """P(variable = k), a float; without k by each value that the states take."""
        import numpy as np

        values, places = np.unique(self._column(variable), return_inverse=True)
        masses = np.bincount(places, weights=self.probabilities)
        found = dict(zip(values.tolist(), masses.tolist(), strict=True))
        return found if k is None else found.get(integer_value(k), 0.0)

    def tail(self, variable: Any, k: Any = None) -> Any:
        """P(variable >= k), a float; without k by each value that the states take."""
        tails = tail_of(self.marginal(variable), 0.0)
        return tails if k is None else tail_at(tails, k, 0.0)

    def _column(self, variable: Any) -> np.ndarray:
        position = variable_position(variable, self.variables)
        assert not isinstance(self.states, tuple)
        return self.states[:, position]

    def _values(self, f: Any) -> np.ndarray:
        import numpy as np

        if not isinstance(f, sp.Basic) and callable(f):
            return self._finite("the function", np.array([float(f(state)) for state in self]))
        if isinstance(f, str):
            f = formula(f, (*self.variables, *self.parameters))
        f = sp.sympify(f)
        values = {
            s.name: sp.Rational(v.numerator, v.denominator) for s, v in self.parameters.items()
        }
        f = f.xreplace({s: values[s.name] for s in f.free_symbols if s.name in values})
        unknown = {s.name for s in f.free_symbols} - {s.name for s in self.variables}
        if unknown:
            raise ExpressionError(f"no value for {', '.join(sorted(unknown))} in {f}")
        symbols = sorted(f.free_symbols, key=lambda s: s.name)
        evaluate = sp.lambdify(symbols, f, "numpy")
        columns = [self._column(s).astype(float) for s in symbols]
        with np.errstate(all="ignore"):
            found = evaluate(*columns)
        return self._finite(f, np.broadcast_to(np.asarray(found, dtype=float), len(self)))

    def _finite(self, f: Any, values: np.ndarray) -> np.ndarray:
        import numpy as np

        for i in np.flatnonzero(~np.isfinite(values))[:1]:
            raise ExpressionError(f"{f} is no finite number at state {list(self)[i]}")
        return values

    def __repr__(self) -> str:
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.parameters.items())
        lines = [
            f"stationary law of {len(self)} states{' at ' if at else ''}{at}",
            f"  method    {self.method}",
            f"  residual  {self.residual:.1g}",
            f"  error     {self.error or 'unknown'}",
        ]
        if self.truncation:
            lines += [f"  window    {self.truncation}", f"  outside   {self.outside or 'unknown'}"]
        return "\n".join(lines)
