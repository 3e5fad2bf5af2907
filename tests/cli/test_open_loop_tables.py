"""How an open loop is shown: latency from the planned moments, and what a request took once it was sent beside it."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from machines import HERE
from msgspec.structs import replace

from lab.experiments import scenarios
from lab.formulas import queueing, stats
from lab.formulas.calls import Calls
from lab.reporting import run_view
from lab.reporting.run_figures import figures_of
from lab.running.turn_taking import DRAIN_S, deadline_s, overtime
from lab.spec import prediction, schedule
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.spec.sample import SCHEMA
from lab.spec.workload import Burst, Open, Ramp, Total
from lab.storage.run_folder import RunFolder

OMITTED = {"sent_s": [0.0, 0.9], "planned_s": [0.0, 0.1], "user": [0, 0]}


@pytest.fixture
def shown(typed, tmp_path, samples_of):
    """A function that shows a run of two requests, of which a busy user sent the second late, as table and JSON."""

    def show(error="", **options) -> tuple[str, dict]:
        plan = make_plan(scenarios()["delay"], Options(variants=["mvc"], users=[1], seed=1, **options), HERE)
        run = RunFolder.create(plan, [], {}, tmp_path / "runs")
        cell = run.begin(plan.cells[0])
        samples = samples_of([0.9, 0.05], error=error, **OMITTED)
        filler = {"connect_us": 0, "bytes": 1, "worker": 0}
        samples.assign(**filler)[SCHEMA.names].to_parquet(cell.path / "samples.parquet")
        summary = asdict(stats.summarise(samples, from_planned=plan.cells[0].load.independent))
        cell.keep("summary", {**summary, "predicted_mean_s": None, "verdict": "valid", "reasons": []})
        table = typed("show", run.name, "--data", str(tmp_path / "runs"))
        as_json = typed("show", run.name, "--json", "--data", str(tmp_path / "runs"))
        assert (table.returncode, as_json.returncode) == (0, 0), table.stderr + as_json.stderr
        assert all(figure.draw() for figure in figures_of(run_view.open_run(run.name, tmp_path / "runs")))
        return table.stdout, json.loads(as_json.stdout)["cells"][0]

    return show


def test_an_open_loop_is_shown_with_both_times(shown):
    """The user waited 0.85 s for what the service answered in 0.05 s: both are in the table and for programs."""
    table, cell = shown(rate=10.0, duration=1.0)
    assert "open loop of 10 requests/s for 1 s" in table
    assert table.count("service") >= 3
    assert "0.850" in table
    assert "0.050" in table
    assert (cell["p50_s"], cell["service_p50_s"], cell["rate_rps"]) == (0.85, 0.05, 10.0)


def test_a_ramp_is_shown_with_its_rates(shown):
    """As an open loop, by where its rate goes: in the header, in the rows, and for programs."""
    table, cell = shown(ramp="0:4:1")
    assert "open loop that grows from 0 to 4 requests/s within 1 s" in table
    assert table.count("service") >= 3
    assert (cell["p50_s"], cell["service_p50_s"]) == (0.85, 0.05)
    assert (cell["at"], cell["from_rps"], cell["to_rps"]) == (4.0, 0.0, 4.0)
    assert "by time window" in table
    assert "mvc: no knee" in table


@pytest.mark.parametrize(("error", "column"), [("breaker open", True), ("refused", False)])
def test_what_a_breaker_kept_back_is_not_called_as_a_refused_connection_is(shown, error, column):
    """In a window it has the name that it has among the errors; a refused connection is one of those that failed."""
    table, cell = shown(error=["", error], ramp="0:4:1")
    assert cell["errors"] == {error: 1}
    windows = table.split("by time window")[1].split("└")[0]
    assert ("breaker" in windows) == column
    assert "refused" not in windows


def test_a_closed_loop_is_shown_as_ever(shown):
    """Where latency counts from the send, there is no second column, and no rate that was planned."""
    table, cell = shown(duration=2.0)
    assert "closed loop for 2 s" in table
    assert "service" not in table.split("What the tail")[0].split("seed 1")[1]
    assert cell["p50_s"] == 0.05
    assert "rate_rps" not in cell


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        ({"duration": 2.0}, True),
        ({"requests": 2}, True),
        ({"loops": 2}, True),
        ({}, False),
        ({"rate": 10.0, "duration": 1.0}, False),
        ({"ramp": "0:4:1"}, False),
    ],
)
def test_what_a_closed_tail_cannot_show_is_said_once(shown, options, waits):
    """Where users wait for an answer before they send again; not of single requests, whose sends are planned."""
    said = " ".join(shown(**options)[0].split())
    assert said.count("coordinated omission") == waits
    assert said.count("What the tail of a closed loop cannot show") == waits


def test_random_arrivals_are_named(shown):
    """A reader sees that starts were not even."""
    assert "poisson arrivals" in shown(rate=10.0, duration=1.0, arrivals="poisson")[0]
    assert "poisson arrivals" in shown(arrivals="poisson")[0]


@pytest.mark.parametrize("rate_rps", [10.0, 99.0, 300.0])
def test_the_deadline_is_later_than_the_last_answer_in_theory(rate_rps):
    """Also where more is asked than T threads can answer, the queue has time to be served, twice over."""
    load = Open(users=10_000, rate_rps=rate_rps, duration_s=60.0, timeout_s=1.0)
    mean_s = prediction.mean_latency(load, Calls(2.0, threads=200))
    last_s = load.duration_s + queueing.queue_latencies(schedule.planned_s(load, (1,)), 2.0, 200).max()
    assert deadline_s(load, mean_s) > 2 * last_s
    assert deadline_s(replace(load, timeout_s=120.0)) > load.duration_s + 120.0


@pytest.mark.parametrize("to_rps", [90.0, 101.0, 130.0, 200.0, 1000.0])
def test_the_deadline_of_a_ramp_is_later_than_its_last_answer(to_rps):
    """Its last request waits longer than twice the mean, wherever its rate comes to exceed what is served."""
    load = Ramp(users=100_000, from_rps=0.0, to_rps=to_rps, duration_s=60.0, timeout_s=0.0)
    mean_s = prediction.mean_latency(load, Calls(2.0, threads=200))
    latencies = queueing.queue_latencies(schedule.planned_s(load, (1,)), 2.0, 200)
    assert deadline_s(load, mean_s) - DRAIN_S > load.duration_s + latencies.max()


@pytest.mark.parametrize("users", [1, 7, 100, 4000])
@pytest.mark.parametrize("shape", [{"rate": 10.0, "duration": 30.0}, {"ramp": "0:20:30"}])
def test_no_overload_is_cut_off_while_its_requests_time_out(users, shape):
    """Where each waits until its timeout, all are sent, one after the other by users that are never free."""
    plan = make_plan(scenarios()["delay"], Options(variants=["mvc"], users=[users], timeout=20.0, **shape), HERE)
    load = plan.cells[0].load
    planned_s = schedule.planned_s(load, (1,))
    ends_s = planned_s + queueing.queue_latencies(planned_s, load.timeout_s, users)
    longer = overtime(plan, load)
    assert longer.most_s > ends_s.max()
    assert longer.idle_s > np.diff(np.sort(ends_s)).max(initial=load.timeout_s)
    assert (deadline_s(load) < ends_s.max()) == (users < 100)  # what it had been cut off by


def test_users_of_an_overload_may_play_all_of_their_sessions():
    """A session has as many timeouts as requests, and its pauses."""
    plan = make_plan(scenarios()["operations"], Options(users=[200], rate=10.0, duration=60.0, timeout=20.0), HERE)
    longer = overtime(plan, plan.cells[0].load)
    assert longer.most_s > 60 + 3 * 26 * 20
    assert longer.idle_s > 20 + 2 * plan.scenario.think_s


def test_only_an_open_loop_goes_on_for_longer():
    """A duration ends a closed loop, and how long a burst takes follows from its rounds."""
    plan = make_plan(scenarios()["delay"], Options(variants=["mvc"], users=[10], duration=30.0), HERE)
    assert overtime(plan, plan.cells[0].load) is None
    assert overtime(plan, Burst(users=10, loops=2)) is None


def test_a_load_that_waits_for_nothing_has_the_time_that_its_work_takes():
    """Two million requests at eight thousand a second take longer than theory, which knows of waiting only."""
    assert deadline_s(Burst(users=100, loops=20_000), 0.0) > 2 * 250
    assert deadline_s(Total(users=100, requests=2_000_000), 0.001) > 2 * 250
