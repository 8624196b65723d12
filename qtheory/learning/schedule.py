"""A randomised central schedule that stabilises every feasible system, in rational numbers.

Weak majorisation gives service probabilities y >= lambda + eps with y majorised by mu; a doubly
stochastic P with P mu = y comes from T-transforms (Hardy, Littlewood, Polya 1934), and is a mixture
of permutations (Birkhoff 1946, von Neumann 1953).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qtheory.arithmetic import exact
from qtheory.errors import DomainError, UnstableError
from qtheory.learning.feasibility import feasibility, sorted_rates

if TYPE_CHECKING:
    from qtheory.learning.central import RandomisedSchedule

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, repr=False)
class Schedule:
    """In each step, independently, the queues are sent to servers by a random assignment.

    ``assignments[r][i]`` is the server of queue i, or -1 where it stays silent, with probability
    ``weights[r]``. `clearing` are the probabilities y_i that queue i, if it has a packet, is
    served in a step. `mixing` is the doubly stochastic P with P mu = y, for the queues and the
    first n servers in decreasing order of their rates. Indices count from 0, the text from 1.
    """

    lam: tuple[Fraction, ...]
    mu: tuple[Fraction, ...]
    margin: Fraction
    clearing: tuple[Fraction, ...]
    mixing: Matrix
    weights: tuple[Fraction, ...]
    assignments: tuple[tuple[int, ...], ...]

    @property
    def mean_sizes(self) -> tuple[Fraction, ...]:
        """E[Q^i] = lambda_i (1 - y_i) / (y_i - lambda_i) in steady state.

        Each queue is served with probability y_i, independently over time, as if it were alone.
        """
        return tuple(x * (1 - y) / (y - x) for x, y in zip(self.lam, self.clearing, strict=True))

    @property
    def largest_count(self) -> int:
        """A bound on the number of permutations: |supp P| - 2n + c + 1 <= (n - 1)^2 + 1.

        c is the number of components of the bipartite graph of the support. The doubly stochastic
        matrices on the support have dimension |supp P| - 2n + c, and each permutation that is
        taken out leaves a smaller face.
        """
        support = [(i, j) for i, row in enumerate(self.mixing) for j, p in enumerate(row) if p]
        return len(support) - 2 * len(self.lam) + _components(len(self.lam), support) + 1

    def scheduler(self) -> RandomisedSchedule:
        """The schedule in the form that `qtheory.learning.simulate` runs."""
        from qtheory.learning.central import RandomisedSchedule

        return RandomisedSchedule(self.weights, self.assignments)

    def __repr__(self) -> str:
        lines = [
            f"each queue is served with probability >= lambda + {self.margin}; "
            f"queues and servers count from 1"
        ]
        for i, (x, y, size) in enumerate(
            zip(self.lam, self.clearing, self.mean_sizes, strict=True), 1
        ):
            lines.append(f"  queue {i}: lambda = {x}, served with {y}, E[Q] = {size}")
        for weight, row in zip(self.weights, self.assignments, strict=True):
            shown = ", ".join("none" if j < 0 else str(j + 1) for j in row)
            lines.append(f"  with probability {weight} to the servers {shown}")
        return "\n".join(lines)

    def latex(self) -> str:
        """The doubly stochastic matrix and its product with the service rates."""
        from qtheory.show.latex import latex

        _, servers = sorted_rates(self.lam, self.mu)
        matrix = " \\\\\n".join(" & ".join(map(latex, row)) for row in self.mixing)
        rates = r" \\ ".join(map(latex, servers))
        cleared = r" \\ ".join(latex(_dot(row, servers)) for row in self.mixing)
        return (
            f"\\begin{{pmatrix}}\n{matrix}\n\\end{{pmatrix}}"
            f" \\begin{{pmatrix}} {rates} \\end{{pmatrix}}"
            f" = \\begin{{pmatrix}} {cleared} \\end{{pmatrix}}"
        )

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def schedule(lam: Sequence[Any], mu: Sequence[Any], margin: Any = None) -> Schedule:
    """A schedule that serves each queue with probability at least lambda_i + margin in a step.

    By default the margin is the largest that is possible, eps* = min (M_k - L_k) / k. Rates are
    rational and come in any order; servers beyond the n fastest are not used.

    >>> found = schedule(["1/4", "1/2"], ["2/3", "1/4", "1/6"])
    >>> found
    each queue is served with probability >= lambda + 1/12; queues and servers count from 1
      queue 1: lambda = 1/4, served with 1/3, E[Q] = 2
      queue 2: lambda = 1/2, served with 7/12, E[Q] = 5/2
      with probability 4/5 to the servers 2, 1
      with probability 1/5 to the servers 1, 2

    Raises `UnstableError` unless the rates are feasible, `DomainError` for a margin outside
    (0, eps*] and what `feasibility` raises.
    """
    found = feasibility(lam, mu)
    for k, slack in enumerate(found.slacks, 1):
        if slack <= 0:
            raise UnstableError(
                f"unstable: needs L_k < M_k for the sums of the k largest arrival and service "
                f"rates, got {found.arrivals[k - 1]} and {found.services[k - 1]} for k = {k}"
            )
    eps = found.margin if margin is None else exact(margin)
    if not 0 < eps <= found.margin:
        raise DomainError(f"the margin must lie in (0, eps*] = (0, {found.margin}], got {eps}")
    n = len(found.lam)
    arrivals, services = sorted_rates(found.lam, found.mu)
    cleared = completed([x + eps for x in arrivals], services)
    mixing = doubly_stochastic(services, cleared)
    queues = sorted(range(n), key=lambda i: -found.lam[i])
    servers = sorted(range(len(found.mu)), key=lambda j: -found.mu[j])[:n]
    places = [*servers, *[-1] * (n - len(servers))]
    weights, assignments = [], []
    for weight, permutation in birkhoff(mixing):
        row = [0] * n
        for own, place in enumerate(permutation):
            row[queues[own]] = places[place]
        weights.append(weight)
        assignments.append(tuple(row))
    clearing = [Fraction(0)] * n
    for own, queue in enumerate(queues):
        clearing[queue] = cleared[own]
    return Schedule(
        found.lam,
        found.mu,
        eps,
        tuple(clearing),
        mixing,
        tuple(weights),
        tuple(assignments),
    )


def completed(x: Sequence[Fraction], mu: Sequence[Fraction]) -> list[Fraction]:
    """Numbers y >= x majorised by mu, for x weakly majorised by mu, all decreasing.

    While the sums differ, the first entry that can be raised without passing a prefix sum is
    raised until one becomes tight.

    >>> completed([Fraction(1, 2), Fraction(1, 4)], [Fraction(1), Fraction(1, 4)])
    [Fraction(1, 1), Fraction(1, 4)]
    """
    y = list(x)
    while True:
        slacks, total = [], Fraction(0)
        for own, rate in zip(y, mu, strict=True):
            total += rate - own
            slacks.append(total)
        if slacks[-1] == 0:
            return y
        first = max((k + 1 for k, slack in enumerate(slacks) if slack == 0), default=0)
        y[first] += min(slacks[first:])


def doubly_stochastic(mu: Sequence[Fraction], y: Sequence[Fraction]) -> Matrix:
    """A doubly stochastic P with P mu = y, for y majorised by mu, both decreasing.

    Each T-transform averages two entries and makes at least one of them right.

    >>> doubly_stochastic([Fraction(2, 3), Fraction(1, 4)], [Fraction(7, 12), Fraction(1, 3)])
    ((Fraction(4, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(4, 5)))
    """
    n = len(mu)
    rows = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    current = list(mu)
    while current != list(y):
        i = max(k for k in range(n) if current[k] > y[k])
        k = min(k for k in range(i + 1, n) if current[k] < y[k])
        moved = min(current[i] - y[i], y[k] - current[k])
        share = moved / (current[i] - current[k])
        mixed = [(1 - share) * a + share * b for a, b in zip(rows[i], rows[k], strict=True)]
        rows[k] = [share * a + (1 - share) * b for a, b in zip(rows[i], rows[k], strict=True)]
        rows[i] = mixed
        current[i] -= moved
        current[k] += moved
    return tuple(map(tuple, rows))


def birkhoff(matrix: Matrix) -> list[tuple[Fraction, tuple[int, ...]]]:
    """A doubly stochastic matrix as a mixture of permutations, row i to column p[i].

    The largest weight that a perfect matching of the support allows is taken out until nothing is
    left; a matching exists by Hall's theorem.

    >>> half = Fraction(1, 2)
    >>> [weight for weight, _ in birkhoff(((half, half), (half, half)))]
    [Fraction(1, 2), Fraction(1, 2)]
    """
    import networkx as nx

    n = len(matrix)
    left = [list(row) for row in matrix]
    found = []
    while any(left[0]):
        graph = nx.Graph()
        graph.add_edges_from((i, n + j) for i in range(n) for j in range(n) if left[i][j])
        # the support may be disconnected, so the sides are named
        pairs = nx.bipartite.hopcroft_karp_matching(graph, top_nodes=range(n))
        permutation = tuple(pairs[i] - n for i in range(n))
        weight = min(left[i][j] for i, j in enumerate(permutation))
        for i, j in enumerate(permutation):
            left[i][j] -= weight
        found.append((weight, permutation))
    return found


def _components(n: int, support: list[tuple[int, int]]) -> int:
    import networkx as nx

    graph = nx.Graph()
    graph.add_edges_from((i, n + j) for i, j in support)
    return int(nx.number_connected_components(graph))


def _dot(row: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((p * v for p, v in zip(row, values, strict=True)), Fraction(0))
