"""The exact identities of the shorter queue under uniform attacks, and the pooled lower bound."""

from sympy import KroneckerDelta

from qtheory import bound_by, identities, theorem
from qtheory.systems.shorter_queue import SOURCE, d, lam, m, model, mu, p, pooled

cost = 2 * m + d
one_idle = KroneckerDelta(m, 0)
both_idle = KroneckerDelta(m, 0) * KroneckerDelta(d, 0)


def exactly(function, value):
    """Both inequalities by one test function, found from E[QV] = 0."""
    V = identities(model()).test_function(function)
    return {
        "at most": bound_by(model(), function, V, value).proved,
        "at least": bound_by(model(), function, V, value, ">=").proved,
    }


@theorem("C1.2.I3", source=SOURCE)
def imbalance_is_seen_where_a_server_idles():
    r"""$(1-p)\lambda\, E|D| = \lambda - \mu\, E[\max(x_1, x_2); \min(x_1, x_2) = 0]$.

    The test function is $D^2$.
    """
    return exactly((1 - p) * lam * d + mu * one_idle * d, lam)


@theorem("C1.2.I4", source=SOURCE)
def cost_and_shorter_queue_are_tied():
    r"""$(2\mu - p\lambda) J = 2\lambda + 2(1-p)\lambda\, E[\min(x_1, x_2)]$."""
    return exactly((2 * mu - p * lam) * cost - 2 * (1 - p) * lam * m, 2 * lam)


@theorem("C1.2.busy", source=SOURCE)
def attacks_do_not_change_the_busy_servers():
    r"""The mean number of busy servers is $\lambda/\mu$ for every $p$."""
    return exactly(2 - one_idle - both_idle, lam / mu)


@theorem("C1.2.pooled", source=SOURCE)
def the_pooled_queue_costs_less():
    r"""The pooled M/M/2 queue costs less, $J(p) >= 4\lambda\mu/(4\mu^2 - \lambda^2)$.

    Take for $V$ the solution of Poisson's equation of the pooled queue, a function of $x_1 +
    x_2$ that increases. There two servers work on two or more jobs, here one of them may idle:
    the drift of $V$ is at least as large.
    """
    below, above = 2 * mu - lam, 2 * mu + lam
    V = cost**2 / (2 * below) + cost / (2 * above) - 2 * mu * both_idle / (below * above)
    return bound_by(model(), cost, V, pooled, ">=").proved
