"""The load of one measurement: users, ramp, loops, duration or rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Arrivals = Literal["even", "poisson"]
EVEN: Arrivals = "even"
POISSON: Arrivals = "poisson"


@dataclass(frozen=True)
class Load:
    """Who sends when: a burst, a closed loop, or an open loop.

    Attributes:
        users: R, how many users there are.
        ramp_s: their first requests are spread over so many seconds; an open loop has no ramp.
        loops: requests each user sends, one after the other, unless one of the next two decides.
        duration_s: closed loop: users repeat until so many seconds after the start.
        requests: closed loop: users repeat until they have sent so many requests in all.
        rate_rps: open loop: so many requests a second are planned for ``duration_s``, whatever the answers do; a user
            that is free sends the next one.
        arrivals: how planned sends are spread: ``even``, or ``poisson`` for independent moments.
        timeout_s: a request that takes longer counts as an error of class ``timeout``.
        workers: Locust worker processes on this machine that share the users.
        remote_workers: workers on other machines that share them too.

    """

    users: int
    ramp_s: float = 1.0
    loops: int = 1
    duration_s: float = 0.0
    requests: int = 0
    rate_rps: float = 0.0
    arrivals: Arrivals = EVEN
    timeout_s: float = 120.0
    workers: int = 1
    remote_workers: int = 0

    @property
    def planned_requests(self) -> int | None:
        """How many requests this load sends in all; None where only the duration decides."""
        if self.is_open:
            return self.planned_sends
        return None if self.duration_s else self.requests or self.users * self.loops

    @property
    def planned_sends(self) -> int:
        """How many sends an open loop plans: as many as fit into its duration; 0 for any other load."""
        return int(round(self.rate_rps * self.duration_s, 6))

    @property
    def is_open(self) -> bool:
        """Whether requests are planned at a rate, so that latency counts from the moment they were planned for."""
        return self.rate_rps > 0

    @property
    def rounds(self) -> float:
        """How many requests each user sends, one after the other, where their number is fixed."""
        return self.requests / self.users if self.requests else self.loops

    @property
    def is_burst(self) -> bool:
        """Whether every user sends a fixed number of requests, as in JMeter's thread group."""
        return not self.duration_s and not self.requests
