"""Strategic queues that learn where to send their packets (Gaitonde, Tardos; arXiv 2003.07009).

In each step a packet arrives at queue i with probability lambda_i; every queue with packets sends
its oldest one to a server of its choice; server j takes one of the packets it gets, the oldest
unless it has no priorities, and serves it with probability mu_j. All others go back. The named
closed forms are those of one queue with a server of its own, of the families that show how large
the factor between central feasibility and stability must be, and of the symmetric patient queues.
Rational numbers at given rates are in `qtheory.learning`: `feasibility`, `schedule`, `growth`.
"""

from __future__ import annotations

from sympy import Symbol

from qtheory.domain import Domain
from qtheory.learning import no_priorities, patient, single_queue, tightness
from qtheory.model import Model
from qtheory.systems.formula import Formula, System

SOURCE = "Gaitonde, Tardos, arXiv 2003.07009"
PATIENT = "Gaitonde, Tardos, EC 2021"

lam, mu, q = single_queue.lam, single_queue.mu, single_queue.q
n, K, e, a = tightness.n, no_priorities.K, no_priorities.e, no_priorities.a
count = Symbol("n", integer=True, positive=True)
"""n where it is an exponent."""

domain = single_queue.domain
many = Domain(n >= 1)
crowded = many.where(lam <= 1)
growing = crowded.where(n * lam > 1)
several = Domain(n >= 2)
small = Domain(n >= 1, stable=a * (n + 1) < n)
overloaded = several.where(lam <= 1, n * lam >= 1)


def model() -> Model:
    """One queue with a server of its own, on its size."""
    return single_queue.model()


def total_model(n: int = 2) -> Model:
    """The total size of n queues of rate lambda that all send to one server of rate 1."""
    return tightness.total_queue(n)


def small_queues_model(n: int = 2) -> Model:
    """n small queues at a server without priorities, next to a queue that is never empty."""
    return no_priorities.small_queues(n)


system = System(
    name="strategic-queues",
    title="Strategic queues that learn",
    source=SOURCE,
    parameters={
        lam: "arrival rate of a queue, per step",
        mu: "success probability of the server",
        q: "size of a queue",
        n: "number of queues",
        a: "total arrival rate of the small queues",
        K: "1/K is what the small queues leave of server 1",
        e: "by how much the big queue exceeds that: its rate is (1 + e)/K",
    },
    models={"total": total_model, "single": model, "small": small_queues_model},
    formulas=(
        Formula("rho", single_queue.ratio, domain, "P(Q >= q) = rho^q for one queue"),
        Formula("P_Q", single_queue.pmf(q), domain.over(q), "one queue: P(Q = q)", label="P(Q=q)"),
        Formula("EQ", single_queue.mean, domain, "one queue: mean size", label="E[Q]"),
        Formula("VarQ", single_queue.variance, domain, "one queue: its variance", label="Var(Q)"),
        Formula("r", single_queue.age_ratio, domain, "one queue: P(T > t + 1)/P(T > t) for t >= 1"),
        Formula("P_send", single_queue.sending, domain, "one queue: it has a packet to send"),
        Formula("ET", single_queue.age_mean, domain, "one queue: mean age", label="E[T]"),
        Formula(
            "ET2",
            single_queue.age_second_moment,
            domain,
            "one queue: second moment of the age",
            label="E[T^2]",
        ),
        Formula(
            "c_oldest",
            tightness.factor,
            many,
            "oldest first: the factor that suffices without regret, and no smaller one does",
        ),
        Formula(
            "c_star",
            tightness.scale.subs(tightness.e, 0),
            crowded,
            "all at server 1: feasible at the factors below; servers 1, 1/n, ..., 1/n",
            SOURCE,
            label="c*",
        ),
        Formula(
            "EQ_total",
            tightness.mean_total,
            tightness.stable,
            "all at server 1: mean number of packets, n lambda < 1",
        ),
        Formula(
            "Q_growth",
            tightness.queue_growth,
            growing,
            "all at server 1: growth of each queue per step, n lambda > 1",
        ),
        Formula(
            "T_growth",
            tightness.age_growth,
            growing,
            "all at server 1: growth of each age per step, n lambda > 1",
        ),
        Formula(
            "v_regret",
            tightness.regret_variance,
            growing,
            "all at server 1: variance per step of what another server would gain",
        ),
        Formula(
            "EL",
            no_priorities.mean_packets(a),
            small,
            "no priorities: mean number of packets at the small queues",
            label="E[L]",
        ),
        Formula(
            "mu_other",
            no_priorities.mu_other,
            no_priorities.domain,
            "no priorities: rate of the other servers",
        ),
        Formula(
            "c_random",
            no_priorities.scale,
            no_priorities.domain,
            "no priorities: feasible at the factors below, yet the big queue grows at rate e/K",
        ),
        Formula(
            "K_best",
            no_priorities.best_K,
            several,
            "no priorities: the K, and the factor for e -> 0, of the best member",
        ),
        Formula(
            "lam_patient",
            patient.symmetric_threshold(count),
            Domain(symbols=(count,)),
            "patient: n uniform queues at n servers of rate 1 are stable if lambda is below",
            PATIENT,
        ),
        Formula(
            "c_patient",
            patient.symmetric_ratio(count),
            Domain(symbols=(count,)),
            "patient: the factor that this equilibrium needs; it tends to e/(e - 1)",
            PATIENT,
        ),
        Formula(
            "q_star",
            patient.deviation_share(n),
            several,
            "patient: best share of another server when all are at server 1",
            label="q*",
        ),
        Formula(
            "r_star",
            patient.deviation_rate(n, lam),
            overloaded,
            "patient: growth of all ages after it",
            label="r*",
        ),
    ),
)
"""The system with its models and named closed forms."""
