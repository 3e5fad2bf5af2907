"""Counts requests where they are served: at each node of a service, and at the balancer in front of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lab.runtimes.waiting import settled
from lab.system import balancer
from lab.system.deployment import Deployment
from lab.telemetry import actuator
from lab.telemetry.actuator import EndpointStatus

ByNode = Mapping[str, int | None]


@dataclass(frozen=True)
class Served:
    """Requests as they were counted where they were served, so far or in a load.

    Attributes:
        nodes: by node, the requests that it has answered; None where it does not report that.
        succeeded: by node, those of them with a status of 2xx.
        received: the requests that the balancer has received; None where there is none, or it does not report that.
        passed_on: by node, its answers that the balancer has passed on; of a load only where both ends are known.
        refused: the answers that the balancer gave by itself (see :class:`lab.system.balancer.Counted`); never below 0.
        by_status: the requests that nodes have answered, by endpoint and status.

    """

    nodes: ByNode = field(default_factory=dict)
    succeeded: ByNode = field(default_factory=dict)
    received: int | None = None
    passed_on: Mapping[str, int] = field(default_factory=dict)
    refused: int = 0
    by_status: Mapping[EndpointStatus, int] = field(default_factory=dict)

    @property
    def total(self) -> int | None:
        """The requests that all nodes have answered; None if one of them does not report that."""
        return _total(self.nodes)

    @property
    def total_succeeded(self) -> int | None:
        """The requests that all nodes have answered with a status of 2xx; None if one of them does not report that."""
        return _total(self.succeeded)

    def plus(self, other: Served, sign: int = 1) -> Served:
        """The sum of both; where one is unknown, so is the sum."""
        return Served(
            _sums(self.nodes, other.nodes, sign),
            _sums(self.succeeded, other.succeeded, sign),
            _sum(self.received, other.received, sign),
            {
                name: count + sign * by[name]
                for name, count in self.passed_on.items()
                if name in (by := other.passed_on)
            },
            max(0, self.refused + sign * other.refused),
            {kind: self._of(kind, other, sign) for kind in {**self.by_status, **other.by_status}},
        )

    def _of(self, kind: EndpointStatus, other: Served, sign: int) -> int:
        return self.by_status.get(kind, 0) + sign * other.by_status.get(kind, 0)

    def since(self, before: Served) -> Served:
        """What was counted between two moments."""
        return self.plus(before, sign=-1)


def _total(counts: ByNode) -> int | None:
    known = [count for count in counts.values() if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _sums(counts: ByNode, others: ByNode, sign: int) -> ByNode:
    return {name: _sum(count, others.get(name), sign) for name, count in counts.items()}


def _sum(one: int | None, other: int | None, sign: int) -> int | None:
    return None if one is None or other is None else one + sign * other


def counted(deployment: Deployment, before: Served | None = None, finished: int = 0) -> Served:
    """What nodes and balancer have counted so far.

    They count a request just after the client has its answer, so wait a little for those that have ``finished`` since
    ``before``.
    """

    def is_settled(found: Served) -> bool:
        since = found.since(before) if before else found
        unsettled = since.total is not None and since.total + since.refused < finished
        return not unsettled and (since.received is None or since.received >= finished)

    return settled(lambda: _counted_now(deployment), is_settled, actuator.SETTLE_WITHIN_S)


def _counted_now(deployment: Deployment) -> Served:
    # First, as it counts an answer after the node has: so it has never passed on more than the node has counted.
    front = balancer.counted(deployment.balancer, deployment.nodes) if deployment.balancer else None
    answered = {name: actuator.requests_answered(node) for name, node in deployment.nodes.items()}
    of_nodes = Served(
        {name: each.total for name, each in answered.items()},
        {name: each.succeeded for name, each in answered.items()},
        by_status=sum((Counter(each.by_status) for each in answered.values()), Counter()),
    )
    if not front:
        return of_nodes
    return replace(of_nodes, received=front.received, passed_on=front.passed_on, refused=front.refused)
