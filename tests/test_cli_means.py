"""The commands on stationary means: bound, identities, enclose."""

import json

import pytest
import sympy as sp

from qtheory.cli import main
from qtheory.errors import ModelError
from qtheory.systems import dedicated_streams as ds
from qtheory.systems import shorter_queue as sq
from qtheory.systems.coordinates import find_model, read_cost


def run(capsys, *arguments):
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_bound_at_a_point(capsys, tmp_path):
    arguments = ["bound", "shorter-queue", "x1 + x2", "--layers", "1", "--at", "lam=1,mu=1,p=0"]
    status, out, _ = run(capsys, *arguments, "--json", "-")
    data = json.loads(out)
    assert status == 0
    assert data["lower"]["value"] == "27/19"
    assert data["upper"]["value"] == "23/16"
    file = tmp_path / "upper.json"
    file.write_text(json.dumps(data["upper"]["certificate"]))
    assert run(capsys, "check", str(file))[1].startswith("proved   E[")
    assert "E[d + 2*m] <= 23/16" in run(capsys, *arguments)[1]


def test_closed_forms_over_the_domain(capsys):
    status, out, _ = run(capsys, "bound", "shorter-queue", "x1 + x2")
    assert status == 0
    assert "E[d + 2*m] <= lam*(lam - lam*p + 2*mu)/((2*mu - lam)*(lam - lam*p + mu))" in out
    _, out, _ = run(capsys, "bound", "dedicated-streams:mean-field", "k", "--json", "-")
    data = json.loads(out)
    assert data["upper"]["cells"][0]["formula"] == "(lam + lam_s)/(mu - lam)"
    assert data["upper"]["cells"][0]["conditions"] == []
    _, out, _ = run(capsys, "bound", "dedicated-streams:mean-field", "k", "--latex")
    assert r"\leq \frac{\lambda + \lambda_{s}}{\mu - \lambda}" in out


def test_identities(capsys):
    status, out, _ = run(capsys, "identities", "shorter-queue")
    assert status == 0
    assert "P(d = 0) = (2*mu - lam*p)/(2*lam - lam*p + 2*mu)" in out
    _, out, _ = run(capsys, "identities", "dedicated-streams:mean-field", "--of", "k")
    assert out == "E[k] = (lam + lam_s)/(mu - lam)\n"
    assert "not determined" in run(capsys, "identities", "shorter-queue", "--of", "x1 + x2")[1]


def test_enclose(capsys, tmp_path):
    file = tmp_path / "digits.json"
    point = ["--at", "lam=1,mu=1,p=3/10", "--digits", "20", "--certificate", str(file)]
    status, out, _ = run(capsys, "enclose", "shorter-queue", "x1 + x2", *point)
    assert (status, out) == (0, "1.5139281567128192274\n")
    status, out, _ = run(capsys, "check", str(file))
    assert status == 0
    assert out.startswith("proved   E[")


def test_a_model_from_a_file(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from sympy import symbols\n"
        "from qtheory import Domain, Model, Transition\n"
        "a, b = symbols('lam b', positive=True)\n"
        "n = symbols('n', integer=True, nonnegative=True)\n"
        "queue = Model(n, Domain(stable=a < b), "
        "[Transition(a, (1,)), Transition(b, (-1,), when=n >= 1)])\n"
    )
    assert "E[n] <= lam/(b - lam)" in run(capsys, "bound", f"{file}:queue", "n")[1]
    at = ["--at", "lam=1/2,b=1"]
    assert "E[n] <= 1 " in run(capsys, "bound", f"{file}:queue", "n", *at)[1]
    assert "E[lam*n] <= lam**2/(b - lam)" in run(capsys, "bound", f"{file}:queue", "lam*n")[1]
    status, _, err = run(capsys, "bound", f"{file}:other", "n")
    assert status == 2
    assert "has no Model called other" in err
    file.write_text("1/0\n")
    assert "raises ZeroDivisionError" in run(capsys, "bound", f"{file}:queue", "n")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bound", "shorter-queue", "x1"], "not symmetric"),
        (["bound", "shorter-queue", "z"], "unknown name z in the cost"),
        (["bound", "shorter-queue", "m +"], "malformed expression"),
        (["bound", "shorter-queue", "m", "--layers", "-1"], "needs layers >= 0"),
        (["bound", "shorter-queue:other", "m"], "unknown model other"),
        (["bound", "nowhere.py:x", "m"], "no such file"),
        (
            ["bound", "shorter-queue", "m", "--at", "lam=2,mu=1,p=0"],
            "unstable: needs lambda < 2*mu",
        ),
        (["bound", "shorter-queue", "m", "--at", "lam=1,mu=1"], "no value given for p"),
        (["bound", "shorter-queue", "m", "--at", "lam"], "expected NAME=VALUE"),
        (["enclose", "shorter-queue", "m", "--at", "lam=2,mu=1,p=0"], "unstable"),
        (["identities", "nowhere"], "unknown system nowhere"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_costs_in_the_queues_that_a_model_lumps():
    m, d = sq.m, sq.d
    chain = sq.model()
    assert read_cost(chain, "x1**2 + x2**2", True) == sp.expand(m**2 + (m + d) ** 2)
    assert read_cost(chain, "max(x1, x2) - min(x2, x1)", True) == d
    assert read_cost(chain, "abs(x2 - x1)", True) == d
    three = ds.model(3)
    g0, g1, g2 = three.state
    assert sp.expand(read_cost(three, "x1 + x2 + x3", True) - (3 * g0 + 2 * g1 + g2)) == 0
    assert read_cost(sq.bernoulli_model(), "x1") == sq.x1
    with pytest.raises(ModelError, match="are not coordinates of this model"):
        read_cost(sq.targeted_model(), "x1 + x2")


def test_models_by_name():
    assert find_model("dedicated-streams:4").model.state == ds.model(4).state
    assert find_model("dedicated-streams").model.state == ds.model(2).state
    assert find_model("shorter-queue:bernoulli").model == sq.bernoulli_model()


def test_conditions_of_a_bound_as_latex(capsys):
    out = run(capsys, "bound", "shorter-queue", "x1 + x2", "--latex")[1]
    assert r" \quad \text{if } " in out
    assert r"\\quad" not in out


def test_a_short_decimal_keeps_its_digits(capsys):
    point = ["--at", "lam=1/2,lam_s=1/5,mu=1", "--digits", "15"]
    out = run(capsys, "enclose", "dedicated-streams:mean-field", "k", *point)[1]
    assert out.startswith("1.400000000000000")
    assert "+- 1e-" in out


def test_check_reads_what_the_commands_write(capsys, tmp_path):
    at = ["--at", "lam=1,mu=1,p=0"]
    for command in (
        ["bound", "shorter-queue", "x1 + x2", *at],
        ["bound", "dedicated-streams:mean-field", "k"],
        ["enclose", "shorter-queue", "x1 + x2", *at, "--digits", "8"],
    ):
        file = tmp_path / "out.json"
        assert run(capsys, *command, "--json", str(file))[0] == 0
        status, out, _ = run(capsys, "check", str(file))
        assert status == 0
        assert out.startswith("proved")
        data = json.loads(file.read_text())
        inner = data.get("upper", data)
        inner = inner["cells"][0] if isinstance(inner, dict) and "cells" in inner else inner
        inner = inner if "certificate" in inner else data
        inner["certificate"].pop("format")
        file.write_text(json.dumps(data))
        assert run(capsys, "check", str(file))[0] == 2
    file.write_text("{}")
    assert "no certificate in this file" in run(capsys, "check", str(file))[2]


def test_show_takes_the_same_model_names(capsys):
    assert "delta" in run(capsys, "show", "shorter-queue:targeted")[1]
    assert "g_2" in run(capsys, "show", "dedicated-streams:3")[1]
    assert "takes no number" in run(capsys, "show", "shorter-queue:3")[2]


def test_a_model_of_ones_own_is_not_taken_for_lumped_queues():
    m, d = sp.symbols("m d", integer=True, nonnegative=True)
    with pytest.raises(ModelError, match="are not coordinates of this model"):
        read_cost(sq.model(), "x1 + x2", sorted_lengths=False)
    assert read_cost(sq.model(), "m + d") == m + d
