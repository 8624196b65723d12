"""Verdicts and domains survive a pickle, also in a fresh process."""

import pickle
import subprocess
import sys

import pytest
import sympy as sp

from qtheory.check import check
from qtheory.domain import Domain
from qtheory.inequality import Open, Proved, Refuted, Supported, prove

X = sp.Symbol("x", positive=True)
VERDICTS = [
    prove("x + 1 > x/2", Domain(symbols=[X])),
    prove("sqrt(x) <= (1 + x)/2", Domain("x > 0")),
    prove("x < 3", Domain(symbols=[X])),
    prove("x**2 != 2", Domain(symbols=[X])),
    prove("1 > 0"),
    prove("1 < 0"),
    Supported(sp.Lt(X, 3, evaluate=False), Domain(symbols=[X]), evidence="a grid"),
]


@pytest.mark.parametrize("verdict", VERDICTS, ids=str)
def test_verdicts_pickle(verdict):
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict
    assert str(again) == str(verdict)
    assert (again.claim.lhs, again.claim.rhs) == (verdict.claim.lhs, verdict.claim.rhs)
    if isinstance(verdict, (Proved, Refuted)):
        assert check(again.certificate) == check(verdict.certificate)


def test_the_kinds_of_verdict():
    assert [type(v) for v in VERDICTS] == [
        Proved,
        Proved,
        Refuted,
        Open,
        Proved,
        Refuted,
        Supported,
    ]
    assert [bool(v) for v in VERDICTS] == [True, True, False, False, True, False, False]


def test_a_fresh_process_reads_them(tmp_path):
    path = tmp_path / "verdicts"
    path.write_bytes(pickle.dumps(VERDICTS))
    program = (
        "import pickle, sys; from qtheory.check import check\n"
        "found = pickle.load(open(sys.argv[1], 'rb'))\n"
        "[check(v.certificate) for v in found if hasattr(v, 'certificate')]\n"
        "print('; '.join(map(str, found)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "; ".join(map(str, VERDICTS))
