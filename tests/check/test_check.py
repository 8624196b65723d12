"""The checker accepts real certificates, and nothing that was altered or forged."""

import copy
import json

import pytest

from qtheory.check import FORMAT, check, digest
from qtheory.domain import Domain
from qtheory.errors import CertificateError
from qtheory.inequality import Proved, Refuted, combined, prove

QUEUE = Domain("0 < lam, 0 < mu, 0 <= p, p <= 1", stable="lam < 2*mu")


def proved(claim, domain, **options):
    verdict = prove(claim, domain, **options)
    assert isinstance(verdict, Proved), verdict
    return dict(verdict.certificate)


def refuted(claim, domain):
    verdict = prove(claim, domain)
    assert isinstance(verdict, Refuted), verdict
    return dict(verdict.certificate)


REAL = {
    "signs": proved("lam*p < 2*mu", QUEUE),
    "quotient": proved("lam/(2*mu - lam) > 0", QUEUE),
    "cells": proved("10*x**2 - 10*x + 3 > 0", Domain("0 <= x, x <= 1")),
    "outside": proved("4*x + 3*y >= 2 - x*y", Domain("0 <= x, x <= 1, 0 <= y, y <= 1, x + y >= 1")),
    "quadratic": proved("x**2 + x*y + y**2 + z > 0", Domain("z > 0, y > 0")),
    "scaling": proved("5*x**2 - 8*x*y + 4*y**2 > 0", Domain("x > 0, y > 0")),
    "roots": proved("sqrt(x) <= (1 + x)/2", Domain("x >= 0")),
    "two roots": proved("sqrt(lam*mu) <= (lam + mu)/2", Domain("lam > 0, mu > 0")),
    "equation": proved("y > 0", Domain("x > 0, 1 - x*y == 0")),
    "witness": refuted("lam <= mu", QUEUE),
    "integer witness": refuted("n**2 <= 5*n", Domain("n >= 1, n <= 20")),
}
REAL["combined"] = combined(
    "Two facts.", [prove("x >= 0", Domain("x >= 0")), prove("x > 0", Domain("x >= 0"))]
)


def sealed(certificate):
    return {**certificate, "digest": digest(certificate)}


def resealed(value):
    """The certificate with all its digests made to match again, innermost first."""
    if isinstance(value, list):
        return [resealed(v) for v in value]
    if isinstance(value, dict):
        value = {k: resealed(v) for k, v in value.items()}
        return sealed(value) if "digest" in value else value
    return value


def rejected(certificate, words="certificate rejected"):
    with pytest.raises(CertificateError, match=words) as error:
        check(certificate)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", REAL)
def test_real_certificates_survive_json(name):
    assert check(json.loads(json.dumps(REAL[name])))


def test_the_collection_covers_the_rules():
    text = json.dumps(REAL)
    for rule in ("coefficients", "quadratic", "scaling"):
        assert f'"by": "{rule}"' in text
    assert '"roots"' in text


def places(value, path=()):
    """Every place of a nested certificate, the leaves and what holds them."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def altered(certificate, path, new):
    """A copy with another value at a place; `new` is KeyError to remove the place."""
    whole = copy.deepcopy(certificate)
    holder = at(whole, path[:-1])
    if new is KeyError:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return whole


JUNK = [KeyError, None, True, -1, 7, 10**30, float("nan"), "", "x", "1/0", [], {}, [[]], ["+", "+"]]


@pytest.mark.parametrize("name", REAL)
def test_any_alteration_breaks_the_digest(name):
    certificate = REAL[name]
    for path in places(certificate):
        for new in JUNK:
            if not path or (new is not KeyError and same(at(certificate, path), new)):
                continue
            rejected(altered(certificate, path, new))


def same(old, new):
    return type(old) is type(new) and old == new


def test_a_further_field_breaks_the_digest():
    rejected({**REAL["signs"], "note": "harmless"}, "its digest does not match")


MEANINGFUL = (
    "claim",
    "poly",
    "sign",
    "by",
    "chart",
    "cells",
    "in",
    "one",
    "on",
    "value",
    "verdict",
)


@pytest.mark.parametrize("name", REAL)
def test_junk_is_no_proof_even_with_a_matching_digest(name):
    """No junk in a field of a proof leads to anything but a rejection or the same statement."""
    certificate = REAL[name]
    statement = check(certificate)
    for path in places(certificate):
        for new in JUNK:
            if not path or path[-1] == "digest":
                continue
            whole = resealed(altered(certificate, path, new))
            try:
                found = check(whole)
            except CertificateError as error:
                assert "\n" not in str(error)
            else:
                # prose may say anything; without a part there is less to say; no other claim
                prose = path[-1] == "statement" or path[:1] == ("parts",)
                assert found == statement or prose, (path, new, found)
    for path in places(certificate):
        if path and path[-1] in MEANINGFUL and at(certificate, path) not in ("+",):
            rejected(resealed(altered(certificate, path, KeyError)))


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("signs", "lam*p < mu"),
        ("signs", "lam*p > 2*mu"),
        ("signs", "lam*p == 2*mu"),
        ("quotient", "lam/(2*mu - lam) > 1"),
        ("quotient", "lam/(lam - 2*mu) > 0"),
        ("cells", "10*x**2 - 10*x + 2 > 0"),
        ("quadratic", "x**2 + 3*x*y + y**2 + z > 0"),
        ("scaling", "5*x**2 - 9*x*y + 4*y**2 > 0"),
        ("roots", "sqrt(x) <= x/2"),
        ("roots", "sqrt(x) < (1 + x)/2"),
        ("two roots", "sqrt(lam*mu) < (lam + mu)/2"),
        ("equation", "y > 1"),
        ("witness", "lam <= 2*mu"),
        ("integer witness", "n**2 <= 400*n"),
    ],
)
def test_a_false_claim_with_the_proof_of_a_true_one(name, claim):
    rejected(sealed({**REAL[name], "claim": claim}))


@pytest.mark.parametrize("name", ["signs", "quadratic", "scaling", "roots", "equation"])
def test_a_larger_domain_with_the_proof_of_a_smaller_one(name):
    """Without its conditions the claim is false, or its proof has nothing to stand on."""
    for new in ([], [text.replace(" 0", " -100") for text in REAL[name]["domain"]]):
        rejected(sealed({**REAL[name], "domain": new}))


def test_points_that_refute_nothing():
    certificate = REAL["witness"]
    good = certificate["witness"]
    for change in (
        {"lam": "1", "mu": "1"},
        {"lam": "3", "mu": "1"},
        {"lam": "-1"},
        {"p": "2"},
        {"mu": "nan"},
        {"mu": "1e999999999"},
        {"mu": "1/0"},
        {"mu": ""},
        {"mu": None},
        {"mu": 1},
        {"mu": "\N{ARABIC-INDIC DIGIT THREE}"},
        {"q": "1"},
    ):
        rejected(sealed({**certificate, "witness": {**good, **change}}))
    rejected(sealed({**certificate, "witness": {}}))
    rejected(sealed({**REAL["integer witness"], "integers": ["n"], "witness": {"n": "13/2"}}))


def test_a_witness_where_the_claim_is_undefined():
    base = {"format": FORMAT, "verdict": "refuted", "parameters": ["x"], "domain": ["x >= 0"]}
    for claim, x in (("1/x > 0", "0"), ("sqrt(x) > 2", "2"), ("sqrt(x - 5) > 9", "1")):
        rejected(sealed({**base, "claim": claim, "witness": {"x": x}}))
    assert check(sealed({**base, "claim": "sqrt(x) > 2", "witness": {"x": "9/4"}}))


# Forgeries: the digests match, only the mathematics can reject them -----------------------------

BOX = ["x + 1 >= 0", "-x >= 0"]


def claim_of(claim, domain, *factors, names=("x",), **more):
    return sealed(
        {
            "format": FORMAT,
            "verdict": "proved",
            "claim": claim,
            "parameters": list(names),
            "domain": list(domain),
            "factors": list(factors),
            **more,
        }
    )


def factor(poly, sign, proof=None):
    return {"poly": poly, "sign": sign} | ({} if proof is None else {"proof": proof})


def chart(*steps, cells="+"):
    return {"by": "coefficients", "chart": [list(step) for step in steps], "cells": cells}


def test_the_forger_can_also_write_a_true_certificate():
    proof = chart(("x", 0, 1))
    assert check(claim_of("x**2 >= 0", BOX, factor("x**2", ">=", proof))) == "x**2 >= 0"


FORGED = {
    # x^2 vanishes at the attained end x = 0, where the slope of the chart is zero
    "strict at an attained end": claim_of("x**2 > 0", BOX, factor("x**2", ">", chart(("x", 0, 1)))),
    "halves of a vanishing slope": claim_of(
        "-1/2 - x > 0",
        BOX,
        factor("-1/2 - x", ">", chart(("x", 0, 1), cells=[0, "+", [0, "+", "+"]])),
    ),
    "no bound": claim_of("x > 0", ["x > 0"], factor("x", ">", chart(("x", None, None)))),
    "variable left out": claim_of("x > 0", ["x > 0"], factor("x", ">", chart())),
    "lower bound as upper": claim_of("-x > 0", ["x > 0"], factor("-x", ">", chart(("x", None, 0)))),
    "one bound as two": claim_of("-x > 0", ["x > 0"], factor("-x", ">", chart(("x", 0, -1)))),
    "inequality as equation": claim_of(
        "-x >= 0", ["x >= 0"], factor("-x", ">=", chart(("x", 0, 0)))
    ),
    "variable too early": claim_of(
        "x >= 0",
        ["x - y >= 0", "y >= -1"],
        factor("x", ">=", chart(("x", 0, None), ("y", 1, None))),
        names=("x", "y"),
    ),
    "variable twice": claim_of(
        "x >= 1",
        ["x >= 0", "x >= -1"],
        factor("x - 1", ">=", chart(("x", 0, None), ("x", 1, None))),
    ),
    "coefficient of unknown sign": claim_of(
        "x >= 0",
        ["x*y - 1 >= 0", "y >= -1"],
        factor("x", ">=", chart(("y", 1, None), ("x", 0, None))),
        names=("x", "y"),
    ),
    "coefficient that may vanish": claim_of(
        "x >= 0",
        ["x*y >= 0", "y >= 0"],
        factor("x", ">=", chart(("y", 1, None), ("x", 0, None))),
        names=("x", "y"),
    ),
    "coefficient of unknown sign in an equation": claim_of(
        "x >= 0",
        ["x*y - 1 == 0", "y >= -1"],
        factor("x", ">=", chart(("y", 1, None), ("x", 0, 0))),
        names=("x", "y"),
    ),
    "nonlinear bound": claim_of(
        "x >= 0", ["x**2 - 1 >= 0"], factor("x", ">=", chart(("x", 0, None)))
    ),
    "cell declared outside": claim_of(
        "x - 1/2 > 0", ["x > 0"], factor("x - 1/2", ">", chart(("x", 0, None), cells=0))
    ),
    "cell outside at its edge": claim_of(
        "x - 1 > 0",
        ["x >= 0", "x - 1 >= 0"],
        factor("x - 1", ">", chart(("x", 0, None), cells=[0, 1, "+"])),
    ),
    # the domain is the one point x = 0
    "cell that meets the domain at its end": claim_of(
        "x > 0",
        ["x >= 0", "1 - x >= 0", "-x >= 0"],
        factor("x", ">", chart(("x", 0, 1), cells=2)),
    ),
    "cell outside an equation": claim_of(
        "x > 2",
        ["x >= 0", "x - 1 == 0"],
        factor("x - 2", ">", chart(("x", 0, None), cells=1)),
    ),
    "missing half": claim_of(
        "x - 1/2 > 0", ["x > 0"], factor("x - 1/2", ">", chart(("x", 0, None), cells=[0, "+"]))
    ),
    "three halves": claim_of(
        "x > 0", ["x > 0"], factor("x", ">", chart(("x", 0, None), cells=[0, "+", "+", "+"]))
    ),
    "negative axis": claim_of(
        "x > 0", ["x > 0"], factor("x", ">", chart(("x", 0, None), cells=[-1, "+", "+"]))
    ),
    "truth as index": claim_of(
        "-x > 0",
        ["x > 0", "x - 1 > 0"],
        factor("-x", ">", chart(("x", 0, None), cells=[0, True, "+"])),
    ),
    "A = 0": claim_of(
        "x + 1 > 0",
        ["y > 0"],
        factor(
            "x + 1",
            ">",
            {"by": "quadratic", "in": "x", "leading": chart(("y", 0, None)), "discriminant": {}},
        ),
        names=("x", "y"),
    ),
    # at y = 0, the only point of the domain, 4 A C - B^2 = -4 y is zero and the claim is -1 >= 0
    "A that vanishes": claim_of(
        "y*x**2 - 1 >= 0",
        ["y >= 0", "-y >= 0"],
        factor(
            "y*x**2 - 1",
            ">=",
            {
                "by": "quadratic",
                "in": "x",
                "leading": chart(("y", 0, None)),
                "discriminant": chart(("y", None, 1)),
            },
        ),
        names=("x", "y"),
    ),
    "quadratic in another variable": claim_of(
        "x**2 + y > 0",
        [],
        factor(
            "x**2 + y",
            ">",
            {"by": "quadratic", "in": "y", "leading": chart(), "discriminant": chart()},
        ),
        names=("x", "y"),
    ),
    "negative discriminant": claim_of(
        "x**2 + 3*x + 1 > 0",
        [],
        factor(
            "x**2 + 3*x + 1",
            ">",
            {"by": "quadratic", "in": "x", "leading": chart(), "discriminant": chart()},
        ),
    ),
    "touching discriminant": claim_of(
        "x**2 + 2*x + 1 > 0",
        [],
        factor(
            "x**2 + 2*x + 1",
            ">",
            {"by": "quadratic", "in": "x", "leading": chart(), "discriminant": chart()},
        ),
    ),
    "wrong weights": claim_of(
        "x - y > 0",
        ["x > 0", "y > 0"],
        factor(
            "x - y",
            ">",
            {"by": "scaling", "one": "x", "weights": {"x": 1, "y": 2}, "proof": chart()},
        ),
        names=("x", "y"),
    ),
    "scaled variable not positive": claim_of(
        "x**2 > 0",
        ["x >= 0"],
        factor("x**2", ">", {"by": "scaling", "one": "x", "weights": {"x": 1}, "proof": chart()}),
    ),
    "weight zero": claim_of(
        "x > 0",
        ["x > 0"],
        factor("x", ">", {"by": "scaling", "one": "x", "weights": {"x": 0}, "proof": chart()}),
    ),
    "case left out": claim_of(
        "x > 0",
        [],
        factor("x", ">", {"by": "cases", "on": "x", "above": chart(("x", 0, None))}),
    ),
    "case at zero": claim_of(
        "x**2 > 0",
        [],
        factor(
            "x**2",
            ">",
            {
                "by": "cases",
                "on": "x",
                "above": chart(("x", 0, None)),
                "below": chart(("x", None, 0)),
            },
        ),
    ),
    "case on an undeclared name": claim_of(
        "x > 0",
        ["x > 0"],
        factor("x", ">", {"by": "cases", "on": "w", "above": chart(), "below": chart()}),
    ),
    "factors of something else": claim_of(
        "x - 1 > 0", ["x > 0"], factor("x", ">", chart(("x", 0, None)))
    ),
    "odd real factor": claim_of("x >= 0", [], factor("x", "real")),
    "odd power of a real factor": claim_of("x**3 >= 0", [], factor("x", "real")),
    "strict by a real factor": claim_of("x**2 > 0", [], factor("x", "real")),
    "unknown sign": claim_of("x > 0", [], factor("x", "<")),
    "negative multiple": claim_of("-x > 0", ["x > 0"], factor("x", ">", chart(("x", 0, None)))),
    "zero factor": claim_of("x > 0", [], factor("0", ">=", chart())),
    "zero is not positive": claim_of("0 > 0", []),
    "given with another sign": claim_of(
        "-x > 0", ["x > 0"], factor("-x", ">", {"by": "given", "constraint": 0})
    ),
    "given but weaker": claim_of(
        "x > 0", ["x >= 0"], factor("x", ">", {"by": "given", "constraint": 0})
    ),
    "given without end": claim_of(
        "x > 0", ["x > 0"], factor("x", ">", {"by": "given", "constraint": 1})
    ),
    "hidden division": claim_of(
        "(x**2 - 1)/(x - 1) >= 2",
        ["x - 1 >= 0"],
        factor("x - 1", ">=", chart(("x", 0, None))),
    ),
    "cancelled division": claim_of("x/x == 1", ["x >= 0"]),
    "division times zero": claim_of("0/x == 0", ["x >= 0"]),
    "division taken to the power zero": claim_of("(1/x)**0 == 1", ["x >= 0"]),
    "division of one by a division": claim_of(
        "1/(1/x) >= 0", ["x >= 0"], factor("x", ">=", chart(("x", 0, None)))
    ),
    "derived by a weak factor": claim_of(
        "y > 0",
        ["x*y >= 0", "x >= 0"],
        factor("y", ">=", {"by": "given", "constraint": 2}),
        names=("x", "y"),
        derived=[{"from": 0, "factors": [factor("x", ">=", chart(("x", 1, None)))]}],
    ),
    "derived by an indefinite factor": claim_of(
        "y >= 0",
        ["x*y >= 0"],
        factor("y", ">=", {"by": "given", "constraint": 1}),
        names=("x", "y"),
        derived=[{"from": 0, "factors": [factor("x", "real")]}],
    ),
    "sum of a negative multiple": claim_of(
        "-x > 0",
        ["x > 0"],
        factor("-x", ">", {"by": "given", "constraint": 1}),
        derived=[{"sum": [{"of": 0, "times": "-1", "proof": chart()}]}],
    ),
    "sum that is not strict": claim_of(
        "x > 0",
        ["x >= 0"],
        factor("x", ">", {"by": "given", "constraint": 1}),
        derived=[{"sum": [{"of": 0, "times": "1", "proof": chart()}]}],
    ),
    "two relations": claim_of("x > 0, x > 1", ["x > 0"], factor("x", ">", chart(("x", 0, None)))),
    "name declared twice": claim_of("x == x", [], names=("x", "x")),
    "undeclared name": claim_of("w == w", []),
    "unsolved root": claim_of("sqrt(x) >= 0", ["x >= 0"]),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_proofs_are_rejected(name):
    rejected(FORGED[name])


def root(**changes):
    lemma = claim_of("x >= 0", ["x >= 0"], factor("x", ">=", chart(("x", 0, None))))
    return {
        "name": "y1",
        "radicand": "x",
        "variable": "x",
        "value": "y1**2",
        "nonnegative": lemma,
        "coefficient": None,
        **changes,
    }


def with_root(claim, *factors, domain=("x >= 0",), **changes):
    return claim_of(claim, domain, *factors, roots=[root(**changes)])


def test_a_root_by_hand():
    y = factor("y1", ">=", chart(("y1", 1, None)))
    assert check(with_root("sqrt(x) >= 0", y)) == "sqrt(x) >= 0"


@pytest.mark.parametrize(
    "changes",
    [
        {"radicand": "x**2"},
        {"radicand": "x + 1"},
        {"value": "y1"},
        {"value": "-y1**2"},
        {"value": "y1**2*x/x"},
        {"variable": "y1"},
        {"name": "x"},
        {"nonnegative": None},
        {"nonnegative": claim_of("1 >= 0", ["x >= 0"])},
        {"nonnegative": claim_of("x >= 0", ["x >= 1"], factor("x", ">=", chart(("x", 0, None))))},
        {"nonnegative": REAL["witness"]},
    ],
    ids=str,
)
def test_forged_roots_are_rejected(changes):
    y = factor("y1", ">=", chart(("y1", 1, None)))
    rejected(with_root("sqrt(x) >= 0", y, **changes))


def test_a_root_whose_coefficient_may_vanish():
    """sqrt(x z) with z >= 0: x is no function of the root where z = 0."""
    domain = ["z >= 0", "x >= 0"]
    lemma = claim_of(
        "x*z >= 0",
        domain,
        factor("x", ">=", chart(("x", 1, None))),
        factor("z", ">=", chart(("z", 0, None))),
        names=("x", "z"),
    )
    for coefficient in (None, claim_of("z != 0", domain, factor("z", ">", chart(("z", 0, None))))):
        certificate = claim_of(
            "sqrt(x*z) >= 0",
            domain,
            factor("y1", ">=", {"by": "given", "constraint": 2}),
            names=("x", "z"),
            roots=[
                root(radicand="x*z", value="y1**2/z", nonnegative=lemma, coefficient=coefficient)
            ],
        )
        rejected(certificate)


def test_the_names_of_roots_mean_nothing_in_a_statement():
    """A lemma about its own y1 = sqrt(x + 400) >= 20 says nothing of y1 = sqrt(x)."""
    domain = ["x >= 0"]
    lemma = claim_of(
        "y1 - 10 > 0",
        domain,
        factor("y1 - 10", ">", chart(("y1", 2, None))),
        roots=[
            root(
                radicand="x + 400",
                value="y1**2 - 400",
                nonnegative=claim_of(
                    "x + 400 > 0", domain, factor("x + 400", ">", chart(("x", 0, None)))
                ),
            )
        ],
        derived=[{"from": 0, "factors": [factor("y1 + 20", ">", chart(("y1", 1, None)))]}],
    )
    rejected(lemma, "y1 is not a parameter")
    second = root(
        name="y2", radicand="y1 - 10", variable="y1", value="y2**2 + 10", nonnegative=lemma
    )
    certificate = claim_of(
        "sqrt(x) >= 10",
        domain,
        factor("y1 - 10", ">=", chart(("y2", 2, None))),
        roots=[root(), second],
    )
    rejected(certificate, "y1 is not a parameter")


def test_forged_combinations():
    false, true = REAL["witness"], REAL["signs"]
    base = {"format": FORMAT, "statement": "All is well.", "verdict": "proved"}
    rejected(sealed({**base, "parts": [false]}), "the verdict is not that of its parts")
    rejected(sealed({**base, "parts": [true, false]}), "the verdict is not that of its parts")
    rejected(sealed({**base, "parts": []}), "no parts")
    rejected(sealed({**base, "parts": [{**true, "claim": "lam > mu"}]}), "digest")
    rejected(sealed({**base, "parts": [None]}))
    rejected(sealed({**base, "parts": "proved"}))
    # a part with an empty statement still counts
    hidden = sealed({**base, "statement": "", "verdict": "refuted", "parts": [false]})
    rejected(sealed({**base, "parts": [hidden]}), "the verdict is not that of its parts")
    # what the checker says names the claims, whatever the prose
    assert "lam*p" in check(sealed({**base, "parts": [true]}))


@pytest.mark.parametrize(
    "certificate",
    [None, 3, "certificate", [], {}, {"format": FORMAT}, {"format": "other"}, [REAL["signs"]]],
    ids=str,
)
def test_what_is_no_certificate(certificate):
    rejected(certificate)
    if isinstance(certificate, dict):
        rejected(sealed(certificate))


def test_nesting_without_end():
    proof = chart(("x", 0, None))
    for _ in range(3000):
        proof = {"by": "cases", "on": "x", "above": proof, "below": proof}
        if len(str(proof)) > 10**6:
            break
    rejected(claim_of("x > 0", ["x > 0"]) | {"factors": [factor("x - 1", ">", proof)]})
    cells = "+"
    for _ in range(100):
        cells = [0, "+", cells]
    forged = claim_of("x > 0", ["x > 0"], factor("x", ">", chart(("x", 0, None), cells=cells)))
    rejected(forged, "subdivided too deeply|nested too deeply")
