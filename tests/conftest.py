"""What several tests share: samples from a few numbers, a small plan, and the command line as people type it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import docker
import numpy as np
import pandas as pd
import pytest
from checkouts import ONE_COMPILER
from machines import HERE
from patience import PATIENCE_S

from lab.cli import main
from lab.errors import LabError
from lab.experiments import scenarios
from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import connect
from lab.runtimes.process import ProcessRuntime
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.system import images, launch
from lab.system.images.bases import Bases
from lab.system.images.builder import Builder
from lab.system.jdk import Jdk, find_jdk

MEMORY_READY = launch.MEMORY_READY
SamplesOf = Callable[..., pd.DataFrame]
Command = Callable[..., subprocess.CompletedProcess[str]]
ROOT_IS_NOT_STOPPED = "permissions do not stop root"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have services compile with one compiler, but those whose rates a test judges: other tests ask what is counted."""
    launch.MEMORY_READY = MEMORY_READY if item.get_closest_marker("alone") else (*MEMORY_READY, ONE_COMPILER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Have a test that is skipped fail where LAB_SKIP_NOTHING is set, as in CI: what is missing there hides a gap."""
    report = yield
    if report.skipped and os.environ.get("LAB_SKIP_NOTHING") and ROOT_IS_NOT_STOPPED not in str(report.longrepr):
        report.outcome, report.longrepr = "failed", f"Nothing may be skipped here. {report.longrepr}"
    return report


@pytest.fixture
def samples_of() -> SamplesOf:
    """A function that makes samples from latencies in seconds; every other column can be given too."""

    def make(
        latencies_s,
        *,
        sent_s=0.0,
        planned_s=None,
        user=None,
        error="",
        status=200,
        warm_up=0,
        session=0,
        step=0,
        name="/delay",
        waited_s=0.0,
        window=0,
    ):
        n = len(latencies_s)

        def column(value):
            return list(value) if isinstance(value, list | tuple) else [value] * n

        def microseconds(value_s):
            return np.broadcast_to(np.rint(np.asarray(value_s, dtype=float) * 1e6).astype("int64"), n)

        sent = microseconds(sent_s)
        planned = sent if planned_s is None else microseconds(planned_s)
        return pd.DataFrame(
            {
                "planned_us": pd.Series(planned),
                "sent_us": pd.Series(sent),
                "latency_us": pd.Series(microseconds(latencies_s)),
                "user": pd.Series(range(n) if user is None else column(user), dtype="int32"),
                "session": pd.Series(column(session), dtype="int32"),
                "step": pd.Series(column(step), dtype="int16"),
                "name": pd.Series(column(name), dtype="object"),
                "method": "GET",
                "fallback": False,
                "cut": False,
                "stopped": False,
                "waited_us": pd.Series(microseconds(waited_s)),
                "status": pd.Series(column(status), dtype="int16"),
                "error": pd.Series(column(error), dtype="object"),
                "warm_up": pd.Series(column(warm_up), dtype="int16"),
                "window": pd.Series(column(window), dtype="int16"),
            }
        )

    return make


@pytest.fixture
def plan() -> Plan:
    """A plan of two cells, as small as one can be."""
    options = Options(users=[5], variants=["mvc", "webflux"], seed=7, parameters={"delay_ms": 100})
    return planning.make_plan(scenarios()["delay"], options, HERE)


@pytest.fixture
def typed(capsys, monkeypatch) -> Iterator[Command]:
    """A function that carries out ``python -m lab …`` in this process, which saves a second a command."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["lab", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(end.value.code or 0), out, err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def command() -> Command:
    """A function that types ``python -m lab …`` as a process of its own, and waits for the end."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lab", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=ROOT,
            env={**os.environ, **environment},
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """Short warm-ups, for tests that ask what is measured and not how warm a service was."""
    with pytest.MonkeyPatch.context() as patch:
        for name, scenario in scenarios().items():
            requests = min(scenario.rehearsal.requests, 800)
            duration_s = min(scenario.rehearsal.duration_s, 1.0)
            short = replace(scenario.rehearsal, rounds=3, requests=requests, duration_s=duration_s)
            patch.setitem(scenarios(), name, replace(scenario, rehearsal=short, cpu_without_link=False))
        yield


@pytest.fixture(scope="session")
def jdk() -> Jdk:
    """A JDK that is new enough."""
    return find_jdk()


@pytest.fixture
def runtime() -> Iterator[ProcessRuntime]:
    """A runtime that ends what it started when the test is over."""
    with ProcessRuntime() as started:
        yield started


@pytest.fixture(scope="session")
def engine(pytestconfig: pytest.Config) -> docker.DockerClient:
    """The Docker engine; without one, or where no images can be had, what needs it is skipped."""
    try:
        client = connect()
        lacking = images.obstacle(client)
    except LabError as error:
        lacking = error.problem
    if lacking:
        pytest.skip(lacking)
    with ProcessRuntime() as host:
        missing = Bases(Builder(client, host, lambda _: None)).missing()
    if missing:
        said = f"Docker has no {', '.join(kind.name for kind in missing)} yet: pulled or built now, once, in minutes."
        with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{said}", flush=True)
    return client
