"""How fast cores are: a fixed piece of work, timed on each of them by the CPU seconds it takes, again and again.

A virtual machine shares its cores with guests it cannot see, and a laptop slows down when it is hot: what a request
costs changes, although no program here takes anything away. ``python cpu_speed.py CORE …`` prints lines of
``UNIX_TIME CORE SECONDS`` until its stdin ends. It imports nothing of the lab, so that it starts at once.
"""

from __future__ import annotations

import hashlib
import os
import select
import sys
import time

# About 0.4 ms of work in registers alone, which no cache and no memory decides, four times a second: 0.2 % of a core.
ITERATIONS = 1500
EVERY_S = 0.25
NICENESS = 19


def measure_s() -> float:
    """CPU seconds of one piece of work on the core that this thread is on."""
    began = time.thread_time()
    hashlib.pbkdf2_hmac("sha256", b"the same", b"every time", ITERATIONS)
    return time.thread_time() - began


def main() -> None:
    """Go round the cores until stdin ends."""
    os.nice(NICENESS)
    while not select.select([sys.stdin], [], [], EVERY_S)[0]:
        for core in map(int, sys.argv[1:]):
            os.sched_setaffinity(0, {core})
            print(time.time(), core, measure_s(), flush=True)


if __name__ == "__main__":
    main()
