"""Builds what a run starts its services from: releases of Java, jars, start-up caches, images, files to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from lab.errors import LabError
from lab.running.progress import Reporter
from lab.running.testbed import Artifacts
from lab.runtimes import Runtime, docker
from lab.runtimes.docker import DockerRuntime
from lab.spec.plan import Plan
from lab.storage.run_folder import RunFolder
from lab.system import aot_cache, balancer, build, corpora, images, java_releases, prometheus
from lab.system.corpora import Files
from lab.system.jdk import Jdk, find_jdk


def installed_javas(services: Iterable[tuple[str, int]], runtime: Runtime, reporter: Reporter) -> dict[int, Jdk]:
    """The releases of Java that services name, installed once: 0 names none."""
    needed: dict[int, list[str]] = {}
    for name, release in services:
        if release:
            needed.setdefault(release, []).append(name)
    if not needed:
        return {}
    with reporter.phase("install the releases of Java") as update:
        javas = java_releases.installed(needed, runtime, shortened(update))
        update(1, " and ".join(java.version for java in javas.values()))
    return javas


def built_services(
    modules: set[str], behind: set[str], jdk: Jdk, runtime: Runtime, reporter: Reporter, has_caches: bool
) -> Artifacts:
    """Build the jars of services and stand-ins, and the services' start-up caches, if they are to have any."""
    with reporter.phase("build the services") as update:
        jars = build.jars(modules | behind, jdk, runtime, shortened(update))
        caches: dict[str, Path] = {}
        if has_caches and jdk.major >= aot_cache.MINIMUM_JAVA and not isinstance(runtime, DockerRuntime):
            started = {module: jars[module] for module in modules}
            caches = aot_cache.train_all(started, jdk.java, runtime, shortened(update), reporter.say)
        update(1, "")
    return Artifacts(jdk.java, jars=jars, caches=caches)


def built_images(
    plan: Plan,
    jars: Mapping[str, Path],
    javas: Mapping[int, Jdk],
    run: RunFolder,
    runtime: DockerRuntime,
    reporter: Reporter,
) -> dict[str, str]:
    """Build the images of a plan's services, of what is beside them and of workers; returns their tags by name."""
    services = {(variant.module, variant.jdk) for variant in plan.variants}
    services |= {(component.module, 0) for component in plan.components if component.module}
    with reporter.phase("build the images") as update:
        builder = images.Images(runtime.engine, runtime, shortened(update))
        built = _service_images(builder, services, jars, javas)
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


def _service_images(
    builder: images.Images, services: Iterable[tuple[str, int]], jars: Mapping[str, Path], javas: Mapping[int, Jdk]
) -> dict[str, images.Image]:
    """The images of services by name, each of a Maven module and of the release of Java that it runs on."""
    return {
        images.service_name(module, release): builder.service(
            module, jars[module], build.source_hash(module), javas.get(release)
        )
        for module, release in sorted(services)
    }


def made_corpora(plan: Plan, runtime: Runtime, reporter: Reporter) -> dict[str, Files]:
    """The files that the programs of a plan read, by the name of their recipe; none if they read none of ours."""
    if not plan.scenario.corpus:
        return {}
    recipes = {}
    for cell in plan.cells:
        recipe = plan.scenario.corpus.recipe(plan.parameters_of(cell))
        recipes[recipe.name] = recipe
    with reporter.phase("make the files to read", len(recipes)) as update:
        return {name: corpora.make(recipe, runtime, shortened(update)) for name, recipe in recipes.items()}


def build_all_images(services: Iterable[tuple[str, int]], reporter: Reporter) -> list[images.Image]:
    """Build every image that a run in Docker may need; LabError if one cannot be built.

    Args:
        services: the Maven module of each service, and the release of Java it runs on: see :attr:`Variant.jdk`.

    """
    jdk, services = find_jdk(), sorted(set(services))
    with build.in_use(), DockerRuntime("images") as runtime:
        javas = installed_javas(services, runtime, reporter)
        with reporter.phase("build the services") as update:
            jars = build.jars({module for module, _ in services}, jdk, runtime, shortened(update))
        with reporter.phase("build the images") as update:
            builder = images.Images(runtime.engine, runtime, shortened(update))
            made = _service_images(builder, services, jars, javas).values()
            beside = [builder.mysql(), builder.mongo(), builder.haproxy(), builder.prometheus()]
            return [*made, *beside, builder.worker()]


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


def shortened(update: Callable[[float, str], None]) -> Callable[[str], None]:
    """What shows a builder's lines as the note of a phase."""
    return lambda line: update(0, line[:60])
