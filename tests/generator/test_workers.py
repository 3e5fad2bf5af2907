"""Load shared by workers: here, in any number, and on machines that share nothing with the lab."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from machines import HERE
from msgspec.structs import replace

from lab.errors import ComponentError, LabError
from lab.experiments import scenarios
from lab.generator.fleet import LoadPhase, PhaseResult, Placement, running_fleet
from lab.reporting import run_view
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.runtimes import Launch
from lab.runtimes.checkout import JOIN_TOKEN, ROOT
from lab.runtimes.process import ProcessRuntime, free_ports
from lab.spec import planning
from lab.spec.limits import Limits
from lab.spec.options import Options
from lab.spec.plan import Cell
from lab.spec.workload import Burst, Closed, Load
from lab.storage.cell_folder import CellFolder
from lab.system import build
from lab.system.backends import Endpoints
from lab.system.databases.rows import users
from lab.system.databases.tokens import token
from lab.system.launch import service_launch
from lab.telemetry import actuator

pytestmark = pytest.mark.java
TOKEN = "a token that only this test knows"
DELAY, JWT = scenarios()["delay"], scenarios()["jwt"]


@contextmanager
def worker_elsewhere(folder, address: str) -> Iterator[subprocess.Popen[str]]:
    """``lab worker`` as on another machine: in an empty folder, knowing an address and nothing else."""
    folder.mkdir()
    command = [sys.executable, "-m", "lab", "worker", "--master", address, "--join", TOKEN]
    started = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with started as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def service(jdk, tmp_path_factory) -> Iterator[actuator.Service]:
    """A service that waits, for loads of any shape."""
    folder, variant = tmp_path_factory.mktemp("service"), DELAY.variant("webflux")
    with ProcessRuntime() as runtime:
        jars = build.jars([variant.module], jdk, runtime, lambda line: None)
        launch = service_launch(variant, Limits(heap_mb=256), 2, jdk.java, jars[variant.module], folder)
        with runtime.started(launch) as running:
            yield actuator.await_ready(running, folder)


def played(service, shape: Load, folder, **options) -> tuple[PhaseResult, CellFolder]:
    """One load on a service, and the folder that holds its samples."""
    cell = CellFolder(folder, Cell("webflux", shape))
    cell.logs.mkdir(parents=True)
    with (
        ProcessRuntime() as runtime,
        running_fleet("delay", shape, Placement(runtime, frozenset(), cell.logs, cell.stream, **options)) as fleet,
    ):
        fleet.await_workers()
        fleet.spawn(shape.users)
        result = fleet.run_phase(LoadPhase(service.url, shape, {"delay_ms": 20}), 120, [service.running])
    cell.keep_samples()
    return result, cell


@pytest.mark.thorough
def test_a_worker_that_is_slow_to_end_its_users_is_waited_for(service, tmp_path):
    """A load that is broken off has an outcome of every request, also of a worker that is held up for two seconds."""
    cell = CellFolder(tmp_path, Cell("webflux", Closed(users=20, duration_s=60, workers=2)))
    cell.logs.mkdir(parents=True)
    so_far = PhaseResult()
    with (
        ProcessRuntime() as runtime,
        runtime.started(Launch("bystander", ("sleep", "600"), tmp_path / "bystander.log")) as bystander,
        running_fleet("delay", cell.cell.load, Placement(runtime, frozenset(), cell.logs, cell.stream)) as fleet,
    ):
        fleet.await_workers()
        fleet.spawn(20)
        slow = fleet.workers[1]

        def break_off(result: PhaseResult) -> None:
            if result.finished > 100 and not bystander.exit_reason():
                os.kill(slow.pid, signal.SIGSTOP)
                threading.Timer(2.0, os.kill, (slow.pid, signal.SIGCONT)).start()
                bystander.kill()

        phase = LoadPhase(service.url, cell.cell.load, {"delay_ms": 200})
        with pytest.raises(ComponentError, match="bystander was killed"):
            fleet.run_phase(phase, 120, [service.running, bystander], break_off, into=so_far)
    cell.keep_samples()
    samples = cell.measured()
    assert so_far.begun == so_far.finished == len(samples) > 100
    assert set(samples.loc[samples["error"] == "broken off", "worker"]) == {0, 1}


def test_a_worker_elsewhere_joins_one_fleet_after_the_other(service, tmp_path):
    """It needs no folder and no file, plays its part of each, gets the tokens, and ends with Ctrl-C."""
    address = ("127.0.0.1", free_ports(1)[0])
    shape, tokens = Burst(users=20, ramp_s=0.1, loops=5, workers=1, remote_workers=1), tmp_path / "tokens"
    tokens.write_text("\n".join(token(user.email, bytes(32)) for user in users(count=50)))
    with worker_elsewhere(tmp_path / "empty", f"{address[0]}:{address[1]}") as worker:
        for name in ("first", "second"):
            _, cell = played(service, shape, tmp_path / name, bind=address, join_token=TOKEN)
            measured = cell.measured()
            assert len(measured) == 100
            assert set(measured["error"]) == {""}
            assert list(measured.groupby("worker")["user"].nunique()) == [10, 10]
        only = replace(shape, workers=0)
        with (
            ProcessRuntime() as runtime,
            running_fleet(
                "jwt",
                only,
                Placement(runtime, frozenset(), tmp_path, tmp_path / "samples", bind=address, join_token=TOKEN),
            ) as fleet,
        ):
            fleet.await_workers()
            fleet.distribute_tokens(tokens)
        worker.send_signal(signal.SIGINT)
        said, complaint = worker.communicate(timeout=60)
    assert worker.returncode == 0, complaint
    assert said.count("joined") == 3, said
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.thorough
def test_a_worker_too_many_waits_for_the_next_fleet(service, tmp_path):
    """It takes no user from a load that is planned for another, and both play the one that expects two."""
    address = ("127.0.0.1", free_ports(1)[0])
    shape = Closed(users=10, duration_s=3, workers=0, remote_workers=1)
    with ExitStack() as stack:
        both = [
            stack.enter_context(worker_elsewhere(tmp_path / name, f"{address[0]}:{address[1]}"))
            for name in ("one", "another")
        ]
        result, cell = played(service, shape, tmp_path / "first", bind=address, join_token=TOKEN)
        measured = cell.measured()
        assert result.begun == result.finished == len(measured)
        assert set(measured["worker"]) == {0}
        assert measured["user"].nunique() == 10
        _, cell = played(service, replace(shape, remote_workers=2), tmp_path / "second", bind=address, join_token=TOKEN)
        assert list(cell.measured().groupby("worker")["user"].nunique()) == [5, 5]
        for worker in both:
            worker.send_signal(signal.SIGINT)
        assert sum(worker.communicate(timeout=60)[0].count("joined") for worker in both) == 3


@pytest.mark.thorough
def test_a_master_that_dies_at_once_does_not_keep_its_worker(tmp_path):
    """Neither a heartbeat nor a goodbye comes from it, and the next master finds the worker."""
    address = ("127.0.0.1", free_ports(1)[0])
    shape = Burst(users=1, loops=1, workers=0, remote_workers=1)
    with (
        worker_elsewhere(tmp_path / "empty", f"{address[0]}:{address[1]}") as worker,
        ProcessRuntime() as runtime,
    ):
        with running_fleet(
            "delay",
            shape,
            Placement(runtime, frozenset(), tmp_path, tmp_path / "samples", bind=address, join_token=TOKEN),
        ) as fleet:
            fleet.await_workers()
            os.killpg(fleet.master.pid, signal.SIGKILL)
        with running_fleet(
            "delay",
            shape,
            Placement(runtime, frozenset(), tmp_path, tmp_path / "samples", bind=address, join_token=TOKEN),
        ) as fleet:
            fleet.await_workers()
        worker.send_signal(signal.SIGINT)
        assert worker.communicate(timeout=60)[0].count("joined") == 2


@pytest.mark.thorough
def test_a_worker_whose_clock_is_behind_is_not_let_play(tmp_path):
    """It would begin later than the others, and nothing in its samples would show it."""
    address = ("127.0.0.1", free_ports(1)[0])
    script = "import time; real = time.time; time.time = lambda: real() - 0.3\n"
    script += "from lab.generator.locust.worker import main; main()"
    launch = Launch(
        "worker",
        (sys.executable, "-c", script, "--master-host", address[0], "--master-port", str(address[1])),
        tmp_path / "worker.log",
        {"PYTHONPATH": str(ROOT), JOIN_TOKEN: TOKEN},
    )
    shape = Burst(users=1, loops=1, workers=0, remote_workers=1)
    with (
        ProcessRuntime() as runtime,
        runtime.started(launch),
        running_fleet(
            "delay",
            shape,
            Placement(runtime, frozenset(), tmp_path, tmp_path / "samples", bind=address, join_token=TOKEN),
        ) as fleet,
        pytest.raises(ComponentError, match=r"clock of a worker is -(0\.[3-9]|[1-9])") as caught,
    ):
        fleet.await_workers()
    assert "timedatectl set-ntp true" in caught.value.next_step


@pytest.mark.thorough
def test_a_run_that_waits_for_a_worker_elsewhere(tmp_path):
    """``--workers 0 --remote-workers 1``: all samples come from the worker, and the counts agree."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    options = Options(
        users=[20],
        variants=["webflux"],
        seed=1,
        heap_mb=256,
        workers=0,
        remote_workers=1,
        bind=address,
        parameters={"delay_ms": 50},
    )
    with worker_elsewhere(tmp_path / "empty", address):
        run = run_view.Run(
            conduct(
                planning.make_plan(DELAY, options, HERE),
                Invocation(["test"], tmp_path, Reporter(quiet=True), endpoints=Endpoints(join=TOKEN)),
            )
        )
    (cell,) = run.folder.cells()
    evidence = cell.read("evidence")
    assert not evidence["component_errors"], evidence["component_errors"]
    assert evidence["begun"] == evidence["finished"] == evidence["served"] == len(cell.measured()) == 20
    assert run.plan.bind == address


def test_a_port_that_is_taken_is_said_before_anything_starts(tmp_path):
    """With the option that names another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        plan = planning.make_plan(DELAY, Options(users=[5], remote_workers=1, bind=address), HERE)
        with pytest.raises(LabError, match="cannot listen") as caught:
            conduct(plan, Invocation(["test"], tmp_path / "runs", Reporter(quiet=True)))
    assert "--bind" in caught.value.next_step
    assert not (tmp_path / "runs").exists()
