"""Runs that were interrupted: which cells are missing, who may go on with them, and what is recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import machines
import pytest
from one_sentence import assert_refused
from orphans import orphaned

from lab.errors import LabError
from lab.experiments import scenarios
from lab.running import resumption
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import note_javas
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.spec.scenario import Rehearsal
from lab.spec.system import Variant
from lab.spec.workload import Burst
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.system.jdk import Jdk

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


def test_a_run_goes_on_only_with_the_releases_of_java_that_it_began_with(run):
    """They are installed after it was opened again, so that opening it says nothing of them."""
    installed = {21: Jdk(Path("java-21"), "21.0.8", "here")}
    note_javas(run, installed)
    resumption.reopen(run, HERE, [], False, QUIET)
    note_javas(run, installed)
    with pytest.raises(LabError) as caught:
        note_javas(run, {21: Jdk(Path("java-21"), "21.0.9", "here")})
    assert caught.value.problem == f"Run {run.name} was measured on Java 21.0.8, and here is 21.0.9."
    assert run.environment()["javas"] == {"21": "21.0.8"}


def test_the_newest_incomplete_run_is_found(run, plan):
    """Complete runs and those that go on are passed over."""
    RunFolder.create(plan, [], HERE, run.path.parent)
    assert run_folder.find_resumable(None, run.path.parent) == run
    measured(run, 0)
    measured(run, 1)
    with pytest.raises(LabError, match="incomplete"):
        run_folder.find_resumable(None, run.path.parent)


def changed(run: RunFolder, change) -> None:
    """Change what a run's run.json holds, as anybody can who sends it."""
    value = run.read()
    change(value)
    (run.path / "run.json").write_text(json.dumps(value))


def test_the_owner_of_a_run_decides_nothing_about_its_plan(run):
    """Another process goes on with it; its plan is still this checkout's, in whatever order its keys are."""
    changed(run, lambda value: value["owner"].update(pid=1))
    changed(run, lambda value: value.update(plan=dict(reversed(value["plan"].items()))))
    resumption.check_planned_here(run)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["plan"]["scenario"]["components"].append({"name": "a", "command": ["touch", "there"]}),
        lambda value: value["plan"]["scenario"]["variants"][0].update(jvm_arguments=["-XX:OnError=touch there"]),
        lambda value: value["plan"]["scenario"]["variants"][0].update(properties={"planted": "touch there"}),
        lambda value: value["plan"].update(locustfile={"path": "touch there", "sha256": ""}),
        lambda value: [each.update(url="http://touch there") for each in value["plan"]["scenario"]["variants"]],
        lambda value: value["plan"]["scenario"]["variants"][0].update(jvm_arguments=["touch there\x1b[2J"]),
    ],
)
def test_a_run_that_somebody_else_has_planned_is_not_resumed_unasked(run, change):
    """It would execute what it says, so all of that is shown, and the owner that it names proves nothing."""
    changed(run, change)
    with pytest.raises(LabError) as caught:
        resumption.resume(run, Invocation(["lab"], run.path.parent, QUIET), anyway=True)
    assert "touch there" in (caught.value.detail or "")
    assert "\x1b" not in (caught.value.detail or "")
    assert "--theirs" in caught.value.next_step
    assert run.state() == "incomplete"


@pytest.mark.parametrize("seal", [None, "", "0" * 64])
def test_a_run_without_a_seal_of_this_checkout_is_somebody_elses(run, seal):
    """Such as one from before there were seals, or of another checkout."""
    changed(run, lambda value: value.update(seal=seal))
    with pytest.raises(LabError, match="was not planned by this checkout"):
        resumption.check_planned_here(run)


def test_a_run_that_another_machine_was_at_is_not_taken_from_it(run):
    """Both share a disk: its process ids mean nothing here, so that what goes on there looks as if it had ended."""
    changed(run, lambda value: value["owner"].update(pid=1, machine="0123456789ab", checkout="0123456789ab"))
    assert run.state() == "incomplete"
    with pytest.raises(LabError, match="it may go on there"):
        resumption.resume(run, Invocation(["lab"], run.path.parent, QUIET), anyway=True)
    assert run.is_of_another_checkout  # so that nothing cleans it


@pytest.mark.parametrize("name", ["adopt.lock", "logs/mysql.log", "cells/planted\x1b", "environment-resume-1.json"])
@pytest.mark.parametrize("leads_to", ["file", "folder", "nothing"])
def test_a_run_with_links_is_not_resumed_even_if_it_is_trusted(run, typed, tmp_path, name, leads_to):
    """What it would write through one is a file of whoever resumes it."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    link = run.path / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / leads_to)
    before = (run.path / "run.json").read_bytes()
    refused = typed("resume", run.name, "--theirs", "--anyway", "--data", str(run.path.parent))
    assert_refused(refused, "symbolic link", repr(name))
    assert "\x1b" not in refused.stderr
    with pytest.raises(LabError, match="symbolic link"):
        resumption.reopen(run, HERE, [], True, QUIET)
    assert (run.path / "run.json").read_bytes() == before
    assert (tmp_path / "file").read_text() == "mine"
    assert not any((tmp_path / "folder").iterdir())
    assert not (tmp_path / "nothing").exists()


def test_a_run_whose_folder_is_on_another_disk_has_no_links(run, tmp_path):
    """Its own name may lead there, as it does where nothing is written."""
    (tmp_path / "link").symlink_to(run.path)
    resumption.check_no_links(RunFolder(tmp_path / "link"))


def test_somebody_elses_run_is_resumed_by_who_trusts_it(tmp_path, typed):
    """Its program is executed only then, and was shown with the variables that decide what it does."""
    there = tmp_path / "there"
    programs = replace(
        scenarios()["delay"],
        name="theirs",
        requests=(),
        contract=(),
        parameters=(),
        components=(),
        variants=(Variant("touch", "", "touch", command=("touch", str(there)), environment={"TOLD": "planted"}),),
        load=Burst(users=1, ramp_s=0.0, loops=1),
        rehearsal=Rehearsal(requests=0, rounds=1),
        sweep={},
    )
    theirs = orphaned(
        RunFolder.create(make_plan(programs, Options(users=[1]), machines.HERE), [], {}, tmp_path / "runs")
    )
    changed(theirs, lambda value: value.pop("seal"))
    words = ("resume", theirs.name, "--anyway", "--allow-suspect", "--data", str(tmp_path / "runs"))
    refused = typed(*words)
    assert refused.returncode == 2
    assert f"TOLD=planted touch {there}" in refused.stderr
    assert not there.exists()
    typed(*words, "--theirs")
    assert there.exists()
