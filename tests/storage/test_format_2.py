"""Plans of format 2, whose loads had all fields and zeros for what they did not do, as they are read today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machines import HERE

import lab
from lab.errors import LabError
from lab.experiments import scenarios
from lab.spec import prediction
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.spec.planning import make_plan
from lab.spec.workload import Burst, Closed, Open, Total
from lab.storage import format_2
from lab.storage.run_folder import FORMAT, RunFolder

OF_FORMAT_2 = {
    "users": 9,
    "ramp_s": 2.0,
    "loops": 1,
    "duration_s": 0.0,
    "requests": 0,
    "rate_rps": 0.0,
    "arrivals": "poisson",
    "timeout_s": 5.0,
    "workers": 2,
    "remote_workers": 1,
}
SAME = {"users": 9, "arrivals": "poisson", "timeout_s": 5.0, "workers": 2, "remote_workers": 1}


def plan_of(load: dict) -> dict:
    """A plan of format 2, as JSON, whose cells have this load, and whose scenario by default is a burst."""
    plan = make_plan(scenarios()["delay"], Options(users=[9], seed=1), HERE).as_json()
    cells = [{**cell, "load": load} for cell in plan["cells"]]
    return {**plan, "cells": cells, "scenario": {**plan["scenario"], "load": OF_FORMAT_2}}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"loops": 3}, Burst(**SAME, ramp_s=2.0, loops=3)),
        ({"duration_s": 8.0}, Closed(**SAME, ramp_s=2.0, duration_s=8.0)),
        ({"requests": 20}, Total(**SAME, ramp_s=2.0, requests=20)),
        ({"duration_s": 8.0, "rate_rps": 50.0, "ramp_s": 0.0}, Open(**SAME, rate_rps=50.0, duration_s=8.0)),
    ],
)
def test_each_kind_of_load_is_told_by_what_was_not_zero(said, meant):
    """In the cells and in the scenario; what was given is not changed by that."""
    given = plan_of({**OF_FORMAT_2, **said})
    before = json.dumps(given)
    plan = Plan.from_json(format_2.upgraded(given))
    assert {cell.load for cell in plan.cells} == {meant}
    assert plan.scenario.load == Burst(**SAME, ramp_s=2.0)
    assert json.dumps(given) == before


def test_the_first_runs_of_the_format_are_read_by_the_definitions_of_their_time():
    """Their scenarios had no demands yet; a plan of then, as it was stored."""
    stored = json.loads(Path(__file__).with_name("first_of_format_2.json").read_text())
    plan = Plan.from_json(format_2.upgraded(stored))
    assert plan.scenario.requests[0].path == "/delay/{delay_ms}"
    assert [cell.id for cell in plan.cells] == [
        f"{cell['variant']}-u{cell['load']['users']}-r1" for cell in stored["cells"]
    ]
    assert prediction.predict(plan, plan.cells[0]) is not None


def test_loads_from_before_there_were_rates_are_read():
    """The first runs knew neither rates nor arrivals nor workers elsewhere."""
    known = {"users": 9, "ramp_s": 2.0, "loops": 1, "duration_s": 0.0, "requests": 0, "timeout_s": 120.0, "workers": 1}
    assert Plan.from_json(format_2.upgraded(plan_of(known))).cells[0].load == Burst(users=9, ramp_s=2.0)


@pytest.mark.parametrize(
    "load", [{**OF_FORMAT_2, "colour": "red"}, {**OF_FORMAT_2, "duration_s": "long"}, {"ramp_s": 1.0}, [], None]
)
def test_a_damaged_load_is_still_refused(load, tmp_path):
    """A key that there never was is not lost on the way, and a damaged run is named."""
    plan = make_plan(scenarios()["delay"], Options(users=[9], seed=1), HERE)
    run = RunFolder.create(plan, [], {}, tmp_path)
    (run.path / "run.json").write_text(json.dumps({**run.read(), "format": 2, "plan": plan_of(load)}))
    with pytest.raises(LabError, match="damaged"):
        run.plan()


def test_a_new_run_says_that_it_has_the_format_of_today(tmp_path):
    """And holds of each load what its kind has, and nothing that is off."""
    run = RunFolder.create(make_plan(scenarios()["delay"], Options(ramp="0:5:2", seed=1), HERE), [], {}, tmp_path)
    written = json.loads((run.path / "run.json").read_text())
    assert written["format"] == FORMAT == 4
    load = written["plan"]["cells"][0]["load"]
    assert load.keys() == {"type", *SAME, "pace", "from_rps", "to_rps", "duration_s"}
    assert load["type"] == "ramp"


@pytest.mark.parametrize(
    ("example", "kind"),
    [("document-link", Burst), ("chain-loop", Closed), ("jwt-repeats", Total), ("own-service", Closed)],
)
def test_the_examples_are_read_by_what_they_measured(example, kind):
    """They are of format 1 and 2, and stay it."""
    run = lab.open_run(example)
    assert run.folder.read()["format"] < FORMAT
    assert {type(cell.load) for cell in run.plan.cells} == {kind}
