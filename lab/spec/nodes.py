"""The nodes of a service: how many times it is started, and what each of them is called."""

from __future__ import annotations

from dataclasses import dataclass

from lab.spec.system import NODE, SERVICE


@dataclass(frozen=True)
class Node:
    """One of the nodes of a service.

    Attributes:
        number: from 1.
        name: in readings and counts; the only node is :data:`SERVICE` itself.
        title: in messages.
        folder: the folder of its logs, within that of the cell.

    """

    number: int
    name: str
    title: str
    folder: str


def at(name: str) -> str:
    """Which node a sentence is about, as its beginning; empty for the only one."""
    return "" if name == SERVICE else f"{name}: "


def is_node(target: str) -> bool:
    """Whether readings are of one of several nodes, and so are part of those of the service."""
    return target.startswith(NODE)


def nodes(count: int) -> tuple[Node, ...]:
    """The nodes of a service that is started so many times."""
    if count == 1:
        return (Node(1, SERVICE, SERVICE, "."),)
    return tuple(Node(n, f"{NODE}{n}", f"{SERVICE} {NODE}{n}", f"node-{n}") for n in range(1, count + 1))
