"""A test bench for the generator: one worker against a server of known delay, each on cores of its own."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import requests

from lab.errors import ComponentError
from lab.generator.fleet import Fleet, LoadPhase, PhaseResult, Placement, running_fleet
from lab.runtimes import Launch, Running, Runtime, loopback
from lab.runtimes.checkout import OWN_MODULES
from lab.spec.scenario import KINDS
from lab.spec.workload import Burst, Closed

LOCUSTFILE = "calibration"
KNOWN_DELAY_SERVER = ("-m", "lab.generator.known_delay_server")
# Answers in this first part of the duration are not counted: connections are opened then.
UNCOUNTED_SHARE = 0.25
WITHIN_S = 30.0


@dataclass(frozen=True)
class BenchResult:
    """The result of one load on the test bench: rate, added latency and CPU.

    Attributes:
        rps: answers a second, without the first quarter of the duration.
        added_mean_s: mean latency minus the mean delay that the server measured.
        added_p99_s: the same for the 99th percentile, and ``added_p999_s`` for the 99.9th.
        generator_cpu: share of the cores that the workers can use at once: theirs, and that of the processes of the lab
            on the same core.
        server_cpu: share of one core.

    """

    rps: float
    added_mean_s: float
    added_p99_s: float
    added_p999_s: float
    generator_cpu: float
    server_cpu: float
    failed: int


@dataclass
class Bench:
    """A server of known delay and a generator that are ready for a load.

    Attributes:
        cores: how many cores the workers can use at once.
        colocated: the lab's other processes on the worker's core.
        stream: the file that the master appends samples to.

    """

    url: str
    server: Running
    fleet: Fleet
    cores: int
    colocated: list[psutil.Process]
    stream: Path
    _files: ExitStack = field(default_factory=ExitStack)
    _reader: pa.RecordBatchStreamReader | None = None
    _readings: list[tuple[float, float, float]] = field(default_factory=list)

    def warm_up(self, kind: str, users: int, loops: int) -> None:
        """Send so many requests a user. ComponentError if server or generator ended, or that took more than 30 s."""
        load = Burst(users=users, loops=loops, workers=len(self.fleet.workers))
        phase = LoadPhase(self.url, load, {"kind": KINDS.index(kind), "delay_ms": 0})
        self.samples(self.fleet.run_phase(phase, WITHIN_S, [self.server]).finished)

    def run_load(self, kind: str, users: int, delay_ms: int, duration_s: float) -> BenchResult:
        """Run a closed loop, its first sends spread over the delay.

        Raises:
            ComponentError: server or generator ended, or nothing was answered in the part of the duration that counts.

        """
        self._held()
        self._readings = []
        workers = len(self.fleet.workers)
        load = Closed(users=users, ramp_s=delay_ms / 1000, duration_s=duration_s, workers=workers)
        phase = LoadPhase(self.url, load, {"kind": KINDS.index(kind), "delay_ms": delay_ms})
        result = self.fleet.run_phase(phase, duration_s + WITHIN_S, [self.server], self._read_cpu)
        if not result.finished:
            raise _unanswered(kind, duration_s)
        held = self._held()
        samples = self.samples(result.finished)
        latency_s = samples["latency_us"].to_numpy() / 1e6
        ended_s = samples["sent_us"].to_numpy() / 1e6 + latency_s
        counted = (ended_s > UNCOUNTED_SHARE * duration_s) & (ended_s <= duration_s)
        if not counted.any():
            raise _unanswered(kind, duration_s)
        latency_s = latency_s[counted]
        generator_cpu, server_cpu = self._cpu_shares()
        return BenchResult(
            rps=int(counted.sum()) / ((1 - UNCOUNTED_SHARE) * duration_s),
            added_mean_s=float(latency_s.mean()) - held["mean_s"],
            added_p99_s=float(np.percentile(latency_s, 99)) - held["p99_s"],
            added_p999_s=float(np.percentile(latency_s, 99.9)) - held["p999_s"],
            generator_cpu=generator_cpu,
            server_cpu=server_cpu,
            failed=result.failed,
        )

    def _held(self) -> dict[str, float]:
        """The delays that the server measured since the last call: ``count``, ``mean_s``, ``p99_s`` and ``p999_s``."""
        try:
            return dict(loopback.get(f"{self.url}/held", WITHIN_S).json())
        except (requests.RequestException, ValueError) as error:
            raise _ended(self.server) from error

    def _read_cpu(self, result: PhaseResult) -> None:
        beside_s = sum(sum(process.cpu_times()[:2]) for process in self.colocated)
        generator_s = (sum(worker.cpu_s() for worker in self.fleet.workers) + beside_s) / self.cores
        self._readings.append((time.monotonic(), generator_s, self.server.cpu_s()))

    def _cpu_shares(self) -> tuple[float, float]:
        """Shares of a core that generator and server used, without first and last reading; 0 with too few readings."""
        if len(self._readings) < 4:
            return 0.0, 0.0
        (began_s, *before), (ended_s, *after) = self._readings[1], self._readings[-2]
        elapsed_s = max(ended_s - began_s, 1e-9)
        generator, server = ((b - a) / elapsed_s for a, b in zip(before, after, strict=True))
        return generator, server

    def samples(self, count: int) -> pa.Table:
        """The next ``count`` samples of the stream, or a batch more; columns: :data:`lab.spec.sample.SCHEMA`."""
        self._reader = self._reader or pa.ipc.open_stream(self._files.enter_context(self.stream.open("rb")))
        batches = []
        while count > 0:
            batches.append(self._reader.read_next_batch())
            count -= batches[-1].num_rows
        return pa.Table.from_batches(batches)

    def close(self) -> None:
        """Close the file of samples, if it was read."""
        self._files.close()


def _unanswered(kind: str, duration_s: float) -> ComponentError:
    return ComponentError(
        f"No {kind} request was answered in the last {1 - UNCOUNTED_SHARE:.0%} of {duration_s:g} s.",
        "Try again when no other program keeps the machine busy: python -m lab calibrate",
    )


def _ended(server: Running) -> ComponentError:
    return ComponentError(f"The reference server {server.exit_reason() or 'does not answer'}.", "", server.log_tail())


@contextmanager
def running_server(
    runtime: Runtime, cores: frozenset[int], folder: Path, program: tuple[str, ...] = KNOWN_DELAY_SERVER
) -> Iterator[tuple[Running, str]]:
    """Start a server to measure the generator against; yields its process and its address.

    Args:
        cores: that it may use; empty for all.
        folder: for its log.
        program: arguments for Python; it listens on loopback, and prints its port as ``{"port": …}``.

    Raises:
        ComponentError: it did not start.

    """
    launch = Launch(
        "reference server",
        (sys.executable, *program),
        folder / "server.log",
        OWN_MODULES,
        cores,
        talks=True,
        alone=True,
    )
    with runtime.started(launch) as server:
        if not (line := server.stdout.readline()):
            raise _ended(server)
        yield server, f"http://{runtime.host}:{json.loads(line)['port']}"


@contextmanager
def running_bench(
    runtime: Runtime,
    tokens: Path,
    users: int,
    server_cores: frozenset[int],
    cores: frozenset[int],
    folder: Path,
    workers: int = 1,
) -> Iterator[Bench]:
    """Start a server of known delay and a generator; they end with the context.

    Args:
        tokens: a file of tokens, one a line.
        users: the largest number of users of any load.
        server_cores: for the server; empty for all.
        cores: for the generator; empty for all.
        folder: for logs and samples.

    Raises:
        ComponentError: server, master or worker did not start.

    """
    stream = folder / "samples.arrows"
    placement = Placement(runtime, cores, folder, stream)
    with (
        running_server(runtime, server_cores, folder) as (server, url),
        running_fleet(LOCUSTFILE, Burst(users=users, workers=workers), placement) as fleet,
    ):
        fleet.await_workers()
        fleet.distribute_tokens(tokens)
        fleet.spawn(users)
        colocated = [psutil.Process(), psutil.Process(fleet.master.pid)] if len(cores) == 1 else []
        at_once = min(workers, len(cores) or os.cpu_count() or 1)
        with closing(Bench(url, server, fleet, at_once, colocated, stream)) as bench:
            yield bench
