"""The commands regimes, equilibrium and gap."""

import json
from contextlib import contextmanager
from fractions import Fraction as F
from types import SimpleNamespace

import pytest
import sympy as sp

from qtheory.cli import main
from qtheory.cli.game_points import value_data
from qtheory.drift.window import PrecisionError
from qtheory.formulas import formula
from qtheory.inequality import prove
from qtheory.systems.dedicated_streams import gaps as joining_gaps
from qtheory.systems.shorter_queue import JB, G, dJbar, rates

GAME = ("lam=2/5", "lam_s=3/10", "mu=1", "R=13/8", "C=1")
POINT = ("lam=1", "mu=1", "ca=1/5", "cb=1/5")


def run(capsys, *arguments):
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def data_of(capsys, *arguments):
    status, out, _ = run(capsys, *arguments, "--json", "-")
    assert status == 0
    return json.loads(out)


# regimes


def test_regimes_of_the_attack_game(capsys):
    data = data_of(capsys, "regimes", "shorter-queue")
    named = {regime["name"]: regime for regime in data["regimes"]}
    assert list(named) == ["I", "II", "III", "IV"] and data["at"] == {}
    boundary = named["I"]["conditions"][0].removeprefix("ca >= ")
    assert sp.cancel(formula(boundary, rates.symbols) - G(sp.Integer(1))) == 0
    slope = named["II"]["conditions"][1].removeprefix("cb >= ")
    assert sp.cancel(formula(slope, rates.symbols) - dJbar(sp.Integer(1))) == 0
    assert sp.cancel(formula(named["II"]["values"]["risk"], rates.symbols) - JB) == 0


def test_regimes_at_rates_and_at_a_point(capsys):
    _, out, _ = run(capsys, "regimes", "shorter-queue", "--at", "lam=1,mu=1")
    assert "I: if ca >= 1/2\n" in out and "cb >= (2*ca + 3)**2/24" in out
    _, out, _ = run(capsys, "regimes", "shorter-queue", "--at", ",".join(POINT))
    assert out.startswith("IV: if ca <= ") and "theta = 120/289\n" in out
    # on the boundary ca = G(1) both formulas hold
    data = data_of(capsys, "regimes", "shorter-queue", "--at", "lam=1,mu=1,ca=1/2,cb=1")
    assert [regime["name"] for regime in data["regimes"]] == ["I", "II"]
    assert data["at"] == {"lambda": "1", "mu": "1", "c_a": "1/2", "c_b": "1"}


def test_regimes_as_latex(capsys, tmp_path):
    file = tmp_path / "regimes.json"
    arguments = ("--latex", "--at", "lam=1,mu=1", "--json", str(file))
    _, out, _ = run(capsys, "regimes", "shorter-queue", *arguments)
    first = out.splitlines()[0]
    assert first.startswith(r"\theta = \begin{cases} 0 & c_{a} \geq \frac{1}{2} \\ 1 & ")
    assert json.loads(file.read_text())["latex"]["theta"] == first
    _, out, _ = run(capsys, "regimes", "dedicated-streams", "--latex")
    assert out.startswith(r"q_{e} = \begin{cases} 0 & R \mu^{2} \leq C \left(")


@pytest.mark.parametrize("system", ["shorter-queue", "dedicated-streams"])
def test_regimes_are_verified(capsys, system):
    data = data_of(capsys, "regimes", system, "--verify")
    assert len(data["verdicts"]) > 40 and set(data["verdicts"].values()) == {"proved"}
    _, out, _ = run(capsys, "regimes", system, "--verify")
    assert out.count("\nproved   ") == len(data["verdicts"])


def test_a_claim_that_is_not_proved_fails(capsys, monkeypatch):
    from qtheory.games import Regimes

    false = prove("lam <= mu", rates)
    monkeypatch.setattr(Regimes, "verify", lambda self: {"a false claim": false})
    status, out, _ = run(capsys, "regimes", "shorter-queue", "--verify")
    assert status == 1 and "refuted  a false claim" in out


def test_joining_at_points(capsys):
    at = "lam=2/5,lam_s=3/10,mu=1"
    data = data_of(capsys, "regimes", "dedicated-streams", "--at", f"{at},R=13/10,C=1")
    # R = C (mu + lam_s)/mu^2 is a boundary
    names = [regime["name"] for regime in data["regimes"]]
    assert names == ["nobody joins", "some join, fewer should"]
    assert {regime["values"]["q_e"] for regime in data["regimes"]} == {"0"}
    _, out, _ = run(capsys, "regimes", "dedicated-streams", "--at", at)
    assert out.startswith("nobody joins: if R <= 13*C/10\n")


def test_maps_are_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    for number, arguments in enumerate(
        (
            ("shorter-queue",),
            ("shorter-queue", "--at", ",".join(POINT)),
            ("dedicated-streams", "--at", ",".join(GAME)),
        )
    ):
        file = tmp_path / f"{number}.png"
        status, out, _ = run(capsys, "regimes", *arguments, "--plot", str(file))
        assert status == 0 and ": if " in out
        assert file.read_bytes().startswith(b"\x89PNG")


# equilibrium


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        # the regimes at lam = mu = 1: G(1) = 1/2, Jbar'(1) = 2/3, Jbar(0) = 3/2, JB = 2
        (("ca=3/5", "cb=1"), (["I"], "0", "0", "3/2")),
        (("ca=1/5", "cb=1"), (["II"], "1", "0", "2")),
        (("ca=1/10", "cb=1/2"), (["III"], "1", "-3 + 2*sqrt(3)", "-3/2 + 2*sqrt(3)")),
        (("ca=1/5", "cb=1/5"), (["IV"], "120/289", "9/17", "4881/2890")),
        # cb = 0: a defence that costs nothing keeps the attacker away
        (("ca=1", "cb=0"), ([], "0", ("0", "1"), "3/2")),
        # ca = 0: all jobs are defended for cb <= Jbar'(0) = 3/8
        (("ca=0", "cb=1/5"), ([], ("8/15", "1"), "1", "17/10")),
        # on the boundary of I and IV
        (("ca=1/2", "cb=1/5"), (["I", "IV"], ("0", "3/10"), "0", ("3/2", "33/20"))),
    ],
)
def test_equilibria_on_the_bound(capsys, costs, expected):
    data = data_of(capsys, "equilibrium", "shorter-queue", "lam=1", "mu=1", *costs)
    regimes, *values = expected
    assert data["regimes"] == regimes and data["cost"] == "Jbar"
    for name, value in zip(("theta", "b", "risk"), values, strict=True):
        ends = value if isinstance(value, tuple) else (value, value)
        assert (data[name]["lower"], data[name]["upper"]) == ends
    assert data["unique"] is not any(isinstance(value, tuple) for value in values[:2])


def test_equilibrium_as_text(capsys):
    point = ("lam=1", "mu=1", "ca=1/10", "cb=1/2")
    _, out, _ = run(capsys, "equilibrium", "shorter-queue", *point, "--digits", "20")
    assert out.startswith("on the bound Jbar: regime III\n")
    assert "b     = -3 + 2*sqrt(3) = 0.46410161513775458705\n" in out
    _, out, _ = run(capsys, "equilibrium", "shorter-queue", "lam=1", "mu=1", "ca=0", "cb=0")
    assert "a cost is zero" in out and "every theta with every b" in out


def test_equilibrium_on_the_exact_cost(capsys):
    point = ("lam=1/2", "mu=1", "ca=1/100", "cb=1/20")
    arguments = ("equilibrium", "shorter-queue", *point, "--exact", "--digits", "5")
    data = data_of(capsys, *arguments)
    assert data["regime"] == "IV" and "convex" in data["rests_on"][0]
    low, high = F(data["b"]["lower"]), F(data["b"]["upper"])
    assert low < F("0.8726679") < high and high - low < F(1, 10**4)
    _, out, _ = run(capsys, *arguments)
    assert "proved at this point:\n  ca = 1/100 < J(1) - J(0) = 0.1161" in out
    assert "rest on:\n  J is strictly convex in p" in out and "--convex" in out


def test_the_equilibrium_on_the_exact_cost_is_proved_with_convexity(capsys, monkeypatch):
    point = ("lam=1/2", "mu=1", "ca=1/100", "cb=1/20")
    arguments = ("equilibrium", "shorter-queue", *point, "--exact", "--digits", "5", "--convex")
    data = data_of(capsys, *arguments)
    assert data["proved"] and data["rests_on"] == [] and data["facts"][-1].startswith("J'' >= 0.0")
    shown = []

    @contextmanager
    def recording():
        yield shown.append

    monkeypatch.setattr("qtheory.cli.equilibrium.reporting", recording)
    _, out, _ = run(capsys, *arguments)
    assert "hence the regime and the values are proved" in out and "rest on" not in out
    assert any(line.startswith("phat near 1") for line in shown)
    assert any(line.startswith("J'' >= ") for line in shown)

    def fails(*_):
        raise PrecisionError("J'' > 0 is not proved")

    # what is known without the proof is kept
    monkeypatch.setattr("qtheory.systems.shorter_queue.cost_shape.convexity", fails)
    status, out, _ = run(capsys, *arguments)
    assert status == 0 and "regime IV" in out and out.endswith("J'' > 0 is not proved\n")
    status, _, err = run(capsys, "equilibrium", "shorter-queue", *point, "--convex")
    assert status == 2 and "--convex goes with --exact" in err


def test_equilibrium_of_the_joining_game(capsys):
    data = data_of(capsys, "equilibrium", "dedicated-streams", *GAME, "--N", "2")
    assert data["cases"] == ["some join, fewer should"]
    assert (data["q_e"]["lower"], data["q_opt"]["upper"]) == ("1/2", "5/2 - sqrt(5)")
    assert data["price_of_anarchy"]["decimal"].startswith("1.0965953")
    finite = data["finite"]
    assert finite["kind"] == "certified" and finite["gap"]["kind"] == "certified"
    assert F(finite["q_e"]["lower"]) <= F("0.35833") <= F(finite["q_e"]["upper"])
    # eps_N = q_e C lam_s E_N[M]/(mu (mu - lam q_e)) = 3/16 E_N[M]
    gap = finite["gap"]
    assert F(gap["epsilon"]["lower"]) == F(3, 16) * F(gap["shortest"]["lower"])


def test_estimated_equilibria_agree_with_certified_ones(capsys, monkeypatch):
    arguments = ("equilibrium", "dedicated-streams", *GAME, "--N", "3")
    certified = data_of(capsys, *arguments)["finite"]["q_e"]
    monkeypatch.setattr("qtheory.cli.equilibrium.CERTIFIED", 0)
    finite = data_of(capsys, *arguments)["finite"]
    assert finite["kind"] == "estimated"
    slack = F(1, 10**4)
    found = F(finite["q_e"]["value"])
    assert F(certified["lower"]) - slack < found < F(certified["upper"]) + slack
    _, out, _ = run(capsys, *arguments)
    assert "(estimated)" in out and "between" not in out
    # nobody joins, and everybody does
    for R, q in (("R=13/10", 0), ("R=6", 1)):
        data = data_of(capsys, "equilibrium", "dedicated-streams", *GAME[:3], R, "C=1", "--N", "2")
        assert data["finite"]["q_e"]["value"] == q


def test_too_many_queues_for_an_equilibrium_still_have_a_gap(capsys, monkeypatch):
    rows = joining_gaps.gap_table(_game(), [2])
    monkeypatch.setattr(joining_gaps, "gap_table", lambda *arguments, **options: rows)
    arguments = ("equilibrium", "dedicated-streams", *GAME, "--N", "40")
    finite = data_of(capsys, *arguments)["finite"]
    assert finite["kind"] == "out of reach" and finite["q_e"] is None and finite["gap"]["N"] == 2
    assert "at most q_e (out of reach)" in run(capsys, *arguments)[1]


def test_joining_without_a_unique_answer(capsys):
    at = ("lam=0", "lam_s=3/10", "mu=1", "R=13/10", "C=1")
    data = data_of(capsys, "equilibrium", "dedicated-streams", *at, "--N", "2")
    assert (data["q_e"]["lower"], data["q_e"]["upper"]) == ("0", "1") and data["cases"] == []
    assert data["finite"]["gap"] is None
    at = ("lam=1/2", "lam_s=0", "mu=1", "R=3/2", "C=1")
    status, out, _ = run(capsys, "equilibrium", "dedicated-streams", *at)
    assert status == 0 and "no price of anarchy: no ratio" in out
    assert data_of(capsys, "equilibrium", "dedicated-streams", *at)["price_of_anarchy"] is None


# gap


def test_gaps_and_their_kinds(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file, figure = tmp_path / "gap.json", tmp_path / "gap.svg"
    options = ("--N", "1,2,7", "--json", str(file), "--plot", str(figure))
    status, out, _ = run(capsys, "gap", "dedicated-streams", *GAME, *options)
    data = json.loads(file.read_text())
    assert status == 0 and out.startswith("q = 1/2, the equilibrium of the limit\n")
    assert [row["kind"] for row in data["rows"]] == ["certified", "certified", "estimated"]
    # one queue is M/M/1 with load 1/2: E_1[M] = 1, and eps_1 = 3/16
    assert data["rows"][0]["epsilon"]["lower"] == data["rows"][0]["epsilon"]["upper"] == "3/16"
    assert data["rows"][2]["epsilon"]["value"] == pytest.approx(0.00744418, rel=1e-4)
    assert "<svg" in figure.read_text()
    data = data_of(capsys, "gap", "dedicated-streams", *GAME, "--N", "1", "--q", "1")
    # M/M/1 with load 7/10: U_1 = 13/8 - 10/3
    assert data["q"] == "1" and F(data["rows"][0]["epsilon"]["lower"]) == F(10, 3) - F(13, 8)


def test_simulated_gaps_have_intervals(capsys):
    data = data_of(capsys, "gap", "dedicated-streams", *GAME, "--N", "11")
    row = data["rows"][0]
    assert row["kind"] == "simulated" and row["epsilon"]["level"] == 0.95
    estimated = joining_gaps.gap_table(_game(), [11], estimated=11)[0].epsilon
    assert abs(row["epsilon"]["value"] - estimated) < 3 * row["epsilon"]["half_width"]
    _, out, _ = run(capsys, "gap", "dedicated-streams", *GAME, "--N", "11")
    assert "simulated" in out and " ± " in out


def test_simulated_gaps_report_how_far_they_are():
    shown = []
    joining_gaps.gap_table(_game(), [2], estimated=1, certified=1, progress=shown.append)
    assert shown[0] == "N = 2" and shown[-1].startswith("simulated 9")


def _game():
    from qtheory.systems.dedicated_streams.joining_game import joining_game

    return joining_game("2/5", "3/10", 1, "13/8", 1)


def test_an_interrupt_keeps_the_finished_rows(capsys, monkeypatch):
    whole = joining_gaps.gap_table

    def stops(game, queues, *arguments, **options):
        if queues == [3]:
            raise KeyboardInterrupt
        return whole(game, queues, *arguments, **options)

    monkeypatch.setattr(joining_gaps, "gap_table", stops)
    arguments = ("gap", "dedicated-streams", *GAME, "--N", "1,2,3,4", "--json", "-")
    status, out, err = run(capsys, *arguments)
    assert status == 130 and [row["N"] for row in json.loads(out)["rows"]] == [1, 2]
    assert "2 of 4 rows are kept" in err


def test_progress_is_for_terminals_only(capsys, monkeypatch):
    arguments = ("gap", "dedicated-streams", *GAME, "--N", "2")
    assert run(capsys, *arguments)[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "N = 2" in run(capsys, *arguments)[2]


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["regimes", "strategic-queues"], "no game of strategic-queues; known: shorter-queue"),
        (["regimes", "shorter-queue", "--at", "lam"], "expected NAME=VALUE, got 'lam'"),
        (["regimes", "shorter-queue", "--at", "lam=1,mu=1,R=2"], "unknown parameter R; known: lam"),
        (["regimes", "shorter-queue", "--at", "lam=2,mu=1"], "unstable: needs lambda < 2*mu"),
        (["regimes", "shorter-queue", "--at", "lam=1,mu=1,ca=1"], "needs both ca and cb"),
        (["regimes", "shorter-queue", "--at", "lam=1,mu=1,ca=0,cb=1"], "needs c_a > 0"),
        (["regimes", "shorter-queue", "--at", "lam=1"], "no value given for mu"),
        (["regimes", "shorter-queue", "--plot", "map.doc"], "a figure is written as one of"),
        (["regimes", "dedicated-streams", "--plot", "m.png"], "no value given for lam, lam_s"),
        (["equilibrium", "shorter-queue", "lam=1", "mu=1", "ca=1"], "no value given for cb"),
        (["equilibrium", "shorter-queue", "lam=1", "lam=1"], "lam is given twice"),
        (["equilibrium", "shorter-queue", "lam=1", "mu=1", "ca=-1", "cb=1"], "needs ca >= 0"),
        (["equilibrium", "shorter-queue", *POINT, "--N", "2"], "--N is not for shorter-queue"),
        (["equilibrium", "shorter-queue", *POINT, "--N", "0"], "--N is not for shorter-queue"),
        (["equilibrium", "shorter-queue", *POINT, "--digits", "0"], "digits must be at least 1"),
        (
            ["equilibrium", "shorter-queue", "lam=1", "mu=1", "ca=0", "cb=1", "--exact"],
            "needs ca > 0",
        ),
        (["equilibrium", "dedicated-streams", *GAME, "--exact"], "--exact is not for"),
        (["equilibrium", "dedicated-streams", *GAME, "--N", "0"], "at least one queue"),
        (["equilibrium", "dedicated-streams", "lam=1", "lam_s=1", "mu=1"], "given for R, C"),
        (
            ["equilibrium", "dedicated-streams", "lam=1", "lam_s=1", "mu=1", "R=1", "C=1"],
            "unstable: needs lambda + lambda_s < mu",
        ),
        (["equilibrium", "dedicated-streams", *GAME[:3], "R=1/2", "C=1"], "needs"),
        (["gap", "shorter-queue", "--N", "1"], "no gap of shorter-queue"),
        (["gap", "dedicated-streams", *GAME, "--N", "1,x"], "expected numbers of queues"),
        (["gap", "dedicated-streams", *GAME, "--N", "2,0"], "at least one queue, got N = 0"),
        (["gap", "dedicated-streams", *GAME, "--N", "1", "--q", "2"], "between 0 and 1"),
        (["gap", "dedicated-streams", *GAME, "--N", "1", "--plot", "gap"], "one of"),
    ],
)
def test_bad_input(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert status == 2 and err.startswith("qtheory: ") and message in err
    assert out == ""


def test_options_that_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["regimes", "shorter-queue", "--latex", "--plot", "map.png"])
    assert stopped.value.code == 2


def test_an_unknown_half_width_is_null_in_json():
    row = SimpleNamespace(mean=0.0, half_width=float("nan"), level=0.95)
    assert json.dumps(value_data(row), allow_nan=False)
