"""What thinking users cost: ``python benchmarks/sessions.py [--users 10000] [--pace 1] [--json]``.

One worker plays the 26 requests of ``operations`` with their pauses, two sessions a user, on a server that answers from
memory; recorded, checked and counted as in ``lab run operations``. All users begin within a tenth of a session.
Prints the worker's share of its core while all of them are at it, the requests a second meanwhile, what a request costs
with its pause, and the worker's memory in the middle and at the end of that time. Exit status 1 if the share is 30 % or
more, if the memory is more than 100 MB and 32 kB a user, or if it grows by more than 5 % in the second half.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import goals
import psutil

from lab.errors import LabError
from lab.experiments.operations.scenario import SCENARIO, THINK_S
from lab.generator.bench import running_server
from lab.generator.fleet import LoadPhase, PhaseResult, Placement, running_fleet
from lab.runtimes.process import ProcessRuntime
from lab.spec.workload import Burst

SERVER = str(Path(__file__).with_name("session_server.py"))
SESSIONS = 2
RAMP_SHARE, GOAL_SHARE, GROWTH = 0.1, 0.30, 0.05
WORKER_BYTES, USER_BYTES = 100_000_000, 32_000
# The pauses that are drawn may be this much shorter than they are on average: until then nobody has ended.
SHORTEST_SHARE = 0.9
SPARE_S = 120.0
# Seconds of the monotonic clock, CPU seconds of the worker, requests answered, bytes of the worker's memory.
Reading = tuple[float, float, int, int]


def main() -> int:
    """Measure, print; 1 if a goal is missed, 2 if it cannot be measured here."""
    parser = goals.parser(__doc__)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--pace", type=float, default=1.0, help="of the pauses: 0.2 is a fifth of what they are")
    options = parser.parse_args()
    return goals.concluded(lambda: measure(options.users, options.pace), as_table, options.json)


def measure(users: int, pace: float) -> dict:
    """Play the sessions, and read the worker's CPU time from the end of the ramp until the first user may end."""
    server_core, core = goals.two_cores()
    session_s, readings = THINK_S * pace, []
    ramp_s, until_s = RAMP_SHARE * session_s, SESSIONS * SHORTEST_SHARE * session_s
    load = Burst(users=users, ramp_s=ramp_s, loops=SESSIONS, pace=pace)
    with tempfile.TemporaryDirectory() as temporary, ProcessRuntime() as runtime:
        folder = Path(temporary)
        placement = Placement(runtime, core, folder, folder / "samples.arrows")
        with (
            running_server(runtime, server_core, folder, (SERVER,)) as (server, url),
            running_fleet(SCENARIO.name, load, placement) as fleet,
        ):
            fleet.await_workers()
            fleet.spawn(users)
            worker, memory = fleet.workers[0], psutil.Process(fleet.workers[0].pid).memory_info

            def note(so_far: PhaseResult) -> None:
                readings.append((time.monotonic(), worker.cpu_s(), so_far.finished, memory().rss))

            began_s = time.monotonic()
            phase = LoadPhase(url, load, SCENARIO.defaults())
            result = fleet.run_phase(phase, 2 * SESSIONS * session_s + SPARE_S, [server], note)
    if result.failed or result.sessions_ended < SESSIONS * users:
        raise LabError(
            f"{result.failed:,} requests failed, {result.sessions_ended:,} sessions came to their end.",
            "See the server.",
        )
    busy = [reading for reading in readings if ramp_s <= reading[0] - began_s <= until_s]
    if len(busy) < 4:
        raise LabError("There were too few readings.", "Use a larger --pace.")
    return summary(users, busy, result)


def summary(users: int, readings: list[Reading], result: PhaseResult) -> dict:
    """The share of a core, the rate, the cost of a request, the memory, and the goals that were missed."""
    (from_s, from_cpu_s, before, _), (to_s, to_cpu_s, after, _) = readings[0], readings[-1]
    share, count = (to_cpu_s - from_cpu_s) / (to_s - from_s), max(after - before, 1)
    half = len(readings) // 2
    middle_bytes, end_bytes = (max(reading[-1] for reading in part) for part in (readings[:half], readings[half:]))
    missed = []
    if share >= GOAL_SHARE:
        missed.append(f"The worker used {share:.0%} of its core, not less than {GOAL_SHARE:.0%}.")
    if end_bytes > (allowed := WORKER_BYTES + users * USER_BYTES):
        missed.append(f"The worker had {end_bytes / 1e6:,.0f} MB of memory, more than {allowed / 1e6:,.0f} MB.")
    if (grown := end_bytes / middle_bytes - 1) > GROWTH:
        missed.append(f"The worker's memory grew by {grown:.1%} in the second half, by more than {GROWTH:.0%}.")
    return {
        "users": users,
        "requests": result.finished,
        "sessions": result.sessions_ended,
        "rate_rps": count / (to_s - from_s),
        "worker_cpu": share,
        "cpu_us_a_request": (to_cpu_s - from_cpu_s) / count * 1e6,
        "middle_bytes": middle_bytes,
        "end_bytes": end_bytes,
        "missed": missed,
    }


def as_table(result: dict) -> str:
    """The figures, a line each."""
    middle_mb, end_mb = (result[name] / 1e6 for name in ("middle_bytes", "end_bytes"))
    lines = [
        f"{result['users']:,} users, {result['sessions']:,} sessions, {result['requests']:,} requests in all",
        f"{result['rate_rps']:,.0f} requests/s with a pause each: {result['cpu_us_a_request']:.1f} µs CPU for both",
        f"the worker used {result['worker_cpu']:.1%} of its core",
        f"it had {middle_mb:,.0f} MB of memory in the middle, {end_mb:,.0f} MB at the end",
    ]
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
