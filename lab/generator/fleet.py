"""Locust's master and workers as processes: started through a runtime, given phases of load to play, listened to."""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lab.errors import ComponentError
from lab.runtimes import Launch, Running, Runtime
from lab.runtimes.checkout import CONDUCTED, ROOT
from lab.spec.workload import Load

CONNECT_WITHIN_S = 180.0
# Workers on other machines are started by hand.
REMOTE_WITHIN_S = 300.0
# A worker's users start when its own clock says so; this much also covers a message on its way to a busy machine.
# A burst takes a second: workers that begin a tenth of one apart still play the same.
CLOCK_WITHIN_S = 0.1
DISMISS_WITHIN_S = 5.0
# In the image of the workers, the locustfiles are here.
LOCUSTFILES = "/lab/locustfiles"
POLL_S = 0.1
# Before the first request is due, every user must have its orders, some 20 µs a user, and an open loop its plan.
START_DELAY_S = 0.1
START_DELAY_PER_USER_S = 50e-6
START_DELAY_PER_SEND_S = 0.5e-6


@dataclass
class Played:
    """What the workers said about one phase, apart from its samples.

    Attributes:
        begun: requests sent; ``finished`` of them were answered or failed, and ``failed`` of those failed.
        unix_start: the planned start.
        dispatch_delay_s: how long answers that had come waited for a worker to take them up, all of them together.
        ticks: by worker, (microseconds since the planned start, requests under way) about twenty times a second.
        clock_step_s: by how much a worker's clock was set meanwhile, at most.
        cpu: by worker, (Unix time, seconds of CPU so far) by its own reading, a few times a second.
        whole: whether every worker reported that it is done.

    """

    unix_start: float = 0.0
    begun: int = 0
    finished: int = 0
    failed: int = 0
    dispatch_delay_s: float = 0.0
    ticks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    clock_step_s: float = 0.0
    cpu: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    whole: bool = False


@dataclass(frozen=True)
class LoadPhase:
    """One phase of load, which a fleet plays to its end.

    Attributes:
        url: what to load.
        parameters: of the scenario.
        warm_up: number of the warm-up round; 0 for the measured load.
        seed: decides Poisson arrivals.

    """

    url: str
    load: Load
    parameters: Mapping[str, int] = field(default_factory=dict)
    warm_up: int = 0
    seed: tuple[int, ...] = (0,)

    @property
    def start_delay_s(self) -> float:
        """How long before its start it is ordered: every user must have its orders, and an open loop its plan."""
        return (
            START_DELAY_S + START_DELAY_PER_USER_S * self.load.users + START_DELAY_PER_SEND_S * self.load.planned_sends
        )


@dataclass(frozen=True)
class Placement:
    """Where a fleet runs, and what it writes.

    Attributes:
        cores: of master and workers; empty for all.
        logs: the folder of their logs, and of Locust's own statistics.
        stream: the file of samples.
        image: to start the workers from, in containers; the master is a process in any case.
        bind: where the master listens; any port of the runtime's host if None.

    """

    runtime: Runtime
    cores: frozenset[int]
    logs: Path
    stream: Path
    image: str = ""
    bind: tuple[str, int] | None = None


class Fleet:
    """A Locust master and its workers, ready to play phases of load.

    Args:
        workers: those on this machine.
        remote: how many there are on others.
        headers: what every request says besides; it goes to the workers through pipe and socket only.

    """

    def __init__(
        self,
        master: Running,
        workers: list[Running],
        news: queue.Queue[dict[str, Any]],
        remote: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.master = master
        self.workers = workers
        self.remote = remote
        self._headers = dict(headers or {})
        self._news = news

    def distribute_tokens(self, tokens: Path) -> None:
        """Send every worker the tokens in a file, one a line, and wait until it has them."""
        self._order(do="tokens", file=str(tokens))
        self._await_all("tokens")

    def spawn(self, users: int) -> None:
        """Have Locust spawn the users; they wait until a phase is played."""
        self._order(do="spawn", users=users)
        self._await("spawned", CONNECT_WITHIN_S)

    def play(
        self,
        phase: LoadPhase,
        within_s: float,
        watched: Iterable[Running] = (),
        progress: Callable[[Played], None] = lambda _: None,
        into: Played | None = None,
    ) -> Played:
        """Play one phase to its end.

        Args:
            phase: what to play.
            within_s: give up after so many seconds.
            watched: the service and what it needs; the phase ends if one of them does.
            progress: is told how far it is, several times a second.
            into: filled while the phase lasts, so that it holds what is known if the phase ends early.

        Raises:
            ComponentError: one of those, the master or a worker ended, or the time was up.

        """
        played = into or Played()
        self._order(do="phase", headers=self._headers, delay_s=phase.start_delay_s, **msgspec.to_builtins(phase))
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            self._check_alive(*watched)
            news = self._hear()
            if news["event"] == "started":
                played.unix_start = news["unix_start"]
            elif news["event"] == "problem":
                raise ComponentError(news["sentence"], "", news["detail"])
            elif news["event"] in ("progress", "over"):
                _note(played, news)
                progress(played)
                if played.whole:
                    return played
        raise ComponentError(
            f"The load was not over after {within_s:.0f} s, {played.begun - played.finished:,} requests under way."
        )

    def await_workers(self) -> None:
        """Wait until all workers have joined the master. ComponentError if the clock of one is not this machine's."""
        for news in self._await_all("worker", REMOTE_WITHIN_S if self.remote else CONNECT_WITHIN_S):
            if self.remote and abs(news["ahead_s"]) > CLOCK_WITHIN_S:
                raise ComponentError(f"The clock of a worker is {news['ahead_s']:+.2f} s off: set both by NTP.")

    def dismiss(self) -> None:
        """Send the workers on other machines home, so that they are free for the next cell; others end anyway."""
        with contextlib.suppress(ComponentError):
            self._order(do="dismiss")
            self._await("dismissed", DISMISS_WITHIN_S)

    def _await_all(self, event: str, within_s: float = CONNECT_WITHIN_S) -> list[dict[str, Any]]:
        """Wait until news of an event has come from every worker, and return them."""
        heard: list[dict[str, Any]] = []
        while not heard or heard[-1]["count"] < len(self.workers) + self.remote:
            heard.append(self._await(event, within_s))
        return heard

    def _order(self, **order: Any) -> None:
        try:
            self.master.stdin.write(json.dumps(order) + "\n")
        except OSError as error:
            raise ComponentError(
                f"Locust's master {self.master.exit_reason() or 'does not listen'}.", "", self.master.log_tail()
            ) from error

    def _await(self, event: str, within_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            self._check_alive()
            news = self._hear()
            if news["event"] == event:
                return news
        raise ComponentError(
            f"Locust's master did not report {event!r} within {within_s:.0f} s.", "", self.master.log_tail()
        )

    def _hear(self) -> dict[str, Any]:
        """The master's next news; ``silence`` if there is none for a moment."""
        try:
            news = self._news.get(timeout=POLL_S)
        except queue.Empty:
            return {"event": "silence"}
        if news["event"] == "lost":
            raise ComponentError("A Locust worker does not answer any more.")
        return news

    def _check_alive(self, *others: Running) -> None:
        for running in (*others, *self.workers, self.master):
            if ending := running.exit_reason():
                name = running.launch.name
                raise ComponentError(f"The {name} {ending} in the middle of it.", "", running.log_tail())


def _note(played: Played, news: dict[str, Any]) -> None:
    played.begun, played.finished, played.failed = news["begun"], news["finished"], news["failed"]
    played.dispatch_delay_s = news["dispatch_delay_s"]
    for worker, ticks in news["ticks"].items():
        played.ticks.setdefault(worker, []).extend((int(t), int(n)) for t, n in ticks)
    played.clock_step_s = news["clock_step_s"]
    for worker, readings in news["cpu"].items():
        played.cpu.setdefault(worker, []).extend((float(t), float(spent)) for t, spent in readings)
    played.whole = news["event"] == "over"


@contextmanager
def running_fleet(
    locustfile: str, load: Load, placement: Placement, headers: Mapping[str, str] | None = None
) -> Iterator[Fleet]:
    """Start a master and its workers; they end with the context.

    Args:
        locustfile: its name, without the folder and ``.py``.
        load: says how many workers, here and on other machines.
        headers: what every request says besides.

    """
    runtime, cores, logs = placement.runtime, placement.cores, placement.logs
    host, at = placement.bind or (runtime.host, 0)
    surroundings = {"PYTHONPATH": str(ROOT), CONDUCTED: "1", "LOCUST_WAIT_FOR_WORKERS_REPORT_AFTER_RAMP_UP": "30"}
    with ExitStack() as stack:
        command = (*_master_command(locustfile, placement), "--bind", host, "--port", str(at))
        command += ("--workers", str(load.workers + load.remote_workers))
        launch = Launch(
            "Locust master", command, logs / "locust-master.log", surroundings, cores, talks=True, grace_s=0
        )
        master = stack.enter_context(runtime.started(launch))
        news: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=_listen, args=(master, news), name="locust-news", daemon=True).start()
        started = Fleet(master, [], news, load.remote_workers, headers)
        port = started._await("listening", CONNECT_WITHIN_S)["port"]
        for number in range(1, load.workers + 1):
            log = logs / f"locust-worker-{number}.log"
            command = _worker_command(locustfile, host, port, in_container=bool(placement.image))
            told = {CONDUCTED: "1"} if placement.image else surroundings
            launch = Launch(f"Locust worker {number}", command, log, told, cores, grace_s=0, image=placement.image)
            started.workers.append(stack.enter_context(runtime.started(launch)))
        if load.remote_workers:
            stack.callback(started.dismiss)
        yield started


def _master_command(locustfile: str, placement: Placement) -> tuple[str, ...]:
    files = ("--locustfile", str(ROOT / "locustfiles" / f"{locustfile}.py"), "--samples", str(placement.stream))
    statistics = ("--statistics", str(placement.logs / "locust-statistics.csv"))
    return (sys.executable, "-m", "lab.generator.locust.master", *files, *statistics)


def _worker_command(name: str, host: str, port: int, in_container: bool) -> tuple[str, ...]:
    python = "python3" if in_container else sys.executable
    locustfile = f"{LOCUSTFILES}/{name}.py" if in_container else str(ROOT / "locustfiles" / f"{name}.py")
    return (python, "-m", "locust", "-f", locustfile, "--worker", "--master-host", host, "--master-port", str(port))


def _listen(master: Running, news: queue.Queue[dict[str, Any]]) -> None:
    try:
        for line in master.stdout:
            news.put(json.loads(line))
    except ValueError:  # the pipe was closed because the lab stops the master
        return
