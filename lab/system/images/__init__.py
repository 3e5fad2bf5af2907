"""Container images of services, databases and Locust workers.

Each is tagged by what it is made of, and built only if that tag is not there. None runs as root.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import docker  # type: ignore[import-untyped]

from lab.errors import LabError
from lab.runtimes import DOCKER, PROCESS, RUNTIMES, Runtime
from lab.runtimes.checkout import OWN_MODULES, ROOT
from lab.runtimes.docker import connect
from lab.runtimes.process import ProcessRuntime
from lab.system.images.bases import HAPROXY, JRE, MONGO, MYSQL, PROMETHEUS, PYTHON, BaseKind, Bases, registry_obstacle
from lab.system.images.builder import HERE, Builder, Image, Recipe, digest_of, dockerfile
from lab.system.jdk import Jdk
from lab.system.unpacking import started_from

__all__ = [
    "JAR",
    "Image",
    "Images",
    "check_known",
    "choose",
    "obstacle",
    "service_name",
]

JAR = "/lab/service.jar"
# What lab.generator.locust and the locustfiles import.
WORKER_PACKAGES = ("locust", "httptools", "msgspec", "numpy", "pyarrow", "pyjwt")
WORKER_LIBRARIES = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")


class Images:
    """Builds missing images, and records which product each one holds and why.

    Args:
        engine: a client of the Docker engine.
        runtime: starts commands on this machine (mmdebstrap, go, pip).
        say: is told what the builders are doing, line by line.

    Every method raises LabError, with the builder's last lines, if an image cannot be built.

    """

    def __init__(self, engine: docker.DockerClient, runtime: Runtime, say: Callable[[str], None]) -> None:
        self._builder = Builder(engine, runtime, say)
        self._bases = Bases(self._builder)

    def service(self, module: str, jar: Path, sources: str, java: Jdk | None = None) -> Image:
        """A service: a JRE and the jar, at :data:`JAR`.

        Args:
            sources: a digest of the sources that the jar was built from; another jar of the same is not packed again.
            java: the Java of this machine that it runs on instead of the JRE.

        """
        base = self._bases.get(JRE).tag
        if java:
            base = self._builder.built(_with_java(java, base)).tag
        start = started_from(jar)
        files, name = {"service/service.jar": start}, f"lab-service-{service_name(module, java.major if java else 0)}"
        if start != jar:
            files["service/lib"] = start.parent / "lib"
        return self._builder.built(Recipe(name, dockerfile("service"), base, sources, lambda _: files))

    def mysql(self) -> Image:
        """MySQL, listening at its usual port for the user ``lab`` with the password in ``LAB_PASSWORD``.

        Arguments for mysqld go into the launch's command: ``("start-mysql", "--max-connections=500")``.
        """
        return self._with_script("mysql", self._bases.get(MYSQL))

    def mongo(self) -> Image:
        """MongoDB, or FerretDB in its place, listening at its usual port without passwords."""
        return self._with_script("mongo", self._bases.get(MONGO))

    def haproxy(self) -> Image:
        """HAProxy, to be launched with its whole command."""
        return self._program(HAPROXY)

    def prometheus(self) -> Image:
        """Prometheus, to be launched with its whole command."""
        return self._program(PROMETHEUS)

    def _program(self, kind: BaseKind) -> Image:
        return self._builder.built(Recipe(f"{kind.name}-program", dockerfile("program"), self._bases.get(kind).tag))

    def _with_script(self, name: str, base: Image) -> Image:
        files = {f"start-{name}": HERE / f"start-{name}"}
        return self._builder.built(Recipe(f"lab-{name}", dockerfile(name), base.tag, digest_of(files), lambda _: files))

    def worker(self) -> Image:
        """A Locust worker: Python, the packages, the lab, and the locustfiles."""
        python = self._bases.get(PYTHON)
        constraints = ROOT / "constraints.txt"
        key = " ".join(WORKER_PACKAGES) + digest_of({"constraints": constraints})
        packages = Recipe(
            "lab-packages", dockerfile("packages"), python.tag, key, lambda folder: self._packages(python, folder)
        )
        files = {str(path.relative_to(ROOT)): path for part in ("lab", "locustfiles") for path in _python_files(part)}
        base = self._builder.built(packages).tag
        return self._builder.built(Recipe("lab-worker", dockerfile("worker"), base, digest_of(files), lambda _: files))

    def _packages(self, python: Image, folder: Path) -> Mapping[str, Path]:
        """Have this machine's pip fetch the packages for the Python of the image, which need not be this one."""
        version = re.search(r"\d+\.\d+", python.product)
        assert version
        platforms = [f"--platform={library}_{_machine()}" for library in WORKER_LIBRARIES]
        command: tuple[str, ...] = (
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--only-binary=:all:",
        )
        command += (f"--python-version={version[0]}", "--implementation=cp", *platforms, f"--target={folder}")
        self._builder.say(f"pip install {' '.join(WORKER_PACKAGES)}")
        self._builder.on_host((*command, "-c", str(ROOT / "constraints.txt"), *WORKER_PACKAGES), OWN_MODULES)
        return {"packages": folder}


def service_name(module: str, jdk: int) -> str:
    """What the image of a service is called among those of a run; the release of Java is 0 where it names none."""
    return f"{module}-java{jdk}" if jdk else module


def _with_java(java: Jdk, base: str) -> Recipe:
    """The recipe of an image with a Java of this machine, which comes first on its PATH; the base has its libraries."""
    text = dockerfile("java") + f'LABEL lab.product="Java {java.version} ({java.found_in})"\n'
    return Recipe(f"lab-java-{java.major}", text, base, gather=lambda _: {"java": java.home})


def _python_files(part: str) -> list[Path]:
    return sorted(path for path in (ROOT / part).rglob("*.py") if "__pycache__" not in path.parts)


def _machine() -> str:
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())


def choose(wanted: str) -> tuple[str, str]:
    """Which runtime to use.

    Args:
        wanted: ``process``, ``docker``, or ``auto`` for Docker where an engine answers and images can be had.

    Returns:
        ``process`` or ``docker``, and why. LabError if ``docker`` is wanted and cannot be had.

    """
    check_known(wanted)
    if wanted == PROCESS:
        return PROCESS, "as asked"
    try:
        with closing(connect()) as engine:
            why_not = obstacle(engine)
    except LabError as error:
        if wanted == DOCKER:
            raise
        return PROCESS, error.problem.rstrip(".")
    if not why_not:
        return DOCKER, "as asked" if wanted == DOCKER else "a Docker engine answers, and images can be had"
    if wanted == DOCKER:
        raise LabError(f"Images cannot be had: {why_not}.", "Install what is missing, or use --runtime process.")
    return PROCESS, f"images cannot be had: {why_not}"


def check_known(runtime: str) -> None:
    """LabError if there is no runtime of that name."""
    if runtime not in RUNTIMES:
        raise LabError(f"There is no runtime {runtime!r}.", f"There is: {', '.join(RUNTIMES)}.")


def obstacle(engine: docker.DockerClient) -> str:
    """Why images could not be had on this machine; empty if they can, by all that is known before they are built."""
    missing = Bases(Builder(engine, ProcessRuntime(), lambda _: None)).missing()
    if not missing or not (why := registry_obstacle(missing[0].official)):
        return ""
    tools = ["mmdebstrap"] + ["go" for kind in missing if kind.goes_in]
    lacking = [tool for tool in tools if not shutil.which(tool)]
    return f"{missing[0].official} cannot be pulled ({why}), and {' and '.join(lacking)} is missing" if lacking else ""
