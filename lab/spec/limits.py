"""The limits of a service, and the stances on where they come from: equal, default or tuned."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

# Where limits come from: the same for all variants; what each stack has by itself; what suits each of them; or, of a
# service that is there already, nobody knows.
Stance = Literal["equal", "default", "tuned", "not known"]
EQUAL: Stance = "equal"
DEFAULT: Stance = "default"
TUNED: Stance = "tuned"
NOT_KNOWN: Stance = "not known"


@dataclass(frozen=True)
class Limits:
    """The limits of a service that decide results without being seen; None leaves a limit to the stack itself.

    Attributes:
        threads: at most so many operating-system threads serve requests (T of the formulas).
        accept_count: connections the kernel holds ready before the server accepts them (listen backlog).
        pool: connections to the database (N of the formulas), where the scenario has one.
        heap_mb: the JVM's heap, fixed at this size from the start, in MiB.
        max_connections: connections the server takes at once.
        keep_alive_requests: requests on one connection, after which the server closes it; -1 for no limit.

    The values below are those of the stance ``equal``. Spring Boot passes on only a positive number of connections, so
    that "unlimited" has to be a number out of reach.

    """

    threads: int | None = 200
    accept_count: int | None = 4096
    pool: int | None = 100
    heap_mb: int | None = 2048
    max_connections: int | None = 1_000_000
    keep_alive_requests: int | None = -1

    def or_else(self, other: Limits) -> Limits:
        """These limits, and the other's where one is left open."""
        return Limits(**{name: getattr(other, name) if mine is None else mine for name, mine in asdict(self).items()})


NOT_SET = Limits(None, None, None, None, None, None)
