"""Samples CPU, memory, threads and the metrics of a service and its balancer once a second while a load lasts."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from lab.runtimes import Launch, Running, Runtime, host
from lab.spec.nodes import is_node
from lab.spec.system import BALANCER, SERVICE
from lab.system import balancer
from lab.system.deployment import Deployment
from lab.telemetry.actuator import HICCUPS, POLL_TIMEOUT_S, STATES, scrape

MACHINE = "machine"
# How the names of Locust workers begin, which their numbers follow.
WORKER = "worker "
# What is up while another service is loaded: all services together, and all of their generators.
IDLE_SERVICES, IDLE_GENERATORS = "neighbours", "idle generators"
# What shares the generator's cores and is no worker, and all that is on the service's.
BESIDE_WORKERS, ON_SERVICE_CORES = ("master", "lab", IDLE_GENERATORS, MACHINE), (SERVICE, IDLE_SERVICES)
# Of readings while a load lasts, which must hardly delay the workers on the same cores. At 19, the lowest priority,
# other programs that keep these cores busy left readings a hundredth of one: seconds of a load were not read.
PROBE_NICENESS = 10
# CPU time of all programs on an owner's cores, without interrupts, which some kernels count as program time too.
CORES_BUSY = "cores_busy_s"
# CPU time of these interrupts on an owner's cores.
INTERRUPTS = "interrupts_s"
# CPU seconds of a fixed piece of work on one of an owner's cores; see lab/telemetry/cpu_speed.py.
FIXED_WORK = "yardstick_s"  # as runs have stored it
# Seconds in which the machine itself stood still, by the moment at which that began; see lab/telemetry/pauses.py.
PAUSED = "paused_s"
# Packets that the kernel dropped as it could not track their connection, and how full its table is of those that it
# tracks, as it drops some for other reasons too; see lab/runtimes/host.py.
UNTRACKED, TRACKED_SHARE = "untracked_packets_total", "tracked_share"
# That what reads either had ended by then, so that nothing is known of the rest of a load.
SPEED_UNREAD, PAUSES_UNREAD = "speed_unread", "pauses_unread"
# That one of several nodes, or their balancer, did not answer a reading.
SILENT = "silent"
# How many answers of a node the balancer has passed on.
PASSED_ON = "passed_on_total"
# How many requests the balancer has received.
RECEIVED = "received_total"
CPU_SPEED_SCRIPT, PAUSES_SCRIPT = (Path(__file__).with_name(name) for name in ("cpu_speed.py", "pauses.py"))
JOIN_WITHIN_S = 5.0
# In a reading nodes and balancer are waited for one after the other.
READ_WITHIN_S = 2 * POLL_TIMEOUT_S + 0.5

# Unix time, target, name, value.
Reading = tuple[float, str, str, float]


@dataclass
class Telemetry:
    """Readings once a second: rows of (Unix time, target, name, value), and the times of failed readings."""

    rows: list[Reading] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)


@contextmanager
def sampling(
    deployment: Deployment,
    others: Mapping[str, Running],
    cores: Mapping[str, frozenset[int]] | None = None,
    every_s: float = 1.0,
    into: Telemetry | None = None,
    together: Mapping[str, Sequence[Running]] | None = None,
) -> Iterator[Telemetry]:
    """Read CPU, memory and threads of service, other processes and cores, and the service's metrics, while it lasts.

    The operating system and the service are read by separate threads, so that a service that is too busy to
    answer leaves a gap in its own metrics only. The last reading is taken when the context ends. The first and the
    last one, before and after a load, are taken at the usual priority, and those between at a lower one.

    Where the service has several nodes, each is read, and what all of them have is summed as that of the service.

    Args:
        deployment: the service, with its nodes and their balancer.
        others: the other processes of the run, by name.
        cores: the cores to read, by owner, such as ``{"generator": {1}}``.
        into: where readings are added as they are taken; a new one if None.
        together: further processes, by a name for the CPU time of all of them.

    """
    telemetry, stop = into if into is not None else Telemetry(), threading.Event()
    # Unix time by the clock as it was at the beginning: a step of the clock must not reorder readings.
    ahead_s = time.time() - time.monotonic()
    nodes = {name: ProcessTree(node.running.pid) for name, node in deployment.nodes.items()}
    front = {BALANCER: deployment.balancer.running} if deployment.balancer else {}
    trees = {name: ProcessTree(running.pid) for name, running in {**front, **others}.items()}
    families = {name: [ProcessTree(one.pid) for one in several] for name, several in (together or {}).items()}
    spent_s: dict[ProcessTree, float] = {}

    def read_operating_system() -> None:
        now = time.monotonic() + ahead_s
        telemetry.rows += _of_cores(now, cores or {})
        telemetry.rows += _rows(now, with_sum({name: tree.usage() for name, tree in nodes.items()}))
        telemetry.rows += _rows(now, {name: tree.usage() for name, tree in trees.items()})
        # Without its children, which are the others: neither those that run nor those that have ended.
        telemetry.rows += _rows(now, {"lab": _usage(psutil.Process(), with_ended=False)})
        for name, family in families.items():
            for tree in family:  # one that has ended keeps what it used: the sum is a counter
                spent_s[tree] = max(spent_s.get(tree, 0.0), tree.usage().get("cpu_s", 0.0))
            telemetry.rows.append((now, name, "cpu_s", sum(spent_s[tree] for tree in family)))

    def read_service() -> None:
        now = time.monotonic() + ahead_s
        # A node that is silent must not delay the others. New threads have the priority of the one that starts them.
        with ThreadPoolExecutor(len(nodes)) as at_once:
            pages = dict(zip(deployment.nodes, at_once.map(scrape, deployment.nodes.values()), strict=True))
        came = time.monotonic() + ahead_s
        # A page that is asked for as a stop begins comes when it is over, and counts it.
        telemetry.rows += [(came if row[2] == HICCUPS else row[0], *row[1:]) for row in _rows(now, with_sum(pages))]
        telemetry.rows += [(now, name, SILENT, 1.0) for name, page in pages.items() if is_node(name) and not page]
        # By now a node that is silent has been waited for.
        telemetry.rows += _rows(time.monotonic() + ahead_s, _of_balancer(deployment))
        if deployment.is_ours and not all(pages.values()):
            telemetry.gaps.append(now)

    reads = (read_operating_system, read_service)
    beside_load = [_started(_repeat, read, stop, every_s) for read in reads]
    try:
        yield telemetry
    finally:
        stop.set()
        _join(beside_load)
        # By other threads, as not everybody may raise the priority of one again.
        _join([_started(read) for read in reads])


def _started(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, name="probes", daemon=True)
    thread.start()
    return thread


def _join(threads: Iterable[threading.Thread]) -> None:
    """Wait for threads that read, each of which is over within :data:`READ_WITHIN_S`."""
    until = time.monotonic() + READ_WITHIN_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


@contextmanager
def watching_cores(
    runtime: Runtime, cores: Mapping[str, frozenset[int]], logs: Path, into: Telemetry
) -> Iterator[None]:
    """Add readings of :data:`FIXED_WORK` and :data:`PAUSED`, while the context lasts; none if no cores are owned.

    Args:
        cores: by owner; how fast each of them is, is read, and when one of each owner's stood still at the same time.
        logs: the folder of the logs.

    """
    owners = {core: owner for owner, own in cores.items() for core in own}
    if not owners:
        yield
        return

    def speed(line: str) -> Reading:
        now, core, spent_s = line.split()
        return float(now), owners[int(core)], FIXED_WORK, float(spent_s)

    def pause(line: str) -> Reading:
        began, length_s = map(float, line.split())
        return began, MACHINE, PAUSED, length_s

    one_of_each = sorted({min(own) for own in cores.values() if own})
    python = (sys.executable, "-IS")
    timer = Launch("CPU speed", (*python, str(CPU_SPEED_SCRIPT), *map(str, owners)), logs / "cpu-speed.log", talks=True)
    meter = Launch("pauses", (*python, str(PAUSES_SCRIPT), *map(str, one_of_each)), logs / "pauses.log", talks=True)
    with _heard(runtime, timer, speed, SPEED_UNREAD, into), _heard(runtime, meter, pause, PAUSES_UNREAD, into):
        yield


@contextmanager
def _heard(
    runtime: Runtime, launch: Launch, read: Callable[[str], Reading], unread: str, into: Telemetry
) -> Iterator[None]:
    """Add a reading for each line that a process prints, which ends with its stdin, while the context lasts.

    Args:
        unread: the name of the reading that says that it ended before.

    """
    over = threading.Event()

    def listen() -> None:
        with contextlib.suppress(ValueError):  # of a line that it was killed in
            for line in running.stdout:
                into.rows.append(read(line))
        if not over.is_set():
            into.rows.append((time.time(), MACHINE, unread, 1.0))

    with runtime.started(launch) as running:
        thread = threading.Thread(target=listen, name=launch.name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            running.stdin.close()  # which ends it
            thread.join(JOIN_WITHIN_S)


def _repeat(read: Callable[[], None], stop: threading.Event, every_s: float) -> None:
    """Read at once, then every ``every_s`` seconds at a low priority until ``stop`` is set."""
    read()
    if sys.platform == "linux":  # of this thread only: reading must not delay the workers on the same core
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(PROBE_NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))
    due = time.monotonic() + every_s
    while not stop.wait(max(0.0, due - time.monotonic())):
        read()
        due = max(due + every_s, time.monotonic())


class ProcessTree:
    """A process with its children, as a database in a container may have some."""

    def __init__(self, pid: int) -> None:
        self._parent: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._parent = psutil.Process(pid)
        # Finding children means scanning all processes, so it is done only once where there are none.
        self._has_children = bool(self._children())

    def _children(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return self._parent.children(recursive=True) if self._parent else []
        return []

    def usage(self) -> dict[str, float]:
        """CPU seconds so far, memory and threads of all its processes; empty once it has ended."""
        total = _usage(self._parent) if self._parent else {}
        for child in self._children() if self._has_children else []:
            for name, value in _usage(child).items():
                total[name] = total.get(name, 0.0) + value
        return total


def with_sum(of_nodes: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """Readings by node and name, with those of the service: the sums of what all of its nodes have.

    A state is not summed: two breakers that try are not an open one. Nor is its mean one, which of an open and a closed
    breaker is one that tries. The service's is that of the node with the highest, so that whatever is kept back shows.
    """
    first, *others = of_nodes.values()
    common = [name for name in first if all(name in other for other in others)]
    of_all = {name: [values[name] for values in of_nodes.values()] for name in common}
    return {**of_nodes, SERVICE: {name: (max if name in STATES else sum)(read) for name, read in of_all.items()}}


def _rows(now: float, readings: Mapping[str, Mapping[str, float]]) -> list[Reading]:
    return [(now, target, name, value) for target, values in readings.items() for name, value in values.items()]


def _of_balancer(deployment: Deployment) -> dict[str, dict[str, float]]:
    """What the balancer says: how many requests it received and refused, and by node whether it gets requests."""
    if not deployment.balancer:
        return {}
    found = balancer.counted(deployment.balancer, deployment.nodes, POLL_TIMEOUT_S)
    if not found:
        return {BALANCER: {SILENT: 1.0}}
    of_nodes = {
        name: {"up": float(found.up[name]), PASSED_ON: float(found.passed_on[name])} for name in deployment.nodes
    }
    own = {RECEIVED: found.received, "refused_total": found.refused}
    return {**of_nodes, BALANCER: {name: float(value) for name, value in own.items()}}


def _of_cores(now: float, cores: Mapping[str, frozenset[int]]) -> list[Reading]:
    """One reading of machine and cores by the operating system, at a Unix time."""
    rows = [(now, MACHINE, "cpu_s", _busy_s(psutil.cpu_times()))]
    if (dropped := host.untracked_packets()) is not None:
        rows.append((now, MACHINE, UNTRACKED, float(dropped)))
    if tracked := host.tracked_connections():
        rows.append((now, MACHINE, TRACKED_SHARE, tracked[0] / tracked[1]))
    if any(cores.values()):
        each = dict(zip(host.online_cores(), psutil.cpu_times(percpu=True), strict=False))
        # An owner one of whose cores went offline is not read, which the verdict says.
        known = {owner: own for owner, own in cores.items() if own <= each.keys()}
        for owner, own in known.items():
            rows += [
                (now, owner, CORES_BUSY, sum(now - _idle_s(each[core]) for core in own)),
                (now, owner, INTERRUPTS, sum(_interrupts_s(each[core]) for core in own)),
            ]
    return rows


def _busy_s(times: Any) -> float:
    """CPU seconds that cores ran programs or interrupts, or that the host of a virtual machine withheld (steal)."""
    spent = ("user", "nice", "system", "steal", "irq", "softirq")
    return float(sum(getattr(times, name, 0.0) for name in spent))


def _idle_s(times: Any) -> float:
    """Seconds so far in which a core ran no program.

    Linux knows the idle time to the microsecond, but program time by what runs at each tick of its clock: it does not
    see programs that run in step with the ticks, or always between them.
    """
    return float(sum(getattr(times, name, 0.0) for name in ("idle", "iowait"))) + _interrupts_s(times)


def _interrupts_s(times: Any) -> float:
    """Seconds so far in which a core handled interrupts, such as the kernel's work for the packets that it received."""
    return float(sum(getattr(times, name, 0.0) for name in ("irq", "softirq")))


def _usage(process: psutil.Process, with_ended: bool = True) -> dict[str, float]:
    """CPU seconds so far, memory and threads of a process; with the CPU time of children that have ended, or without.

    That of a service's children, or a database's, must not be lost.
    """
    try:
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:  # it keeps its number until it is stopped, and no memory
                return {}
            times, memory = process.cpu_times(), process.memory_info()
            return {
                "cpu_s": sum(times[: 4 if with_ended else 2]),
                "rss_bytes": memory.rss,
                "threads": process.num_threads(),
            }
    except psutil.Error:
        return {}
