"""The lab's Locust master: reads commands as JSON lines on stdin, and writes events as JSON lines on stdout.

Nothing else does: what the locustfile prints, which is loaded in this process too, goes to stderr.

Commands: ``{"do": "tokens", "file": FILE}``, ``{"do": "spawn", "users": N}`` and ``{"do": "phase", …}`` with the
fields that :class:`lab.generator.locust.phases.Phase` reads; ``{"do": "break_off"}`` ends that phase early, and
``{"do": "dismiss"}`` releases the workers. The end of stdin ends the master and, through Locust, its workers.

Events: ``listening`` (port), ``worker`` (count, and by how many seconds its clock is ahead), ``tokens`` (count),
``spawned``, ``problem`` (sentence, detail), ``progress`` (:data:`lab.generator.counts.COUNTS`, the largest step of a
worker's clock, user and number of sessions that were cut off or stopped early, by worker ticks and readings of its own
CPU time, and how many workers have not reported the end), ``over`` (the same, when all workers have reported all
records of a phase), ``lost`` (a worker that has joined does not answer any more) and ``dismissed``.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import gevent
import locust
import msgspec
import pyarrow as pa
from gevent.fileobject import FileObjectPosix
from locust import runners
from locust.env import Environment
from locust.runners import MasterRunner
from locust.stats import PERCENTILES_TO_REPORT, StatsCSV
from locust.util.load_locustfile import load_locustfile

from lab.generator.counts import COUNTS
from lab.generator.locust import admission, heartbeats
from lab.runtimes.checkout import JOIN_TOKEN
from lab.spec import sample


class Problem(msgspec.Struct, forbid_unknown_fields=True):
    """What went wrong in a worker: see the event ``problem``."""

    sentence: str
    detail: str


class Report(msgspec.Struct):
    """What a worker reports of a phase, some times a second: see :class:`lab.generator.locust.phases.PhaseRunner`."""

    phase: int
    worker: int
    warm_up: int
    window: int
    last: bool
    problem: Problem | None
    records: bytes
    names: list[tuple[str, str]]
    ticks: list[tuple[int, int]]
    cut: list[tuple[int, int]]
    stopped: list[tuple[int, int]]
    begun: int
    finished: int
    failed: int
    sessions: int
    sessions_ended: int
    not_single: int
    sent_again: int
    pauses: int
    parked: int
    dispatch_delay_s: float
    unstamped: int
    clock_step_s: float
    unix_now: float
    cpu_s: float


# How many users of each class a worker has.
UserCounts = dict[str, Annotated[int, msgspec.Meta(ge=0)]]


class Heartbeat(msgspec.Struct):
    """What Locust's master reads of a worker's heartbeat."""

    state: str
    current_cpu_usage: float
    current_memory_usage: int = 0


class SpawningComplete(msgspec.Struct):
    """What Locust's master reads of a worker's message that it has spawned users."""

    user_classes_count: UserCounts


class Entry(msgspec.Struct):
    """A row of Locust's own statistics: times in ms, points in time as Unix seconds."""

    name: str
    method: str
    last_request_timestamp: float | None
    start_time: float
    num_requests: int
    num_none_requests: int
    num_failures: int
    total_response_time: float
    max_response_time: float
    min_response_time: float | None
    total_content_length: float
    response_times: dict[float, int]
    num_reqs_per_sec: dict[int, int]
    num_fail_per_sec: dict[int, int]


class Failure(msgspec.Struct):
    """A kind of failure in Locust's own statistics."""

    name: str
    method: str
    error: str
    occurrences: int
    first_seen: float | None = None
    last_seen: float | None = None


class Stats(msgspec.Struct):
    """What Locust's master reads of a worker's statistics."""

    stats: list[Entry]
    stats_total: Entry
    errors: dict[str, Failure]
    user_classes_count: UserCounts


# What Locust's master takes as it comes, and reads later, where nobody could drop it any more.
SHAPES = {"heartbeat": Heartbeat, "spawning_complete": SpawningComplete, "stats": Stats}


class Channel:
    """Commands and events as lines, by what stdin and stdout were before; these are empty, and stderr, from then on.

    So whatever a locustfile prints, or a program that it starts, is in the log, and is taken for no event. Nor can such
    a program read commands; and gevent, which makes the stdin blocking that its children inherit, would have the whole
    process stand still until the next one.
    """

    def __init__(self) -> None:
        # Both are open for as long as the process lives.
        self._commands = FileObjectPosix(os.dup(sys.stdin.fileno()), "r")
        self._events = os.fdopen(os.dup(sys.stdout.fileno()), "w")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, sys.stdin.fileno())
        os.close(nothing)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def commands(self) -> Iterator[dict[str, Any]]:
        """Each command as it comes, until the lab closes its end."""
        for line in self._commands:
            yield json.loads(line)

    def emit(self, event: str, **fields: Any) -> None:
        """Write one event."""
        self._events.write(json.dumps({"event": event, **fields}) + "\n")
        self._events.flush()


class FixedWorkerCountRunner(MasterRunner):
    """Locust's master runner for a fixed number of workers: it ignores any that join after that, and all they say.

    Locust would redistribute the users when another worker joins, in the middle of a load; and a worker that joins
    between dismissal and exit would stay with a master that is gone. Ignored workers retry, and join the next master.

    Args:
        environment: Locust's.
        bind: address to listen at.
        port: port to listen at; 0 for any.
        expected: number of workers.

    """

    def __init__(self, environment: Environment, bind: str, port: int, expected: int) -> None:
        self._expected = expected
        self._accepted: set[str] = set()
        super().__init__(environment, bind, port)

    def handle_message(self, client_id: str, msg: Any) -> None:
        """Handle a message as Locust does, but ignore workers too many, and drop what cannot be handled."""
        if client_id not in self._accepted:
            if msg.type != "client_ready" or len(self._accepted) == self._expected:
                return
            if not isinstance(msg.data, str):
                admission.dropped(client_id, "it does not say its version of Locust")
                return
            self._accepted.add(client_id)
        try:
            if shape := SHAPES.get(msg.type):
                msgspec.convert(msg.data, shape)
            super().handle_message(client_id, msg)
        except Exception as error:  # of any kind: a worker may send anything, and the others must be heard
            admission.dropped(client_id, error)


class Master:
    """Turns commands into Locust messages, and the workers' reports into a file of samples and events.

    Args:
        runner: Locust's master runner.
        path: where samples go, as an Arrow stream that can be read up to wherever it was cut off.
        statistics: where Locust's own statistics of the measured load go, as the CSV file that ``locust --csv`` writes.
        emit: writes an event: see :meth:`Channel.emit`.

    """

    def __init__(self, runner: MasterRunner, path: Path, statistics: Path, emit: Callable[..., None]) -> None:
        self._runner = runner
        self._emit = emit
        self._statistics = statistics
        self._file = path.open("wb")  # open for as long as the process lives
        self._writer = pa.ipc.new_stream(self._file, sample.SCHEMA)
        self._write_failed = False
        self._ready: set[str] = set()
        self._ahead_s: dict[str, float] = {}
        self._holding_tokens: set[str] = set()
        self._phase = 0
        self._counts: dict[int, dict[str, float]] = {}
        self._ticks: dict[int, list[list[int]]] = {}
        self._cpu: dict[int, list[tuple[float, float]]] = {}
        self._cut: list[list[int]] = []
        self._stopped: list[list[int]] = []
        self._pending: set[int] = set()
        self._clock_step_s = 0.0
        heard = {"report": self._on_report, "clock": self._on_clock, "ready": self._on_ready}
        for name, listener in {**heard, "tokens-there": self._on_tokens}.items():
            runner.register_message(f"lab-{name}", admission.dropping(listener))

    def execute(self, order: dict[str, Any]) -> None:
        """Execute one command."""
        getattr(self, f"_do_{order.pop('do')}")(**order)

    def close(self) -> None:
        """Finish the file of samples; one that could not be written whole is read up to where it was cut off."""
        try:
            self._writer.close()
            self._file.close()
        except OSError:
            if not self._write_failed:
                raise

    def _keep_statistics(self) -> None:
        try:
            with self._statistics.open("w", newline="") as file:
                StatsCSV(self._runner.environment, PERCENTILES_TO_REPORT).requests_csv(csv.writer(file))
        except Exception as error:  # of any kind: the load is over without them too, which must be told
            logging.warning("Locust's own statistics were not kept: %r", error)

    def _on_ready(self, environment: Environment, msg: Any) -> None:
        ahead_s = self._ahead_s[msg.node_id]
        self._ready.add(msg.node_id)
        self._emit("worker", count=len(self._ready), ahead_s=ahead_s)

    def _on_clock(self, environment: Environment, msg: Any) -> None:
        ahead_s = msg.data["unix"] - time.time()
        self._ahead_s[msg.node_id] = max(ahead_s, self._ahead_s.get(msg.node_id, ahead_s))

    def _on_tokens(self, environment: Environment, msg: Any) -> None:
        self._holding_tokens.add(msg.node_id)
        self._emit("tokens", count=len(self._holding_tokens))

    def watch(self) -> None:
        """Emit ``lost`` when a worker has left or sends no more heartbeats; runs until that happens."""
        while sum(client.heartbeat > 0 for client in self._runner.clients.all) >= len(self._ready):
            gevent.sleep(1)
        self._emit("lost")

    def _do_dismiss(self) -> None:
        self._runner.quit()
        self._emit("dismissed")

    def _do_tokens(self, file: str) -> None:
        self._runner.send_message("lab-tokens", Path(file).read_text())

    def _do_spawn(self, users: int) -> None:
        self._runner.start(users, spawn_rate=users)
        self._emit("spawned")

    def _do_phase(self, load: dict[str, Any], delay_s: float, **how: Any) -> None:
        self._phase += 1
        workers = {self._runner.get_worker_index(client.id): client.user_count for client in self._runner.clients.all}
        playing = _spread(load["users"], [workers.get(index, 0) for index in range(max(workers) + 1)])
        self._counts, self._clock_step_s = {}, 0.0
        self._forget_readings()
        self._pending = set(workers)
        unix_start = time.time() + delay_s
        order = {"number": self._phase, "counts": playing, "unix_start": unix_start, "load": load, **how}
        self._runner.send_message("lab-phase", order)
        self._emit("started", unix_start=unix_start)

    def _do_break_off(self) -> None:
        self._runner.send_message("lab-break-off", {})

    def _on_report(self, environment: Environment, msg: Any) -> None:
        report = msg.data
        msgspec.convert(report, Report)
        worker = report["worker"]
        if worker != self._runner.get_worker_index(msg.node_id):
            raise ValueError(f"worker {worker} is another one")
        if report["phase"] != self._phase:
            return
        if report["records"] and not self._write_failed:
            which = worker, report["warm_up"], report["window"]
            self._keep(sample.to_batch(report["records"], report["names"], *which))
        self._counts[worker] = {key: report[key] for key in COUNTS}
        self._ticks.setdefault(worker, []).extend(report["ticks"])
        self._cut.extend(report["cut"])
        self._stopped.extend(report["stopped"])
        self._clock_step_s = max(self._clock_step_s, report["clock_step_s"], key=abs)
        self._cpu.setdefault(worker, []).append((report["unix_now"], report["cpu_s"]))
        if report["last"]:
            self._pending.discard(worker)
        totals = {key: sum(c[key] for c in self._counts.values()) for key in COUNTS}
        if report["problem"]:
            self._emit("problem", **report["problem"])
        if not self._pending:
            self._keep_statistics()
        readings = {"ticks": self._ticks, "cpu": self._cpu, "clock_step_s": self._clock_step_s}
        ended_early = {"cut": self._cut, "stopped": self._stopped}
        left = {"unfinished": len(self._pending)}
        self._emit("progress" if self._pending else "over", **totals, **readings, **ended_early, **left)
        self._forget_readings()

    def _keep(self, records: pa.RecordBatch) -> None:
        """Write samples; once that fails, as on a full disk, no more: behind half a batch nothing can be read."""
        try:
            self._writer.write_batch(records)
            self._file.flush()
        except OSError as error:
            self._write_failed = True
            self._emit("problem", sentence=f"The samples could not be written: {error.strerror}.", detail="")

    def _forget_readings(self) -> None:
        """Forget what the last event has told: each tells only what came after the one before."""
        self._ticks, self._cpu, self._cut, self._stopped = {}, {}, [], []


def _spread(users: int, capacity: list[int]) -> list[int]:
    """Split a phase's users over the workers, none getting more than Locust spawned there."""
    counts = [0] * len(capacity)
    for _ in range(users):
        worker = max(range(len(capacity)), key=lambda index: (capacity[index] - counts[index], -index))
        counts[worker] += 1
    return counts


def main() -> None:
    """Bind a port, emit it, and execute commands until stdin ends; who knows the token of its environment joins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locustfile", required=True)
    parser.add_argument("--samples", required=True, type=Path)
    parser.add_argument("--statistics", required=True, type=Path)
    parser.add_argument("--bind", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--workers", required=True, type=int)
    options = parser.parse_args()
    if not admission.required:
        parser.error(f"{JOIN_TOKEN} is not set, so anybody could send messages")
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    channel = Channel()
    runners.HEARTBEAT_LIVENESS = heartbeats.LOST_AFTER_S
    user_classes, _ = load_locustfile(options.locustfile)
    environment = Environment(user_classes=list(user_classes.values()), events=locust.events)
    environment.runner = runner = FixedWorkerCountRunner(environment, options.bind, options.port, options.workers)
    master = Master(runner, options.samples, options.statistics, channel.emit)
    channel.emit("listening", port=runner.server.port)
    gevent.spawn(master.watch)
    for order in channel.commands():
        master.execute(order)
    master.close()
    runner.quit()


if __name__ == "__main__":
    main()
