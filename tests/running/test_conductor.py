"""Whole runs, with real JVMs and real Locust workers, kept small."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import psutil
import pytest
from machines import HERE

import lab
from lab.errors import LabError
from lab.experiments import scenarios
from lab.formulas import queueing, stats
from lab.running import conductor
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.spec import planning
from lab.spec.options import Options

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("brief")]

# What `lab show --json` promises to programs.
KEYS = {
    *("variant", "users", "at", "ramp_s", "loops", "repeat", "requests", "errors", "min_s", "mean_s", "p50_s", "p90_s"),
    *("p95_s", "p99_s", "p999_s", "all_mean_s", "all_p50_s", "all_p90_s", "all_p99_s", "all_p999_s"),
    *("max_s", "throughput_rps", "ok_throughput_rps", "predicted_mean_s", "verdict", "reasons"),
    *("generator_cpu_s_per_1000_requests", "worker_cpu", "ceiling_rps", "peak_rps", "late_mean_s", "late_p99_s"),
    *("cpu_s", "cpu_s_per_1000_requests", "cpu_s_per_1000_right", "gc_pause_s", "gc_pause_s_per_1000_right"),
    "jit_share",
    *("memory_bytes", "jvm_bytes", "jvm_bytes_per_1000_right", "heap_bytes", "heap_bytes_per_1000_right"),
    *("pool_in_use", "pool_wait", "pool_acquire_s"),
}
USERS, THREADS, DELAY_MS = 200, 50, 300
# Both kinds of thread; tests of the other scenarios run WebFlux.
MEASURED = ["mvc", "mvc-virtual"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The folder of this module's runs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(data, brief):
    """A small burst on two variants."""
    options = {"users": USERS, "delay_ms": DELAY_MS, "threads": THREADS, "heap_mb": 256, "variants": MEASURED}
    return lab.run("delay", **options, seed=1, data=data, quiet=True)


def cell_of(run, variant: str):
    """The folder of a variant's cell."""
    return next(folder for folder in run.folder.cells() if folder.cell.variant == variant)


VARIANTS = pytest.mark.parametrize("variant", MEASURED)


@VARIANTS
def test_every_request_is_in_the_samples_once(run, variant):
    """As many samples as users, one of each, and the counts of workers, service and samples agree."""
    cell = cell_of(run, variant)
    measured, evidence = cell.measured(), cell.read("evidence")
    assert sorted(measured["user"]) == list(range(USERS))
    assert set(measured["error"]) == {""}
    assert (measured["status"] == 200).all()
    assert evidence["planned"] == evidence["begun"] == evidence["finished"] == evidence["served"] == USERS
    assert (measured["latency_us"] >= DELAY_MS * 1000).all()


def test_the_environment_names_what_was_executed(run):
    """The jars and the sources they are made from, by their digests."""
    environment = run.folder.environment()
    assert set(environment["jars"]) == set(environment["sources"]) == {"mvc"}
    assert all(len(digest) == 64 for digest in environment["jars"].values())


@VARIANTS
def test_the_summary_can_be_made_again_from_the_samples(run, variant):
    """summary.json holds nothing that the samples do not."""
    cell = cell_of(run, variant)
    again, kept = stats.summarise(cell.measured()), cell.read("summary")
    for key in ("requests", "errors", "mean_s", "p50_s", "p90_s", "p99_s", "max_s", "throughput_rps", "elapsed_s"):
        assert kept[key] == pytest.approx(getattr(again, key)), key


@VARIANTS
def test_the_service_states_the_limits_that_were_asked(run, variant):
    """limits.json is read back from the running server."""
    limits = cell_of(run, variant).read("limits")
    assert limits["accept_count"] == 4096
    assert limits["keep_alive_requests"] is None
    assert limits["keep_alive_timeout_ms"] is None
    assert limits["processor_cache"] == limits["max_connections"]
    assert limits["request_threads_max"] == {"mvc": THREADS, "mvc-virtual": None}[variant]
    assert cell_of(run, variant).read("evidence")["limits_broken"] == []


@VARIANTS
def test_the_warm_up_is_kept_apart(run, variant):
    """Warm-up rounds are in the samples, numbered, and not in the summary."""
    cell = cell_of(run, variant)
    everything, rounds = cell.samples(), cell.read("evidence")["warm_up"]
    assert sorted(set(everything["warm_up"])) == list(range(len(rounds) + 1))
    assert (everything["warm_up"] > 0).sum() == sum(row["requests"] for row in rounds)
    assert cell.read("summary")["requests"] == USERS


@VARIANTS
def test_a_warm_connection_is_used_again(run, variant):
    """In a round of many requests each user connects once: the load is kept-alive, as JMeter's is."""
    rounds = cell_of(run, variant).samples().query("warm_up > 0")
    connects = (rounds["connect_us"] > 0).groupby([rounds["warm_up"], rounds["user"]]).sum()
    requests = rounds.groupby(["warm_up", "user"]).size()
    assert (requests > 1).all()
    assert connects.max() == 1


@VARIANTS
def test_planned_and_actual_sends_are_recorded(run, variant):
    """Plans are spread evenly over the ramp; sends follow them."""
    measured = cell_of(run, variant).measured().sort_values("planned_us")
    assert np.allclose(np.diff(measured["planned_us"]), 1e6 / USERS, atol=2)
    assert measured["planned_us"].iloc[0] == pytest.approx(0, abs=2)
    assert (measured["sent_us"] - measured["planned_us"]).min() >= -1
    assert measured["planned_us"].corr(measured["sent_us"], method="spearman") > 0.9


@VARIANTS
def test_metrics_were_read_while_it_ran(run, variant):
    """CPU, memory and threads of the service, the worker's CPU, and the requests under way."""
    metrics = cell_of(run, variant).metrics()
    seen = set(zip(metrics["target"], metrics["name"], strict=True))
    assert {("service", name) for name in ("cpu_s", "rss_bytes", "threads", "jvm_memory_used_bytes")} <= seen
    assert {("worker 1", "cpu_s"), ("worker 1", "under_way")} <= seen
    assert metrics.query("name == 'under_way'")["value"].max() > 1


def test_platform_threads_behave_as_the_model_says(run):
    """Nobody beats theory: the mean of `mvc` is at least that of a queue with what was really sent, and when."""
    rows = {cell["variant"]: cell for cell in run.cells}
    sent_s = np.sort(cell_of(run, "mvc").measured()["sent_us"]) / 1e6
    assert rows["mvc"]["mean_s"] >= queueing.queue_latencies(sent_s, DELAY_MS / 1000, THREADS).mean()
    assert rows["mvc"]["predicted_mean_s"] > 1.2 * DELAY_MS / 1000
    assert rows["mvc-virtual"]["predicted_mean_s"] == pytest.approx(DELAY_MS / 1000)
    assert rows["mvc-virtual"]["mean_s"] >= DELAY_MS / 1000


def test_the_run_folder_holds_what_the_design_says(run):
    """Nothing is missing, and nothing half-written is left."""
    for cell in run.folder.cells():
        names = {path.name for path in cell.path.iterdir()}
        assert {"samples.parquet", "metrics.parquet", "limits.json", "summary.json", "evidence.json", "logs"} <= names
        assert not {name for name in names if name.endswith((".new", ".arrows"))}
        logs = {path.name for path in cell.logs.iterdir()}
        assert {"service.log", "gc.log", "locust-master.log", "locust-worker-1.log"} <= logs
    assert {"run.json", "environment.json", "figure.png"} <= {path.name for path in run.path.iterdir()}
    assert not (run.path / "error.txt").exists()
    assert run.folder.state() == "complete"


def test_show_json_has_exactly_what_was_promised(run, data, typed):
    """One object with `run`, `scenario` and `cells`, each with exactly the named keys."""
    done = typed("show", run.name, "--json", "--data", str(data))
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert list(shown) == ["run", "scenario", "cells"]
    assert (shown["run"], shown["scenario"]) == (run.name, "delay")
    assert [set(cell) for cell in shown["cells"]] == [KEYS] * 2
    assert [cell["variant"] for cell in shown["cells"]] == MEASURED


def test_python_sees_the_run_as_frames(run, data):
    """`run.table()` has a row a variant, `run.samples()` a row a request; both can be had again later."""
    assert run.table()["variant"].tolist() == MEASURED
    assert len(run.samples()) == 2 * USERS
    assert lab.open_run(run.name, data).table().equals(run.table())
    assert run.name in lab.runs(data)


@pytest.fixture(scope="module")
def closed(data, brief):
    """A closed loop of two workers."""
    options = {"users": 41, "duration": 4.0, "delay_ms": 200, "threads": 10, "workers": 2, "variants": ["mvc"]}
    return lab.run("delay", **options, heap_mb=256, data=data, quiet=True)


@pytest.mark.thorough
def test_two_workers_share_the_load(closed):
    """Each user's requests are sent in order, and both workers played their part."""
    (cell,) = closed.folder.cells()
    measured = cell.measured()
    assert len(measured) == closed.cells[0]["requests"]
    assert sorted(measured.groupby("worker")["user"].nunique()) == [20, 21]
    ends = measured["sent_us"] + measured["latency_us"]
    for _, mine in measured.assign(ended=ends).sort_values("sent_us").groupby("user"):
        assert (mine["sent_us"].to_numpy()[1:] >= mine["ended"].to_numpy()[:-1] - 1).all()
    assert {"worker 1", "worker 2"} <= set(cell.metrics()["target"])


# Workers count every 50 ms. Later by as much again, one had no core meanwhile.
COUNTS_EVERY_US = 50_000


def counts_us(cell) -> dict[int, np.ndarray]:
    """By number of a worker, when it counted its requests under way."""
    counts = cell.metrics().query("name == 'under_way'")
    of_worker = counts["target"].str.removeprefix("worker ").astype(int) - 1
    return {number: np.sort(at_s.to_numpy()) * 1e6 for number, at_s in counts["t_s"].groupby(of_worker)}


def stalled_us(counted_us: np.ndarray, from_us: float, to_us: float) -> float:
    """For how long a worker stalled within a time: by its gaps between counts that are twice as long as they should."""
    begins, ends = counted_us[:-1] + COUNTS_EVERY_US, counted_us[1:]
    within = np.minimum(ends, to_us) - np.maximum(begins, from_us)
    return float(within[(ends - begins >= COUNTS_EVERY_US) & (within > 0)].sum())


@pytest.mark.thorough
def test_a_closed_loop_lasts_as_long_as_asked(closed):
    """--duration repeats until the time is up, then waits for what is under way, and obeys Little's law."""
    (cell,) = closed.folder.cells()
    measured = cell.measured()
    measured["ended_us"] = measured["sent_us"] + measured["latency_us"]
    users = measured.groupby("user")
    assert set(measured["user"]) == set(range(41))
    # What comes after a worker's last count before the end, it may have handled when the time was up.
    counted_us = counts_us(cell)
    last_us = {name: at_us[at_us < 4e6 - COUNTS_EVERY_US].max() for name, at_us in counted_us.items()}
    assert (users["ended_us"].max() >= users["worker"].first().map(last_us)).mean() > 0.9
    assert (measured["sent_us"] >= 4e6).sum() <= 2  # one of each worker, between its look at the time and its send
    # Unless its worker stalls, each of the 41 users always waits for an answer; 10 threads of 0.2 s give 50 a second at
    # most.
    spans = pd.DataFrame({"from": users["sent_us"].min(), "to": users["ended_us"].max()})
    spans["stalled"] = [
        stalled_us(counted_us[worker], *span)
        for worker, span in zip(users["worker"].first(), spans.itertuples(index=False), strict=True)
    ]
    idle_us = spans["to"] - spans["from"] - users["latency_us"].sum()
    assert (idle_us - spans["stalled"]).sum() < 0.05 * (spans["to"] - spans["from"]).sum()
    assert len(measured) <= 50 * measured["ended_us"].max() / 1e6
    assert closed.cells[0]["predicted_mean_s"] == pytest.approx(0.82)
    assert isinstance(cell.read("summary")["verdict"], str)


@pytest.mark.thorough
def test_the_same_starts_serve_the_loads_of_two_plans(tmp_path, brief):
    """A variant is started once, whichever load is first; each plan has a run of its own that is whole.

    One of them lacks a variant, and knows nothing of it.
    """
    options = Options(variants=("mvc",), users=(60,), heap_mb=256, threads=50, seed=3)
    delay = {"delay_ms": 100}
    plans = [
        planning.make_plan(
            scenarios()["delay"],
            replace(options, loops=loops, users=(users,), parameters=delay, variants=variants),
            HERE,
        )
        for users, loops, variants in ((60, 1, ("mvc", "webflux")), (80, 2, ("mvc",)))
    ]
    folders = conductor.conduct_together(plans, Invocation(["test"], tmp_path, Reporter(quiet=True)))
    cells = [cell for folder in folders for cell in folder.cells()]
    assert [folder.state() for folder in folders] == ["complete", "complete"]
    assert [folder.environment()["together"] for folder in folders] == [[folders[1].name], [folders[0].name]]
    assert [cell.read("summary")["requests"] for cell in cells] == [60, 60, 160]
    assert [cell.read("evidence")["served"] for cell in cells] == [60, 60, 160]
    assert [set(folder.environment()["sources"]) for folder in folders] == [{"mvc", "webflux"}, {"mvc"}]
    cells = [cell for cell in cells if cell.cell.variant == "mvc"]
    assert all(cell.read("contract") and cell.read("limits")["request_threads_max"] == 50 for cell in cells)
    first, second = sorted(cells, key=lambda cell: cell.read("start")["load"])
    assert [cell.read("start")["load"] for cell in (first, second)] == [1, 2]
    assert first.read("start")["name"] == second.read("start")["name"]
    assert (second.path / second.read("start")["logs"]).resolve() == first.logs.resolve()
    assert [(cell.logs / "service.log").exists() for cell in (first, second)] == [True, False]
    one, other = (cell.read("evidence") for cell in (first, second))
    assert (one["warm_up_before"], other["warm_up_before"]) == ([], one["warm_up"])  # and each has some of its own
    assert min(len(one["warm_up"]), len(other["warm_up"])) > 0
    assert set(second.samples()["warm_up"]) == set(range(len(other["warm_up"]) + 1))
    assert not any("in progress" in reason for cell in cells for reason in cell.read("summary")["reasons"])


def test_a_start_is_not_shared_by_loads_that_need_another_system(tmp_path):
    """Whose limits or parameters differ is conducted by itself; nothing was started, and there is no run."""
    one = planning.make_plan(scenarios()["delay"], Options(variants=("mvc",), users=(5,), seed=3), HERE)
    for other, named in (
        (replace(one, limits=replace(one.limits, threads=7)), "limits would have to differ"),
        (replace(one, nodes=2), "nodes would have to differ"),
        (replace(one, parameters={**one.parameters, "delay_ms": 7}), "parameters would have to differ"),
        (replace(one, cells=tuple(replace(cell, variant="webflux") for cell in one.cells)), "variants would have"),
    ):
        with pytest.raises(LabError, match=named):
            conductor.conduct_together([one, other], Invocation(["test"], tmp_path, Reporter(quiet=True)))
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_running(run):
    """After a run, none of its processes lives."""
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert [line for line in lines if str(run.path) in line] == []
