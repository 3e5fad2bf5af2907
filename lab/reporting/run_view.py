"""The view of a stored run: tables, figures, sentences, and one JSON object for programs.

What draws is imported where something is drawn, as it takes longer to load than most commands to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pandas as pd

from lab.analysis import insights, ramps, verdict, window_ratios
from lab.analysis.bottleneck import Bottleneck
from lab.analysis.ramps import RampResult
from lab.errors import LabError
from lab.formulas import knee, stats
from lab.formulas.knee import Point, RatePoint, SweepShape
from lab.reporting import formatting
from lab.reporting.run_rows import PARTS, flat_sessions, row_of, with_p999
from lab.spec import numbers, prediction
from lab.spec.options import check_choice
from lab.spec.plan import RATE, USERS, Plan
from lab.spec.scenario import Scenario
from lab.spec.workload import Ramp
from lab.storage import published, run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.telemetry import pools

if TYPE_CHECKING:
    from lab.reporting.figures import Panel, Picture

# What the sentence on a sweep says of a variant without any cell that can be used.
UNUSABLE = "no cell of it can be used"
LIMITS = (
    "server",
    "server_version",
    "transport",
    "request_threads_kind",
    "request_threads_max",
    "max_connections",
    "accept_count",
    "keep_alive_requests",
    "keep_alive_timeout_ms",
    "processor_cache",
    "pool_max",
    "heap_max_bytes",
    "cpus",
    "nodes",
    "balancer",
    "balancer_policy",
    "balancer_max_connections",
    "balancer_node_connections",
    "balancer_timeout_s",
    "balancer_health_checks",
    "gc",
    "java",
)


@dataclass(frozen=True)
class Run:
    """A stored run, read from its folder. As the last expression of a notebook's cell it shows its table."""

    folder: RunFolder

    @cached_property
    def plan(self) -> Plan:
        """The run's plan."""
        return self.folder.plan()

    @property
    def scenario(self) -> Scenario:
        """The scenario as it was defined when the run was made."""
        return self.plan.scenario

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.folder.path

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """One dictionary a cell, in the plan's order; these are the ``cells`` of ``lab show --json``."""
        return [row_of(cell, self.plan.position(cell.cell)) for cell in self.folder.cells()]

    @property
    def verdict(self) -> str:
        """The worst verdict of its cells."""
        words = [cell["verdict"] for cell in self.cells]
        return verdict.INCOMPLETE if verdict.INCOMPLETE in words else verdict.worst(words)

    def as_json(self) -> dict[str, Any]:
        """The object that ``lab show --json`` prints."""
        return {"run": self.name, "scenario": self.plan.scenario.name, "cells": self.cells}

    def table(self) -> pd.DataFrame:
        """One row a cell, with the published figures beside ours where the settings are the same.

        ``at`` is what is varied. Where that is one of several names, ``at`` counts them, and the column with the
        parameter's name has them. ``java`` is the release that each variant names, where any does.
        """
        rows, names_java = [], any(variant.jdk for variant in self.plan.variants)
        for cell, row in zip(self.plan.cells, self.cells, strict=True):
            peer = published.row_beside(self.plan, cell)
            whole = {key: value for key, value in row.items() if key not in PARTS}
            whole |= {"java": self.scenario.variant(cell.variant).jdk or None} if names_java else {}
            rows.append(
                {**whole, "published_mean_s": peer and peer.mean_s, "published_rps": peer and peer.throughput_rps}
            )
        return self._frame(rows)

    def by_name(self) -> pd.DataFrame:
        """One row for each name of each cell that has several; they add up to the cell's row in :meth:`table`."""
        parts = [(row, of_name) for row in self.cells for of_name in row.get("by_name", ())]
        return self._frame([{**_which(row), "method": "", **with_p999(of_name)} for row, of_name in parts])

    def sessions(self) -> pd.DataFrame:
        """One row for each cell whose sessions have several requests: counts, and times such as ``wall_p99_s``."""
        return self._frame(
            [{**_which(row), **flat_sessions(row["sessions"])} for row in self.cells if "sessions" in row]
        )

    def survivors(self) -> list[str]:
        """A sentence on each cell of which sessions were stopped early: its figures are those of who went on."""
        return [f"{self.which(row)}: {text}" for row in self.cells if (text := formatting.survivors(row))]

    def calls(self) -> pd.DataFrame:
        """One row a cell: how many calls a request made, by what counted them, such as ``mongo find``."""
        rows = [
            {**_which(row), **{name: count / row["requests"] for name, count in row["calls"].items()}}
            for row in self.cells
            if row.get("calls") and row["requests"]
        ]
        return self._frame(rows)

    def _frame(self, rows: list[dict[str, Any]]) -> pd.DataFrame:
        """A table of rows about cells; where names are varied, with them."""
        frame = pd.DataFrame(rows)
        if len(frame) and self.scenario.choices(self.plan.axis):
            names = [self.plan.value_at(at) for at in frame["at"]]
            frame.insert(list(frame).index("at") + 1, self.plan.axis, names)
        return frame

    def with_failures(self) -> list[str]:
        """For each cell in which requests failed, a sentence on the latencies of all of its requests."""
        sentences = [(row, formatting.with_failures(row)) for row in self.cells]
        return [f"{self.which(row)}: {sentence}" for row, sentence in sentences if sentence]

    def about_latencies(self) -> list[str]:
        """What to know when reading the latencies of :meth:`table`, in sentences."""
        known = [row["p999_s"] is not None for row in self.cells]
        few = f"p99.9 takes {stats.FEWEST_FOR_P999:,} right answers." * (any(known) and not all(known))
        about = (*self.scopes(), *self.survivors(), *self.with_failures(), few, self.closed_loop())
        return [text for text in about if text]

    def scopes(self) -> list[str]:
        """A sentence on each variant that does not work on what the others do: its times are not to be compared."""
        return [
            f"{variant.name} works on something else ({variant.scope}): its times are not to be compared."
            for variant in self.plan.variants
            if variant.scope
        ]

    def which(self, row: Mapping[str, Any]) -> str:
        """Which cell a row is of, in words: variant, load, and the repeat if there are several."""
        repeat = f", repeat {row['repeat']}" * self.plan.has_repeats
        return f"{row['variant']} at {self.plan.at_position(row['at'])}{repeat}"

    def closed_loop(self) -> str:
        """What the tail of a closed loop cannot show, as a sentence; empty for any other load."""
        return formatting.closed_loop(self.plan)

    def limits(self) -> pd.DataFrame:
        """The limits in force as the running services reported them: one row a limit, one column a variant."""
        read = ((folder.cell.variant, folder.read("limits")) for folder in self.folder.cells())
        frame = pd.DataFrame({variant: pd.Series(limits, dtype=object) for variant, limits in read if limits})
        # Of each pool, and of what is called, such as "pool to mongo" and "backend threads".
        named = [name for name in frame.index if " " in name]
        # What is the same of all pools, and nothing where they differ, is left to them.
        left_out = {"pool_max"} if any(name.startswith(pools.name_of("")) for name in named) else set()
        return frame.reindex([*(name for name in LIMITS if name in frame.index and name not in left_out), *named])

    def insights(self) -> list[str]:
        """Sentences on bottleneck, steady state and scalability: :mod:`lab.analysis.insights`."""
        return insights.sentences(self.folder)

    def not_checked(self) -> list[str]:
        """Sentences on the checks that could not be made, and why."""
        return insights.not_checked(self.folder)

    def deciding(self) -> dict[str, Bottleneck]:
        """By variant, the binding resource at the largest load, and the reading that shows it."""
        return insights.deciding(self.folder)

    def intervals(self) -> pd.DataFrame:
        """Mean, p50, p99 and p99.9 by variant and load, with their intervals: see :mod:`lab.analysis.insights`."""
        return pd.DataFrame(insights.intervals(self.folder))

    def samples(self) -> pd.DataFrame:
        """The measured samples of all cells, one row a request, with its cell."""
        frames = [
            cell.measured().assign(
                variant=cell.cell.variant,
                users=cell.cell.load.users,
                at=self.plan.position(cell.cell),
                repeat=cell.cell.repeat,
            )
            for cell in self.folder.cells()
        ]
        return pd.concat(frames, ignore_index=True)

    def figure(self) -> Picture:
        """Latency distribution of each variant and its requests under way, at the largest load if there are several.

        Of programs, how long each execution took, and what it used.
        """
        from lab.reporting.figures import programs_figure, run_figure

        if self.scenario.entry == "program":
            most = {"most": self._largest}
            rows, samples = (each.query("at == @most", local_dict=most) for each in (self.table(), self.samples()))
            cell = next(cell for cell in self.plan.cells if self.plan.position(cell) == self._largest)
            settings = ", ".join(f"{name} {value}" for name, value in self.plan.parameters_of(cell).items())
            scopes = {variant.name: variant.scope for variant in self.plan.variants}
            return programs_figure(f"{self.subject}: {settings}", rows, samples, scopes)
        return run_figure(self._at_largest_load("latency"), self.panels())

    def timeline(self) -> Picture:
        """Answers, throughput, CPU of all that was read, GC and pool over time at the largest load, by variant."""
        from lab.reporting.figures import timeline_figure

        environment = self.folder.environment()
        cores = {owner: len(environment.get(f"{owner}_cores") or ()) for owner in ("service", "generator")}
        return timeline_figure(self._at_largest_load("over time"), self.panels(), cores)

    def repeats_figure(self) -> Picture:
        """Throughput, p99 and p99.9 of every repeat at the largest load, to show the variation between repeats."""
        from lab.reporting.figures import repeats_figure

        rows = self.table().query("at == @most", local_dict={"most": self._largest})
        return repeats_figure(self._at_largest_load("repeats"), rows)

    def users_figure(self) -> Picture:
        """How many users were in the middle of a session over time, and were stopped early, at the largest load."""
        from lab.reporting.figures import users_figure

        return users_figure(self._at_largest_load("users alive"), self.panels())

    def windows_figure(self, figure: str = "throughput") -> Picture:
        """The ratio of each pair of windows over time, the starts apart, at the largest load of a run in windows.

        Args:
            figure: of :data:`lab.analysis.window_ratios.FIGURES`; LabError for any other.

        """
        from lab.reporting.figures import windows_figure

        check_choice("figure", figure, tuple(window_ratios.FIGURES))
        at = self.plan.at_position(self._largest)
        ratios = [ratio for ratio in window_ratios.of_run(self.folder, (figure,)) if ratio.at == at]
        return windows_figure(self._at_largest_load("in turns"), ratios)

    def window_ratios(self) -> pd.DataFrame:
        """One row for each pair, load and figure of a run in windows: ratio, interval, starts, windows, and noise."""
        return pd.DataFrame([ratio.as_row() for ratio in window_ratios.of_run(self.folder)])

    def ramp_figure(self) -> Picture:
        """What was answered of a ramp over time, and threads and memory of the service over the requests under way."""
        from lab.reporting.figures import ramp_figure

        panels = self.panels()
        first = {panel.variant: result for panel in panels for result in [self._first_ramp(panel.variant)] if result}
        return ramp_figure(self._at_largest_load("the course"), panels, first)

    def _first_ramp(self, variant: str) -> RampResult | None:
        """The ramp of the first repeat of a variant at the largest load."""
        found = (result for row, result in self._ramps if (row["variant"], row["at"]) == (variant, self._largest))
        return next(found, None)

    @property
    def is_ramp(self) -> bool:
        """Whether its loads grow from beginning to end, and any of them has been measured."""
        return bool(self._ramps)

    @cached_property
    def has_outcomes(self) -> bool:
        """Whether requests of the largest load are shown by time window with how they ended: see :meth:`windows`."""
        return bool(self._outcomes(self._largest))

    def _outcomes(self, at: float) -> dict[str, pd.DataFrame]:
        """The time windows of the first repeat of each variant at one value of what is varied, by its label."""
        from lab.reporting.figures.style import label_of

        return {
            label_of(cell.cell.variant, self._row(cell)["verdict"]): windows
            for cell in self._first_cells(at)
            if len(windows := ramps.outcomes(cell, self._is_steady(cell)))
        }

    def outcomes_figure(self, at: float | None = None) -> Picture:
        """How requests ended over time: right, by a circuit breaker, or failed.

        Args:
            at: one value of what is varied, of a name its place among the choices; the largest if None. LabError if
                it was not measured.

        """
        from lab.reporting.figures import outcomes_figure

        at = self._measured(at)
        return outcomes_figure(self._titled("how requests ended", at), self._outcomes(at))

    def errors_figure(self) -> Picture:
        """Failed requests over time by class, at the largest load."""
        from lab.reporting.figures import errors_figure

        return errors_figure(self._at_largest_load("failed requests"), self.panels())

    def panels(self, at: float | None = None) -> list[Panel]:
        """The data for figures: the first repeat of every variant at one value of what is varied.

        Args:
            at: such as a number of users; the largest if None. LabError if it was not measured.

        """
        return [self._panel(cell) for cell in self._first_cells(self._measured(at))]

    def _measured(self, at: float | None) -> float:
        """One value of what is varied, the largest if None; LabError if it was not measured."""
        if at is None:
            return self._largest
        if at not in self.plan.positions:
            known = ", ".join(f"{position:.12g}" for position in self.plan.positions)
            raise LabError(
                f"{numbers.shown(at)} is none of the values of {self.plan.axis} in {self.name}.", f"There is: {known}."
            )
        return at

    def _first_cells(self, at: float) -> list[CellFolder]:
        """The cell of the first repeat of each variant at one value of what is varied, in the plan's order.

        Where variants take turns in batches, the first repeat of one is not that of another.
        """
        first: dict[str, CellFolder] = {}
        at_load = [folder for folder in self.folder.cells() if self.plan.position(folder.cell) == at]
        for folder in sorted(at_load, key=lambda folder: folder.cell.repeat):
            first.setdefault(folder.cell.variant, folder)
        return [folder for folder in at_load if first[folder.cell.variant] is folder]

    def first_rows(self) -> list[dict[str, Any]]:
        """The row of the first repeat of each variant at the largest load."""
        return [self._row(folder) for folder in self._first_cells(self._largest)]

    def _row(self, cell: CellFolder) -> dict[str, Any]:
        return next(row for row, of in zip(self.cells, self.plan.cells, strict=True) if of == cell.cell)

    @property
    def _largest(self) -> float:
        return self.plan.positions[-1]

    @property
    def subject(self) -> str:
        """The scenario, and the databases that it ran on: a stand-in is named wherever a result is shown.

        Of services that the lab did not start: the address, or the labels of several.
        """
        if self.scenario.entry == "attached":
            return formatting.attached_title(self.plan.variants)
        titles = " and ".join(str(database["title"]) for database in self.folder.databases())
        return f"{self.scenario.name} on {titles}" if titles else self.scenario.name

    def _at_largest_load(self, what: str) -> str:
        return self._titled(what, self._largest)

    def _titled(self, what: str, at: float) -> str:
        load = self.plan.cells[0].load
        alone = load.independent and not self.plan.is_sweep
        asked = load.volume(self.plan.unit) if alone else self.plan.at_position(at)
        planned = ", from their planned moments" * load.independent
        return f"{self.subject}: {what} at {asked}{formatting.paced(load)}{planned}"

    def _panel(self, cell: CellFolder) -> Panel:
        from lab.reporting.figures import Panel
        from lab.reporting.figures.style import styles_of

        variant = self.scenario.variant(cell.cell.variant)
        row = self._row(cell)
        return Panel(
            variant=variant.name,
            samples=stats.as_planned(cell.measured()) if cell.cell.load.independent else cell.measured(),
            verdict=row["verdict"],
            predicted_mean_s=row["predicted_mean_s"],
            style=styles_of(variant.name for variant in self.plan.variants)[variant.name],
            metrics=cell.metrics(),
            from_planned=cell.cell.load.independent,
        )

    def sweep_figure(self) -> Picture:
        """Mean latency and throughput over what is varied, with the model and the published points."""
        from lab.reporting.figures import sweep_figure

        plan = self.plan
        return sweep_figure(
            self.subject, self.table(), prediction.plateaus(plan), plan.axis, plan.scenario.choices(plan.axis)
        )

    def bends(self) -> dict[str, SweepShape]:
        """Plateau, knee and first errors of each variant: means over the repeats of usable cells.

        Where nothing is in doubt but that requests failed, their errors count too.
        """
        usable = [row for row in self.cells if _shows_limit(row)]
        points = {
            variant: [_point([r for r in usable if (r["variant"], r["at"]) == (variant, at)]) for at in loads]
            for variant, loads in _loads(usable).items()
        }
        return {variant: knee.sweep_shape(of_variant) for variant, of_variant in points.items()}

    def shape(self) -> dict[str, str]:
        """A sentence on each variant of a sweep or a ramp: plateau, knee and first errors; empty for a single load."""
        if self._is_ramp_of_rates:
            return self.knees()
        if not self.is_sweep or self.plan.axis not in (USERS, RATE):
            return {}
        bends = self.bends() if self.plan.axis == USERS else self.rates_kept()
        names = [variant.name for variant in self.plan.variants]
        return {name: f"{bends[name]}{self._left_out(name)}" if name in bends else UNUSABLE for name in names}

    def _left_out(self, variant: str) -> str:
        """The loads of a variant of which no cell can be used, as the end of a sentence; empty without any."""
        used = {row["at"] for row in self.cells if row["variant"] == variant and _shows_limit(row)}
        missing = [self.plan.at_position(at) for at in self.plan.positions if at not in used]
        return f"; no cell can be used at {', '.join(missing)}" if missing else ""

    def knees(self) -> dict[str, str]:
        """A sentence on each variant of a ramp of rates: the knee of each of its cells that can be used."""
        found: dict[str, list[str]] = {}
        for row, result in self._ramps:
            if row["verdict"] in verdict.BELIEVED and self._is_ramp_of_rates:
                at = f"{self.plan.at_position(row['at'])}: " * self.is_sweep
                found.setdefault(row["variant"], []).append(at + result.shape)
        return {variant: "; ".join(said) for variant, said in found.items()}

    def windows(self) -> pd.DataFrame:
        """How requests ended over time, one row a window and cell, where :func:`lab.analysis.ramps.outcomes` says."""
        found = (
            (row, ramps.outcomes(folder, self._is_steady(folder)))
            for folder, row in zip(self.folder.cells(), self.cells, strict=True)
        )
        return pd.DataFrame(
            [{**_which(row), **window} for row, windows in found for window in windows.to_dict("records")]
        )

    def waiting_costs(self) -> pd.DataFrame:
        """What a request that waits cost the service of a ramp: see :func:`lab.analysis.waiting_cost.waiting_cost`.

        One row a cell in which enough requests were under way at once.
        """
        return pd.DataFrame([{**_which(row), **result.waiting} for row, result in self._ramps if result.waiting])

    @property
    def _is_ramp_of_rates(self) -> bool:
        return all(isinstance(cell.load, Ramp) for cell in self.plan.cells)

    @cached_property
    def _ramps(self) -> list[tuple[dict[str, Any], RampResult]]:
        """The row and the result of each cell that is a ramp, and has samples."""
        both = (
            (row, ramps.result_of(folder, self._is_steady(folder)))
            for folder, row in zip(self.folder.cells(), self.cells, strict=True)
        )
        return [(row, result) for row, result in both if result]

    def _is_steady(self, folder: CellFolder) -> bool:
        return prediction.is_steady(self.plan, folder.cell)

    def rates_kept(self) -> dict[str, str]:
        """A sentence on each variant of a sweep over rates: up to which rate it answered what was asked."""
        points: dict[str, list[RatePoint]] = {}
        for folder, row in zip(self.folder.cells(), self.cells, strict=True):
            if _shows_limit(row):
                points.setdefault(row["variant"], []).append(_rate_point(row, folder.read("evidence")))
        return {variant: knee.rates_kept(of, verdict.FAILED_SUSPECT_SHARE) for variant, of in points.items()}

    @property
    def is_sweep(self) -> bool:
        """Whether the cells of the run differ in more than variant and repeat."""
        return self.plan.is_sweep

    def draw(self) -> list[Path]:
        """Write the run's figures into its folder, and return their paths."""
        from lab.reporting.run_figures import figures_of

        return [_save(figure.draw, self.path / figure.file) for figure in figures_of(self)]

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.about_latencies())
        return str(self.table().to_html(index=False, float_format="{:.3f}".format)) + sentences


def _save(draw: Callable[[], Picture], path: Path) -> Path:
    draw().savefig(path, dpi=130)
    return path


def _loads(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    return {v: sorted({r["at"] for r in rows if r["variant"] == v}) for v in dict.fromkeys(r["variant"] for r in rows)}


def _shows_limit(row: Mapping[str, Any]) -> bool:
    """Whether a cell says what its load does: it is believed, or nothing is in doubt but that requests failed."""
    only_failed = row["verdict"] == verdict.INVALID and verdict.only_failures(row["reasons"])
    return row["verdict"] in verdict.BELIEVED or only_failed


def _rate_point(row: Mapping[str, Any], evidence: Mapping[str, Any]) -> RatePoint:
    failed = sum(row["errors"].values())
    error_share = failed / row["requests"] if row["requests"] else 1.0
    return RatePoint(row["at"], row["mean_s"], error_share, evidence.get("course") == "slowing")


def _point(repeats: Sequence[Mapping[str, Any]]) -> Point:
    """The repeats of one load as one point."""
    times = [row["mean_s"] for row in repeats if row["mean_s"] is not None]
    failed, requests = sum(sum(row["errors"].values()) for row in repeats), sum(row["requests"] for row in repeats)
    return Point(
        users=repeats[0]["users"],
        throughput_rps=fmean(row["ok_throughput_rps"] for row in repeats),
        mean_s=fmean(times) if times else None,
        error_share=failed / requests if requests else 0.0,
    )


def _which(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("variant", "users", "at", "repeat")}


def open_run(name: str | None = None, runs: Path = run_folder.RUNS) -> Run:
    """A run by name or path, or the newest; example runs that ship with the lab are found by name too."""
    run = Run(run_folder.find_run(name, runs))
    _ = run.cells  # a damaged run is refused here, not in the middle of whatever reads it
    return run
