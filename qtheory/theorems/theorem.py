"""Theorem files: functions that state a theorem and return what proves or refutes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from qtheory.errors import QTheoryError
from qtheory.inequality import Verdict

Word = Literal["proved", "refuted", "supported", "open"]
WORDS = ("proved", "refuted", "supported", "open")


@dataclass(frozen=True)
class Theorem:
    """A statement with the function that decides it and the verdict that its file declares."""

    id: str
    statement: str
    """The first paragraph of the function's docstring; mathematics between dollar signs."""

    reasoning: str
    """The rest of the docstring: how the claims give the theorem."""

    expected: Word
    source: str
    decide: Callable[[], Any]
    given: tuple[str, ...] = ()
    """What the conclusion needs besides the claims and is only cited, such as a limit theorem."""

    def claims(self) -> dict[str, Verdict]:
        """Run the function: its verdicts by label (one verdict has an empty label)."""
        found = self.decide()
        if isinstance(found, Verdict):
            return {"": found}
        if isinstance(found, Mapping) and found:
            labelled = {str(label): verdict for label, verdict in found.items()}
            if all(isinstance(verdict, Verdict) for verdict in labelled.values()):
                return labelled
        raise QTheoryError(
            f"theorem {self.id} must return a verdict or a mapping of labels to verdicts, "
            f"got {type(found).__name__}"
        )


def theorem(
    id: str, *, expected: Word = "proved", source: str = "", given: str | Sequence[str] = ()
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Declare a function to be a theorem that `qtheory verify` runs.

    The function takes no arguments; its docstring is the statement, and it returns a verdict or
    a mapping of labels to verdicts. The theorem is proved when all of them are, refuted when one
    of them is. A refuted claim of a paper declares ``expected="refuted"``. Theorems of others that
    the conclusion needs, and that no claim shows, are named in `given`; every report repeats them.

    >>> from qtheory import Domain, prove
    >>> @theorem("square")
    ... def square_is_nonnegative():
    ...     "A square is nonnegative: $x^2 >= 0$."
    ...     return prove("x**2 >= 0", Domain("x <= 1"))
    >>> square_is_nonnegative.theorem.statement
    'A square is nonnegative: $x^2 >= 0$.'

    Raises `QTheoryError` for an unknown word or a function without a docstring.
    """
    if expected not in WORDS:
        raise QTheoryError(f"theorem {id}: expected is one of {', '.join(WORDS)}, got {expected}")

    cited = (given,) if isinstance(given, str) else tuple(given)

    def declare(function: Callable[[], Any]) -> Callable[[], Any]:
        text = inspect.getdoc(function)
        if not text:
            raise QTheoryError(f"theorem {id}: the function needs a docstring, its statement")
        statement, _, reasoning = text.partition("\n\n")
        function.theorem = Theorem(  # type: ignore[attr-defined]
            id, " ".join(statement.split()), reasoning.strip(), expected, source, function, cited
        )
        return function

    return declare


def combined_verdict(claims: Mapping[str, Verdict]) -> Word:
    """Refuted if a claim is, else open if one is, else supported if one is, else proved."""
    words = {verdict.verdict for verdict in claims.values()}
    return next(word for word in ("refuted", "open", "supported", "proved") if word in words)
