"""Drifts of test functions."""

from qtheory.drift.identities import Identities, identities
from qtheory.drift.operator import Drift, drift

__all__ = ["Drift", "Identities", "drift", "identities"]
