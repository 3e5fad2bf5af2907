"""The limits of a service, and the stances on where they come from: equal, default or tuned."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

# Where limits come from: the same for all variants; each stack's defaults; tuned for each variant; or, for a service
# that the lab did not start, not known.
Stance = Literal["equal", "default", "tuned", "not known"]
EQUAL: Stance = "equal"
DEFAULT: Stance = "default"
TUNED: Stance = "tuned"
NOT_KNOWN: Stance = "not known"


@dataclass(frozen=True)
class Limits:
    """The limits of a service; None leaves a limit at the stack's own default.

    Attributes:
        threads: at most so many operating-system threads serve requests (T of the formulas).
        accept_count: listen backlog: connections the kernel queues before the server accepts them.
        pool: connections to each component that the service calls (N of the formulas), where it calls any.
        heap_mb: the JVM's heap, fixed at this size from the start, in MiB.
        max_connections: open connections of the server at most.
        keep_alive_requests: requests on one connection before the server closes it; -1 for no limit.
        keep_alive_timeout_ms: how long a connection may rest before the server closes it; -1 for ever.

    The defaults below are those of the stance ``equal``. Spring Boot passes on only a positive number of connections,
    so "unlimited" has to be a very large number.

    """

    threads: int | None = 200
    accept_count: int | None = 4096
    pool: int | None = 100
    heap_mb: int | None = 2048
    max_connections: int | None = 1_000_000
    keep_alive_requests: int | None = -1
    keep_alive_timeout_ms: int | None = -1

    def or_else(self, other: Limits) -> Limits:
        """These limits, with None replaced by the other's value."""
        return Limits(**{name: getattr(other, name) if mine is None else mine for name, mine in asdict(self).items()})


ALL_EQUAL = Limits()
NOT_SET = Limits(None, None, None, None, None, None, None)
