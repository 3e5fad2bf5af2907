"""A cell while it is measured: what was started for it, what was observed of it, and how it ends if something fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from lab.analysis.evidence import Ending
from lab.analysis.observations import Observed
from lab.errors import ComponentError
from lab.generator.fleet import Fleet
from lab.running.starts import Start
from lab.running.testbed import Testbed
from lab.running.windows import Joined
from lab.spec.plan import Cell
from lab.storage.cell_folder import CellFolder
from lab.system.deployment import Deployment


@dataclass
class Measurement:
    """A cell that is measured, alone or in turns with others: what was started for it, and what was observed.

    Attributes:
        start: of its service, which may have served other loads, and may serve more.
        stack: what ends with it.
        joined: its windows so far.

    """

    cell: Cell
    folder: CellFolder
    start: Start = field(default_factory=Start)
    observed: Observed = field(default_factory=Observed)
    stack: ExitStack = field(default_factory=ExitStack)
    fleet: Fleet = field(init=False)
    joined: Joined = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a window."""
        self.joined = Joined(self.observed, self.cell.load.windows)

    @property
    def deployment(self) -> Deployment:
        """What is loaded, since it is up."""
        assert self.start.deployment
        return self.start.deployment

    @property
    def goes_on(self) -> bool:
        """Whether nothing has ended it."""
        return self.observed.ending == Ending()


@contextmanager
def failure_observed(testbed: Testbed, measurement: Measurement) -> Iterator[None]:
    """Where a component fails, note why its cell ends, and stop what was started for it, its service too."""
    try:
        yield
    except ComponentError as error:
        note_failure(testbed, measurement, error)
        measurement.stack.close()
        measurement.start.end()


def note_failure(testbed: Testbed, measurement: Measurement, error: ComponentError) -> None:
    """Note and say why a cell ends."""
    # If a database or link has ended, that is the cause of a service's errors, and comes first.
    nodes = measurement.start.deployment.exit_reasons() if measurement.start.deployment else []
    # Which of these processes has ended is said by the name of what it is for, and not once more by its own.
    ended = [each.launch.name for each in testbed.backing.needed().values() if each.exit_reason()]
    same = any(error.problem.startswith(f"The {name} ") for name in ended)
    causes = dict.fromkeys([*testbed.backing.exit_reasons(), *nodes, *([] if same else [error.problem])])
    measurement.observed.ending = Ending(tuple(causes))
    testbed.reporter.say(f"  {error}", error.problem, "red")
