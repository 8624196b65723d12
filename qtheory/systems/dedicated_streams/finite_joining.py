"""Equilibrium and optimum of the joining game in a system of N queues, in proved brackets.

Both rest on the monotonicity of E_N[M] that `joining_game` shows, and on its
certified values at finitely many joining probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import Any

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError
from qtheory.systems.dedicated_streams.joining_game import (
    WIDTH,
    FinitePlay,
    JoiningGame,
    equilibrium,
    finite_play,
    utility_at,
)
from qtheory.systems.dedicated_streams.occupancy import occupancy_law

EVALUATIONS = 400
"""The most joining probabilities at which a search certifies E_N[M]."""

OUTSIDE = 1e-6
"""The mass outside the windows of estimated laws."""

ROOT_BITS = 64
"""Bits after the point of a square root that is rounded down."""

Progress = Callable[[str], None] | None


@dataclass(frozen=True)
class FiniteEquilibrium:
    """The interval that holds q_e(N), the one equilibrium of N queues, and what proves it.

    The evaluations are in the order they were made. Without dedicated customers every q in the
    interval may be an equilibrium.
    """

    game: JoiningGame
    N: int
    q: Enclosure
    plays: tuple[FinitePlay, ...]


def finite_equilibrium(game: JoiningGame, N: int, width: Any = WIDTH) -> FiniteEquilibrium:
    """The equilibrium joining probability of N queues, in a proved interval of this width.

    U_N decreases by at least C lam (mu + lam_s)/(mu (mu - lam q)^2) for each unit of q, and
    U_N <= U, so q_e(N) <= q_e. A value of U_N at one q, with its error, therefore bounds the
    distance to the equilibrium; the next q is found by the secant rule.

    >>> from qtheory.systems.dedicated_streams.joining_game import joining_game
    >>> print(finite_equilibrium(joining_game("2/5", "3/10", 1, "13/8", 1), 2).q)
    0.35833 +- 1e-4
    >>> print(finite_equilibrium(joining_game("2/5", "3/10", 1, "13/10", 1), 2).q)
    0

    Raises `ModelError` unless N >= 1 and `PrecisionError` for a width or an N out of reach.
    """
    wanted = _positive("width", width)
    last = exact(equilibrium(game).upper)
    low, high = Fraction(0), last
    if game.lam == 0:
        return _without_dedicated(game, N, wanted)
    plays: list[FinitePlay] = []
    grid = 10 ** len(str(ceil(8 / wanted)))
    guess = high
    while high - low > wanted:
        if len(plays) == EVALUATIONS:
            raise PrecisionError(f"no interval of width {width} after {EVALUATIONS} evaluations")
        fineness = max(wanted / 4, (high - low) / 20) * _steepness(game, low)
        play = finite_play(game, N, guess, fineness)
        plays.append(play)
        lower, upper = play.utility.lower, play.utility.upper
        at_most = guess + max(upper, Fraction(0)) / _steepness(game, guess)
        at_least = guess + min(lower, Fraction(0)) / _steepness(game, low)
        if guess == 1 and lower >= 0:
            low = high = Fraction(1)
        elif guess == 0 and upper <= 0:
            low = high = Fraction(0)
        else:
            low, high = max(low, at_least), min(high, at_most)
            guess = _next(plays, low, high, grid)
    return FiniteEquilibrium(game, N, _interval(low, high, wanted), tuple(plays))


def estimated_equilibrium(game: JoiningGame, N: int, progress: Progress = None) -> float:
    """Where U_N changes its sign, from laws in floating point: for N beyond certified ones."""
    from scipy.optimize import brentq

    most = exact(equilibrium(game).upper)

    def utility(q: float) -> float:
        if progress:
            progress(f"U_{N}({q:.6g})")
        fraction = min(Fraction(q).limit_denominator(10**9), most)
        law = occupancy_law(N, game.lam, game.lam_s, game.mu, fraction, OUTSIDE)
        lost = game.C * game.lam_s / (game.mu * (game.mu - game.lam * fraction))
        return float(utility_at(game, fraction)) - float(lost) * law.mean_shortest

    if utility(0.0) <= 0:
        return 0.0
    end = float(most)
    return end if utility(end) >= 0 else float(brentq(utility, 0.0, end, xtol=1e-6))


def _without_dedicated(game: JoiningGame, N: int, wanted: Fraction) -> FiniteEquilibrium:
    play = finite_play(game, N, 0, wanted)
    low = Fraction(1 if play.utility.lower > 0 else 0)
    high = Fraction(0 if play.utility.upper < 0 else 1)
    return FiniteEquilibrium(game, N, _interval(low, high, wanted), (play,))


def _steepness(game: JoiningGame, fraction: Fraction) -> Fraction:
    """U_N decreases by at least this for each unit of q, from this q on."""
    room = game.mu - game.lam * fraction
    return game.C * game.lam * (game.mu + game.lam_s) / (game.mu * room * room)


def _next(plays: list[FinitePlay], low: Fraction, high: Fraction, grid: int) -> Fraction:
    """A joining probability nearer to the root, with a small denominator."""
    last = plays[-1]
    value = (last.utility.lower + last.utility.upper) / 2
    slope = _steepness(last.game, last.q)
    if len(plays) > 1 and plays[-2].q != last.q:
        before = plays[-2]
        secant = ((before.utility.lower + before.utility.upper) / 2 - value) / (last.q - before.q)
        slope = max(slope, secant)
    guess = Fraction(round((last.q + value / slope) * grid), grid)
    guess = min(max(guess, low), high)
    if len(plays) > 1 and guess in (low, high) and any(play.q == guess for play in plays):
        guess = (low + high) / 2
    if 0 < guess < 1:
        guess = Fraction(round(guess * grid), grid)
    return guess


@dataclass(frozen=True)
class FiniteOptimum:
    """The greatest welfare S_N of N queues and the q where it may be reached, both proved.

    Outside the `parts` S_N is less than its greatest value; `q` spans them.
    """

    game: JoiningGame
    N: int
    welfare: Enclosure
    parts: tuple[tuple[Fraction, Fraction], ...]
    evaluations: int

    @property
    def q(self) -> Enclosure:
        """The interval that holds q_opt(N)."""
        return Enclosure(self.parts[0][0], self.parts[-1][1], 3)


@dataclass(frozen=True)
class _Cell:
    left: FinitePlay
    right: FinitePlay
    most: Fraction
    place: Fraction


def finite_optimum(
    game: JoiningGame, N: int, tolerance: Any = Fraction(1, 100), progress: Progress = None
) -> FiniteOptimum:
    """The social optimum of N queues by branch and bound; the welfare within the tolerance.

    On [q_1, q_2] E_N[M] is at least m, its value at q_1, so by (I5) S_N is at most the greatest
    value there of the concave function

        R (lam q + lam_s) - C (lam q + lam_s (1 + m))/(mu - lam q).

    Intervals whose bound is below a proved value of S_N are left out; nothing is assumed of the
    shape of S_N. The tolerance is in units of R times a rate.

    >>> from qtheory.systems.dedicated_streams.joining_game import joining_game
    >>> found = finite_optimum(joining_game("2/5", "3/10", 1, "13/4", 1), 2)
    >>> print(found.welfare)
    0.86 +- 1e-2

    Raises `ModelError` unless N >= 1 and `PrecisionError` for a tolerance or an N out of reach.
    """
    wanted = _positive("tolerance", tolerance)
    fineness = wanted / (4 * game.mu)
    grid = 10 ** len(str(ceil(16 / wanted)))
    ends = [finite_play(game, N, fraction, fineness) for fraction in (0, 1)]
    known = max(play.welfare.lower for play in ends)
    cells = [_cell(*ends)]
    count = 2
    while game.lam and (best := max(cells, key=lambda cell: cell.most)).most > known + wanted:
        if count == EVALUATIONS:
            raise PrecisionError(f"no interval of width {tolerance} after {count} evaluations")
        width = best.right.q - best.left.q
        place = min(max(best.place, best.left.q + width / 8), best.right.q - width / 8)
        place = Fraction(round(place * grid), grid)
        if not best.left.q < place < best.right.q:
            raise PrecisionError(f"no interval of width {tolerance} on a grid of {1 / grid}")
        middle = finite_play(game, N, place, fineness)
        count += 1
        known = max(known, middle.welfare.lower)
        cells.remove(best)
        cells += [_cell(best.left, middle), _cell(middle, best.right)]
        if progress is not None:
            progress(f"{count} evaluations, S_N within {float(best.most - known):.3g}")
    left = sorted(_kept(cell, known) for cell in cells if cell.most >= known)
    most = max(cell.most for cell in cells)
    return FiniteOptimum(game, N, _interval(known, most, wanted), _joined(left), count)


def _cell(left: FinitePlay, right: FinitePlay) -> _Cell:
    """The bound on an interval, and where the concave function reaches it.

    In y = mu - lam q it is R (mu + lam_s) + C - (R y + C a/y) with a = mu + lam_s (1 + m).
    """
    game, a = left.game, _crowd(left)
    far, near = game.mu - game.lam * left.q, game.mu - game.lam * right.q
    if game.R * near * near >= game.C * a:
        loss, y = game.R * near + game.C * a / near, near
    elif game.R * far * far <= game.C * a:
        loss, y = game.R * far + game.C * a / far, far
    else:
        loss = 2 * _root_below(game.R * game.C * a)
        y = _root_below(game.C * a / game.R)
    place = (game.mu - y) / game.lam if game.lam else left.q
    return _Cell(left, right, game.R * (game.mu + game.lam_s) + game.C - loss, place)


def _crowd(play: FinitePlay) -> Fraction:
    return play.game.mu + play.game.lam_s * (1 + max(play.shortest.lower, Fraction(0)))


def _kept(cell: _Cell, known: Fraction) -> tuple[Fraction, Fraction]:
    """The part of an interval where the concave function is at least `known`."""
    game, a = cell.left.game, _crowd(cell.left)
    if game.lam == 0:
        return cell.left.q, cell.right.q
    # there R y^2 - room y + C a <= 0
    room = game.R * (game.mu + game.lam_s) + game.C - known
    square = room * room - 4 * game.R * game.C * a
    root = _root_below(max(square, Fraction(0))) + Fraction(1, 1 << ROOT_BITS)
    low = (game.mu - (room + root) / (2 * game.R)) / game.lam
    high = (game.mu - (room - root) / (2 * game.R)) / game.lam
    if max(low, cell.left.q) > min(high, cell.right.q):  # only by rounding of `most`
        return cell.left.q, cell.right.q
    return max(low, cell.left.q), min(high, cell.right.q)


def finite_price_of_anarchy(
    game: JoiningGame, N: int, tolerance: Any = Fraction(1, 100), progress: Progress = None
) -> Enclosure:
    """S_N(q_opt(N))/S_N(q_e(N)) of N queues, in a proved interval; S_N within the tolerance.

    With q_e(N) between l and h, S_N there is between R (lam l + lam_s) - C E_N[X](h) and
    R (lam h + lam_s) - C E_N[X](l).

    >>> from qtheory.systems.dedicated_streams.joining_game import joining_game
    >>> print(finite_price_of_anarchy(joining_game("2/5", "3/10", 1, 3, 1), 3))
    1.33 +- 1e-1

    Raises `DomainError` where S_N(q_e(N)) is not shown to be positive, `ModelError` unless
    N >= 1 and `PrecisionError` for a tolerance or an N out of reach.
    """
    wanted = _positive("tolerance", tolerance)
    q = finite_equilibrium(game, N, min(WIDTH, wanted)).q
    ends = [finite_play(game, N, end, wanted / (4 * game.mu)) for end in (q.lower, q.upper)]
    reward = [game.R * (game.lam * end + game.lam_s) for end in (q.lower, q.upper)]
    low = reward[0] - game.C * ends[1].length.upper
    high = reward[1] - game.C * ends[0].length.lower
    if low <= 0:
        raise DomainError(
            f"no ratio: the equilibrium needs positive welfare, got {float(low):.6g} at least"
        )
    best = finite_optimum(game, N, wanted, progress).welfare
    return Enclosure(max(best.lower / high, Fraction(1)), best.upper / low, best.digits)


def _root_below(value: Fraction) -> Fraction:
    """A rational number at most the square root, and close to it."""
    scale = 1 << ROOT_BITS
    return Fraction(isqrt(int(value * scale * scale)), scale)


def _joined(parts: list[tuple[Fraction, Fraction]]) -> tuple[tuple[Fraction, Fraction], ...]:
    """Intervals in increasing order, with those that meet made one."""
    found = parts[:1]
    for low, high in parts[1:]:
        if low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def _interval(low: Fraction, high: Fraction, width: Fraction) -> Enclosure:
    return Enclosure(low, high, max(len(str(ceil(1 / width))), 1))


def _positive(name: str, given: Any) -> Fraction:
    value = exact(given)
    if value <= 0:
        raise DomainError(f"the {name} must be positive, got {given}")
    return value
