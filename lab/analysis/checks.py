"""Checks of the generator, the machine and the course of a load: each returns its reasons to doubt a measurement.

Each takes plain values, and returns the sentences that a person reads; :mod:`lab.analysis.verdict` weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping

# Near its ceiling a generator queues its own work: at 90 % answers wait for a multiple of their latency until a user
# handles them and sends again, so that the load is not the planned one. The same shares hold for a worker's CPU.
CEILING_SUSPECT, CEILING_INVALID = 0.70, 0.90
# A worker counts every 50 ms; a garbage collection or a busy core delays that by a few hundred ms at most.
STOOD_STILL_SUSPECT_S, STOOD_STILL_INVALID_S = 0.5, 1.0
# A time service slews a clock by half a millisecond a second; a larger change is a step.
CLOCK_STEP_S = 0.050
# Of cores reserved for service or generator. Kernel threads and system services take a few percent; one busy program
# takes half of a core or more.
TAKEN_SUSPECT_SHARE = 0.20
# Of the whole machine, where all cores are shared.
FOREIGN_SUSPECT_SHARE = 0.10
# As much as two settled rounds of warm-up may differ; chance is ruled out before, see lab.formulas.trend.
FALL_SUSPECT_SHARE = 0.15
# Repeats differ by some 5 % on a quiet machine; halves of a load that differ by twice that were not alike.
DRIFT_SUSPECT_SHARE = 0.10
# Shared hosts change by a fifth within seconds, and repeats average that out; beyond it no mean describes both halves.
SLOWED_SUSPECT_SHARE = 0.25


def ceiling(rps: float, ceiling_rps: float | None) -> list[tuple[str, bool]]:
    """Whether the generator was near its ceiling: reasons, each with whether it makes the measurement invalid."""
    if not ceiling_rps or rps <= CEILING_SUSPECT * ceiling_rps:
        return []
    reason = (
        f"The generator sent {rps:,.0f} requests/s, {rps / ceiling_rps:.0%} of its calibrated ceiling: "
        "add --workers or cores."
    )
    return [(reason, rps > CEILING_INVALID * ceiling_rps)]


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


def unsteady(latency_fall: float, cpu_fall: float, drift: float | None) -> list[str]:
    """Whether the end of the load differed from its beginning; for the values see :mod:`lab.formulas.trend`."""
    reasons = []
    for name, fall in (("Latency", latency_fall), ("CPU time a request", cpu_fall)):
        if fall > FALL_SUSPECT_SHARE:
            reasons.append(f"{name} still fell by {fall:.0%} during the load: the service was not warm.")
    if drift is not None and abs(drift) > DRIFT_SUSPECT_SHARE:
        word = "more" if drift > 0 else "less"
        reasons.append(f"Throughput drifted: {abs(drift):.0%} {word} in the second half than in the first.")
    return reasons


def slowed(cores: Mapping[str, float]) -> list[str]:
    """Whether the speed of cores changed by itself: by other guests of the host, heat, or power saving.

    Args:
        cores: by owner, how much slower its cores were in the second half than in the first: ``{"service": 0.3}``.

    """
    return [
        f"The {owner}'s cores themselves ran {abs(share):.0%} {'slower' if share > 0 else 'faster'} in the second half "
        "of the load: the machine shares them with others, or is hot. Repeat it."
        for owner, share in cores.items()
        if max(share, 1 / (1 + share) - 1) > SLOWED_SUSPECT_SHARE
    ]
