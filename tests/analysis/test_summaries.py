"""Summaries of runs that were made before a figure was stored: it is computed from their samples, if these are few."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from machines import HERE

from lab.analysis import summaries
from lab.analysis.summaries import ADDED_LATER, summary_of
from lab.experiments import scenarios
from lab.formulas import stats
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.spec.sample import SCHEMA
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder


@pytest.fixture
def older(tmp_path, samples_of):
    """A function that makes a cell of an older run, of 1,200 requests of which some failed, and all of its summary."""

    def make(**options) -> tuple[CellFolder, stats.Summary]:
        plan = make_plan(scenarios()["delay"], Options(variants=["mvc"], users=[5], seed=1, **options), HERE)
        cell = RunFolder.create(plan, [], {}, tmp_path / "runs").begin(plan.cells[0])
        samples = samples_of(
            [n / 1000 for n in range(1, 1201)],
            sent_s=[n / 100 + 0.5 for n in range(1200)],
            planned_s=[n / 100 for n in range(1200)],
            error=[""] * 1190 + ["timeout"] * 10,
        )
        samples.assign(connect_us=0, bytes=1, worker=0)[SCHEMA.names].to_parquet(cell.kept)
        summary = stats.summarise(samples, from_planned=plan.cells[0].load.independent)
        cell.keep("summary", {name: value for name, value in asdict(summary).items() if name not in ADDED_LATER})
        return cell, summary

    return make


@pytest.mark.parametrize("options", [{}, {"rate": 100.0, "duration": 12.0}])
def test_figures_that_were_added_later_come_from_the_samples(older, options):
    """They are those that the run would have stored, also in an open loop, whose latencies count from the plan."""
    cell, summary = older(**options)
    assert summary_of(cell) == asdict(summary)
    assert summary.p999_s != summary.all_p999_s


def test_of_many_samples_they_are_not_known(older, monkeypatch):
    """A table is not kept waiting; everything that was stored is there."""
    monkeypatch.setattr(summaries, "MOST_SAMPLES", 1199)
    cell, summary = older()
    assert summary_of(cell) == {**asdict(summary), **dict.fromkeys(ADDED_LATER)}


def test_what_was_stored_is_believed(older):
    """A run of today is not computed again, and a cell that was not measured has nothing."""
    cell, _ = older()
    cell.keep("summary", {"requests": 1200, **dict.fromkeys(ADDED_LATER, 7.0)})
    assert summary_of(cell) == {"requests": 1200, **dict.fromkeys(ADDED_LATER, 7.0)}
    (cell.path / "summary.json").unlink()
    assert summary_of(cell) == {}
