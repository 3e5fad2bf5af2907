"""Plans of format 3, whose parameters needed another one at any value but its default, as they are read today."""

from __future__ import annotations

import json

import pytest
from machines import HERE

import lab
from lab.errors import LabError
from lab.experiments import scenarios
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.spec.planning import make_plan
from lab.storage import format_3
from lab.storage.run_folder import FORMAT, RunFolder


def plan_of(needs: object) -> dict:
    """A plan of format 3, as JSON, whose parameters need this."""
    plan = make_plan(scenarios()["delay"], Options(users=[9], seed=1), HERE).as_json()
    parameters = [{**each, "needs": needs} for each in plan["scenario"]["parameters"]]
    return {**plan, "scenario": {**plan["scenario"], "parameters": parameters}}


@pytest.mark.parametrize(("stored", "meant"), [("", {}), ("b_slow", {"b_slow": ()})])
def test_what_a_parameter_needed_is_any_value_but_the_default(stored, meant):
    """As it was; what was given is not changed by that."""
    given = plan_of(stored)
    before = json.dumps(given)
    (parameter,) = format_3.upgraded(given)["scenario"]["parameters"]
    assert {name: tuple(values) for name, values in parameter["needs"].items()} == meant
    assert json.dumps(given) == before


def test_the_first_runs_of_the_format_said_of_no_parameter_what_it_needs():
    """They are read all the same."""
    given = plan_of("")
    for parameter in given["scenario"]["parameters"]:
        del parameter["needs"]
    assert Plan.from_json(format_3.upgraded(given)).scenario.parameters == scenarios()["delay"].parameters


@pytest.mark.parametrize("needs", [5, ["b_slow"], {"b_slow": []}, "b_slow"])
def test_a_damaged_need_is_still_refused(needs, tmp_path):
    """What is no name of a parameter, and a name that the scenario does not have."""
    run = RunFolder.create(make_plan(scenarios()["delay"], Options(users=[9], seed=1), HERE), [], {}, tmp_path)
    (run.path / "run.json").write_text(json.dumps({**run.read(), "format": 3, "plan": plan_of(needs)}))
    with pytest.raises(LabError, match="damaged"):
        run.plan()


def test_an_example_of_the_format_is_read_by_what_it_measured():
    """It stays of format 3."""
    run = lab.open_run("chain-outage")
    assert run.folder.read()["format"] == 3 < FORMAT
    needs = {parameter.name: parameter.needs for parameter in run.plan.scenario.parameters if parameter.needs}
    assert needs["b_slower_ms"] == {"b_slow": ()}
    assert needs["breaker_window"] == {"breaker": ()}
