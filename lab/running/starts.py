"""Starts of the services that are measured: which of them are up, and what is known of each since it is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from lab.system.deployment import Deployment


@dataclass
class Start:
    """A variant's service from its start to its end; it may serve several loads, one after the other.

    Attributes:
        stack: what ends it.
        name: see :meth:`lab.running.testbed.Testbed.start_name`; empty before it is begun.
        logs: the folder of its logs.
        loads: how many it has served, that which it serves now among them.
        deployment: None before it is up, and when a failure has ended it.
        answers: its answers to the contract, by the name of the exchange; empty before it was asked.
        limits: by node, those that it reported; empty before they were asked.
        warm_up: the rounds of its warm-up, for all loads: see :attr:`lab.analysis.observations.Observed.warm_up`.
        warm: whether the CPU cost of a request had settled in them.

    """

    stack: ExitStack = field(default_factory=ExitStack)
    name: str = ""
    logs: Path = field(default_factory=Path)
    loads: int = 0
    deployment: Deployment | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    warm_up: list[dict[str, float]] = field(default_factory=list)
    warm: bool = False

    def begin(self, name: str, logs: Path) -> None:
        """Give a new start its name, and a folder for its logs."""
        self.name, self.logs, self.loads = name, logs, 0

    def end(self) -> None:
        """Stop the service; the next load that needs it starts another."""
        self.deployment, self.answers, self.limits, self.warm_up, self.warm = None, {}, {}, [], False
        self.stack.close()


class Starts:
    """The starts of all variants that are up together; all end with the context."""

    def __init__(self) -> None:
        self._of: dict[str, Start] = {}
        self._stack = ExitStack()

    def of(self, variant: str) -> Start:
        """The start of a variant's service, up or not."""
        if variant not in self._of:
            self._of[variant] = Start()
            self._stack.callback(self._of[variant].end)
        return self._of[variant]

    def __enter__(self) -> Starts:
        """Begin with none."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all of them."""
        self._stack.close()
