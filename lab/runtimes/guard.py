"""A watchdog process that ends what the lab started if the lab itself is killed.

Reads lines ``+PID BORN`` and ``-PID BORN`` from stdin; at its end, kills the process groups still listed. A process id
that was reused by another process meanwhile is recognised by :func:`lab.runtimes.process_id.birth` and left alone.
"""

from __future__ import annotations

import signal
import sys

from lab.runtimes import process_id


def main() -> None:
    """Maintain the list of process groups until stdin ends, then kill those still listed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    processes: set[tuple[int, float]] = set()
    for line in sys.stdin:
        pid, born = line[1:].split()
        process = (int(pid), float(born))
        if line[0] == "+":
            processes.add(process)
        else:
            processes.discard(process)
    for pid, born in processes:
        if process_id.lives(pid, born):
            process_id.signal_group(pid, born, signal.SIGKILL)


if __name__ == "__main__":
    main()
