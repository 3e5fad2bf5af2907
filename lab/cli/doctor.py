"""The prerequisites on this machine: what is there, what is missing, and the command that installs it."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab.errors import LabError
from lab.generator import calibration
from lab.runtimes import host
from lab.system import maven
from lab.system.jdk import find_jdk

GOOD, POOR, BAD = "good", "poor", "bad"
WANTED_FILES = 4000 + 256
WANTED_BACKLOG = 4096
WANTED_MEMORY = 4 << 30
WANTED_DISK = 1 << 30


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject, state (good, poor or bad), what was found, and the remedy."""

    subject: str
    state: str
    found: str
    remedy: str = ""


def examine(runs: Path) -> list[Finding]:
    """Check all prerequisites of a run.

    Args:
        runs: the folder of runs.

    """
    return [*_tools(), *_machine(), _calibration(), _folder(runs)]


def _tools() -> Iterator[Finding]:
    enough = sys.version_info >= (3, 11)
    yield Finding(
        "Python", GOOD if enough else BAD, platform.python_version(), "" if enough else "Install Python 3.11 or newer."
    )
    yield _try("JDK", lambda: f"{find_jdk().version} in {find_jdk().home}")
    yield _try("Maven", maven.find)


def _try(subject: str, find: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, GOOD, find())
    except LabError as error:
        return Finding(subject, BAD, error.problem, error.next_step)


def _machine() -> Iterator[Finding]:
    cores = len(host.cores()) or os.cpu_count() or 1
    few = "Service and generator share a core, so that each delays the other: use a machine with two or more."
    yield Finding("cores", GOOD if cores >= 2 else POOR, str(cores), "" if cores >= 2 else few)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = "unlimited" if hard == resource.RLIM_INFINITY else f"{hard:,}"
    many = hard == resource.RLIM_INFINITY or hard >= WANTED_FILES
    yield Finding(
        "open files", GOOD if many else POOR, files, "" if many else f"For 4000 users: ulimit -Hn {WANTED_FILES}"
    )
    backlog = host.somaxconn()
    if backlog is not None:
        enough = backlog >= WANTED_BACKLOG
        remedy = "" if enough else f"sysctl -w net.core.somaxconn={WANTED_BACKLOG}"
        yield Finding("listen backlog (somaxconn)", GOOD if enough else POOR, str(backlog), remedy)
    free = psutil.virtual_memory().available
    remedy = "" if free >= WANTED_MEMORY else "Close other programs, or use --heap-mb 1024."
    yield Finding("free memory", GOOD if not remedy else POOR, f"{free / 2**30:.1f} GiB", remedy)
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        busy = load > 0.5 * cores
        yield Finding(
            "load average",
            POOR if busy else GOOD,
            f"{load:.1f}",
            "Wait until other work is done." if busy else "",
        )


def _calibration() -> Finding:
    found = calibration.find()
    if found is None:
        return Finding("calibration", POOR, "the generator's ceiling here is unknown", "python -m lab calibrate")
    ceilings = (
        f"{c.kind} {'' if c.limited_by == calibration.GENERATOR else 'at least '}{c.rps:,.0f} requests/s"
        for c in found.ceilings
    )
    return Finding("calibration", GOOD, f"{', '.join(ceilings)} ({found.time})")


def _folder(runs: Path) -> Finding:
    existing = next(path for path in (runs, *runs.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        return Finding(
            "data folder",
            BAD,
            f"{existing} is not writable",
            "Choose another one with --data, or fix its permissions.",
        )
    free = shutil.disk_usage(existing).free
    remedy = "" if free >= WANTED_DISK else "Free some space, or choose another folder with --data."
    return Finding("data folder", GOOD if not remedy else BAD, f"{runs}, {free / 2**30:.1f} GiB free", remedy)
