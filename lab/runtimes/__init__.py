"""Where processes and containers run: two Protocols, and an implementation of each runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from lab.runtimes.exit_status import ExitStatus

# The values of --runtime; "auto" is Docker where an engine answers and images are available, else processes.
PROCESS, DOCKER, AUTO = "process", "docker", "auto"
RUNTIMES = (PROCESS, DOCKER, AUTO)
LOOPBACK = "127.0.0.1"

# What every process needs of the shell's environment.
INHERITED = ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR")
# What it gets instead of the shell's language: file names of any letters, and everywhere the same messages and sorting.
LANGUAGE = {"LC_ALL": "C.UTF-8"}


@dataclass(frozen=True)
class Launch:
    """What to start: a command, with its environment, cores, log and container image.

    Attributes:
        name: the name in messages, such as ``service`` or ``worker 1``.
        log: the file for its standard output and error (only error where ``talks``).
        alone: whether it inherits nothing of the shell's environment but :data:`INHERITED`, as a container does; both
            have :data:`LANGUAGE`.
        folder: its working directory; the lab's own if None.
        cores: the cores it may use from the start; empty for all.
        talks: whether its stdin and stdout are pipes to the lab.
        grace_s: seconds between SIGTERM and SIGKILL when it is stopped.
        image: the container image to start it from; empty for a process on this machine. The command replaces the
            image's, if it is not empty; the folder is there under the same path.
        reads_only: whether its container may only read what is in its folder.
        memory_mb: the most memory its container may use, in MiB; 0 for no limit.
        scratch: files and folders for its time only: they are removed in the end, even if the lab is killed.
        alias: the name by which others of the same runtime reach its container; empty for none: see
            :meth:`Runtime.reserve`.

    """

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    cores: frozenset[int] = frozenset()
    alone: bool = False
    folder: Path | None = None
    talks: bool = False
    grace_s: float = 3.0
    image: str = ""
    memory_mb: int = 0
    scratch: tuple[Path, ...] = ()
    alias: str = ""
    reads_only: bool = False


class Watched(Protocol):
    """What tells whether it still runs."""

    @property
    def launch(self) -> Launch:
        """What was started."""

    def exit_reason(self) -> ExitStatus | None:
        """How it ended; None while it runs."""

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log."""


class Running(Protocol):
    """A started process or container."""

    launch: Launch

    @property
    def pid(self) -> int:
        """Its process id on this machine."""

    @property
    def stdin(self) -> IO[str]:
        """Its standard input, if the launch ``talks``."""

    @property
    def stdout(self) -> IO[str]:
        """Its standard output, if the launch ``talks``."""

    def reach(self, port: int) -> tuple[str, int]:
        """Host and port at which one of its ports is reached, from this machine and from the same runtime."""

    def exit_reason(self) -> ExitStatus | None:
        """How it ended; None while it runs."""

    def await_end(self) -> ExitStatus:
        """Wait until it has ended, and return how."""

    def confine(self, cores: frozenset[int]) -> None:
        """Pin it to these cores from now on; an empty set changes nothing."""

    def cpu_s(self) -> float:
        """CPU seconds that it and its children have used so far."""

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log."""


class Runtime(Protocol):
    """Starts processes or containers, and ensures that they end with their context, or when the lab is killed."""

    @property
    def host(self) -> str:
        """The address of this machine as seen from inside the runtime."""

    def discard(self, path: Path) -> None:
        """Remove a file or a folder at the end, with what was written into it, even if the lab is killed."""

    def reserve(self, aliases: Sequence[str]) -> list[tuple[str, int]]:
        """For each of some launches a host and a port that it alone may listen on, known before it is started.

        Args:
            aliases: those of the launches, each unique in the runtime.

        """

    def started(self, launch: Launch) -> AbstractContextManager[Running]:
        """Start a launch; it is stopped when the context ends, also after an error."""


def appended(log: Path) -> IO[bytes]:
    """A log, opened to be appended to; OSError where its name is a link: what is started must not choose its place."""
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666), "ab", buffering=0)


def text_of(file: Path) -> str:
    """The text of a file that something started has written; OSError where it is missing, or a link.

    A pipe in its place has no text, and is not waited for.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), errors="replace") as opened:
        return opened.read()


def tail(log: Path, lines: int) -> str:
    """The last lines of a log; empty if there is none."""
    try:
        return "\n".join(text_of(log).splitlines()[-lines:])
    except OSError:
        return ""
