"""The variant in which smart customers balk when the shortest queue is too long."""

from sympy import KroneckerDelta

from qtheory import bound_by, identities, theorem
from qtheory.systems.dedicated_streams import SOURCE, lam, lam_s, mu
from qtheory.systems.dedicated_streams.smart_balking import model


@theorem("I5.balking", source=SOURCE)
def mean_queue_length_when_smart_customers_balk():
    r"""If smart customers join up to the length $k$ of the shortest queue only, $E_N[X] =
    (\lambda + \lambda_s E_N[(M + 1) 1\{M <= k\}])/(\mu - \lambda)$, here for two queues and
    $k = 0, 1$.

    The test function is found from $E[QV] = 0$; the drift is checked on every region.
    """
    claims = {}
    for k in (0, 1):
        chain = model(2, k)
        m, gap = chain.state
        joined = sum((i + 1) * KroneckerDelta(m, i) for i in range(k + 1))
        tied = (mu - lam) * (2 * m + gap) - 2 * lam_s * joined
        V = identities(chain).test_function(tied)
        for sign, word in (("<=", "at most"), (">=", "at least")):
            claims[f"$k = {k}$, {word}"] = bound_by(chain, tied, V, 2 * lam, sign).proved
    return claims
