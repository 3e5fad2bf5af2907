"""Containers: held to what they were given, published on loopback only, ended with a reason, gone for certain."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from contextlib import ExitStack

import psutil
import pytest
from docker.errors import NotFound
from patience import PATIENCE_S, await_that

from lab.errors import ComponentError, LabError
from lab.runtimes import Launch, identity, process_id, tail
from lab.runtimes.checkout import JOIN_TOKEN, LOCUSTFILES, ROOT
from lab.runtimes.docker import (
    BORN_LABEL,
    CHECKOUT_LABEL,
    IMAGE_LABEL,
    PID_LABEL,
    RUN_LABEL,
    DockerRuntime,
    clean,
    connect,
)
from lab.system import images as images_
from lab.system.images import Images
from lab.system.images import builder as images_builder
from lab.system.images.builder import Builder, Recipe

SOCKET = "/var/run/docker.sock"
WORKS = "import time; print('works', flush=True); time.sleep(600)"
LISTENS = "import http.server as h; h.HTTPServer(('', 8080), h.SimpleHTTPRequestHandler).serve_forever()"
READS_LIMITS = """
import json, os, pathlib, resource
groups = pathlib.Path("/sys/fs/cgroup")
old, new = groups / "memory/memory.limit_in_bytes", groups / "memory.max"
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "memory": int((old if old.exists() else new).read_text()), "cores": sorted(os.sched_getaffinity(0)),
    "user": os.getuid(), "capabilities": int(status["CapEff"], 16) | int(status["CapBnd"], 16),
    "no_new_privileges": int(status["NoNewPrivs"]), "root_is_writable": os.access("/", os.W_OK),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
}))
"""


@pytest.fixture
def containers(engine):
    """A runtime of containers that ends what it started when the test is over."""
    with DockerRuntime(f"test-{uuid.uuid4().hex[:8]}") as runtime:
        yield runtime


@pytest.fixture(scope="module")
def python(engine):
    """The tag of an image with Python in it: the Locust worker's."""
    with DockerRuntime(f"test-{uuid.uuid4().hex[:8]}") as runtime:
        return Images(engine, runtime, lambda _: None).worker().tag


@pytest.fixture
def launch(python, tmp_path):
    """A function that makes the launch of a few lines of Python in a container."""

    def make(program, **fields):
        return Launch("test", ("python3", "-c", program), tmp_path / "test.log", image=python, grace_s=0, **fields)

    return make


def left_behind(engine, run):
    """Names of what the engine still has of a run."""
    wanted = {"label": f"{RUN_LABEL}={run}"}
    return [
        thing.name
        for thing in [
            *engine.containers.list(all=True, filters=wanted, ignore_removed=True),
            *engine.networks.list(filters=wanted),
        ]
    ]


def await_log(running, text):
    """Wait until a log holds a text."""

    def is_there():
        assert not running.exit_reason(), running.log_tail()
        return text in running.log_tail()

    await_that(is_there)


@pytest.mark.docker
@pytest.mark.thorough
def test_container_is_held_to_its_cores_and_memory_and_has_no_privileges(containers, launch):
    """What the kernel says inside is what was asked for."""
    core = max(os.sched_getaffinity(0))
    asked = launch(READS_LIMITS, cores=frozenset({core}), memory_mb=256)
    with containers.started(asked) as running:
        assert running.await_end().ok, running.log_tail()
    limits = json.loads(asked.log.read_text())
    assert limits.pop("files") >= 1024
    assert limits == {
        "memory": 256 << 20,
        "cores": [core],
        "user": 10001,
        "capabilities": 0,
        "no_new_privileges": 1,
        "root_is_writable": False,
    }


@pytest.mark.docker
@pytest.mark.thorough
def test_a_container_is_told_of_no_proxy_that_docker_is_configured_with(engine, launch, monkeypatch, tmp_path):
    """It may hold a password, and is for what this user starts."""
    proxy = "http://me:geheim@127.0.0.1:1"
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": {"httpProxy": proxy}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    asked = launch("import os; print(dict(os.environ))")
    with DockerRuntime(f"test-{uuid.uuid4().hex[:8]}") as runtime, runtime.started(asked) as running:
        assert running.await_end().ok, running.log_tail()
    assert "LC_ALL" in asked.log.read_text()
    assert "geheim" not in asked.log.read_text()


@pytest.mark.docker
@pytest.mark.thorough
def test_running_container_can_be_confined_and_its_cpu_time_is_known(containers, launch):
    """As the lab does after the warm-up."""
    core = min(os.sched_getaffinity(0))
    with containers.started(launch("while True: pass")) as running:
        running.confine(frozenset({core}))
        assert psutil.Process(running.pid).cpu_affinity() == [core]
        began_s, before_s = time.monotonic(), running.cpu_s()
        await_that(lambda: running.cpu_s() > before_s + 0.2)
        assert running.cpu_s() - before_s <= time.monotonic() - began_s + 0.1


@pytest.mark.docker
@pytest.mark.thorough
def test_container_out_of_memory_says_so(containers, launch):
    """The kernel kills it; the reason is not just SIGKILL."""
    with containers.started(launch("bytearray(300 << 20)", memory_mb=64)) as running:
        assert str(running.await_end()) == "ran out of memory (its limit is 64 MB)"


@pytest.mark.docker
@pytest.mark.thorough
def test_container_writes_into_its_own_folder_only(containers, launch, tmp_path):
    """Beside it, where the lab opens its log, nothing can be put in the way, nor by a link within."""
    (tmp_path / "inside").mkdir()
    program = "import os; os.symlink('/etc/passwd', 'link')\ntry: os.symlink('/etc/passwd', '../test.log')\n"
    program += "except OSError as error: print('refused')"
    asked = launch(program, folder=tmp_path / "inside")
    with containers.started(asked) as running:
        running.await_end()
    assert asked.log.read_text() == "refused\n"
    assert not asked.log.is_symlink()
    assert (tmp_path / "inside" / "link").is_symlink()
    assert tail(tmp_path / "inside" / "link", 5) == ""


@pytest.mark.docker
@pytest.mark.thorough
def test_container_that_only_reads_can_put_nothing_beside_what_it_reads(containers, launch, tmp_path):
    """Its own log may then be in the same folder."""
    (tmp_path / "settings").write_text("read")
    program = "import os\nprint(open('settings').read(), flush=True)\ntry: os.symlink('/etc/passwd', 'targets')\n"
    program += "except OSError as error: print('refused')"
    with containers.started(launch(program, folder=tmp_path, reads_only=True)) as running:
        assert running.await_end().ok
        assert running.log_tail() == "read\nrefused"
    assert not (tmp_path / "targets").is_symlink()


@pytest.mark.docker
@pytest.mark.thorough
def test_an_exit_reason_names_signal_and_status(containers, launch):
    """The same words as for a process."""
    with containers.started(launch(WORKS)) as running:
        assert running.exit_reason() is None
        os.kill(running.pid, signal.SIGKILL)
        assert str(running.await_end()) == "was killed by SIGKILL"
    with containers.started(launch("raise SystemExit(3)")) as running:
        assert str(running.await_end()) == "exited with status 3"


@pytest.mark.docker
@pytest.mark.thorough
def test_log_is_complete_to_the_last_line_when_the_container_is_stopped(containers, launch):
    """Nothing is lost on the way from the engine to the run folder."""
    program = "import time\nfor n in range(50_000): print(n)\nprint('end', flush=True)\ntime.sleep(600)"
    asked = launch(program)
    with containers.started(asked) as running:
        await_log(running, "end")
    assert asked.log.read_text().split() == [*map(str, range(50_000)), "end"]


@pytest.mark.docker
@pytest.mark.thorough
def test_a_container_is_reached_on_its_network_and_publishes_nothing(containers, launch):
    """From here its ports are reached; no address of this machine has them too."""
    with containers.started(launch(LISTENS)) as running:
        host, port = running.reach(8080)
        await_that(lambda: connects((host, port)))
        others = {a.address for nics in psutil.net_if_addrs().values() for a in nics if a.family == socket.AF_INET}
        assert host not in others
        for other in others:
            with pytest.raises(OSError):
                socket.create_connection((other, port), 1)


def connects(address):
    """Whether somebody listens there."""
    try:
        socket.create_connection(address, PATIENCE_S).close()
    except OSError:
        return False
    return True


@pytest.mark.docker
@pytest.mark.thorough
def test_when_the_context_ends_nothing_is_left(engine, launch):
    """Neither a container nor a network."""
    run = f"test-{uuid.uuid4().hex[:8]}"
    with DockerRuntime(run) as containers, containers.started(launch(WORKS)):
        assert len(left_behind(engine, run)) == 2
    assert left_behind(engine, run) == []


KILLED_LAB = """
import sys, time
from pathlib import Path
from lab.runtimes import Launch
from lab.runtimes.docker import DockerRuntime
run, image, log, program = sys.argv[1:]
with DockerRuntime(run) as containers:
    with containers.started(Launch("a", ("python3", "-c", program), Path(log), image=image)):
        print("up", flush=True)
        time.sleep(600)
"""


@pytest.mark.docker
@pytest.mark.thorough
def test_killed_lab_leaves_nothing_behind(engine, python, tmp_path):
    """The guard sees the pipe close."""
    run = f"test-{uuid.uuid4().hex[:8]}"
    command = [sys.executable, "-c", KILLED_LAB, run, python, str(tmp_path / "log"), WORKS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as killed:
        assert killed.stdout
        assert killed.stdout.readline() == "up\n"
        assert len(left_behind(engine, run)) == 2
        killed.kill()
    await_that(lambda: not left_behind(engine, run))


@pytest.mark.docker
@pytest.mark.thorough
def test_clean_removes_what_a_run_has_left(engine, launch):
    """Running or not; which of the two that a removal does is seen first is the engine's choice."""
    run = f"test-{uuid.uuid4().hex[:8]}"
    with DockerRuntime(run) as containers, containers.started(launch(WORKS)) as running:
        assert clean(engine, {RUN_LABEL: run}) == 2
        assert str(running.await_end()) in {"was killed by SIGKILL", "was removed from the Docker engine"}
    assert left_behind(engine, run) == []


@pytest.mark.docker
@pytest.mark.thorough
def test_clean_leaves_what_a_living_lab_uses(engine, launch):
    """Whatever checkout its run is of; ``lab clean`` is for what was left."""
    run = f"test-{uuid.uuid4().hex[:8]}"
    with DockerRuntime(run) as containers, containers.started(launch(WORKS)) as running:
        clean(engine)
        assert running.exit_reason() is None
        assert len(left_behind(engine, run)) == 2


@pytest.fixture
def bare_engine():
    """The engine, whether or not images can be had: some of its things need none but an empty one."""
    try:
        return connect()
    except LabError as error:
        pytest.skip(error.problem)


@pytest.fixture
def anothers_things(bare_engine):
    """A function that makes a container, never started, and a network with some labels; they are removed at the end."""
    empty, made = io.BytesIO(), []
    with tarfile.open(fileobj=empty, mode="w"):
        pass
    name = f"test-{uuid.uuid4().hex[:8]}"
    bare_engine.api.import_image_from_data(empty.getvalue(), repository=name, tag="1")

    def make(labels):
        which = f"{name}-{len(made)}"
        made.append(bare_engine.containers.create(f"{name}:1", ["none"], name=which, labels=labels))
        made.append(bare_engine.networks.create(which, labels=labels))
        return which

    yield make
    for thing in made:
        try:
            thing.remove()
        except NotFound:
            continue
    bare_engine.images.remove(f"{name}:1")


@pytest.mark.docker
def test_clean_removes_only_what_a_dead_run_of_this_checkout_made(bare_engine, anothers_things):
    """A stranger's container with the lab's old label survives, and another checkout's run that is over."""
    dead, living = {PID_LABEL: str(os.getpid()), BORN_LABEL: "1.0"}, os.getpid()
    lives = {PID_LABEL: str(living), BORN_LABEL: str(process_id.birth(living))}
    now, before = identity.all_mine()
    mine = {CHECKOUT_LABEL: now, RUN_LABEL: "a"}
    gone = {anothers_things(mine | dead), anothers_things({**mine, **dead, CHECKOUT_LABEL: before})}
    kept = [
        anothers_things(labels)
        for labels in (
            {RUN_LABEL: "a"},
            {RUN_LABEL: "a", **dead},
            {**mine, **dead, CHECKOUT_LABEL: "another"},
            mine | lives,
            {**mine, PID_LABEL: "one"},
        )
    ]
    clean(bare_engine)
    names = {container.name for container in bare_engine.containers.list(all=True, ignore_removed=True)}
    networks = {network.name for network in bare_engine.networks.list()}
    assert gone.isdisjoint(names | networks)
    assert set(kept) <= names & networks


@pytest.mark.docker
def test_images_of_another_checkout_stay(bare_engine, monkeypatch):
    """Equal ones are shared, and each checkout forgets its own old ones only."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    builder = Builder(bare_engine, None, lambda _: None)

    def tags(mark):
        return {t for image in bare_engine.images.list(name) for t in image.tags if t.endswith(f"-{mark}")}

    def build(mark, numbers):
        monkeypatch.setattr(identity, "all_mine", lambda: (mark,))
        monkeypatch.setattr(identity, "mine", lambda: mark)
        for number in numbers:
            builder.built(Recipe(name, f"ARG BASE\nFROM scratch\nLABEL number={number}\n", "scratch"))

    try:
        build("theirs", [1])
        (shared,) = tags("theirs")
        build("mine", [1, 2, 3, 4, 5])
        assert tags("theirs") == {shared}
        assert len(tags("mine")) == images_builder.KEPT
        build("mine", [1])
        first = {image.id for image in bare_engine.images.list(name) if shared in image.tags}
        assert len(first) == 1
        assert len(bare_engine.images.list(name)) == 1 + images_builder.KEPT - 1
    finally:
        for tag in tags("theirs") | tags("mine"):
            builder.forget(tag)


@pytest.mark.docker
@pytest.mark.thorough
def test_worker_in_a_container_joins_the_master_on_this_machine(containers, python, tmp_path):
    """The master listens on the network's own address, not on all."""
    locustfile = str(ROOT / "locustfiles" / "delay.py")
    command = (
        sys.executable,
        "-m",
        "lab.generator.locust.master",
        "--locustfile",
        locustfile,
        "--bind",
        containers.host,
    )
    command += ("--samples", str(tmp_path / "samples"), "--statistics", str(tmp_path / "statistics.csv"))
    command += ("--workers", "1")
    told = {"LAB_CONDUCTED": "1", JOIN_TOKEN: "a token of the test"}
    around = {"PYTHONPATH": str(ROOT), **told}
    with ExitStack() as stack:
        master = stack.enter_context(
            containers.started(Launch("master", command, tmp_path / "master.log", around, talks=True, grace_s=0))
        )
        port = json.loads(master.stdout.readline())["port"]
        bound = {c.laddr.ip for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == port}
        assert bound == {containers.host}
        command = ("python3", "-m", "locust", "-f", f"{LOCUSTFILES}/delay.py", "--worker")
        command += ("--master-host", containers.host, "--master-port", str(port))
        stack.enter_context(
            containers.started(Launch("worker 1", command, tmp_path / "worker.log", told, grace_s=0, image=python))
        )
        joined = json.loads(master.stdout.readline())
        assert (joined["event"], joined["count"]) == ("worker", 1)


@pytest.mark.docker
@pytest.mark.thorough
def test_engine_that_stops_is_a_component_error_and_no_traceback(engine, launch, tmp_path, monkeypatch):
    """A relay stands for the engine, so that others can go on using that."""
    run = f"test-{uuid.uuid4().hex[:8]}"
    with Relay(tmp_path / "docker.sock") as relay:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{relay.path}")
        with DockerRuntime(run) as containers, containers.started(launch(WORKS)) as running:
            await_log(running, "works")
            relay.cut()
            assert str(running.await_end()) == "was lost with the Docker engine"
            with pytest.raises(ComponentError, match="does not answer any more"):
                running.confine(frozenset({0}))
            with pytest.raises(ComponentError), containers.started(launch(WORKS)):
                pass
    clean(engine, {RUN_LABEL: run})


@pytest.mark.docker
@pytest.mark.thorough
def test_engine_that_hangs_is_a_component_error_too(engine, launch, tmp_path, monkeypatch):
    """The log's connection stays open, so only a question without an answer shows it."""
    run = f"test-{uuid.uuid4().hex[:8]}"
    with Relay(tmp_path / "docker.sock") as relay:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{relay.path}")
        with DockerRuntime(run) as containers, containers.started(launch(WORKS)) as running:
            await_log(running, "works")
            containers.engine.api.timeout = 3
            relay.hangs.set()
            assert running.exit_reason() is None
            running.cpu_s()
            assert str(running.exit_reason()) == str(running.await_end()) == "was lost with the Docker engine"
            relay.cut()
    clean(engine, {RUN_LABEL: run})


class Relay:
    """A socket that passes everything on to the engine, until it hangs or is cut."""

    def __init__(self, path):
        self.path = path
        self.hangs = threading.Event()
        self._sockets = []

    def __enter__(self):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.cut()

    def cut(self):
        """End all connections, and accept no more."""
        self.path.unlink(missing_ok=True)
        for one in [self._listener, *self._sockets]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(SOCKET)
            self._sockets += [client, server]
            for pair in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=(*pair, self.hangs), daemon=True).start()


def _copy(source, target, hangs):
    try:
        while piece := source.recv(65536):
            if not hangs.is_set():
                target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


def test_without_an_engine_docker_is_refused_and_auto_takes_processes(monkeypatch):
    """The error says what to type."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert images_.choose("auto") == ("process", "No Docker engine answers")
    assert images_.choose("process") == ("process", "as asked")
    with pytest.raises(LabError) as error:
        images_.choose("docker")
    assert "apt-get install docker.io" in error.value.next_step
    assert "--runtime process" in error.value.next_step


@pytest.mark.docker
@pytest.mark.thorough
def test_image_that_is_not_there_is_named(containers, tmp_path):
    """With the command that builds it."""
    with (
        pytest.raises(LabError, match="lab-nothing:1"),
        containers.started(Launch("test", (), tmp_path / "log", image="lab-nothing:1")),
    ):
        pass


@pytest.mark.docker
@pytest.mark.thorough
def test_everything_built_is_labelled(engine, python):
    """So that it can be removed."""
    assert python in {tag for image in engine.images.list(filters={"label": IMAGE_LABEL}) for tag in image.tags}
