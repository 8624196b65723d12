"""How defence and attack react to the arrival rate."""

from sympy import diff

from qtheory import decreasing, increasing, prove, theorem
from qtheory.systems.shorter_queue import SOURCE, G, ca, cb, dJbar, domain, lam, p, p_hat, rates
from qtheory.systems.shorter_queue.attack_game import costs, mixed_boundary, theta_mixed, undefended


@theorem("C1.5.III", source=SOURCE)
def more_defence_against_surer_attacks_at_higher_load():
    r"""In regime III the defended fraction $b = 1 - p^*$ increases with $\lambda$.

    $p^*$ solves $\bar J'(p^*) = c_b$. Since $\bar J'$ increases with $\lambda$ at a fixed $p$ and
    with $p$, $dp^*/d\lambda = -(\partial\bar J'/\partial\lambda)/(\partial\bar J'/\partial p) < 0$.
    """
    slope = -diff(dJbar(), lam) / diff(dJbar(), p)
    return {
        r"$\bar J'$ increases with $\lambda$": prove(increasing(dJbar(), lam), domain),
        r"$\bar J'$ increases with $p$": prove(increasing(dJbar(), p), domain),
        r"so $p^*$ falls": prove(slope < 0, domain),
    }


@theorem("C1.5.IV", source=SOURCE)
def more_defence_against_rarer_attacks_at_higher_load():
    r"""In regime IV $b = 1 - \hat p$ increases with $\lambda$, and the probability $\theta$ of an
    attack decreases.
    """
    attacks = rates.over(ca).where(ca <= undefended)
    return {
        "$b$ increases": prove(increasing(1 - p_hat, lam), attacks),
        r"$\theta$ decreases": prove(
            decreasing(theta_mixed, lam), costs.where(ca <= undefended, cb <= mixed_boundary)
        ),
        r"since $G$ increases with $\lambda$": prove(increasing(G(), lam), domain.where(p > 0)),
    }


@theorem("C1.5.boundaries", source=SOURCE)
def attacks_pay_more_at_higher_load():
    r"""The boundaries $G(1)$ and $\bar J'(1)$ increase with $\lambda$: a cost $c_a$ that deters
    attacks, or a cost $c_b$ that forbids defence, no longer does at a higher load.
    """
    return {
        "$G(1)$": prove(increasing(G(1), lam), rates),
        r"$\bar J'(1)$": prove(increasing(dJbar(1), lam), rates),
    }
