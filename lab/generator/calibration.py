"""The calibration of the generator on this machine: the ceiling of each kind of request, and the file that keeps it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lab.runtimes.checkout import CALIBRATIONS, ROOT
from lab.runtimes.temporary import whole_file

# What the generator's speed depends on, besides lab/generator/locust.
LIBRARIES = ("locust", "gevent", "httptools", "numpy")
ALSO_OURS = (
    "lab/spec/sample.py",
    "lab/spec/http_address.py",
    "lab/generator/known_delay_server.py",
    "locustfiles/calibration.py",
)
GENERATOR, SERVER, UNKNOWN = "generator", "server", "something else"


@dataclass(frozen=True)
class Step:
    """What the generator adds to latency at one part of its ceiling.

    Attributes:
        share: the target rate as a part of the ceiling; 0 for a single user.
        rps: requests a second that were reached.
        added_mean_s: mean latency minus the mean delay that the server measured. It includes the network and the
            server's own work, so it is an upper bound of what the generator adds.
        added_p99_s: the same for the 99th percentile.

    """

    share: float
    rps: float
    added_mean_s: float
    added_p99_s: float


@dataclass(frozen=True)
class Ceiling:
    """The most requests a second of one kind that one worker sends.

    Attributes:
        kind: see :data:`lab.spec.scenario.KINDS`.
        limited_by: the bottleneck at the highest rate; if not the generator, ``rps`` is a lower bound of the ceiling.
        generator_cpu: share of the generator's core at that rate; the same for ``server_cpu``.

    """

    kind: str
    rps: float
    limited_by: str
    generator_cpu: float
    server_cpu: float
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """All ceilings of one machine.

    Attributes:
        fingerprint: of machine and generator: see :func:`fingerprint`.
        time: when it was made, ISO 8601.

    """

    fingerprint: str
    time: str
    ceilings: tuple[Ceiling, ...]

    def ceiling_rps(self, kind: str, workers: int, cores: int) -> float | None:
        """The ceiling of several workers on so many cores, in requests/s; None where only a lower bound is known.

        Workers that share a core share its time, so that more of them than cores add nothing.
        """
        for ceiling in self.ceilings:
            if ceiling.kind == kind and ceiling.limited_by == GENERATOR:
                return ceiling.rps * max(1, min(workers, cores))
        return None

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types."""
        return dict(msgspec.to_builtins(self))


def fingerprint() -> str:
    """A hash of all that a calibration depends on: processor, cores, Python, libraries, generator; 16 hex digits."""
    facts = [_processor(), str(os.cpu_count()), platform.python_version(), *map(importlib.metadata.version, LIBRARIES)]
    digest = hashlib.sha256("\n".join(facts).encode())
    for path in sorted([*(ROOT / "lab" / "generator" / "locust").glob("*.py"), *(ROOT / file for file in ALSO_OURS)]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def find(folder: Path = CALIBRATIONS) -> Calibration | None:
    """The calibration of this machine and this generator; None if there is none, or if its file is damaged."""
    try:
        return msgspec.json.decode((folder / f"{fingerprint()}.json").read_bytes(), type=Calibration)
    except (OSError, ValueError):
        return None


def keep(calibration: Calibration, folder: Path = CALIBRATIONS) -> Path:
    """Write a calibration where :func:`find` looks for it, whole or not at all; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{calibration.fingerprint}.json"
    with whole_file(file) as neighbour:
        neighbour.write_bytes(msgspec.json.format(msgspec.json.encode(calibration)) + b"\n")
    return file
