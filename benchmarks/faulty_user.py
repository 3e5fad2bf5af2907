"""A locustfile with something wrong: users of ``delay`` with a bad habit.

:mod:`sensitivity` has the lab's own workers play a copy in which :data:`HABIT` is set. In the warm-up, which does not
wait, nothing is wrong.
"""

from __future__ import annotations

import itertools
import time

import gevent
from locust import task

from lab.experiments.delay.scenario import SCENARIO
from lab.generator.locust import LabUser
from lab.generator.locust.recorder import RECORD_BYTES, Recorder

# A name, and how much of it, such as "late 0.015".
HABIT = ""
NAME, _, AMOUNT = HABIT.partition(" ")
# Of so many users one is parked; of so many samples one is lost.
PARKED_OF, LOST_OF = 20, 1000
# For how long those pause who do.
PAUSE_S = 0.5


class FaultyUser(LabUser):
    """Asks for the delay as the scenario's own user does, and has one bad habit besides."""

    scenario = SCENARIO
    numbers = itertools.count()

    def on_start(self) -> None:
        """Get a number, by which some users are parked."""
        self.number = next(self.numbers)

    @task
    def wait_for_answer(self) -> None:
        """GET /delay/{delay_ms}, with the habit before or after it."""
        delay_ms = self.parameters["delay_ms"]
        habit = NAME * bool(delay_ms)
        if habit == "late":  # ready to send, but held up
            gevent.sleep(float(AMOUNT))
        self.client.get(self.path, name="/delay", check=b'{"millis":%d}' % delay_ms)
        if habit == "busy":  # so much work for the worker with each answer
            until = time.monotonic() + float(AMOUNT)
            while time.monotonic() < until:
                pass
        if habit in ("parked", "pausing-parked") and self.number % PARKED_OF == 0:
            gevent.sleep(float(AMOUNT))
        if habit in ("pausing", "pausing-parked"):
            self.pause(PAUSE_S)


if NAME == "lost":
    take_all = Recorder.take
    samples = itertools.count(1)

    def take_most(recorder: Recorder) -> bytes:
        """What a recorder has, but for one sample of a thousand."""
        records = take_all(recorder)
        each = (records[at : at + RECORD_BYTES] for at in range(0, len(records), RECORD_BYTES))
        return b"".join(record for record in each if next(samples) % LOST_OF)

    Recorder.take = take_most
