"""Charts: substitutions of a parameter domain onto the orthant.

A chart writes the variables, one after the other, through coordinates t in [0, oo], using one
lower and one upper constraint of the domain that are linear in the variable:

    a x + b >= 0                         x = (t - b)/a
    c - d x >= 0                         x = (c - t)/d
    both                                 x = (c t/d - b/a)/(1 + t)
    a x + b == 0                         x = -b/a

where a, d > 0 and b, c are polynomials in the earlier variables. Every point of the domain has
such coordinates, so an inequality that holds on the whole orthant holds on the domain. There, a
polynomial whose coefficients are all nonnegative is nonnegative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ring, by_power
from qtheory.text import symbol_name


class Constraint(NamedTuple):
    """``poly kind 0`` with kind one of ``>``, ``>=``, ``==``."""

    poly: fmpz_mpoly
    kind: str


class Pulled(NamedTuple):
    """A polynomial in chart coordinates, up to a positive factor.

    `degrees` are formal: a coordinate t stands for the ratio of a homogeneous pair, so at t = oo
    only the terms of the full formal degree count.
    """

    poly: fmpz_mpoly
    degrees: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One variable x = (start + slope t) / (scale (1 + t)), without (1 + t) if one-sided."""

    variable: int
    lower: int | None
    upper: int | None
    start: fmpz_mpoly
    slope: fmpz_mpoly
    scale: fmpz_mpoly
    attained: tuple[bool, bool]
    """Whether the ends t = 0 and t = oo belong to the domain."""

    ordered: bool = True
    """Whether the lower bound is known to be at most the upper one; if not, the chart also
    covers points outside the domain."""

    @property
    def two_sided(self) -> bool:
        return self.lower is not None and self.upper is not None and self.lower != self.upper


@dataclass(frozen=True)
class Chart:
    """An ordered choice of bounds for some of the variables of a ring."""

    ring: Ring
    steps: tuple[Step, ...] = ()

    @property
    def variables(self) -> frozenset[int]:
        return frozenset(step.variable for step in self.steps)

    @property
    def attained(self) -> tuple[tuple[bool, bool], ...]:
        """Per variable of the ring, which ends of its coordinate belong to the domain."""
        ends = [(True, False)] * len(self.ring.names)
        for step in self.steps:
            ends[step.variable] = step.attained
        return tuple(ends)

    def pull_back(self, poly: fmpz_mpoly) -> Pulled:
        """The polynomial in chart coordinates, cleared of its positive denominators."""
        context = self.ring.context
        degrees = [0] * len(self.ring.names)
        for step in reversed(self.steps):
            parts = by_power(poly, step.variable, context)
            degree = len(parts) - 1
            if degree == 0:
                continue
            t = self.ring.generators[step.variable]
            scale = step.scale * (1 + t) if step.two_sided else step.scale
            value = step.start + step.slope * t
            poly, power = parts[degree], scale
            for part in reversed(parts[:degree]):
                poly, power = poly * value + part * power, power * scale
            if step.lower != step.upper:
                degrees[step.variable] = degree
        return Pulled(poly, tuple(degrees))

    def sign(self, poly: fmpz_mpoly) -> str | None:
        """The sign that the coefficients show: ``>``, ``>=``, ``==``, ``<=``, ``<`` or None."""
        if poly.is_constant():
            value = poly.leading_coefficient() if len(poly) else 0
            return ">" if value > 0 else "<" if value < 0 else "=="
        if not self._covers(poly):
            return None
        return coefficient_sign(*self.pull_back(poly), self.attained)

    def _covers(self, poly: fmpz_mpoly) -> bool:
        known = self.variables
        return all(d <= 0 or i in known for i, d in enumerate(poly.degrees()))

    def point(self, coordinates: Sequence[fmpq | None]) -> tuple[fmpq, ...] | None:
        """The parameters at chart coordinates (None is t = oo), or None where undefined."""
        values = [fmpq(0)] * len(self.ring.names)
        for step, (start, slope, scale) in zip(self.steps, self._functions, strict=True):
            divisor = scale(*values)
            if divisor == 0:
                return None
            t = coordinates[step.variable]
            if t is None:
                values[step.variable] = slope(*values) / divisor
                continue
            if step.two_sided:
                divisor *= 1 + t
            values[step.variable] = (start(*values) + slope(*values) * t) / divisor
        return tuple(values)

    @cached_property
    def _functions(self) -> list[tuple[Any, Any, Any]]:
        convert = self.ring.rational
        return [(convert(s.start), convert(s.slope), convert(s.scale)) for s in self.steps]


def coefficient_sign(
    poly: fmpz_mpoly, degrees: Sequence[int], attained: Sequence[tuple[bool, bool]]
) -> str | None:
    """The sign on the orthant that the coefficient signs prove, or None.

    Strictness needs a term that does not vanish at any combination of attained ends.
    """
    terms = list(poly.terms())
    if not terms:
        return "=="
    positive = terms[0][1] > 0
    if any((coefficient > 0) != positive for _, coefficient in terms):
        return None
    ends = [_end_exponents(attained[i], n) for i, n in enumerate(degrees)]
    strict = all(
        any(
            all(e is None or exponents[i] == e for i, e in enumerate(corner))
            for exponents, _ in terms
        )
        for corner in product(*ends)
    )
    return (">" if positive else "<") + ("" if strict else "=")


def _end_exponents(attained: tuple[bool, bool], degree: int) -> list[int | None]:
    """The exponent that survives at each attained end (None: any, in the interior)."""
    if degree == 0:
        return [None]
    low, high = attained
    return [e for e, here in ((0, low), (degree, high)) if here] or [None]


def charts(ring: Ring, constraints: Sequence[Constraint], limit: int = 24) -> list[Chart]:
    """The charts of a domain, simplest first; variables without bounds are left out.

    Simplest: few constraints that the chart does not use or imply, then few variables with two
    bounds and few bounds with a nonconstant coefficient.
    """
    found: list[Chart] = []
    supports = [
        frozenset(i for i, degree in enumerate(poly.degrees()) if degree > 0)
        for poly, _ in constraints
    ]
    for chart in _extend(Chart(ring), constraints, supports, set()):
        found.append(chart)
        if len(found) >= limit:
            break
    return sorted(found, key=lambda chart: _cost(chart, constraints))


def any_chart(ring: Ring, constraints: Sequence[Constraint]) -> Chart:
    """One chart, found at once: at each step the first variable with bounds in a known order."""
    chart = Chart(ring)
    while True:
        known = chart.variables
        fallback = None
        for variable in range(len(ring.names)):
            steps = [] if variable in known else _steps(chart, variable, constraints)
            chosen = next((step for step in steps if step.ordered), None)
            if chosen is not None:
                break
            fallback = fallback or next(iter(steps), None)
        chosen = chosen or fallback
        if chosen is None:
            return chart
        chart = Chart(ring, (*chart.steps, chosen))


def _cost(chart: Chart, constraints: Sequence[Constraint]) -> tuple[int, int, int]:
    used = {i for step in chart.steps for i in (step.lower, step.upper)}
    loose = sum(
        chart.sign(constraint.poly) not in (">", constraint.kind)
        for i, constraint in enumerate(constraints)
        if i not in used
    )
    loose += sum(not step.ordered for step in chart.steps) - len(chart.steps)
    two_sided = sum(step.two_sided for step in chart.steps)
    nonconstant = sum(not step.scale.is_constant() for step in chart.steps)
    return loose, two_sided, nonconstant


def _extend(
    chart: Chart,
    constraints: Sequence[Constraint],
    supports: Sequence[frozenset[int]],
    seen: set[frozenset[Any]],
) -> Iterator[Chart]:
    """All charts that continue this one until no further variable has a bound.

    The order of independent steps makes no difference: each set of bounds is taken once, and
    variables that share no constraint with others to come are taken in turn, after the others.
    """
    key = frozenset((step.variable, step.lower, step.upper) for step in chart.steps)
    if key in seen:
        return
    seen.add(key)
    known = chart.variables
    steps: list[Step] = []
    alone: list[Step] = []
    for variable in range(len(chart.ring.names)):
        if variable in known:
            continue
        own = _steps(chart, variable, constraints)
        if all(s <= known | {variable} for s in supports if variable in s):
            alone = alone or own
        else:
            steps += own
    steps = steps or alone
    if not steps:
        yield chart
    for step in sorted(steps, key=lambda step: not step.ordered):
        yield from _extend(Chart(chart.ring, (*chart.steps, step)), constraints, supports, seen)


def _steps(chart: Chart, variable: int, constraints: Sequence[Constraint]) -> list[Step]:
    """The ways to bound one more variable by constraints in the variables known so far."""
    bounds = _linear_bounds(chart, variable, constraints)
    if not bounds:
        return []
    context = chart.ring.context
    one, zero = context.constant(1), context.constant(0)
    for index, a, b, sign in bounds:
        if constraints[index].kind == "==":
            return [Step(variable, index, index, -b * sign, zero, a * sign, (True, False))]
    bounds.sort(key=lambda bound: constraints[bound[0]].kind != ">")  # of equal bounds, the strict
    lowers = _undominated(chart, [(i, a, b) for i, a, b, sign in bounds if sign > 0])
    uppers = _undominated(chart, [(i, -a, b) for i, a, b, sign in bounds if sign < 0])
    weak = [constraint.kind == ">=" for constraint in constraints]
    if not lowers:
        return [Step(variable, None, j, c, -one, d, (weak[j], False)) for j, d, c in uppers]
    if not uppers:
        return [Step(variable, i, None, -b, one, a, (weak[i], False)) for i, a, b in lowers]
    return [
        Step(
            variable,
            i,
            j,
            -b * d,
            a * c,
            a * d,
            (weak[i], weak[j]),
            chart.sign(b * d + a * c) in (">", ">="),
        )
        for i, a, b in lowers
        for j, d, c in uppers
    ]


def _linear_bounds(
    chart: Chart, variable: int, constraints: Sequence[Constraint]
) -> list[tuple[int, fmpz_mpoly, fmpz_mpoly, int]]:
    """The constraints a x + b with a of known sign, as (index, a, b, sign)."""
    known = chart.variables | {variable}
    bounds = []
    for index, constraint in enumerate(constraints):
        degrees = constraint.poly.degrees()
        if degrees[variable] != 1 or any(d > 0 and i not in known for i, d in enumerate(degrees)):
            continue
        b, a = by_power(constraint.poly, variable, chart.ring.context)
        sign = chart.sign(a)
        if sign in (">", "<"):
            bounds.append((index, a, b, 1 if sign == ">" else -1))
    return bounds


def _undominated(
    chart: Chart, bounds: list[tuple[int, fmpz_mpoly, fmpz_mpoly]]
) -> list[tuple[int, fmpz_mpoly, fmpz_mpoly]]:
    """Bounds |a| x + b >= 0 without those that another of the same direction implies.

    The bound i implies the bound j when b_j/|a_j| - b_i/|a_i| is nonnegative.
    """
    kept: list[tuple[int, fmpz_mpoly, fmpz_mpoly]] = []
    for bound in bounds:
        if any(_implies(chart, other, bound) for other in kept):
            continue
        kept = [other for other in kept if not _implies(chart, bound, other)]
        kept.append(bound)
    return kept


def _implies(
    chart: Chart,
    bound: tuple[int, fmpz_mpoly, fmpz_mpoly],
    other: tuple[int, fmpz_mpoly, fmpz_mpoly],
) -> bool:
    _, a, b = bound
    _, c, d = other
    return chart.sign(d * a - b * c) in (">", ">=", "==")


def chart_from_steps(
    ring: Ring, constraints: Sequence[Constraint], steps: Sequence[Sequence[Any]]
) -> Chart:
    """The chart that a certificate records as (name, lower bound, upper bound) per variable.

    A bound is the index of a constraint, or None; certificates are checked elsewhere.
    """
    chart = Chart(ring)
    for name, lower, upper in steps:
        variable = ring.names.index(symbol_name(name))
        step = _recorded_step(chart, variable, constraints, lower, upper)
        chart = Chart(ring, (*chart.steps, step))
    return chart


def _recorded_step(
    chart: Chart,
    variable: int,
    constraints: Sequence[Constraint],
    lower: int | None,
    upper: int | None,
) -> Step:
    context = chart.ring.context
    one, zero = context.constant(1), context.constant(0)
    a = b = c = d = one
    if lower is not None:
        b, a = by_power(constraints[lower].poly, variable, context)
    if lower is not None and lower == upper:
        sign = 1 if chart.sign(a) == ">" else -1
        return Step(variable, lower, lower, -b * sign, zero, a * sign, (True, False))
    if upper is not None:
        c, negative = by_power(constraints[upper].poly, variable, context)
        d = -negative
    low, high = (k is not None and constraints[k].kind == ">=" for k in (lower, upper))
    if upper is None:
        return Step(variable, lower, None, -b, one, a, (low, False))
    if lower is None:
        return Step(variable, None, upper, c, -one, d, (high, False))
    return Step(variable, lower, upper, -b * d, a * c, a * d, (low, high))
