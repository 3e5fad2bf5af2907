"""Plays phases of load in a Locust worker, as the lab's master orders them."""

from __future__ import annotations

import gc
import os
import traceback
from collections.abc import Iterator
from time import monotonic_ns, process_time, time, time_ns
from typing import TYPE_CHECKING, Any, ClassVar

import gevent
import msgspec
from gevent.event import Event
from locust import events
from locust.env import Environment
from locust.runners import WorkerRunner

from lab.generator.locust import token_pool
from lab.generator.locust.arrivals import quota, share, turns
from lab.generator.locust.clock import ClockWatch
from lab.generator.locust.http import HttpClient
from lab.generator.locust.recorder import Recorder, feed
from lab.runtimes.checkout import CONDUCTED
from lab.spec import schedule
from lab.spec.workload import Load

if TYPE_CHECKING:
    from lab.generator.locust.user import LabUser

FLUSH_S = 0.25
# Objects that may be made before the collector looks at them: more than the clients of a ramp are.
FEW_COLLECTIONS = 500_000
TICK_S = 0.05
RAISED = "A task of the locustfile raised an exception."
ENDED = "Locust ended the users of a worker that its master had not heard of for seconds: what stopped it?"
# A reading of a worker's clock is as old as it was under way, so of a few the youngest counts.
CLOCK_READINGS, CLOCK_EVERY_S = 4, 0.02


class Phase:
    """One stretch of load as this worker plays it: a warm-up round (``warm_up`` > 0) or the measured load (0)."""

    def __init__(self, order: dict[str, Any], worker: int) -> None:
        self.number: int = order["number"]
        self.warm_up: int = order["warm_up"]
        self.load = msgspec.convert(order["load"], Load)
        self.url: str = order["url"]
        self.headers: dict[str, str] = order.get("headers", {})
        self.parameters: dict[str, int] = order["parameters"]
        self.unix_start: float = order["unix_start"]
        self.start_ns = monotonic_ns() + int(self.unix_start * 1e9) - time_ns()
        self.end_ns = self.start_ns + int(self.load.duration_s * 1e9)
        self.numbers = share(order["counts"], worker)
        self.to_send = quota(self.load.requests, order["counts"], worker)
        self.sends_ns = self._planned_ns(tuple(order["seed"]), order["counts"], worker)
        self.untaken = iter(self.sends_ns)
        self.recorder = Recorder(self.start_ns)
        self.playing = len(self.numbers)
        self.ticks: list[tuple[int, int]] = []
        self.clock = ClockWatch()
        self.problem: dict[str, str] = {}
        self.over = Event()

    def _planned_ns(self, seed: schedule.Seed, counts: list[int], worker: int) -> memoryview:
        """When this worker is to send: the first request of each of its users, or all its part of an open loop."""
        mine = turns(self.load.planned_sends, counts, worker) if self.load.is_open else self.numbers
        # As a view on 8 bytes a send that gives Python's own numbers, which are quicker than numpy's.
        return (self.start_ns + (schedule.planned_s(self.load, seed)[mine] * 1e9).astype(int)).data

    def play(self, user: LabUser, number: int) -> None:
        """Play one of this worker's users to its end; the first exception of all users is the phase's problem.

        So is that Locust ends a user, as it does where its master has not heard of a worker for some seconds.
        """
        try:
            self._play(user, number)
        except Exception:
            self.problem = self.problem or {"sentence": RAISED, "detail": traceback.format_exc()}
        except BaseException:
            self.problem = self.problem or {"sentence": ENDED, "detail": ""}
            raise
        finally:
            self.playing -= 1
            if not self.playing:
                self.over.set()

    def _play(self, user: LabUser, number: int) -> None:
        user.parameters = self.parameters
        sink = self.recorder.sink(int(self.numbers[number]))
        user.client = client = HttpClient(self.url, sink, self.load.timeout_s, self.headers)
        failed = 0
        try:
            for planned_ns in self._turns(number):
                client.planned_ns = planned_ns
                task = user.random.choice(user.tasks) if len(user.tasks) > 1 else user.tasks[0]
                task(user)
                if self.recorder.failed > failed:
                    failed = self.recorder.failed
                    gevent.sleep(0)  # a refused connection fails at once: without this nobody else would get a turn
        finally:
            client.close()

    def _turns(self, number: int) -> Iterator[int]:
        """Yield whenever a user is to send: the planned moment, or 0 where it is planned for just then.

        In an open loop a user that is free takes the next send that nobody has taken yet. If all were busy at its time
        it is overdue, and is sent at once: its planned moment shows how late.
        """
        if self.load.is_open:
            for planned_ns in self.untaken:
                _sleep_until(planned_ns)
                yield planned_ns
            return
        planned_ns, sent = self.sends_ns[number], 0
        _sleep_until(planned_ns)
        while self._goes_on(sent):
            yield planned_ns
            planned_ns, sent = 0, sent + 1

    def _goes_on(self, sent: int) -> bool:
        if self.load.duration_s:
            return monotonic_ns() < self.end_ns
        if not self.load.requests:
            return sent < self.load.loops
        self.to_send -= 1
        return self.to_send >= 0


class Conductor:
    """Holds this worker's users between phases, starts them together, and sends what they record to the master."""

    current: ClassVar[Conductor | None] = None

    def __init__(self, runner: WorkerRunner) -> None:
        self._runner = runner
        self._users = 0
        self._phase: Phase | None = None
        self._called = Event()
        runner.register_message("lab-phase", self._on_phase)
        runner.register_message("lab-tokens", self._on_tokens)

    @classmethod
    def join(cls, runner: WorkerRunner) -> None:
        """Take orders from the lab's master from now on, and tell it so, and what time it is here."""
        cls.current = cls(runner)
        for _ in range(CLOCK_READINGS):
            runner.send_message("lab-clock", {"unix": time()})
            gevent.sleep(CLOCK_EVERY_S)
        runner.send_message("lab-ready", {})

    def play(self, user: LabUser) -> None:
        """Play a user through all phases; does not return until Locust ends the user."""
        number = self._users
        self._users += 1
        user.random.seed(number)
        user.on_start()
        played = 0
        while True:
            phase = self._phase
            if phase is None or phase.number == played:
                self._called.wait()
                continue
            played = phase.number
            if number < len(phase.numbers):
                phase.play(user, number)

    def _on_tokens(self, environment: Environment, msg: Any) -> None:
        token_pool.fill(msg.data)
        self._runner.send_message("lab-tokens-there", {"tokens": len(token_pool.pairs())})

    def _on_phase(self, environment: Environment, msg: Any) -> None:
        phase = Phase(msg.data, self._runner.worker_index)
        gc.collect()
        gc.freeze()  # thousands of users live until the end: the collector need not look at them again
        gc.set_threshold(FEW_COLLECTIONS)  # nor at the clients that they are about to make: that is a pause of 60 ms
        self._phase = phase
        called, self._called = self._called, Event()
        called.set()
        gevent.spawn(self._report, phase)

    def _report(self, phase: Phase) -> None:
        ticker = gevent.spawn(_tick, phase)
        if not phase.playing:
            phase.over.set()
        while not phase.over.wait(FLUSH_S):
            self._flush(phase, last=False)
        ticker.kill()
        _note_tick(phase)  # what came since the last one counts too
        self._flush(phase, last=True)

    def _flush(self, phase: Phase, last: bool) -> None:
        recorder = phase.recorder
        records = recorder.take()
        if records and not phase.warm_up:
            feed(self._runner.stats, records, recorder.names, phase.unix_start)
        if last:
            self._report_to_locust()
        ticks, phase.ticks = phase.ticks, []
        counts: dict[str, Any] = {"begun": recorder.begun, "finished": recorder.finished, "failed": recorder.failed}
        report = {
            "problem": phase.problem,
            "phase": phase.number,
            "warm_up": phase.warm_up,
            "last": last,
            "clock_step_s": phase.clock.step_s(),
            "unix_now": time(),
            "cpu_s": process_time(),
            "dispatch_delay_s": recorder.dispatch_delay_ns / 1e9,
            "ticks": ticks,
            **counts,
        }
        self._runner.send_message(
            "lab-report",
            {**report, "worker": self._runner.worker_index, "names": recorder.names, "records": records},
        )

    def _report_to_locust(self) -> None:
        """Send Locust's own statistics, which it does every three seconds, so that they are whole when a phase is."""
        statistics: dict[str, Any] = {}
        self._runner.environment.events.report_to_master.fire(client_id=self._runner.client_id, data=statistics)
        self._runner.send_message("stats", statistics)


def _sleep_until(moment_ns: int) -> None:
    while (early_ns := moment_ns - monotonic_ns()) > 0:
        gevent.sleep(early_ns / 1e9)


def _tick(phase: Phase) -> None:
    """Note how many requests are under way, independently of their records."""
    while True:
        _note_tick(phase)
        gevent.sleep(TICK_S)


def _note_tick(phase: Phase) -> None:
    now_us = (monotonic_ns() - phase.start_ns) // 1000
    phase.ticks.append((now_us, phase.recorder.begun - phase.recorder.finished))


@events.init.add_listener
def _take_orders(environment: Environment, **_: Any) -> None:
    """A worker that the lab started waits for its orders; any other Locust process is left alone."""
    if isinstance(environment.runner, WorkerRunner) and CONDUCTED in os.environ:
        Conductor.join(environment.runner)
