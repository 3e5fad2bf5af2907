"""How long Locust's master and its workers do without each other's heartbeats; a worker sends one a second."""

from __future__ import annotations

from time import monotonic
from typing import Any

import gevent
from locust.runners import WorkerRunner

# Seconds without a heartbeat after which a worker is lost. Locust gives it 4, and ends all users then; but one that
# opens thousands of connections at once has no time for heartbeats.
LOST_AFTER_S = 20
# The same of a master, which answers each. It is longer, as the master decides whether a worker is lost.
MASTER_LOST_AFTER_S = 25.0
LOOK_EVERY_S = 1.0


def await_silence(runner: WorkerRunner) -> None:
    """Wait until a worker's master is lost: a killed one says no goodbye, and the next does not know this worker."""
    heard_s = monotonic()  # a master may end right after a worker has joined, without a heartbeat

    def on_heartbeat(**_: Any) -> None:
        nonlocal heard_s
        heard_s = monotonic()

    runner.environment.events.heartbeat_received.add_listener(on_heartbeat)
    silent = False
    while True:
        gevent.sleep(LOOK_EVERY_S)
        # After a stall of the whole process, timers fire before what has come meanwhile is read: it takes two looks.
        before, silent = silent, monotonic() - heard_s > MASTER_LOST_AFTER_S
        if before and silent:
            return
