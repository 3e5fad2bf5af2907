"""A running service and its addresses."""

from __future__ import annotations

from dataclasses import dataclass

from lab.runtimes import Running


@dataclass(frozen=True)
class Service:
    """A running service and its two addresses: one for the load, one for management (actuator) during the load.

    Attributes:
        url: of the requests that are measured.
        management: of the actuator; empty for a service that the lab did not start.

    """

    running: Running
    url: str
    management: str
