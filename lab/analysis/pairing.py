"""Pairs the cells of two sides for a comparison, and refuses sides that differ in more than what is compared."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from numbers import Real
from pathlib import Path
from statistics import fmean
from typing import Any

from lab.analysis import checks, verdict, window_ratios
from lab.analysis.comparison import (
    AS_PLANNED,
    BREAKER,
    CPU,
    FAILED,
    FAILED_MARGIN,
    MARGIN,
    MEAN,
    METRICS,
    ONE_FACT,
    THROUGHPUT,
    UNTESTED,
    Comparison,
    MetricRow,
    corrected,
)
from lab.analysis.selection import Side, confounders, find_sides
from lab.analysis.shift import Pair, Units
from lab.analysis.summaries import summary_of
from lab.errors import LabError
from lab.formulas import inference
from lab.formulas.inference import Count
from lab.spec import in_turns
from lab.spec.options import check_flag
from lab.spec.plan import Cell
from lab.spec.sample import BY_BREAKER
from lab.spec.system import SERVICE
from lab.spec.workload import Closed, Open, Total
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.telemetry import series

# With fewer requests, the JVM's own background work outweighs the CPU cost of the requests.
FEWEST_FOR_CPU = 100
# Of users who wait for answers for so much of their time, throughput shows three quarters of what latency does.
WAITING_SHARE = 0.75


@dataclass(frozen=True)
class Terms:
    """What a comparison is made by.

    Attributes:
        although_different: compare also where machine, lab, limits, load or parameters differ, and note it.
        allow_suspect: let suspect cells take part.
        margin: sides whose ratio is surely within this margin are alike, such as 0.05.

    """

    although_different: bool = False
    allow_suspect: bool = False
    margin: float = MARGIN


def compare(a: str | None, b: str | None, terms: Terms, runs: Path) -> Comparison:
    """Compare two runs, two variants, or all variants of one run.

    Args:
        a: a run by name or path (the newest if None), or one of its variants, as ``RUN:mvc``; or several runs of the
            same with commas.
        b: the same; None for all pairs of variants of A.

    Raises:
        LabError: there is nothing to compare, or more differs than what is compared.

    """
    for name in ("although_different", "allow_suspect"):
        check_flag(name, getattr(terms, name))
    is_number = isinstance(terms.margin, Real) and not isinstance(terms.margin, bool)
    if not (is_number and 0 < terms.margin <= 1):
        raise LabError(f"A margin of {terms.margin!r} is not possible.", "Name a share, such as 0.05 for 5 %.")
    one, other = find_sides(a, b, runs)
    pairs = _pairs(one, other)
    sides = list(dict.fromkeys(side for pair in pairs for side in pair))
    # A side that never ran has reported no limits: that is missing data, not a difference.
    compared = [pair for pair in pairs if all(_ran(side) for side in pair)]
    differing = list(dict.fromkeys(difference for pair in compared for difference in confounders(*pair)))
    if differing and not terms.although_different:
        raise LabError(
            f"{one.label} and {other.label} differ in more than what is compared: {'; '.join(differing)}.",
            "Measure them under the same conditions, or accept that with --although-different.",
        )
    # Of several runs a side each counts once, also where both sides are of the same ones.
    interleaved = one.run.path == other.run.path and len(one.runs) == len(other.runs) == 1
    summaries = {_name(cell): summary_of(cell) for side in sides for cell in side.cells()}
    rows: list[MetricRow] = []
    paired: list[Pair] = []
    for pair in pairs:
        for at in _common_loads(*pair):
            cells = _Cells(*pair, at, interleaved, terms, summaries)
            rows += cells.rows()
            paired.append(cells.competing())
    said = (sentence for pair in pairs for sentence in (_by_design(*pair), _same_java(*pair)))
    by_design = list(dict.fromkeys(filter(None, said)))
    by_design += list(dict.fromkeys(sentence for pair in pairs for sentence in _own_rates(*pair)))
    by_design += _paced(sides)
    notes = [f"Also different: {difference}." for difference in differing]
    notes += _left_over(one, other, pairs)
    notes += [note for side in sides for note in _notes(side, terms, summaries)]
    if not terms.allow_suspect and any(_word(cell) == verdict.SUSPECT for side in sides for cell in side.cells()):
        notes.append("Suspect measurements take part with --allow-suspect.")
    competes = partial(_competes, terms=terms)
    turns = window_ratios.sentences(one.run, one.variant, other.variant, competes) if interleaved else ()
    return Comparison(
        tuple(corrected(rows)),
        interleaved,
        tuple(notes),
        summaries,
        tuple(by_design),
        tuple(paired),
        tuple(turns),
        any(run.plan().is_closed_loop for side in sides for run in side.runs),
    )


def _by_design(one: Side, other: Side) -> str:
    """The factors in which two variants differ, as a sentence; empty where they have the same, or either has none."""
    mine, theirs = (side.run.plan().scenario.variant(side.variant).factors for side in (one, other))
    if not mine or not theirs:
        return ""  # nothing is known of a service of the user's own, nor of what an older lab recorded
    names = [name for name in dict.fromkeys((*mine, *theirs)) if mine.get(name) != theirs.get(name)]
    factors = [f"{name} ({mine.get(name, 'none')}, {theirs.get(name, 'none')})" for name in names]
    return f"{one.variant} and {other.variant} differ by design in {', '.join(factors)}." if factors else ""


def _same_java(one: Side, other: Side) -> str:
    """The release of Java that two variants both name, as a sentence; empty where they name others, or none."""
    mine, theirs = (side.run.plan().scenario.variant(side.variant).jdk for side in (one, other))
    names = ", ".join(dict.fromkeys((one.variant, other.variant)))
    return f"On Java {mine}: {names}." if mine and mine == theirs else ""


def _paced(sides: Sequence[Side]) -> Iterator[str]:
    """A sentence on each pace but 1 at which users paused and began."""
    for pace in dict.fromkeys(folder.cell.load.pace for side in sides for folder in side.cells()):
        if pace != 1:
            yield f"At pace {pace:g}: pauses and ramp-up lasted {pace:g} times as long as they are written."


def _own_rates(one: Side, other: Side) -> Iterator[str]:
    """A sentence on each load that is a percentage of capacity, so that each side has a rate of its own."""
    rates = [
        {plan.at(folder.cell): folder.cell.load for folder in side.cells() if folder.cell.percent}
        for side in (one, other)
        for plan in [side.run.plan()]
    ]
    for at, load in rates[0].items():
        theirs = rates[1].get(at)
        if isinstance(load, Open) and isinstance(theirs, Open):
            names = ((one.variant or one.label, load), (other.variant or other.label, theirs))
            asked = ", ".join(f"{name} {each.rate_rps:,.4g}/s" for name, each in names)
            yield f"At {at} each side has a rate of its own: {asked}."


def _pairs(one: Side, other: Side) -> list[tuple[Side, Side]]:
    """The pairs of sides to compare."""
    if one.variant and other.variant:
        return [(one, other)]
    if one.run.path == other.run.path:
        variants = one.variants()
        if len(variants) < 2:
            raise LabError(
                f"Run {one.run.name} has one variant only ({variants[0]}), so that there is nothing to compare.",
                "Name a second run: python -m lab compare A B",
            )
        both = [(replace(one, variant=x), replace(one, variant=y)) for x, y in combinations(variants, 2)]
        comparable = [pair for pair in both if pair[0].scope == pair[1].scope]
        if not comparable:
            raise LabError(
                f"No two variants of run {one.run.name} work on the same, so that no speed of theirs can be compared.",
                "Measure variants that do.",
            )
        return comparable
    common = [variant for variant in one.variants() if variant in other.variants()]
    if not common:
        raise LabError(
            f"{one.label} and {other.label} have no variant in common.", "Name one of each: RUN:mvc RUN:webflux"
        )
    return [(replace(one, variant=variant), replace(other, variant=variant)) for variant in common]


def _left_over(one: Side, other: Side, pairs: Sequence[tuple[Side, Side]]) -> Iterator[str]:
    """A sentence on each variant and each load that the other side does not have."""
    if not one.variant and one.run.path == other.run.path:
        taken = {side.variant for pair in pairs for side in pair}
        for variant in one.variants():
            if variant not in taken:
                yield f"{variant} works on something else ({replace(one, variant=variant).scope}), and is not compared."
    if not one.variant and one.run.path != other.run.path:
        for side, opposite in ((one, other), (other, one)):
            if alone := [variant for variant in side.variants() if variant not in opposite.variants()]:
                yield f"Only {side.label} has {', '.join(alone)}, which is compared with nothing."
    loads = dict.fromkeys(
        (side.names, tuple(_loads(side)), tuple(_loads(opposite)))
        for pair in pairs
        for side, opposite in (pair, pair[::-1])
    )
    for names, mine, others in loads:
        if alone := [at for at in mine if at not in others]:
            yield f"Only {names} has {', '.join(alone)}, which are compared with nothing."


def _loads(side: Side) -> list[str]:
    """The loads in words that all runs of a side have, by size."""
    of_runs = []
    for run in side.runs:
        plan = run.plan()
        cells = sorted((cell.cell for cell in side.cells_of(run)), key=plan.position)
        of_runs.append(dict.fromkeys(map(plan.at, cells)))
    return [at for at in of_runs[0] if all(at in other for other in of_runs)]


def _ran(side: Side) -> bool:
    """Whether any cell of a side gave numbers to believe, valid or suspect."""
    return any(_word(cell) in verdict.BELIEVED for cell in side.cells())


def _word(cell: CellFolder) -> str:
    """A cell's verdict; ``incomplete`` if it was not measured to its end."""
    return str(cell.read("summary").get("verdict", verdict.INVALID)) if cell.complete else verdict.INCOMPLETE


def _competes(cell: CellFolder, terms: Terms) -> bool:
    """Whether a cell takes part: it is valid, or suspect and that is allowed."""
    return _word(cell) in (verdict.VALID, *([verdict.SUSPECT] * terms.allow_suspect))


def _counts_failures(cell: CellFolder, terms: Terms) -> bool:
    """Whether a cell's count of failures takes part: also where nothing is in doubt but that requests failed."""
    reasons = cell.read("summary").get("reasons", ())
    return _competes(cell, terms) or (cell.complete and verdict.only_failures(reasons))


def _notes(side: Side, terms: Terms, summaries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Sentences on a side's cells that take no part or are suspect; one if no cell was measured."""
    if any(cell.complete for cell in side.cells()):
        return [note for cell in side.cells() if (note := _note(cell, terms, summaries[_name(cell)]))]
    resume = f"python -m lab resume {shlex.quote(side.run.called)}"
    return [f"{side.label} was not measured, so that it is left out; what is missing is measured by: {resume}"]


def _note(cell: CellFolder, terms: Terms, summary: Mapping[str, Any]) -> str:
    """A sentence on a cell that is not valid, or of survivors, with its figures if it takes no part; else empty."""
    word, survivors = _word(cell), _survivors(summary)
    if word == verdict.VALID:
        return survivors and f"{_name(cell)}: {survivors}"
    reasons = " ".join(summary.get("reasons", ())) or "It was not measured to its end."
    if _competes(cell, terms):
        return f"{_name(cell)} is {word}: {reasons} {survivors}".strip()
    part = " but for its failures" * _counts_failures(cell, terms)
    shown = f" It had {_figures(summary)}." if summary.get("requests") else ""
    return f"{_name(cell)} is {word} and left out{part}: {reasons}{shown}"


def _survivors(summary: Mapping[str, Any]) -> str:
    """What the figures of a cell are of whose sessions were stopped early, as a sentence; empty where none was."""
    sessions = summary.get("sessions") or {}
    if not (stopped := sessions.get("stopped")):
        return ""
    return (
        f"{stopped:,} of {sessions['begun']:,} sessions were stopped early: its figures are of the users who went on."
    )


def _figures(summary: Mapping[str, Any]) -> str:
    """The figures of a cell that takes no part, for whoever wants to know them all the same."""
    failed = 100 * sum(summary.get("errors", {}).values()) / summary["requests"]
    mean_s = summary.get("mean_s")
    mean = "no right answer" if mean_s is None else f"a mean of {mean_s:.4g} s"
    return f"{mean}, {summary.get('ok_throughput_rps') or 0.0:,.1f} right answers/s, and {failed:.3g} % failed"


def _name(cell: CellFolder) -> str:
    return f"{cell.path.parent.parent.name}/{cell.cell.id}"


def _common_loads(a: Side, b: Side) -> list[str]:
    """The loads in words that both sides have."""
    of_b = _loads(b)
    if not (common := [at for at in _loads(a) if at in of_b]):
        raise LabError(f"{a.label} and {b.label} have no load in common.", "Measure both at the same loads.")
    return common


@dataclass(frozen=True)
class _Cells:
    """The cells of two sides at one load."""

    a: Side
    b: Side
    at: str
    interleaved: bool
    terms: Terms
    summaries: Mapping[str, Mapping[str, Any]]

    def rows(self) -> Iterator[MetricRow]:
        """The comparison of each metric, before correction."""
        yield self._failures()
        competing = self.competing()
        programs = any(side.run.plan().scenario.entry == "program" for side in (self.a, self.b))
        for metric in METRICS:
            if metric == FAILED or (programs and metric == THROUGHPUT):
                continue  # between two executions the lab has work of its own
            fewest = 1 if programs else FEWEST_FOR_CPU
            field, sides = METRICS[metric][0], (competing.of_a, competing.of_b)
            cells = [cell for units in sides for unit in units for cell in unit]
            # All by their windows, or all as a whole: the p99 of a load is not that of its windows.
            by_windows = all(window_ratios.typical(cell, field) is not None for cell in cells)
            in_a, in_b = ([self._value(unit, field, fewest, by_windows) for unit in units] for units in sides)
            ratio = inference.ratio(in_a, in_b, self.interleaved)
            if by_start := self._by_start(metric, fewest):
                ratio = inference.ratio([1.0] * len(by_start), by_start, self.interleaved)
            if ratio or metric not in UNTESTED:
                values = inference.typical(in_a), inference.typical(in_b)
                yield replace(
                    self._row(metric, *values), ratio=ratio, instead="" if programs else self._instead(metric)
                )

    def _by_start(self, metric: str, fewest: int) -> list[float]:
        """Of a run in windows, B over A by the starts of the services; else none."""
        if not self.interleaved:
            return []

        def takes_part(cell: CellFolder) -> bool:
            enough = metric != CPU or cell.read("summary").get("requests", 0) >= fewest
            return enough and _competes(cell, self.terms)

        sides = self.a.variant, self.b.variant
        return window_ratios.start_ratios(self.a.run, self.at, *sides, METRICS[metric][0], takes_part)

    def _instead(self, metric: str) -> str:
        """Why a metric is no finding of its own under this load; empty where it is one."""
        if metric not in (THROUGHPUT, FAILED) and self._kept_back:
            return BREAKER
        firsts = self._first(self.a), self._first(self.b)
        if metric == MEAN and self._always_waiting:
            return ONE_FACT
        return AS_PLANNED if metric == THROUGHPUT and all(first.percent for first in firsts) else ""

    @cached_property
    def _always_waiting(self) -> bool:
        """Whether the users of a closed loop wait for answers nearly all the time, so that latency decides throughput.

        Where they pause for long, or wait for their turn in a ramp, a latency twice as long hardly changes throughput.
        """
        both = (cells for side in (self.a, self.b) for _, cells in self._of(side))
        cells = [cell for of_run in both for cell in of_run if _competes(cell, self.terms)]
        return bool(cells) and all(
            isinstance(cell.cell.load, Closed | Total)
            and (self.summaries[_name(cell)].get("in_system") or 0.0) >= WAITING_SHARE * cell.cell.load.users
            for cell in cells
        )

    @cached_property
    def _kept_back(self) -> bool:
        """Whether a circuit breaker answered some requests itself, which cost nothing, and would have been slow."""
        pair = self.competing()
        cells = (cell for units in (pair.of_a, pair.of_b) for unit in units for cell in unit)
        return any(self.summaries[_name(cell)].get("errors", {}).keys() & set(BY_BREAKER) for cell in cells)

    def competing(self) -> Pair:
        """The cells that take part in winners and ratios."""
        of_a, of_b = self._units(_competes)
        return Pair(*self._labels, self.at, of_a, of_b, self.interleaved)

    def _failures(self) -> MetricRow:
        of_a, of_b = ([self._failed(unit) for unit in units] for units in self._units(_counts_failures))
        row = self._row(FAILED, _percent(of_a), _percent(of_b))
        difference = inference.percentage_difference(of_a, of_b, self.interleaved)
        return replace(row, difference=difference, margin=FAILED_MARGIN)

    def _row(self, metric: str, a_value: float | None, b_value: float | None) -> MetricRow:
        users = self._first(self.a).load.users
        return MetricRow(*self._labels, users, self.at, metric, a_value, b_value, None, margin=self.terms.margin)

    @property
    def _labels(self) -> tuple[str, str]:
        return (self.a.variant, self.b.variant) if self.interleaved else (self.a.label, self.b.label)

    def _first(self, side: Side) -> Cell:
        return next(cell for _, cells in self._of(side) for cell in cells).cell

    def _of(self, side: Side) -> list[tuple[RunFolder, list[CellFolder]]]:
        """By run, the cells of a side at this load."""
        plans = ((run, run.plan()) for run in side.runs)
        return [(run, [cell for cell in side.cells_of(run) if plan.at(cell.cell) == self.at]) for run, plan in plans]

    def _units(self, takes_part: Callable[[CellFolder, Terms], bool]) -> tuple[Units, Units]:
        """The cells that take part by what is independent of one another: the repeats of one run, else whole runs."""
        of_a, of_b = (
            [[cell for cell in cells if takes_part(cell, self.terms)] for _, cells in self._of(side)]
            for side in (self.a, self.b)
        )
        if not self.interleaved:
            return tuple(tuple(run) for run in of_a if run), tuple(tuple(run) for run in of_b if run)
        by_a, by_b = ({cell.cell.repeat: cell for cell in side[0]} for side in (of_a, of_b))
        plan = self.a.run.plan()
        # In batches of which none has both: by their starts. The plan says so, as in others a start may have lost one.
        if self.b.variant not in in_turns.beside(plan, self.a.variant):
            batches = in_turns.batch_count(plan)
            by_a, by_b = ({(n - 1) // batches: cell for n, cell in side.items()} for side in (by_a, by_b))
        both = sorted(by_a.keys() & by_b.keys())
        return tuple((by_a[repeat],) for repeat in both), tuple((by_b[repeat],) for repeat in both)

    def _value(self, unit: Sequence[CellFolder], field: str, fewest: int, by_windows: bool) -> float:
        """The value of a repeat, or the typical one of a run; NaN where it has none."""
        values = [_value(cell, self.summaries[_name(cell)], field, fewest, by_windows) for cell in unit]
        return inference.typical(values) or float("nan")

    def _failed(self, unit: Sequence[CellFolder]) -> Count:
        """Failed requests and all requests of a repeat, or of a run."""
        summaries = [self.summaries[_name(cell)] for cell in unit]
        return sum(sum(s.get("errors", {}).values()) for s in summaries), sum(s["requests"] for s in summaries)


def _value(cell: CellFolder, summary: Mapping[str, Any], field: str, fewest: int, by_windows: bool) -> float:
    """A field of a cell's summary, or the geometric mean of its windows; NaN where it has none."""
    of_cpu = field == METRICS[CPU][0]
    if of_cpu and summary.get("requests", 0) < fewest:
        return float("nan")
    if by_windows and (of_windows := window_ratios.typical(cell, field)) is not None:
        return of_windows
    if of_cpu and checks.at_two_speeds(cell.read("evidence").get("slowed", {}).get(SERVICE, 0.0)):
        return float("nan")  # a mean of what the same work takes at either speed
    value = _cpu(cell, summary) if of_cpu else summary.get(field)
    return float("nan") if value is None else float(value)


def _cpu(cell: CellFolder, summary: Mapping[str, Any]) -> float | None:
    """CPU seconds per 1000 requests; for an older run without this field, from its readings."""
    if (stated := summary.get(METRICS[CPU][0])) is not None:
        return float(stated)
    spent_s = series.cpu_s(cell.metrics(), "service", 0.0, summary.get("elapsed_s") or 0.0)
    return None if spent_s is None else spent_s * 1000 / summary["requests"]


def _percent(counts: Sequence[Count]) -> float | None:
    """The mean percentage of failed requests over the repeats that had any."""
    shares = [100 * failed / requests for failed, requests in counts if requests]
    return fmean(shares) if shares else None
