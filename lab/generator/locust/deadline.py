"""Request timeouts with one timer a user instead of one a request, which costs next to nothing."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any

import gevent

# After a stall of the whole process, timers fire before received bytes are handled: a retry lets these go first.
STALL_NS, RETRY_NS = 20_000_000, 1_000_000


class DeadlinePassed(BaseException):
    """A request timed out: raised in its greenlet. Not an Exception, so that no handler in between catches it."""


class LoadBrokenOff(BaseException):
    """The load is broken off in the middle: raised in each user's greenlet. No Exception, for the same reason."""


class Deadline:
    """The timeout of one user's requests, with one timer for all of them.

    Setting and cancelling a timer of the event loop for every request costs more than sending it. Here :meth:`begin`
    only notes when the request times out. The timer fires at the first request's deadline; if a later request is under
    way by then, it is started again for the rest of that one's time.

    Args:
        limit_s: how long each request may take, in seconds.

    """

    def __init__(self, limit_s: float) -> None:
        self._limit_ns = int(limit_s * 1e9)
        self._due_ns = 0
        self._retried = False
        self._timer: Any = None
        self._greenlet: Any = None

    def begin(self, now_ns: int) -> None:
        """Start a request's timeout at ``now_ns`` of the monotonic clock; raises DeadlinePassed in this greenlet."""
        self._due_ns = now_ns + self._limit_ns
        self._retried = False
        if self._timer is None:
            self._greenlet = gevent.getcurrent()
            self._start_timer(self._due_ns - monotonic_ns())

    def end(self) -> None:
        """End the request's timeout: it was answered or has failed."""
        self._due_ns = 0

    def cancel(self) -> None:
        """Remove the timer from the event loop: its user sends no more requests for now."""
        self._due_ns = 0
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _start_timer(self, left_ns: int) -> None:
        self._timer = gevent.get_hub().loop.timer(max(left_ns, 0) / 1e9)
        self._timer.start(self._on_timer)

    def _on_timer(self) -> None:
        self._timer.close()
        self._timer = None
        if not self._due_ns:
            return
        left_ns = self._due_ns - monotonic_ns()
        if left_ns > 0:
            self._start_timer(left_ns)
        elif -left_ns > STALL_NS and not self._retried:
            self._retried = True
            self._start_timer(RETRY_NS)
        else:
            self._due_ns = 0
            self._greenlet.throw(DeadlinePassed)
