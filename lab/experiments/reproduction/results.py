"""Runs a reproduction: measures its parts, compares their rows with the published ones, and judges the claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import psutil

from lab.analysis import selection, window_ratios
from lab.analysis.verdict import INCOMPLETE, INVALID
from lab.errors import LabError
from lab.experiments.reproduction.publication import JudgedClaim, Part, Publication, Repeat, ReproducedRow
from lab.experiments.reproduction.rows import Measured, deviations, rows_of, scale_of
from lab.reporting import run_view
from lab.reporting.run_rows import OF_PROGRAMS
from lab.reporting.run_view import Run
from lab.running import conductor, estimate, prerequisites
from lab.running.estimate import TimeEstimate
from lab.running.invocation import Invocation
from lab.runtimes import PROCESS, host
from lab.spec import in_turns, memory, numbers
from lab.spec.options import option
from lab.spec.plan import Interleave, Plan
from lab.storage import run_folder
from lab.storage.run_folder import RunFolder

SCALES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
MOST_S = 3600.0
# More repeats than these narrow an interval slowly.
MOST_REPEATS = 5
RUNS_TO_LEARN_FROM = 20


@dataclass(frozen=True)
class Reproduction:
    """The result of a reproduction. As the last expression of a notebook's cell it shows table and claims.

    Attributes:
        scale: of the users; 1 is the document's size.
        runs: one a part; a part that was not measured has none.

    """

    experiment: Publication
    scale: float
    runs: tuple[Run, ...]
    rows: tuple[ReproducedRow, ...]

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """Every claim: confirmed, refuted or undecided, and the evidence."""
        return self.experiment.judge(self.rows)

    @property
    def usable(self) -> bool:
        """Whether all runs are complete, and no cell of them is invalid."""
        return not any(cell["verdict"] in (INVALID, INCOMPLETE) for run in self.runs for cell in run.cells)

    def table(self) -> pd.DataFrame:
        """One row a part, load and variant; means over repeats, rates scaled back to the document's size.

        The figures that the experiment names are columns, and so are published ones, where there are any.
        """
        rows = self.flat()
        known = {name for row in rows for name in row["published_figures"]}
        return pd.DataFrame(
            {
                **{key: value for key, value in row.items() if key not in ("figures", "published_figures")},
                **row["figures"],
                **{f"published {name}": row["published_figures"].get(name) for name in sorted(known)},
            }
            for row in rows
        )

    def flat(self) -> list[dict[str, Any]]:
        """The same as dictionaries of JSON types, in which the figures are by name."""
        formula_s, figures = self.experiment.formula_s, self.experiment.figures
        return [flat(row, figures) | ({"formula_s": formula_s(row)} if formula_s else {}) for row in self.rows]

    def as_json(self) -> dict[str, Any]:
        """The object that ``lab reproduce --json`` prints."""
        return {
            "experiment": self.experiment.name,
            "document": self.experiment.document,
            "scale": self.scale,
            "pace": self.experiment.pace,
            "runs": [run.name for run in self.runs],
            "rows": self.flat(),
            "claims": [asdict(finding) for finding in self.claims],
            "slips": self.experiment.slips,
        }

    def _repr_html_(self) -> str:
        claims = pd.DataFrame([asdict(finding) for finding in self.claims])
        tables = (self.table().to_html(index=False, float_format="{:.3f}".format), claims.to_html(index=False))
        return "".join(map(str, tables))


def flat(row: ReproducedRow, figures: Sequence[str] = ()) -> dict[str, Any]:
    """A row as one dictionary of JSON types.

    Args:
        figures: the names of those to be in it, as means over the repeats; None where one was not measured.

    """
    usable, published = row.usable, row.published.figures if row.published else {}
    sums_s = {name: _mean_sum_s(usable, name) for name in _summed(row)}
    published_sums_s = dict(row.published.sums_s) if row.published else {}
    times = [repeat.mean_s for repeat in usable if repeat.mean_s is not None]
    of_programs = _means(usable, OF_PROGRAMS)
    read_bytes = of_programs["read_bytes"]
    return {
        "part": row.part,
        "users": row.users,
        "at": row.at,
        "measured_users": row.measured_users,
        "variant": row.variant,
        "mean_s": fmean(times) if times else None,
        "model_mean_s": row.model_mean_s,
        "published_mean_s": row.published.mean_s if row.published else None,
        "total_s": _total_s(row),
        "published_total_s": row.published.total_s if row.published else None,
        "rps": fmean(repeat.rps for repeat in usable) if usable else None,
        "ok_rps": fmean(repeat.ok_rps for repeat in usable) if usable else None,
        "published_rps": row.published.throughput_rps if row.published else None,
        "published_ok_rps": row.published.ok_throughput_rps if row.published else None,
        "error_percent": 100 * fmean(repeat.error_share for repeat in usable) if usable else None,
        "published_error_percent": row.published.errors_percent if row.published else None,
        "repeats": len(usable),
        **of_programs,
        "read_bytes_per_s": read_bytes / fmean(times) if read_bytes and times else None,
        "figures": _means(usable, figures),
        "published_figures": {name: value for name, value in published.items() if name in figures},
        "stopped": sum(repeat.stopped for repeat in usable),
        "errors": dict(sum((Counter(repeat.errors) for repeat in usable), Counter())),
        "sums_s": sums_s,
        "session_mean_s": _session_mean_s(sums_s, row.session_times),
        "published_sums_s": published_sums_s,
        "published_session_mean_s": _session_mean_s(published_sums_s, row.session_times),
        "not_usable": [repeat.verdict for repeat in row.repeats if not repeat.usable],
    }


def _summed(row: ReproducedRow) -> list[str]:
    """The names of requests of which sums are known, measured or published."""
    known = [*(repeat.sums_s for repeat in row.usable), row.published.sums_s if row.published else {}]
    return list(dict.fromkeys(name for sums_s in known for name in sums_s))


def _mean_sum_s(repeats: Sequence[Repeat], name: str) -> float | None:
    """What the requests of a name took together in a session, as a mean over the repeats."""
    known = [repeat.sums_s[name] for repeat in repeats if name in repeat.sums_s]
    return fmean(known) if known else None


def _session_mean_s(sums_s: Mapping[str, float | None], times: Mapping[str, int]) -> float | None:
    """The mean of a session's requests by its sums by name; None where one of these is missing.

    Sessions that were stopped early make the mean over all requests another one: they sent only the first of them.
    """
    known = [sum_s for name in times if (sum_s := sums_s.get(name)) is not None]
    return sum(known) / sum(times.values()) if known and len(known) == len(times) else None


def _total_s(row: ReproducedRow) -> float | None:
    """The time for all users by the rate of their requests; None where a user sends not just one."""
    usable = row.usable
    if not usable or any(not repeat.rps or repeat.requests_each != 1 for repeat in usable):
        return None
    return fmean(row.users / repeat.rps for repeat in usable)


def _means(repeats: Sequence[Repeat], names: Sequence[str]) -> dict[str, float | None]:
    """Figures by name, each a mean over the repeats that have it; None where none has."""
    known = {name: [repeat.figures[name] for repeat in repeats if name in repeat.figures] for name in names}
    return {name: fmean(values) if values else None for name, values in known.items()}


@dataclass(frozen=True)
class Intended:
    """What a reproduction is about to measure.

    Attributes:
        experiment: at the pace and with the turns that were asked for.
        scale: of the users; 1 is the document's size.
        because: why at this scale, as the end of a sentence.
        repeat: how often each cell is measured.

    """

    experiment: Publication
    scale: float
    because: str
    repeat: int


def intended(
    wanted: Publication,
    runs: Path,
    *,
    scale: float | None,
    pace: float | None,
    repeat: int | None,
    interleave: Interleave | None,
    runtime: str,
) -> Intended:
    """What is to be measured of an experiment; what is None, as the experiment has it, or as fits here.

    Args:
        runs: the folder of earlier runs, which show how long a part takes.

    Raises:
        LabError: pace or scale are not possible.

    """
    wanted = wanted.taking_turns(interleave) if interleave else wanted
    wanted = wanted if pace is None else wanted.at_pace(pace)
    scale = None if scale is None else numbers.real("--scale", scale)
    chosen, because = (scale, "as asked") if scale is not None else scale_for_here(wanted, runs, runtime)
    times = repeats_for_here(wanted, chosen, runs, runtime) if repeat is None else repeat
    return Intended(wanted, chosen, because, times)


def carry_out(
    wanted: Publication,
    scale: float,
    invocation: Invocation,
    *,
    seed: int | None = None,
    repeat: int = 1,
) -> Reproduction:
    """Measure every part of an experiment, one run each, and judge.

    Raises:
        LabError: the scale is not possible, or something could not be started.

    """
    plans = checked_plans(wanted, scale, invocation, seed=seed, repeat=repeat)
    measured: dict[str, Run] = {}
    for batch in wanted.batches:
        if len(batch) == 1:
            folders = [conductor.conduct(plans[batch[0]], invocation)]
        else:
            folders = conductor.conduct_together([plans[place] for place in batch], invocation)
        measured |= {wanted.parts[place].name: Run(folder) for place, folder in zip(batch, folders, strict=True)}
    return _judged(wanted, scale, measured, invocation.runs)


def checked_plans(
    wanted: Publication, scale: float, invocation: Invocation, *, seed: int | None, repeat: int
) -> list[Plan]:
    """The plan of every part; LabError if one of them cannot be carried out here, before the first, which takes long.

    A dry run does no more: see :func:`lab.running.conductor.check`.
    """
    plans = [wanted.plan(part, scale, seed, repeat) for part in wanted.parts]
    for plan in plans:
        _check_memory(plan)
    return [conductor.check(plan, invocation) for plan in plans]


def _check_memory(plan: Plan) -> None:
    """LabError if this machine has too little memory for a part, whose limits are the document's."""
    try:
        memory.check(plan, plan.peak_users, host.machine())
    except LabError as error:
        step = f"Use a larger machine, or measure the scenario with less: python -m lab run {plan.scenario.name} --help"
        raise LabError(error.problem, step) from None


def from_runs(wanted: Publication, runs: Sequence[Run], data: Path) -> Reproduction:
    """Judge existing runs.

    Args:
        data: the folder of earlier runs, which show how far one measurement lies from the next.

    Raises:
        LabError: a run matches no part, two runs match the same part, or their scales differ.

    """
    measured: dict[str, Run] = {}
    scales: set[float] = set()
    if runs and (pace := runs[0].plan.cells[0].load.pace) != 1:
        wanted = wanted.at_pace(pace)
    for run in runs:
        part = _part_of(wanted, run, taken=measured)
        measured[part.name] = run
        scales.add(scale_of(part, run.plan))
    if len(scales) != 1:
        raise LabError(
            f"The runs have different scales: {', '.join(f'{s:g}' for s in sorted(scales))}.", "Name others."
        )
    return _judged(wanted, scales.pop(), measured, data)


def _judged(wanted: Publication, scale: float, measured: Mapping[str, Run], runs: Path) -> Reproduction:
    """The reproduction from runs by the name of their part, all at one scale.

    Args:
        runs: the folder of earlier runs, which show how far one measurement lies from the next.

    """
    rows: list[ReproducedRow] = []
    repeat_s = sum(map(_repeat_s, measured.values()))
    for part in wanted.parts:
        run = measured.get(part.name)
        of_part = _measured(run, runs, repeat_s) if run else Measured(wanted.plan(part, scale))
        rows += rows_of(wanted, part, scale, of_part)
    return Reproduction(wanted, scale, tuple(measured.values()), tuple(rows))


def _measured(run: Run, runs: Path, repeat_s: float) -> Measured:
    """What a run measured, with what earlier ones show, and what stood in for its databases."""
    stand_ins = [str(database["title"]) for database in run.folder.databases() if database.get("stand_in")]
    return Measured(
        run.plan,
        run.cells,
        _earlier(run, runs),
        " and ".join(stand_ins),
        _in_turns(run.folder),
        repeat_s,
        frozenset((run.name, *run.folder.environment().get("together", ()))),
    )


def _in_turns(run: RunFolder) -> dict[tuple[str, str, str, str], list[float]]:
    """The ratios of a run in windows in each start, both ways: see :attr:`Measured.in_turns`."""
    found = {}
    for ratio in window_ratios.of_run(run):
        field = window_ratios.FIGURES[ratio.figure]
        for one, other, sign in ((ratio.b, ratio.a, 1), (ratio.a, ratio.b, -1)):
            found[ratio.at, one, other, field] = [math.exp(sign * mean) for mean in ratio.levels.means]
    return found


def _repeat_s(run: Run) -> float:
    """How long one repeat of a run took, without what comes before its first cell."""
    times = [folder.read("timing").get("elapsed_s") or 0.0 for folder in run.folder.cells() if folder.complete]
    return sum(times) * in_turns.batch_count(run.plan) / max(cell.repeat for cell in run.plan.cells)


def _earlier(run: Run, runs: Path) -> dict[str, Measured]:
    """The newest other runs with repeats, of the same settings on the same machine; none where this run has repeats."""
    if run.plan.has_repeats:
        return {}
    newest = (other for other in reversed(run_folder.all_runs(runs)) if other.path.resolve() != run.path.resolve())
    found = {}
    for other in islice(newest, RUNS_TO_LEARN_FROM):
        try:
            earlier = Run(other)
            if _is_alike(run, earlier):
                found[other.name] = Measured(earlier.plan, earlier.cells)
        except LabError:
            continue  # a damaged run, or one of another format, shows nothing
    return found


def _is_alike(run: Run, other: Run) -> bool:
    """Whether another run has repeats of the same scenario, with the settings and on the machine of this one."""
    mine, theirs = ((each.plan.scenario.name, *_settings(each.plan)) for each in (run, other))
    here, there = (each.folder.environment() for each in (run, other))
    return other.plan.has_repeats and mine == theirs and not selection.of_machines(here, there)


def _settings(plan: Plan) -> tuple[Any, ...]:
    return plan.parameters, plan.limits, plan.link, plan.stance, plan.pin, plan.nodes, plan.prometheus


def _part_of(wanted: Publication, run: Run, taken: Mapping[str, Run]) -> Part:
    differing = {part.name: deviations(wanted, part, run.plan) for part in wanted.parts}
    fitting = [part for part in wanted.parts if not differing[part.name]]
    # Parts may differ in their users alone, who decide nothing else.
    if free := [part for part in fitting if part.name not in taken]:
        return min(free, key=lambda part: not _has_users(part, run.plan))
    if fitting:
        other = taken[fitting[0].name]
        raise LabError(
            f"{other.name} and {run.name} have the settings of the same part.",
            f"Name one run for each part: python -m lab reproduce {wanted.name} --from RUN",
        )
    nearest = min(differing, key=lambda name: len(differing[name]))
    raise LabError(
        f"Run {run.name} does not have the settings of {wanted.name}{nearest and f' ({nearest})'}: "
        f"{'; '.join(differing[nearest])}.",
        f"Make one that has: python -m lab reproduce {wanted.name}",
    )


def _has_users(part: Part, plan: Plan) -> bool:
    """Whether a part at a plan's scale has all of its numbers of users."""
    return {cell.load.users for cell in plan.cells} <= set(part.scaled(scale_of(part, plan)).users)


def expected(
    wanted: Publication, scale: float, runs: Path, repeat: int = 1, seed: int | None = 0, runtime: str = PROCESS
) -> list[TimeEstimate]:
    """The estimated time of each part at a scale; LabError if scale or options are not possible."""
    found = {}
    for batch in wanted.batches:
        for place in batch:
            plan = wanted.plan(wanted.parts[place], scale, seed, repeat)
            of_part = estimate.estimate_run(plan, plan.cells, runs, runtime, len(batch))
            found[place] = of_part if place == batch[0] else replace(of_part, set_up_s=0.0)  # theirs is in common
    return [found[place] for place in sorted(found)]


def repeats_for_here(wanted: Publication, scale: float, runs: Path, runtime: str = PROCESS) -> int:
    """As many repeats as fit into the time that a publication takes for them, at most five and at least one."""
    times = ((n, total_s(expected(wanted, scale, runs, n, runtime=runtime))) for n in range(MOST_REPEATS, 1, -1))
    return next((n for n, needed_s in times if needed_s <= wanted.repeated_within_s), 1)


def total_s(estimates: Sequence[TimeEstimate]) -> float:
    """The time of all parts in seconds."""
    return sum(part.total_s for part in estimates)


def scale_for_here(wanted: Publication, runs: Path, runtime: str = PROCESS) -> tuple[float, str]:
    """The largest scale for this machine's cores and memory that takes an hour at most, and the reason for it."""
    memory_gb = psutil.virtual_memory().total / 1e9
    return default_scale(
        wanted,
        len(host.cores()) or psutil.cpu_count() or 1,
        memory_gb,
        lambda s: total_s(expected(wanted, s, runs, runtime=runtime)),
        lambda s: _too_much(wanted, s),
    )


def _too_much(wanted: Publication, scale: float) -> str:
    """What is said where some part would need more memory or open files than there are at a scale; else empty."""
    try:
        for plan in (wanted.plan(part, scale) for part in wanted.parts):
            prerequisites.check_open_files(plan, plan.peak_users)
            memory.check(plan, plan.peak_users, host.machine())
    except LabError as error:
        return error.problem
    return ""


def default_scale(
    wanted: Publication,
    cores: int,
    memory_gb: float,
    seconds: Callable[[float], float],
    refusal: Callable[[float], str] = lambda _: "",
) -> tuple[float, str]:
    """The largest scale for some cores and memory that takes an hour at most.

    Args:
        seconds: how long a scale takes. Where a smaller one takes as long, time is no reason to choose it.
        refusal: why the system does not allow a scale, as a sentence; empty where it does.

    Returns:
        The scale, and a sentence about why.

    """
    fits = min(cores / wanted.cores, memory_gb / wanted.memory_gb)
    possible = [scale for scale in SCALES if scale <= fits and _possible(wanted, scale)]
    roomy = [scale for scale in possible if not refusal(scale)] or [_smallest(wanted)]
    least_s = min(map(seconds, roomy))
    chosen = next(scale for scale in roomy if seconds(scale) <= max(MOST_S, 1.1 * least_s))
    if chosen == 1:
        return chosen, "the document's size"
    if chosen < roomy[0]:
        return (
            chosen,
            f"the largest that takes about an hour; the document's size takes {estimate.duration_text(seconds(1))}",
        )
    if fits >= 1 and (refused := refusal(1.0)):
        return chosen, f"not the document's size: {refused.rstrip('.')}"
    return chosen, f"the document's size needs {wanted.cores} cores and {wanted.memory_gb:g} GB"


def _possible(wanted: Publication, scale: float) -> bool:
    try:
        return all(wanted.plan(part, scale) for part in wanted.parts)
    except LabError:
        return False


def _smallest(wanted: Publication) -> float:
    """The smallest of the usual scales that is possible; LabError if none is."""
    possible = [scale for scale in SCALES if _possible(wanted, scale)]
    if not possible:
        raise LabError(
            f"At --pace {wanted.pace:g} none of the usual scales keeps threads, connections and users whole numbers.",
            f"Name a scale: --scale {wanted.parts[0].scales[0]:g}, or choose another pace.",
        )
    return min(possible)


def check_measures_nothing(given: Iterable[str]) -> None:
    """LabError if options are given, by name, that have no effect where existing runs are judged."""
    for name in given:
        raise LabError(f"{option(name)} has no effect with --from.", "Leave one of them out.")


def open_runs(names: Sequence[str], data: Path) -> list[Run]:
    """Runs by name or path, those that ship with the lab too."""
    return [run_view.open_run(name, data) for name in names]
