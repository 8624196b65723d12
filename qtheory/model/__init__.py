"""Models: transitions with symbolic rates on a lattice, and the chains that follow from them."""

from qtheory.model.classes import (
    closed_classes,
    communicating_classes,
    reachable,
    require_irreducible,
)
from qtheory.model.generator import generator
from qtheory.model.guards import Interval
from qtheory.model.lattice import coordinates, lattice
from qtheory.model.model import Model, Transition
from qtheory.model.rates import RateTable, rate_table, table_from_graph, table_from_matrix
from qtheory.model.regions import Region
from qtheory.model.simulate import sample_path, simulate
from qtheory.model.simulation.result import Estimate, Simulation
from qtheory.model.state_graph import state_graph

__all__ = [
    "Estimate",
    "Interval",
    "Model",
    "RateTable",
    "Region",
    "Simulation",
    "Transition",
    "closed_classes",
    "communicating_classes",
    "coordinates",
    "generator",
    "lattice",
    "rate_table",
    "reachable",
    "require_irreducible",
    "sample_path",
    "simulate",
    "state_graph",
    "table_from_graph",
    "table_from_matrix",
]
