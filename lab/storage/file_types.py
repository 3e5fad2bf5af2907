"""The types of the values in a run's JSON files, which are checked wherever one is read.

Fields may be missing, as older versions of the lab did not store all of them, unless whatever reads the file needs
them. Fields that no part of the lab reads are not checked, and a file without types here by what reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from lab.spec.system import Entry
from lab.storage.json_file import damaged, read_json

# No count, size or rate is larger, and no figure is "not a number"; arithmetic with these cannot overflow.
MOST = 10**18
# No load takes three years; arrays are made with a value for each second of it.
MOST_S = 1e8

Count = Annotated[int, Meta(ge=0, le=MOST)]
Number = Annotated[float, Meta(ge=-MOST, le=MOST)]
Seconds = Annotated[float, Meta(ge=-MOST_S, le=MOST_S)]
NotNegative = Annotated[float, Meta(ge=0, le=MOST)]
Known = Number | None
Range = tuple[Count, Count]
Verdict = Literal["valid", "suspect", "invalid"]


class _Times(TypedDict, total=False):
    """See :class:`lab.formulas.breakdown.Times`."""

    mean_s: Known
    p50_s: Known
    p95_s: Known
    p99_s: Known
    p999_s: Known
    max_s: Known


class _Name(_Times):
    """See :class:`lab.formulas.breakdown.NameSummary`."""

    name: str
    method: NotRequired[str]
    requests: NotRequired[Count]
    failed: NotRequired[Count]
    fallbacks: NotRequired[Count]
    throughput_rps: NotRequired[Number]


class _Sessions(TypedDict, total=False):
    """See :class:`lab.formulas.breakdown.SessionSummary`."""

    begun: Count
    complete: Count
    failed: Count
    stopped: Count
    cut: Count
    stopped_at: dict[str, Count]
    never_sent: Count | None
    requests: Known
    steps: _Times
    wall: _Times
    think: _Times


class _RampWindow(TypedDict):
    """See :func:`lab.formulas.ramp.outcomes`."""

    from_s: Seconds
    to_s: Seconds
    offered: Count
    right: Count
    fallback: Count
    refused: Count
    failed: Count
    mean_s: Known
    answered_rps: Number


class _Knee(TypedDict):
    """See :class:`lab.formulas.ramp.Knee`."""

    rate: Number
    low: Number
    high: Number
    at_s: Seconds
    beyond: Number
    collapse_rps: NotRequired[Known]


class _Waiting(TypedDict, total=False):
    """See :func:`lab.analysis.waiting_cost.waiting_cost`."""

    in_flight: Number
    threads: Number
    heap_bytes: Number
    native_bytes: Number


class _Ramp(TypedDict):
    """See :class:`lab.analysis.ramps.RampResult`."""

    windows: list[_RampWindow]
    knee: _Knee | None
    kept_rps: Known
    before_knee_s: Known
    prompt_share: Known
    waiting: _Waiting
    requests_a_session: NotRequired[Number]


class _Pool(TypedDict, total=False):
    """See :func:`lab.analysis.service_cost.of_pools`."""

    limit: Known
    in_use: Known
    wait: Known
    acquire_s: Known


class _Summary(TypedDict, total=False):
    """See :class:`lab.formulas.stats.Summary`, and what :mod:`lab.running.concluding` adds to it."""

    requests: Count
    errors: dict[str, Count]
    mean_s: Known
    min_s: Known
    p50_s: Known
    p90_s: Known
    p95_s: Known
    p99_s: Known
    p999_s: Known
    max_s: Known
    service_mean_s: Known
    service_p50_s: Known
    service_p99_s: Known
    service_p999_s: Known
    all_mean_s: Known
    all_p50_s: Known
    all_p90_s: Known
    all_p99_s: Known
    all_p999_s: Known
    throughput_rps: Number
    ok_throughput_rps: Number
    elapsed_s: Seconds
    began_s: Seconds
    in_system: Number
    late_mean_s: Number
    late_p99_s: Number
    late_p999_s: Known
    late_max_s: Number
    busy_p99_s: Number
    pace: Number
    by_name: list[_Name]
    sessions: _Sessions
    cpu_s: Known
    cpu_s_per_1000_requests: Known
    cpu_s_per_1000_right: Known
    memory_bytes: Known
    jvm_bytes: Known
    jvm_bytes_per_1000_right: Known
    heap_bytes: Known
    heap_bytes_per_1000_right: Known
    gc_pause_s: Known
    gc_pause_s_per_1000_right: Known
    jit_share: Known
    yardstick_s: Known
    neighbours_cpu: Known
    generator_cpu_s_per_1000_requests: Known
    pool_in_use: Known
    pool_wait: Known
    pool_acquire_s: Known
    pools: dict[str, _Pool]
    execution_cpu_s: Known
    start_s: Known
    peak_bytes: Known
    most_threads: Known
    read_bytes: Known
    ramp: _Ramp
    predicted_mean_s: Known
    verdict: Verdict
    reasons: list[str]


class _Round(TypedDict, total=False):
    """A round of the warm-up: see :meth:`lab.telemetry.actuator.CpuTimes.since`."""

    requests: Count
    elapsed_s: Number
    cpu_us_per_request: Known
    jit_share: Known
    users: Count


class _Scrapes(TypedDict):
    """See :class:`lab.telemetry.scrapes.Scrapes`."""

    due: Count
    missed: Count
    skipped: Count
    late: Count
    longest_s: Number
    samples: Number


class _Evidence(TypedDict, total=False):
    """See :class:`lab.analysis.evidence.Evidence`; a change without a limit may be infinite."""

    planned: Count | None
    begun: Count
    finished: Count
    sent_again: Count
    whole: bool
    served: Count | None
    succeeded: Count | None
    succeeded_expected: Range | None
    answers: dict[str, Count]
    answers_expected: dict[str, Range]
    calls: dict[str, Count]
    calls_expected: dict[str, Range]
    called_services: list[str]
    unknown_names: list[str]
    planned_sessions: Count | None
    sessions: Count
    windows: Count
    nodes: dict[str, Count]
    received: Count | None
    passed_on: dict[str, Count]
    refused: Count
    counted_in_system: Known
    awaiting_dispatch: Number
    idle_s: Known
    pausing_users: bool
    parked_share: Known
    counting_error: float
    stood_still_s: Number
    worker_cpu: Known
    workers_cpu: Known
    ceiling_rps: Known
    remote: bool
    open_loop: bool
    unstamped: Count
    over_tls: bool
    has_idle_time: bool
    clock_step_s: Number
    peak_rps: Number
    outlasted_s: Number
    foreign_cpu: Known
    foreign_cores: dict[str, Number]
    crowded: Known
    beside: dict[str, Number]
    others: list[str]
    idle_services: Known
    paused: Known
    longest_pause_s: Number
    paused_in_p99_s: Number
    shared_cores: bool
    untracked: Count
    unread_cores: list[str]
    latency_change: float
    throughput_change: float
    cpu_change: float
    cpu_used_change: float
    both_sides_busy_change: float
    slowed: dict[str, float]
    cores_busy: dict[str, Number]
    shared_change: float
    queue_growth: float
    stalled_s: Number
    collecting_s: Number
    settled: bool
    course: str
    detectable_change: float | None
    not_judged: str
    entry: Entry
    warm_up: list[_Round]
    warm: bool
    gc_share: Known
    limits_read: bool
    limits_broken: list[str]
    cpu_decides: bool
    slow_connects: Count
    backlog_set: bool
    warm_up_before: list[_Round]
    silent: dict[str, tuple[Number, Number]]
    stopped_s: Known
    cpu_share: Known
    request_cpu_us: Known
    component_errors: list[str]
    interrupted: bool
    scrapes: dict[str, _Scrapes]
    gaps: Count
    prometheus_lost: str


class _Timing(TypedDict, total=False):
    """How long a cell took in all."""

    elapsed_s: Seconds | None


class _Window(TypedDict):
    """See :class:`lab.spec.window.Window`, and :func:`lab.analysis.window_figures.of_windows`."""

    number: Count
    place: NotRequired[Count]
    unix_start: Number
    began_s: NotRequired[Seconds]
    length_s: NotRequired[Seconds]
    elapsed_s: Seconds
    requests: NotRequired[Count]
    failed: NotRequired[Count]
    served: NotRequired[Count | None]
    ok_throughput_rps: NotRequired[NotNegative | None]
    mean_s: NotRequired[NotNegative | None]
    p50_s: NotRequired[NotNegative | None]
    p99_s: NotRequired[NotNegative | None]
    cpu_s_per_1000_requests: NotRequired[NotNegative | None]
    cores_used: NotRequired[NotNegative | None]
    paused_s: NotRequired[NotNegative]
    yardstick_s: NotRequired[NotNegative | None]
    generator_yardstick_s: NotRequired[NotNegative | None]


class _Windows(TypedDict, total=False):
    """The windows of a load in turns."""

    windows: list[_Window]


class _Limits(TypedDict, total=False):
    """Those of the limits that are calculated with; others are shown as they are."""

    cpus: Number | None
    request_threads_max: Number | None
    pool_max: Number | None
    nodes: Count


class _Ceiling(TypedDict):
    """See :class:`lab.generator.calibration.Ceiling`."""

    kind: str
    rps: Number
    limited_by: NotRequired[str]
    workers: NotRequired[Count]


class _Calibration(TypedDict, total=False):
    """See :class:`lab.generator.calibration.Calibration`."""

    ceilings: list[_Ceiling]


class _Environment(TypedDict, total=False):
    """What commands calculate with; other facts are shown, or compared, as they are."""

    cores: int | None
    generator_cores: list[int] | None
    service_cores: list[int] | None
    calibration: _Calibration | None
    runtime: str
    together: list[str]
    different: list[str]


class _Run(TypedDict, total=False):
    """What is beside the plan; that of the owner is read even where it is damaged."""

    command: list[Any]


class _Component(TypedDict):
    """A service that the service calls."""

    cores: list[int]
    limits: dict[str, Any]


# The files in a cell's folder that have types.
OF_A_CELL = ("summary", "evidence", "timing", "windows", "limits")
# By the name of a file, what its object has to fit.
TYPES: Mapping[str, Any] = {
    "summary": _Summary,
    "evidence": _Evidence,
    "timing": _Timing,
    "windows": _Windows,
    "limits": _Limits,
    "run": _Run,
    "environment": _Environment,
    "environment-resume": _Environment,
    "components": dict[str, _Component],
}


def read(path: Path) -> dict[str, Any]:
    """Read a JSON object; LabError if it is missing or damaged, with the place where a value has another type."""
    value = read_json(path)
    try:
        msgspec.convert(value, TYPES.get(re.sub(r"-\d+$", "", path.stem), dict[str, Any]))
    except msgspec.ValidationError as error:
        what, _, where = str(error).replace("`", "").partition(" - at $")
        raise damaged(path, f"{where.lstrip('.')}: {what}" if where else what) from None
    return value
