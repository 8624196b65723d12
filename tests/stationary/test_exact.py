"""Exact laws of finite chains against published values and independent methods."""

import itertools
import pickle
from fractions import Fraction
from math import prod

import networkx as nx
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.polys.matrices import DomainMatrix

from qtheory.arithmetic import Ring, irreducible_factors
from qtheory.domain import Domain
from qtheory.errors import (
    CertificateError,
    DomainError,
    ExpressionError,
    ModelError,
    NonConservativeError,
    ReducibleError,
)
from qtheory.formulas import text_of
from qtheory.model import Model, RateTable, Transition, rate_table, table_from_matrix
from qtheory.stationary import ExactLaw, exact_law, stationary, table_at
from qtheory.stationary.exact.elimination import minimum_degree_order, polynomial_weights
from qtheory.stationary.exact.law import primitive
from qtheory.stationary.exact.primitive_rows import primitive_row_weights
from qtheory.stationary.exact.solve import require_balance
from qtheory.systems import shorter_queue as sq

lam, mu, p = sp.symbols("lambda mu p", positive=True)
m, d = sp.symbols("m d", integer=True, nonnegative=True)
n = sp.Symbol("n", integer=True, nonnegative=True)

SHORTER_QUEUE = Model(
    (m, d),
    Domain(p <= 1, stable=lam < 2 * mu),
    [
        Transition(lam, (0, 1), when=sp.Eq(d, 0)),
        Transition(2 * mu, (-1, 1), when=sp.Eq(d, 0) & (m >= 1)),
        Transition(lam * (1 - p / 2), (1, -1), when=d >= 1),
        Transition(lam * p / 2, (0, 1), when=d >= 1),
        Transition(mu, (0, -1), when=d >= 1),
        Transition(mu, (-1, 1), when=(d >= 1) & (m >= 1)),
    ],
)


def mm1(capacity: int) -> ExactLaw:
    queue = Model(n, Domain(), [Transition(lam, +1), Transition(mu, -1, when=n >= 1)])
    return stationary(queue, box=capacity)


def numeric_table(rates: dict[tuple[int, int], Fraction], size: int) -> RateTable:
    ring = Ring(())
    rows: list[dict] = [{} for _ in range(size)]
    for (i, j), rate in rates.items():
        if i != j and rate:
            rows[i][j] = ring.number(Fraction(rate))
    return RateTable(tuple(range(size)), ring, tuple(rows))


def tree_weights(rates: dict[tuple[int, int], Fraction], size: int) -> list[Fraction]:
    """The Markov chain tree theorem by enumeration of the spanning in-trees."""
    weights = []
    for root in range(size):
        others = [i for i in range(size) if i != root]
        total = Fraction(0)
        for targets in itertools.product(range(size), repeat=len(others)):
            parent = dict(zip(others, targets, strict=True))
            if all(_reaches(parent, i, root, size) for i in others):
                total += prod(rates.get((i, j), Fraction(0)) for i, j in parent.items())
        weights.append(total)
    return weights


def _reaches(parent: dict[int, int], i: int, root: int, size: int) -> bool:
    for _ in range(size):
        if i == root:
            return True
        i = parent[i]
    return False


rational = st.fractions(min_value=Fraction(1, 20), max_value=50, max_denominator=20)


@st.composite
def irreducible(draw, largest: int = 6):
    """A cycle through all states plus random further transitions."""
    size = draw(st.integers(2, largest))
    rates = {(i, (i + 1) % size): draw(rational) for i in range(size)}
    extra = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    for pair in draw(st.lists(extra, max_size=8)):
        if pair[0] != pair[1]:
            rates[pair] = draw(rational)
    return rates, size


# --- published and hand-known values ---


@pytest.mark.parametrize("capacity", [1, 2, 5, 10])
def test_mm1k_is_truncated_geometric(capacity):
    law = mm1(capacity)
    weights = [lam**k * mu ** (capacity - k) for k in range(capacity + 1)]
    for k in range(capacity + 1):
        assert sp.cancel(law[k] - weights[k] / sum(weights)) == 0
    assert law[(0,)] == law[0]


@pytest.mark.parametrize("capacity", [1, 4, 9])
def test_mm1k_at_rho_one_is_uniform(capacity):
    # summation by formula divides by 1 - rho and leaves a hole there (sympy#14129)
    law = mm1(capacity)
    assert set(law.at({lam: 3, mu: 3}).values()) == {Fraction(1, capacity + 1)}
    assert law.subs({lam: 2}).subs({mu: 2}).expect(n) == sp.Rational(capacity, 2)


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_erlang_loss_formula(servers):
    queue = Model(n, Domain(), [Transition(lam, +1), Transition(n * mu, -1, when=n >= 1)])
    law = stationary(queue, box=servers)
    load = lam / mu
    terms = [load**k / sp.factorial(k) for k in range(servers + 1)]
    assert sp.cancel(law[servers] - terms[-1] / sum(terms)) == 0
    # Little: E[X] = load (1 - blocking)
    assert sp.cancel(law.expect(n) - load * (1 - law[servers])) == 0


def test_three_states_in_the_row_convention():
    # openturns#2673: columns for rows gives a transposed answer
    half, third = sp.Rational(1, 2), sp.Rational(1, 3)
    chain = [[0, 1, 0], [third, third, third], [0, 1 - half, half]]
    table = table_from_matrix(chain, time="discrete")
    assert stationary(table).at({}) == {0: Fraction(1, 6), 1: Fraction(1, 2), 2: Fraction(1, 3)}


def test_two_independent_queues_have_product_form():
    a, b = sp.symbols("a b", positive=True)
    law = stationary(
        Model(
            (m, d),
            Domain(),
            [
                Transition(lam, (1, 0)),
                Transition(mu, (-1, 0), when=m >= 1),
                Transition(a, (0, 1)),
                Transition(b, (0, -1), when=d >= 1),
            ],
        ),
        box=(2, 3),
    )
    first = mm1(2)
    second = mm1(3)
    for i, j in itertools.product(range(3), range(4)):
        other = second[j].subs({lam: a, mu: b})
        assert sp.cancel(law[(i, j)] - first[i] * other) == 0


def test_shorter_queue_identities_on_a_large_window():
    # I1: P(D = 0) = (2mu - p lam)/(2mu + (2-p) lam), J(1/2) = 1.596560789354 at lam = mu = 1
    law = stationary(SHORTER_QUEUE, 24, where=m + d <= 24, at={lam: 1, mu: 1, p: "1/2"})
    assert abs(float(law.evaluate(2 * m + d)) - 1.596560789354) < 1e-7
    assert abs(float(law.probability(sp.Eq(d, 0))) - 1.5 / 3.5) < 1e-7


def test_nearly_decomposable_chain_is_exact():
    # Kandori, Mailath, Rob: eigenvalue solvers lose the law as epsilon -> 0 (QuantEcon.py#79)
    epsilon = sp.Symbol("epsilon", positive=True)
    chain = sp.Matrix(
        [
            [-epsilon, epsilon, 0, 0],
            [1, -1 - epsilon**2, epsilon**2, 0],
            [0, epsilon**3, -1 - epsilon**3, 1],
            [0, 0, epsilon, -epsilon],
        ]
    )
    law = stationary(chain)
    assert sp.cancel(law[1] / law[0] - epsilon) == 0
    assert sp.cancel(law[2] / law[1] - 1 / epsilon) == 0
    assert sp.cancel(law[3] / law[2] - 1 / epsilon) == 0
    tiny = law.at({epsilon: Fraction(1, 10**30)})
    assert sum(tiny.values()) == 1
    assert tiny[1] / tiny[0] == Fraction(1, 10**30)


# --- independent methods ---


@given(irreducible(largest=5))
@settings(max_examples=60, deadline=None)
def test_markov_chain_tree_theorem(chain):
    rates, size = chain
    weights = tree_weights(rates, size)
    law = exact_law(numeric_table(rates, size)).at({})
    assert [law[i] for i in range(size)] == [w / sum(weights) for w in weights]


@given(irreducible(largest=4), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_symbolic_numerators_are_tree_sums(chain, random):
    rates, size = chain
    symbols = {edge: sp.Symbol(f"q_{edge[0]}_{edge[1]}") for edge in rates}
    matrix = sp.zeros(size, size)
    for (i, j), symbol in symbols.items():
        matrix[i, j] = symbol
        matrix[i, i] -= symbol
    law = stationary(matrix)
    assert all(coefficient > 0 for w in law.numerators for coefficient in w.coeffs())
    point = {symbol: Fraction(random.randint(1, 9)) for symbol in symbols.values()}
    weights = tree_weights({edge: point[s] for edge, s in symbols.items()}, size)
    assert list(law.at(point).values()) == [w / sum(weights) for w in weights]
    # no tree is lost: at ones the numerators count the trees, up to one common factor
    ones = dict.fromkeys(point, 1)
    counts = tree_weights({edge: Fraction(1) for edge in symbols}, size)
    assert list(law.at(ones).values()) == [c / sum(counts) for c in counts]


@pytest.mark.parametrize("capacity", [1, 2])
def test_against_sympy_nullspace(capacity):
    table = rate_table(SHORTER_QUEUE, capacity, where=m + d <= capacity)
    law = exact_law(table)
    size = len(law)
    generator = sp.zeros(size, size)
    for i, row in enumerate(table.rows):
        for j, rate in row.items():
            generator[i, j] += table.ring.expression(rate)
            generator[i, i] -= table.ring.expression(rate)
    vector = DomainMatrix.from_Matrix(generator.T).to_field().nullspace().to_Matrix()
    for k, state in enumerate(law):
        assert sp.cancel(vector[k] / sum(vector) - law[state]) == 0


@given(st.integers(1, 8), st.integers(1, 8), st.fractions(0, 1, max_denominator=9))
@settings(max_examples=20, deadline=None)
def test_symbolic_law_at_a_point_is_the_rational_law(arrival, service, misrouted):
    table = rate_table(SHORTER_QUEUE, 3, where=m + d <= 3)
    point = {lam: arrival, mu: service, p: misrouted}
    assert exact_law(table).at(point) == exact_law(table_at(table, point)).at({})


@given(irreducible(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_relabelling_the_states_permutes_the_law(chain, random):
    rates, size = chain
    order = list(range(size))
    random.shuffle(order)
    moved = {(order[i], order[j]): rate for (i, j), rate in rates.items()}
    law = exact_law(numeric_table(rates, size)).at({})
    other = exact_law(numeric_table(moved, size)).at({})
    assert all(other[order[i]] == law[i] for i in range(size))


@given(irreducible(), rational)
@settings(max_examples=40, deadline=None)
def test_scaling_all_rates_changes_nothing(chain, factor):
    rates, size = chain
    scaled = {edge: factor * rate for edge, rate in rates.items()}
    assert exact_law(numeric_table(rates, size)) == exact_law(numeric_table(scaled, size))


@given(irreducible(), st.data())
@settings(max_examples=40, deadline=None)
def test_slowing_one_state_divides_its_weight(chain, data):
    rates, size = chain
    slow, factor = data.draw(st.integers(0, size - 1)), data.draw(rational)
    changed = {(i, j): rate * (factor if i == slow else 1) for (i, j), rate in rates.items()}
    law = exact_law(numeric_table(rates, size)).at({})
    other = exact_law(numeric_table(changed, size)).at({})
    weights = {i: value / (factor if i == slow else 1) for i, value in law.items()}
    assert other == {i: value / sum(weights.values()) for i, value in weights.items()}


def test_nested_fractions_as_rates():
    # sympy#19920: nested fractions are cleared row by row before the elimination
    a, b, c = sp.symbols("a b c", positive=True)
    rate = 1 / (1 / a + 1 / (b + 1 / c))
    law = stationary([[-rate, rate, 0], [a / b, -a / b - c, c], [0, 1 / c, -1 / c]])
    weights = [a / b / c, rate / c, rate * c]
    for k in range(3):
        assert sp.cancel(law[k] - weights[k] / sum(weights)) == 0


def test_nonnegative_coefficients_in_every_numerator():
    # with q = 1 - p/2 as a symbol of its own, all rates have nonnegative coefficients
    q = sp.Symbol("q", positive=True)
    transitions = [
        Transition(t.rate.subs(1 - p / 2, q).subs(p / 2, p), t.jump, t.when)
        for t in SHORTER_QUEUE.transitions
    ]
    law = stationary(Model((m, d), Domain(), transitions), 4, where=m + d <= 4)
    assert all(coefficient > 0 for weight in law.numerators for coefficient in weight.coeffs())


def test_numerators_have_no_common_factor():
    law = stationary(SHORTER_QUEUE, 3, where=m + d <= 3)
    common = law.numerators[0]
    for numerator in law.numerators:
        common = common.gcd(numerator)
    assert common.is_one()


def test_both_eliminations_agree():
    table = rate_table(SHORTER_QUEUE, 4, where=m + d <= 4)
    two = table.ring.context.constant(2)
    rows = [{j: rate.num * (two / rate.den) for j, rate in row.items()} for row in table.rows]
    context, order = table.ring.context, minimum_degree_order(rows)
    minors = primitive(polynomial_weights(rows, context))
    assert primitive(primitive_row_weights(rows, context, order)) == minors
    assert primitive(primitive_row_weights(rows, context, order[::-1])) == minors


def test_long_polynomials_switch_the_elimination(monkeypatch):
    law = stationary(SHORTER_QUEUE, 4, where=m + d <= 4)
    monkeypatch.setattr("qtheory.stationary.exact.elimination.MINOR_LIMIT", 10)
    assert stationary(SHORTER_QUEUE, 4, where=m + d <= 4) == law


def test_ring_with_one_symbol_for_each_rate():
    size = 12
    clockwise, back = sp.symbols(f"a:{size}"), sp.symbols(f"b:{size}")
    graph = nx.DiGraph()
    for i in range(size):
        graph.add_edge(i, (i + 1) % size, rate=clockwise[i])
        graph.add_edge(i, (i - 1) % size, rate=back[i])
    law = stationary(graph)
    # the in-trees of a cycle leave out one of its edges
    assert {len(numerator) for numerator in law.numerators} == {size}


def test_long_chains():
    assert len(mm1(400).numerators[200]) == 1
    law = stationary(SHORTER_QUEUE, 20, where=m + d <= 20, at={lam: 1, mu: 1, p: 1})
    assert sum(law.at({}).values()) == 1


# --- what the law can do ---


def test_expectations():
    law = mm1(2)
    cost = sp.Symbol("c")
    assert sp.cancel(law.expect(cost * n) - cost * law.expect(n)) == 0
    assert law.expect(1) == 1
    assert sp.cancel(law.expect("n^2/mu") - (law[1] + 4 * law[2]) / mu) == 0
    assert sp.cancel(law.expect(lambda s: s[0]) - law.expect(n)) == 0
    assert sp.cancel(law.expect(sp.Max(n, 1)) - law.expect(n) - law[0]) == 0
    assert law.ring.expression(law.expect_ratio(n)) == sp.cancel(law.expect(n))
    assert sp.cancel(law.probability(n >= 1) - law[1] - law[2]) == 0
    assert sp.cancel(law.probability(lambda s: s[0] == 2) - law[2]) == 0
    assert law.probability((1,)) == law[1]


def test_evaluate_proves_digits():
    law = mm1(2)
    value = law.evaluate(n, {"lam": 1, "mu": 3}, digits=30)
    assert value.is_exact and value.lower == Fraction(5, 13)
    root = law.evaluate(sp.sqrt(n), {"lam": 1, "mu": 1}, digits=40)
    assert str(root).startswith("0.804737854124365")
    assert not root.is_exact


def test_substitution_of_some_parameters():
    law = stationary(SHORTER_QUEUE, 3, where=m + d <= 3)
    partial = law.subs({p: "1/3", mu: 2})
    assert partial.parameters == (lam,)
    assert partial.at({lam: "5/7"}) == law.at({lam: "5/7", mu: 2, p: "1/3"})


def test_pickling_round_trip():
    law = stationary(SHORTER_QUEUE, 3, where=m + d <= 3)
    copy = pickle.loads(pickle.dumps(law))
    assert copy == law and hash(copy) == hash(law)
    assert copy.expect(m + d) == law.expect(m + d)
    assert copy != law.subs({p: 1})


def test_a_hundred_states_can_be_shown():
    # sympy#25208: a solved system that can be neither printed nor evaluated
    queue = Model(n, Domain(), [Transition(lam + p, +1), Transition(mu, -1, when=n >= 1)])
    law = stationary(queue, box=99)
    assert len(law) == 100
    text = law.latex(terms=3, rows=5)
    assert r"\cdots" in text and r"\vdots" in text and "95 more states" in text
    assert len(text) < 4000 and len(repr(law)) < 4000
    assert law._repr_latex_().startswith("$")
    assert sum(law.at({lam: 1, mu: 2, p: 1}).values()) == 1
    assert law.subs({lam: 1, mu: 2}).evaluate(n, {p: 5}).is_exact


def test_latex_of_named_states():
    law = stationary(table_from_matrix([[-1, 1], [2, -2]], states=["idle", (0, 1)]))
    assert r"\pi_{\text{idle}} &= \tfrac{1}{Z}\,\bigl(2\bigr)" in law.latex()
    assert r"\pi_{0, 1}" in law.latex()


def test_numerator_texts_are_readable_formulas():
    law = mm1(1)
    assert [text_of(law.ring.expression(w)) for w in law.numerators] == ["mu", "lam"]


@pytest.mark.parametrize("point", [{lam: 2, mu: 3, p: 1}, {lam: "2/3", mu: "5/7", p: "1/11"}])
def test_the_law_at_a_point_by_substitution(point):
    law = stationary(SHORTER_QUEUE, 3, where=m + d <= 3)
    values = {symbol: sp.Rational(value) for symbol, value in point.items()}
    for state, probability in law.at(point).items():
        assert sp.Rational(probability.numerator, probability.denominator) == law[state].subs(
            values
        )


def test_marginals_and_tails():
    law = stationary(SHORTER_QUEUE, 3, where=m + d <= 3)
    for variable in (m, d):
        marginal, tail = law.marginal(variable), law.tail(str(variable))
        assert list(marginal) == list(tail) == [0, 1, 2, 3]
        assert tail[0] == 1 and tail[3] == marginal[3]
        for k in range(4):
            assert sp.cancel(marginal[k] - law.probability(sp.Eq(variable, k))) == 0
            assert sp.cancel(tail[k] - law.probability(variable >= k)) == 0
        # E[X] is the sum of P(X >= k) over k >= 1
        assert sp.cancel(law.expect(variable) - tail[1] - tail[2] - tail[3]) == 0
    with pytest.raises(ModelError, match="n is no state variable; known: m, d"):
        law.marginal(n)
    with pytest.raises(ModelError, match="known: none"):
        stationary([[-1, 1], [1, -1]]).tail(n)


def test_an_exact_law_says_so():
    law = mm1(2)
    assert (law.method, law.residual) == ("exact", 0)
    assert (law.error.value, law.error.kind) == (0, "certified")


# --- wishes and pains of users of other packages ---


def test_states_keep_their_order_and_names():
    # sympy#20026: states were sorted, and strings could not be used
    names = ["idle", ("busy", 2), "broken", 10]
    graph = nx.DiGraph()
    for k, name in enumerate(names):
        graph.add_edge(name, names[(k + 1) % 4], rate=k + 1)
    law = stationary(graph)
    assert list(law) == names
    assert list(law.at({}).values()) == [Fraction(12, 25 * (k + 1)) for k in range(4)]


def test_order_of_insertion_and_doubled_edges():
    # networkx#7021: the order of insertion is that of the states, and of nothing else
    a, b, c = sp.symbols("a b c", positive=True)
    edges = [(0, 1, a), (1, 2, b), (2, 0, c), (1, 0, c), (0, 2, a * b)]
    once = stationary(nx.DiGraph((i, j, {"rate": r}) for i, j, r in edges))
    halves = [(i, j, {"rate": r / 2}) for i, j, r in reversed(edges) for _ in range(2)]
    doubled = nx.MultiDiGraph()
    doubled.add_edges_from(halves)
    twice = stationary(doubled)
    assert list(twice) == [0, 2, 1]
    assert all(once[state] == twice[state] for state in once)


def test_floats_are_the_decimals_that_they_print():
    # symengine.py#447: floats in a symbolic elimination lose all digits
    a = sp.Symbol("a", positive=True)
    floats = stationary([[-0.1 * a, 0.1 * a], [0.3, -0.3]])
    assert floats == stationary([[-a / 10, a / 10], ["3/10", "-3/10"]])


def test_every_closed_class_is_named():
    # sympy#19011 (free symbols for an answer), jacobian#3188 (the identity as one class)
    identity = table_from_matrix(sp.eye(128), time="discrete")
    with pytest.raises(ReducibleError, match=r"128 closed classes \{0\}, \{1\}, \{2\}, \.\.\."):
        exact_law(identity)
    mixed = [[0, 0, 0], ["a", "-2*a", "a"], [0, 0, 0]]
    with pytest.raises(ReducibleError, match=r"2 closed classes \{0\}, \{2\}"):
        stationary(mixed)


def test_probabilities_sum_to_one():
    # FiniteStateProjection.jl#72: the zero vector solves the balance equations too
    law = stationary(SHORTER_QUEUE, 2, where=m + d <= 2)
    assert sp.cancel(sum(law[state] for state in law)) == 1
    assert sum(law.at({lam: 7, mu: 1, p: "1/3"}).values()) == 1
    zero = ExactLaw(law.states, law.ring, (law.numerators[0] - law.numerators[0],) * len(law))
    with pytest.raises(CertificateError, match="sum to zero"):
        require_balance(rate_table(SHORTER_QUEUE, 2, where=m + d <= 2), zero)


@given(st.lists(rational, min_size=2, max_size=5), st.data())
@settings(max_examples=30, deadline=None)
def test_reversible_chains_keep_their_law(weights, data):
    # rates s_ij / w_i with symmetric s are in detailed balance with the weights w
    size = len(weights)
    rates = {}
    for i, j in itertools.combinations(range(size), 2):
        if j == i + 1 or data.draw(st.booleans()):
            speed = data.draw(rational)
            rates[i, j], rates[j, i] = speed / weights[i], speed / weights[j]
    law = exact_law(numeric_table(rates, size)).at({})
    assert list(law.values()) == [w / sum(weights) for w in weights]


@given(irreducible(largest=4), st.permutations(range(4)))
@settings(max_examples=25, deadline=None)
def test_symbolic_laws_do_not_depend_on_labels_or_speed(chain, order):
    rates, size = chain
    x, speed = sp.symbols("x speed", positive=True)
    place = [k for k in order if k < size]
    graph, moved = nx.DiGraph(), nx.DiGraph()
    moved.add_nodes_from(sorted(range(size), key=place.__getitem__))
    for (i, j), rate in rates.items():
        symbolic = sp.Rational(rate.numerator, rate.denominator) * (x if i < j else 1)
        graph.add_edge(i, j, rate=symbolic)
        moved.add_edge(i, j, rate=symbolic * speed)
    law, other = stationary(graph), stationary(moved)
    assert all(sp.cancel(law[i] - other[i]) == 0 for i in range(size))


def test_factors_with_large_coefficients():
    # python-flint 0.9: sorting such factors overflows
    big = 2**40 + 1
    x = sp.Symbol("x", positive=True)
    law = stationary([[-(big * x + 7), big * x + 7], [x, -x]])
    assert law[0] == x / ((big + 1) * x + 7)
    squares = Ring((x,)).polynomial(sp.expand(6 * x**2 * (big * x + 7) * (3 * big * x + 5) ** 2))
    content, factors = irreducible_factors(squares)
    product = content * prod(factor**power for factor, power in factors)
    assert product == squares and sorted(power for _, power in factors) == [1, 2, 2]


# --- what must be refused ---


def test_several_closed_classes_are_refused():
    # SymPy answers with a free symbol (sympy#19011)
    with pytest.raises(ReducibleError, match=r"2 closed classes \{0, 1\}, \{2, 3\}"):
        stationary([[-1, 1, 0, 0], [1, -1, 0, 0], [0, 0, -1, 1], [0, 0, 1, -1]])
    with pytest.raises(ReducibleError, match="128 closed classes"):
        stationary(sp.zeros(128, 128))


def test_rows_that_do_not_sum_to_zero_are_refused():
    # SymPy answers (2, -1)
    with pytest.raises(NonConservativeError):
        stationary([[1, 1], [2, 2]])


def test_a_symbolic_generator_is_refused():
    # SymPy solves w G = w instead of w G = 0
    with pytest.raises((ModelError, NonConservativeError, ExpressionError)):
        stationary(sp.MatrixSymbol("G", 2, 2))


def test_transient_states_have_probability_zero():
    law = stationary([["-a", "a", 0], [0, "-b", "b"], [0, "c", "-c"]])
    assert law[0] == 0
    assert law.at({"a": 1, "b": 1, "c": 3}) == {0: 0, 1: Fraction(3, 4), 2: Fraction(1, 4)}
    absorbing = stationary([["-a", "a"], [0, 0]])
    assert (absorbing[0], absorbing[1]) == (0, 1)


def test_one_state():
    assert stationary([[0]])[0] == 1


def test_rates_that_cancel_are_refused():
    x = sp.Symbol("x")
    with pytest.raises(ModelError, match="cancel"):
        stationary([[-3, 1, 1, 1], [1, -3, 1, 1], [1, 1, -3, 1], [x, -x, 0, 0]])


def test_points_and_states_that_do_not_exist():
    law = mm1(2)
    with pytest.raises(DomainError, match="unknown parameter nu; known: lambda, mu"):
        law.at({lam: 1, mu: 1, "nu": 1})
    with pytest.raises(DomainError, match="no value given for mu"):
        law.at({lam: 1})
    with pytest.raises(ReducibleError, match=r"no unique stationary law: 3 closed classes \{\(0,"):
        law.at({lam: 0, mu: 0})
    with pytest.raises(DomainError, match=r"rate from state \(0,\) to state \(1,\) is -1 < 0"):
        law.at({lam: -1, mu: 3})
    with pytest.raises(ReducibleError, match="no unique stationary law"):
        law.subs({lam: 0, mu: 0})
    with pytest.raises(DomainError, match="unknown parameter"):
        law.subs({"nu": 0})
    with pytest.raises(DomainError, match="no state 7"):
        law[7]
    with pytest.raises(ExpressionError, match="no variables"):
        stationary([[-1, 1], [1, -1]]).expect(n)


def test_a_wrong_law_fails_the_balance():
    table = rate_table(SHORTER_QUEUE, 2, where=m + d <= 2)
    law = exact_law(table)
    swapped = (law.numerators[1], law.numerators[0], *law.numerators[2:])
    with pytest.raises(CertificateError, match="do not balance"):
        require_balance(table, ExactLaw(law.states, law.ring, swapped))


def test_points_where_a_rate_is_no_rate():
    table = rate_table(SHORTER_QUEUE, 2, where=m + d <= 2)
    with pytest.raises(DomainError, match="< 0"):
        table_at(table, {lam: 1, mu: 1, p: 3})
    with pytest.raises(DomainError, match="unknown parameter q"):
        table_at(table, {lam: 1, mu: 1, p: 1, "q": 1})
    fraction = table_from_matrix([["-1/x", "1/x"], [1, -1]])
    with pytest.raises(DomainError, match="undefined"):
        table_at(fraction, {"x": 0})


def test_a_point_at_which_the_chain_falls_apart_has_no_law():
    # the weights b, b, a do not show that the rates between the first two states can vanish
    law = stationary([["-e", "e", 0], ["e", "-a-e", "a"], [0, "b", "-b"]])
    fallen = r"no unique stationary law: 2 closed classes \{0\}, \{1, 2\}"
    for ask in (law.at, law.subs, lambda point: law.evaluate(lambda state: 1, point)):
        with pytest.raises(ReducibleError, match=fallen):
            ask({"a": 1, "b": 1, "e": 0})
    with pytest.raises(ReducibleError, match=fallen):
        pickle.loads(pickle.dumps(law)).subs({"e": 0})
    # with a = 0 state 2 is only left for good
    assert law.at({"a": 0, "b": 1, "e": 1}) == {0: Fraction(1, 2), 1: Fraction(1, 2), 2: 0}
    absorbing = stationary([["-e", "e", 0], [0, "-a", "a"], [0, 0, 0]])
    with pytest.raises(ReducibleError, match=r"closed classes \{0\}, \{2\}"):
        absorbing.at({"a": 1, "e": 0})


def test_rates_that_are_no_rates_at_a_point_have_no_law():
    law = stationary([["-a", "a"], ["b", "-b"]])
    # both negative: the weights b and a would sum to a law
    for ask in (law.at, law.subs):
        with pytest.raises(DomainError, match="the rate from state 0 to state 1 is -1 < 0"):
            ask({"a": -1, "b": -1})
    with pytest.raises(DomainError, match="the rate from state 1 to state 0 is -2 < 0"):
        law.subs({"b": -2})
    quotient = stationary([["-1/(a-b)", "1/(a-b)"], ["b", "-b"]])
    with pytest.raises(DomainError, match="the rate from state 0 to state 1 is undefined"):
        quotient.at({"a": 1, "b": 1})
    assert quotient.subs({"b": 1}).at({"a": 3})[0] == Fraction(2, 3)


def test_probabilities_above_one_at_a_point_have_no_law():
    steps = stationary([["1-a", "a"], ["b", "1-b"]])
    assert steps.at({"a": 1, "b": 1}) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    for ask in (steps.at, steps.subs):
        with pytest.raises(NonConservativeError, match="the row of state 0 sums to 2 > 1"):
            ask({"a": 2, "b": 1})
    with pytest.raises(NonConservativeError):
        stationary([["1-a", "a"], ["b", "1-b"]], at={"a": 2, "b": 1})
    walk = Model(
        n,
        Domain(lam + mu <= 1),
        [Transition(lam, +1), Transition(mu, -1, when=n >= 1)],
        time="discrete",
    )
    with pytest.raises(NonConservativeError, match=r"state \(1,\) sums to 7/6 > 1"):
        stationary(walk, box=2).at({lam: "2/3", mu: "1/2"})


def test_events_name_state_variables():
    law = mm1(3)
    for event in (n >= lam, "foo >= 1"):
        with pytest.raises(ExpressionError, match="is no state variable; known: n"):
            law.probability(event)


def test_the_weights_of_the_shorter_queue_are_shown_positive():
    law = exact_law(rate_table(sq.model(), 1))
    assert str(law).splitlines()[1].split() == ["(0,", "0)", "4*mu**3"]
