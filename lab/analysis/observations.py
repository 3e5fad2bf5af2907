"""From what workers and probes said of one load to metrics on its time axis, and to evidence for the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.analysis.verdict import Evidence
from lab.formulas import trend
from lab.generator.fleet import Played
from lab.spec.scenario import Load
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import CORES_BUSY, MACHINE, YARDSTICK, Row, Watch

# How the three pools name the connections in use, and the requests that wait for one.
POOL_IN_USE = ("hikaricp_connections_active", "r2dbc_pool_acquired", "mongodb_driver_pool_checkedout")
POOL_WAITING = ("hikaricp_connections_pending", "r2dbc_pool_pending", "mongodb_driver_pool_waitqueuesize")
# What :func:`note_steadiness` looks at.
STEADY_COLUMNS = ("sent_us", "latency_us", "error")
# Ten seconds, less the usual ramp: in a shorter time a trend cannot be told from chance.
MIN_STEADY_S = 9.0
# As many requests a second are few enough to be counted by chance.
MIN_PER_READING = 20
# In the first second every user connects, which is another load.
CONNECTING_S = 1.0
# Planned sends and counting are done by timers, and those that are due within this time come round together.
TOGETHER_S = 0.001
# Readings of the yardstick are four a second; single ones hold an interrupt or a change of core.
SMOOTHED_READINGS = 5


def metrics(played: Played, watch: Watch) -> list[Row]:
    """All readings as rows of (seconds since the planned start, target, name, value)."""
    rows = [(t - played.unix_start, target, name, value) for t, target, name, value in watch.rows]
    rows += [(t - played.unix_start, "service", "gap", 1.0) for t in watch.gaps]
    for worker, ticks in played.ticks.items():
        rows += [(t_us / 1e6, f"worker {int(worker) + 1}", "under_way", float(n)) for t_us, n in ticks]
    return rows


def counted_in_system(played: Played, elapsed_s: float) -> float | None:
    """N, the mean number of requests under way by the workers' own count, over the time the samples span."""
    if not played.whole or not elapsed_s:
        return None
    areas = []
    for ticks in played.ticks.values():
        pairs = pairwise(ticks)
        areas.append(sum((b[0] - a[0]) / 1e6 * (a[1] + b[1]) / 2 for a, b in pairs if b[0] > 0))
    return sum(areas) / elapsed_s if areas else None


def stood_still_s(played: Played, elapsed_s: float) -> float:
    """The longest time in which a worker did nothing while the load lasted: it counts every 50 ms, whatever comes."""
    gaps = [
        (b[0] - a[0]) / 1e6
        for ticks in played.ticks.values()
        for a, b in pairwise(ticks)
        if b[0] > 0 and a[0] / 1e6 < elapsed_s
    ]
    return max(gaps, default=0.0)


def counting_error(played: Played, load: Load, elapsed_s: float) -> float:
    """By how much that count may err.

    It misses what changes between two counts: where requests rise to their most and fall again, as in a burst, that is
    the most times the interval, over the time. And in an open loop it may count what is sent within a millisecond and
    answered before anybody looks again.
    """
    areas = [max(n for _, n in ticks) * _typical_interval_s(ticks) for ticks in played.ticks.values() if len(ticks) > 1]
    return sum(areas) / elapsed_s + load.rate_rps * TOGETHER_S if elapsed_s else 0.0


def _typical_interval_s(ticks: Sequence[tuple[int, int]]) -> float:
    """The median time between two counts: a stall is not what counting errs by."""
    return float(np.median([b[0] - a[0] for a, b in pairwise(ticks)])) / 1e6


def foreign_cpu(watch: Watch, cores: int) -> float | None:
    """The part of the machine that programs took which are not of this run; None if the load was too short to tell."""
    spent: dict[str, list[tuple[float, float]]] = {}
    for t, target, name, value in watch.rows:
        if name == "cpu_s":
            spent.setdefault(target, []).append((t, value))
    used = {target: readings[-1][1] - readings[0][1] for target, readings in spent.items()}
    elapsed_s = spent[MACHINE][-1][0] - spent[MACHINE][0][0] if MACHINE in spent else 0.0
    if elapsed_s < 1:
        return None
    foreign_s = used.pop(MACHINE) - sum(used.values())
    return max(0.0, foreign_s / elapsed_s / cores)


def taken(watch: Watch, cores: Mapping[str, frozenset[int]]) -> dict[str, float]:
    """The part of whose cores was used by programs that are not of this run; empty if the load was too short to tell.

    Args:
        cores: of ``service``, and of ``generator``, which has everything else of the run on its cores.

    """
    own = {"service": 0.0, "generator": 0.0}
    for target in {target for _, target, name, _ in watch.rows if name == "cpu_s"} - {MACHINE}:
        _, values = _series(watch.rows, target, "cpu_s")
        own["service" if target == "service" else "generator"] += values[-1] - values[0]
    shares = {}
    for owner, mine in cores.items():
        times, values = _series(watch.rows, owner, CORES_BUSY)
        if len(times) and times[-1] - times[0] >= 1:
            used_s = values[-1] - values[0] - own[owner]
            shares[owner] = max(0.0, float(used_s / (times[-1] - times[0]) / len(mine)))
    return shares


def note_steadiness(
    evidence: Evidence, load: Load, samples: pd.DataFrame, rows: Iterable[Row], cpu_decides: bool
) -> None:
    """Note whether anything still fell or drifted in a load that is meant to be the same from begin to end.

    A burst is not: its waves rise. Nor is one that is over within ten seconds.

    Args:
        samples: with :data:`STEADY_COLUMNS`, of the measured load.
        rows: those of :func:`metrics`.
        cpu_decides: whether the service's CPU time a request is part of the question.

    """
    if load.is_burst or samples.empty:
        return
    begin_s, end_s = load.ramp_s, load.duration_s or samples["sent_us"].max() / 1e6
    if end_s - begin_s < MIN_STEADY_S:
        return
    begin_s += CONNECTING_S
    latency, drift = trend.latency_by_second(samples, begin_s, end_s), trend.drift(samples, begin_s, end_s)
    if cpu_decides:
        # Cores that change by themselves change what they do in a second: that is told apart from the service's doing.
        rows = list(rows)
        owners = dict.fromkeys(target for _, target, name, _ in rows if name == YARDSTICK)
        evidence.slowed = {owner: _slowed(rows, owner, begin_s, end_s) for owner in owners}
        latency = latency / slowness(rows, "service", latency.index.to_numpy(dtype=float) + 0.5)
        drift = None if drift is None else (1 + drift) * (1 + evidence.slowed.get("service", 0.0)) - 1
        evidence.cpu_fall = trend.fall(_cpu_per_request(samples, rows, begin_s, end_s))
    evidence.latency_fall = trend.fall(latency.to_numpy(dtype=float))
    if not load.is_open:
        evidence.drift = drift


def slowness(rows: Iterable[Row], owner: str, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """How slow somebody's cores were at some moments, as a multiple of the median; 1.0 if nobody measured it.

    Args:
        at_s: seconds since the planned start, shape (n,).

    """
    times, spent_s = _series(rows, owner, YARDSTICK)
    if not len(times):
        return np.ones(len(at_s))
    around = pd.Series(spent_s).rolling(SMOOTHED_READINGS, center=True, min_periods=1).median()
    slow: NDArray[np.float64] = np.interp(at_s, times, around / np.median(spent_s))
    return slow


def _slowed(rows: Iterable[Row], owner: str, begin_s: float, end_s: float) -> float:
    """By which part somebody's cores were slower in the second half of a time than in the first."""
    first, second = slowness(rows, owner, np.linspace(begin_s, end_s, 1000)).reshape(2, -1).mean(axis=1)
    return float(second / first - 1)


def _cpu_per_request(samples: pd.DataFrame, rows: list[Row], begin_s: float, end_s: float) -> NDArray[np.float64]:
    """CPU seconds of the service a request between one reading and the next, at the same speed of its cores."""
    times, cpu_s = _series(rows, "service", "cpu_s")
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


def server_truth(rows: Iterable[Row], begin_s: float, end_s: float, requests: int) -> dict[str, float | None]:
    """What the load cost the service, by its own and the system's account, cut to the load's time.

    Args:
        rows: those of :func:`metrics`.
        begin_s: the first request was sent, in seconds since the planned start.
        end_s: the last request ended.
        requests: how many there were.

    Returns:
        ``cpu_s_per_1000_requests``; ``gc_pause_s``, for how long the garbage collector stopped it; ``pool_in_use`` and
        ``pool_wait``, the mean numbers of connections in use and of requests that waited for one; ``yardstick_s``, the
        CPU seconds of the same piece of work on the service's cores, which tell one machine's speed at one time from
        another's. None where unknown.

    """
    rows = list(rows)
    cpu_s = _spent(*_series(rows, "service", "cpu_s"), begin_s, end_s)
    return {
        "cpu_s_per_1000_requests": None if cpu_s is None or not requests else cpu_s / requests * 1000,
        "gc_pause_s": _spent(*_series(rows, "service", GC_PAUSES), begin_s, end_s),
        "pool_in_use": _mean(rows, POOL_IN_USE, begin_s, end_s),
        "pool_wait": _mean(rows, POOL_WAITING, begin_s, end_s),
        "yardstick_s": _mean([row for row in rows if row[1] == "service"], (YARDSTICK,), begin_s, end_s),
    }


def _series(rows: Iterable[Row], target: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and values of one metric, each of shape (n,)."""
    found = np.array([(t, value) for t, of, what, value in rows if (of, what) == (target, name)], dtype=float)
    return (found[:, 0], found[:, 1]) if len(found) else (np.zeros(0), np.zeros(0))


def _spent(times: NDArray[np.float64], values: NDArray[np.float64], begin_s: float, end_s: float) -> float | None:
    """By how much a counter grew, taken to grow evenly between two readings; None if none is from after the end.

    Before its first reading it is taken to have stood still: what it counts had not begun.
    """
    if len(times) < 2 or times[-1] < end_s:
        return None
    begun, ended = np.interp([begin_s, end_s], times, values)
    return float(ended - begun)


def _mean(rows: list[Row], names: tuple[str, ...], begin_s: float, end_s: float) -> float | None:
    found = [value for t, _, name, value in rows if name in names and begin_s <= t <= end_s]
    return sum(found) / len(found) if found else None


def gc_share(watch: Watch) -> float | None:
    """The part of the watched time in which the garbage collector stopped the service."""
    times, pauses = _series(watch.rows, "service", GC_PAUSES)
    return float((pauses[-1] - pauses[0]) / (times[-1] - times[0])) if len(times) > 1 else None


def worker_cpu(watch: Watch, played: Played, elapsed_s: float) -> float | None:
    """The busiest worker's mean use of a core while the load lasted; None if it was too short to tell.

    Workers on this machine are watched; what happens on others, only their own readings say.
    """
    readings = {f"by its own count, {worker}": list(rows) for worker, rows in played.cpu.items()}
    for t, target, name, value in watch.rows:
        begun, over = played.unix_start - 1, played.unix_start + elapsed_s + 1
        if name == "cpu_s" and target.startswith("worker") and begun <= t <= over:
            readings.setdefault(target, []).append((t, value))
    shares = [(r[-1][1] - r[0][1]) / (r[-1][0] - r[0][0]) for r in readings.values() if r[-1][0] - r[0][0] >= 1]
    return max(shares, default=None)
