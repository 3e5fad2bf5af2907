"""The load generator as the lab runs it, against a server whose delays are known: what it says is what is so."""

from __future__ import annotations

import csv
import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from patience import await_that
from scipy.optimize import brentq

from lab.analysis import verdict
from lab.analysis.evidence import Evidence
from lab.formulas import stats
from lab.generator.fleet import Fleet, LoadPhase, PhaseResult, Placement, running_fleet
from lab.runtimes import Launch, Running
from lab.runtimes.process import ProcessRuntime
from lab.spec import schedule
from lab.spec.sample import SCHEMA
from lab.spec.workload import POISSON, Burst, Closed, Load, Open, Ramp

pytestmark = pytest.mark.thorough

KNOWN_SERVER = Path(__file__).with_name("known_server.py")
USERS, SEED = 300, (7, 1)
STALL_S, EVERY_S = 1.0, 10.0


@dataclass(frozen=True)
class Server:
    """A known server that runs."""

    running: Running
    url: str

    def asked(self) -> int:
        """How many requests it was sent so far."""
        return self._report()["asked"]

    def kept(self, delay_ms: int) -> np.ndarray:
        """When it read, was to answer and answered the requests with that delay, each ascending; shape (3, n)."""
        return np.sort(np.array([times for millis, *times in self._report()["kept"] if millis == delay_ms]).T)

    def _report(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/report") as answer:
            return json.load(answer)


@dataclass(frozen=True)
class Rig:
    """A fleet, and what its workers and Locust have written down so far."""

    fleet: Fleet
    folder: Path

    def run_load(self, server: Server, asked: Load, delay_ms: int) -> tuple[PhaseResult, pd.DataFrame]:
        """Play one phase; what the workers say of it, and its samples."""
        before = len(self.samples())
        parameters = {"delay_ms": delay_ms}
        result = self.fleet.run_phase(LoadPhase(server.url, asked, parameters, seed=SEED), 300, [server.running])
        return result, self.samples()[before:].reset_index(drop=True)

    def samples(self) -> pd.DataFrame:
        """All samples so far, while the master still has the file open."""
        batches = [pa.RecordBatch.from_pylist([], SCHEMA)]
        with suppress(pa.ArrowInvalid), pa.ipc.open_stream(self.folder / "samples.arrows") as reader:
            batches += list(reader)
        return pa.Table.from_batches(batches).to_pandas()

    def locust(self) -> tuple[int, int]:
        """Requests and failures so far, by Locust's own statistics."""
        path = self.folder / "locust-statistics.csv"
        if not path.exists():
            return 0, 0
        total = list(csv.DictReader(path.open()))[-1]
        assert total["Name"] == "Aggregated"
        return int(total["Request Count"]), int(total["Failure Count"])


@contextmanager
def started_server(runtime: ProcessRuntime, folder: Path, *arguments: str) -> Iterator[Server]:
    """A known server, ended with the context."""
    command = (sys.executable, str(KNOWN_SERVER), *arguments)
    with runtime.started(Launch("known server", command, folder / "server.log", talks=True)) as running:
        yield Server(running, f"http://127.0.0.1:{int(running.stdout.readline())}")


@pytest.fixture(scope="module")
def runtime() -> Iterator[ProcessRuntime]:
    """A runtime for all of this file."""
    with ProcessRuntime() as started:
        yield started


@pytest.fixture(scope="module")
def server(runtime, tmp_path_factory) -> Iterator[Server]:
    """A known server that never stalls."""
    with started_server(runtime, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def rigs(runtime, tmp_path_factory) -> Iterator[dict[int, Rig]]:
    """Fleets of 1, 2 and 4 workers, by that number."""
    with ExitStack() as stack:
        rigs = {}
        for workers in (1, 2, 4):
            folder = tmp_path_factory.mktemp(f"fleet{workers}")
            begun = running_fleet(
                "delay",
                Burst(users=1, workers=workers),
                Placement(runtime, frozenset(), folder, folder / "samples.arrows"),
            )
            rigs[workers] = Rig(stack.enter_context(begun), folder)
        for rig in rigs.values():
            rig.fleet.await_workers()
            rig.fleet.spawn(USERS)
        yield rigs


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    "asked",
    [
        # So long that a worker that stands still for a moment sends some all the same.
        Closed(users=40, ramp_s=0.1, duration_s=3.0, timeout_s=0.12),
        Open(users=USERS, duration_s=0.3, rate_rps=200.0, arrivals=POISSON, timeout_s=0.12),
        Ramp(users=USERS, duration_s=0.3, from_rps=50.0, to_rps=350.0, timeout_s=0.12),
    ],
    ids=["closed", "open", "ramp"],
)
def test_everybody_counts_the_same(server, rigs, workers, asked):
    """Workers, samples, Locust's statistics and the server agree, though many time out and it ends in mid-request."""
    rig, asked_before, (requests, failures) = rigs[workers], server.asked(), rigs[workers].locust()
    result, samples = rig.run_load(server, asked, 100)
    count, failed = len(samples), int((samples["error"] != "").sum())
    unsent = int((samples["error"] == "connect timeout").sum())  # where the machine is very busy
    assert result.begun == result.finished == count >= failed == result.failed > 0
    assert rig.locust() == (requests + count, failures + failed)
    ended_us = samples["sent_us"] + samples["latency_us"]
    assert (ended_us > asked.duration_s * 1e6).any(), "some requests were under way at the end"
    await_that(lambda: server.asked() >= asked_before + count - unsent)  # also what nobody waits for any more
    assert server.asked() == asked_before + count - unsent
    if asked.independent:
        assert count == asked.planned_sessions
        assert np.abs(np.sort(samples["planned_us"]) - schedule.planned_s(asked, SEED) * 1e6).max() < 2


def test_with_too_few_users_every_planned_request_is_sent_late_and_that_is_said(server, rigs):
    """Two users cannot send 100/s if each answer takes 50 ms: none is left out, and the verdict names the users."""
    asked = Open(users=2, rate_rps=100.0, duration_s=0.5)
    result, samples = rigs[1].run_load(server, asked, 50)
    assert result.begun == len(samples) == 50
    planned_us = schedule.planned_s(asked, SEED) * 1e6
    assert np.abs(np.sort(samples["planned_us"]) - planned_us).max() < 2
    assert (samples["sent_us"] >= samples["planned_us"] - 1).all()
    assert (samples.sort_values("planned_us")["sent_us"].diff().dropna() >= 0).all(), "sent in the planned order"
    summary = stats.summarise(samples, from_planned=True)
    assert summary.busy_p99_s > 0.3
    assert summary.p99_s > summary.service_p99_s + 0.3
    found = verdict.judge(Evidence.from_fields(planned=50, begun=50, finished=50, whole=True), summary, 50)
    assert "All users were busy" in " ".join(found.reasons)
    assert "of the planned rate only" in " ".join(found.reasons)


def known_share(latency_s: float, delay_s: float) -> float:
    """The share of even arrivals that a server with stalls answers within some time, by what it was made to do."""
    stalled = STALL_S / EVERY_S
    return (1 - stalled) * np.clip(latency_s / delay_s - 0.5, 0, 1) + stalled * np.clip(latency_s / STALL_S, 0, 1)


def known_percentile(percent: float, delay_s: float) -> float:
    """The latency that so many percent of even arrivals do not exceed."""
    return brentq(lambda latency_s: known_share(latency_s, delay_s) - percent / 100, 0, STALL_S)


def test_an_open_loop_sees_a_stall_whole_and_a_closed_loop_does_not(runtime, rigs, tmp_path):
    """Where a server stalls for 1 s every 10 s, p99 is 0.9 s by theory and in the open loop, at the same time.

    On a busy machine latencies are longer than by theory, but never by more than what both sides were late in all.
    """
    open_loop = Open(users=USERS, rate_rps=200.0, duration_s=EVERY_S, workers=2)
    closed_loop = Closed(users=4, ramp_s=0.0, duration_s=EVERY_S)
    with started_server(runtime, tmp_path, str(EVERY_S)) as stalling, ThreadPoolExecutor() as at_once:
        opened = at_once.submit(rigs[2].run_load, stalling, open_loop, 200)
        closed = at_once.submit(rigs[1].run_load, stalling, closed_loop, 20)
        result, samples = opened.result()
        _, missed = closed.result()
        noise_s = late_s(stalling, 200, result, samples)
    seen = stats.summarise(samples, from_planned=True)
    known = {f"p{percent}_s": known_percentile(percent, 0.2) for percent in (50, 90, 99)}
    known["mean_s"] = (1 - STALL_S / EVERY_S) * 0.2 + STALL_S / EVERY_S * STALL_S / 2
    for name, value in known.items():
        assert 0.98 * value - 0.005 <= getattr(seen, name) <= 1.02 * value + 0.005 + noise_s, name
    assert known_percentile(99, 0.02) == pytest.approx(known["p99_s"]) == pytest.approx(0.9)
    stalled = [float((table["latency_us"] > 0.5e6 * STALL_S).mean()) for table in (samples, missed)]
    assert 0 < stalled[1] < stalled[0] / 2, "the closed loop was there when the server stalled, and hardly saw it"


def late_s(server: Server, delay_ms: int, result: PhaseResult, samples: pd.DataFrame) -> float:
    """By how much requests were late, at most and in all: sent, read, answered, received; each must follow the other.

    Each side's moments are ordered by themselves: that of requests which differ least in time are compared.
    """
    read_s, due_s, answered_s = server.kept(delay_ms)
    begun_s = result.unix_start - time.time() + time.monotonic()
    planned_s, sent_s, ended_s = (
        np.sort(begun_s + moments.to_numpy() / 1e6)
        for moments in (samples["planned_us"], samples["sent_us"], samples["sent_us"] + samples["latency_us"])
    )
    late = [sent_s - planned_s, read_s - sent_s, answered_s - due_s, ended_s - answered_s]
    assert min(steps.min() for steps in late) > -0.005
    return float(sum(steps.max() for steps in late))
