"""The system under test as values: a variant of the service, and the link to its database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.spec.limits import NOT_SET, Limits


@dataclass(frozen=True)
class Link:
    """What lies between service and database; zero leaves that alone.

    Attributes:
        latency_ms: by how much a round trip takes longer.
        rate: bytes a second of all connections together.
        connection_rate: bytes a second of each connection.

    """

    latency_ms: int = 0
    rate: int = 0
    connection_rate: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether it passes only so many bytes a second, so that what a request takes depends on the load."""
        return bool(self.rate or self.connection_rate)

    def __bool__(self) -> bool:
        """Whether it does anything; a link that does not is left out."""
        return bool(self.latency_ms or self.rate or self.connection_rate)


@dataclass(frozen=True)
class Variant:
    """One way to run the service: a Maven module and its properties.

    Attributes:
        properties: Spring properties; values may name a limit, as in ``"{threads}"``. One whose limit is left to the
            stack is left out.
        jvm_arguments: the same for the command line of the JVM.
        promises: what the running service must state about its limits, filled in the same way; None is "unlimited".
        own: the limits that the stack has by its documentation if nobody sets them: for theory, never set or promised.
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
