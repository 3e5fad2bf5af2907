"""Capacity: what the closed loops of a run show, and the cost of a request at percentages of it."""

from __future__ import annotations

import pytest
from made_runs import judge

import lab
from lab.analysis import capacity
from lab.analysis.comparison import CPU, THROUGHPUT
from lab.errors import LabError
from lab.reporting.html import rerun_command


def test_the_best_closed_loop_of_each_variant_counts(made, tmp_path):
    """The mean over the repeats of one load, not the best repeat of any; an invalid cell shows nothing."""
    run = made({"mvc": 0.1, "webflux": 0.1}, users=(10, 20), repeat=2, duration=5.0)
    rates = {("mvc", 10): (90, 110), ("mvc", 20): (60, 130), ("webflux", 10): (200, 202), ("webflux", 20): (900, 900)}
    for folder in run.cells():
        rps = rates[folder.cell.variant, folder.cell.load.users][folder.cell.repeat - 1]
        folder.keep("summary", {**folder.read("summary"), "ok_throughput_rps": rps})
        if (folder.cell.variant, folder.cell.load.users) == ("webflux", 20):
            judge(folder, "invalid", "The generator was late.")
    assert capacity.of_run(run) == {"mvc": 100, "webflux": 201}
    assert capacity.given(run.name, "delay", tmp_path) == {"mvc": 100, "webflux": 201}
    assert capacity.given("mvc=900, webflux=1200", "delay", tmp_path) == {"mvc": 900, "webflux": 1200}
    assert capacity.given(None, "delay", tmp_path) is None


def test_the_capacity_of_sessions_is_one_of_sessions(made):
    """Of 26 requests each a service can do a 26th as many; where none is complete, nobody knows."""
    run = made({"mvc": 0.1, "webflux": 0.1}, users=(10,), repeat=1, duration=5.0)
    for folder in run.cells():
        complete = {"requests": 26.0 if folder.cell.variant == "mvc" else None}
        folder.keep("summary", {**folder.read("summary"), "ok_throughput_rps": 520.0, "sessions": complete})
    assert capacity.of_run(run) == {"mvc": 20.0}


def test_what_shows_no_capacity_is_refused(made, tmp_path):
    """A burst ends too soon, a ramp begins with few users, a rate that was asked for is no limit, a word no number."""
    with pytest.raises(LabError, match="no closed loop"):
        capacity.of_run(made({"mvc": 0.1}))
    with pytest.raises(LabError, match="no closed loop"):
        capacity.of_run(made({"mvc": 0.1}, users=(100,), ramp_up=90.0, duration=90.0))
    with pytest.raises(LabError, match="not a number"):
        capacity.given("mvc=many", "delay", tmp_path)
    with pytest.raises(LabError, match="nowhere"):
        capacity.given("nowhere", "delay", tmp_path)
    with pytest.raises(LabError, match="has two numbers for one variant"):
        capacity.given("mvc=900,mvc=1200", "delay", tmp_path)
    with pytest.raises(LabError, match="measured delay, and not jwt"):
        capacity.given(made({"mvc": 0.1}).name, "jwt", tmp_path)


def test_cpu_a_request_is_compared_at_the_same_percentage(made):
    """Each side has its own rate, which is said; so throughput is as planned, and what a request costs is compared."""
    of = {"mvc": 100.0, "webflux": 200.0}
    run = made({"mvc": 0.1, "webflux": 0.1}, users=(50,), rate=["10%", "80%"], capacity=of, duration=10.0)
    for folder in run.cells():
        cost = 2.0 if folder.cell.variant == "mvc" else 1.0
        stated = {"requests": 500, "cpu_s_per_1000_requests": cost + folder.cell.repeat / 100}
        folder.keep("summary", {**folder.read("summary"), **stated})
    found = lab.compare(str(run.path))
    rows = {(row.at, row.metric): row for row in found.rows}
    for at in ("10 % of capacity", "80 % of capacity"):
        assert (rows[at, CPU].finding, rows[at, CPU].winner) == ("different", "webflux")
        assert (rows[at, THROUGHPUT].word, rows[at, THROUGHPUT].points) == ("as planned", 0)
    assert "At 80 % of capacity each side has a rate of its own: mvc 80/s, webflux 160/s." in found.by_design
    assert "at 10 % of capacity (5 interleaved repeats)" in found.verdict


def test_such_a_run_is_shown_and_can_be_repeated(made, typed, tmp_path):
    """The table, the figure over percentages, and from Python a call that asks for the same rates."""
    of = {"mvc": 100.0, "webflux": 200.0}
    run = made({"mvc": 0.1, "webflux": 0.1}, users=(50,), repeat=1, rate=["10%", "80%"], capacity=of, duration=10.0)
    assert "percent of capacity" in typed("show", run.name, "--data", str(tmp_path)).stdout
    assert lab.open_run(str(run.path)).sweep_figure().axes[0].get_xlabel() == "percent of capacity"
    assert rerun_command.asked(run.plan())["rate"] == ["10%", "80%"]
    assert rerun_command.asked(run.plan())["capacity"] == of
    words = ("sweep", "delay", "--rate", "50%", "--capacity", "mvc=100,webflux=200", "--variants", "mvc,webflux")
    assert "mvc-capacity50-r1" in typed(*words, "--dry-run", "--data", str(tmp_path)).stdout
