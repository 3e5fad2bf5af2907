"""The view of a run whose cells are not all there, or not all of the same repeat."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machines import HERE
from made_runs import MACHINE, fill

from lab.analysis.pairing import Terms
from lab.errors import LabError
from lab.experiments import find_scenario
from lab.generator import calibration
from lab.reporting import comparison_view, html
from lab.reporting.run_view import Run
from lab.running import estimate
from lab.spec import planning
from lab.spec.options import Options
from lab.storage.run_folder import RunFolder


@pytest.fixture
def plan():
    """Two starts of three variants."""
    return planning.make_plan(find_scenario("delay"), Options(users=[5], repeat=2), HERE)


def measured(plan, runs, facts=MACHINE, but=()) -> Run:
    """A run of a plan of which all cells but some are there."""
    folder = RunFolder.create(plan, [], facts, runs)
    for cell in plan.cells:
        if cell not in but:
            fill(folder.begin(cell), 0.1, np.random.default_rng(1))
    return Run(folder)


def test_variants_of_a_later_batch_are_in_figures_and_cards_too(plan, tmp_path):
    """In turns in batches, where memory holds two of three, the first start of one variant is not that of another."""
    last = plan.cells[-1].variant
    run = measured(
        replace(plan, cells=tuple(cell for cell in plan.cells if (cell.variant, cell.repeat) != (last, 1))), tmp_path
    )
    first = {"mvc": 1, "mvc-virtual": 1, "webflux": 1, last: 2}
    assert {panel.variant for panel in run.panels()} == set(first)
    assert {row["variant"]: row["repeat"] for row in run.first_rows()} == first
    assert {row["variant"] for row in html.Page(run).cards} == set(first)


def test_limits_that_were_read_are_shown_of_a_run_that_was_interrupted(plan, tmp_path):
    """What the first start of a variant reported does not go for want of the second."""
    run = measured(plan, tmp_path, but=[cell for cell in plan.cells if cell.repeat == 2])
    assert set(run.limits()) == {"mvc", "mvc-virtual", "webflux"}


@pytest.mark.parametrize("scrapes", [{"service": {}}, {"service": 3}, [1]])
def test_evidence_that_is_damaged_is_said_to_be(plan, tmp_path, scrapes):
    """In a sentence that names the file, as for any other file of a run."""
    run = measured(plan, tmp_path)
    run.folder.cells()[0].keep("evidence", {"scrapes": scrapes})
    with pytest.raises(LabError, match=r"is damaged: evidence\.json"):
        _ = run.cells


@pytest.mark.parametrize("elapsed_s", ["9", [9], {}])
def test_an_older_run_with_a_damaged_time_does_not_stop_the_estimate_of_the_next(plan, tmp_path, elapsed_s):
    """It is left out of what is learned from earlier runs."""
    run = measured(plan, tmp_path)
    run.folder.cells()[0].keep("timing", {"elapsed_s": elapsed_s})
    assert estimate.cell_overheads_s(plan, tmp_path) == []


@pytest.mark.parametrize("damaged", [{"packages": ["lab"]}, {"memory_bytes": "much"}, {"commit": 7}])
def test_an_environment_of_wrong_types_is_no_failure_of_a_comparison(plan, tmp_path, damaged):
    """Two runs of one machine, of which one has been written to by somebody else."""
    one, other = (measured(plan, tmp_path, facts) for facts in (MACHINE, {**MACHINE, **damaged}))
    assert comparison_view.compare(one.name, other.name, Terms(although_different=True), tmp_path).rows


@pytest.mark.usefixtures("words_only")
def test_the_report_says_of_how_many_workers_a_ceiling_is_and_whether_it_is_a_bound(plan, tmp_path):
    """A ceiling that something else than the generator limited is at least that."""
    found = calibration.Calibration(
        *("f", "2026-01-01T00:00:00Z"),
        (
            calibration.Ceiling("small", 50_000.0, calibration.GENERATOR, 0.99, 0.6),
            calibration.Ceiling("small", 54_000.0, calibration.SERVER, 0.8, 0.99, workers=2),
        ),
    )
    page = html.render(measured(plan, tmp_path, {**MACHINE, "calibration": found.as_json()}))
    assert "small 50,000 requests/s, small with 2 workers at least 54,000 requests/s" in page
