"""The price of anarchy of the joining game: what free choice costs the customers."""

from sympy import Eq, sqrt

from qtheory import decreasing, increasing, prove, theorem
from qtheory.systems.dedicated_streams import (
    SOURCE,
    C,
    R,
    game,
    interior_welfare_opt,
    lam,
    lam_s,
    mu,
    welfare,
)

waits = C * (mu + lam_s)
paid = game.where(lam_s > 0, R * mu > C)
interior = paid.where(R * mu**2 > waits)
S_e = lam_s * (R - C / mu)
ratio = interior_welfare_opt / S_e


@theorem("C2.6.loss", source=SOURCE)
def what_free_choice_loses():
    r"""With both interior, $S(q^*) - S(q_e) = (\sqrt{R\mu} - \sqrt{C(\mu + \lambda_s)/\mu})^2$,
    which is positive if some dedicated customers join: they gain nothing, and all that they
    could bring is lost.
    """
    root = sqrt(R * mu) - sqrt(C * (mu + lam_s) / mu)
    return {
        "the loss": prove(Eq(interior_welfare_opt - S_e, root**2, evaluate=False), game),
        "it is positive": prove(interior_welfare_opt > S_e, interior),
    }


@theorem("C2.6.anarchy", source=SOURCE)
def price_of_anarchy():
    r"""The price of anarchy $S(q^*)/S(q_e)$ is at least 1. With both interior it exceeds 1,
    decreases in $\lambda_s$, increases in $R$, and is not bounded: it is at least $(\sqrt{R\mu} -
    \sqrt C)^2/(\lambda_s(R - C/\mu))$, which tends to infinity as $\lambda_s$ tends to 0.
    """
    all_join = paid.where(R * mu * (mu - lam) >= waits)
    return {
        "interior": prove(ratio > 1, interior),
        "all join, fewer should": prove(
            interior_welfare_opt >= welfare(1), all_join.where(R * (mu - lam) ** 2 <= waits)
        ),
        "all join: what is shared is positive": prove(welfare(1) > 0, all_join),
        r"it decreases in $\lambda_s$": prove(decreasing(ratio, lam_s), interior),
        "it increases in $R$": prove(increasing(ratio, R), interior),
        "it is not bounded": prove(ratio >= (sqrt(R * mu) - sqrt(C)) ** 2 / S_e, paid),
        r"the numerator there does not depend on $\lambda_s$ and is positive": prove(
            (sqrt(R * mu) - sqrt(C)) ** 2 > 0, paid
        ),
    }
