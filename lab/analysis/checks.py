"""Checks of the generator, the machine and the course of a load: each returns its reasons to doubt a measurement.

Each takes plain values, and returns the sentences that a person reads; :mod:`lab.analysis.verdict` weighs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from lab.analysis.evidence import Course
from lab.spec.system import BALANCER

# Near its ceiling a generator queues its own work: at 90 % answers wait for a multiple of their latency until a user
# handles them and sends again, so that the load is not the planned one. The same shares hold for a worker's CPU.
CEILING_SUSPECT, CEILING_INVALID = 0.70, 0.90
# A worker counts every 50 ms; a garbage collection or a busy core delays that by a few hundred ms at most.
STOOD_STILL_SUSPECT_S, STOOD_STILL_INVALID_S = 0.5, 1.0
# A time service slews a clock by half a millisecond a second; a larger change is a step.
CLOCK_STEP_S = 0.050
# Of cores reserved for service or generator. Kernel threads and system services take a few percent.
TAKEN_SUSPECT_SHARE = 0.06
# By so much the CPU time of a request differs between rounds of a warm service, and for so much of a round's time its
# compilers are at work now and then; in so many rounds.
SETTLED_SHARE, AT_REST_SHARE = 0.15, 0.10
SETTLED_ROUNDS, AT_REST_ROUNDS = 3, 2
# Of the whole machine, where all cores are shared.
FOREIGN_SUSPECT_SHARE = 0.05
# The least change within a load that counts; whether it is more than noise was decided before, see lab.formulas.trend.
CHANGE_SUSPECT_SHARE = 0.05
# Of the latency of all that took turns: an average over the load is one of two states then.
SHARED_SUSPECT_SHARE = 0.25
# Cores change their speed by a few percent all the time.
SLOWED_SUSPECT_SHARE = 0.08
# Shorter stalls are within what a garbage collection or a busy core delays.
STALL_SUSPECT_S = 0.2
# Seconds in which the cores of generator and databases were busy while the service waited for them.
CROWDED_SUSPECT_SHARE = 0.25
# Courses in which whatever changed went one way.
ONE_WAY = ("slowing", "warming")
# A pause lengthens whatever is under way, so that a mean is off by the share of time that pauses took. It may move p99
# by more than that, which is held against the same bound.
PAUSED_SUSPECT_SHARE = 0.02
# What takes turns is compared by a clock that stands still with the machine; other figures of it are off all the same.
PAUSED_SUSPECT_SHARE_IN_TURNS = 0.1
# A component that uses less of a core is not what others wait for.
BESIDE_CORES = 0.05


def ceiling(rps: float, ceiling_rps: float | None) -> list[tuple[str, bool]]:
    """Whether the generator was near its ceiling: reasons, each with whether it makes the measurement invalid."""
    if not ceiling_rps or rps <= CEILING_SUSPECT * ceiling_rps:
        return []
    reason = (
        f"The generator sent {rps:,.0f} requests/s, {rps / ceiling_rps:.0%} of its calibrated ceiling: "
        "add --workers or cores."
    )
    return [(reason, rps > CEILING_INVALID * ceiling_rps)]


def went_on_warming(rounds: Sequence[Mapping[str, float]], request_cpu_us: float | None) -> list[str]:
    """Whether a request became cheaper than in the last rounds of the warm-up, in which compilers were at work.

    Rounds that cost the same may be those of a service that has hardly begun to be compiled. It is compared with the
    cheapest of three, as what compilers spend on one of them is in its requests.

    Args:
        rounds: rows of :meth:`lab.telemetry.actuator.CpuTimes.since`, oldest first.
        request_cpu_us: the CPU time of a request in the load, in microseconds; None if unknown.

    """
    last = rounds[-SETTLED_ROUNDS:]
    least_us = min((row["cpu_us_per_request"] for row in last), default=0.0)
    at_rest = all(row["jit_share"] <= AT_REST_SHARE for row in last[-AT_REST_ROUNDS:])
    if request_cpu_us is None or at_rest or request_cpu_us >= (1 - SETTLED_SHARE) * least_us:
        return []
    after = f"{len(rounds)} round{'s' * (len(rounds) > 1)}"
    return [
        f"The service was not warm after {after}: a request took {least_us:.0f} µs of CPU time at least in the last of "
        f"them, and {request_cpu_us:.0f} in the load."
    ]


def stood_still(longest_s: float) -> list[tuple[str, bool]]:
    """Whether a worker stalled during the load: latencies do not show it, as its users sent nothing meanwhile."""
    if longest_s <= STOOD_STILL_SUSPECT_S:
        return []
    reason = f"A Locust worker stalled for {longest_s:.1f} s: it sent no requests in that time."
    return [(reason, longest_s > STOOD_STILL_INVALID_S)]


def clock(step_s: float) -> list[str]:
    """Whether the clock was set during the load: then samples and readings are out of step."""
    if abs(step_s) <= CLOCK_STEP_S:
        return []
    return [f"The clock was set by {step_s * 1000:+,.0f} ms during the load."]


def foreign_load(cores: Mapping[str, float], machine: float | None) -> list[str]:
    """Whether other programs used the cores of service or generator.

    Args:
        cores: by owner, the share of its cores that they used, as in ``{"generator": 0.5}``; empty if all were shared.
        machine: their share of the whole machine, which counts if all cores were shared; None if unknown.

    """
    reasons = [
        f"Other programs used {share:.0%} of the {owner}'s cores: end them, or use another machine."
        for owner, share in cores.items()
        if share > TAKEN_SUSPECT_SHARE
    ]
    if not cores and machine is not None and machine > FOREIGN_SUSPECT_SHARE:
        reasons.append(f"Other programs used {machine:.0%} of the machine: end them, or use another machine.")
    return reasons


def idle_services(share: float) -> list[str]:
    """Whether services that were up, and not loaded, used the service's cores: by their compilers or collectors.

    Args:
        share: of these cores.

    """
    if share <= TAKEN_SUSPECT_SHARE:
        return []
    return [
        f"The other variants, which were up in turns with it, used {share:.0%} of the service's cores in its windows: "
        "warm them up for longer, or leave --interleave windows out."
    ]


def course(changes: Iterable[float], stalled_s: float, collecting_s: float, settled: bool) -> Course:
    """Class of a load that should be steady.

    Args:
        changes: of latency, an open loop's queue, CPU time a request, time between two answers, and time for as much
            CPU, of the service and of both sides; positive where it became slower.
        stalled_s: for how long the service answered nobody.
        collecting_s: see :func:`stalled`.

    """
    changed = [change for change in changes if abs(change) > CHANGE_SUSPECT_SHARE]
    if changed and (min(changed) > 0 or max(changed) < 0):
        return "slowing" if changed[0] > 0 else "warming"
    return "erratic" if changed or stalled(stalled_s, collecting_s) or not settled else "flat"


def changed(latency: float, throughput: float, cpu: float) -> list[str]:
    """Whether the end of the load differed from its beginning; for the values see :mod:`lab.formulas.trend`."""
    named = (("Latency", latency), ("Throughput", throughput), ("CPU time a request", cpu))
    return [
        f"{name} {'rose' if share > 0 else 'fell'} by {abs(share):.0%} during the load."
        for name, share in named
        if abs(share) > CHANGE_SUSPECT_SHARE
    ]


def held_up(of_service: float, of_both_sides: float) -> list[str]:
    """Whether a load whose users never pause kept cores busier, or less busy, at its end than at its beginning.

    Args:
        of_service: the change of the CPU that the service used, relative.
        of_both_sides: the same of how busy the cores of service and generator were together.

    """
    if abs(of_service) > CHANGE_SUSPECT_SHARE:
        did, waited, had = ("rose", "less", "more") if of_service > 0 else ("fell", "more", "less")
        return [
            f"The CPU that the service used {did} by {abs(of_service):.0%} during the load, while its users never "
            f"paused: it waited {waited} for something else, or had {had} to do besides."
        ]
    if abs(of_both_sides) > CHANGE_SUSPECT_SHARE:
        became, waited = "less busy", "more for something else"
        if of_both_sides > 0:
            became, waited = "busier", "less for something else, or other programs used them"
        return [
            f"The cores of service and generator together became {became} by {abs(of_both_sides):.0%} during the load, "
            f"while its users never paused: requests waited {waited}."
        ]
    return []


def shared(change: float) -> list[str]:
    """Whether all that took turns changed alike, by so much that no average of the load describes it.

    Args:
        change: of latency, relative; beyond what the speed of the cores explains.

    """
    if magnitude(change) <= SHARED_SUSPECT_SHARE:
        return []
    return [
        f"Latency changed by {change:+.0%} during the load, as did that of the variants that took turns with it: "
        "the machine changed, or something that they share. Repeat it."
    ]


def queued(growth: float) -> list[str]:
    """Whether the queue of an open loop grew within each of its windows: each begins without one, and waits for it.

    So nothing of an overload, however large, is left from one window to the next, and no trend over the load shows it.

    Args:
        growth: of latency from the second third of the windows to the last, relative.

    """
    if growth <= CHANGE_SUSPECT_SHARE:
        return []
    return [
        f"Latency still rose by {growth:.0%} within the windows: a queue grew in each of them, and went on growing. "
        "Choose a lower --rate, or --interleave cells."
    ]


def stalled(longest_s: float, collecting_s: float) -> list[str]:
    """Whether the service answered nobody for a while, beyond what its garbage collector explains.

    Args:
        collecting_s: for how long the garbage collector may have paused the service meanwhile. It is not the sum over
            the load, with which many short pauses would explain one long stall.

    """
    if longest_s <= max(STALL_SUSPECT_S, collecting_s):
        return []
    return [
        f"The service answered nobody for {longest_s:.1f} s: it, or what is in front of it or behind it, stood still."
    ]


def stopped(longest_s: float) -> list[str]:
    """Whether the process of the service did not run for a while, by its own clock.

    Args:
        longest_s: see :func:`lab.analysis.hiccups.longest_stop_s`.

    """
    if longest_s <= STALL_SUSPECT_S:
        return []
    return [
        f"The service's process did not run for {longest_s:.1f} s: something stopped it, and neither its garbage "
        "collector nor the machine's host."
    ]


def silent(spans: Mapping[str, tuple[float, float]]) -> list[str]:
    """Whether a node, or the balancer in front of several, answered nothing for a while.

    Args:
        spans: by name, from when to when, in seconds since the planned start of the load.

    """
    return [
        f"{'The ' * (name == BALANCER)}{name} answered nothing from {begin_s:.0f} s to {end_s:.0f} s of the load, "
        "neither readings of the lab nor, as far as could be seen, requests: it stood still, or was overloaded."
        for name, (begin_s, end_s) in spans.items()
    ]


def paused(share: float, longest_s: float, in_turns: bool, added: float = 0.0, added_to_p99: float = 0.0) -> list[str]:
    """Whether the host of a virtual machine gave it no time for a part of the load.

    Args:
        share: of the load's time.
        longest_s: the longest pause.
        in_turns: whether variants were loaded in turns.
        added: what pauses added to the mean latency of an open loop, as a share of it.
        added_to_p99: the same of p99, of any load in one piece.

    """
    most = PAUSED_SUSPECT_SHARE_IN_TURNS if in_turns else PAUSED_SUSPECT_SHARE
    falsifies_p99 = not in_turns and added_to_p99 > most
    if max(share, added) <= most and not falsifies_p99:
        return []
    at_most = f"{longest_s * 1000:,.0f} ms at the most" + f", which makes up {added_to_p99:.0%} of p99" * falsifies_p99
    return [
        f"The machine itself stood still for {share:.1%} of the load, {at_most}: its host gave it no time. Repeat it."
    ]


def crowded(share: float, beside: Mapping[str, float]) -> list[str]:
    """Whether what shares the generator's cores kept them busy while the service had time to spare.

    Args:
        share: of the seconds.
        beside: by name, the cores that each component on them used.

    """
    if share <= CROWDED_SUSPECT_SHARE:
        return []
    shown = {name: cores for name, cores in beside.items() if cores > BESIDE_CORES} or beside
    used = ", ".join(f"{name} {cores:.2f}" for name, cores in shown.items())
    by_whom = f" ({used} of a core)" * bool(used)
    return [
        f"The generator's cores were busy in {share:.0%} of the seconds while the service was not{by_whom}: it waited "
        "for what shares them. Use a machine with more cores."
    ]


def slowed(cores: Mapping[str, float]) -> list[str]:
    """Whether the speed of cores changed by itself: by other guests of the host, heat, or power saving.

    Args:
        cores: by owner, how much slower its cores became: ``{"service": 0.3}``.

    """
    return [
        f"The {owner}'s cores themselves became {abs(share):.0%} {'slower' if share > 0 else 'faster'} during the "
        "load: the machine shares them with others, or is hot. Repeat it."
        for owner, share in cores.items()
        if at_two_speeds(share)
    ]


def at_two_speeds(slower: float) -> bool:
    """Whether cores changed their speed by more than they do all the time; by how much slower they became."""
    return magnitude(slower) > SLOWED_SUSPECT_SHARE


def magnitude(change: float) -> float:
    """The size of a relative change, whichever way it went: 0.25 for a quarter more, and for a fifth less."""
    return max(change, inverse(change))


def inverse(change: float) -> float:
    """The change of the time for each that a change of a rate is; infinite where there was none any more."""
    return 1 / (1 + change) - 1 if change > -1 else math.inf
