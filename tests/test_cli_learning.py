"""The commands on queues that learn: simulate, feasible, growth."""

import json
import os
import pty
import subprocess
import sys
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from qtheory.cli import main
from qtheory.cli.simulate import read_learner
from qtheory.errors import ModelError
from qtheory.learning import UCB1, AgeGreedy, Exp3, Exp3P, Exp3P1, Mixed, Uniform
from qtheory.learning import simulate as simulated
from qtheory.learning.draws import STREAM
from qtheory.learning.patient import growth, profile_from_text
from qtheory.learning.schedule import schedule

LIMIT = 4.5
engine = import_module("qtheory.learning.simulate")
EXAMPLE = ("--lam", "1/2,2/5,1/10", "--mu", "9/10,1/3")
QUEUES = ("simulate", "strategic-queues", "--lam", "1/4,1/4,1/4", "--mu", "1,1/3,1/3")


def run(capsys, *arguments):
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def data_of(capsys, *arguments):
    status, out, err = run(capsys, *arguments, "--json", "-")
    assert (status, err) == (0, "")
    return json.loads(out)


def z(estimate, exact):
    """In half-widths of 95 % intervals times 1.96: about standard errors."""
    return 1.96 * (estimate["mean"] - float(exact)) / estimate["half_width"]


def test_feasible_says_by_how_much(capsys):
    # the worked example of the central schedule
    data = data_of(capsys, "feasible", *EXAMPLE, "--schedule")
    assert data["feasible"] and data["stabilisable"]
    assert data["slacks"] == ["2/5", "1/3", "7/30"]
    assert (data["scale"], data["margin"]) == ("37/30", "7/90")
    made = data["schedule"]
    assert made["clearing"] == ["26/45", "43/90", "8/45"]
    assert made["mean_sizes"] == ["19/7", "94/35", "37/35"]
    # the weights and assignments serve each queue as often as the schedule says
    rates = {1: Fraction(9, 10), 2: Fraction(1, 3), None: 0}
    cleared = [
        sum(
            Fraction(w) * rates[row[i]]
            for w, row in zip(made["weights"], made["servers"], strict=True)
        )
        for i in range(3)
    ]
    assert cleared == [Fraction(26, 45), Fraction(43, 90), Fraction(8, 45)]
    status, out, _ = run(capsys, "feasible", *EXAMPLE, "--schedule")
    assert status == 0
    assert out.startswith("feasible: c* = 37/30, eps* = 7/90")
    assert "queue 1: lambda = 1/2, served with 26/45, E[Q] = 19/7" in out


def test_feasible_without_regret(capsys):
    # 2 (lambda_1 + lambda_2) = 8/5 > 3/2, and 3/2 of it is 6/5 < 3/2
    data = data_of(capsys, "feasible", "--lam", "2/5,2/5", "--mu", "1,1/2")
    assert data["schedule"] is None
    plain, refined = data["no_regret"]["2"], data["no_regret"]["2 - 1/k"]
    assert plain == {"holds": False, "eta": "-1/15", "slacks": ["1/5", "-1/10"]}
    assert refined == {"holds": True, "eta": "1/5", "slacks": ["3/5", "3/10"]}
    out = run(capsys, "feasible", "--lam", "2/5,2/5", "--mu", "1,1/2")[1]
    assert "  2 L_k < M_k fails, eta = -1/15" in out
    assert "  (2 - 1/k) L_k < M_k for all k, eta = 1/5" in out


def test_the_exception_and_servers_that_never_succeed(capsys):
    data = data_of(capsys, "feasible", "--lam", "1", "--mu", "1")
    assert (data["feasible"], data["stabilisable"]) == (False, True)
    out = run(capsys, "feasible", "--lam", "1", "--mu", "1")[1]
    assert out.startswith("not feasible, yet stabilisable") and "do not count" in out
    data = data_of(capsys, "feasible", "--lam", "1/2", "--mu", "0")
    assert (data["feasible"], data["no_regret"]["2"]["eta"]) == (False, None)


def test_growth_is_exact(capsys):
    example = ("--lam", "1/2,1/4", "--mu", "1/2,1/4", "--profile", "1,0;1,0")
    data = data_of(capsys, "growth", *example)
    assert data["age_rates"] == ["1/3", "1/3"]
    assert data["size_rates"] == ["1/6", "1/12"]
    assert data["chain"] == [{"queues": [1, 2], "ratio": "2/3"}]
    assert (data["stable"], data["nash"]) == (False, None)
    out = run(capsys, "growth", *example)[1]
    assert out.splitlines()[0] == "growth of the ages: 1/3, 1/3; queues count from 1"
    # reference value with three queues, of which two grow together
    rates = ("--lam", "3/5,2/5,1/5", "--mu", "1/2,1/4,1/10")
    three = data_of(
        capsys, "growth", *rates, "--profile", "1/2,1/4,1/4; 1/3,1/3,1/3; 1,0,0", "--nash"
    )
    assert three["age_rates"] == ["59/120", "59/120", "1/6"]
    assert [own["queue"] for own in three["nash"]["deviations"]] == [1, 2, 3]
    assert three["nash"]["epsilon"] == "23/440"


def test_a_stated_deviation_gains_what_is_stated(capsys):
    # with n = 2 and lambda = 2/3 the deviation q = 2/3 brings the growth from 1/4 to 0
    example = ("--lam", "2/3,2/3", "--mu", "1,1/2")
    data = data_of(capsys, "growth", *example, "--profile", "1,0;1,0", "--nash")
    assert not data["nash"]["equilibrium"]
    first = data["nash"]["deviations"][0]
    assert first == {"queue": 1, "strategy": ["1/3", "2/3"], "rate": "0", "gain": "1/4"}
    # the same by the growth rates themselves, without the search for it
    profile = [tuple(map(Fraction, first["strategy"])), (1, 0)]
    assert growth(["2/3"] * 2, [1, "1/2"], profile).rates[0] == 0
    out = run(capsys, "growth", *example, "--profile", "1,0;1,0", "--nash")[1]
    assert "no equilibrium, gap 1/4; queues count from 1\n" in out
    assert "  queue 1: (1/3, 2/3) gives r = 0, gains 1/4\n" in out
    uniform = ("--lam", "1,1", "--mu", "1,1", "--profile", "1/2,1/2;1/2,1/2", "--nash")
    assert "an equilibrium" in run(capsys, "growth", *uniform)[1]


def test_growth_names_what_is_stable_and_what_is_critical(capsys):
    rates = ("--lam", "1/3,1/4", "--mu", "1,1/4")
    out = run(capsys, "growth", *rates, "--profile", "1,0;0,1")[1]
    assert "  queue 2: f* = 1, critical, and larger for all others\n" in out
    out = run(capsys, "growth", *rates, "--profile", "1,0;1,0")[1]
    assert "  queues 1, 2: f* = 12/7, stable\n" in out


def test_learners_by_name():
    lam, mu = ["1/4", "1/4"], [1, "1/2"]
    assert read_learner("exp3", lam, mu, 100) == Exp3()
    assert read_learner("exp3=0.1", lam, mu, 100) == Exp3(0.1)
    assert read_learner("exp3p", lam, mu, 100) == Exp3P(100)
    assert read_learner("exp3p=1/100", lam, mu, 100) == Exp3P(100, 0.01)
    assert read_learner("exp3p1", lam, mu, 100) == Exp3P1()
    assert read_learner("ucb1", lam, mu, 100) == UCB1()
    assert read_learner("uniform", lam, mu, 100) == Uniform()
    assert read_learner("fixed:1", lam, mu, 100) == Mixed((1, 0))
    assert read_learner("1/3, 2/3", lam, mu, 100) == Mixed((Fraction(1, 3), Fraction(2, 3)))
    assert read_learner("age-greedy", lam, mu, 100) == AgeGreedy()
    assert read_learner("schedule", lam, mu, 100) == schedule(lam, mu).scheduler()
    assert read_learner("exp3; fixed:2", lam, mu, 100) == (Exp3(), Mixed((0, 1)))
    rows = read_learner("1,0; 1/2,1/2", lam, mu, 100)
    assert [own.probabilities for own in rows] == list(profile_from_text("1,0; 1/2,1/2"))


@pytest.mark.parametrize("selection", ["oldest", "random"])
def test_simulated_queues_agree_with_the_exact_mean(capsys, selection):
    # all to the server of rate 1, which always serves, whomever it selects:
    # E[Q] = n (n - 1) lambda^2 / (2 (1 - n lambda)) = 3/4
    options = ("--learner", "fixed:1", "--steps", "1000", "--replications", "256", "--seed", "3")
    data = data_of(capsys, *QUEUES, *options, "--selection", selection)
    assert (data["kind"], data["level"], data["selection"]) == ("estimated", 0.95, selection)
    assert (data["steps"], data["replications"], data["seed"]) == (1000, 256, 3)
    assert data["lam"] == ["1/4"] * 3 and data["mu"] == ["1", "1/3", "1/3"]
    assert data["times"][0] == 0 and data["times"][-1] == 1000
    assert abs(z(data["average_size"], 3 / 4)) < LIMIT
    assert abs(z(data["growth"], 0)) < LIMIT
    total = sum(own["size"]["mean"] for own in data["queues"])
    assert total == pytest.approx(data["total_size"]["mean"])
    assert sum(data["mean_sizes"][-1]) == pytest.approx(total)


def test_the_command_gives_the_run_of_the_library(capsys):
    options = ("--learner", "exp3", "--steps", "200", "--replications", "40", "--seed", "5")
    data = data_of(capsys, *QUEUES, *options, "--model", "standard")
    own = simulated(["1/4"] * 3, [1, "1/3", "1/3"], Exp3(), 200, 40, 5, model="standard")
    assert data["mean_ages"] == own.mean_ages.tolist()
    assert data["growth"]["mean"] == own.growth.mean
    status, out, err = run(capsys, *QUEUES, *options, "--model", "standard")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "exp3 at servers of rates 1, 1/3, 1/3"
    assert "estimated, with 95 % intervals from 40 replications of 200 steps, seed 5" in out
    assert " ± ".join(own.growth.columns) in out


def test_an_interval_that_is_not_known_is_null(capsys):
    data = data_of(capsys, *QUEUES, "--steps", "20", "--replications", "1")
    assert data["growth"]["half_width"] is None and data["growth"]["low"] is None


def test_a_growing_system_grows_at_its_exact_rate(capsys):
    # n lambda - 1 = 1/5
    rates = ("--lam", "2/5,2/5,2/5", "--mu", "1,1/3,1/3")
    options = ("--learner", "1,0,0", "--steps", "1000", "--replications", "128")
    data = data_of(capsys, "simulate", "strategic-queues", *rates, *options)
    assert abs(z(data["growth"], 1 / 5)) < LIMIT
    # lambda - 1/n for each of them, and ages at 1 - 1/(n lambda)
    for own in data["queues"]:
        assert abs(z(own["growth"], 1 / 15)) < LIMIT
        assert abs(z(own["age_growth"], 1 / 6)) < LIMIT


def stop_at_the_second(monkeypatch):
    """Interrupt the run when its second part starts."""
    chunks, done = engine._chunk, []
    monkeypatch.setattr(engine, "TOGETHER", STREAM)

    def part(*given):
        if done:
            raise KeyboardInterrupt
        done.append(True)
        return chunks(*given)

    monkeypatch.setattr(engine, "_chunk", part)


LONG = (*QUEUES, "--steps", "40", "--replications", str(2 * STREAM))


def test_an_interrupted_run_is_kept_and_taken_up(capsys, tmp_path, monkeypatch):
    whole = data_of(capsys, *LONG)
    file = tmp_path / "folder" / "run.npz"
    with monkeypatch.context() as patched:
        stop_at_the_second(patched)
        status, out, err = run(capsys, *LONG, "--resume", str(file))
    assert status == 130
    assert f"from {STREAM} replications" in out
    assert err == (
        f"qtheory: interrupted; {STREAM} of {2 * STREAM} replications are kept: "
        f"the same command with --resume {file} goes on\n"
    )
    with np.load(file) as kept:
        assert len(kept["ages"]) == STREAM
    assert data_of(capsys, *LONG, "--resume", str(file)) == whole
    status, _, err = run(capsys, *LONG, "--seed", "1", "--resume", str(file))
    assert status == 2 and "is of another run: seed is 0, not 1" in err


def test_an_interrupted_run_is_kept_without_being_asked(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with monkeypatch.context() as patched:
        stop_at_the_second(patched)
        status, out, err = run(capsys, *LONG, "--json", "-")
    data = json.loads(out)
    assert (status, data["interrupted"], data["replications"]) == (130, True, STREAM)
    file = err.split("--resume ")[1].split(" goes on")[0]
    assert data_of(capsys, *LONG, "--resume", file)["replications"] == 2 * STREAM
    # a run that ends leaves nothing behind, nor one of which nothing is finished
    before = sorted(tmp_path.iterdir())
    data_of(capsys, *LONG)
    with monkeypatch.context() as patched:
        patched.setattr(engine, "_chunk", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        status, out, err = run(capsys, *LONG)
    assert (status, out, err) == (130, "", "qtheory: interrupted\n")
    assert sorted(tmp_path.iterdir()) == before


def test_a_plot_is_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "folder" / "sizes.png"
    options = ("--steps", "100", "--replications", "20", "--plot", str(file))
    assert run(capsys, *QUEUES, *options)[0] == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_any_other_model(capsys, tmp_path):
    at = ("--at", "lam=1,mu=1,p=0", "--of", "x1 + x2", "--of", "d", "--horizon", "400")
    data = data_of(capsys, "simulate", "shorter-queue", *at, "--seed", "2")
    assert set(data["means"]) == {"d + 2*m", "d"}
    # the first digits of the certified value
    assert abs(z(data["means"]["d + 2*m"], 1.4263207511672411)) < LIMIT
    assert (data["kind"], data["seed"], data["interrupted"]) == ("estimated", 2, False)
    assert data["at"] == {"lambda": "1", "mu": "1", "p": "0"}
    out = run(capsys, "simulate", "shorter-queue", *at)[1]
    assert "estimated     95 % intervals" in out and "seed 0" in out
    file = tmp_path / "mine.py"
    file.write_text(
        "from qtheory.learning.single_queue import model as one_queue\nqueue = one_queue()\n"
    )
    at = ("--at", "lam=1/3,mu=1/2", "--horizon", "500")
    data = data_of(capsys, "simulate", f"{file}:queue", *at)
    # lambda (1 - mu) / (mu - lambda) = 1
    assert abs(z(data["means"]["q"], 1)) < LIMIT


def test_an_interrupted_model_gives_its_finished_part(capsys, monkeypatch):
    estimates = import_module("qtheory.model.simulation.estimates")
    found = estimates.batch_means

    def stopped(*given):
        return found(*given)._replace(interrupted=True)

    monkeypatch.setattr(estimates, "batch_means", stopped)
    at = ("--at", "lam=1,mu=1,p=0", "--horizon", "50")
    status, out, err = run(capsys, "simulate", "shorter-queue", *at)
    assert status == 130
    assert "interrupted: the means are those of the finished part" in out
    assert err == "qtheory: interrupted; the means are of the finished part\n"


RATES = ("--lam", "1/4,1/4", "--mu", "1,1/2")
SIMULATE = ("simulate", "strategic-queues", *RATES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SIMULATE, "--learner", "exp4"), "unknown learner exp4; known: exp3, exp3=RATE, exp3p"),
        ((*SIMULATE, "--learner", "ucb1=2"), "unknown learner ucb1=2; known"),
        ((*SIMULATE, "--learner", ""), "unknown learner without a name; known"),
        ((*SIMULATE, "--learner", "age-greedy;exp3"), "age-greedy is a central rule"),
        ((*SIMULATE, "--learner", "exp3=2"), "the rate of Exp3 must lie in (0, 1], got 2"),
        ((*SIMULATE, "--learner", "exp3=fast"), "fast"),
        ((*SIMULATE, "--learner", "exp3p=0"), "0 < delta < 1"),
        ((*SIMULATE, "--learner", "fixed:3"), "servers are 1, ..., 2, got fixed:3"),
        ((*SIMULATE, "--learner", "fixed:0"), "servers are 1, ..., 2, got fixed:0"),
        ((*SIMULATE, "--learner", "1,0,0"), "a mixed strategy over 3 servers, but there are 2"),
        ((*SIMULATE, "--learner", "1/2,1/3"), "must be >= 0 and sum to 1"),
        ((*SIMULATE, "--learner", "exp3;exp3;exp3"), "one learner for each of the 2 queues"),
        ((*SIMULATE, "--steps", "0"), "steps must be at least 2"),
        ((*SIMULATE, "--replications", "0"), "replications must be at least 1"),
        ((*SIMULATE, "--plot", "sizes.doc"), "no figure of the kind 'doc'; known:"),
        ((*SIMULATE, "--at", "lam=1"), "--at is an option of other models, not of strategic"),
        (("simulate", "strategic-queues", "--lam", "1/4"), "needs --lam and --mu"),
        (("simulate", "strategic-queues", "--lam", "5/4", "--mu", "1"), "needs 0 < lambda <= 1"),
        (
            ("simulate", "strategic-queues", "--lam", "1/4", "--mu=-1/2"),
            "needs 0 <= mu <= 1, got -1/2",
        ),
        (("simulate", "strategic-queues", "--lam", "", "--mu", "1"), "malformed"),
        (
            ("simulate", "strategic-queues", "--lam", "1", "--mu", "1/2", "--learner", "schedule"),
            "unstable: needs L_k < M_k",
        ),
        (("simulate", "shorter-queue", "--lam", "1"), "--lam is an option of strategic-queues"),
        (("simulate", "shorter-queue", "--model", "dual"), "--model is an option of strategic"),
        (("simulate", "shorter-queue", "--at", "lam=2,mu=1,p=0"), "unstable"),
        (("simulate", "shorter-queue"), "no value given"),
        (("simulate", "nowhere"), "unknown system nowhere"),
        (("feasible", "--lam", "2", "--mu", "1"), "needs 0 < lambda <= 1, got 2"),
        (("feasible", "--lam", "1/2", "--mu", "x"), "x"),
        (("feasible", "--lam", "1/2", "--mu", "1/4", "--schedule"), "unstable"),
        (("growth", *RATES, "--profile", "1,0"), "a profile needs 2 rows of 2 probabilities"),
        (("growth", *RATES, "--profile", "1,0;1"), "a profile needs 2 rows of 2 probabilities"),
        (("growth", *RATES, "--profile", "1,0;1,1"), "not probabilities"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("qtheory: ") and err.count("\n") == 1


def test_unknown_learners_name_the_known_ones():
    with pytest.raises(ModelError, match=r"ucb1, uniform, fixed:SERVER, .* age-greedy, schedule"):
        read_learner("hedge", ["1/4"], [1], 10)


def test_progress_is_shown_on_a_terminal_only(tmp_path):
    code = (
        "import importlib, sys\n"
        "importlib.import_module('qtheory.learning.simulate').REPORT_EVERY = 0.0\n"
        "from qtheory.cli import main\n"
        f"sys.exit(main([*{QUEUES!r}, '--steps', '64', '--replications', '8']))\n"
    )
    reader, terminal = pty.openpty()
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    said = os.read(reader, 65536).decode()
    os.close(reader)
    assert done.returncode == 0
    assert "\rsimulated 512 steps, 100% of the run" in said
    # the line is cleared in the end, and the result does not mix with it
    assert said.endswith("\r") and b"simulated" not in done.stdout
    quiet = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert (quiet.returncode, quiet.stderr) == (0, b"")
