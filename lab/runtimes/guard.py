"""Ends what the lab started if the lab itself dies: even SIGKILL closes the pipe that this process reads.

Reads lines ``+PID CREATED`` and ``-PID CREATED`` from stdin; at its end, kills the process groups still listed. A
process id that was given to somebody else in the meantime is recognised by its time of creation and left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

import psutil


def is_alive(pid: int, created: float) -> bool:
    """Whether that very process still runs."""
    try:
        process = psutil.Process(pid)
        return process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def main() -> None:
    """Keep the list until stdin ends, then kill what is left of it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wards: set[tuple[int, float]] = set()
    for line in sys.stdin:
        pid, created = line[1:].split()
        ward = (int(pid), float(created))
        if line[0] == "+":
            wards.add(ward)
        else:
            wards.discard(ward)
    for pid, created in wards:
        if is_alive(pid, created):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
