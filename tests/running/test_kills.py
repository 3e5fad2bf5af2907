"""What dies, and what is left: nothing running, everything measured so far, and the reason."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import docker
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from checkouts import BRIEFLY
from docker.models.containers import Container
from patience import PATIENCE_S, assert_measured, await_that
from programs import needs_haproxy, needs_prometheus
from small_disk import fill, mounted

from lab.analysis import insights, ramps
from lab.reporting import run_view
from lab.runtimes.docker import PID_LABEL
from lab.runtimes.waiting import READY_WITHIN_S
from lab.storage import run_folder
from lab.storage.run_folder import ROOT

pytestmark = pytest.mark.java

HEAP, ONE_BY_ONE = "--heap-mb 256", "--interleave cells"
FROZEN_S = 10.0
SMALL = "--users 50 --delay-ms 200 --ramp-up 0.2 --heap-mb 256 --seed 4"


# Two loads of one system, which the same start of its service serves.
TOGETHER = """
from lab.experiments import publications
from lab.experiments.reproduction.publication import Part, Publication
from lab.spec.options import Options
options = {"variants": ("mvc",), "threads": 50, "heap_mb": 256, "parameters": {"delay_ms": 50}, "duration": 6.0}
parts = [Part(f"{users} users", "delay", Options(users=(users,), **options), together=True) for users in (20, 30)]
publications()["together"] = Publication("together", "two loads of one start", "delay", tuple(parts), ())
"""


class Lab:
    """`python -m lab run …` as a process of its own, with an eye on everything that descends from it."""

    def __init__(self, data: Path, arguments: str, load: str = f"run delay {SMALL}") -> None:
        self.data = data
        self.lines: list[str] = []
        self.seen: set[psutil.Process] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-c", TOGETHER + BRIEFLY, *load.split(), *arguments.split(), "--data", str(data)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)

    def look(self) -> set[psutil.Process]:
        """Everything that descends from the lab now; all that was ever seen is remembered."""
        try:
            now = set(psutil.Process(self.process.pid).children(recursive=True))
        except psutil.Error:
            now = set()
        self.seen |= now
        return now

    def await_that(self, what: Callable[[], object]) -> None:
        """Wait until something holds."""

        def holds() -> object:
            assert self.process.poll() is None, "".join(self.lines)
            self.look()
            return what()

        await_that(holds)

    def await_said(self, words: str, times: int = 1) -> None:
        """Wait until the lab has said so often that a phase is over, not counting those of a calibration."""
        self.await_that(lambda: sum(words in line and "calibrate:" not in line for line in self.lines) >= times)

    def await_measured(self, requests: int, cells: int = 1) -> None:
        """Wait until so many samples have come of the load of the cell that was begun last."""
        self.await_said("warm up (", cells)
        (stream,) = self.data.glob("*/cells/*/samples.arrows")
        self.await_that(lambda: measured_so_far(stream) > requests)

    def child(self, *words: str) -> psutil.Process | None:
        """The one descendant whose command line holds all these words."""
        for process in self.look():
            try:
                line = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if all(word in line for word in words):
                return process
        return None

    def child_in(self, folder: str) -> psutil.Process:
        """The one JVM that works in a folder of this name."""
        found = []
        for each in self.look():
            with suppress(psutil.Error):  # of what has just ended
                if each.name() == "java" and Path(each.cwd()).name == folder:
                    found.append(each)
        (one,) = found
        return one

    def end(self) -> int:
        """Wait for the end, and say the exit status."""

        def has_ended() -> bool:
            self.look()
            return self.process.poll() is not None

        await_that(has_ended)
        self._reader.join(PATIENCE_S)
        return int(self.process.returncode)

    def alive(self) -> list[str]:
        """The command lines of whatever it started that still lives."""
        lines = []
        for process in self.seen:
            try:
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    lines.append(f"{process.pid} {' '.join(process.cmdline())[:100]}")
            except psutil.Error:
                continue
        return lines

    def assert_nothing_left(self) -> None:
        """Nothing it started lives any more, or at least not for long."""
        await_that(lambda: not self.alive())
        assert self.seen

    def run(self) -> run_view.Run:
        """The run as it was kept."""
        (run,) = self.runs()
        return run

    def runs(self) -> list[run_view.Run]:
        """The runs as they were kept, the oldest first."""
        return [run_view.open_run(folder.name, self.data) for folder in run_folder.all_runs(self.data)]


def measured_so_far(stream: Path) -> int:
    """How many samples of the measured load a file holds that still grows."""
    count = 0
    with suppress(pa.ArrowInvalid, OSError), pa.ipc.open_stream(stream) as batches:
        for batch in batches:
            count += pc.sum(pc.equal(batch["warm_up"], 0)).as_py()
    return count


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Lab]]:
    """A function that starts a lab; whatever is left of it after the test is ended."""
    started: list[Lab] = []

    def begin(arguments: str, *load: str, data: str = "runs") -> Lab:
        started.append(Lab(tmp_path / data, arguments, *load))
        return started[-1]

    yield begin
    for lab in started:
        lab.look()
        if lab.process.poll() is None:
            lab.process.kill()
            lab.process.wait()
        for process in lab.seen:
            if process.is_running():
                process.kill()


VICTIMS = {
    "service": ("-jar", ".jar"),
    "Locust worker 1": ("-m locust", " --worker "),
    "master": ("lab.generator.locust.master",),
}


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A file system that has room for one run."""
    with mounted(tmp_path / "disk", "400m") as folder:
        yield folder


@pytest.mark.thorough
def test_a_disk_that_fills_while_users_create_is_named_and_what_came_before_is_kept(disk, start):
    """Samples, logs and database are on it: the load is broken off at once, whatever its users still wait for."""
    load = "run operations --users 20 --ramp-up 1 --duration 60 --pace 0.02 --bcrypt 4 --variants mvc"
    lab = start(HEAP, load, data=f"{disk.name}/runs")
    lab.await_measured(300)
    (stream,) = lab.data.glob("*/cells/*/samples.arrows")
    fill(disk)
    full_s = time.monotonic()
    assert lab.end() == 2
    assert time.monotonic() - full_s < 45
    said = "".join(lab.lines)
    assert "No space left on device" in said
    assert "Traceback" not in said
    lab.assert_nothing_left()
    assert measured_so_far(stream) > 300


@pytest.mark.thorough
def test_what_dies_in_mid_load_makes_its_cell_invalid(start):
    """The cell is invalid and says what died, its samples so far are kept, and the cells after it are measured."""
    lab = start("--variants webflux,mvc --repeat 2 --duration 6")
    for number, victim in enumerate(VICTIMS.values(), 1):
        lab.await_measured(100, cells=number)
        found = lab.child(*victim)
        assert found, lab.look()
        found.kill()
    assert lab.end() == 1
    lab.assert_nothing_left()
    cells = lab.run().cells
    for name in VICTIMS:
        (broken,) = [cell for cell in cells if f"{name} was killed by SIGKILL" in " ".join(cell["reasons"])]
        assert broken["verdict"] == "invalid"
        assert broken["requests"] > 100
        if name == "service":  # of a worker that is gone what was under way is not known
            kept = [folder.read("evidence") for folder in lab.run().folder.cells()]
            (evidence,) = [of for of in kept if any("service was killed" in said for said in of["component_errors"])]
            assert evidence["begun"] == evidence["finished"] == broken["requests"]
    (whole,) = [cell for cell in cells if "SIGKILL" not in " ".join(cell["reasons"])]
    assert whole["requests"] > 100
    assert lab.run().verdict == "invalid"


# What a chain is made of, in an order in which each is there for those before it.
LINKS = {
    "service": (("services/mvc-chain",), ("services/webflux-chain",)),
    "Locust worker 1": (VICTIMS["Locust worker 1"],),
    "backend": (("services/backend",),),
    "MongoDB": (("mongo-standin",), ("mongod",)),
}


# The called service and the database are those of the whole run: after them there is no further load.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("variant", "names"), [("webflux", ("service", "Locust worker 1", "backend")), ("mvc", ("MongoDB",))]
)
def test_whatever_dies_of_a_chain_is_named_and_leaves_nothing_running(start, variant, names):
    """Service, worker, what is called and what is read from, each in a load of its own, whose samples are kept."""
    arguments = f"--variants {variant} --repeat {len(names)} --users 20 --duration 10 --delay-ms 50 {HEAP}"
    lab = start(arguments, "run chain-mongo")
    for number, name in enumerate(names, 1):
        lab.await_said(f"{variant}-u20-r{number}: warm up (")
        lab.await_measured(100)
        found = next(filter(None, (lab.child(*words) for words in LINKS[name])), None)
        assert found, lab.look()
        found.kill()
    assert lab.end() == 1
    lab.assert_nothing_left()
    assert "Traceback" not in "".join(lab.lines)
    for cell, name in zip(lab.run().cells, names, strict=True):
        assert cell["verdict"] == "invalid"
        assert any(name in reason and "killed by SIGKILL" in reason for reason in cell["reasons"]), cell["reasons"]
        assert cell["requests"] > 100


@pytest.mark.thorough
@needs_haproxy
@needs_prometheus
def test_what_dies_of_two_nodes_and_beside_them_is_named(start):
    """A node: the load goes on at the other. The balancer: it breaks off, and is kept. Prometheus: all goes on."""
    nodes = "--nodes 2 --prometheus --variants webflux,mvc --repeat 2"
    lab = start(f"{nodes} --users 20 --duration 10 --heap-mb 128")
    lab.await_said("-r1: warm up (")  # not that of a calibration
    lab.await_measured(100)
    one, other = (lab.child_in(f"node-{number}") for number in (1, 2))
    assert_told_of_each_other(one, other)
    other.kill()
    for number, program in ((2, "haproxy"), (3, "prometheus")):
        lab.await_measured(100, cells=number)
        found = lab.child(program, "-f" if program == "haproxy" else "--config.file")
        assert found, lab.look()
        found.kill()
    assert lab.end() == 1
    lab.assert_nothing_left()
    assert "Traceback" not in "".join(lab.lines)
    cells = {cell["reasons"][0]: cell for cell in lab.run().cells if cell["verdict"] == "invalid"}
    found = [(folder.read("evidence"), folder) for folder in lab.run().folder.cells()]
    folders = {errors[0]: folder for of, folder in found if (errors := of["component_errors"])}
    ended = "The service node 2 was killed by SIGKILL during the measurement."
    assert set(folders) == {ended, "The balancer was killed by SIGKILL during the measurement."} <= set(cells)
    # What came before is kept of each load; without Prometheus there is a further one, and what it missed is counted.
    assert min(len(folder.measured()) for _, folder in found) > 100
    unseen = [of for of, _ in found if of["prometheus_lost"]]
    assert [of["prometheus_lost"] for of in unseen] == ["was killed by SIGKILL"] * 2
    assert all(of["whole"] and not of["component_errors"] for of in unseen)
    missed = [part for of in unseen for part in of["scrapes"].values()]
    assert len(missed) == 6
    assert all(part["skipped"] == part["due"] >= 9 for part in missed)
    evidence, samples = folders[ended].read("evidence"), folders[ended].measured()
    # Every send has an outcome, and all that failed were sent before the node was taken out.
    assert evidence["whole"]
    assert evidence["begun"] == evidence["finished"] == len(samples)
    assert evidence["passed_on"]["node 1"] > evidence["passed_on"]["node 2"] > 0
    last = samples.sort_values("sent_us").tail(100)
    assert set(last["error"]) == {""}
    windows = ramps.outcomes(folders[ended])
    assert windows["failed"].sum() == (samples["error"] != "").sum() == sum(cells[ended]["errors"].values()) > 0
    assert windows["offered"].sum() == len(samples)
    said = " ".join(insights.sentences(lab.run().folder))
    assert "The balancer was seen to have taken node 2 out after" in said
    assert "nodes answered all others" in said
    assert "node 2 answered nothing after" in said
    assert "Prometheus was killed by SIGKILL: what it had scraped is not known" in said


@pytest.mark.thorough
@needs_haproxy
@pytest.mark.parametrize(("variant", "victim"), [("mvc-jpa-cached", "node 2"), ("webflux-r2dbc", "MySQL")])
def test_what_dies_of_a_clustered_application_is_named_and_what_came_before_is_kept(start, variant, victim):
    """With saves and a short way to the database: a node, after which the load goes on, or the database of both."""
    load = "--users 20 --ramp-up 0 --duration 10 --saves 20"
    lab = start(f"--nodes 2 {load} --heap-mb 128 --variants {variant}", "run migration")
    lab.await_said("-r1: warm up (")
    lab.await_measured(100)
    found = lab.child_in("node-2") if victim == "node 2" else lab.child("mariadbd") or lab.child("mysqld")
    assert found, lab.look()
    found.kill()
    assert lab.end() == 1
    lab.assert_nothing_left()
    assert "Traceback" not in "".join(lab.lines)
    (folder,) = lab.run().folder.cells()
    evidence, samples = folder.read("evidence"), folder.measured()
    killed = re.compile(rf"The (service )?{victim} .*was killed by SIGKILL.*")
    assert any(killed.fullmatch(said) for said in evidence["component_errors"]), evidence["component_errors"]
    assert evidence["begun"] == evidence["finished"] == len(samples) > 100
    assert victim == "node 2" or "stale" not in set(samples["error"])  # as there is no cache
    if victim == "node 2":
        assert set(samples.sort_values("sent_us").tail(100)["error"]) <= {"", "stale"}


@pytest.mark.thorough
@needs_haproxy
@pytest.mark.parametrize(
    ("load", "victim"),
    [
        ("run delay --variants webflux --delay-ms 50", "balancer"),
        ("run migration --variants mvc-jpa-cached", "node 2"),
    ],
)
def test_what_is_frozen_for_ten_seconds_is_named_and_loses_nothing(start, load, victim):
    """What it was sent waits until it goes on, or fails by name; what came before is kept, and nothing is left."""
    lab = start("--nodes 2 --users 20 --ramp-up 0 --duration 18 --heap-mb 128 --timeout 60", load)
    lab.await_said("-r1: warm up (")  # not that of a calibration
    lab.await_measured(100)
    (stream,) = lab.data.glob("*/cells/*/samples.arrows")
    before = measured_so_far(stream)
    frozen = lab.child_in("node-2") if victim == "node 2" else lab.child("haproxy", "-f")
    assert frozen, lab.look()
    began_s = time.monotonic()
    frozen.suspend()
    lab.await_that(lambda: time.monotonic() > began_s + FROZEN_S)
    frozen.resume()
    frozen_s = time.monotonic() - began_s
    assert lab.end() in (0, 1)
    lab.assert_nothing_left()
    assert "Traceback" not in "".join(lab.lines)
    (folder,) = lab.run().folder.cells()
    evidence, samples = folder.read("evidence"), folder.measured()
    assert evidence["whole"]
    assert evidence["begun"] == evidence["finished"] == len(samples) > before
    assert evidence["component_errors"] == []
    # Somebody waited for nearly all of that time, or was told that there was no node to wait for.
    assert samples["latency_us"].max() > 0.8e6 * FROZEN_S or (samples["error"] != "").any()
    assert not [reason for reason in folder.read("summary")["reasons"] if "counted" in reason]
    said = " ".join(insights.sentences(lab.run().folder))
    assert re.search(rf"{victim} left \d+ readings without an answer", said), said
    assert "node 1 left" not in said
    (cell,) = lab.run().cells
    reasons = " ".join(cell["reasons"])
    (spanned,) = re.findall(rf"{victim} answered nothing from (\d+) s to (\d+) s", reasons, re.IGNORECASE)
    assert 0.5 * FROZEN_S < int(spanned[1]) - int(spanned[0]) < frozen_s + 0.2 * FROZEN_S
    assert "node 1 answered nothing" not in reasons
    if victim == "balancer":  # past which nobody gets; of a frozen node it knows after some seconds
        (still_s,) = re.findall(r"The service answered nobody for ([\d.]+) s", reasons)
        assert float(still_s) > 0.8 * FROZEN_S


def assert_told_of_each_other(*nodes: psutil.Process) -> None:
    """Each knows its number, the name of the cluster, and the address of each, which is its own alone."""
    told = [node.environ() for node in nodes]
    assert [of["LAB_NODE"] for of in told] == ["1", "2"]
    assert {of["LAB_NODES"] for of in told} == {"2"}
    ((members, cluster),) = {(of["LAB_CLUSTER_MEMBERS"], of["LAB_CLUSTER"]) for of in told}
    first, second = members.split(",")
    assert first != second
    assert first.startswith("127.0.0.1:")
    assert second.startswith("127.0.0.1:")
    assert "-delay-" in cluster


def listening(lab: Lab) -> dict[str, set[str]]:
    """The addresses that each program of a lab listens on."""
    found: dict[str, set[str]] = {}
    for process in lab.look():
        with suppress(psutil.Error):
            sockets = process.net_connections("tcp")
            of = found.setdefault(f"{process.name()} {Path(process.cwd()).name}", set())
            of |= {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}
    return {program: addresses for program, addresses in found.items() if addresses}


@pytest.mark.thorough
@needs_haproxy
@needs_prometheus
def test_two_clustered_applications_side_by_side_stay_apart(start):
    """Each run has a cluster of its own nodes alone, and counts exactly what is its own; a save is read everywhere.

    Whatever listens does so on loopback: nodes with their cluster's ports, balancer, Prometheus, MySQL, master.
    """
    load = "--users 20 --ramp-up 0 --duration 8 --saves 20 --requesters 40 --prometheus"
    labs = [
        start(f"--nodes 2 {load} --heap-mb 128 --variants mvc-jpa-cached", "run migration", data=name)
        for name in ("one", "other")
    ]
    told = []
    for lab in labs:
        lab.await_said("start service and workers (")
        told.append([lab.child_in(f"node-{number}").environ() for number in (1, 2)])
        open_to = listening(lab)
        assert len(open_to) >= 6, open_to
        assert set().union(*open_to.values()) <= {"127.0.0.1", "::ffff:127.0.0.1"}, open_to
    for nodes in told:
        assert len({of["LAB_CLUSTER"] for of in nodes}) == len({of["LAB_CLUSTER_MEMBERS"] for of in nodes}) == 1
    (one, _), (other, _) = told
    assert one["LAB_CLUSTER"] != other["LAB_CLUSTER"]
    assert not set(one["LAB_CLUSTER_MEMBERS"].split(",")) & set(other["LAB_CLUSTER_MEMBERS"].split(","))
    for lab in labs:
        assert lab.end() in (0, 1)
        lab.assert_nothing_left()
        (folder,) = lab.run().folder.cells()
        evidence, samples = folder.read("evidence"), folder.measured()
        assert len(samples) == evidence["begun"] == evidence["received"] == evidence["served"] > 100
        assert evidence["nodes"] == evidence["passed_on"]
        assert set(evidence["nodes"]) == {"node 1", "node 2"}
        assert set(samples["name"]) == {"look-up", "save"}
        assert set(samples["error"]) == {""}
        assert evidence["component_errors"] == []


@pytest.mark.thorough
@pytest.mark.docker
def test_nodes_in_containers_find_one_another_and_share_a_cache(start, engine):
    """By the names that they are told: nothing is published, all is counted exactly, and nothing of the run is left.

    What either has looked up is found by both: half of it at the other node.
    """
    options = "--nodes 2 --prometheus --users 20 --ramp-up 0 --duration 5 --heap-mb 128 --runtime docker"
    lab = start(f"{options} --variants mvc-jpa-cached --allow-suspect", "run migration")
    lab.await_said("start service and workers (")
    one, other = containers_of(engine, lab, "service-node")
    told = dict(entry.split("=", 1) for entry in one.attrs["Config"]["Env"])
    hosts = [member.split(":")[0] for member in told["LAB_CLUSTER_MEMBERS"].split(",")]
    found = [one.exec_run(["getent", "hosts", host]).output.split()[0].decode() for host in hosts]
    (network,) = one.attrs["NetworkSettings"]["Networks"]
    addresses = [each.attrs["NetworkSettings"]["Networks"][network]["IPAddress"] for each in (one, other)]
    assert sorted(found) == sorted(addresses)
    assert not any(any(each.ports.values()) for each in (one, other, *containers_of(engine, lab, "balancer")))
    assert lab.end() in (0, 1)
    assert containers_of(engine, lab, "") == []
    evidence = lab.run().folder.cells()[0].read("evidence")
    assert evidence["component_errors"] == []
    assert evidence["begun"] == evidence["received"] == evidence["served"] > 100
    assert evidence["nodes"] == evidence["passed_on"]
    assert set(evidence["scrapes"]) == {"node 1", "node 2", "balancer"}
    here, hops, misses = (evidence["calls"][f"cache {name}"] for name in ("here", "hops", "misses"))
    assert here + hops + misses == 2 * evidence["served"]  # each asks twice
    assert hops == pytest.approx(here, rel=0.1)


@pytest.mark.thorough
def test_a_database_that_dies_makes_its_cell_and_the_next_invalid(start, typed):
    """Both say what died, at once and without a traceback; nothing is left."""
    lab = start(f"--variants mvc,webflux --users 20 --duration 60 --ramp-up 0 {ONE_BY_ONE} {HEAP}", "run document")
    lab.await_said("-r1: warm up (")  # not that of a calibration
    found = lab.child("mongo-standin") or lab.child("mongod")
    assert found, lab.look()
    found.kill()
    assert lab.end() == 1
    lab.assert_nothing_left()
    assert "Traceback" not in "".join(lab.lines)
    for cell in lab.run().cells:
        assert cell["verdict"] == "invalid"
        assert "MongoDB" in cell["reasons"][0]
        assert "was killed by SIGKILL" in cell["reasons"][0]


@pytest.mark.thorough
def test_a_database_that_dies_while_a_service_starts_is_named_at_once(start):
    """Nobody waits for the service, which waits for the database for minutes."""
    lab = start(f"--variants mvc --users 20 --duration 60 --ramp-up 0 {HEAP}", "run document")
    lab.await_that(lambda: lab.child("services/mvc"))
    found = lab.child("mongo-standin") or lab.child("mongod")
    assert found, lab.look()
    found.kill()
    killed_s = time.monotonic()
    assert lab.end() == 1
    assert time.monotonic() - killed_s < READY_WITHIN_S / 3
    lab.assert_nothing_left()
    (cell,) = lab.run().cells
    assert "MongoDB of this run was killed by SIGKILL" in cell["reasons"][0]


@pytest.mark.thorough
@pytest.mark.docker
def test_containers_that_die_make_their_cells_invalid_with_the_reason(start, engine):
    """A service out of memory, then a killed database: each cell says so, and the engine holds nothing of the run."""
    loaded = f"--variants mvc,webflux --users 20 --duration 60 --ramp-up 0 {ONE_BY_ONE} {HEAP}"
    lab = start(f"{loaded} --runtime docker", "run document")
    lab.await_said("start service and workers (")
    (service,) = containers_of(engine, lab, "service")
    service.exec_run(["sh", "-c", "head -c 511M /dev/zero > /tmp/full; head -c 300M /dev/zero | tail"], detach=True)
    lab.await_said("start service and workers (", 2)
    (database,) = containers_of(engine, lab, "mongo")
    database.kill()
    assert lab.end() == 1
    assert "Traceback" not in "".join(lab.lines)
    assert containers_of(engine, lab, "") == []
    reasons = sorted(cell["reasons"][0] for cell in lab.run().cells)
    assert reasons[0] == "The MongoDB of this run was killed by SIGKILL."
    assert "ran out of memory (its limit is" in reasons[1]


def containers_of(engine: docker.DockerClient, lab: Lab, name: str) -> list[Container]:
    """What a lab has running or has left under a name."""
    of_lab = {"label": f"{PID_LABEL}={lab.process.pid}"}
    mine = engine.containers.list(all=True, filters=of_lab, ignore_removed=True)
    return [container for container in mine if f"-{name}" in container.name]


def in_start(lab: Lab) -> None:
    """Wait until the service's JVM is there, but not ready; one that trains a start-up cache keeps no log of its GC."""
    lab.await_that(lambda: lab.child("-Xlog:gc:file=gc.log", ".jar"))


def in_load(lab: Lab) -> None:
    """Wait until the load goes on."""
    lab.await_measured(50)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "phase"), [(signal.SIGINT, in_start), (signal.SIGTERM, in_load)], ids=["int-start", "term-load"]
)
def test_an_interrupt_stops_everything_and_keeps_what_there_is(start, typed, number, phase):
    """Ctrl-C or SIGTERM in any phase: status 130, nothing left, and the run is shown as such."""
    lab = start("--variants webflux,mvc --duration 20")
    phase(lab)
    lab.look()
    os.kill(lab.process.pid, number)
    assert lab.end() == 130
    lab.assert_nothing_left()
    text = "".join(lab.lines)
    assert "Traceback" not in text, text
    assert "Interrupted" in text
    assert f"python -m lab resume {lab.run().path}" in text
    first, second = sorted(lab.run().cells, key=lambda cell: cell["verdict"] == "incomplete")
    assert first["verdict"] == "invalid"
    assert "interrupted" in " ".join(first["reasons"]).lower()
    assert second["verdict"] == "incomplete"
    assert first["requests"] > 50 or phase is not in_load
    kept = [folder.read("evidence") for folder in lab.run().folder.cells() if folder.complete]
    assert [(of["begun"], of["finished"]) for of in kept] == [(first["requests"], first["requests"])]
    assert "incomplete" in typed("list", "--data", str(lab.data)).stdout
    assert (lab.run().path / "error.txt").read_text().startswith("Interrupted")


@pytest.mark.thorough
def test_a_second_interrupt_while_results_are_kept_costs_no_sample(start):
    """The cell is kept with its samples and a verdict, and the lab ends as after one Ctrl-C in mid-load."""
    lab = start("--variants webflux --duration 20")
    in_load(lab)
    lab.process.send_signal(signal.SIGINT)
    await_that(lambda: list(lab.data.glob("*/cells/*/timing.json")), every_s=0.001)
    lab.process.send_signal(signal.SIGINT)
    assert lab.end() == 130
    lab.assert_nothing_left()
    (cell,) = lab.run().cells
    (folder,) = lab.run().folder.cells()
    assert cell["verdict"] == "invalid"
    assert 50 < cell["requests"] == len(folder.measured())


@pytest.mark.parametrize("phase", [pytest.param(in_start, marks=pytest.mark.thorough), in_load])
def test_a_killed_lab_takes_everything_with_it(start, typed, phase):
    """SIGKILL to the lab itself: soon nothing it started is alive, and the run is shown as incomplete."""
    lab = start("--variants webflux,mvc --duration 20")
    phase(lab)
    assert lab.look()
    lab.process.kill()
    lab.process.wait()
    lab.assert_nothing_left()
    listed = typed("list", "--data", str(lab.data))
    assert listed.returncode == 0
    assert "incomplete" in listed.stdout
    shown = json.loads(typed("show", "--json", "--data", str(lab.data)).stdout)
    assert {cell["verdict"] for cell in shown["cells"]} == {"incomplete"}


@pytest.mark.thorough
def test_a_killed_sweep_goes_on_where_it_was(start, typed):
    """After SIGKILL in mid-sweep, 'resume' measures what is missing, and the table has every cell of the plan."""
    lab = start("--variants webflux --users 5,10", f"sweep delay {SMALL}")
    lab.await_that(lambda: list(lab.data.glob("*/cells/*/summary.json")))
    lab.await_that(lambda: len(list(lab.data.glob("*/cells/*"))) == 2)
    lab.process.kill()
    lab.process.wait()
    lab.assert_nothing_left()
    before = lab.run()
    (done,) = [folder for folder in before.folder.cells() if folder.settled]
    (kept,) = [row for row in before.cells if row["verdict"] != "incomplete"]
    (cut_off,) = before.folder.missing()
    as_it_was = {path: path.stat().st_mtime_ns for path in done.path.rglob("*")}
    assert before.folder.state() == "incomplete"

    resumed = typed("resume", "--allow-suspect", "--data", str(lab.data))
    assert resumed.returncode in (0, 1), resumed.stderr
    assert "1 of 2 cells are done" in resumed.stderr
    after = lab.run()
    assert after.folder.state() == "complete"
    assert after.plan == before.plan
    assert [(row["users"], row["requests"]) for row in after.cells] == [(5, 5), (10, 10)]
    assert kept in after.cells
    assert {path: path.stat().st_mtime_ns for path in done.path.rglob("*")} == as_it_was
    assert [path.name for path in after.path.glob("cells/*.interrupted-*")] == [f"{cut_off.id}.interrupted-1"]
    assert after.folder.note("environment-resume-1")["different"] == []
    assert typed("resume", before.name, "--data", str(lab.data)).returncode == 2


@pytest.mark.thorough
def test_two_runs_at_once_do_not_disturb_each_other(start):
    """Two runs in one folder have folders, ports and samples of their own, and know of one another."""
    first, second = start("--variants webflux --loops 10"), start("--variants webflux --loops 10")
    first.await_that(lambda: second.look() and first.look())
    assert {first.end(), second.end()} <= {0, 1}
    first.assert_nothing_left()
    second.assert_nothing_left()
    folders = run_folder.all_runs(first.data)
    assert len(folders) == 2
    for folder in folders:
        (cell,) = folder.cells()
        measured = cell.measured()
        assert folder.state() == "complete"
        assert len(measured) == 500
        assert set(measured["user"].value_counts()) == {10}
        assert set(measured["error"]) == {""}
    told = [name for folder in folders for name in folder.cells()[0].read("evidence")["others"]]
    assert told
    assert set(told) <= {folder.name for folder in folders}


IN_WINDOWS = "--variants webflux,mvc --interleave windows --delay-ms 50 --duration 8"


def in_windows(lab: Lab, windows: int = 2) -> None:
    """Wait until each variant has had some windows."""

    def had() -> bool:
        records = list(lab.data.glob("*/cells/*/windows.json"))
        return len(records) == 2 and all(len(windows_in(record.parent)) >= windows for record in records)

    lab.await_that(had)


def windows_in(cell: Path) -> list[dict[str, object]]:
    """The windows that a cell has had."""
    return list(json.loads((cell / "windows.json").read_text())["windows"])


def assert_kept(cell: Path, samples: pd.DataFrame) -> None:
    """The samples of each window that is complete are all there, and none of another is among them."""
    measured = samples[samples["warm_up"] == 0]
    for window in windows_in(cell):
        assert (measured["window"] == window["number"]).sum() == window["requests"] > 0


@pytest.mark.thorough
def test_a_service_that_died_in_one_load_is_started_anew_for_the_next(start):
    """Both loads are served by one start of each service, and by two of the one that was killed in the first load."""
    lab = start(IN_WINDOWS, f"sweep delay {SMALL.replace('--users 50', '--users 4,6')}")
    in_windows(lab)
    found = lab.child("-Xlog:gc", "webflux")
    assert found, lab.look()
    found.kill()
    lab.end()
    lab.assert_nothing_left()
    cells = lab.run().folder.cells()
    assert len(cells) == 4
    of = {name: [folder for folder in cells if folder.cell.variant == name] for name in ("mvc", "webflux")}
    assert [sum((folder.logs / "service.log").exists() for folder in of[name]) for name in of] == [1, 2]
    rows = [folder.read("summary") for folder in cells]
    (dead,) = [row for row in rows if "service was killed by SIGKILL" in " ".join(row["reasons"])]
    assert dead["verdict"] == "invalid"
    assert dead in [folder.read("summary") for folder in of["webflux"]]
    for row in rows:
        if row is not dead:
            assert_measured(row)
    # The variant that took turns with the one that died has all of its windows, and is believed.
    for folder in of["mvc"]:
        assert len(windows_in(folder.path)) == 8
        assert_kept(folder.path, folder.samples())
    assert lab.run().folder.state() == "complete"


SHARED = "reproduce together --scale 1 --repeat 2 --seed 3"


@pytest.mark.thorough
def test_a_service_that_died_in_one_load_is_started_anew_for_the_next_plan(start):
    """The load of the other plan has a start of its own, as have both in the next repeat; each names its logs."""
    lab = start("", SHARED)
    lab.await_measured(50)
    victim = lab.child("-Xlog:gc", "mvc")
    assert victim, lab.look()
    victim.kill()
    lab.end()
    lab.assert_nothing_left()
    runs = lab.runs()
    assert [run.folder.state() for run in runs] == ["complete", "complete"]
    cells = [(folder, row) for run in runs for folder, row in zip(run.folder.cells(), run.cells, strict=True)]
    (dead,) = [folder for folder, row in cells if "killed by SIGKILL" in " ".join(row["reasons"])]
    starts = {(folder.cell.repeat, folder.read("start")["name"]) for folder, _ in cells}
    assert [repeat for repeat, _ in sorted(starts)] == [1, 1, 2]
    for folder, row in cells:
        assert (folder.path / folder.read("start")["logs"] / "service.log").exists()
        if folder is not dead:
            assert_measured(row)


@pytest.mark.thorough
def test_plans_that_share_a_start_are_resumed_one_by_one(start, typed):
    """What is whole stays so; what is missing is measured with starts of its own, and that is said and recorded."""
    lab = start("", SHARED.replace("--repeat 2", "--repeat 1"))
    lab.await_that(lambda: list(lab.data.glob("*/cells/*/summary.json")))
    lab.await_that(lambda: [path for path in lab.data.glob("*/cells/*/samples.arrows") if measured_so_far(path) > 50])
    lab.look()
    lab.process.send_signal(signal.SIGINT)
    lab.end()
    lab.assert_nothing_left()
    whole, cut_off = sorted(lab.runs(), key=lambda run: run.folder.state() != "complete")
    assert (whole.folder.state(), cut_off.folder.state()) == ("complete", "incomplete")
    assert not (whole.path / "error.txt").exists()
    assert lab.process.returncode == 130
    advised = [line for line in lab.lines if line.strip().startswith("Measure the missing cells: ")]
    assert [line.split()[-1] for line in advised] == [str(cut_off.path)]
    resumed = typed("resume", str(cut_off.path), "--allow-suspect", "--data", str(lab.data))
    assert resumed.returncode in (0, 1), resumed.stderr
    assert f"starts served the loads of {whole.name} too, and serve this run alone now" in resumed.stderr
    assert cut_off.folder.state() == "complete"
    assert json.loads((cut_off.path / "environment-resume-1.json").read_text())["different"]


@pytest.mark.thorough
def test_windows_of_a_lab_that_was_killed_are_kept_and_their_start_is_made_anew(start):
    """Each variant keeps what it had; 'resume' starts both again, as windows of two starts are of two services."""
    lab = start(IN_WINDOWS)
    in_windows(lab)
    lab.process.kill()
    lab.process.wait()
    lab.assert_nothing_left()
    for folder in lab.run().folder.cells():
        assert len(windows_in(folder.path)) >= 2
        assert_kept(folder.path, folder.samples())
        assert not folder.settled
    again = start(f"{lab.run().path} --allow-suspect --anyway", "resume")
    again.end()
    again.assert_nothing_left()
    assert lab.run().folder.state() == "complete"
    for folder in lab.run().folder.cells():
        assert len(windows_in(folder.path)) == 8
        assert_kept(folder.path, folder.samples())
        before = folder.path.with_name(f"{folder.path.name}.interrupted-1")
        assert len(windows_in(before)) >= 2
