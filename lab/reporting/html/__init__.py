"""The HTML report of a run: one self-contained file with its figures, without scripts or external resources."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lab.analysis import verdict
from lab.analysis.pairing import Terms
from lab.generator import calibration
from lab.reporting import run_tables
from lab.reporting.comparison_view import ComparisonView, compare
from lab.reporting.formatting import errors_text, rate_text, seconds_text, settings, survivors_mark
from lab.reporting.html import rerun_command
from lab.reporting.run_figures import figures_of
from lab.reporting.run_tables import TextTable
from lab.reporting.run_view import Run
from lab.storage import published
from lab.storage.published import PublishedRow

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

FOREST = (
    "One variant's value over the other's, with its 95 % interval. Square: a difference was found. Diamond: the two "
    "are alike, as surely within the grey band of 5 % to either side. Circle: undecided."
)
SHIFT = (
    "How many times as long each percentile of latency is: below 1 the first named is faster. Shaded: the 95 % "
    "interval of each percentile over the repeats. A line that crosses 1 says that one of them is faster for most "
    "requests, and the other for the slowest."
)


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
    def measurements(self) -> TextTable:
        """The table of all cells."""
        return run_tables.measurements(self.run)

    @cached_property
    def parts(self) -> list[TextTable]:
        """The tables beside that of all measurements: see :func:`lab.reporting.run_tables.parts`."""
        return list(run_tables.parts(self.run))

    @cached_property
    def limits(self) -> TextTable:
        """The limits that services reported."""
        return run_tables.limits(self.run)

    @cached_property
    def cards(self) -> list[dict[str, Any]]:
        """The rows of the first repeat of each variant at the largest load, for the summary at the top."""
        first = self.run.first_rows()
        return [
            {**row, "mark": survivors_mark(row), "published_mean_s": peer and peer.mean_s}
            for row, peer in zip(self.run.cells, self._peers, strict=True)
            if row in first
        ]

    def load_of(self, row: Mapping[str, Any]) -> str:
        """The load of a row in words."""
        return self.run.plan.at_position(row["at"])

    @property
    def called(self) -> dict[str, Any]:
        """By name, cores and limits of the services that the service calls."""
        return self.run.folder.note("components")

    def title_of(self, variant: str) -> str:
        """A variant's title."""
        return self.run.scenario.variant(variant).title

    @cached_property
    def _peers(self) -> list[PublishedRow | None]:
        """What was published for the settings of each cell."""
        return [published.row_beside(self.run.plan, cell) for cell in self.run.plan.cells]

    @property
    def has_published(self) -> bool:
        """Whether any row has a published one beside it."""
        return any(self._peers)

    @property
    def has_published_rate(self) -> bool:
        """Whether any of these has a rate."""
        return any(peer and peer.throughput_rps is not None for peer in self._peers)

    @property
    def has_model(self) -> bool:
        """Whether theory says a mean of any row."""
        return any(row["predicted_mean_s"] is not None for row in self.run.cells)

    @property
    def published(self) -> dict[str, Any]:
        """Source, settings and notes of the published table."""
        return published.table(self.run.plan.scenario.name)

    @property
    def is_open(self) -> bool:
        """Whether it is an open loop, whose latency is not the service time."""
        return any(cell.load.independent for cell in self.run.plan.cells)

    @cached_property
    def comparison(self) -> ComparisonView | None:
        """The comparison of its variants; None without repeats, or with a single variant."""
        if not self.run.plan.has_repeats or len({row["variant"] for row in self.run.cells}) < 2:
            return None
        return compare(str(self.run.path), None, Terms(although_different=True), self.run.path.parent)

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
    def figures(self) -> list[ReportFigure]:
        """The figures of the run, each drawn once."""
        return [_drawn(each.title, each.caption, each.draw) for each in figures_of(self.run)]

    @cached_property
    def differences(self) -> list[ReportFigure]:
        """The figures of the comparison; none without one."""
        if not (compared := self.comparison):
            return []
        return [
            _drawn("The differences", FOREST, compared.figure),
            _drawn("The differences by percentile", SHIFT, compared.shift_figure),
        ]


def render(run: Run) -> str:
    """A run as one HTML document; LabError where the run is damaged."""
    templates = Environment(
        loader=PackageLoader("lab.reporting.html", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"with_unit": _with_unit, "rate": rate_text, "errors": errors_text}
    return templates.get_template("report.html").render(page=Page(run), run=run)


def write(run: Run, file: Path) -> None:
    """Write a run as an HTML file; OSError where that is not possible."""
    file.write_text(render(run), encoding="utf-8")


def _drawn(title: str, caption: str, draw: Callable[[], Picture]) -> ReportFigure:
    picture = base64.b64encode(draw().png(DPI)).decode()
    return ReportFigure(title, caption, f"data:image/png;base64,{picture}")


def _with_unit(value: float | None) -> str:
    text = seconds_text(value)
    return text if text == "–" else f"{text} s"


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
