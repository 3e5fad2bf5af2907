"""How a process or a container ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class ExitStatus:
    """How a process ended; as a text the end of a sentence, such as ``exited with status 2``.

    Attributes:
        status: its exit status; of one that was killed, the negative number of the signal; None if nobody knows.
        cause: what is known of its end that its status does not say, such as ``ran out of memory``; empty if nothing.

    """

    status: int | None
    cause: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself and says that it succeeded."""
        return self.status == 0 and not self.cause

    def __str__(self) -> str:
        if self.cause or self.status is None:
            return self.cause or "ended"
        if self.status < 0:
            return f"was killed by {signal.Signals(-self.status).name}"
        return f"exited with status {self.status}"
