"""Learners in simulations: observations, which no theorem covers at these horizons."""

from fractions import Fraction

import numpy as np
from _evidence import estimated
from scipy.special import betaincinv
from sympy import Rational, Symbol

from qtheory import Domain, Open, Supported, theorem
from qtheory.formulas import relation
from qtheory.learning import Exp3, Exp3P, Mixed, Uniform, exp3p_bound, simulate, trace

DELTA = Fraction(1, 20)


@theorem("C3.32", expected="supported")
def regret_of_exp3p():
    r"""The regret of Exp3.P over $T$ steps exceeds $4\sqrt{KT \ln(KT/\delta)} + 4\sqrt{(5/3) KT \ln
    K} + 8 \ln(KT/\delta)$ with probability at most $\delta$ (Auer, Cesa-Bianchi, Freund, Schapire
    2002, Theorem 6.3).

    The bound is recalled from there and not proved here. The rewards change at half time, so that
    the best arm of the first half is not the best one of all.
    """
    steps, paths = 1024, 500
    random = np.random.default_rng(21)
    rates = np.array([[0.7, 0.5, 0.3]] * (steps // 2) + [[0.1, 0.5, 0.6]] * (steps // 2))
    coins = random.random((steps, 3, paths)) < rates[:, :, None]
    arrivals, uniforms = np.ones((steps, 1, paths)), random.random((steps, 1, paths))
    regret = trace(arrivals, coins, Exp3P(steps, float(DELTA)), uniforms).regret()[0]
    bound = exp3p_bound(3, steps, float(DELTA))
    above = int((regret > bound).sum())
    # the upper end of the one-sided interval of Clopper and Pearson
    upper = float(betaincinv(above + 1, paths - above, 0.95))
    chance = Symbol("P_above")
    claim, domain = relation(chance, "<=", Rational(1, 20)), Domain(symbols=(chance,))
    evidence = (
        f"K = 3, T = {steps}, delta = 1/20: {above} of {paths} runs above the bound {bound:.0f}, "
        f"so P <= {upper:.2g} with confidence 95 %; mean regret {regret.mean():.0f}, largest "
        f"{regret.max()}, seed 21"
    )
    if upper > DELTA:
        return Open(claim, domain, (evidence,))
    return Supported(claim, domain, evidence)


def growth(learner, factor, steps=4000, replications=128):
    """The total growth per step of three queues at feasibility factor `factor`, seed 22."""
    rates = [Fraction(5, 9) / factor] * 3
    return simulate(rates, [1, "1/3", "1/3"], learner, steps, replications, seed=22).growth


WHERE = "mu = (1, 1/3, 1/3), steps 2000 to 4000 from empty queues, 128 replications, seed 22"


@theorem("C3.33", expected="supported")
def growth_of_fixed_strategies():
    r"""At the factor $c = 5/4$ with $\mu = (1, 1/3, 1/3)$ three queues of rate $\lambda = 5/(9c)$
    grow by $3\lambda - 1$ per step if all are at server 1, and by $3\lambda - 95/81$ if they choose
    uniformly.
    """
    factor, rate = Fraction(5, 4), Fraction(4, 9)
    return {
        "all at server 1": estimated(
            "growth", "==", 3 * rate - 1, lambda: growth(Mixed((1, 0, 0)), factor), WHERE
        ),
        "uniform": estimated(
            "growth", "==", 3 * rate - Fraction(95, 81), lambda: growth(Uniform(), factor), WHERE
        ),
    }


@theorem("C3.33.exp3", expected="supported")
def exp3_finds_the_bad_equilibrium():
    r"""From empty queues EXP3 makes the queues grow at the factors $5/4$ and $3/2$, below
    $2 - 1/n = 5/3$, and not at $21/10$.

    This is an observation at one horizon. The bad profile is found by the learners; nothing
    plants it.
    """
    return {
        "$c = 5/4$": estimated("growth", ">", 0, lambda: growth(Exp3(), Fraction(5, 4)), WHERE),
        "$c = 3/2$": estimated("growth", ">", 0, lambda: growth(Exp3(), Fraction(3, 2)), WHERE),
        "$c = 21/10$": estimated(
            "growth", "==", 0, lambda: growth(Exp3(), Fraction(21, 10)), WHERE
        ),
    }
