"""Times in which the process of a service did not run at all, as it says itself: hiccups, as jHiccup measures them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lab.spec.nodes import is_node
from lab.spec.system import SERVICE
from lab.telemetry.actuator import GC_PAUSES, HICCUPS
from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import Reading
from lab.telemetry.series import counter


def longest_stop_s(rows: Iterable[Reading], cores: int, end_s: float) -> float | None:
    """The longest time in a load in which a process of the service did not run, in seconds; None if it did not report.

    Unlike a stall of the answers it is seen in every load, a burst or a ramp too, and whatever the requests wait for.
    What the machine's own pauses and the garbage collector explain is none of it, nor is time in which other threads of
    the process ran: one that waits for a busy core is late too. Of several stops between two readings, a second apart,
    it is the sum.

    Args:
        rows: readings with seconds since the planned start.
        cores: how many the process may use.
        end_s: when the load ended; what was read later is left out, but for the reading that came next.

    """
    rows = list(rows)
    clock = RunningClock.of(rows)
    nodes = {target for _, target, _, _ in rows if is_node(target)} or {SERVICE}
    found = [stop_s for node in nodes if (stop_s := _of_process(rows, node, clock, cores, end_s)) is not None]
    return max(found, default=None)


def _of_process(rows: list[Reading], node: str, clock: RunningClock, cores: int, end_s: float) -> float | None:
    (read_s, missed_s), used, collected = (counter(rows, node, name) for name in (HICCUPS, "cpu_s", GC_PAUSES))
    kept = slice(0, int(np.searchsorted(read_s, end_s)) + 1)
    read_s, missed_s = read_s[kept], missed_s[kept]
    if len(read_s) < 2 or len(used[0]) < 2:
        return None
    paused_s = np.diff(clock.paused_before(read_s))
    collected_s = np.diff(np.interp(read_s, *collected)) if len(collected[0]) else 0.0
    idle_s = np.diff(read_s) - np.diff(np.interp(read_s, *used)) / cores
    stopped_s = np.minimum(np.diff(missed_s) - collected_s, idle_s) - paused_s
    return float(stopped_s.max(initial=0.0))
