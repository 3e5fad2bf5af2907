"""The testbed of a run: machine checked, services built, databases started; shared by all of its cells."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.generator.calibration import Calibration
from lab.running import calibrate
from lab.running.components import components_facts, running_components
from lab.running.equivalence import Proved
from lab.running.invocation import Invocation
from lab.running.prerequisites import announce_master, check_locustfile, check_machine, check_programs
from lab.running.progress import Reporter
from lab.runtimes import Launch, Runtime, docker, host
from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import DockerRuntime
from lab.runtimes.host import Cores
from lab.runtimes.process import ProcessRuntime, confined
from lab.spec.in_turns import BESIDES_HEAP_MB
from lab.spec.limits import Limits
from lab.spec.plan import CELLS, Cell, Plan
from lab.spec.planning import split_address
from lab.spec.system import Variant
from lab.spec.workload import Load
from lab.storage.run_folder import RunFolder
from lab.system import (
    aot_cache,
    artifacts,
    attached,
    backends,
    balancer,
    build,
    corpora,
    images,
    java_releases,
    prometheus,
)
from lab.system.backends import Backends
from lab.system.corpora import Files
from lab.system.databases import Site
from lab.system.jdk import Jdk, find_jdk
from lab.system.launch import NOTHING, contained, service_launch
from lab.system.prometheus import Prometheus, running_prometheus

# Longer words of a command line are no paths: what is executed may be among them.
LONGEST_PATH = 256
# Creates the folder of a new run, or reopens that of a resumed one, from the facts about this machine.
Opener = Callable[[Mapping[str, Any]], RunFolder]


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
            memory_mb = limits.heap_mb + BESIDES_HEAP_MB if limits.heap_mb else 0
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
        beside: the other plans whose loads the same starts of the services serve: see :func:`in_common`.

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

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans whose loads the same starts of the services serve."""
        return self.plan, *self.beside

    @property
    def bind(self) -> tuple[str, int] | None:
        """Host and port of this machine for workers on others; None if there are none."""
        return split_address(self.plan.bind) if self.plan.bind else None

    def start_name(self, cell: Cell) -> str:
        """The name of a start of services: of the first cell that it is for. No other start of a testbed has it."""
        return f"{self.run.name}-{cell.id}" if self.beside else cell.id

    def ceiling_rps(self, load: Load) -> float | None:
        """The ceiling of a load's workers for this scenario's kind of request, in requests/s.

        None if it is unknown, as for workers on other machines.
        """
        if not self.calibration or load.remote_workers:
            return None
        cores = len(self.cores.generator) or self.cores.cpus
        return self.calibration.ceiling_rps(self.plan.scenario.kind, load.workers, cores)

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


@contextmanager
def set_up(plan: Plan, invocation: Invocation, users: int, reopen: Opener | None = None) -> Iterator[Testbed]:
    """Check the machine, create the run's folder, build the services, and start their databases.

    Args:
        users: the largest number of users of any cell.
        reopen: opens the run to resume; a new one is created if None.

    Raises:
        LabError: a prerequisite is missing or a process did not start; it is recorded in the run's folder, if any. Or
            an address is none that the lab can use, whether or not the plan needs it.

    """
    invocation.endpoints.check()

    def made(facts: Mapping[str, Any]) -> RunFolder:
        return RunFolder.create(plan, invocation.command, facts, invocation.runs)

    prepared = {"service": _start, "attached": _attach, "program": _build_programs}[plan.scenario.entry]
    with prepared(plan, invocation, users, reopen or made) as testbed:
        yield testbed


@contextmanager
def in_common(plans: Sequence[Plan], invocation: Invocation) -> Iterator[list[Testbed]]:
    """Set up one testbed of services for several plans of the same system, each with a run's folder of its own.

    Raises:
        LabError: as from :func:`set_up`, recorded in each folder that there is by then; or plans differ in more than
            their loads, so that no start can serve them all. Some may have fewer variants.

    """
    # Of several that have all variants the one of the most users.
    whole = max(plans, key=lambda plan: (len(plan.variants), plan.most_users))
    _check_alike(whole, plans)
    users = max(max(plan.scenario.rehearsal.users, plan.most_users) for plan in plans)
    with set_up(whole, invocation, users) as first, ExitStack() as stack:
        testbeds = []
        for plan in plans:
            testbed = first
            if plan is not whole:
                testbed = stack.enter_context(_with_folder(first, plan, invocation))
            testbeds.append(replace(testbed, beside=tuple(other for other in plans if other is not plan)))
        for testbed in testbeds:
            others = [other.run.name for other in testbeds if other is not testbed]
            testbed.run.add_to_environment("together", others)
        yield testbeds


def _check_alike(whole: Plan, plans: Sequence[Plan]) -> None:
    """LabError if plans differ from the one with all variants in more than their loads, and the variants they lack."""
    wanted, systems = _system_of(whole), [_system_of(plan) for plan in plans]
    differing = [name for name, value in wanted.items() if any(system[name] != value for system in systems)]
    if not {cell.variant for plan in plans for cell in plan.cells} <= {cell.variant for cell in whole.cells}:
        differing.append("variants")
    if differing or (wanted["entry"], wanted["interleave"]) != ("service", CELLS):
        raise LabError(
            "The same start of a service cannot serve these loads: "
            f"{' and '.join(differing) or 'its variants take turns'} would have to differ.",
            "Conduct each plan by itself.",
        )


def _system_of(plan: Plan) -> dict[str, Any]:
    """All settings of a plan but its cells, by name."""
    of_cells = {"cells", "seed", "axis"}
    return {name: value for name, value in vars(plan).items() if name not in of_cells} | {"entry": plan.scenario.entry}


@contextmanager
def _with_folder(testbed: Testbed, plan: Plan, invocation: Invocation) -> Iterator[Testbed]:
    """A testbed for another plan of the same system, with the folder of a run of its own."""
    found = _calibrated(plan, testbed.reporter)
    facts = {**testbed.run.environment(), "calibration": found.as_json(), **_sources(plan)}
    run = RunFolder.create(plan, invocation.command, facts, invocation.runs)
    for name in ("components", "databases", "images"):
        if noted := testbed.run.note(name):
            run.keep(name, noted)
    with failure_noted(run, testbed.reporter):
        yield replace(testbed, plan=plan, run=run, calibration=found)


@contextmanager
def _start(plan: Plan, invocation: Invocation, users: int, opened: Opener) -> Iterator[Testbed]:
    """The testbed of services that the lab builds and starts."""
    reporter, (chosen, why) = invocation.reporter, images.choose(invocation.runtime)
    check_machine(plan, users, invocation.runs)
    check_locustfile(plan.scenario)
    if chosen == "process":
        check_programs(plan)
    jdk, cores = find_jdk(), Cores.split(plan.pin)
    join_token = announce_master(plan, chosen, reporter, invocation.endpoints.join)
    if invocation.runtime != chosen:
        reporter.say(f"  runtime: {chosen} ({why})")
    found, modules = _calibrated(plan, reporter), _modules(plan)
    facts = {**_facts(cores, found), "jdk": {"version": jdk.version, "found_in": jdk.found_in}}
    facts |= {"service_cores": sorted(cores.service), "runtime": chosen, "runtime_because": why}
    run = opened({**facts, **_sources(plan)})
    with (
        failure_noted(run, reporter),
        build.in_use(),
        runtime_of(chosen, run.name) as runtime,
        confined(cores.generator),
    ):
        runtime.discard(run.scratch)
        behind = set() if chosen == "docker" else backends.modules(plan, invocation.endpoints)
        javas = _installed([(variant.name, variant.jdk) for variant in plan.variants], runtime, reporter)
        note_javas(run, javas)
        has_caches = not any(variant.jdk for variant in plan.scenario.variants)
        made = _built(modules, behind, jdk, runtime, reporter, has_caches)
        made = replace(made, javas={release: java.java for release, java in javas.items()})
        run.add_to_environment("jars", {module: artifacts.digest(jar) for module, jar in made.jars.items()})
        if isinstance(runtime, DockerRuntime):
            made = replace(made, images=_built_images(plan, made.jars, javas, run, runtime, reporter))
        stand_in = made.jars.get("mongo-standin")
        site = Site(runtime, run.scratch, run.logs, jdk.home, cores=cores.generator, stand_in=stand_in)
        with (
            _backing(plan, site, invocation, made, cores.cpus, run) as backing,
            _observed(plan, site, made, backing) as (backing, scraper),
        ):
            if scraper:
                reporter.say(f"  Prometheus: {scraper.url}, as long as this lasts")
            at = (plan, run, reporter, runtime, cores, made, backing, found)
            yield Testbed(*at, join_token=join_token, prometheus=scraper)


def _modules(plan: Plan) -> set[str]:
    """The Maven modules of a plan's services, and of what these call."""
    called = {component.module for component in plan.components if component.module}
    return {variant.module for variant in plan.variants} | called


def _sources(plan: Plan) -> dict[str, dict[str, str]]:
    """What ``environment.json`` says of the sources that a plan's services are built from."""
    return {"sources": {module: build.source_hash(module) for module in sorted(_modules(plan))}}


@contextmanager
def _attach(plan: Plan, invocation: Invocation, users: int, opened: Opener) -> Iterator[Testbed]:
    """The testbed of attached services: nothing is built or started, but each must answer once."""
    reporter, headers = invocation.reporter, invocation.endpoints.headers
    attached.check_headers(plan, headers)
    with reporter.phase("send one request to each") as update:
        answers = attached.ask(plan, headers)
        update(1, ", ".join(variant.url for variant in plan.variants))
    plan = replace(plan, scenario=replace(plan.scenario, requests=answers))
    check_machine(plan, users, invocation.runs)
    cores, found = Cores(frozenset(), Cores.split(plan.pin).generator), _calibrated(plan, reporter)
    join_token = announce_master(plan, "process", reporter, invocation.endpoints.join)
    run = opened(_facts(cores, found))
    if plan.locustfile:
        run.keep_locustfile(plan.locustfile)
    with failure_noted(run, reporter), ProcessRuntime() as runtime, confined(cores.generator):
        yield Testbed(
            plan,
            run,
            reporter,
            runtime,
            cores,
            Artifacts(),
            calibration=found,
            headers=headers,
            join_token=join_token,
        )


@contextmanager
def _build_programs(plan: Plan, invocation: Invocation, users: int, opened: Opener) -> Iterator[Testbed]:
    """The testbed of programs: what Maven makes of them is built, and nothing is started until it is measured."""
    reporter, cores = invocation.reporter, Cores.split(plan.pin)
    if invocation.runtime == "docker":
        raise LabError("Programs are executed on this machine.", "Leave --runtime docker out.")
    check_machine(plan, users, invocation.runs)
    modules = {variant.module for variant in plan.variants if variant.module}
    words = [word for variant in plan.variants for word in variant.command]
    jdk = find_jdk() if modules or any("{java}" in word for word in words) else None
    facts = {**_facts(cores, None), "service_cores": sorted(cores.service)}
    facts["sources"] = {module: build.source_hash(module) for module in sorted(modules)} | _digests(words)
    if jdk:
        facts["jdk"] = {"version": jdk.version, "found_in": jdk.found_in}
    with build.in_use(), ProcessRuntime() as runtime, confined(cores.generator):
        files = _made_corpora(plan, runtime, reporter)
        if files:
            facts["corpora"] = {name: each.digest for name, each in files.items()}
        run = opened(facts)
        with failure_noted(run, reporter):
            made = Artifacts()
            if jdk:
                with reporter.phase("build the programs") as update:
                    made = Artifacts(jdk.java, jars=build.jars(modules, jdk, runtime, _shortened(update)))
                run.add_to_environment("jars", {module: artifacts.digest(jar) for module, jar in made.jars.items()})
            yield Testbed(plan, run, reporter, runtime, cores, made, corpora=files)


def _made_corpora(plan: Plan, runtime: Runtime, reporter: Reporter) -> dict[str, Files]:
    """The files that the programs of a plan read, by the name of their recipe; none if they read none of ours."""
    if not plan.scenario.corpus:
        return {}
    recipes = {}
    for cell in plan.cells:
        recipe = plan.scenario.corpus.recipe(plan.parameters_of(cell))
        recipes[recipe.name] = recipe
    with reporter.phase("make the files to read", len(recipes)) as update:
        return {name: corpora.make(recipe, runtime, _shortened(update)) for name, recipe in recipes.items()}


def _digests(words: Iterable[str]) -> dict[str, str]:
    """By path, the SHA-256 of each file that command lines name, whether as the program or as an argument of it."""
    found = (Path(shutil.which(word) or ROOT / word) for word in words if len(word) < LONGEST_PATH and "\n" not in word)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found if path.is_file()}


def _calibrated(plan: Plan, reporter: Reporter) -> Calibration:
    """The calibration of this machine, with the ceiling of the plan's kind of request for its workers here."""
    workers = {cell.load.workers for cell in plan.cells if not cell.load.remote_workers}
    return calibrate.ensure(plan.scenario.kind, workers, reporter)


def _facts(cores: Cores, found: Calibration | None) -> dict[str, Any]:
    """The facts in environment.json that every run has."""
    known = found.as_json() if found else None
    return {**host.environment(), "generator_cores": sorted(cores.generator), "calibration": known}


@contextmanager
def failure_noted(run: RunFolder, reporter: Reporter) -> Iterator[None]:
    """Record in the run's folder why a run failed, and after an interrupt print the command that resumes it.

    A run that is complete by then has not failed, whatever happens to what was in common with it.
    """
    try:
        yield
    except LabError as error:
        if run.state() != "complete":
            run.fail(str(error))
        raise
    except KeyboardInterrupt:
        if run.state() != "complete":
            run.fail("Interrupted.")
            reporter.say(f"  Measure the missing cells: python -m lab resume {shlex.quote(run.called)}")
        raise


def runtime_of(name: str, run: str) -> AbstractContextManager[ProcessRuntime | DockerRuntime]:
    """The runtime of that name for a run, as a context manager."""
    return DockerRuntime(run) if name == "docker" else ProcessRuntime()


def _installed(services: Iterable[tuple[str, int]], runtime: Runtime, reporter: Reporter) -> dict[int, Jdk]:
    """The releases of Java that services name, installed once: 0 names none."""
    needed: dict[int, list[str]] = {}
    for name, release in services:
        if release:
            needed.setdefault(release, []).append(name)
    if not needed:
        return {}
    with reporter.phase("install the releases of Java") as update:
        javas = java_releases.installed(needed, runtime, _shortened(update))
        update(1, " and ".join(java.version for java in javas.values()))
    return javas


def note_javas(run: RunFolder, javas: Mapping[int, Jdk]) -> None:
    """Record the full versions of installed releases; LabError if a resumed run had others before."""
    found = {str(release): java.version for release, java in javas.items()}
    if (known := run.environment().get("javas", found)) != found:
        raise LabError(
            f"Run {run.name} was measured on Java {' and '.join(known.values())}, and here is "
            f"{' and '.join(found.values())}.",
            "Begin a new run.",
        )
    if found:
        run.add_to_environment("javas", found)


def _built(
    modules: set[str], behind: set[str], jdk: Jdk, runtime: Runtime, reporter: Reporter, has_caches: bool
) -> Artifacts:
    """Build the jars of services and stand-ins, and the services' start-up caches, if they are to have any."""
    with reporter.phase("build the services") as update:
        jars = build.jars(modules | behind, jdk, runtime, _shortened(update))
        caches: dict[str, Path] = {}
        if has_caches and jdk.major >= aot_cache.MINIMUM_JAVA and not isinstance(runtime, DockerRuntime):
            started = {module: jars[module] for module in modules}
            caches = aot_cache.train_all(started, jdk.java, runtime, _shortened(update), reporter.say)
        update(1, "")
    return Artifacts(jdk.java, jars=jars, caches=caches)


def _built_images(
    plan: Plan,
    jars: Mapping[str, Path],
    javas: Mapping[int, Jdk],
    run: RunFolder,
    runtime: DockerRuntime,
    reporter: Reporter,
) -> dict[str, str]:
    services = {(variant.module, variant.jdk) for variant in plan.variants}
    services |= {(component.module, 0) for component in plan.components if component.module}
    with reporter.phase("build the images") as update:
        builder = images.Images(runtime.engine, runtime, _shortened(update))
        built = {
            images.service_name(module, jdk): builder.service(
                module, jars[module], build.source_hash(module), javas.get(jdk)
            )
            for module, jdk in sorted(services)
        }
        makers: dict[str, Callable[[], images.Image]] = {
            "mysql": builder.mysql,
            "mongo": builder.mongo,
            balancer.PROGRAM: builder.haproxy,
            prometheus.PROGRAM: builder.prometheus,
        }
        beside = [balancer.PROGRAM] * plan.is_balanced + [prometheus.PROGRAM] * plan.prometheus
        databases = [part.database for part in plan.components if part.database]
        built |= {kind: makers[kind]() for kind in (*databases, *beside)}
        built["worker"] = builder.worker()
        update(1, ", ".join(sorted({image.product for image in built.values()})))
    run.keep("images", {name: asdict(image) for name, image in built.items()})
    return {name: image.tag for name, image in built.items()}


def clean_containers() -> int:
    """Remove leftover containers and networks of the lab; returns how many, 0 without an engine.

    LabError if the engine does not remove one.
    """
    try:
        engine = docker.connect()
    except LabError:
        return 0
    with closing(engine):
        return docker.clean(engine)


def build_all_images(services: Iterable[tuple[str, int]], reporter: Reporter) -> list[images.Image]:
    """Build every image that a run in Docker may need; LabError if one cannot be built.

    Args:
        services: the Maven module of each service, and the release of Java it runs on: see :attr:`Variant.jdk`.

    """
    jdk, services = find_jdk(), sorted(set(services))
    with build.in_use(), DockerRuntime("images") as runtime:
        javas = _installed(services, runtime, reporter)
        with reporter.phase("build the services") as update:
            jars = build.jars({module for module, _ in services}, jdk, runtime, _shortened(update))
        with reporter.phase("build the images") as update:
            builder = images.Images(runtime.engine, runtime, _shortened(update))
            made = [
                builder.service(module, jars[module], build.source_hash(module), javas.get(release))
                for module, release in services
            ]
            beside = [builder.mysql(), builder.mongo(), builder.haproxy(), builder.prometheus()]
            return [*made, *beside, builder.worker()]


def _shortened(update: Callable[[float, str], None]) -> Callable[[str], None]:
    return lambda line: update(0, line[:60])


@contextmanager
def _backing(
    plan: Plan, site: Site, invocation: Invocation, made: Artifacts, cpus: int, run: RunFolder
) -> Iterator[Backends]:
    """Start the components behind the services; LabError if a resumed run had other databases before."""
    if not (names := [component.name for component in plan.components]):
        yield backends.without_components(plan.scenario)
        return
    with ExitStack() as stack:
        seeded = " and seed" * any(component.database for component in plan.components)
        with invocation.reporter.phase(f"start{seeded} {' and '.join(names)}") as update:
            backing = stack.enter_context(backends.running_backends(plan, site, invocation.endpoints, made.images))
            launch = partial(made.launch, cpus=cpus)
            backing = stack.enter_context(running_components(plan, backing, site, launch))
            update(1, backing.title)
        if backing.services:
            run.keep("components", components_facts(backing, site.cores))
        found = {name: database.as_json() for name, database in backing.databases.items()}
        if (known := run.note("databases")) not in ({}, found):
            raise LabError(
                f"Run {run.name} used {_titles(known)}, but this is {_titles(found)}.",
                "Resume it with the same databases: --mysql-url and --mongo-url as before.",
            )
        run.keep("databases", found)
        yield backing


@contextmanager
def _observed(
    plan: Plan, site: Site, made: Artifacts, backing: Backends
) -> Iterator[tuple[Backends, Prometheus | None]]:
    """Have Prometheus, if the plan asks for it, scrape the components behind the services, which it then observes."""
    if not plan.prometheus:
        yield backing, None
        return
    name = prometheus.PROGRAM
    image = made.images.get(name, "")
    with running_prometheus(site.runtime, site.logs / name, site.folder, site.cores, image) as found:
        pages = {name: page for name, service in backing.services.items() if (page := service.metrics)}
        with found.scraping("", pages):
            yield replace(backing, observers={name: found.running}), found


def _titles(databases: Mapping[str, Mapping[str, Any]]) -> str:
    return " and ".join(str(database["title"]) for database in databases.values())
