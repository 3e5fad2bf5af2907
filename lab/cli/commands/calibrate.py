"""The command that measures the generator's ceiling and added latency: calibrate."""

from __future__ import annotations

import json

import click
from rich.markup import escape
from rich.table import Table

from lab.cli.console import out, reporter, short
from lab.generator import calibration
from lab.generator.calibration import Calibration, Ceiling
from lab.running import calibrate as calibrate_

EXPLAINED = (
    "Added latency: measured latency minus the server's actual delay. It includes network and server work, so it is an "
    "upper bound of what the generator adds."
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
def calibrate(as_json: bool) -> None:
    """Measure the generator's ceiling (requests/s) and the latency that it adds, on this machine; about a minute."""
    found = calibrate_.calibrate(reporter())
    file = calibration.keep(found)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
        return
    out.print(_table(found))
    out.print(EXPLAINED)
    for ceiling in found.ceilings:
        if reason := _lower_bound_reason(found, ceiling):
            out.print(f"[yellow]{escape(reason)}[/]")
    out.print(f"\nIn [bold]{escape(short(file))}[/]; runs on this machine are judged by it from now on.")


def _table(found: Calibration) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for heading in ("requests", "load", "requests/s", "added mean", "added p99", "added p99.9"):
        table.add_column(heading, justify="left" if heading == "requests" else "right")
    for ceiling in found.ceilings:
        least = "" if ceiling.limited_by == calibration.GENERATOR else "≥ "
        table.add_row(ceiling.kind, "ceiling", f"{least}{ceiling.rps:,.0f}", "", "", "")
        for step in ceiling.steps:
            load = f"{step.share:.0%}" if step.share else "one user"
            added = (step.added_mean_s, step.added_p99_s, step.added_p999_s)
            table.add_row("", load, f"{step.rps:,.0f}", *map(_ms, added))
        table.add_section()
    return table


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1000:.2f} ms"


def _lower_bound_reason(found: Calibration, ceiling: Ceiling) -> str:
    """Why a ceiling is only a lower bound, and what runs are judged by; empty if the generator was the limit."""
    if ceiling.limited_by == calibration.GENERATOR:
        return ""
    use = f"generator {ceiling.generator_cpu:.0%}, server {ceiling.server_cpu:.0%} of a core"
    if ceiling.limited_by == calibration.SERVER:
        return f"{ceiling.kind}: the server was the limit ({use}), so that the ceiling is at least this."
    by_cpu = found.ceiling_rps(ceiling.kind, ceiling.workers, 1) or ceiling.rps
    return (
        f"{ceiling.kind}: other programs were in the way ({use}). By the CPU time of a request the ceiling is about "
        f"{by_cpu:,.0f} requests/s, by which runs are judged: calibrate again when they have ended."
    )
