"""The memory that a run needs, in MiB: for its services, what they call, the load generators, and the lab itself.

Cells and windows are judged by the same figures, rounded up from what each of these held at most in the example runs:
``rss_bytes`` in the ``metrics.parquet`` of their cells. Bodies of answers are not in them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lab.errors import LabError
from lab.spec.limits import DEFAULT, Limits
from lab.spec.machine import Machine
from lab.spec.plan import WINDOWS, Cell, Plan
from lab.spec.system import Component

# The memory of a JVM outside its heap: code, class metadata, threads, network buffers. Measured: 180 to 380.
BESIDES_HEAP_MB = 512
# Without a limit the JVM takes a quarter of the machine for its heap.
DEFAULT_HEAP_SHARE = 4
# The heap of a service that is called, which must not be what runs out first.
CALLED_HEAP_MB = 1024
# By kind of database. Measured: MySQL 220 to 330, with a buffer of 512 that may fill; MongoDB 200 to 1460.
DATABASE_MB = {"mysql": 768, "mongo": 1536}
# A program behind the services, of which nothing is known.
PROGRAM_MB = 512
# Locust's master, and one of its workers, with the libraries that they import. Measured: 140 to 200, and 100 to 160.
MASTER_MB, WORKER_MB = 200, 160
# What each user adds: greenlet, client and connection. Measured: 16 to 19 with 4000 to 9800 of them in a burst.
USER_KB = 20
# The lab, balancer, links and Prometheus, measured 180 to 560 in all; and the system itself.
OWN_MB = 1024


@dataclass(frozen=True)
class Part:
    """Something that is up during a load: what it is, in words, and the memory that it needs."""

    what: str
    mb: int

    def __str__(self) -> str:
        return f"{self.mb:,} for {self.what}"


def check(plan: Plan, users: int, machine: Machine, elsewhere: Collection[str] = ()) -> None:
    """LabError if a machine has less memory than all that is up at once needs, with this many users in each load.

    What programs need nobody knows before they are executed.

    Args:
        elsewhere: the kinds of database of which the user's own server is used.

    """
    if plan.scenario.entry == "program":
        return
    largest = max(plan.groups, key=lambda cells: sum(of_cell_mb(plan, cell, users, machine) for cell in cells))
    if needed_mb(plan, largest, users, machine, elsewhere) > machine.memory_mb:
        raise refusal(plan, largest, users, machine, elsewhere)


def refusal(
    plan: Plan, cells: Sequence[Cell], users: int, machine: Machine, elsewhere: Collection[str] = ()
) -> LabError:
    """The error that says what of some cells, all up at once, needs how much, and what would make it less."""
    parts = _parts(plan, cells, users, machine, elsewhere)
    names = [cell.variant for cell in cells]
    what = f"{_listed(names, 'and')} are up at once, which needs" if len(names) > 1 else "This needs"
    return LabError(
        f"{what} {sum(part.mb for part in parts):,} MiB of memory, and this machine has {machine.memory_mb:,} MiB: "
        f"{', '.join(map(str, parts))}.",
        f"Choose {_listed(_savings(plan), 'or')}.",
    )


def needed_mb(plan: Plan, cells: Sequence[Cell], users: int, machine: Machine, elsewhere: Collection[str] = ()) -> int:
    """The memory of all that is up while some cells are measured at once, with this many users in the load of each."""
    return sum(part.mb for part in _parts(plan, cells, users, machine, elsewhere))


def of_cell_mb(plan: Plan, cell: Cell, users: int, machine: Machine) -> int:
    """The memory of what is up for one cell alone: its service, with the load generator of so many users."""
    return sum(part.mb for part in _of_cell(plan, cell, users, machine))


def shared_mb(plan: Plan) -> int:
    """The memory of what is up once, however many variants are."""
    return sum(part.mb for part in _shared(plan))


def _heap_mb(limits: Limits, machine: Machine) -> int:
    return limits.heap_mb or machine.memory_mb // DEFAULT_HEAP_SHARE


def _parts(
    plan: Plan, cells: Sequence[Cell], users: int, machine: Machine, elsewhere: Collection[str] = ()
) -> list[Part]:
    return [part for cell in cells for part in _of_cell(plan, cell, users, machine)] + _shared(plan, elsewhere)


def _of_cell(plan: Plan, cell: Cell, users: int, machine: Machine) -> list[Part]:
    """The service and the load generator; of a program nothing is known, and the lab itself executes it."""
    entry = plan.scenario.variant(cell.variant).entry
    if entry == "program":
        return []
    generator = _generator(cell, users)
    return [generator] if entry == "attached" else [_service(plan, cell, machine), generator]


def _service(plan: Plan, cell: Cell, machine: Machine) -> Part:
    """All nodes of a service. Of heaps without a limit one is counted: each may grow to it, and hardly all do."""
    limits = plan.limits_of(cell.variant)
    heaps = plan.nodes if limits.heap_mb else 1
    nodes = f"{plan.nodes} nodes of {cell.variant}" if plan.nodes > 1 else cell.variant
    each = f"a heap of {_heap_mb(limits, machine):,} and {BESIDES_HEAP_MB} outside it"
    return Part(f"{nodes} ({each})", heaps * _heap_mb(limits, machine) + plan.nodes * BESIDES_HEAP_MB)


def _generator(cell: Cell, users: int) -> Part:
    """A master and the workers on this machine, which have their share of the users."""
    workers = cell.load.workers
    here = users * workers // (workers + cell.load.remote_workers)
    what = f"its load ({workers:,} worker{'s' * (workers != 1)}, {here:,} user{'s' * (here != 1)})"
    return Part(what, MASTER_MB + workers * WORKER_MB + here * USER_KB // 1024)


def _shared(plan: Plan, elsewhere: Collection[str] = ()) -> list[Part]:
    here = [component for component in plan.components if component.database not in elsewhere]
    components = [Part(component.name, _component_mb(component)) for component in here]
    return [*components, Part("the lab and the system", OWN_MB)]


def _component_mb(component: Component) -> int:
    if component.module:
        return CALLED_HEAP_MB + BESIDES_HEAP_MB
    return DATABASE_MB[component.database] if component.database else PROGRAM_MB


def _savings(plan: Plan) -> list[str]:
    """What would need less memory, as far as a plan can do with less."""
    ways = ["fewer --users", "fewer --workers"]
    if plan.nodes > 1:
        ways.insert(0, "fewer --nodes")
    if plan.scenario.entry == "service":
        ways.insert(0, "a --heap-mb, with --limits equal" if plan.stance == DEFAULT else "a smaller --heap-mb")
    if plan.interleave == WINDOWS:
        ways.append("--interleave cells")
    return ways


def _listed(words: Sequence[str], last: str) -> str:
    """Two or more words as a sentence has them, such as ``a, b and c``."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
