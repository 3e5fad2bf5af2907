"""Nodes and balancers that answered neither readings nor requests for a time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np
import pandas as pd

from lab.spec.nodes import is_node
from lab.spec.sample import UNANSWERED
from lab.spec.system import BALANCER
from lab.telemetry.actuator import GC_PAUSES, POLL_TIMEOUT_S
from lab.telemetry.sampler import PASSED_ON, RECEIVED, SILENT, Reading

# One reading alone may come too late.
SILENT_READINGS = 2
# What is in every answer to a reading: of a node, and of the balancer.
ANSWERED = (GC_PAUSES, RECEIVED)


def silent_spans(rows: Iterable[Reading], samples: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """By name of a node or the balancer, the longest time in which it answered nothing at least, as (begin, end).

    It begins with its first reading without an answer, and ends when the last one was given up: it may have been silent
    for up to two seconds longer. Who answers requests meanwhile is not silent: a node whose answers the balancer has
    passed on, or the balancer whose answers are in the samples.

    Args:
        rows: of (seconds since the planned start, target, name, value).
        samples: with ``sent_us``, ``latency_us`` and ``error``; may be empty.

    Returns:
        Seconds since the planned start; nothing of those that never left two readings in a row without an answer.

    """
    read: dict[str, list[tuple[float, str, float]]] = {}
    for t_s, target, name, value in rows:
        if (is_node(target) or target == BALANCER) and name in (SILENT, PASSED_ON, *ANSWERED):
            read.setdefault(target, []).append((t_s, name, value))
    spans = {target: _silent_s(sorted(readings)) for target, readings in read.items()}
    answered_s = _answered_s(samples)
    spans[BALANCER] = [span for span in spans.get(BALANCER, []) if not _is_any_within(answered_s, *span)]
    return {target: max(found, key=lambda span: span[1] - span[0]) for target, found in spans.items() if found}


def _silent_s(readings: list[tuple[float, str, float]]) -> list[tuple[float, float]]:
    asked = [(t_s, name == SILENT) for t_s, name, _ in readings if name != PASSED_ON]
    found = []
    for is_silent, run in groupby(asked, key=lambda reading: reading[1]):
        times = [t_s for t_s, _ in run]
        begin_s, end_s = times[0], times[-1] + POLL_TIMEOUT_S
        totals = {total for t_s, name, total in readings if name == PASSED_ON and begin_s <= t_s <= end_s}
        if is_silent and len(times) >= SILENT_READINGS and len(totals) <= 1:
            found.append((begin_s, end_s))
    return found


def _answered_s(samples: pd.DataFrame) -> np.ndarray:
    """When the answers of some samples came, in order, in seconds since the planned start."""
    if samples.empty:
        return np.empty(0)
    answered = samples[~samples["error"].isin(UNANSWERED)]
    return np.sort((answered["sent_us"] + answered["latency_us"]).to_numpy()) / 1e6


def _is_any_within(moments_s: np.ndarray, begin_s: float, end_s: float) -> bool:
    return bool(np.searchsorted(moments_s, begin_s, "right") < np.searchsorted(moments_s, end_s))
