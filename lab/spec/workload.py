"""The load of one measurement: users, ramp, loops, duration or rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Arrivals = Literal["even", "poisson"]
EVEN: Arrivals = "even"
POISSON: Arrivals = "poisson"


@dataclass(frozen=True)
class Load:
    """The load model of one measurement: a burst, a closed loop, or an open loop.

    It counts sessions: one execution of a user's task, which is one request unless a locustfile's task sends more. So
    what follows says requests where a session of several counts as one.

    Attributes:
        users: R, the number of users.
        ramp_s: seconds over which the users' first requests are spread; an open loop has no ramp.
        loops: requests of each user, one after the other, unless ``duration_s`` or ``requests`` is set.
        duration_s: closed loop: users repeat until this many seconds after the start.
        requests: closed loop: users repeat until they have sent this many requests in total.
        rate_rps: open loop: requests a second that are planned for ``duration_s``, independent of the answers; a free
            user sends the next one.
        arrivals: spacing of planned sends: ``even``, or ``poisson`` for independent times.
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
        """The total number of requests; None where only the duration limits it."""
        if self.is_open:
            return self.planned_sends
        return None if self.duration_s else self.requests or self.users * self.loops

    @property
    def planned_sends(self) -> int:
        """The number of planned sends of an open loop: rate times duration; 0 for any other load."""
        return int(round(self.rate_rps * self.duration_s, 6))

    @property
    def is_open(self) -> bool:
        """Whether this is an open loop: requests are planned at a rate, and latency counts from the planned time."""
        return self.rate_rps > 0

    @property
    def rounds(self) -> float:
        """Requests of each user, one after the other, where their number is fixed."""
        return self.requests / self.users if self.requests else self.loops

    @property
    def is_burst(self) -> bool:
        """Whether every user sends a fixed number of requests, as in JMeter's thread group."""
        return self.is_counted and not self.requests

    @property
    def is_counted(self) -> bool:
        """Whether the number of sessions decides when it ends, and not a duration."""
        return not self.duration_s
