"""The shorter-queue policy under attack (Tang, Wen, Jin; arXiv 1909.11199).

Jobs arrive at rate lam and go to the shorter of two queues, each served at rate mu. A fraction
p = a (1 - b) of them is misrouted, a being the probability that a job is attacked and b that it
is defended: to either queue with probability 1/2 (uniform attacks) or to queue 1 (targeted). The
queueing cost is J(p) = E[x1 + x2]; the attacker maximises J - ca a, the operator minimises
J + cb b (ca, cb: cost per unit time of attacking, of defending, every job).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sympy import And, Eq, Expr, Rational, Symbol, diff, sqrt, symbols

from qtheory.domain import Domain
from qtheory.errors import ModelError
from qtheory.model import Model, Transition
from qtheory.systems.formula import Formula, System

if TYPE_CHECKING:
    from qtheory.balls import Enclosure

lam, mu = symbols("lambda mu", positive=True)
p, a, b = symbols("p a b", nonnegative=True)
ca, cb = symbols("c_a c_b", positive=True)
m, d, x1, x2 = symbols("m d x_1 x_2", integer=True, nonnegative=True)

SOURCE = "Tang, Wen, Jin, arXiv 1909.11199"

domain = Domain(p <= 1, stable=lam < 2 * mu, symbols=(lam, mu, p))
rates = Domain(stable=lam < 2 * mu, symbols=(lam, mu))
targeted_domain = Domain(p <= 1, stable=(lam < 2 * mu, p * lam < mu), symbols=(lam, mu, p))
targeted_bernoulli_domain = Domain(p <= 1, stable=lam * (1 + p) < 2 * mu, symbols=(lam, mu, p))


def model() -> Model:
    """The chain under uniform attacks, on m = min(x1, x2) and d = |x1 - x2|."""
    return Model(
        state=(m, d),
        domain=domain,
        transitions=[
            Transition(lam, when=Eq(d, 0), jump=(0, +1)),
            Transition(2 * mu, when=And(Eq(d, 0), m >= 1), jump=(-1, +1)),
            Transition(lam * (1 - p / 2), when=d >= 1, jump=(+1, -1)),
            Transition(lam * p / 2, when=d >= 1, jump=(0, +1)),
            Transition(mu, when=d >= 1, jump=(0, -1)),
            Transition(mu, when=And(d >= 1, m >= 1), jump=(-1, +1)),
        ],
        name="shorter queue, uniform attacks",
    )


def threshold_jockeying_model(threshold: int) -> Model:
    """The chain in which d never exceeds the threshold: a job of the longer queue jockeys.

    Whenever |x1 - x2| would exceed the threshold, a job moves from the longer queue to the
    shorter one. See `bracket` for why this lowers the cost.
    """
    return _threshold_model(
        threshold,
        [
            Transition(lam, when=Eq(d, threshold), jump=(+1, -1)),
            Transition(mu, when=Eq(d, threshold), jump=(0, -1)),
            Transition(mu, when=And(Eq(d, threshold), m >= 1), jump=(0, -1)),
        ],
        "threshold jockeying",
    )


def threshold_blocking_model(threshold: int) -> Model:
    """The chain in which d never exceeds the threshold: the shorter queue is held up.

    Whenever |x1 - x2| would exceed the threshold, the shorter queue gets a job more: its service
    is lost, and a job that joins the longer queue brings another one to the shorter. See `bracket`
    for why this raises the cost.
    """
    return _threshold_model(
        threshold,
        [
            Transition(lam * (1 - p / 2), when=Eq(d, threshold), jump=(+1, -1)),
            Transition(lam * p / 2, when=Eq(d, threshold), jump=(+1, 0)),
            Transition(mu, when=Eq(d, threshold), jump=(0, -1)),
        ],
        "threshold blocking",
    )


def _threshold_model(threshold: int, at_threshold: list[Transition], name: str) -> Model:
    """The chain on 0 <= d <= threshold, with its moves below the threshold."""
    if threshold < 1:
        raise ModelError(f"the threshold must be at least 1, got {threshold}")
    below = [
        Transition(t.rate, t.jump, And(t.when, d <= threshold - 1))
        for t in model().transitions
        if threshold > 1 or not t.when.has(d >= 1)
    ]
    return Model(
        state=(m, d),
        domain=domain,
        transitions=[*below, *at_threshold],
        ranges={d: (0, threshold)},
        name=f"shorter queue, {name} at {threshold}",
    )


def bracket(
    at: Mapping[Any, Any], threshold: int = 32, digits: int = 20
) -> tuple[Enclosure, Enclosure]:
    """Certified lower and upper bounds on J = E[x1 + x2] under uniform attacks, at a point.

    They are the costs of threshold jockeying and of threshold blocking, matrix-geometric in
    balls; their gap falls geometrically as the threshold grows.

    >>> low, high = bracket({"lam": 1, "mu": 1, "p": "1/2"}, threshold=20, digits=12)
    >>> print(low, "to", high)
    1.59656078... to 1.59656078...

    Raises `UnstableError` where blocking makes the chain unstable: take a larger threshold.

    I. J. B. F. Adan, G. J. van Houtum, J. van der Wal, "Upper and lower bounds for the waiting
    time in the symmetric shortest queue system", Ann. Oper. Res. 48 (1994), for p = 0. For every
    p, let (l, s) be the longer and the shorter queue, and (l, s) <= (l', s') when l <= l' and
    l + s <= l' + s'. The events "join the shorter" (rate lam (1 - p/2)), "join the longer"
    (lam p/2), "serve the longer" and "serve the shorter" (mu each) keep this order between two
    systems in which they happen together. Jockeying replaces (l, s) by (l - 1, s + 1), below it
    when l > s + 1, and blocking by (l, s + 1), above it. So the three chains, started empty, stay
    in order, and with them the expected sums at every time and in the limit.
    """
    from qtheory.stationary.qbd import matrix_geometric

    low, high = (
        matrix_geometric(bound(threshold), at, digits).expect(2 * m + d)
        for bound in (threshold_jockeying_model, threshold_blocking_model)
    )
    return low, high


def targeted_model() -> Model:
    """The chain when attacked jobs go to server 1, on m = min(x1, x2) and delta = x1 - x2."""
    delta = Symbol("delta", integer=True)
    correct = lam * (1 - p)
    return Model(
        state=(m, delta),
        domain=targeted_domain,
        transitions=[
            # queue 1 is shorter: both kinds of job raise the minimum
            Transition(lam, when=delta <= -1, jump=(+1, +1)),
            Transition(mu, when=And(delta <= -1, m >= 1), jump=(-1, -1)),
            Transition(mu, when=delta <= -1, jump=(0, +1)),
            # equal queues: a fair coin for the jobs that are not attacked
            Transition(lam * p + correct / 2, when=Eq(delta, 0), jump=(0, +1)),
            Transition(correct / 2, when=Eq(delta, 0), jump=(0, -1)),
            Transition(mu, when=And(Eq(delta, 0), m >= 1), jump=(-1, +1)),
            Transition(mu, when=And(Eq(delta, 0), m >= 1), jump=(-1, -1)),
            # queue 2 is shorter
            Transition(correct, when=delta >= 1, jump=(+1, -1)),
            Transition(lam * p, when=delta >= 1, jump=(0, +1)),
            Transition(mu, when=delta >= 1, jump=(0, -1)),
            Transition(mu, when=And(delta >= 1, m >= 1), jump=(-1, +1)),
        ],
        name="shorter queue, targeted attacks",
    )


def bernoulli_model() -> Model:
    """The benchmark: every job to either server with probability 1/2, on (x1, x2)."""
    return Model(
        state=(x1, x2),
        domain=rates,
        transitions=[
            Transition(lam / 2, jump=(+1, 0)),
            Transition(lam / 2, jump=(0, +1)),
            Transition(mu, when=x1 >= 1, jump=(-1, 0)),
            Transition(mu, when=x2 >= 1, jump=(0, -1)),
        ],
        name="Bernoulli routing",
    )


JB = 2 * lam / (2 * mu - lam)
crude = (lam + 2 * mu) / (2 * mu - lam)
pooled = 4 * lam * mu / (4 * mu**2 - lam**2)
equal_queues = (2 * mu - p * lam) / (2 * mu + (2 - p) * lam)


def Jbar(fraction: Expr = p) -> Expr:
    """The closed-form bound on the cost when this fraction of the jobs is misrouted."""
    return 2 * lam * (2 * mu + lam) / ((2 * mu - lam) * (2 * mu + (2 - fraction) * lam))


def dJbar(fraction: Expr = p) -> Expr:
    """The derivative of `Jbar` in the fraction."""
    return diff(Jbar(p), p).subs(p, fraction)


def G(fraction: Expr = p) -> Expr:
    """What misrouting this fraction adds to the bound: Jbar(fraction) - Jbar(0)."""
    numerator = lam**2 * (2 * mu + lam) * fraction
    return numerator / ((2 * mu - lam) * (mu + lam) * (2 * mu + (2 - fraction) * lam))


p_star = (2 * mu + 2 * lam - lam * sqrt(2 * (2 * mu + lam)) / sqrt(cb * (2 * mu - lam))) / lam
p_hat = (
    2
    * ca
    * (2 * mu - lam)
    * (mu + lam) ** 2
    / (lam * (lam * (2 * mu + lam) + ca * (2 * mu - lam) * (mu + lam)))
)
JB_targeted = 4 * mu * (2 * mu - lam) / ((2 * mu - lam) ** 2 - lam**2 * p**2) - 2

_defended = rates.over(cb).where(cb >= dJbar(Rational(0)), cb <= dJbar(Rational(1)))
_mixed = rates.over(ca).where(ca <= G(Rational(1)))

system = System(
    name="shorter-queue",
    title="The shorter-queue policy under attack",
    source=SOURCE,
    parameters={
        lam: "arrival rate of jobs",
        mu: "service rate of each server",
        p: "fraction of misrouted jobs, a (1 - b)",
        a: "probability that a job is attacked",
        b: "probability that a job is defended",
        ca: "cost per unit time of attacking every job",
        cb: "cost per unit time of defending every job",
    },
    models={"uniform": model, "targeted": targeted_model, "bernoulli": bernoulli_model},
    sorted_lengths=frozenset({"uniform"}),
    formulas=(
        Formula("JB", JB, rates, "cost of Bernoulli routing; J(1)"),
        Formula("Jbar", Jbar(), domain, "upper bound on the cost J(p), exact at p = 1", SOURCE),
        Formula("J_crude", crude, rates, "upper bound by the plain quadratic Lyapunov function"),
        Formula("J_pooled", pooled, rates, "lower bound: the pooled M/M/2 queue", label="M/M/2"),
        Formula("P_D0", equal_queues, domain, "probability of equal queues", label="P(D=0)"),
        Formula("dJbar", dJbar(), domain, "derivative of Jbar in p", label="Jbar'(p)"),
        Formula("G", G(), domain, "cost that misrouting adds on Jbar: Jbar(p) - Jbar(0)"),
        Formula("G_1", G(Rational(1)), rates, "regime boundary: no attack above it", label="G(1)"),
        Formula(
            "dJbar_0",
            dJbar(Rational(0)),
            rates,
            "regime boundary: defence that costs less pays for every p",
            label="Jbar'(0)",
        ),
        Formula(
            "dJbar_1",
            dJbar(Rational(1)),
            rates,
            "regime boundary: no defence at or above it",
            label="Jbar'(1)",
        ),
        Formula("p_star", p_star, _defended, "misrouted fraction where Jbar'(p) = cb", label="p*"),
        Formula("p_hat", p_hat, _mixed, "misrouted fraction where G(p) = ca"),
        Formula(
            "JB_targeted",
            JB_targeted,
            targeted_bernoulli_domain,
            "cost of Bernoulli routing under targeted attacks",
        ),
    ),
)
"""The system with its models and named closed forms."""
