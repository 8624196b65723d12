"""How the epsilon-Nash gap of the limit's equilibrium falls with N, and E_N[M] with it.

Up to a few queues the values are certified, then estimated from the law in floating point, and
beyond that simulated with confidence intervals; every row says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure
from qtheory.errors import DomainError
from qtheory.model.simulation.result import Estimate
from qtheory.systems.dedicated_streams.joining_game import (
    JoiningGame,
    equilibrium,
    finite_play,
    utility_at,
)
from qtheory.systems.dedicated_streams.occupancy import OccupancyLaw, occupancy_law
from qtheory.systems.dedicated_streams.occupancy_simulation import simulate_occupancy

CERTIFIED, ESTIMATED = 6, 10
"""Up to this N a row is certified, and estimated from the law, by default."""

OUTSIDE = 1e-6
"""The mass that the window of an estimated law leaves out."""

Kind = Literal["certified", "estimated", "simulated"]
Value = Enclosure | float | Estimate


@dataclass(frozen=True)
class GapRow:
    """E_N[M], the gap eps_N(q), and the distance of a queue's law to the limit, for one N.

    `distance` is that of Wasserstein, lam_s E_N[M]/(mu - lam q), at least the total variation.
    The values are proved intervals, floats or estimates with intervals, by `kind`.
    """

    N: int
    kind: Kind
    shortest: Value
    epsilon: Value
    distance: Value

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The middle of each value."""
        return _middle(self.shortest), _middle(self.epsilon), _middle(self.distance)

    def __str__(self) -> str:
        return f"N = {self.N}: E[M] = {_text(self.shortest)}, eps = {_text(self.epsilon)}"


def gap_table(
    game: JoiningGame,
    queues: Iterable[int],
    fraction: Any = None,
    certified: int = CERTIFIED,
    estimated: int = ESTIMATED,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> tuple[GapRow, ...]:
    """The gap at a joining probability, by default at q_e of the limit, for several N.

    A row is certified up to N = `certified`, from the law in floats up to N = `estimated`, and
    simulated beyond; N = 200 takes minutes. eps_N(q) = max(U_N(q), 0) - q U_N(q) with

        U_N = U - C lam_s E_N[M]/(mu (mu - lam q));

    at an interior q_e, where U = 0, it is q_e C lam_s E_N[M]/(mu (mu - lam q_e)).

    >>> from qtheory.systems.dedicated_streams.joining_game import joining_game
    >>> game = joining_game("2/5", "3/10", 1, "13/6", 1)
    >>> for row in gap_table(game, [1, 2, 3], certified=2):
    ...     print(row.kind, row)
    certified N = 1: E[M] = 2.333333333333333, eps = 1.166666666666666
    certified N = 2: E[M] = 1.06220, eps = 0.531103 +- 1e-6
    estimated N = 3: E[M] = 0.649168, eps = 0.324584

    Raises `ModelError` for N < 1, `DomainError` for q outside [0, 1] and, without q, where the
    equilibrium of the limit is not unique.
    """
    q = exact(equilibrium(game).point if fraction is None else fraction)
    rows = []
    for N in queues:
        if progress is not None:
            progress(f"N = {N}")
        if N <= certified:
            play = finite_play(game, N, q, Fraction(1, 10**6))
            rows.append(GapRow(N, "certified", play.shortest, play.gap, play.distance))
        elif N <= estimated:
            law = occupancy_law(N, **_own(game, q), tolerance=OUTSIDE)
            m = law.mean_shortest
            rows.append(GapRow(N, "estimated", m, _gap(game, q, m), _distance(game, q, m)))
        else:
            found = simulate_occupancy(N, **_own(game, q), seed=seed, progress=progress)
            shortest = found.shortest
            values = (
                _mapped(shortest, name, partial(function, game, q))
                for name, function in (("eps", _gap), ("distance", _distance))
            )
            rows.append(GapRow(N, "simulated", shortest, *values))
    return tuple(rows)


def _own(game: JoiningGame, q: Fraction) -> dict[str, Any]:
    """The rates and the joining probability of the finite system."""
    rates = {"lam": game.lam, "lam_s": game.lam_s, "mu": game.mu, "q": q}
    if game.lam == 0:  # any rate, joined with probability 0
        rates |= {"lam": (game.mu - game.lam_s) / 2, "q": Fraction(0)}
    return rates


def _gap(game: JoiningGame, q: Fraction, shortest: float) -> float:
    scale = game.C * game.lam_s / (game.mu * (game.mu - game.lam * q))
    utility = float(utility_at(game, q)) - float(scale) * shortest
    return max(utility, 0.0) - float(q) * utility


def _distance(game: JoiningGame, q: Fraction, shortest: float) -> float:
    return float(game.lam_s / (game.mu - game.lam * q)) * shortest


def _mapped(m: Estimate, name: str, function: Callable[[float], float]) -> Estimate:
    """A function of E_N[M] that is monotone near it, with the error carried over linearly."""
    value = function(m.mean)
    slope = abs(function(m.mean + m.half_width) - value) / m.half_width
    return Estimate(name, value, slope * m.standard_error, slope * m.half_width, m.level)


def _middle(value: Value) -> float:
    return value.mean if isinstance(value, Estimate) else float(value)


def _text(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def total_variation(law: OccupancyLaw) -> float:
    """The distance of the law of a queue among N from the law of the limit, in floats.

    Half the sum of |P(X = k) - pi_k|. Only the law of M matters, since the flow between lengths
    balances (see `joining_game.finite_play`), so that with p = P(M >= 1)

        lam_s p/mu <= distance <= lam_s p/(mu - lam) <= lam_s E_N[M]/(mu - lam),

    with equality on the left where P(M = 1) >= p lam/mu.

    >>> [round(total_variation(occupancy_law(N, "2/5", "3/10", 1)), 4) for N in (2, 3)]
    [0.1586, 0.1238]
    """
    import numpy as np

    dedicated, smart, service = map(float, law.rates)
    ratio = dedicated / service
    found = law.typical
    limit = (dedicated + smart) / service * (1 - ratio) * ratio ** (np.arange(len(found)) - 1.0)
    limit[0] = 1 - (dedicated + smart) / service
    beyond = max(1.0 - float(limit.sum()), 0.0)
    return (float(abs(found - limit).sum()) + beyond) / 2


class Decay(NamedTuple):
    """E_N[M] ~ exp(constant - rate N) N^(-power), fitted; `error` is the largest residual of log.

    An empirical description of the values given, not a statement on the limit.
    """

    constant: float
    rate: float
    power: float
    error: float

    def __str__(self) -> str:
        return (
            f"log E_N[M] = {self.constant:.4g} - {self.rate:.4g} N - {self.power:.4g} log N"
            f" (fitted, within {self.error:.2g})"
        )


def fit_decay(queues: Iterable[int], shortest: Iterable[float]) -> Decay:
    """The least-squares fit of log E_N[M] by a constant, N and log N.

    >>> print(fit_decay([1, 2, 4, 8], [2*3.0**-N for N in (1, 2, 4, 8)]).rate.__round__(6))
    1.098612

    Raises `DomainError` for fewer than four values or one that is not positive.
    """
    import numpy as np

    N, m = np.array(list(queues), dtype=float), np.array(list(shortest), dtype=float)
    if len(N) < 4 or len(N) != len(m) or not (m > 0).all():
        raise DomainError("a fit needs at least four N with a positive mean each")
    columns = np.column_stack([np.ones(len(N)), -N, -np.log(N)])
    found = np.linalg.lstsq(columns, np.log(m), rcond=None)[0]
    error = abs(columns @ found - np.log(m)).max()
    constant, rate, power = map(float, found)
    return Decay(constant, rate, power, float(error))
