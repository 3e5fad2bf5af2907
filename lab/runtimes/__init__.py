"""Where processes and containers run: two Protocols, and an implementation of each runtime."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

# What may be asked for; "auto" is Docker where an engine answers and images can be had, else processes.
RUNTIMES = ("process", "docker", "auto")


@dataclass(frozen=True)
class Launch:
    """What to start.

    Attributes:
        name: what people call it, such as ``service`` or ``worker 1``.
        log: file that gets its standard output and error (only error where ``talks``).
        folder: its working directory; the lab's own if None.
        cores: the cores it may use from the start; empty for all.
        talks: whether its stdin and stdout are pipes to the lab.
        grace_s: how long it may take to end by itself when it is asked to, before it is made to.
        image: the container image to start it from; empty for a process on this machine. The command replaces the
            image's, if it is not empty; the folder is there under the same path.
        memory_mb: the most memory its container may use, in MiB; 0 for no limit.

    """

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    cores: frozenset[int] = frozenset()
    folder: Path | None = None
    talks: bool = False
    grace_s: float = 3.0
    image: str = ""
    memory_mb: int = 0


class Running(Protocol):
    """The handle of something started."""

    launch: Launch

    @property
    def pid(self) -> int:
        """Its process id on this machine."""

    @property
    def stdin(self) -> IO[str]:
        """Its standard input, where the launch talks."""

    @property
    def stdout(self) -> IO[str]:
        """Its standard output, where the launch talks."""

    def reach(self, port: int) -> tuple[str, int]:
        """Host and port at which this machine, and whatever else runs in the same runtime, reaches a port of it."""

    def exit_reason(self) -> str:
        """How it ended, such as ``was killed by SIGKILL``; empty while it lives."""

    def await_end(self) -> str:
        """Wait until it has ended, and say how, as :meth:`exit_reason` does."""

    def confine(self, cores: frozenset[int]) -> None:
        """From now on let it use only these cores; nothing happens if the set is empty."""

    def cpu_s(self) -> float:
        """CPU seconds that it and its children have used so far."""

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log."""


class Runtime(Protocol):
    """Starts things, and sees to it that they end when the context does, or when the lab dies."""

    @property
    def host(self) -> str:
        """The address of this machine as what runs in the runtime sees it."""

    def started(self, launch: Launch) -> AbstractContextManager[Running]:
        """Start it; on exit it is stopped, whatever happened in between."""


def tail(log: Path, lines: int) -> str:
    """The last lines of a log; empty if there is none."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
