"""Joins the windows of a load: their counts are added up, and the time between them is left out of all times.

So what judges a load in one piece judges one in windows too. What a service used between its windows, while others were
loaded, is in no counter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from lab.analysis.observations import Observed
from lab.generator.counts import COUNTS
from lab.generator.fleet import PhaseResult
from lab.telemetry.sampler import PAUSED, PAUSES_UNREAD, SPEED_UNREAD, Reading, Telemetry
from lab.telemetry.series import is_counter


class Joined:
    """Adds windows to what is observed of a cell, one after the other.

    Args:
        observed: what they are added to.
        windows: how many there will be.

    Attributes:
        before_us: when the next window begins, by the clock of the samples.

    """

    def __init__(self, observed: Observed, windows: int) -> None:
        self._observed = observed
        self._windows = windows
        self._number = 0
        self._last: dict[tuple[str, str], tuple[float, float]] = {}
        self._left_out: dict[tuple[str, str], float] = {}
        self.before_us = 0

    def add(self, result: PhaseResult, readings: Telemetry, speed: Iterable[Reading], planned_s: float = 0.0) -> float:
        """Add what was counted and read in the next window, complete or not; returns how long it took in seconds.

        Args:
            speed: readings of the cores' speed, and pauses of the machine, of this window and of others.
            planned_s: what the next window begins after at least: for how long an open loop was planned, though its
                last send, and the answer, come before that. Else its rate would be higher than it was.

        """
        whole, number = self._observed.result, self._number
        self._number += 1
        if not number:
            whole.unix_start = result.unix_start
        for name in COUNTS:
            setattr(whole, name, getattr(whole, name) + getattr(result, name))
        whole.cut.extend(result.cut)
        whole.stopped.extend(result.stopped)
        whole.clock_step_s = max(whole.clock_step_s, result.clock_step_s, key=abs)
        whole.whole = result.whole and number == self._windows - 1
        ends_us = [ticks[-1][0] for ticks in result.ticks.values() if ticks]
        elapsed_us = max(0, max(ends_us, default=self.before_us) - self.before_us)
        for worker, ticks in result.ticks.items():
            within = (tick for tick in ticks if not number or tick[0] >= self.before_us)
            whole.ticks.setdefault(worker, []).extend(within)
        # The first window begins with what was read before it, as all others do: the service was idle until then, and
        # a counter that grew evenly from that reading on would leave out some of what the window used.
        first = -math.inf if self._windows == 1 else 0.0
        last = math.inf if number == self._windows - 1 else elapsed_us / 1e6
        begun_s = whole.unix_start + self.before_us / 1e6

        def moved(unix_s: float) -> float:
            return begun_s + min(max(unix_s - result.unix_start, first), last)

        for worker, spent in result.cpu.items():
            rows = self._joined([(t, f"by itself, {worker}", "cpu_s", value) for t, value in spent], moved)
            whole.cpu.setdefault(worker, []).extend((t, value) for t, _, _, value in rows)
        telemetry = self._observed.telemetry
        telemetry.rows += self._joined(sorted(readings.rows), moved)
        telemetry.gaps += map(moved, readings.gaps)
        telemetry.rows += _of_window(speed, result.unix_start, first, last, moved)
        self.before_us += max(elapsed_us, round(planned_s * 1e6))
        return elapsed_us / 1e6

    def _joined(self, rows: Iterable[Reading], moved: Callable[[float], float]) -> Iterator[Reading]:
        """Readings of a window, in order, by the clock that stands still, with counters that stand still with it."""
        begun: set[tuple[str, str]] = set()
        for unix_s, target, name, value in rows:
            key, t = (target, name), moved(unix_s)
            if not is_counter(name):
                yield t, target, name, value
                continue
            before_s, before = self._last.get(key, (-math.inf, value))
            if key not in begun or t <= before_s:
                begun.add(key)
                self._left_out[key] = self._left_out.get(key, 0.0) + value - before
            self._last[key] = max(t, before_s), value
            if t > before_s:
                yield t, target, name, value - self._left_out[key]


def _of_window(
    rows: Iterable[Reading], unix_start: float, first_s: float, last_s: float, moved: Callable[[float], float]
) -> Iterator[Reading]:
    """Readings of a window, and pauses as far as they lie in it, by the clock that stands still between windows.

    What reads them and has ended, in the window or before it, is unread in the window.
    """
    for unix_s, target, name, value in rows:
        t = unix_s - unix_start
        if name == PAUSED:
            begin_s, end_s = max(t, first_s), min(t + value, last_s)
            if end_s > begin_s:
                yield moved(unix_start + begin_s), target, name, end_s - begin_s
        elif first_s <= t <= last_s or (name in (SPEED_UNREAD, PAUSES_UNREAD) and t < first_s):
            yield moved(unix_s), target, name, value
