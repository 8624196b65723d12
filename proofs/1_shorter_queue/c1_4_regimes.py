r"""The four regimes of the attacker-defender game on the bound.

Square roots are avoided by using the misrouted fraction as the parameter: r stands for p*, so
that cb = Jbar'(r), and s for phat, so that ca = G(s).
"""

from sympy import Eq, symbols

from qtheory import prove, theorem
from qtheory.systems.shorter_queue import (
    SOURCE,
    G,
    Jbar,
    a,
    b,
    ca,
    cb,
    dJbar,
    rates,
)

r, s, t = symbols("r s t", nonnegative=True)

attacks = rates.over(a, ca).where(a <= 1)
defences = rates.over(b, cb).where(b <= 1)


@theorem("C1.4.I", source=SOURCE)
def regime_of_no_attack():
    r"""If $c_a >= G(1)$ then no attack and no defence, $a = b = 0$, is an equilibrium.

    Without attacks the operator pays $\bar J(0) + c_b b$, least at $b = 0$.
    """
    return {
        "no attack is the best reply to $b = 0$": prove(
            Jbar(a) - ca * a <= Jbar(0), attacks.where(ca >= G(1))
        ),
        "no defence is the best reply to $a = 0$": prove(Jbar(0) + cb * b >= Jbar(0), defences),
    }


@theorem("C1.4.II", source=SOURCE)
def regime_of_undefended_attack():
    r"""If $c_a <= G(1)$ and $c_b >= \bar J'(1)$ then $a = 1$, $b = 0$ is an equilibrium."""
    return {
        "attacking all is the best reply to $b = 0$": prove(
            Jbar(a) - ca * a <= Jbar(1) - ca, attacks.where(ca <= G(1))
        ),
        "no defence is the best reply to $a = 1$": prove(
            Jbar(1 - b) + cb * b >= Jbar(1), defences.where(cb >= dJbar(1))
        ),
    }


@theorem("C1.4.III", source=SOURCE)
def regime_of_defended_attack():
    r"""If $c_b = \bar J'(r)$ and $c_a <= G(r)$ then $a = 1$, $b = 1 - r$ is an equilibrium.

    Here $0 <= r <= 1$ is $p^*(c_b)$.
    """
    return {
        "attacking all is the best reply": prove(
            Jbar(a * r) - ca * a <= Jbar(r) - ca,
            rates.over(r, a, ca).where(r <= 1, a <= 1, ca <= G(r)),
        ),
        "$b = 1 - r$ is the best reply": prove(
            Jbar(1 - b) + dJbar(r) * b >= Jbar(r) + dJbar(r) * (1 - r),
            rates.over(r, b).where(r <= 1, b <= 1),
        ),
    }


@theorem("C1.4.IV", source=SOURCE)
def regime_of_mixed_attack():
    r"""If $c_a = G(s)$ and $c_b <= \bar J'(s)$ then $b = 1 - s$, and attacking all jobs with
    probability $\theta = c_b/\bar J'(s)$ and none otherwise, is an equilibrium.

    Here $0 <= s <= 1$ is $\hat p(c_a)$. The operator's cost is $\theta$ times
    $\bar J(1 - b) + \bar J'(s) b$, plus a constant.
    """
    fractions = rates.over(s, a).where(s > 0, s <= 1, a <= 1)
    theta = cb / dJbar(s)
    return {
        "attacking all and none pay the same": prove(
            Eq(Jbar(s) - G(s), Jbar(0), evaluate=False), fractions
        ),
        "attacking a part pays no more": prove(Jbar(a * s) - G(s) * a <= Jbar(0), fractions),
        "$b = 1 - s$ is the best reply": prove(
            Jbar(1 - b) + dJbar(s) * b >= Jbar(s) + dJbar(s) * (1 - s),
            rates.over(s, b).where(s <= 1, b <= 1),
        ),
        r"$\theta$ is a probability": prove(
            theta <= 1, rates.over(s, cb).where(s <= 1, cb <= dJbar(s))
        ),
    }


@theorem("C1.4.IV.pure", source=SOURCE)
def no_pure_equilibrium_in_the_mixed_regime():
    r"""In regime IV, with $c_a < G(1)$, $c_b < \bar J'(1)$ and not III, no pure equilibrium
    exists.

    A pure equilibrium has $a = 0$ or $a = 1$. If $a = 0$ the operator does not defend, and then
    attacking all pays, for $c_a < G(1)$. If $a = 1$ the operator's best reply leaves the
    fraction
    $r = p^*(c_b)$ misrouted (all jobs defended, $r = 0$, if $c_b <= \bar J'(0)$), and attacking
    none pays more, since $G(r) < c_a$.
    """
    replies = rates.over(r, b, cb).where(r <= 1, b <= 1)
    return {
        "more defence than the best reply to $a = 1$ costs more": prove(
            Jbar(1 - b) + dJbar(r) * b > Jbar(r) + dJbar(r) * (1 - r),
            replies.where(b > 1 - r),
        ),
        "less defence costs more": prove(
            Jbar(1 - b) + dJbar(r) * b > Jbar(r) + dJbar(r) * (1 - r),
            replies.where(b < 1 - r),
        ),
        "all jobs are defended if defence is cheap": prove(
            Jbar(t) + cb * (1 - t) > Jbar(0) + cb,
            rates.over(t, cb).where(t > 0, t <= 1, cb <= dJbar(0)),
        ),
        "then attacking none pays more": prove(
            Jbar(r) - ca < Jbar(0), rates.over(r, ca).where(r <= 1, ca > G(r))
        ),
        "attacking all pays if nothing is defended": prove(
            Jbar(1) - ca > Jbar(0), rates.over(ca).where(ca < G(1))
        ),
    }
