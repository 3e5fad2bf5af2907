"""The file that a starting process writes the port into that it listens on."""

from __future__ import annotations

from pathlib import Path

from lab.runtimes import Running, text_of
from lab.runtimes.waiting import await_started


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
    return await_started(running, lambda: port_in(file), "did not write its port", next_step)
