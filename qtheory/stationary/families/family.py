"""Closed forms for families of finite chains, in the state n and the size K, proved for all K."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp

from qtheory.arithmetic import exact, parameters
from qtheory.domain import Domain
from qtheory.errors import CertificateError, ModelError
from qtheory.model.model import Model, Transition
from qtheory.model.rates import rate_table
from qtheory.stationary.families.exponential import exponential_law
from qtheory.stationary.families.law import Edge, Family, FamilyLaw
from qtheory.stationary.families.product import product_law


def family(
    chain: Model | Sequence[Transition],
    size: sp.Symbol,
    state: sp.Symbol | None = None,
    boundary: Edge = "drop",
) -> FamilyLaw:
    """The stationary law of a chain on 0, ..., K, for every K at once.

    The chain is a `Model` on the naturals, or a list of transitions with the name of their state
    variable; then the rates may contain K, as (K - n) lambda does. It is cut at K: a move out of
    0, ..., K is not made (``boundary="drop"``), ends at the nearest state (``"redirect"``), or
    goes round a ring of K + 1 states (``"wrap"``).

    *Birth-death chains*, with rates that are polynomials in the state from some state on:
    P(n) = P(0) b_0 ... b_{n-1} / (d_1 ... d_n) is hypergeometric in n. Its sums are closed by
    telescoping identities (Gosper, PNAS 75, 1978, here with polynomial certificates), by the
    binomial theorem or by the Chu-Vandermonde identity. Other sums, such as the one of Erlang's
    loss formula, stay finite sums. *Other jumps*, with rates that are constant from some state
    on: P(n) is a sum of n^m x^n over the roots x of the characteristic polynomial, and the
    equations at the ends are solved with the powers x^K as symbols. Every identity is checked in
    exact arithmetic as one of rational functions, so for all n and K at once.

    >>> from qtheory.domain import Domain
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> K = sp.Symbol("K", integer=True, positive=True)
    >>> queue = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    >>> law = family(queue, K)
    >>> law.pmf(0)
    Piecewise(((-lambda + mu)/(mu*(1 - (lambda/mu)**(K + 1))), Ne(lambda, mu)), (1/(K + 1), True))
    >>> law.at({lam: 2, mu: 2, K: 3})[3]
    Fraction(1, 4)
    >>> machines = [Transition((K - n)*lam, +1), Transition(n*mu, -1)]
    >>> family(machines, K, n).mean()
    K*lambda/(lambda + mu)
    >>> walk = [Transition(lam, +1), Transition(mu, -1)]
    >>> family(walk, K, n, boundary="wrap")
    stationary law on n = 0, ..., K, for every K >= 1
      pi(n) = 1/(K + 1)

    Raises `ModelError` where no formula of these kinds is known: a rate whose zeros are not
    rational, a death rate that is not seen to be positive, roots that are not rational in the
    parameters. Raises `ReducibleError` for several closed classes.
    """
    found = _read(chain, size, state, boundary)
    jumps = {t.jump[0] for t in found.transitions}
    # for steps of one, a move that is redirected to where it started is one that is not made
    one_step = boundary != "wrap" and jumps <= {-1, 1}
    law = product_law(found) if one_step else exponential_law(found)
    require_members(law)
    return law


def require_members(law: FamilyLaw) -> None:
    """Check pi Q = 0 for three sizes at a point of the domain; `CertificateError` where it fails.

    This is beside the proof: it shares nothing with the way in which the formulas were found.
    Building the members also tries the signs of their rates at points of the domain.
    """
    point = law.family.domain.sample(1)[0] if law.parameters else {}
    for size in (law.least, law.least + 1, law.least + 4):
        table = rate_table(law.instance(size), at=point)
        pi = list(law.at({**point, law.size: size}).values())
        balance = [Fraction(0)] * len(pi)
        for i, row in enumerate(table.rows):
            for j, rate in row.items():
                flow = pi[i] * exact(table.ring.expression(rate))
                balance[i] -= flow
                balance[j] += flow
        if any(balance) or sum(pi) != 1:
            raise CertificateError(f"the formula is no law for {law.size} = {size} at {point}")


def _read(
    chain: Model | Sequence[Transition], size: sp.Symbol, state: sp.Symbol | None, boundary: Edge
) -> Family:
    if not (isinstance(size, sp.Symbol) and size.is_integer and size.is_nonnegative):
        raise ModelError(f"the size {size} must be a symbol with integer=True, positive=True")
    if boundary not in ("drop", "redirect", "wrap"):
        raise ModelError(f"boundary must be 'drop', 'redirect' or 'wrap', got {boundary!r}")
    if isinstance(chain, Model):
        if len(chain.state) != 1 or chain.ranges[0].high is not None:
            raise ModelError("a family needs a model with one state variable on the naturals")
        (variable,), (low, _) = chain.state, chain.ranges[0]
        transitions = chain.transitions
        conditions = [c for c in chain.domain.conditions if c not in chain.domain.stability]
        symbols: Sequence[sp.Symbol] = chain.domain.symbols
    else:
        if state is None or not state.is_integer:
            raise ModelError("transitions need the name of their integer state variable")
        variable, transitions = state, tuple(chain)
        low = 1 if state.is_positive else 0 if state.is_nonnegative else None
        conditions, symbols = [], parameters(*(t.rate for t in transitions))
    if variable.name == size.name:
        raise ModelError(f"{size} is both the state and the size")
    if low is None or low < 0 or not transitions:
        raise ModelError(f"{variable} must range over the naturals and have transitions")
    own = {variable.name: variable, size.name: size}
    mixed = [c for c in conditions if len({s.name for s in c.free_symbols} - {size.name})]
    for condition in mixed:
        if size.name in {s.name for s in condition.free_symbols}:
            raise ModelError(f"the condition {condition} depends on the size")
    domain = Domain(*mixed, symbols=[s for s in symbols if s.name not in own])
    own |= {s.name: s for s in domain.symbols}
    named = tuple(
        Transition(t.rate.xreplace({s: own[s.name] for s in t.rate.free_symbols}), t.jump, t.when)
        for t in transitions
    )
    return Family(variable, size, domain, named, int(low), boundary)
