"""A finite chain as sparse rows of transition rates over QQ(parameters)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from qtheory.arithmetic import Ratio, Ring

Time = Literal["continuous", "discrete"]


@dataclass(frozen=True)
class RateTable:
    """The off-diagonal rates (probabilities in discrete time) of a finite Markov chain.

    ``rows[i][j]`` is the rate from ``states[i]`` to ``states[j]``, j != i, never zero. What is
    left on the diagonal follows: minus the row sum in continuous time, one minus it in discrete
    time. Both have the same stationary law for the same rows.
    """

    states: tuple[Hashable, ...]
    ring: Ring
    rows: tuple[dict[int, Ratio], ...]
    time: Time = "continuous"
