"""The command that compares: compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from lab.analysis.comparison import NO_VALUE, ONCE, Comparison, MetricRow
from lab.analysis.findings import ALIKE, DIFFERENT, UNDECIDED
from lab.analysis.pairing import Terms
from lab.analysis.slo import Objective
from lab.cli import as_typed
from lab.cli.console import NOT_VALID, exit_by_objectives, out
from lab.cli.options import PercentText, data_option, slo_option
from lab.cli.tables import print_whole
from lab.reporting import comparison_view
from lab.reporting.formatting import CLOSED_LOOP

COLOURS = {DIFFERENT: "green", ALIKE: "cyan", UNDECIDED: "yellow", ONCE: "yellow", NO_VALUE: "red"}


@click.command()
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("--although-different", is_flag=True, help="Compare also where machine, lab, limits or load differ.")
@click.option("--allow-suspect", is_flag=True, help="Let suspect measurements take part too.")
@click.option(
    "--margin",
    type=PercentText(),
    default="5 %",
    show_default=True,
    help="Sides whose ratio is surely within this percentage of 1 are alike.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs; with ratios by percentile.")
@slo_option
@data_option
def compare(a: str | None, b: str | None, as_json: bool, slo: Sequence[Objective], data: Path, **terms: Any) -> None:
    """Compare two runs (A B), variants (RUN:mvc RUN:webflux), or all variants of one run (A; else the newest).

    \b
    python -m lab compare                              all variants of the newest run
    python -m lab compare delay-sweep:mvc delay-sweep:webflux
    python -m lab compare 20261121T101500Z-delay 20261121T111500Z-delay
    python -m lab compare BEFORE,BEFORE2,BEFORE3 AFTER,AFTER2,AFTER3

    'python -m lab list' shows the names; a path will do too. Ratios are B over A. Each metric is different, alike
    within the margin, or undecided; what was measured once has no interval, and is undecided. The unit is the repeat
    within one run, whose variants took turns, and the run between separate ones.
    """  # noqa: D301 (click looks for the backspace itself)
    found = comparison_view.compare(a, b, Terms(**terms), data)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        _print(found)
    exit_by_objectives(slo, found.summaries)
    if not any(row.effect for row in found.rows):
        sys.exit(NOT_VALID)


def _print(found: Comparison) -> None:
    for pair in dict.fromkeys((row.a, row.b) for row in found.rows if row.effect):
        print_whole(_table(*pair, [row for row in found.rows if (row.a, row.b) == pair]), out)
    for sentence in found.by_design:
        out.print(f"[dim]{escape(sentence)}[/]", soft_wrap=True)
    for sentence in filter(None, (*found.verdict.splitlines(), *found.in_windows, found.correction, found.scoring)):
        out.print(escape(sentence), soft_wrap=True)
    if found.of_closed_loop:
        out.print(f"[dim]{CLOSED_LOOP}[/]", soft_wrap=True)
    for note in found.notes:
        out.print(f"[yellow]{escape(as_typed.as_typed(note))}[/]", soft_wrap=True)


def _table(a: str, b: str, rows: Sequence[MetricRow]) -> Table:
    table = Table(title=f"B = {b} against A = {a}", title_justify="left", header_style="bold", pad_edge=False)
    for heading in ("load", "metric", "A", "B", "B/A, B−A", "95 % interval", "effect", "repeats", "verdict"):
        table.add_column(heading, justify="left" if heading in ("metric", "verdict") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: MetricRow) -> list[str]:
    ratio = row.ratio
    return [
        row.at,
        row.metric,
        _number(row.a_value),
        _number(row.b_value),
        _effect(row),
        _interval(row),
        "–" if ratio is None or ratio.effect is None else f"{ratio.effect:+.1f}",
        str(row.pairs),
        f"[{COLOURS.get(row.word, 'dim')}]{_word(row)}[/]",
    ]


def _effect(row: MetricRow) -> str:
    """B over A; of failures, which may be none, B less A."""
    if row.difference is not None:
        return "–" if row.is_trivial else f"{row.difference.difference:+.3g}"
    return "–" if row.ratio is None else f"{row.ratio.ratio:.3f}"


def _interval(row: MetricRow) -> str:
    if row.effect is None or row.effect.low is None:
        return "–"
    if row.difference is not None:
        return f"{row.difference.low:+.3g} to {row.difference.high:+.3g}"
    return f"{row.effect.low:.3f}–{row.effect.high:.3f}"


def _word(row: MetricRow) -> str:
    """The finding, with the better side of a difference."""
    return f"{row.word}, {'B' if row.winner == row.b else 'A'} better" if row.differs else row.word


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if value >= 100 else f"{value:.4g}"
