"""The joining game of dedicated customers at a point: the limit, exactly, and N queues, certified.

Source: Bu, Liu, Tang, Zhao, arXiv 2012.14955. A dedicated customer who joins when the others join
with probability q expects U(q) in the limit and, in a system of N queues with M the shortest,

    U_N(q) = R - C (1 + E_N[X])/mu = U(q) - C lam_s E_N[M]/(mu (mu - lam q)),

by (I5): E_N[X] = (lam q + lam_s (1 + E_N[M]))/(mu - lam q). The welfare per queue and unit time
is S_N(q) = R (lam q + lam_s) - C E_N[X].

*Monotonicity.* E_N[M] and E_N[X] do not decrease in lam q. Couple two systems, started empty, by
the rank of a queue: at every rank the lengths, in increasing order, of the system with fewer
arrivals are at most those of the other. Both get the smart arrivals, at rank 1, the common
dedicated arrivals and the services, at equal rates for each rank; the other system gets further
dedicated arrivals. Adding one at a rank, or taking one from a positive length, keeps the order of
two vectors entry by entry, and so does sorting both. With this (I5) gives, for q < t,

    E_N[X](t) - E_N[X](q) >= (t - q) lam (mu + lam_s (1 + E_N[M](q)))/(mu - lam q)^2.

So U_N decreases strictly where lam > 0: there is one equilibrium, and a value of U_N with its
error bounds the distance to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Symbol

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure
from qtheory.domain import Domain
from qtheory.errors import DomainError
from qtheory.games.algebraic import algebraic
from qtheory.games.best_reply import Reply, best_reply
from qtheory.games.segment import Segment, segment
from qtheory.games.threshold import joining_equilibria
from qtheory.games.welfare import Anarchy
from qtheory.games.welfare import price_of_anarchy as compared
from qtheory.systems.dedicated_streams import C, R, lam_s, mu, q, utility, welfare

_lam = Symbol("lambda", nonnegative=True)

domain = Domain(R * mu >= C, stable=_lam + lam_s < mu, symbols=(_lam, lam_s, mu, R, C))
"""The points of the game; also those without dedicated customers, lam = 0."""

WIDTH = Fraction(1, 10**4)
"""How wide an interval of U_N is by default, in units of R."""


@dataclass(frozen=True)
class JoiningGame:
    """The rates of a queue's own stream, of its share of the smart one, of its server; R and C."""

    lam: Fraction
    lam_s: Fraction
    mu: Fraction
    R: Fraction
    C: Fraction

    @property
    def at(self) -> dict[str, Fraction]:
        """The point by the names of the symbols."""
        return {
            "lambda": self.lam,
            "lambda_s": self.lam_s,
            "mu": self.mu,
            "R": self.R,
            "C": self.C,
        }


def joining_game(lam: Any, lam_s: Any, mu: Any, R: Any, C: Any) -> JoiningGame:
    """The game at exact rational parameters, lam and lam_s at least zero.

    Raises `UnstableError` unless lam + lam_s < mu, and `DomainError` for R < C/mu, with which
    smart customers would balk too, and for a rate or a price without its sign.
    """
    given = {"lambda": lam, "lambda_s": lam_s, "mu": mu, "R": R, "C": C}
    values = domain.require({name: exact(value) for name, value in given.items()})
    return JoiningGame(*(values[symbol] for symbol in domain.symbols))


def equilibrium(game: JoiningGame) -> Segment:
    """q_e of the limit: all joining probabilities in equilibrium, exactly.

    One number where lam > 0, since U decreases (avoid the crowd). Without dedicated customers
    U is constant; where it is 0 too, every q is an equilibrium.

    >>> print(equilibrium(joining_game("2/5", "3/10", 1, "13/8", 1)))
    1/2
    """
    found = joining_equilibria(utility, q, game.at)
    return segment(found[0].q.lower, found[-1].q.upper)


def optimum(game: JoiningGame) -> Reply:
    """q_opt of the limit, where the welfare S is greatest, and S(q_opt), exactly.

    >>> print(optimum(joining_game("2/5", "3/10", 1, "13/6", 1)))
    5/2 - sqrt(15)/2 pays 229/60 - 13*sqrt(15)/15
    """
    return best_reply(welfare(q), q, at=game.at)


def price_of_anarchy(game: JoiningGame) -> Anarchy:
    """S at the optimum and in equilibrium, exactly; `price_of_anarchy` is their ratio.

    >>> price_of_anarchy(joining_game("2/5", "3/10", 1, "13/8", 1)).price_of_anarchy
    83/5 - 104*sqrt(5)/15

    The ratio raises `DomainError` where S(q_e) = 0, as without smart customers or for R = C/mu.
    """
    return compared(welfare(q), q, [equilibrium(game)], at=game.at)


def utility_at(game: JoiningGame, fraction: Any) -> Fraction:
    """U(q) in the limit, exactly."""
    return _at(utility, game, fraction)


def welfare_at(game: JoiningGame, fraction: Any) -> Fraction:
    """S(q) in the limit, exactly."""
    return _at(welfare(q), game, fraction)


def _at(formula: Expr, game: JoiningGame, fraction: Any) -> Fraction:
    return algebraic(formula, {**game.at, "q": _probability(fraction)}).rational


def _probability(fraction: Any) -> Fraction:
    value = exact(fraction)
    if not 0 <= value <= 1:
        raise DomainError(f"a joining probability lies between 0 and 1, got q = {value}")
    return value


@dataclass(frozen=True)
class FinitePlay:
    """What N queues give when dedicated customers join with probability q, in proved intervals.

    `shortest` is E_N[M], `length` E_N[X], `utility` U_N(q), `welfare` S_N(q), and `gap` the
    epsilon-Nash gap eps_N(q) = max(U_N(q), 0) - q U_N(q): what a customer gains by deviating.
    `distance` is the Wasserstein distance of the law of a queue from its limit (see `finite_play`).
    """

    game: JoiningGame
    N: int
    q: Fraction
    shortest: Enclosure
    length: Enclosure
    utility: Enclosure
    welfare: Enclosure
    gap: Enclosure
    distance: Enclosure


def finite_play(game: JoiningGame, N: int, fraction: Any, width: Any = WIDTH) -> FinitePlay:
    """Certified values of N queues at a rational joining probability; U_N within `width`.

    Each is a monotone function of E_N[M], which is enclosed by drift comparison (see
    `qtheory.systems.dedicated_streams.occupancy_bounds`); `width` is in units of R.

    *Distance to the limit.* The flow from length k - 1 to k balances for every N:
    mu P(X >= k) = lam q P(X >= k - 1) + lam_s P(M >= k - 1), with M = 0 in the limit. So the tails
    are at least those of the limit, P(X >= 1) is the same, and the Wasserstein distance is the
    difference of the means, lam_s E_N[M]/(mu - lam q). It bounds the total variation too.

    >>> play = finite_play(joining_game("2/5", "3/10", 1, "13/6", 1), 1, 1)
    >>> print(play.length, play.utility, play.gap)
    2.333333333333333 -1.166666666666666 1.166666666666666

    Raises `ModelError` unless N >= 1, `DomainError` for q outside [0, 1], and `PrecisionError`
    for a width or a number of queues out of reach.
    """
    from qtheory.systems.dedicated_streams.occupancy_bounds import enclose_shortest

    fraction, wanted = _probability(fraction), exact(width)
    lam, lam_s, mu, R, C = game.lam, game.lam_s, game.mu, game.R, game.C
    dedicated = lam * fraction
    scale = C * lam_s / (mu * (mu - dedicated))
    wanted_shortest = wanted / (2 * scale) if scale else wanted
    # without dedicated arrivals any rate, joined with probability 0
    own = (lam, fraction) if lam else ((mu - lam_s) / 2, Fraction(0))
    proof = enclose_shortest(N, own[0], lam_s, mu, own[1], min(wanted_shortest, Fraction(1)))
    ends = proof.shortest.lower, proof.shortest.upper
    limit = utility_at(game, fraction)
    lengths = [(dedicated + lam_s * (1 + m)) / (mu - dedicated) for m in ends]
    utilities = [R - C * (1 + x) / mu for x in lengths]
    if utilities != [limit - scale * m for m in ends]:
        raise AssertionError("(I5) and the form of U_N by U and E_N[M] differ")
    gaps = [max(u, Fraction(0)) - fraction * u for u in utilities]
    if utilities[1] < 0 < utilities[0]:
        gaps.append(Fraction(0))

    def between(values: list[Fraction]) -> Enclosure:
        return Enclosure(min(values), max(values), proof.shortest.digits)

    return FinitePlay(
        game=game,
        N=N,
        q=fraction,
        shortest=proof.shortest,
        length=between(lengths),
        utility=between(utilities),
        welfare=between([R * (dedicated + lam_s) - C * x for x in lengths]),
        gap=between(gaps),
        distance=between([lam_s * m / (mu - dedicated) for m in ends]),
    )
