"""The command line as a user types it."""

import json
import subprocess
import sys

import pytest

from qtheory.cli import main

JBAR = "2*lam*(2*mu+lam)/((2*mu-lam)*(2*mu+(2-p)*lam)) <= 2*lam/(2*mu-lam)"
GIVEN = "0 < lam, lam < 2*mu, 0 <= p, p <= 1"


def run(capsys, *arguments):
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_prove_and_check(capsys, tmp_path):
    file = tmp_path / "c.json"
    assert run(capsys, "prove", JBAR, "--given", GIVEN, "--json", str(file))[0] == 0
    assert json.loads(file.read_text())["verdict"] == "proved"
    status, out, _ = run(capsys, "check", str(file))
    assert status == 0
    assert out.startswith("proved   2*lam*(")


def test_prove_prints_json(capsys):
    status, out, _ = run(capsys, "prove", "lam <= mu", "--given", GIVEN, "--json", "-")
    data = json.loads(out)
    assert (status, data["verdict"]) == (0, "refuted")
    from fractions import Fraction

    witness = {name: Fraction(value) for name, value in data["witness"].items()}
    assert witness["mu"] < witness["lam"] < 2 * witness["mu"]


def test_prove_writes_smtlib(capsys, tmp_path):
    file = tmp_path / "c.smt2"
    assert run(capsys, "prove", JBAR, "--given", GIVEN, "--smtlib", str(file))[0] == 0
    assert "(check-sat)" in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prove", "lam <= (mu"], "malformed expression: expected ')'"),
        (["prove", "__import__('os') < 1"], "unknown function __import__"),
        (["prove", "lam <= 1/(1-1)"], "division by zero"),
        (["prove", "lam + mu"], "expected a relation"),
        (["prove", "lam < mu, mu < 3"], "one relation is proved at a time"),
        (["prove", "lam < mu", "--given", "1 < 0"], "empty"),
        (
            ["evaluate", "shorter-queue", "Jbar", "lam=3", "mu=1", "p=0"],
            "unstable: needs lambda < 2*mu, got lambda = 3, mu = 1",
        ),
        (
            ["evaluate", "shorter-queue", "Jbar", "lam=2", "mu=1", "p=0"],
            "unstable: needs lambda < 2*mu",
        ),
        (
            ["evaluate", "shorter-queue", "Jbar", "lam=-1", "mu=1", "p=0"],
            "needs lambda > 0, got lambda = -1",
        ),
        (["evaluate", "shorter-queue", "Jbar", "lam=1", "mu=1"], "no value given for p"),
        (
            ["evaluate", "shorter-queue", "Jbar", "lam=1", "mu=1", "p=0", "z=1"],
            "unknown parameter z",
        ),
        (
            ["evaluate", "shorter-queue", "Jbar", "lam=1", "lam=1", "mu=1", "p=0"],
            "lam is given twice",
        ),
        (["evaluate", "shorter-queue", "Jbar", "lam=x", "mu=1", "p=0"], "a number was expected"),
        (["evaluate", "shorter-queue", "Jbar", "lam", "mu=1", "p=0"], "expected NAME=VALUE"),
        (["evaluate", "shorter-queue", "nothing", "lam=1"], "unknown formula nothing"),
        (["evaluate", "nowhere", "Jbar"], "unknown system nowhere"),
        (["show", "shorter-queue", "nothing"], "unknown formula nothing"),
        (["verify", "no/such/folder"], "no such file or folder"),
        (["check", "no/such/file.json"], "No such file or directory"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_tampered_certificates_are_rejected(capsys, tmp_path):
    file = tmp_path / "c.json"
    run(capsys, "prove", JBAR, "--given", GIVEN, "--json", str(file))
    certificate = json.loads(file.read_text())["certificate"]
    certificate["claim"] = certificate["claim"].replace("<=", ">=")
    file.write_text(json.dumps(certificate))
    status, out, err = run(capsys, "check", str(file))
    assert (status, out) == (2, "")
    assert "altered" in err
    file.write_text("not json")
    assert run(capsys, "check", str(file))[0] == 2
    file.write_text("[]")
    assert "not a JSON object" in run(capsys, "check", str(file))[2]


def test_evaluate_prints_proven_digits(capsys):
    point = ["lam=1/2", "lam_s=1/5", "mu=1", "R=3", "C=1"]
    status, out, _ = run(capsys, "evaluate", "dedicated-streams", "q_e", *point, "--digits", "30")
    assert (status, out) == (0, "1\n")
    _, out, _ = run(capsys, "evaluate", "dedicated-streams", "q_opt", *point, "--digits", "30")
    # 2 (1 - sqrt(2/5)), by the square root of 2/5 to 40 digits in integers
    from math import isqrt

    digits = 2 * (10**40 - isqrt(4 * 10**79))
    assert out.strip() == "0." + str(digits)[:30]
    _, out, _ = run(capsys, "evaluate", "dedicated-streams", "EX", *point, "--json", "-")
    assert json.loads(out)["exact"] == "7/5"


def test_show_and_systems(capsys):
    assert "Jbar" in run(capsys, "systems")[1]
    assert run(capsys, "show", "shorter-queue", "Jbar", "--latex")[1].startswith(r"\bar{J} = \frac")
    assert "lam < 2*mu" in run(capsys, "show", "shorter-queue", "Jbar")[1]
    assert "when d >= 1" in run(capsys, "show", "shorter-queue", "uniform")[1]
    assert "arrival rate of jobs" in run(capsys, "show", "shorter-queue")[1]


def test_verify_writes_everything(capsys, tmp_path):
    (tmp_path / "t.py").write_text(
        "from qtheory import Domain, prove, theorem\n"
        '@theorem("T")\n'
        "def t():\n"
        '    "A number below one is below two."\n'
        '    return prove("x < 2", Domain("x <= 1"))\n'
    )
    out = tmp_path / "out"
    status, printed, _ = run(
        capsys,
        "verify",
        str(tmp_path / "t.py"),
        "--json",
        str(out / "t.json"),
        "--latex",
        str(out / "t.tex"),
        "--certificates",
        str(out / "c"),
    )
    assert status == 0
    assert "1 of 1 as declared" in printed
    assert json.loads((out / "t.json").read_text())["theorems"][0]["verdict"] == "proved"
    assert r"\begin{document}" in (out / "t.tex").read_text()
    assert run(capsys, "check", str(out / "c" / "T.json"))[0] == 0
    (tmp_path / "t.py").write_text(
        (tmp_path / "t.py").read_text().replace('"T"', '"T", expected="refuted"')
    )
    status, printed, _ = run(capsys, "verify", str(tmp_path / "t.py"))
    assert status == 1
    assert "declared refuted, found proved" in printed


def test_start_up_loads_no_heavy_library():
    heavy = ("sympy", "numpy", "scipy", "networkx", "flint", "z3", "matplotlib")
    for command in ("import qtheory", "import qtheory.cli; qtheory.cli._parser()"):
        code = f"import sys; {command}; print([m for m in {heavy} if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr
