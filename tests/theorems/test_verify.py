"""Collecting and running theorem files, and what is reported."""

import json

import pytest

from qtheory import Domain, prove, theorem, verify
from qtheory.check import check
from qtheory.errors import QTheoryError
from qtheory.inequality import Supported
from qtheory.theorems import collect
from qtheory.theorems.document import document
from qtheory.theorems.report import as_json, details, line, summary, write_certificates

GOOD = '''
from qtheory import Domain, prove, theorem

@theorem("A", source="by hand")
def first():
    """The square of $x$ is nonnegative.

    Because it is a square.
    """
    return prove("x**2 >= 0", Domain("x <= 1"))

@theorem("B", expected="refuted")
def second():
    "Every number below one is below one half."
    return prove("x <= 1/2", Domain("x <= 1"))

@theorem("C")
def third():
    "Two facts."
    return {"one": prove("x < 2", Domain("x <= 1")), "two": prove("x <= 1", Domain("x <= 1"))}
'''
BAD = """
from qtheory import Domain, prove, theorem

@theorem("D")
def raises():
    "This one raises."
    return 1 / 0

@theorem("E")
def wrong():
    "This one is declared wrongly."
    return prove("x <= 1/2", Domain("x <= 1"))

@theorem("F")
def nothing():
    "This one forgets to return."
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a_good.py").write_text(GOOD)
    (tmp_path / "b_broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "c_bad.py").write_text(BAD)
    (tmp_path / "_helper.py").write_text("raise SystemExit(1)\n")
    return tmp_path


def test_collects_in_the_order_of_the_text(folder):
    assert [getattr(item, "id", "?") for item in collect(folder)] == [
        "A",
        "B",
        "C",
        "?",
        "D",
        "E",
        "F",
    ]
    first = collect(folder / "a_good.py")[0]
    assert first.statement == "The square of $x$ is nonnegative."
    assert first.reasoning == "Because it is a square."
    assert first.source == "by hand"


def test_one_that_raises_does_not_stop_the_others(folder):
    found = {outcome.id: outcome for outcome in verify(folder)}
    words = [outcome.verdict for outcome in found.values()]
    assert words == ["proved", "refuted", "proved", "error", "error", "refuted", "error"]
    assert found["D"].error == "ZeroDivisionError: division by zero"
    assert "nothing_of_this_name" in found[str(folder / "b_broken.py")].error
    assert "must return a verdict" in found["F"].error
    assert [outcome.as_declared for outcome in found.values()] == [True] * 3 + [False] * 4


def test_selection_by_id_and_statement(folder):
    file = folder / "a_good.py"
    assert [outcome.id for outcome in verify(file, select="SQUARE")] == ["A"]
    assert [outcome.id for outcome in verify(file, select="facts")] == ["C"]
    assert verify(file, select="no such words") == []


def test_reports_and_certificates(folder):
    outcomes = verify(folder)
    data = json.loads(json.dumps(as_json(outcomes)))["theorems"]
    assert [
        set(entry) >= {"id", "statement", "verdict", "expected", "seconds", "certificate"}
        for entry in data
    ] == [True] * 7
    assert "altered" not in check(data[0]["certificate"])
    assert len(data[2]["certificate"]["parts"]) == 2
    assert data[4]["certificate"] is None
    files = write_certificates(outcomes, folder / "out")
    assert sorted(file.name for file in files) == ["A.json", "B.json", "C.json", "E.json"]
    for file in files:
        check(json.loads(file.read_text()))
    assert summary(outcomes).startswith(
        "7 theorems: 2 proved, 2 refuted, 3 error; 3 of 7 as declared"
    )
    assert line(outcomes[0]).startswith("ok   A")
    assert line(outcomes[5]).startswith("FAIL E")


def test_a_weaker_verdict_makes_the_theorem_weaker():
    proved = prove("x < 2", Domain("x <= 1"))
    seen = Supported(proved.claim, proved.domain, evidence="on a grid")

    @theorem("grid", expected="supported")
    def mixed():
        "One proof and one observation."
        return {"proved": proved, "seen": seen}

    from qtheory.theorems.run import run

    outcome = run(mixed.theorem)
    assert (outcome.verdict, outcome.certificate) == ("supported", None)


CITED = """
from qtheory import Domain, Open, Supported, prove, theorem

@theorem("G", source="a paper", given=("the law of large numbers", r"$u_t \\to 1/\\pi$"))
def cited():
    "Two steps and a limit."
    claim = prove("x < 2", Domain("x <= 1"))
    return {"one": claim, "two": claim}

@theorem("H", expected="supported", given="Foster's theorem")
def seen():
    "A proof and an observation."
    claim = prove("x < 2", Domain("x <= 1"))
    return {"one": claim, "two": Supported(claim.claim, claim.domain, "seed 1, 3 runs")}

@theorem("I", expected="open")
def conjectured():
    "A conjecture."
    claim = prove("x < 2", Domain("x <= 1"))
    return Open(claim.claim, claim.domain, ("a grid", "by hand"))
"""


def test_what_is_cited_is_repeated_by_every_report(tmp_path):
    (tmp_path / "t.py").write_text(CITED)
    cited, seen, conjectured = outcomes = verify(tmp_path)
    assert [outcome.verdict for outcome in outcomes] == ["proved", "supported", "open"]
    assert details(cited) == [
        "     given: the law of large numbers",
        "     given: u_t to 1/pi",
    ]
    assert details(seen) == ["     given: Foster's theorem", "     seen: two: seed 1, 3 runs"]
    assert details(conjectured) == ["     tried: a grid", "     tried: by hand"]
    assert summary(outcomes).startswith("3 theorems: 1 proved (1 given what they cite), 1 supp")
    assert "given: the law of large numbers" in cited.certificate["statement"]
    check(json.loads(json.dumps(cited.certificate)))
    assert seen.certificate is None and conjectured.certificate is None
    first, second, third = as_json(outcomes)["theorems"]
    assert first["given"] == ["the law of large numbers", r"$u_t \to 1/\pi$"]
    assert second["claims"][1]["evidence"] == "seed 1, 3 runs"
    assert third["claims"][0]["tried"] == ["a grid", "by hand"]
    text = document(outcomes)
    assert r"G & proved, given what is cited & yes" in text
    assert r"H & supported & yes" in text
    assert r"Given, and not proved here: the law of large numbers; $u_t \to 1/\pi$." in text


def test_bad_declarations(tmp_path):
    with pytest.raises(QTheoryError, match="expected is one of"):
        theorem("x", expected="true")
    with pytest.raises(QTheoryError, match="needs a docstring"):
        theorem("x")(lambda: None)
    with pytest.raises(QTheoryError, match="no such file or folder"):
        collect(tmp_path / "nowhere")
    (tmp_path / "one.py").write_text(GOOD)
    (tmp_path / "two.py").write_text(GOOD)
    with pytest.raises(QTheoryError, match="two theorems are called A"):
        collect(tmp_path)


def test_an_interrupt_keeps_what_is_done(tmp_path):
    (tmp_path / "t.py").write_text(
        GOOD
        + """
@theorem("Z")
def interrupted():
    "The user presses Ctrl-C here."
    raise KeyboardInterrupt
"""
    )
    with pytest.raises(KeyboardInterrupt) as info:
        verify(tmp_path)
    assert [outcome.id for outcome in info.value.outcomes] == ["A", "B", "C"]


def test_a_theorem_on_an_empty_domain_is_an_error(tmp_path):
    (tmp_path / "t.py").write_text(
        "from qtheory import Domain, prove, theorem\n"
        '@theorem("V")\n'
        "def vacuous():\n"
        '    "Nothing is said here."\n'
        '    return prove("x < 0", Domain("x**2 + 1 < 0, y > 0"))\n'
    )
    (outcome,) = verify(tmp_path)
    assert outcome.verdict == "error"
    assert "it may be empty" in outcome.error
