"""Communicating classes: which states a chain can reach, leave for good, or never leave.

Rates with symbols count as positive: the classes are those of generic parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from qtheory.errors import ModelError, ReducibleError
from qtheory.model.rates import RateTable

if TYPE_CHECKING:
    import networkx as nx

Chain: TypeAlias = "RateTable | nx.DiGraph"
"""A chain as a rate table, or as a directed graph whose edges may carry a ``rate``."""

_SHOWN = 3
"""How many states, or classes, a message names."""

StateClass = tuple[Hashable, ...]


def reachable(chain: Chain, start: Hashable) -> frozenset[Hashable]:
    """The states that can be reached from a state, itself included.

    `ModelError` when the chain does not have that state.
    """
    import networkx as nx

    graph = _graph(chain)
    if start not in graph:
        raise ModelError(f"the chain has no state {start}")
    return frozenset({start}) | frozenset(nx.descendants(graph, start))


def communicating_classes(chain: Chain) -> list[StateClass]:
    """The sets of states that can reach each other, in the order of their first states.

    >>> from qtheory.model import table_from_matrix
    >>> communicating_classes(table_from_matrix([[-1, 1, 0], [1, -2, 1], [0, 0, 0]]))
    [(0, 1), (2,)]
    """
    return _classes(_graph(chain))


def closed_classes(chain: Chain) -> list[StateClass]:
    """The communicating classes that are never left, in the order of their first states.

    >>> from qtheory.model import table_from_matrix
    >>> closed_classes(table_from_matrix([[-1, 1, 0], [1, -2, 1], [0, 0, 0]]))
    [(2,)]
    """
    graph = _graph(chain)
    return _closed(graph, _classes(graph))


def require_irreducible(chain: Chain) -> None:
    """Raise `ReducibleError` unless every state can reach every other one.

    The message names the closed classes, absorbing states, and the transient states.
    """
    graph = _graph(chain)
    classes = _classes(graph)
    if len(classes) == 1:
        return
    closed = _closed(graph, classes)
    held = {state for states in closed for state in states}
    transient = [state for state in graph if state not in held]
    parts = []
    if len(closed) > 1:
        parts.append(f"{len(closed)} closed classes {_listed(map(_class_text, closed))}")
    elif len(closed[0]) > 1:
        parts.append(f"one closed class {_class_text(closed[0])}")
    absorbing = [states[0] for states in closed if len(states) == 1]
    if absorbing:
        parts.append(f"absorbing {_counted(absorbing)}")
    if transient:
        parts.append(f"transient {_counted(transient)}")
    raise ReducibleError(f"reducible: {'; '.join(parts)}")


def _graph(chain: Chain) -> nx.DiGraph:
    """The possible moves of a chain between different states."""
    import networkx as nx

    graph = nx.DiGraph()
    if isinstance(chain, RateTable):
        graph.add_nodes_from(chain.states)
        graph.add_edges_from(
            (chain.states[i], chain.states[j]) for i, row in enumerate(chain.rows) for j in row
        )
    else:
        if not chain.is_directed():
            raise ModelError("the graph is not directed: each edge needs one direction")
        graph.add_nodes_from(chain)
        graph.add_edges_from((s, t) for s, t, rate in chain.edges(data="rate") if rate != 0)
    if not graph:
        raise ModelError("the chain has no states")
    return graph


def _classes(graph: nx.DiGraph) -> list[StateClass]:
    import networkx as nx

    position = {state: i for i, state in enumerate(graph)}
    found = [
        tuple(sorted(states, key=position.__getitem__))
        for states in nx.strongly_connected_components(graph)
    ]
    return sorted(found, key=lambda states: position[states[0]])


def _closed(graph: nx.DiGraph, classes: list[StateClass]) -> list[StateClass]:
    found = []
    for states in classes:
        members = set(states)
        if all(target in members for state in states for target in graph.successors(state)):
            found.append(states)
    return found


def _class_text(states: StateClass) -> str:
    return f"{{{_listed(states)}}}"


def _counted(states: list[Any]) -> str:
    return f"state{'s' if len(states) > 1 else ''} {_listed(states)}"


def _listed(items: Iterable[Any]) -> str:
    texts = [str(item) for item in items]
    more = [f"... ({len(texts)} in all)"] if len(texts) > _SHOWN else []
    return ", ".join([*texts[:_SHOWN], *more])
