"""Proofs read off certificates, one test for each rule."""

import pytest
import sympy as sp

from qtheory import Domain, Supported, prove
from qtheory.chart import chart_from_steps
from qtheory.formulas import relation
from qtheory.inequality.signs import chart_steps
from qtheory.show.proof import escape, proof_latex
from qtheory.systems import dedicated_streams as streams
from qtheory.systems import shorter_queue as queue

x, y = sp.symbols("x y", real=True)


def rules(proof):
    """All rules that a certificate uses."""
    if isinstance(proof, dict):
        own = {proof["by"]} if "by" in proof else set()
        return own.union(*(rules(part) for part in proof.values()))
    if isinstance(proof, list):
        return set().union(*(rules(part) for part in proof))
    return set()


def balanced(text):
    depth = 0
    for before, character in zip(" " + text, text, strict=False):
        if before != "\\":
            depth += (character == "{") - (character == "}")
        assert depth >= 0
    environments = text.count(r"\begin{") == text.count(r"\end{")
    return depth == 0 and environments and text.count(r"\[") == text.count(r"\]")


def proof_by(rule, claim, domain):
    verdict = prove(claim, domain)
    assert verdict and rule in rules(dict(verdict.certificate))
    text = proof_latex(verdict)
    assert balanced(text)
    return text


def test_a_bound_on_the_queueing_cost():
    assert proof_latex(prove(queue.Jbar() <= queue.JB, queue.domain)).startswith(
        r"""The right side minus the left side is
\[
\frac{2 \lambda^{2} (1 - p)}{(2 \mu - \lambda) (2 \lambda - \lambda p + 2 \mu)}.
\]
On the domain $2 \mu - \lambda > 0$, $1 - p \ge 0$ and $\lambda > 0$.
Write $\mu = \frac{\lambda + t_{\mu}}{2}$ and $p = \frac{t_{p}}{t_{p} + 1}$ with $t_{\mu} > 0$"""
    )


def test_plain_signs_take_one_clause():
    domain = Domain("x > 0, y >= 0")
    assert proof_latex(prove("x*(x + y) > 0", domain)) == (
        "The left side is\n\\[\nx (x + y).\n\\]\nOn the domain $x > 0$; term by term, $x + y > 0$."
    )


def test_coefficients():
    text = proof_by("coefficients", "x**3 - x + 1 > 0", Domain("0 <= x, x <= 1"))
    assert r"$x = \frac{t_{x}}{t_{x} + 1}$ with $0 \le t_{x} \le \infty$" in text
    shown = r"x^{3} - x + 1 = \frac{t_{x}^{3} + t_{x}^{2} + 2 t_{x} + 1}{(t_{x} + 1)^{3}},"
    assert shown in text


def test_long_polynomials_are_summarised():
    text = proof_by("coefficients", "(x + y + z)**6 > 7*x*y", Domain("x >= 1, y >= 1, z >= 1"))
    assert "with 84 terms and positive integer coefficients" in text
    assert "the smallest 1." in text


def test_subdivision():
    text = proof_by("coefficients", "x**2 - 3*x + 3 > 0", Domain("x >= 0"))
    assert r"Bisect the interval $[0, 1]$ of $x/(1 + x)$ into 3 cells; on each of them" in text


def test_quadratic():
    text = proof_by("quadratic", "x**2 - x*y + y**2 >= 0", Domain("x >= 0, y >= 0"))
    assert r"$F = A x^{2} + B x + C$ has $A = 1$ and" in text
    assert "4 A C - B^{2} = 3 y^{2}." in text
    assert text.endswith(r"hence $F \ge 0$.")


def test_quadratic_with_a_parameter_called_C():
    text = proof_by("quadratic", "C**2 - C*y + y**2 >= 0", Domain("C >= 0, y >= 0"))
    assert r"4 \mathcal{A} \mathcal{C} - \mathcal{B}^{2} = 3 y^{2}." in text


def test_nested_quadratic():
    text = proof_by("quadratic", "x**2 - x*y + y**2 + 1 > 0", Domain(symbols=(x, y)))
    assert "4 A C - B^{2} = 3 y^{2} + 4." in text and "4 A C - B^{2} = 48." in text


def test_scaling():
    text = proof_by("scaling", "4*x**2 - 7*x*y + 4*y**2 > 0", Domain("x > 0, y > 0"))
    assert r"By homogeneity ($x \mapsto s x$, $y \mapsto s y$ for $s > 0$" in text
    assert "4 y^{2} - 7 y + 4." in text


def test_cases():
    text = proof_by("cases", "x**4 - x + 1 > 0", Domain(symbols=(x,)))
    assert r"Suppose $x \ge 0$." in text and r"Suppose $x \le 0$." in text
    assert text.endswith("So $F > 0$ in both cases.")


def test_squares():
    text = proof_latex(prove("(x + 1)*(x - y)**2 >= 0", Domain("x >= 0, y >= 0")))
    assert text.endswith("even powers of $x - y$ are nonnegative.")


def test_identities():
    claim = relation(queue.G(), "==", queue.Jbar() - queue.Jbar(0))
    text = proof_latex(prove(claim, queue.domain))
    assert text.startswith("Both sides are the same rational function,")
    assert "No divisor is zero." in text and balanced(text)
    text = proof_latex(prove(relation(x + y, "==", y + x), Domain(symbols=(x, y))))
    assert text.startswith("Both sides are the same rational function")


def test_square_roots():
    text = proof_latex(prove("sqrt(x) <= (1 + x)/2", Domain("x >= 0")))
    assert text == (
        "Put $y_{1} = \\sqrt{x}$, so that $x = y_{1}^{2}$.\n"
        "The right side minus the left side is\n\\[\n\\frac{(y_{1} - 1)^{2}}{2}.\n\\]\n"
        "Even powers of $y_{1} - 1$ are nonnegative."
    )


def test_conditions_that_follow_from_others():
    inside = streams.game.where(
        streams.R * streams.mu**2 > streams.C * (streams.mu + streams.lam_s)
    )
    text = proof_latex(prove(streams.interior_q_opt <= streams.interior_q_e, inside))
    assert r"so that $C = y_{1}^{2}$, $R = y_{2}^{2}$ and $\lambda_{s} = y_{3}^{2} - \mu$." in text
    assert r"division by positive factors gives $\mu y_{2} - y_{1} y_{3} > 0$." in text


def test_equations_of_the_domain():
    text = proof_latex(prove("3*x - y > 0", Domain("x > 0", "y == 2*x")))
    assert "Write $y = 2 x$. Then\n\\[\n3 x - y = x,\n\\]" in text


def test_counterexamples_show_both_values():
    verdict = prove("lam <= mu", Domain("lam > 0, lam < 2*mu"))
    text = proof_latex(verdict)
    lam, mu = verdict.witness.values()
    assert f"the left side is ${sp.latex(lam)}$ and the right side is ${sp.latex(mu)}$" in text
    assert text.endswith("so the claim fails there.")
    assert r"not $\ge 0$" in proof_latex(prove("x >= 0", Domain(symbols=(x,))))


def test_what_is_not_proved_says_so():
    motzkin = "x**4*y**2 + x**2*y**4 - 3*x**2*y**2 + 1 >= 0"
    verdict = prove(motzkin, Domain(symbols=(x, y)), cells=5)
    assert verdict.verdict == "open"
    assert proof_latex(verdict).startswith("The claim is open. Tried without success: ")
    seen = Supported(verdict.claim, verdict.domain, evidence="100% of a grid")
    assert proof_latex(seen) == r"There is evidence, but no proof: 100\% of a grid."


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a_b & c", r"a\_b \& c"), ("x**2", r"x\textasciicircum{}2"), ("a\\b", r"a\textbackslash{}b")],
)
def test_escaping(text, shown):
    assert escape(text) == shown


@pytest.mark.parametrize("domain", [queue.domain, streams.game, streams.joining])
def test_charts_come_back_from_their_steps(domain):
    for chart in domain.region.charts:
        again = chart_from_steps(domain.ring, domain.constraints, chart_steps(chart))
        assert again.attained == chart.attained
        for generator in domain.ring.generators:
            assert again.pull_back(generator) == chart.pull_back(generator)
