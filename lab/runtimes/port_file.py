"""The file that a starting process writes the port into that it listens on."""

from __future__ import annotations

import time
from pathlib import Path

from lab.errors import LabError
from lab.runtimes import Running, text_of

READY_WITHIN_S, POLL_S = 180.0, 0.02


def port_in(file: Path) -> int | None:
    """The port that a file holds; None if it is not there yet, or not written yet."""
    try:
        return int(text_of(file))
    except (OSError, ValueError):
        return None


def awaited_port(running: Running, file: Path, next_step: str = "") -> int:
    """Wait until a starting process has written its port into a file, and return it.

    Args:
        file: not there before the process was started.
        next_step: what to do if no port comes.

    Raises:
        LabError: the process ended, or wrote no port in time; with the last lines of its log.

    """
    deadline, name = time.monotonic() + READY_WITHIN_S, running.launch.name
    while time.monotonic() < deadline:
        if ending := running.exit_reason():
            raise LabError(f"The {name} {ending} while it started.", "", running.log_tail())
        if port := port_in(file):
            return port
        time.sleep(POLL_S)
    raise LabError(f"The {name} did not write its port within {READY_WITHIN_S:.0f} s.", next_step, running.log_tail())
