"""The command that reproduces published experiments: reproduce."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.markup import escape
from rich.table import Table

from lab.cli import as_typed
from lab.cli.console import NOT_VALID, err, out, reporter
from lab.cli.measuring import typed_command
from lab.cli.options import data_option
from lab.cli.tables import print_whole
from lab.errors import LabError
from lab.experiments import find_publication, publications
from lab.experiments.reproduction import results
from lab.experiments.reproduction.publication import CONFIRMED, NOT_JUDGED, REFUTED, UNDECIDED, Part, Publication
from lab.experiments.reproduction.results import Reproduction
from lab.formulas.units import MIB
from lab.reporting.formatting import (
    SURVIVORS,
    errors_text,
    figure_heading,
    figure_text,
    rate_text,
    releases,
    seconds_text,
)
from lab.running import estimate
from lab.running.invocation import Invocation
from lab.runtimes import PROCESS, RUNTIMES
from lab.spec.plan import CELLS, WINDOWS, Interleave

# Columns that say nothing of programs.
OF_SERVICES = ("rps", "error_percent", "published_rps", "published_error_percent")
ALL_MEAN = "all_mean_s"
COLOURS = {CONFIRMED: "green", REFUTED: "red", UNDECIDED: "yellow", NOT_JUDGED: "dim"}


@click.command()
@click.argument("name", required=False)
@click.option("--scale", type=float, metavar="X", help="1 is the document's size.  [default: largest that fits here]")
@click.option(
    "--pace",
    type=float,
    metavar="X",
    help="Scale pauses, ramp-up, timeout and the number of users by X: the request rate stays the same.  [default: 1]",
)
@click.option(
    "--repeat",
    type=int,
    metavar="N",
    help="Measure every cell (one variant at one load) N times, interleaved.  [default: as often as fits, five at "
    "most; --dry-run tells]",
)
@click.option(
    "--interleave",
    type=click.Choice((CELLS, WINDOWS)),
    help="One variant after the other, or all up and in turns of a second.  "
    "[default: windows where the CPU decides, else cells]",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Seed of arrivals and order, to repeat a run.  [default: drawn, and recorded]",
)
@click.option(
    "--from",
    "from_",
    multiple=True,
    metavar="RUN",
    help="Judge an existing run; one for each part.  [default: measure]",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    default=PROCESS,
    show_default=True,
    help="Where services, databases and workers run: as processes, in containers, or 'auto': in containers where "
    "an engine answers and images can be had.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check the prerequisites, print the runs and the time they would take, and exit."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@data_option
def reproduce(name: str | None, from_: Sequence[str], as_json: bool, data: Path, **options: Any) -> None:
    """Repeat a published experiment, and judge its claims; without NAME, list the experiments.

    \b
    python -m lab reproduce                            list the experiments
    python -m lab reproduce delay --dry-run            what would be measured, and how long that takes
    python -m lab reproduce delay --scale 0.1          a tenth of the users, threads and connections
    python -m lab reproduce delay --from delay-sweep   judge an existing run

    Each row of the document stands beside ours and theory; each claim is confirmed, refuted or undecided, or not judged
    where it was made for other settings. What was measured once decides nothing, unless earlier repeats of the same on
    this machine show how far one measurement lies from the next.
    """  # noqa: D301 (click looks for the backspace itself)
    context = click.get_current_context()
    asked = context.get_parameter_source
    if name is None:
        of_one = [each for each in context.command.params if each.name not in ("name", "data")]
        if given := [each.opts[0] for each in of_one if asked(each.name or "") is not ParameterSource.DEFAULT]:
            raise LabError(f"{given[0]} is for one experiment.", "Name it; 'python -m lab reproduce' lists them.")
        out.print(_listed())
        return
    if as_json and options["dry_run"]:
        raise LabError("--dry-run prints no JSON.", "Leave --json out.")
    wanted = find_publication(name)
    if from_:
        results.check_measures_nothing(name for name in options if asked(name) is not ParameterSource.DEFAULT)
        done = results.from_runs(wanted, results.open_runs(from_, data), data)
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
        said = escape(as_typed.as_typed("'python -m lab show RUN' shows the reason."))
        err.print(f"[red]A cell is invalid or incomplete[/]: {said}", soft_wrap=True)
        sys.exit(NOT_VALID)


def _measured(
    wanted: Publication,
    data: Path,
    scale: float | None,
    pace: float | None,
    repeat: int | None,
    interleave: Interleave | None,
    seed: int | None,
    runtime: str,
    dry_run: bool,
) -> Reproduction | None:
    """Measure an experiment at a scale; None if this is a dry run."""
    known = PROCESS if wanted.of_programs else estimate.resolved(runtime)
    to_measure = results.intended(
        wanted, data, scale=scale, pace=pace, repeat=repeat, interleave=interleave, runtime=known
    )
    wanted, chosen, times = to_measure.experiment, to_measure.scale, to_measure.repeat
    invocation = Invocation(typed_command(), data, reporter(), runtime)
    if dry_run:
        results.checked_plans(wanted, chosen, invocation, seed=seed, repeat=times)
    estimates = results.expected(wanted, chosen, data, times, seed, known)
    console = out if dry_run else err
    paced = f"; pace {wanted.pace:g}" * (wanted.pace != 1)
    size = "" if wanted.of_programs else f"; scale {chosen:g} ({to_measure.because}){paced}"
    console.print(f"  {wanted.name}: {wanted.title}{size}", soft_wrap=True)
    console.print(f"  {_times(times, repeat, wanted.repeated_within_s)}", soft_wrap=True)
    for part, expected in zip(wanted.parts, estimates, strict=True):
        console.print(f"  {part.name + ': ' if part.name else ''}{expected}", soft_wrap=True)
    if len(estimates) > 1:
        console.print(f"  together about {estimate.duration_text(results.total_s(estimates))}")
    if dry_run:
        return None
    return results.carry_out(wanted, chosen, invocation, seed=seed, repeat=times)


def _times(times: int, asked: int | None, within_s: float) -> str:
    """How often each cell is measured, in words, and why."""
    room = f"into {within_s / 60:.0f} minutes"
    if times == 1:
        more = "" if asked else f", as more does not fit {room}"
        return f"each cell once{more}: so claims are undecided; --repeat 3 decides them"
    return f"each cell {times} times" + f", as fits {room}" * (asked is None)


def _listed() -> Table:
    table = Table(header_style="bold", box=None)
    for heading in ("name", "what it is", "runs", "claims"):
        table.add_column(heading)
    for experiment in publications().values():
        table.add_row(experiment.name, experiment.title, str(len(experiment.parts)), str(len(experiment.claims)))
    return table


def _print(done: Reproduction) -> None:
    out.print(f"\n[bold]{done.experiment.name}[/]: {done.experiment.title}", soft_wrap=True)
    out.print(f"[dim]{escape(done.experiment.document)}[/]", soft_wrap=True)
    if not done.experiment.of_programs:
        out.print(_scale(done), soft_wrap=True)
    rows = done.flat()
    for part in done.experiment.parts:
        out.print()
        of_part = [row for row in rows if row["part"] == part.name]
        columns = _columns(rows, done.experiment.of_programs)
        columns = sorted([*columns, *_figure_columns(of_part)], key=attrgetter("published"))
        print_whole(_table(part, of_part, columns), out)
        scenario = done.experiment.scenario_of(part)
        if java := releases(scenario.variant(name) for name in dict.fromkeys(row["variant"] for row in of_part)):
            out.print(f"[dim]{java}[/]", soft_wrap=True)
        if any(row["sums_s"] for row in of_part):
            print_whole(_sums_table(part, of_part), out)
        for sentence in filter(None, map(_failed, of_part)):
            out.print(f"[dim]{escape(sentence)}[/]", soft_wrap=True)
    out.print("" if done.experiment.of_programs else "\n[dim]req/s: failures included[/]")
    out.print("[dim]in brackets: 95 % over repeats, or by those of earlier runs here[/]\n")
    for finding in done.claims:
        out.print(f"[{COLOURS[finding.word]}]{finding.word:10}[/] {escape(finding.claim)}", soft_wrap=True)
        out.print(f"           [dim]{escape(as_typed.as_typed(finding.evidence))}[/]", soft_wrap=True)
    out.print("\nErrors and gaps in the document's own numbers, and what is otherwise here:")
    for slip in done.experiment.slips:
        out.print(f"  – {escape(slip)}", soft_wrap=True)
    out.print(f"\nRuns: {', '.join(run.folder.called for run in done.runs)}")


def _scale(done: Reproduction) -> str:
    first = done.experiment.parts[0]
    if first.instead_of:
        return f"At the document's {first.kept}, for {first.lasting_s:g} s instead of {first.instead_of}."
    pace, one = done.experiment.pace, "A row of fewer than one user has one."
    if pace != 1:
        size = "the document's" if done.scale == 1 else f"{done.scale:g} of the document's"
        return (
            f"At {size} threads, connections and link. Pauses, ramp and timeout take {pace:g} times as long, and users "
            f"are {pace:g} times as many as at the document's pace: so are R/T and R/N, while t and the requests/s for "
            f"each thread and connection are the document's. Rates are scaled back. {one}"
        )
    ramps = _other_ramps(done.experiment.parts)
    if done.scale == 1:
        return f"At the document's size. {ramps}".strip()
    same = "R/T, R/N and t" if ramps else "R/T, R/N, ramp and t"
    return (
        f"At {done.scale:g} of the document's users, threads, connections and link; {same} are the "
        f"document's, rates are scaled back. {one} {ramps}".strip()
    )


def _other_ramps(parts: Sequence[Part]) -> str:
    """How long ramps last that are not the document's, in sentences; empty if there are none."""
    names: dict[tuple[float, float], list[str]] = {}
    for part in parts:
        if part.ramp_instead_of_s and part.options.ramp_up is not None:
            names.setdefault((part.options.ramp_up, part.ramp_instead_of_s), []).append(part.name)
    return " ".join(
        f"The ramp of {' and '.join(of)} lasts {here:g} s instead of {published:g} s."
        for (here, published), of in names.items()
    )


def _table(part: Part, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    """The table of a part: a line for each load, which programs do not have, and variant; published figures last.

    Args:
        rows: of :func:`lab.experiments.reproduction.results.flat`.

    """
    table = Table(
        title=_title(part), title_justify="left", title_style="bold", header_style="bold", box=None, padding=(0, 2)
    )
    table.pad_edge, table.collapse_padding = False, True
    published = next((column for column in columns if column.published), None)
    for heading in ("variant",) if part.of_programs else ("R", "variant"):
        table.add_column("\n" * bool(published) + heading, justify="left" if heading == "variant" else "right")
    for column in columns:
        above = "published" * (column is published) + "\n" * bool(published)
        table.add_column(above + column.heading, justify="right")
    last = None
    for row in rows:
        users = [] if part.of_programs else ["" if row["users"] == last else row["at"] or f"{row['users']:,}"]
        last = row["users"]
        unusable = [f"[red]{', '.join(row['not_usable'])}[/]"] * bool(row["not_usable"])
        table.add_row(*users, _named(row), *(column.text(column.of(row)) for column in columns), *unusable)
    return table


def _named(row: Mapping[str, Any]) -> str:
    """The variant of a row, marked where its figures are of the users who went on."""
    return str(row["variant"]) + SURVIVORS * bool(row["stopped"])


def _failed(row: Mapping[str, Any]) -> str:
    """Why requests of a row failed, and of a marked row how many sessions were stopped early; empty where none did."""
    which = f"{row['variant']} at {row['at'] or 'R = {:,}'.format(row['users'])}"
    failed = f"failed requests: {errors_text(row['errors'])}"
    if row["stopped"]:
        sessions = f"{row['stopped']:,} session{' was' if row['stopped'] == 1 else 's were'} stopped early"
        survivors = "its figures are of the users who went on, under less load"
        return f"{SURVIVORS} {which}: {sessions} ({failed}); {survivors}"
    return f"{which}: {failed}" if row["errors"] else ""


def _title(part: Part) -> str:
    """The name of a part, with its pace where that is not the document's."""
    return ", ".join(filter(None, (part.name, f"pace {part.pace:g}" * (part.pace != 1))))


def _sums_table(part: Part, rows: Sequence[Mapping[str, Any]]) -> Table:
    """What the requests of each name take together in a session, and the mean over all, with published ones after."""
    title = f"{_title(part)}: sums of a session by name, in s (published)"
    table = Table(title=title, title_justify="left", header_style="bold", box=None, padding=(0, 2), pad_edge=False)
    names = list(dict.fromkeys(name for row in rows for name in row["sums_s"]))
    table.add_column("R", justify="right")
    table.add_column("variant")
    for heading in (*(name.replace(" ", "\n") for name in names), "mean of\na request"):
        table.add_column(heading, justify="right")
    for row in rows:
        both = [(row["sums_s"].get(name), row["published_sums_s"].get(name)) for name in names]
        both.append((row["session_mean_s"], row["published_session_mean_s"]))
        texts = (seconds_text(ours) + (f" ({seconds_text(theirs)})" if theirs else "") for ours, theirs in both)
        table.add_row(f"{row['users']:,}", _named(row), *texts)
    return table


def _columns(rows: Sequence[Mapping[str, Any]], of_programs: bool) -> list[Column]:
    """The columns that any row has a value for; the scaled users only where they differ from R."""
    known = [column for column in COLUMNS if any(row.get(column.key) is not None for row in rows)]
    if not any("formula_s" in row or row["published_total_s"] is not None for row in rows):
        known = [column for column in known if column.key != "total_s"]
    if not any(row["published_ok_rps"] is not None for row in rows):
        known = [column for column in known if column.key != "ok_rps"]
    if of_programs:
        known = [column for column in known if column.key not in OF_SERVICES]
    scaled = any(row["measured_users"] != row["users"] for row in rows)
    return [column for column in known if scaled or column.key != "measured_users"]


def _figure_columns(rows: Sequence[Mapping[str, Any]]) -> Iterator[Column]:
    """The columns of figures that a publication names, ours before published ones; none where all are 0 or unknown.

    The mean of all requests is that of the right answers where none failed: then it has no column of its own, unless
    a published one stands beside it.
    """
    for group in ("figures", "published_figures"):
        for name in dict.fromkeys(name for row in rows for name in row[group]):
            text = partial(figure_text, name)
            needless = name == ALL_MEAN and not any(row["errors"] or name in row["published_figures"] for row in rows)
            if not needless and any(row["figures"].get(name) or row["published_figures"].get(name) for row in rows):
                yield Column(figure_heading(name), name, text, published=group == "published_figures", group=group)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g} %"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _mib(value: float | None) -> str:
    return "–" if value is None else f"{value / MIB:,.0f}"


@dataclass(frozen=True)
class Column:
    """A column of the table: its heading, and its key in :func:`lab.experiments.reproduction.results.flat`.

    Attributes:
        group: the key of the mapping there that has its key, such as ``figures``; empty for the row itself.

    """

    heading: str
    key: str
    text: Callable[[Any], str]
    published: bool = False
    group: str = ""

    def of(self, row: Mapping[str, Any]) -> Any:
        """Its value in a row; None if there is none."""
        return (row[self.group] if self.group else row).get(self.key)


COLUMNS = (
    Column("users", "measured_users", "{:,}".format),
    Column("mean s", "mean_s", seconds_text),
    Column("model s", "model_mean_s", seconds_text),
    Column("all R s", "total_s", seconds_text),
    Column("formula s", "formula_s", seconds_text),
    Column("req/s", "rps", rate_text),
    Column("ok/s", "ok_rps", rate_text),
    Column("failed", "error_percent", _percent),
    Column("start s", "start_s", seconds_text),
    Column("CPU s", "execution_cpu_s", seconds_text),
    Column("threads", "most_threads", _count),
    Column("memory MiB", "peak_bytes", _mib),
    Column("read MiB", "read_bytes", _mib),
    Column("MiB/s", "read_bytes_per_s", _mib),
    Column("mean s", "published_mean_s", seconds_text, published=True),
    Column("all R s", "published_total_s", seconds_text, published=True),
    Column("req/s", "published_rps", rate_text, published=True),
    Column("ok/s", "published_ok_rps", rate_text, published=True),
    Column("failed", "published_error_percent", _percent, published=True),
)
