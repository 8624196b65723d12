"""One queue with a server of its own: its stationary law, its ages, and its growth from empty."""

from fractions import Fraction

from _evidence import seen
from sympy import Add, Eq, Ge, Le, Lt, Symbol, binomial

from qtheory import Domain, prove, stationary, theorem
from qtheory.learning import single_queue as sq

lam, mu = sq.lam, sq.mu
t = Symbol("t", positive=True)
PI = Fraction(333, 106), Fraction(355, 113)


def same(left, right, on):
    return prove(Eq(left, right, evaluate=False), on)


@theorem("C3.5")
def stationary_law_of_one_queue():
    r"""For $\lambda < \mu$ the size is geometric, $P(Q = q) = (1 - \rho)\rho^q$ for $q >= 0$ with
    $\rho = \lambda(1-\mu)/(\mu(1-\lambda))$, so $E[Q] = \lambda(1-\mu)/(\mu-\lambda)$ and
    $Var[Q] = \lambda(1-\lambda)\mu(1-\mu)/(\mu-\lambda)^2$.

    The law is derived from the model and compared with the formulas. The balance across the cut
    between $q$ and $q + 1$ is the same for all $q$.
    """
    law = stationary(sq.model())
    return {
        "idle": same(law.pmf(0), sq.pmf(0), sq.domain),
        "ratio": same(law.tail(1), sq.ratio, sq.domain),
        "mean": same(law.mean(), sq.mean, sq.domain),
        "variance": same(law.variance(), sq.variance, sq.domain),
        "balance of all levels": same(sq.ratio * mu * (1 - lam), lam * (1 - mu), sq.domain),
    }


@theorem("C3.5.age")
def stationary_law_of_the_age():
    r"""The signed age $Y = t - T'_t$ has $P(Y = y) = A r^y$ for $y >= 0$ and $P(Y = -k) = A (1 -
    \lambda)^k$ for $k >= 1$, with $r = (1-\mu)/(1-\lambda)$ and $A =
    \lambda(\mu-\lambda)/(\mu(1-\lambda))$. The queue can send with probability $\lambda/\mu$, and
    $E[T] = E[Q]/\mu$.

    $Y$ grows by 1, and by $1 - X$ with $X$ geometric when its packet is served. Powers of $r$ and
    of $1 - \lambda$ that both sides share are divided out, so that one equation is for all $y >=
    1$ and one for all $y <= 0$.
    """
    claims = {label: prove(claim, sq.domain) for label, claim in sq.signed_age_balance().items()}
    return claims | {"$E[T] = E[Q]/\\mu$": same(sq.age_mean, sq.mean / mu, sq.domain)}


def chain_means(last):
    """E[Q_1], ..., E[Q_last] from the chain, as polynomials in the rates."""
    up, down = lam * (1 - mu), mu * (1 - lam)
    law, means = {0: 1 + 0 * lam}, []
    for _ in range(last):
        following = {}
        for size, chance in law.items():
            falls = down if size else 0
            for step, rate in ((1, up), (-1, falls), (0, 1 - up - falls)):
                if rate != 0:
                    following.setdefault(size + step, []).append(chance * rate)
        law = {size: Add(*parts).expand() for size, parts in following.items()}
        means.append(Add(*(size * chance for size, chance in law.items())).expand())
    return means


def spitzer(last):
    """sum over k <= last of E[(Bin(k, lambda) - Bin'(k, mu))^+] / k."""

    def chance(k, j, rate):
        return binomial(k, j) * rate**j * (1 - rate) ** (k - j)

    return Add(
        *(
            (i - j) * chance(k, i, lam) * chance(k, j, mu) / k
            for k in range(1, last + 1)
            for i in range(k + 1)
            for j in range(i)
        )
    )


@theorem("C3.6.chain")
def growth_from_empty_at_small_times():
    r"""For $t <= 4$ and all rates, stable or not, $E[Q_t] = \sum_{k <= t} E[(Bin(k, \lambda) -
    Bin'(k, \mu))^+]/k$.

    The left side is computed from the chain, the right side as it stands.
    """
    rates = Domain(lam <= 1, mu <= 1)
    return {f"$t = {k}$": same(mean, spitzer(k), rates) for k, mean in enumerate(chain_means(4), 1)}


@theorem("C3.6", given="the identity of Spitzer (1956) for the maximum of a random walk")
def growth_from_empty_at_rates_one_half():
    r"""For $\lambda = \mu = 1/2$ and every $t$, $E[Q_t] = ((2t + 1) u_t - 1)/2$ with $u_t = C(2t,
    t)/4^t$.

    $Q$ is a Lindley walk with the steps $B - V$. The $k$-th term of Spitzer's sum is $u_k/2$, and
    $(2t + 1) u_t - (2t - 1) u_{t-1} = u_t$, where $u_t/u_{t-1} = (2t-1)/(2t)$; both sides of the
    claim are divided by $u_{t-1}$.
    """
    return prove(sq.half_telescopes(), Domain(t >= 1))


@theorem("C3.7", given=r"$t u_t^2 \to 1/\pi$ (Wallis)")
def critical_growth_at_rates_one_half():
    r"""For $\lambda = \mu = 1/2$ and every $t >= 1$, $\sqrt{(t + 1/2)/\pi} - 1/2 <= E[Q_t] <=
    \sqrt{(t + 1)/\pi} - 1/2$.

    $(t + 1/2) u_t^2$ falls and $(t + 1/4) u_t^2$ grows to $1/\pi$, so that $u_t$ lies between
    $(\pi (t + 1/2))^{-1/2}$ and $(\pi (t + 1/4))^{-1/2}$. Put this into $E[Q_t] = (t + 1/2) u_t -
    1/2$. In the first two claims $u_t^2/u_{t-1}^2 = (2t-1)^2/(2t)^2$.
    """
    step = ((2 * t - 1) / (2 * t)) ** 2
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    times = Domain(t >= 1)
    return {
        "falls": prove(Le((t + half) * step, t - half, evaluate=False), times),
        "grows": prove(Ge((t + quarter) * step, t - 1 + quarter, evaluate=False), times),
        "upper bound": prove(Le((t + half) ** 2, (t + 1) * (t + quarter), evaluate=False), times),
    }


@theorem("C3.7.general", expected="supported")
def critical_growth():
    r"""For $\lambda = \mu = p < 1$, $E[Q_t] = 2\sqrt{p(1-p)t/\pi} - 1/2 + o(1)$.

    The square root is that of a reflected random walk with variance $2p(1-p)$ per step. The
    constant $-1/2$ is only seen, in exact means.
    """
    error = Symbol("error", nonnegative=True)

    def near():
        for p in (Fraction(1, 5), Fraction(1, 3), Fraction(3, 4)):
            square = (sq.mean_at(p, p, 900) + Fraction(1, 2)) ** 2 / (4 * p * (1 - p) * 900)
            # 333/106 < pi < 355/113
            yield all(abs(square * pi - 1) < Fraction(1, 500) for pi in PI)

    where = "p = 1/5, 1/3, 3/4 at t = 900: relative error of (E[Q_t] + 1/2)^2 against 4p(1-p)t/pi"
    return seen(Lt(error, Fraction(1, 500), evaluate=False), near(), where)
