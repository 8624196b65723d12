"""Simulation of a model: estimated stationary means, and sample paths.

A simulation gives estimates with confidence intervals; it proves nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import sympy as sp

from qtheory.arithmetic import exact
from qtheory.domain import Domain
from qtheory.errors import ExpressionError, ModelError
from qtheory.model.model import Model
from qtheory.model.simulation.result import Estimate, Simulation, label, read_function

if TYPE_CHECKING:
    import numpy as np

    from qtheory.model.simulation.kernel import Method

IntervalMethod = Literal["batch_means", "regenerative"]

DEFAULT_STEPS = 2**14
"""By default a replication is as long as this many steps take."""

WARM_UP = 0.25
"""The default warm-up, as a share of the horizon."""

PATH_STEPS = 1024
"""The steps of a sample path that are made at a time."""


def simulate(
    model: Model,
    at: Mapping[Any, Any],
    functions: Any = None,
    *,
    horizon: Any = None,
    warm_up: Any = None,
    replications: int = 256,
    start: Sequence[int] | int | None = None,
    seed: int = 0,
    method: Method | None = None,
    interval: IntervalMethod = "batch_means",
    level: float = 0.95,
    progress: Callable[[str], None] | None = None,
) -> Simulation:
    """Estimates of the stationary means of functions of the state, with confidence intervals.

    `functions` is a formula or an event (SymPy, or text such as ``"m + d"`` or ``"d >= 1"``), or
    a list of these; by default the state variables. Each of the independent `replications` starts
    at `start` (by default at the state nearest to 0), runs for the time `warm_up`, which is not
    counted, and then for the time `horizon`: by default a quarter of the horizon, and the time
    of 16384 steps (at the total rate of the start, where steps have no constant rate). In
    discrete time, times are numbers of rounds. The path of a replication depends on the seed and
    not on how many others there are.

    Methods in continuous time:

    - ``"uniformised"``: a step happens at a constant rate and may change nothing, so that time
      averages are averages over the steps (Hordijk, Iglehart, Schassberger 1976). It needs
      bounded rates, and is the default where the total rates differ by a factor of at most 8;
    - ``"event-driven"``: exponential sojourns with the total rate of each state.

    Intervals, both with the quantiles of Student's t distribution:

    - ``"batch_means"``: from the means of the replications, each cut into as many batches as it
      takes to have 32 in all;
    - ``"regenerative"``: from the cycles between visits to `start`, by the ratio estimator
      (Crane, Iglehart 1975). There is no warm-up; each replication goes on until the first visit
      after the horizon, which lessens the bias (Meketon, Heidelberger 1982).

    A run that is interrupted (Ctrl-C) gives the estimates of its finished part when that is at
    least two of its 32 parts, or two cycles. `progress` is called about once a second.

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Transition
    >>> lam, mu = sp.symbols("lambda mu", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> queue = Model(n, Domain(stable=lam < mu), [
    ...     Transition(lam, jump=+1),
    ...     Transition(mu, when=n >= 1, jump=-1),
    ... ], name="M/M/1")
    >>> found = simulate(queue, {lam: 1, mu: 2}, ["n", "n >= 1"], horizon=1000)
    >>> abs(found["n"].z(1)) < 4, abs(found["n >= 1"].z(0.5)) < 4
    (True, True)

    Raises `UnstableError` or `DomainError` for a point outside the domain, `ModelError` for bad
    options and a rate that is negative at a state that is reached, `NonConservativeError` for
    probabilities that sum to more than one there, `ReducibleError` at an absorbing state, and
    `ExpressionError` for a function with unknown symbols.
    """
    from qtheory.model.simulation import estimates
    from qtheory.model.simulation.kernel import kernel
    from qtheory.model.simulation.paths import Streams, block_length
    from qtheory.model.simulation.rates import point_rates

    if interval not in ("batch_means", "regenerative"):
        raise ModelError(f"interval must be 'batch_means' or 'regenerative', got {interval!r}")
    if not 0 < level < 1:
        raise ModelError(f"the confidence level must lie between 0 and 1, got {level}")
    replications = _whole("replications", replications, 1)
    seed = _whole("seed", seed, 0)
    values = model.domain.require(at)
    labels, wanted = _functions(model, values, functions)
    begin = _start(model, start)
    rates = point_rates(model, values)
    chain = kernel(rates, method)
    first = _column(begin, replications)
    pace = chain.clock or float(rates(first[:, :1]).sum()) or 1.0
    length = DEFAULT_STEPS / pace if horizon is None else _time("horizon", horizon)
    if interval == "regenerative" and warm_up:
        raise ModelError("cycles need no warm-up: leave it out")
    skipped = WARM_UP * length if warm_up is None else _time("warm-up", warm_up, zero=True)
    steps = block_length(replications, (length + skipped) * pace)
    run = (chain, Streams(seed, replications), first, _evaluator(model, wanted), steps, length)
    if interval == "regenerative":
        found = estimates.regenerative(*run, progress)
    else:
        found = estimates.batch_means(*run, skipped, progress)
    quantile = _student(found.samples - 1, level)
    rows = []
    for text, f, mean, deviation in zip(labels, wanted, found.means, found.errors, strict=True):
        constant = not f.free_symbols
        error = 0.0 if constant else float(deviation) if deviation > 0 else math.nan
        rows.append(Estimate(text, float(mean), error, quantile * error, level))
    how = "event-driven" if chain.clock is None else "uniformised"
    return Simulation(
        estimates=tuple(rows),
        name=model.name,
        parameters=values,
        start=begin,
        method="step by step" if model.time == "discrete" else how,
        interval=interval,
        level=level,
        replications=replications,
        horizon=found.horizon,
        warm_up=found.warm_up,
        samples=found.samples,
        events=found.events,
        seed=seed,
        trend=found.trend,
        interrupted=found.interrupted,
    )


def sample_path(
    model: Model,
    at: Mapping[Any, Any],
    horizon: Any,
    start: Sequence[int] | int | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """One path up to a time: ``states[k]`` is the state from ``times[k]`` until ``times[k + 1]``.

    The first time is 0 and the last state is the one at the horizon (a time, in discrete time a
    number of rounds). `times` has shape (n,) and `states` has shape (n, variables). The point
    need not satisfy the stability conditions of the domain: a path of an unstable queue exists.

    >>> from qtheory.domain import Domain
    >>> from qtheory.model import Transition
    >>> lam = sp.Symbol("lambda", positive=True)
    >>> n = sp.Symbol("n", integer=True, nonnegative=True)
    >>> times, states = sample_path(Model(n, Domain(), [Transition(lam, +1)]), {lam: 1}, 100)
    >>> bool((states[:, 0] == range(len(times))).all())
    True

    Raises the errors of `simulate`, except for a point that is only unstable.
    """
    import numpy as np

    from qtheory.model.simulation.kernel import kernel
    from qtheory.model.simulation.paths import Streams, blocks
    from qtheory.model.simulation.rates import point_rates

    limit = _time("horizon", horizon)
    stated = [c for c in model.domain.conditions if c not in model.domain.stability]
    values = Domain(*stated, symbols=model.domain.symbols).require(at)
    chain = kernel(point_rates(model, values), None if model.time == "discrete" else "event-driven")
    streams = Streams(_whole("seed", seed, 0), 1)
    times, states = [], []
    for block in blocks(chain, streams, _column(_start(model, start), 1), PATH_STEPS, absorb=True):
        times.append(block.times[:-1, 0])
        states.append(block.states[:, :, 0])
        if block.times[-1, 0] > limit:
            break
    moments = np.concatenate(times)
    within = moments <= limit
    return moments[within], np.concatenate(states)[within]


def _functions(
    model: Model, values: Mapping[sp.Symbol, Fraction], functions: Any
) -> tuple[list[str], list[sp.Basic]]:
    """The functions as they are stated, and in the model's own state variables alone."""
    if functions is None:
        functions = model.state
    elif isinstance(functions, (str, sp.Basic, int, float, bool)):
        functions = [functions]
    own: dict[str, sp.Basic] = {s.name: s for s in model.state}
    own |= {s.name: sp.Rational(v.numerator, v.denominator) for s, v in values.items()}
    labels, found = [], []
    for given in functions:
        f = read_function(given, (*model.state, *values))
        unknown = sorted({s.name for s in f.free_symbols} - own.keys())
        if unknown:
            known = ", ".join(own)
            raise ExpressionError(
                f"no value for {', '.join(unknown)} in {label(f)}; known: {known}"
            )
        labels.append(label(read_function(given)))
        found.append(f.xreplace({s: own[s.name] for s in f.free_symbols}))
    if not found:
        raise ModelError("nothing to estimate: give at least one function of the state")
    return labels, found


def _evaluator(model: Model, functions: Sequence[sp.Basic]) -> Callable[[np.ndarray], np.ndarray]:
    """The functions on states of shape (steps, variables, n): values (functions, steps, n)."""
    import numpy as np

    compiled = [sp.lambdify(model.state, f, "numpy") for f in functions]

    def evaluate(states: np.ndarray) -> np.ndarray:
        columns = [states[:, i].astype(float) for i in range(states.shape[1])]
        found = np.empty((len(functions), *columns[0].shape))
        for own, f, values in zip(found, functions, compiled, strict=True):
            with np.errstate(all="ignore"):
                own[...] = values(*columns)
            if not np.isfinite(own).all():
                step, replication = np.argwhere(~np.isfinite(own))[0]
                state = tuple(states[step, :, replication].tolist())
                raise ExpressionError(f"{label(f)} is no finite number at state {state}")
        return found

    return evaluate


def _start(model: Model, start: Sequence[int] | int | None) -> tuple[int, ...]:
    """The state at time 0: by default the one nearest to 0."""
    if start is None:
        return tuple(
            low if low is not None and low > 0 else high if high is not None and high < 0 else 0
            for low, high in model.ranges
        )
    try:
        state = tuple(map(operator.index, start if isinstance(start, Sequence) else (start,)))
    except TypeError:
        raise ModelError(f"the start {start} is not made of integers") from None
    inside = len(state) == len(model.state) and all(
        whole.contains(value) for whole, value in zip(model.ranges, state, strict=True)
    )
    if not inside:
        raise ModelError(f"the start {start} is no state of the model")
    return state


def _column(state: tuple[int, ...], replications: int) -> np.ndarray:
    import numpy as np

    return np.repeat(np.array(state, dtype=np.int64)[:, None], replications, axis=1)


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ModelError(f"{name} must be a whole number, got {value}") from None
    if number < least:
        raise ModelError(f"{name} must be at least {least}, got {value}")
    return number


def _time(name: str, value: Any, zero: bool = False) -> float:
    """A time as a float: positive, or also 0."""
    try:
        number = float(exact(value))
    except ExpressionError:
        raise ModelError(f"the {name} must be a number, got {value}") from None
    if number < 0 or (number == 0 and not zero):
        raise ModelError(f"the {name} must be {'at least 0' if zero else 'positive'}, got {value}")
    return number


def _student(freedom: int, level: float) -> float:
    """The two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))
