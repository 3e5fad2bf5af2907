"""Unpacks the executable jars of services: a JVM is slow to load classes from jars within a jar.

What is started is the same application. Spring Boot's documentation ("Efficient deployments") recommends it, and a
start-up cache holds no classes of jars within a jar.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from lab.errors import LabError
from lab.runtimes import Launch, Runtime

# What unpacks a jar: in those of Spring Boot 3.3 and later.
TOOLS = "BOOT-INF/lib/spring-boot-jarmode-tools-"
PREFIX = "unpacked-"


def unpack(jar: Path, java: str, runtime: Runtime) -> None:
    """Unpack an executable jar beside it, unless it is unpacked, or is none that can be.

    Only one process at a time may do that to a jar.

    Args:
        jar: a copy that is never written to again.
        java: the path of the JVM's launcher.

    """
    folder = _folder(jar)
    if folder.exists():
        os.utime(folder)  # those used last are kept
    elif _has_tools(jar):
        unfinished = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        command = (java, "-Djarmode=tools", "-jar", str(jar), "extract", "--destination", str(unfinished))
        launch = Launch(f"unpacking of {jar.name}", command, jar.parent / "unpacking.log", alone=True)
        with runtime.started(launch) as running:
            ending = running.await_end()
        if not ending.ok:
            raise LabError(f"The {launch.name} {ending}.", f"Its log is {launch.log}.")
        unfinished.rename(folder)


def started_from(jar: Path) -> Path:
    """The jar to start a service from: the one that needs no jars within it, where there is one."""
    unpacked = _folder(jar) / jar.name
    return unpacked if unpacked.exists() else jar


def _folder(jar: Path) -> Path:
    return jar.with_name(f"{PREFIX}{jar.stem}")


def _has_tools(jar: Path) -> bool:
    if not zipfile.is_zipfile(jar):
        return False
    with zipfile.ZipFile(jar) as archive:
        return any(name.startswith(TOOLS) for name in archive.namelist())
