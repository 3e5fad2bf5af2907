"""Commands that prepare, check and clean this machine: seed, images, doctor, clean."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.markup import escape

from lab import experiments
from lab.cli import as_typed
from lab.cli import doctor as doctor_
from lab.cli.console import NOT_VALID, out, reporter
from lab.cli.options import data_option, server_option
from lab.errors import LabError
from lab.running import building, held_stack
from lab.runtimes import temporary
from lab.storage import run_folder
from lab.storage.run_folder import RunFolder
from lab.system import build, corpora
from lab.system.backends import Endpoints
from lab.system.databases import TITLES


@click.command("images")
def images() -> None:
    """Build all images for --runtime docker beforehand, and list them."""
    scenarios = experiments.scenarios().values()
    services = [scenario for scenario in scenarios if scenario.entry == "service"]
    built = {(variant.module, variant.jdk) for scenario in services for variant in scenario.variants}
    built |= {(part.module, 0) for scenario in scenarios for part in scenario.components if part.module}
    for image in building.build_all_images(built, reporter()):
        out.print(f"{image.tag}: {image.product} [dim]({image.why})[/]", soft_wrap=True)


@click.command()
@click.argument("scenario", required=False)
def seed(scenario: str | None, mysql_url: str, mongo_url: str) -> None:
    """Seed rows and tokens beforehand, for SCENARIO or for all; complete data are kept.

    Runs do this by themselves. A MongoDB of the lab's own and databases in containers start empty, and are seeded by
    each run, in a second or a few.
    """
    from lab.running import seeding  # here, since the databases' clients take long to import

    chosen = [experiments.find_scenario(scenario)] if scenario else experiments.scenarios().values()
    nothing = True
    for each in seeding.seed(chosen, Endpoints(mysql_url, mongo_url), reporter()):
        nothing, done = False, "seeded" if each.written else "already seeded"
        out.print(f"{done}: {each.what}, checksum {each.checksum}", soft_wrap=True)
    if nothing:
        out.print("There is nothing to seed beforehand.")


seed.params += [
    server_option(kind, f"Your own {title}; only its database 'lab' is used.") for kind, title in TITLES.items()
]


@click.command()
@data_option
def doctor(data: Path) -> None:
    """Check this machine's prerequisites, with the command that fixes each problem."""
    findings = doctor_.examine(data)
    colours = {doctor_.GOOD: "green", doctor_.ABSENT: "dim", doctor_.POOR: "yellow", doctor_.BAD: "red"}
    for finding in findings:
        out.print(
            f"[{colours[finding.state]}]{finding.state:5}[/] {finding.subject}: {escape(finding.found)}", soft_wrap=True
        )
        if finding.remedy:
            out.print(f"      → {escape(as_typed.as_typed(finding.remedy))}", soft_wrap=True)
    if any(finding.state == doctor_.BAD for finding in findings):
        sys.exit(NOT_VALID)


@click.command()
@click.option("--runs", "all_runs", is_flag=True, help="Delete all runs too.")
@click.option("--incomplete", is_flag=True, help="Delete runs that were not finished, or are damaged.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting runs.")
@data_option
def clean(all_runs: bool, incomplete: bool, yes: bool, data: Path) -> None:
    """Remove builds, made files and leftover containers; with an option also runs, except those in progress.

    Java releases that were downloaded to compare are among the builds: the next run that needs one fetches it again.
    Only what this checkout has made is removed: another one's runs, containers and stacks stay.
    """
    if data != run_folder.RUNS and not data.exists():
        raise LabError(f"There is no folder {data}, so no runs in it.", "Correct --data.")
    if all_runs and incomplete:
        raise LabError("--runs deletes all runs, and --incomplete only some.", "Leave one of them out.")
    wanted = ("complete", "incomplete", "damaged") if all_runs else ("incomplete", "damaged") if incomplete else ()
    doomed = _doomed_runs(data, wanted)
    if doomed and not yes and not _confirmed(f"Delete {len(doomed)} run{'s' * (len(doomed) != 1)} in {data}?"):
        out.print("Nothing was removed.")
        return
    deleted = _delete_runs(doomed, wanted)
    held_stack.tidy()
    temporary.tidy()
    with build.unused() as unused:
        removed = build.clean() if unused else 0
        made = corpora.clean() if unused else 0
        contained = building.clean_containers() if unused else 0
    if not unused:
        out.print("Builds and containers were kept: a run of this checkout is in progress, or a stack is up.")
    out.print(f"Removed {removed} build folders, {made} corpora, {deleted} runs, {contained} containers and networks.")


def _confirmed(question: str) -> bool:
    """What somebody answers; LabError where nobody is there to answer."""
    try:
        return sys.stdin is not None and click.confirm(question)
    except click.Abort as end:
        if isinstance(end.__context__, KeyboardInterrupt):
            raise
        raise LabError("Nobody answered, and nothing was removed.", "Delete without a question: --yes") from None


def _doomed_runs(data: Path, wanted: Sequence[str]) -> list[RunFolder]:
    """Show and return the runs in a folder that have one of these states.

    What only has the name of a run stays, and so does another checkout's run; each is named.
    """
    doomed = []
    for folder in run_folder.all_runs(data) if wanted else ():
        if why := _why_kept(folder):
            out.print(f"{folder.name} stays: {why}.", markup=False, soft_wrap=True)
        elif (state := folder.state()) in wanted:
            doomed.append(folder)
            out.print(f"{folder.name} {state}", markup=False, soft_wrap=True)
    return doomed


def _delete_runs(doomed: Iterable[RunFolder], wanted: Sequence[str]) -> int:
    """Delete those runs that still have one of these states; returns how many."""
    deleted = 0
    for folder in doomed:
        # Read again: it may have been resumed, or replaced, while the question stood there, or others were deleted.
        if not _why_kept(folder) and folder.state() in wanted:
            folder.path.unlink() if folder.path.is_symlink() else shutil.rmtree(folder.path)
            deleted += 1
    return deleted


def _why_kept(folder: RunFolder) -> str:
    """Why a folder with the name of a run must not be deleted; empty if it may be."""
    if not folder.is_run:
        return "it holds no run, whatever its name"
    if folder.is_renamed:
        return "its folder was renamed"
    if folder.is_of_another_checkout:
        return "another checkout, user or machine has made it"
    if folder.is_of_another_user:
        return "another user has made it"
    if folder.is_of_another_machine:
        return "another machine or container has made it, where it may go on"
    if folder.goes_on:
        return "the process that has made it goes on"
    return "another version of the lab has made it, which can read it" * folder.is_of_another_format
