"""Notebooks: committed without outputs, and executed from an empty kernel on the runs that ship with the lab."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from machines import HERE
from nbclient import NotebookClient
from nbformat import NotebookNode
from patience import PATIENCE_S

import lab
from lab.errors import LabError
from lab.experiments import scenarios
from lab.reporting import figures
from lab.reporting.figures import Picture
from lab.spec import planning
from lab.spec.options import Options
from lab.storage import run_folder

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def names(path: Path) -> str:
    """What pytest calls a notebook."""
    return path.stem


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_it_is_committed_without_outputs(path):
    """What a notebook shows is made anew, so that it cannot be out of date."""
    cells = nbformat.read(path, as_version=4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def is_quick(path: Path) -> bool:
    """Whether `make test` executes it: the tour and the comparison, however many experiments have a notebook."""
    return path.stem in {"00-tour", "05-compare"}


@pytest.fixture(scope="module")
def executions(request) -> Iterator[dict[Path, Future[NotebookNode]]]:
    """The notebooks with their outputs, by path; two kernels at a time, which spend half of their time waiting."""
    asked = {item.callspec.params["path"] for item in request.session.items if "executions" in item.fixturenames}
    with ThreadPoolExecutor(2) as pool:
        yield {path: pool.submit(executed, path) for path in sorted(asked)}
        pool.shutdown(cancel_futures=True)  # where a run of tests ends early


def executed(path: Path) -> NotebookNode:
    """A notebook after every cell has run, in a kernel of its own."""
    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=PATIENCE_S, startup_timeout=PATIENCE_S, resources=here).execute()
    return notebook


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[] if is_quick(path) else pytest.mark.thorough) for path in NOTEBOOKS], ids=names
)
def test_it_runs_on_the_example_and_shows_its_figures(executions, path):
    """Every cell runs without an error, and there is something to see."""
    notebook = executions[path].result()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    kinds = [kind for output in outputs if "data" in output for kind in output.data]
    assert kinds.count("image/png") >= 1
    assert "text/html" in kinds


def test_what_may_hide_in_an_undecided_ratio_is_not_asked_of_failures():
    """Their intervals are differences in percentage points, of which nothing is to be taken away."""
    (path,) = [path for path in NOTEBOOKS if path.stem == "05-compare"]
    (cell,) = [cell for cell in nbformat.read(path, as_version=4).cells if "hidden = " in cell.source]
    rows = [("failed %", -0.5, 1.5), ("p99 s", 0.9, 1.2)]
    table = pd.DataFrame(rows, columns=["metric", "low", "high"]).assign(a="mvc", b="webflux", verdict="undecided")
    known = {"comparison": SimpleNamespace(table=lambda: table)}
    exec(cell.source, known)
    assert known["hidden"].round(6).to_numpy().tolist() == [[-10.0, 20.0]]


@pytest.fixture
def mine(tmp_path):
    """A folder of runs: an old and a new one of delay, and a newer one of another scenario."""
    for name in ("20260101T000000Z-delay", "20260102T000000Z-delay-2", "20260103T000000Z-jwt"):
        (tmp_path / name).symlink_to(run_folder.EXAMPLES / "delay-sweep")
    return tmp_path


def never() -> None:
    """Measures nothing, and says that it should not have been asked."""
    pytest.fail("measured, though nobody asked for it")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("example", "delay-sweep"),
        ("latest", "20260102T000000Z-delay-2"),
        ("20260101T000000Z-delay", "20260101T000000Z-delay"),
    ],
)
def test_the_switch_opens_what_it_names(mine, source, name):
    """The example, the newest run of the same scenario, or any run by name."""
    assert lab.choose(source, example="delay-sweep", now=never, data=mine).name == name


@pytest.mark.parametrize(
    "other_way",
    [
        {'"threads": 200': '"threads": 10'},
        {'"type": "burst"': '"type": "closed"', '"loops": 1': '"duration_s": 20.0'},
    ],
)
def test_the_latest_may_have_to_be_like_the_example(mine, other_way):
    """With ``alike`` a newer run of the same scenario is passed over if its limits or its kind of load are others."""
    other = mine / "20260104T000000Z-delay"
    other.mkdir()
    text = (run_folder.EXAMPLES / "delay-sweep" / "run.json").read_text()
    for here, there in other_way.items():
        text = text.replace(here, there)
    other.joinpath("run.json").write_text(text)
    for cells in ("cells", "environment.json"):
        (other / cells).symlink_to(run_folder.EXAMPLES / "delay-sweep" / cells)
    newest, like = (
        lab.choose("latest", example="delay-sweep", now=never, alike=alike, data=mine).name for alike in (False, True)
    )
    assert (newest, like) == ("20260104T000000Z-delay", "20260102T000000Z-delay-2")


def test_a_damaged_run_is_passed_over_where_the_latest_has_to_be_alike(mine):
    """What its settings were nobody knows; the newest that is known to have them is opened."""
    damaged = mine / "20260105T000000Z-delay"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    opened = lab.choose("latest", example="delay-sweep", now=never, alike=True, data=mine)
    assert opened.name == "20260102T000000Z-delay-2"


@pytest.mark.thorough
@pytest.mark.parametrize("stance", ["default", "tuned"])
def test_theory_needs_no_limit_that_the_lab_has_set(tmp_path, stance):
    """A run that leaves the threads to the stack, or tunes them for each, meets the formulas like any other."""
    run = tmp_path / "20260101T000000Z-delay"
    shutil.copytree(run_folder.EXAMPLES / "delay-sweep", run)
    value = json.loads((run / "run.json").read_text())
    plan = planning.make_plan(
        scenarios()["delay"], Options(limits=stance, users=scenarios()["delay"].sweep["users"]), HERE
    )
    (run / "run.json").write_text(json.dumps({**value, "format": run_folder.FORMAT, "plan": plan.as_json()}))
    notebook = nbformat.read(NOTEBOOKS[0].with_name("04-theory.ipynb"), as_version=4)
    (first,) = [cell for cell in notebook.cells if "lab.choose(" in cell.source]
    first.source = first.source.replace('SOURCE = "example"', f"SOURCE = {str(run)!r}")
    here = {"metadata": {"path": str(NOTEBOOKS[0].parent)}}
    NotebookClient(notebook, timeout=PATIENCE_S, startup_timeout=PATIENCE_S, resources=here).execute()
    assert "⌈R/T⌉·t, s" in notebook.cells[-2].outputs[0].data["text/html"]


def test_the_switch_measures_only_when_told(mine):
    """``run now`` gives what was just measured."""
    measured = lab.open_run("delay-sweep")
    assert lab.choose("run now", example="delay-sweep", now=lambda: measured, data=mine) is measured


def test_the_switch_says_when_there_is_nothing_newer(tmp_path):
    """The latest of no runs is one sentence with the next step."""
    with pytest.raises(LabError, match="no run of delay") as error:
        lab.choose("latest", example="delay-sweep", now=never, data=tmp_path)
    assert "run now" in error.value.next_step


def test_a_slider_draws_the_figure_again_in_its_place(monkeypatch):
    """Moving it calls for the figure with the new value, and the others as they are."""
    drawn, displayed, updates = [], [], []

    def draw(users=10, ramp_s=1.0):
        drawn.append((users, ramp_s))
        return Picture()

    def display(thing, display_id=False):
        displayed.append(thing)
        return SimpleNamespace(update=updates.append)

    monkeypatch.setattr("IPython.display.display", display)
    figures.interactive(draw, users=(1, 100, 1), ramp_s=(0.0, 2.0, 0.5))
    users, ramp = displayed[0].children
    users.value = 42
    ramp.value = 1.5
    assert drawn == [(10, 1.0), (42, 1.0), (42, 1.5)]
    assert len(updates) == 2
