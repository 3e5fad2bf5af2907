"""What is loaded: the nodes of a service, and the balancer in front of them where there are several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.errors import ComponentError
from lab.runtimes import Launch, Running, Watched
from lab.runtimes.exit_status import ExitStatus
from lab.spec.system import BALANCER, SERVICE
from lab.system.service import Service


@dataclass(frozen=True)
class Deployment:
    """The running nodes of a service, and the address of all of them.

    Attributes:
        nodes: by name (see :mod:`lab.spec.nodes`).
        url: where the load goes: to the balancer, or to the only node.
        balancer: what passes requests on to the nodes; None where there is one.

    """

    nodes: Mapping[str, Service]
    url: str
    balancer: Service | None = None

    @staticmethod
    def of(service: Service) -> Deployment:
        """The deployment of a service that is its only node."""
        return Deployment({SERVICE: service}, service.url)

    @property
    def is_ours(self) -> bool:
        """Whether the lab started it, so that it can be asked about itself."""
        return all(node.management for node in self.nodes.values())

    @property
    def running(self) -> list[Running]:
        """The processes of all nodes, and of the balancer."""
        return [service.running for service in (*self.nodes.values(), *filter(None, [self.balancer]))]

    @property
    def watched(self) -> list[Watched]:
        """What must not end while it is loaded: the balancer, and the last of the nodes."""
        balancer = [self.balancer.running] if self.balancer else []
        return [*balancer, AllOf([node.running for node in self.nodes.values()])]

    @property
    def metrics(self) -> dict[str, str]:
        """By node, and of the balancer, the address of its page of metrics."""
        parts = {**self.nodes, **({BALANCER: self.balancer} if self.balancer else {})}
        return {name: page for name, part in parts.items() if (page := part.metrics)}

    def exit_reasons(self) -> list[str]:
        """One sentence for each process that has ended."""
        endings = {running.launch.name: running.exit_reason() for running in self.running}
        return [f"The {name} {ending} during the measurement." for name, ending in endings.items() if ending]

    def check_whole(self) -> None:
        """ComponentError if a process has ended, with the last lines of its log."""
        for running in self.running:
            if running.exit_reason():
                raise ComponentError(self.exit_reasons()[0], "", running.log_tail())

    def confine(self, cores: frozenset[int]) -> None:
        """Pin all nodes to these cores."""
        for node in self.nodes.values():
            node.running.confine(cores)


@dataclass(frozen=True)
class AllOf:
    """Processes that can stand in for one another: together they have ended when the last of them has."""

    members: Sequence[Running]

    @property
    def launch(self) -> Launch:
        """That of the first."""
        return self.members[0].launch

    def exit_reason(self) -> ExitStatus | None:
        """How the first ended; None while one runs."""
        reasons = [member.exit_reason() for member in self.members]
        return reasons[0] if all(reasons) else None

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of the log of the first."""
        return self.members[0].log_tail(lines)
