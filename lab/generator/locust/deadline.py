"""Request timeouts that cost next to nothing while requests stay within them."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any

import gevent

# Where the whole process was held up, timers ring before what has come meanwhile is looked at: that gets a turn first.
LATE_NS, A_TURN_NS = 20_000_000, 1_000_000


class DeadlinePassed(BaseException):
    """Raised in the greenlet whose time was up; not an Exception, so that no handler in between takes it."""


class Deadline:
    """One timer a user, not one a request.

    Setting and cancelling a timer of the event loop for every request costs more than sending it. Here :meth:`begin`
    only notes when the time is up. The timer rings when the first request's time is up; if a later request is under
    way by then, it is set again for what is left of that one's time.

    Args:
        limit_s: how long each request may take, in seconds.

    """

    def __init__(self, limit_s: float) -> None:
        self._limit_ns = int(limit_s * 1e9)
        self._due_ns = 0
        self._late = False
        self._timer: Any = None
        self._greenlet: Any = None

    def begin(self, now_ns: int) -> None:
        """Count from ``now_ns`` of the monotonic clock; DeadlinePassed is raised in this greenlet when time is up."""
        self._due_ns = now_ns + self._limit_ns
        self._late = False
        if self._timer is None:
            self._greenlet = gevent.getcurrent()
            self._set(self._due_ns - monotonic_ns())

    def end(self) -> None:
        """The request is over, and its limit does not hold any longer."""
        self._due_ns = 0

    def cancel(self) -> None:
        """Take the timer out of the event loop: its user sends nothing more for now."""
        self._due_ns = 0
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _set(self, left_ns: int) -> None:
        self._timer = gevent.get_hub().loop.timer(max(left_ns, 0) / 1e9)
        self._timer.start(self._ring)

    def _ring(self) -> None:
        self._timer.close()
        self._timer = None
        if not self._due_ns:
            return
        left_ns = self._due_ns - monotonic_ns()
        if left_ns > 0:
            self._set(left_ns)
        elif -left_ns > LATE_NS and not self._late:
            self._late = True
            self._set(A_TURN_NS)
        else:
            self._due_ns = 0
            self._greenlet.throw(DeadlinePassed)
