"""The tables of a run as texts, for a terminal and for the report: what their columns are called and what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import pandas as pd

from lab.formulas.units import MIB
from lab.reporting import formatting
from lab.reporting.run_rows import OPEN_FIGURES
from lab.reporting.run_view import Run
from lab.spec.plan import USERS
from lab.storage import published
from lab.storage.published import PublishedRow

Record = Mapping[str, Any]

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
COUNTS = {
    "begun": "begun",
    "complete": "complete",
    "failed": "failed",
    "stopped\nearly": "stopped",
    "cut off": "cut",
    "never\nsent": "never_sent",
}
SESSION_TIMES = {"steps": "sum of the requests", "wall": "from first to last", "think": "thinking between"}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: in one line or two.
        text: what stands in it, of a record.
        kind: a ``name`` is not broken into lines, a ``text`` may be, a ``number`` stands at the right, and a
            ``verdict`` has the colour of what it says.
        main: whether readers look for this figure first.

    """

    heading: str
    text: Callable[[Record], str]
    kind: Literal["name", "text", "number", "verdict"] = "number"
    main: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table: its columns, and the records whose texts are its rows.

    Attributes:
        about: what its columns mean, in sentences.

    """

    title: str
    columns: Sequence[Column]
    records: Sequence[Record]
    about: str = ""


def measurements(run: Run) -> TextTable:
    """One row a cell: latencies, rates, errors and the verdict, and what was published for the same settings."""
    plan, of_programs = run.plan, run.plan.unit == "execution"
    shown_beside = [_published(published.row_beside(plan, cell), of_programs) for cell in plan.cells]
    figures = "mean" if of_programs else "mean, req/s"
    latencies = {
        heading: key
        for heading, key in LATENCIES.items()
        if key not in SELDOM or any(row.get(key) is not None for row in run.cells)
    }
    used = {heading: key for heading, key in USED.items() if any(key in row for row in run.cells)}
    rates = [
        _figure("a second" if of_programs else "req/s", "throughput_rps", formatting.rate_text),
        *([] if of_programs else [_figure("ok/s", "ok_throughput_rps", formatting.rate_text, main=True)]),
        *([] if of_programs else [_figure("CPU\ns/1000", "cpu_s_per_1000_requests")]),
    ]
    columns = [
        Column("variant", itemgetter("variant"), "name"),
        *([] if plan.axis == USERS else [_varied(run)]),
        *([] if of_programs else [_count("users", "users")]),
        *_repeat(run),
        _count("executions" if of_programs else "requests", "requests"),
        *(_figure(heading, key, main=key == "mean_s") for heading, key in latencies.items()),
        *rates,
        *(_use(heading, key) for heading, key in used.items()),
        Column("errors", lambda row: formatting.errors_text(row["errors"]), "text"),
        *([Column(f"published\n{figures}", itemgetter("published"))] if set(shown_beside) - {"–"} else []),
        Column("verdict", itemgetter("verdict"), "verdict"),
    ]
    records = [
        {**row, "published": beside, "mark": formatting.survivors_mark(row)}
        for row, beside in zip(run.cells, shown_beside, strict=True)
    ]
    return TextTable("all measurements", columns, records)


def parts(run: Run, most_names: int | None = None) -> Iterator[TextTable]:
    """The tables beside that of all measurements, of those that there is something of.

    Names, sessions, windows, what waiting costs, and the generator.

    Args:
        most_names: of each cell; all if None.

    """
    for table in (_by_name(run, most_names), _sessions(run), _windows(run), _waiting(run), _generator(run)):
        if table.records:
            yield table


def _by_name(run: Run, most: int | None) -> TextTable:
    """The figures of each name, for cells that have several."""
    names, marks = run.by_name(), formatting.survivors_marks(run.cells)
    columns = [
        *_which(run),
        Column("name", itemgetter("name"), "text"),
        Column("method", lambda row: row.get("method", ""), "name"),
        _count("requests", "requests"),
        _count("failed", "failed"),
        *_statistics(names, ["p999_s"]),
        _figure("req/s", "throughput_rps", formatting.rate_text),
        _count("fallbacks", "fallbacks"),
    ]
    return TextTable(
        _titled("by name", run),
        columns,
        [{**row, "mark": marks[_key(row)]} for row in _at_most(most, names)],
        "The names of a measurement add up to its row above. A fallback is a right answer that its check calls a "
        "substitute.",
    )


def _at_most(most: int | None, names: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The records of so many names of each cell, and one that counts the others."""
    for _, rows in names.groupby(["variant", "at", "repeat"], sort=False) if len(names) else ():
        shown = _records(rows.head(most) if most else rows)
        yield from shown
        if left_out := len(rows) - len(shown):
            cell = {key: shown[0][key] for key in ("variant", "at", "repeat")}
            yield {**cell, "name": f"… and {left_out:,} more names"}


def _sessions(run: Run) -> TextTable:
    """The figures of whole sessions, for cells whose sessions have several requests: a row for each of their times."""
    sessions = run.sessions()
    counts = (*COUNTS.values(), "requests")
    records = [
        {**{key: value for key, value in row.items() if key not in counts or number == 0}, "time": meaning}
        | {f"{key}_s": row[f"{name}_{key}_s"] for key in STATISTICS.values()}
        for row in _records(sessions)
        for number, (name, meaning) in enumerate(SESSION_TIMES.items())
    ]
    columns = [
        *_which(run),
        Column("time", itemgetter("time"), "text"),
        *(_count(heading, key) for heading, key in COUNTS.items()),
        _figure("requests\neach", "requests", formatting.rate_text),
        *_statistics(sessions, [f"{time}_p999_s" for time in SESSION_TIMES]),
    ]
    return TextTable(
        _titled("sessions", run),
        columns,
        records,
        "Times are of complete sessions without a failure: the sum of their requests' latencies; from the first send "
        "to the last answer; and what lies between the requests. Those that the end of the load cut off, or that their "
        "user stopped early, are counted, and have no times; never sent is what those who stopped would have sent too.",
    )


def _windows(run: Run) -> TextTable:
    """How requests ended by time window, of loads that change; the columns of a breaker where it kept any back."""
    windows = run.windows()
    kept_back = [name for name in ("fallback", "refused") if name in windows and windows[name].any()]
    counts = ("offered", "right", *kept_back, "failed")
    columns = [
        Column("variant", itemgetter("variant"), "name"),
        *([_varied(run)] if run.is_sweep else []),
        *_repeat(run),
        Column("from s", lambda row: f"{row['from_s']:,.1f}"),
        *(_count(BY_BREAKER.get(name, name), name) for name in counts),
        _figure("mean s", "mean_s"),
        _figure("answers/s", "answered_rps", formatting.rate_text),
    ]
    return TextTable(
        "by time window", columns, _records(windows), "Requests are in the window in which they were to be sent."
    )


def _waiting(run: Run) -> TextTable:
    """What each request that waited cost the service of a ramp, at the peak."""
    held = ("threads", "heap_bytes", "native_bytes")
    columns = [
        *_which(run),
        _count("requests\nunder way", "in_flight"),
        _figure("threads\neach", "threads", formatting.hundredths),
        _figure("heap\nkB each", "heap_bytes", formatting.kilobytes),
        _figure("outside the heap\nkB each", "native_bytes", formatting.kilobytes),
    ]
    return TextTable(
        _titled("what waiting costs, at the peak", run),
        columns,
        [{**dict.fromkeys(held), **row} for row in _records(run.waiting_costs())],
        "For each request that was under way at the peak of the ramp, those of the warm-up left out: what the service "
        "held more than before the load. Requests that wait before the service takes them up are counted too. Of the "
        "heap it is what has survived a collection, where there was one.",
    )


def _generator(run: Run) -> TextTable:
    """How much the generator had to do, and how late it was; without rows where no worker was read."""
    columns = [
        *_which(run),
        Column("busiest\nworker", lambda row: formatting.share_text(row["worker_cpu"])),
        Column("of its\nceiling", lambda row: formatting.share_text(row["of_ceiling"])),
        _figure("CPU\ns/1000", "generator_cpu_s_per_1000_requests"),
        _figure("late s\nmean", "late_mean_s"),
        _figure("late s\np99", "late_p99_s"),
    ]
    records = [
        {**row, "of_ceiling": _share(row["peak_rps"] or row["throughput_rps"], row["ceiling_rps"])}
        for row in run.cells
        if row["worker_cpu"] is not None and row["throughput_rps"] is not None
    ]
    return TextTable(
        "the generator",
        columns,
        records,
        "The share of a core that the busiest Locust worker used; the rate of requests as a share of the highest that "
        "was measured for this kind of request; what workers on this machine used for a thousand requests, in seconds "
        "of CPU time. Late is by how much requests were sent after they were due: the mean of those that latencies "
        "depend on; p99 of those that were planned, in a closed loop each user's first.",
    )


def limits(run: Run) -> TextTable:
    """The limits in force: one row a limit, one column a variant; without rows where no service has stated any."""
    read = run.limits()
    columns = [
        Column("", itemgetter("limit"), "text"),
        *(_limit(str(variant)) for variant in read.columns),
    ]
    records = [
        {"limit": str(name).replace("_", " "), **row} for name, row in zip(read.index, _records(read), strict=True)
    ]
    return TextTable(
        f"limits in force ({run.plan.stance}), read back from the running services",
        columns,
        records,
        "What services say, not what they were told: limits decide results more often than the thread model does.",
    )


def _which(run: Run) -> list[Column]:
    """The columns that say which cell a row is of."""
    return [Column("variant", itemgetter("variant"), "name"), _varied(run), *_repeat(run)]


def _varied(run: Run) -> Column:
    return Column(run.plan.axis, lambda row: run.plan.value_at(row["at"]))


def _repeat(run: Run) -> list[Column]:
    return [Column("repeat", lambda row: str(row["repeat"]))] if run.plan.has_repeats else []


def _figure(
    heading: str, key: str, write: Callable[[float | None], str] = formatting.seconds_text, main: bool = False
) -> Column:
    """A column of latencies or rates, each with the mark of its cell; empty where a record has no such key."""

    def text(row: Record) -> str:
        written = write(row[key]) if key in row else ""
        return written if written in ("", "–") else written + row.get("mark", "")

    return Column(heading, text, main=main)


def _count(heading: str, key: str) -> Column:
    """A column of counts; empty where a record has no such key."""
    return Column(heading, lambda row: formatting.count_text(row[key]) if key in row else "")


def _statistics(rows: pd.DataFrame, p999: Sequence[str]) -> Iterator[Column]:
    """The statistics of parts, without p99.9 where no row has enough answers for it."""
    known = any(column in rows and rows[column].notna().any() for column in p999)
    for heading, name in STATISTICS.items():
        if known or name != "p999":
            yield _figure(heading, f"{name}_s", main=name == "mean")


def _titled(title: str, run: Run) -> str:
    return title + formatting.paced(run.plan.cells[0].load)


def _key(row: Record) -> tuple[Any, Any, Any]:
    return row["variant"], row["at"], row["repeat"]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, by the names of its columns."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _use(heading: str, key: str) -> Column:
    """A column of what executions used."""
    return Column(heading, lambda row: _used(key, row.get(key)))


def _limit(variant: str) -> Column:
    """A column of the limits of a variant."""
    return Column(variant, lambda row: formatting.limit_text(row[variant]), "text")


def _share(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None


def _used(key: str, value: float | None) -> str:
    """What an execution used, in the unit of its column."""
    if value is None:
        return "–"
    if "bytes" in key:
        return f"{value / MIB:,.0f}"
    return f"{value:,.0f}" if key == "most_threads" else formatting.seconds_text(value)


def _published(peer: PublishedRow | None, of_programs: bool) -> str:
    if peer is None:
        return "–"
    if of_programs:
        return formatting.seconds_text(peer.mean_s)
    if peer.mean_s is None:
        return "–" if peer.total_s is None else f"all in {formatting.seconds_text(peer.total_s)}"
    failed = f", {peer.errors_percent:g} % failed" if peer.errors_percent else ""
    ramp = f", ramp {peer.ramp_s:g} s" if peer.ramp_s else ""
    rate = "" if peer.throughput_rps is None else f", {peer.throughput_rps:.1f}"
    return f"{peer.mean_s:.3f}{rate}{failed}{ramp}"
