"""The launch of a variant's service with its limits, and the limits that the running service must report."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from lab.runtimes import Launch
from lab.spec.limits import Limits
from lab.spec.system import Variant
from lab.system.unpacking import started_from

# Without these the first collection in the measured load pays for memory that the kernel has not handed out yet (seen:
# a pause of 1.3 s at 4000 virtual threads), and class metadata that outgrows its first size stops the world.
MEMORY_READY: tuple[str, ...] = ("-XX:+AlwaysPreTouch", "-XX:MetaspaceSize=128m")
if sys.platform == "linux":
    MEMORY_READY += ("-XX:+UseTransparentHugePages",)  # touches 2 GiB in 0.2 s instead of 1 s
# The most that a JVM in a container may use outside its heap, in MiB: half as much again as it is expected to need
# (lab.spec.memory), since the engine kills what reaches its limit.
MOST_BESIDES_HEAP_MB = 768
# The profile of the services that fixes their pools, where a limit does; without it all of a pool is Spring Boot's own.
FIXED_POOL = "fixed-pool"
# In a service's folder; removed when it has ended, as a JVM that is stopped leaves its temporary files behind.
SCRATCH = "scratch"
GC_LOG = "gc.log"
PORT_FILES = ("application.port", "application-management.port")
# In that folder, the only part of a run that a container may write into: nothing of the lab's own lies there.
INSIDE = "inside"
NOTHING: Mapping[str, str] = {}


def service_launch(
    variant: Variant,
    limits: Limits,
    cpus: int,
    java: str,
    jar: Path,
    folder: Path,
    environment: Mapping[str, str] = NOTHING,
) -> Launch:
    """The launch of a service on free ports of loopback, which it writes to files in ``folder`` once it listens.

    Args:
        java: the path of the JVM's launcher.
        jar: as :func:`lab.system.build.jars` returns it.
        cpus: for how many the JVM sizes itself, whatever it may use while it starts.
        environment: what it is told about its databases.
        folder: gets the service's log, the garbage collector's log and the port files.

    """
    (folder / SCRATCH).mkdir(parents=True, exist_ok=True)
    values = _values(limits, cpus)
    heap = f"{limits.heap_mb}m"
    properties = {key: text for key, value in variant.properties.items() if (text := _filled(value, values))}
    arguments = [text for argument in variant.jvm_arguments if (text := _filled(argument, values))]
    pool = {"LAB_POOL": str(limits.pool), "SPRING_PROFILES_ACTIVE": FIXED_POOL} if limits.pool is not None else {}
    command = (
        java,
        *((f"-Xms{heap}", f"-Xmx{heap}", *MEMORY_READY) if limits.heap_mb else ()),
        f"-XX:ActiveProcessorCount={cpus}",
        f"-Xlog:gc:file={GC_LOG}",
        "-DPORTFILE=application.port",
        f"-Djava.io.tmpdir={SCRATCH}",
        *arguments,
        "-jar",
        str(started_from(jar)),
        "--server.port=0",
        "--management.server.port=0",
        *(f"--{key}={value}" for key, value in properties.items()),
    )
    # Alone, as SERVER_… and SPRING_… of a shell would set properties, and JAVA_TOOL_OPTIONS flags, that nobody sees.
    around, scratch = {**environment, **pool}, tuple(folder / name for name in (SCRATCH, *PORT_FILES))
    return Launch("service", command, folder / "service.log", around, folder=folder, alone=True, scratch=scratch)


def contained(launch: Launch, image: str, jar: str, memory_mb: int) -> Launch:
    """The launch of the same service in a container, where it listens at the container's address.

    It writes into a folder of its own within that of the launch.

    Args:
        jar: where the jar is in the image.

    """
    position = launch.command.index("-jar")
    command = ("java", *launch.command[1 : position + 1], jar, *launch.command[position + 2 :])
    command = tuple("-Djava.io.tmpdir=/tmp" if part.startswith("-Djava.io.tmpdir=") else part for part in command)
    command += ("--server.address=0.0.0.0", "--management.server.address=0.0.0.0")
    assert launch.folder
    inside = launch.folder / INSIDE
    inside.mkdir(exist_ok=True)
    scratch = (*launch.scratch, *(inside / path.name for path in launch.scratch))
    return replace(launch, command=command, image=image, memory_mb=memory_mb, folder=inside, scratch=scratch)


def remove_scratch(folder: Path) -> None:
    """Remove the files of an ended service from its folder, except logs."""
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)
    for file in (*folder.glob("application*.port"), *folder.glob(f"{INSIDE}/application*.port")):
        file.unlink()


def promised_limits(variant: Variant, limits: Limits, cpus: int, has_pool: bool = False) -> dict[str, int | str | None]:
    """The limits that the running service must report (see :func:`lab.telemetry.actuator.limits`) if they are in force.

    Nothing is promised about a limit that is left to the stack. The release of Java is promised where a variant names
    it.
    """
    promises = {**variant.promises, **({"pool_max": "{pool}"} if has_pool else {})}
    if variant.jdk:
        promises["java_release"] = str(variant.jdk)
    values = _values(limits, cpus)
    texts = {name: template and _filled(template, values) for name, template in promises.items()}
    return {name: _as_reported(text) for name, text in texts.items() if text != ""}


def _as_reported(text: str | None) -> int | str | None:
    """A limit as a service reports it: None for "unlimited", which is -1 in properties; words as they are."""
    if text is None or not text.removeprefix("-").isdecimal():
        return text
    return int(text) if int(text) >= 0 else None


def _filled(template: str, values: Mapping[str, int]) -> str:
    """A template with its limits filled in; empty if one of them is left to the stack."""
    try:
        return template.format(**values)
    except KeyError:
        return ""


def _values(limits: Limits, cpus: int) -> dict[str, int]:
    """The values of a variant's templates: the limits that are set, and values derived from them."""
    values = {name: limit for name, limit in asdict(limits).items() if limit is not None}
    if limits.threads is not None:
        values["event_loops"] = min(limits.threads, max(cpus, 4))
    return {**values, "cpus": cpus}
