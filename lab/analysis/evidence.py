"""The evidence on one cell, as values: counts, generator, interference, steadiness, service, ending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from lab.spec.system import Entry

# The course of a load from beginning to end: at one level, becoming faster, becoming slower, or none of these.
Course: TypeAlias = Literal["flat", "warming", "slowing", "erratic"]


@dataclass(frozen=True)
class Counts:
    """Request counts by generator, service and the components behind it, which must agree.

    Attributes:
        planned: requests of the load's plan; None where a duration decides.
        begun: requests sent, by the workers' count.
        finished: requests answered or failed, by the workers' count.
        sent_again: requests that the generator sent once more, on a new connection, as the one that was idle had ended.
        whole: whether every worker reported the end of the load.
        served: requests the service counted during the load; None if it does not report that.
        succeeded: those of them with a status of 2xx.
        succeeded_expected: the least and the most of these that the samples allow.
        answers: all that the service counted, by endpoint and status, such as ``GET /operations with status 200``.
        answers_expected: the least and the most of these that the samples allow; only of right answers.
        calls: calls that each component behind the service counted during the load; without those that do not count.
        calls_expected: by component, the least and the most calls that the requests make to it.
        called_services: those of the components that are services of ours, which nobody but the requests calls.
        unknown_names: names of requests that the scenario does not have.
        planned_sessions: sessions of the load's plan where one sent several requests or none; then ``planned`` is None.
        sessions: sessions begun, by the workers' count.
        windows: in how many windows they were counted.
        nodes: by node, the requests that it counted; empty where there is one. Of one that has ended nothing is known.
        received: requests that the balancer in front of them counted; None where there is none.
        passed_on: by node, the answers that the balancer passed on.
        refused: the answers that the balancer gave by itself (see :class:`lab.system.balancer.Counted`).

    """

    planned: int | None = None
    begun: int = 0
    finished: int = 0
    sent_again: int = 0
    whole: bool = False
    served: int | None = None
    succeeded: int | None = None
    succeeded_expected: tuple[int, int] | None = None
    answers: Mapping[str, int] = field(default_factory=dict)
    answers_expected: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    calls_expected: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    called_services: tuple[str, ...] = ()
    unknown_names: tuple[str, ...] = ()
    planned_sessions: int | None = None
    sessions: int = 0
    windows: int = 1
    nodes: Mapping[str, int] = field(default_factory=dict)
    received: int | None = None
    passed_on: Mapping[str, int] = field(default_factory=dict)
    refused: int = 0


@dataclass(frozen=True)
class GeneratorState:
    """Whether the generator kept up: load, stalls and clock of its workers.

    Attributes:
        counted_in_system: N, mean requests under way by the workers' count; None if unknown.
        awaiting_dispatch: mean number of received answers that a worker had not handled yet.
        idle_s: the mean time from a user's answer to its next request in a steady closed loop without pauses, by the
            response time law; None for other loads.
        pausing_users: whether users of a closed loop pause, or have sessions, so that this law says nothing of them.
        parked_share: of these users the share that stopped sending before the end, or never began; None if unknown:
            see :func:`lab.analysis.observations.parked_share`.
        counting_error: the possible error of ``counted_in_system``.
        stood_still_s: the longest stall of a worker.
        worker_cpu: the busiest worker's mean CPU share of one core in the time that asks most of it: see
            :func:`lab.analysis.observations.busiest_span_s`.
        workers_cpu: the share that all workers on this machine used of the cores that they can be on at once; None if
            unknown, as where the generator has no cores of its own.
        ceiling_rps: the generator's ceiling for this kind of request; None if unknown.
        remote: whether workers on other machines sent requests too, of which no ceiling is known.
        open_loop: whether requests are sent independently of the answers.
        unstamped: right answers of which the system did not say when they arrived: their latencies end when the worker
            got to them, however long they had waited for it.
        over_tls: whether requests were sent over TLS.
        has_idle_time: whether it is a load of which the idle time of users is counted, or whether they were parked.
        clock_step_s: the largest step of a worker's clock during the load.
        peak_rps: requests a second in the time that asks most of the generator: as a ramp of rates ended, while all
            users of a closed loop were there, or as long as an open loop was planned; 0 where that is not known, and of
            bursts and loads in windows.
        outlasted_s: how long the load went on after its last send, beyond p99 of its latencies: see
            :func:`lab.analysis.observations.outlasted_s`.

    """

    counted_in_system: float | None = None
    awaiting_dispatch: float = 0.0
    idle_s: float | None = None
    pausing_users: bool = False
    parked_share: float | None = None
    counting_error: float = 0.0
    stood_still_s: float = 0.0
    worker_cpu: float | None = None
    workers_cpu: float | None = None
    ceiling_rps: float | None = None
    remote: bool = False
    open_loop: bool = False
    unstamped: int = 0
    over_tls: bool = False
    has_idle_time: bool = False
    clock_step_s: float = 0.0
    peak_rps: float = 0.0
    outlasted_s: float = 0.0


@dataclass(frozen=True)
class Interference:
    """Interference by other programs on this machine.

    Attributes:
        foreign_cpu: the share of the machine's CPU that other programs used; None if unknown.
        foreign_cores: by owner, the share of its cores that other programs used, such as ``{"generator": 0.5}``; empty
            if all cores were shared.
        crowded: the share of seconds in which what shares the generator's cores kept them busy while the service was
            not; None if it was not read, or nothing shares them.
        beside: by name, the cores that each component on the generator's cores used, such as ``{"mysql": 0.45}``.
        others: other runs of this lab that were measuring at the same time.
        idle_services: the share of the service's cores that the other services used which were up, and not loaded; None
            where there were none.
        paused: the share of the load's time in which the machine itself stood still, as its host gave it none; None
            where nobody watched.
        longest_pause_s: the longest of these times.
        paused_in_p99_s: what they added to p99 of a load that should be steady; 0 of any other.
        shared_cores: whether nobody had cores of its own, so that neither pauses nor the speed of cores were read.
        untracked: packets of new connections, whosever they were, that the kernel dropped as it could not track more.
        unread_cores: the owners of cores that could not be read, or not for a second.

    """

    foreign_cpu: float | None = None
    foreign_cores: Mapping[str, float] = field(default_factory=dict)
    crowded: float | None = None
    beside: Mapping[str, float] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    idle_services: float | None = None
    paused: float | None = None
    longest_pause_s: float = 0.0
    paused_in_p99_s: float = 0.0
    shared_cores: bool = False
    untracked: int = 0
    unread_cores: tuple[str, ...] = ()

    @property
    def was_seen(self) -> bool:
        """Whether it is known what other programs used."""
        return bool(self.foreign_cores) or self.foreign_cpu is not None


@dataclass(frozen=True)
class Steadiness:
    """Changes within a load that should be steady from beginning to end; 0 where noise may explain them.

    Attributes:
        latency_change: relative change of the latency of pieces of the load, of their medians or means, whichever
            changed more; 0.2 where it rose by 20 %.
        throughput_change: the same of a closed loop's throughput.
        cpu_change: the same of the service's CPU time a request, where the CPU decides.
        cpu_used_change: the same of the CPU that the service used, in a load whose users never pause.
        both_sides_busy_change: the same of how busy the cores of service and generator were together, with all that ran
            on them; 0 where they did not change alike, and of what took turns.
        slowed: by owner, how much slower its cores themselves became; without owners whose cores' speed was not read
            often enough. Where the CPU decides, the first three are corrected for how slow they were on average at
            each moment.
        cores_busy: by owner, how many of its cores were busy on average with programs and interrupts, whosever they
            were; without owners of which that was not read.
        shared_change: by how much the latency, median or mean, changed besides, as did that of the variants that took
            turns with it.
        queue_growth: by how much latency still rose within the windows of an open loop, from their second third to
            their last.
        stalled_s: the longest time for which the service answered nobody, beyond the usual latency.
        collecting_s: for how long its garbage collector may have paused it meanwhile, by the readings; of several nodes
            one of them. 0 where it is not known, as in older runs, so that it explains nothing; nothing judges those
            again.
        settled: whether latency and throughput came to a level within the load, or to one that only the speed of the
            cores, or what all that took turns met, changed.
        course: what these make of the load: see :data:`Course`; empty where nothing was judged.
        detectable_change: the least change of latency and throughput that their noise would not have hidden; 1 where it
            may have hidden any, None in older runs, and where too little was read to say.
        not_judged: why nothing of that could be judged; empty if it was.

    """

    latency_change: float = 0.0
    throughput_change: float = 0.0
    cpu_change: float = 0.0
    cpu_used_change: float = 0.0
    both_sides_busy_change: float = 0.0
    slowed: Mapping[str, float] = field(default_factory=dict)
    cores_busy: Mapping[str, float] = field(default_factory=dict)
    shared_change: float = 0.0
    queue_growth: float = 0.0
    stalled_s: float = 0.0
    collecting_s: float = 0.0
    settled: bool = True
    course: Course | Literal[""] = ""
    detectable_change: float | None = None
    not_judged: str = ""


@dataclass(frozen=True)
class ServiceState:
    """The state of the service: warm-up, garbage collection, limits in force.

    Attributes:
        entry: whether it is a service that the lab started, an attached one, or a program.
        warm_up: one row a round: see :meth:`lab.telemetry.actuator.CpuTimes.since`, and ``users``.
        warm: whether the CPU cost of a request had settled, or, where the CPU decides, the compiler rested.
        gc_share: the share of the load's time in garbage collection pauses; None if unknown.
        limits_read: whether the running service was asked for its limits.
        limits_broken: limits whose value in the running service is not the one that was set.
        cpu_decides: whether the service's CPU decides: see :attr:`lab.spec.plan.Plan.cpu_decides`.
        slow_connects: connections that took as long as a lost packet costs.
        warm_up_before: the rounds for earlier loads of the same start; in older runs they are the first of ``warm_up``.
        silent: of several nodes and their balancer, by name, from when to when one answered nothing, in seconds since
            the planned start: see :func:`lab.analysis.silence.silent_spans`.
        backlog_set: whether the listen backlog is the lab's; connections that the server's own is too short for are its
            property, and no fault of a measurement.
        stopped_s: the longest time in which its process did not run: see :func:`lab.analysis.hiccups.longest_stop_s`;
            None if that is not known, as in older runs.
        cpu_share: the share of its cores that it used in a load that should be steady; None if unknown, or of others.
        request_cpu_us: the CPU time of a request in the load, in microseconds; None if unknown, as in older runs.

    """

    entry: Entry = "service"
    warm_up: tuple[Mapping[str, float], ...] = ()
    warm: bool = False
    gc_share: float | None = None
    limits_read: bool = False
    limits_broken: tuple[str, ...] = ()
    cpu_decides: bool = False
    slow_connects: int = 0
    warm_up_before: tuple[Mapping[str, float], ...] = ()
    silent: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    backlog_set: bool = True
    stopped_s: float | None = None
    cpu_share: float | None = None
    request_cpu_us: float | None = None

    @property
    def rounds(self) -> int:
        """How many rounds have warmed it up for this load; where it had none of its own, those for earlier ones."""
        return len(self.warm_up or self.warm_up_before)


@dataclass(frozen=True)
class Ending:
    """Why a measurement was cut short, if it was.

    Attributes:
        component_errors: the processes that died, and other failures.
        interrupted: whether Ctrl-C, a signal, or an error that is no component's ended it.

    """

    component_errors: tuple[str, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True)
class Monitoring:
    """How well what reads metrics could read them: evidence on the monitoring, which no check judges.

    Attributes:
        scrapes: by part, those of Prometheus, with the fields of :class:`lab.telemetry.scrapes.Scrapes`; empty where
            there was none.
        gaps: how many of the lab's own readings of the service, once a second, got no page.
        prometheus_lost: why its series are not known, such as ``was killed by SIGKILL``; empty if they are.

    """

    scrapes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    gaps: int = 0
    prometheus_lost: str = ""


@dataclass(frozen=True)
class Evidence:
    """All evidence on one cell. As JSON it is flat: no two parts have a field of the same name."""

    counts: Counts = Counts()
    generator: GeneratorState = GeneratorState()
    interference: Interference = Interference()
    steadiness: Steadiness = Steadiness()
    service: ServiceState = ServiceState()
    ending: Ending = Ending()
    monitoring: Monitoring = Monitoring()

    def as_json(self) -> dict[str, Any]:
        """A flat dictionary of JSON types."""
        return {name: value for part in asdict(self).values() for name, value in part.items()}

    @staticmethod
    def read(stored: Mapping[str, Any]) -> Evidence:
        """Evidence as some version of the lab stored it; fields that are no more are left out."""
        known = {f.name for part in fields(Evidence) for f in fields(getattr(Evidence, part.name))}
        return Evidence.from_fields(**{name: value for name, value in stored.items() if name in known})

    @staticmethod
    def from_fields(**values: Any) -> Evidence:
        """Evidence from the flat fields of :meth:`as_json`; those not given have their defaults."""

        def part(kind: Any) -> Any:
            return kind(**{f.name: values.pop(f.name) for f in fields(kind) if f.name in values})

        found = Evidence(
            part(Counts),
            part(GeneratorState),
            part(Interference),
            part(Steadiness),
            part(ServiceState),
            part(Ending),
            part(Monitoring),
        )
        if values:
            raise TypeError(f"no part of the evidence has {', '.join(values)}")
        return found
