"""The grammar: what is read, what is refused, and the way back."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.arithmetic import exact
from qtheory.errors import ExpressionError
from qtheory.formulas import formula, relations, text_of
from qtheory.text import symbol_name, text_name

LAM, MU, C_A = (sp.Symbol(name, real=True) for name in ("lambda", "mu", "c_a"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/2 + 1/3", Fraction(5, 6)),
        ("0.1", Fraction(1, 10)),
        (".5e2", Fraction(50)),
        ("2^3", Fraction(8)),
        ("-2**2", Fraction(-4)),
        ("(-2)**2", Fraction(4)),
        ("2**-2", Fraction(1, 4)),
        ("1 - 2 - 3", Fraction(-4)),
        ("8/4/2", Fraction(1)),
        ("2*-3", Fraction(-6)),
        ("--3", Fraction(3)),
        ("7**0", Fraction(1)),
    ],
)
def test_numbers_follow_the_usual_precedence(text, value):
    assert exact(text) == value


def test_names_and_their_short_forms():
    assert formula("(lam + ca)^2/mu") == (LAM + C_A) ** 2 / MU
    assert [symbol_name(name) for name in ("lam", "lam_s", "ca", "lamb")] == [
        "lambda",
        "lambda_s",
        "c_a",
        "lamb",
    ]
    assert all(symbol_name(text_name(name)) == name for name in ("lambda", "lambda_1", "c_b", "x"))


def test_square_roots_in_their_three_spellings():
    x = sp.Symbol("x", positive=True)
    for text in ("sqrt(x)", "x**(1/2)", "x^(1/2)"):
        assert formula(text, [x]) == sp.sqrt(x)
    assert formula("x**(-3/2)", [x]) == x ** sp.Rational(-3, 2)


def test_a_chain_is_one_relation_per_sign():
    found = relations("0 < lam <= 2*mu, mu = 1")
    assert [(r.lhs, r.rel_op, r.rhs) for r in found] == [
        (0, "<", LAM),
        (LAM, "<=", 2 * MU),
        (MU, "==", 1),
    ]


def test_relations_are_kept_as_they_stand():
    (found,) = relations("1 < 0")
    assert (found.lhs, found.rel_op, found.rhs) == (1, "<", 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a number, a name or '\\('"),
        ("1 +", "got the end"),
        ("x $ y", "malformed expression: '\\$'"),
        ("(x", "expected '\\)'"),
        ("x)", "expected an operator or the end"),
        ("x y", "expected an operator or the end"),
        ("x**y", "an integer exponent"),
        ("x**1.5", "an integer exponent"),
        ("x**201", "exponent 201 is larger than 200"),
        ("x**(1/3)", "expected '2'"),
        ("sin(x)", "unknown function sin"),
        ("1/0", "division by zero"),
        ("1/(x - x)", "division by zero"),
        ("0**-1", "division by zero"),
        ("__import__('os')", "unknown function __import__"),
        ("1_000", "malformed"),
        ("1e4000", "malformed|limit"),
        ("(" * 400 + "x" + ")" * 400, "nested more than 150 deep"),
        ("-" * 400 + "x", "nested more than 150 deep"),
        ("1" * 4001, "a number of 4001 characters"),
        ("x" * 200_001, "the limit is 200000"),
        ("\N{ARABIC-INDIC DIGIT THREE}", "malformed expression"),
    ],
)
def test_text_that_is_refused(text, words):
    with pytest.raises(ExpressionError, match=words) as error:
        formula(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("text", ["x", "x < ", "< x", "x < 1,", "x < 1 2", "x =< 1"])
def test_texts_without_a_relation(text):
    with pytest.raises(ExpressionError, match="malformed expression"):
        relations(text)


SYMBOLS = sp.symbols("lambda mu c_a", real=True)
NUMBERS = st.integers(-9, 9).map(sp.Integer) | st.builds(
    sp.Rational, st.integers(-9, 9), st.integers(1, 9)
)
FORMULAS = st.recursive(
    st.sampled_from(SYMBOLS) | NUMBERS,
    lambda inner: (
        st.builds(sp.Add, inner, inner)
        | st.builds(sp.Mul, inner, inner)
        | st.builds(sp.Pow, inner.filter(lambda e: e != 0), st.integers(-4, 5))
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(FORMULAS)
def test_what_is_printed_is_read_back(expression):
    assert formula(text_of(expression), SYMBOLS) == expression
