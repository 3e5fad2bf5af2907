"""From Maven modules to jars, and from a variant to the command line that runs it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock

from lab.errors import LabError
from lab.runtimes import Launch, Runtime
from lab.runtimes.checkout import ROOT
from lab.spec.limits import Limits
from lab.spec.system import Variant
from lab.system import artifacts, maven

SERVICES = ROOT / "services"
# The modules' group, and the namespace of what a pom.xml says.
OURS, POM = "lab", "{http://maven.apache.org/POM/4.0.0}"
MINIMUM_JAVA = 21
# Without these the first collection in the measured load pays for memory that the kernel has not handed out yet (seen:
# a pause of 1.3 s at 4000 virtual threads), and class metadata that outgrows its first size stops the world.
MEMORY_READY: tuple[str, ...] = ("-XX:+AlwaysPreTouch", "-XX:MetaspaceSize=128m")
if sys.platform == "linux":
    MEMORY_READY += ("-XX:+UseTransparentHugePages",)  # touches 2 GiB in 0.2 s instead of 1 s
# The profile of the services that fixes their pools, where a limit does; without it all of a pool is Spring Boot's own.
FIXED_POOL = "fixed-pool"
# In a service's folder; removed when it has ended, as a JVM that is stopped leaves its temporary files behind.
SCRATCH = "scratch"
JAVA_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)


NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Jdk:
    """A Java development kit: where it is, its full version, and where it was found."""

    home: Path
    version: str
    found_in: str

    @property
    def major(self) -> int:
        """The feature release, such as 25."""
        return int(re.split(r"[.+-]", self.version)[0])

    @property
    def java(self) -> str:
        """The path of its launcher."""
        return str(self.home / "bin" / "java")


def jdks() -> list[Jdk]:
    """Every JDK found, in order of preference: JAVA_HOME, the PATH, then the usual folders, newest first."""
    named = [("JAVA_HOME", Path(home).resolve())] if (home := os.environ.get("JAVA_HOME")) else []
    if javac := shutil.which("javac"):
        named.append(("PATH", Path(javac).resolve().parent.parent))
    found = [jdk for where, home in named if (jdk := _read_jdk(home, where))]
    usual = [
        jdk
        for pattern in JAVA_FOLDERS
        for path in sorted(Path("/").glob(str(Path(pattern).expanduser()).lstrip("/")))
        if (jdk := _read_jdk(path.resolve(), pattern))
    ]
    found += sorted(usual, key=lambda jdk: jdk.major, reverse=True)
    return list({jdk.home: jdk for jdk in reversed(found)}.values())[::-1]


def _read_jdk(home: Path, where: str) -> Jdk | None:
    try:
        release = (home / "release").read_text()
    except (OSError, ValueError):
        return None
    version = re.search(r'^JAVA_VERSION="?(\d[^"\s]*)', release, re.MULTILINE)
    return Jdk(home, version[1], where) if version and (home / "bin" / "javac").exists() else None


def find_jdk() -> Jdk:
    """The first JDK that is new enough; LabError names those that are not."""
    found = jdks()
    for jdk in found:
        if jdk.major >= MINIMUM_JAVA:
            return jdk
    seen = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in found) or "none"
    raise LabError(
        f"No JDK {MINIMUM_JAVA} or newer was found (found: {seen}).",
        f"Install one (Debian: openjdk-{MINIMUM_JAVA}-jdk; macOS: brew install openjdk) or set JAVA_HOME to it.",
    )


def build(modules: Iterable[str], jdk: Jdk, runtime: Runtime, say: Callable[[str], None]) -> dict[str, Path]:
    """Build the modules whose sources changed since they were last built.

    Args:
        say: is told what Maven is doing, line by line.

    Returns:
        The jar of each module, as a copy that no later build overwrites.

    """
    modules = sorted(set(modules))
    with FileLock(SERVICES / ".build.lock"):
        stale = [module for module in modules if not _is_built(module)]
        if stale:
            maven.run(SERVICES, stale, maven.PACKAGE, jdk.home, runtime, say)
            for module in stale:
                _stamp(module).write_text(json.dumps({"sources": source_hash(module)}))
        return {module: artifacts.kept(_jar(module)) for module in modules}


def _jar(module: str) -> Path:
    return SERVICES / module / "target" / f"{module}.jar"


def _stamp(module: str) -> Path:
    return SERVICES / module / "target" / "lab-build.json"


def _is_built(module: str) -> bool:
    try:
        stamp = json.loads(_stamp(module).read_text())
    except (OSError, ValueError):
        return False
    return bool(stamp.get("sources") == source_hash(module)) and _jar(module).exists()


def source_hash(module: str) -> str:
    """SHA-256 over the names and contents of everything that goes into a module's jar."""
    digest = hashlib.sha256()
    files = [SERVICES / "pom.xml"]
    for part in _parts(module):
        files += [SERVICES / part / "pom.xml", *(SERVICES / part / "src").rglob("*")]
    for file in sorted(file for file in files if file.is_file()):
        digest.update(str(file.relative_to(SERVICES)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _parts(module: str) -> list[str]:
    """A module and the others of ours that its jar has in it, as its pom.xml and theirs say."""
    parts = [module]
    for part in parts:  # grows while it is gone through
        project = ElementTree.parse(SERVICES / part / "pom.xml").getroot()
        for dependency in project.iterfind(f"{POM}dependencies/{POM}dependency"):
            if dependency.findtext(f"{POM}groupId") == OURS:
                parts.append(dependency.findtext(f"{POM}artifactId", ""))
    return list(dict.fromkeys(parts))


def launch(
    variant: Variant,
    limits: Limits,
    cpus: int,
    java: str,
    jar: Path,
    folder: Path,
    environment: Mapping[str, str] = NOTHING,
) -> Launch:
    """The command line of a service: any free ports, on loopback, written to files in ``folder`` once it listens.

    Args:
        java: the path of the JVM's launcher.
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
        "-Xlog:gc:file=gc.log",
        "-DPORTFILE=application.port",
        f"-Djava.io.tmpdir={SCRATCH}",
        *arguments,
        "-jar",
        str(jar),
        "--server.port=0",
        "--management.server.port=0",
        *(f"--{key}={value}" for key, value in properties.items()),
    )
    return Launch("service", command, folder / "service.log", {**environment, **pool}, folder=folder)


def contained(launch: Launch, image: str, jar: str, memory_mb: int) -> Launch:
    """The same service in a container of its own, where it listens at its own address.

    Args:
        jar: where the jar is in the image.

    """
    position = launch.command.index("-jar")
    command = ("java", *launch.command[1 : position + 1], jar, *launch.command[position + 2 :])
    command = tuple("-Djava.io.tmpdir=/tmp" if part.startswith("-Djava.io.tmpdir=") else part for part in command)
    command += ("--server.address=0.0.0.0", "--management.server.address=0.0.0.0")
    return replace(launch, command=command, image=image, memory_mb=memory_mb)


def tidy(folder: Path) -> None:
    """Remove what a service that has ended left in its folder besides its logs."""
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)
    for file in folder.glob("application*.port"):
        file.unlink()


def promised_limits(variant: Variant, limits: Limits, cpus: int, has_pool: bool = False) -> dict[str, int | None]:
    """What the running service must state (see :func:`lab.telemetry.actuator.limits`), or the limits did not take.

    Nothing is promised about a limit that is left to the stack.
    """
    promises = {**variant.promises, **({"pool_max": "{pool}"} if has_pool else {})}
    values = _values(limits, cpus)
    texts = {name: template and _filled(template, values) for name, template in promises.items()}
    return {name: _unless_negative(text) for name, text in texts.items() if text != ""}


def _unless_negative(text: str | None) -> int | None:
    """A limit as a service states it: it has no number for "unlimited", properties have -1."""
    return None if text is None or int(text) < 0 else int(text)


def _filled(template: str, values: Mapping[str, int]) -> str:
    """A template with its limits filled in; empty if one of them is left to the stack."""
    try:
        return template.format(**values)
    except KeyError:
        return ""


def _values(limits: Limits, cpus: int) -> dict[str, int]:
    """What the templates of a variant may name: the limits that are set, and what follows from them."""
    values = {name: limit for name, limit in asdict(limits).items() if limit is not None}
    if limits.threads is not None:
        values["event_loops"] = min(limits.threads, max(cpus, 4))
    return {**values, "cpus": cpus}


def in_use() -> AbstractContextManager[None]:
    """Nobody cleans while this goes on, see :func:`lab.system.artifacts.in_use`."""
    return artifacts.in_use(SERVICES)


def unused() -> AbstractContextManager[bool]:
    """Whether no run uses what was built, see :func:`lab.system.artifacts.unused`."""
    return artifacts.unused(SERVICES)


def clean() -> int:
    """Remove what was built; returns how many folders that were."""
    targets = [path for path in (SERVICES / "target", *SERVICES.glob("*/target")) if path.is_dir()]
    for target in targets:
        shutil.rmtree(target)
    return len(targets)
