"""A run in which several things are really wrong names each of them."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest

import lab
from lab.analysis.verdict import INVALID
from lab.experiments import scenarios
from lab.runtimes import Launch
from lab.runtimes.host import Cores
from lab.runtimes.process import ProcessRuntime

pytestmark = [pytest.mark.java, pytest.mark.thorough]


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    """A run on a cold JVM that ignores its limit of threads, with a program that spins on the generator's core."""
    delay, folder = scenarios()["delay"], tmp_path_factory.mktemp("troubled")
    mvc = delay.variant("mvc")
    deaf = {key: value for key, value in mvc.properties.items() if key != "server.tomcat.threads.max"}
    changed = replace(delay, variants=(replace(mvc, properties=deaf),), rehearsal=replace(delay.rehearsal, rounds=1))
    spin = Launch("spinner", (sys.executable, "-c", "while True: pass"), folder / "spin.log")
    spin = replace(spin, cores=Cores.split(pin=True).generator)
    with pytest.MonkeyPatch.context() as patch, ProcessRuntime() as runtime, runtime.started(spin):
        patch.setitem(scenarios(), "delay", changed)
        run = lab.run("delay", 20, threads=7, duration=2.5, delay_ms=100, heap_mb=256, data=folder, quiet=True, seed=1)
        (folder,) = run.folder.cells()
        return run.cells[0], run.folder.environment(), folder.metrics()


def test_a_limit_that_did_not_take_is_named(troubled):
    """Tomcat has its default of 200 threads, asked were 7."""
    cell, *_ = troubled
    assert cell["verdict"] == INVALID
    assert "A limit is not in force: request_threads_max is 200 instead of 7." in cell["reasons"]


def test_a_cold_service_is_named(troubled):
    """One round of warm-up is never enough."""
    cell, *_ = troubled
    assert any(reason.startswith("The service was not warm after 1 round") for reason in cell["reasons"])


@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", lambda _: ())(0)) < 2, reason="there is one core for all")
def test_a_stolen_core_is_named(troubled):
    """A program that spins on the generator's core takes what is left of it."""
    cell, *_ = troubled
    assert any("of the generator's cores" in reason for reason in cell["reasons"])


def test_the_run_keeps_what_was_known_of_the_generator(troubled):
    """environment.json has the calibration, or says that there was none; the summary has the cost of a request."""
    cell, environment, *_ = troubled
    assert "calibration" in environment
    assert cell["cpu_s_per_1000_requests"] > 0
    assert cell["gc_pause_s"] is not None
    assert cell["pool_wait"] is None
