"""Drift certificates: a test function, a bound, and why the inequality holds everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, irreducible_factors
from qtheory.check import FORMAT, digest
from qtheory.check.drift import cost_text
from qtheory.domain import Domain
from qtheory.drift.program import Direction
from qtheory.drift.terms import DriftTable, Piece, Term, values_on
from qtheory.formulas import relation, text_of
from qtheory.inequality import Proved
from qtheory.inequality.bernstein import FoundNegative
from qtheory.inequality.signs import Sign, factor_entry, find_sign, prove_sign
from qtheory.model import Model
from qtheory.semialgebraic import Point
from qtheory.text import text_name

Weighted = tuple[tuple[Term, Ratio], ...]
"""A function of the state: terms with weights in QQ(parameters)."""


class Mean(sp.Function):
    """E[f]: the stationary mean of a function of the state, as a symbol."""

    nargs = 1

    def _sympystr(self, printer: Any) -> str:
        return f"E[{printer.doprint(self.args[0])}]"

    def _latex(self, printer: Any) -> str:
        return rf"\mathbb{{E}}\left[{printer.doprint(self.args[0])}\right]"


@dataclass(frozen=True)
class DriftCertificate:
    """``E[cost] <= bound`` (or ``>=``) in steady state, on a domain, by a test function."""

    model: Model
    domain: Domain
    cost: sp.Expr
    function: sp.Expr
    bound: sp.Expr
    direction: Direction
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """What `qtheory.check.check` re-checks."""

    @property
    def proved(self) -> Proved:
        """The bound as a verdict, for theorem files."""
        claim = relation(Mean(self.cost), self.direction, self.bound)
        return Proved(claim, self.domain, self.data)

    def __str__(self) -> str:
        return f"E[{self.cost}] {self.direction} {self.bound}"

    def _repr_latex_(self) -> str:
        from qtheory.show.latex import latex

        sign = r"\leq" if self.direction == "<=" else r"\geq"
        return rf"$\mathbb{{E}}\left[{latex(self.cost)}\right] {sign} {latex(self.bound)}$"


class Undecided(Exception):
    """A coefficient whose sign on the domain was not proved: the row that it belongs to."""

    def __init__(self, value: Ratio, why: str) -> None:
        super().__init__(why)
        self.value = value


class SignBook:
    """The factors whose signs a certificate proves, collected as coefficients are looked at."""

    def __init__(self, domain: Domain, cells: int = 400) -> None:
        self.domain = domain
        self.cells = cells
        self.signs: dict[str, tuple[fmpz_mpoly, Sign | None]] = {}
        self.joint: dict[str, tuple[fmpz_mpoly, Sign]] = {}

    def require_nonnegative(self, value: Ratio, why: str) -> None:
        """Prove value >= 0 on the domain, else raise `Undecided`."""
        if value.num.is_zero():
            return
        self._require_nonzero(value.den, why)
        content, factors = irreducible_factors(value.num)
        direction = 1 if content > 0 else -1
        below = irreducible_factors(value.den)
        direction *= 1 if below[0] > 0 else -1
        for factor, times in below[1]:
            direction *= self._known(factor).direction ** int(times)
        open_factors = []
        for factor, times in factors:
            sign = self._sign(factor)
            if sign is not None:
                direction *= sign.direction ** int(times)
            elif times % 2:
                open_factors.append(factor)
        if open_factors:
            self._joint_sign(open_factors, direction, value, why)
        elif direction < 0:
            raise Undecided(value, why)

    def condition(self, value: Ratio) -> tuple[fmpz_mpoly, bool] | None:
        """What is enough for value >= 0: a polynomial >= 0 (> 0 if True), None if it always holds.

        Factors whose signs are known on the domain are left out; what the value divides by must
        not vanish.
        """
        try:
            self.require_nonnegative(value, "")
        except Undecided:
            pass
        else:
            return None
        content, factors = irreducible_factors(value.num)
        below, divisors = irreducible_factors(value.den)
        product = value.num.context().constant(1 if (content > 0) == (below > 0) else -1)
        strict = False
        for factor, times in [*factors, *divisors]:
            sign = self._sign(factor)
            divides = any(factor == divisor for divisor, _ in divisors)
            if sign is not None and (sign.strict or not divides):
                product *= sign.direction ** int(times)
            else:
                product *= factor ** (int(times) % 2)
                strict |= divides
        return product, strict

    def require_positive(self, poly: fmpz_mpoly, why: str) -> None:
        """Prove poly > 0 on the domain, else raise `Undecided`."""
        one = poly.context().constant(1)
        self._require_nonzero(poly, why)
        self.require_nonnegative(Ratio(poly, one), why)

    def _require_nonzero(self, poly: fmpz_mpoly, why: str) -> None:
        for factor, _ in irreducible_factors(poly)[1]:
            sign = self._sign(factor)
            if sign is None or not sign.strict:
                raise Undecided(Ratio(factor, factor), f"{why}: a divisor may vanish")

    def _sign(self, factor: fmpz_mpoly) -> Sign | None:
        key = str(factor)
        if key not in self.signs:
            found = find_sign(self.domain.region, factor, True, self.cells)
            found = found or find_sign(self.domain.region, factor, False, self.cells)
            self.signs[key] = factor, found
        return self.signs[key][1]

    def _known(self, factor: fmpz_mpoly) -> Sign:
        sign = self._sign(factor)
        assert sign is not None
        return sign

    def _joint_sign(
        self, factors: Sequence[fmpz_mpoly], direction: int, value: Ratio, why: str
    ) -> None:
        product = factors[0].context().constant(direction)
        for factor in factors:
            product *= factor
        if str(product) in self.joint:
            return
        try:
            proof = prove_sign(self.domain.region, product, False, self.cells)
        except FoundNegative:
            proof = None
        if proof is None:
            raise Undecided(value, why)
        self.joint[str(product)] = product, Sign(1, False, proof)

    def entries(self) -> list[dict[str, Any]]:
        """The factors as a certificate carries them, products first."""
        ring = self.domain.ring
        found = [factor_entry(ring, poly, sign) for poly, sign in self.joint.values()]
        return found + [factor_entry(ring, poly, sign) for poly, sign in self.signs.values()]


def certify(
    table: DriftTable,
    cost: Weighted,
    function: Weighted,
    bound: Ratio,
    direction: Direction,
    domain: Domain,
    moments: Mapping[str, Any] | None = None,
) -> DriftCertificate:
    """The certificate of a bound, every inequality proved on the domain.

    Without `moments` (the data of an upper bound on a cost that dominates V) the cost must be
    nonnegative and V bounded below. Raises `Undecided` for an inequality that is not proved.
    """
    book = SignBook(domain)
    ring = table.ring
    weights = {term: weight for term, weight in function if not weight.num.is_zero()}
    sign = 1 if direction == "<=" else -1
    for _, rate in zip(table.model.transitions, table.rates, strict=True):
        book.require_nonnegative(rate, "a rate may be negative")
    for piece, drifts, costs in zip(table.pieces, table.drifts, table.costs, strict=True):
        total = dict(costs)
        for term, polynomial in zip(table.terms, drifts, strict=True):
            if term in weights:
                for key, value in polynomial.items():
                    value = value * weights[term]
                    total[key] = total[key] + value if key in total else value
        constant = (0,) * len(table.model.state)
        total[constant] = total.get(constant, ring.zero) - bound
        for value in total.values():
            book.require_nonnegative(-value if sign > 0 else value, "the drift exceeds the bound")
        if table.model.time == "discrete":
            book.require_nonnegative(_staying(table, piece), "probabilities exceed one")
        if moments is None:
            for value in costs.values():
                book.require_nonnegative(value, "the cost may be negative")
            for key, value in _values(weights, piece, ring).items():
                if any(key):
                    book.require_nonnegative(value, "V may not be bounded below")
    scale = _common_denominator([*weights.values(), bound, *(weight for _, weight in cost)])
    try:
        book.require_positive(scale, "the common denominator may vanish")
    except Undecided:
        scale = -scale
        book.require_positive(scale, "the common denominator may vanish")
    state = [text_name(x.name) for x in table.model.state]
    cost_data = [_term_data(term, text_of(ring.factored(weight))) for term, weight in cost]
    inside = next(iter(domain.region.samples), None)
    bound_text = text_of(ring.factored(bound, inside))
    content: dict[str, Any] = {
        "format": FORMAT,
        "kind": "drift",
        "verdict": "proved",
        "claim": f"E[{cost_text(cost_data, state)}] {direction} {bound_text}",
        "parameters": [text_of(symbol) for symbol in domain.symbols],
        "domain": domain.texts,
        "model": model_data(table.model),
        "cost": cost_data,
        "scale": text_of(ring.expression(scale)),
        "function": [
            _term_data(term, text_of(ring.expression(_scaled(weight, scale))))
            for term, weight in weights.items()
        ],
        "bound": bound_text,
        "scaled_bound": text_of(ring.expression(_scaled(bound, scale))),
        "direction": direction,
        "factors": book.entries(),
    }
    if moments is not None:
        content["moments"] = dict(moments)
    content["digest"] = digest(content)
    return DriftCertificate(
        table.model,
        domain,
        _expression(cost, table.model, ring, inside),
        _expression(tuple(weights.items()), table.model, ring, inside),
        ring.factored(bound, inside),
        direction,
        content,
    )


def model_data(model: Model) -> dict[str, Any]:
    """A model as data: what certificates carry."""
    return {
        "state": [text_name(x.name) for x in model.state],
        "ranges": [list(interval) for interval in model.ranges],
        "time": model.time,
        "transitions": [
            {
                "rate": text_of(transition.rate),
                "jump": list(transition.jump),
                "guard": [list(interval) for interval in guard],
            }
            for transition, guard in zip(model.transitions, model.guards, strict=True)
        ],
    }


def _term_data(term: Term, times: str) -> dict[str, Any]:
    return {
        "times": times,
        "powers": list(term.powers),
        "box": [list(interval) for interval in term.box],
    }


def _common_denominator(values: Sequence[Ratio]) -> fmpz_mpoly:
    common = values[0].den
    for value in values[1:]:
        common = common * (value.den / common.gcd(value.den))
    return common


def _scaled(value: Ratio, scale: fmpz_mpoly) -> fmpz_mpoly:
    return value.num * (scale / value.den)


def _expression(function: Weighted, model: Model, ring: Ring, inside: Point | None) -> sp.Expr:
    return sp.Add(
        *(ring.factored(w, inside) * term.expression(model.state) for term, w in function)
    )


def _values(weights: Mapping[Term, Ratio], piece: Piece, ring: Ring) -> dict[Any, Ratio]:
    total: dict[Any, Ratio] = {}
    for term, weight in weights.items():
        for key, number in values_on(term, piece, (0,) * len(piece.origin)).items():
            value = weight * ring.integer(number)
            total[key] = total[key] + value if key in total else value
    return total


def _staying(table: DriftTable, piece: Piece) -> Ratio:
    rest = table.ring.integer(1)
    for guard, rate in zip(table.model.guards, table.rates, strict=True):
        if all(part.covers(here) for part, here in zip(guard, piece.intervals, strict=True)):
            rest = rest - rate
    return rest
