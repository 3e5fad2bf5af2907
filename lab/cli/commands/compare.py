"""The command that compares: compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from lab.analysis.comparison import Comparison, MetricRow
from lab.analysis.slo import Objective
from lab.cli import as_typed
from lab.cli.console import NOT_VALID, exit_by_objectives, out
from lab.cli.options import data_option, slo_option
from lab.reporting import comparison_view

COLOURS = {
    "differs": "green",
    "no difference found": "dim",
    "one run a side": "yellow",
    "no value": "red",
    "not tested": "dim",
}


@click.command()
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("--although-different", is_flag=True, help="Compare also where machine, limits or load differ.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@slo_option
@data_option
def compare(
    a: str | None, b: str | None, although_different: bool, as_json: bool, slo: Sequence[Objective], data: Path
) -> None:
    """Compare two runs (A B), variants (RUN:mvc RUN:webflux), or all variants of one run (A; else the newest).

    \b
    python -m lab compare                              all variants of the newest run
    python -m lab compare delay-sweep:mvc delay-sweep:webflux
    python -m lab compare 20261121T101500Z-delay 20261121T111500Z-delay

    'python -m lab list' shows the names; a path will do too. Ratios are B over A. Without repeats (--repeat 5) they
    have no intervals, and no difference is found.
    """  # noqa: D301 (click looks for the backspace itself)
    found = comparison_view.compare(a, b, although_different, data)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        _print(found)
    exit_by_objectives(slo, found.summaries)
    if not any(row.ratio for row in found.rows):
        sys.exit(NOT_VALID)


def _print(found: Comparison) -> None:
    for pair in dict.fromkeys((row.a, row.b) for row in found.rows if row.ratio):
        out.print(_table(*pair, [row for row in found.rows if (row.a, row.b) == pair]))
    for sentence in found.by_design:
        out.print(f"[dim]{escape(sentence)}[/]", soft_wrap=True)
    for sentence in filter(None, (*found.verdict.splitlines(), *found.in_windows, found.correction, found.scoring)):
        out.print(escape(sentence), soft_wrap=True)
    for note in found.notes:
        out.print(f"[yellow]{escape(as_typed.as_typed(note))}[/]", soft_wrap=True)


def _table(a: str, b: str, rows: Sequence[MetricRow]) -> Table:
    table = Table(title=f"B = {b} against A = {a}", title_justify="left", header_style="bold", pad_edge=False)
    for heading in ("load", "metric", "A", "B", "B/A", "95 % interval", "effect", "repeats", "verdict"):
        table.add_column(heading, justify="left" if heading in ("metric", "verdict") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: MetricRow) -> list[str]:
    ratio = row.ratio
    interval = "–" if ratio is None or ratio.low is None else f"{ratio.low:.3f}–{ratio.high:.3f}"
    return [
        row.at,
        row.metric,
        _number(row.a_value),
        _number(row.b_value),
        "–" if ratio is None else f"{ratio.ratio:.3f}",
        interval,
        "–" if ratio is None or ratio.effect is None else f"{ratio.effect:+.1f}",
        str(ratio.pairs if ratio else 0),
        f"[{COLOURS[row.word]}]{row.word}[/]",
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if value >= 100 else f"{value:.4g}"
