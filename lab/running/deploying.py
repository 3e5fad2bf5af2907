"""Starts the nodes of a service, and the balancer in front of them where there are several."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.errors import ComponentError, LabError
from lab.running.testbed import Testbed
from lab.runtimes import Running
from lab.spec.nodes import Node, nodes
from lab.spec.system import Variant
from lab.system import balancer
from lab.system.deployment import Deployment
from lab.system.launch import remove_scratch
from lab.telemetry import actuator


@contextmanager
def started_nodes(testbed: Testbed, variant: Variant, start: str, folder: Path) -> Iterator[dict[str, Running]]:
    """Start the nodes of a variant's service, by name; they end with the context, and their scratch files are removed.

    Args:
        start: the name of this start, of which a run has one only.
        folder: for the logs of the only node; of several, each has a folder of its own in it.

    """
    of_start = nodes(testbed.plan.nodes)
    told = _told(testbed, of_start, start)
    with ExitStack() as stack:
        running = {}
        for node in of_start:
            logs = folder / node.folder
            stack.callback(remove_scratch, logs)
            launch = replace(testbed.launch(variant, logs, told[node]), name=node.title, alias=_alias(start, node))
            running[node.name] = stack.enter_context(testbed.runtime.started(launch))
        yield running


def _alias(start: str, node: Node) -> str:
    return f"{start}-{node.number}"


def _told(testbed: Testbed, of_start: tuple[Node, ...], start: str) -> dict[Node, dict[str, str]]:
    """By node, the environment variables by which nodes find one another.

    Each has an address to listen on for the others. The name of their cluster keeps it apart from those of other starts
    and of other runs, also of other checkouts; nobody can guess it, and who does not know it is not let in.
    """
    addresses = testbed.runtime.reserve([_alias(start, node) for node in of_start])
    cluster = {
        "LAB_NODES": str(len(of_start)),
        "LAB_CLUSTER": f"{testbed.run.name}-{start}-{secrets.token_hex(8)}",
        "LAB_CLUSTER_MEMBERS": ",".join(f"{host}:{port}" for host, port in addresses),
    }
    return {node: {**cluster, "LAB_NODE": str(node.number)} for node in of_start}


@contextmanager
def deployed(testbed: Testbed, running: Mapping[str, Running], start: str, folder: Path) -> Iterator[Deployment]:
    """Wait until all nodes are ready, balance them if there are several, and have them scraped where that is asked.

    ComponentError if one of them, or the balancer, is not ready in time, or ends.

    Args:
        start: the name of this start, as in :func:`started_nodes`.

    """
    with (
        _balanced(testbed, running, folder) as deployment,
        testbed.prometheus.scraping(start, deployment.metrics) if testbed.prometheus else nullcontext(),
    ):
        yield deployment


@contextmanager
def _balanced(testbed: Testbed, running: Mapping[str, Running], folder: Path) -> Iterator[Deployment]:
    host = testbed.bind[0] if testbed.bind else None
    listening, nodes = None if testbed.plan.is_balanced else host, list(running.values())
    needed = testbed.backing.check_alive
    services = {name: actuator.await_ready(each, folder, listening, nodes, needed) for name, each in running.items()}
    if not testbed.plan.is_balanced:
        yield Deployment.of(*services.values())
        return
    site = balancer.Site(
        testbed.runtime,
        folder / "balancer",
        testbed.cores.generator,
        testbed.artifacts.images.get(balancer.PROGRAM, ""),
        host,
    )
    with ExitStack() as stack:
        try:
            front = stack.enter_context(balancer.balanced(services, balancer.settings_for(testbed.plans), site))
        except LabError as error:
            raise ComponentError(error.problem, error.next_step, error.detail) from error
        yield Deployment(services, front.url, front)


def balancer_limits(testbed: Testbed, deployment: Deployment) -> dict[str, Any]:
    """The limits of the balancer, and how many nodes it has; none without one."""
    if not deployment.balancer:
        return {}
    return {
        "nodes": len(deployment.nodes),
        **balancer.limits(deployment.balancer, balancer.settings_for(testbed.plans)),
    }
