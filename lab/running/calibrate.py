"""Calibrates the generator: its ceiling for each kind of request, and the latency that it adds at parts of that."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.errors import ComponentError
from lab.generator import bench, calibration
from lab.generator.bench import Bench, BenchResult
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
# Requests of each user, and no duration: that may be over before users that were just spawned have sent anything.
WARM_UP_LOOPS = 40
# The rate of a step is users / delay: this many users are enough for 100,000 requests a second.
MOST_USERS, DELAY_MS = 2000, 20


@dataclass(frozen=True)
class CalibrationSettings:
    """Durations and load steps of a calibration; by default the four kinds of request take about a minute.

    Attributes:
        ceiling_s: duration of the load that finds the ceiling.
        unloaded_s: duration of a load of a single user.
        step_s: duration of each step.
        shares: the parts of the ceiling at which added latency is measured.

    """

    ceiling_s: float = 4.0
    unloaded_s: float = 1.0
    step_s: float = 2.0
    shares: Sequence[float] = (0.10, 0.25, 0.50, 0.75, 0.90, 1.00)


# What a run measures by itself where a ceiling is unknown, once a machine: within 15 s, also where it takes two.
BRIEF = CalibrationSettings(ceiling_s=2.5, unloaded_s=0.5, shares=())


def calibrate(reporter: Reporter) -> Calibration:
    """Measure the generator's ceiling for each kind of request, and what it adds to latency below that.

    Raises:
        LabError: the machine allows too few open files, or something could not be started.
        ComponentError: server or generator died, or requests failed.

    """
    return _empty().with_ceilings(_measured(CalibrationSettings(), KINDS, 1, MOST_USERS, reporter))


def ensure(needed: Iterable[tuple[str, int]], reporter: Reporter) -> Calibration:
    """The calibration of this machine with some ceilings, measured now where they are unknown.

    Raises the errors of :func:`calibrate`.

    Args:
        needed: kinds of request, each with a number of Locust workers.

    """
    found = calibration.find() or _empty()
    for kind, number in sorted(set(needed)):
        if found.ceiling_rps(kind, number, 1) is not None:
            continue
        measured = _measured(BRIEF, (kind,), number, USERS, reporter)
        if measured[0].limited_by != calibration.GENERATOR and found.ceiling_rps(kind, 1, 1) is None:
            measured += _measured(BRIEF, (kind,), 1, USERS, reporter) if number > 1 else ()
        # Another run may have added its own meanwhile.
        found = (calibration.find() or found).with_ceilings(measured)
        calibration.keep(found)
    return found


def _empty() -> Calibration:
    return Calibration(calibration.fingerprint(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), ())


def _measured(
    settings: CalibrationSettings, kinds: Sequence[str], workers: int, users: int, reporter: Reporter
) -> tuple[Ceiling, ...]:
    """The ceilings of some kinds of request, measured with so many workers on a test bench."""
    host.raise_open_file_limit(users + SPARE_FILES)
    cores = Cores.split(pin=True)
    file = tokens.token_file()
    with (
        temporary.folder() as folder,
        ProcessRuntime() as runtime,
        confined(cores.generator),
        bench.running_bench(runtime, file, users, cores.service, cores.generator, folder, workers) as ready,
    ):
        return measure(ready, reporter, settings, kinds)


def measure(
    ready: Bench, reporter: Reporter, settings: CalibrationSettings, kinds: Sequence[str] = KINDS
) -> tuple[Ceiling, ...]:
    """Warm up, then measure ceiling and added latency of each kind. Raises the errors of :func:`calibrate`."""
    with reporter.phase("calibrate: warm up"):
        for kind in kinds:
            ready.warm_up(kind, USERS, WARM_UP_LOOPS)
    return tuple(_ceiling(ready, kind, settings, reporter) for kind in kinds)


def _ceiling(ready: Bench, kind: str, settings: CalibrationSettings, reporter: Reporter) -> Ceiling:
    with reporter.phase(f"calibrate: {kind} requests", len(settings.shares) + 2) as update:
        peak = _run_load(ready, kind, USERS, 0, settings.ceiling_s)
        update(1, f"{peak.rps:,.0f} a second at most")
        unloaded = _run_load(ready, kind, 1, 0, settings.unloaded_s)
        update(2, f"{peak.rps:,.0f} a second at most, {unloaded.added_mean_s * 1e6:,.0f} µs alone")
        steps = [_step(0.0, unloaded)]
        steps += _steps(ready, kind, settings, peak, unloaded, update)
    workers = len(ready.fleet.workers)
    return Ceiling(kind, peak.rps, limited_by(peak), peak.generator_cpu, peak.server_cpu, tuple(steps), workers)


def _steps(
    ready: Bench, kind: str, settings: CalibrationSettings, peak: BenchResult, unloaded: BenchResult, update: Update
) -> list[Step]:
    steps = []
    for number, share in enumerate(settings.shares, 3):
        users = users_for(share * peak.rps, DELAY_MS / 1000 + unloaded.added_mean_s)
        found = _run_load(ready, kind, users, DELAY_MS, settings.step_s)
        steps.append(_step(share, found))
        update(number, f"{peak.rps:,.0f} a second at most, {found.added_mean_s * 1e6:,.0f} µs added at {share:.0%}")
    return steps


def _step(share: float, found: BenchResult) -> Step:
    return Step(share, found.rps, found.added_mean_s, found.added_p99_s, found.added_p999_s)


def users_for(rps: float, cycle_s: float) -> int:
    """Users that make a rate if each of their requests takes ``cycle_s`` (Little's law); 1 to :data:`MOST_USERS`."""
    return min(MOST_USERS, max(1, round(rps * cycle_s)))


def limited_by(peak: BenchResult) -> str:
    """The bottleneck at the highest rate: the generator, the server, or something else."""
    if peak.generator_cpu >= calibration.BUSY_SHARE:
        return calibration.GENERATOR
    return calibration.SERVER if peak.server_cpu >= calibration.BUSY_SHARE else calibration.UNKNOWN


def _run_load(ready: Bench, kind: str, users: int, delay_ms: int, duration_s: float) -> BenchResult:
    found = ready.run_load(kind, users, delay_ms, duration_s)
    if found.failed:
        raise ComponentError(f"{found.failed:,} {kind} requests failed.", "Try again: python -m lab calibrate")
    return found
