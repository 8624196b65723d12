"""Inequalities on parameter domains: proof with a certificate, or an exact counterexample."""

from qtheory.inequality.prove import combined, prove
from qtheory.inequality.smt import smtlib
from qtheory.inequality.verdict import Open, Proved, Refuted, Supported, Verdict

__all__ = ["Open", "Proved", "Refuted", "Supported", "Verdict", "combined", "prove", "smtlib"]
