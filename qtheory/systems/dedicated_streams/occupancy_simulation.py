"""Simulation of many queues with dedicated streams, in which the rare event M >= 1 is seen.

For large N the shortest queue is almost always empty: plain paths hardly ever meet E_N[M]. Here a
path has a weight, and is split or merged at fixed times so that each band of the number of idle
queues has equally many paths; the expected weight of a path does not change, so weighted means
have no bias after the warm-up (weighted ensembles: Huber, Kim, Biophysical Journal 70, 1996;
Zhang, Jasnow, Zuckerman, Journal of Chemical Physics 132, 2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from qtheory.errors import ModelError
from qtheory.model.simulation.result import Estimate
from qtheory.systems.dedicated_streams.occupancy_window import Rates, rates_at

if TYPE_CHECKING:
    import numpy as np

BANDS = 128
"""The most bands of the number of idle queues."""

EACH = 16
"""Paths are split and merged after every N/EACH events."""

LEVELS = 16
"""The levels of a queue that have a row at first; there are more as soon as one is used."""


@dataclass(frozen=True, eq=False)
class OccupancySimulation:
    """Estimated stationary means of N queues, with confidence intervals; nothing is certified.

    `shortest` is E_N[M], `length` E_N[X], `busy` P(X >= 1), and `tails[k]` the estimated
    P(X >= k). Where M >= 1 was never met the error of `shortest` is not known (nan).
    """

    N: int
    rates: Rates
    shortest: Estimate
    length: Estimate
    busy: Estimate
    tails: tuple[float, ...]
    ensembles: int
    horizon: float
    warm_up: float
    seed: int

    @property
    def length_by_identity(self) -> Estimate:
        """E_N[X] = (lam + lam_s (1 + E_N[M]))/(mu - lam), from the estimate of E_N[M].

        Its error is smaller than that of `length`.
        """
        dedicated, smart, service = map(float, self.rates)
        scale = smart / (service - dedicated)
        base = (dedicated + smart) / (service - dedicated)
        m = self.shortest
        return Estimate(
            "X", base + scale * m.mean, scale * m.standard_error, scale * m.half_width, m.level
        )


def simulate_occupancy(
    N: int,
    lam: Any,
    lam_s: Any,
    mu: Any,
    q: Any = 1,
    *,
    horizon: float | None = None,
    warm_up: float | None = None,
    ensembles: int = 16,
    walkers: int = 16,
    seed: int = 0,
    level: float = 0.95,
    progress: Callable[[str], None] | None = None,
) -> OccupancySimulation:
    """Estimates of E_N[M] and E_N[X] for N queues with dedicated streams and a smart stream.

    Uniformised: events come at rate N (lam q + lam_s + mu), at a random queue. Independent
    ensembles, each of `walkers` weighted paths in every band of the number of idle queues, start
    empty and run for the times `warm_up` (not counted) and `horizon`; by default 10 and 20
    relaxation times 1/(sqrt(mu) - sqrt(lam q))^2 of the limit. The intervals are those of
    Student's t from the means of the ensembles.

    >>> found = simulate_occupancy(2, "2/5", "3/10", 1, horizon=200, seed=1)
    >>> abs(found.shortest.z(1.0622061184)) < 4, abs(found.busy.z(0.7)) < 4
    (True, True)

    Raises `ModelError` for bad options or no queues, `UnstableError` or `DomainError` for rates
    outside the domain.
    """
    import numpy as np

    rates = rates_at(N, lam, lam_s, mu, q)
    if ensembles < 2 or walkers < 1:
        raise ModelError(f"needs 2 ensembles of 1 path, got {ensembles} of {walkers}")
    if not 0 < level < 1:
        raise ModelError(f"the confidence level must lie between 0 and 1, got {level}")
    dedicated, smart, service = map(float, rates)
    relaxation = 1 / (math.sqrt(service) - math.sqrt(dedicated)) ** 2
    length = 20 * relaxation if horizon is None else float(horizon)
    skipped = 10 * relaxation if warm_up is None else float(warm_up)
    if not (length > 0 and skipped >= 0):
        raise ModelError(f"the horizon must be positive, got {horizon} after {warm_up}")
    clock = N * (dedicated + smart + service)
    # so often that the numbers of idle queues of the few paths of a band spread by about one band
    every = max(round(N / EACH), 1)
    rounds, first = (math.ceil(time * clock / every) for time in (length, skipped))
    band = _bands(N, float(rates.spare / rates.service))
    generator = np.random.default_rng(seed)
    paths = _empty(N, ensembles)
    sums = np.zeros((LEVELS, ensembles))
    shortest = np.zeros(ensembles)
    for done in range(first + rounds):
        paths = _resampled(paths, band, walkers, generator)
        for _ in range(every):
            paths = _moved(paths, N, dedicated, smart, service, generator)
            if done < first:
                continue
            minimum = (paths.counts == N).sum(axis=0) - 1
            shortest += np.bincount(paths.ensemble, paths.weight * minimum, ensembles)
        if done >= first:
            sums = _added(sums, paths, ensembles)
        if progress is not None and done % max((first + rounds) // 10, 1) == 0:
            progress(f"simulated {done / (first + rounds):.0%} of the run")
    tails = sums / (rounds * N)
    estimate = _Estimator(ensembles, level)
    return OccupancySimulation(
        N=N,
        rates=rates,
        shortest=estimate("M", shortest / (rounds * every)),
        length=estimate("X", tails[1:].sum(axis=0)),
        busy=estimate("X >= 1", tails[1]),
        tails=tuple(tails.mean(axis=1).tolist()),
        ensembles=ensembles,
        horizon=rounds * every / clock,
        warm_up=first * every / clock,
        seed=seed,
    )


class _Paths(NamedTuple):
    """Weighted paths: `counts[k]` queues of each have at least k customers."""

    counts: np.ndarray
    weight: np.ndarray
    ensemble: np.ndarray


def _empty(N: int, ensembles: int) -> _Paths:
    import numpy as np

    counts = np.zeros((LEVELS, ensembles), dtype=np.int32)
    counts[0] = N
    return _Paths(counts, np.ones(ensembles), np.arange(ensembles))


def _moved(
    paths: _Paths,
    N: int,
    dedicated: float,
    smart: float,
    service: float,
    generator: np.random.Generator,
) -> _Paths:
    """One event of each path."""
    import numpy as np

    counts = paths.counts
    size = counts.shape[1]
    kind = generator.random(size) * (dedicated + smart + service)
    # queues in decreasing order of length: number i has as many levels as exceed i in counts;
    # the last one is a shortest queue
    queue = np.where(kind < smart, N - 1, generator.integers(0, N, size))
    leaves = kind >= smart + dedicated
    row = (counts > queue).sum(axis=0) - leaves
    happens = row > 0
    if row.max() >= len(counts):
        counts = np.concatenate([counts, np.zeros_like(counts)])
    counts[row, np.arange(size)] += np.where(leaves, -1, 1) * happens
    return paths._replace(counts=counts)


def _bands(N: int, idle: float) -> np.ndarray:
    """The band of each number of idle queues: fine bands below the mean N `idle`, one above."""
    import numpy as np

    usual = max(math.ceil(N * idle), 1)
    step = math.ceil(usual / BANDS)
    return np.minimum((np.arange(N + 1) + step - 1) // step, math.ceil(usual / step))


def _resampled(
    paths: _Paths, band: np.ndarray, walkers: int, generator: np.random.Generator
) -> _Paths:
    """Equally many paths, of equal weight, in every band of an ensemble that is occupied.

    They are drawn in proportion to the weights, one in each of equal parts of the total.
    """
    import numpy as np

    idle = paths.counts[0] - paths.counts[1]
    key = paths.ensemble * (band[-1] + 1) + band[idle]
    order = np.argsort(key, kind="stable")
    _, group = np.unique(key[order], return_inverse=True)
    weight = paths.weight[order]
    totals = np.bincount(group, weight)
    # each group has length 1, so that small weights keep their digits
    ends = np.cumsum(weight / totals[group])
    number = len(totals)
    places = np.arange(number)[:, None] + (
        (np.arange(walkers) + generator.random((number, 1))) / walkers
    )
    drawn = np.minimum(np.searchsorted(ends, places.ravel()), len(ends) - 1)
    # rounding at the ends of a group must not draw from its neighbour
    starts = np.searchsorted(group, np.arange(number))
    stops = np.searchsorted(group, np.arange(number), side="right") - 1
    drawn = np.clip(drawn, np.repeat(starts, walkers), np.repeat(stops, walkers))
    chosen = order[drawn]
    return _Paths(
        paths.counts[:, chosen], np.repeat(totals / walkers, walkers), paths.ensemble[chosen]
    )


def _added(sums: np.ndarray, paths: _Paths, ensembles: int) -> np.ndarray:
    """The weighted counts of each level, added to the sums for each ensemble."""
    import numpy as np

    if len(paths.counts) > len(sums):
        grown = np.zeros((len(paths.counts), ensembles))
        grown[: len(sums)] = sums
        sums = grown
    for level, counts in enumerate(paths.counts):
        sums[level] += np.bincount(paths.ensemble, paths.weight * counts, ensembles)
    return sums


class _Estimator(NamedTuple):
    """Means with intervals from independent values."""

    samples: int
    level: float

    def __call__(self, function: str, values: np.ndarray) -> Estimate:
        from scipy.special import stdtrit

        deviation = float(values.std(ddof=1)) / math.sqrt(self.samples)
        error = deviation if deviation > 0 else math.nan
        quantile = float(stdtrit(self.samples - 1, (1 + self.level) / 2))
        return Estimate(function, float(values.mean()), error, quantile * error, self.level)
