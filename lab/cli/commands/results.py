"""Commands that read runs: list, show, report, export."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from lab.cli.console import out, short
from lab.cli.options import data_option
from lab.cli.tables import print_run, print_whole
from lab.errors import LabError
from lab.reporting import export as export_
from lab.reporting import formatting, html
from lab.reporting import run_view as report_
from lab.spec.plan import USERS, Plan
from lab.storage import run_folder


@click.command("list")
@data_option
def list_(data: Path) -> None:
    """List all runs, oldest first."""
    runs = run_folder.all_runs(data)
    if not runs:
        raise run_folder.none_in(data)
    table = Table(header_style="bold", box=None)
    for heading in ("run", "state", "load", "cells", "verdict"):
        table.add_column(heading)
    for folder in runs:
        table.add_row(*map(escape, (folder.name, *_list_row(folder))))
    print_whole(table, out)


def _list_row(folder: run_folder.RunFolder) -> tuple[str, str, str, str]:
    state = folder.state()
    try:
        run = report_.Run(folder)
        load = _load(run.plan)
        done = sum(cell.settled for cell in folder.cells())
        return state, load, f"{done}/{len(run.plan.cells)}", run.verdict if done else "–"
    except LabError as error:
        return state if folder.is_of_another_format else "damaged", "–", "–", error.problem
    except OSError as error:
        return "damaged", "–", "–", f"{error.strerror}: {error.filename}"


def _load(plan: Plan) -> str:
    """What is varied in a run, and its values; programs have no users."""
    values = formatting.positions(plan)
    if plan.axis != USERS:
        return f"{plan.axis} {values}"
    return "–" if plan.unit == "execution" else f"{values} user{'s' * (plan.positions != [1])}"


@click.command()
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@data_option
def show(run: str | None, as_json: bool, data: Path) -> None:
    """Show a run's tables, verdicts and insights; the newest run if no RUN is named."""
    found = report_.open_run(run, data)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
        return
    print_run(found, out)
    out.print(f"\nIn {short(found.path)}", markup=False)


@click.command()
@click.argument("run", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="[default: RUN/report.html]")
@data_option
def report(run: str | None, output: Path | None, data: Path) -> None:
    """Write a run as one self-contained HTML file; the newest run if no RUN is named."""
    found = report_.open_run(run, data)
    file = output or found.path / "report.html"
    html.write(found, file)
    out.print(f"Written: [bold]{escape(short(file.absolute()))}[/]", soft_wrap=True)


@click.command()
@click.argument("run", required=False)
@click.option("--format", "kind", type=click.Choice(list(export_.KINDS)), required=True, help="Format of the files.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="[default: RUN/export]")
@data_option
def export(run: str | None, kind: str, output: Path | None, data: Path) -> None:
    """Write a run's samples for other tools: JMeter (jtl), anything (csv), HdrHistogram's plotter (hdr).

    One file a cell; of the newest run if no RUN is named. Times are in ms in jtl, and in µs in csv and hdr; hdr has
    latencies of right answers, and those of all requests in a second file, -with-failures, where some failed. For an
    open loop, latencies in jtl and hdr count from the planned send, as in the lab's tables, and jtl has the service
    time as its Latency; csv has both times. Files in a folder of -o are not overwritten.
    """
    found = report_.open_run(run, data)
    for file in export_.export(found, kind, output or export_.own_folder(found)):
        out.print(f"{escape(short(file.path.absolute()))}: {file.samples:,} samples", soft_wrap=True)
