r"""The fluid limit: global asymptotic stability by a weighted l1 norm.

With e_k = s_k - s_k(oo), while s_1 < 1, e_1' = -lam e_1 - mu (e_1 - e_2) and
e_k' = lam (e_(k-1) - e_k) - mu (e_k - e_(k+1)).
"""

from sympy import Eq, Symbol, expand, sqrt, symbols

from qtheory import prove, theorem
from qtheory.systems.dedicated_streams import SOURCE, domain, fluid, lam, lam_s, mu

light = domain.where(lam < mu)
rate = (sqrt(mu) - sqrt(lam)) ** 2
growth = sqrt(mu) / sqrt(lam)


@theorem("C2.8", source=SOURCE)
def fluid_dynamics_converge():
    r"""While $s_1 < 1$, $V = \sum_k w_k |e_k|$ with $w_k = (\mu/\lambda)^{k/2}$ obeys $V'
    <= -(\sqrt\mu - \sqrt\lambda)^2 V$; while $s_1 = 1$ the mean queue length falls at rate
    $\mu - \lambda - \lambda_s$, so that phase ends.

    The derivative of $|e_k|$ is at most $-(\lambda + \mu)|e_k| + \lambda |e_{k-1}| + \mu
    |e_{k+1}|$, so $V'$ is at most the sum of $|e_k| (\lambda w_{k+1} + \mu w_{k-1} -
    (\lambda + \mu) w_k)$, without the term $w_{k-1}$ at $k = 1$. Divide by $w_k$.
    """
    s = symbols("s_2:6", nonnegative=True)
    total = expand(sum(fluid([1, *s])))
    return {
        "weights at $k >= 2$": prove(
            Eq(lam * growth + mu / growth - (lam + mu), -rate, evaluate=False), light
        ),
        "weights at $k = 1$": prove(lam * growth - (lam + mu) <= -rate, light),
        "the rate is positive": prove(rate > 0, light),
        "the mean falls while $s_1 = 1$": prove(
            Eq(total, lam + lam_s - mu, evaluate=False), domain.over(*s)
        ),
        "it falls strictly": prove(lam + lam_s - mu < 0, domain),
    }


@theorem("C2.8.point", source=SOURCE)
def fixed_point_of_the_fluid_dynamics():
    r"""The tails of the limit law, $s_k = (\lambda + \lambda_s)\mu^{-1}(\lambda/\mu)^{k-1}$, are
    a fixed point of the fluid dynamics, and no level is full there; by C2.8 it is the only one.

    At the levels beyond the first, $x > 0$ stands for $s_{k-1}$.
    """
    first, ratio, x = (lam + lam_s) / mu, lam / mu, Symbol("x", positive=True)
    levels = fluid([first, first * ratio])
    beyond = lam * (x - ratio * x) - mu * (ratio * x - ratio**2 * x)
    return {
        "$s_1' = 0$": prove(Eq(levels[0], 0, evaluate=False), domain),
        "$s_k' = 0$ for $k >= 2$": prove(Eq(beyond, 0, evaluate=False), domain.over(x)),
        "$s_1 < 1$": prove(first < 1, domain),
    }
