"""Nodes and balancers that gave no sign for a time: they answered neither readings nor requests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from lab.spec.nodes import is_node
from lab.spec.system import BALANCER
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import PASSED_ON, RECEIVED, SILENT, Reading

# One reading alone may come too late.
SILENT_READINGS = 2
# What is in every answer to a reading: of a node, and of the balancer.
ANSWERED = (GC_PAUSES, RECEIVED)


def silent_spans(rows: Iterable[Reading]) -> dict[str, tuple[float, float]]:
    """By name of a node or the balancer, the longest time in which it gave no sign, as (begin, end).

    Begin and end are its first and its last reading without an answer. A node whose answers the balancer passed on
    meanwhile gave a sign: it was only too busy to answer readings as well.

    Args:
        rows: of (seconds since the planned start, target, name, value).

    Returns:
        Seconds since the planned start; nothing of those that never left two readings in a row without an answer.

    """
    read: dict[str, list[tuple[float, str, float]]] = {}
    for t_s, target, name, value in rows:
        if (is_node(target) or target == BALANCER) and name in (SILENT, PASSED_ON, *ANSWERED):
            read.setdefault(target, []).append((t_s, name, value))
    spans = {target: _silent_s(sorted(readings)) for target, readings in read.items()}
    return {target: max(found, key=lambda span: span[1] - span[0]) for target, found in spans.items() if found}


def _silent_s(readings: list[tuple[float, str, float]]) -> list[tuple[float, float]]:
    asked = [(t_s, name == SILENT) for t_s, name, _ in readings if name != PASSED_ON]
    found = []
    for is_silent, run in groupby(asked, key=lambda reading: reading[1]):
        times = [t_s for t_s, _ in run]
        totals = {total for t_s, name, total in readings if name == PASSED_ON and times[0] <= t_s <= times[-1]}
        if is_silent and len(times) >= SILENT_READINGS and len(totals) <= 1:
            found.append((times[0], times[-1]))
    return found
