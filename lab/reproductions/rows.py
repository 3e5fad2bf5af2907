"""From a plan and the cells that were measured to rows of the document's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab import durations, model, published, verdict
from lab.errors import LabError
from lab.reproductions.experiment import Experiment, Part, Repeat, Row
from lab.scenario import Cell, Plan
from lab.scenarios import SCENARIOS


def rows_of(
    experiment: Experiment, part: Part, scale: float, plan: Plan, cells: Sequence[Mapping[str, Any]]
) -> list[Row]:
    """The rows of one part, in the document's order.

    Args:
        scale: of the plan.
        plan: what was, or would be, measured.
        cells: of :attr:`lab.report.Run.cells`; none if nothing was measured.

    """
    full = experiment.plan(part, 1.0)
    return [_row(part, full, cell, scale, plan, cells) for cell in full.cells]


def _row(part: Part, full: Plan, cell: Cell, scale: float, plan: Plan, cells: Sequence[Mapping[str, Any]]) -> Row:
    scenario = SCENARIOS[plan.scenario]
    variant = scenario.variant(cell.variant)
    users = part.users_at(cell.load.users, scale)
    factor = cell.load.users / users
    servers = model.servers(scenario, full, variant)
    shaped = bool(full.link.rate or full.link.connection_rate)
    return Row(
        part=part.name,
        users=cell.load.users,
        measured_users=users,
        variant=cell.variant,
        published=published.row_for(full, cell, variant, part.table),
        model_mean_s=model_mean_s(plan, replace(cell, load=replace(cell.load, users=users))),
        servers=None if servers is None else float(servers),
        service_s=model.service_s(scenario, full),
        ramp_s=cell.load.ramp_s,
        answer_bytes=scenario.answer_bytes if shaped else 0,
        link_rate=float(full.link.rate),
        repeats=tuple(_repeat(c, factor) for c in cells if (c["variant"], c["users"]) == (cell.variant, users)),
    )


def _repeat(cell: Mapping[str, Any], factor: float) -> Repeat:
    failed = sum(cell["errors"].values())
    return Repeat(
        number=cell["repeat"],
        mean_s=cell["mean_s"],
        rps=factor * (cell["throughput_rps"] or 0.0),
        ok_rps=factor * (cell["ok_throughput_rps"] or 0.0),
        error_share=failed / cell["requests"] if cell["requests"] else 0.0,
        verdict=cell["verdict"],
        usable=cell["requests"] > 0 and cell["verdict"] in (verdict.VALID, verdict.SUSPECT),
    )


def model_mean_s(plan: Plan, cell: Cell) -> float | None:
    """The mean latency that theory predicts, over a shaped link too; None where it predicts none."""
    scenario = SCENARIOS[plan.scenario]
    if not (plan.link.rate or plan.link.connection_rate):
        return model.predict(scenario, plan, cell)
    servers = model.servers(scenario, plan, scenario.variant(cell.variant))
    time_s = model.service_s(scenario, plan) or 0.0
    return durations.mean_over_link_s(cell.load.users, servers, time_s, scenario.answer_bytes, plan.link)


def scale_of(experiment: Experiment, part: Part, plan: Plan) -> float | None:
    """The scale at which a plan is that part of the experiment; None if it is at none.

    Threads, pool, backlog, link, parameters, ramp and the kind of load decide; heap, users and repeats may differ.
    """
    largest = max(cell.load.users for cell in plan.cells)
    for scale in (1.0, min(1.0, largest / max(part.wishes.users))):
        try:
            wanted = experiment.plan(part, scale)
        except LabError:
            continue
        if _settings(wanted) == _settings(plan):
            return scale
    return None


def _settings(plan: Plan) -> dict[str, Any]:
    load = plan.cells[0].load
    return {
        "scenario": plan.scenario,
        "parameters": dict(plan.parameters),
        "limits": replace(plan.limits, heap_mb=0),
        "link": plan.link,
        "ramp": load.ramp_s,
        "burst": load.is_burst,
    }
