"""The document of theorems: its text, its structure, and that LaTeX compiles it."""

import re
import shutil
import subprocess

import pytest

from qtheory.theorems import verify
from qtheory.theorems.document import document, statement_latex

FILE = r'''
from qtheory import Domain, Supported, prove, theorem
from qtheory.formulas import relations
from qtheory.systems.shorter_queue import JB, SOURCE, Jbar, domain, pooled


@theorem("bounds_1", source=SOURCE)
def bounds():
    r"""The bound lies between 100% pooling and Bernoulli routing, $J_P <= \bar J <= J_B$.

    Both are evaluated at the same $\lambda$ & $\mu$.
    """
    return {"below": prove(pooled <= Jbar(), domain), "b = 1": prove(Jbar() <= JB, domain)}


@theorem("wrong", expected="refuted")
def wrong():
    "Arrivals are slower than one server."
    return prove("lam <= mu", domain)


@theorem("undecided")
def undecided():
    "A Motzkin polynomial is nonnegative."
    plane = Domain("x >= -5", "y >= -5")
    (claim,) = relations("x**4*y**2 + x**2*y**4 - 3*x**2*y**2 + 1 >= 0")
    return Supported(claim, plane, evidence="seen on a grid_1")


@theorem("broken")
def broken():
    "This file has a mistake."
    raise ValueError("50% {of} it")
'''


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    file = tmp_path_factory.mktemp("theorems") / "sample.py"
    file.write_text(FILE)
    return verify(file)


@pytest.fixture(scope="module")
def text(outcomes):
    return document(outcomes, "A sample & more")


def test_summary_comes_first(text):
    assert r"\title{A sample \& more}" in text
    assert r"bounds\_1 & proved & yes \\" in text
    assert r"undecided & supported & no \\" in text
    assert r"broken & error & no \\" in text


def test_statements_are_escaped_outside_the_mathematics(text):
    assert r"between 100\% pooling" in text
    assert r"$J_P \le \bar J \le J_B$" in text
    assert r"$\lambda$ \& $\mu$" in text


def test_each_kind_of_outcome_is_headed_as_what_it_is(text):
    assert r"\begin{theorem}[bounds\_1; Tang, Wen, Jin, arXiv 1909.11199]" in text
    assert r"\begin{refuted}[wrong]" in text and r"\begin{proof}[Refutation]" in text
    assert r"\begin{undecided}[undecided]" in text and r"grid\_1" in text
    assert r"an error occurred: ValueError: 50\% \{of\} it." in text


def test_shared_conditions_are_stated_once(text):
    shared = r"Let $0 < \lambda < 2 \mu$, $\mu > 0$, $0 \leq p \leq 1$."
    assert text.count(shared) == 2  # the theorems "bounds_1" and "wrong"


def test_claims_carry_their_labels_and_verdicts(text):
    assert r"\par \emph{Below} (proved):" in text
    assert r"\par \emph{b = 1} (proved):" in text
    assert r"\emph{Below.} The right side minus the left side is" in text


def test_braces_and_environments_are_balanced(text):
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([^}]*)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")


def test_odd_dollars_are_plain_text():
    assert statement_latex("costs 5$") == r"costs 5\$"
    assert statement_latex(r"if $a>=b$, then") == r"if $a \ge b$, then"


def test_an_empty_document_is_a_document():
    assert r"\end{document}" in document([])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles_it(text, tmp_path):
    (tmp_path / "sample.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sample.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "sample.pdf").stat().st_size > 10_000
    assert "Overfull \\hbox" not in done.stdout
