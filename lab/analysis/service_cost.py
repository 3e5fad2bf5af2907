"""What a load cost the service: CPU, memory, garbage collection, connections; and the generator: CPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lab.telemetry.actuator import COMPILED_MS, GC_PAUSES, HEAP, JVM_MEMORY
from lab.telemetry.pools import POOLS
from lab.telemetry.sampler import FIXED_WORK, IDLE_SERVICES, WORKER, Reading
from lab.telemetry.series import counter, growth


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
        ``cpu_s`` and ``cpu_s_per_1000_requests``; ``memory_bytes``, ``jvm_bytes`` and ``heap_bytes``, the means of its
        resident memory, which hardly moves where the heap is of one size from the start, of what the JVM has in use in
        the heap and outside, and of the heap in use alone; ``gc_pause_s``, garbage collection pauses; ``jit_share``,
        for how much of the load's time the just-in-time compilers of all nodes were at work together: there are two in
        each, and each may wait for a core, so that it may exceed 1, and what they used of the CPU time;
        ``cpu_s_per_1000_right``, ``gc_pause_s_per_1000_right``, ``jvm_bytes_per_1000_right`` and
        ``heap_bytes_per_1000_right``, all by right answers, which failures make dearer;
        ``yardstick_s``, the CPU seconds of a fixed piece of work on the service's cores, as a measure of their speed;
        ``neighbours_cpu``, the cores that services used which were up meanwhile, and not loaded. None where unknown.

    """
    rows = list(rows)
    jvm_bytes, heap_bytes = (_mean(rows, (name,), begin_s, end_s) for name in (JVM_MEMORY, HEAP))
    cpu_s = growth(*counter(rows, "service", "cpu_s"), begin_s, end_s)
    idle_services_s = growth(*counter(rows, IDLE_SERVICES, "cpu_s"), begin_s, end_s)
    gc_pause_s = growth(*counter(rows, "service", GC_PAUSES), begin_s, end_s)
    compiled_ms = growth(*counter(rows, "service", COMPILED_MS), begin_s, end_s)
    lasted_s = end_s - begin_s  # nothing, where no request was answered

    def per_second(spent_s: float | None) -> float | None:
        return spent_s / lasted_s if spent_s is not None and lasted_s else None

    return {
        "cpu_s": cpu_s,
        "cpu_s_per_1000_requests": _per_1000(cpu_s, requests),
        "cpu_s_per_1000_right": _per_1000(cpu_s, right),
        "memory_bytes": _mean(rows, ("rss_bytes",), begin_s, end_s),
        "jvm_bytes": jvm_bytes,
        "jvm_bytes_per_1000_right": _per_1000(jvm_bytes, right),
        "heap_bytes": heap_bytes,
        "heap_bytes_per_1000_right": _per_1000(heap_bytes, right),
        "gc_pause_s": gc_pause_s,
        "gc_pause_s_per_1000_right": _per_1000(gc_pause_s, right),
        "jit_share": per_second(None if compiled_ms is None else compiled_ms / 1000),
        "yardstick_s": _mean(rows, (FIXED_WORK,), begin_s, end_s),
        "neighbours_cpu": per_second(idle_services_s),
    }


def generator_cost(rows: Iterable[Reading], begin_s: float, end_s: float, requests: int) -> dict[str, float | None]:
    """CPU that a load cost the Locust workers of this machine, for the arguments of :func:`service_cost`.

    Returns:
        ``generator_cpu_s_per_1000_requests``; None where a worker was not read.

    """
    rows = list(rows)
    workers = dict.fromkeys(target for _, target, _, _ in rows if target.startswith(WORKER))
    spent_s = [growth(*counter(rows, worker, "cpu_s"), begin_s, end_s) for worker in workers]
    known_s = [each_s for each_s in spent_s if each_s is not None]
    total_s = sum(known_s) if known_s and len(known_s) == len(spent_s) else None
    return {"generator_cpu_s_per_1000_requests": _per_1000(total_s, requests)}


def of_pools(
    rows: Iterable[Reading], begin_s: float, end_s: float, requests: int, limits: Mapping[str, Any]
) -> dict[str, dict[str, float | None]]:
    """What a load asked of each pool of connections, as for :func:`service_cost`.

    Args:
        limits: those of a node, as kept with the cell.

    Returns:
        By the name of each pool that was read: ``limit``, how many connections it opens at most, in all nodes together;
        ``in_use`` and ``wait``, the mean numbers of connections in use and of requests that waited for one; and
        ``acquire_s``, for how long a request waited for one on average, by Little's law. None where unknown.

    """
    rows, found = list(rows), dict[str, dict[str, float | None]]()
    for pool in POOLS:
        in_use, waiting = (_mean(rows, names, begin_s, end_s) for names in (pool.in_use, pool.waiting))
        acquire_s = None if waiting is None or not requests else waiting * (end_s - begin_s) / requests
        if in_use is not None or waiting is not None:
            found[pool.name] = {"limit": pool.limit(limits), "in_use": in_use, "wait": waiting, "acquire_s": acquire_s}
    return found


def of_all_pools(pools: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """``pool_in_use``, ``pool_wait`` and ``pool_acquire_s``: the sums of what :func:`of_pools` says of each pool."""
    return {f"pool_{name}": _sum(of[name] for of in pools.values()) for name in ("in_use", "wait", "acquire_s")}


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _per_1000(total: float | None, count: int) -> float | None:
    return None if total is None or not count else total / count * 1000


def _mean(rows: list[Reading], names: tuple[str, ...], begin_s: float, end_s: float) -> float | None:
    """The mean of what was read of the service by any of these names."""
    found = [
        value for t, target, name, value in rows if target == "service" and name in names and begin_s <= t <= end_s
    ]
    return sum(found) / len(found) if found else None
