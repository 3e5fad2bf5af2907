"""The command that repeats what was published: reproduce."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.markup import escape
from rich.table import Table

from lab import estimate, reproducing, shell
from lab.commands.console import NOT_VALID, err, out
from lab.errors import LabError
from lab.options import data_option
from lab.progress import Reporter
from lab.reproducing import Reproduction
from lab.reproductions import EXPERIMENTS, find_experiment
from lab.reproductions.experiment import CONFIRMED, REFUTED, UNDECIDED, Experiment, Row
from lab.runtimes import RUNTIMES
from lab.wording import seconds_text

COLOURS = {CONFIRMED: "green", REFUTED: "red", UNDECIDED: "yellow"}


@click.command()
@click.argument("name", required=False)
@click.option("--scale", type=float, metavar="X", help="1 is the document's size.  [default: what fits this machine]")
@click.option("--repeat", type=int, default=1, metavar="N", help="Measure every cell N times, interleaved.")
@click.option("--seed", type=int, metavar="N", help="Repeat an earlier run's choices of chance.")
@click.option("--from", "from_", multiple=True, metavar="RUN", help="Judge a run there is; one for each part.")
@click.option("--runtime", type=click.Choice(RUNTIMES), default="process", show_default=True)
@click.option("--dry-run", is_flag=True, help="Say what would be measured and how long it takes, no more.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@data_option
def reproduce(name: str | None, from_: Sequence[str], as_json: bool, data: Path, **options: Any) -> None:
    """Repeat a published experiment, and judge what it claims; without NAME, list them."""
    if name is None:
        out.print(_listed())
        return
    wanted = find_experiment(name)
    if from_:
        asked = click.get_current_context().get_parameter_source
        if given := [option for option in options if asked(option) is not ParameterSource.DEFAULT]:
            raise LabError(f"--{given[0].replace('_', '-')} means nothing with --from.", "Leave one of them out.")
        done = reproducing.from_runs(wanted, reproducing.open_runs(from_, data))
    else:
        made = _measured(wanted, data, **options)
        if made is None:
            return
        done = made
    if as_json:
        click.echo(json.dumps(done.as_json(), indent=2))
    else:
        _print(done)
    if not done.usable:
        said = escape(shell.as_typed("'python -m lab show RUN' says why."))
        err.print(f"[red]A cell is invalid or incomplete[/]: {said}", soft_wrap=True)
        sys.exit(NOT_VALID)


def _measured(
    wanted: Experiment, data: Path, scale: float | None, repeat: int, seed: int | None, runtime: str, dry_run: bool
) -> Reproduction | None:
    """Measure it; None if it was only asked what that would be."""
    chosen, why = (scale, "as asked") if scale is not None else reproducing.scale_for_here(wanted, data)
    estimates = reproducing.expected(wanted, chosen, data, repeat, seed)
    console = out if dry_run else err
    console.print(f"  {wanted.name}: {wanted.title}; scale {chosen:g} ({why})", soft_wrap=True)
    for part, expected in zip(wanted.parts, estimates, strict=True):
        console.print(f"  {part.name + ': ' if part.name else ''}{expected}", soft_wrap=True)
    if len(estimates) > 1:
        console.print(f"  together about {estimate.spoken(reproducing.total_s(estimates))}")
    if dry_run:
        return None
    command = ["python", "-m", "lab", *sys.argv[1:]]
    return reproducing.carry_out(
        wanted, chosen, command, data, Reporter(err), seed=seed, repeat=repeat, runtime=runtime
    )


def _listed() -> Table:
    table = Table(header_style="bold", box=None)
    for heading in ("name", "what it is", "runs", "claims"):
        table.add_column(heading)
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, str(len(experiment.parts)), str(len(experiment.claims)))
    return table


def _print(done: Reproduction) -> None:
    out.print(f"\n[bold]{done.experiment.name}[/]: {done.experiment.title}")
    out.print(f"[dim]{escape(done.experiment.document)}[/]", soft_wrap=True)
    out.print(_scale(done), soft_wrap=True)
    out.print(_table(done))
    out.print("[dim]mean: ours | model | published; req/s: ours | published, both with failures included[/]")
    out.print("[dim]intervals: 95 % over repeats; ± 5 % where there is one measurement[/]\n")
    for finding in done.claims:
        out.print(f"[{COLOURS[finding.word]}]{finding.word:9}[/] {escape(finding.claim)}", soft_wrap=True)
        out.print(f"          [dim]{escape(finding.evidence)}[/]", soft_wrap=True)
    out.print("\nAbout the document's own numbers:")
    for slip in done.experiment.slips:
        out.print(f"  – {escape(slip)}", soft_wrap=True)
    out.print(f"\nRuns: {', '.join(run.folder.called for run in done.runs)}")


def _scale(done: Reproduction) -> str:
    if done.scale == 1:
        return "At the document's size."
    if requests := done.experiment.parts[0].wishes.requests:
        sent = f"{done.scale * requests:,.0f} of the document's {requests:,} requests"
        return f"At a scale of {done.scale:g}: {sent} a measurement; connections are the document's."
    return (
        f"At {done.scale:g} of the document's users, threads, connections and link; R/T, R/N, ramp and t are the "
        "document's, rates are scaled back. A row of fewer than one user has one."
    )


def _table(done: Reproduction) -> Table:
    """One line a part and load of the document, two columns a variant."""
    variants = list(dict.fromkeys(row.variant for row in done.rows))
    parts = len(done.experiment.parts) > 1
    table = Table(header_style="bold", pad_edge=False)
    for heading in (*(["part"] if parts else []), "R"):
        table.add_column(heading, justify="left" if heading == "part" else "right", no_wrap=True)
    for variant in variants:
        table.add_column(f"{variant}\nmean s", justify="right")
        table.add_column(f"{variant}\nreq/s", justify="right")
    lines: dict[tuple[str, int], dict[str, Row]] = {}
    for row in done.rows:
        lines.setdefault((row.part, row.users), {})[row.variant] = row
    for (part, users), by_variant in lines.items():
        figures = [cell for variant in variants for cell in _cells(by_variant[variant])]
        table.add_row(*([part] if parts else []), f"{users:,}", *figures)
    return table


def _cells(row: Row) -> tuple[str, str]:
    flat = reproducing.flat(row)
    word = f" [red]{', '.join(flat['not_usable'])}[/]" if flat["not_usable"] else ""
    failed = f", {flat['error_percent']:.2g} % failed" if flat["error_percent"] else ""
    peer = flat["published_error_percent"]
    published = _rate(flat["published_rps"]) + (f", {peer:g} % failed" if peer else "")
    mean = " | ".join(seconds_text(flat[key]) for key in ("mean_s", "model_mean_s", "published_mean_s"))
    return mean + word, f"{_rate(flat['rps'])}{failed} | {published}"


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
