"""Drifts of test functions: identities, bounds and stability, each with its proof."""

from qtheory.drift.certificate import DriftCertificate, Mean
from qtheory.drift.enclosure import Enclosed, enclose
from qtheory.drift.foster import Foster, foster
from qtheory.drift.identities import Identities, identities
from qtheory.drift.operator import Drift, drift
from qtheory.drift.proof import drift_proof_latex
from qtheory.drift.search import Bounds, ClosedForms, NotShownError, bound_by, bounds, each_bound
from qtheory.drift.stability import NoBoundError, moment_certificate

__all__ = [
    "Bounds",
    "ClosedForms",
    "Drift",
    "DriftCertificate",
    "Enclosed",
    "Foster",
    "Identities",
    "Mean",
    "NoBoundError",
    "NotShownError",
    "bound_by",
    "bounds",
    "drift",
    "drift_proof_latex",
    "each_bound",
    "enclose",
    "foster",
    "identities",
    "moment_certificate",
]
