"""Starts what the service calls besides databases: other services of ours, and programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from lab.generator.executions import filled
from lab.runtimes import Launch
from lab.runtimes.checkout import ROOT
from lab.runtimes.port_file import awaited_port
from lab.spec.limits import NOT_SET, Limits
from lab.spec.memory import CALLED_HEAP_MB
from lab.spec.plan import Plan
from lab.spec.system import Component, Variant
from lab.system.backends import Backends, with_service
from lab.system.databases import Site
from lab.system.launch import remove_scratch
from lab.system.service import Service
from lab.telemetry import actuator

LIMITS = replace(NOT_SET, heap_mb=CALLED_HEAP_MB)
SAYS_ITS_PORT = "It must write the port it listens on into the file that LAB_PORT_FILE names."


class Launcher(Protocol):
    """Makes the launch of a variant with its limits, which writes into a folder: see :meth:`Artifacts.launch`."""

    def __call__(self, variant: Variant, limits: Limits, folder: Path, *, environment: Mapping[str, str]) -> Launch:
        """Make it, with these environment variables."""


@contextmanager
def running_components(plan: Plan, backing: Backends, site: Site, launch: Launcher) -> Iterator[Backends]:
    """The backends with the other components of a plan, started after the databases, and each after those it calls.

    LabError if one does not start.
    """
    with ExitStack() as stack:
        for component in plan.components:
            if component.module or component.command:
                told = backing.environment_of(component.calls)
                service = stack.enter_context(_started(component, site, launch, told))
                backing = stack.enter_context(with_service(backing, component, service, plan, site))
        yield backing


@contextmanager
def _started(component: Component, site: Site, launch: Launcher, told: Mapping[str, str]) -> Iterator[Service]:
    folder = site.logs / component.name
    folder.mkdir(parents=True, exist_ok=True)
    remove_scratch(folder)  # of the run before an interruption: its ports are not these
    if component.command:
        with _program(component, site, folder, told) as service:
            yield service
        return
    described = launch(Variant(component.name, component.module, component.name), LIMITS, folder, environment=told)
    with site.runtime.started(replace(described, name=component.name, cores=site.cores)) as running:
        try:
            yield actuator.await_ready(running, folder)
        finally:
            remove_scratch(folder)


@contextmanager
def _program(component: Component, site: Site, folder: Path, told: Mapping[str, str]) -> Iterator[Service]:
    port_file, host = folder / "application.port", site.runtime.host
    environment = {**told, "LAB_HOST": host, "LAB_PORT_FILE": str(port_file)}
    command = filled(component.command, {"python": sys.executable})
    launch = Launch(component.name, command, folder / "log", environment, site.cores, folder=ROOT, alone=True)
    with site.runtime.started(launch) as running:
        yield Service(running, f"http://{host}:{awaited_port(running, port_file, SAYS_ITS_PORT)}", management="")


def components_facts(backing: Backends, cores: frozenset[int]) -> dict[str, Any]:
    """What a run records of its other components: the cores they may use, and the limits that they report."""
    services = backing.services.items()
    return {
        name: {"cores": sorted(cores), "limits": actuator.limits(service) if service.management else {}}
        for name, service in services
    }


def calls_counted(
    backing: Backends, caching: Iterable[Service] = (), expected: dict[str, int] | None = None
) -> dict[str, int]:
    """How many calls each component has counted so far, without those that do not count, and what caches have.

    Args:
        caching: the nodes of a service that caches, which count by themselves where they found something.
        expected: calls to wait for a little, by component, as a server counts one just after its answer is there.

    """
    counts = backing.queries()
    for node in caching:
        for name, count in actuator.counted(node).items():
            counts[name] = counts.get(name, 0) + count
    for name, service in backing.services.items():
        served = actuator.requests_served(service, (expected or {}).get(name))
        counts |= {} if served is None else {name: served}
    return counts
