"""Drift certificates: every altered number is found, with and without a recomputed digest."""

import copy
import json

import pytest

from qtheory.check import check, digest
from qtheory.drift import bounds
from qtheory.errors import CertificateError
from qtheory.systems import shorter_queue as sq

COST = 2 * sq.m + sq.d


@pytest.fixture(scope="module")
def certificates():
    symbolic = bounds(sq.model(), COST, layers=0)
    numeric = bounds(sq.model(), COST, layers=1, at={"lam": 1, "mu": 1, "p": "1/2"})
    found = [symbolic.upper[0], symbolic.lower[0], numeric.upper, numeric.lower]
    return [json.loads(json.dumps(certificate.data)) for certificate in found]


def places(data, path=()):
    """Every leaf of a certificate."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key != "digest":
                yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, (*path, index))
    else:
        yield path


def altered(certificate, path, change):
    copied = copy.deepcopy(certificate)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = change(inner[path[-1]])
    return copied


def other(value):
    if value is None or isinstance(value, bool):
        return 7
    if isinstance(value, int):
        return value + 1
    return f"{value}+1" if value not in ("<=", ">=") else {"<=": ">=", ">=": "<="}[value]


def test_they_check(certificates):
    for certificate in certificates:
        assert check(certificate) == certificate["claim"]


def test_any_alteration_is_found(certificates):
    for certificate in certificates:
        for path in places(certificate):
            with pytest.raises(CertificateError):
                check(altered(certificate, path, other))


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_a_better_bound_is_not_believed(certificates, index):
    certificate = certificates[index]
    step = -1 if certificate["direction"] == "<=" else 1
    scaled = f"({certificate['scaled_bound']}) + ({step})*({certificate['scale']})/1000"
    bound = f"({certificate['bound']}) + ({step})/1000"
    forged = {**certificate, "bound": bound, "scaled_bound": scaled}
    forged["claim"] = certificate["claim"].replace(certificate["bound"], bound)
    forged["digest"] = digest(forged)
    with pytest.raises(CertificateError, match=r"not within the bound|no sign"):
        check(forged)


def test_the_model_is_part_of_the_statement(certificates):
    for path, change in [
        (("model", "transitions", 0, "rate"), lambda rate: f"2*({rate})"),
        (("model", "transitions", 0, "jump"), lambda jump: [2, 0]),
        (("model", "transitions", 3, "guard"), lambda guard: [[0, None], [2, None]]),
        (("model", "transitions"), lambda rows: rows[:-1]),
        (("model", "ranges"), lambda ranges: [[None, None], [0, None]]),
        (("model", "ranges"), lambda ranges: [[1, 0], [0, None]]),
        (("model", "state"), lambda state: ["m", "m"]),
        (("model", "state"), lambda state: ["m", "d] <= 0 and E[d"]),
        (("cost", 0, "powers"), lambda powers: [2, 0]),
        (("function",), lambda terms: terms[1:]),
        (("direction",), lambda sign: {"<=": ">=", ">=": "<="}[sign]),
        (("moments",), lambda lemma: None),
    ]:
        for certificate in certificates:
            forged = altered(certificate, path, change)
            forged["digest"] = digest(forged)
            if path == ("moments",) and certificate["direction"] == "<=":
                continue  # V may be bounded below by itself
            with pytest.raises(CertificateError):
                check(forged)


def test_growth_of_the_lemma_matters(certificates):
    certificate = copy.deepcopy(certificates[3])
    lemma = certificate["moments"]
    lemma["cost"] = lemma["cost"][:1]
    from qtheory.check.drift import cost_text

    shown = cost_text(lemma["cost"], lemma["model"]["state"])
    lemma["claim"] = f"E[{shown}] <= {lemma['bound']}"
    lemma["digest"] = digest(lemma)
    certificate["digest"] = digest(certificate)
    with pytest.raises(CertificateError, match="moments may be infinite"):
        check(certificate)


@pytest.mark.parametrize(
    "term",
    [
        {"times": "1000*m) + (0", "powers": [0, 0], "box": [[5, 3], [0, None]]},
        {"times": "0", "powers": ["2 + 1000*m", 0], "box": [[-3, -1], [0, None]]},
        {"times": "0", "powers": [-1, 0], "box": [[-3, -1], [0, None]]},
        {"times": "0", "powers": [True, 0], "box": [[-3, -1], [0, None]]},
        {"times": "0", "powers": [1.0, 0], "box": [[-3, -1], [0, None]]},
        {"times": "0", "powers": [1, 0], "box": [[-3, -1]]},
    ],
)
def test_a_term_that_no_state_meets_cannot_change_the_claim(certificates, term):
    from qtheory.check.drift import cost_text

    for certificate in certificates:
        forged = {**certificate, "cost": [*certificate["cost"], term]}
        try:
            shown = cost_text(forged["cost"], forged["model"]["state"])
        except ValueError:
            shown = ""
        forged["claim"] = f"E[{shown}] {forged['direction']} {forged['bound']}"
        forged["digest"] = digest(forged)
        with pytest.raises(CertificateError):
            check(forged)


def test_a_parameter_has_one_value(certificates):
    for certificate in certificates[:2]:
        forged = {**certificate, "parameters": [*certificate["parameters"], "lam"]}
        forged["digest"] = digest(forged)
        with pytest.raises(CertificateError, match="declared twice"):
            check(forged)


def test_nonsense_is_rejected():
    for junk in ({}, {"kind": "drift"}, {"kind": "drift", "verdict": "proved"}):
        with pytest.raises(CertificateError):
            check(junk)
