"""Formulas as text: a small grammar, read without evaluating code.

    expression := term (('+' | '-') term)*
    term       := factor (('*' | '/') factor)*
    factor     := '-' factor | atom (('**' | '^') exponent)?
    exponent   := ['-'] integer | '(' ['-'] integer ['/' '2'] ')'
    atom       := number | name | 'sqrt' '(' expression ')' | '(' expression ')'
    relations  := chain (',' chain)*
    chain      := expression (('<' | '<=' | '>' | '>=' | '=' | '==' | '!=') expression)+

Numbers are exact: ``0.1`` is one tenth. What the operators mean is up to the algebra that the
caller passes, so the same reader gives SymPy expressions and the checker's own fractions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Protocol

from qtheory.errors import ExpressionError

LENGTH_LIMIT = 200_000
DEPTH_LIMIT = 150
EXPONENT_LIMIT = 200
NUMBER_LIMIT = 4000

RELATIONS = ("<", "<=", ">", ">=", "==", "!=")

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3}(?![\d.]))?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<operator>\*\*|<=|>=|==|!=|[-+*/^()<>=,]))",
    re.ASCII,
)


class Algebra(Protocol):
    """What a reader of formulas needs: numbers, named quantities, and a square root."""

    def number(self, value: Fraction) -> Any: ...

    def symbol(self, name: str) -> Any: ...

    def sqrt(self, value: Any) -> Any: ...


def parse_expression(text: str, algebra: Algebra) -> Any:
    """Read one expression.

    >>> class Numbers:
    ...     number = staticmethod(Fraction)
    ...     symbol = staticmethod({"mu": Fraction(2)}.__getitem__)
    ...     sqrt = staticmethod(lambda value: NotImplemented)
    >>> parse_expression("(mu**2 - 1)/0.5", Numbers())
    Fraction(6, 1)
    """
    reader = _Reader(text, algebra)
    value = reader.expression()
    reader.expect_end()
    return value


def parse_relations(text: str, algebra: Algebra) -> list[tuple[Any, str, Any]]:
    """Read comma-separated relations; a chain ``0 < x < y`` gives one relation per sign."""
    reader = _Reader(text, algebra)
    found = []
    while True:
        left = reader.expression()
        if reader.peek not in ("<", "<=", ">", ">=", "=", "==", "!="):
            raise reader.error("a relation such as <= or ==")
        while reader.peek in ("<", "<=", ">", ">=", "=", "==", "!="):
            sign = reader.take()
            right = reader.expression()
            found.append((left, "==" if sign == "=" else sign, right))
            left = right
        if reader.peek != ",":
            break
        reader.take()
    reader.expect_end()
    return found


def symbol_name(name: str) -> str:
    """The symbol's own name for a name typed as text (``lam`` is short for ``lambda``)."""
    if name in ("ca", "cb"):
        return f"c_{name[1]}"
    return re.sub(r"^lam(?=$|_)", "lambda", name)


def text_name(name: str) -> str:
    """The inverse of `symbol_name`: how a symbol is typed.

    >>> [text_name(name) for name in ("lambda", "lambda_s", "c_a", "mu")]
    ['lam', 'lam_s', 'ca', 'mu']
    """
    if name in ("c_a", "c_b"):
        return f"c{name[2]}"
    return re.sub(r"^lambda(?=$|_)", "lam", name)


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, algebra: Algebra) -> None:
        if len(text) > LENGTH_LIMIT:
            raise ExpressionError(f"expression of {len(text)} characters; the limit is 200000")
        self.text = text
        self.algebra = algebra
        self.depth = 0
        self.tokens = self._tokens()
        self._advance()

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None:
                bad = self.text[position:].lstrip()[0]
                raise ExpressionError(f"malformed expression: {bad!r} in {self._shown()}")
            kind = match.lastgroup or ""
            yield kind, match.group(kind), match.start(kind)
            position = match.end()
        yield "end", "", end

    def _advance(self) -> None:
        self.kind, self.peek, self.position = next(self.tokens)

    def _shown(self) -> str:
        return repr(self.text if len(self.text) <= 80 else self.text[:77] + "...")

    def error(self, expected: str) -> ExpressionError:
        got = repr(self.peek) if self.kind != "end" else "the end"
        return ExpressionError(
            f"malformed expression: expected {expected}, got {got} "
            f"at position {self.position} of {self._shown()}"
        )

    def take(self) -> str:
        token = self.peek
        self._advance()
        return token

    def expect(self, token: str) -> None:
        if self.peek != token:
            raise self.error(repr(token))
        self._advance()

    def expect_end(self) -> None:
        if self.kind != "end":
            raise self.error("an operator or the end")

    def expression(self) -> Any:
        value = self.term()
        while self.peek in ("+", "-"):
            value = value + self.term() if self.take() == "+" else value - self.term()
        return value

    def term(self) -> Any:
        value = self.factor()
        while self.peek in ("*", "/"):
            if self.take() == "*":
                value = value * self.factor()
            else:
                value = self._divide(value, self.factor())
        return value

    def _divide(self, value: Any, divisor: Any) -> Any:
        try:
            return value / divisor
        except ZeroDivisionError:
            raise ExpressionError(f"division by zero in {self._shown()}") from None

    def factor(self) -> Any:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise ExpressionError(f"expression nested more than {DEPTH_LIMIT} deep")
        try:
            if self.peek in ("-", "+"):
                return -self.factor() if self.take() == "-" else self.factor()
            value = self.atom()
            if self.peek in ("**", "^"):
                self._advance()
                value = self._power(value, *self.exponent())
            return value
        finally:
            self.depth -= 1

    def _power(self, value: Any, exponent: int, halves: bool) -> Any:
        if halves:
            value = self.algebra.sqrt(value)
        if exponent >= 0:
            return value**exponent
        return self._divide(self.algebra.number(Fraction(1)), value**-exponent)

    def exponent(self) -> tuple[int, bool]:
        bracket = self.peek == "("
        if bracket:
            self._advance()
        sign = -1 if self.peek == "-" else 1
        if sign < 0:
            self._advance()
        if self.kind != "number" or not self.peek.isdigit() or len(self.peek) > 3:
            raise self.error("an integer exponent")
        value = int(self.take())
        if value > EXPONENT_LIMIT:
            raise ExpressionError(f"exponent {value} is larger than {EXPONENT_LIMIT}")
        halves = bracket and self.peek == "/"
        if halves:
            self._advance()
            self.expect("2")
        if bracket:
            self.expect(")")
        return sign * value, halves

    def atom(self) -> Any:
        if self.kind == "number":
            if len(self.peek) > NUMBER_LIMIT:
                raise ExpressionError(f"a number of {len(self.peek)} characters; the limit is 4000")
            return self.algebra.number(Fraction(self.take()))
        if self.kind == "name":
            name = self.take()
            if self.peek != "(":
                return self.algebra.symbol(name)
            if name != "sqrt":
                raise ExpressionError(f"unknown function {name} in {self._shown()}")
            self._advance()
            value = self.algebra.sqrt(self.expression())
            self.expect(")")
            return value
        if self.peek == "(":
            self._advance()
            value = self.expression()
            self.expect(")")
            return value
        raise self.error("a number, a name or '('")
