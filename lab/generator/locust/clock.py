"""Detects that somebody sets this machine's clock during a load."""

from __future__ import annotations

import time
from collections.abc import Callable

READINGS = 5


class ClockWatch:
    """Compares the wall clock with the monotonic one, which nobody can set.

    Asked a few times a second, it tells a step from the slow correction that a time service makes: that one moves the
    clock by half a millisecond a second at most.

    Args:
        wall: seconds since 1970; may be set at any time.
        monotonic: seconds since some moment; only ever goes on.

    """

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._offset_s = self._read()
        self._step_s = 0.0

    def step_s(self) -> float:
        """By how much the wall clock was set between two calls at most, in seconds; negative if it was set back."""
        before, self._offset_s = self._offset_s, self._read()
        self._step_s = max(self._step_s, self._offset_s - before, key=abs)
        return self._step_s

    def _read(self) -> float:
        """Wall clock minus monotonic clock: of several readings that with the least time in between."""
        readings = []
        for _ in range(READINGS):
            before, wall, after = self._monotonic(), self._wall(), self._monotonic()
            readings.append((after - before, wall - (before + after) / 2))
        return min(readings)[1]
