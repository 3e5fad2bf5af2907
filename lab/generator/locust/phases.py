"""Runs phases of load in a Locust worker, as the lab's master commands them."""

from __future__ import annotations

import gc
import math
import os
import traceback
from collections.abc import Iterator
from time import monotonic_ns, process_time, time, time_ns
from typing import TYPE_CHECKING, Any, ClassVar

import gevent
import msgspec
from gevent.event import Event
from locust import events, runners
from locust.env import Environment
from locust.runners import WorkerRunner

from lab.generator.counts import COUNTS
from lab.generator.locust import sockets, token_pool
from lab.generator.locust.arrivals import assigned_requests, assigned_sends, assigned_users
from lab.generator.locust.clock import ClockWatch
from lab.generator.locust.deadline import LoadBrokenOff
from lab.generator.locust.http import HttpClient, resolve
from lab.generator.locust.recorder import Recorder, SessionCut, UserSink, add_to_statistics
from lab.generator.locust.session import SESSION_ENDS, SessionStop, session_of
from lab.runtimes.checkout import RUN_BY_LAB
from lab.spec import schedule
from lab.spec.own_load import OneRequest
from lab.spec.scenario import Value
from lab.spec.workload import Burst, Closed, Load, Total

if TYPE_CHECKING:
    from lab.generator.locust.user import LabUser

FLUSH_S = 0.25
# Allocations before Python's garbage collector runs: more than the clients of a ramp need.
GC_THRESHOLD = 500_000
TICK_S = 0.05
TASK_RAISED = "A task of the locustfile raised an exception."
START_RAISED = "on_start of the locustfile raised an exception: a user has no client before its first session."
USERS_STOPPED = "Locust ended the users of a worker whose heartbeats were missing for seconds: what stopped it?"
# A clock reading ages while its message is under way, so the master takes the one of several that took least time.
CLOCK_READINGS, CLOCK_EVERY_S = 4, 0.02


class Phase:
    """One worker's part of one phase of load: a warm-up round (``warm_up`` > 0), the measured load or a window of it.

    Between two windows of a load its users keep their connections, count their sessions on, and send nothing.
    """

    def __init__(self, order: dict[str, Any], worker: int) -> None:
        self.number: int = order["number"]
        self.warm_up: int = order["warm_up"]
        self.window: int = order.get("window", 0)
        self.is_last_window = self.window == order.get("windows", 1) - 1
        self.load: Load = msgspec.convert(order["load"], Load)
        self.url: str = order["url"]
        self.headers: dict[str, str] = order.get("headers", {})
        self.parameters: dict[str, Value] = order["parameters"]
        self.path: str = order.get("path", "")
        self.one_request = msgspec.convert(order.get("one_request"), OneRequest | None)
        self.seed: schedule.Seed = tuple(order["seed"])
        self.unix_start: float = order["unix_start"]
        before_us: int = order.get("before_us", 0)
        # What the records' times count from.
        self.unix_zero = self.unix_start - before_us / 1e6
        self.start_ns = monotonic_ns() + int(self.unix_start * 1e9) - time_ns()
        # Only a closed loop that a duration ends cuts sessions off: all others play theirs to the end.
        self.end_ns = self.start_ns + int(self.load.duration_s * 1e9) if isinstance(self.load, Closed) else 0
        self.numbers = assigned_users(order["counts"], worker)
        requests = self.load.requests if isinstance(self.load, Total) else 0
        self.to_send = assigned_requests(requests, order["counts"], worker)
        self.sends_ns = self._planned_ns(self.seed, order["counts"], worker)
        self.pending_sends = iter(self.sends_ns)
        # As if the windows before had been right before this one.
        self.recorder = Recorder(self.start_ns - before_us * 1000, self.end_ns, self.load.independent)
        self.running_users = len(self.numbers)
        self.shared: dict[Any, Any] = {}
        self.ticks: list[tuple[int, int]] = []
        self.clock = ClockWatch()
        self.problem: dict[str, str] = {}
        self.broken_off = False
        self.over = Event()
        self._users: set[gevent.Greenlet] = set()

    def _planned_ns(self, seed: schedule.Seed, counts: list[int], worker: int) -> memoryview:
        """The worker's planned send times: the first of each user, or all of its part of an open loop."""
        mine = assigned_sends(self.load.planned_starts, counts, worker) if self.load.independent else self.numbers
        # As a view on 8 bytes a send that gives Python's own numbers, which are quicker than numpy's.
        return (self.start_ns + (schedule.planned_s(self.load, seed)[mine] * 1e9).astype(int)).data

    def run_user(self, user: LabUser, number: int) -> None:
        """Run one of this worker's users until the phase ends; the first exception of any user is the phase's problem.

        So is the end of a user by Locust, which stops all users of a worker whose heartbeats are missing for seconds.
        """
        itself = gevent.getcurrent()
        self._users.add(itself)
        try:
            if not self.broken_off:
                self._run_user(user, number)
        except LoadBrokenOff:
            pass
        except Exception:
            self.problem = self.problem or {"sentence": TASK_RAISED, "detail": traceback.format_exc()}
        except BaseException:
            self.problem = self.problem or {"sentence": USERS_STOPPED, "detail": ""}
            raise
        finally:
            self._users.discard(itself)
            self.running_users -= 1
            if not self.running_users:
                self.over.set()

    def break_off(self) -> None:
        """End all users where they are: a request that is under way is recorded as broken off; call it in the hub."""
        self.broken_off = True
        self.end_ns = self.recorder.end_ns = monotonic_ns()  # whatever a task does on its way out
        for user in list(self._users):
            user.throw(LoadBrokenOff)

    def _prepare(self, user: LabUser, number: int) -> None:
        """Tell a user all that it knows of the load."""
        user.parameters = self.parameters
        user.one_request = self.one_request
        user.pace = self.load.pace
        user.shared = self.shared
        if self.path:
            user.path = self.path
        user.number = int(self.numbers[number])
        user.random.seed(hash((*self.seed, user.number)))

    def _run_user(self, user: LabUser, number: int) -> None:
        self._prepare(user, number)
        sink = self.recorder.sink(user.number)
        user.client = client = self._client(user, sink)
        sessions = [session_of(task) for task in user.tasks]
        failed = 0
        try:
            for planned_ns in self._send_times(number):
                client.planned_ns = planned_ns
                sink.begin_session(planned_ns)
                try:
                    (user.random.choice(sessions) if len(sessions) > 1 else sessions[0])(user)
                except SessionStop:
                    sink.stop_session()
                except SESSION_ENDS:
                    sink.end_session()
                except LoadBrokenOff:
                    sink.cut_session()
                    raise
                else:
                    sink.end_session()
                if not sink.step:
                    gevent.sleep(0)  # it has sent nothing: without this no other user would run
                if self.recorder.failed > failed:
                    failed = self.recorder.failed
                    gevent.sleep(0)  # a refused connection fails at once: without this no other user would run
        except SessionCut:
            sink.cut_session()
        finally:
            sink.has_gone()
            if self.is_last_window:
                client.close()

    def _client(self, user: LabUser, sink: UserSink) -> HttpClient:
        """The user's client: a new one, or the one of the window before."""
        if not self.window:
            return HttpClient(self.url, sink, self.load.timeout_s, self.headers)
        before = user.client.sink
        assert isinstance(before, UserSink)
        sink.session, user.client.sink = before.session, sink
        return user.client

    def _send_times(self, number: int) -> Iterator[int]:
        """Yield at the start of each session of a user: its planned time in ns, or 0 where that is the actual one.

        In an open loop a free user takes the next pending start. If all users were busy at its planned time it is made
        at once, and the planned time shows how late.
        """
        if self.load.independent:
            for planned_ns in self.pending_sends:
                _sleep_until(planned_ns)
                if self.broken_off:
                    return
                yield planned_ns
            return
        planned_ns, sent = self.sends_ns[number], 0
        _sleep_until(planned_ns)
        while self._sends_more(sent):
            yield planned_ns
            planned_ns, sent = 0, sent + 1

    def _sends_more(self, sent: int) -> bool:
        if self.broken_off:
            return False
        if isinstance(self.load, Closed):
            return monotonic_ns() < self.end_ns
        if isinstance(self.load, Burst):
            return sent < self.load.loops
        self.to_send -= 1
        return self.to_send >= 0


class PhaseRunner:
    """Runs this worker's users through all phases, keeps them idle in between, and reports records to the master."""

    current: ClassVar[PhaseRunner | None] = None

    def __init__(self, runner: WorkerRunner) -> None:
        self._runner = runner
        self._users = 0
        self._phase: Phase | None = None
        self._problem: dict[str, str] = {}
        self._phase_arrived = Event()
        runner.register_message("lab-phase", self._on_phase)
        runner.register_message("lab-break-off", self._on_break_off)
        runner.register_message("lab-tokens", self._on_tokens)

    @classmethod
    def join(cls, runner: WorkerRunner) -> None:
        """Register with the lab's master: handle its messages from now on, and send clock readings."""
        runners.MASTER_HEARTBEAT_TIMEOUT = math.inf  # which goes by the wall clock, and a step of that ends no worker
        cls.current = cls(runner)
        for _ in range(CLOCK_READINGS):
            runner.send_message("lab-clock", {"unix": time()})
            gevent.sleep(CLOCK_EVERY_S)
        runner.send_message("lab-ready", {})

    def run_user(self, user: LabUser) -> None:
        """Run a user through all phases; returns only when Locust stops the user."""
        number = self._users
        self._users += 1
        user.random.seed(number)
        try:
            user.on_start()
        except Exception:
            self._problem = {"sentence": START_RAISED, "detail": traceback.format_exc()}
        result = 0
        while True:
            phase = self._phase
            if phase is None or phase.number == result:
                self._phase_arrived.wait()
                continue
            result = phase.number
            if number < len(phase.numbers):
                phase.run_user(user, number)

    def _on_tokens(self, environment: Environment, msg: Any) -> None:
        token_pool.fill(msg.data)
        token_pool.pairs()  # decodes them now, and not before the first request
        self._runner.send_message("lab-tokens-there", {})

    def _on_phase(self, environment: Environment, msg: Any) -> None:
        resolve(msg.data["url"])
        sockets.share_addresses(self._runner.worker_index, len(msg.data["counts"]))
        phase = Phase(msg.data, self._runner.worker_index)
        if not phase.window:  # later ones keep their connections
            sockets.reserve(len(phase.numbers))
        gc.collect()
        gc.freeze()  # thousands of users live until the end: the collector need not visit them again
        gc.set_threshold(GC_THRESHOLD)  # nor the clients that they are about to make: that is a pause of 60 ms
        self._phase = phase
        arrived, self._phase_arrived = self._phase_arrived, Event()
        arrived.set()
        gevent.spawn(self._report, phase)

    def _on_break_off(self, environment: Environment, msg: Any) -> None:
        if self._phase:
            gevent.get_hub().loop.run_callback(self._phase.break_off)

    def _report(self, phase: Phase) -> None:
        ticker = gevent.spawn(_count_under_way, phase)
        if not phase.running_users:
            phase.over.set()
        while not phase.over.wait(FLUSH_S):
            self._flush(phase, last=False)
        ticker.kill()
        _append_count(phase)  # covers the time since the last count
        self._flush(phase, last=True)

    def _flush(self, phase: Phase, last: bool) -> None:
        recorder = phase.recorder
        records = recorder.take()
        if records and not phase.warm_up:
            add_to_statistics(self._runner.stats, records, recorder.names, phase.unix_zero)
        if last:
            self._report_to_locust()
        ticks, phase.ticks = phase.ticks, []
        cut, recorder.cut = recorder.cut, []
        stopped, recorder.stopped = recorder.stopped, []
        report = {
            "problem": self._problem or phase.problem or None,
            "phase": phase.number,
            "warm_up": phase.warm_up,
            "window": phase.window,
            "last": last,
            "clock_step_s": phase.clock.step_s(),
            "unix_now": time(),
            "cpu_s": process_time(),
            "ticks": ticks,
            "cut": cut,
            "stopped": stopped,
            **{name: getattr(recorder, name) for name in COUNTS},
        }
        self._runner.send_message(
            "lab-report",
            {**report, "worker": self._runner.worker_index, "names": recorder.names, "records": records},
        )

    def _report_to_locust(self) -> None:
        """Send Locust's own statistics before they are due, so that they are complete at the end of a phase."""
        statistics: dict[str, Any] = {}
        self._runner.environment.events.report_to_master.fire(client_id=self._runner.client_id, data=statistics)
        self._runner.send_message("stats", statistics)


def _sleep_until(moment_ns: int) -> None:
    while (early_ns := moment_ns - monotonic_ns()) > 0:
        gevent.sleep(early_ns / 1e9)


def _count_under_way(phase: Phase) -> None:
    """Count the requests under way every :data:`TICK_S`, independently of their records."""
    while True:
        _append_count(phase)
        gevent.sleep(TICK_S)


def _append_count(phase: Phase) -> None:
    now_us = (monotonic_ns() - phase.recorder.start_ns) // 1000
    phase.ticks.append((now_us, phase.recorder.begun - phase.recorder.finished))


@events.init.add_listener
def _join_lab_master(environment: Environment, **_: Any) -> None:
    """Join the lab's master where the lab started this worker; any other Locust process is left alone."""
    if isinstance(environment.runner, WorkerRunner) and RUN_BY_LAB in os.environ:
        PhaseRunner.join(environment.runner)
