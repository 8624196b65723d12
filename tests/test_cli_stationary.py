"""The command `stationary`."""

import json

from qtheory.cli import main


def run(capsys, *arguments):
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_proven_digits_of_the_shorter_queue(capsys):
    at = ("--at", "lam=1,mu=1,p=0", "--digits", "50")
    status, out, _ = run(capsys, "stationary", "shorter-queue", *at, "--expect", "x1 + x2")
    # the first 50 digits of 0-drift-certificates.md
    assert (status, out.split(" = ")[1].strip()) == (
        0,
        "1.4263207511672411877415694129266203743202597745138",
    )


def test_floats_say_that_they_are_estimated(capsys):
    at = ("--at", "lam=1,mu=1,p=1/2")
    _, out, _ = run(capsys, "stationary", "shorter-queue", *at, "--expect", "|x1 - x2|")
    assert out.startswith("E[d] = 0.80687842") and "(estimated)" in out
    _, out, _ = run(capsys, "stationary", "shorter-queue", *at)
    assert "truncation" in out and "window" in out


def test_closed_forms_and_their_latex(capsys):
    _, out, _ = run(capsys, "stationary", "shorter-queue", "--box", "1", "--expect", "m")
    assert out.startswith("E[m] = lam**2*")
    _, out, _ = run(
        capsys, "stationary", "dedicated-streams:mean-field", "--expect", "k", "--latex"
    )
    assert out.strip() == r"\mathrm{E}[k] = \frac{\lambda + \lambda_{s}}{\mu - \lambda}"


def test_json(capsys, tmp_path):
    file = tmp_path / "law.json"
    at = ("--at", "lam=1,mu=1,p=1/2", "--json", str(file))
    status, _, _ = run(capsys, "stationary", "shorter-queue", *at, "--expect", "m", "--expect", "d")
    data = json.loads(file.read_text())
    assert status == 0 and data["method"] == "truncation"
    assert set(data["means"]) == {"m", "d"} and data["error"].endswith("(estimated)")


def test_what_cannot_be_solved_says_why(capsys):
    status, _, error = run(capsys, "stationary", "dedicated-streams")
    assert status == 2 and "give a box" in error
    status, _, error = run(capsys, "stationary", "shorter-queue", "--at", "lam=2,mu=1,p=0")
    assert status == 2 and "unstable" in error
    status, _, error = run(capsys, "stationary", "shorter-queue", "--method", "fast")
    assert status == 2 and "method must be" in error
