"""Whether a load was steady from beginning to end: how latency, throughput, CPU cost and the cores changed in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.analysis import checks
from lab.analysis.evidence import Steadiness
from lab.formulas import stats, steady_state, trend
from lab.spec.workload import Load
from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import FIXED_WORK, Reading
from lab.telemetry.series import counter

Floats = NDArray[np.float64]

# The columns of the samples that :func:`steadiness` needs.
COLUMNS = ("planned_us", "sent_us", "latency_us", "error")
# Ten seconds minus the usual ramp: in a shorter time a trend cannot be distinguished from chance.
MIN_STEADY_S = 9.0
# With fewer requests between two readings, their number is mostly chance.
MIN_PER_READING = 20
# In the first second every user connects, which is a different load.
CONNECTING_S = 1.0
# Readings of the fixed work are twelve a second. Those above so many medians hold an interrupt or a change of core.
SMOOTHED_READINGS, OUTLIER = 13, 2.0
# Of latencies that were sent within a piece of time this long, the fastest tenth shows a service that answered nobody.
STALL_PIECE_S, FASTEST_PERCENT, MIN_PER_PIECE = 0.05, 10, 10


def steadiness(
    load: Load, samples: pd.DataFrame, rows: Iterable[Reading], cpu_decides: bool, until_s: float = math.inf
) -> Steadiness:
    """Changes of latency, throughput, CPU cost and core speed within a load that should be steady.

    A burst and a ramp have none, as they are never steady; of a load that is over within ten seconds they cannot be
    judged. Times in which the machine itself stood still are left out.

    Args:
        samples: with :data:`COLUMNS`, of the measured load.
        rows: those of :func:`lab.analysis.observations.metrics`.
        cpu_decides: whether the scenario measures the service's CPU time a request.
        until_s: when the load was cut off, in seconds since its planned start; infinite if it was not.

    """
    if load.steady_span_s is None:
        return Steadiness()
    if samples.empty:
        return Steadiness(not_judged="nothing was sent")
    begin_s, end_s = load.steady_span_s[0], min(load.steady_span_s[1], until_s)
    if end_s == math.inf:
        end_s = samples["sent_us"].max() / 1e6
    if end_s - begin_s < MIN_STEADY_S:
        return Steadiness(not_judged=f"it lasted less than {MIN_STEADY_S:.0f} s after its ramp")
    # What waits for a free user, or for the generator, waits before it is sent: a queue that grows there counts too.
    rows = list(rows)
    clock = RunningClock.of(rows)
    samples, rows = clock.samples(samples), clock.rows(rows)
    begin_s, end_s = map(float, clock(np.array([begin_s + CONNECTING_S, end_s])))
    samples = stats.as_planned(samples) if load.independent else samples
    latency = trend.latency_over_time(samples, begin_s, end_s)
    # The rate of an open loop is planned: of that its latency shows what changes.
    throughput = pd.Series(dtype=float) if load.independent else trend.throughput_over_time(samples, begin_s, end_s)
    if max(len(latency), len(throughput)) < trend.MIN_POINTS:
        return Steadiness(not_judged="there were too few answers a second")
    owners = dict.fromkeys(target for _, target, name, _ in rows if name == FIXED_WORK)
    slower = partial(slowness, rows, "service") if cpu_decides else _same
    took = _change(latency, slower)
    did = _change(throughput, lambda at_s: 1 / slower(at_s))
    cost = _change(_cpu_per_request(samples, rows, begin_s, end_s), slower) if cpu_decides else 0.0
    longest_s, level = stalled_s(samples, begin_s, end_s), settled(samples, begin_s, end_s)
    return Steadiness(
        latency_change=took,
        throughput_change=did,
        cpu_change=cost,
        slowed={owner: _speed_change(rows, owner, begin_s, end_s) for owner in owners},
        stalled_s=longest_s,
        settled=level,
        course=checks.course((took, cost, _between_answers(did)), longest_s, level),
    )


def _between_answers(did: float) -> float:
    """The change of the time between two answers that a change of throughput is; infinite where none came any more."""
    return 1 / (1 + did) - 1 if did > -1 else math.inf


def settled(samples: pd.DataFrame, begin_s: float, end_s: float) -> bool:
    """Whether latency and throughput of a load settled within a span of it; True with too few answers to say."""
    right = samples[(samples["error"] == "").to_numpy()]
    right = right[right["sent_us"].between(begin_s * 1e6, end_s * 1e6)]
    ended_s = (right["sent_us"] + right["latency_us"]).to_numpy() / 1e6 - begin_s
    found = steady_state.settling(ended_s, right["latency_us"].to_numpy() / 1e6)
    return found is None or found.from_s is not None


def stalled_s(samples: pd.DataFrame, begin_s: float, end_s: float) -> float:
    """The longest time by which all requests of a moment were answered late, in seconds: a stall of the service.

    Of the requests that were sent within a twentieth of a second even the fastest tenth took so much longer than the
    median of all; what only some of them waited for is no stall.

    Args:
        samples: with :data:`COLUMNS`.
        begin_s: seconds since the planned start; what was sent before is left out.
        end_s: what was sent later is left out.

    """
    right = samples[(samples["error"] == "") & samples["sent_us"].between(begin_s * 1e6, end_s * 1e6)]
    pieces = right["latency_us"].groupby(right["sent_us"] // round(STALL_PIECE_S * 1e6))
    fastest_us = pieces.quantile(FASTEST_PERCENT / 100)[pieces.size() >= MIN_PER_PIECE]
    if fastest_us.empty:
        return 0.0
    return max(0.0, float(fastest_us.max() - right["latency_us"].median()) / 1e6)


def slowness(rows: Iterable[Reading], owner: str, at_s: Floats) -> Floats:
    """How slow an owner's cores were at given times, as a multiple of the median; 1.0 if not measured.

    Args:
        at_s: seconds since the planned start, shape (n,).

    """
    times, spent_s = counter(rows, owner, FIXED_WORK)
    if not len(times):
        return np.ones(len(at_s))
    usual_s = float(np.median(spent_s))
    # Cores that others share have two speeds: their mean tells for how long they had which, their median does not.
    around = pd.Series(spent_s).clip(upper=OUTLIER * usual_s).rolling(SMOOTHED_READINGS, center=True, min_periods=1)
    slow: Floats = np.interp(at_s, times, around.mean() / usual_s)
    return slow


def _same(at_s: Floats) -> Floats:
    """Cores of one speed."""
    return np.ones(len(at_s))


def _change(over_time: pd.Series, slower: Callable[[Floats], Floats]) -> float:
    """The change of a series as it is and as it would be on cores of one speed, whichever is less.

    So neither a change that slower cores explain is called one of the service, nor one that only the correction made.

    Args:
        over_time: indexed by seconds since the planned start.
        slower: by how much the cores at given times lengthen what is in the series.

    """
    values = over_time.to_numpy(dtype=float)
    seen, corrected = trend.change(values), trend.change(values / slower(over_time.index.to_numpy(dtype=float)))
    return min(seen, corrected, key=abs) if seen * corrected > 0 else 0.0


def _speed_change(rows: list[Reading], owner: str, begin_s: float, end_s: float) -> float:
    """How much slower an owner's cores became from the beginning of a period to its end, as a share."""
    times, spent_s = counter(rows, owner, FIXED_WORK)
    return trend.change(spent_s[(times >= begin_s) & (times <= end_s)])


def _cpu_per_request(samples: pd.DataFrame, rows: list[Reading], begin_s: float, end_s: float) -> pd.Series:
    """The service's CPU seconds a request between consecutive readings, by the moment between them."""
    times, cpu_s = counter(rows, "service", "cpu_s")
    within = (times >= begin_s) & (times <= end_s)
    times, cpu_s = times[within], cpu_s[within]
    if len(times) < 2:
        return pd.Series(dtype=float)
    ended_s = (samples["sent_us"] + samples["latency_us"]).to_numpy() / 1e6
    requests, _ = np.histogram(ended_s, bins=times)
    cost = pd.Series(np.diff(cpu_s) / np.maximum(requests, 1), index=(times[:-1] + times[1:]) / 2)
    return cost[requests >= MIN_PER_READING]
