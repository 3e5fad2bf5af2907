"""Finds the sides of a comparison by name (``RUN`` or ``RUN:variant``), and what confounds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from lab.errors import LabError
from lab.spec.workload import Load
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder

MACHINE = ("host", "system", "cores", "memory_bytes", "service_cores", "generator_cores", "runtime", "jdk", "databases")
# Limits that every service reports, and those that depend on its variant.
STATED, STATED_OF_ONE_VARIANT = (
    ("cpus", "heap_max_bytes", "java", "accept_count"),
    ("request_threads_max", "pool_max", "gc"),
)


@dataclass(frozen=True)
class Side:
    """A run, or one variant of it."""

    run: RunFolder
    variant: str = ""

    @property
    def label(self) -> str:
        """Its name in tables and messages, such as ``RUN:mvc``."""
        return f"{self.run.name}:{self.variant}" if self.variant else self.run.name

    def variants(self) -> list[str]:
        """The variants of its run, in the plan's order."""
        return list(dict.fromkeys(cell.variant for cell in self.run.plan().cells))

    def cells(self) -> list[CellFolder]:
        """The folders of its cells."""
        return [cell for cell in self.run.cells() if not self.variant or cell.cell.variant == self.variant]


def find_sides(a: str | None, b: str | None, runs: Path) -> tuple[Side, Side]:
    """The two sides of a comparison; the same run twice where its variants are compared. LabError if one is missing."""
    one = find_side(a, runs)
    other = one if b is None else find_side(b, runs)
    if bool(one.variant) != bool(other.variant) or (b is None and one.variant):
        raise LabError("Only one variant is named.", "Name one of both, as RUN:mvc RUN:webflux, or none.")
    if b is not None and (one.run.path.resolve(), one.variant) == (other.run.path.resolve(), other.variant):
        raise LabError(f"{one.label} is named twice.", "Name two that differ, or one run for all of its variants.")
    return one, other


def find_side(text: str | None, runs: Path) -> Side:
    """A side by its name: ``RUN`` or ``RUN:variant``; the newest run if None."""
    side = _named(text, runs)
    for cell in side.cells():
        cell.check()
    return side


def _named(text: str | None, runs: Path) -> Side:
    try:
        return Side(run_folder.find_run(text, runs))
    except LabError:
        name, colon, variant = (text or "").rpartition(":")
        if not colon:
            raise
    side = Side(run_folder.find_run(name, runs), variant)
    if variant not in side.variants():
        raise LabError(f"Run {side.run.name} has no variant {variant!r}.", f"It has: {', '.join(side.variants())}.")
    return side


def confounders(one: Side, other: Side) -> list[str]:
    """The differences of two sides besides their variant: machine, parameters, limits, load; a sentence part each.

    Loads are compared where both have the same value of what is varied.
    """
    found = list(_differing(_stated(one), _stated(other), STATED))
    if one.variant == other.variant:
        found += _differing(_stated(one), _stated(other), STATED_OF_ONE_VARIANT)
    if one.run.path == other.run.path:
        return found
    found += _differing(one.run.environment(), other.run.environment(), MACHINE)
    found += _differing(_decided(one), _decided(other))
    mine, theirs = _loads(one), _loads(other)
    for at in sorted(mine.keys() & theirs.keys()):
        # Loads of two kinds differ in their kind, which says what only one of them has.
        found += _differing(mine[at], theirs[at], tuple(name for name in mine[at] if name in theirs[at]))
    return list(dict.fromkeys(found))


def _differing(one: Mapping[str, Any], other: Mapping[str, Any], names: tuple[str, ...] = ()) -> Iterator[str]:
    for name in names or dict.fromkeys((*one, *other)):
        if one.get(name) != other.get(name):
            yield f"{name.replace('_', ' ')} is {_written(one.get(name))} and {_written(other.get(name))}"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("version", dict(value)))
    return "not known" if value is None else str(value)


def _stated(side: Side) -> dict[str, Any]:
    """The limits that the service of a side reported, of the first cell that has them."""
    return next((limits for cell in side.cells() if (limits := cell.read("limits"))), {})


def _decided(side: Side) -> dict[str, Any]:
    """The plan's settings for all cells: parameters, limits, link and pinning."""
    plan = side.run.plan()
    link = {f"link {name}": value for name, value in asdict(plan.link).items()}
    how = {"limits": plan.stance, "pin": plan.pin}
    return {"scenario": plan.scenario.name, **plan.parameters, **asdict(plan.limits), **link, **how}


def _loads(side: Side) -> dict[str, dict[str, Any]]:
    """The load of a side for each value of what is varied."""
    plan = side.run.plan()
    return {plan.at(folder.cell): {**_load(folder.cell.load), **folder.cell.parameters} for folder in side.cells()}


def _load(load: Load) -> dict[str, Any]:
    return {"load": load.kind, **structs.asdict(load)}
