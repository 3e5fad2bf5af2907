"""Commands that prepare, check and clean this machine: seed, images, doctor, clean."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click
from rich.markup import escape

from lab import experiments
from lab.cli import as_typed
from lab.cli import doctor as doctor_
from lab.cli.console import NOT_VALID, out, reporter
from lab.cli.options import data_option
from lab.running import held_stack, testbed
from lab.runtimes import temporary
from lab.storage import run_folder
from lab.system import build
from lab.system.backends import Endpoints


@click.command("images")
def images() -> None:
    """Build all images for --runtime docker beforehand, and list them."""
    scenarios = experiments.scenarios().values()
    services = [scenario for scenario in scenarios if scenario.entry == "service"]
    modules = {variant.module for scenario in services for variant in scenario.variants}
    modules |= {part.module for scenario in scenarios for part in scenario.components if part.module}
    for image in testbed.build_all_images(modules, reporter()):
        out.print(f"{image.tag}: {image.product} [dim]({image.why})[/]", soft_wrap=True)


@click.command()
@click.argument("scenario", required=False)
@click.option("--mysql-url", default="", metavar="URL", help="Your own server; only its database 'lab' is used.")
@click.option("--mongo-url", default="", metavar="URL", help="The same for MongoDB.")
def seed(scenario: str | None, mysql_url: str, mongo_url: str) -> None:
    """Seed rows and tokens beforehand, for SCENARIO or for all; complete data are kept.

    Runs do this by themselves. A MongoDB of the lab's own and databases in containers start empty, and are seeded by
    each run, in a second or a few.
    """
    from lab.running import seeding  # here, since the databases' clients take long to import

    chosen = [experiments.find_scenario(scenario)] if scenario else experiments.scenarios().values()
    nothing = True
    for each in seeding.seed(chosen, Endpoints(mysql_url, mongo_url)):
        nothing, done = False, "seeded" if each.written else "already seeded"
        out.print(f"{done}: {each.what}, checksum {each.checksum} ({each.elapsed_s:.1f} s)", soft_wrap=True)
    if nothing:
        out.print("There is nothing to seed beforehand.")


@click.command()
@data_option
def doctor(data: Path) -> None:
    """Check this machine's prerequisites, with the command that fixes each problem."""
    findings = doctor_.examine(data)
    colours = {doctor_.GOOD: "green", doctor_.POOR: "yellow", doctor_.BAD: "red"}
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
    """Remove builds and leftover containers; with an option also runs, except those in progress."""
    states = {folder: folder.state() for folder in run_folder.all_runs(data)}
    doomed = [
        f for f, state in states.items() if state != "running" and (all_runs or (incomplete and state != "complete"))
    ]
    if doomed and not yes and not click.confirm(f"Delete {len(doomed)} runs in {data}?"):
        doomed = []
    for folder in doomed:
        folder.path.unlink() if folder.path.is_symlink() else shutil.rmtree(folder.path)
    held_stack.tidy()
    temporary.tidy()
    with build.unused() as unused:
        removed = build.clean() if unused else 0
        contained = testbed.clean_containers() if unused and "running" not in states.values() else 0
    if not unused:
        out.print("Builds and containers were kept: a run of this checkout is in progress, or a stack is up.")
    out.print(f"Removed {removed} build folders, {len(doomed)} runs, {contained} containers and networks.")
