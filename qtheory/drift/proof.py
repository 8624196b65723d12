"""The proof of a drift bound as an author writes it, read off its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from qtheory.arithmetic import Ratio, Ring
from qtheory.domain import Domain
from qtheory.drift.terms import Piece, Polynomial, Term, drift_table, piece_conditions
from qtheory.formulas import formula
from qtheory.model import Interval, Model, Transition
from qtheory.model.guards import guard_relations
from qtheory.show.latex import latex

LONGEST = 260
"""Characters of LaTeX above which a coefficient is described instead of displayed."""


def drift_proof_latex(certificate: Mapping[str, Any]) -> str:
    r"""The test function, the table of drifts by region, the inequality on each, the conclusion.

    >>> from qtheory import Domain, Model, Transition
    >>> from qtheory.drift import foster
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(lam < mu), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> print(drift_proof_latex(foster(queue).data))
    Take the test function
    \[
    V = \frac{n^{2}}{2 \mu - 2 \lambda} + \frac{n}{2 \mu - 2 \lambda}.
    \]
    Let $f = n$ and
    \[
    c = \frac{\lambda}{\mu - \lambda}.
    \]
    Then $f + QV - c$ is
    \[
    \begin{array}{ll}
    n = 0 & 0 \\
    n \geq 1 & 0 \\
    \end{array}
    \]
    where every half-line is counted from its first state. On the domain every coefficient
    is nonpositive (the signs of their factors are in the certificate), so $f + QV \le c$ at
    every state.
    $V$ is bounded below and $f \ge 0$.
    Hence $\mathbb{E}[f] \le c$ in steady state.
    """
    names = certificate["parameters"]
    model = model_from_data(certificate["model"], names, certificate["domain"])
    ring = Ring(model.parameters)
    upper = certificate["direction"] == "<="
    scale = ring.ratio(formula(certificate["scale"], model.parameters))
    inside = next(iter(model.domain.region.samples), None)
    function = [
        (term, weight / scale) for term, weight in _terms(certificate["function"], model, ring)
    ]
    cost = _terms(certificate["cost"], model, ring)
    bound = ring.ratio(formula(certificate["bound"], model.parameters))

    def shown(value: Ratio) -> sp.Expr:
        return ring.factored(value, inside)

    V = sp.Add(*(shown(weight) * term.expression(model.state) for term, weight in function))
    f = sp.Add(*(shown(weight) * term.expression(model.state) for term, weight in cost))
    table = drift_table(model, [t for t, _ in cost], [w for _, w in cost], [t for t, _ in function])
    rows = []
    for piece, drifts, total in zip(table.pieces, table.drifts, table.costs, strict=True):
        left: Polynomial = dict(total)
        for (_, weight), polynomial in zip(function, drifts, strict=True):
            for key, value in polynomial.items():
                left[key] = left[key] + weight * value if key in left else weight * value
        constant = (0,) * len(model.state)
        left[constant] = left.get(constant, ring.zero) - bound
        where = ",\\ ".join(map(latex, piece_conditions(model, piece)))
        rows.append(rf"{where} & {_polynomial(left, piece, model, shown)} \\")
    sign, word = (r"\le", "nonpositive") if upper else (r"\ge", "nonnegative")
    lines = [
        "Take the test function",
        _display(f"V = {_short(V)}."),
        f"Let $f = {latex(f)}$ and",
        _display(f"c = {_ratio(bound, shown)}."),
        "Then $f + QV - c$ is",
        _display("\n".join([r"\begin{array}{ll}", *rows, r"\end{array}"])),
        "where every half-line is counted from its first state. On the domain every coefficient",
        f"is {word} (the signs of their factors are in the certificate), so $f + QV {sign} c$ at",
        "every state.",
    ]
    if certificate.get("moments"):
        lines.append(
            "All stationary moments are finite: a quadratic test function with positive squares "
            f"shows that ${_claim_bound(certificate['moments'], model)}$, and jumps and rates are "
            "bounded."
        )
    elif upper:
        lines.append("$V$ is bounded below and $f \\ge 0$.")
    lines.append(f"Hence $\\mathbb{{E}}[f] {sign} c$ in steady state.")
    return "\n".join(lines)


def model_from_data(
    data: Mapping[str, Any], parameters: Sequence[str], domain: Sequence[str]
) -> Model:
    """The model that a certificate is about."""
    symbols = [sp.Symbol(formula(name).name, real=True) for name in parameters]
    own = []
    for name, (low, _) in zip(data["state"], data["ranges"], strict=True):
        natural = {"nonnegative": True} if low == 0 else {}
        own.append(sp.Symbol(formula(name).name, integer=True, **natural))
    transitions = [
        Transition(
            formula(t["rate"], symbols),
            tuple(t["jump"]),
            sp.And(
                *guard_relations(
                    [Interval(*pair) for pair in t["guard"]],
                    [Interval(*pair) for pair in data["ranges"]],
                    own,
                )
            ),
        )
        for t in data["transitions"]
    ]
    ranges = [tuple(pair) for pair in data["ranges"]]
    return Model(own, Domain(*domain, symbols=symbols), transitions, data["time"], ranges)


def _terms(data: Sequence[Mapping[str, Any]], model: Model, ring: Ring) -> Any:

    return [
        (
            Term(tuple(term["powers"]), tuple(Interval(*pair) for pair in term["box"])),
            ring.ratio(formula(term["times"], model.parameters)),
        )
        for term in data
    ]


def _polynomial(left: Polynomial, piece: Piece, model: Model, shown: Any) -> str:
    """A polynomial in the coordinates y of a piece, written with the state variables."""
    parts = []
    for key in sorted(left, key=sum):
        if left[key].num.is_zero():
            continue
        monomial = sp.Mul(
            *(
                (direction * (x - origin)) ** power
                for x, origin, direction, power in zip(
                    model.state, piece.origin, piece.direction, key, strict=True
                )
                if power
            )
        )
        text = latex(shown(left[key]) * monomial)
        parts.append(text if len(text) <= LONGEST else _unshown(key, monomial))
    return " + ".join(parts).replace("+ -", "-") or "0"


def _unshown(key: Sequence[int], monomial: sp.Expr) -> str:
    name = f"c_{{{''.join(map(str, key))}}}"
    return name if monomial == 1 else rf"{name} \left({latex(monomial)}\right)"


def _short(value: sp.Expr) -> str:
    text = latex(value)
    return text if len(text) <= LONGEST else latex(value, terms_per_line=1)


def _ratio(value: Ratio, shown: Any) -> str:
    text = latex(shown(value))
    if len(text) <= 4 * LONGEST:
        return text
    above, below = len(value.num), len(value.den)
    return rf"\text{{a ratio of polynomials with {above} and {below} terms, in the certificate}}"


def _display(text: str) -> str:
    return f"\\[\n{text}\n\\]"


def _claim_bound(lemma: Mapping[str, Any], model: Model) -> str:
    ring = Ring(model.parameters)
    cost = sp.Add(
        *(
            ring.expression(weight) * term.expression(model.state)
            for term, weight in _terms(lemma["cost"], model, ring)
        )
    )
    return rf"\mathbb{{E}}\left[{latex(cost)}\right] < \infty"
