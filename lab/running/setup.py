"""Sets up the testbed of a run: machine checked, services built, databases started."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.generator.calibration import Calibration
from lab.running import building, calibrate
from lab.running.components import components_facts, running_components
from lab.running.invocation import Invocation
from lab.running.prerequisites import announce_master, check, needs_jdk
from lab.running.progress import Reporter
from lab.running.testbed import Artifacts, Testbed
from lab.runtimes import DOCKER, host
from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import DockerRuntime
from lab.runtimes.host import Cores
from lab.runtimes.process import ProcessRuntime, confined
from lab.spec.plan import CELLS, Plan
from lab.storage.run_folder import RunFolder
from lab.system import artifacts, attached, backends, build, prometheus
from lab.system.backends import Backends
from lab.system.databases import Site
from lab.system.jdk import Jdk, find_jdk
from lab.system.prometheus import Prometheus, running_prometheus

# Longer words of a command line are no paths: what is executed may be among them.
LONGEST_PATH = 256
# Creates the folder of a new run, or reopens that of a resumed one, from the facts about this machine.
Opener = Callable[[Mapping[str, Any]], RunFolder]


@contextmanager
def set_up(
    plan: Plan, invocation: Invocation, users: int, reopen: Opener | None = None, beside: Sequence[Plan] = ()
) -> Iterator[Testbed]:
    """Check the machine, create the run's folder, build the services, and start their databases.

    Args:
        users: the largest number of users of any cell; 0 where the lab itself sends no load.
        reopen: opens the run to resume; a new one is created if None.
        beside: further plans of services whose loads the generator's ceilings must be known for.

    Raises:
        LabError: a prerequisite is missing, a process did not start, an attached service does not answer, or ``reopen``
            refuses; it is recorded in the run's folder, if there is one by then. Or an address is none that the lab
            can use, whether or not the plan needs it.
        ComponentError: the generator's ceiling was unknown, and could not be measured.

    """
    chosen, why = check(plan, users, invocation)
    if not reopen:
        host.check_writable(invocation.runs)

    def made(facts: Mapping[str, Any]) -> RunFolder:
        return RunFolder.create(plan, invocation.command, facts, invocation.runs)

    opened = reopen or made
    match plan.scenario.entry:
        case "service":
            prepared = _start(plan, invocation, chosen, why, opened, beside)
        case "attached":
            prepared = _attach(plan, invocation, opened)
        case "program":
            prepared = _build_programs(plan, invocation, opened)
    with prepared as testbed:
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
    users = max(plan.peak_users for plan in plans)
    with set_up(whole, invocation, users, beside=plans) as first, ExitStack() as stack:
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
    facts = {**testbed.run.environment(), **_sources(plan)}
    run = RunFolder.create(plan, invocation.command, facts, invocation.runs)
    for name in ("components", "databases", "images"):
        if noted := testbed.run.note(name):
            run.keep(name, noted)
    with failure_noted(run, testbed.reporter):
        yield replace(testbed, plan=plan, run=run)


@contextmanager
def _start(
    plan: Plan, invocation: Invocation, chosen: str, why: str, opened: Opener, beside: Sequence[Plan]
) -> Iterator[Testbed]:
    """The testbed of services that the lab builds, and starts in the runtime that was chosen, and why."""
    reporter, jdk, cores = invocation.reporter, find_jdk(), Cores.split(plan.pin)
    join_token = announce_master(plan, reporter, invocation.endpoints.join)
    if invocation.runtime != chosen:
        reporter.say(f"  runtime: {chosen} ({why})")
    invocation.endpoints.check_answering(plan)  # before minutes of building
    found, modules = _calibrated((plan, *beside), reporter), _modules(plan)
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
        behind = set() if chosen == DOCKER else backends.modules(plan, invocation.endpoints)
        javas = building.installed_javas([(variant.name, variant.jdk) for variant in plan.variants], runtime, reporter)
        note_javas(run, javas)
        has_caches = not any(variant.jdk for variant in plan.scenario.variants)
        made = building.built_services(modules, behind, jdk, runtime, reporter, has_caches)
        made = replace(made, javas={release: java.java for release, java in javas.items()})
        run.add_to_environment("jars", {module: artifacts.digest(jar) for module, jar in made.jars.items()})
        if isinstance(runtime, DockerRuntime):
            made = replace(made, images=building.built_images(plan, made.jars, javas, run, runtime, reporter))
        stand_in = made.jars.get("mongo-standin")
        site = Site(runtime, run.scratch, run.logs, jdk.home, cores=cores.generator, stand_in=stand_in)
        with (
            _backing(plan, site, invocation, made, cores.cpus, run) as backing,
            _observed(plan, site, made, backing) as (backing, scraper),
        ):
            if scraper:
                reporter.say(f"  Prometheus: {scraper.url}, as long as this lasts")
            testbed = Testbed(plan, run, reporter, runtime, cores, made, backing, found)
            yield replace(testbed, join_token=join_token, prometheus=scraper)


def _modules(plan: Plan) -> set[str]:
    """The Maven modules of a plan's services, and of what these call."""
    called = {component.module for component in plan.components if component.module}
    return {variant.module for variant in plan.variants} | called


def _sources(plan: Plan) -> dict[str, dict[str, str]]:
    """What ``environment.json`` says of the sources that a plan's services are built from."""
    return {"sources": {module: build.source_hash(module) for module in sorted(_modules(plan))}}


@contextmanager
def _attach(plan: Plan, invocation: Invocation, opened: Opener) -> Iterator[Testbed]:
    """The testbed of attached services: nothing is built or started, but each must answer once."""
    reporter, headers = invocation.reporter, invocation.endpoints.headers
    attached.check_headers(plan, headers)
    with reporter.phase("send one request to each") as update:
        answers = attached.ask(plan, headers)
        update(1, ", ".join(variant.url for variant in plan.variants))
    plan = replace(plan, scenario=replace(plan.scenario, requests=answers))
    cores, found = Cores(frozenset(), Cores.split(plan.pin).generator), _calibrated((plan,), reporter)
    join_token = announce_master(plan, reporter, invocation.endpoints.join)
    run = opened(_facts(cores, found))
    if plan.locustfile:
        run.keep_locustfile(plan.locustfile)
    with failure_noted(run, reporter), ProcessRuntime() as runtime, confined(cores.generator):
        testbed = Testbed(plan, run, reporter, runtime, cores, Artifacts(), calibration=found)
        yield replace(testbed, headers=headers, join_token=join_token)


@contextmanager
def _build_programs(plan: Plan, invocation: Invocation, opened: Opener) -> Iterator[Testbed]:
    """The testbed of programs: what Maven makes of them is built, and nothing is started until it is measured."""
    reporter, cores = invocation.reporter, Cores.split(plan.pin)
    modules = {variant.module for variant in plan.variants if variant.module}
    words = [word for variant in plan.variants for word in variant.command]
    jdk = find_jdk() if needs_jdk(plan) else None
    facts = {**_facts(cores, None), "service_cores": sorted(cores.service)}
    facts["sources"] = {module: build.source_hash(module) for module in sorted(modules)} | _digests(words)
    if jdk:
        facts["jdk"] = {"version": jdk.version, "found_in": jdk.found_in}
    with build.in_use(), ProcessRuntime() as runtime, confined(cores.generator):
        files = building.made_corpora(plan, runtime, reporter)
        if files:
            facts["corpora"] = {name: each.digest for name, each in files.items()}
        run = opened(facts)
        with failure_noted(run, reporter):
            made = Artifacts()
            if jdk:
                with reporter.phase("build the programs") as update:
                    made = Artifacts(jdk.java, jars=build.jars(modules, jdk, runtime, building.shortened(update)))
                run.add_to_environment("jars", {module: artifacts.digest(jar) for module, jar in made.jars.items()})
            yield Testbed(plan, run, reporter, runtime, cores, made, corpora=files)


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


def _digests(words: Iterable[str]) -> dict[str, str]:
    """By path, the SHA-256 of each file that command lines name, whether as the program or as an argument of it."""
    found = (Path(shutil.which(word) or ROOT / word) for word in words if len(word) < LONGEST_PATH and "\n" not in word)
    return {str(path): artifacts.digest(path) for path in found if path.is_file()}


def _calibrated(plans: Iterable[Plan], reporter: Reporter) -> Calibration:
    """The calibration of this machine, with the ceilings of the plans' kinds of request for their workers here."""
    needed = {
        (plan.scenario.weight(plan.parameters_of(cell)).kind, cell.load.workers)
        for plan in plans
        for cell in plan.cells
        if not cell.load.remote_workers
    }
    return calibrate.ensure(needed, reporter)


def _facts(cores: Cores, found: Calibration | None) -> dict[str, Any]:
    """The facts in environment.json that every run has."""
    known = found.as_json() if found else None
    return {**host.environment(), "generator_cores": sorted(cores.generator), "calibration": known}


@contextmanager
def failure_noted(run: RunFolder, reporter: Reporter) -> Iterator[None]:
    """Record in the run's folder why a run failed, and print the command that resumes it, where that is of use.

    A run that is complete by then has not failed, whatever happens to what was in common with it.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if (state := run.state()) != "complete":
            interrupted, says_what_to_do = isinstance(error, KeyboardInterrupt), isinstance(error, LabError)
            run.fail("Interrupted." if interrupted else str(error) if says_what_to_do else repr(error))
            measured = state != "damaged" and any(folder.settled for folder in run.cells())
            if interrupted or (measured and not says_what_to_do):
                reporter.say(f"  Measure the missing cells: python -m lab resume {shlex.quote(run.called)}")
        raise


def runtime_of(name: str, run: str) -> AbstractContextManager[ProcessRuntime | DockerRuntime]:
    """The runtime of that name for a run, as a context manager."""
    return DockerRuntime(run) if name == DOCKER else ProcessRuntime()


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
