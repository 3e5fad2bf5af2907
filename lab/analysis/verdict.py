"""Is a measurement to be believed? Valid, suspect or invalid, with reasons that a person understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lab.analysis import checks
from lab.formulas.stats import Summary

VALID, SUSPECT, INVALID = "valid", "suspect", "invalid"

# Above these shares of one core a Locust worker delays its own sends and its own clock readings.
WORKER_CPU_SUSPECT, WORKER_CPU_INVALID = 0.70, 0.90
# How late the latest 1 % of the planned sends may be: in seconds, or as a share of the mean latency if that is more.
LATE_SUSPECT_S, LATE_SUSPECT_SHARE = 0.050, 0.02
LATE_INVALID_S, LATE_INVALID_SHARE = 0.250, 0.10
# At which part of the rate that was asked for an open loop may have been sent.
PACE_SUSPECT, PACE_INVALID = 0.95, 0.90
# Little's law: how far N counted 20 times a second may be from X·R by the samples; the counting itself errs by some.
LITTLE_SHARE, LITTLE_SLACK = 0.05, 1.0
FAILED_SUSPECT_SHARE = 0.001
# Drivers and the lab's own counting ask a database something when they connect.
OWN_QUERIES = 10
# One collection of a few hundred megabytes in a load of three seconds is what it costs; more says that memory is short.
GC_SUSPECT_SHARE = 0.25
# Answers that came, but wrong: whatever was measured, it was not the scenario.
WRONG = ("wrong body", "malformed", "truncated")


@dataclass
class Evidence:
    """What is known of a cell besides its samples.

    Attributes:
        planned: requests the load should have sent; None where a duration decides.
        begun: requests the workers say they sent.
        finished: requests the workers say were answered or failed.
        whole: whether every worker reported the end of its part.
        served: requests the service counted meanwhile; None if it did not say.
        queries: what the databases answered meanwhile; None if there is none, or it does not count.
        counted_in_system: N, mean requests under way as the workers counted them; None if they did not.
        untaken: of these, how many had their answer already, which a worker had not come round to.
        counting_error: by how much ``counted_in_system`` may err.
        stood_still_s: the longest time in which a worker did nothing, not even count.
        worker_cpu: the busiest worker's mean use of its core during the load, 1.0 being all of it.
        foreign_cpu: the part of the machine that other programs took meanwhile; None if unknown.
        taken: the part of whose cores other programs took, such as ``{"generator": 0.5}``; empty if nobody had cores of
            their own.
        ceiling_rps: the most such requests a second that the generator can send; None if that is not known.
        clock_step_s: by how much a worker's clock was set during the load.
        latency_fall: by which part latency fell from the first to the last second of a steady load; the same for the
            service's CPU time a request, where the CPU decides.
        drift: by which part throughput in the second half of a closed loop differs from the first; None if unknown.
        slowed: by which part whose cores themselves were slower in the second half, where the CPU decides; these three
            have that taken out.
        warm_up: one row a round: see :meth:`lab.telemetry.actuator.Effort.since`, and ``users``.
        warm: whether what a request costs had settled.
        gc_share: the part of the load's time that the service's garbage collector stopped it; None if unknown.
        limits_broken: limits that the running service states otherwise than was asked.
        casualties: what died or failed.
        interrupted: whether the person at the keyboard ended it.
        others: other runs of this lab that were measuring at the same time.

    """

    planned: int | None = None
    begun: int = 0
    finished: int = 0
    whole: bool = False
    served: int | None = None
    queries: int | None = None
    counted_in_system: float | None = None
    untaken: float = 0.0
    counting_error: float = 0.0
    stood_still_s: float = 0.0
    worker_cpu: float | None = None
    foreign_cpu: float | None = None
    taken: dict[str, float] = field(default_factory=dict)
    ceiling_rps: float | None = None
    clock_step_s: float = 0.0
    latency_fall: float = 0.0
    cpu_fall: float = 0.0
    drift: float | None = None
    slowed: dict[str, float] = field(default_factory=dict)
    warm_up: list[dict[str, float]] = field(default_factory=list)
    warm: bool = False
    gc_share: float | None = None
    limits_broken: list[str] = field(default_factory=list)
    casualties: list[str] = field(default_factory=list)
    interrupted: bool = False
    others: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types that ``Evidence(**…)`` takes back."""
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """``valid``, ``suspect`` or ``invalid``, and why it is not valid."""

    word: str
    reasons: tuple[str, ...]


def judge(evidence: Evidence, summary: Summary, answered: int) -> Verdict:
    """Weigh everything that is known of one cell.

    Args:
        answered: samples that hold an answer of the service, right or wrong.

    """
    invalid = [*_broke_off(evidence), *_lost(evidence, summary, answered), *_wrong(summary)]
    invalid += [f"A limit did not take: {limit}." for limit in evidence.limits_broken]
    invalid += checks.clock(evidence.clock_step_s)
    failed, suspect = _failed(summary), _unsettled(evidence)
    (suspect if sum(summary.errors.values()) < summary.requests else invalid).extend(failed)
    suspect += checks.unsteady(evidence.latency_fall, evidence.cpu_fall, evidence.drift)
    suspect += checks.slowed(evidence.slowed)
    suspect += checks.taken(evidence.taken, evidence.foreign_cpu)
    near = checks.ceiling(summary.throughput_rps, evidence.ceiling_rps)
    still = checks.stood_still(evidence.stood_still_s)
    for reason, severe in [
        *_late(summary),
        *_short_of_users(summary),
        *_slow(summary),
        *_busy(evidence),
        *near,
        *still,
    ]:
        (invalid if severe else suspect).append(reason)
    if summary.requests:
        invalid += _little(evidence, summary)
    word = INVALID if invalid else SUSPECT if suspect else VALID
    return Verdict(word, (*invalid, *suspect))


def worst(words: list[str]) -> str:
    """The worst of several verdicts."""
    return max(words, key=(VALID, SUSPECT, INVALID).index, default=INVALID)


def broken_limits(promised: Mapping[str, Any], stated: Mapping[str, Any]) -> list[str]:
    """Limits that a running service states otherwise than was asked, one sentence part each."""
    return [
        f"{name} is {_value(stated[name]) if name in stated else 'not stated'}, asked was {_value(asked)}"
        for name, asked in promised.items()
        if stated.get(name, "not stated") != asked
    ]


def _value(limit: Any) -> str:
    return "unlimited" if limit is None else str(limit)


def _broke_off(evidence: Evidence) -> list[str]:
    reasons = list(evidence.casualties)
    if evidence.interrupted:
        reasons.append("It was interrupted before it was over.")
    return reasons


def _lost(evidence: Evidence, summary: Summary, answered: int) -> list[str]:
    reasons = []
    if not summary.requests and not evidence.planned:
        reasons.append("Nothing was measured.")
    if evidence.planned is not None and evidence.begun < evidence.planned:
        reasons.append(f"Only {evidence.begun:,} of {evidence.planned:,} planned requests were sent.")
    if summary.requests != evidence.finished and evidence.whole:
        reasons.append(
            f"The workers finished {evidence.finished:,} requests, but {summary.requests:,} samples arrived."
        )
    if evidence.whole and evidence.served is not None and not answered <= evidence.served <= evidence.begun:
        reasons.append(f"The service counted {evidence.served:,} requests, the samples hold {answered:,} answers.")
    if (
        evidence.whole
        and evidence.queries is not None
        and not answered <= evidence.queries <= evidence.begun + OWN_QUERIES
    ):
        reasons.append(f"The database counted {evidence.queries:,} queries for {answered:,} answers, not one for each.")
    return reasons


def _wrong(summary: Summary) -> list[str]:
    wrong = {name: count for name, count in summary.errors.items() if name in WRONG}
    return [f"{count:,} of {summary.requests:,} answers were bad ({name})." for name, count in wrong.items()]


def _failed(summary: Summary) -> list[str]:
    failed = {name: count for name, count in summary.errors.items() if name not in WRONG}
    total = sum(failed.values())
    if total <= FAILED_SUSPECT_SHARE * summary.requests:
        return []
    classes = ", ".join(f"{name} {count:,}" for name, count in failed.items())
    left = "the latencies are those of the survivors" if total < summary.requests else "nothing was answered rightly"
    return [f"{total:,} of {summary.requests:,} requests failed ({classes}): {left}."]


def _unsettled(evidence: Evidence) -> list[str]:
    reasons = []
    if evidence.warm_up and not evidence.warm:
        reasons.append(
            f"The service was not warm after {len(evidence.warm_up)} rounds: the cost of a request still moved."
        )
    if evidence.gc_share is not None and evidence.gc_share > GC_SUSPECT_SHARE:
        reasons.append(
            f"The garbage collector stopped the service for {evidence.gc_share:.0%} of the time: raise --heap-mb."
        )
    if evidence.others:
        reasons.append(f"Another run measured on this machine at the same time ({', '.join(evidence.others)}).")
    return reasons


def _late(summary: Summary) -> list[tuple[str, bool]]:
    mean, late = summary.mean_s or 0.0, summary.late_p99_s
    if late <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * mean):
        return []
    severe = late > max(LATE_INVALID_S, LATE_INVALID_SHARE * mean)
    return [
        (
            f"The generator was late: 1 % of the requests were sent {late * 1000:.0f} ms or more after their time.",
            severe,
        )
    ]


def _short_of_users(summary: Summary) -> list[tuple[str, bool]]:
    """An open loop can only be late without the generator's fault if nobody was free to send."""
    if summary.busy_p99_s <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * (summary.mean_s or 0.0)):
        return []
    waited = f"1 % of the requests waited {summary.busy_p99_s * 1000:,.0f} ms or more until one was free"
    return [(f"All users were busy: {waited}, so the load was not the one asked for: raise --users.", False)]


def _slow(summary: Summary) -> list[tuple[str, bool]]:
    if summary.pace >= PACE_SUSPECT:
        return []
    return [(f"Requests were sent at {summary.pace:.0%} of the planned rate only.", summary.pace < PACE_INVALID)]


def _busy(evidence: Evidence) -> list[tuple[str, bool]]:
    cpu = evidence.worker_cpu
    if cpu is None or cpu <= WORKER_CPU_SUSPECT:
        return []
    return [(f"A Locust worker used {cpu:.0%} of its core: add --workers or cores.", cpu > WORKER_CPU_INVALID)]


def _little(evidence: Evidence, summary: Summary) -> list[str]:
    counted, implied = evidence.counted_in_system, summary.in_system + evidence.untaken
    if counted is None or abs(counted - implied) <= max(LITTLE_SLACK + evidence.counting_error, LITTLE_SHARE * implied):
        return []
    return [f"Little's law is broken: {counted:.1f} requests were under way on average, X·R gives {implied:.1f}."]
