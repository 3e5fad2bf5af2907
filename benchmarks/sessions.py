"""What thinking users cost: ``python benchmarks/sessions.py [--users 10000] [--seconds 100] [--json]``.

One worker plays sessions of 26 requests with a pause after each, on a server of known delay, recorded, checked and
counted by Locust as in ``lab load --locustfile``. All users begin within a tenth of a session, and each plays one.
Prints the worker's share of its core while all of them are at it, the requests a second meanwhile, what a request costs
with its pause, and the most memory that the worker had. Exit status 1 if that share is 30 % or more, or that memory is
more than 100 MB and 32 kB a user: it must not grow with the number of requests.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import goals
import psutil

from lab.errors import LabError
from lab.generator.bench import running_server
from lab.generator.fleet import LoadPhase, PhaseResult, Placement, running_fleet
from lab.runtimes.process import ProcessRuntime
from lab.spec.workload import Burst

STEPS, DELAY_MS = 26, 20
RAMP_SHARE, GOAL_SHARE = 0.1, 0.30
WORKER_BYTES, USER_BYTES = 100_000_000, 32_000
SPARE_S = 120.0
LOCUSTFILE = """
from locust import task
from lab.generator.locust import LabUser

class Visitor(LabUser):
    @task
    def visit(self):
        for step in range({steps}):
            self.client.get("/small/{delay_ms}", name=f"step {{step:02}}", check={begin!r})
            self.pause({low_s}, {high_s})
"""
# Seconds of the monotonic clock, CPU seconds of the worker, requests answered, bytes of the worker's memory.
Reading = tuple[float, float, int, int]


def main() -> int:
    """Measure, print; 1 if a goal is missed, 2 if it cannot be measured here."""
    parser = goals.parser(__doc__)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=100.0, help="of a session")
    options = parser.parse_args()
    return goals.concluded(lambda: measure(options.users, options.seconds), as_table, options.json)


def measure(users: int, session_s: float) -> dict:
    """Play one session of each user, and read the worker's CPU time from the end of the ramp to the first end."""
    server_core, core = goals.two_cores()
    ramp_s, readings = RAMP_SHARE * session_s, []
    with tempfile.TemporaryDirectory() as temporary, ProcessRuntime() as runtime:
        folder = Path(temporary)
        file, load = folder / "visit.py", Burst(users=users, ramp_s=ramp_s)
        file.write_text(locustfile(session_s))
        placement = Placement(runtime, core, folder, folder / "samples.arrows")
        with (
            running_server(runtime, server_core, folder) as (server, url),
            running_fleet(file, load, placement) as fleet,
        ):
            fleet.await_workers()
            fleet.spawn(users)
            worker, memory = fleet.workers[0], psutil.Process(fleet.workers[0].pid).memory_info

            def note(so_far: PhaseResult) -> None:
                readings.append((time.monotonic(), worker.cpu_s(), so_far.finished, memory().rss))

            began_s = time.monotonic()
            result = fleet.run_phase(LoadPhase(url, load), 2 * session_s + SPARE_S, [server], note)
    if result.failed or result.complete < users:
        raise LabError(
            f"{result.failed:,} requests failed, {result.complete:,} sessions are complete.", "See the server."
        )
    busy = [reading for reading in readings if ramp_s <= reading[0] - began_s <= session_s]
    if len(busy) < 2:
        raise LabError("There were too few readings.", "Use more --seconds.")
    return summary(users, busy, result, max(reading[-1] for reading in readings))


def locustfile(session_s: float) -> str:
    """A session that takes so long: pauses are drawn from half to one and a half of what is left to each step."""
    each_s = session_s / STEPS - DELAY_MS / 1000
    begin = f'{{"millis":{DELAY_MS},'  # each answer has a number of its own after that
    return LOCUSTFILE.format(steps=STEPS, delay_ms=DELAY_MS, begin=begin, low_s=each_s / 2, high_s=each_s * 1.5)


def summary(users: int, readings: list[Reading], result: PhaseResult, most_bytes: int) -> dict:
    """The share of a core, the rate, the cost of a request, the memory, and the goals that were missed."""
    (from_s, from_cpu_s, before, _), (to_s, to_cpu_s, after, _) = readings[0], readings[-1]
    share, count = (to_cpu_s - from_cpu_s) / (to_s - from_s), max(after - before, 1)
    missed = []
    if share >= GOAL_SHARE:
        missed.append(f"The worker used {share:.0%} of its core, not less than {GOAL_SHARE:.0%}.")
    if most_bytes > (allowed := WORKER_BYTES + users * USER_BYTES):
        missed.append(f"The worker had {most_bytes / 1e6:,.0f} MB of memory, more than {allowed / 1e6:,.0f} MB.")
    return {
        "users": users,
        "requests": result.finished,
        "sessions": result.complete,
        "rate_rps": count / (to_s - from_s),
        "worker_cpu": share,
        "cpu_us_a_request": (to_cpu_s - from_cpu_s) / count * 1e6,
        "worker_bytes": most_bytes,
        "missed": missed,
    }


def as_table(result: dict) -> str:
    """The figures, a line each."""
    cost_us, share = result["cpu_us_a_request"], result["worker_cpu"]
    lines = [
        f"{result['users']:,} users, {result['sessions']:,} sessions, {result['requests']:,} requests in all",
        f"{result['rate_rps']:,.0f} requests/s, each followed by a pause: {cost_us:.1f} µs CPU for both",
        f"the worker used {share:.1%} of its core, and at most {result['worker_bytes'] / 1e6:,.0f} MB of memory",
    ]
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
