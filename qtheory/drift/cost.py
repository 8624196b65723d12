"""Costs: functions of the state, read as sums of terms."""

from __future__ import annotations

from typing import Any

import sympy as sp

from qtheory.arithmetic import Ratio, Ring, lowest_terms, parameters
from qtheory.drift.terms import Term
from qtheory.errors import ModelError
from qtheory.model import Interval, Model
from qtheory.model.guards import INTEGERS, guard_intervals


def as_terms(model: Model, cost: Any, ring: Ring) -> tuple[tuple[Term, Ratio], ...]:
    """A polynomial in the state with indicators, as terms with weights over QQ(parameters).

    Indicators are ``KroneckerDelta(x, c)`` and ``Piecewise((1, condition), (0, True))`` with a
    conjunction of comparisons of state variables with integers. Raises `ModelError` otherwise.
    """
    expanded = sp.expand(sp.sympify(cost))
    found: dict[Term, Ratio] = {}
    for part in sp.Add.make_args(expanded):
        box = [INTEGERS] * len(model.state)
        rest = sp.Integer(1)
        for factor in sp.Mul.make_args(part):
            condition = _indicator(factor)
            if condition is None:
                rest *= factor
            else:
                guard = guard_intervals(condition, model.state)
                box = [a & b for a, b in zip(box, guard, strict=True)]
        if any(interval.is_empty for interval in box):
            continue
        for powers, weight in _monomials(model, rest, ring):
            term = Term(powers, tuple(Interval(*interval) for interval in box))
            found[term] = found[term] + weight if term in found else weight
    return tuple((term, weight) for term, weight in found.items() if not weight.num.is_zero())


def _indicator(factor: sp.Expr) -> Any:
    """The condition of an indicator function, None for anything else."""
    if isinstance(factor, sp.KroneckerDelta):
        return sp.Eq(*factor.args, evaluate=False)
    if isinstance(factor, sp.Pow) and factor.exp.is_Integer and factor.exp > 0:
        return _indicator(factor.base)
    if isinstance(factor, sp.Piecewise):
        if len(factor.args) == 2 and factor.args[0][0] == 1 and factor.args[1] == (0, True):
            return factor.args[0][1]
        raise ModelError(f"not an indicator: {factor}; write Piecewise((1, condition), (0, True))")
    return None


def _monomials(
    model: Model, expression: sp.Expr, ring: Ring
) -> list[tuple[tuple[int, ...], Ratio]]:
    count = len(ring.symbols)
    own = {x.name for x in model.state}
    for symbol in parameters(expression):
        if symbol.name not in own and symbol.name not in ring.names:
            raise ModelError(f"the cost names {symbol}, which the model does not have")
    whole = Ring((*ring.symbols, *model.state)).ratio(expression)
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exponents, coefficient in whole.num.terms():
        powers = tuple(map(int, exponents))
        parts.setdefault(powers[count:], {})[powers[:count]] = coefficient
    if any(any(e[count:]) for e in whole.den.monoms()):
        raise ModelError(f"the cost {expression} is not a polynomial in the state")
    below = ring.context.from_dict({tuple(e[:count]): c for e, c in whole.den.terms()})
    return [(p, lowest_terms(ring.context.from_dict(d), below)) for p, d in parts.items()]
