"""The load of one measurement: a burst, a closed loop, a total, an open loop, or a ramp of the rate."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, structs

from lab.formulas.digits import digits

Arrivals = Literal["even", "poisson"]
EVEN: Arrivals = "even"
POISSON: Arrivals = "poisson"
# From when to when, in seconds after the start.
Span: TypeAlias = tuple[float, float]
# In windows users start anew each time: their first sends are spread over this part of a window at most.
WINDOW_RAMP_SHARE = 0.05


class _AnyLoad(Struct, frozen=True, kw_only=True, tag_field="type", tag=str.lower):
    """What every load has.

    It counts sessions: one execution of a user's task, which is one request unless a locustfile's task sends more. So
    what follows says requests where a session of several counts as one.

    Attributes:
        users: R, the number of users.
        arrivals: spacing of planned sends: ``even``, or ``poisson`` for independent times.
        timeout_s: a request that takes longer counts as an error of class ``timeout``.
        workers: Locust worker processes on this machine that share the users.
        remote_workers: workers on other machines that share them too.
        pace: how long users pause, as a multiple of what their locustfile says. The ramp of users is as it is here.

    """

    users: int
    arrivals: Arrivals = EVEN
    timeout_s: float = 120.0
    workers: int = 1
    remote_workers: int = 0
    pace: float = 1.0

    # Whether requests are sent independently of the answers, so that latency counts from the planned send.
    independent: ClassVar[bool] = False

    def window(self, number: int = 0) -> Load:
        """The load of one of its windows, by its number from 0: itself where it is in one piece."""
        return self  # type: ignore[return-value] # one of the five

    @property
    def is_ramp(self) -> bool:
        """Whether it grows from its beginning to its end, in rate or in users, so that it is shown by time window."""
        return False

    @property
    def kind(self) -> str:
        """Its type as it is stored: ``burst``, ``closed``, ``total``, ``open`` or ``ramp``."""
        return str(self.__struct_config__.tag)

    def as_burst(self, ramp_s: float, users: int | None = None, loops: int = 1) -> Burst:
        """A burst with the same generator and, unless others are given, the same users."""
        return Burst(
            users=users or self.users,
            ramp_s=ramp_s,
            loops=loops,
            arrivals=self.arrivals,
            timeout_s=self.timeout_s,
            workers=self.workers,
            remote_workers=self.remote_workers,
            pace=self.pace,
        )

    def as_closed(self, duration_s: float) -> Closed:
        """A closed loop of the same users and generator, who all start at once."""
        return Closed(
            users=self.users,
            ramp_s=0.0,
            duration_s=duration_s,
            timeout_s=self.timeout_s,
            workers=self.workers,
            remote_workers=self.remote_workers,
            pace=self.pace,
        )


class WaitingUsers(_AnyLoad, frozen=True, kw_only=True):
    """A load whose users start one after the other, and send again once they have their answer.

    Attributes:
        ramp_s: seconds over which the users' first requests are spread.

    """

    ramp_s: float = 1.0

    @property
    def planned_starts(self) -> int:
        """How many sends have a planned time: the first of each user."""
        return self.users

    def volume(self, unit: str = "request") -> str:
        """How large the load is, in words: ``4,000 users``."""
        return f"{self.users:,} user{'s' * (self.users != 1)}"


class Burst(WaitingUsers, frozen=True, kw_only=True):
    """Every user sends the same number of requests, as in JMeter's thread group: a load that is never steady.

    Attributes:
        loops: requests of each user, one after the other.

    """

    loops: int = 1
    steady_span_s: ClassVar[Span | None] = None
    windows: ClassVar[int] = 1

    @property
    def planned_sessions(self) -> int:
        """The total number of requests."""
        return self.users * self.loops

    @property
    def rounds(self) -> float:
        """Requests of each user, one after the other."""
        return self.loops


class Closed(WaitingUsers, frozen=True, kw_only=True):
    """A closed loop that a duration ends: users repeat until then.

    Attributes:
        duration_s: seconds after the start until which users send; of all windows together.
        windows: in how many windows of equal length it is measured, between which other variants have theirs; 1 for a
            load in one piece.

    """

    duration_s: float
    windows: int = 1
    planned_sessions: ClassVar[int | None] = None

    @property
    def is_ramp(self) -> bool:
        """Whether the last user starts at its end: a ramp of users."""
        return self.ramp_s >= self.duration_s

    @property
    def steady_span_s(self) -> Span | None:
        """The time in which the load should be steady; None for a load that never is."""
        return None if self.is_ramp else (self.window().ramp_s, _last_send_s(self))

    def window(self, number: int = 0) -> Closed:
        """The load of one of its windows, which are alike."""
        if self.windows == 1:
            return self
        length_s = self.duration_s / self.windows
        ramp_s = min(self.ramp_s, WINDOW_RAMP_SHARE * length_s)
        return structs.replace(self, duration_s=length_s, ramp_s=ramp_s, windows=1)


class Total(WaitingUsers, frozen=True, kw_only=True):
    """A closed loop that a number of requests ends: users repeat until they have sent so many together.

    Attributes:
        requests: of all users.

    """

    requests: int
    windows: ClassVar[int] = 1

    @property
    def planned_sessions(self) -> int:
        """The total number of requests."""
        return self.requests

    @property
    def rounds(self) -> float:
        """Requests of each user, one after the other, on average."""
        return self.requests / self.users

    @property
    def steady_span_s(self) -> Span | None:
        """The time in which the load should be steady: after the ramp, to the last send, whenever that is."""
        return self.ramp_s, math.inf


class OpenLoop(_AnyLoad, frozen=True, kw_only=True):
    """A load whose every send is planned, independently of the answers: a free user sends the next one.

    The users are the most requests that are under way at once.

    Attributes:
        duration_s: seconds after the start in which all sends are planned.

    """

    duration_s: float
    independent: ClassVar[bool] = True


class Open(OpenLoop, frozen=True, kw_only=True):
    """An open loop of one rate.

    Attributes:
        rate_rps: requests a second that are planned for ``duration_s``.
        windows: as of a :class:`Closed` loop.

    """

    rate_rps: float
    windows: int = 1

    @property
    def planned_sessions(self) -> int:
        """The total number of planned sends: rate times duration, rounded down."""
        return _whole(self.rate_rps * self.duration_s)

    planned_starts = planned_sessions

    @property
    def highest_rps(self) -> float:
        """The highest rate, in requests/s."""
        return self.rate_rps

    @property
    def steady_span_s(self) -> Span | None:
        """The time in which the load should be steady: all of it."""
        return 0.0, _last_send_s(self)

    def window(self, number: int = 0) -> Open:
        """The load of one of its windows, by its number from 0: of as many sends as the rate has planned by its end.

        A window has a whole number of them, so that its own rate differs a little from that of all windows together.
        """
        if self.windows == 1:
            return self
        by_then, before = (_whole(self.planned_sessions * done / self.windows) for done in (number + 1, number))
        length_s = self.duration_s / self.windows
        return structs.replace(self, rate_rps=(by_then - before) / length_s, duration_s=length_s, windows=1)

    def backlog(self, capacity_rps: float) -> float:
        """How many requests wait at the end for a service that answers only so many a second."""
        return max(0.0, self.rate_rps - capacity_rps) * self.duration_s

    def volume(self, unit: str = "request") -> str:
        """How large the load is, in words: ``80 requests/s``."""
        return f"{digits(self.rate_rps)} {unit}s/s"


class Ramp(OpenLoop, frozen=True, kw_only=True):
    """An open loop whose rate grows linearly: a load that is never steady.

    Attributes:
        from_rps: planned requests a second at the start.
        to_rps: planned requests a second after ``duration_s``.

    """

    from_rps: float
    to_rps: float
    windows: ClassVar[int] = 1
    steady_span_s: ClassVar[Span | None] = None

    @property
    def is_ramp(self) -> bool:
        """Whether it grows: always, in rate."""
        return True

    @property
    def planned_sessions(self) -> int:
        """The total number of planned sends: the mean of both rates times duration."""
        return _whole((self.from_rps + self.to_rps) / 2 * self.duration_s)

    planned_starts = planned_sessions

    @property
    def highest_rps(self) -> float:
        """The highest rate, in requests/s."""
        return self.to_rps

    def reaches_s(self, rps: float) -> float:
        """The time, in seconds from the start, at which so many requests a second are planned; its end if never."""
        share = (rps - self.from_rps) / (self.to_rps - self.from_rps)
        return self.duration_s * min(max(share, 0.0), 1.0)

    def backlog(self, capacity_rps: float) -> float:
        """How many requests wait at the end for a service that answers only so many a second."""
        exceeds_at_rps = max(self.from_rps, capacity_rps)
        if exceeds_at_rps >= self.to_rps:
            return 0.0
        exceeding_s = self.duration_s * (self.to_rps - exceeds_at_rps) / (self.to_rps - self.from_rps)
        return ((exceeds_at_rps + self.to_rps) / 2 - capacity_rps) * exceeding_s

    def volume(self, unit: str = "request") -> str:
        """How large the load is, in words: ``0 to 1,000 requests/s``."""
        return f"{digits(self.from_rps)} to {digits(self.to_rps)} {unit}s/s"


def _last_send_s(load: Closed | Open) -> float:
    """Until when a load is sent; infinite for one in windows, whose last answers take time beside the duration."""
    return load.duration_s if load.windows == 1 else math.inf


def _whole(sends: float) -> int:
    """A number of sends without what rounding left of a next one: 0.29/s for 100 s are 29."""
    return int(round(sends, 6))


Load: TypeAlias = Burst | Closed | Total | Open | Ramp
