"""Plans the cells of a run in windows: what is up at once, how many windows a load has, and what fits into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from msgspec import structs

from lab.errors import LabError
from lab.spec import memory, prediction, turns
from lab.spec.machine import Machine
from lab.spec.plan import WINDOWS, Cell, Plan
from lab.spec.scenario import Value
from lab.spec.system import Variant
from lab.spec.workload import Closed, Load, Open

# A value of what is varied: its load, its value of a parameter, and its name; both empty where users vary.
Point = tuple[Load, dict[str, Value], str]

# Users begin anew in each window, and the first requests wait for fewer others than all later ones. Where one waits for
# longer than this, a window is mostly such a beginning.
LONGEST_WAIT_S = turns.WINDOW_S / 4
# Of fewer requests a window of an open loop shows nothing, and the pause before the first is a large part of it.
FEWEST_SENDS = 20


def planned(plan: Plan, variants: Sequence[Variant], points: Sequence[Point], starts: int, machine: Machine) -> Plan:
    """The plan with its cells, one for each start of a variant's service at each point.

    Where memory holds only some of the variants at once, a start is made in batches that all have the first variant:
    then it has a cell in each of them.

    Raises:
        LabError: a load has no duration, there is one variant only, or not even two of them fit into memory.

    """
    plan = replace(plan, interleave=WINDOWS)
    _check(plan, variants, points)
    batches = _batches(plan, variants, points, machine)
    cells = tuple(
        Cell(variant.name, in_windows(plan, variants, point, len(batch)), len(batches) * start + number, *point[1:])
        for point in points
        for place, variant in enumerate(variants)
        for start in range(starts)
        for number, batch in enumerate(batches, 1)
        if place in batch
    )
    if any(cell.load.windows < 2 for cell in cells):
        raise LabError(
            "The load is too short for turns: each variant would have a single window.",
            f"Make --duration longer: a window takes {turns.WINDOW_S:g} s, or as long as {turns.REQUESTS_A_WINDOW} "
            "requests one after the other.",
        )
    for load in dict.fromkeys(cell.load for cell in cells):
        if isinstance(load, Open) and load.planned_sessions < FEWEST_SENDS * load.windows:
            raise LabError(
                f"At a --rate of {load.rate_rps:,.10g} a window of {load.duration_s / load.windows:.3g} s has fewer "
                f"than {FEWEST_SENDS} sends.",
                "Choose a higher --rate, or leave --interleave windows out.",
            )
    return replace(plan, cells=cells)


def by_default(
    plan: Plan, variants: Sequence[Variant], points: Sequence[Point], starts: int, machine: Machine
) -> Plan | None:
    """The plan in windows where nobody said how variants take turns; None where each had better have its own time.

    Windows are better where the CPU decides, as its speed changes within seconds. They have to be possible without
    batches, in an order that is balanced; users who pause for seconds, or wait so long for one another's work, are no
    load for windows of a second; and the nodes of all variants are too many to be idle beside one another.
    """
    if not plan.cpu_decides or plan.scenario.think_s or plan.nodes > 1:
        return None
    if any(isinstance(load, Closed) and load.users * prediction.work_s(plan) > LONGEST_WAIT_S for load, _, _ in points):
        return None
    try:
        found = planned(plan, variants, points, starts, machine)
    except LabError:
        return None
    is_balanced = all(cell.load.windows % len(turns.square(len(variants))) == 0 for cell in found.cells)
    return found if is_balanced and batch_count(found) == 1 else None


def _check(plan: Plan, variants: Sequence[Variant], points: Sequence[Point]) -> None:
    if len(variants) < 2:
        raise LabError(
            "Windows are turns that several variants take, and there is one.",
            "Name another, or leave --interleave windows out.",
        )
    if plan.bind:
        raise LabError(
            "Workers on other machines serve one variant at a time, and in windows all are up.",
            "Leave --interleave windows or --remote-workers out.",
        )
    for load, parameters, _ in points:
        if any(_depends_on_time(plan, Cell(variant.name, load, parameters=parameters)) for variant in variants):
            raise LabError(
                "What fails or is slow for a time, and a circuit breaker, would begin anew in each window.",
                "Leave --interleave windows out.",
            )
        if not isinstance(load, Closed | Open) or load.is_ramp:
            raise LabError(
                f"A {'ramp' if load.is_ramp else load.kind} cannot be measured in windows: it has no steady part that "
                "could be cut into pieces.",
                "Give it a --duration beyond its ramp, or leave --interleave windows out.",
            )


def _depends_on_time(plan: Plan, cell: Cell) -> bool:
    """Whether what a load meets depends on what it met before: spans of time, and settings with a memory."""
    given, defaults = plan.parameters_of(cell), plan.scenario.defaults()
    told = plan.scenario.variant(cell.variant).settings.values()
    return not prediction.is_steady(plan, cell) or any(given[name] != defaults[name] for name in told)


def in_windows(plan: Plan, variants: Sequence[Variant], point: Point, at_once: int) -> Load:
    """The load of a point, cut into windows; their number is the same for all variants."""
    load, parameters, _ = point
    assert isinstance(load, Closed | Open)
    cells = [Cell(variant.name, load, parameters=parameters) for variant in variants]
    return structs.replace(load, windows=turns.windows(load.duration_s, at_once, request_s(plan, cells)))


def request_s(plan: Plan, cells: Iterable[Cell]) -> float:
    """How long the longest request of some cells takes by theory; 0 if unknown."""
    return max((prediction.predict_wait(plan, cell) or 0.0 for cell in cells), default=0.0)


def _batches(plan: Plan, variants: Sequence[Variant], points: Sequence[Point], machine: Machine) -> list[list[int]]:
    cells = [Cell(variant.name, load, 1, given, varied) for variant in variants for load, given, varied in points]
    plan = replace(plan, cells=tuple(cells))
    users = plan.peak_users
    cells.sort(key=lambda cell: memory.of_cell_mb(plan, cell, users, machine), reverse=True)
    each_mb = memory.of_cell_mb(plan, cells[0], users, machine)
    try:
        return turns.batches(len(variants), (machine.memory_mb - memory.shared_mb(plan)) // each_mb)
    except ValueError:
        two = [next(cell for cell in cells if cell.variant == variant.name) for variant in variants[:2]]
        raise memory.refusal(plan, two, users, machine) from None


def batch_count(plan: Plan) -> int:
    """In how many batches the variants of one start are up; 1 where all are at once, or each is alone."""
    return len(_together(plan)) if plan.interleave == WINDOWS else 1


def start_in_batch(plan: Plan, cell: Cell) -> int:
    """The number, from 1, of a cell's start among those of its batch; of all where there are no batches."""
    return (cell.repeat - 1) // batch_count(plan) + 1


def beside(plan: Plan, variant: str) -> frozenset[str]:
    """The variants that take turns with one in some batch, itself among them; all where each is alone, cell by cell."""
    if plan.interleave != WINDOWS:
        return frozenset(each.name for each in plan.variants)
    return frozenset(name for names in _together(plan) if variant in names for name in names)


def _together(plan: Plan) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(cell.variant for cell in group) for group in plan.groups))


def batched(plan: Plan) -> str:
    """Which variants are up at once where memory does not hold all, as a sentence; empty where it does."""
    if batch_count(plan) == 1:
        return ""
    together = _together(plan)
    listed = "; ".join(", ".join(names) for names in together)
    return f"Memory does not hold all variants at once, so they take turns in batches: {listed}."
