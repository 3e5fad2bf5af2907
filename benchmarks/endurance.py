"""Whether a worker tires: ``python benchmarks/endurance.py [--requests 5000000] [--json]``.

One worker sends millions of requests to nginx, recorded, checked and counted by Locust as in ``lab run``. Prints the
rate over time, and by how much the worker's memory (RSS) has grown for each request after the first tenth of them, by
when every buffer has its size. Exit status 1 if that is 16 bytes or more, or if the last quarter of the requests went
at less than 95 % of the second quarter's rate.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import goals
import numpy as np
import psutil
from ours import ours
from targets import nginx

from lab.generator.fleet import PhaseResult
from lab.runtimes.process import ProcessRuntime
from lab.spec.workload import Total

USERS = 50
EVERY_S = 10.0
SETTLED_SHARE = 0.1
GROWTH_BYTES, PACE_SHARE = 16.0, 0.95


@dataclass(frozen=True)
class Reading:
    """How far the worker was at a moment: seconds of the monotonic clock, requests answered, bytes of memory."""

    at_s: float
    finished: int
    rss: int


def main() -> int:
    """Measure, print; 1 if a goal is missed, 2 if it cannot be measured here."""
    parser = goals.parser(__doc__)
    parser.add_argument("--requests", type=int, default=5_000_000)
    options = parser.parse_args()
    return goals.concluded(lambda: summary(measure(options.requests)), as_table, options.json)


def measure(requests: int) -> list[Reading]:
    """Play the load; a reading with each of the worker's reports, several a second."""
    server_core, core = goals.two_cores()
    readings: list[Reading] = []
    with tempfile.TemporaryDirectory() as temporary, ProcessRuntime() as runtime:
        folder = Path(temporary)
        with (
            nginx(runtime, folder, server_core) as target,
            ours(runtime, "delay", USERS, core, folder, target.running) as generator,
        ):
            worker = psutil.Process(generator.worker.pid)

            def note(so_far: PhaseResult) -> None:
                readings.append(Reading(time.monotonic(), so_far.finished, worker.memory_info().rss))

            generator.play(target.url, Total(users=USERS, ramp_s=0.0, requests=requests), progress=note)
    return readings


def summary(readings: list[Reading]) -> dict:
    """The rate over time, the growth of memory, and the goals that were missed."""
    at_s = np.array([reading.at_s for reading in readings]) - readings[0].at_s
    finished = np.array([reading.finished for reading in readings])
    quarters = np.interp(np.linspace(0.25, 1, 4) * finished[-1], finished, at_s)
    pace = (quarters[1] - quarters[0]) / (quarters[3] - quarters[2])  # as many requests in each
    settled = next(reading for reading in readings if reading.finished >= SETTLED_SHARE * finished[-1])
    growth = (readings[-1].rss - settled.rss) / max(readings[-1].finished - settled.finished, 1)
    marks = np.append(np.arange(0, at_s[-1], EVERY_S), at_s[-1])
    counts = np.interp(marks, at_s, finished)
    missed = []
    if growth >= GROWTH_BYTES:
        missed.append(f"The worker's memory grew by {growth:.1f} bytes a request, not by less than {GROWTH_BYTES:g}.")
    if pace < PACE_SHARE:
        missed.append(f"The last quarter went at {pace:.0%} of the second quarter's rate, not {PACE_SHARE:.0%}.")
    return {
        "requests": int(finished[-1]),
        "rate_rps": [
            {"from_s": float(a), "to_s": float(b), "rate": float((m - n) / (b - a))}
            for (a, b), (n, m) in zip(pairwise(marks), pairwise(counts), strict=True)
        ],
        "growth_bytes_a_request": growth,
        "last_quarter_of_second": float(pace),
        "missed": missed,
    }


def as_table(result: dict) -> str:
    """The rate of each stretch, and the two figures that count."""
    lines = [f"{row['from_s']:6.0f} to {row['to_s']:4.0f} s {row['rate']:12,.0f} /s" for row in result["rate_rps"]]
    lines.append(
        f"{result['requests']:,} requests: memory grew by {result['growth_bytes_a_request']:.2f} bytes a request; "
        f"the last quarter went at {result['last_quarter_of_second']:.0%} of the second quarter's rate"
    )
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
