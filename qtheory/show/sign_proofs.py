r"""Why a polynomial has a sign on a domain, in words, by the rules of `qtheory.check.rules`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flint import fmpz_mpoly

from qtheory.arithmetic import Ratio, by_power, lowest_terms, read
from qtheory.chart import Chart, Step, chart_from_steps
from qtheory.show.latex import symbol_latex
from qtheory.show.polynomials import (
    LINE,
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
from qtheory.text import symbol_name

TERMS_SHOWN = 12

Certificate = Mapping[str, Any]


class Claim(NamedTuple):
    """``poly sign 0`` with sign ``>`` or ``>=`` by a proof; ``real``: only squares of it matter."""

    poly: fmpz_mpoly
    sign: str
    proof: Certificate

    @property
    def strict(self) -> bool:
        return self.sign == ">"


def signs(entries: Sequence[Certificate], setting: Setting) -> Iterator[str]:
    """The signs of the factors of a certificate: the plain ones in a clause, then the others."""
    claims = [Claim(setting.poly(e["poly"]), e["sign"], e.get("proof", {})) for e in entries]
    return _reasons(claims, setting)


def _reasons(claims: Sequence[Claim], setting: Setting) -> Iterator[str]:
    stated, evident, squares = [], [], []
    by_chart: dict[str, list[Claim]] = {}
    others = []
    for claim in claims:
        poly, sign, proof = claim
        if poly.is_constant():
            continue
        kind = next((k for k in (">", ">=") if setting.stated(poly, k == ">") is not None), "")
        shown = f"${setting.show(poly)} {sign_latex(kind or sign)} 0$"
        if kind and (kind == ">" or not claim.strict):
            stated.append(shown)
        elif sign != "real" and setting.evident(poly, claim.strict):
            evident.append(shown)
        elif sign == "real":
            squares.append(f"${setting.show(poly)}$")
        elif proof["by"] == "coefficients" and proof["cells"] == "+":
            by_chart.setdefault(str(proof["chart"]), []).append(claim)
        else:
            others.append(claim)
    plain = [f"on the domain {listed(stated)}"] if stated else []
    plain += [f"term by term, {listed(evident)}"] if evident else []
    plain += [f"even powers of {listed(squares)} are nonnegative"] if squares else []
    if plain:
        text = "; ".join(plain)
        yield f"{text[0].upper()}{text[1:]}."
    for group in by_chart.values():
        yield from _by_coefficients(group, setting)
    for claim in others:
        yield from _RULES.get(claim.proof["by"], _by_certificate)(claim, setting)


def _sign(claim: Claim) -> str:
    return sign_latex(claim.sign)


class _Substitution(NamedTuple):
    """A chart in words, and how its coordinates are written."""

    chart: Chart
    text: str
    names: list[str]


def _substitution(
    steps: Sequence[Any], polys: Sequence[fmpz_mpoly], setting: Setting
) -> _Substitution:
    """The part of a chart that matters to the polynomials."""
    chart = chart_from_steps(setting.ring, setting.constraints, steps)
    needed = {i for poly in polys for i, d in enumerate(poly.degrees()) if d > 0}
    for step in reversed(chart.steps):
        if step.variable in needed:
            for part in (step.start, step.slope, step.scale):
                needed |= {i for i, d in enumerate(part.degrees()) if d > 0}
    names, written, ranges = setting.names, [], []
    for step in chart.steps:
        if step.variable not in needed or _is_identity(step):
            continue
        own = setting.names[step.variable]
        t = f"t_{{{own}}}"
        written.append(f"{own} = {_value(step, t, setting)}")
        if step.lower != step.upper:
            names[step.variable] = t
            low = r"\le" if step.attained[0] else "<"
            high = r"\le" if step.attained[1] else "<"
            weak = r"\ge" if step.attained[0] else ">"
            bound = rf"0 {low} {t} {high} \infty" if step.two_sided else f"{t} {weak} 0"
            ranges.append(f"${bound}$")
    text = f"Write {_written(written)}" if written else ""
    return _Substitution(chart, text + (f" with {listed(ranges)}" if ranges else ""), names)


def _written(equations: Sequence[str]) -> str:
    """Equations within a sentence, or in a display where one of them is long."""
    if max(map(width, equations)) <= LINE // 2:
        return listed([f"${equation}$" for equation in equations])
    rows = [equation.replace(" = ", " &= ", 1) for equation in equations]
    return display("\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}")


def _is_identity(step: Step) -> bool:
    """Whether the variable is its own coordinate."""
    one = step.scale.is_one() and step.slope.is_one()
    return step.start.is_zero() and one and not step.two_sided


def _value(step: Step, t: str, setting: Setting) -> str:
    names = setting.names
    names[step.variable] = t
    generator = setting.ring.generators[step.variable]
    scale = step.scale * (1 + generator) if step.two_sided else step.scale
    value = lowest_terms(step.start + step.slope * generator, scale)
    known = [constraint.poly for constraint in setting.constraints]
    if value.den.is_one():
        return polynomial_latex(value.num, names)
    return quotient_latex(split(value.num, known), split(value.den, known), names)


def _product(poly: fmpz_mpoly, names: Sequence[str]) -> str:
    return product_latex(*split(poly), names)


def _by_coefficients(claims: Sequence[Claim], setting: Setting) -> Iterator[str]:
    polys = [claim.poly for claim in claims]
    how = _substitution(claims[0].proof["chart"], polys, setting)
    lines, long = [], []
    for poly in polys:
        pulled = how.chart.pull_back(poly).poly
        if len(pulled) > TERMS_SHOWN:
            long.append((poly, pulled))
        else:
            lines += _pulled_lines(poly, pulled, how, setting)
    if how.text:
        yield f"{how.text}. Then" if lines else f"{how.text}."
    if lines:
        yield f"{display(stacked(lines, ','))}\nwhere all coefficients are positive."
    for poly, pulled in long:
        least = min(int(c) for _, c in pulled.terms())
        yield (
            f"Cleared of its positive denominator, ${setting.show(poly)}$ becomes a polynomial "
            f"with {len(pulled)} terms and positive integer coefficients, the smallest {least}."
        )


def _pulled_lines(
    poly: fmpz_mpoly, pulled: fmpz_mpoly, how: _Substitution, setting: Setting
) -> list[str]:
    """The polynomial in the coordinates of a chart, over its positive denominator."""
    ring = setting.ring
    functions = Functions(ring)
    for step in how.chart.steps:
        t = ring.generators[step.variable]
        scale = step.scale * (1 + t) if step.two_sided else step.scale
        value = Ratio(step.start + step.slope * t, ring.context.constant(1)) / Ratio(
            scale, ring.context.constant(1)
        )
        above, below = (read(ring.expression(part), functions) for part in (value.num, value.den))
        functions.values[ring.names[step.variable]] = above / below
    value = read(ring.expression(poly), functions)
    if any(c < 0 for _, c in value.num.terms()):
        # cancelling can spoil the signs: (t^3 + 1)/(t + 1) = t^2 - t + 1
        value = Ratio(pulled, lowest_terms(pulled * value.den, value.num).num)
    left, terms = setting.show(poly), terms_latex(value.num, how.names)
    if value.den.is_one():
        return equation_lines(left, terms)
    bottom = _product(value.den, how.names)
    if width(" ".join(terms)) <= LINE // 2:
        return equation_lines(left, [rf"\frac{{{' '.join(terms)}}}{{{bottom}}}"])
    return equation_lines(rf"{bottom} \, {_bracketed(poly, setting)}", terms)


def _bracketed(poly: fmpz_mpoly, setting: Setting) -> str:
    bare = len(poly) == 1 or str(poly) in setting.labels
    return setting.show(poly) if bare else f"({setting.show(poly)})"


def _by_cells(claim: Claim, setting: Setting) -> Iterator[str]:
    cells = list(leaves(claim.proof["cells"]))
    how = _substitution(claim.proof["chart"], [claim.poly], setting)
    pulled = how.chart.pull_back(claim.poly).poly
    used = [how.names[i] for i, d in enumerate(pulled.degrees()) if d > 0]
    inside = cells.count("+")
    fractions = [rf"${t}/(1 + {t})$" for t in used]
    box = "the interval $[0, 1]$" if len(used) == 1 else f"the cube $[0, 1]^{{{len(used)}}}$"
    where = "each" if inside == len(cells) else f"the {inside} that meet the domain"
    yield (
        f"{how.text + '. ' if how.text else ''}Bisect {box} of {listed(fractions)} into "
        f"{len(cells)} cells; on {where} of them all Bernstein coefficients of "
        f"${setting.show(claim.poly)}$ are nonnegative"
        f"{', the decisive ones positive' if claim.strict else ''} (certificate)."
    )


def leaves(cells: Any) -> Iterator[Any]:
    """The cells of a subdivision: ``+`` or the index of the condition that fails there."""
    if isinstance(cells, (str, int)):
        yield cells
    else:
        for half in cells[1:]:
            yield from leaves(half)


def _by_discriminant(claim: Claim, setting: Setting) -> Iterator[str]:
    index = setting.ring.names.index(symbol_name(claim.proof["in"]))
    free, linear, leading = by_power(claim.poly, index, setting.ring.context)
    discriminant = 4 * leading * free - linear * linear
    proof = claim.proof["discriminant"]
    known = [setting.poly(entry["poly"]) for entry in proof.get("factors", ())]
    x = setting.names[index]
    taken = {"A", "B", "C"} & set(setting.ring.names)
    a, b, c = (rf"\mathcal{{{letter}}}" if taken else letter for letter in "ABC")
    shown = product_latex(*split(discriminant, known), setting.names)
    yield (
        f"As a polynomial in ${x}$, ${setting.show(claim.poly)} = {a} {x}^{{2}} + {b} {x} + {c}$ "
        f"has ${a} = {setting.show(leading)}$ and"
    )
    yield display(f"4 {a} {c} - {b}^{{2}} = {shown}.")
    yield from _reasons([Claim(leading, ">", claim.proof["leading"])], setting)
    if proof["by"] == "factors":
        yield from signs(proof["factors"], setting)
    else:
        yield from _reasons([Claim(discriminant, claim.sign, proof)], setting)
    yield (
        f"So ${a} > 0$ and $4 {a} {c} - {b}^{{2}} {_sign(claim)} 0$, "
        f"hence {_conclusion(claim, setting)}."
    )


def _by_scaling(claim: Claim, setting: Setting) -> Iterator[str]:
    weights = claim.proof["weights"]
    index = setting.ring.names.index(symbol_name(claim.proof["one"]))
    scaled = []
    for name, weight in weights.items():
        own = symbol_latex(name)
        factor = "s" if weight == 1 else f"s^{{{weight}}}"
        scaled.append(rf"${own} \mapsto {factor} {own}$")
    smaller, poly = setting.at_one(index), setting.at_one_of(claim.poly, index)
    yield (
        f"By homogeneity ({', '.join(scaled)} for $s > 0$ changes no sign) it is enough to take "
        f"${setting.names[index]} = 1$, where ${setting.show(claim.poly)}$ is"
    )
    yield display(stacked(equation_lines("", terms_latex(poly, setting.names)), "."))
    yield from _reasons([Claim(poly, claim.sign, claim.proof["proof"])], smaller)


def _by_cases(claim: Claim, setting: Setting) -> Iterator[str]:
    on = setting.poly(claim.proof["on"])
    for side, relation, part in (("above", r"\ge", on), ("below", r"\le", -on)):
        yield f"Suppose ${setting.show(on)} {relation} 0$."
        yield from _reasons([claim._replace(proof=claim.proof[side])], setting.where(part))
    yield f"So {_conclusion(claim, setting)} in both cases."


def _by_factors(claim: Claim, setting: Setting) -> Iterator[str]:
    entries = claim.proof["factors"]
    known = [setting.poly(entry["poly"]) for entry in entries]
    constant, powers = split(claim.poly, known)
    if len(powers) > 1 or powers[0][1] > 1:
        shown = product_latex(constant, powers, setting.names)
        yield f"Here ${setting.show(claim.poly)} = {shown}$."
    yield from signs(entries, setting)


def _by_certificate(claim: Claim, setting: Setting) -> Iterator[str]:
    yield f"That {_conclusion(claim, setting)} is in the certificate."


def _conclusion(claim: Claim, setting: Setting) -> str:
    return f"${setting.show(claim.poly)} {_sign(claim)} 0$"


_RULES = {
    "coefficients": _by_cells,
    "quadratic": _by_discriminant,
    "scaling": _by_scaling,
    "cases": _by_cases,
    "factors": _by_factors,
}
