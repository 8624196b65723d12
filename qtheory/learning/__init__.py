"""Queues that learn which server to send their packets to (Gaitonde, Tardos 2020).

`simulate` runs learners (`Exp3`, `UCB1`, ... or your own, see `Learner`) or a central `Scheduler`;
`trace` follows given arrivals and coins. What comes from a simulation is an estimate.
"""

from qtheory.learning.central import AgeGreedy, RandomisedSchedule
from qtheory.learning.drift_estimate import DriftBin, DriftEstimate, estimate_drift
from qtheory.learning.exp3 import Exp3, Exp3P, Exp3P1
from qtheory.learning.learner import Learner, Scheduler, check_learner
from qtheory.learning.learners import UCB1, Mixed, Restarted, Uniform
from qtheory.learning.path_inequality import PathInequality, path_inequality
from qtheory.learning.regret_bounds import (
    exp3_bound,
    exp3p1_bound,
    exp3p1_start,
    exp3p_bound,
    exp3p_parameters,
    restarted_bound,
)
from qtheory.learning.run import LearningRun
from qtheory.learning.simulate import simulate
from qtheory.learning.trace import Trace, trace

__all__ = [
    "UCB1",
    "AgeGreedy",
    "DriftBin",
    "DriftEstimate",
    "Exp3",
    "Exp3P",
    "Exp3P1",
    "Learner",
    "LearningRun",
    "Mixed",
    "PathInequality",
    "RandomisedSchedule",
    "Restarted",
    "Scheduler",
    "Trace",
    "Uniform",
    "check_learner",
    "estimate_drift",
    "exp3_bound",
    "exp3p1_bound",
    "exp3p1_start",
    "exp3p_bound",
    "exp3p_parameters",
    "path_inequality",
    "restarted_bound",
    "simulate",
    "trace",
]
