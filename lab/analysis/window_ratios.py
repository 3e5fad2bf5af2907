"""Variants that took turns, side by side: the ratio of each pair of neighbouring windows, start by start."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from lab.analysis import verdict
from lab.analysis.checks import CHANGE_SUSPECT_SHARE
from lab.analysis.window_figures import CPU, P50, SPEEDS, THROUGHPUT, Windows
from lab.formulas.two_levels import TwoLevels, adjusted, least_effort, two_levels
from lab.spec import in_turns, turns
from lab.spec.plan import WINDOWS, Cell, Plan
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder

# The figures that are compared, by their names in tables.
FIGURES = {
    "throughput": THROUGHPUT,
    "mean": "mean_s",
    "p50": P50,
    "p99": "p99_s",
    "CPU a request": CPU,
}
# By how much a figure follows the slowness of a core, at least and at most: where that needs 1 % more time for its
# work, the figure is worse by 1 % at most, and never better. It may seem to be: cores that have more to do are slower
# for that, by caches and siblings that they share, and whoever answers less would be excused by its faster cores.
FOLLOWS = {figure: (-1.0, 0.0) if figure == "throughput" else (0.0, 1.0) for figure in FIGURES}
# Half of an interval that tells a difference of 5 % from none.
WANTED_REACH = 0.03


@dataclass(frozen=True)
class WindowRatio:
    """B over A in one figure, at one load.

    Attributes:
        at: the load in words.
        figure: of :data:`FIGURES`.
        logs: by start, the logarithm of the ratio in each round, shape (rounds,), without rounds that lack either; and
            where the CPU decides, without what the speed of the cores explains, which is the share ``explained``.
        levels: their mean, its interval, and the two variances.
        start_s: what a start took before its first window; ``round_s``, each round; ``window_s``, what a window
            takes of a ``--duration``.
        at_once: how many variants took turns.
        by_way_of: the variant beside which each of both took turns, where memory did not hold them at once; else empty.
        measured: how many starts were measured to their end, those that were left out as invalid or suspect too.
        suspect: how many of the starts that count are suspect.

    """

    a: str
    b: str
    at: str
    figure: str
    logs: tuple[np.ndarray, ...]
    levels: TwoLevels
    start_s: float
    round_s: float
    window_s: float
    explained: float
    at_once: int
    by_way_of: str = ""
    measured: int = 0
    suspect: int = 0

    @property
    def ratio(self) -> float:
        """The geometric mean of the starts' ratios."""
        return math.exp(self.levels.mean)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the ratio lies in 95 % of cases, by the starts; None with one start."""
        reach = self.levels.reach
        return None if reach is None else (math.exp(self.levels.mean - reach), math.exp(self.levels.mean + reach))

    @property
    def sentence(self) -> str:
        """The ratio, its interval, and what it rests on."""
        levels, interval, explained = self.levels, self.interval, f"{self.explained:.0%}"
        found = f" (95 %: {interval[0]:.3f} to {interval[1]:.3f})" if interval else ", which one start cannot judge"
        suspect = f" ({self.suspect} suspect)" * (self.suspect > 0)
        starts = f"{levels.starts} start{'s' * (levels.starts != 1)}{suspect}"
        of = f"{starts} of {levels.windows:.3g} windows" + f", each beside {self.by_way_of}" * bool(self.by_way_of)
        speed = f"; the cores' speed explains {explained} of how rounds differ, and is taken out"
        rests_on = f"{of}{speed * (explained != '0%')}"
        return f"{self.b} against {self.a} at {self.at}: {self.figure} × {self.ratio:.3f}{found}, in {rests_on}."

    def as_row(self) -> dict[str, Any]:
        """Its figures as JSON types; ``within`` and ``between`` are standard deviations of the logarithm."""
        low, high = self.interval or (None, None)
        deviations = {
            name: None if variance is None else math.sqrt(variance)
            for name, variance in (("within", self.levels.within), ("between", self.levels.between))
        }
        counts = {"starts": self.levels.starts, "windows": self.levels.windows, "explained": self.explained}
        named = {"a": self.a, "b": self.b, "at": self.at, "figure": self.figure}
        return {**named, "ratio": self.ratio, "low": low, "high": high, **counts, **deviations}

    @property
    def advice(self) -> str:
        """What would make the interval reach :data:`WANTED_REACH`, and how long that takes; empty if it does that."""
        levels = self.levels
        if levels.reach is None:
            return f"More starts would give it an interval: {self._asking(4)}."
        if levels.reach <= WANTED_REACH:
            return ""
        possible = partial(turns.at_least, variants=self.at_once)
        effort = least_effort(levels, WANTED_REACH, self.start_s, self.round_s, possible)
        if effort is None:
            return "More starts and more windows would say what it takes: --repeat and --duration."
        needed = {"more starts": effort.starts > levels.starts, "more windows": effort.windows > levels.windows}
        more, minutes = " and ".join(name for name, is_needed in needed.items() if is_needed), effort.elapsed_s / 60
        return (
            f"± {WANTED_REACH:.0%} would take {more}: {effort.starts} starts of {effort.windows} windows, about "
            f"{max(minutes * self._asked(effort.starts) / effort.starts, 1):.0f} min for all variants and this load: "
            f"{self._asking(effort.starts, f' --duration {math.ceil(effort.windows * self.window_s)}')}."
        )

    def _asked(self, starts: int) -> int:
        """How many starts to ask for so that so many count, if as many of them are left out as here."""
        return math.ceil(starts * max(self.measured, self.levels.starts) / self.levels.starts)

    def _asking(self, starts: int, further: str = "") -> str:
        """The options that give so many starts, and why these are more."""
        left_out = self.measured - self.levels.starts
        because = f", as {left_out} of {self.measured} starts did not count" * (left_out > 0)
        return f"--repeat {self._asked(starts)}{further}{because}"


def usable(folder: CellFolder) -> bool:
    """Whether a cell may be shown: it was measured to its end, and is not invalid."""
    return folder.settled and folder.read("summary").get("verdict") in verdict.BELIEVED


def _is_suspect(folder: CellFolder) -> bool:
    return bool(folder.read("summary").get("verdict") == verdict.SUSPECT)


def of_run(
    run: RunFolder,
    figures: Sequence[str] = tuple(FIGURES),
    pair: tuple[str, str] | None = None,
    takes_part: Callable[[CellFolder], bool] = usable,
) -> list[WindowRatio]:
    """The ratios of all pairs of variants of a run in windows, or of one, at each load; none of any other run.

    Args:
        takes_part: whether a cell does; a start of which either cell does not is left out.

    """
    plan = run.plan()
    if plan.interleave != WINDOWS:
        return []
    pairs = [pair] if pair else list(combinations([variant.name for variant in plan.variants], 2))
    return [
        ratio
        for position in plan.positions
        for a, b in pairs
        for figure in figures
        if (ratio := _ratio(run, plan.at_position(position), position, a, b, figure, takes_part))
    ]


def _ratio(
    run: RunFolder, at: str, position: float, a: str, b: str, figure: str, takes_part: Callable[[CellFolder], bool]
) -> WindowRatio | None:
    plan, field = run.plan(), FIGURES[figure]
    beside = [[(run.cell(one), run.cell(other)) for one, other in start] for start in _beside(plan, position, a, b)]
    starts = [start for start in beside if all(takes_part(folder) for both in start for folder in both)]
    logs, explained = [_summed([_logs(*both, field) for both in start]) for start in starts], 0.0
    if plan.cpu_decides:
        speeds = [_summed([_speeds(*both, field) for both in start]) for start in starts]
        if all(np.isfinite(speed).all() for speed in speeds):
            logs, explained = adjusted(logs, speeds, *FOLLOWS[figure])
    levels = two_levels(logs)
    # Starts whose windows have tails are the fast ones, and must not stand for all.
    if levels is None or (figure == "p99" and not all(map(len, logs))):
        return None
    costs = [np.sum([_cost(run, plan, one.cell) for one, _ in start], axis=0) for start in starts]
    start_s, round_s = map(float, np.median(costs, axis=0))
    window_s = turns.wanted_s(in_turns.request_s(plan, (c for c in plan.cells if plan.position(c) == position)))
    by_way_of = "" if len(starts[0]) == 1 else plan.variants[0].name
    at_once = max(len(_at_once(plan, one.cell)) for one, _ in starts[0])
    measured = sum(all(folder.settled for both in start for folder in both) for start in beside)
    suspect = sum(any(_is_suspect(folder) for both in start for folder in both) for start in starts)
    of_starts = a, b, at, figure, tuple(logs), levels, start_s, round_s, window_s, explained
    return WindowRatio(*of_starts, at_once, by_way_of, measured, suspect)


def _beside(plan: Plan, position: float, a: str, b: str) -> list[list[tuple[Cell, Cell]]]:
    """By start, the cells of A and B that took turns; of batches that hold only one of them, each with what they share.

    B over A is then the product of what they share over A, and of B over that.
    """
    groups = [{cell.variant: cell for cell in group} for group in plan.groups if plan.position(group[0]) == position]
    if together := [[(group[a], group[b])] for group in groups if {a, b} <= group.keys()]:
        return together
    shared = plan.variants[0].name
    of_a, of_b = ([group for group in groups if name in group] for name in (a, b))
    return [[(one[a], one[shared]), (other[shared], other[b])] for one, other in zip(of_a, of_b, strict=True)]


def _summed(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of some logarithms, round by round, as far as all have rounds; of their means where one has but one."""
    rounds = min(map(len, parts))
    if rounds == 1:
        return np.asarray(sum(part.mean(axis=0, keepdims=True) for part in parts))
    return np.asarray(sum(part[:rounds] for part in parts))


def _at_once(plan: Plan, cell: Cell) -> list[Cell]:
    """The cells that took turns with one, itself among them."""
    return next(group for group in plan.groups if cell in group)


def _cost(run: RunFolder, plan: Plan, cell: Cell) -> tuple[float, float]:
    """The seconds that a cell's start took before its first window, and those of each round, of all that were up."""
    groups = next(groups for groups in plan.starts if any(cell in group for group in groups))
    # Whichever load came first in a start has paid for it.
    start_s = max(_start_s([run.cell(each) for each in group]) for group in groups)
    return start_s, _round_s([run.cell(each) for each in _at_once(plan, cell)])


def windows_of(folder: CellFolder) -> list[dict[str, Any]]:
    """The records of a cell's windows with their figures: see :mod:`lab.analysis.window_figures`."""
    return list(folder.read("windows").get("windows", ()))


def _rounds(one: CellFolder, other: CellFolder, field: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The windows of each round in which both have a figure, or one of all windows together where it is 0 in some.

    A window in which nothing right was answered has no logarithm. It must not be left out, as those that are left would
    be the good ones alone.
    """
    if field == FIGURES["p99"] and not (_has_tails(one) and _has_tails(other)):
        return
    theirs = {window["number"]: window for window in windows_of(other)}
    both = [(mine, theirs[mine["number"]]) for mine in windows_of(one) if mine["number"] in theirs]
    known = [pair for pair in both if all(window.get(field) is not None for window in pair)]
    if known and any(not window[field] for pair in known for window in pair):
        known = [(_together([mine for mine, _ in known], field), _together([its for _, its in known], field))]
    yield from (pair for pair in known if all(window[field] for window in pair))


def _together(windows: Windows, field: str) -> dict[str, float | None]:
    """A figure of windows of the same length, and the speeds of cores in them, as means."""
    known = {name: [w[name] for w in windows if w.get(name) is not None] for name in (field, *SPEEDS.values())}
    return {name: fmean(values) if values else None for name, values in known.items()}


def _has_tails(folder: CellFolder) -> bool:
    """Whether each window that answered has a 99th percentile: else only those that were fast enough would count."""
    answered = [window for window in windows_of(folder) if window.get(FIGURES["throughput"])]
    return all(window.get(FIGURES["p99"]) is not None for window in answered)


def _logs(one: CellFolder, other: CellFolder, field: str) -> np.ndarray:
    """The logarithm of the ratio in each round, shape (rounds,)."""
    return np.array([math.log(its[field] / mine[field]) for mine, its in _rounds(one, other, field)])


def _speeds(one: CellFolder, other: CellFolder, field: str) -> np.ndarray:
    """The same of how slow cores were, of service and generator, shape (rounds, 2); NaN where that was not read."""

    def log_ratio(mine: Mapping[str, Any], its: Mapping[str, Any], name: str) -> float:
        return math.log(its[name] / mine[name]) if mine.get(name) and its.get(name) else math.nan

    rows = [[log_ratio(*both, name) for name in SPEEDS.values()] for both in _rounds(one, other, field)]
    return np.array(rows, dtype=float).reshape(-1, len(SPEEDS))


def _start_s(folders: Sequence[CellFolder]) -> float:
    """The seconds of a load without its windows, by the cells that were up together."""
    elapsed_s = sum(folder.read("timing").get("elapsed_s") or 0.0 for folder in folders)
    return max(0.0, elapsed_s - _in_windows_s([window for folder in folders for window in windows_of(folder)]))


def _round_s(folders: Sequence[CellFolder]) -> float:
    """The seconds of a round, by the cells that were up together."""
    windows = [window for folder in folders for window in windows_of(folder)]
    return _in_windows_s(windows) / (1 + max(int(window["number"]) for window in windows))


def _in_windows_s(windows: Windows) -> float:
    """The seconds from the first window to the end of the last; 0 without any."""
    begun = min((window["unix_start"] for window in windows), default=0.0)
    return max((window["unix_start"] + window["elapsed_s"] for window in windows), default=begun) - begun


def of_pauses(run: RunFolder) -> str:
    """How long the machine stood still in the windows of a run, as a sentence; empty if it did not."""
    windows = [window for folder in run.cells() for window in windows_of(folder)]
    paused_s = sum(window.get("paused_s") or 0.0 for window in windows)
    if not paused_s:
        return ""
    share = paused_s / sum(window["length_s"] for window in windows)
    return f"The machine itself stood still for {share:.1%} of all windows: the ratios leave that out, tables do not."


def of_shared_changes(run: RunFolder) -> str:
    """By how much latency changed during a load alike for all that took turns, as a sentence; empty if it did not."""
    found = {folder.cell.id: folder.read("evidence").get("shared_change") or 0.0 for folder in run.cells()}
    changed = [name for name, change in found.items() if abs(change) > CHANGE_SUSPECT_SHARE]
    if not changed:
        return ""
    most = max(changed, key=lambda name: abs(found[name]))
    return (
        f"In {len(changed)} of {len(found)} cells latency changed during the load as that of the other variants did in "
        f"the same rounds, by {found[most]:+.0%} at most ({most}): the machine changed, or something that all share."
    )


def start_ratios(
    run: RunFolder, at: str, a: str, b: str, field: str, takes_part: Callable[[CellFolder], bool]
) -> list[float]:
    """B over A in a figure of ``summary.json``, one ratio a start; none without windows, or of any other figure."""
    named = [figure for figure, name in FIGURES.items() if name == field]
    found = [ratio for ratio in of_run(run, named, (a, b), takes_part) if ratio.at == at]
    return [math.exp(mean) for ratio in found for mean in ratio.levels.means]


def typical(folder: CellFolder, field: str) -> float | None:
    """The geometric mean of a figure over a cell's windows, or the mean where it is 0 in some; None where it has none.

    So has a cell in one piece, and one of whose windows some were too short for the figure.
    """
    if field == FIGURES["p99"] and not _has_tails(folder):
        return None
    known = [value for window in windows_of(folder) if (value := window.get(field)) is not None]
    if not known:
        return None
    return math.exp(fmean(map(math.log, known))) if all(known) else fmean(known)


def sentences(run: RunFolder, a: str = "", b: str = "", takes_part: Callable[[CellFolder], bool] = usable) -> list[str]:
    """What the windows of a run say of throughput, for all pairs or one, and what would say it better."""
    ratios = of_run(run, ("throughput",), (a, b) if a else None, takes_part)
    return [" ".join(filter(None, (ratio.sentence, ratio.advice))) for ratio in ratios]


def of_idle_services(run: RunFolder) -> str:
    """What variants that were up, and not loaded, used of the cores meanwhile, as a sentence; empty if none were."""
    used = {folder.cell.id: folder.read("summary").get("neighbours_cpu") for folder in run.cells() if folder.complete}
    known = {name: cores for name, cores in used.items() if cores is not None}
    if not known:
        return ""
    most = max(known, key=lambda name: known[name])
    mean = sum(known.values()) / len(known)
    used_most = f"at most {known[most]:.1%}, beside {most}"
    return f"Variants that were up, and not loaded, used {mean:.1%} of a core meanwhile ({used_most})."
