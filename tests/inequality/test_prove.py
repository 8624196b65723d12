"""Verdicts: hand-made claims, brute force, a second solver, and random families."""

import random
from fractions import Fraction
from itertools import product

import pytest
import sympy as sp

from qtheory.check import check
from qtheory.domain import Domain
from qtheory.errors import CertificateError, DomainError, ExpressionError
from qtheory.formulas import relation
from qtheory.inequality import Open, Proved, Refuted, combined, prove
from qtheory.inequality.monotone import (
    concave,
    convex,
    decreasing,
    increasing,
    nondecreasing,
    nonincreasing,
)

X, Y, Z = sp.symbols("x y z", real=True)
LAM, MU = sp.symbols("lambda mu", positive=True)
P = sp.Symbol("p", nonnegative=True)
N = sp.Symbol("n", integer=True, positive=True)
QUEUE = Domain(P <= 1, stable=LAM < 2 * MU)

TRUE = [
    ("lam*p <= 2*mu", QUEUE),
    ("lam*p < 2*mu", QUEUE),
    ("2*lam/(2*mu - lam) <= (lam + 2*mu)/(2*mu - lam)", QUEUE),
    ("1/(2*mu - lam) > 0", QUEUE),
    ("x**2 >= 0", Domain("-1 <= x, x <= 0")),
    ("x**2 + y**2 >= 2*x*y", Domain(symbols=[X, Y])),
    ("x**2 + x*y + y**2 >= 0", Domain(symbols=[X, Y])),
    ("x**2 + x + 1 > 0", Domain()),
    ("10*x**2 - 10*x + 3 > 0", Domain("0 <= x, x <= 1")),
    ("x*(1 - x) <= 1/4", Domain("0 <= x, x <= 1")),
    ("y > 0", Domain("x > 0, 1 - x*y == 0")),
    ("y < 0", Domain("x > 0, 1 + x*y == 0")),
    ("y >= 0", Domain("x + y == 1, x <= 1")),
    ("x >= 1", Domain("x >= 1, x >= 0")),
    ("sqrt(x) <= (1 + x)/2", Domain("x >= 0")),
    ("sqrt(lam*mu) <= (lam + mu)/2", Domain("lam > 0, mu > 0")),
    ("sqrt(x)*sqrt(x) == x", Domain("x >= 0")),
    ("x + w**2 >= x", Domain("x > 0")),
    ("x**3 + y**3 >= x**2*y + x*y**2", Domain("x >= 0, y >= 0")),
    ("0 >= 0", Domain()),
    ("1 != 0", Domain()),
    ("x == x", Domain()),
    ("(x**2 - 1)/(x - 1) == x + 1", Domain("x > 1")),
    ("n**2 + n >= 2", Domain("n >= 1", symbols=[N])),
]
FALSE = [
    ("lam <= mu", QUEUE),
    ("lam*p < 2*mu - lam", QUEUE),
    ("x**2 > 0", Domain("-1 <= x, x <= 0")),
    ("x**2 > 0", Domain("0 <= x, x <= 1")),
    ("x < 1", Domain("0 <= x, x <= 1")),
    ("x != y", Domain(symbols=[X, Y])),
    ("x**2 + y**2 > 2*x*y", Domain(symbols=[X, Y])),
    ("10*x**2 - 10*x + 2 >= 0", Domain("0 <= x, x <= 1")),
    ("1/x >= 1", Domain("x > 0")),
    ("sqrt(x) <= x", Domain("x > 0")),
    ("1 < 0", Domain()),
    ("x == 0", Domain("x >= 0")),
    ("n >= 2", Domain(symbols=[N])),
    ("n**2 <= 5*n", Domain("n <= 20", symbols=[N])),
    ("1/x > 0", Domain("x < 0")),
    ("w > 0", Domain("x > 0")),
]


@pytest.mark.parametrize(("claim", "domain"), TRUE, ids=str)
def test_true_claims_are_proved(claim, domain):
    verdict = prove(claim, domain)
    assert isinstance(verdict, Proved), verdict
    assert verdict
    assert check(verdict.certificate) == verdict.certificate["claim"]
    assert str(verdict).startswith("proved: ")


@pytest.mark.parametrize(("claim", "domain"), FALSE, ids=str)
def test_false_claims_are_refuted(claim, domain):
    verdict = prove(claim, domain)
    assert isinstance(verdict, Refuted), verdict
    assert not verdict
    assert check(verdict.certificate) == f"not ({verdict.certificate['claim']})"
    assert verdict.domain.contains(verdict.witness)
    values = {symbol.name: value for symbol, value in verdict.witness.items()}
    sides = [s.subs({t: values[t.name] for t in s.free_symbols}) for s in verdict.claim.args]
    assert sp.Rel(*sides, verdict.claim.rel_op) == sp.false


@pytest.mark.parametrize(
    ("claim", "domain"),
    [
        # undefined at a point of the domain: neither true nor false there
        ("(x**2 - 1)/(x - 1) >= 2", Domain("x >= 1")),
        ("1/x**2 > 0", Domain(symbols=[X])),
        # fails only at sqrt(2)
        ("x**2 != 2", Domain("x > 0")),
        # true on the integers, not between them; no rule uses integrality
        ("n**2 >= 3*n - 2", Domain("n >= 1", symbols=[N])),
        # Motzkin: nonnegative, no sum of squares
        ("x**4*y**2 + x**2*y**4 + 1 >= 3*x**2*y**2", Domain("x + y + z == 0")),
        ("sqrt(x + sqrt(x)) >= 0", Domain("x >= 0")),
        ("sqrt(-1 - x**2) >= 0", Domain(symbols=[X])),
    ],
    ids=str,
)
def test_claims_that_are_neither_proved_nor_refuted(claim, domain):
    verdict = prove(claim, domain, cells=60)
    assert not isinstance(verdict, Refuted)
    if isinstance(verdict, Open):
        assert verdict.tried
        assert "\n" not in str(verdict)
    else:
        check(verdict.certificate)


def test_an_undefined_claim_is_never_proved():
    for claim in ("1/x >= 0", "x/(x - y) > -5", "1/(1/x) >= 0 + 0/x"):
        verdict = prove(claim, Domain("x >= 0, y >= 0"))
        if "1/" in str(verdict.claim) or "/(" in str(verdict.claim):
            assert not isinstance(verdict, Proved)


def test_a_condition_does_not_hold_where_it_is_undefined():
    """1/x >= 0 does not admit x = 0, so that x > 0 is not refuted."""
    assert not isinstance(prove("x > 0", Domain("1/x >= 0")), Refuted)


def test_a_condition_that_never_holds_makes_every_claim_true():
    verdict = prove("y >= x", Domain("x >= 0, y >= 2*x, y <= x - 1 + x"))
    assert not isinstance(verdict, Refuted)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (True, "SymPy evaluated the relation to True"),
        (sp.Gt(2, 1), "SymPy evaluated the relation to True"),
        (None, "not a relation such as a <= b: None"),
        (3, "not a relation such as a <= b: 3"),
        (X, "not a relation such as a <= b: x"),
        ((X < 1) & (Y < 1), "not a relation"),
        ("x", "malformed expression"),
        ("x < 1, y < 1", "one relation is proved at a time, got 2"),
        ("0 < x < 1", "one relation is proved at a time, got 2"),
        ("x < 1/0", "division by zero"),
        ("sin(x) < 1", "unknown function sin"),
        (sp.sin(X) < 1, "not a formula"),
        (sp.Abs(X) <= 1, "not a formula"),
        (X**Y > 0, "neither an integer nor a half"),
        (sp.cbrt(X) > 0, "neither an integer nor a half"),
        (X**1000 + X > 0, "exponent 1000 is larger than 200"),
        (sp.Gt(X, sp.nan, evaluate=False), "not a formula"),
        (sp.pi * X > 0, "not a formula"),
    ],
    ids=str,
)
def test_what_is_no_claim(claim, words):
    with pytest.raises(ExpressionError, match=words) as error:
        prove(claim, Domain(symbols=[X, Y]))
    assert "\n" not in str(error.value)


def test_the_domain_is_a_domain():
    with pytest.raises(DomainError, match="not a domain: x > 0"):
        prove("x > 0", "x > 0")


def test_unsupported_parameters_of_a_claim():
    with pytest.raises(DomainError, match="assumed even"):
        prove(sp.Symbol("e", even=True) > 1)


def test_certificates_of_several_claims():
    true, false = prove("x >= 0", Domain("x >= 0")), prove("x > 0", Domain("x >= 0"))
    whole = combined("Two facts.", [true, true])
    assert check(whole) == "proved: Two facts. [x >= 0; x >= 0]"
    assert check(combined("No.", [true, false])) == "refuted: No. [x >= 0; not (x > 0)]"
    with pytest.raises(CertificateError, match="no certificate of all claims: open"):
        combined("Not all.", [true, prove("x**2 != 2", Domain("x >= 0"))])
    with pytest.raises(CertificateError, match="there is no claim"):
        combined("Nothing.", [])


def test_shapes_are_derivatives():
    sojourn = 1 / (MU - LAM)
    domain = Domain(LAM < MU)
    for shape, truth in (
        (increasing, True),
        (nondecreasing, True),
        (decreasing, False),
        (nonincreasing, False),
        (convex, True),
        (concave, False),
    ):
        assert isinstance(prove(shape(sojourn, LAM), domain), Proved if truth else Refuted)


def test_the_same_claim_gives_the_same_certificate():
    claim = "x**2*y + y**3 + 1 > x*y"
    first, second = (prove(claim, Domain("x >= 0, 0 <= y, y <= 2")) for _ in range(2))
    assert first.certificate == second.certificate


# Random families --------------------------------------------------------------------------------

A, B, MU2 = sp.symbols("a b mu2", positive=True)
RHO = sp.Symbol("rho", positive=True)
FAMILIES = [
    (Domain(RHO < 1), [RHO, 1 - RHO, 1 + RHO]),
    (QUEUE, [LAM, MU, P, 1 - P, 2 * MU - LAM]),
    (Domain(LAM < MU), [LAM, MU, MU - LAM]),
    (Domain(A + B < MU, P <= 1), [A, B, MU - A - B, P, 1 - P]),
    (Domain(A < MU, B < MU2), [A, B, MU - A, MU2 - B]),
]


def mixture(source, slacks, degree=8):
    """A nonnegative combination of products of slacks, expanded."""
    total = 0
    for _ in range(source.randint(2, 5)):
        chosen = [source.choice(slacks) for _ in range(source.randint(1, degree))]
        total += source.randint(1, 9) * sp.prod(chosen)
    return sp.expand(total)


def test_true_claims_of_queueing_type_are_proved():
    source = random.Random(1)
    verdicts = []
    for number in range(200):
        domain, slacks = FAMILIES[number % len(FAMILIES)]
        claim = relation(mixture(source, slacks), ">=", sp.Integer(0))
        verdicts.append(prove(claim, Domain(*domain.conditions)))
    assert not [v for v in verdicts if isinstance(v, Refuted)]
    proved = [v for v in verdicts if isinstance(v, Proved)]
    assert len(proved) >= 190
    for verdict in proved[::10]:
        assert check(verdict.certificate)


def test_false_claims_are_never_proved():
    """A true mixture m, lowered by a tenth of its value at a point, is negative there."""
    source = random.Random(2)
    refuted = 0
    for number in range(200):
        domain, slacks = FAMILIES[number % len(FAMILIES)]
        true = mixture(source, slacks, degree=4)
        point = source.choice(domain.sample(5, seed=number, near_boundary=number % 2 == 0))
        other = sp.prod(source.choice(slacks) for _ in range(3))
        if other.subs(point) == 0:
            other = sp.Integer(1)
        factor = sp.Rational(11, 10) * true.subs(point) / other.subs(point) + source.choice([0, 1])
        false = sp.expand(true - factor * other)
        sign = ">" if false.subs(point) == 0 else ">="
        verdict = prove(relation(false, sign, sp.Integer(0)), domain, cells=100)
        assert not isinstance(verdict, Proved), (false, point)
        if isinstance(verdict, Refuted):
            refuted += 1
            assert false.subs(verdict.witness) <= 0
    assert refuted >= 180


VALUES = [Fraction(n, 4) for n in range(-8, 13)] + [Fraction(1, 100), Fraction(99, 100)]
GRIDS = [
    "0 <= x, x <= 1, 0 <= y, y <= 1",
    "-1 <= x, x <= 0, y >= x",
    "x >= 0, x >= 2*y - 1, y >= 0",
    "x + y == 1, x >= 0, y >= 0",
    "x*y <= 1, x > 0, y > 0",
    "x**2 + y**2 <= 1",
    "y > x, y < 2",
    "1/x >= 1, y >= x",
]
HOLDS = {
    "<": lambda v: v < 0,
    "<=": lambda v: v <= 0,
    ">": lambda v: v > 0,
    ">=": lambda v: v >= 0,
    "==": lambda v: v == 0,
    "!=": lambda v: v != 0,
}


def random_claim(source):
    def term():
        return source.randint(-3, 3) * X ** source.randint(0, 2) * Y ** source.randint(0, 2)

    value = sum((term() for _ in range(3)), sp.Integer(source.randint(-1, 2)))
    if source.random() < 0.4:
        value += (X - source.randint(-1, 1) * Y + source.randint(-1, 1)) ** 2
    if source.random() < 0.3:
        value /= source.choice([X + 1, X - Y, X**2 + 1, Y + 2])
    return relation(value, source.choice(list(HOLDS)), sp.Integer(0))


def test_verdicts_against_brute_force():
    source = random.Random(3)
    seen = set()
    for number in range(120):
        domain = Domain(GRIDS[number % len(GRIDS)])
        claim = random_claim(source)
        verdict = prove(claim, domain, cells=60)
        seen.add(type(verdict))
        if not isinstance(verdict, Proved):
            continue
        check(verdict.certificate)
        conditions = [
            (sp.lambdify((X, Y), c.lhs - c.rhs, modules=[]), c.rel_op) for c in domain.conditions
        ]
        value = sp.lambdify((X, Y), claim.lhs, modules=[])
        for x, y in product(VALUES, repeat=2):
            try:
                inside = all(HOLDS[sign](function(x, y)) for function, sign in conditions)
            except ZeroDivisionError:
                continue
            # a division by zero at a point of the domain fails the test
            assert not inside or HOLDS[claim.rel_op](value(x, y)), (claim, domain, x, y)
    assert {Proved, Refuted} <= seen


def test_verdicts_against_z3():
    z3 = pytest.importorskip("z3")
    from qtheory.inequality import smtlib

    source = random.Random(4)
    decided = 0
    for number in range(60):
        domain = Domain(GRIDS[number % len(GRIDS)])
        verdict = prove(random_claim(source), domain, cells=60)
        if isinstance(verdict, Open) or any(e.is_Pow and e.exp < 0 for e in verdict.claim.lhs.args):
            continue
        solver = z3.Solver()
        solver.set("timeout", 500)
        solver.from_string(smtlib(verdict).replace("(get-model)", ""))
        answer = solver.check()
        if answer != z3.unknown:
            decided += 1
            assert answer == (z3.unsat if isinstance(verdict, Proved) else z3.sat), verdict
    assert decided > 20


def test_a_proof_on_an_empty_domain_says_so():
    found = prove("x < 0", Domain("x**2 + 1 < 0, y > 0"))
    assert found.verdict == "proved"
    assert "it may be empty" in str(found)
    assert "may be empty" not in str(prove("x < 2", Domain("x < 1")))
    assert "may be empty" not in str(prove("1 < 2"))


def test_text_names_the_symbols_of_the_domain():
    lam, mu = sp.symbols("lam mu", positive=True)
    found = prove("lam < 2*mu", Domain(lam < mu))
    assert found.verdict == "proved"
    assert found.claim.free_symbols == {lam, mu}
    check(found.certificate)
