"""Prints a run in a terminal: its tables, the reasons of its verdicts, and its insights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.formulas.units import MIB
from lab.reporting import formatting
from lab.reporting.run_rows import OPEN_FIGURES
from lab.reporting.run_view import Run
from lab.spec.plan import USERS
from lab.storage import published
from lab.storage.published import PublishedRow

# Beyond these a table of names is too long to read in a terminal; --json and the report have all.
MOST_NAMES = 40
OF_A_CELL = ("variant", "at", "repeat")
LATENCIES = {
    "mean s": "mean_s",
    "model s": "predicted_mean_s",
    "p50": "p50_s",
    "p90": "p90_s",
    "p99": "p99_s",
    "p99.9": "p999_s",
    "max": "max_s",
    "service\nmean": "service_mean_s",
    "service\np50": "service_p50_s",
    "service\np99": "service_p99_s",
    "service\np99.9": "service_p999_s",
}
# Latencies that many a run does not have: no column then.
SELDOM = ("predicted_mean_s", "p999_s", *OPEN_FIGURES)
STATISTICS = {"mean s": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p99.9": "p999", "max": "max"}
USED = {
    "start s": "start_s",
    "CPU s": "execution_cpu_s",
    "threads": "most_threads",
    "memory\nMiB": "peak_bytes",
    "read\nMiB": "read_bytes",
    "read\nMiB/s": "read_bytes_per_s",
}
# By the name of the failure: what is "refused" among the errors is a connection, and in a window failed.
BY_BREAKER = {"refused": "breaker\nopen"}
COUNTS = ("begun", "complete", "failed", "stopped", "cut", "never_sent")
SESSION_TIMES = {"steps": "sum of the requests", "wall": "from first to last", "think": "thinking between"}


@dataclass(frozen=True)
class OptionalColumns:
    """Which optional columns the table of a run has: repeat, latencies, published figures, what is varied.

    Attributes:
        latencies: headings, and the figures under them.
        unit: what is counted: see :attr:`lab.spec.plan.Plan.unit`.
        used: of programs, headings, and what an execution used.

    """

    repeat: bool
    latencies: Mapping[str, str]
    published: bool
    varied: str
    unit: str
    used: Mapping[str, str]

    @property
    def users(self) -> bool:
        """Whether there is a number of users: programs have none."""
        return self.unit != "execution"


def print_run(run: Run, console: Console) -> None:
    """Print a run's tables, the reasons of its verdicts, and its insights."""
    console.print(f"\n[bold]{escape(run.subject)}[/]: {run.scenario.question}")
    console.print(f"[dim]{escape(formatting.settings(run.plan))}[/]\n")
    print_whole(_table(run), console)
    for sentence in run.about_latencies():
        console.print(escape(sentence), soft_wrap=True)
    for table in (_names_table(run), _sessions_table(run), _windows_table(run), _waiting_table(run)):
        if table.row_count:
            print_whole(table, console)
    if not run.limits().empty:
        console.print(_limits_table(run.limits(), run.plan.stance))
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


def _table(run: Run) -> Table:
    peers = [published.row_beside(run.plan, cell) for cell in run.plan.cells]
    varied = run.plan.axis if run.plan.axis != USERS else ""
    optional = OptionalColumns(
        repeat=_has_repeats(run),
        latencies={
            heading: key
            for heading, key in LATENCIES.items()
            if key not in SELDOM or any(row.get(key) is not None for row in run.cells)
        },
        published=any(peers),
        varied=varied,
        unit=run.plan.unit,
        used={heading: key for heading, key in USED.items() if any(key in row for row in run.cells)},
    )
    table = Table(header_style="bold", pad_edge=False)
    for heading, justify in _columns(optional):
        table.add_column(heading, justify=justify, no_wrap=heading == "variant")  # type: ignore[arg-type]
    for row, peer in zip(run.cells, peers, strict=True):
        table.add_row(*_cells(row, peer, optional, run))
    return table


def _names_table(run: Run) -> Table:
    """The figures of each name, for cells that have several."""
    names = run.by_name()
    marks = formatting.survivors_marks(run.cells)
    statistics = _statistics(names, "p999_s")
    numbers = ("requests", "failed", *statistics, "req/s", "fallbacks")
    table = _parts_table("by name", ("name", "method"), numbers, run)
    for (_, _, _), rows in names.groupby(list(OF_A_CELL), sort=False) if len(names) else ():
        for row in rows.head(MOST_NAMES).to_dict("records"):
            mark = marks[row["variant"], row["at"], row["repeat"]]
            times = [_marked(formatting.seconds_text(row[f"{key}_s"]), mark) for key in statistics.values()]
            counts = [f"{row[key]:,}" for key in ("requests", "failed")]
            more = [_marked(formatting.rate_text(row["throughput_rps"]), mark), f"{row['fallbacks']:,}"]
            table.add_row(*_which_cell(row, run), escape(row["name"]), row["method"], *counts, *times, *more)
        if len(rows) > MOST_NAMES:
            table.add_row(*_which_cell(rows.iloc[0].to_dict(), run), f"… and {len(rows) - MOST_NAMES:,} more names")
    return table


def _sessions_table(run: Run) -> Table:
    """The figures of whole sessions, for cells whose sessions have several requests."""
    sessions = run.sessions()
    statistics = _statistics(sessions, *(f"{time}_p999_s" for time in SESSION_TIMES))
    numbers = ("begun", "complete", "failed", "stopped\nearly", "cut off", "never\nsent", "requests\neach", *statistics)
    table = _parts_table("sessions", ("time",), numbers, run)
    for row in sessions.to_dict("records"):
        for number, (name, meaning) in enumerate(SESSION_TIMES.items()):
            times = [formatting.seconds_text(row[f"{name}_{key}_s"]) for key in statistics.values()]
            counts = [*(formatting.count_text(row[key]) for key in COUNTS), formatting.rate_text(row["requests"])]
            table.add_row(*_which_cell(row, run), meaning, *(counts if number == 0 else [""] * len(counts)), *times)
    return table


def _windows_table(run: Run) -> Table:
    """How the requests of a ramp ended by time window; the columns of a breaker where it kept any back."""
    windows = run.windows()
    kept_back = [name for name in ("fallback", "refused") if name in windows and windows[name].any()]
    counts = ("offered", "right", *kept_back, "failed")
    headings = (BY_BREAKER.get(name, name) for name in counts)
    table = Table(header_style="bold", pad_edge=False, title="by time window", title_justify="left")
    varied = (run.plan.axis,) * run.plan.is_sweep
    for heading in ("variant", *varied, *("repeat",) * _has_repeats(run), "from s", *headings, "mean s", "answers/s"):
        table.add_column(heading, justify="left" if heading == "variant" else "right", no_wrap=heading == "variant")
    for row in windows.to_dict("records"):
        name, at, *repeat = _which_cell(row, run)
        which = (name, *(at,) * run.plan.is_sweep, *repeat)
        mean_s = formatting.seconds_text(row["mean_s"])
        numbers = (f"{row[name]:,}" for name in counts)
        table.add_row(*which, f"{row['from_s']:,.1f}", *numbers, mean_s, formatting.rate_text(row["answered_rps"]))
    return table


def _waiting_table(run: Run) -> Table:
    """What each request that waited cost the service of a ramp, at the peak."""
    numbers = ("requests\nunder way", "threads\neach", "heap\nkB each", "outside the heap\nkB each")
    table = _parts_table("what waiting costs, at the peak", (), numbers, run)
    for row in run.waiting_costs().to_dict("records"):
        each = [
            formatting.hundredths(row.get("threads")),
            *(formatting.kilobytes(row.get(key)) for key in ("heap_bytes", "native_bytes")),
        ]
        table.add_row(*_which_cell(row, run), f"{row['in_flight']:,.0f}", *each)
    return table


def _statistics(rows: pd.DataFrame, *p999: str) -> dict[str, str]:
    """The headings and names of the statistics of parts, without p99.9 where no row has enough answers for it."""
    known = any(column in rows and rows[column].notna().any() for column in p999)
    return {heading: name for heading, name in STATISTICS.items() if known or name != "p999"}


def _parts_table(title: str, words: Sequence[str], numbers: Sequence[str], run: Run) -> Table:
    title += formatting.paced(run.plan.cells[0].load)
    table = Table(header_style="bold", pad_edge=False, title=title, title_justify="left")
    table.add_column("variant", no_wrap=True)
    for heading in (run.plan.axis, *("repeat",) * _has_repeats(run)):
        table.add_column(heading, justify="right")
    for heading in words:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _which_cell(row: Mapping[Any, Any], run: Run) -> list[str]:
    return [row["variant"], run.plan.value_at(row["at"]), *[str(row["repeat"])] * _has_repeats(run)]


def _limits_table(limits: pd.DataFrame, stance: str) -> Table:
    title = f"limits in force ({stance}), read back from the running services"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("")
    for variant in limits.columns:
        table.add_column(str(variant))
    for name, row in limits.iterrows():
        table.add_row(str(name).replace("_", " "), *(escape(formatting.limit_text(value)) for value in row))
    return table


def _has_repeats(run: Run) -> bool:
    return any(cell.repeat > 1 for cell in run.plan.cells)


def _columns(optional: OptionalColumns) -> list[tuple[str, str]]:
    repeat = ("repeat",) * optional.repeat
    varied = (optional.varied,) * bool(optional.varied)
    counted = ("requests", "req/s") if optional.users else ("executions", "a second")
    users = ("users",) * optional.users
    rates = (counted[1], "ok/s", "CPU\ns/1000") if optional.users else (counted[1], *optional.used)
    numbers = (*varied, *users, *repeat, counted[0], *optional.latencies, *rates)
    columns = [("variant", "left"), *((name, "right") for name in numbers), ("errors", "left")]
    if optional.published:
        columns.append(("published\nmean" + ", req/s" * optional.users, "right"))
    return [*columns, ("verdict", "left")]


def _cells(row: Mapping[str, Any], peer: PublishedRow | None, optional: OptionalColumns, run: Run) -> list[str]:
    latencies = [formatting.seconds_text(row[key]) for key in optional.latencies.values()]
    rates = [formatting.rate_text(row["throughput_rps"])]
    if optional.users:
        cost = formatting.seconds_text(row["cpu_s_per_1000_requests"])
        rates += [formatting.rate_text(row["ok_throughput_rps"]), cost]
    mark, word = formatting.survivors_mark(row), f"[{formatting.COLOURS[row['verdict']]}]{row['verdict']}[/]"
    cells = [
        row["variant"],
        *[run.plan.value_at(row["at"])] * bool(optional.varied),
        *[f"{row['users']:,}"] * optional.users,
        *[str(row["repeat"])] * optional.repeat,
        f"{row['requests']:,}",
        *(_marked(text, mark) for text in (*latencies, *rates)),
        *(_used(key, row.get(key)) for key in optional.used.values()),
        escape(formatting.errors_text(row["errors"])),
    ]
    if optional.published:
        cells.append(_published(peer, optional.users))
    return [*cells, word]


def _marked(text: str, mark: str) -> str:
    """A figure with the mark of its cell; a dash needs none."""
    return text if text == "–" else text + mark


def _used(key: str, value: float | None) -> str:
    """What an execution used, in the unit of its column."""
    if value is None:
        return "–"
    if "bytes" in key:
        return f"{value / MIB:,.0f}"
    return f"{value:,.0f}" if key == "most_threads" else formatting.seconds_text(value)


def _published(peer: PublishedRow | None, users: bool) -> str:
    if peer is None:
        return "–"
    if not users:
        return formatting.seconds_text(peer.mean_s)
    if peer.mean_s is None:
        return "–" if peer.total_s is None else f"all in {formatting.seconds_text(peer.total_s)}"
    failed = f", {peer.errors_percent:g} % failed" if peer.errors_percent else ""
    ramp = f", ramp {peer.ramp_s:g} s" if peer.ramp_s else ""
    rate = "" if peer.throughput_rps is None else f", {peer.throughput_rps:.1f}"
    return f"{peer.mean_s:.3f}{rate}{failed}{ramp}"
