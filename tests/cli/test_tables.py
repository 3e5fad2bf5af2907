"""What stands beside a measurement, in terminal and report: published rows of the same settings, repeats told apart."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict

import pytest
from machines import HERE

from lab.experiments import scenarios
from lab.formulas import stats
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.spec.sample import SCHEMA
from lab.storage import published, run_folder
from lab.storage.run_folder import RunFolder

LINK = {"link_rate": 3_500_000, "link_connection_rate": 90_000}


def row_for(scenario: str, variant: str = "mvc", **options) -> published.Row | None:
    """What is published for a run of one variant."""
    plan = make_plan(scenarios()[scenario], Options(variants=[variant], **options), HERE)
    return published.row_for(plan, plan.cells[0], scenarios()[scenario].variant(variant))


def test_the_published_settings_have_their_row():
    """As the document ran it: 15.729 s at 4000 users; over its link 28.492 s at 100."""
    assert row_for("delay", users=[4000]).mean_s == 15.729
    assert row_for("document", users=[100], **LINK).mean_s == 28.492
    assert row_for("delay", "mvc-virtual", users=[4000]) is None


@pytest.mark.parametrize(
    "other",
    [
        {"ramp_up": 60.0},
        {"ramp_up": 0.0},
        {"arrivals": "poisson"},
        {"loops": 2},
        {"duration": 20.0},
        {"threads": 50},
        {"parameters": {"delay_ms": 1000}},
    ],
)
def test_another_load_has_no_published_row(other):
    """Who starts when decides the queue as much as the threads do: nothing of that is comparable otherwise."""
    assert row_for("delay", users=[4000], **other) is None


@pytest.mark.parametrize("other", [{"ramp_up": 30.0}, {"arrivals": "poisson"}, {"link_latency_ms": 500}])
def test_another_way_to_the_database_has_no_published_row(other):
    """The document's link had a rate, and its users a ramp of a second."""
    assert row_for("document", users=[100], **LINK, **other) is None


def test_a_published_row_says_where_its_numbers_do_not_fit_its_settings(typed):
    """499 requests/s at 2000 users fit a ramp of two seconds, 1376 at 4000 one of 0.91."""
    said = typed("show", "delay-sweep").stdout
    assert "2.002, 499.4, ramp 2 s" in said
    assert "2.155, 1376.0, ramp 0.91 s" in said
    assert "3.284, 80.7 " in said


def test_repeats_are_told_apart(typed, tmp_path):
    """Each row has its number, and so has each reason."""
    folder = tmp_path / "20260101T000000Z-jwt"
    shutil.copytree(run_folder.EXAMPLES / "jwt-repeats", folder)
    path = folder / "cells" / "mvc-u50-r3" / "summary.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text()), "verdict": "suspect", "reasons": ["The fan was loud."]})
    )
    said = typed("show", "--data", str(tmp_path)).stdout
    assert re.search(r"users +┃ +repeat +┃ +requests", said)
    for number in range(1, 6):
        assert re.search(rf"^│ ?mvc +│ +50 +│ +{number} +│", said, re.MULTILINE)
    assert "mvc at 50 users, repeat 3: The fan was loud." in " ".join(said.split())


@pytest.fixture
def failing(tmp_path, samples_of) -> RunFolder:
    """A run whose first cell lost one request of 2,000 to a timeout, and whose second has 500 right answers."""
    plan = make_plan(scenarios()["delay"], Options(variants=["mvc", "webflux"], users=[10], seed=1), HERE)
    run = RunFolder.create(plan, [], {}, tmp_path)
    for cell, count, errors in ((plan.cells[0], 2000, [""] * 1999 + ["timeout"]), (plan.cells[1], 500, "")):
        folder = run.begin(cell)
        samples = samples_of([0.5] * (count - 1) + [120.0 if count == 2000 else 0.5], error=errors)
        filler = {"connect_us": 0, "bytes": 1, "worker": 0}
        samples.assign(**filler)[SCHEMA.names].to_parquet(folder.path / "samples.parquet")
        summary = {**asdict(stats.summarise(samples)), "predicted_mean_s": None, "verdict": "valid", "reasons": []}
        folder.keep("summary", summary)
    return run


def test_latencies_with_failures_stand_under_the_table_of_a_run_that_has_some(typed, failing):
    """Of the cell in which a request failed, and of no other: its mean is 60 ms longer than that of right answers."""
    shown = typed("show", failing.name, "--data", str(failing.path.parent))
    said = " ".join(shown.stdout.split())
    figures = "in seconds: mean 0.560, p50 0.500, p99 0.500, p99.9 0.500"
    assert f"mvc at 10 users: with failures and timeouts (1 of 2,000), {figures}" in said
    assert said.count("with failures and timeouts") == 1
    rows = json.loads(typed("show", failing.name, "--json", "--data", str(failing.path.parent)).stdout)["cells"]
    assert rows[0]["all_mean_s"] == pytest.approx(0.55975)
    assert [(row["p999_s"], row["all_p999_s"]) for row in rows] == [(0.5, 0.5), (None, None)]


def test_the_slowest_one_in_a_thousand_has_a_column_where_a_row_has_one(typed, failing):
    """A dash for the cell of 500 answers, and no column at all where no cell has enough of them."""
    words = ("show", failing.name, "--data", str(failing.path.parent))
    assert "p99.9" in typed(*words).stdout.split("with failures")[0]
    row = next(line for line in typed(*words).stdout.splitlines() if re.match("│ ?webflux", line))
    assert row.split("│")[8].strip() == "–"
    assert "p99.9 takes 1,000 right answers." in typed(*words).stdout
    for cell in failing.cells():
        cell.keep("summary", {**cell.read("summary"), "p999_s": None})
    assert "p99.9" not in typed(*words).stdout.split("with failures")[0]


def test_a_single_measurement_has_no_number(typed):
    """Where nothing was repeated there is nothing to tell apart."""
    assert "repeat" not in typed("show", "delay-sweep").stdout
