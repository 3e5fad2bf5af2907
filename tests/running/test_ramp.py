"""A ramp of the rate from the command to the table: a real service, real workers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lab
from lab.reporting.html import rerun_command
from lab.spec import schedule
from lab.spec.workload import Ramp

# t, how long the called service waits: so long that few requests a second fill what it limits. Where all connections
# come back at once, all next requests are begun at once, and the CPU time of these is lost to the connections.
SERVICE_S = 0.8

pytestmark = [pytest.mark.java, pytest.mark.thorough]


@pytest.mark.usefixtures("brief")
def test_a_ramp_is_measured_and_shown_as_an_open_loop_that_is_never_steady(typed, tmp_path):
    """All 210 requests are sent, none before its time; header, rows, report and the command to repeat it say so."""
    asked = ["--ramp", "10:60:6", "--variants", "mvc", "--delay-ms", "100", "--heap-mb", "256"]
    done = typed("run", "delay", *asked, "--seed", "3", "--allow-suspect", "--data", str(tmp_path))
    run = lab.open_run(data=tmp_path)
    (folder,) = run.folder.cells()
    assert folder.cell.id == "mvc-ramp10to60-r1"
    assert isinstance(folder.cell.load, Ramp)
    assert "open loop that grows from 10 to 60 requests/s within 6 s" in done.stdout
    assert "measure 10 to 60 requests/s" in done.stderr + done.stdout

    samples, evidence = folder.measured().sort_values("planned_us"), folder.read("evidence")
    assert evidence["planned"] == evidence["begun"] == evidence["finished"] == evidence["served"] == len(samples) == 210
    planned_s = schedule.planned_s(folder.cell.load, schedule.seed_of(run.plan, folder.cell))
    assert np.abs(samples["planned_us"] - planned_s * 1e6).max() < 2
    assert (samples["sent_us"] >= samples["planned_us"] - 1).all()
    assert (samples["latency_us"] >= 100_000).all()
    assert (evidence["latency_change"], evidence["cpu_change"], evidence["course"]) == (0.0, 0.0, "")

    (row,) = json.loads(typed("show", run.name, "--json", "--data", str(tmp_path)).stdout)["cells"]
    assert (row["at"], row["from_rps"], row["to_rps"]) == (60.0, 10.0, 60.0)
    assert row["predicted_mean_s"] == pytest.approx(0.1)
    assert row["service_mean_s"] >= 0.1
    assert folder.read("summary")["ramp"] == row["ramp"]
    assert sum(window["offered"] for window in row["ramp"]["windows"]) == 210
    assert "--ramp 10:60:6" in rerun_command.command(run.folder)
    assert typed("report", run.name, "--data", str(tmp_path), "-o", str(tmp_path / "ramp.html")).returncode == 0
    assert "a ramp to 60 requests/s" in (tmp_path / "ramp.html").read_text()


@pytest.mark.alone
@pytest.mark.parametrize(
    ("variants", "limits", "servers", "bottleneck"),
    [
        ("mvc", {"threads": 100}, 100, "threads"),
        ("mvc-virtual,webflux", {"pool": 50}, 50, "pool to backend"),
        ("webflux", {"b_threads": 50}, 50, "backend"),
    ],
)
def test_a_knee_is_where_threads_connections_or_the_called_service_end(variants, limits, servers, bottleneck, tmp_path):
    """Within a tenth of T/t or N/t, on a ramp to twice of that, which the CPU bears; no other bottleneck is named.

    It lasts so long that the scatter of arrivals hardly moves a knee by that: test_knee_of_a_ramp.py has such ramps.
    The services are as warm as any: a cold one that sends fifty requests at once holds its connections for longer.
    """
    to_rps = round(2 * servers / SERVICE_S)
    # As many as are under way where all wait for their timeout, and some to spare.
    options = {"users": 5 * to_rps, "ramp": f"0:{to_rps}:40", "timeout": 4, "seed": 1, "quiet": True}
    options |= {"delay_ms": round(1000 * SERVICE_S), "threads": 400, "pool": 4000}
    run = lab.run("chain", variants=variants, data=tmp_path, **options | limits)
    found = {row["variant"]: row["ramp"]["kept_rps"] for row in run.cells}
    assert found == pytest.approx(dict.fromkeys(variants.split(","), servers / SERVICE_S), rel=0.10)
    # Programs beside it may keep the generator's cores busy, which is then said first.
    assert {each.name for each in run.deciding().values()} <= {bottleneck, "shared cores"}
