"""Asks a service's actuator: readiness, limits in force, Prometheus metrics, CPU and compiler time spent."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import requests
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from lab.errors import ComponentError, LabError
from lab.runtimes import Running, loopback
from lab.runtimes.checkout import ROOT
from lab.runtimes.exit_status import ExitStatus
from lab.runtimes.port_file import port_in
from lab.runtimes.waiting import await_exit_reasons, await_started, ended_error, settled
from lab.system.deployment import Deployment
from lab.system.free_port import TAKEN
from lab.system.service import HEALTH, LIVENESS, Service
from lab.telemetry import pools

# Lines of a log in which a cause may be above a long stack trace.
WHOLE_LOG = 1000
# The timeout of readings once a second, and of those that the verdict depends on.
POLL_TIMEOUT_S, ANSWER_WITHIN_S = 2.0, 30.0
# The heap and the JVM's areas beside it; neither buffers outside of them, as Netty's, nor the stacks of threads.
JVM_MEMORY = "jvm_memory_used_bytes"
HEAP, HEAP_EDEN = "jvm_heap_used_bytes", "jvm_heap_eden_bytes"
# 0 where a circuit breaker is closed, 1 where it is open, and between the two while it tries a few calls.
BREAKER_OPEN = "lab_breaker_open"
# Readings that are no amounts.
STATES = (BREAKER_OPEN,)
ANSWERED, SUCCEEDED = "http_server_requests_seconds_count", "http_server_requests_succeeded_total"
# How long just-in-time compilers were at work: the time that passed, and not what they used of a core that others use.
COMPILED_MS = "jvm_compilation_time_ms_total"
# Absent until the first collection.
GC_PAUSES, GC_COUNT = "jvm_gc_pause_seconds_sum", "jvm_gc_pause_seconds_count"
# For how long a service's process did not run, in all, by a thread of its own that is woken too late then.
HICCUPS = "lab_hiccups_seconds_total"
SETTLE_WITHIN_S = 10.0
# What a service reports with its limits that is its process's own, and of no other node.
OF_ONE_PROCESS = ("pid", "process_cpu_s", "pool_live", "request_threads_live")
# The metrics that are kept of a service's Prometheus page, each summed over its labels; besides all of our own, whose
# names begin so.
OWN_METRICS = "lab_"
KEPT_METRICS = (
    *pools.METRICS,
    ANSWERED,
    COMPILED_MS,
    GC_COUNT,
    GC_PAUSES,
    JVM_MEMORY,
    "jvm_threads_live_threads",
    "tomcat_connections_current_connections",
    "tomcat_threads_busy_threads",
    "tomcat_threads_current_threads",
)
# Parts of a metric that are kept by a name of their own: the metric, a label, and its value as a regular expression.
KEPT_PARTS = {
    HEAP: (JVM_MEMORY, "area", re.compile("heap")),  # and not "nonheap"
    SUCCEEDED: (ANSWERED, "status", re.compile("2..")),
    HEAP_EDEN: (JVM_MEMORY, "id", re.compile(".*Eden Space")),  # after the name of the collector
    pools.HTTP_LEASED: ("httpcomponents_httpclient_pool_total_connections", "state", re.compile("leased")),
}
# The lines of a Prometheus page that have something to keep, and their types. There are hundreds of others, and
# parsing them takes CPU time of a core that the generator may need.
_FAMILIES = [
    re.sub("_(count|sum|total)$", "", name) for name in (*KEPT_METRICS, *(of[0] for of in KEPT_PARTS.values()))
]
_KEPT_LINES = re.compile(rf"^(?:# TYPE )?(?:{'|'.join((OWN_METRICS, *_FAMILIES))}).*\n?", re.MULTILINE)


def await_ready(
    running: Running,
    folder: Path,
    host: str | None = None,
    together: Iterable[Running] = (),
    check_needed: Callable[[], None] = lambda: None,
) -> Service:
    """Wait until a service reports that it is up.

    Args:
        folder: where it writes its port files, unless it was launched into a folder of its own.
        host: the address for the load, if it is not the one through which the runtime reaches it.
        together: all that start with it, and may wait for each other: where one of them ends, so has the waiting.
        check_needed: raises ComponentError where something has ended that it needs, and would wait for.

    Raises:
        ComponentError: it ended, or was not ready in time; with the last lines of its log.

    """
    folder = running.launch.folder or folder

    def ready() -> Service | None:
        check_needed()
        port, management = port_in(folder / "application.port"), port_in(folder / "application-management.port")
        if not port or not management:
            return None
        url, asked = (f"http://{at}:{number}" for at, number in map(running.reach, (port, management)))
        service = Service(running, f"http://{host}:{running.reach(port)[1]}" if host else url, asked)
        if _status(service, HEALTH) != HTTPStatus.OK:
            return None
        # Early generations of Boot have no page for that: they are asked for all of their health.
        return replace(service, check_path=HEALTH) if _status(service, LIVENESS) == HTTPStatus.NOT_FOUND else service

    try:
        return await_started(running, ready, beside=together, ended=_start_error)
    except LabError as error:
        raise ComponentError(error.problem, error.next_step, error.detail) from error


def _start_error(running: Running, ending: ExitStatus) -> LabError:
    """The error for a service that ended while it started: that a port was taken, if its log says so, else how."""
    if TAKEN not in running.log_tail(WHOLE_LOG).lower():
        return ended_error(running, ending)
    # That of a cluster is chosen beforehand, the others by the system as the service starts.
    told = running.launch.environment
    members = told.get("LAB_CLUSTER_MEMBERS", "").split(",")
    at = members[int(told.get("LAB_NODE", "1")) - 1]
    return LabError(
        f"The {running.launch.name} {ending} while it started: another program has taken {at or 'its port'}"
        f"{', its address in the cluster' * bool(at)}, which was free a moment before.",
        "Try again: each start gets a port of its own.",
        running.log_tail(),
    )


def _status(service: Service, path: str) -> int:
    """The status of a page of its management; 0 if it does not answer in time."""
    try:
        return loopback.get(service.management + path, POLL_TIMEOUT_S).status_code
    except requests.RequestException:
        return 0


def no_answer_error(service: Service, otherwise: str) -> ComponentError:
    """The error for a service that did not answer: how it ended if it did, else ``otherwise``; waits up to 2 s."""
    ending = await_exit_reasons(service.running.exit_reason)
    problem = f"The {service.running.launch.name} {ending} during the measurement." if ending else otherwise
    return ComponentError(problem, "", service.running.log_tail())


def limits(service: Service) -> dict[str, Any]:
    """The limits in force, read back from the running server's own objects. ComponentError if it does not answer.

    That of each pool is there by its name, such as ``pool to mongo``.
    """
    try:
        response = loopback.get(f"{service.management}/actuator/limits", ANSWER_WITHIN_S)
        response.raise_for_status()
        stated = dict(json.loads(response.text.replace(f"{ROOT}/", "")))  # a run does not reveal this clone's path
    except (requests.RequestException, ValueError) as error:
        raise no_answer_error(service, f"The service did not report its limits: {error}.") from error
    of_pools = stated.pop("pools", {})
    return {**stated, **{pools.name_of(component): most for component, most in of_pools.items()}}


def settle(service: Service, settings: Mapping[str, int | str]) -> dict[str, Any]:
    """Have a service put settings in force; returns those that are, as it reads them back from its own objects.

    ComponentError if it does not accept them.
    """
    try:
        response = loopback.post(f"{service.management}/actuator/settings", settings, ANSWER_WITHIN_S)
        response.raise_for_status()
        return dict(response.json())
    except (requests.RequestException, ValueError) as error:
        name = service.running.launch.name
        raise no_answer_error(service, f"The {name} did not accept its settings: {error}.") from error


def empty_caches(service: Service) -> None:
    """Have a service forget what it has cached. ComponentError if it does not."""
    try:
        loopback.delete(f"{service.management}/actuator/caches", ANSWER_WITHIN_S).raise_for_status()
    except requests.RequestException as error:
        raise no_answer_error(service, f"The service did not empty its caches: {error}.") from error


def scrape(service: Service, within_s: float = POLL_TIMEOUT_S) -> dict[str, float]:
    """One reading of the metrics that are kept; empty if the service does not answer in time, or is not the lab's."""
    return _kept(_samples(service, within_s))


def _samples(service: Service, within_s: float) -> list[Sample]:
    """One reading of the metrics that are kept, without the lab's own requests; empty as :func:`scrape`."""
    if not service.management:
        return []
    try:
        page = loopback.get(service.metrics, within_s)
        page.raise_for_status()
        families = list(text_string_to_metric_families("".join(_KEPT_LINES.findall(page.text))))
    except (requests.RequestException, ValueError):
        return []
    # The management server counts the lab's own requests under the same name.
    own = "/actuator"
    return [each for family in families for each in family.samples if not each.labels.get("uri", "").startswith(own)]


def _kept(samples: Iterable[Sample]) -> dict[str, float]:
    values: dict[str, float] = {}
    for sample in samples:
        for name in _kept_as(sample.name, sample.labels):
            values[name] = values.get(name, 0.0) + sample.value
    return {GC_PAUSES: 0.0, **values} if values else {}


def _kept_as(metric: str, labels: Mapping[str, str]) -> Iterator[str]:
    """The names under which a sample of a metric is kept, and summed; not the time of creation of a counter of ours."""
    if metric in KEPT_METRICS or (metric.startswith(OWN_METRICS) and not metric.endswith("_created")):
        yield metric
    for name, (whole, label, value) in KEPT_PARTS.items():
        if metric == whole and value.fullmatch(labels.get(label, "")):
            yield name


def counted(service: Service) -> dict[str, int]:
    """What a service of ours has counted itself so far, such as ``cache hops``: its own counters, but of seconds."""
    found = scrape(service, ANSWER_WITHIN_S)
    return {
        name.removeprefix(OWN_METRICS).removesuffix("_total").replace("_", " "): int(value)
        for name, value in found.items()
        if name.startswith(OWN_METRICS) and name.endswith("_total") and name != HICCUPS
    }


class EndpointStatus(NamedTuple):
    """A kind of answers: its endpoint's method and path, such as ``/operations/{id}``, and its status."""

    method: str
    path: str
    status: str


@dataclass(frozen=True)
class Answered:
    """How many requests a service has counted as answered so far.

    Attributes:
        total: all of them; None if it does not report that.
        succeeded: those with a status of 2xx; None as ``total``.
        by_status: all of them by endpoint and status; what came to no endpoint has a word in the place of its path,
            such as ``UNKNOWN``.

    """

    total: int | None = None
    succeeded: int | None = None
    by_status: Mapping[EndpointStatus, int] = field(default_factory=dict)


def requests_answered(service: Service) -> Answered:
    """How many requests the service has counted as answered so far, as it says in one reading."""
    samples = _samples(service, ANSWER_WITHIN_S)
    found = _kept(samples)
    if ANSWERED not in found:
        return Answered()
    by_status: Counter[EndpointStatus] = Counter()
    for sample in (each for each in samples if each.name == ANSWERED):
        method, path, status = (sample.labels.get(label, "") for label in ("method", "uri", "status"))
        by_status[EndpointStatus(method, path, status)] += int(sample.value)  # a sample for each exception, too
    return Answered(int(found[ANSWERED]), int(found.get(SUCCEEDED, 0)), by_status)


def requests_served(service: Service, expected: int | None = None) -> int | None:
    """How many requests the service has counted as answered so far; None if it does not report that.

    A server counts a request just after the client has its answer, so wait a little for the ``expected`` number.
    """

    def is_settled(count: int | None) -> bool:
        return count is None or expected is None or count >= expected

    return settled(lambda: requests_answered(service).total, is_settled, SETTLE_WITHIN_S)


@dataclass(frozen=True)
class CpuTimes:
    """CPU seconds of a service so far, of all nodes and by the just-in-time compilers of each, at a monotonic time."""

    at_s: float
    cpu_s: float
    jit_s: tuple[float, ...]

    def since(self, before: CpuTimes, requests: int) -> dict[str, float]:
        """CPU time a request and compiler load between two readings.

        Returns:
            ``requests``, ``elapsed_s``, ``cpu_us_per_request`` and ``jit_share`` (compiler time over elapsed time, of
            the node where it is highest; a JVM has two compilers, so that it may exceed 1).

        """
        elapsed_s = max(self.at_s - before.at_s, 1e-9)
        return {
            "requests": requests,
            "elapsed_s": elapsed_s,
            "cpu_us_per_request": (self.cpu_s - before.cpu_s) * 1e6 / max(requests, 1),
            "jit_share": max(now - then for now, then in zip(self.jit_s, before.jit_s, strict=True)) / elapsed_s,
        }


def cpu_times(deployment: Deployment) -> CpuTimes:
    """Read the CPU and compiler time of all nodes so far; ComponentError if one does not report them."""
    cpu_s, jit_s = 0.0, []
    for node in deployment.nodes.values():
        values = scrape(node, ANSWER_WITHIN_S)
        if COMPILED_MS not in values:
            raise no_answer_error(node, f"The {node.running.launch.name} did not report its compiler's time.")
        cpu_s += node.running.cpu_s()
        jit_s.append(values[COMPILED_MS] / 1000)
    return CpuTimes(time.monotonic(), cpu_s, tuple(jit_s))
