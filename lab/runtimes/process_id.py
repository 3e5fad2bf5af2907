"""Process identity: a PID with its start time, since PIDs are used again; and what Linux tells of one."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import psutil


def birth(pid: int) -> float:
    """The start time of a process, on a clock that cannot be set; psutil.NoSuchProcess if there is none.

    On Linux the ticks since the machine started (field 22 of proc(5)'s ``stat``): the time of day, which psutil
    makes of it, is another one after somebody sets the clock. Elsewhere psutil's time of creation.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return psutil.Process(pid).create_time()
    return float(stat.rpartition(")")[2].split()[19])


def lives(pid: int, born: float) -> bool:
    """Whether the process with this PID and start time still runs."""
    try:
        return birth(pid) == born and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def signal_group(leader: int, born: float, number: signal.Signals) -> None:
    """Signal the process group of a leader, unless its number is another process's by now.

    While a group has members, its number is given to no new process: what is left without a leader is still the same.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            if birth(leader) != born:
                return
        except (psutil.NoSuchProcess, ProcessLookupError):  # the latter while it ends
            pass
        os.killpg(leader, number)


def read_bytes(pid: int) -> int | None:
    """How many bytes a process, also one that has just ended, has read by calls of the kernel; None if unknown."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        return int(fields["rchar"])
    return None


def most_used(pid: int) -> tuple[int, int]:
    """The threads of a process now, and the most memory that it has had, in bytes; zeros if unknown.

    The memory is that of the program which it is now: ``ru_maxrss`` would also count what its process had before it
    began the program, which is the memory of who started it.
    """
    threads = peak_kb = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak_kb = int(line.split()[1])
            elif line.startswith("Threads:"):
                threads = int(line.split()[1])
    return threads, peak_kb << 10
