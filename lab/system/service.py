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
        metrics_path: of the page of its metrics, under the address of its management.

    """

    running: Running
    url: str
    management: str
    metrics_path: str = "/actuator/prometheus"

    @property
    def metrics(self) -> str:
        """The address of the page of its metrics; empty where there is none."""
        return self.management and self.management + self.metrics_path
