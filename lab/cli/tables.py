"""Prints a run in a terminal: its tables, the reasons of its verdicts, and its insights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import HEAVY_HEAD, Box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.reporting import formatting, run_tables
from lab.reporting.run_tables import Column, TextTable
from lab.reporting.run_view import Run

# Beyond these a table of names is too long to read in a terminal; --json and the report have all.
MOST_NAMES = 40


def print_run(run: Run, console: Console) -> None:
    """Print a run's tables, the reasons of its verdicts, and its insights."""
    console.print(f"\n[bold]{escape(run.subject)}[/]: {run.scenario.question}")
    console.print(f"[dim]{escape(formatting.settings(run.plan))}[/]\n")
    print_whole(_rich(run_tables.measurements(run), title=None), console)
    for sentence in run.about_latencies():
        console.print(escape(sentence), soft_wrap=True)
    for table in run_tables.parts(run, MOST_NAMES):
        print_whole(_rich(table, table.title), console)
    limits = run_tables.limits(run)
    if limits.records:
        console.print(_rich(limits, limits.title, box=None))
    for sentence in run.not_checked():
        console.print(f"[dim]{escape(sentence)}[/]", soft_wrap=True)
    for variant, sentence in run.shape().items():
        console.print(f"[bold]{variant}[/]: {sentence}", soft_wrap=True)
    for row in run.cells:
        _print_reasons(run, row, console)
    for sentence in run.insights():
        console.print(sentence, markup=False)


def _print_reasons(run: Run, row: Mapping[str, Any], console: Console) -> None:
    for reason in row["reasons"]:
        console.print(f"[{formatting.COLOURS[row['verdict']]}]{run.which(row)}:[/] {escape(reason)}")


def print_whole(table: Table, console: Console) -> None:
    """Print a table at its full width: on a narrow terminal rows wrap, and no figure is cut off."""
    needed = console.measure(table, options=console.options.update(max_width=1000)).maximum
    width, console.width = console.width, max(needed, console.width)
    console.print(table)
    console.width = width


def _rich(table: TextTable, title: str | None, box: Box | None = HEAVY_HEAD) -> Table:
    """A table as Rich prints it."""
    rich = Table(title=title, title_justify="left", header_style="bold", pad_edge=box is None, box=box)
    for column in table.columns:
        rich.add_column(
            column.heading, justify="right" if column.kind == "number" else "left", no_wrap=column.kind == "name"
        )
    for record in table.records:
        rich.add_row(*(_cell(column, record) for column in table.columns))
    return rich


def _cell(column: Column, record: Mapping[str, Any]) -> str:
    text = column.text(record)
    return f"[{formatting.COLOURS[text]}]{text}[/]" if column.kind == "verdict" else escape(text)
