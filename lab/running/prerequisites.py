"""Everything that a run's cells share: checked, built, started and recorded before the first, ended after the last."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from lab import experiments
from lab.cli import as_typed
from lab.errors import LabError
from lab.experiments import SCENARIOS
from lab.generator import calibration
from lab.generator.calibration import Calibration
from lab.running.progress import Reporter
from lab.runtimes import Launch, Runtime, docker, host
from lab.runtimes.docker import DockerRuntime
from lab.runtimes.process import ProcessRuntime, confined
from lab.spec.planning import split_address
from lab.spec.scenario import Load, Plan, Scenario, Variant
from lab.storage.run_folder import RunFolder
from lab.system import aot_cache, artifacts, attached, backends, images, services
from lab.system.backends import NO_ADDRESSES, Addresses, Backing
from lab.system.databases import Site

# The Locust master, the lab and its libraries keep some files open besides one socket a user.
SPARE_FILES = 256
# What a JVM needs besides its heap: code, class metadata, threads, network buffers.
BESIDES_HEAP_MB = 768


@dataclass(frozen=True)
class Cores:
    """Which cores the service and the generator have to themselves; empty sets where they share all of them."""

    service: frozenset[int]
    generator: frozenset[int]

    @property
    def cpus(self) -> int:
        """How many cores the service has."""
        return len(self.service) or len(host.cores()) or os.cpu_count() or 1

    @property
    def owned(self) -> dict[str, frozenset[int]]:
        """Whose cores are whose; empty where they share all of them."""
        return {owner: mine for owner, mine in (("service", self.service), ("generator", self.generator)) if mine}

    @staticmethod
    def split(pin: bool) -> Cores:
        """The first half of the cores for the service, the rest for the generator and the databases."""
        cores = host.cores()
        if not pin or len(cores) < 2:
            return Cores(frozenset(), frozenset())
        half = len(cores) // 2
        return Cores(frozenset(cores[:half]), frozenset(cores[half:]))


@dataclass(frozen=True)
class Stage:
    """What all cells of a run share.

    Attributes:
        jdk: what services run on; None where the lab starts none.
        caches: the folder of the start-up cache of each module that has one.
        images: what containers are started from, by module, kind of database, and ``worker``; empty for processes.
        calibration: what the generator can do on this machine; None if nobody has measured it.
        proved: what the first variant answered to the contract, for the others to equal.
        headers: what a service that the lab did not start is sent with every request.

    """

    plan: Plan
    scenario: Scenario
    runtime: Runtime
    jdk: services.Jdk | None
    jars: Mapping[str, Path]
    caches: Mapping[str, Path]
    images: Mapping[str, str]
    cores: Cores
    run: RunFolder
    reporter: Reporter
    backing: Backing
    calibration: Calibration | None = None
    proved: dict[str, tuple[str, dict[str, dict[str, Any]]]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def bind(self) -> tuple[str, int] | None:
        """Host and port of this machine for workers on others; None if there are none."""
        return split_address(self.plan.bind) if self.plan.bind else None

    def ceiling_rps(self, load: Load) -> float | None:
        """The most requests a second that a load's workers can send of this scenario's kind.

        None if it is not known, as of workers on other machines.
        """
        if not self.calibration or load.remote_workers:
            return None
        cores = len(self.cores.generator) or self.cores.cpus
        return self.calibration.ceiling_rps(self.scenario.kind, load.workers, cores)

    def launch(self, variant: Variant, folder: Path) -> Launch:
        """How a variant's service is started, as a process or in a container."""
        assert self.jdk
        asked, jar = self.plan.limits_of(variant.name), self.jars[variant.module]
        launch = services.launch(variant, asked, self.cores.cpus, self.jdk, jar, folder, self.backing.environment)
        if self.bind:
            launch = replace(launch, command=(*launch.command, f"--server.address={self.bind[0]}"))
        image = self.images.get(variant.module)
        if image:
            memory_mb = asked.heap_mb + BESIDES_HEAP_MB if asked.heap_mb else 0
            return services.contained(launch, image, images.JAR, memory_mb)
        cache = self.caches.get(variant.module)
        return aot_cache.cached(launch, cache) if cache else launch


@contextmanager
def set_up(
    plan: Plan,
    command: Sequence[str],
    runs: Path,
    reporter: Reporter,
    users: int,
    runtime: str = "process",
    addresses: Addresses = NO_ADDRESSES,
    reopen: Callable[[Mapping[str, Any]], RunFolder] | None = None,
) -> Iterator[Stage]:
    """Check the machine, make the run's folder, build, start what stands behind the services.

    Args:
        users: the most that will be spawned at once.
        runtime: ``process``, ``docker`` or ``auto``.
        reopen: gives the folder of an older run that goes on, once the facts about this machine are known.

    Raises:
        LabError: something is missing or could not be started; the run's folder, if there is one yet, says so too.

    """
    if plan.urls:
        yield from _set_up_elsewhere(plan, command, runs, reporter, users, addresses, reopen)
        return
    scenario = experiments.of(plan)
    chosen, why = images.choose(runtime)
    _check_machine(plan, users, runs)
    jdk = services.find_jdk()
    cores = Cores.split(plan.pin)
    _open_door(plan, chosen, reporter)
    if runtime != chosen:
        reporter.say(f"  runtime: {chosen} ({why})")
    found = calibration.find()
    facts = {**_facts(cores, found), "jdk": {"version": jdk.version, "found_in": jdk.found_in}}
    facts |= {"service_cores": sorted(cores.service), "runtime": chosen, "runtime_because": why}
    facts["sources"] = {module: services.source_hash(module) for module in sorted(_modules(scenario, plan))}
    run = reopen(facts) if reopen else RunFolder.create(plan, command, facts, runs)
    with (
        told(run, reporter),
        services.in_use(),
        started_runtime(chosen, run.name) as machine_,
        confined(cores.generator),
    ):
        built, caches = _built_jars(scenario, plan, addresses, jdk, machine_, reporter)
        run.add_to_environment("jars", {module: artifacts.digest(jar) for module, jar in built.items()})
        tags = _built_images(scenario, built, run, machine_, reporter) if isinstance(machine_, DockerRuntime) else {}
        stand_in = built.get("mongo-standin")
        site = Site(machine_, run.scratch, run.logs, jdk.home, cores=cores.generator, stand_in=stand_in)
        with _backing(scenario, plan, site, addresses, tags, run, reporter) as behind:
            yield Stage(plan, scenario, machine_, jdk, built, caches, tags, cores, run, reporter, behind, found)


def _set_up_elsewhere(
    plan: Plan,
    command: Sequence[str],
    runs: Path,
    reporter: Reporter,
    users: int,
    addresses: Addresses,
    reopen: Callable[[Mapping[str, Any]], RunFolder] | None,
) -> Iterator[Stage]:
    """The same for services that are there already: nothing is built or started, but each must answer once."""
    attached.check_headers(plan, addresses.headers)
    with reporter.phase("ask once") as update:
        largest = attached.ask(plan, addresses.headers)
        update(1, ", ".join(plan.urls.values()))
    _check_machine(plan, users, runs)
    cores = Cores(frozenset(), Cores.split(plan.pin).generator)
    _open_door(plan, "process", reporter)
    found = calibration.find()
    facts = _facts(cores, found)
    run = reopen(facts) if reopen else RunFolder.create(plan, command, facts, runs)
    scenario = replace(experiments.of(plan), kind="large" if largest >= attached.LARGE_BYTES else "small")
    with told(run, reporter), ProcessRuntime() as machine_, confined(cores.generator):
        behind, headers = Backing(), addresses.headers
        yield Stage(plan, scenario, machine_, None, {}, {}, {}, cores, run, reporter, behind, found, headers=headers)


def _facts(cores: Cores, found: Calibration | None) -> dict[str, Any]:
    """What environment.json says of every run."""
    known = found.as_json() if found else None
    return {**host.environment(), "generator_cores": sorted(cores.generator), "calibration": known}


def _check_machine(plan: Plan, users: int, runs: Path) -> None:
    """LabError if this machine does not allow what a plan asks for, or has no space for it."""
    host.raise_open_file_limit(users + SPARE_FILES)
    host.check_ports(users)
    host.check_backlog(max(plan.limits_of(cell.variant).accept_count or 0 for cell in plan.cells))
    heaps_mb = (plan.limits_of(cell.variant).heap_mb or 0 for cell in plan.cells)
    host.check_memory(max(heaps_mb), max(cell.load.workers for cell in plan.cells))
    host.check_free_space(runs)


def _open_door(plan: Plan, runtime: str, reporter: Reporter) -> None:
    """Say where workers on other machines join, if there are any; LabError if they could not."""
    if plan.bind:
        check_door(plan, runtime)
        reporter.say(f"  on the other machines: python -m lab worker --master {plan.bind}")


def check_door(plan: Plan, runtime: str) -> None:
    """LabError if workers on other machines could not join: no such address, its port taken, or containers."""
    if runtime == "docker":
        raise LabError("Containers listen on this machine only.", "Use --remote-workers with --runtime process.")
    try:
        with socket.create_server(split_address(plan.bind)):
            pass
    except OSError as error:
        raise LabError(
            f"The lab cannot listen at {plan.bind}: {error.strerror}.",
            "Give --bind another address of this machine, or another port: --bind HOST:PORT.",
        ) from error


@contextmanager
def told(run: RunFolder, reporter: Reporter) -> Iterator[None]:
    """Leave a word in the run's folder about why it ended early, and say how to go on after an interrupt."""
    try:
        yield
    except LabError as error:
        run.fail(str(error))
        raise
    except KeyboardInterrupt:
        run.fail("Interrupted.")
        reporter.say(
            as_typed.as_typed(f"  What is missing is measured by: python -m lab resume {shlex.quote(run.called)}")
        )
        raise


def started_runtime(name: str, run: str) -> AbstractContextManager[ProcessRuntime | DockerRuntime]:
    """The runtime of that name for the run of that name, not entered yet."""
    return DockerRuntime(run) if name == "docker" else ProcessRuntime()


def _modules(scenario: Scenario, plan: Plan) -> set[str]:
    """The Maven modules of the services that a plan compares."""
    return {scenario.variant(cell.variant).module for cell in plan.cells}


def _built_jars(
    scenario: Scenario, plan: Plan, addresses: Addresses, jdk: services.Jdk, runtime: Runtime, reporter: Reporter
) -> tuple[dict[str, Path], dict[str, Path]]:
    """Jars and start-up caches, by module."""
    trained = _modules(scenario, plan)
    in_containers = isinstance(runtime, DockerRuntime)
    modules = trained if in_containers else trained | backends.modules(scenario, addresses)
    with reporter.phase("build the services") as update:
        caches: dict[str, Path] = {}
        built = services.build(modules, jdk, runtime, _shortened(update))
        if jdk.major >= aot_cache.MINIMUM_JAVA and not in_containers:
            for module in sorted(trained):
                cache = aot_cache.train(built[module], jdk.java, runtime, _shortened(update), reporter.say)
                caches |= {module: cache} if cache else {}
        update(1, "")
    return built, caches


def _built_images(
    scenario: Scenario, jars_: Mapping[str, Path], run: RunFolder, runtime: DockerRuntime, reporter: Reporter
) -> dict[str, str]:
    with reporter.phase("build the images") as update:
        builder = images.Images(runtime.engine, runtime, _shortened(update))
        built = {module: builder.service(module, jar, services.source_hash(module)) for module, jar in jars_.items()}
        makers: dict[str, Callable[[], images.Image]] = {"mysql": builder.mysql, "mongo": builder.mongo}
        built |= {kind: makers[kind]() for kind in scenario.databases}
        built["worker"] = builder.worker()
        update(1, ", ".join(sorted({image.product for image in built.values()})))
    run.keep("images", {name: asdict(image) for name, image in built.items()})
    return {name: image.tag for name, image in built.items()}


def clean_containers() -> int:
    """Remove containers and networks of the lab that are left over; returns how many, none without an engine."""
    try:
        return docker.clean(docker.connect())
    except LabError:
        return 0


def build_all_images(reporter: Reporter) -> list[images.Image]:
    """Build every image that a run in Docker may need; LabError if one cannot be built."""
    jdk = services.find_jdk()
    with services.in_use(), DockerRuntime("images") as runtime:
        with reporter.phase("build the services") as update:
            built = services.build(
                {v.module for s in SCENARIOS.values() for v in s.variants}, jdk, runtime, _shortened(update)
            )
        with reporter.phase("build the images") as update:
            return images.Images(runtime.engine, runtime, _shortened(update)).all(built, services.source_hash)


def _shortened(update: Callable[[float, str], None]) -> Callable[[str], None]:
    return lambda line: update(0, line[:60])


@contextmanager
def _backing(
    scenario: Scenario,
    plan: Plan,
    site: Site,
    addresses: Addresses,
    tags: Mapping[str, str],
    run: RunFolder,
    reporter: Reporter,
) -> Iterator[Backing]:
    if not scenario.databases:
        yield Backing(contract=scenario.contract)
        return
    with ExitStack() as stack:
        with reporter.phase(f"start and seed {' and '.join(scenario.databases)}") as update:
            behind = stack.enter_context(backends.started(scenario, plan, site, addresses, tags))
            update(1, behind.title)
        found = {kind: database.as_json() for kind, database in behind.databases.items()}
        if (known := run.note("databases")) not in ({}, found):
            raise LabError(
                f"Run {run.name} asked {_titles(known)}, but this is {_titles(found)}.",
                "Go on with the same databases: --mysql-url and --mongo-url as before.",
            )
        run.keep("databases", found)
        yield behind


def _titles(databases: Mapping[str, Mapping[str, Any]]) -> str:
    return " and ".join(str(database["title"]) for database in databases.values())
