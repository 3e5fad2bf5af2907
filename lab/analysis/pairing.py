"""Pairs the cells of two sides for a comparison, and refuses sides that differ in more than what is compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from lab.analysis import verdict, window_ratios
from lab.analysis.comparison import CPU, METRICS, THROUGHPUT, UNTESTED, Comparison, MetricRow
from lab.analysis.selection import Side, confounders, find_sides
from lab.analysis.summaries import summary_of
from lab.errors import LabError
from lab.formulas import inference
from lab.storage.cell_folder import CellFolder
from lab.telemetry import series

BELIEVED = (verdict.VALID, verdict.SUSPECT)
# With fewer requests, the JVM's own background work outweighs the CPU cost of the requests.
FEWEST_FOR_CPU = 100


def compare(a: str | None, b: str | None, although_different: bool, runs: Path) -> Comparison:
    """Compare two runs, two variants, or all variants of one run.

    Args:
        a: a run by name or path (the newest if None), or one of its variants, as ``RUN:mvc``.
        b: the same; None for all pairs of variants of A.
        although_different: compare also where machine, limits, load or parameters differ, and note it.

    Raises:
        LabError: there is nothing to compare, or more differs than what is compared.

    """
    one, other = find_sides(a, b, runs)
    pairs = _pairs(one, other)
    sides = list(dict.fromkeys(side for pair in pairs for side in pair))
    usable = {side: [cell for cell in side.cells() if _word(cell) in BELIEVED] for side in sides}
    # A side that never ran has reported no limits: that is missing data, not a difference.
    compared = [pair for pair in pairs if all(usable[side] for side in pair)]
    differing = list(dict.fromkeys(difference for pair in compared for difference in confounders(*pair)))
    if differing and not although_different:
        raise LabError(
            f"{one.label} and {other.label} differ in more than what is compared: {'; '.join(differing)}.",
            "Measure them under the same conditions, or accept that with --although-different.",
        )
    interleaved = one.run.path == other.run.path
    summaries = {_name(side, c): summary_of(c) if c in usable[side] else {} for side in sides for c in side.cells()}
    rows = [row for a_side, b_side in pairs for row in _rows(a_side, b_side, usable, summaries, interleaved)]
    by_design = list(dict.fromkeys(filter(None, (_by_design(*pair) for pair in pairs))))
    notes = [f"Also different: {difference}." for difference in differing]
    notes += _left_over(one, other, pairs)
    notes += [note for side in sides for note in _notes(side)]
    turns = window_ratios.sentences(one.run, one.variant, other.variant) if interleaved else ()
    return Comparison(tuple(_corrected(rows)), interleaved, tuple(notes), summaries, tuple(by_design), tuple(turns))


def _by_design(one: Side, other: Side) -> str:
    """The factors in which two variants differ, as a sentence; empty where they have none, or the same."""
    mine, theirs = (side.run.plan().scenario.variant(side.variant).factors for side in (one, other))
    names = [name for name in dict.fromkeys((*mine, *theirs)) if mine.get(name) != theirs.get(name)]
    factors = [f"{name} ({mine.get(name, 'none')}, {theirs.get(name, 'none')})" for name in names]
    return f"{one.variant} and {other.variant} differ by design in {', '.join(factors)}." if factors else ""


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
        return [(replace(one, variant=x), replace(one, variant=y)) for x, y in combinations(variants, 2)]
    common = [variant for variant in one.variants() if variant in other.variants()]
    if not common:
        raise LabError(
            f"{one.label} and {other.label} have no variant in common.", "Name one of each: RUN:mvc RUN:webflux"
        )
    return [(replace(one, variant=variant), replace(other, variant=variant)) for variant in common]


def _left_over(one: Side, other: Side, pairs: Sequence[tuple[Side, Side]]) -> Iterator[str]:
    """A sentence on each variant and each load that the other side does not have."""
    if not one.variant and one.run.path != other.run.path:
        for side, opposite in ((one, other), (other, one)):
            if alone := [variant for variant in side.variants() if variant not in opposite.variants()]:
                yield f"Only {side.label} has {', '.join(alone)}, which is compared with nothing."
    loads = dict.fromkeys(
        (side.run, tuple(_loads(side)), tuple(_loads(opposite)))
        for pair in pairs
        for side, opposite in (pair, pair[::-1])
    )
    for run, mine, others in loads:
        if alone := [at for at in mine if at not in others]:
            yield f"Only {run.name} has {', '.join(alone)}, which are compared with nothing."


def _loads(side: Side) -> list[str]:
    """A side's loads in words, each once."""
    return list(dict.fromkeys(map(side.run.plan().at, (cell.cell for cell in side.cells()))))


def _word(cell: CellFolder) -> str:
    """A cell's verdict; ``incomplete`` if it was not measured to its end."""
    return str(cell.read("summary").get("verdict", verdict.INVALID)) if cell.complete else "incomplete"


def _notes(side: Side) -> list[str]:
    """Sentences on a side's cells that were left out or are suspect; one if no cell was measured."""
    if any(cell.complete for cell in side.cells()):
        return [note for cell in side.cells() if (note := _note(side, cell))]
    resume = f"python -m lab resume {shlex.quote(side.run.called)}"
    return [f"{side.label} was not measured, so that it is left out; what is missing is measured by: {resume}"]


def _note(side: Side, cell: CellFolder) -> str:
    """A sentence on a cell that is not valid; empty for a valid one."""
    word = _word(cell)
    if word == verdict.VALID:
        return ""
    reasons = " ".join(cell.read("summary").get("reasons", ())) or "It was not measured to its end."
    return f"{_name(side, cell)} is {word}{'' if word in BELIEVED else ' and left out'}: {reasons}"


def _name(side: Side, cell: CellFolder) -> str:
    return f"{side.run.name}/{cell.cell.id}"


def _rows(
    a: Side,
    b: Side,
    usable: Mapping[Side, list[CellFolder]],
    summaries: Mapping[str, Mapping[str, Any]],
    interleaved: bool,
) -> Iterator[MetricRow]:
    common = [at for at in _loads(a) if at in _loads(b)]
    if not common:
        raise LabError(f"{a.label} and {b.label} have no load in common.", "Measure both at the same loads.")
    labels = (a.variant, b.variant) if interleaved else (a.label, b.label)
    plans = {side: side.run.plan() for side in (a, b)}
    for at in common:
        of_a, of_b = ({c.cell.repeat: c for c in usable[side] if plans[side].at(c.cell) == at} for side in (a, b))
        users = next(c.cell.load.users for c in a.cells() if plans[a].at(c.cell) == at)
        if interleaved:
            repeats = sorted(of_a.keys() & of_b.keys())
            of_a, of_b = {r: of_a[r] for r in repeats}, {r: of_b[r] for r in repeats}
        programs = plans[a].scenario.entry == "program"
        for metric, (field, _) in METRICS.items():
            if programs and metric == THROUGHPUT:
                continue  # between two executions the lab has work of its own
            fewest = 1 if programs else FEWEST_FOR_CPU
            in_a, in_b = (
                [_value(cell, summaries[_name(side, cell)], field, fewest) for cell in cells.values()]
                for side, cells in ((a, of_a), (b, of_b))
            )
            test = inference.paired_ratio if interleaved else inference.unpaired_ratio
            ratio = test(in_a, in_b)
            if interleaved and (by_start := window_ratios.start_ratios(a.run, at, a.variant, b.variant, field)):
                ratio = inference.paired_ratio([1.0] * len(by_start), by_start)
            if ratio or metric not in UNTESTED:
                yield MetricRow(*labels, users, at, metric, _typical(in_a), _typical(in_b), ratio)


def _value(cell: CellFolder, summary: Mapping[str, Any], field: str, fewest: int) -> float:
    """A field of a cell's summary; of a cell in windows their geometric mean; NaN where it has none."""
    if (of_windows := window_ratios.typical(cell, field)) is not None:
        return of_windows
    value = _cpu(cell, summary, fewest) if field == METRICS[CPU][0] else summary.get(field)
    return float("nan") if value is None else float(value)


def _cpu(cell: CellFolder, summary: Mapping[str, Any], fewest: int) -> float | None:
    """CPU seconds per 1000 requests, of at least so many; for an older run without this field, from its readings."""
    if summary.get("requests", 0) < fewest:
        return None
    if (stated := summary.get(METRICS[CPU][0])) is not None:
        return float(stated)
    spent_s = series.cpu_s(cell.metrics(), "service", summary.get("elapsed_s") or 0.0)
    return None if spent_s is None else spent_s * 1000 / summary["requests"]


def _typical(values: Sequence[float]) -> float | None:
    known = [value for value in values if value > 0]
    return float(np.exp(np.log(known).mean())) if known else None


def _corrected(rows: Sequence[MetricRow]) -> list[MetricRow]:
    """The rows with p values corrected for multiple comparisons (Holm)."""
    tested = [row for row in rows if row.is_tested and row.ratio and row.ratio.p is not None]
    corrected = inference.holm([row.ratio.p for row in tested if row.ratio and row.ratio.p is not None])
    by_row = {id(row): p for row, p in zip(tested, corrected, strict=True)}
    return [replace(row, p=by_row.get(id(row))) for row in rows]
