r"""How equilibrium, optimum and social benefit change with mu, R and lambda_s.

q_e and q_opt are their interior formulas clipped to [0, 1]. Clipping is nondecreasing, so it is
enough that the interior formulas are monotone on the whole domain.
"""

from qtheory import increasing, nondecreasing, nonincreasing, prove, theorem
from qtheory.systems.dedicated_streams import (
    SOURCE,
    C,
    R,
    game,
    interior_q_e,
    interior_q_opt,
    interior_welfare_opt,
    lam,
    lam_s,
    mu,
    welfare,
)

waits = C * (mu + lam_s)
interior = game.where(R * mu**2 > waits)
nobody = game.where(R * mu**2 <= waits)
everybody = game.where(R * (mu - lam) ** 2 >= waits)


@theorem("C2.7a", source=SOURCE)
def equilibrium_is_monotone():
    r"""$q_e$ is nondecreasing in $\mu$ and $R$ and nonincreasing in $\lambda_s$."""
    return {
        r"in $\mu$": prove(nondecreasing(interior_q_e, mu), game),
        "in $R$": prove(nondecreasing(interior_q_e, R), game),
        r"in $\lambda_s$": prove(nonincreasing(interior_q_e, lam_s), game),
    }


@theorem("C2.7b", source=SOURCE)
def optimum_is_monotone():
    r"""$q^*$ is nondecreasing in $\mu$ and $R$ and nonincreasing in $\lambda_s$.

    In $\mu$ this needs the interior: the formula itself decreases where $R(\mu + \lambda_s) <
    C/4$,
    which the domain excludes.
    """
    return {
        r"in $\mu$": prove(nondecreasing(interior_q_opt, mu), game),
        "in $R$": prove(nondecreasing(interior_q_opt, R), game),
        r"in $\lambda_s$": prove(nonincreasing(interior_q_opt, lam_s), game),
    }


@theorem("C2.7c", source=SOURCE)
def greatest_benefit_is_monotone():
    r"""$S(q^*)$ is nondecreasing in $\mu$, $\lambda_s$ and $R$, and increasing in each where
    some join.

    In each of the three cases of $q^*$ the benefit is monotone, and it is continuous where they
    meet. If nobody joins and there are no smart customers, it is 0 for all parameters.
    """
    claims = {}
    for name, parameter in ((r"$\mu$", mu), (r"$\lambda_s$", lam_s), ("$R$", R)):
        claims[f"interior, in {name}"] = prove(
            increasing(interior_welfare_opt, parameter), interior
        )
        claims[f"all join, in {name}"] = prove(increasing(welfare(1), parameter), everybody)
        claims[f"nobody joins, in {name}"] = prove(nondecreasing(welfare(0), parameter), nobody)
    return claims
