"""Nodes and balancers that answered neither readings nor requests for a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from lab.spec.nodes import is_node
from lab.spec.sample import NO_ANSWER
from lab.spec.system import BALANCER
from lab.telemetry.actuator import GC_PAUSES, POLL_TIMEOUT_S
from lab.telemetry.sampler import PASSED_ON, RECEIVED, SILENT, Reading

# One reading alone may come too late.
SILENT_READINGS = 2
# What is in every answer to a reading: of a node, and of the balancer.
ANSWERED = (GC_PAUSES, RECEIVED)


def silent_spans(
    rows: Iterable[Reading], pieces: Callable[[Sequence[str]], Iterable[pd.DataFrame]]
) -> dict[str, tuple[float, float]]:
    """By name of a node or the balancer, the longest time in which it is known to have answered nothing: (begin, end).

    It begins with its first reading without an answer, and ends when the last one was given up: it may have been silent
    for up to two seconds longer. Who answers requests meanwhile is not silent: a node whose answers the balancer has
    passed on, or the balancer whose answers are in the samples.

    Args:
        rows: of (seconds since the planned start, target, name, value).
        pieces: gives the samples of the load in pieces, with the columns that it is asked for.

    Returns:
        Seconds since the planned start; nothing of those that never left two readings in a row without an answer.

    """
    read: dict[str, list[tuple[float, str, float]]] = {}
    for t_s, target, name, value in rows:
        if (is_node(target) or target == BALANCER) and name in (SILENT, PASSED_ON, *ANSWERED):
            read.setdefault(target, []).append((t_s, name, value))
    spans = {target: _silent_s(sorted(readings)) for target, readings in read.items()}
    if spans.get(BALANCER):
        answered_s = _answered_s(pieces(("sent_us", "latency_us", "error")))
        spans[BALANCER] = [span for span in spans[BALANCER] if not _is_any_within(answered_s, *span)]
    return {target: max(found, key=lambda span: span[1] - span[0]) for target, found in spans.items() if found}


def _silent_s(readings: list[tuple[float, str, float]]) -> list[tuple[float, float]]:
    asked = [(t_s, name == SILENT) for t_s, name, _ in readings if name != PASSED_ON]
    runs = [(is_silent, [t_s for t_s, _ in run]) for is_silent, run in groupby(asked, key=lambda reading: reading[1])]
    found = []
    for (is_silent, times), (_, after) in zip(runs, [*runs[1:], (False, [math.inf])], strict=True):
        totals = [(t_s, total) for t_s, name, total in readings if name == PASSED_ON and times[0] <= t_s]
        # Who went on while the last of them was given up has answered requests since.
        surely = sum(len({total for t_s, total in totals if t_s <= to_s}) <= 1 for to_s in (*times[1:], after[0]))
        if is_silent and surely >= SILENT_READINGS:
            found.append((times[0], times[surely - 1] + POLL_TIMEOUT_S))
    return found


def _answered_s(pieces: Iterable[pd.DataFrame]) -> np.ndarray:
    """When the answers of some samples came, in order, in seconds since the planned start."""
    answered = [piece[~piece["error"].isin(NO_ANSWER)] for piece in pieces]
    ended_us = [(piece["sent_us"] + piece["latency_us"]).to_numpy() for piece in answered]
    return np.sort(np.concatenate(ended_us or [np.empty(0)])) / 1e6


def _is_any_within(moments_s: np.ndarray, begin_s: float, end_s: float) -> bool:
    return bool(np.searchsorted(moments_s, begin_s, "right") < np.searchsorted(moments_s, end_s))
