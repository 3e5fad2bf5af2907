"""The figures of each window of a load: rate, latencies and CPU cost, of its settled part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from lab.formulas import stats
from lab.spec.window import Window
from lab.spec.workload import Load
from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import FIXED_WORK, Reading
from lab.telemetry.series import counter, growth

# The first part of a window, in which its users start and caches fill, is left out of rates and latencies.
SETTLING_SHARE = 0.1
# Of a window in which the machine ran for less than this share nothing is said.
LEAST_RUNNING_SHARE = 0.1
# With fewer right answers the 99th percentile is one of the two slowest.
FEWEST_FOR_P99 = 200
# Of others that have ended so many rounds tell how they were: one is noise.
LATEST_ROUNDS = 3
# The figures by which the course of a load is judged.
COURSE = P50, MEAN, THROUGHPUT, CPU, CORES_USED = (
    "p50_s",
    "mean_s",
    "ok_throughput_rps",
    "cpu_s_per_1000_requests",
    "cores_used",
)
# By owner of cores, the field with the CPU seconds of a fixed piece of work on them: how slow they were.
SPEEDS = {"service": "yardstick_s", "generator": "generator_yardstick_s"}

# Records of windows, as :func:`of_windows` makes them.
Windows = Sequence[Mapping[str, Any]]


def of_windows(
    windows: Sequence[Window], load: Load, samples: pd.DataFrame, rows: Iterable[Reading]
) -> list[dict[str, Any]]:
    """The records of windows with their figures, named as in ``summary.json``; None where one is not known.

    Rates, latencies and the cores that the service used leave out the times in which the machine itself stood still,
    which are ``paused_s``: it does so whoever is loaded, and adjacent windows would differ by nothing else. Only the
    rate of an open loop does not, as its plan goes on meanwhile.

    Args:
        samples: of the measured load, with :data:`lab.analysis.steadiness.COLUMNS`.
        rows: those of :func:`lab.analysis.observations.metrics`.

    """
    samples, rows = stats.as_planned(samples) if load.independent else samples, list(rows)
    clock = RunningClock.of(rows)
    speeds = {owner: counter(rows, owner, FIXED_WORK) for owner in SPEEDS}
    spent = counter(rows, "service", "cpu_s")
    found = []
    for window in windows:
        mine = samples[(samples["window"] == window.number).to_numpy()] if len(samples) else samples
        cpu_s = growth(*spent, window.began_s, window.began_s + window.elapsed_s)
        cost = None if cpu_s is None or not window.requests else cpu_s * 1000 / window.requests
        paused_s = clock.paused_s(window.began_s, window.began_s + window.length_s)
        ran_s = window.elapsed_s - clock.paused_s(window.began_s, window.began_s + window.elapsed_s)
        used = None if cpu_s is None or ran_s < LEAST_RUNNING_SHARE * window.elapsed_s else cpu_s / ran_s
        settled = _of_settled(window, mine, clock, load.independent)
        figures = {**settled, CPU: cost, CORES_USED: used, "paused_s": paused_s}
        speed = {field: _mean_within(window, *speeds[owner]) for owner, field in SPEEDS.items()}
        found.append({**asdict(window), **figures, **speed})
    return found


def by_round(own: Windows, *others: Windows) -> dict[str, pd.DataFrame]:
    """How the figures of a variant and of those that took turns with it changed from round to round.

    Args:
        own: the variant's windows.
        others: those of each of the others.

    Returns:
        By each of :data:`COURSE` the columns ``own`` and ``others``, indexed by the middle of the variant's window in
        seconds since the planned start: the figure over the median of all windows of its variant, for the others as the
        geometric mean; without rounds in which either is not known. After the last round in which any other is known,
        as when all have ended, they are taken to stay as they were: what this variant does then is its own.

    """
    middle_s = {window["number"]: window["began_s"] + window["length_s"] / 2 for window in own}
    found = {}
    for field in COURSE:
        logs = pd.DataFrame([_logs(windows, field) for windows in (own, *others)], columns=sorted(middle_s))
        logs = logs.sub(logs.median(axis=1), axis=0)
        beside = logs.iloc[1:].mean(axis=0)
        last = beside.last_valid_index()
        alone = beside.index > (-1 if last is None else last)
        stay = 0.0 if last is None else beside.dropna().tail(LATEST_ROUNDS).mean()
        both = pd.DataFrame({"own": logs.iloc[0], "others": beside.mask(alone, stay)}).dropna()
        found[field] = both.map(math.exp).set_axis([middle_s[number] for number in both.index])
    return found


def _logs(windows: Windows, field: str) -> pd.Series:
    known = {window["number"]: math.log(window[field]) for window in windows if window.get(field)}
    return pd.Series(known, dtype=float)


def _mean_within(window: Window, times: np.ndarray, values: np.ndarray) -> float | None:
    within = values[(times >= window.began_s) & (times <= window.began_s + window.elapsed_s)]
    return float(within.mean()) if len(within) else None


def _of_settled(window: Window, samples: pd.DataFrame, clock: RunningClock, open_loop: bool) -> dict[str, float | None]:
    """Rate and latencies of right answers in the settled part of a window; None where the machine hardly ran in it.

    A request that was under way at its begin or end counts in the rate by its share of time within: so neither the last
    answers, nor users who are all answered at the same moments, raise or lower it.
    """
    span_s = np.array([window.began_s + SETTLING_SHARE * window.length_s, window.began_s + window.length_s])
    begin_s, end_s = map(float, clock(span_s))
    if end_s - begin_s < LEAST_RUNNING_SHARE * (span_s[1] - span_s[0]):
        return dict.fromkeys(("ok_throughput_rps", "mean_s", "p50_s", "p99_s"))
    right = clock.samples(samples[(samples["error"] == "").to_numpy()])
    sent_s, latency_s = (right[name].to_numpy() / 1e6 for name in ("sent_us", "latency_us"))
    within_s = np.clip(np.minimum(sent_s + latency_s, end_s) - np.maximum(sent_s, begin_s), 0.0, None)
    done = float((within_s / np.maximum(latency_s, 1e-6)).sum())
    settled_s = np.sort(latency_s[(sent_s >= begin_s) & (sent_s < end_s)])
    return {
        "ok_throughput_rps": done / (float(span_s[1] - span_s[0]) if open_loop else end_s - begin_s),
        "mean_s": float(settled_s.mean()) if len(settled_s) else None,
        "p50_s": _percentile(settled_s, 50, 1),
        "p99_s": _percentile(settled_s, 99, FEWEST_FOR_P99),
    }


def _percentile(ordered_s: np.ndarray, percent: int, fewest: int) -> float | None:
    if len(ordered_s) < fewest:
        return None
    return float(ordered_s[stats.rank(len(ordered_s), percent)])
