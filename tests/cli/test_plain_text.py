"""What logs, paths and reasons hold is shown as it is: brackets are no markup."""

from __future__ import annotations

import io
import json
import shutil

import pytest
from rich.console import Console

from lab.cli.tables import print_run
from lab.reporting import run_view
from lab.running.progress import Reporter
from lab.storage import run_folder

TOMCAT = "ERROR [nio-8080-exec-1] o.a.c.c.C.[Tomcat].[localhost].[/] : Servlet.service() for [/delay] failed"


@pytest.fixture
def console() -> Console:
    """A console that prints to memory, as into a file."""
    return Console(file=io.StringIO(), width=200)


def test_log_lines_are_said_as_they_are(console):
    """A component_error's log, with a styled word or without, comes out unchanged."""
    reporter = Reporter(console)
    reporter.say(TOMCAT)
    reporter.say(f"It broke.\n{TOMCAT}", "It broke.", "red")
    assert console.file.getvalue() == f"{TOMCAT}\nIt broke.\n{TOMCAT}\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_notes_of_a_phase_are_shown_as_they_are(terminal):
    """Lines of a build, which are notes of its phase, are no markup either, in bars and in files."""
    console = Console(file=io.StringIO(), width=200, force_terminal=terminal, color_system=None)
    with Reporter(console).phase("build [/x]") as update:
        update(1, TOMCAT)
    assert console.file.getvalue().rstrip().endswith(TOMCAT)


def test_reasons_and_paths_are_shown_as_they_are(typed, tmp_path):
    """'show' of a run whose reasons and whose folder have brackets."""
    runs = tmp_path / "[/data] [bold]"
    example = next(run_folder.EXAMPLES.glob("*/run.json")).parent
    shutil.copytree(example, runs / "20261121T101500Z-delay")
    path = next(runs.glob("*/cells/*/summary.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "verdict": "invalid", "reasons": [TOMCAT]}))
    shown = typed("show", "--data", str(runs))
    assert shown.returncode == 0, shown.stderr
    assert "".join(TOMCAT.split()) in "".join(shown.stdout.split())
    assert "[/data][bold]" in "".join(shown.stdout.split())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_figure_is_cut_off_on_a_narrow_terminal(width):
    """Rows may go on in the next line, but every number of the table is whole."""
    shown = io.StringIO()
    run = run_view.open_run("delay-sweep")
    print_run(run, Console(file=shown, width=width))
    for cell in run.cells:
        assert f"{cell['mean_s']:.3f}" in shown.getvalue()
        assert f"{cell['p99_s']:.3f}" in shown.getvalue()
