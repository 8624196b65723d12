"""Queues that learn which server to send their packets to (Gaitonde, Tardos 2020).

`feasibility` and `schedule` tell what a central scheduler can do, `slack`, `window_condition` and
`strong_stability` what queues without regret can do, `growth` and `patient_gap` what patient ones
do: all in rational numbers. `simulate` runs learners (`Exp3`, `UCB1`, ... or your own, see
`Learner`) or a central `Scheduler`; `trace` follows given arrivals and coins. What comes from a
simulation is an estimate.
"""

from qtheory.learning.central import AgeGreedy, RandomisedSchedule
from qtheory.learning.drift_estimate import DriftBin, DriftEstimate, estimate_drift
from qtheory.learning.exp3 import Exp3, Exp3P, Exp3P1
from qtheory.learning.feasibility import Feasibility, feasibility, feasibility_conditions
from qtheory.learning.learner import Learner, Scheduler, check_learner
from qtheory.learning.learners import UCB1, Mixed, Restarted, Uniform
from qtheory.learning.moment_theorems import Hajek, PemantleRosenthal
from qtheory.learning.path_inequality import PathInequality, path_inequality
from qtheory.learning.patient import Growth, growth, profile_from_text
from qtheory.learning.patient_gap import Deviation, PatientGap, best_deviation, patient_gap
from qtheory.learning.regret_bounds import (
    exp3_bound,
    exp3p1_bound,
    exp3p1_start,
    exp3p_bound,
    exp3p_parameters,
    restarted_bound,
)
from qtheory.learning.run import LearningRun
from qtheory.learning.schedule import Schedule, schedule
from qtheory.learning.simulate import simulate
from qtheory.learning.stability import (
    DriftConstants,
    Slack,
    WindowCondition,
    drift_constants,
    slack,
    strong_stability,
    window_condition,
)
from qtheory.learning.trace import Trace, trace

__all__ = [
    "UCB1",
    "AgeGreedy",
    "Deviation",
    "DriftBin",
    "DriftConstants",
    "DriftEstimate",
    "Exp3",
    "Exp3P",
    "Exp3P1",
    "Feasibility",
    "Growth",
    "Hajek",
    "Learner",
    "LearningRun",
    "Mixed",
    "PathInequality",
    "PatientGap",
    "PemantleRosenthal",
    "RandomisedSchedule",
    "Restarted",
    "Schedule",
    "Scheduler",
    "Slack",
    "Trace",
    "Uniform",
    "WindowCondition",
    "best_deviation",
    "check_learner",
    "drift_constants",
    "estimate_drift",
    "exp3_bound",
    "exp3p1_bound",
    "exp3p1_start",
    "exp3p_bound",
    "exp3p_parameters",
    "feasibility",
    "feasibility_conditions",
    "growth",
    "path_inequality",
    "patient_gap",
    "profile_from_text",
    "restarted_bound",
    "schedule",
    "simulate",
    "slack",
    "strong_stability",
    "trace",
    "window_condition",
]
