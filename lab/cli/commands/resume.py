"""The command that resumes an interrupted run: resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lab.analysis.slo import Objective
from lab.cli.console import err, reporter
from lab.cli.measuring import ResultOptions, endpoints_of, show_and_exit, typed_command
from lab.cli.options import data_option, header_option, join_option, server_option, slo_option
from lab.reporting import run_view
from lab.running import estimate, resumption
from lab.running.invocation import Invocation
from lab.runtimes import PROCESS
from lab.spec import attached
from lab.storage import run_folder
from lab.system.databases import TITLES


@click.command()
@click.argument("run", required=False)
@click.option("--anyway", is_flag=True, help="Resume even if machine, commit or packages have changed.")
@click.option(
    "--theirs",
    is_flag=True,
    help="Resume a run that was planned by another checkout, whose commands are executed, or begun on another machine.",
)
@click.option("--allow-suspect", is_flag=True, help="Exit with 0 also if the verdict is 'suspect'.")
@slo_option
@header_option
@data_option
def resume(
    run: str | None,
    anyway: bool,
    theirs: bool,
    allow_suspect: bool,
    slo: Sequence[Objective],
    headers: tuple[str, ...],
    data: Path,
    **options: Any,
) -> None:
    """Measure what is missing of an interrupted RUN; of the newest incomplete one if none is named."""
    folder = run_view.open_run(str(run_folder.find_resumable(run, data).path)).folder
    expected = estimate.estimate_run(
        folder.plan(), folder.missing(), data, folder.environment().get("runtime", PROCESS)
    )
    err.print(f"  {folder.name}: {expected}", markup=False, soft_wrap=True)
    endpoints = replace(endpoints_of(options), headers=attached.headers(headers))
    invocation = Invocation(typed_command(), data, reporter(), endpoints=endpoints)
    show_and_exit(resumption.resume(folder, invocation, anyway, theirs), ResultOptions(data, allow_suspect, slo=slo))


resume.params += [join_option(), *(server_option(kind, "The same as in the interrupted run.") for kind in TITLES)]
