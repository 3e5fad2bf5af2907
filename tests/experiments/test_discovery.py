"""An experiment is found by its folder: nothing else has to learn its name."""

from __future__ import annotations

import pytest
from machines import HERE

from lab import experiments
from lab.errors import LabError
from lab.spec import planning
from lab.spec.options import Options

MADE_UP = """
from dataclasses import replace
from lab.experiments.delay.scenario import SCENARIO as DELAY

SCENARIO = replace(DELAY, name="made-up", requests=(replace(DELAY.requests[0], path="/made-up/{delay_ms}"),))
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch) -> str:
    """A folder with a scenario in it, where experiments are looked for."""
    (tmp_path / "made_up").mkdir()
    (tmp_path / "made_up" / "__init__.py").touch()
    (tmp_path / "made_up" / "scenario.py").write_text(MADE_UP)
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    experiments.scenarios.cache_clear()
    yield "made-up"
    experiments.scenarios.cache_clear()


def test_a_new_experiment_is_a_folder(made_up):
    """It is listed beside the others, and can be planned."""
    assert {"delay", "fanout", made_up} <= set(experiments.scenarios())
    plan = planning.make_plan(experiments.find_scenario(made_up), Options(users=[5]), HERE)
    assert plan.scenario.requests[0].path == "/made-up/{delay_ms}"


def test_without_its_folder_it_is_not_there():
    """An unknown one is answered with those there are."""
    with pytest.raises(LabError) as caught:
        experiments.find_scenario("made-up")
    assert "made-up" in caught.value.problem
    assert "delay" in caught.value.next_step
