"""The machine that a run is planned for, as far as its plan depends on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """The size of a machine; :func:`lab.runtimes.host.machine` reads that of this one.

    Attributes:
        cores: its processors.
        memory_mb: its memory, in MiB.

    """

    cores: int
    memory_mb: int
