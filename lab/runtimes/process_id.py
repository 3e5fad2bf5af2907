"""Process identity: a PID with its start time, since PIDs are used again; and what Linux tells of one."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from pathlib import Path

import psutil

TO_GROUP = 1 << 2  # PIDFD_SIGNAL_PROCESS_GROUP of Linux (include/uapi/linux/pidfd.h)


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
    """Signal the process group of a leader, only while that is there: also ended, if nobody has waited for it yet.

    Without it nobody can tell whose group it is: once all of ours have ended, the number may have been given to a
    stranger's leader, which may have ended too, and have left its children.
    """
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
        if birth(leader) == born:
            os.killpg(leader, number)


class Group:
    """A process group that is told from all others even after its leader has gone, where the kernel can do that.

    Linux can since 6.9: what has once been opened stays the same group, whoever gets its number. Elsewhere the leader
    must be there when the group is signalled.
    """

    def __init__(self, leader: int, born: float) -> None:
        self.leader, self.born = leader, born
        self._opened: int | None = None
        with contextlib.suppress(AttributeError, OSError):
            self._opened = os.pidfd_open(leader)
        if not self._is_leader():
            self.close()

    def _is_leader(self) -> bool:
        try:
            return birth(self.leader) == self.born
        except (psutil.NoSuchProcess, ProcessLookupError):  # the latter while it ends
            return False

    def signal(self, number: signal.Signals) -> None:
        """Signal all of its members."""
        if self._opened is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                try:
                    signal.pidfd_send_signal(self._opened, number, None, TO_GROUP)
                except OSError as error:
                    if error.errno != errno.EINVAL:  # the kernel knows of no groups here
                        raise
                else:
                    return
        signal_group(self.leader, self.born, number)

    def close(self) -> None:
        """Forget it."""
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None


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
