"""A running service and its addresses."""

from __future__ import annotations

from dataclasses import dataclass

from lab.runtimes import Running

# How a service and all that it depends on is; and whether it answers at all, for which it needs nothing but itself.
HEALTH, LIVENESS = "/actuator/health", "/actuator/health/liveness"


@dataclass(frozen=True)
class Service:
    """A running service and its two addresses: one for the load, one for management (actuator) during the load.

    Attributes:
        url: of the requests that are measured.
        management: of the actuator; empty for a service that the lab did not start.
        metrics_path: of the page of its metrics, under the address of its management.
        check_path: of what a balancer asks for, there too, to learn whether it still answers.

    """

    running: Running
    url: str
    management: str
    metrics_path: str = "/actuator/prometheus"
    check_path: str = LIVENESS

    @property
    def metrics(self) -> str:
        """The address of the page of its metrics; empty where there is none."""
        return self.management and self.management + self.metrics_path
