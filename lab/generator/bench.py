"""A test bench for the generator: one worker against a server of known delay, each on cores of its own."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import requests

from lab.errors import ComponentError
from lab.generator.fleet import Fleet, LoadPhase, Placement, Played, running_fleet
from lab.runtimes import Launch, Running, Runtime
from lab.runtimes.checkout import ROOT
from lab.spec.scenario import KINDS
from lab.spec.workload import Load

LOCUSTFILE = "calibration"
# What comes in this part of the time is not counted: connections are opened then.
UNCOUNTED_SHARE = 0.25
WITHIN_S = 30.0


@dataclass(frozen=True)
class Outcome:
    """What one load came to.

    Attributes:
        rps: answers a second, without the first quarter of the time.
        added_mean_s: mean latency, less the mean time that the server held its answers back.
        added_p99_s: the same for the 99th percentile.
        generator_cpu: of one core: the worker, and whatever of ours shares its core.
        server_cpu: of one core.

    """

    rps: float
    added_mean_s: float
    added_p99_s: float
    generator_cpu: float
    server_cpu: float
    failed: int


@dataclass
class Bench:
    """A server and a generator that are ready to play.

    Attributes:
        beside: what else of ours runs on the worker's core.
        stream: where the master puts samples; it grows while they play.

    """

    url: str
    server: Running
    fleet: Fleet
    beside: list[psutil.Process]
    stream: Path
    _reader: pa.RecordBatchStreamReader | None = None
    _readings: list[tuple[float, float, float]] = field(default_factory=list)

    def play(self, kind: str, users: int, delay_ms: int, duration_s: float) -> Outcome:
        """Play a closed loop, its first sends spread over the delay, and measure it. ComponentError if one died."""
        self._held()
        self._readings = []
        load = Load(users=users, ramp_s=delay_ms / 1000, duration_s=duration_s)
        phase = LoadPhase(self.url, load, {"kind": KINDS.index(kind), "delay_ms": delay_ms})
        played = self.fleet.play(phase, duration_s + WITHIN_S, [self.server], self._read_cpu)
        held = self._held()
        samples = self.samples(played.finished)
        latency_s = samples["latency_us"].to_numpy() / 1e6
        ended_s = samples["sent_us"].to_numpy() / 1e6 + latency_s
        counted = (ended_s > UNCOUNTED_SHARE * duration_s) & (ended_s <= duration_s)
        latency_s = latency_s[counted] if counted.any() else latency_s
        generator_cpu, server_cpu = self._busy()
        return Outcome(
            rps=int(counted.sum()) / ((1 - UNCOUNTED_SHARE) * duration_s),
            added_mean_s=float(latency_s.mean()) - held["mean_s"],
            added_p99_s=float(np.percentile(latency_s, 99)) - held["p99_s"],
            generator_cpu=generator_cpu,
            server_cpu=server_cpu,
            failed=played.failed,
        )

    def _held(self) -> dict[str, float]:
        """How long the server has held answers back since it was last asked."""
        try:
            return dict(requests.get(f"{self.url}/held", timeout=WITHIN_S).json())
        except (requests.RequestException, ValueError) as error:
            raise _ended(self.server) from error

    def _read_cpu(self, played: Played) -> None:
        beside_s = sum(sum(process.cpu_times()[:2]) for process in self.beside)
        generator_s = self.fleet.workers[0].cpu_s() + beside_s
        self._readings.append((time.monotonic(), generator_s, self.server.cpu_s()))

    def _busy(self) -> tuple[float, float]:
        """The parts of a core that generator and server used in the middle of it; 0 if there were too few readings."""
        if len(self._readings) < 4:
            return 0.0, 0.0
        (began_s, *before), (ended_s, *after) = self._readings[1], self._readings[-2]
        elapsed_s = max(ended_s - began_s, 1e-9)
        generator, server = ((b - a) / elapsed_s for a, b in zip(before, after, strict=True))
        return generator, server

    def samples(self, count: int) -> pa.Table:
        """So many samples that came since this was last asked for; columns: :data:`lab.spec.sample.SCHEMA`."""
        self._reader = self._reader or pa.ipc.open_stream(self.stream.open("rb"))
        batches = []
        while count > 0:
            batches.append(self._reader.read_next_batch())
            count -= batches[-1].num_rows
        return pa.Table.from_batches(batches)


def _ended(server: Running) -> ComponentError:
    return ComponentError(f"The reference server {server.exit_reason() or 'does not answer'}.", "", server.log_tail())


@contextmanager
def running_bench(
    runtime: Runtime, tokens: Path, users: int, server_cores: frozenset[int], cores: frozenset[int], folder: Path
) -> Iterator[Bench]:
    """Start a server and a generator of one worker; they end with the context. ComponentError if one does not start.

    Args:
        tokens: a file of tokens, one a line.
        users: the most that will play.
        cores: of the generator; empty for all.
        folder: for logs and samples.

    """
    command = (sys.executable, "-m", "lab.generator.known_delay_server")
    surroundings = {"PYTHONPATH": str(ROOT)}
    launch = Launch("reference server", command, folder / "server.log", surroundings, server_cores, talks=True)
    stream = folder / "samples.arrows"
    placement = Placement(runtime, cores, folder, stream)
    with runtime.started(launch) as server, running_fleet(LOCUSTFILE, Load(users), placement) as fleet:
        if not (line := server.stdout.readline()):
            raise _ended(server)
        port = json.loads(line)["port"]
        fleet.await_workers()
        fleet.distribute_tokens(tokens)
        fleet.spawn(users)
        beside = [psutil.Process(), psutil.Process(fleet.master.pid)] if len(cores) == 1 else []
        yield Bench(f"http://{runtime.host}:{port}", server, fleet, beside, stream)
