"""The system under test as values: a variant of the service, and the link to its database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.spec.limits import NOT_SET, Limits


@dataclass(frozen=True)
class Link:
    """The shaped link between service and database; zero leaves a property unshaped.

    Attributes:
        latency_ms: added round-trip time.
        rate: bandwidth of all connections together, in bytes/s.
        connection_rate: bandwidth of each connection, in bytes/s.

    """

    latency_ms: int = 0
    rate: int = 0
    connection_rate: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether its bandwidth is limited, so that the time of a request depends on the load."""
        return bool(self.rate or self.connection_rate)

    def __bool__(self) -> bool:
        """Whether it shapes anything; a link that does not is left out."""
        return bool(self.latency_ms or self.rate or self.connection_rate)


@dataclass(frozen=True)
class Variant:
    """One way to run the service: a Maven module and its properties.

    Attributes:
        properties: Spring properties; values may name a limit, as in ``"{threads}"``. One whose limit is left to the
            stack is left out.
        jvm_arguments: the same for the command line of the JVM.
        promises: the limits that the running service must report, filled in the same way; None is "unlimited".
        own: the stack's default limits by its documentation: for theory only.
        tuned: the limits of the stance ``tuned``.
        thread_per_request: whether a request holds one of the T threads until it is answered.
        published_as: the column of the published tables that this variant reproduces.

    """

    name: str
    module: str
    title: str
    properties: Mapping[str, str] = field(default_factory=dict)
    jvm_arguments: tuple[str, ...] = ()
    promises: Mapping[str, str | None] = field(default_factory=dict)
    own: Limits = NOT_SET
    tuned: Limits = NOT_SET
    thread_per_request: bool = False
    published_as: str = ""
