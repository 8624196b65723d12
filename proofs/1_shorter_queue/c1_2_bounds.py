"""The bounds on the queueing cost of the shorter-queue policy under uniform attacks."""

from sympy import Eq

from qtheory import decreasing, prove, theorem
from qtheory.systems.shorter_queue import JB, SOURCE, Jbar, crude, domain, equal_queues, p, pooled


@theorem("C1.2a", source=SOURCE)
def the_bound_improves_on_bernoulli():
    r"""The cost bound is at most the cost of Bernoulli routing, $\bar J(p) <= J_B$."""
    return prove(Jbar() <= JB, domain)


@theorem("C1.2b", source=SOURCE)
def bernoulli_improves_on_the_crude_bound():
    r"""The cost of Bernoulli routing is below the crude bound, $J_B <= (\lambda + 2\mu)/(2\mu
    - \lambda)$.
    """
    return prove(JB <= crude, domain)


@theorem("C1.2c", source=SOURCE)
def the_bound_is_above_the_pooled_queue():
    r"""The pooled M/M/2 queue costs at most the bound, $4\lambda\mu/(4\mu^2 - \lambda^2) <=
    \bar J(p)$.
    """
    return prove(pooled <= Jbar(), domain)


@theorem("C1.2d", source=SOURCE)
def the_bound_is_exact_at_full_attack():
    r"""When every job is misrouted the bound is exact, $\bar J(1) = J_B$.

    At $p = 1$ every job goes to either queue with probability 1/2, so the queues are two
    independent M/M/1 queues.
    """
    return prove(Eq(Jbar(1), JB, evaluate=False), domain)


@theorem("C1.2e", source=SOURCE)
def equal_queues_are_rarer_under_attack():
    r"""$P(D = 0)$ is a probability and decreases with the misrouted fraction $p$."""
    return {
        "positive": prove(equal_queues > 0, domain),
        "at most one": prove(equal_queues <= 1, domain),
        "decreasing in $p$": prove(decreasing(equal_queues, p), domain),
    }
