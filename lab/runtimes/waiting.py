"""Waits for what was started to be ready, and for what changes to have settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from lab.errors import LabError
from lab.runtimes import Running
from lab.runtimes.exit_status import ExitStatus

# How long what was started may take until it is ready, and a pause between two looks at whether it is.
READY_WITHIN_S, LOOK_S = 180.0, 0.02
# How long after its connections have closed it is known at the latest that a program has ended.
EXIT_REASON_WITHIN_S = 2.0
# The pause between two readings of what has not settled yet, which may be requests.
READ_S = 0.1

Found = TypeVar("Found")


def settled(read: Callable[[], Found], is_settled: Callable[[Found], object], within_s: float) -> Found:
    """The first reading that is settled; the last one where none is in time."""
    deadline = time.monotonic() + within_s
    while not is_settled(found := read()) and time.monotonic() < deadline:
        time.sleep(READ_S)
    return found


def await_exit_reasons(reasons: Callable[[], Found]) -> Found:
    """What tells how something ended that does not answer, as soon as it tells; nothing if it still runs."""
    return settled(reasons, bool, EXIT_REASON_WITHIN_S)


def ended_error(running: Running, ending: ExitStatus) -> LabError:
    """The error for what ended while it started."""
    problem = f"The {running.launch.name} {ending} while it started."
    return LabError(problem, f"Its log says why: {running.launch.log}.", running.log_tail())


def await_started(
    running: Running,
    look: Callable[[], Found | None],
    missing: str = "was not ready",
    next_step: str = "",
    beside: Iterable[Running] = (),
    ended: Callable[[Running, ExitStatus], LabError] = ended_error,
) -> Found:
    """Wait until what was started is ready, and return what the look at it found.

    Args:
        look: finds something true once it is ready.
        missing: what it has not done where it is not ready in time.
        next_step: what to do then, if there is more to say than where its log is.
        beside: others that it may wait for: where one of them ends, so has the waiting.
        ended: makes the error for what ended.

    Raises:
        LabError: it ended, or was not ready in time; with the last lines of its log.

    """
    deadline, processes = time.monotonic() + READY_WITHIN_S, (running, *beside)
    while time.monotonic() < deadline:
        for each in processes:
            if ending := each.exit_reason():
                raise ended(each, ending)
        if found := look():
            return found
        time.sleep(LOOK_S)
    raise LabError(
        f"The {running.launch.name} {missing} within {READY_WITHIN_S:.0f} s.",
        next_step or f"Its log says how far it came: {running.launch.log}.",
        running.log_tail(),
    )
