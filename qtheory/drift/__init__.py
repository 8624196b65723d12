"""Drifts of test functions."""

from qtheory.drift.operator import Drift, drift

__all__ = ["Drift", "drift"]
