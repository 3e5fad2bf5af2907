"""The scenario ``jwt-ablations``: the requests of ``jwt``, by services that differ in Java, driver, or way to MySQL."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.jwt.scenario import SCENARIO as JWT
from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.system import Variant

# A release in which virtual threads that wait in synchronized blocks keep their carrier (until JEP 491, Java 24), and
# today's.
OLD_JAVA, NEW_JAVA = 21, 25
OLD_DRIVER, NEW_DRIVER = "Connector/J 8.0.33", "Connector/J 9"


def _of(variant: Variant, driver: str, jdk: int = NEW_JAVA) -> Variant:
    """A variant of ``jwt`` with a driver on a release of Java; its name says which of the two are not today's."""
    old_java, old_driver = jdk == OLD_JAVA, driver == OLD_DRIVER
    return replace(
        variant,
        name=variant.name + f"-jdk{jdk}" * old_java + "-connector8" * old_driver,
        module=variant.module + "-connector8" * old_driver,
        title=f"{variant.title}, Java {jdk}, {driver}",
        factors={**variant.factors, "java": str(jdk), "driver": driver},
        demands=JWT.variants[0].demands,
        jdk=jdk,
        published_as="",
    )


WEBFLUX_JDBC = replace(
    WEBFLUX,
    name="webflux-jdbc",
    module="webflux-jdbc",
    # As many threads as connections, so that it is the pool that limits, as it does in the others.
    jvm_arguments=(*WEBFLUX.jvm_arguments, "-Dreactor.schedulers.defaultBoundedElasticSize={pool}"),
)
# Java 25 as Java 21 does it: whether bytes have come for virtual threads is asked by a thread of the operating system,
# which needs a core for each answer, and not by a virtual thread.
SYSTEM_POLLERS = "-Djdk.pollerMode=1"
VIRTUAL_SYSTEM_POLLERS = replace(
    MVC_VIRTUAL,
    name="mvc-virtual-systempollers",
    title=f"{MVC_VIRTUAL.title}, {SYSTEM_POLLERS}",
    jvm_arguments=(*MVC_VIRTUAL.jvm_arguments, SYSTEM_POLLERS),
    factors={**MVC_VIRTUAL.factors, "option": SYSTEM_POLLERS},
)
R2DBC = "R2DBC"

SCENARIO = replace(
    JWT,
    name="jwt-ablations",
    question="Is it the release of Java, the driver, or the way to MySQL that decides between the variants of jwt?",
    variants=(
        _of(WEBFLUX, R2DBC),
        _of(MVC_VIRTUAL, NEW_DRIVER),
        _of(MVC_VIRTUAL, OLD_DRIVER, OLD_JAVA),
        _of(MVC_VIRTUAL, NEW_DRIVER, OLD_JAVA),
        _of(MVC_VIRTUAL, OLD_DRIVER),
        _of(WEBFLUX, R2DBC, OLD_JAVA),
        _of(VIRTUAL_SYSTEM_POLLERS, NEW_DRIVER),
        _of(WEBFLUX_JDBC, f"{NEW_DRIVER} on boundedElastic"),
        _of(MVC, NEW_DRIVER),
        _of(MVC, OLD_DRIVER, OLD_JAVA),
    ),
    default_variants=("webflux", "mvc-virtual", "mvc-virtual-jdk21-connector8"),
    locustfile=JWT.name,
)
