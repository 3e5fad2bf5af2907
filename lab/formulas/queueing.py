"""Queues with a constant service time: latencies, waves and means. Times in seconds.

R users, T servers (threads or connections; None where nothing limits how many are served at once), and a service time
t: how long a request takes that waits for nobody.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# A mean of so many times the time of a request that waits for nobody shows a queue.
QUEUED = 1.5
# By how much a limit must exceed what was under way at the lowest load, or that load may have waited for it too.
ABOVE_LOWEST = 1.1
# So many requests of a burst are played one by one: about a second.
PLAYED_REQUESTS = 400_000


def wave_count(users: float, servers: float | None) -> int:
    """⌈R/T⌉: how many waves follow one another if R requests start together; 1 where nothing limits."""
    return 1 if servers is None else int(-(-users // servers))


def wave_sizes(users: int, servers: int | None) -> list[int]:
    """How many requests each of the ⌈R/T⌉ waves has: full ones, and what is left."""
    room = servers or users
    full, rest = divmod(users, room)
    return [room] * full + [rest] * bool(rest)


def transfer_s(requests: int, answer_bytes: int, rate: float, connection_rate: float) -> float:
    """How long a link needs for answers that start together: equal shares end together.

    Args:
        requests: how many share it.
        answer_bytes: of each answer.
        rate: bytes a second of all connections together; 0 for no limit.
        connection_rate: bytes a second of each connection; 0 for no limit.

    """
    on_connection = answer_bytes / connection_rate if connection_rate else 0.0
    on_line = requests * answer_bytes / rate if rate else 0.0
    return max(on_connection, on_line)


def burst_latencies(arrivals_s: Floats, service_s: float, servers: int | None, loops: int = 1) -> Floats:
    """Latencies of a burst: each user sends ``loops`` requests, one after the other, to ``servers`` threads.

    The queue D/D/T, first come first served: user i arrives, departs at max(arrival, the departure that frees a
    thread) + t, and with several loops arrives again the moment it departs. With one loop and an even ramp shorter
    than t this is the wave model in exact form: the k-th wave of T requests takes k·t − (k−1)·T·ramp/R.

    Args:
        arrivals_s: when each user sends its first request, ascending, shape (users,).
        service_s: t, how long one request takes without a queue.
        servers: T, how many can be served at once; None if nothing limits it.
        loops: requests of each user.

    Returns:
        Array of shape (users * loops,), in order of arrival.

    """
    if servers is None or servers >= len(arrivals_s):
        return np.full(len(arrivals_s) * loops, service_s)
    arrivals = [(arrival, 0) for arrival in arrivals_s.tolist()]
    free = [0.0] * servers
    latencies = []
    while arrivals:
        arrival, loop = heapq.heappop(arrivals)
        departure = max(arrival, heapq.heappop(free)) + service_s
        heapq.heappush(free, departure)
        latencies.append(departure - arrival)
        if loop + 1 < loops:
            heapq.heappush(arrivals, (departure, loop + 1))
    return np.array(latencies)


def burst_mean_s(arrivals_s: Floats, service_s: float, servers: int | None, loops: int = 1) -> float:
    """The mean of :func:`burst_latencies`, in bounded time and memory for any number of loops.

    Users return the moment they are served, so once all are in the queue, T threads serve R users in rounds, and every
    further loop adds R requests with the mean R·t/T, by Little's law. The first loops, with the ramp, are played.
    """
    users = len(arrivals_s)
    if servers is None or servers >= users:
        return service_s
    played = min(loops, max(1, PLAYED_REQUESTS // users))
    first = burst_latencies(arrivals_s, service_s, servers, played)
    return (float(first.mean()) * played + closed_mean_s(users, service_s, servers) * (loops - played)) / loops


def closed_mean_s(users: int, service_s: float, servers: int | None) -> float:
    """The mean latency of a closed loop without pauses, by Little's law.

    R users in the system and at most T/t requests a second make a mean of R·t/T, or t where threads suffice.
    """
    return service_s * max(1.0, users / servers) if servers else service_s


def queue_latencies(arrivals_s: Floats, service_s: float, servers: int) -> Floats:
    """Latencies of a queue, first come first served, whose requests all take exactly ``service_s``.

    Where all take as long, request i gets the thread that request i − T leaves. So each of T threads serves a chain of
    requests of its own, by Lindley's recursion: departure k is max(arrival k, departure k − 1) + t, which is
    (k + 1)·t + max over j ≤ k of (arrival j − j·t).

    Args:
        arrivals_s: moments, ascending, shape (n,).
        service_s: t.
        servers: T, how many are served at once.

    Returns:
        Seconds from arrival to departure, shape (n,).

    """
    chains = np.full((wave_count(len(arrivals_s), servers), servers), np.inf)
    chains.flat[: len(arrivals_s)] = arrivals_s
    before_s = np.arange(len(chains))[:, np.newaxis] * service_s
    departures = np.maximum.accumulate(chains - before_s) + before_s + service_s
    latencies: Floats = departures.ravel()[: len(arrivals_s)] - arrivals_s
    return latencies
