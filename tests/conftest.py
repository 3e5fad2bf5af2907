"""What several tests share: samples from a few numbers, a small plan, and the command line as people type it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd
import pytest
from patience import PATIENCE_S

from lab.cli import main
from lab.experiments import SCENARIOS
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime
from lab.spec import planning
from lab.spec.planning import Wishes
from lab.spec.scenario import Plan
from lab.system import services
from lab.system.services import Jdk

SamplesOf = Callable[..., pd.DataFrame]
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def samples_of() -> SamplesOf:
    """A function that makes samples from latencies in seconds; every other column can be given too."""

    def make(latencies_s, *, sent_s=0.0, planned_s=None, user=None, error="", status=200, warm_up=0):
        n = len(latencies_s)

        def column(value):
            return list(value) if isinstance(value, list | tuple) else [value] * n

        sent = [round(s * 1e6) for s in column(sent_s)]
        planned = sent if planned_s is None else [round(s * 1e6) for s in column(planned_s)]
        return pd.DataFrame(
            {
                "planned_us": pd.Series(planned, dtype="int64"),
                "sent_us": pd.Series(sent, dtype="int64"),
                "latency_us": pd.Series([round(s * 1e6) for s in latencies_s], dtype="int64"),
                "user": pd.Series(range(n) if user is None else column(user), dtype="int32"),
                "status": pd.Series(column(status), dtype="int16"),
                "error": pd.Series(column(error), dtype="object"),
                "warm_up": pd.Series(column(warm_up), dtype="int16"),
            }
        )

    return make


@pytest.fixture
def plan() -> Plan:
    """A plan of two cells, as small as one can be."""
    wishes = Wishes(users=[5], variants=["mvc", "webflux"], seed=7, parameters={"delay_ms": 100})
    return planning.make_plan(SCENARIOS["delay"], wishes)


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
        for name, scenario in SCENARIOS.items():
            patch.setitem(SCENARIOS, name, replace(scenario, rehearsal_rounds=3, rehearsal_requests=800))
        yield


@pytest.fixture(scope="session")
def jdk() -> Jdk:
    """A JDK that is new enough."""
    return services.find_jdk()


@pytest.fixture
def runtime() -> Iterator[ProcessRuntime]:
    """A runtime that ends what it started when the test is over."""
    with ProcessRuntime() as started:
        yield started
