"""Finds the sides of a comparison by name (``RUN``, ``RUN:variant``, or several runs), and what confounds them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import structs

from lab.errors import LabError, did_you_mean
from lab.spec.workload import Load
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder

# What makes a machine the same, by its facts in environment.json.
MACHINE = ("host", "system", "cores", "memory_bytes", "service_cores", "generator_cores", "runtime", "jdk", "databases")
# What a system reserves of its memory for itself differs from one boot to the next.
SAME_MEMORY = 0.01
# Limits that every service reports, and those that depend on its variant.
STATED, STATED_OF_ONE_VARIANT = (
    ("cpus", "heap_max_bytes", "java", "accept_count"),
    ("request_threads_max", "pool_max", "gc"),
)


@dataclass(frozen=True)
class Side:
    """A run, or one variant of it; or several runs of the same, of which each counts once."""

    runs: tuple[RunFolder, ...]
    variant: str = ""

    @property
    def run(self) -> RunFolder:
        """Its first run."""
        return self.runs[0]

    @property
    def names(self) -> str:
        """The names of its runs."""
        return ",".join(run.name for run in self.runs)

    @property
    def label(self) -> str:
        """Its name in tables and messages, such as ``RUN:mvc``."""
        return f"{self.names}:{self.variant}" if self.variant else self.names

    @property
    def scope(self) -> str:
        """What its variant works on, in words, where that is not what the others do; empty if it is, or for all."""
        return self.run.plan().scenario.variant(self.variant).scope if self.variant else ""

    def variants(self) -> list[str]:
        """The variants that all of its runs have, in the plan's order."""
        of_runs = [dict.fromkeys(cell.variant for cell in run.plan().cells) for run in self.runs]
        return [variant for variant in of_runs[0] if all(variant in other for other in of_runs)]

    def cells(self) -> list[CellFolder]:
        """The folders of its cells."""
        return [cell for run in self.runs for cell in self.cells_of(run)]

    def cells_of(self, run: RunFolder) -> list[CellFolder]:
        """The folders of its cells in one of its runs."""
        return [cell for cell in run.cells() if not self.variant or cell.cell.variant == self.variant]

    def alone(self) -> list[Side]:
        """The same, one side for each of its runs."""
        return [Side((run,), self.variant) for run in self.runs]


def find_sides(a: str | None, b: str | None, runs: Path) -> tuple[Side, Side]:
    """The two sides of a comparison; the same run twice where its variants are compared. LabError if one is missing."""
    one = find_side(a, runs)
    other = one if b is None else find_side(b, runs)
    if bool(one.variant) != bool(other.variant) or (b is None and one.variant):
        raise LabError("Only one variant is named.", "Name one of both, as RUN:mvc RUN:webflux, or none.")
    if b is None and len(one.runs) > 1:
        raise LabError(f"{one.label} are several runs of one side.", "Name the other side too: A,A2 B,B2.")
    if b is None:
        return one, other
    named = [(run.path.resolve(), side.variant) for side in (one, other) for run in side.runs]
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise LabError(
            f"{Path(twice[0]).name} is named twice.", "Name runs that differ, or one for all of its variants."
        )
    paths = {run.path.resolve(): run.name for side in (one, other) for run in side.runs}
    names = [*paths.values()]
    if alike := next((name for name in names if names.count(name) > 1), None):
        raise LabError(f"Two of these runs are called {alike}.", "Rename the folder of one: names tell runs apart.")
    # The same run by its name and by its path is one run.
    known = {run.path.resolve(): run for run in one.runs}
    return one, Side(tuple(known.get(run.path.resolve(), run) for run in other.runs), other.variant)


def find_side(text: str | None, runs: Path) -> Side:
    """A side by its name: ``RUN`` or ``RUN:variant``, or several with commas; the newest run if None."""
    sides = [_named(name, runs) for name in (_names_in(text, runs) if text else [text])]
    if len({side.variant for side in sides}) > 1:
        raise LabError(f"{text} are not one variant.", "Name the same variant of each run: A:mvc,A2:mvc")
    side = Side(tuple(side.run for side in sides), sides[0].variant)
    for cell in side.cells():
        cell.check()
    return side


def _names_in(text: str, runs: Path) -> list[str]:
    """The names in a list with commas; a run that is there may have commas in its own name or path."""
    parts, names = text.split(","), list[str]()
    while parts:
        longest = (count for count in range(len(parts), 1, -1) if _is_there(",".join(parts[:count]), runs))
        count = next(longest, 1)
        names.append(",".join(parts[:count]))
        parts = parts[count:]
    return names


def _is_there(text: str, runs: Path) -> bool:
    """Whether a run has this name, with or without a variant after it."""
    for name in (text, text.rpartition(":")[0]):
        with contextlib.suppress(LabError):
            if name and run_folder.find_run(name, runs):
                return True
    return False


def _named(text: str | None, runs: Path) -> Side:
    try:
        return Side((run_folder.find_run(text, runs),))
    except LabError:
        name, colon, variant = (text or "").rpartition(":")
        if not colon:
            raise
    side = Side((run_folder.find_run(name, runs),), variant)
    if variant not in (known := side.variants()):
        raise LabError(
            f"Run {side.run.name} has no variant {variant!r}{did_you_mean(variant, known)}.",
            f"It has: {', '.join(known)}.",
        )
    return side


def confounders(one: Side, other: Side) -> list[str]:
    """The differences of two sides besides their variant: machine, lab, parameters, limits, load; a sentence part each.

    Of several runs a side, each is held against each, so that it does not matter which is named first. Loads are
    compared where both have the same value of what is varied.
    """
    both = combinations((*one.alone(), *other.alone()), 2)
    return list(dict.fromkeys(difference for pair in both for difference in _confounders(*pair)))


def _confounders(one: Side, other: Side) -> list[str]:
    # Where variants run on releases of Java that they name, that these differ is what is compared.
    stated = tuple(name for name in STATED if name != "java" or _java(one) == _java(other))
    found = list(_differing(_stated(one), _stated(other), stated))
    mine, theirs = ({"scope": side.scope or "that of the scenario"} for side in (one, other))
    found += _differing(mine, theirs)
    if one.variant == other.variant:
        found += _differing(_stated(one), _stated(other), STATED_OF_ONE_VARIANT)
    if one.run.path == other.run.path:
        return found
    here, there = (_made(side.run.environment()) for side in (one, other))
    found += of_machines(here, there)
    found += _differing(here, there, ("lab", "runs that starts served"))
    found += _differing(_decided(one), _decided(other))
    loads, of_other = _loads(one), _loads(other)
    for at in sorted(loads.keys() & of_other.keys()):
        # Loads of two kinds differ in their kind, which says what only one of them has.
        found += _differing(loads[at], of_other[at], tuple(name for name in loads[at] if name in of_other[at]))
    return found


def _java(side: Side) -> int:
    """The release of Java that the variant of a side names; 0 if it names none."""
    return side.run.plan().scenario.variant(side.variant).jdk if side.variant else 0


def _made(environment: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was made with: its environment, with the version of the lab and how many runs its starts served."""
    together = 1 + len(environment.get("together", ()))
    return {**environment, "lab": _lab(environment), "runs that starts served": together}


def _lab(environment: Mapping[str, Any]) -> str | None:
    """The version of the lab that made a run, with its commit; None if it was not recorded."""
    packages, commit = environment.get("packages"), environment.get("commit")
    packages = packages if isinstance(packages, Mapping) else {}
    version, changed = packages.get("lab"), " with changes" * bool(environment.get("uncommitted_changes"))
    known = filter(None, (version, commit and f"commit {str(commit)[:12]}{changed}"))
    return ", ".join(known) or None


def of_machines(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The differences of the machines of two environments, a sentence part each; none if they are the same."""
    memory = [environment.get("memory_bytes") or 0 for environment in (one, other)]
    numbers = all(isinstance(of_one, int | float) for of_one in memory)
    alike = {"memory_bytes"} if numbers and math.isclose(*memory, rel_tol=SAME_MEMORY) else set()
    # The release of Java decides, and not which way it was found.
    here, there = ({**environment, "jdk": _release(environment.get("jdk"))} for environment in (one, other))
    return list(_differing(here, there, tuple(name for name in MACHINE if name not in alike)))


def _release(jdk: Any) -> Any:
    return jdk.get("version", jdk) if isinstance(jdk, Mapping) else jdk


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
    """The plan's settings for all cells: parameters, limits, link, pinning and nodes."""
    plan = side.run.plan()
    link = {f"link {name}": value for name, value in asdict(plan.link).items()}
    how = {"limits": plan.stance, "pin": plan.pin, "nodes": plan.nodes, "prometheus": plan.prometheus}
    return {"scenario": plan.scenario.name, **plan.parameters, **asdict(plan.limits), **link, **how}


def _loads(side: Side) -> dict[str, dict[str, Any]]:
    """The load of a side for each value of what is varied."""
    plan = side.run.plan()
    return {plan.at(folder.cell): {**_load(folder.cell.load), **folder.cell.parameters} for folder in side.cells()}


def _load(load: Load) -> dict[str, Any]:
    return {"load": load.kind, **structs.asdict(load)}
