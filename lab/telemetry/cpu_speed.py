"""How fast cores are: a fixed piece of work, timed on each of them by the CPU seconds it takes, again and again.

A virtual machine shares its cores with guests it cannot see, and a laptop slows down when it is hot: the CPU time of a
request changes, although no other program runs here. ``python cpu_speed.py CORE …`` prints lines of
``UNIX_TIME CORE SECONDS`` until its stdin ends. It imports nothing of the lab, so that it starts at once.
"""

from __future__ import annotations

import hashlib
import os
import select
import sys
import time

# About 0.2 ms of work in registers alone, independent of caches and memory, twelve times a second: 0.2 % of a core.
# Cores that others share have two speeds, and a mean of few readings says little of how often they had which.
ITERATIONS = 500
EVERY_S = 0.08
NICENESS = 19


def measure_s() -> float:
    """CPU seconds that the fixed piece of work takes on the current core."""
    began = time.thread_time()
    hashlib.pbkdf2_hmac("sha256", b"the same", b"every time", ITERATIONS)
    return time.thread_time() - began


def main() -> None:
    """Time the work on each core in turn until stdin ends."""
    os.nice(NICENESS)
    while not select.select([sys.stdin], [], [], EVERY_S)[0]:
        for core in map(int, sys.argv[1:]):
            os.sched_setaffinity(0, {core})
            print(time.time(), core, measure_s(), flush=True)


if __name__ == "__main__":
    main()
