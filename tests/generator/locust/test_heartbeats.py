"""When a worker on another machine takes its master for lost."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from any_server import serving
from patience import PATIENCE_S, await_that

from lab.generator.fleet import LoadPhase, Placement, running_fleet
from lab.generator.locust import heartbeats
from lab.runtimes import Launch
from lab.runtimes.checkout import JOIN_TOKEN, ROOT
from lab.runtimes.process import ProcessRuntime, free_ports
from lab.spec.workload import Burst, Closed

TOKEN = "a token that only this test knows"
# Stands still, as a whole, for longer than a master may be silent; and then its wall clock is set.
DISTURBED = """
import time
import gevent
from gevent import monkey
from lab.generator.locust import heartbeats, worker

stall, wall = monkey.get_original("time", "sleep"), time.time
heartbeats.MASTER_LOST_AFTER_S = 2.0

def disturb():
    gevent.sleep(2)
    stall(4)
    gevent.sleep(2)
    time.time = lambda: wall() + 3600
    gevent.sleep(3)
    print("still there", flush=True)

gevent.spawn(disturb)
worker.main()
"""

# Has the wall clock of a worker go forward by an hour a second.
CLOCK_IS_SET = """
import time
from locust import events, task
from locust.runners import WorkerRunner
from lab.generator.locust import LabUser

wall = time.time

@events.init.add_listener
def set_clock(environment, **_):
    if isinstance(environment.runner, WorkerRunner):
        time.time = lambda: wall() + 3600 * time.monotonic()

class Asker(LabUser):
    @task
    def ask(self):
        self.client.get("/ok")
        self.pause(0.1)
"""


@pytest.mark.thorough
def test_neither_a_stall_nor_a_step_of_the_clock_ends_a_worker_but_the_end_of_its_master_does(tmp_path):
    """Heartbeats that came during the stall are read first, and silence is measured by a clock that nobody sets."""
    host, port = "127.0.0.1", free_ports(1)[0]
    command = (sys.executable, "-c", DISTURBED, "--master-host", host, "--master-port", str(port))
    launch = Launch(
        "worker", command, tmp_path / "worker.log", {"PYTHONPATH": str(ROOT), JOIN_TOKEN: TOKEN}, talks=True
    )
    shape = Burst(users=1, loops=1, workers=0, remote_workers=1)
    with ProcessRuntime() as runtime:
        placement = Placement(runtime, frozenset(), tmp_path, tmp_path / "samples", bind=(host, port), join_token=TOKEN)
        with running_fleet("load", shape, placement) as fleet, runtime.started(launch) as worker:
            fleet.await_workers()
            assert [worker.stdout.readline() for _ in range(2)] == ["joined\n", "still there\n"]
            os.killpg(fleet.master.pid, signal.SIGKILL)
            await_that(worker.exit_reason)


@pytest.mark.thorough
def test_no_step_of_the_clock_ends_a_worker_of_this_machine(tmp_path):
    """Which the lab ends itself, however long its master has been silent."""
    (tmp_path / "set.py").write_text(CLOCK_IS_SET)
    load = Closed(users=1, duration_s=4.0)
    with ProcessRuntime() as runtime, serving() as server:
        placement = Placement(runtime, frozenset(), tmp_path, tmp_path / "samples")
        with running_fleet(tmp_path / "set.py", load, placement) as fleet:
            fleet.await_workers()
            fleet.spawn(load.users)
            assert fleet.run_phase(LoadPhase(server.url, load), PATIENCE_S).whole


def test_a_worker_waits_for_longer_than_its_master():
    """Who is not taken for lost may go on."""
    assert heartbeats.MASTER_LOST_AFTER_S > heartbeats.LOST_AFTER_S + heartbeats.LOOK_EVERY_S
