r"""Proofs as an author writes them, read off the certificates of verdicts.

The difference of the two sides is factored; each factor then has its sign by the rule that its
certificate names (see `qtheory.check.rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp
from flint import fmpz_mpoly
from sympy.core.relational import Relational

from qtheory.arithmetic import Ratio, Ring, read
from qtheory.balls import rational_value
from qtheory.chart import Constraint
from qtheory.formulas import formula, relations
from qtheory.show.latex import latex, symbol_latex
from qtheory.show.polynomials import (
    LINE,
    Powers,
    display,
    equation_lines,
    listed,
    polynomial_latex,
    product_latex,
    quotient_latex,
    sign_latex,
    split,
    stacked,
    terms_latex,
    width,
)
from qtheory.show.setting import Functions, Setting
from qtheory.show.sign_proofs import leaves, signs
from qtheory.text import symbol_name

TERMS_OF_A_FACTOR = 40

ENCLOSURE = (
    r"With $l$ the weighted level of a state, the certificate gives $V = v\,\beta^{l}$ with "
    r"$\beta^{l} + QV \le c$ at every state, hence $\mathbb{E}[\beta^{l}] \le c$, and $h$ of "
    r"finite support with $f + Qh$ constant up to rounding in a window, and at most "
    r"$\delta\beta^{l}$ away from that constant outside. Since $\mathbb{E}[Qh] = 0$, the mean of "
    r"$f$ lies in the interval. All this is decided in rational numbers at finitely many states."
)
"""Why a certified interval holds (see `qtheory.check.enclosure`)."""

Certificate = Mapping[str, Any]


def proof_latex(verdict: Any) -> str:
    r"""The LaTeX of a proof of a proved claim, of a counterexample, or of what is known.

    >>> from qtheory import Domain, prove
    >>> print(proof_latex(prove("lam <= 2*mu", Domain("lam > 0, mu >= lam"))))
    The right side minus the left side is
    \[
    2 \mu - \lambda.
    \]
    Write $\mu = \lambda + t_{\mu}$ with $t_{\mu} \ge 0$. Then
    \[
    2 \mu - \lambda = \lambda + 2 t_{\mu},
    \]
    where all coefficients are positive.
    """
    if verdict.verdict == "proved":
        return "\n".join(_proved(verdict.claim, verdict.certificate))
    if verdict.verdict == "refuted":
        return _counterexample(verdict.claim, verdict.witness)
    if verdict.verdict == "supported":
        return f"There is evidence, but no proof: {escape(verdict.evidence)}."
    tried = "; ".join(escape(text) for text in verdict.tried)
    return f"The claim is open. Tried without success: {tried or 'nothing'}."


def escape(text: str) -> str:
    r"""Plain text with the characters escaped that TeX reads specially.

    >>> escape("a_1 <= 50%")
    'a\\_1 $\\le$ 50\\%'
    """
    for sign, shown in (("\\", "\0"), *((c, f"\\{c}") for c in "{}$&#%_"), ("|", "$|$")):
        text = text.replace(sign, shown)
    text = text.replace("**", "^").replace("^", r"\textasciicircum{}").replace("~", r"$\sim$")
    text = text.replace("\0", r"\textbackslash{}")
    for sign, shown in (("<=", "le"), (">=", "ge"), ("!=", "ne")):
        text = text.replace(sign, rf"$\{shown}$")
    text = text.replace("±", r"$\pm$")
    return text.replace("<", "$<$").replace(">", "$>$").replace("*", r"$\cdot$")


def _counterexample(claim: Relational, witness: Mapping[sp.Symbol, Any]) -> str:
    place = ",\\; ".join(f"{symbol_latex(s.name)} = {latex(v)}" for s, v in witness.items())
    sides = []
    for word, side in zip(("left", "right"), claim.args, strict=True):
        value = rational_value(side, witness)
        if side.free_symbols and value is not None:
            sides.append(f"the {word} side is ${latex(sp.Rational(*value.as_integer_ratio()))}$")
        elif side.free_symbols:
            sides.append(f"the {word} side is ${latex(side.subs(witness))}$")
    at = f"At the point ${place}$ of the domain " if place else "On the domain "
    other = "" if len(sides) == 2 else f", not ${sign_latex(claim.rel_op)} {latex(claim.rhs)}$"
    return f"{at}{listed(sides)}{other}, so the claim fails there."


def _proved(claim: Relational, certificate: Certificate) -> Iterator[str]:
    """The paragraphs of a proof."""
    if certificate.get("kind") == "enclosure":
        yield ENCLOSURE
        return
    roots = certificate.get("roots", [])
    names = [*certificate["parameters"], *(root["name"] for root in roots)]
    ring = Ring(sp.Symbol(symbol_name(name), real=True) for name in names)
    functions = Functions(ring)
    for root in reversed(roots):
        variable = symbol_name(root["variable"])
        functions.values[variable] = read(formula(root["value"]), functions)
    constraints = []
    for text in certificate["domain"]:
        (condition,) = relations(text)
        value = read(condition.lhs, functions)
        constraints.append(Constraint(value.num * value.den, condition.rel_op))
    for root in roots:
        functions.roots.append(ring.symbol(root["name"]))
        kind = ">" if root["nonnegative"]["claim"].endswith("> 0") else ">="
        constraints.append(Constraint(functions.roots[-1].num, kind))
    setting = Setting(ring, tuple(constraints))
    yield from _roots(roots, functions, setting)
    setting, texts = _derived(certificate, setting)
    yield from texts
    left, right = (read(side, functions) for side in claim.args)
    entries = certificate["factors"]
    if left == right:
        yield from _identity(left, entries, setting)
    else:
        yield from _difference(claim, left, right, entries, setting)


def _roots(roots: Sequence[Certificate], functions: Functions, setting: Setting) -> Iterator[str]:
    if not roots:
        return
    radicands = [latex(formula(root["radicand"])) for root in roots]
    names = [symbol_latex(root["name"]) for root in roots]
    put = [rf"${n} = \sqrt{{{r}}}$" for n, r in zip(names, radicands, strict=True)]
    so = []
    for variable in (symbol_name(root["variable"]) for root in roots):
        value = functions.values[variable]
        if value.den.is_one():
            shown = polynomial_latex(value.num, setting.names)
        else:
            shown = quotient_latex(split(value.num), split(value.den), setting.names)
        so.append(f"${symbol_latex(variable)} = {shown}$")
    yield f"Put {listed(put)}, so that {listed(so)}."
    for root in roots:
        for lemma in (root["nonnegative"], root["coefficient"]):
            if lemma is None:
                continue
            (claim,) = relations(lemma["claim"])
            lines = list(_proved(claim, lemma))
            # what the conditions say of a radicand needs no proof of its own
            if len(lines) > 2 or "Write" in lines[-1]:
                yield f"Here ${latex(claim)}$: {lines[0][0].lower()}{lines[0][1:]}"
                yield from lines[1:]


def _derived(certificate: Certificate, setting: Setting) -> tuple[Setting, list[str]]:
    """The setting with the conditions that follow from others, and the steps that matter."""
    entries = certificate.get("derived", [])
    first = len(setting.constraints)
    steps = []
    for entry in entries:
        setting, text = _consequence(entry, setting)
        steps.append(text)
    wanted: set[Any] = set()
    for factor in certificate["factors"]:
        poly, strict = setting.poly(factor["poly"]), factor["sign"] == ">"
        stated = setting.stated(poly, strict)
        if stated is not None:
            wanted.add(stated)
        elif not setting.evident(poly, strict):
            wanted |= _mentioned(factor)
    for index in reversed(range(len(entries))):
        if index + first in wanted:
            wanted |= {
                entries[index].get("from"),
                *(t["of"] for t in entries[index].get("sum", ())),
            }
    return setting, [text for index, text in enumerate(steps, first) if index in wanted]


def _mentioned(proofs: Any) -> set[Any]:
    """The indices of the conditions that proofs refer to."""
    found: set[Any] = set()
    if isinstance(proofs, Mapping):
        found.add(proofs.get("constraint"))
        found |= {bound for step in proofs.get("chart", ()) for bound in step[1:]}
        found |= set(leaves(proofs.get("cells", "+")))
    if isinstance(proofs, (Mapping, list)):
        for part in proofs.values() if isinstance(proofs, Mapping) else proofs:
            found |= _mentioned(part)
    return found


def _consequence(entry: Certificate, setting: Setting) -> tuple[Setting, str]:
    """A condition divided by positive factors, or a sum of positive multiples of conditions."""
    if "sum" in entry:
        poly, kind, parts = setting.ring.context.constant(0), ">=", []
        for term in entry["sum"]:
            times, (stated, sign) = setting.poly(term["times"]), setting.constraints[term["of"]]
            poly, kind = poly + times * stated, ">" if sign == ">" else kind
            parts.append(f"${setting.show(stated)} {sign_latex(sign)} 0$")
        how = f"The conditions {listed(parts)}, times positive factors, add up to"
    else:
        poly, kind = setting.constraints[entry["from"]]
        how = (
            f"Since ${setting.show(poly)} {sign_latex(kind)} 0$, division by positive factors gives"
        )
        for part in entry["factors"]:
            factor = setting.poly(part["poly"])
            while not (factor.is_constant() or poly.is_constant()):
                quotient, remainder = divmod(poly, factor)
                if not remainder.is_zero():
                    break
                poly = quotient
    larger = replace(setting, constraints=(*setting.constraints, Constraint(poly, kind)))
    return larger, f"{how} ${setting.show(poly)} {sign_latex(kind)} 0$."


def _identity(value: Ratio, entries: Sequence[Certificate], setting: Setting) -> Iterator[str]:
    if value.num.is_zero():
        yield "Both sides are the same rational function: their difference is zero identically."
    else:
        below = [setting.poly(entry["poly"]) for entry in entries]
        shown = quotient_latex(split(value.num), split(value.den, below), setting.names)
        yield f"Both sides are the same rational function,\n{display(shown + '.')}"
    if entries:
        yield "No divisor is zero."
        yield from signs(entries, setting)


def _difference(
    claim: Relational, left: Ratio, right: Ratio, entries: Sequence[Certificate], setting: Setting
) -> Iterator[str]:
    if right.num.is_zero() or left.num.is_zero():
        value, what = (left, "left side") if right.num.is_zero() else (right, "right side")
    elif claim.rel_op in ("<", "<="):
        value, what = right - left, "right side minus the left side"
    else:
        value, what = left - right, "left side minus the right side"
    known = [setting.poly(entry["poly"]) for entry in entries]
    above, below = split(value.num, known), split(value.den, known)
    hard = {str(f) for f, e in zip(known, entries, strict=True) if _hard(f, e)}
    labels = _labels((above[1], below[1]), hard, setting)
    setting = replace(setting, labels=labels)
    shown = quotient_latex(above, below, setting.names, labels)
    if shown in labels.values():
        yield f"The {what} is"
    else:
        yield f"The {what} is\n{display(shown + ('' if labels else '.'))}"
        if labels:
            yield "with"
    named = [factor for factor, _ in (*above[1], *below[1]) if str(factor) in labels]
    yield from _named(named, setting)
    used = {str(factor) for factor, _ in (*above[1], *below[1])}
    inside = [e for e, poly in zip(entries, known, strict=True) if str(poly) in used]
    others = [e for e in entries if e not in inside]
    yield from signs(inside, setting)
    if others:
        yield "Nor is any other divisor zero."
        yield from signs(others, setting)


def _hard(factor: fmpz_mpoly, entry: Certificate) -> bool:
    """Whether the sign of a factor takes several sentences, in which its name stands for it."""
    proof = entry.get("proof", {"by": "given"})
    quick = proof["by"] == "given" or (proof["by"] == "coefficients" and proof["cells"] == "+")
    return len(factor) > 2 and not quick


def _labels(sides: tuple[Powers, Powers], hard: set[str], setting: Setting) -> dict[str, str]:
    """Names for the hard factors, and for the longest ones until a quotient fits on a line."""
    chosen: list[str] = []
    for powers in sides:
        chosen += [str(factor) for factor, _ in powers if str(factor) in hard]
        rest = [item for item in powers if str(item[0]) not in hard]
        rest.sort(key=lambda item: width(setting.show(item[0])))
        while rest and width(product_latex(1, rest, setting.names)) > LINE:
            chosen.append(str(rest.pop()[0]))
    letter = next(c for c in "FHKQ" if c not in setting.ring.names)
    if len(chosen) == 1:
        return {chosen[0]: letter}
    return {key: f"{letter}_{{{number}}}" for number, key in enumerate(chosen, 1)}


def _named(named: Sequence[fmpz_mpoly], setting: Setting) -> Iterator[str]:
    """What the names of long factors stand for."""
    lines: list[str] = []
    for poly in named:
        label = setting.labels[str(poly)]
        if len(poly) > TERMS_OF_A_FACTOR:
            degree = int(poly.total_degree())
            yield (
                f"${label}$ is a polynomial with {len(poly)} terms of degree at most "
                f"{degree}, which the certificate lists."
            )
        else:
            lines += equation_lines(label, terms_latex(poly, setting.names))
    if lines:
        yield display(stacked(lines, "."))
