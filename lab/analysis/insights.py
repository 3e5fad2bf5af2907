"""Insights from a run beyond its table: the binding resource, requests served at once, when the load had settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.analysis import balancing, bottleneck, checks, compiling, monitoring, ramps, verdict, window_ratios
from lab.analysis.bottleneck import CPU_FULL, FULL_FOR_S, Bottleneck, PoolUsage, Usage
from lab.analysis.evidence import Evidence
from lab.analysis.service_cost import of_pools
from lab.formulas import inference, laws, stats, steady_state
from lab.formulas.calls import Calls
from lab.formulas.inference import Estimate
from lab.formulas.laws import LoadLevel
from lab.spec import prediction
from lab.spec.plan import USERS, WINDOWS, Plan
from lab.spec.system import SERVICE, Stage, Variant, command_of
from lab.spec.workload import Ramp
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.telemetry import pools, series
from lab.telemetry.pools import POOLS
from lab.telemetry.sampler import CORES_BUSY, INTERRUPTS, WORKER

Floats = NDArray[np.float64]
ESTIMATED = ("mean_s", "p50_s", "p99_s", "p999_s")
LINK = "link to "
THREADS_BUSY = "tomcat_threads_busy_threads"
# Smaller differences are within the noise of repeats.
UNEVEN_SHARE = 0.05
# Repeats differ by some 5 %; a law that is off by twice as much does not fit.
MOST_MISFIT = 0.10
# A p99 of the whole load that is further from that after its transient depends on how long the load lasts.
TRANSIENT_SHARE = 0.10
# Of many cells so many are named, and the rest counted.
MOST_NAMED = 3
# Times the rate of a ramp's knee: up to there what was full at the knee is full, and little else is yet.
OVERLOADED = 1.5


def sentences(run: RunFolder) -> list[str]:
    """Bottleneck, steady state and scalability of each variant of a run, from complete cells that are not invalid."""
    plan = run.plan()
    found = [
        *_missing_samples(run),
        *_changed_conditions(run),
        *(sentence for variant in plan.variants for sentence in _of_variant(run, plan, variant)),
        *_commands(run, plan),
        *_slow_connects(run, plan),
        *(f"{plan.label(folder.cell)}: {said}" for folder in run.cells() for said in balancing.sentences(folder)),
        *(f"{plan.label(folder.cell)}: {said}" for folder in run.cells() for said in monitoring.sentences(folder)),
    ]
    if plan.interleave == WINDOWS:  # where an uneven machine disturbs all alike
        beside = (
            window_ratios.of_idle_services(run),
            window_ratios.of_pauses(run),
            window_ratios.of_shared_changes(run),
        )
        return [*found, *window_ratios.sentences(run), *filter(None, beside)]
    return found + ([uneven] if plan.cpu_decides and (uneven := _uneven_machine(run)) else [])


def _missing_samples(run: RunFolder) -> Iterator[str]:
    """A sentence on cells that have a summary, but no samples any more."""
    if lacking := [folder.cell.id for folder in run.cells() if folder.lacks_samples]:
        named, more = lacking[:MOST_NAMED], len(lacking) - MOST_NAMED
        which = f"{', '.join(named)} and {more} more cell{'' if more == 1 else 's'}" if more > 0 else ", ".join(named)
        yield f"The samples of {which} are missing: tables show these cells, figures do not."


def _changed_conditions(run: RunFolder) -> Iterator[str]:
    """A sentence on each resumption under different conditions (``--anyway``)."""
    for number in count(1):
        if not (there := run.note(f"environment-resume-{number}")):
            return
        if there.get("different"):
            yield f"The run was resumed under different conditions: {'; '.join(there['different'])}."


def _commands(run: RunFolder, plan: Plan) -> Iterator[str]:
    """Sentences on cells whose commands were counted one by one: how many of them a request made."""
    counting: dict[str, list[str]] = {}
    for folder in run.cells():
        evidence = folder.read("evidence")
        of_each = evidence.get("calls", {}).items() if any(stage.command for stage in _stages(plan, folder)) else ()
        counted = {command: count for name, count in of_each if (command := command_of(name))}
        finished = evidence.get("finished") or 0
        if made := [f"{count / finished:,.4g} {name}" for name, count in counted.items() if count and finished]:
            counting.setdefault(" and ".join(made), []).append(plan.label(folder.cell))
    for made_by_each, labels in counting.items():
        which = "each measurement" if len(labels) == len(run.cells()) > 1 else "; ".join(labels)
        yield f"{which}: the database counted {made_by_each} a request."


def _slow_connects(run: RunFolder, plan: Plan) -> Iterator[str]:
    """A sentence on each cell with connections that were not accepted at once, for which no verdict blames it."""
    for folder in run.cells():
        evidence = folder.read("evidence")
        blamed = evidence.get("backlog_set", True) or evidence.get("untracked")
        if (count := evidence.get("slow_connects")) and not blamed:
            yield (
                f"{plan.label(folder.cell)}: {count:,} connections took a second or more, as a packet was lost: the "
                "service's own listen backlog was full."
            )


def _stages(plan: Plan, folder: CellFolder) -> tuple[Stage, ...]:
    return plan.scenario.variant(folder.cell.variant).stages


def _uneven_machine(run: RunFolder) -> str | None:
    """A sentence if cores were slower under some cells than under others, which may look like a difference."""
    read = {folder.cell.id: folder.read("summary").get("yardstick_s") for folder in run.cells() if folder.complete}
    by_speed = sorted((spent_s, cell) for cell, spent_s in read.items() if spent_s)
    if not by_speed or (slower := by_speed[-1][0] / by_speed[0][0] - 1) < UNEVEN_SHARE:
        return None
    (_, fastest), (_, slowest) = by_speed[0], by_speed[-1]
    return (
        f"The machine's speed changed: by a fixed piece of work, the service's cores were {slower:.0%} slower "
        f"under {slowest} than under {fastest}. Smaller differences may be due to that: --repeat averages it out."
    )


def not_checked(run: RunFolder) -> list[str]:
    """Sentences on the checks that could not be made, one for each reason; those of cells that broke off are left out.

    They are derived from the evidence, so that they are there for older runs too.
    """
    entry, lacking = run.plan().scenario.entry, list[tuple[str, str]]()
    shared = run.environment().get("generator_cores") == []
    for folder in run.cells():
        stored = folder.read("evidence")
        if not folder.complete or stored.get("component_errors") or stored.get("interrupted"):
            continue
        known = {"entry": entry, "limits_read": bool(folder.read("limits")), "shared_cores": shared}
        lacking += verdict.not_made(Evidence.read({**known, **stored})).items()
    return verdict.not_checked(lacking)


def deciding(run: RunFolder) -> dict[str, Bottleneck]:
    """By variant, the binding resource at its largest load; variants without a usable cell are left out."""
    plan = run.plan()
    largest = [
        (variant, _largest(plan, cells)) for variant in plan.variants if (cells := usable_cells(run, variant.name))
    ]
    return {variant.name: bottleneck.find(usage_of(run, plan, variant, cell)) for variant, cell in largest}


def _largest(plan: Plan, cells: Sequence[CellFolder]) -> CellFolder:
    """The cell of the largest load, or of the largest value of what is varied; the first of its repeats."""
    return max(cells, key=lambda folder: (plan.position(folder.cell), -folder.cell.repeat))


def _repeats(plan: Plan, cells: Sequence[CellFolder], most: CellFolder) -> list[CellFolder]:
    """The cells of the same load as one of them, itself among them."""
    return [folder for folder in cells if plan.position(folder.cell) == plan.position(most.cell)]


def _of_variant(run: RunFolder, plan: Plan, variant: Variant) -> Iterator[str]:
    cells = usable_cells(run, variant.name)
    if not cells:
        return
    most = _largest(plan, cells)
    label = f"{variant.name} at {plan.at(most.cell)}"
    if variant.entry != "program":  # of which it is known: the core that it is pinned to
        yield f"{label}: {bottleneck.find(usage_of(run, plan, variant, most)).sentence}"
    evidence = (folder.read("evidence") for folder in _repeats(plan, cells, most))
    # Of a load that is known to drift nobody asks what would have been hidden.
    unchanged = [of.get("detectable_change") or 0.0 for of in evidence if of.get("course") not in checks.ONE_WAY]
    # Where it may have hidden any, the verdict says that this was not checked.
    found_from = max((share for share in unchanged if share < 1), default=0.0)
    if found_from > checks.CHANGE_SUSPECT_SHARE:
        yield f"{label}: noise would have hidden a drift of less than {found_from:.0%}: longer loads show smaller ones."
    if compiling.is_judged_by_course(plan, most):
        yield from (f"{label}: {sentence}" for sentence in (_settled(most), _courses(plan, cells, most)) if sentence)
    if compiled := compiling.sentence(plan, _repeats(plan, cells, most)):
        yield f"{label}: {compiled}"
    if plan.axis == USERS and len({folder.cell.load.users for folder in cells}) > 1:
        yield from (f"{variant.name}: {sentence}" for sentence in _of_sweep(run, cells, variant))


def _settled(folder: CellFolder) -> str | None:
    ended_s, latency_s = _answers(folder)
    found = steady_state.settling(ended_s, latency_s)
    if found is None:
        return None
    evidence = folder.read("evidence")
    if found.from_s is None and evidence.get("settled") and evidence.get("course") == "flat":
        return None  # it changed with the cores, or with all that took turns
    if found.from_s is None:
        queues = folder.cell.load.independent and evidence.get("course") == "slowing"
        remedy = "" if queues else ": measure longer"  # a queue that grows is only longer then
        return f"The load had not settled within its {found.elapsed_s:.0f} s{remedy}."
    if evidence.get("course") in checks.ONE_WAY:
        return None  # as with a queue that grows until the load ends: what follows is no level
    sentence = f"Latency and throughput had settled after {found.from_s:.1f} of {found.elapsed_s:.1f} s"
    left_s = latency_s[ended_s >= found.from_s]
    of_all, since = (float(np.percentile(of, 99, method="inverted_cdf")) for of in (latency_s, left_s))
    # Of fewer answers p99 is one of the ten slowest, which differ by chance.
    if len(left_s) < stats.FEWEST_FOR_P999 or abs(of_all - since) <= TRANSIENT_SHARE * since:
        return f"{sentence}."
    return f"{sentence}: its p99 of {of_all:.3g} s depends on how long it lasts, and was {since:.3g} s from then on."


def _courses(plan: Plan, cells: list[CellFolder], most: CellFolder) -> str:
    """The course of each start at the largest load, by its repeats; empty for older runs."""
    courses = [course for folder in _repeats(plan, cells, most) if (course := folder.read("evidence").get("course"))]
    if not courses:
        return ""
    classes = " and ".join(_times(*counted) for counted in Counter(courses).most_common())
    starts = f", in {len(courses)} starts," if len(courses) > 1 else ""
    return f"Its load{starts} is classed as {classes} (docs/VERDICT.md)."


def _times(course: str, starts: int) -> str:
    return course if starts == 1 else f"{course} ({starts} times)"


def _of_sweep(run: RunFolder, cells: list[CellFolder], variant: Variant) -> Iterator[str]:
    if servers := laws.estimate_servers(levels(run, variant.name)):
        yield (
            f"Estimated from its samples, it served {servers.count:.0f} requests at once (at {servers.users:,} users, "
            f"{servers.service_s:.3f} s each)."
        )
    if not cells[0].cell.load.steady_span_s:
        return  # a burst has no steady throughput: it includes the ramp and the last wave
    rates = [folder.read("summary")["ok_throughput_rps"] for folder in cells]
    law = laws.fit_scalability([folder.cell.load.users for folder in cells], rates)
    if law and law.misfit > MOST_MISFIT:
        yield f"The universal scalability law does not fit its throughput (off by up to {law.misfit:.0%}): no peak."
    elif law:
        yield (
            f"By the universal scalability law its throughput peaks at {law.peak.value:,.0f} users "
            f"({law.peak.low:,.0f} to {law.peak.high:,.0f}); contention {law.contention.value:.1%}, "
            f"coherency {law.coherency.value:.2g}."
        )


def usable_cells(run: RunFolder, variant: str) -> list[CellFolder]:
    """The usable cells of a variant: complete, with right answers, and not invalid."""
    cells = [folder for folder in run.cells() if folder.cell.variant == variant and folder.complete]
    summaries = [folder.read("summary") for folder in cells]
    return [
        folder
        for folder, summary in zip(cells, summaries, strict=True)
        if summary.get("verdict") != verdict.INVALID and summary.get("mean_s") is not None
    ]


def levels(run: RunFolder, variant: str) -> list[LoadLevel]:
    """The right answers of each usable cell of a variant."""
    return [LoadLevel(folder.cell.load.users, *_answers(folder)) for folder in usable_cells(run, variant)]


def _answers(folder: CellFolder) -> tuple[Floats, Floats]:
    """End times and latencies of right answers in seconds, shapes (n,); an open loop's count from the planned send."""
    ended, latency = [np.zeros(0)], [np.zeros(0)]
    for piece in folder.measured_pieces(["planned_us", "sent_us", "latency_us", "error"]):
        right = piece[(piece["error"] == "").to_numpy()]
        right = stats.as_planned(right) if folder.cell.load.independent else right
        ended.append((right["sent_us"] + right["latency_us"]).to_numpy() / 1e6)
        latency.append(right["latency_us"].to_numpy() / 1e6)
    return np.concatenate(ended), np.concatenate(latency)


def intervals(run: RunFolder) -> list[dict[str, Any]]:
    """Mean, p50 and p99 of each variant at each load, with intervals.

    Returns:
        Rows of ``variant``, ``users``, ``at`` (the value of what is varied), ``metric``, ``value``, ``low``, ``high``
        (seconds) and ``scope``: see :class:`lab.formulas.inference.Estimate`. A burst or a ramp measured once has
        none, as it is never steady.

    """
    plan = run.plan()
    rows: list[dict[str, Any]] = []
    points = dict.fromkeys((cell.variant, cell.load.users, plan.position(cell)) for cell in plan.cells)
    for variant, users, position in points:
        cells = [folder for folder in usable_cells(run, variant) if plan.position(folder.cell) == position]
        for metric, estimate in _estimates(cells).items():
            rows.append({"variant": variant, "users": users, "at": position, "metric": metric, **asdict(estimate)})
    return rows


def _estimates(cells: list[CellFolder]) -> dict[str, Estimate]:
    if len(cells) > 1:
        summaries = [folder.read("summary") for folder in cells]
        values = {metric: [summary.get(metric) for summary in summaries] for metric in ESTIMATED}
        found = {metric: inference.between_runs([v for v in of if v is not None]) for metric, of in values.items()}
        return {metric: estimate for metric, estimate in found.items() if estimate}
    if not cells or not cells[0].cell.load.steady_span_s:
        return {}
    ended_s, latency_s = _answers(cells[0])
    if not len(latency_s):  # its samples were deleted, and its summary was kept
        return {}
    percents = (50, 99, 99.9) if len(latency_s) >= stats.FEWEST_FOR_P999 else (50, 99)
    return dict(zip(ESTIMATED, inference.within_run(ended_s - latency_s, latency_s, percents), strict=False))


@dataclass(frozen=True)
class _Saturated:
    """The time of a load at which its bottleneck is looked for, the answers a second then, and their mean latency.

    All of it; but of a ramp only the time between its knee, before which nothing is at its limit, and the time at which
    :data:`OVERLOADED` times the knee's rate is sent: beyond that, requests that time out and are refused may fill what
    was not full at the knee, such as the CPU.

    Attributes:
        queued: whether a queue is known to grow then.

    """

    from_s: float
    until_s: float
    rps: float
    mean_s: float | None
    queued: bool = False

    @classmethod
    def of(cls, plan: Plan, folder: CellFolder) -> _Saturated:
        summary, load = folder.read("summary"), folder.cell.load
        if isinstance(load, Ramp):
            course = ramps.result_of(folder, prediction.is_steady(plan, folder.cell))
            if course and course.knee:
                mean_s = course.beyond_knee_s or summary.get("mean_s")
                until_s = load.reaches_s(OVERLOADED * course.knee.rate)
                answers_rps = course.knee.rate * course.requests_a_session
                return cls(course.knee.at_s, until_s, answers_rps, mean_s, queued=True)
        began_s, elapsed_s = summary.get("began_s") or 0.0, summary.get("elapsed_s") or 0.0
        return cls(began_s, began_s + elapsed_s, summary.get("ok_throughput_rps") or 0.0, summary.get("mean_s"))


def usage_of(run: RunFolder, plan: Plan, variant: Variant, folder: CellFolder) -> Usage:
    """The utilisation of resources during a cell's load, for :func:`lab.analysis.bottleneck.find`."""
    scenario = plan.scenario
    limits, metrics, when = folder.read("limits"), folder.metrics(), _Saturated.of(plan, folder)
    parameters = plan.parameters_of(folder.cell)
    service_s = prediction.service_s(plan, folder.cell)
    calls = prediction.calls_of(plan, variant, parameters)

    def used(target: str, name: str = "cpu_s") -> float | None:
        spent_s = series.cpu_s(metrics, target, when.from_s, when.until_s, name)
        return None if spent_s is None or when.until_s <= when.from_s else spent_s / (when.until_s - when.from_s)

    cpus, programs = limits.get("cpus"), used("generator", CORES_BUSY)
    by_second = series.cpu_by_second(metrics, SERVICE, when.from_s, when.until_s) if cpus else np.zeros(0)
    behind = {name for component in scenario.components for name in (component.name, f"{LINK}{component.name}")}
    generators = [folder.read("evidence").get("worker_cpu")]
    generators += [used(target) for target in series.targets(metrics) if target.startswith(WORKER)]
    backing = {target: used(target) or 0.0 for target in series.targets(metrics) if target in behind}
    machine = run.environment()
    databases = {component.name for component in scenario.components if component.database}
    called = {component.name for component in scenario.components} - databases
    return Usage(
        generator_cpu=max((cpu for cpu in generators if cpu is not None), default=None),
        service_cpu=used(SERVICE),
        service_cpus=cpus,
        service_full_s=series.seconds_above(by_second, CPU_FULL * (cpus or 0), FULL_FOR_S),
        looked_at_s=when.until_s - when.from_s,
        link_cpu=max((cpu for target, cpu in backing.items() if target.startswith(LINK)), default=None),
        database_cpu={target: cpu for target, cpu in backing.items() if target in databases},
        called_cpu={target: cpu for target, cpu in backing.items() if target in called},
        database_cpus=len(machine.get("generator_cores") or ()) or machine.get("cores") or 1,
        shared_busy=None if programs is None else programs + (used("generator", INTERRUPTS) or 0.0),
        called_busy=prediction.served_at_once(plan, variant, parameters, when.rps),
        threads_busy=_typical(metrics, [THREADS_BUSY], when) if variant.thread_per_request else None,
        # An event loop has threads too, but none that a request keeps.
        threads=_of_all(limits.get("request_threads_max"), plan) if variant.thread_per_request else None,
        pools=_pools(plan, folder, metrics, when) or _pool_by_law(plan, variant, limits, calls, when.rps),
        bytes_rps=when.rps * _mean_bytes(folder) if plan.link.rate else None,
        link_rate=plan.link.rate or None,
        mean_s=when.mean_s,
        service_s=None if when.queued else service_s,
    )


def _pools(plan: Plan, folder: CellFolder, metrics: pd.DataFrame, when: _Saturated) -> dict[str, PoolUsage]:
    """The utilisation of each pool of connections that was read, during a cell's load."""
    rows, limits = metrics[["t_s", "target", "name", "value"]].itertuples(index=False, name=None), folder.read("limits")
    read = of_pools(rows, when.from_s, when.until_s, 0, limits)
    return {
        pool.name: PoolUsage(
            _typical(metrics, pool.in_use, when),
            pool.limit(limits) or _of_all(plan.limits.pool, plan),
            read[pool.name]["wait"],
        )
        for pool in POOLS
        if pool.name in read
    }


def _typical(metrics: pd.DataFrame, names: Sequence[str], when: _Saturated) -> float | None:
    """The median reading of the service by the first of these names that was read; None if none was."""
    found = (series.typical(metrics, SERVICE, name, when.from_s, when.until_s) for name in names)
    return next((value for value in found if value is not None), None)


def _pool_by_law(
    plan: Plan, variant: Variant, limits: Mapping[str, Any], calls: Calls | None, rate: float
) -> dict[str, PoolUsage]:
    """The same of a pool that was not read, by Little's law: a call holds a connection for at least its time.

    Only where the service calls one component: theory does not say which of several a call is for.
    """
    called = {stage.component for stage in variant.stages} - {SERVICE}
    if len(called) != 1 or not calls:
        return {}
    limit = _of_all(limits.get("pool_max") or plan.limits.pool, plan)
    return {pools.name_of(name): PoolUsage(rate * calls.calls * calls.call_s, limit) for name in called}


def _of_all(limit: float | None, plan: Plan) -> float | None:
    """A limit of one node for all of them, whose readings are summed."""
    return limit and limit * plan.nodes


def _mean_bytes(folder: CellFolder) -> float:
    """Bytes of a right answer, on average."""
    sizes = [
        piece.loc[(piece["error"] == "").to_numpy(), "bytes"] for piece in folder.measured_pieces(["bytes", "error"])
    ]
    count = sum(len(size) for size in sizes)
    return sum(float(size.sum()) for size in sizes) / count if count else 0.0
