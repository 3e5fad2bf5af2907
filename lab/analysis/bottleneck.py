"""The binding resource: which of threads, connections, link, CPU or generator was at its limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Above these shares a resource has no room left; readings once a second and rounding take the rest, and of a link's
# time in a burst the ramp and the last answers.
GENERATOR_FULL, CPU_FULL, FULL, LINK_FULL = 0.90, 0.85, 0.95, 0.80
QUEUED = 1.1


@dataclass(frozen=True)
class Usage:
    """What is known of one load; None for what was not read.

    Attributes:
        generator_cpu: the busiest Locust worker's use of its core, 1.0 being all of it.
        service_cpu: CPU seconds a second that the service used, and ``service_cpus`` the cores that it had.
        link_cpu: of its core, what the process used that shapes the link to a database.
        database_cpu: CPU seconds a second by database, of at most ``database_cpus`` cores; one core if not known.
        threads_busy: typical number of request threads at work, of at most ``threads``.
        pool_busy: typical number of database connections in use, of at most ``pool``; ``pool_waiting`` requests wait
            for one on average.
        bytes_rps: bytes of answers a second, over a link that passes at most ``link_rate``.
        mean_s: mean latency; ``service_s`` is what one request takes without any queue.

    """

    generator_cpu: float | None = None
    service_cpu: float | None = None
    service_cpus: float | None = None
    link_cpu: float | None = None
    database_cpu: Mapping[str, float] = field(default_factory=dict)
    database_cpus: float = 1.0
    threads_busy: float | None = None
    threads: float | None = None
    pool_busy: float | None = None
    pool: float | None = None
    pool_waiting: float | None = None
    bytes_rps: float | None = None
    link_rate: float | None = None
    mean_s: float | None = None
    service_s: float | None = None


@dataclass(frozen=True)
class Bottleneck:
    """What decided, and why.

    Attributes:
        name: ``threads``, ``pool``, ``CPU``, ``database``, ``link``, ``generator`` or ``nothing``.

    """

    name: str
    sentence: str


def name(readings: Usage) -> Bottleneck:
    """The resource that decided a load.

    The generator comes first, as nothing else can be believed then. Where nobody waits nothing decides, however busy it
    is. A pool comes before threads, as these wait for it, and CPU before both, as whoever waits for the CPU holds what
    it has.
    """
    for rule in (_generator, _unqueued, _link, _database, _cpu, _pool, _threads):
        if found := rule(readings):
            return found
    return Bottleneck("nothing", _unbound(readings))


def _generator(r: Usage) -> Bottleneck | None:
    if r.generator_cpu is None or r.generator_cpu < GENERATOR_FULL:
        return None
    return Bottleneck("generator", f"The generator decided: a Locust worker used {r.generator_cpu:.0%} of its core.")


def _unqueued(r: Usage) -> Bottleneck | None:
    if r.mean_s is None or not r.service_s or r.mean_s > QUEUED * r.service_s:
        return None
    alone = f"the mean of {r.mean_s:.3f} s is that of one request alone ({r.service_s:.3f} s)"
    return Bottleneck("nothing", f"Nothing was short: {alone}.")


def _link(r: Usage) -> Bottleneck | None:
    if r.link_cpu is not None and r.link_cpu >= GENERATOR_FULL:
        return Bottleneck("link", f"The link decided: the process that shapes it used {r.link_cpu:.0%} of its core.")
    if not r.link_rate or r.bytes_rps is None or r.bytes_rps < LINK_FULL * r.link_rate:
        return None
    passed = f"{r.bytes_rps / 1e6:.2f} of {r.link_rate / 1e6:.2f} MB/s passed"
    return Bottleneck("link", f"The link to the database decided: {passed}.")


def _database(r: Usage) -> Bottleneck | None:
    if not r.database_cpu:
        return None
    kind, used = max(r.database_cpu.items(), key=lambda item: item[1])
    if used < CPU_FULL * r.database_cpus:
        return None
    return Bottleneck("database", f"The database decided: {kind} used {used:.2f} of {r.database_cpus:g} cores.")


def _cpu(r: Usage) -> Bottleneck | None:
    if r.service_cpu is None or not r.service_cpus or r.service_cpu < CPU_FULL * r.service_cpus:
        return None
    return Bottleneck("CPU", f"The CPU decided: the service used {r.service_cpu:.2f} of its {r.service_cpus:g} cores.")


def _pool(r: Usage) -> Bottleneck | None:
    if r.pool_busy is None or not r.pool or r.pool_busy < FULL * r.pool:
        return None
    if r.pool_waiting is not None and r.pool_waiting < 1:  # as many users as connections: full, and nobody waits
        return None
    return Bottleneck("pool", f"The pool decided: {r.pool_busy:.0f} of {r.pool:g} connections were in use{_idle(r)}.")


def _threads(r: Usage) -> Bottleneck | None:
    if r.threads_busy is None or not r.threads or r.threads_busy < FULL * r.threads:
        return None
    return Bottleneck("threads", f"The threads decided: {r.threads_busy:.0f} of {r.threads:g} were busy{_idle(r)}.")


def _idle(r: Usage) -> str:
    if r.service_cpu is None or not r.service_cpus:
        return ""
    return f", while the service used {r.service_cpu:.2f} of {r.service_cpus:g} cores"


def _unbound(r: Usage) -> str:
    if r.mean_s is None:
        return "Nothing was answered, so that nothing can be said about what decided."
    if r.generator_cpu is not None and r.service_cpu is None:
        return "The generator had room left; of the service nothing was read that says what decided."
    return "No resource that was watched was at its limit."
