"""Whether a load that is meant to be the same from begin to end was: falls, drifts, and cores that slow down."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.analysis.evidence import Steadiness
from lab.formulas import trend
from lab.spec.workload import Load
from lab.telemetry.sampler import FIXED_WORK, Reading
from lab.telemetry.series import counter

# The columns of the samples that :func:`steadiness` looks at.
COLUMNS = ("sent_us", "latency_us", "error")
# Ten seconds, less the usual ramp: in a shorter time a trend cannot be told from chance.
MIN_STEADY_S = 9.0
# As many requests a second are few enough to be counted by chance.
MIN_PER_READING = 20
# In the first second every user connects, which is another load.
CONNECTING_S = 1.0
# Readings of the fixed work are four a second; single ones hold an interrupt or a change of core.
SMOOTHED_READINGS = 5


def steadiness(load: Load, samples: pd.DataFrame, rows: Iterable[Reading], cpu_decides: bool) -> Steadiness:
    """Whether anything still fell or drifted in a load that is meant to be the same from begin to end.

    A burst is not: its waves rise. Nor is one that is over within ten seconds. Nothing is found in either.

    Args:
        samples: with :data:`COLUMNS`, of the measured load.
        rows: those of :func:`lab.analysis.observations.metrics`.
        cpu_decides: whether the service's CPU time a request is part of the question.

    """
    if load.is_burst or samples.empty:
        return Steadiness()
    begin_s, end_s = load.ramp_s, load.duration_s or samples["sent_us"].max() / 1e6
    if end_s - begin_s < MIN_STEADY_S:
        return Steadiness()
    begin_s, rows, cpu_fall, slowed = begin_s + CONNECTING_S, list(rows), 0.0, {}
    latency, drift = trend.latency_by_second(samples, begin_s, end_s), trend.drift(samples, begin_s, end_s)
    if cpu_decides:
        # Cores that change by themselves change what they do in a second: that is told apart from the service's doing.
        owners = dict.fromkeys(target for _, target, name, _ in rows if name == FIXED_WORK)
        slowed = {owner: _slowed(rows, owner, begin_s, end_s) for owner in owners}
        latency = latency / slowness(rows, "service", latency.index.to_numpy(dtype=float) + 0.5)
        drift = None if drift is None else (1 + drift) * (1 + slowed.get("service", 0.0)) - 1
        cpu_fall = trend.fall(_cpu_per_request(samples, rows, begin_s, end_s))
    latency_fall = trend.fall(latency.to_numpy(dtype=float))
    return Steadiness(latency_fall, cpu_fall, None if load.is_open else drift, slowed)


def slowness(rows: Iterable[Reading], owner: str, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """How slow somebody's cores were at some moments, as a multiple of the median; 1.0 if nobody measured it.

    Args:
        at_s: seconds since the planned start, shape (n,).

    """
    times, spent_s = counter(rows, owner, FIXED_WORK)
    if not len(times):
        return np.ones(len(at_s))
    around = pd.Series(spent_s).rolling(SMOOTHED_READINGS, center=True, min_periods=1).median()
    slow: NDArray[np.float64] = np.interp(at_s, times, around / np.median(spent_s))
    return slow


def _slowed(rows: Iterable[Reading], owner: str, begin_s: float, end_s: float) -> float:
    """By which part somebody's cores were slower in the second half of a time than in the first."""
    first, second = slowness(rows, owner, np.linspace(begin_s, end_s, 1000)).reshape(2, -1).mean(axis=1)
    return float(second / first - 1)


def _cpu_per_request(samples: pd.DataFrame, rows: list[Reading], begin_s: float, end_s: float) -> NDArray[np.float64]:
    """CPU seconds of the service a request between one reading and the next, at the same speed of its cores."""
    times, cpu_s = counter(rows, "service", "cpu_s")
    within = (times >= begin_s) & (times <= end_s)
    times, cpu_s = times[within], cpu_s[within]
    if len(times) < 2:
        return np.zeros(0)
    ended_s = (samples["sent_us"] + samples["latency_us"]).to_numpy() / 1e6
    requests, _ = np.histogram(ended_s, bins=times)
    enough = requests >= MIN_PER_READING
    slow = slowness(rows, "service", (times[1:] + times[:-1]) / 2)
    cost: NDArray[np.float64] = np.diff(cpu_s) / slow / np.maximum(requests, 1)
    return cost[enough]
