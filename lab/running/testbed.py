"""The testbed of a run: what all of its cells share, set up by :mod:`lab.running.setup`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.generator.calibration import Calibration
from lab.generator.known_delay_server import LARGE_BYTES
from lab.running.equivalence import Proved
from lab.running.progress import Reporter
from lab.running.tracked_connections import TrackedConnections
from lab.runtimes import Launch, Runtime
from lab.runtimes.host import Cores
from lab.spec.limits import Limits
from lab.spec.plan import Cell, Plan
from lab.spec.planning import split_address
from lab.spec.system import Variant
from lab.storage.run_folder import RunFolder
from lab.system import aot_cache, images
from lab.system.backends import Backends
from lab.system.corpora import Files
from lab.system.launch import MOST_BESIDES_HEAP_MB, NOTHING, contained, service_launch
from lab.system.prometheus import Prometheus


@dataclass(frozen=True)
class Artifacts:
    """The built artifacts that services are started from: JDK, jars, start-up caches, images.

    Attributes:
        java: the launcher of the JDK.
        javas: the launchers of other releases of Java, by release, for variants that name one.
        jars: by Maven module.
        caches: the folder of the start-up cache of each module that has one.
        images: container images by service (see :func:`lab.system.images.service_name`), kind of database, program
            beside them, and ``worker``; empty for processes.

    """

    java: str = ""
    javas: Mapping[int, str] = field(default_factory=dict)
    jars: Mapping[str, Path] = field(default_factory=dict)
    caches: Mapping[str, Path] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)

    def launch(
        self, variant: Variant, limits: Limits, folder: Path, cpus: int, environment: Mapping[str, str] = NOTHING
    ) -> Launch:
        """The launch of a variant of a service, as a process or in a container: see :func:`service_launch`."""
        jar, java = self.jars[variant.module], self.javas[variant.jdk] if variant.jdk else self.java
        launch = service_launch(variant, limits, cpus, java, jar, folder, environment)
        if image := self.images.get(images.service_name(variant.module, variant.jdk)):
            memory_mb = limits.heap_mb + MOST_BESIDES_HEAP_MB if limits.heap_mb else 0
            return contained(launch, image, images.JAR, memory_mb)
        cache = self.caches.get(variant.module)
        return aot_cache.cached(launch, cache) if cache else launch


@dataclass(frozen=True)
class Testbed:
    """The environment that all cells of a run share: artifacts, databases, cores, calibration.

    Attributes:
        plan: what is measured.
        run: the run's folder.
        reporter: shows progress.
        runtime: where services, databases and workers run.
        cores: the cores of the service and of the generator.
        artifacts: what services are started from; empty for attached services.
        backing: the databases and links behind the services.
        calibration: the generator's ceilings on this machine; None if unknown.
        headers: additional headers of every request to attached services.
        join_token: what workers on other machines must know; empty if there are none.
        proved: by name, the first variant's answers to the contract, which the others must equal.
        corpora: the files that programs read, by the name of their recipe.
        prometheus: what scrapes all parts that have metrics; None where the plan does not ask for it.
        beside: the other plans whose loads the same starts of the services serve: see
            :func:`lab.running.setup.in_common`.
        tracked: the room for connections in the kernel's table, which each load waits for.

    """

    plan: Plan
    run: RunFolder
    reporter: Reporter
    runtime: Runtime
    cores: Cores
    artifacts: Artifacts
    backing: Backends = field(default_factory=Backends)
    calibration: Calibration | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    join_token: str = field(default="", repr=False)
    proved: Proved = field(default_factory=dict)
    corpora: Mapping[str, Files] = field(default_factory=dict)
    prometheus: Prometheus | None = None
    beside: tuple[Plan, ...] = ()
    tracked: TrackedConnections = field(default_factory=TrackedConnections)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans whose loads the same starts of the services serve."""
        return self.plan, *self.beside

    @property
    def bind(self) -> tuple[str, int] | None:
        """Host and port of this machine for workers on others; None if there are none."""
        return split_address(self.plan.bind) if self.plan.bind else None

    def connections(self, users: int) -> int:
        """How many connections so many users open on this machine: through a balancer each has two."""
        return 2 * users if self.plan.is_balanced else users

    def start_name(self, cell: Cell) -> str:
        """The name of a start of services: of the first cell that it is for. No other start of a testbed has it."""
        return f"{self.run.name}-{cell.id}" if self.beside else cell.id

    def ceiling_rps(self, cell: Cell) -> float | None:
        """The ceiling of a cell's workers for the kind of request that costs them most, in requests/s.

        Of larger bodies than those that it was measured with they move no more bytes a second.

        None if it is unknown, as for workers on other machines.
        """
        if not self.calibration or cell.load.remote_workers:
            return None
        cores = len(self.cores.generator) or self.cores.cpus
        kind, body_bytes = self.plan.scenario.weight(self.plan.parameters_of(cell))
        found = self.calibration.ceiling_rps(kind, cell.load.workers, cores)
        return found and found / max(1.0, body_bytes / LARGE_BYTES)

    def launch(self, variant: Variant, folder: Path, told: Mapping[str, str] = NOTHING) -> Launch:
        """The launch of a variant's service, as a process or in a container.

        Args:
            told: environment variables besides those of what is behind the service.

        """
        limits, environment = self.plan.limits_of(variant.name), {**self.backing.environment(variant.calls), **told}
        launch = self.artifacts.launch(variant, limits, folder, self.cores.cpus, environment)
        if not self.bind or self.plan.is_balanced:  # then it is the balancer that listens there
            return launch
        return replace(launch, command=(*launch.command, f"--server.address={self.bind[0]}"))
