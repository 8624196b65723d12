r"""The game of attacker and operator on the exact cost J of the shorter queue.

The attacker chooses the fraction a of jobs to attack and maximises J(a (1 - b)) - ca a, the
operator the fraction b to defend and minimises J(a (1 - b)) + cb b (Tang, Wen, Jin; arXiv
1909.11199). J increases strictly (`cost_shape.increasing`). Where it is strictly
convex, which `cost_shape.convexity` proves rate by rate, the attacker attacks all
jobs or none and the equilibrium is that of `attack_game` with J for Jbar:

    I   no attack          ca > J(1) - J(0)
    II  undefended attack  ca < J(1) - J(0), cb >= J'(1)
    III defended attack    ca < J(1) - J(0), J'(phat) <= cb < J'(1): b = 1 - p*, J'(p*) = cb
    IV  mixed              ca < J(1) - J(0), cb < J'(phat): b = 1 - phat, attack with probability
                           theta = cb/J'(phat), where J(phat) = J(0) + ca

Every comparison is decided on certified enclosures, and p*, phat are bracketed by certified signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qtheory.arithmetic import exact
from qtheory.balls import Enclosure
from qtheory.drift.window import PrecisionError
from qtheory.errors import DomainError
from qtheory.systems.shorter_queue import rates
from qtheory.systems.shorter_queue.cost_shape import Convexity
from qtheory.systems.shorter_queue.exact_cost import cost, slope, taylor

REFINED = 3
"""How often the digits are doubled before a comparison counts as undecided."""

SPARE = 6
"""Digits of J, J' beyond those of p, so that signs next to a crossing are decided."""

STEPS = 60
"""Newton steps and bisections."""

CONJECTURE = "J is strictly convex in p (Supported: certified slopes on grids; not proved here)"

Pair = tuple[Fraction, Fraction]
"""The ends of an interval."""

Progress = Callable[[str], None] | None


@dataclass(frozen=True)
class ExactEquilibrium:
    """The equilibrium at a point, in one of the regimes I, II, III, IV.

    `theta` is the probability that all jobs are attacked (none otherwise), `b` the defended
    fraction, `p` = 1 - b the fraction of jobs misrouted by an attack, `risk` the operator's cost
    per unit time, in IV its mean. `facts` are proved at this point; the regime and the values
    follow from them where J is convex: `convex` is the proof of that, None where it is only
    conjectured.
    """

    regime: str
    theta: Enclosure
    b: Enclosure
    p: Enclosure
    risk: Enclosure
    facts: tuple[str, ...]
    convex: Convexity | None

    @property
    def is_proved(self) -> bool:
        """Whether everything is proved, convexity included."""
        return self.convex is not None

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What is used without a proof."""
        return () if self.is_proved else (CONJECTURE,)

    def __str__(self) -> str:
        how = "proved" if self.is_proved else "if J is convex"
        return (
            f"regime {self.regime} ({how}): theta = {self.theta}, b = {self.b}, risk = {self.risk}"
        )


def equilibrium(
    lam: Any,
    mu: Any,
    ca: Any,
    cb: Any,
    digits: int = 8,
    convex: Convexity | None = None,
    progress: Progress = None,
) -> ExactEquilibrium:
    """The equilibrium on the exact cost, at rational rates and positive rational costs.

    p* and phat are known within 2/10^digits. With the proof `convex` for these rates (see
    `qtheory.systems.shorter_queue.cost_shape.convexity`) the whole statement is proved.

    >>> print(equilibrium("1/2", 1, "1/5", 1))
    regime I (if J is convex): theta = 0, b = 0, risk = 0.55050103
    >>> print(equilibrium("1/2", 1, "1/100", "1/20"))
    regime IV (if J is convex): theta = ..., b = 0.8..., risk = 0.6...

    Raises `DomainError` unless both costs and `digits` are positive, or for a proof of other rates;
    `UnstableError` unless lam < 2 mu, and `PrecisionError` for a point that cannot be told from a
    boundary between regimes.
    """
    place = rates.require({"lambda": lam, "mu": mu})
    arrival, service = (exact(place[symbol]) for symbol in rates.symbols)
    attack, defence = _positive("ca", ca), _positive("cb", cb)
    if convex is not None and (convex.lam, convex.mu) != (arrival, service):
        raise DomainError(f"the proof of convexity is for lambda = {convex.lam}, mu = {convex.mu}")
    if digits < 1:
        raise DomainError(f"digits must be at least 1, got {digits}")
    return _Game(arrival, service, attack, defence, digits, convex, progress).solve()


def _positive(name: str, given: Any) -> Fraction:
    value = exact(given)
    if value <= 0:
        raise DomainError(f"outside the domain: needs {name} > 0, got {name} = {value}")
    return value


@dataclass(frozen=True)
class _Game:
    lam: Fraction
    mu: Fraction
    ca: Fraction
    cb: Fraction
    digits: int
    convex: Convexity | None
    progress: Progress

    def solve(self) -> ExactEquilibrium:
        zero, one = Fraction(0), Fraction(1)
        sign, gain = self._against(self.ca, self._gain, "J(1) - J(0)")
        facts = [f"ca = {self.ca} {sign} J(1) - J(0) = {gain}"]
        free = self._cost(zero)
        if sign == ">":
            return self._found("I", (zero, zero), (one, one), free, facts)
        full = slope(self.lam, self.mu, 1)
        if self.cb >= full.lower:
            facts.append(f"cb = {self.cb} >= J'(1) = {full}")
            return self._found("II", (one, one), (one, one), self._cost(one), facts)
        facts.append(f"cb = {self.cb} < J'(1) = {full}")
        sign, steep, phat = self._steepness()
        facts.append(f"phat in [{_shown(phat[0])}, {_shown(phat[1])}]")
        end = phat[0] if sign == "<" else phat[1]
        facts.append(f"cb = {self.cb} {sign} J'({_shown(end)})")
        if sign == "<":
            theta = self.cb / steep[1], self.cb / steep[0]
            risk = (
                free[0] + theta[0] * self.ca + self.cb * (1 - phat[1]),
                free[1] + theta[1] * self.ca + self.cb * (1 - phat[0]),
            )
            return self._found("IV", theta, phat, risk, facts)
        p = self._crossing(1, self.cb, phat[0], self.digits)
        facts.append(f"p* in [{_shown(p[0])}, {_shown(p[1])}]")
        # the operator's cost is least at p*, where it is at most that at either end
        ends = [self._cost(q) for q in p]
        least = ends[0][0] + self.cb * (1 - p[1])
        most = min(end[1] + self.cb * (1 - q) for end, q in zip(ends, p, strict=True))
        return self._found("III", (one, one), p, (least, most), facts)

    def _found(
        self, regime: str, theta: Pair, p: Pair, risk: Pair, facts: list[str]
    ) -> ExactEquilibrium:
        b = 1 - p[1], 1 - p[0]
        attack, defence, misrouted, total = (
            Enclosure(*pair, self.digits) for pair in (theta, b, p, risk)
        )
        return ExactEquilibrium(
            regime, attack, defence, misrouted, total, tuple(facts), self.convex
        )

    def _cost(self, p: Fraction) -> Pair:
        found = cost(self.lam, self.mu, p, self.digits + 2)
        return found.lower, found.upper

    def _crossing(
        self, derivative: int, target: Fraction | Pair, low: Fraction, digits: int
    ) -> Pair:
        return crossing(self.lam, self.mu, derivative, target, low, digits, self.progress)

    def _gain(self, digits: int) -> Enclosure:
        if self.progress:
            self.progress(f"J(1) - J(0) with {digits} digits")
        return gain(self.lam, self.mu, 1, digits)

    def _against(
        self, number: Fraction, value: Callable[[int], Enclosure], name: str
    ) -> tuple[str, Enclosure]:
        """``<`` or ``>``, with the value that decides."""
        digits = self.digits
        for _ in range(REFINED + 1):
            found = value(digits)
            if number < found.lower:
                return "<", found
            if number > found.upper:
                return ">", found
            digits *= 2
        raise PrecisionError(f"{number} cannot be told from {name} with {digits // 2} digits")

    def _steepness(self) -> tuple[str, Pair, Pair]:
        """How cb compares with J'(phat), that between two numbers, and a bracket of phat.

        The numbers are bounds on J' at the ends of the bracket, from outside: J' increases.
        """
        digits = self.digits
        for _ in range(REFINED + 1):
            start = cost(self.lam, self.mu, 0, digits + SPARE)
            target = start.lower + self.ca, start.upper + self.ca
            phat = self._crossing(0, target, Fraction(0), digits)
            ends = [slope(self.lam, self.mu, p, digits) for p in phat]
            steep = ends[0].lower, ends[1].upper
            if self.cb < steep[0]:
                return "<", steep, phat
            if self.cb > steep[1]:
                return ">", steep, phat
            digits *= 2
        raise PrecisionError(f"cb = {self.cb} cannot be told from J'(phat): a boundary of regimes")


def gain(lam: Any, mu: Any, p: Any, digits: int = 12) -> Enclosure:
    """J(p) - J(0), what misrouting this fraction adds; both costs have digits + 2 proven digits.

    >>> print(gain(1, 1, 1, digits=10))
    0.57367924883

    Raises as `qtheory.systems.shorter_queue.exact_cost.cost` does.
    """
    attacked, free = (cost(lam, mu, q, digits + 2) for q in (p, 0))
    return Enclosure(attacked.lower - free.upper, attacked.upper - free.lower, digits + 1)


def crossing(
    lam: Fraction,
    mu: Fraction,
    derivative: int,
    target: Fraction | Pair,
    low: Fraction,
    digits: int,
    progress: Progress = None,
) -> Pair:
    """A bracket of length at most 4/10^digits of the p > low where J (0) or J' (1) has a value.

    The signs at its ends are certified, so that it holds a crossing; J has no other, nor has J'
    where J is strictly convex. The value may be known only to lie between two numbers, and
    J(0) < value < J(1), or J'(1) > value, is known. Raises `PrecisionError` when a sign is not
    decided.
    """
    below, above = target if isinstance(target, tuple) else (target, target)
    unit = Fraction(1, 10**digits)
    high = tried = Fraction(1)
    for step in range(STEPS):
        # a few digits lead near the crossing; then its derivative tells how near
        known = min(digits + 2, 6 * 2 ** min(step, 8))
        if progress:
            progress(f"{('phat', 'p*')[derivative]} near {float(tried):.8g}, {known} digits")
        terms = taylor(lam, mu, tried, derivative + 1, known)
        value, next_term = terms[derivative], terms[derivative + 1]
        excess = (value.lower + value.upper - below - above) / 2
        low, high = (low, min(high, tried)) if excess > 0 else (max(low, tried), high)
        before, rate = tried, (derivative + 1) * (next_term.lower + next_term.upper) / 2
        newton = tried - excess / rate if rate > 0 else low
        tried = newton if low < newton < high else (low + high) / 2
        tried = round(tried / unit) * unit
        if known == digits + 2 and abs(tried - before) <= unit:
            break
    ends = max(tried - 2 * unit, Fraction(0)), min(tried + 2 * unit, Fraction(1))
    found = [taylor(lam, mu, end, derivative, digits + SPARE)[derivative] for end in ends]
    under = found[0].upper < below or (ends[0] == 0 and derivative == 0)
    over = found[1].lower > above or ends[1] == 1
    if not (under and over):
        raise PrecisionError(f"the signs around p = {float(tried):.6g} are not decided")
    return ends


def _shown(p: Fraction) -> str:
    return str(Enclosure(p, p, 30))
