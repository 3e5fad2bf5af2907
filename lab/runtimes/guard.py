"""A watchdog process that ends what the lab started if the lab itself is killed.

Reads lines ``+PID BORN`` and ``-PID BORN`` from stdin; at its end, kills the process groups still listed. A process id
that was reused by another process or group meanwhile is recognised by :class:`lab.runtimes.process_id.Group` and left
alone. A line that begins with ``/`` names a file or a folder that is removed then, with what these processes had in it.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import time
from pathlib import Path

from lab.runtimes import process_id

REMOVED_WITHIN_S, AGAIN_S = 10.0, 0.05


def main() -> None:
    """Maintain the list of process groups until stdin ends, then kill those still listed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: dict[tuple[int, float], process_id.Group] = {}
    scratch: list[Path] = []
    for line in sys.stdin:
        if line[0] == "/":
            scratch.append(Path(line.rstrip("\n")))
            continue
        pid, born = line[1:].split()
        process = (int(pid), float(born))
        if line[0] == "+":
            groups[process] = process_id.Group(*process)
        elif process in groups:
            groups.pop(process).close()
    for group in groups.values():  # one may have members yet whose leader has ended
        group.signal(signal.SIGKILL)
    deadline = time.monotonic() + REMOVED_WITHIN_S  # what was killed may be writing for a moment yet
    while (left := [path for path in scratch if path.exists()]) and time.monotonic() < deadline:
        for path in left:
            with contextlib.suppress(OSError):
                path.unlink() if path.is_file() else shutil.rmtree(path)
        time.sleep(AGAIN_S)


if __name__ == "__main__":
    main()
