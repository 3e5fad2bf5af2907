"""Java's ahead-of-time cache: classes loaded and linked once, in a training run, for all later starts.

A training run, up to the first answers of the application, writes the cache when it ends (JEP 483, 514 and 515). It
halves the CPU time of a start, and changes nothing that is measured: all variants start from one, and every service is
warm before it is measured.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import requests
from filelock import FileLock

from lab.errors import LabError
from lab.runtimes import Launch, Running, Runtime, loopback
from lab.runtimes.port_file import awaited_port
from lab.system import artifacts
from lab.system.unpacking import started_from

# From this release on, one training run is enough; older ones start as they always did.
MINIMUM_JAVA = 25
# What a service in training is asked, by the file with the port: what every start is asked before it is loaded.
ASKED = {
    "application-management.port": ("/actuator/health", "/actuator/limits", "/actuator/prometheus"),
    "application.port": ("/nowhere",),
}
ANSWER_WITHIN_S = 30.0


def train_all(
    jars: Mapping[str, Path], java: str, runtime: Runtime, say: Callable[[str], None], warn: Callable[[str], None]
) -> dict[str, Path]:
    """Make the caches of services that are compared, by module; none at all if the training of one failed.

    A JVM that starts from a cache knows profiles of methods too, and compiles otherwise: all have one, or none has.

    Args:
        jars: by module; for the others see :func:`train`.

    """
    found = {module: train(jar, java, runtime, say, warn) for module, jar in sorted(jars.items())}
    caches = {module: cache for module, cache in found.items() if cache}
    return caches if len(caches) == len(found) else {}


def train(
    jar: Path, java: str, runtime: Runtime, say: Callable[[str], None], warn: Callable[[str], None]
) -> Path | None:
    """Make the cache of a service, unless there is one made from the same jar by the same JVM.

    Args:
        jar: as :func:`lab.system.build.jars` returns it.
        java: the path of the launcher that will start the service.
        say: is told what is going on.
        warn: is told, once for a jar and a JVM, that the training failed.

    Returns:
        The folder of the cache; None if the training failed, now or earlier: the service starts without one.

    """
    folder = jar.parent / f"aot-{_key(jar, java)}"
    with FileLock(jar.parent / ".aot.lock"):
        if not _outcome(folder).exists():
            shutil.rmtree(folder, ignore_errors=True)
            say(f"train {jar.stem}")
            failure = _trained(folder, jar, java, runtime)
            _outcome(folder).write_text(failure)
            if failure:
                warn(
                    f"{failure}; services that are compared with it start without a cache too, until it is built anew."
                )
        os.utime(folder)  # the caches used last are kept
        return None if _outcome(folder).read_text() else folder


def _key(jar: Path, java: str) -> str:
    """What a cache is made from: a jar's contents and place, a JVM with its version, and what is asked in training."""
    release = Path(java).resolve().parent.parent / "release"
    version = release.read_text() if release.exists() else ""
    place = started_from(jar).relative_to(jar.parent)
    made_from = f"{artifacts.digest(jar)}\n{place}\n{java}\n{version}\n{ASKED}"
    return hashlib.sha256(made_from.encode()).hexdigest()[:16]


def _trained(folder: Path, jar: Path, java: str, runtime: Runtime) -> str:
    """Train; returns what failed, as the beginning of a sentence, or nothing."""
    folder.mkdir(exist_ok=True)
    flags = (f"-XX:AOTCacheOutput={_cache(folder)}", "-DPORTFILE=application.port")
    command = (java, *flags, "-jar", str(started_from(jar)), "--server.port=0", "--management.server.port=0")
    log = jar.parent / "training.log"
    with runtime.started(Launch(f"training of {jar.stem}", command, log, folder=folder, alone=True)) as training:
        with suppress(LabError, requests.RequestException):  # its end tells more
            _ask(training, folder)
        if not training.exit_reason():
            os.kill(training.pid, signal.SIGTERM)  # it writes the cache before it ends
        ending = training.await_end()
    return "" if _cache(folder).exists() else f"The training of {jar.stem} {ending} (its log is {log})"


def _ask(training: Running, folder: Path) -> None:
    for file, paths in ASKED.items():
        host, port = training.reach(awaited_port(training, folder / file))
        for path in paths:
            loopback.get(f"http://{host}:{port}{path}", ANSWER_WITHIN_S)


def cached(launch: Launch, folder: Path) -> Launch:
    """The same start of a service, from a cache.

    Args:
        folder: of the cache; see :func:`train`.

    """
    position = launch.command.index("-jar")
    command = (*launch.command[:position], f"-XX:AOTCache={_cache(folder)}", *launch.command[position:])
    return replace(launch, command=command)


def _cache(folder: Path) -> Path:
    return folder / "service.aot"


def _outcome(folder: Path) -> Path:
    """Written last: what failed, or nothing where the cache is good."""
    return folder / "outcome"
