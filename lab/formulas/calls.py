"""Requests that make several calls of a constant time: latencies, means and totals. Times in seconds.

Each of R requests makes x calls of t, one after the other or all at once. It holds one of T threads until it is
answered, where the stack has a thread a request, and each call holds one of N connections.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from lab.formulas import laws, queueing
from lab.formulas.queueing import PLAYED_REQUESTS, Floats


@dataclass(frozen=True)
class Calls:
    """The calls of every request, and what limits how many are under way.

    Attributes:
        call_s: t, how long one call takes.
        calls: x calls a request.
        parallel: whether a request makes all of them at once.
        threads: T, of which a request holds one until it is answered; None if nothing limits them.
        connections: N, of which a call holds one; None if nothing limits them.

    """

    call_s: float
    calls: int = 1
    parallel: bool = False
    threads: int | None = None
    connections: int | None = None

    @property
    def alone_s(self) -> float:
        """How long a request takes that waits for no other."""
        if self.parallel:
            return self.call_s * queueing.wave_count(self.calls, self.connections)
        return self.call_s * self.calls

    @property
    def servers(self) -> int | None:
        """How many requests are served at once: T or N, or N/x of those that make all calls at once; None if any."""
        connections = self.connections
        if self.parallel and connections is not None:
            connections = max(1, connections // self.calls)
        return min((limit for limit in (self.threads, connections) if limit is not None), default=None)

    @property
    def capacity_rps(self) -> float:
        """The most requests a second: T/(x·t) or N/(x·t), whichever is less; infinite if nothing limits them."""
        by_threads = math.inf if self.threads is None else self.threads / max(self.alone_s, 1e-12)
        busy_s = max(self.call_s * self.calls, 1e-12)
        return min(by_threads, math.inf if self.connections is None else self.connections / busy_s)

    def all_s(self, requests: int) -> float:
        """How long R requests at once take: ⌈R/min(N,T)⌉·t·x one after the other, ⌈R·x/N⌉·t at once (Sprinklr 2023)."""
        if not self.parallel:
            return queueing.wave_count(requests, self.servers) * self.alone_s
        at_once = min(requests, self.threads or requests)
        waves = queueing.wave_count(requests, self.threads)
        return waves * laws.total_reactive(at_once, self.call_s, self.connections, self.calls)

    def burst_mean_s(self, arrivals_s: Floats, loops: int = 1) -> float:
        """The mean latency of a burst whose users send ``loops`` requests each, one after the other.

        Args:
            arrivals_s: when each user sends its first request, ascending, shape (users,).

        """
        if not self.parallel:
            return queueing.burst_mean_s(arrivals_s, self.alone_s, self.servers, loops)
        users = len(arrivals_s)
        played = min(loops, max(1, PLAYED_REQUESTS // (users * self.calls)))
        first = float(self.latencies(arrivals_s, played).mean())
        return (first * played + self.closed_mean_s(users) * (loops - played)) / loops

    def closed_mean_s(self, users: int) -> float:
        """The mean latency of a closed loop without pauses: R over the capacity, by Little's law, or what one takes."""
        if not self.parallel:
            return queueing.closed_mean_s(users, self.alone_s, self.servers)
        return max(self.alone_s, users / self.capacity_rps)

    def open_latencies(self, arrivals_s: Floats, users: int) -> Floats:
        """The latencies of an open loop of which ``users`` requests at most are under way, as :meth:`latencies`."""
        if not self.parallel:
            return queueing.queue_latencies(arrivals_s, self.alone_s, min(users, self.servers or users))
        return replace(self, threads=min(users, self.threads or users)).latencies(arrivals_s)

    def latencies(self, arrivals_s: Floats, loops: int = 1) -> Floats:
        """Latencies of requests that wait for a thread and, for each call, for a connection.

        Events are played in order; what is freed goes to whoever waits longest for it. Calls that are made one after
        the other keep their connection: pools are not fair, and who gives one back and asks again at once gets it
        before those who wait. (Measured with MongoDB's driver: 100 requests of five calls on 20 connections have a mean
        of three fifths of the total, as in waves, and not of nine tenths, as if they took turns.)

        Args:
            arrivals_s: when each user sends its first request, ascending, shape (users,).
            loops: requests of each user, one after the other.

        Returns:
            Seconds from arrival to answer, shape (users * loops,), in order of arrival, or of the answers where calls
            are made at once.

        """
        if not self.parallel:
            return queueing.burst_latencies(arrivals_s, self.alone_s, self.servers, loops)
        return np.array(_Queues(self, arrivals_s.tolist(), loops).play())


class _Queues:
    """The queues for threads and connections while requests that make all their calls at once are played."""

    def __init__(self, of: Calls, arrivals_s: list[float], loops: int) -> None:
        self._of = of
        self._loops = [loops] * len(arrivals_s)
        self._arrived_s = list(arrivals_s)
        self._open = [0] * len(arrivals_s)  # calls that are not answered yet
        self._free_threads = math.inf if of.threads is None else of.threads
        self._free_connections = math.inf if of.connections is None else of.connections
        self._for_thread: deque[int] = deque()
        self._for_connection: deque[int] = deque()
        # (moment, 0 for the end of a call or 1 for an arrival, user): what ends at a moment frees before what begins.
        self._events = [(at_s, 1, user) for user, at_s in enumerate(arrivals_s)]
        self._latencies: list[float] = []

    def play(self) -> list[float]:
        """Play all events to the last answer, and return the latencies."""
        heapq.heapify(self._events)
        while self._events:
            now_s, begins, user = heapq.heappop(self._events)
            if begins:
                self._arrived_s[user] = now_s
                self._for_thread.append(user)
            else:
                self._free_connections += 1
                self._answered(now_s, user)
            self._proceed(now_s)
        return self._latencies

    def _answered(self, now_s: float, user: int) -> None:
        """A call is answered, and the request with its last one."""
        self._open[user] -= 1
        if not self._open[user]:
            self._free_threads += 1
            self._latencies.append(now_s - self._arrived_s[user])
            self._loops[user] -= 1
            if self._loops[user]:
                heapq.heappush(self._events, (now_s, 1, user))

    def _proceed(self, now_s: float) -> None:
        """Give free threads and connections to those who wait."""
        while self._for_thread and self._free_threads:
            self._free_threads -= 1
            user = self._for_thread.popleft()
            self._open[user] = self._of.calls
            self._for_connection.extend([user] * self._of.calls)
        while self._for_connection and self._free_connections:
            self._free_connections -= 1
            heapq.heappush(self._events, (now_s + self._of.call_s, 0, self._for_connection.popleft()))
