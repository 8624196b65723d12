r"""The risk of the shorter queue against that of Bernoulli routing, in two readings.

The abstract says that it is higher for $\lambda < \mu$ and lower for $\lambda > \mu$. That is
refuted if attacks are uniform and the risk is the operator's cost in equilibrium, and proved if
attacks are targeted and the risk is what a full attack adds to the cost.
"""

from functools import cache

from sympy import Abs, Rational, Symbol

from qtheory import Domain, Model, Transition, foster, prove, theorem
from qtheory.drift import enclose
from qtheory.systems.shorter_queue import (
    JB,
    SOURCE,
    JB_targeted,
    ca,
    cb,
    d,
    lam,
    m,
    model,
    mu,
    p,
    targeted_bernoulli_domain,
    targeted_model,
    x1,
    x2,
)
from qtheory.systems.shorter_queue.attack_game import costs, mixed_boundary, risks, undefended
from qtheory.systems.shorter_queue.comparisons import against_bernoulli, targeted_against_bernoulli

mixed = costs.where(ca < undefended, cb < mixed_boundary)
claimed = "higher for lam < mu (regime IV)"


@theorem("C1.6.uniform", expected="refuted", source=SOURCE)
def uniform_attacks_hurt_the_shorter_queue_more():
    r"""Under uniform attacks the operator's equilibrium cost is higher than that of Bernoulli
    routing if $\lambda < \mu$, where attacks are mixed.

    This is refuted, at the point given; C1.6.uniform.opposite proves the contrary everywhere.
    """
    return prove(risks["IV"] > JB, mixed.where(lam < mu))


@theorem("C1.6.uniform.opposite", source=SOURCE)
def the_shorter_queue_is_never_worse_under_uniform_attacks():
    r"""Under uniform attacks the operator's equilibrium cost is at most that of Bernoulli
    routing, for all rates and costs, and lower off the boundaries unless the attack is undefended
    (II).

    Uniform attacks do not change Bernoulli routing. The claims are on the bound $\bar J$, with
    $r$ for $p^*(c_b)$ in III. In the game on $J$ itself it is immediate: without defence the
    operator pays $J(a) <= J_B$ (C1.2), and in equilibrium no more.
    """
    return {label: v for label, v in against_bernoulli().items() if label != claimed}


def targeted_bernoulli():
    """Bernoulli routing when attacked jobs go to server 1."""
    return Model(
        state=(x1, x2),
        domain=targeted_bernoulli_domain,
        transitions=[
            Transition(lam * (1 + p) / 2, jump=(+1, 0)),
            Transition(lam * (1 - p) / 2, jump=(0, +1)),
            Transition(mu, when=x1 >= 1, jump=(-1, 0)),
            Transition(mu, when=x2 >= 1, jump=(0, -1)),
        ],
        name="Bernoulli routing, targeted attacks",
    )


@theorem("C1.6.targeted", source=SOURCE)
def full_targeted_attacks_reverse_the_comparison_at_mu():
    r"""A full targeted attack adds more to the cost of the shorter queue than to that of
    Bernoulli routing if $\lambda < \mu$; if $\lambda > \mu$ there are fractions $p$ of attacked
    jobs under which only Bernoulli routing is unstable.

    At full attack all jobs join server 1, one M/M/1 queue under both policies. Without attacks the
    shorter queue costs at most $\bar J(0) < J_B$. For $\lambda > \mu$ the shorter queue is
    stable for $p < \mu/\lambda$ (C1.1.targeted), Bernoulli routing for $p < 2\mu/\lambda - 1$.
    """
    return {
        **targeted_against_bernoulli(),
        "Bernoulli routing is stable for smaller fractions": foster(
            targeted_bernoulli()
        ).certificate.proved,
    }


CASES = [
    ("3/5", "1/5", "0.0289", "0.0211"),
    ("3/5", "1/2", "0.1284", "0.1375"),
    ("6/5", "1/2", "0.7910", "6.4286"),
    ("4/5", "1", "2.9930", "2.6667"),
]
HALF_UNIT = Rational(5, 10**5)

J, J_0 = Symbol("J", positive=True), Symbol("J_0", positive=True)


@theorem("C1.6.values", source=SOURCE)
def increases_under_targeted_attacks():
    r"""At $\mu = 1$ targeted attacks add to the cost of the shorter queue, and to that of Bernoulli
    routing, 0.0289 and 0.0211 at $\lambda = 3/5$, $p = 1/5$; 0.1284 and 0.1375 at $\lambda =
    3/5$, $p = 1/2$; 0.7910 and 6.4286 at $\lambda = 6/5$, $p = 1/2$; 2.9930 and 2.6667 at $\lambda
    = 4/5$, $p = 1$, all rounded to 4 decimals.

    So below full attack the comparison may go either way for $\lambda < \mu$. $J$ is the cost
    under attack, for $p = 1$ that of one M/M/1 queue, and $J_0$ the cost without; the certificate
    proves their intervals.
    """
    claims = {}
    for rate, part, shorter, bernoulli in CASES:
        label = rf"$\lambda = {rate}$, $p = {part}$"
        free, attacked = without_attacks(rate), under_attack(rate, part)
        inside = Domain(*between(J_0, free.value))
        if attacked is None:
            inside = inside & Domain(f"J == ({rate})/(1 - {rate})", symbols=(J,))
        else:
            inside = inside & Domain(*between(J, attacked.value))
            for word, verdict in attacked.proved.items():
                claims[f"{label}: $J$, {word}"] = verdict
        for word, verdict in free.proved.items():
            claims[f"{label}: $J_0$, {word}"] = verdict
        stated, other = Rational(shorter), Rational(bernoulli)
        place = targeted_bernoulli_domain.where(f"lam == {rate}", "mu == 1", f"p == {part}")
        claims |= {
            f"{label}: added to the shorter queue, at least": prove(
                J - J_0 >= stated - HALF_UNIT, inside
            ),
            f"{label}: added to the shorter queue, at most": prove(
                J - J_0 <= stated + HALF_UNIT, inside
            ),
            f"{label}: added to Bernoulli routing, at least": prove(
                JB_targeted - JB >= other - HALF_UNIT, place
            ),
            f"{label}: added to Bernoulli routing, at most": prove(
                JB_targeted - JB <= other + HALF_UNIT, place
            ),
        }
    return claims


@cache
def without_attacks(rate):
    return enclose(model(), 2 * m + d, {"lam": rate, "mu": 1, "p": 0}, digits=6)


def under_attack(rate, part):
    chain = targeted_model()
    if part == "1":
        return None
    at = {"lam": rate, "mu": 1, "p": part}
    return enclose(chain, 2 * m + Abs(chain.state[1]), at, digits=6)


def between(symbol, value):
    low, high = (Rational(str(end)) for end in (value.lower, value.upper))
    return symbol >= low, symbol <= high
