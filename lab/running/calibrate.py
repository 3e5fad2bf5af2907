"""Calibrates the generator: its ceiling for each kind of request, and the latency that it adds below that."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from lab.errors import ComponentError
from lab.generator import bench, calibration
from lab.generator.bench import Bench, Outcome
from lab.generator.calibration import Calibration, Ceiling, Step
from lab.running.prerequisites import SPARE_FILES
from lab.running.progress import Reporter, Update
from lab.runtimes import host, temporary
from lab.runtimes.host import Cores
from lab.runtimes.process import ProcessRuntime, confined
from lab.spec.scenario import KINDS
from lab.system.databases import tokens

# As many users as the scenarios have where the CPU decides.
USERS = 50
# The rate of a step is users / delay: so many users are enough for 100,000 requests a second.
MOST_USERS, DELAY_MS = 2000, 20
# What is busy for less than this part of the time is not what limits.
BUSY_SHARE = 0.90


@dataclass(frozen=True)
class Pace:
    """What is measured of each kind, and for how long; as it is, three kinds take about a minute.

    Attributes:
        shares: the parts of the ceiling at which added latency is measured.

    """

    ceiling_s: float = 4.0
    rest_s: float = 1.0
    step_s: float = 2.0
    shares: Sequence[float] = (0.10, 0.25, 0.50, 0.75, 0.90, 1.00)


def calibrate(reporter: Reporter) -> Calibration:
    """Measure the generator's ceiling for each kind of request, and what it adds to latency below that.

    Raises:
        LabError: the machine allows too few open files, or something could not be started.
        ComponentError: server or generator died, or requests failed.

    """
    host.raise_open_file_limit(MOST_USERS + SPARE_FILES)
    cores = Cores.split(pin=True)
    file = tokens.token_file()
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with (
        temporary.folder() as folder,
        ProcessRuntime() as runtime,
        confined(cores.generator),
        bench.running_bench(runtime, file, MOST_USERS, cores.service, cores.generator, folder) as ready,
    ):
        ceilings = measure(ready, reporter, Pace())
    return Calibration(calibration.fingerprint(), made, ceilings)


def measure(ready: Bench, reporter: Reporter, pace: Pace, kinds: Sequence[str] = KINDS) -> tuple[Ceiling, ...]:
    """Warm up, then find the ceiling of each kind and what is added below it. Raises what :func:`calibrate` does."""
    with reporter.phase("warm up"):
        for kind in kinds:
            _played(ready, kind, USERS, 0, pace.rest_s)
    return tuple(_ceiling(ready, kind, pace, reporter) for kind in kinds)


def _ceiling(ready: Bench, kind: str, pace: Pace, reporter: Reporter) -> Ceiling:
    with reporter.phase(f"{kind} requests", len(pace.shares) + 2) as update:
        most = _played(ready, kind, USERS, 0, pace.ceiling_s)
        update(1, f"{most.rps:,.0f} a second at most")
        rest = _played(ready, kind, 1, 0, pace.rest_s)
        update(2, f"{most.rps:,.0f} a second at most, {rest.added_mean_s * 1e6:,.0f} µs alone")
        steps = [Step(0.0, rest.rps, rest.added_mean_s, rest.added_p99_s)]
        steps += _steps(ready, kind, pace, most, rest, update)
    return Ceiling(kind, most.rps, limited_by(most), most.generator_cpu, most.server_cpu, tuple(steps))


def _steps(ready: Bench, kind: str, pace: Pace, most: Outcome, rest: Outcome, update: Update) -> list[Step]:
    steps = []
    for number, share in enumerate(pace.shares, 3):
        users = users_for(share * most.rps, DELAY_MS / 1000 + rest.added_mean_s)
        found = _played(ready, kind, users, DELAY_MS, pace.step_s)
        steps.append(Step(share, found.rps, found.added_mean_s, found.added_p99_s))
        update(number, f"{most.rps:,.0f} a second at most, {found.added_mean_s * 1e6:,.0f} µs added at {share:.0%}")
    return steps


def users_for(rps: float, cycle_s: float) -> int:
    """How many users make a rate if each request of one takes so long (Little's law), at least 1."""
    return min(MOST_USERS, max(1, round(rps * cycle_s)))


def limited_by(most: Outcome) -> str:
    """What was busy when it got no faster."""
    if most.generator_cpu >= BUSY_SHARE:
        return calibration.GENERATOR
    return calibration.SERVER if most.server_cpu >= BUSY_SHARE else calibration.UNKNOWN


def _played(ready: Bench, kind: str, users: int, delay_ms: int, duration_s: float) -> Outcome:
    found = ready.play(kind, users, delay_ms, duration_s)
    if found.failed:
        raise ComponentError(f"{found.failed:,} {kind} requests failed.", "Try again: python -m lab calibrate")
    return found
