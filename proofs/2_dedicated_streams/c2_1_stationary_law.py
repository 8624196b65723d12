"""The typical queue of the mean-field limit of join-the-shortest-queue with dedicated streams."""

from sympy import Eq, Symbol

from qtheory import prove, stationary, theorem
from qtheory.systems.dedicated_streams import (
    SOURCE,
    domain,
    joining,
    lam,
    lam_s,
    mean_field_model,
    mean_queue,
    mu,
    pi_0,
    q,
    sojourn,
)


def same(left, right, on):
    return prove(Eq(left, right, evaluate=False), on)


@theorem("C2.1", source=SOURCE)
def stationary_law_of_the_typical_queue():
    r"""The typical queue is idle with probability $\pi_0 = 1 - (\lambda + \lambda_s)/\mu$,
    and $\pi_k = (\lambda + \lambda_s)(\mu - \lambda)\mu^{-2}(\lambda/\mu)^{k-1}$ for $k >=
    1$; its mean is $(\lambda + \lambda_s)/(\mu - \lambda)$.

    The law is derived from the model and compared with the formulas. Beyond level 1 it is
    geometric with ratio $\lambda/\mu$; the balance equations hold at 0, at 1, and, for a level
    of any weight $x > 0$, beyond.
    """
    law = stationary(mean_field_model())
    pi_1 = (lam + lam_s) * (mu - lam) / mu**2
    x = Symbol("x", positive=True)
    ratio = lam / mu
    up_from_0 = lam + lam_s / pi_0
    return {
        "idle": same(law.pmf(0), pi_0, domain),
        "one customer": same(law.pmf(1), pi_1, domain),
        "ratio": same(law.pmf(2) / law.pmf(1), ratio, domain),
        "mean": same(law.mean(), mean_queue, domain),
        "balance at 0": same(pi_0 * up_from_0, mu * pi_1, domain),
        "balance at 1": same((lam + mu) * pi_1, pi_0 * up_from_0 + mu * pi_1 * ratio, domain),
        "balance beyond": same((lam + mu) * x * ratio, lam * x + mu * x * ratio**2, domain),
        "total mass": same(pi_0 + pi_1 / (1 - ratio), 1, domain),
        "the queue is sometimes idle": prove(pi_0 > 0, domain),
    }


@theorem("C2.2", source=SOURCE)
def sojourn_time_of_a_dedicated_customer():
    r"""A dedicated customer who joins stays $E[W] = (\mu + \lambda_s)/(\mu(\mu - \lambda q))$
    in the mean.

    Dedicated arrivals are Poisson, so a customer finds $E[X]$ customers in the mean and stays
    $(1 + E[X])/\mu$, with $\lambda q$ in the place of $\lambda$.
    """
    return {
        "formula": same((1 + mean_queue.subs(lam, lam * q)) / mu, sojourn, joining),
        "at least one service": prove(sojourn >= 1 / mu, joining),
    }
