"""Turns what was observed of one cell into metrics and evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd

from lab.analysis.evidence import Counts, Ending, Evidence, GeneratorState, Interference, ServiceState
from lab.analysis.steadiness import steadiness
from lab.formulas.stats import Summary
from lab.generator.fleet import Played
from lab.spec.workload import Load
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import CORES_BUSY, MACHINE, Reading, Telemetry
from lab.telemetry.series import counter

# Planned sends and counting are done by timers, and those that are due within this time come round together.
TOGETHER_S = 0.001


@dataclass
class Observed:
    """What was observed of one cell so far; every step of a measurement fills a field of its own as it goes.

    So what was seen until something died, or somebody pressed Ctrl-C, is there all the same.

    Attributes:
        warm_up: one row a round: see :meth:`lab.telemetry.actuator.Effort.since`, and ``users``.
        warm: whether what a request costs had settled.
        limits_broken: limits that the running service states otherwise than was asked.
        played: what the generator said of the measured load.
        telemetry: what was read while it lasted.
        served: requests the service counted meanwhile; None if it did not say.
        queries: what the databases answered meanwhile; None if there is none, or it does not count.
        ending: why it ended before its time, if it did.

    """

    warm_up: list[dict[str, float]] = field(default_factory=list)
    warm: bool = False
    limits_broken: list[str] = field(default_factory=list)
    played: Played = field(default_factory=Played)
    telemetry: Telemetry = field(default_factory=Telemetry)
    served: int | None = None
    queries: int | None = None
    ending: Ending = field(default_factory=Ending)


@dataclass(frozen=True)
class Conditions:
    """Under which conditions a cell was measured, as far as they decide what its observations mean.

    Attributes:
        cpu_decides: whether the service's CPU time a request is part of the question.
        own_service: whether the lab started the service; else it may be among the other programs.
        owned_cores: whose cores are whose; empty where they share all of them.
        ceiling_rps: the most such requests a second that the generator can send; None if that is not known.
        others: other runs of this lab that were measuring at the same time.

    """

    cpu_decides: bool
    own_service: bool
    owned_cores: Mapping[str, frozenset[int]]
    ceiling_rps: float | None
    others: Sequence[str]


def evidence(
    observed: Observed, conditions: Conditions, load: Load, summary: Summary, samples: pd.DataFrame
) -> Evidence:
    """What the observations of a cell mean.

    Args:
        samples: of the measured load, with :data:`lab.analysis.steadiness.COLUMNS`; none are needed of a burst.

    """
    played, telemetry, elapsed_s = observed.played, observed.telemetry, summary.elapsed_s
    counts = Counts(
        load.planned_requests, played.begun, played.finished, played.whole, observed.served, observed.queries
    )
    generator = GeneratorState(
        counted_in_system=counted_in_system(played, elapsed_s),
        awaiting_dispatch=played.dispatch_delay_s / elapsed_s if elapsed_s else 0.0,
        counting_error=counting_error(played, load, elapsed_s),
        stood_still_s=stood_still_s(played, elapsed_s),
        worker_cpu=worker_cpu(telemetry, played, elapsed_s),
        ceiling_rps=conditions.ceiling_rps,
        clock_step_s=played.clock_step_s,
    )
    interference = Interference(
        foreign_cpu=foreign_cpu(telemetry, os.cpu_count() or 1) if conditions.own_service else None,
        foreign_cores=foreign_cores(telemetry, conditions.owned_cores),
        others=tuple(conditions.others),
    )
    steady = steadiness(load, samples, metrics(played, telemetry), conditions.cpu_decides)
    service = ServiceState(tuple(observed.warm_up), observed.warm, gc_share(telemetry), tuple(observed.limits_broken))
    return Evidence(counts, generator, interference, steady, service, observed.ending)


def metrics(played: Played, telemetry: Telemetry) -> list[Reading]:
    """All readings as rows of (seconds since the planned start, target, name, value)."""
    rows = [(t - played.unix_start, target, name, value) for t, target, name, value in telemetry.rows]
    rows += [(t - played.unix_start, "service", "gap", 1.0) for t in telemetry.gaps]
    for worker, ticks in played.ticks.items():
        rows += [(t_us / 1e6, f"worker {int(worker) + 1}", "under_way", float(n)) for t_us, n in ticks]
    return rows


def counted_in_system(played: Played, elapsed_s: float) -> float | None:
    """N, the mean number of requests under way by the workers' own count, over the time the samples span."""
    if not played.whole or not elapsed_s:
        return None
    areas = []
    for ticks in played.ticks.values():
        pairs = pairwise(ticks)
        areas.append(sum((b[0] - a[0]) / 1e6 * (a[1] + b[1]) / 2 for a, b in pairs if b[0] > 0))
    return sum(areas) / elapsed_s if areas else None


def stood_still_s(played: Played, elapsed_s: float) -> float:
    """The longest time in which a worker did nothing while the load lasted: it counts every 50 ms, whatever comes."""
    gaps = [
        (b[0] - a[0]) / 1e6
        for ticks in played.ticks.values()
        for a, b in pairwise(ticks)
        if b[0] > 0 and a[0] / 1e6 < elapsed_s
    ]
    return max(gaps, default=0.0)


def counting_error(played: Played, load: Load, elapsed_s: float) -> float:
    """By how much that count may err.

    It misses what changes between two counts: where requests rise to their most and fall again, as in a burst, that is
    the most times the interval, over the time. And in an open loop it may count what is sent within a millisecond and
    answered before anybody looks again.
    """
    areas = [max(n for _, n in ticks) * _typical_interval_s(ticks) for ticks in played.ticks.values() if len(ticks) > 1]
    return sum(areas) / elapsed_s + load.rate_rps * TOGETHER_S if elapsed_s else 0.0


def _typical_interval_s(ticks: Sequence[tuple[int, int]]) -> float:
    """The median time between two counts: a stall is not what counting errs by."""
    return float(np.median([b[0] - a[0] for a, b in pairwise(ticks)])) / 1e6


def foreign_cpu(telemetry: Telemetry, cores: int) -> float | None:
    """The part of the machine that programs took which are not of this run; None if the load was too short to tell."""
    spent: dict[str, list[tuple[float, float]]] = {}
    for t, target, name, value in telemetry.rows:
        if name == "cpu_s":
            spent.setdefault(target, []).append((t, value))
    used = {target: readings[-1][1] - readings[0][1] for target, readings in spent.items()}
    elapsed_s = spent[MACHINE][-1][0] - spent[MACHINE][0][0] if MACHINE in spent else 0.0
    if elapsed_s < 1:
        return None
    foreign_s = used.pop(MACHINE) - sum(used.values())
    return max(0.0, foreign_s / elapsed_s / cores)


def foreign_cores(telemetry: Telemetry, cores: Mapping[str, frozenset[int]]) -> dict[str, float]:
    """The part of whose cores was used by programs that are not of this run; empty if the load was too short to tell.

    Args:
        cores: of ``service``, and of ``generator``, which has everything else of the run on its cores.

    """
    own = {"service": 0.0, "generator": 0.0}
    for target in {target for _, target, name, _ in telemetry.rows if name == "cpu_s"} - {MACHINE}:
        _, values = counter(telemetry.rows, target, "cpu_s")
        own["service" if target == "service" else "generator"] += values[-1] - values[0]
    shares = {}
    for owner, mine in cores.items():
        times, values = counter(telemetry.rows, owner, CORES_BUSY)
        if len(times) and times[-1] - times[0] >= 1:
            used_s = values[-1] - values[0] - own[owner]
            shares[owner] = max(0.0, float(used_s / (times[-1] - times[0]) / len(mine)))
    return shares


def gc_share(telemetry: Telemetry) -> float | None:
    """The part of the watched time in which the garbage collector stopped the service."""
    times, pauses = counter(telemetry.rows, "service", GC_PAUSES)
    return float((pauses[-1] - pauses[0]) / (times[-1] - times[0])) if len(times) > 1 else None


def worker_cpu(telemetry: Telemetry, played: Played, elapsed_s: float) -> float | None:
    """The busiest worker's mean use of a core while the load lasted; None if it was too short to tell.

    Workers on this machine are watched; what happens on others, only their own readings say.
    """
    readings = {f"by its own count, {worker}": list(rows) for worker, rows in played.cpu.items()}
    for t, target, name, value in telemetry.rows:
        begun, over = played.unix_start - 1, played.unix_start + elapsed_s + 1
        if name == "cpu_s" and target.startswith("worker") and begun <= t <= over:
            readings.setdefault(target, []).append((t, value))
    shares = [(r[-1][1] - r[0][1]) / (r[-1][0] - r[0][0]) for r in readings.values() if r[-1][0] - r[0][0] >= 1]
    return max(shares, default=None)
