"""The rows of a published table with their predicted and measured figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from msgspec import structs

from lab.analysis import verdict
from lab.errors import LabError
from lab.experiments.reproduction.publication import Part, Publication, Repeat, ReproducedRow
from lab.reporting.run_rows import LATENCIES, LATER, OF_PROGRAMS
from lab.spec import in_turns, prediction
from lab.spec.options import has_effect
from lab.spec.plan import USERS, Cell, Plan
from lab.spec.scenario import Scenario
from lab.spec.workload import Load, OpenLoop, WaitingUsers
from lab.storage import published

# What a cell has by these names may be claimed something about.
SUMMARISED = (*LATENCIES, *LATER, "all_mean_s", "all_p90_s", "scrapes_missed", "service_scrapes_missed", *OF_PROGRAMS)
OF_RAMPS = ("kept_rps", "collapse_rps", "before_knee_s", "prompt_share")


@dataclass(frozen=True)
class Measured:
    """What was, or would be, measured.

    Attributes:
        cells: of :attr:`lab.reporting.run_view.Run.cells`; none if nothing was measured.
        earlier: by name, earlier runs on the same machine with the same settings.
        stand_in: the title of what stood in for a database, if anything did.
        in_turns: by load in words, variant, other variant and field of ``summary.json``, the first over the second in
            each start; empty where variants did not take turns in windows.
        repeat_s: how long one repeat of this and of what else was measured with it took; 0 if that is not known.
        runs: the names of the runs that the same starts of the services served, its own among them.

    """

    plan: Plan
    cells: Sequence[Mapping[str, Any]] = ()
    earlier: Mapping[str, Measured] = field(default_factory=dict)
    stand_in: str = ""
    in_turns: Mapping[tuple[str, str, str, str], Sequence[float]] = field(default_factory=dict)
    repeat_s: float = 0.0
    runs: frozenset[str] = frozenset()

    def repeats(self, variant: str, load: Load, factor: float, request: str) -> tuple[Repeat, ...]:
        """The repeats of a variant under a load, with rates multiplied by a factor, and the latency of a request."""
        both = zip(self.plan.cells, self.cells, strict=True) if self.cells else ()
        return tuple(
            _repeat(row, factor, request, self.plan)
            for cell, row in both
            if (cell.variant, cell.load) == (variant, load)
        )


def rows_of(experiment: Publication, part: Part, scale: float, measured: Measured) -> list[ReproducedRow]:
    """The rows of one part, in the document's order.

    Args:
        scale: of the measured plan.
        measured: what was, or would be, measured.

    """
    full = experiment.plan(replace(part, pace=1.0), 1.0)
    return [_row(part, full, cell, scale, measured) for cell in full.cells]


def _row(part: Part, full: Plan, cell: Cell, scale: float, measured: Measured) -> ReproducedRow:
    plan = measured.plan
    scenario = plan.scenario
    variant = scenario.variant(cell.variant)
    users = part.users_at(cell.load.users, scale)
    load = structs.replace(cell.load, users=users)
    if isinstance(load, WaitingUsers):
        paced = {"ramp_s": part.pace * load.ramp_s, "timeout_s": part.pace * load.timeout_s, "pace": part.pace}
        load = structs.replace(load, **paced)
    factor = part.pace * cell.load.users / users
    servers = prediction.servers(full, variant, full.parameters_of(cell))
    return ReproducedRow(
        part=part.name,
        users=cell.load.users,
        measured_users=users,
        variant=cell.variant,
        published=published.row_for(full, cell, variant, part.table),
        model_mean_s=prediction.predict_over_link(plan, replace(cell, load=load)),
        servers=None if servers is None else float(servers),
        service_s=prediction.service_s(full, cell),
        last_start_s=_last_start_s(plan, replace(cell, load=load)),
        answer_bytes=prediction.moved_bytes(full) if full.link.is_limited else 0,
        link_rate=float(full.link.rate),
        repeats=tuple(
            _repeat(c, factor, part.request, plan)
            for c in measured.cells
            if (c["variant"], c["users"]) == (cell.variant, users)
        ),
        earlier=_earlier(measured, cell.variant, users, factor, part.request),
        stand_in=measured.stand_in,
        of_programs=part.of_programs,
        at=full.at(cell) if isinstance(load, OpenLoop) else "",
        in_turns=_in_turns(measured, cell.variant, users),
        repeat_s=measured.repeat_s,
        runs=measured.runs,
        session_times={request.name: request.times for request in scenario.requests if request.times},
    )


def _in_turns(measured: Measured, variant: str, users: int) -> dict[tuple[str, str], Sequence[float]]:
    """By other variant and field, one variant at a load over the other in each start."""
    plan = measured.plan
    mine = {(plan.at(cell), cell.variant) for cell in plan.cells if (cell.variant, cell.load.users) == (variant, users)}
    return {(other, name): values for (at, one, other, name), values in measured.in_turns.items() if (at, one) in mine}


def _last_start_s(plan: Plan, cell: Cell) -> float:
    """When the waves of a cell began that end last; 0 for sends at a rate, which have none."""
    if isinstance(cell.load, OpenLoop):
        return 0.0
    variant = plan.scenario.variant(cell.variant)
    return prediction.last_start_s(cell.load, prediction.servers(plan, variant, plan.parameters_of(cell)))


def _earlier(
    measured: Measured, variant: str, users: int, factor: float, request: str
) -> dict[str, tuple[Repeat, ...]]:
    """By earlier run, the usable repeats of a variant under the very load that was measured, where it has several."""
    loads = [c.load for c in measured.plan.cells if (c.variant, c.load.users) == (variant, users)]
    if not loads:
        return {}
    found = {name: run.repeats(variant, loads[0], factor, request) for name, run in measured.earlier.items()}
    usable = {name: tuple(repeat for repeat in repeats if repeat.usable) for name, repeats in found.items()}
    return {name: repeats for name, repeats in usable.items() if len(repeats) > 1}


def _repeat(cell: Mapping[str, Any], factor: float, request: str, plan: Plan) -> Repeat:
    failed, of_name = sum(cell["errors"].values()), {part["name"]: part for part in cell.get("by_name", ())}
    of_request = of_name.get(request, cell)
    calls = {name: count / n for name, count in cell.get("calls", {}).items() if (n := of_request["requests"])}
    return Repeat(
        number=cell["repeat"],
        mean_s=of_request["mean_s"],
        rps=factor * (cell["throughput_rps"] or 0.0),
        ok_rps=factor * (cell["ok_throughput_rps"] or 0.0),
        error_share=failed / cell["requests"] if cell["requests"] else 0.0,
        verdict=cell["verdict"],
        usable=cell["requests"] > 0 and cell["verdict"] in verdict.BELIEVED,
        figures={
            **calls,
            **{name: cell[name] for name in SUMMARISED if cell.get(name) is not None},
            **ramp_figures(cell.get("ramp") or {}),
        },
        sums_s={
            each.name: each.times * of_name[each.name]["mean_s"]
            for each in plan.scenario.requests
            if each.times and each.name in of_name and of_name[each.name]["mean_s"] is not None
        },
        failed_shares={name: each["failed"] / each["requests"] for name, each in of_name.items()},
        requests={name: each["requests"] for name, each in of_name.items()},
        requests_each=cell["requests"] / cell["users"],
        errors=cell["errors"],
        stopped=(cell.get("sessions") or {}).get("stopped", 0),
        batches=in_turns.batch_count(plan),
        beside=in_turns.beside(plan, cell["variant"]),
    )


def ramp_figures(course: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a ramp: those of :class:`lab.analysis.ramps.RampResult`, and of a request that waits.

    ``collapse_rps`` is that of its knee; ``right_rps`` right answers over the ramp's duration, however late the last of
    them came; ``memory_bytes`` all of what it held, within the heap and outside, where both are known. Of loads that
    are no ramps there are none.
    """
    all_of_it = {**(course.get("knee") or {}), **course}
    known = {name: all_of_it[name] for name in OF_RAMPS if all_of_it.get(name) is not None}
    if windows := course.get("windows"):
        known["right_rps"] = sum(window["right"] for window in windows) / windows[-1]["to_s"]
    waiting = course.get("waiting") or {}
    memory = {"memory_bytes": waiting["heap_bytes"] + waiting["native_bytes"]} if "heap_bytes" in waiting else {}
    return {**known, **waiting, **memory}


def scale_of(part: Part, plan: Plan) -> float:
    """The scale of a plan of a part: the ratio of its threads to the document's; 1 for programs."""
    if plan.scenario.entry == "program":
        return 1.0
    return (plan.limits.threads or 0) / part.limit("threads")


def deviations(experiment: Publication, part: Part, plan: Plan) -> list[str]:
    """The settings in which a plan differs from a part of an experiment at its scale, such as ``loops 3, not 1``.

    Threads, pool, backlog, link, parameters, nodes, Prometheus and all of the load but its users decide, and so does
    the heap where the part names one. Variants must be among those of the part, and users must have some number in
    common; generator and repeats may differ.
    """
    if plan.scenario.name != (wanted_name := experiment.scenario_of(part).name):
        return [f"scenario {plan.scenario.name}, not {wanted_name}"]
    if plan.axis != USERS and plan.is_sweep:
        return [f"what varies is {plan.axis}, not users"]
    try:
        of_part = experiment.plan(part, scale_of(part, plan))
    except LabError:  # it is that part at no scale; the document's size says what it lacks
        of_part = experiment.plan(part, 1.0)
    wanted, mine = (_settings(each, of_part.scenario) for each in (of_part, plan))
    both = [name for name in wanted if name in mine]  # loads of two kinds differ in their kind
    if part.options.heap_mb is None:
        both.remove("heap_mb")
    differing = [
        f"{name} {_text(mine[name])}, not {_text(wanted[name])}" for name in both if mine[name] != wanted[name]
    ]
    return [*differing, *_of_other_parts(plan, of_part)]


def _of_other_parts(plan: Plan, of_part: Plan) -> list[str]:
    """Variants of a plan that a part does not have, and users if it has none of them.

    A sweep may have more loads than a part shows, such as one that shows the largest. The users of an open loop are but
    a reserve.
    """
    variants, of_variants = (dict.fromkeys(cell.variant for cell in each.cells) for each in (plan, of_part))
    users, of_users = (dict.fromkeys(f"{cell.load.users:,}" for cell in each.cells) for each in (plan, of_part))
    differing = []
    if others := [name for name in variants if name not in of_variants]:
        differing.append(f"variants {', '.join(others)}, not {', '.join(of_variants)}")
    if not isinstance(plan.cells[0].load, OpenLoop) and users.keys().isdisjoint(of_users):
        differing.append(f"users {' and '.join(users)}, not {' or '.join(of_users)}")
    return differing


def _settings(plan: Plan, scenario: Scenario) -> dict[str, Any]:
    """The settings that decide of a plan, by today's scenario: an older run may name parameters without effect."""
    parameters = plan.parameters_of(plan.cells[0])
    of_each = {name: [value] for name, value in parameters.items()}
    known = {parameter.name for parameter in scenario.parameters}
    link = {f"link_{name}": value for name, value in asdict(plan.link).items()}
    load = plan.cells[0].load
    fields = structs.asdict(load)
    shape = {name: fields[name] for name in fields if name not in ("users", "workers", "remote_workers", "windows")}
    deployment = {"nodes": plan.nodes, "prometheus": "on" if plan.prometheus else "off"}
    return {
        **{name: parameters[name] for name in parameters if name not in known or has_effect(scenario, name, of_each)},
        **asdict(plan.limits),
        **link,
        **deployment,
        "load": load.kind,
        **shape,
    }


def _text(value: Any) -> str:
    return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
