"""When the machine itself stands still: a sleeper on each core, and the times at which none of them was woken.

The host of a virtual machine may give it no time at all for tenths of a second, of which the machine's own accounts say
nothing: everything that ran seems to have been idle. A thread that asks to be woken every ten milliseconds notices (the
idea of Gil Tene's jHiccup). ``python pauses.py CORE …`` prints lines of ``UNIX_TIME SECONDS``, the begin and length of
each pause of all these cores, until its stdin ends. It imports nothing of the lab, so that it starts at once.

A core that others keep busy wakes nobody either. That is no pause: the kernel says for how long a thread was ready to
run and did not.

It is a process of its own: what times the cores' speed has the lowest priority, and would keep the interpreter's lock
from the sleepers whenever a busy core makes it wait.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

# A hundred times a second, which costs 0.3 % of a core.
EVERY_S = 0.01
SHORTEST_S = 0.01
# By thread, what field 2 of this says in nanoseconds (proc(5), schedstat), where the kernel was built to.
OF_THIS_THREAD = "/proc/thread-self/schedstat"


class Meter:
    """Puts together how late the sleepers of all cores were woken."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._late: dict[int, tuple[float, float, float]] = {}
        self._lock = threading.Lock()

    def woken_late(self, core: int, slept_s: float, due_s: float, woken_s: float) -> None:
        """Print the pause that this one was the last to notice, if there was one.

        Args:
            slept_s: when it began to sleep; ``due_s``, when it was to be woken; ``woken_s``, when it was.

        """
        with self._lock:
            self._late[core] = slept_s, due_s, woken_s
            if len(self._late) < self._cores:
                return
            slept, due, woken = zip(*self._late.values(), strict=True)
            # It began after the last of them went to sleep, and before the first of them was due.
            begin_s = (max(slept) + max(min(due), max(slept))) / 2
            if min(woken) - begin_s >= SHORTEST_S:
                unix_s = time.time() - time.monotonic() + begin_s
                print(unix_s, min(woken) - begin_s, flush=True)


def sleep_on(core: int, meter: Meter) -> None:
    """Sleep on a core for :data:`EVERY_S` again and again, and say when it was longer."""
    os.sched_setaffinity(0, {core})
    with suppress(OSError):  # so that busy programs do not delay it; not everybody may
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    waited_s = waiting()
    woken_s, had_waited_s = time.monotonic(), waited_s()
    while True:
        slept_s, due_s = woken_s, woken_s + EVERY_S
        time.sleep(EVERY_S)
        woken_s, has_waited_s = time.monotonic(), waited_s()
        ready_s = woken_s - (has_waited_s - had_waited_s)
        if ready_s - due_s >= SHORTEST_S:
            meter.woken_late(core, slept_s, due_s, ready_s)
        had_waited_s = has_waited_s


def waiting() -> Callable[[], float]:
    """A function that says for how long this thread was ready to run so far while others ran; always 0 if unknown."""
    try:
        file = os.open(OF_THIS_THREAD, os.O_RDONLY)
    except OSError:
        return lambda: 0.0
    return lambda: int(os.pread(file, 100, 0).split()[1]) / 1e9


def main() -> None:
    """Watch the cores until stdin ends."""
    threading.excepthook = lambda failed: os._exit(1)  # a core that nobody watches would hide every pause
    cores = sorted(set(map(int, sys.argv[1:])))
    meter = Meter(len(cores))
    for core in cores:
        threading.Thread(target=sleep_on, args=(core, meter), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
