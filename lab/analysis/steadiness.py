"""Whether a load was steady from beginning to end: falls of latency, drift of throughput, and cores that slow down."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.analysis.evidence import Steadiness
from lab.formulas import trend
from lab.spec.workload import Load
from lab.telemetry.sampler import FIXED_WORK, Reading
from lab.telemetry.series import counter

# The columns of the samples that :func:`steadiness` needs.
COLUMNS = ("sent_us", "latency_us", "error")
# Ten seconds minus the usual ramp: in a shorter time a trend cannot be distinguished from chance.
MIN_STEADY_S = 9.0
# With fewer requests between two readings, their number is mostly chance.
MIN_PER_READING = 20
# In the first second every user connects, which is a different load.
CONNECTING_S = 1.0
# Readings of the fixed work are four a second; single ones hold an interrupt or a change of core.
SMOOTHED_READINGS = 5


def steadiness(load: Load, samples: pd.DataFrame, rows: Iterable[Reading], cpu_decides: bool) -> Steadiness:
    """Trends in latency, CPU cost, throughput and core speed of a load that should be steady.

    A burst and a ramp have none, as they are never steady; of a load that is over within ten seconds they cannot be
    judged.

    Args:
        samples: with :data:`COLUMNS`, of the measured load.
        rows: those of :func:`lab.analysis.observations.metrics`.
        cpu_decides: whether the scenario measures the service's CPU time a request.

    """
    if load.steady_span_s is None:
        return Steadiness()
    if samples.empty:
        return Steadiness(not_judged="nothing was sent")
    begin_s, end_s = load.steady_span_s
    if end_s == math.inf:
        end_s = samples["sent_us"].max() / 1e6
    if end_s - begin_s < MIN_STEADY_S:
        return Steadiness(not_judged=f"it lasted less than {MIN_STEADY_S:.0f} s after its ramp")
    begin_s, rows, cpu_fall, slowed = begin_s + CONNECTING_S, list(rows), 0.0, {}
    latency, drift = trend.latency_by_second(samples, begin_s, end_s), trend.drift(samples, begin_s, end_s)
    if cpu_decides:
        # A change of core speed changes latency and throughput too: the trends of the service are corrected for it.
        owners = dict.fromkeys(target for _, target, name, _ in rows if name == FIXED_WORK)
        slowed = {owner: _slowed(rows, owner, begin_s, end_s) for owner in owners}
        latency = latency / slowness(rows, "service", latency.index.to_numpy(dtype=float) + 0.5)
        drift = None if drift is None else (1 + drift) * (1 + slowed.get("service", 0.0)) - 1
        cpu_fall = trend.fall(_cpu_per_request(samples, rows, begin_s, end_s))
    latency_fall = trend.fall(latency.to_numpy(dtype=float))
    too_few = (drift is None or load.independent) and len(latency) < trend.MIN_POINTS
    unjudged = "there were too few answers a second" if too_few else ""
    return Steadiness(latency_fall, cpu_fall, None if load.independent else drift, slowed, unjudged)


def slowness(rows: Iterable[Reading], owner: str, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """How slow an owner's cores were at given times, as a multiple of the median; 1.0 if not measured.

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
    """How much slower an owner's cores were in the second half of a period than in the first, as a share."""
    first, second = slowness(rows, owner, np.linspace(begin_s, end_s, 1000)).reshape(2, -1).mean(axis=1)
    return float(second / first - 1)


def _cpu_per_request(samples: pd.DataFrame, rows: list[Reading], begin_s: float, end_s: float) -> NDArray[np.float64]:
    """The service's CPU seconds a request between consecutive readings, corrected for the speed of its cores."""
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
