"""The course of a ramp: kept with the cell, derived again where it was not, and shown wherever the run is."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_ramps import HEAP_EACH, NATIVE_EACH, SERVICE_S, THREADS_EACH, TO_RPS, WARM_UP_USERS, ramped

from lab.analysis import ramps, waiting_cost
from lab.analysis.insights import THREADS_BUSY
from lab.analysis.ramps import RampResult
from lab.errors import LabError
from lab.reporting import figures, html, run_view
from lab.telemetry.actuator import GC_COUNT

FEW, LATE, MANY = 60, 90, 2000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One variant with sixty servers, which answer 300/s, and one with more than it needs."""
    return ramped(tmp_path_factory.mktemp("runs"), {"mvc": FEW, "webflux": MANY})


def courses(run) -> dict[str, RampResult]:
    """The course of each variant."""
    return {folder.cell.variant: ramps.result_of(folder) for folder in run.cells()}


def test_a_ramp_has_a_knee_where_its_servers_are_all_busy(run):
    """And keeps pace to its end where they never are; what was prompt is the share before the queue."""
    few, many = courses(run)["mvc"], courses(run)["webflux"]
    assert few.kept_rps == few.knee.rate == pytest.approx(FEW / SERVICE_S, rel=0.05)
    assert (many.knee, many.kept_rps) == (None, TO_RPS)
    assert many.prompt_share == 1 > few.prompt_share > 0.36
    assert many.before_knee_s == pytest.approx(SERVICE_S)
    assert few.before_knee_s == pytest.approx(SERVICE_S, rel=0.1)


def test_the_bottleneck_of_a_ramp_is_looked_for_beyond_its_knee(tmp_path):
    """Late as it is: threads are all busy for the last tenth of the ramp alone, of which most readings know nothing."""
    run = ramped(tmp_path, {"mvc": LATE})
    (folder,) = run.cells()
    knee_s = ramps.result_of(folder).knee.at_s
    assert knee_s == pytest.approx(18, abs=0.5)
    folder.keep("limits", {"request_threads_max": LATE})
    busy = [(t, "service", THREADS_BUSY, LATE if t > knee_s else LATE * t / 20) for t in np.arange(0.5, 20.0)]
    metrics = folder.metrics()
    folder.keep_metrics([*metrics.itertuples(index=False, name=None), *busy])
    assert run_view.Run(run).deciding()["mvc"].name == "threads"


def test_what_only_an_overload_far_beyond_the_knee_fills_is_not_the_bottleneck(tmp_path):
    """Threads are full from the knee on; the CPU once timeouts pile up, for most of the time beyond the knee."""
    run = ramped(tmp_path, {"mvc": 30})
    (folder,) = run.cells()
    knee = ramps.result_of(folder).knee
    assert knee.rate == pytest.approx(30 / SERVICE_S, rel=0.1)
    folder.keep("limits", {"request_threads_max": 30, "cpus": 1})
    seconds = np.arange(0.5, 20.0)
    overloaded = folder.cell.load.reaches_s(1.4 * knee.rate)
    busy = [(t, "service", THREADS_BUSY, min(30.0, 30 * t / knee.at_s)) for t in seconds]
    spent = np.cumsum(np.where(seconds > overloaded, 0.99, 0.3))
    cpu = [(t, "service", "cpu_s", used) for t, used in zip(seconds, spent, strict=True)]
    folder.keep_metrics([*folder.metrics().itertuples(index=False, name=None), *busy, *cpu])
    assert run_view.Run(run).deciding()["mvc"].name == "threads"


def test_a_ramp_that_was_disturbed_has_no_knee(tmp_path):
    """Where what is called was slow for a time, fewer answers are not the fault of a limit; the windows are shown."""
    (folder,) = ramped(tmp_path, {"mvc": FEW}).cells()
    summary = folder.read("summary")
    del summary["ramp"]
    folder.keep("summary", summary)
    disturbed = ramps.result_of(folder, steady=False)
    assert (disturbed.knee, disturbed.kept_rps, disturbed.before_knee_s) == (None, None, None)
    assert disturbed.windows["offered"].sum() == 5000
    assert "was not steady" in disturbed.shape


def test_a_ramp_says_where_answers_kept_pace(run):
    """A knee, or that there is none."""
    few, many = courses(run)["mvc"], courses(run)["webflux"]
    assert few.shape.startswith("knee at ")
    assert many.shape == f"no knee: answers kept pace up to {TO_RPS}/s, where the ramp ends"
    assert RampResult(many.windows, None, None, None, 0.0, {}).shape.startswith("no knee was found")


def test_rates_of_sessions_are_said_to_be_that(run, tmp_path):
    """Where each has several requests; and what an older version kept of such a ramp is derived again."""
    few, many = (replace(course, requests_a_session=2.0) for course in courses(run).values())
    assert "sessions/s (" in few.shape
    assert f"up to {TO_RPS} sessions/s" in many.shape
    (folder,) = ramped(tmp_path, {"mvc": FEW}).cells()
    kept = folder.read("summary")
    del kept["ramp"]["requests_a_session"]
    kept["ramp"]["prompt_share"] = 0.5
    folder.keep("summary", kept)
    assert ramps.result_of(folder).prompt_share == 0.5
    folder.keep("summary", {**kept, "sessions": {"requests": 2.0}})
    assert ramps.result_of(folder).prompt_share != 0.5


def test_what_is_kept_of_a_course_is_all_of_it(run):
    """As JSON, without a number that is none."""
    for course in courses(run).values():
        kept = json.loads(json.dumps(course.as_json(), allow_nan=False))
        again = RampResult.from_json(kept)
        pd.testing.assert_frame_equal(again.windows, course.windows, check_dtype=False)
        assert again.as_json() == course.as_json()


def test_a_course_that_is_kept_is_not_derived_again(tmp_path):
    """A table of a run with millions of samples is there at once; of one that an older version made it is derived."""
    (folder,) = ramped(tmp_path, {"mvc": FEW}).cells()
    summary = folder.read("summary")
    derived = summary.pop("ramp")
    folder.keep("summary", {**summary, "ramp": {**derived, "prompt_share": 0.123}})
    assert ramps.result_of(folder).prompt_share == 0.123
    folder.keep("summary", summary)
    assert ramps.result_of(folder).as_json() == derived


def test_a_course_that_is_damaged_is_said_to_be(tmp_path):
    """In one sentence, with the file."""
    (folder,) = ramped(tmp_path, {"mvc": FEW}).cells()
    folder.keep("summary", {**folder.read("summary"), "ramp": {"knee": 3}})
    with pytest.raises(LabError, match="is damaged: summary"):
        ramps.result_of(folder)


def test_other_loads_and_cells_without_samples_have_no_course(tmp_path, made):
    """Neither a burst, nor a ramp of which nothing was sent."""
    assert ramps.result_of(made({"mvc": 0.1}, repeat=1).cells()[0]) is None
    (folder,) = ramped(tmp_path, {"mvc": FEW}).cells()
    folder.kept.unlink()
    (folder.path / "summary.json").unlink()
    assert ramps.result_of(folder) is None


def test_what_waiting_costs_is_counted_beyond_the_warm_up(run):
    """Threads, heap without garbage, and memory outside of it, for each request that the service had not had before."""
    waiting = courses(run)["mvc"].waiting
    assert waiting["in_flight"] > WARM_UP_USERS
    found = (waiting["threads"], waiting["heap_bytes"], waiting["native_bytes"])
    assert found == pytest.approx((THREADS_EACH, HEAP_EACH, NATIVE_EACH), rel=0.05)


def test_nothing_is_said_of_requests_that_the_service_does_not_hold(run):
    """Those in a queue before its threads cost none of what it holds; how many are under way is told."""
    (folder, _) = run.cells()
    metrics = folder.metrics()
    under_way = waiting_cost.waiting_cost(metrics, WARM_UP_USERS)["in_flight"]
    assert waiting_cost.waiting_cost(metrics, WARM_UP_USERS, holds=FEW) == {"in_flight": under_way}
    assert "threads" in waiting_cost.waiting_cost(metrics, WARM_UP_USERS, holds=round(under_way) + 1)


def test_without_a_collection_nothing_is_said_of_the_heap(run):
    """All of it may be garbage; threads and memory outside of it are told all the same."""
    (folder, _) = run.cells()
    metrics = folder.metrics()
    never = metrics.assign(value=metrics["value"].where(metrics["name"] != GC_COUNT, 3.0))
    assert waiting_cost.waiting_cost(never, WARM_UP_USERS).keys() == {"in_flight", "threads", "native_bytes"}


def test_nothing_is_said_of_waiting_where_hardly_anything_waits(run):
    """Fewer than in the warm-up, or nothing read."""
    assert courses(run)["webflux"].waiting == {}
    (folder, _) = run.cells()
    metrics = folder.metrics()
    for lacking in ("under_way", "threads", "rss_bytes"):
        assert waiting_cost.waiting_cost(metrics[metrics["name"] != lacking]) == {}


def test_the_course_is_in_tables_json_and_report(run, typed):
    """Of each variant: windows, knee, and what waiting costs."""
    printed = typed("show", str(run.path)).stdout
    assert "by time window" in printed
    assert "what waiting costs, at the peak" in printed
    shown = json.loads(typed("show", str(run.path), "--json").stdout)["cells"]
    assert [row["ramp"]["kept_rps"] for row in shown] == [c.kept_rps for c in courses(run).values()]
    assert sum(window["offered"] for window in shown[0]["ramp"]["windows"]) == shown[0]["requests"] == 5000
    page = html.render(run_view.Run(run))
    assert "What waiting costs" in page
    assert 'alt="The ramp.' in page
    assert 'alt="How requests ended.' in page


def test_the_figure_of_outcomes_shows_every_request_once(run):
    """A row a variant; its bars hold as many requests as were sent, and say how they ended."""
    figure = run_view.Run(run).outcomes_figure()
    assert len(figure.axes) == 2
    for axes, course in zip(figure.axes, courses(run).values(), strict=True):
        sent = sum(bar.get_height() * bar.get_width() for bars in axes.containers for bar in bars)
        assert sent == pytest.approx(course.windows["offered"].sum())
        assert axes.get_title(loc="left").endswith(": of 5,000 requests 5,000 right")
    assert figure.png(dpi=30)


def test_the_figure_of_outcomes_tells_a_breakers_answers_from_right_ones():
    """Each by its own bars, in the order from below; what never occurred is not named."""
    counts = {"right": [4, 1], "fallback": [0, 2], "refused": [0, 0], "failed": [0, 1]}
    windows = pd.DataFrame({"from_s": [0.0, 2.0], "to_s": [2.0, 4.0], "offered": [4, 4], **counts})
    (axes,) = figures.outcomes_figure("title", {"mvc": windows}).axes
    assert axes.get_title(loc="left") == "mvc: of 8 requests 5 right, 2 fallback, 1 failed"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["right", "fallback", "failed"]
    heights = {bars.get_label(): [bar.get_height() for bar in bars] for bars in axes.containers}
    assert heights["fallback"] == [0, 1]


def test_the_figure_of_a_ramp_shows_what_there_is(run):
    """Answers of both variants, a dot for the one knee with its interval, and readings where there are some."""
    figure = run_view.Run(run).ramp_figure()
    answers, threads, memory = figure.axes
    assert len(answers.lines) == 6  # what was sent, two variants, a knee, and the ends of its interval
    assert len(answers.containers) == 1
    assert len(threads.lines) == len(memory.lines) == 2
    assert figure.png(dpi=30)
