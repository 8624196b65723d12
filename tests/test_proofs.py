"""The main job: every theorem file comes out as it declares, and the checker agrees."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from qtheory.check import check
from qtheory.theorems import collect
from qtheory.theorems.document import document
from qtheory.theorems.run import run

THEOREMS = collect(Path(__file__).parent.parent / "proofs")


@cache
def outcome_of(place):
    """Each theorem runs once for all tests of this file."""
    return run(THEOREMS[place])


@pytest.mark.parametrize("place", range(len(THEOREMS)), ids=lambda place: THEOREMS[place].id)
def test_theorem_is_as_declared_and_its_certificate_checks(place):
    theorem, outcome = THEOREMS[place], outcome_of(place)
    assert outcome.as_declared, [str(verdict) for verdict in outcome.claims.values()]
    if theorem.expected in ("supported", "open"):
        assert outcome.certificate is None
        return
    assert outcome.certificate is not None
    check(json.loads(json.dumps(outcome.certificate)))


def test_what_is_only_seen_is_not_called_proved():
    by_id = {theorem.id: theorem for theorem in THEOREMS}
    assert all(t.expected == "supported" for id, t in by_id.items() if id.endswith(".simulated"))
    # simulated or checked on instances, cited, and conjectured
    seen = ("C3.1", "C3.2", "C3.14", "C3.15", "C3.28", "C3.32", "C3.33", "C3.34", "C3.37")
    assert {by_id[id].expected for id in seen} == {"supported"}
    assert by_id["C3.38"].expected == "open"
    assert "Pemantle" in " ".join(by_id["C3.18"].given)


def test_the_claims_of_the_third_paper_are_there():
    ids = {theorem.id for theorem in THEOREMS}
    assert {f"C3.{k}" for k in range(1, 39)} <= ids


def test_the_claims_of_the_first_two_papers_are_there():
    ids = {theorem.id for theorem in THEOREMS}
    wanted = {*(f"C1.{k}" for k in range(1, 7)), *(f"C2.{k}" for k in range(1, 11))}
    assert all(any(id.startswith(name) for id in ids) for name in wanted)


def test_a_certified_interval_is_printed_with_what_proves_it():
    (theorem,) = (theorem for theorem in THEOREMS if theorem.id == "C1.2.imbalance")
    text = document([run(theorem)])
    assert r"$\beta^{l} + QV \le c$ at every state" in text
    assert r"\mathbb{E}\left[d\right] \ge \frac{" in text
    assert r"$\lambda = 1$, $\mu = 1$, $p = 0$" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles_the_whole_document(tmp_path):
    outcomes = [outcome_of(place) for place in range(len(THEOREMS))]
    (tmp_path / "theorems.tex").write_text(document(outcomes))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "theorems.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull \\hbox" not in done.stdout
