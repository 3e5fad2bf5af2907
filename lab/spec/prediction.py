"""What theory says: formulas as pure functions of numbers, times in seconds."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lab.spec import schedule
from lab.spec.scenario import Cell, Load, Plan, Scenario, Variant
from lab.spec.schedule import Seed

ANY_SEED: Seed = (0,)
# So many requests of a burst are played one by one: about a second.
PLAYED_REQUESTS = 400_000


def burst_latencies(load: Load, service_s: float, servers: int | None, seed: Seed = ANY_SEED) -> NDArray[np.float64]:
    """Latencies of a burst on ``servers`` threads that each hold a request for exactly ``service_s``.

    The queue D/D/T, first come first served: user i arrives at i·ramp/R, departs at max(arrival, the departure that
    frees a thread) + t, and with several loops arrives again the moment it departs. With one loop and a ramp shorter
    than t this is the wave model in exact form: the k-th wave of T requests takes k·t − (k−1)·T·ramp/R.

    Args:
        load: a burst: ``users``, ``ramp_s``, ``loops`` and ``arrivals`` are read.
        service_s: t, how long one request takes without a queue.
        servers: T, how many can be served at once; None if nothing limits it.
        seed: decides Poisson arrivals.

    Returns:
        Array of shape (users * loops,), in order of arrival.

    """
    if servers is None or servers >= load.users:
        return np.full(load.users * load.loops, service_s)
    arrivals = [(arrival, 0) for arrival in schedule.planned_s(load, seed).tolist()]
    free = [0.0] * servers
    latencies = []
    while arrivals:
        arrival, loop = heapq.heappop(arrivals)
        departure = max(arrival, heapq.heappop(free)) + service_s
        heapq.heappush(free, departure)
        latencies.append(departure - arrival)
        if loop + 1 < load.loops:
            heapq.heappush(arrivals, (departure, loop + 1))
    return np.array(latencies)


def queue_latencies(arrivals_s: NDArray[np.float64], service_s: float, servers: int) -> NDArray[np.float64]:
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
    rounds = -(-len(arrivals_s) // servers)
    chains = np.full((rounds, servers), np.inf)
    chains.flat[: len(arrivals_s)] = arrivals_s
    before_s = np.arange(rounds)[:, np.newaxis] * service_s
    departures = np.maximum.accumulate(chains - before_s) + before_s + service_s
    latencies: NDArray[np.float64] = departures.ravel()[: len(arrivals_s)] - arrivals_s
    return latencies


def mean_latency(load: Load, service_s: float, servers: int | None, seed: Seed = ANY_SEED) -> float:
    """The mean latency that theory predicts for a load, in seconds.

    A burst is the mean of :func:`burst_latencies`, an open loop that of :func:`queue_latencies`, where at most as many
    requests are under way as there are users. A closed loop without pauses obeys Little's law: R users in the system
    and at most T/t requests a second make a mean of R·t/T, or t where threads suffice.
    """
    if load.is_open:
        at_once = min(load.users, servers or load.users)
        return float(queue_latencies(schedule.planned_s(load, seed), service_s, at_once).mean())
    if not load.is_burst:
        users = min(load.users, load.requests or load.users)
        return service_s * max(1.0, users / servers) if servers else service_s
    if servers is None or servers >= load.users:
        return service_s
    return _long_burst_mean(load, service_s, servers, seed)


def _long_burst_mean(load: Load, service_s: float, servers: int, seed: Seed) -> float:
    """The mean of :func:`burst_latencies`, in bounded time and memory for any number of loops.

    Users return the moment they are served, so once all are in the queue, T threads serve R users in rounds, and every
    further loop adds R requests with the mean R·t/T, by Little's law. The first loops, with the ramp, are played.
    """
    played = min(load.loops, max(1, PLAYED_REQUESTS // load.users))
    first = burst_latencies(replace(load, loops=played), service_s, servers, seed)
    settled_s = load.users * service_s / servers
    rest = load.loops - played
    return (float(first.mean()) * played + settled_s * rest) / load.loops


def service_s(scenario: Scenario, plan: Plan) -> float | None:
    """t: how long one request takes without any queue, in seconds; None where that is not known before measuring."""
    if scenario.service_time:
        return plan.parameters[scenario.service_time] / 1000
    return plan.link.latency_ms / 1000 or None


def servers(scenario: Scenario, plan: Plan, variant: Variant) -> int | None:
    """How many requests a variant can work on at once: T threads, N connections, the smaller of both; None for any."""
    return min((limit for limit, _ in _limits(scenario, plan, variant)), default=None)


def _limits(scenario: Scenario, plan: Plan, variant: Variant) -> list[tuple[int, str]]:
    """Each limit of how many requests a variant can work on at once, and the letter that formulas have for it."""
    limits = plan.limits_of(variant.name).or_else(variant.own)
    pool = scenario.own_pool if limits.pool is None else limits.pool
    known = [(limits.threads, "T")] * variant.thread_per_request + [(pool, "N")] * bool(scenario.databases)
    return [(limit, letter) for limit, letter in known if limit is not None]


def plateaus(scenario: Scenario, plan: Plan) -> list[tuple[str, float]]:
    """The most answers a second that T threads or N connections allow, as ``("T", T/t)`` and ``("N", N/t)``.

    Of the plan's own variants; a limit that no load has the users to reach is left out, as all are without a known t.
    """
    time_s = _known_service_s(scenario, plan)
    if not time_s:
        return []
    most_users = max(cell.load.users for cell in plan.cells)
    variants = [scenario.variant(name) for name in dict.fromkeys(cell.variant for cell in plan.cells)]
    least = {min(limits) for variant in variants if (limits := _limits(scenario, plan, variant))}
    return [(letter, limit / time_s) for limit, letter in sorted(least) if limit <= most_users]


def _known_service_s(scenario: Scenario, plan: Plan) -> float | None:
    """How long one request takes, unless that depends on the load, as it does over a link of a limited rate."""
    return None if plan.link.rate or plan.link.connection_rate else service_s(scenario, plan)


def predict(scenario: Scenario, plan: Plan, cell: Cell) -> float | None:
    """The mean latency that theory predicts for a cell, in seconds; None where it predicts none."""
    if (time_s := _known_service_s(scenario, plan)) is None:
        return None
    at_once = servers(scenario, plan, scenario.variant(cell.variant))
    return mean_latency(cell.load, time_s, at_once, schedule.seed_of(plan, cell))
