"""What is read beside a load: all of it, to the end, and without gaps where the service itself is silent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest
from any_server import serving
from patience import await_that

from lab.runtimes import Launch, host
from lab.system.deployment import Deployment
from lab.system.service import Service
from lab.telemetry import sampler
from lab.telemetry.actuator import GC_PAUSES, HICCUPS, scrape
from lab.telemetry.sampler import (
    CORES_BUSY,
    FIXED_WORK,
    PASSED_ON,
    SILENT,
    Telemetry,
    sampling,
    watching_cores,
    with_sum,
)

# Where nobody listens.
NOBODY = "http://127.0.0.1:9"
SPIN, SLEEP = "while True: pass", "import time; time.sleep(1000)"


@pytest.fixture
def silent():
    """An address where somebody listens and never answers, as a service does that has no thread to spare."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def only_node(running, url, management):
    """A service that has one node."""
    return Deployment.of(Service(running, url, management))


def rows_of(telemetry, target, name):
    """The moments and values of what was read."""
    return [(t, value) for t, whose, what, value in telemetry.rows if (whose, what) == (target, name)]


def started(runtime, folder, script: str):
    """A Python process with a script."""
    return runtime.started(Launch("service", (sys.executable, "-c", script), folder / "log"))


def test_a_silent_service_leaves_no_gap_in_what_the_system_knows(runtime, tmp_path, silent):
    """Its own metrics are missing, and said to be; its CPU, memory and threads are read all the same."""
    with (
        started(runtime, tmp_path, SPIN) as running,
        sampling(only_node(running, silent, silent), {}, every_s=0.1) as telemetry,
    ):
        await_that(lambda: telemetry.gaps and len(rows_of(telemetry, "service", "cpu_s")) > 2)
    rows = rows_of(telemetry, "service", "cpu_s")
    assert rows[-1][1] > rows[0][1]
    assert {name for _, target, name, _ in telemetry.rows if target == "service"} == {"cpu_s", "rss_bytes", "threads"}


def test_the_end_of_a_load_is_read_too(runtime, tmp_path):
    """However long the time between readings, there is one when the load is over."""
    with started(runtime, tmp_path, SLEEP) as running:
        with sampling(only_node(running, NOBODY, NOBODY), {}, every_s=1000) as telemetry:
            await_that(lambda: telemetry.rows)
            ended = time.time()
        (first, _), (last, _) = rows_of(telemetry, "service", "cpu_s")
    assert first < ended <= last


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_the_first_and_the_last_reading_wait_for_a_core_no_longer_than_any_program(runtime, tmp_path, monkeypatch):
    """Those between must not delay the load. Where programs keep the core busy, these two tell that they were there."""
    of_system, of_service = [], []

    def own_priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def noting_its_priority(priorities, read, *arguments):
        priorities.append(own_priority())
        return read(*arguments)

    for where, name, priorities in ((sampler.host, "untracked_packets", of_system), (sampler, "scrape", of_service)):
        monkeypatch.setattr(where, name, partial(noting_its_priority, priorities, getattr(where, name)))
    usual = own_priority()
    with (
        started(runtime, tmp_path, SLEEP) as running,
        sampling(only_node(running, NOBODY, NOBODY), {}, every_s=0.05),
    ):
        await_that(lambda: min(len(of_system), len(of_service)) > 3)
    for first, *between, last in (of_system, of_service):
        assert (first, last) == (usual, usual)
        assert all(usual < each < 19 for each in between)


def test_what_children_use_counts_as_theirs(runtime, tmp_path):
    """A database that answers with a process a connection is watched with all of them."""
    with started(runtime, tmp_path, f"import os; os.fork()\n{SLEEP}") as running:
        await_that(psutil.Process(running.pid).children)
        with sampling(only_node(running, NOBODY, NOBODY), {"database": running}, every_s=1000) as telemetry:
            pass
    assert {value for _, value in rows_of(telemetry, "database", "threads")} == {2}


def test_what_the_lab_has_started_and_awaited_is_no_work_of_its_own(runtime, tmp_path):
    """The CPU time of a program that ends during a load is not the lab's; that of a service's is the service's."""
    burns_a_second = "import time\nwhile time.process_time() < 1: pass"
    forks = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {burns_a_second!r}]); {SLEEP}"
    with started(runtime, tmp_path, forks) as running:
        await_that(lambda: sum(psutil.Process(running.pid).cpu_times()[2:4]) > 0.5)
        subprocess.run([sys.executable, "-c", burns_a_second], check=True)
        with sampling(only_node(running, NOBODY, NOBODY), {}, every_s=1000) as telemetry:
            pass
    mine = psutil.Process().cpu_times()
    assert mine.children_user + mine.children_system > 0.5
    assert 0 < max(value for _, value in rows_of(telemetry, "lab", "cpu_s")) <= mine.user + mine.system
    assert all(value > 0.5 for _, value in rows_of(telemetry, "service", "cpu_s"))


def test_processes_that_are_idle_are_read_together(runtime, tmp_path):
    """What all of them used is one figure; without any there is none."""
    idle = tmp_path / "idle"
    with started(runtime, tmp_path, f"open({str(idle)!r}, 'w').close(); {SLEEP}") as running:
        await_that(idle.exists)
        service = only_node(running, NOBODY, NOBODY)
        with sampling(service, {}, every_s=1000, together={"neighbours": [running, running]}) as telemetry:
            pass
        with sampling(service, {}, every_s=1000) as alone:
            pass
    (one, _), (twice, _) = (rows_of(telemetry, name, "cpu_s") for name in ("service", "neighbours"))
    assert twice[1] == pytest.approx(2 * one[1], abs=0.05)
    assert rows_of(alone, "neighbours", "cpu_s") == []


def test_one_of_several_that_ends_keeps_what_it_has_used(runtime, tmp_path):
    """Their sum would fall, and what the others use would pass for somebody else's."""
    with started(runtime, tmp_path, SLEEP) as service, started(runtime, tmp_path, SPIN) as spinning:
        watched = only_node(service, NOBODY, NOBODY)
        with sampling(watched, {}, every_s=0.2, together={"neighbours": [spinning]}) as telemetry:
            await_that(lambda: any(value > 0.5 for _, value in rows_of(telemetry, "neighbours", "cpu_s")))
            psutil.Process(spinning.pid).kill()
            read = len(rows_of(telemetry, "neighbours", "cpu_s"))
            await_that(lambda: len(rows_of(telemetry, "neighbours", "cpu_s")) > read + 2)
    used = [value for _, value in rows_of(telemetry, "neighbours", "cpu_s")]
    assert used == sorted(used)
    assert used[-1] > 0.5


def test_several_nodes_are_read_apart_and_summed(runtime, tmp_path):
    """What all of them have is that of the service too; what one lacks is not, as it would be a sum of fewer."""
    with started(runtime, tmp_path, SPIN) as one, started(runtime, tmp_path, SPIN) as other, serving() as server:
        nodes = {"node 1": Service(one, NOBODY, NOBODY), "node 2": Service(other, NOBODY, server.url)}
        with sampling(Deployment(nodes, NOBODY), {}, every_s=0.2) as telemetry:
            await_that(lambda: min(len(rows_of(telemetry, "service", "cpu_s")), len(telemetry.gaps)) > 2)
    of_nodes = [rows_of(telemetry, name, "cpu_s") for name in nodes]
    summed = [(t, a + b) for (t, a), (_, b) in zip(*of_nodes, strict=True)]
    assert rows_of(telemetry, "service", "cpu_s") == summed
    assert len(telemetry.gaps) > 2
    assert len(rows_of(telemetry, "node 1", SILENT)) == len(telemetry.gaps)
    assert with_sum({"node 1": {"a": 1.0, "b": 2.0}, "node 2": {"a": 3.0}})["service"] == {"a": 4.0}
    assert with_sum({"service": {"a": 1.0}}) == {"service": {"a": 1.0}}


def test_a_balancer_that_does_not_answer_is_silent(runtime, tmp_path):
    """As nodes are; of the nodes nothing is known that only it tells."""
    with started(runtime, tmp_path, SPIN) as one, started(runtime, tmp_path, SPIN) as front, serving() as server:
        nodes = {f"node {number}": Service(one, NOBODY, server.url) for number in (1, 2)}
        with sampling(Deployment(nodes, NOBODY, Service(front, NOBODY, NOBODY)), {}, every_s=0.2) as telemetry:
            await_that(lambda: len(rows_of(telemetry, "balancer", SILENT)) > 2)
    assert rows_of(telemetry, "node 1", PASSED_ON) == []


def test_what_a_process_has_missed_is_of_the_moment_when_it_says_so(runtime, tmp_path):
    """A page that is asked for as a stop begins is sent when it is over; the rest of it is of when it was asked for."""

    class Stopped(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(0.4)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"# TYPE {HICCUPS} counter\n{HICCUPS} 0.4\n".encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with started(runtime, tmp_path, SLEEP) as running, ThreadingHTTPServer(("127.0.0.1", 0), Stopped) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with sampling(only_node(running, NOBODY, url), {}, every_s=1000) as telemetry:
            pass
        server.shutdown()
    missed, collected = (rows_of(telemetry, "service", name) for name in (HICCUPS, GC_PAUSES))
    assert [value for _, value in missed] == [0.4, 0.4]
    assert all(came >= asked + 0.4 for (came, _), (asked, _) in zip(missed, collected, strict=True))


@pytest.mark.parametrize(("states", "together"), [((0.5, 0.5), 0.5), ((0.0, 1.0), 1.0), ((0.0, 0.0), 0.0)])
def test_the_state_of_several_breakers_is_that_of_one_of_them(states, together):
    """Two that try are not an open one; where one node keeps calls back, the service does."""
    of_nodes = {f"node {number}": {"lab_breaker_open": state} for number, state in enumerate(states, 1)}
    assert with_sum(of_nodes)["service"] == {"lab_breaker_open": together}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not say which cores there are")
def test_a_core_is_watched_with_whatever_is_on_it(runtime, tmp_path):
    """A program that is not ours shows on the core that it uses."""
    core = min(os.sched_getaffinity(0))
    spinning = Launch("spinner", (sys.executable, "-c", SPIN), tmp_path / "spin", cores=frozenset({core}))
    cores = {"generator": frozenset({core})}
    with started(runtime, tmp_path, SLEEP) as running, runtime.started(spinning) as spinner:
        await_that(lambda: spinner.cpu_s() > 0.1)
        with sampling(only_node(running, NOBODY, NOBODY), {}, cores, every_s=1000) as telemetry:
            await_that(lambda: telemetry.rows)
            time.sleep(1.0)
    (begun, before), (ended, after) = rows_of(telemetry, "generator", CORES_BUSY)
    assert (after - before) / (ended - begun) > 0.5


def test_cores_that_are_not_there_take_nothing_else_with_them(runtime, tmp_path):
    """Where a core is offline its number is no place in the system's list; the rest is read all the same."""
    with started(runtime, tmp_path, SLEEP) as running:
        cores = {"generator": frozenset({10_000})}
        with sampling(only_node(running, NOBODY, NOBODY), {}, cores, every_s=1000) as telemetry:
            pass
    assert rows_of(telemetry, "generator", CORES_BUSY) == []
    assert len(rows_of(telemetry, "service", "cpu_s")) == 2


def test_cores_beside_one_that_is_offline_are_the_ones_that_are_read(monkeypatch):
    """Their places in the system's list are not their numbers."""
    times = [psutil.cpu_times()._replace(idle=idle) for idle in (100.0, 0.0)]
    monkeypatch.setattr(host, "online_cores", lambda: (0, 2))
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu=False: times if percpu else times[0])
    rows = sampler._of_cores(1000.0, {"service": frozenset({0}), "generator": frozenset({2}), "nobody": frozenset({1})})
    read = {owner: value for _, owner, name, value in rows if name == CORES_BUSY}
    assert read["generator"] - read["service"] == pytest.approx(100.0)
    assert "nobody" not in read


@pytest.mark.parametrize("path", ["status/500", "large"], ids=["an error", "no metrics"])
def test_a_page_that_holds_no_metrics_is_a_gap(runtime, tmp_path, path):
    """A service that is out of memory may answer with anything."""
    with started(runtime, tmp_path, SLEEP) as running, serving() as server:
        service = Service(running, NOBODY, f"{server.url}/{path}")
        assert scrape(service) == {}
        with sampling(Deployment.of(service), {}, every_s=1000) as telemetry:
            pass
    assert len(telemetry.gaps) == 2


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not say which cores there are")
def test_the_speed_of_every_core_is_measured_beside_the_load(runtime, tmp_path):
    """By the time that the same work takes, of CPU and not of the clock: waiting for a busy core does not count."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    owners = {"service": frozenset(cores[:1]), "generator": frozenset(cores[-1:])}
    spinning = Launch("spinner", (sys.executable, "-c", SPIN.format(60)), tmp_path / "spin", cores=owners["service"])
    telemetry = Telemetry()
    with runtime.started(spinning), watching_cores(runtime, owners, tmp_path, telemetry):
        await_that(lambda: {of for _, of, name, _ in list(telemetry.rows) if name == FIXED_WORK} == owners.keys())
    spent = {owner: [v for _, of, name, v in telemetry.rows if (of, name) == (owner, FIXED_WORK)] for owner in owners}
    assert all(spent.values())
    assert sorted(spent["service"])[0] < 0.1
    assert (tmp_path / "cpu-speed.log").read_text() == ""
    assert (tmp_path / "pauses.log").read_text() == ""


def test_nobody_is_measured_where_nobody_has_cores(runtime, tmp_path):
    """Without pinning there is no core whose speed would be somebody's."""
    telemetry = Telemetry()
    with watching_cores(runtime, {}, tmp_path, telemetry):
        pass
    assert telemetry.rows == []
    assert not list(tmp_path.glob("*.log"))
