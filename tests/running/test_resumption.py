"""Runs that were interrupted: which cells are missing, who may go on with them, and what is recorded."""

from __future__ import annotations

import pytest
from orphans import orphaned

from lab.errors import LabError
from lab.running import resumption
from lab.running.progress import Reporter
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder

HERE = {"host": "here", "commit": "1a2b", "packages": {"locust": "2.47.0"}, "time": "now"}
QUIET = Reporter(quiet=True)


def measured(run: RunFolder, index: int, interrupted: bool = False) -> CellFolder:
    """A cell of the run with the files that say it was measured."""
    folder = run.begin(run.plan().cells[index])
    folder.keep("evidence", {"interrupted": interrupted})
    folder.keep("summary", {"requests": 5, "elapsed_s": 1.0})
    return folder


@pytest.fixture
def run(plan, tmp_path) -> RunFolder:
    """A run whose lab was killed before it measured anything."""
    return orphaned(RunFolder.create(plan, ["lab", "run"], HERE, tmp_path / "runs"))


def test_missing_are_the_cells_without_a_summary(run, plan):
    """A cell that was begun and cut off is missing like one that was never begun."""
    assert run.missing() == list(plan.cells)
    measured(run, 0)
    run.begin(plan.cells[1])
    assert run.missing() == [plan.cells[1]]
    assert run.state() == "incomplete"


def test_an_interrupted_cell_is_missing_too(run, plan):
    """Ctrl-C in the last cell leaves a summary, but not a complete run."""
    measured(run, 0)
    measured(run, 1, interrupted=True)
    assert run.missing() == [plan.cells[1]]
    assert run.state() == "incomplete"


def test_what_was_cut_off_is_set_aside(run, plan):
    """Nothing is lost, however often it happens."""
    for number in (1, 2):
        cell = measured(run, 0, interrupted=True)
        cell.set_aside()
        assert not cell.path.exists()
        assert (run.path / "cells" / f"{plan.cells[0].id}.interrupted-{number}" / "summary.json").exists()
    run.cell(plan.cells[0]).set_aside()
    assert len(list((run.path / "cells").iterdir())) == 2


def test_a_run_that_is_reopened_is_going_on(run):
    """It belongs to this process, its error is gone, and the environment of the second part is beside the first."""
    run.fail("Interrupted.")
    run.scratch.mkdir()
    resumption.reopen(run, {**HERE, "time": "later"}, ["lab", "resume"], False, QUIET)
    assert run.state() == "running"
    assert not (run.path / "error.txt").exists()
    assert not run.scratch.exists()
    assert run.environment() == HERE
    recorded = run.note("environment-resume-1")
    assert (recorded["time"], recorded["command"], recorded["different"]) == ("later", ["lab", "resume"], [])


@pytest.mark.parametrize("state", ["running", "complete", "damaged"])
def test_only_an_incomplete_run_can_be_resumed(run, state):
    """A run that goes on, is complete or is damaged is refused by name, and left alone."""
    if state == "running":
        resumption.reopen(run, HERE, [], False, QUIET)
    elif state == "complete":
        measured(run, 0)
        measured(run, 1)
    else:
        (run.path / "run.json").write_text("{")
    before = sorted(run.path.iterdir())
    with pytest.raises(LabError) as caught:
        run_folder.find_resumable(run.name, run.path.parent)
    assert run.name in caught.value.problem
    assert state in caught.value.problem
    with pytest.raises(LabError):
        resumption.reopen(run, HERE, [], True, QUIET)
    assert [path for path in sorted(run.path.iterdir()) if path.suffix == ".json"] == [
        path for path in before if path.suffix == ".json"
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"host": "there"}, "host was here, is there"),
        ({"commit": "3c4d"}, "commit was 1a2b, is 3c4d"),
        ({"packages": {"locust": "3.0"}}, "packages: locust was 2.47.0, is 3.0"),
    ],
)
def test_other_conditions_are_refused_unless_accepted_and_recorded(run, change, named):
    """Another machine, commit or package is named; accepted, it is in the run's folder."""
    with pytest.raises(LabError) as caught:
        resumption.reopen(run, {**HERE, **change}, [], False, QUIET)
    assert named in caught.value.problem
    assert "--anyway" in caught.value.next_step
    assert run.state() == "incomplete"
    resumption.reopen(run, {**HERE, **change}, [], True, QUIET)
    assert run.note("environment-resume-1")["different"] == [named]


def test_the_newest_incomplete_run_is_found(run, plan):
    """Complete runs and those that go on are passed over."""
    RunFolder.create(plan, [], HERE, run.path.parent)
    assert run_folder.find_resumable(None, run.path.parent) == run
    measured(run, 0)
    measured(run, 1)
    with pytest.raises(LabError, match="incomplete"):
        run_folder.find_resumable(None, run.path.parent)
