"""The real generator against the server of known delay: its ceiling, and a verdict that knows when it was there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import psutil
import pyarrow.compute as pc
import pytest
from patience import PATIENCE_S

from lab.analysis import observations, verdict
from lab.analysis.evidence import Evidence
from lab.analysis.verdict import VALID
from lab.errors import ComponentError
from lab.formulas.stats import summarise
from lab.generator import bench
from lab.generator.fleet import LoadPhase
from lab.running import calibrate
from lab.running.calibrate import CalibrationSettings
from lab.running.progress import Reporter
from lab.runtimes.host import Cores
from lab.runtimes.process import ProcessRuntime, confined
from lab.spec.workload import Burst, Closed
from lab.system.databases.tokens import token_file
from lab.system.deployment import Deployment
from lab.system.service import Service
from lab.telemetry.sampler import sampling

pytestmark = pytest.mark.thorough
PACE = CalibrationSettings(ceiling_s=1.2, step_s=1.0, shares=(0.25,))


@pytest.fixture(scope="module")
def cores():
    """Whose cores are whose, before this process confines itself to the generator's."""
    return Cores.split(pin=True)


@pytest.fixture(scope="module")
def ready(tmp_path_factory, cores):
    """A bench, ready to play."""
    folder = tmp_path_factory.mktemp("bench")
    with (
        ProcessRuntime() as runtime,
        confined(cores.generator),
        bench.running_bench(
            runtime, token_file(), calibrate.MOST_USERS, cores.service, cores.generator, folder
        ) as started,
    ):
        yield started
    assert str(started.stream) not in [file.path for file in psutil.Process().open_files()]


@pytest.fixture(scope="module")
def ceilings(ready):
    """The ceilings for all kinds of request, measured in a hurry."""
    return {ceiling.kind: ceiling for ceiling in calibrate.measure(ready, Reporter(quiet=True), PACE)}


def test_a_load_without_answers_has_no_figures(ready):
    """On a machine that stands still for as long: an error that says so, before the stream of samples has any."""
    with pytest.raises(ComponentError, match=r"No small request was answered in the last 75% of 0 s"):
        ready.run_load("small", users=1, delay_ms=0, duration_s=0.0)


def test_a_load_whose_answers_all_came_after_it_has_no_figures(ready):
    """A ceiling of no requests a second would make every load one that is far above it."""
    with pytest.raises(ComponentError, match=r"No small request was answered in the last 75% of 0\.1 s"):
        ready.run_load("small", users=1, delay_ms=1000, duration_s=0.1)


def test_every_kind_has_a_ceiling_and_a_cost(ceilings):
    """And what was busy when it got no faster."""
    assert set(ceilings) == {"small", "token", "large", "chunked"}
    for ceiling in ceilings.values():
        alone, step = ceiling.steps
        assert ceiling.rps > 0
        assert (alone.share, step.share) == (0.0, 0.25)
        assert all(np.isfinite([alone.added_mean_s, alone.added_p99_s, step.added_mean_s, step.added_p99_s]))
        assert ceiling.limited_by in ("generator", "server", "something else")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how large the table of open files is")
def test_connections_of_a_load_have_room_before_it_starts(ready):
    """Where the table of open files grew as they opened, the worker sent nothing meanwhile."""
    load = Closed(users=calibrate.MOST_USERS, ramp_s=0.0, duration_s=0.0)
    parameters = {"kind": 0, "delay_ms": 0}
    result = ready.fleet.run_phase(LoadPhase(ready.url, load, parameters), PATIENCE_S, [ready.server])
    assert result.begun == 0
    status = Path(f"/proc/{ready.fleet.workers[0].pid}/status").read_text()
    assert int(re.search(r"^FDSize:\s+(\d+)$", status, re.MULTILINE)[1]) >= calibrate.MOST_USERS


def test_nothing_is_answered_before_the_server_lets_it_go(ready):
    """What is added is never less than nothing: no answer takes less than its delay."""
    parameters, load = {"kind": 0, "delay_ms": 20}, Burst(users=5, ramp_s=0.0, loops=3)
    result = ready.fleet.run_phase(LoadPhase(ready.url, load, parameters), PATIENCE_S, [ready.server])
    assert pc.min(ready.samples(result.finished)["latency_us"]).as_py() >= 20_000


def test_a_saturated_generator_is_caught_by_name(ready, cores, ceilings):
    """One worker, many users, no delay: the verdict says what was too busy, whichever that was on this machine."""
    deployment = Deployment.of(Service(ready.server, ready.url, ready.url))
    with sampling(
        deployment, {"worker 1": ready.fleet.workers[0], "master": ready.fleet.master}, cores.owned
    ) as telemetry:
        load = Closed(users=100, ramp_s=0.0, duration_s=2.5)
        parameters = {"kind": 0, "delay_ms": 0}
        result = ready.fleet.run_phase(LoadPhase(ready.url, load, parameters), PATIENCE_S, [ready.server])
    summary = summarise(ready.samples(result.finished).to_pandas())
    evidence = Evidence.from_fields(
        begun=result.begun,
        finished=result.finished,
        whole=result.whole,
        worker_cpu=observations.worker_cpu(telemetry, result, 0.0, summary.elapsed_s),
        foreign_cores=observations.foreign_cores(telemetry, cores.owned),
        ceiling_rps=ceilings["small"].rps,
    )
    found = verdict.judge(evidence, summary, summary.requests)
    assert found.word != VALID, evidence
    named = ("A Locust worker used", "The generator sent", "Other programs used")
    assert any(reason.startswith(named) for reason in found.reasons)
