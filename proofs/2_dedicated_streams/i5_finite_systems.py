"""The mean queue length and the shortest queue of the finite system."""

from sympy import Eq, Symbol, symbols

from qtheory import prove, theorem
from qtheory.drift import bound_by, identities
from qtheory.systems.dedicated_streams import SOURCE, domain, lam, lam_s, model, mu

N = Symbol("N", integer=True, positive=True)
x = Symbol("x", nonnegative=True)
mean, shortest, busy = symbols("X M B", nonnegative=True)


def same(left, right, on):
    return prove(Eq(left, right, evaluate=False), on)


@theorem("I5", source=SOURCE)
def mean_queue_length_in_the_finite_system():
    r"""For every $N$, $P(X = 0) = 1 - (\lambda + \lambda_s)/\mu$ and $E_N[X] = (\lambda +
    \lambda_s (1 + E_N[M]))/(\mu - \lambda)$, where $M$ is the shortest queue.

    Take $V = \sum_i x_i$ and then $V = \sum_i x_i^2$. A dedicated arrival changes $x_i^2$
    by $2 x_i + 1$, a service by $-(2 x_i - 1)$ if $x_i >= 1$, and a smart arrival, at rate
    $N \lambda_s$, changes the sum by $2 M + 1$. Queues are exchangeable, so the means of
    the sums are $N$ times those of one queue; $B$ is the probability that it is busy.
    """
    everywhere = domain.over(N, mean, shortest)
    first = N * lam + N * lam_s - mu * N * busy
    second = N * (lam * (2 * mean + 1) - mu * (2 * mean - busy)) + N * lam_s * (2 * shortest + 1)
    at_balance = (lam + lam_s) / mu
    stated = (lam + lam_s * (1 + shortest)) / (mu - lam)
    return {
        "an arrival": same((x + 1) ** 2 - x**2, 2 * x + 1, domain.over(x)),
        "a service": same((x - 1) ** 2 - x**2, -(2 * x - 1), domain.over(x)),
        "the sum fixes the busy probability": same(first.subs(busy, at_balance), 0, everywhere),
        "the sum of squares fixes the mean": same(
            second.subs(busy, at_balance), 2 * N * (mu - lam) * (stated - mean), everywhere
        ),
    }


@theorem("I5.chain", source=SOURCE)
def mean_queue_length_from_the_chain():
    r"""The identity for $E_N[X]$ holds for the chains of two and three queues themselves.

    The test function is found from $E[QV] = 0$; the drift is checked on every region.
    """
    claims = {}
    for n in (2, 3):
        chain = model(n)
        total = sum((n - i) * g for i, g in enumerate(chain.state))
        tied = (mu - lam) * total - n * lam_s * chain.state[0]
        V = identities(chain).test_function(tied)
        for sign, word in (("<=", "at most"), (">=", "at least")):
            value = n * (lam + lam_s)
            claims[f"$N = {n}$, {word}"] = bound_by(chain, tied, V, value, sign).proved
    return claims
