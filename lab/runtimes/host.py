"""The host: its facts, cores, memory, ports, and the limits of its kernel."""

from __future__ import annotations

import gzip
import importlib.metadata
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from lab.errors import LabError
from lab.runtimes.checkout import ROOT
from lab.spec.machine import Machine

PACKAGES = ("lab", "locust", "gevent", "httptools", "numpy", "pandas", "pyarrow")
# Logs and samples of a small run, and some to spare, in bytes.
LEAST_FREE = 100 << 20
# Where a kernel may have the options that it was built with, and those with which it counts interrupts apart.
CONFIGURATIONS = ("/boot/config-{release}", "/lib/modules/{release}/config", "/proc/config.gz")
TIMES_INTERRUPTS = ("CONFIG_IRQ_TIME_ACCOUNTING=y\n", "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n")
# Where the kernel says how many connections it tracks, and what it dropped as it could not track more (Linux).
CONNTRACK_LIMITS, CONNTRACK_COUNTERS = Path("/proc/sys/net/netfilter"), Path("/proc/net/stat/nf_conntrack")
CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def raise_open_file_limit(needed: int) -> int:
    """Raise this process's limit of open files, which children inherit, to the system's maximum.

    LabError if ``needed`` is more than the system allows.

    Returns:
        The limit now in force.

    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reach = hard if hard != resource.RLIM_INFINITY else max(needed, 1 << 20)
    if needed > reach:
        raise LabError(
            f"This needs {needed} open files in one process, but the system allows {reach}.",
            f"Use fewer users, or raise the limit: {more_open_files(needed)} in this shell, or for good in "
            "/etc/security/limits.conf.",
        )
    if soft < reach:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reach, hard))
    return reach


def more_open_files(needed: int) -> str:
    """The command that raises a shell's limit of open files, which on Linux ``ulimit`` does up to the hard one only."""
    if sys.platform != "linux":
        return f"ulimit -n {needed}"
    return f"sudo prlimit --pid $$ --nofile={needed}:{needed}"


def longer_backlog(asked: int) -> str:
    """The command that raises the kernel's cap on every listen backlog."""
    return f"sudo sysctl -w net.core.somaxconn={asked}"


def check_ports(users: int, addresses: int) -> None:
    """LabError if so many local addresses have too few ports for a connection of each user (Linux)."""
    try:
        low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    except (OSError, ValueError):
        return
    ports = (high - low) * addresses
    if users > ports:
        raise LabError(
            f"{users:,} users need as many local ports, but the system has {ports:,}.",
            'Use fewer users, or widen the range: sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"',
        )


def tracked_connections() -> tuple[int, int] | None:
    """How many connections the kernel tracks, and how many it can; None where it cannot, or as many as there are.

    It does so for a firewall, or for Docker, over loopback too, and forgets a connection two to three minutes after
    its end. While it tracks as many as it can, it drops the packets of new ones: each connects a second later, or more.
    """
    try:
        count, most = (int((CONNTRACK_LIMITS / f"nf_conntrack_{name}").read_text()) for name in ("count", "max"))
    except (OSError, ValueError):
        return None
    return (count, most) if most else None


def untracked_packets() -> int | None:
    """How many packets the kernel has dropped until now as it could not track more; None where it does not say."""
    try:
        names, *of_cores = (line.split() for line in CONNTRACK_COUNTERS.read_text().splitlines())
        return sum(int(row[names.index("drop")], 16) for row in of_cores)
    except (OSError, ValueError, IndexError):
        return None


def more_tracked(connections: int) -> str:
    """The command that has the kernel track more connections."""
    return f"sudo sysctl -w net.netfilter.nf_conntrack_max={connections}"


def congestion_control() -> str | None:
    """The kernel's congestion control of new TCP connections, such as ``cubic``; None where it does not say."""
    try:
        return CONGESTION_CONTROL.read_text().strip()
    except OSError:
        return None


def paces_packets() -> bool:
    """Whether the kernel spreads a connection's packets over time (BBR), by timers of its own, over loopback too.

    Each of them takes CPU time of whatever runs on the core then, most where a server writes in small pieces.
    """
    return (congestion_control() or "").startswith("bbr")


def interrupts_in_programs() -> bool:
    """Whether the kernel counts the time of interrupts as CPU time of the programs that they interrupt.

    Linux does so unless it was built to time each interrupt, or each change to the kernel and back. False where its
    configuration cannot be read.
    """
    for path in CONFIGURATIONS:
        read = gzip.open if path.endswith(".gz") else open
        with suppress(OSError), read(path.format(release=platform.release()), "rt") as lines:
            return set(TIMES_INTERRUPTS).isdisjoint(lines)
    return False


def machine() -> Machine:
    """The size of this machine, for which runs are planned."""
    return Machine(cores=os.cpu_count() or 1, memory_mb=memory_mb())


def memory_mb() -> int:
    """The memory of this machine, in MiB."""
    return psutil.virtual_memory().total >> 20


def cores() -> tuple[int, ...]:
    """The cores this process may use; empty where the system does not report them (macOS)."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def online_cores() -> tuple[int, ...]:
    """The numbers of the cores that are online, in the order in which psutil lists cores; 0, 1, … if not known.

    Where some are offline, as with simultaneous multithreading switched off, places in that list are no core numbers.
    """
    try:
        words = (line.split(maxsplit=1)[0] for line in Path("/proc/stat").read_text().splitlines())
        return tuple(int(word[3:]) for word in words if word.startswith("cpu") and word != "cpu")
    except (OSError, ValueError):
        return tuple(range(os.cpu_count() or 1))


def somaxconn() -> int | None:
    """The kernel's cap on every listen backlog; None where it is not reported (but on Linux)."""
    try:
        return int(Path("/proc/sys/net/core/somaxconn").read_text())
    except (OSError, ValueError):
        return None


def check_backlog(asked: int) -> None:
    """LabError if the kernel's cap on a listen backlog is less than the requested one (Linux)."""
    cap = somaxconn()
    if cap is not None and asked > cap:
        raise LabError(
            f"The kernel cuts every listen backlog to {cap} (somaxconn), and --accept-count {asked} is more.",
            f"Use --accept-count {cap}, or raise the cap: {longer_backlog(asked)}",
        )


def free_space(folder: Path) -> int:
    """The free space in bytes of the disk of a folder, which may not exist yet; LabError if nobody can tell."""
    return shutil.disk_usage(_existing(folder)).free


def check_free_space(folder: Path) -> None:
    """LabError if the disk of a folder, which may not exist yet, has too little space for a run."""
    disk = shutil.disk_usage(_existing(folder))
    if disk.total and disk.free < LEAST_FREE:  # /proc and its like have no size
        raise LabError(
            f"A run needs {LEAST_FREE >> 20} MiB of disk space, and {folder} has {disk.free >> 20} MiB.",
            "Free some space there, or keep runs on another disk.",
        )


def check_writable(folder: Path) -> None:
    """LabError if a folder cannot be written to; or cannot be made, if it does not exist. Nothing is left there."""
    existing = _existing(folder)
    try:
        with TemporaryDirectory(dir=existing):  # permissions alone do not tell: see root, and /proc
            pass
    except OSError as error:
        raise _no_place(folder, error) from None


def _existing(folder: Path) -> Path:
    """A folder, or the one nearest above it that exists; LabError if nobody can tell."""
    try:
        return next(path for path in (folder, *folder.absolute().parents) if path.exists())
    except OSError as error:  # such as a name that is too long
        raise _no_place(folder, error) from None


def _no_place(folder: Path, error: OSError) -> LabError:
    return LabError(f"{error.strerror}: {folder}.", "Choose another place for runs (--data), or fix this one.")


def environment() -> dict[str, Any]:
    """Facts about this machine and this checkout that results may depend on."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain")),
        "host": platform.node(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "somaxconn": somaxconn(),
        "congestion_control": congestion_control(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _git(*arguments: str) -> str | None:
    command = ("git", "-C", str(ROOT), *arguments)
    # GIT_DIR and the like name another repository.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, env=own).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


# As this process was started: while a run lasts, it confines itself to the generator's.
_CORES_AT_START = cores()


def cores_at_start() -> int:
    """How many cores this process could use as it was started; all that there are where the system does not say."""
    return len(_CORES_AT_START) or os.cpu_count() or 1


@dataclass(frozen=True)
class Cores:
    """The cores reserved for the service and for the generator; empty sets where they share all."""

    service: frozenset[int]
    generator: frozenset[int]

    @property
    def cpus(self) -> int:
        """How many cores the service has."""
        return len(self.service) or len(cores()) or os.cpu_count() or 1

    @property
    def owned(self) -> dict[str, frozenset[int]]:
        """The reserved cores by owner; empty where they share all."""
        return {owner: mine for owner, mine in (("service", self.service), ("generator", self.generator)) if mine}

    @staticmethod
    def split(pin: bool) -> Cores:
        """The first half of the cores for the service, the rest for the generator and the databases."""
        usable = cores()
        if not pin or len(usable) < 2:
            return Cores(frozenset(), frozenset())
        half = len(usable) // 2
        return Cores(frozenset(usable[:half]), frozenset(usable[half:]))
