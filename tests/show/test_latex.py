"""Formulas, conditions and polynomials as LaTeX."""

import sympy as sp

from qtheory import Domain, latex
from qtheory.arithmetic import Ring
from qtheory.formulas import relation
from qtheory.show.latex import conditions_latex, symbol_latex
from qtheory.show.polynomials import (
    equation_lines,
    listed,
    polynomial_latex,
    product_latex,
    quotient_latex,
    split,
    stacked,
    width,
)

lam, mu = sp.symbols("lambda mu", positive=True)
p = sp.Symbol("p", nonnegative=True)
ring = Ring((lam, mu))
NAMES = [r"\lambda", r"\mu"]


def test_names_follow_the_field():
    assert symbol_latex("lam_s") == r"\lambda_{s}"
    assert symbol_latex("p_star") == "p^{*}"
    assert symbol_latex("lambda_bar") == r"\bar{\lambda}"


def test_domain_joins_bounds_to_chains():
    assert latex(Domain(p <= 1, symbols=(p,))) == r"0 \leq p \leq 1"
    assert conditions_latex([relation(lam, ">", 0)]) == r"\lambda > 0"


def test_long_sums_break_into_lines():
    x = sp.symbols("x1:5")
    shown = latex(sum(x), terms_per_line=2)
    assert shown.count(r"\\") == 1
    assert shown.startswith(r"\begin{aligned}") and shown.endswith(r"\end{aligned}")


def test_a_polynomial_starts_with_a_positive_term():
    assert polynomial_latex(ring.polynomial(2 * mu - lam), NAMES) == r"2 \mu - \lambda"
    assert polynomial_latex(ring.polynomial(-lam), NAMES) == r"-\lambda"
    assert polynomial_latex(ring.polynomial(lam - lam), NAMES) == "0"


def test_products_and_quotients():
    known = [ring.polynomial(2 * mu - lam)]
    above = split(ring.polynomial(4 * lam**2), known)
    below = split(ring.polynomial(2 * (2 * mu - lam) ** 2), known)
    shown = quotient_latex(above, below, NAMES)
    assert shown == r"\frac{2 \lambda^{2}}{(2 \mu - \lambda)^{2}}"
    assert quotient_latex((-1, []), (1, []), NAMES) == "-1"
    assert product_latex(3, [(known[0], 1)], NAMES, {str(known[0]): "F"}) == "3 F"
    assert product_latex(1, [(ring.generators[0], 2)], ["p^{*}", "m"]) == "(p^{*})^{2}"


def test_equations_break_where_a_line_is_full():
    lines = equation_lines("F", [f"+ x_{{{k}}} y z w" for k in range(30)])
    assert len(lines) > 1 and all(width(line) <= 80 for line in lines)
    assert stacked(["F &= x"], ".") == "F = x."
    assert stacked(lines).count(r"\\") == len(lines) - 1


def test_lists_of_words():
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
