"""Detects steps of this machine's wall clock during a load."""

from __future__ import annotations

import time
from collections.abc import Callable

READINGS = 5


class ClockWatch:
    """Detects steps of the wall clock by comparing it with the monotonic clock, which cannot be set.

    Called a few times a second, it distinguishes a step from the slewing of a time service, which moves the clock by
    half a millisecond a second at most.

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
        """The largest step of the wall clock between two calls so far, in seconds; negative if it was set back."""
        before, self._offset_s = self._offset_s, self._read()
        self._step_s = max(self._step_s, self._offset_s - before, key=abs)
        return self._step_s

    def _read(self) -> float:
        """Wall clock minus monotonic clock: the reading of several that took the least time."""
        readings = []
        for _ in range(READINGS):
            before, wall, after = self._monotonic(), self._wall(), self._monotonic()
            readings.append((after - before, wall - (before + after) / 2))
        return min(readings)[1]
