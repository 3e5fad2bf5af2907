"""The counts of a phase of load that each worker reports, and that are added up over workers and over windows."""

from __future__ import annotations

# Fields of :class:`lab.generator.fleet.PhaseResult`, where they are explained.
COUNTS = (
    "begun",
    "finished",
    "failed",
    "sessions",
    "sessions_ended",
    "not_single",
    "sent_again",
    "pauses",
    "parked",
    "dispatch_delay_s",
    "unstamped",
)
