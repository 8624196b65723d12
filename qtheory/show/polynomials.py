r"""Polynomials and products of them as LaTeX, written the way people write them.

A polynomial starts with a positive term if it has one (``2\mu - \lambda``), and long sums break
into lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import gcd

from flint import fmpz_mpoly

from qtheory.arithmetic import irreducible_factors

LINE = 70
"""The characters of mathematics that fit into a line of print, roughly."""

Powers = list[tuple[fmpz_mpoly, int]]


def width(text: str) -> int:
    r"""About how many characters wide a formula is; a fraction counts as its wider part.

    >>> width(r"\frac{\lambda + 1}{2}")
    3
    """
    fraction = re.compile(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}")
    while found := fraction.search(text):
        wider = max(found.groups(), key=lambda part: len(_characters(part)))
        text = text[: found.start()] + _characters(wider) + text[found.end() :]
    return len(_characters(text))


def _characters(text: str) -> str:
    return re.sub(r"[{}^_\s&]|\\[,;\\]", "", re.sub(r"\\[A-Za-z]+", "x", text))


def terms_latex(poly: fmpz_mpoly, names: Sequence[str]) -> list[str]:
    """The terms of a polynomial with their signs, a positive one first."""
    terms = [(int(c), _monomial(e, names)) for e, c in poly.terms()]
    if not terms:
        return ["0"]
    first = next((i for i, (c, _) in enumerate(terms) if c > 0), 0)
    terms.insert(0, terms.pop(first))
    shown = [_term(c, monomial) for c, monomial in terms]
    return [shown[0].replace("+ ", "").replace("- ", "-"), *shown[1:]]


def _term(coefficient: int, monomial: str) -> str:
    sign = "-" if coefficient < 0 else "+"
    number = str(abs(coefficient)) if abs(coefficient) != 1 or not monomial else ""
    return f"{sign} {' '.join(filter(None, (number, monomial)))}"


def _monomial(exponents: Iterable[int], names: Sequence[str]) -> str:
    return " ".join(power_latex(n, int(e)) for n, e in zip(names, exponents, strict=True) if e)


def power_latex(base: str, exponent: int) -> str:
    """A power; a base that carries a superscript of its own is bracketed."""
    if exponent == 1:
        return base
    return f"({base})^{{{exponent}}}" if "^" in base else f"{base}^{{{exponent}}}"


def polynomial_latex(poly: fmpz_mpoly, names: Sequence[str]) -> str:
    r"""A polynomial on one line.

    >>> from qtheory.arithmetic import Ring, irreducible_factors
    >>> import sympy as sp
    >>> lam, mu = sp.symbols("lambda mu")
    >>> polynomial_latex(Ring((lam, mu)).polynomial(2*mu - lam), (r"\lambda", r"\mu"))
    '2 \\mu - \\lambda'
    """
    return " ".join(terms_latex(poly, names))


def split(poly: fmpz_mpoly, known: Iterable[fmpz_mpoly] = ()) -> tuple[int, Powers]:
    """A polynomial as a constant times powers, of the known factors as far as they divide it."""
    factors: Powers = []
    for factor in known:
        times = 0
        while not (factor.is_constant() or poly.is_constant()):
            quotient, remainder = divmod(poly, factor)
            if not remainder.is_zero():
                break
            poly, times = quotient, times + 1
        if times:
            factors.append((factor, times))
    if poly.is_zero():
        return 0, []
    constant, others = irreducible_factors(poly)
    factors += [(factor, int(times)) for factor, times in others]
    return int(constant), sorted(factors, key=lambda item: _simplicity(item[0]))


def _simplicity(poly: fmpz_mpoly) -> tuple[int, int, list[int]]:
    return len(poly), int(poly.total_degree()), [-int(e) for e in poly.monoms()[0]]


def product_latex(
    constant: int, factors: Powers, names: Sequence[str], labels: dict[str, str] | None = None
) -> str:
    """A constant times powers of polynomials; labelled polynomials go by their labels."""
    shown = []
    for factor, times in factors:
        text = (labels or {}).get(str(factor)) or polynomial_latex(factor, names)
        bare = (labels and str(factor) in labels) or len(factor) == 1
        alone = len(factors) == 1 and times == 1 and constant == 1
        shown.append(power_latex(text, times) if bare or alone else _bracketed(text, times))
    sign = "-" if constant < 0 else ""
    number = str(abs(constant)) if abs(constant) != 1 or not shown else ""
    return sign + " ".join(filter(None, (number, *shown)))


def _bracketed(text: str, times: int) -> str:
    return f"({text})" if times == 1 else f"({text})^{{{times}}}"


def quotient_latex(
    above: tuple[int, Powers],
    below: tuple[int, Powers],
    names: Sequence[str],
    labels: dict[str, str] | None = None,
) -> str:
    """A quotient of products, its sign in front."""
    common = gcd(above[0], below[0]) or 1
    sign = "-" if above[0] * below[0] < 0 else ""
    top = product_latex(abs(above[0]) // common, above[1], names, labels)
    bottom = product_latex(abs(below[0]) // common, below[1], names, labels)
    return sign + (top if bottom == "1" else rf"\frac{{{top}}}{{{bottom}}}")


def equation_lines(left: str, pieces: Sequence[str]) -> list[str]:
    """The lines of ``left = pieces`` in ``aligned``, broken between pieces where one is full."""
    lines = [f"{left} &=" if left else "&"]
    for number, piece in enumerate(pieces):
        if number and width(f"{lines[-1]} {piece}") > LINE:
            lines.append(r"&\quad")
        lines[-1] += f" {piece}"
    return lines


def stacked(lines: Sequence[str], end: str = "") -> str:
    """Lines of a display below each other, the last with a punctuation mark."""
    if len(lines) == 1:
        return lines[0].replace("&", "", 1).strip() + end
    inner = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{inner}{end}\n\\end{{aligned}}"


def display(formula: str) -> str:
    """A displayed formula."""
    return f"\\[\n{formula}\n\\]"


def sign_latex(sign: str) -> str:
    """A relation sign in LaTeX."""
    return {"==": "=", "!=": r"\ne", "<=": r"\le", ">=": r"\ge"}.get(sign, sign)


def listed(parts: Sequence[str]) -> str:
    """``a, b and c``.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""
