"""What a load cost the service: CPU, memory, garbage collection, connections."""

from __future__ import annotations

from collections.abc import Iterable

from lab.telemetry.actuator import GC_PAUSES, HEAP, HTTP_LEASED
from lab.telemetry.sampler import FIXED_WORK, NEIGHBOURS, Reading
from lab.telemetry.series import counter, growth

# Metrics of the pools, of databases and of the two HTTP clients: connections in use, and requests that wait for one.
POOL_IN_USE = (
    "hikaricp_connections_active",
    "r2dbc_pool_acquired",
    "mongodb_driver_pool_checkedout",
    HTTP_LEASED,
    "reactor_netty_connection_provider_active_connections",
)
POOL_WAITING = (
    "hikaricp_connections_pending",
    "r2dbc_pool_pending",
    "mongodb_driver_pool_waitqueuesize",
    "httpcomponents_httpclient_pool_total_pending",
    "reactor_netty_connection_provider_pending_connections",
)


def service_cost(
    rows: Iterable[Reading], begin_s: float, end_s: float, requests: int, right: int = 0
) -> dict[str, float | None]:
    """CPU, memory, garbage collection and connections that a load cost the service.

    Args:
        rows: those of :func:`lab.analysis.observations.metrics`.
        begin_s: when the first request was sent, in seconds since the planned start.
        end_s: when the last request ended.
        requests: number of requests.
        right: number of those that were answered rightly.

    Returns:
        ``cpu_s`` and ``cpu_s_per_1000_requests``; ``memory_bytes`` and ``heap_bytes``, the means of its resident memory
        and of the heap in use; ``gc_pause_s``, garbage collection pauses; ``cpu_s_per_1000_right`` and
        ``gc_pause_s_per_1000_right``, both by right answers, which failures make dearer; ``pool_in_use`` and
        ``pool_wait``, the mean numbers of connections in use and of requests that waited for one; ``pool_acquire_s``,
        for how long a request waited for connections on average, by Little's law; ``yardstick_s``, the
        CPU seconds of a fixed piece of work on the service's cores, as a measure of their speed; ``neighbours_cpu``,
        the cores that services used which were up meanwhile, and not loaded. None where unknown.

    """
    rows = list(rows)
    cpu_s = growth(*counter(rows, "service", "cpu_s"), begin_s, end_s)
    neighbours_s = growth(*counter(rows, NEIGHBOURS, "cpu_s"), begin_s, end_s)
    waiting = _mean(rows, POOL_WAITING, begin_s, end_s)
    gc_pause_s = growth(*counter(rows, "service", GC_PAUSES), begin_s, end_s)
    return {
        "cpu_s": cpu_s,
        "cpu_s_per_1000_requests": _per_1000(cpu_s, requests),
        "cpu_s_per_1000_right": _per_1000(cpu_s, right),
        "memory_bytes": _mean(rows, ("rss_bytes",), begin_s, end_s),
        "heap_bytes": _mean(rows, (HEAP,), begin_s, end_s),
        "gc_pause_s": gc_pause_s,
        "gc_pause_s_per_1000_right": _per_1000(gc_pause_s, right),
        "pool_in_use": _mean(rows, POOL_IN_USE, begin_s, end_s),
        "pool_wait": waiting,
        "pool_acquire_s": None if waiting is None or not requests else waiting * (end_s - begin_s) / requests,
        "yardstick_s": _mean(rows, (FIXED_WORK,), begin_s, end_s),
        "neighbours_cpu": None if neighbours_s is None else neighbours_s / (end_s - begin_s),
    }


def _per_1000(total: float | None, count: int) -> float | None:
    return None if total is None or not count else total / count * 1000


def _mean(rows: list[Reading], names: tuple[str, ...], begin_s: float, end_s: float) -> float | None:
    """The mean of what was read of the service by any of these names."""
    found = [
        value for t, target, name, value in rows if target == "service" and name in names and begin_s <= t <= end_s
    ]
    return sum(found) / len(found) if found else None
