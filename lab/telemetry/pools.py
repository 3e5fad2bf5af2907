"""The pools of connections that a service keeps to what it calls: the metrics that tell of each, and its limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Connections of Apache's client in use, of those that it has open.
HTTP_LEASED = "httpcomponents_httpclient_pool_leased_connections"


@dataclass(frozen=True)
class Pool:
    """A pool of one of the lab's services, whichever library keeps it.

    Attributes:
        to: the component that its connections lead to.
        in_use: metrics of the connections in use; each library has its own, and a service has one of them.
        waiting: the same of the requests that wait for a connection.

    """

    to: str
    in_use: tuple[str, ...]
    waiting: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name in limits, figures and sentences, such as ``pool to mongo``."""
        return name_of(self.to)

    def limit(self, limits: Mapping[str, Any]) -> float | None:
        """How many connections it opens at most, in all nodes together, whose readings are summed; None if not known.

        Args:
            limits: those of a node, as kept with a cell. Older runs have only what is the same of all pools.

        """
        of_a_node = limits.get(self.name) or limits.get("pool_max")
        return of_a_node and of_a_node * (limits.get("nodes") or 1)


def name_of(component: str) -> str:
    """The name of the pool of connections to a component."""
    return f"pool to {component}"


# Databases are components by the name of their kind, and both HTTP clients are those of modules that call a "backend".
POOLS = (
    Pool(
        "mysql",
        ("hikaricp_connections_active", "r2dbc_pool_acquired"),
        ("hikaricp_connections_pending", "r2dbc_pool_pending"),
    ),
    Pool("mongo", ("mongodb_driver_pool_checkedout",), ("mongodb_driver_pool_waitqueuesize",)),
    Pool(
        "backend",
        (HTTP_LEASED, "reactor_netty_connection_provider_active_connections"),
        ("httpcomponents_httpclient_pool_total_pending", "reactor_netty_connection_provider_pending_connections"),
    ),
)
METRICS = tuple(metric for pool in POOLS for metric in (*pool.in_use, *pool.waiting))
