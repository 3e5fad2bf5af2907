"""The HTML report of a run: one self-contained file with its figures, without scripts or external resources."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from lab.analysis import verdict
from lab.analysis.pairing import Terms
from lab.generator import calibration
from lab.reporting.comparison_view import ComparisonView, compare
from lab.reporting.formatting import (
    count_text,
    errors_text,
    hundredths,
    kilobytes,
    limit_text,
    rate_text,
    seconds_text,
    settings,
    survivors_mark,
    survivors_marks,
)
from lab.reporting.html import rerun_command
from lab.reporting.run_view import Run
from lab.spec.plan import USERS, WINDOWS
from lab.storage import published

if TYPE_CHECKING:
    from lab.reporting.figures import Picture

DPI = 144
MEANINGS = {
    verdict.VALID: "Nothing that the lab watches speaks against these numbers.",
    verdict.SUSPECT: "Something speaks against some of these numbers.",
    verdict.INVALID: "Some of these numbers are not what they seem.",
    verdict.INCOMPLETE: "Some of it was not measured to its end.",
}
# Facts of environment.json that have a section of their own, or are of no use to a reader.
LEFT_OUT = ("time", "commit", "uncommitted_changes", "packages", "runtime_because", "open_files")


@dataclass(frozen=True)
class ReportFigure:
    """A figure of the report, with a caption that also serves as its text alternative."""

    title: str
    caption: str
    source: str


@dataclass(frozen=True)
class Page:
    """The values that the report's template uses, from a run."""

    run: Run

    @property
    def command(self) -> str:
        """The command that repeats the run, with its seed."""
        return rerun_command.command(self.run.folder)

    @property
    def was_typed(self) -> bool:
        """Whether the run was made by a command, not from Python."""
        return rerun_command.was_typed(self.run.folder)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """The machine and the checkout, as they were recorded before the run."""
        return self.run.folder.environment()

    @property
    def machine(self) -> dict[str, str]:
        """Facts about the machine, by name."""
        facts = {key: value for key, value in self.environment.items() if key not in LEFT_OUT}
        return {key.removesuffix("_bytes").replace("_", " "): _fact(key, value) for key, value in facts.items()}

    @property
    def settings(self) -> str:
        """The settings of all cells in one line."""
        return settings(self.run.plan)

    @property
    def meaning(self) -> str:
        """The meaning of the run's verdict."""
        return MEANINGS[self.run.verdict]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many cells have each verdict, best first."""
        counted = Counter(cell["verdict"] for cell in self.run.cells)
        return [(word, counted[word]) for word in MEANINGS if counted[word]]

    @property
    def doubts(self) -> list[Mapping[str, Any]]:
        """The cells that are not valid, with reasons."""
        return [cell for cell in self.run.cells if cell["reasons"]]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The table, one dictionary a cell, with the ``mark`` of figures that are of survivors."""
        rows = zip(_records(self.run.table()), self.run.cells, strict=True)
        return [{**row, "mark": survivors_mark(cell)} for row, cell in rows]

    @cached_property
    def names(self) -> list[dict[str, Any]]:
        """The figures of each name, with their ``mark``, one dictionary a cell and name; none where a cell has one."""
        marks, rows = survivors_marks(self.run.cells), _records(self.run.by_name())
        return [{**row, "mark": marks[row["variant"], row["at"], row["repeat"]]} for row in rows]

    @cached_property
    def sessions(self) -> list[dict[str, Any]]:
        """The figures of sessions, one dictionary a cell; none where a session is one request."""
        return _records(self.run.sessions())

    @cached_property
    def waiting(self) -> list[dict[str, Any]]:
        """What each request that waited cost the service, one dictionary a cell of a ramp; none for other loads."""
        return _records(self.run.waiting_costs())

    @property
    def cards(self) -> list[dict[str, Any]]:
        """The rows of the first repeat of each variant at the largest load, for the summary at the top."""
        first = [(row["variant"], row["at"], row["repeat"]) for row in self.run.first_rows()]
        return [row for row in self.rows if (row["variant"], row["at"], row["repeat"]) in first]

    def load_of(self, row: Mapping[str, Any]) -> str:
        """The load of a row in words."""
        return self.run.plan.at_position(row["at"])

    @property
    def varied(self) -> str:
        """What is varied, if that is not the number of users; else empty."""
        return "" if self.run.plan.axis == USERS else self.run.plan.axis.replace("_", " ")

    @property
    def called(self) -> dict[str, Any]:
        """By name, cores and limits of the services that the service calls."""
        return self.run.folder.note("components")

    def title_of(self, variant: str) -> str:
        """A variant's title."""
        return self.run.scenario.variant(variant).title

    def has(self, rows: Sequence[Mapping[str, Any]], figure: str) -> bool:
        """Whether any of these rows has this figure, so that it needs a column."""
        return any(not _is_nothing(row[figure]) for row in rows)

    @property
    def has_published(self) -> bool:
        """Whether any row has a published one beside it."""
        return self.has(self.rows, "published_mean_s")

    @property
    def published(self) -> dict[str, Any]:
        """Source, settings and notes of the published table."""
        return published.table(self.run.plan.scenario.name)

    @property
    def is_open(self) -> bool:
        """Whether it is an open loop, whose latency is not the service time."""
        return any(cell.load.independent for cell in self.run.plan.cells)

    @property
    def has_repeats(self) -> bool:
        """Whether anything was measured more than once."""
        return any(row["repeat"] > 1 for row in self.rows)

    @cached_property
    def comparison(self) -> ComparisonView | None:
        """The comparison of its variants; None without repeats, or with a single variant."""
        if not self.has_repeats or len({row["variant"] for row in self.rows}) < 2:
            return None
        return compare(str(self.run.path), None, Terms(although_different=True), self.run.path.parent)

    @property
    def limits(self) -> tuple[list[str], list[tuple[str, list[str]]]]:
        """The variants, and for each limit its name and the value that each variant reported."""
        frame = self.run.limits()
        rows = [(str(name).replace("_", " "), [limit_text(value) for value in row]) for name, row in frame.iterrows()]
        return [str(variant) for variant in frame.columns], rows

    @property
    def decided(self) -> dict[str, str]:
        """The plan's values that are the same for all cells."""
        plan = self.run.plan
        named = {**plan.parameters, **asdict(plan.limits), **(asdict(plan.link) if plan.link else {})}
        addresses = {variant.name: variant.url for variant in plan.variants if variant.url}
        known = {name.replace("_", " "): value for name, value in named.items() if value is not None}
        numbers = {name: value if isinstance(value, str) else f"{value:,}" for name, value in known.items()}
        return numbers | addresses | {"limits": plan.stance, "seed": str(plan.seed)}

    @cached_property
    def plates(self) -> list[ReportFigure]:
        """The figures, each drawn once."""
        run, drawn = self.run, []
        if run.is_sweep:
            drawn.append(_plate(f"Over {self.varied or 'the number of users'}", SWEEP, run.sweep_figure))
        if run.is_ramp:
            drawn.append(_plate("The ramp", RAMP, run.ramp_figure))
        if run.has_outcomes:
            drawn.append(_plate("How requests ended", OUTCOMES, run.outcomes_figure))
        if self.has_repeats:
            drawn.append(_plate("The repeats", REPEATS, run.repeats_figure))
        if run.plan.interleave == WINDOWS:
            drawn.append(_plate("In turns", IN_TURNS, run.windows_figure))
        if self.sessions:
            drawn.append(_plate("Users alive", ALIVE, run.users_figure))
        if self.comparison:
            drawn.append(_plate("The differences", FOREST, self.comparison.figure))
            drawn.append(_plate("The differences by percentile", SHIFT, self.comparison.shift_figure))
        if run.scenario.entry == "program":
            drawn.append(_plate("The executions", EXECUTIONS, run.figure))
        else:
            drawn.append(_plate("The distribution of latency", DISTRIBUTION, run.figure))
        drawn.append(_plate("Over time", TIMELINE, run.timeline))
        if any(not panel.right.all() for panel in run.panels()):
            drawn.append(_plate("Failed requests", ERRORS, run.errors_figure))
        return drawn


SWEEP = (
    "Mean latency and right answers a second. Dashed: what theory says. Crosses: what was published for the same "
    "settings. Hollow: not valid."
)
RAMP = (
    "Right answers a second, beside what was sent; and what the service held for requests that were under way: threads "
    "of the operating system, and memory, in the heap without its nursery and outside of the heap, more than before "
    "the load. A dot is a knee. Faded: not valid."
)
OUTCOMES = (
    "Requests a second by how they ended, where each was to be sent: answered right, by a circuit breaker's substitute "
    "or its refusal, or failed."
)
REPEATS = "Every repeat: how far one lies from the next of the same variant. Hollow: not valid."
IN_TURNS = (
    "Each point is a round: one variant's rate in its window over the other's in the window next to it. Each line is "
    "the mean of one start of the services, and the band is the 95 % interval by the starts. The grey band is 5 % to "
    "either side."
)
ALIVE = (
    "How many users were between the first request of a session and its last answer, pauses included; and how many "
    "sessions were stopped early, as what had failed was needed for the rest: what they did not send is missing from "
    "the load."
)
FOREST = (
    "One variant's value over the other's, with its 95 % interval. Square: a difference was found. Diamond: the two "
    "are alike, as surely within the grey band of 5 % to either side. Circle: undecided."
)
SHIFT = (
    "How many times as long each percentile of latency is: below 1 the first named is faster. Shaded: the 95 % "
    "interval of each percentile over the repeats. A line that crosses 1 says that one of them is faster for most "
    "requests, and the other for the slowest."
)
DISTRIBUTION = (
    "How long right answers took, on an axis of percentiles on which 90, 99 and 99.9 are equally far apart; and how "
    "many requests were under way. Faded: not valid. Dashed: the mean that theory says."
)
EXECUTIONS = (
    "How long each execution took, on an axis on which twice as long is equally far everywhere, and what it used. "
    "Crosses: the same with an empty folder, where there is one. Starred: works on something else than the others."
)
TIMELINE = (
    "One column a variant, each with a time axis of its own: every answer, requests under way, right answers a second, "
    "what the service spent meanwhile, and the others: what is behind the service, and the generator. "
    "Grey: all programs on those cores, the lab's own among them, without the interrupts that a line may include. "
    "Dotted: as many cores as there are. Hatched: not valid."
)
ERRORS = "When requests failed, and how."


def render(run: Run) -> str:
    """A run as one HTML document; LabError where the run is damaged."""
    templates = Environment(
        loader=PackageLoader("lab.reporting.html", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "seconds": seconds_text,
        "with_unit": _with_unit,
        "rate": rate_text,
        "errors": errors_text,
        "count": count_text,
        "hundredths": hundredths,
        "kilobytes": kilobytes,
    }
    return templates.get_template("report.html").render(page=Page(run), run=run)


def write(run: Run, file: Path) -> None:
    """Write a run as an HTML file; OSError where that is not possible."""
    file.write_text(render(run), encoding="utf-8")


def _plate(title: str, caption: str, draw: Callable[[], Picture]) -> ReportFigure:
    picture = base64.b64encode(draw().png(DPI)).decode()
    return ReportFigure(title, caption, f"data:image/png;base64,{picture}")


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, by the names of its columns."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _is_nothing(value: Any) -> bool:
    return bool(pd.isna(value))


def _with_unit(value: float | None) -> str:
    return "–" if _is_nothing(value) else f"{seconds_text(value)} s"


def _fact(key: str, value: Any) -> str:
    if key == "calibration" and isinstance(value, dict):
        ceilings = [
            calibration.in_words(
                of["kind"], of["rps"], of.get("limited_by", calibration.GENERATOR), of.get("workers", 1)
            )
            for of in value.get("ceilings", ())
        ]
        return f"the generator sends at most: {', '.join(ceilings) or 'not known'}"
    if key in ("jars", "sources") and isinstance(value, dict):
        return ", ".join(f"{name} {str(digest)[:12]}" for name, digest in value.items())
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {item}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "shared"
    return "–" if value is None else str(value)
