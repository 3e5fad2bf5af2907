"""The prerequisites on this machine: what is there, what is missing, and the command that installs it."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab.errors import LabError
from lab.generator import calibration
from lab.runtimes import host
from lab.runtimes.docker import connect
from lab.system import balancer, images, maven, prometheus
from lab.system.jdk import find_jdk

GOOD, ABSENT, POOR, BAD = "good", "none", "poor", "bad"
WANTED_FILES = 4000 + 256
WANTED_BACKLOG = 4096
# Some 50 rounds of warm-up connect 4000 users each within two minutes, as the three variants of delay take.
WANTED_TRACKED = 1 << 18
WANTED_MEMORY = 4 << 30
WANTED_DISK = 1 << 30


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject, state, what was found, and the remedy.

    States are ``good``, ``poor`` (figures may suffer), ``bad`` (the lab's own services cannot be measured), and
    ``none`` of what is not here and only some of their runs need.
    """

    subject: str
    state: str
    found: str
    remedy: str = ""


def examine(runs: Path) -> list[Finding]:
    """Check what runs of the lab's own services need, and look for what only some of them need.

    Args:
        runs: the folder of runs.

    """
    return [*_tools(), *_machine(), _calibration(), _folder(runs), *_needed_by_some()]


def _tools() -> Iterator[Finding]:
    enough = sys.version_info >= (3, 11)
    yield Finding(
        "Python", GOOD if enough else BAD, platform.python_version(), "" if enough else "Install Python 3.11 or newer."
    )
    yield _try("JDK", lambda: f"{find_jdk().version} in {find_jdk().home}")
    yield _try("Maven", maven.find)


def _needed_by_some() -> Iterator[Finding]:
    yield _try("Docker, for --runtime docker", _docker, ABSENT)
    yield _try("HAProxy, for --nodes", balancer.program, ABSENT)
    yield _try("Prometheus, for --prometheus", prometheus.program, ABSENT)


def _docker() -> str:
    """The version of the Docker engine; LabError if none answers, or images cannot be had."""
    with closing(connect()) as engine:
        if why := images.obstacle(engine):
            raise LabError(f"Images cannot be had: {why}.", "Install what is missing.")
        return f"engine {engine.version()['Version']}"


def _try(subject: str, find: Callable[[], str], otherwise: str = BAD) -> Finding:
    try:
        return Finding(subject, GOOD, find())
    except LabError as error:
        return Finding(subject, otherwise, error.problem, error.next_step)


def _machine() -> Iterator[Finding]:
    cores = len(host.cores()) or os.cpu_count() or 1
    few = "Service and generator share a core, so that each delays the other: use a machine with two or more."
    yield Finding("cores", GOOD if cores >= 2 else POOR, str(cores), "" if cores >= 2 else few)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = "unlimited" if hard == resource.RLIM_INFINITY else f"{hard:,}"
    many = hard == resource.RLIM_INFINITY or hard >= WANTED_FILES
    yield Finding(
        "open files",
        GOOD if many else POOR,
        files,
        "" if many else f"For 4000 users: {host.more_open_files(WANTED_FILES)}",
    )
    backlog = host.somaxconn()
    if backlog is not None:
        enough = backlog >= WANTED_BACKLOG
        remedy = "" if enough else host.longer_backlog(WANTED_BACKLOG)
        yield Finding("listen backlog (somaxconn)", GOOD if enough else POOR, str(backlog), remedy)
    if tracked := host.tracked_connections():
        count, most = tracked
        remedy = "" if most >= WANTED_TRACKED else host.more_tracked(WANTED_TRACKED)
        yield Finding(
            "tracked connections (nf_conntrack)", GOOD if not remedy else POOR, f"{count:,} of {most:,}", remedy
        )
    if control := host.congestion_control():
        remedy = "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic" if host.paces_packets() else ""
        said = f"{control}, which paces packets" if remedy else control
        yield Finding("congestion control (TCP)", POOR if remedy else GOOD, said, remedy)
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
    return Finding("calibration", GOOD, f"{', '.join(map(str, found.ceilings))} ({found.time})")


def _folder(runs: Path) -> Finding:
    subject = "data folder"
    try:
        host.check_writable(runs)
        host.check_free_space(runs)
    except LabError as error:
        return Finding(subject, BAD, error.problem, error.next_step)
    free = host.free_space(runs)
    remedy = "" if free >= WANTED_DISK else "Free some space, or choose another folder with --data."
    return Finding(subject, GOOD if not remedy else POOR, f"{runs}, {free / 2**30:.2f} GiB free", remedy)
