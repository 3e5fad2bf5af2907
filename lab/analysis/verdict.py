"""The verdict on a measurement: checks that passed, failed or could not be made, and what follows from them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.analysis import checks
from lab.analysis.bottleneck import CPU_FULL
from lab.analysis.evidence import Evidence
from lab.formulas import laws
from lab.formulas.stats import Summary
from lab.spec.system import Entry, command_of

VALID, SUSPECT, INVALID = "valid", "suspect", "invalid"
# In their place, of a cell that was not measured to its end.
INCOMPLETE = "incomplete"
# The verdicts of measurements whose figures may be shown and used, the second with its reasons.
BELIEVED = (VALID, SUSPECT)

# Above these shares of one core a Locust worker delays its own sends and its own clock readings; so do several workers
# above these shares of the cores that they have together.
WORKER_CPU_SUSPECT, WORKER_CPU_INVALID = 0.70, 0.90
# How late sends may be: as a share of the latency that it falsifies, or in seconds if that is more.
LATE_SUSPECT_S, LATE_SUSPECT_SHARE = 0.001, 0.02
LATE_INVALID_S, LATE_INVALID_SHARE = 0.005, 0.10
# The latest of the sends, by which they are judged: 1 %, and of an open loop 0.1 % too, for its p99.9.
LATEST_SHARE, VERY_LATEST_SHARE = 0.01, 0.001
# Where latency counts from the actual send, what 1 % of the sends miss of their plan changes the load only.
PLAN_SUSPECT_S, PLAN_INVALID_S = 0.050, 0.250
# Compilers and collectors take turns of seconds: less does not show what a request costs.
MIN_CPU_BOUND_S = 19.5
# The least share of the planned rate at which an open loop may have been sent.
RATE_SUSPECT, RATE_INVALID = 0.95, 0.90
# Little's law: how far N counted 20 times a second may be from X·R by the samples; the count has an error of its own.
LITTLE_SHARE, LITTLE_SLACK = 0.05, 1.0
FAILED_SUSPECT_SHARE = 0.001
# Of the time of a load what was spent, after its last send, on requests that took longer than 99 % of all.
OUTLASTED_SUSPECT_SHARE = 0.05
# Queries by drivers and by the lab's own counting, when they connect, in each window.
OWN_QUERIES = 10
# One collection of a few hundred megabytes in a load of three seconds is normal; more is a sign of too small a heap.
GC_SUSPECT_SHARE = 0.25
# How the reason of the check "that requests succeeded" begins: see :func:`only_failures`.
OF_FAILURES = re.compile(r"[\d,]+ of [\d,]+ requests failed ")
# Classes of wrong answers: with them it is not the scenario that was measured.
WRONG = ("wrong body", "malformed", "truncated")
# A reason to doubt a measurement, and whether it makes it invalid.
Reason = tuple[str, bool]
ALL: tuple[Entry, ...] = ("service", "attached", "program")
LOADED: tuple[Entry, ...] = ("service", "attached")
# By what was measured, what it means that nobody had cores of its own; an attached service may be on another machine.
SHARED: Mapping[Entry, str] = {
    "service": "service and generator shared all cores",
    "attached": "the generator had no cores of its own",
    "program": "the program had all cores",
}


@dataclass(frozen=True)
class Check:
    """One check of a measurement. It passes, fails with reasons, or could not be made, and then says why.

    Attributes:
        name: what is checked, in words.
        judge: its reasons to doubt a measurement, from evidence, summary and the number of samples that hold an answer;
            none if it passes, or of what it lacks.
        lacks: why it could not be made, as the end of a sentence that begins with "as"; empty where it could.
        of: what it is a check of; others do not have it.
        essential: of what a measurement is not valid without it.

    """

    name: str
    judge: Callable[[Evidence, Summary, int], list[Reason]]
    lacks: Callable[[Evidence], str] = lambda _: ""
    of: tuple[Entry, ...] = ALL
    essential: tuple[Entry, ...] = ALL


@dataclass(frozen=True)
class Verdict:
    """``valid``, ``suspect`` or ``invalid``, and why it is not valid."""

    word: str
    reasons: tuple[str, ...]


def judge(evidence: Evidence, summary: Summary, answered: int) -> Verdict:
    """The verdict on one cell, from all of its evidence: valid if all essential checks were made and passed.

    Args:
        answered: samples that hold an answer of the service, right or wrong.

    """
    checks_of = [check for check in CHECKS if evidence.service.entry in check.of]
    reasons = [reason for check in checks_of for reason in check.judge(evidence, summary, answered)]
    invalid, suspect = ([text for text, severe in reasons if severe is which] for which in (True, False))
    if not invalid:  # else it broke off, and what could not be checked for that is no reason of its own
        suspect += not_checked(not_made(evidence, essential=True).items())
    word = INVALID if invalid else SUSPECT if suspect else VALID
    return Verdict(word, (*invalid, *suspect))


def not_made(evidence: Evidence, essential: bool = False) -> dict[str, str]:
    """The checks that could not be made, by name, each with the reason: see :attr:`Check.lacks`.

    Args:
        essential: leave out those that a valid measurement may lack.

    """
    entry = evidence.service.entry
    checked = [check for check in CHECKS if entry in check.of and (entry in check.essential or not essential)]
    return {check.name: why for check in checked if (why := check.lacks(evidence))}


def not_checked(lacking: Iterable[tuple[str, str]]) -> list[str]:
    """A sentence for each reason why checks could not be made, from pairs of a check's name and the reason."""
    because: dict[str, dict[str, None]] = {}
    for name, why in lacking:
        because.setdefault(why, {})[name] = None
    return [f"Not checked, as {why}: {', '.join(names)}." for why, names in because.items()]


def only_failures(reasons: Collection[str]) -> bool:
    """Whether reasons say no more than that requests failed, so that the count of failures itself is not in doubt."""
    return bool(reasons) and all(map(OF_FAILURES.match, reasons))


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


def _severe(reasons: list[str]) -> list[Reason]:
    return [(reason, True) for reason in reasons]


def _mild(reasons: list[str]) -> list[Reason]:
    return [(reason, False) for reason in reasons]


def _ended(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    interrupted = ["The measurement was interrupted."] * evidence.ending.interrupted
    return _severe([*evidence.ending.component_errors, *interrupted])


def _sent(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    counts, reasons = evidence.counts, []
    what = "executions were begun" if evidence.service.entry == "program" else "requests were sent"
    if not summary.requests and not counts.planned:
        reasons.append("Nothing was measured.")
    if counts.planned is not None and counts.begun < counts.planned:
        reasons.append(f"Only {counts.begun:,} of {counts.planned:,} planned {what}.")
    if counts.planned_sessions is not None and counts.sessions < counts.planned_sessions:
        reasons.append(f"Only {counts.sessions:,} of {counts.planned_sessions:,} planned sessions were begun.")
    return _severe(reasons)


def _samples_kept(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    counts = evidence.counts
    if not counts.whole and counts.begun > summary.requests:
        return _severe([f"What became of {counts.begun - summary.requests:,} requests that were sent is not known."])
    if summary.requests == counts.finished or not counts.whole:
        return []
    return _severe([f"The workers finished {counts.finished:,} requests, but {summary.requests:,} samples arrived."])


def _served(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    counts, of_service, reasons = evidence.counts, answered - evidence.counts.refused, []
    if counts.served is None or not counts.whole:
        return []
    if not of_service <= counts.served <= counts.begun:
        reasons.append(f"The service counted {counts.served:,} requests, the samples hold {of_service:,} answers.")
    if counts.succeeded is not None and counts.succeeded_expected:
        least, most = counts.succeeded_expected
        most += counts.refused  # a node may have answered what the balancer then refused
        if not least <= counts.succeeded <= most:
            held = _range(least, most)
            reasons.append(f"The service counted {counts.succeeded:,} answers of status 2xx, the samples hold {held}.")
    for kind, (least, most) in counts.answers_expected.items():
        counted = counts.answers.get(kind, 0)
        if not least <= counted <= most + counts.refused:
            held = _range(least, most)
            reasons.append(f"The service counted {counted:,} answers to {kind}, the samples hold {held}.")
    return _severe(reasons)


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _balanced(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    """Reasons where the balancer counted other requests than the samples hold, or other answers of a node than it did.

    A request that has no answer, or the balancer's own, may have reached neither, or both: by so many the counts may
    differ. Where a node has ended, with its connections, the client may have sent once more what was under way.
    """
    counts, reasons = evidence.counts, []
    if counts.received is None or not counts.whole or evidence.ending.component_errors:
        return []
    if not answered <= counts.received <= counts.begun + counts.sent_again:
        reasons.append(f"The balancer counted {counts.received:,} requests, the samples are {summary.requests:,}.")
    for name, passed_on in counts.passed_on.items():
        own = counts.nodes.get(name, passed_on)
        if not passed_on <= own <= passed_on + counts.begun - answered + counts.refused:
            reasons.append(f"{name} counted {own:,} requests, the balancer passed on {passed_on:,} answers of it.")
    return _severe(reasons)


def _known(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    names = ", ".join(map(repr, evidence.counts.unknown_names))
    said = f"The scenario has no request {names}: in its locustfile, name= must be the name of one of its requests."
    return _severe([said] * bool(names))


def _called(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    """A reason for each component that counted fewer calls than the answers need, or more than all requests make."""
    counts, reasons = evidence.counts, []
    for name, (least, most) in counts.calls_expected.items() if counts.whole else ():
        counted = counts.calls.get(name)
        is_exact = command_of(name) or name in counts.called_services
        own = 0 if is_exact else OWN_QUERIES * counts.windows
        if counted is not None and not least <= counted <= most + own:
            reasons.append(f"{name} counted {counted:,} calls, but the requests made {_range(least, most)}.")
    return _severe(reasons)


def _right(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    wrong = {name: count for name, count in summary.errors.items() if name in WRONG}
    return _severe([f"{count:,} of {summary.requests:,} answers were bad ({name})." for name, count in wrong.items()])


def _limits(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    return _severe([f"A limit is not in force: {limit}." for limit in evidence.service.limits_broken])


def _responsive(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    # What has ended is named as the cause, and is silent since.
    ended = " ".join(evidence.ending.component_errors)
    return _mild(checks.silent({of: span for of, span in evidence.service.silent.items() if f"{of} " not in ended}))


def _clock(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    return _severe(checks.clock(evidence.generator.clock_step_s))


def _failed(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    failed = {name: count for name, count in summary.errors.items() if name not in WRONG}
    total = sum(failed.values())
    if total <= FAILED_SUSPECT_SHARE * summary.requests:
        return []
    classes = ", ".join(f"{name} {count:,}" for name, count in failed.items())
    none_right = sum(summary.errors.values()) >= summary.requests
    left = "there was no right answer" if none_right else "latencies are of the others only"
    return [(f"{total:,} of {summary.requests:,} requests failed ({classes}): {left}.", none_right)]


def _warm(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    service, rounds = evidence.service, evidence.service.rounds
    if rounds and not service.warm:
        after = f"{rounds} round{'s' * (rounds > 1)}"
        return _mild([f"The service was not warm after {after}: its compilers were still at work."])
    if service.cpu_decides:  # where the course of the load shows it
        return []
    return _mild(checks.went_on_warming(service.warm_up, service.request_cpu_us))


def _gc(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    share = evidence.service.gc_share or 0.0
    text = f"The garbage collector stopped the service for {share:.0%} of the time: raise --heap-mb."
    return _mild([text] * (share > GC_SUSPECT_SHARE))


def _ran_through(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    return _mild(checks.stopped(evidence.service.stopped_s or 0.0))


def _alone(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    others = ", ".join(evidence.interference.others)
    return _mild([f"Another run measured on this machine at the same time ({others})."] * bool(others))


def _long_enough(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    cpu_bound = evidence.service.cpu_decides or (evidence.service.cpu_share or 0.0) >= CPU_FULL
    short = cpu_bound and 0 < summary.elapsed_s < MIN_CPU_BOUND_S
    text = (
        f"It was measured for {summary.elapsed_s:.0f} s: where the CPU decides, 20 s are the least (--duration 20, or "
        "more --requests or --loops)."
    )
    return _mild([text] * short)


def _connected(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    count, untracked = evidence.service.slow_connects, evidence.interference.untracked
    # A balancer that listens in front of several nodes has as long a backlog as the system allows.
    remedy = "raise net.core.somaxconn" if evidence.counts.nodes else "raise --accept-count"
    if untracked:
        table_full = (
            f"the kernel tracked as many as it can, and dropped {untracked:,}: raise net.netfilter.nf_conntrack_max"
        )
        # Dropped packets are of whomever: where they are fewer, the backlog may have been full too.
        remedy = f"{table_full}, or {remedy}" if untracked < count else table_full
    text = f"{count:,} connections took a second or more, as a packet was lost: {remedy}."
    return _mild([text] * bool(count and (evidence.service.backlog_set or untracked)))


def _steady(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    found = evidence.steadiness
    reasons = [
        *checks.changed(found.latency_change, found.throughput_change, found.cpu_change),
        *checks.held_up(found.cpu_used_change, found.both_sides_busy_change),
        *checks.shared(found.shared_change),
        *checks.queued(found.queue_growth),
        *checks.stalled(found.stalled_s, found.collecting_s),
    ]
    explained = bool(reasons or _speed_kept(evidence, summary, answered))
    unsettled = ["Latency or throughput never settled: measure longer."] * (not found.settled and not explained)
    return _mild(reasons + unsettled)


def _speed_kept(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    # Variants that take turns are slowed alike, and what is left of it is taken out of their ratios.
    return _mild(checks.slowed(_slowed(evidence, summary) if evidence.counts.windows == 1 else {}))


def _slowed(evidence: Evidence, summary: Summary) -> dict[str, float]:
    """By owner, how much slower its cores became; empty where that cannot have falsified latencies.

    Where cores wait most of the time, work that takes a third longer adds little to a second. What it adds is held
    against the fastest answer: the others may have waited for those before them, each of which takes longer by it too.
    Of an exponential distribution 1 % take ln 100 times the mean. How busy cores were is known of the whole load, and
    not of the time before they became slower, which errs on the side of doubt.
    """
    found, added_s = evidence.steadiness, 0.0
    for owner, share in found.slowed.items():
        busy = found.cores_busy.get(owner, math.inf)
        added_s += laws.lengthened_s(busy, summary.throughput_rps, checks.magnitude(share))
    judged = ((added_s, summary.min_s or summary.mean_s), (math.log(1 / LATEST_SHARE) * added_s, summary.p99_s))
    matters = any(s > LATE_SUSPECT_SHARE * (latency_s or 0.0) for s, latency_s in judged)
    return dict(found.slowed) if evidence.service.cpu_decides or matters else {}


def _late_by_pauses_s(evidence: Evidence, latest: float) -> tuple[float, float]:
    """By how much pauses of the machine made the sends of an open loop late at most: on average, and the latest.

    Whatever is due within a pause of P is sent at its end, P/2 late on average.

    Args:
        latest: the share of the sends that are the latest, such as 1 %.

    """
    found = evidence.interference
    share, longest_s = (found.paused or 0.0) * evidence.generator.open_loop, found.longest_pause_s
    return share * longest_s / 2, longest_s * (share > latest)


def _undisturbed(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    found = evidence.interference
    return _mild(
        [
            *checks.foreign_load(found.foreign_cores, found.foreign_cpu),
            *checks.idle_services(found.idle_services or 0.0),
        ]
    )


def _uncrowded(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    return _mild(checks.crowded(evidence.interference.crowded or 0.0, evidence.interference.beside))


def _ran_on(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    found, in_turns = evidence.interference, evidence.counts.windows > 1
    added = _late_by_pauses_s(evidence, LATEST_SHARE)[0] / summary.mean_s if summary.mean_s else 0.0
    of_p99 = found.paused_in_p99_s / summary.p99_s if summary.p99_s else 0.0
    return _mild(checks.paused(found.paused or 0.0, found.longest_pause_s, in_turns, added, of_p99))


def _late(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    """Reasons where sends were late: against their plan, or after the answer that a user had waited for."""
    mean, p99, by_pauses_s = summary.mean_s or 0.0, summary.p99_s or 0.0, _late_by_pauses_s(evidence, LATEST_SHARE)
    late = max(0.0, summary.late_p99_s - by_pauses_s[1])
    found = [_too_late(max(0.0, summary.late_mean_s - by_pauses_s[0]), mean, "on average")]
    if evidence.generator.open_loop:  # whose latencies count from the plan
        found.append(_too_late(late, p99, "or more in 1 % of cases"))
        if not found[-1] and summary.p999_s:
            # What piles up in a pause is sent one by one after it, so that a shorter one makes as many late.
            # Of sessions fewer may begin than there are answers, too few for a p99.9 of their own.
            latest_s = summary.late_max_s if summary.late_p999_s is None else summary.late_p999_s
            very_late = latest_s - _late_by_pauses_s(evidence, VERY_LATEST_SHARE / 2)[1]
            reasons = _too_late(max(0.0, very_late), summary.p999_s, "or more in 0.1 % of cases")
            found.append(_mild([text for text, _ in reasons]))
    elif late > max(PLAN_SUSPECT_S, LATE_SUSPECT_SHARE * mean):
        text = (
            f"The generator was late: 1 % of the users sent their first request {late * 1000:,.0f} ms or more after it "
            "was due."
        )
        found.append([(text, late > max(PLAN_INVALID_S, LATE_INVALID_SHARE * mean))])
    return [reason for reasons in found for reason in reasons]


def _too_late(late_s: float, latency_s: float, which: str) -> list[Reason]:
    if late_s <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * latency_s):
        return []
    text = f"The generator was late: requests were sent {late_s * 1000:,.1f} ms {which} after they were due"
    severe = late_s > max(LATE_INVALID_S, LATE_INVALID_SHARE * latency_s)
    return [(f"{text}, {late_s / latency_s:.0%} of the latency." if latency_s else f"{text}.", severe)]


def _users_busy(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    """A reason where users of a closed loop were neither waiting for an answer nor pausing."""
    parked = evidence.generator.parked_share or 0.0
    if parked > LATE_SUSPECT_SHARE:
        text = f"{parked:.0%} of the users never began, or stopped sending: it was a lighter load than planned."
        return [(text, parked > LATE_INVALID_SHARE)]
    idle, mean = evidence.generator.idle_s or 0.0, summary.service_mean_s or 0.0
    if idle <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * mean):
        return []
    text = f"Users were idle for {idle * 1000:,.1f} ms a request in the generator: it was a lighter load than planned."
    return [(text, idle > max(LATE_INVALID_S, LATE_INVALID_SHARE * mean))]


def _users_free(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    """A reason where an open loop's requests were late because all users were busy."""
    busy_s = summary.busy_p99_s - _late_by_pauses_s(evidence, LATEST_SHARE)[1]
    if busy_s <= max(LATE_SUSPECT_S, LATE_SUSPECT_SHARE * (summary.p99_s or 0.0)):
        return []
    waited = f"1 % of the requests waited {busy_s * 1000:,.0f} ms or more for a free user"
    return _mild([f"All users were busy: {waited}, so the load was not the planned one: raise --users."])


def _rate_kept(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    if summary.pace >= RATE_SUSPECT:
        return []
    return [(f"Requests were sent at {summary.pace:.0%} of the planned rate only.", summary.pace < RATE_INVALID)]


def _worker_cpu(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    one, together = evidence.generator.worker_cpu or 0.0, evidence.generator.workers_cpu or 0.0
    if max(one, together) <= WORKER_CPU_SUSPECT:
        return []
    text = f"A Locust worker used {one:.0%} of its core: add --workers or cores."
    if together > one:  # then there are more workers than cores, and further ones on this machine are no remedy
        used = f"The Locust workers together used {together:.0%} of the generator's cores"
        text = f"{used}: add cores, or --remote-workers."
    return [(text, max(one, together) > WORKER_CPU_INVALID)]


def _ceiling(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    return checks.ceiling(evidence.generator.peak_rps or summary.throughput_rps, evidence.generator.ceiling_rps)


def _over_in_time(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    late_s = evidence.generator.outlasted_s
    which = "Its last request" if evidence.counts.windows == 1 else "The last requests of its windows, in all,"
    text = (
        f"{which} ended {late_s:.1f} s after it should have been over: all rates and shares of time are "
        f"those of {summary.elapsed_s:.0f} s. Lower --timeout, or repeat it."
    )
    return _mild([text] * (late_s > OUTLASTED_SUSPECT_SHARE * summary.elapsed_s))


def _stalls(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    return checks.stood_still(evidence.generator.stood_still_s)


def _little(evidence: Evidence, summary: Summary, answered: int) -> list[Reason]:
    counted, implied = evidence.generator.counted_in_system, summary.in_system + evidence.generator.awaiting_dispatch
    within = max(LITTLE_SLACK + evidence.generator.counting_error, LITTLE_SHARE * implied)
    if counted is None or not summary.requests or abs(counted - implied) <= within:
        return []
    said = f"{counted:.1f} requests were under way on average, X·R gives {implied:.1f}"
    return _severe([f"Little's law is broken: {said}."])


def _unless(known: Callable[[Evidence], object], why: str) -> Callable[[Evidence], str]:
    """Why a check that needs something could not be made; empty where that is known."""
    return lambda evidence: "" if known(evidence) else why


def _of_service(known: Callable[[Evidence], bool], otherwise: str) -> Callable[[Evidence], str]:
    """Why a check that needs something of the service could not be made; empty where that is known."""

    def lacks(evidence: Evidence) -> str:
        attached = evidence.service.entry == "attached"
        return _unless(known, "the lab did not start the service" if attached else otherwise)(evidence)

    return lacks


def _cores_shared(evidence: Evidence) -> str:
    """Why nothing was read of the cores themselves: nobody had any of its own; empty if it was read."""
    return SHARED[evidence.service.entry] * evidence.interference.shared_cores


def _idle_unseen(evidence: Evidence) -> str:
    found = evidence.generator
    if found.idle_s is not None or found.parked_share is not None:
        return ""
    if not found.pausing_users:
        return "it was too short to count how many were under way" * found.has_idle_time
    why = "variants took turns" if evidence.counts.windows > 1 else "a number of requests ended it"
    return f"users had sessions or pauses, and {why}"


def _others_unseen(evidence: Evidence) -> str:
    found = evidence.interference
    unread = f"nothing was read of the cores of {' and '.join(found.unread_cores)}" * bool(found.unread_cores)
    return unread if found.was_seen else "nothing was read of the machine's CPU"


def _crowd_unseen(evidence: Evidence) -> str:
    found = evidence.interference
    if not found.beside:
        return ""
    return _cores_shared(evidence) or "their CPU was read too few times (measure longer)" * (found.crowded is None)


def _drift_unseen(evidence: Evidence) -> str:
    """Why nobody can tell whether a load drifted; of one that is known to, it does not matter what noise would hide."""
    found = evidence.steadiness
    hidden = found.course not in checks.ONE_WAY and (found.detectable_change or 0.0) >= 1
    return found.not_judged or "its noise would have hidden any drift (measure longer)" * hidden


def _speed_unseen(evidence: Evidence) -> str:
    """Why nobody can tell whether the cores kept their speed; nobody asks that of a load that is never steady."""
    found, cores = evidence.steadiness, evidence.interference.foreign_cores
    if shared := _cores_shared(evidence):
        return shared
    if not found.course:
        return found.not_judged
    unread = [owner for owner in cores if owner not in found.slowed]
    if not found.slowed or len(unread) == len(cores):
        return "their speed was not read"
    return f"the speed of those of the {' and '.join(unread)} was not read" * bool(unread)


def _pauses_unseen(evidence: Evidence) -> str:
    unseen = _unless(lambda evidence: evidence.interference.paused is not None, "pauses of the machine were not read")
    return _cores_shared(evidence) or unseen(evidence)


def _uncounted(evidence: Evidence) -> str:
    counts = evidence.counts
    lacking = [name for name in counts.calls_expected if name not in counts.calls]
    return f"{' and '.join(lacking)} did not count them" if lacking else ""


# Of a service that is attached, its limits, its count and its compiler are its owner's matter, not the lab's.
STARTED: tuple[Entry, ...] = ("service",)
OWN: tuple[Entry, ...] = ("service", "program")
CHECKS = (
    Check("that it ran to its end", _ended),
    Check("that all planned requests were sent", _sent),
    Check("that every sample arrived", _samples_kept),
    Check(
        "the count of requests by the service",
        _served,
        _of_service(lambda evidence: evidence.counts.served is not None, "the service did not report it"),
        LOADED,
        STARTED,
    ),
    Check(
        "the counts of requests by the balancer and by each node",
        _balanced,
        _unless(
            lambda evidence: evidence.counts.received is not None or not evidence.counts.nodes,
            "the balancer did not report it",
        ),
        STARTED,
    ),
    Check("that requests are those of the scenario", _known, of=STARTED),
    Check("the count of calls by what is behind the service", _called, _uncounted, STARTED),
    Check("that answers were right", _right, of=LOADED),
    Check(
        "the limits in force",
        _limits,
        _of_service(lambda evidence: evidence.service.limits_read, "the service was not asked for them"),
        LOADED,
        STARTED,
    ),
    Check("that nodes and balancer were responsive", _responsive, of=STARTED),
    Check("that no clock was set", _clock, of=LOADED),
    Check("that requests succeeded", _failed, of=LOADED),
    Check(
        "whether the service was warm",
        _warm,
        _of_service(lambda evidence: evidence.service.rounds > 0, "there was no warm-up"),
        LOADED,
        STARTED,
    ),
    Check("that it was measured long enough", _long_enough, of=STARTED),
    Check("that it was over when its last answers were due", _over_in_time, of=LOADED),
    Check("that connections were accepted at once", _connected, of=LOADED),
    Check(
        "garbage collection",
        _gc,
        _of_service(lambda evidence: evidence.service.gc_share is not None, "the service did not report it"),
        LOADED,
        (),
    ),
    Check(
        "that its process ran without a stop",
        _ran_through,
        _of_service(lambda evidence: evidence.service.stopped_s is not None, "the service did not report it"),
        LOADED,
        (),
    ),
    Check("that no other run measured", _alone),
    Check("that the load was steady", _steady, _drift_unseen, LOADED),
    Check("that the cores kept their speed", _speed_kept, _speed_unseen, LOADED, ()),
    Check(
        "that no other program disturbed it",
        _undisturbed,
        _others_unseen,
        ALL,
        OWN,
    ),
    Check("that it did not wait for what shares the generator's cores", _uncrowded, _crowd_unseen, LOADED, ()),
    Check("that the machine ran without pauses", _ran_on, _pauses_unseen, ALL, ()),
    Check("that requests were sent when due", _late, of=LOADED),
    Check("that users were not idle", _users_busy, _idle_unseen, LOADED, ()),
    Check(
        "that latencies end when answers arrive",
        lambda *_: [],  # the kernel's time of arrival is what they end by
        _unless(
            lambda evidence: evidence.generator.unstamped <= LATEST_SHARE * evidence.counts.finished,
            "this system does not say when packets arrived (Linux does)",
        ),
        LOADED,
    ),
    Check(
        "that the later requests of sessions were sent when due",
        lambda *_: [],  # their latencies begin when they are sent
        _unless(
            lambda evidence: not evidence.generator.open_loop or evidence.counts.planned_sessions is None,
            "in an open loop only the first of a session is planned",
        ),
        LOADED,
        (),
    ),
    Check("that users were free", _users_free, of=LOADED),
    Check("that the rate was kept", _rate_kept, of=LOADED),
    Check(
        "the CPU of the generator's workers",
        _worker_cpu,
        _unless(lambda evidence: evidence.generator.worker_cpu is not None, "the load was over within a second"),
        LOADED,
    ),
    Check(
        "the generator's ceiling",
        _ceiling,
        _unless(
            lambda evidence: evidence.generator.ceiling_rps or evidence.generator.remote,
            "it is not known (python -m lab calibrate)",
        ),
        LOADED,
    ),
    Check(
        "the ceiling of remote workers",
        lambda *_: [],  # that their CPU was not busy has to do
        _unless(lambda evidence: not evidence.generator.remote, "it was not measured on their machines"),
        LOADED,
        (),
    ),
    Check(
        "the ceiling of requests over TLS",
        lambda *_: [],  # that the workers' CPU was not busy has to do here, too
        _unless(lambda evidence: not evidence.generator.over_tls, "the generator's ceiling was measured without it"),
        LOADED,
        (),
    ),
    Check("that no worker stalled", _stalls, of=LOADED),
    Check(
        "Little's law",
        _little,
        _unless(lambda evidence: evidence.generator.counted_in_system is not None, "workers reported no counts"),
        LOADED,
    ),
)
