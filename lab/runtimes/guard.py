"""A watchdog process that ends what the lab started if the lab itself is killed.

Reads lines ``+PID BORN`` and ``-PID BORN`` from stdin; at its end, kills the process groups still listed. A process id
that was given to somebody else in the meantime is recognised by :func:`lab.runtimes.process_id.birth` and left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from lab.runtimes import process_id


def main() -> None:
    """Keep the list until stdin ends, then kill what is left of it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wards: set[tuple[int, float]] = set()
    for line in sys.stdin:
        pid, born = line[1:].split()
        ward = (int(pid), float(born))
        if line[0] == "+":
            wards.add(ward)
        else:
            wards.discard(ward)
    for pid, born in wards:
        if process_id.lives(pid, born):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
