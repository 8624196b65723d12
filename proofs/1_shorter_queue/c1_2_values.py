"""Certified digits of the queueing cost: the checker decides every interval anew."""

from sympy import Rational, Symbol

from qtheory import Domain, prove, theorem
from qtheory.drift import enclose
from qtheory.systems.shorter_queue import SOURCE, d, m, model

J, E_D = Symbol("J", positive=True), Symbol("E_D", positive=True)
HALF_UNIT = Rational(5, 10**13)

COSTS = {
    ("1", "0"): "1.426320751167",
    ("1", "1/2"): "1.596560789354",
    ("1/2", "0"): "0.550501032069",
}


def rounds_to(digits, mean, function, lam, p):
    """The certified interval of a mean, and that it rounds to these 12 decimals."""
    found = enclose(model(), function, {"lam": lam, "mu": 1, "p": p}, digits=13)
    low, high = (Rational(str(end)) for end in (found.value.lower, found.value.upper))
    inside, stated = Domain(mean >= low, mean <= high), Rational(digits)
    return {
        **found.proved,
        "rounds down": prove(mean < stated + HALF_UNIT, inside),
        "rounds up": prove(mean > stated - HALF_UNIT, inside),
    }


@theorem("C1.2.values", source=SOURCE)
def digits_of_the_cost():
    r"""At $\mu = 1$ the cost, rounded to 12 decimals, is $J(0) = 1.426320751167$ and $J(1/2) =
    1.596560789354$ for $\lambda = 1$, and $J(0) = 0.550501032069$ for $\lambda = 1/2$.

    Each interval is that of a solution of Poisson's equation in a finite window, whose remainder
    outside an exponential test function bounds; both are in the certificate, in rational numbers.
    """
    claims = {}
    for (lam, p), digits in COSTS.items():
        for word, verdict in rounds_to(digits, J, 2 * m + d, lam, p).items():
            claims[rf"$\lambda = {lam}$, $p = {p}$, {word}"] = verdict
    return claims


@theorem("C1.2.imbalance", source=SOURCE)
def digits_of_the_imbalance():
    r"""At $\lambda = \mu = 1$ without attacks $E|D| = 0.573679248833$, rounded to 12 decimals."""
    return rounds_to("0.573679248833", E_D, d, "1", "0")
