"""The binding resource: which of threads, connections, link, CPU or generator was at its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

# Above these shares a resource is saturated; the rest is the error of readings once a second. For a link, and for what
# a called component works on at once, it is the time of a burst's ramp and of its last answers.
GENERATOR_FULL, CPU_FULL, FULL, LINK_FULL, CALLED_FULL = 0.90, 0.85, 0.95, 0.80, 0.90
QUEUED = 1.1
# A CPU that is full for so many seconds together, and in all for such a share of the load, decides for those who come
# then, however idle it is afterwards.
FULL_FOR_S, FULL_FOR_SHARE = 5, 0.2


@dataclass(frozen=True)
class PoolUsage:
    """The utilisation of one pool of connections; None for what was not read.

    Attributes:
        busy: typical number of connections in use, of at most ``limit``.
        waiting: how many requests wait for a connection on average.

    """

    busy: float | None = None
    limit: float | None = None
    waiting: float | None = None

    @property
    def is_full(self) -> bool:
        """Whether requests wait for its connections; with as many users as connections it is full, without a queue."""
        if self.busy is None or not self.limit or self.busy < FULL * self.limit:
            return False
        return self.waiting is None or self.waiting >= 1


@dataclass(frozen=True)
class Usage:
    """The utilisation of each resource under one load; None for what was not read.

    Attributes:
        generator_cpu: the busiest Locust worker's CPU share of one core.
        service_cpu: CPU seconds a second of the service, of at most ``service_cpus`` cores.
        service_full_s: seconds in which the CPU was full, :data:`FULL_FOR_S` or more together.
        looked_at_s: of how many seconds: all of the load, or the part of a ramp that is looked at.
        link_cpu: CPU share of one core of the process that shapes the link to a database.
        database_cpu: CPU seconds a second by database, of at most ``database_cpus`` cores; one core if not known.
        called_cpu: the same by other component that the service calls.
        shared_busy: how many of the ``database_cpus`` cores, which the generator has too, were busy with programs and
            interrupts.
        called_busy: by called component with a limit, the calls that it worked on at once, and that limit.
        threads_busy: typical number of request threads at work, of at most ``threads``.
        pools: by name, such as ``pool to mongo``, each pool of connections that the service keeps to what it calls.
        bytes_rps: bytes of answers a second, over a link that passes at most ``link_rate``.
        mean_s: mean latency; ``service_s`` is what one request takes without any queue.

    """

    generator_cpu: float | None = None
    service_cpu: float | None = None
    service_cpus: float | None = None
    service_full_s: int = 0
    looked_at_s: float = 0.0
    link_cpu: float | None = None
    database_cpu: Mapping[str, float] = field(default_factory=dict)
    database_cpus: float = 1.0
    called_cpu: Mapping[str, float] = field(default_factory=dict)
    shared_busy: float | None = None
    called_busy: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    threads_busy: float | None = None
    threads: float | None = None
    pools: Mapping[str, PoolUsage] = field(default_factory=dict)
    bytes_rps: float | None = None
    link_rate: float | None = None
    mean_s: float | None = None
    service_s: float | None = None


@dataclass(frozen=True)
class Bottleneck:
    """The binding resource of a load, and the sentence with the readings that show it.

    Attributes:
        name: ``threads``, ``CPU``, ``database``, ``link``, ``generator``, ``shared cores``, ``nothing``, a called
            component, or a pool by its name, such as ``pool to mongo``.

    """

    name: str
    sentence: str


def find(usage: Usage) -> Bottleneck:
    """Find the binding resource of a load, or of the part of it in which the CPU was full.

    The generator comes first, as no other reading can be trusted if it is saturated. Without queueing there is no
    bottleneck, however high a utilisation is. Pools come before threads, as threads wait for them; what is called
    before both, as calls that queue there hold them; and the CPU before all, as requests that wait for it hold their
    thread and connection. Of several full pools it is the one that most requests wait for.
    """
    for rule in (
        _generator,
        _unqueued,
        _link,
        _database,
        _called,
        _cpu,
        _shared,
        _called_busy,
        _pool,
        _threads,
        _cpu_at_times,
    ):
        if found := rule(usage):
            return found
    return Bottleneck("nothing", _unbound(usage))


def _generator(r: Usage) -> Bottleneck | None:
    if r.generator_cpu is None or r.generator_cpu < GENERATOR_FULL:
        return None
    return Bottleneck(
        "generator", f"The generator was the bottleneck: a Locust worker used {r.generator_cpu:.0%} of its core."
    )


def _unqueued(r: Usage) -> Bottleneck | None:
    if r.mean_s is None or not r.service_s or r.mean_s > QUEUED * r.service_s:
        return None
    alone = f"the mean of {r.mean_s:.3f} s is that of one request alone ({r.service_s:.3f} s)"
    return Bottleneck("nothing", f"There was no bottleneck: {alone}.")


def _link(r: Usage) -> Bottleneck | None:
    if r.link_cpu is not None and r.link_cpu >= GENERATOR_FULL:
        return Bottleneck(
            "link", f"The link was the bottleneck: the process that shapes it used {r.link_cpu:.0%} of its core."
        )
    if not r.link_rate or r.bytes_rps is None or r.bytes_rps < LINK_FULL * r.link_rate:
        return None
    passed = f"{r.bytes_rps / 1e6:.2f} of {r.link_rate / 1e6:.2f} MB/s passed"
    return Bottleneck("link", f"The link was the bottleneck: {passed}.")


def _database(r: Usage) -> Bottleneck | None:
    if not r.database_cpu:
        return None
    kind, used = max(r.database_cpu.items(), key=lambda item: item[1])
    if used < CPU_FULL * r.database_cpus:
        return None
    return Bottleneck(
        "database", f"The database was the bottleneck: {kind} used {used:.2f} of {_cores(r.database_cpus)}."
    )


def _called(r: Usage) -> Bottleneck | None:
    name, used = max(r.called_cpu.items(), key=lambda item: item[1], default=("", 0.0))
    if not name or used < CPU_FULL * r.database_cpus:
        return None
    return Bottleneck(name, f"The called {name} was the bottleneck: it used {used:.2f} of {_cores(r.database_cpus)}.")


def _cpu(r: Usage) -> Bottleneck | None:
    if r.service_cpu is None or not r.service_cpus or r.service_cpu < CPU_FULL * r.service_cpus:
        return None
    return Bottleneck(
        "CPU", f"The CPU was the bottleneck: the service used {r.service_cpu:.2f} of its {_cores(r.service_cpus)}."
    )


def _shared(r: Usage) -> Bottleneck | None:
    behind = {**r.database_cpu, **r.called_cpu}
    if not behind or r.shared_busy is None or r.shared_busy < CPU_FULL * r.database_cpus:
        return None
    used = ", ".join(f"{name} {cores:.2f}" for name, cores in behind.items())
    cores = f"{r.shared_busy:.2f} of {_cores(r.database_cpus)} were busy ({used}, the rest the generator)"
    return Bottleneck("shared cores", f"What shares the generator's cores was the bottleneck: {cores}.")


def _called_busy(r: Usage) -> Bottleneck | None:
    full = {
        name: (at_once, most)
        for name, (at_once, most) in r.called_busy.items()
        if CALLED_FULL * most <= at_once and most <= _most_calls(r, name)
    }
    if not full:
        return None
    name, (at_once, most) = max(full.items(), key=lambda item: item[1][0] / item[1][1])
    worked = f"it worked on {min(at_once, most):.0f} of {most:g} calls at once, by Little's law"
    return Bottleneck(name, f"The called {name} was the bottleneck: {worked}{_idle(r)}.")


def _most_calls(r: Usage, component: str) -> float:
    """How many calls to a component the service can have under way: with fewer than it takes, none queues there."""
    pool = r.pools.get(f"pool to {component}")
    return min((limit for limit in (r.threads, pool and pool.limit) if limit), default=math.inf)


def _pool(r: Usage) -> Bottleneck | None:
    full = {name: pool for name, pool in r.pools.items() if pool.is_full}
    if not full:
        return None
    name, pool = max(full.items(), key=lambda item: item[1].waiting or 0.0)
    in_use = f"{pool.busy:.0f} of {pool.limit:g} connections were in use"
    return Bottleneck(name, f"The {name} was the bottleneck: {in_use}{_idle(r)}.")


def _threads(r: Usage) -> Bottleneck | None:
    if r.threads_busy is None or not r.threads or r.threads_busy < FULL * r.threads:
        return None
    return Bottleneck(
        "threads", f"The threads were the bottleneck: {r.threads_busy:.0f} of {r.threads:g} were busy{_idle(r)}."
    )


def _idle(r: Usage) -> str:
    if r.service_cpu is None or not r.service_cpus:
        return ""
    return f", while the service used {r.service_cpu:.2f} of {_cores(r.service_cpus)}"


def _cpu_at_times(r: Usage) -> Bottleneck | None:
    if not r.service_cpus or r.service_full_s < max(FULL_FOR_S, FULL_FOR_SHARE * r.looked_at_s):
        return None
    used = f"the service used at least {CPU_FULL:.0%} of its {_cores(r.service_cpus)} then"
    return Bottleneck("CPU", f"The CPU was the bottleneck in {r.service_full_s} of {r.looked_at_s:.0f} s: {used}.")


def _cores(count: float) -> str:
    return f"{count:g} core{'' if count == 1 else 's'}"


def _unbound(r: Usage) -> str:
    if r.mean_s is None:
        return "There was no answer, so the bottleneck is unknown."
    if r.generator_cpu is not None and r.service_cpu is None:
        return "The generator was not the bottleneck; of the service nothing was read that could show it."
    return "No resource that was read was at its limit."
