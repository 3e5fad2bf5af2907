"""Turns what was observed of one cell into metrics and evidence."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from lab.analysis import expected_counts
from lab.analysis.evidence import Counts, Ending, Evidence, GeneratorState, Interference, Monitoring, ServiceState
from lab.analysis.hiccups import longest_stop_s
from lab.analysis.steadiness import steadiness
from lab.formulas import stats
from lab.formulas.stats import Summary
from lab.generator.fleet import PhaseResult
from lab.spec.nodes import is_node
from lab.spec.sample import NO_ANSWER
from lab.spec.system import SERVICE, Entry
from lab.spec.window import Window
from lab.spec.workload import Burst, Closed, Load, Open, OpenLoop, Ramp, Total
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import (
    BESIDE_WORKERS,
    CORES_BUSY,
    IDLE_SERVICES,
    INTERRUPTS,
    MACHINE,
    ON_SERVICE_CORES,
    PAUSES_UNREAD,
    TRACKED_SHARE,
    UNTRACKED,
    WORKER,
    Reading,
    Telemetry,
)
from lab.telemetry.scrapes import Scrapes
from lab.telemetry.series import counter, growth
from lab.telemetry.served import Served

# Sends and counts are made by timers, and timers that are due within this time fire together.
TOGETHER_S = 0.001
# A first SYN that is dropped is sent again after a second.
SLOW_CONNECT_S = 0.9
# Of the connections that the kernel can track; between two readings some may be forgotten.
FULL_SHARE = 0.95
# Cores are busy, and a service has time to spare, above and below these shares of its cores in a second.
CROWDED_SHARE, SPARE_SHARE = 0.95, 0.85
# The end of a ramp of rates at which its generator is judged: a tenth of it, and so many seconds at least.
RAMP_ENDS_S = 3.0
# By worker, (Unix time, CPU seconds so far).
CpuReadings = Mapping[str, Sequence[tuple[float, float]]]


@dataclass
class Observed:
    """Observations of one cell so far: each step of a measurement fills its own field as it goes.

    So they are complete up to the moment of a failure or Ctrl-C.

    Attributes:
        warm_up: one row a round: see :meth:`lab.telemetry.actuator.CpuTimes.since`, and ``users``.
        warm_up_before: the rounds for earlier loads of the same start, which have warmed it up too.
        warm: whether the CPU cost of a request had settled, or the compiler rested.
        limits_read: whether the running service was asked for its limits.
        limits_broken: limits whose value in the running service is not the one that was set.
        result: what the generator reported of the measured load.
        telemetry: readings during the measured load.
        windows: the windows of the measured load that are complete; one for a load in one piece.
        served: requests the service counted during the load; None if it does not report that.
        counts: of nodes and balancer during the load, also in a window that was not complete.
        scrapes: by part, how those of Prometheus went during the load; empty where there is none.
        prometheus_lost: why its series of the load are not known, such as ``was killed by SIGKILL``; empty if they are.
        calls: calls that each component behind the service counted during the load, if it counts them.
        ending: why the measurement was cut short, if it was.

    """

    warm_up: list[dict[str, float]] = field(default_factory=list)
    warm_up_before: list[dict[str, float]] = field(default_factory=list)
    warm: bool = False
    limits_read: bool = False
    limits_broken: list[str] = field(default_factory=list)
    result: PhaseResult = field(default_factory=PhaseResult)
    telemetry: Telemetry = field(default_factory=Telemetry)
    windows: list[Window] = field(default_factory=list)
    served: int | None = None
    counts: Served | None = None
    scrapes: dict[str, Scrapes] = field(default_factory=dict)
    prometheus_lost: str = ""
    calls: dict[str, int] = field(default_factory=dict)
    ending: Ending = field(default_factory=Ending)

    def add_scrapes(self, scrapes: Mapping[str, Scrapes], lost: str) -> None:
        """Add how Prometheus' scrapes of each part went in a window, and why that is not known, if so."""
        self.prometheus_lost = self.prometheus_lost or lost
        self.scrapes |= {part: self.scrapes.get(part, Scrapes()).plus(found) for part, found in scrapes.items()}

    def add_window(self, window: Window, calls: Mapping[str, int]) -> None:
        """Add a complete window, and the calls that components counted in it; what one window lacks is unknown."""
        so_far = self.calls if self.windows else dict.fromkeys(calls, 0)
        self.calls = {name: count + calls[name] for name, count in so_far.items() if name in calls}
        self.windows.append(window)
        known = [each.served for each in self.windows if each.served is not None]
        self.served = sum(known) if len(known) == len(self.windows) else None


@dataclass(frozen=True)
class Sends:
    """When the requests of a load were sent and answered, in seconds since its planned start.

    Attributes:
        answered_until_s: when the last answer came, good or bad; None without any.
        sent_until_s: when the last request was sent; None without any.
        sent_by_all_until_s: when the first of the workers to end had sent its last one; None without any.
        busiest_rps: requests a second that a closed or open loop in one piece sent in its :func:`busiest_span_s`; else
            0.

    """

    answered_until_s: float | None = None
    sent_until_s: float | None = None
    sent_by_all_until_s: float | None = None
    busiest_rps: float = 0.0


NO_SENDS = Sends()


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement that its observations are judged by.

    Attributes:
        cpu_decides: whether the service's CPU decides: see :attr:`lab.spec.plan.Plan.cpu_decides`.
        entry: what was measured; an attached service counts among the other programs.
        owned_cores: by owner (service, generator), its cores; empty where all cores are shared.
        ceiling_rps: the generator's ceiling for this kind of request; None if unknown.
        succeeded_expected: the least and the most answers with a status of 2xx that the service must have counted.
        answers_expected: the same by endpoint and status (:func:`lab.analysis.expected_counts.answers_expected`).
        calls_expected: by component behind the service, the least and the most calls that it must have counted.
        called_services: those of these components that are services of ours, and no databases.
        unknown_names: names of requests that the scenario does not have.
        slow_connects: connections that took as long as a lost packet costs.
        backlog_set: whether the listen backlog is the lab's, and not the server's own.
        others: other runs of this lab that were measuring at the same time.
        silent: of several nodes and their balancer, see :func:`lab.analysis.silence.silent_spans`.
        rounds: of a variant that took turns with others what :func:`lab.analysis.window_figures.by_round` says.
        sends: when requests were sent and answered.
        interrupts_in_programs: see :func:`lab.runtimes.host.interrupts_in_programs`.
        cpus: how many cores a service that the lab started may use; 0 if unknown.
        over_tls: whether requests were sent over TLS.

    """

    cpu_decides: bool
    entry: Entry
    owned_cores: Mapping[str, frozenset[int]]
    ceiling_rps: float | None
    succeeded_expected: tuple[int, int]
    answers_expected: Mapping[str, tuple[int, int]]
    calls_expected: Mapping[str, tuple[int, int]]
    called_services: Sequence[str]
    unknown_names: Sequence[str]
    slow_connects: int
    backlog_set: bool
    others: Sequence[str]
    silent: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rounds: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    sends: Sends = NO_SENDS
    interrupts_in_programs: bool = False
    cpus: int = 0
    over_tls: bool = False


def evidence(
    observed: Observed, conditions: Conditions, load: Load, summary: Summary, samples: pd.DataFrame
) -> Evidence:
    """The evidence that follows from the observations of a cell.

    Args:
        samples: of the measured load, with :data:`lab.analysis.steadiness.COLUMNS`; may be empty for a load that is
            never steady.

    """
    result, telemetry, elapsed_s = observed.result, observed.telemetry, summary.elapsed_s
    span_s, peak_rps = busiest_span_s(load, elapsed_s, conditions.sends), conditions.sends.busiest_rps
    if isinstance(load, Ramp) and result.whole and not result.pauses:
        # Else its sessions are not sent as fast as they begin.
        peak_rps = load.highest_rps * result.begun / max(result.sessions, 1)
    rows = metrics(result, telemetry)
    clock = RunningClock.of(rows)
    planned = (None, load.planned_sessions) if result.has_sessions else (load.planned_sessions, None)
    counts = Counts(
        planned=planned[0],
        begun=result.begun,
        finished=result.finished,
        sent_again=result.sent_again,
        whole=result.whole,
        served=observed.served,
        succeeded=observed.counts.total_succeeded if observed.counts else None,
        succeeded_expected=conditions.succeeded_expected,
        answers=expected_counts.answers(observed.counts or Served()),
        answers_expected=conditions.answers_expected,
        **_of_nodes(observed.counts or Served()),
        calls=observed.calls,
        calls_expected=conditions.calls_expected,
        called_services=tuple(conditions.called_services),
        unknown_names=tuple(conditions.unknown_names),
        planned_sessions=planned[1],
        sessions=result.sessions,
        windows=load.windows,
    )
    generator = GeneratorState(
        counted_in_system=counted_in_system(result, elapsed_s),
        awaiting_dispatch=result.dispatch_delay_s / elapsed_s if elapsed_s else 0.0,
        idle_s=idle_s(result, load, elapsed_s, observed.windows, conditions.sends),
        pausing_users=_may_pause(result, load),
        parked_share=parked_share(result, load),
        counting_error=counting_error(result, load, elapsed_s),
        stood_still_s=stood_still_s(result, elapsed_s, clock, observed.windows),
        worker_cpu=worker_cpu(telemetry, result, *span_s),
        workers_cpu=workers_cpu(telemetry, result, *span_s, len(conditions.owned_cores.get("generator", ()))),
        ceiling_rps=conditions.ceiling_rps,
        remote=load.remote_workers > 0,
        open_loop=load.independent,
        unstamped=max(0, result.unstamped - result.failed),
        over_tls=conditions.over_tls,
        has_idle_time=isinstance(load, Closed | Total),
        clock_step_s=result.clock_step_s,
        peak_rps=peak_rps,
        outlasted_s=outlasted_s(result, load, summary, conditions.sends),
    )
    service_cores = len(conditions.owned_cores.get("service", ())) or conditions.cpus or os.cpu_count() or 1
    knows_pauses = conditions.owned_cores and not any(row[2] == PAUSES_UNREAD and row[0] < elapsed_s for row in rows)
    until_s = math.inf if result.whole else elapsed_s
    steady = steadiness(load, samples, rows, conditions.cpu_decides, until_s, conditions.rounds)
    owned = {owner: len(cores) for owner, cores in conditions.owned_cores.items() if cores}
    busy = [cores / owned[owner] for owner, cores in steady.cores_busy.items() if owner in owned]
    of_cores = foreign_cores(telemetry, conditions.owned_cores, conditions.interrupts_in_programs)
    interference = Interference(
        foreign_cpu=foreign_cpu(telemetry, os.cpu_count() or 1) if conditions.entry != "attached" else None,
        foreign_cores=of_cores,
        crowded=crowded(telemetry, conditions.owned_cores),
        beside=beside(telemetry),
        others=tuple(conditions.others),
        idle_services=idle_services(telemetry, service_cores),
        paused=clock.paused_s(0.0, elapsed_s) / elapsed_s if elapsed_s and knows_pauses else None,
        longest_pause_s=clock.longest_s(0.0, elapsed_s),
        paused_in_p99_s=paused_in_p99_s(load, samples, clock, max(busy, default=0.0)),
        shared_cores=not conditions.owned_cores,
        untracked=untracked(telemetry),
        unread_cores=tuple(owner for owner in owned if owner not in of_cores),
    )
    service = ServiceState(
        conditions.entry,
        tuple(observed.warm_up),
        observed.warm,
        gc_share(telemetry),
        observed.limits_read,
        tuple(observed.limits_broken),
        conditions.cpu_decides,
        conditions.slow_connects,
        tuple(observed.warm_up_before),
        conditions.silent,
        conditions.backlog_set,
        longest_stop_s(rows, service_cores, elapsed_s),
        cpu_share(rows, load, summary, service_cores),
        request_cpu_us(rows, summary),
    )
    scrapes_of = {part: asdict(scrapes) for part, scrapes in observed.scrapes.items()}
    monitoring = Monitoring(scrapes_of, len(telemetry.gaps), observed.prometheus_lost)
    return Evidence(counts, generator, interference, steady, service, observed.ending, monitoring)


def cpu_share(rows: Iterable[Reading], load: Load, summary: Summary, cores: int) -> float | None:
    """The share of its cores that the service used in a load that should be steady; None if unknown, or of others."""
    if load.steady_span_s is None or not summary.elapsed_s:
        return None
    spent_s = _cpu_s(rows, summary)
    return None if spent_s is None else spent_s / summary.elapsed_s / cores


def request_cpu_us(rows: Iterable[Reading], summary: Summary) -> float | None:
    """The service's CPU time of a request in the load, in microseconds; None if unknown, or there was none."""
    spent_s = _cpu_s(rows, summary)
    return None if spent_s is None or not summary.requests else spent_s / summary.requests * 1e6


def _cpu_s(rows: Iterable[Reading], summary: Summary) -> float | None:
    begin_s = summary.began_s
    return growth(*counter(rows, SERVICE, "cpu_s"), begin_s, begin_s + summary.elapsed_s)


def _of_nodes(counts: Served) -> dict[str, Any]:
    """The counts of several nodes and their balancer, as fields of :class:`lab.analysis.evidence.Counts`."""
    if len(counts.nodes) < 2:
        return {}
    known = {name: count for name, count in counts.nodes.items() if count is not None}
    return {"nodes": known, "received": counts.received, "passed_on": counts.passed_on, "refused": counts.refused}


def metrics(result: PhaseResult, telemetry: Telemetry) -> list[Reading]:
    """All readings as rows of (seconds since the planned start, target, name, value)."""
    rows = [(t - result.unix_start, target, name, value) for t, target, name, value in telemetry.rows]
    rows += [(t - result.unix_start, "service", "gap", 1.0) for t in telemetry.gaps]
    for worker, ticks in result.ticks.items():
        rows += [(t_us / 1e6, f"{WORKER}{int(worker) + 1}", "under_way", float(n)) for t_us, n in ticks]
    return rows


def counted_in_system(result: PhaseResult, elapsed_s: float) -> float | None:
    """N, the mean number of requests under way by the workers' own count, over the span of the samples."""
    if not result.whole or not elapsed_s:
        return None
    areas = []
    for ticks in result.ticks.values():
        pairs = pairwise(ticks)
        areas.append(sum((b[0] - a[0]) / 1e6 * (a[1] + b[1]) / 2 for a, b in pairs if b[0] > 0))
    return sum(areas) / elapsed_s if areas else None


def stood_still_s(result: PhaseResult, elapsed_s: float, clock: RunningClock, windows: Sequence[Window] = ()) -> float:
    """The longest stall of a worker during the load, in seconds: the longest gap between its counts every 50 ms.

    What of a gap the machine itself stood still is not the worker's; nor is what lies before a window's begin, as a
    worker counts until the last answer of a window, and not until its planned end.
    """
    begins_s = [-math.inf, *(window.began_s for window in windows)]
    longest_s = 0.0
    for ticks in result.ticks.values():
        for before_s, now_s in pairwise(at_us / 1e6 for at_us, _ in ticks):
            if now_s > 0 and before_s < elapsed_s:
                from_s = max(before_s, begins_s[bisect_right(begins_s, now_s) - 1])
                longest_s = max(longest_s, now_s - from_s - clock.paused_s(from_s, now_s))
    return longest_s


def paused_in_p99_s(load: Load, samples: pd.DataFrame, clock: RunningClock, utilization: float = 0.0) -> float:
    """What pauses of the machine added to p99 of a load that should be steady, in seconds; 0 of any other.

    Args:
        samples: as of :func:`evidence`.
        utilization: of the busier cores, which decides how long what piled up in a pause takes after it.

    """
    if load.steady_span_s is None or samples.empty or not len(clock.begins_s):
        return 0.0
    right = samples[(samples["error"] == "").to_numpy()]
    if right.empty:
        return 0.0
    right = stats.as_planned(right) if load.independent else right
    with_pauses, without = (
        float(np.quantile(each["latency_us"], 0.99, method="inverted_cdf"))
        for each in (right, clock.with_backlog(utilization).samples(right))
    )
    return max(0.0, with_pauses - without) / 1e6


def counting_error(result: PhaseResult, load: Load, elapsed_s: float) -> float:
    """The possible error of :func:`counted_in_system`, in requests.

    It misses changes between two counts: where the number rises to a maximum and falls again, as in a burst or a
    window, the error is maximum times interval over elapsed time. In an open loop it may also count requests that are
    sent together with the count and answered before the next.
    """
    areas = [max(n for _, n in ticks) * _typical_interval_s(ticks) for ticks in result.ticks.values() if len(ticks) > 1]
    together = load.highest_rps * TOGETHER_S if isinstance(load, OpenLoop) else 0.0
    return load.windows * sum(areas) / elapsed_s + together if elapsed_s else 0.0


def _typical_interval_s(ticks: Sequence[tuple[int, int]]) -> float:
    """The median time between two counts, which no stall distorts."""
    return float(np.median([b[0] - a[0] for a, b in pairwise(ticks)])) / 1e6


def untracked(telemetry: Telemetry) -> int:
    """How many packets of new connections the kernel dropped during a load in which it could not track more."""
    (_, dropped), (_, share) = (counter(telemetry.rows, MACHINE, name) for name in (UNTRACKED, TRACKED_SHARE))
    return int(dropped[-1] - dropped[0]) if len(dropped) and share.max(initial=0.0) >= FULL_SHARE else 0


def foreign_cpu(telemetry: Telemetry, cores: int) -> float | None:
    """The share of the machine's CPU used by programs outside this run; None if the load was shorter than 1 s."""
    spent: dict[str, list[tuple[float, float]]] = {}
    for t, target, name, value in telemetry.rows:
        if name == "cpu_s" and not is_node(target):
            spent.setdefault(target, []).append((t, value))
    used = {target: readings[-1][1] - readings[0][1] for target, readings in spent.items()}
    elapsed_s = spent[MACHINE][-1][0] - spent[MACHINE][0][0] if MACHINE in spent else 0.0
    if elapsed_s < 1:
        return None
    foreign_s = used.pop(MACHINE) - sum(used.values())
    return max(0.0, foreign_s / elapsed_s / cores)


def _programs(telemetry: Telemetry) -> set[str]:
    """The targets of which CPU time was read; several nodes are the service."""
    return {target for _, target, name, _ in telemetry.rows if name == "cpu_s" and not is_node(target)}


def foreign_cores(
    telemetry: Telemetry, cores: Mapping[str, frozenset[int]], interrupts_in_programs: bool = False
) -> dict[str, float]:
    """By owner, the share of its cores used by programs outside this run; empty if the load was shorter than 1 s.

    Args:
        cores: of ``service``, and of ``generator``, whose cores run everything else of the run.
        interrupts_in_programs: whether the CPU time of programs holds that of interrupts, which busy cores do not: see
            :func:`lab.runtimes.host.interrupts_in_programs`. A load's packets make up to a fifth of a core of these.

    """
    own = {"service": 0.0, "generator": 0.0}
    for target in _programs(telemetry) - {MACHINE}:
        _, values = counter(telemetry.rows, target, "cpu_s")
        own["service" if target in ON_SERVICE_CORES else "generator"] += values[-1] - values[0]
    shares = {}
    for owner, mine in cores.items():
        times, values = counter(telemetry.rows, owner, CORES_BUSY)
        if len(times) and times[-1] - times[0] >= 1:
            took_s, busy_s = (times[-1] - times[0]) * len(mine), values[-1] - values[0]
            if interrupts_in_programs:
                _, read_s = counter(telemetry.rows, owner, INTERRUPTS)
                interrupts_s = read_s[-1] - read_s[0] if len(read_s) else 0.0
                # They come as often to a core that has nothing to run, where they are in no program's time.
                busy_s += interrupts_s * min(1.0, (busy_s + interrupts_s) / took_s)
            shares[owner] = max(0.0, float((busy_s - own[owner]) / took_s))
    return shares


def idle_services(telemetry: Telemetry, cores: int) -> float | None:
    """The share of so many cores that services used which were up, and not loaded; None where there were none."""
    times, values = counter(telemetry.rows, IDLE_SERVICES, "cpu_s")
    if len(times) < 2 or times[-1] <= times[0]:
        return None
    return float((values[-1] - values[0]) / (times[-1] - times[0]) / cores)


def beside(telemetry: Telemetry) -> dict[str, float]:
    """By name, the cores that each process used on average which shares them with the generator, but for the lab."""
    used = {}
    for target in _programs(telemetry) - {*ON_SERVICE_CORES, *BESIDE_WORKERS}:
        times, values = counter(telemetry.rows, target, "cpu_s")
        if not target.startswith(WORKER) and len(times) > 1:
            used[target] = float((values[-1] - values[0]) / (times[-1] - times[0]))
    return dict(sorted(used.items()))


def crowded(telemetry: Telemetry, cores: Mapping[str, frozenset[int]]) -> float | None:
    """The share of seconds in which the generator's cores were busy, interrupts included, and the service's were not.

    None where cores are shared by all, only the generator uses its own, or fewer than three readings were taken.
    """
    times, programs_s = counter(telemetry.rows, "generator", CORES_BUSY)
    interrupted_at, interrupts_s = counter(telemetry.rows, "generator", INTERRUPTS)
    busy_s = programs_s + (np.interp(times, interrupted_at, interrupts_s) if len(interrupted_at) else 0.0)
    read_at, service_s = counter(telemetry.rows, "service", "cpu_s")
    if not cores or not beside(telemetry) or len(times) < 3 or len(read_at) < 3:
        return None
    took = np.diff(times)
    busy = np.diff(busy_s) / took / len(cores["generator"]) >= CROWDED_SHARE
    spare = np.diff(np.interp(times, read_at, service_s)) / took / len(cores["service"]) < SPARE_SHARE
    return float(np.average(busy & spare, weights=took))


def slow_connects(pieces: Iterable[pd.DataFrame]) -> int:
    """How many connections took as long as a lost packet costs, of samples that are read in pieces."""
    return sum(int((piece["connect_us"] >= SLOW_CONNECT_S * 1e6).sum()) for piece in pieces)


def idle_s(result: PhaseResult, load: Load, elapsed_s: float, windows: Sequence[Window], sends: Sends) -> float | None:
    """The mean time from a user's answer to its next request, of users who do not pause: R/X less the response time.

    By the response time law (Denning & Buzen 1978), from the workers' counts in the steady part of a closed loop, or of
    each of its windows: what is missing of R users under way, over the rate. None for other loads, for sessions, and
    where users think.
    """
    if not isinstance(load, Closed | Total) or not result.whole or _may_pause(result, load) or not elapsed_s:
        return None
    if isinstance(load, Closed):
        of = load.window()
        steady_us = [(1e6 * (each.began_s + of.ramp_s), 1e6 * (each.began_s + of.duration_s)) for each in windows]
    else:  # until a worker's users have nothing left to send
        steady_us = [(1e6 * load.ramp_s, 1e6 * (sends.sent_by_all_until_s or 0.0))]
    spans = [
        (b[0] - a[0], (a[1] + b[1]) / 2)
        for ticks in result.ticks.values()
        for a, b in pairwise(ticks)
        if any(begin <= a[0] and b[0] <= end for begin, end in steady_us)
    ]
    counted_us, workers = sum(took for took, _ in spans), len(result.ticks)
    if not counted_us or not result.finished:
        return None
    under_way = workers * sum(took * n for took, n in spans) / counted_us
    return max(0.0, load.users - under_way) / (sends.busiest_rps or result.finished / elapsed_s)


def _may_pause(result: PhaseResult, load: Load) -> bool:
    """Whether users of a closed loop pause, or have sessions, whose steps may lie apart."""
    return isinstance(load, Closed | Total) and bool(result.has_sessions or result.pauses)


def parked_share(result: PhaseResult, load: Load) -> float | None:
    """The share of a closed loop's users who stopped sending before its end, or never began, where users pause.

    A user whom the generator has forgotten sends nothing that could be late. None for other loads, of which the
    response time law tells, or nobody.
    """
    if not isinstance(load, Closed) or load.windows > 1 or not result.whole or not _may_pause(result, load):
        return None
    return result.parked / load.users


def outlasted_s(result: PhaseResult, load: Load, summary: Summary, sends: Sends) -> float:
    """How long a load that should be steady went on after its last send, beyond p99 of its latencies, in seconds.

    For so long a few requests kept it, which took longer than nearly all, or waited for their timeout: it is part of
    the time that rates and shares of time are of. Of a load that is never steady, which is over when the last is
    answered, how long it went on after that. 0 for sessions, which end one after the other.
    """
    over_s = sends.answered_until_s if load.steady_span_s is None else sends.sent_until_s
    if not result.whole or result.has_sessions or over_s is None:
        return 0.0
    if load.steady_span_s is None:
        return max(0.0, summary.began_s + summary.elapsed_s - over_s)
    took_s = summary.all_p99_s or summary.p99_s or 0.0
    if isinstance(load, Closed | Open) and load.windows > 1:
        return max(0.0, summary.elapsed_s - load.duration_s - load.windows * took_s)
    return max(0.0, summary.began_s + summary.elapsed_s - over_s - took_s)


def sends(pieces: Callable[[list[str]], Iterable[pd.DataFrame]], load: Load, elapsed_s: float) -> Sends:
    """When the requests of a load were sent and answered, of samples that are read in pieces, by columns."""
    answered_us, last_us = list[int](), dict[int, int]()
    for piece in pieces(["sent_us", "latency_us", "error", "worker"]):
        is_answered = ~piece["error"].isin(NO_ANSWER).to_numpy()
        if is_answered.any():
            answered_us.append(int((piece["sent_us"] + piece["latency_us"])[is_answered].max()))
        for worker in map(int, piece["worker"].unique()):
            sent_us = int(piece.loc[piece["worker"] == worker, "sent_us"].max())
            last_us[worker] = max(last_us.get(worker, 0), sent_us)
    found = Sends(
        max(answered_us) / 1e6 if answered_us else None,
        max(last_us.values()) / 1e6 if last_us else None,
        min(last_us.values()) / 1e6 if last_us else None,
    )
    if not isinstance(load, Closed | Total | Open) or load.windows > 1:
        return found
    from_s, until_s = busiest_span_s(load, elapsed_s, found)
    count = sum(int(piece["sent_us"].between(1e6 * from_s, 1e6 * until_s).sum()) for piece in pieces(["sent_us"]))
    return replace(found, busiest_rps=count / (until_s - from_s) if until_s > from_s else 0.0)


def busiest_span_s(load: Load, elapsed_s: float, sends: Sends) -> tuple[float, float]:
    """The time of a load that asks most of the generator, in seconds since its planned start.

    The mean of a ramp, of users or of a rate, is half of what its end asks; while users are being started, or wait for
    their last answers, less is sent. Of a burst, and of a load in windows, it is all of it.
    """
    if load.windows > 1 or isinstance(load, Burst):
        return 0.0, elapsed_s
    until_s = sends.sent_until_s or elapsed_s if isinstance(load, Total) else min(load.duration_s, elapsed_s)
    from_s = load.ramp_s if isinstance(load, Closed | Total) else 0.0
    if load.is_ramp:
        from_s = until_s - until_s / 10
    return max(0.0, min(from_s, until_s - RAMP_ENDS_S)), until_s


def gc_share(telemetry: Telemetry) -> float | None:
    """The share of the observed time in garbage collection pauses; of several nodes the highest. None if unknown."""
    nodes = {target for _, target, _, _ in telemetry.rows if is_node(target)} or {SERVICE}
    read = [counter(telemetry.rows, node, GC_PAUSES) for node in nodes]
    shares = [(pauses[-1] - pauses[0]) / (times[-1] - times[0]) for times, pauses in read if len(times) > 1]
    return max(map(float, shares), default=None)


def worker_cpu(telemetry: Telemetry, result: PhaseResult, from_s: float, until_s: float) -> float | None:
    """The busiest worker's mean CPU share of one core in a time of the load; None if it was shorter than 1 s.

    Workers on this machine are read from outside; for those on others there are only their own readings.

    Args:
        from_s: seconds since the planned start; the same for ``until_s``.

    """
    local = _of_local_workers(telemetry, result, from_s, until_s)
    elsewhere = {name: _within(result, read, from_s, until_s) for name, read in result.cpu.items()}
    return max([*_cpu_shares(elsewhere), *_cpu_shares(local)], default=None)


def workers_cpu(telemetry: Telemetry, result: PhaseResult, from_s: float, until_s: float, cores: int) -> float | None:
    """The CPU share that all workers on this machine used of the cores that they can be on at once.

    Several that share a core may keep it busy although each of them uses a part of it only. None if the load was
    shorter than 1 s.

    Args:
        from_s: seconds since the planned start; the same for ``until_s``.
        cores: that the generator has; 0 where it shares those of all, so that nobody knows: then the share is None.

    """
    shares = _cpu_shares(_of_local_workers(telemetry, result, from_s, until_s))
    return sum(shares) / min(len(shares), cores) if shares and cores else None


def _of_local_workers(telemetry: Telemetry, result: PhaseResult, from_s: float, until_s: float) -> CpuReadings:
    readings: dict[str, list[tuple[float, float]]] = {}
    for t, target, name, value in telemetry.rows:
        if name == "cpu_s" and target.startswith(WORKER):
            readings.setdefault(target, []).append((t, value))
    return {target: _within(result, read, from_s, until_s) for target, read in readings.items()}


def _within(
    result: PhaseResult, read: Iterable[tuple[float, float]], from_s: float, until_s: float
) -> list[tuple[float, float]]:
    """What was read at the two ends of a time of the load, between readings by interpolation; empty if nothing was."""
    times, values = np.array(list(read), dtype=float).reshape(-1, 2).T
    if not len(times):
        return []
    ends = np.clip(result.unix_start + np.array([from_s, until_s]), times[0], times[-1])
    return [(float(t), float(value)) for t, value in zip(ends, np.interp(ends, times, values), strict=True)]


def _cpu_shares(readings: CpuReadings) -> list[float]:
    """The mean CPU share of one core of each that was read for a second."""
    return [(r[-1][1] - r[0][1]) / (r[-1][0] - r[0][0]) for r in readings.values() if r and r[-1][0] - r[0][0] >= 1]
