"""The verdict on a measurement: valid, suspect or invalid, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.analysis import checks
from lab.analysis.evidence import Counts, Evidence
from lab.formulas.stats import Summary

VALID, SUSPECT, INVALID = "valid", "suspect", "invalid"

# Above these shares of one core a Locust worker delays its own sends and its own clock readings.
WORKER_CPU_SUSPECT, WORKER_CPU_INVALID = 0.70, 0.90
# How late the latest 1 % of the planned sends may be: in seconds, or as a share of the mean latency if that is more.
LATE_SUSPECT_S, LATE_SUSPECT_SHARE = 0.050, 0.02
LATE_INVALID_S, LATE_INVALID_SHARE = 0.250, 0.10
# The least share of the planned rate at which an open loop may have been sent.
PACE_SUSPECT, PACE_INVALID = 0.95, 0.90
# Little's law: how far N counted 20 times a second may be from X·R by the samples; the count has an error of its own.
LITTLE_SHARE, LITTLE_SLACK = 0.05, 1.0
FAILED_SUSPECT_SHARE = 0.001
# Queries by drivers and by the lab's own counting, when they connect.
OWN_QUERIES = 10
# One collection of a few hundred megabytes in a load of three seconds is normal; more is a sign of too small a heap.
GC_SUSPECT_SHARE = 0.25
# Classes of wrong answers: with them it is not the scenario that was measured.
WRONG = ("wrong body", "malformed", "truncated")


@dataclass(frozen=True)
class Verdict:
    """``valid``, ``suspect`` or ``invalid``, and why it is not valid."""

    word: str
    reasons: tuple[str, ...]


def judge(evidence: Evidence, summary: Summary, answered: int) -> Verdict:
    """The verdict on one cell, from all of its evidence.

    Args:
        answered: samples that hold an answer of the service, right or wrong.

    """
    invalid = [*_broke_off(evidence), *_lost(evidence, summary, answered), *_wrong(summary)]
    invalid += [f"A limit is not in force: {limit}." for limit in evidence.service.limits_broken]
    invalid += checks.clock(evidence.generator.clock_step_s)
    failed, suspect = _failed(summary), _unsettled(evidence)
    (suspect if sum(summary.errors.values()) < summary.requests else invalid).extend(failed)
    suspect += checks.unsteady(
        evidence.steadiness.latency_fall, evidence.steadiness.cpu_fall, evidence.steadiness.drift
    )
    suspect += checks.slowed(evidence.steadiness.slowed)
    suspect += checks.foreign_load(evidence.interference.foreign_cores, evidence.interference.foreign_cpu)
    near = checks.ceiling(summary.throughput_rps, evidence.generator.ceiling_rps)
    still = checks.stood_still(evidence.generator.stood_still_s)
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
    """The limits whose reported value is not the promised one, one sentence part each."""
    return [
        f"{name} is {_value(stated[name]) if name in stated else 'not reported'} instead of {_value(asked)}"
        for name, asked in promised.items()
        if stated.get(name, "not stated") != asked
    ]


def _value(limit: Any) -> str:
    return "unlimited" if limit is None else str(limit)


def _broke_off(evidence: Evidence) -> list[str]:
    reasons = list(evidence.ending.component_errors)
    if evidence.ending.interrupted:
        reasons.append("The measurement was interrupted.")
    return reasons


def _lost(evidence: Evidence, summary: Summary, answered: int) -> list[str]:
    reasons = []
    if not summary.requests and not evidence.counts.planned:
        reasons.append("Nothing was measured.")
    if evidence.counts.planned is not None and evidence.counts.begun < evidence.counts.planned:
        reasons.append(f"Only {evidence.counts.begun:,} of {evidence.counts.planned:,} planned requests were sent.")
    planned, begun = evidence.counts.planned_sessions, evidence.counts.sessions
    if planned is not None and begun < planned:
        reasons.append(f"Only {begun:,} of {planned:,} planned sessions were begun.")
    if summary.requests != evidence.counts.finished and evidence.counts.whole:
        reasons.append(
            f"The workers finished {evidence.counts.finished:,} requests, but {summary.requests:,} samples arrived."
        )
    if (
        evidence.counts.whole
        and evidence.counts.served is not None
        and not answered <= evidence.counts.served <= evidence.counts.begun
    ):
        reasons.append(
            f"The service counted {evidence.counts.served:,} requests, the samples hold {answered:,} answers."
        )
    return reasons + _miscounted(evidence.counts, answered)


def _miscounted(counts: Counts, answered: int) -> list[str]:
    """A reason for each component that counted fewer calls than the answers need, or more than all requests make.

    A wrong answer must have made its calls too: one that did not is another request than the one that is measured.
    """
    reasons = []
    for name, counted in counts.calls.items() if counts.whole else ():
        each = counts.calls_per_request.get(name, 1)
        if not each * answered <= counted <= each * counts.begun + OWN_QUERIES:
            wanted = "one" if each == 1 else f"{each:,}"
            reasons.append(f"{name} counted {counted:,} calls for {answered:,} answers, not {wanted} for each.")
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
    left = "latencies are of the others only" if total < summary.requests else "there was no right answer"
    return [f"{total:,} of {summary.requests:,} requests failed ({classes}): {left}."]


def _unsettled(evidence: Evidence) -> list[str]:
    service, reasons = evidence.service, []
    if evidence.service.warm_up and not evidence.service.warm:
        reasons.append(
            f"The service was not warm after {len(evidence.service.warm_up)} rounds: CPU time a request still changed."
        )
    if service.gc_share is not None and service.gc_share > GC_SUSPECT_SHARE:
        reasons.append(
            f"The garbage collector stopped the service for {service.gc_share:.0%} of the time: raise --heap-mb."
        )
    if evidence.interference.others:
        reasons.append(
            f"Another run measured on this machine at the same time ({', '.join(evidence.interference.others)})."
        )
    return reasons


def _late(summary: Summary) -> list[tuple[str, bool]]:
    mean, late = summary.mean_s or 0.0, summary.late_p99_s
    if late <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * mean):
        return []
    severe = late > max(LATE_INVALID_S, LATE_INVALID_SHARE * mean)
    return [
        (
            f"The generator was late: 1 % of the requests were sent {late * 1000:.0f} ms or more after their plan.",
            severe,
        )
    ]


def _short_of_users(summary: Summary) -> list[tuple[str, bool]]:
    """A reason where an open loop's requests were late because all users were busy."""
    if summary.busy_p99_s <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * (summary.mean_s or 0.0)):
        return []
    waited = f"1 % of the requests waited {summary.busy_p99_s * 1000:,.0f} ms or more for a free user"
    return [(f"All users were busy: {waited}, so the load was not the planned one: raise --users.", False)]


def _slow(summary: Summary) -> list[tuple[str, bool]]:
    if summary.pace >= PACE_SUSPECT:
        return []
    return [(f"Requests were sent at {summary.pace:.0%} of the planned rate only.", summary.pace < PACE_INVALID)]


def _busy(evidence: Evidence) -> list[tuple[str, bool]]:
    cpu = evidence.generator.worker_cpu
    if cpu is None or cpu <= WORKER_CPU_SUSPECT:
        return []
    return [(f"A Locust worker used {cpu:.0%} of its core: add --workers or cores.", cpu > WORKER_CPU_INVALID)]


def _little(evidence: Evidence, summary: Summary) -> list[str]:
    counted, implied = evidence.generator.counted_in_system, summary.in_system + evidence.generator.awaiting_dispatch
    if counted is None or abs(counted - implied) <= max(
        LITTLE_SLACK + evidence.generator.counting_error, LITTLE_SHARE * implied
    ):
        return []
    return [f"Little's law is broken: {counted:.1f} requests were under way on average, X·R gives {implied:.1f}."]
