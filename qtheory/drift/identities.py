"""Exact moments: what E[QV] = 0 determines for a basis of test functions V.

For a stationary law with finite moments the drift of V has expectation zero. QV is a linear
combination of monomials on faces of the lattice, so every V gives one linear equation in their
expectations. Row reduction over QQ(parameters) solves those that the equations determine and
leaves relations between the others.

Conditions for E[QV] = 0: P. W. Glynn and A. Zeevi, "Bounding stationary expectations of Markov
processes", IMS Collections 4 (2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from flint import fmpq, fmpz_mpoly

from qtheory.arithmetic import Ratio, Ring, exact, irreducible_factors, lowest_terms
from qtheory.drift.basis import complexity, default_basis
from qtheory.drift.moments import Moment
from qtheory.drift.piecewise import Combination, FunctionSpace, as_function, is_condition
from qtheory.drift.row_reduction import Row, cleared, remainder, row_reduced
from qtheory.drift.terms import Term
from qtheory.errors import CertificateError, ModelError, UnstableError
from qtheory.formulas import text_of
from qtheory.model import Model

LONGEST_SHOWN = 120
"""The characters of the longest relation that the identities show when they are printed."""


@dataclass(frozen=True, repr=False)
class Identities:
    """The identities E[QV] = 0 for the test functions V of a basis, solved.

    Formulas hold where no denominator of theirs, or of their `test_function`, vanishes, for a
    stationary law with the moments that `requires` names.

    >>> from qtheory import Domain, Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(stable=lam < mu), [
    ...     Transition(lam, jump=+1), Transition(mu, when=n >= 1, jump=-1)])
    >>> found = identities(queue, degree=3)
    >>> print(found)
    P(n = 0) = (mu - lam)/mu
    P(n = 1) = lam*(mu - lam)/mu**2
    E[n]     = lam/(mu - lam)
    E[n**2]  = lam*(lam + mu)/(mu - lam)**2
    >>> found.moment((n - lam/(mu - lam))**2)
    lambda*mu/(-lambda + mu)**2
    >>> found.requires
    E[n**3]
    """

    model: Model
    basis: tuple[sp.Expr, ...]

    @cached_property
    def _space(self) -> FunctionSpace:
        return FunctionSpace(self.model)

    @property
    def _ring(self) -> Ring:
        return self._space.ring

    @cached_property
    def _functions(self) -> tuple[Combination, ...]:
        return tuple(map(self._space.read, self.basis))

    @cached_property
    def _drifts(self) -> tuple[Combination, ...]:
        return tuple(map(self._space.drift, self._functions))

    @cached_property
    def _columns(self) -> dict[Term, int]:
        """The moments, complicated ones first so that they are eliminated; the constant last."""
        found = {term for row in self._drifts for term in row} - {self._space.constant}
        ordered = sorted(found, key=complexity, reverse=True)
        return {term: j for j, term in enumerate([*ordered, self._space.constant])}

    @cached_property
    def _moments(self) -> tuple[Moment, ...]:
        return tuple(map(self._space.moment, self._columns))

    @cached_property
    def _echelon(self) -> dict[int, Row]:
        rows = [{self._columns[t]: v for t, v in row.items()} for row in self._drifts]
        echelon = row_reduced(cleared(self._ring, row) for row in rows)
        if len(self._columns) - 1 in echelon:
            raise UnstableError(
                "no stationary law with finite moments: the identities contradict each other"
            )
        # substitute back: the solved moments satisfy every identity
        if any(remainder(row, echelon) for row in rows):
            raise CertificateError("the solved moments do not satisfy the identities")
        return echelon

    @cached_property
    def requires(self) -> Moment | None:
        """A moment that must be finite for the identities to hold, None when all V are bounded.

        With rates that are bounded it dominates V and QV; with rates of degree r in the state
        its degree is r higher.
        """
        degrees = [self._space.growth(term) for f in self._functions for term in f]
        degree = max(degrees, default=0) + self._space.growth_of_rates
        if degree == 0:
            return None
        unbounded = [
            x if low is not None and low >= 0 else sp.Abs(x)
            for x, (low, high) in zip(self.model.state, self.model.ranges, strict=True)
            if low is None or high is None
        ]
        return Moment(sp.Add(*unbounded) ** degree)

    @cached_property
    def _point(self) -> tuple[fmpq, ...]:
        """A point of the domain: formulas are written with factors that are positive there."""
        values = self.model.domain.sample(1)[0]
        return self._ring.point({symbol.name: exact(v) for symbol, v in values.items()})

    def _formula(self, value: Ratio) -> sp.Expr:
        sign = -1 if self._is_negative(value.den) else 1
        return self._product(sign * value.num) / self._product(sign * value.den)

    def _is_negative(self, polynomial: fmpz_mpoly) -> bool:
        return self._ring.evaluate(polynomial, self._point) < 0

    def _product(self, polynomial: fmpz_mpoly) -> sp.Expr:
        if polynomial.is_zero():
            return sp.Integer(0)
        number, factors = irreducible_factors(polynomial)
        shown = []
        for factor, power in factors:
            if self._is_negative(factor):
                factor, number = -factor, number * (-1) ** int(power)
            shown.append(self._ring.expression(factor) ** int(power))
        return sp.Mul(sp.Integer(int(number)), *shown)

    def _equation(self, row: Row, moments: Sequence[Moment]) -> sp.Eq:
        """The linear relation of a row; the column after the moments is the constant."""
        last = len(moments)
        sign = -1 if self._is_negative(row[min(row)]) else 1
        terms = {j: self._product(sign * v) for j, v in row.items()}
        right = -terms.pop(last, sp.Integer(0))
        left = sp.Add(*(value * moments[j] for j, value in terms.items()))
        return sp.Eq(left, right, evaluate=False)

    @cached_property
    def determined(self) -> dict[Moment, sp.Expr]:
        """The moments that the identities determine, in closed form, simple ones first."""
        last = len(self._columns) - 1
        return {
            self._moments[column]: self._formula(
                -lowest_terms(row[last], row[column]) if last in row else self._ring.zero
            )
            for column, row in reversed(self._echelon.items())
            if row.keys() <= {column, last}
        }

    @cached_property
    def relations(self) -> tuple[sp.Eq, ...]:
        """Independent linear relations between the moments that are not determined."""
        last = len(self._columns) - 1
        return tuple(
            self._equation(row, self._moments[:last])
            for column, row in reversed(self._echelon.items())
            if not row.keys() <= {column, last}
        )

    def moment(self, function: Any) -> sp.Expr | None:
        """The closed form of E[f], None when the identities do not determine it.

        f is a polynomial in the state with indicators (``KroneckerDelta``, ``Piecewise``,
        ``Abs``), or a condition, whose probability is meant; coefficients are rational in the
        parameters. Raises `ModelError` for anything else.

        >>> from qtheory.systems import shorter_queue as sq
        >>> identities(sq.model()).moment(sp.Eq(sq.d, 0))
        (-lambda*p + 2*mu)/(-lambda*p + 2*lambda + 2*mu)
        """
        left = self._left(function)
        if left.keys() <= {self._space.constant}:
            return self._formula(left.get(self._space.constant, self._ring.zero))
        return None

    def relation(self, *functions: Any) -> sp.Eq | None:
        """A linear relation between the expectations of the functions, None when none follows.

        It is the one for the first function whose expectation follows from those before it.

        >>> from qtheory.systems import shorter_queue as sq
        >>> print(text_of(identities(sq.model()).relation(2*sq.m + sq.d, sq.d)))
        lam*(1 - p)*E[d] + (2*mu - lam)*E[d + 2*m] == 2*lam
        """
        left = [self._left(function) for function in functions]
        terms = {term for combination in left for term in combination} - {self._space.constant}
        echelon = row_reduced(
            cleared(self._ring, {j: f[term] for j, f in enumerate(left) if term in f})
            for term in sorted(terms, key=complexity)
        )
        follows = next((j for j in range(len(left)) if j not in echelon), None)
        if follows is None:
            return None
        weights = {follows: self._ring.integer(1)} | {
            j: -lowest_terms(row[follows], row[j]) for j, row in echelon.items() if follows in row
        }
        constant = self._ring.zero
        for j, weight in weights.items():
            constant = constant - weight * left[j].get(self._space.constant, self._ring.zero)
        row = cleared(self._ring, dict(sorted(weights.items())) | {len(left): constant})
        return self._equation(row, [self._shown(f) for f in functions])

    def test_function(self, function: Any) -> sp.Expr | None:
        """A function V with f + QV = E[f] at every state, None when E[f] is not determined.

        V is a combination of the basis. It proves the value on its own: see
        `qtheory.drift.drift`.

        >>> from qtheory.systems import dedicated_streams as ds
        >>> model = ds.model(1)
        >>> identities(model).test_function(model.state[0])
        m**2/(-2*lambda - 2*lambda_s + 2*mu) + m/(-2*lambda - 2*lambda_s + 2*mu)
        """
        wanted, constant = self._space.read(function), self._space.constant
        last = len(self.basis)
        rows = []
        for term in sorted({*self._columns, *wanted} - {constant}, key=complexity):
            row = {k: image[term] for k, image in enumerate(self._drifts) if term in image}
            rows.append(row | ({last: wanted[term]} if term in wanted else {}))
        echelon = row_reduced(cleared(self._ring, row) for row in rows)
        if last in echelon:
            return None
        weights = {k: -lowest_terms(row[last], row[k]) for k, row in echelon.items() if last in row}
        found = sp.Add(*(self._formula(v) * self.basis[k] for k, v in weights.items()))
        balance = dict(wanted)
        for term, value in self._space.drift(self._space.read(found)).items():
            balance[term] = balance.get(term, self._ring.zero) + value
        if any(not v.num.is_zero() for term, v in balance.items() if term != constant):
            raise CertificateError(f"f + QV is not constant for f = {function}, V = {found}")
        return found

    def _left(self, function: Any) -> Combination:
        """The function modulo the identities: a combination with the same expectation."""
        read, terms = self._space.read(function), tuple(self._columns)
        known = {self._columns[t]: v for t, v in read.items() if t in self._columns}
        left = {terms[j]: v for j, v in remainder(known, self._echelon).items()}
        return left | {t: v for t, v in read.items() if t not in self._columns}

    def _shown(self, function: Any) -> Moment:
        """The expectation of a function as it was written, or as a moment if it is one."""
        function = as_function(self.model, function)
        read = self._space.read(function)
        if len(read) == 1:
            ((term, weight),) = read.items()
            if weight.num == weight.den:
                return self._space.moment(term)
        return Moment(1, [function]) if is_condition(function) else Moment(function)

    def __reduce__(self) -> tuple[Any, ...]:
        # polynomials of python-flint do not pickle
        return Identities, (self.model, self.basis)

    def _short_relations(self) -> list[sp.Eq]:
        return [r for r in self.relations if len(text_of(r)) <= LONGEST_SHOWN]

    def __str__(self) -> str:
        values = {str(moment): text_of(value) for moment, value in self.determined.items()}
        width = max(map(len, values), default=0)
        lines = [f"{moment:<{width}} = {value}" for moment, value in values.items()]
        short = self._short_relations()
        lines += [text_of(relation).replace("==", "=") for relation in short]
        if len(short) < len(self.relations):
            lines.append(f"and {len(self.relations) - len(short)} with more terms: see relations")
        return "\n".join(lines) or "no moment is determined"

    __repr__ = __str__

    def latex(self) -> str:
        """The determined moments and the relations that are short, as aligned equations."""
        from qtheory.show.latex import latex

        rows = [rf"{latex(m)} &= {latex(value)} \\" for m, value in self.determined.items()]
        rows += [rf"{latex(r.lhs)} &= {latex(r.rhs)} \\" for r in self._short_relations()]
        return "\n".join([r"\begin{aligned}", *rows, r"\end{aligned}"])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def identities(
    model: Model, degree: int = 2, layers: int = 1, basis: Iterable[Any] | None = None
) -> Identities:
    """What E[QV] = 0 determines of the stationary moments, for a basis of test functions V.

    Without a `basis` it holds the monomials in the state up to `degree`, and the products of
    indicators 1{x_i = j} of the first `layers` values with monomials in the other variables of a
    lower degree. A variable over all integers counts as two half-lines that meet between 0 and
    1, and its layers surround 0; one with a bounded range enters by the indicators of its values.
    A test function of degree k determines moments of degree k - 1 at most when rates are bounded.

    >>> from qtheory.systems import dedicated_streams as ds
    >>> model = ds.model(2)
    >>> m, g = model.state
    >>> print(text_of(identities(model).relation(m + g/2, m)))
    (mu - lam)*E[g_1/2 + m] - lam_s*E[m] == lam + lam_s

    Raises `ModelError` for a degree below 1, negative layers, or a basis that is not made of
    piecewise polynomials in the state, and `UnstableError` when the identities contradict each
    other, as they do when no stationary law has these moments.
    """
    if basis is None:
        if not isinstance(degree, int) or degree < 1:
            raise ModelError(f"the degree must be an integer >= 1, got {degree}")
        if not isinstance(layers, int) or layers < 0:
            raise ModelError(f"the number of layers must be an integer >= 0, got {layers}")
        functions = [term.expression(model.state) for term in default_basis(model, degree, layers)]
    else:
        functions = [as_function(model, function) for function in basis]
    found = Identities(model, tuple(functions))
    found._echelon  # noqa: B018 - contradictions and bad functions are errors of this call
    return found
