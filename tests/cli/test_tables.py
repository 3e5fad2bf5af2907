"""What stands beside a measurement, in terminal and report: published rows of the same settings, repeats told apart."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from lab.experiments import scenarios
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.storage import published, run_folder

LINK = {"link_rate": 3_500_000, "link_connection_rate": 90_000}


def row_for(scenario: str, variant: str = "mvc", **options) -> published.Row | None:
    """What is published for a run of one variant."""
    plan = make_plan(scenarios()[scenario], Options(variants=[variant], **options))
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


def test_a_single_measurement_has_no_number(typed):
    """Where nothing was repeated there is nothing to tell apart."""
    assert "repeat" not in typed("show", "delay-sweep").stdout
