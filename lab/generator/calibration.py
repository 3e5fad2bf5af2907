"""The calibration of the generator on this machine: the ceiling of each kind of request, and the file that keeps it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from lab.runtimes import host
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
# A process with less than this share of a core is not the bottleneck.
BUSY_SHARE = 0.90


@dataclass(frozen=True)
class Step:
    """What the generator adds to latency at one part of its ceiling.

    Attributes:
        share: the target rate as a part of the ceiling; 0 for a single user.
        rps: requests a second that were reached.
        added_mean_s: mean latency minus the mean delay that the server measured. It includes the network and the
            server's own work, so it is an upper bound of what the generator adds.
        added_p99_s: the same for the 99th percentile.
        added_p999_s: the same for the 99.9th; None in a calibration of an older lab.

    """

    share: float
    rps: float
    added_mean_s: float
    added_p99_s: float
    added_p999_s: float | None = None


@dataclass(frozen=True)
class Ceiling:
    """The most requests a second of one kind that a number of workers send together.

    Attributes:
        kind: see :data:`lab.spec.scenario.KINDS`.
        limited_by: the bottleneck at the highest rate; if not the generator, ``rps`` is a lower bound of the ceiling.
        generator_cpu: share of the workers' cores at that rate; ``server_cpu`` is the server's share of one core.

    """

    kind: str
    rps: float
    limited_by: str
    generator_cpu: float
    server_cpu: float
    steps: tuple[Step, ...] = ()
    workers: int = 1

    def __str__(self) -> str:
        """In words."""
        return in_words(self.kind, self.rps, self.limited_by, self.workers)


def in_words(kind: str, rps: float, limited_by: str, workers: int) -> str:
    """A ceiling in words, such as ``small with 2 workers at least 54,000 requests/s``; also one of an older run."""
    of = f" with {workers} workers" * (workers > 1)
    return f"{kind}{of} {'at least ' * (limited_by != GENERATOR)}{rps:,.0f} requests/s"


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
        """The ceiling of several workers on so many cores, in requests/s; None if it was not measured.

        Where the server was the limit of several workers, they send at least what it took, and as much as one sends
        times as many as have a core of their own. A lower bound is no less safe: what is far below it is far below the
        ceiling. But where neither was the limit, other programs had their cores, and what was reached says more of
        these: then it is what the generator would send with its cores at the CPU time that a request was seen to take.
        """
        measured = {c.workers: c for c in self.ceilings if c.kind == kind}
        if workers not in measured:
            return None
        found, one = measured[workers], measured.get(1)
        if found.limited_by != GENERATOR and one and one.limited_by == GENERATOR:
            return max(found.rps, one.rps * min(workers, cores))
        if found.limited_by == UNKNOWN and found.generator_cpu > 0:
            return found.rps * max(1.0, BUSY_SHARE / found.generator_cpu)
        return found.rps

    def with_ceilings(self, found: Iterable[Ceiling]) -> Calibration:
        """The same with further ceilings, which replace those of the same kind and number of workers."""
        ceilings = {(c.kind, c.workers): c for c in (*self.ceilings, *found)}
        return replace(self, ceilings=tuple(ceilings.values()))

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types."""
        return dict(msgspec.to_builtins(self))


def fingerprint() -> str:
    """A hash of all that a calibration depends on; 16 hex digits.

    Processor, the cores that this process could use as it was started, the kernel's congestion control, Python,
    libraries, generator.
    """
    versions = (platform.python_version(), *map(importlib.metadata.version, LIBRARIES))
    facts = [_processor(), str(host.cores_at_start()), str(host.congestion_control()), *versions]
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
    with whole_file(file) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(calibration)) + b"\n")
    return file
