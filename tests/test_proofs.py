"""The main job: every theorem file comes out as it declares, and the checker agrees."""

import json
from pathlib import Path

import pytest

from qtheory.check import check
from qtheory.theorems import collect
from qtheory.theorems.run import run

THEOREMS = collect(Path(__file__).parent.parent / "proofs")


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.id)
def test_theorem_is_as_declared_and_its_certificate_checks(theorem):
    outcome = run(theorem)
    assert outcome.as_declared, [str(verdict) for verdict in outcome.claims.values()]
    assert outcome.certificate is not None
    check(json.loads(json.dumps(outcome.certificate)))


def test_the_claims_of_the_first_two_papers_are_there():
    ids = {theorem.id for theorem in THEOREMS}
    wanted = {"C1.2", "C1.3", "C1.4", *(f"C2.{k}" for k in range(1, 8))}
    assert all(any(id.startswith(name) for id in ids) for name in wanted)
