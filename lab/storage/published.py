"""The tables of the published documents, from ``data/published/``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import msgspec

from lab.runtimes.checkout import ROOT
from lab.spec.plan import Cell, Plan
from lab.spec.system import Variant
from lab.spec.workload import Burst, OpenLoop

PUBLISHED = ROOT / "data" / "published"


@dataclass(frozen=True)
class PublishedRow:
    """One published measurement.

    Attributes:
        users: or the highest rate of an open loop.
        mean_s: mean latency; None where only other figures were published.
        throughput_rps: counts failed requests too, as JMeter does.
        ok_throughput_rps: right answers a second, where that is what was published.
        ramp_s: the ramp that the numbers fit, where it is not that of the published test plan.
        sums_s: by name, what the requests of a session took together, where sessions have several.
        total_s: the time until all users were answered, each of one request.
        figures: by name, others that a publication shows, such as ``mongo find``: see
            :attr:`lab.experiments.reproduction.publication.Publication.figures`.
        settings: those of this row alone, beside those of the table.
        request: the name of the request that it is of, where a session has others too.

    """

    users: int
    variant: str
    mean_s: float | None = None
    throughput_rps: float | None = None
    errors_percent: float | None = None
    ramp_s: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    ok_throughput_rps: float | None = None
    sums_s: Mapping[str, float] = field(default_factory=dict)
    total_s: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    request: str = ""


@cache
def table(scenario: str) -> dict[str, Any]:
    """The published table of a scenario or experiment: source, settings, notes and rows; empty if there is none."""
    path = PUBLISHED / f"{scenario}.json"
    if not path.exists():
        return {}
    value: dict[str, Any] = json.loads(path.read_text())
    value["rows"] = msgspec.convert(value["rows"], list[PublishedRow])
    return value


def row_for(plan: Plan, cell: Cell, variant: Variant, name: str = "") -> PublishedRow | None:
    """The published row with a cell's settings, or None; from the scenario's table if no other is named.

    Settings are those of the published test plan, the shape of its load among them: who starts when decides how long
    the queue gets. A table is of bursts unless its settings say what its ``load`` is.
    """
    published, load = table(name or plan.scenario.name), cell.load
    if not published or not (
        load.kind == published["settings"].get("load", "burst") or plan.scenario.entry == "program"
    ):
        return None
    link = {f"link_{key}": value for key, value in asdict(plan.link).items()}
    limits = asdict(plan.limits_of(variant.name).or_else(variant.own))
    # Of a program, each execution is one, however many there are.
    shape = {"loops": load.loops, "ramp_s": load.ramp_s, "arrivals": load.arrivals} if isinstance(load, Burst) else {}
    # A stack without such a limit of its own is as it was published.
    mine = {**plan.parameters_of(cell), **{k: v for k, v in limits.items() if v is not None}, **link, **shape}
    # An open loop is as large as its rate; its users are but a reserve.
    size = load.highest_rps if isinstance(load, OpenLoop) else load.users
    rows = [row for row in published["rows"] if (row.users, row.variant) == (size, variant.published_as)]
    fitting = (row for row in rows if _fits(mine, {**published["settings"], **row.settings}))
    return next(fitting, None)


def row_beside(plan: Plan, cell: Cell) -> PublishedRow | None:
    """The published row whose figures are of all of a cell's requests, as those that a run shows of it are; or None."""
    row = row_for(plan, cell, plan.scenario.variant(cell.variant))
    return None if row and row.request else row


def _fits(mine: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    return all(mine.get(key, value) == value for key, value in settings.items())
