"""Locust's master and workers as processes: starts them, has them run phases of load, and collects their reports."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lab.errors import ComponentError, LabError
from lab.generator.counts import COUNTS
from lab.runtimes import Launch, Running, Runtime, Watched, checkout
from lab.runtimes.checkout import JOIN_TOKEN, LOCUSTFILES, OWN_MODULES, ROOT, RUN_BY_LAB
from lab.spec.own_load import OneRequest
from lab.spec.scenario import Value
from lab.spec.workload import Load

CONNECT_WITHIN_S = 180.0
# Workers on other machines are started by hand.
REMOTE_WITHIN_S = 300.0
# Users start by the clock of their worker. The tolerance also covers the time a message takes to a busy machine; a
# burst lasts a second, so workers whose clocks differ by a tenth of one still send one burst.
CLOCK_WITHIN_S = 0.1
DISMISS_WITHIN_S = 5.0
# Ending ten thousand users and sending their samples takes a second. What comes earlier may have been on its way.
BROKEN_OFF_AFTER_S, BROKEN_OFF_WITHIN_S = 1.0, 5.0
JOIN_TOKEN_CHARACTERS = 20
POLL_S = 0.1
# The name of an event of the lab's own: that a line of the master's was none; and how much of the line is shown.
UNREADABLE, SHOWN = "unreadable", 200
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
NOT_INHERITED = ("LAB_", "LOCUST_", "PYTHON")
# Before the first send is due, every user must know of the phase, some 20 µs a user, and an open loop needs its plan.
START_DELAY_S = 0.1
START_DELAY_PER_USER_S = 50e-6
START_DELAY_PER_SEND_S = 0.5e-6


def new_join_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_hex(32)


def check_join_token(token: str) -> None:
    """LabError if a token could be guessed."""
    if len(token) < JOIN_TOKEN_CHARACTERS:
        step = "Take the one that 'python -m lab run … --remote-workers N' draws and prints."
        raise LabError(f"--join has fewer than {JOIN_TOKEN_CHARACTERS} characters, which could be guessed.", step)


class LoadTimeoutError(ComponentError):
    """A phase of load was not over in time, although everything that it needs still ran."""


@dataclass(frozen=True)
class Overtime:
    """How long a load whose plan is sent whatever the answers take may go on beyond the time that it should take.

    Attributes:
        idle_s: seconds within which a request must have ended each time.
        most_s: timeout of the whole phase all the same.

    """

    idle_s: float
    most_s: float


@dataclass
class PhaseResult:
    """What the workers reported of one phase of load, without its samples.

    Attributes:
        begun: requests sent; ``finished`` of them were answered or failed, and ``failed`` of those failed.
        sessions: sessions begun; ``not_single`` of them sent several requests or none.
        sessions_ended: sessions that came to their end, also those with failures in them.
        sent_again: requests that were sent once more, on a new connection, as the one that was idle had ended.
        pauses: how often users thought.
        parked: users who, at the end of a closed loop, neither waited for an answer nor thought: they had stopped
            sending, or had never begun.
        cut: user and number of each session that the end of a closed loop, or who broke the load off, cut off.
        stopped: the same of those that their user stopped early, since what failed was needed for the rest.
        unix_start: the planned start.
        dispatch_delay_s: how long received answers waited until the worker handled them, summed over all answers.
        unstamped: requests of which nobody knows when their answer arrived, but when the worker handled it; with those
            that had none.
        ticks: by worker, (microseconds since the planned start, requests under way) about twenty times a second.
        clock_step_s: the largest step by which a worker's clock was set during the phase.
        cpu: by worker, (Unix time, CPU seconds so far) as it read them itself, a few times a second.
        whole: whether the phase came to its end, and every worker reported it. Where it was broken off, every request
            that was begun has ended too, unless a worker or the master was lost.

    """

    unix_start: float = 0.0
    begun: int = 0
    finished: int = 0
    failed: int = 0
    sessions: int = 0
    sessions_ended: int = 0
    not_single: int = 0
    sent_again: int = 0
    pauses: int = 0
    parked: int = 0
    cut: list[tuple[int, int]] = field(default_factory=list)
    stopped: list[tuple[int, int]] = field(default_factory=list)
    dispatch_delay_s: float = 0.0
    unstamped: int = 0
    ticks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    clock_step_s: float = 0.0
    cpu: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    whole: bool = False

    @property
    def has_sessions(self) -> bool:
        """Whether a session sent several requests or none, so that a plan of sessions is none of requests."""
        return self.not_single > 0

    @property
    def done(self) -> int:
        """How much of a plan is done: sessions that are over, or requests where those are the same."""
        return self.sessions_ended + len(self.stopped) if self.has_sessions else self.finished


@dataclass(frozen=True)
class LoadPhase:
    """One phase of load that a fleet runs: a warm-up round or the measured load.

    Attributes:
        url: base address of the service under load.
        parameters: the scenario's.
        path: the scenario's path with its parameters filled in; that of the locustfile's scenario if empty.
        warm_up: number of the warm-up round; 0 for the measured load.
        seed: decides Poisson arrivals, and what each user draws.
        window: number of the window, from 0, of the ``windows`` that the measured load has. Its samples and counts are
            timed as if those before, which took ``before_us``, had been right before it.

    """

    url: str
    load: Load
    parameters: Mapping[str, Value] = field(default_factory=dict)
    path: str = ""
    warm_up: int = 0
    seed: tuple[int, ...] = (0,)
    window: int = 0
    windows: int = 1
    before_us: int = 0

    @property
    def start_delay_s(self) -> float:
        """Seconds from the command to the planned start: time to notify every user, and to plan an open loop.

        On another machine it is shorter by as much as that one's clock is ahead.
        """
        clocks_s = CLOCK_WITHIN_S if self.load.remote_workers else 0.0
        of_users_s, of_sends_s = (
            START_DELAY_PER_USER_S * self.load.users,
            START_DELAY_PER_SEND_S * self.load.planned_starts,
        )
        return START_DELAY_S + clocks_s + of_users_s + of_sends_s


@dataclass(frozen=True)
class Placement:
    """Where a fleet runs, and where it writes samples and logs.

    Attributes:
        cores: for master and workers; empty for all.
        logs: the folder for their logs and Locust's own statistics.
        stream: the file that the master appends samples to.
        image: the workers' container image; empty for processes. The master always is a process.
        bind: where the master listens; any port of the runtime's host if None.
        join_token: what workers must know to be heard by the master; one is drawn if it is empty.

    """

    runtime: Runtime
    cores: frozenset[int]
    logs: Path
    stream: Path
    image: str = ""
    bind: tuple[str, int] | None = None
    join_token: str = field(default="", repr=False)


class Fleet:
    """A Locust master and its workers, ready to run phases of load.

    Args:
        workers: the workers on this machine.
        events: what the master reports.
        remote: number of workers on other machines.
        headers: additional headers of every request; they reach the workers through pipe and socket only.
        one_request: what the locustfile ``load`` sends; a GET if None.

    """

    def __init__(
        self,
        master: Running,
        workers: list[Running],
        events: queue.Queue[dict[str, Any]],
        remote: int = 0,
        headers: Mapping[str, str] | None = None,
        one_request: OneRequest | None = None,
    ) -> None:
        self.master = master
        self.workers = workers
        self.remote = remote
        self._same = {"headers": dict(headers or {}), "one_request": one_request and asdict(one_request)}
        self._events = events

    def distribute_tokens(self, tokens: Path) -> None:
        """Send the tokens in a file, one a line, to every worker, and wait until all have confirmed them."""
        self._send_command(do="tokens", file=str(tokens.absolute()))
        self._await_all("tokens")

    def spawn(self, users: int) -> None:
        """Have Locust spawn the users; they are idle until a phase starts."""
        self._send_command(do="spawn", users=users)
        self._await("spawned", CONNECT_WITHIN_S)

    def run_phase(
        self,
        phase: LoadPhase,
        within_s: float,
        watched: Iterable[Watched] = (),
        progress: Callable[[PhaseResult], None] = lambda _: None,
        into: PhaseResult | None = None,
        overtime: Overtime | None = None,
    ) -> PhaseResult:
        """Run one phase of load to its end.

        Args:
            within_s: timeout of the whole phase in seconds, if it has no overtime.
            watched: the service and what it depends on; the phase is aborted if one of them ends.
            progress: called with the counts so far, several times a second.
            into: the result to fill as the phase goes, so that it is there if the phase is aborted.
            overtime: how long it may go on after ``within_s``, as long as requests end.

        Raises:
            ComponentError: a watched process, the master or a worker ended, or the phase timed out (LoadTimeoutError).
                The load is broken off then, as by KeyboardInterrupt, and what is under way is recorded as
                ``broken off``.

        """
        result = into or PhaseResult()
        try:
            return self._run_phase(phase, within_s, watched, progress, result, overtime)
        except (ComponentError, KeyboardInterrupt):
            self._break_off(result, progress)
            raise

    def _run_phase(
        self,
        phase: LoadPhase,
        within_s: float,
        watched: Iterable[Watched],
        progress: Callable[[PhaseResult], None],
        result: PhaseResult,
        overtime: Overtime | None,
    ) -> PhaseResult:
        self._send_command(do="phase", delay_s=phase.start_delay_s, **self._same, **msgspec.to_builtins(phase))
        began_s, finished = time.monotonic(), result.finished
        deadline = began_s + within_s
        while (now_s := time.monotonic()) < deadline:
            self._check_alive(*watched)
            event = self._next_event()
            _update_result(result, event, progress)
            if overtime and result.finished > finished:
                finished = result.finished
                deadline = max(deadline, min(time.monotonic() + overtime.idle_s, began_s + overtime.most_s))
            if event["event"] == "problem":
                raise ComponentError(event["sentence"], "", event["detail"])
            if event["event"] == "over":
                result.whole = True
                return result
        took_s, under_way = now_s - began_s, f"{result.begun - result.finished:,} requests under way"
        if overtime and took_s < overtime.most_s:
            under_way += f", and none has ended for {overtime.idle_s:.0f} s"
        raise LoadTimeoutError(f"The load was not over after {took_s:.0f} s, {under_way}.")

    def _break_off(self, result: PhaseResult, progress: Callable[[PhaseResult], None]) -> None:
        """Have all users end at once, and wait, for seconds at most, until each worker has reported what it recorded.

        A worker that is gone will never report its end; then that of as many others as are left has to do.
        """
        with contextlib.suppress(ComponentError):
            self._send_command(do="break_off")
            left = self.remote + sum(not worker.exit_reason() for worker in self.workers)
            gone, asked = self.remote + len(self.workers) - left, time.monotonic()
            unfinished = gone + left
            while left and (passed_s := time.monotonic() - asked) < BROKEN_OFF_WITHIN_S:
                event = self._next_event()
                _update_result(result, event, progress)
                if event["event"] == "over":
                    return
                unfinished = event.get("unfinished", unfinished)
                if passed_s > BROKEN_OFF_AFTER_S and unfinished <= gone:
                    return

    def await_workers(self) -> None:
        """Wait until all workers have joined the master. ComponentError if a worker's clock is off."""
        for event in self._await_all("worker", REMOTE_WITHIN_S if self.remote else CONNECT_WITHIN_S):
            if self.remote and abs(event["ahead_s"]) > CLOCK_WITHIN_S:
                raise ComponentError(
                    f"The clock of a worker is {event['ahead_s']:+.2f} s off: set both by NTP.",
                    "On each of the machines: sudo timedatectl set-ntp true",
                )

    def dismiss(self) -> None:
        """Release the workers on other machines for the next cell; those on this one end with their context."""
        with contextlib.suppress(ComponentError):
            self._send_command(do="dismiss")
            self._await("dismissed", DISMISS_WITHIN_S)

    def _await_all(self, name: str, within_s: float = CONNECT_WITHIN_S) -> list[dict[str, Any]]:
        """Wait until every worker has caused an event of this name, and return these events."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["count"] < len(self.workers) + self.remote:
            events.append(self._await(name, within_s))
        return events

    def _send_command(self, **order: Any) -> None:
        try:
            self.master.stdin.write(json.dumps(order) + "\n")
        except OSError as error:
            raise ComponentError(
                f"Locust's master {self.master.exit_reason() or 'accepts no commands'}.", "", self.master.log_tail()
            ) from error

    def _await(self, name: str, within_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            self._check_alive()
            event = self._next_event()
            if event["event"] == name:
                return event
        raise ComponentError(
            f"Locust's master did not report {name!r} within {within_s:.0f} s.", "", self.master.log_tail()
        )

    def _next_event(self) -> dict[str, Any]:
        """The master's next event; one named ``none`` if there is none within :data:`POLL_S`."""
        try:
            event = self._events.get(timeout=POLL_S)
        except queue.Empty:
            return {"event": "none"}
        if event["event"] == "lost":
            elsewhere = "; of one on another machine its own terminal shows more" * bool(self.remote)
            step = f"The workers' logs are in {self.master.launch.log.parent}{elsewhere}."
            raise ComponentError("A Locust worker does not answer any more.", step, self.master.log_tail())
        if event["event"] == UNREADABLE:
            raise ComponentError(
                f"Locust's master wrote what is no event: {event['line']}.",
                "Something else has written into the pipe of its events: look for it in the locustfile.",
                self.master.log_tail(),
            )
        return event

    def _check_alive(self, *others: Watched) -> None:
        for running in (*others, *self.workers, self.master):
            if ending := running.exit_reason():
                name = running.launch.name
                problem, step = (
                    f"The {name} {ending} during the measurement.",
                    f"The whole log is in {running.launch.log}.",
                )
                raise ComponentError(problem, step, running.log_tail())


def _update_result(result: PhaseResult, event: dict[str, Any], progress: Callable[[PhaseResult], None]) -> None:
    """Add what an event tells of a phase, and show its progress."""
    if event["event"] == "started":
        result.unix_start = event["unix_start"]
    if event["event"] not in ("progress", "over"):
        return
    for name in COUNTS:
        setattr(result, name, event[name])
    result.cut.extend((int(user), int(session)) for user, session in event["cut"])
    result.stopped.extend((int(user), int(session)) for user, session in event["stopped"])
    for worker, ticks in event["ticks"].items():
        result.ticks.setdefault(worker, []).extend((int(t), int(n)) for t, n in ticks)
    result.clock_step_s = event["clock_step_s"]
    for worker, readings in event["cpu"].items():
        result.cpu.setdefault(worker, []).extend((float(t), float(spent)) for t, spent in readings)
    progress(result)


@contextmanager
def running_fleet(
    locustfile: str | Path,
    load: Load,
    placement: Placement,
    headers: Mapping[str, str] | None = None,
    one_request: OneRequest | None = None,
) -> Iterator[Fleet]:
    """Start a master and its workers; they end with the context.

    Args:
        locustfile: the name of one of the lab's, without the folder and ``.py``, or the path of any other, which only
            processes on this machine can play.
        load: gives the number of workers on this machine and on others.
        headers: additional headers of every request.
        one_request: what the locustfile ``load`` sends; a GET if None.

    """
    runtime, cores, logs = placement.runtime, placement.cores, placement.logs
    # Locust looks for modules in the working directory before all others, where only a user's own file has any.
    folder = None if isinstance(locustfile, Path) else ROOT
    host, at = placement.bind or (runtime.host, 0)
    environment_variables = {
        **surroundings(own=isinstance(locustfile, Path)),
        **OWN_MODULES,
        RUN_BY_LAB: "1",
        JOIN_TOKEN: placement.join_token or new_join_token(),
        # These processes are killed in the end: what a locustfile prints must be in their logs by then.
        "PYTHONUNBUFFERED": "1",
        "LOCUST_WAIT_FOR_WORKERS_REPORT_AFTER_RAMP_UP": "30",
    }
    with ExitStack() as stack:
        command = (*_master_command(locustfile, placement), "--bind", host, "--port", str(at))
        command += ("--workers", str(load.workers + load.remote_workers))
        launch = Launch(
            "Locust master",
            command,
            logs / "locust-master.log",
            environment_variables,
            cores,
            alone=True,
            folder=folder,
            talks=True,
            grace_s=0,
        )
        master = stack.enter_context(runtime.started(launch))
        events: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=_read_events, args=(master, events), name="locust-events", daemon=True).start()
        started = Fleet(master, [], events, load.remote_workers, headers, one_request)
        port = started._await("listening", CONNECT_WITHIN_S)["port"]
        for number in range(1, load.workers + 1):
            log = logs / f"locust-worker-{number}.log"
            command = _worker_command(locustfile, host, port, in_container=bool(placement.image))
            environment = environment_variables
            if placement.image:
                environment = {name: environment[name] for name in (RUN_BY_LAB, JOIN_TOKEN)}
            launch = Launch(
                f"Locust worker {number}",
                command,
                log,
                environment,
                cores,
                alone=True,
                folder=None if placement.image else folder,
                grace_s=0,
                image=placement.image,
            )
            started.workers.append(stack.enter_context(runtime.started(launch)))
        if load.remote_workers:
            stack.callback(started.dismiss)
        yield started


def surroundings(own: bool) -> dict[str, str]:
    """What master and workers get of the shell's environment: what TLS needs.

    Args:
        own: whether they play a file of the user's own, which gets all the rest too, but for what would change Locust,
            Python or the lab: none of that is in the run's record.

    """
    certificates = {name: _absolute(os.environ[name]) for name in CERTIFICATES if os.environ.get(name)}
    others = {name: value for name, value in os.environ.items() if own and not name.startswith(NOT_INHERITED)}
    return {**others, **certificates}


def _absolute(paths: str) -> str:
    """The same file or folders, wherever the process that is told of them works."""
    return os.pathsep.join(str(Path(path).absolute()) for path in paths.split(os.pathsep))


def _master_command(locustfile: str | Path, placement: Placement) -> tuple[str, ...]:
    files = ("--locustfile", _file(locustfile), "--samples", str(placement.stream.absolute()))
    statistics = ("--statistics", str((placement.logs / "locust-statistics.csv").absolute()))
    return (sys.executable, "-m", "lab.generator.locust.master", *files, *statistics)


def _worker_command(locustfile: str | Path, host: str, port: int, in_container: bool) -> tuple[str, ...]:
    python = "python3" if in_container else sys.executable
    file = f"{LOCUSTFILES}/{locustfile}.py" if in_container else _file(locustfile)
    return (python, "-m", "locust", "-f", file, "--worker", "--master-host", host, "--master-port", str(port))


def _file(locustfile: str | Path) -> str:
    return str(locustfile.absolute() if isinstance(locustfile, Path) else checkout.locustfile(locustfile))


def _read_events(master: Running, events: queue.Queue[dict[str, Any]]) -> None:
    try:
        for line in master.stdout:
            if line.endswith("\n"):  # else it was cut off, as the master ended, which is seen and named by itself
                events.put(_event_in(line))
    except UnicodeDecodeError as error:
        events.put({"event": UNREADABLE, "line": ascii(error.object[error.start :][:SHOWN])})
    except ValueError:  # the pipe was closed because the lab stops the master
        return


def _event_in(line: str) -> dict[str, Any]:
    """The event in a line of the master; one named :data:`UNREADABLE` if it is none, so that whoever waits is told."""
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        event = None
    if isinstance(event, dict) and "event" in event:
        return event
    return {"event": UNREADABLE, "line": ascii(line.strip()[:SHOWN])}
