"""The machine that a run is planned for, as far as its plan depends on it."""

from __future__ import annotations

from dataclasses import dataclass

# Algorithms of TCP's congestion control that pace what is sent, on the loopback too: what a service hands the kernel at
# once is sent later than what it hands over piece by piece. See docs/BIAS.md.
PACING = ("bbr", "bbr2", "bbr3")


@dataclass(frozen=True)
class Machine:
    """The size of a machine; :func:`lab.runtimes.host.machine` reads that of this one.

    Attributes:
        cores: its processors.
        memory_mb: its memory, in MiB.

    """

    cores: int
    memory_mb: int
