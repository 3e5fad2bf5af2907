"""How a plan is carried out: command, folder, runtime and servers, none of which decide what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.running.progress import Reporter
from lab.storage.run_folder import RUNS
from lab.system.backends import NO_ENDPOINTS, Endpoints


@dataclass(frozen=True)
class Invocation:
    """How a plan is to be carried out.

    Attributes:
        command: what was typed, without secrets; it is kept in run.json.
        runs: the folder that gets the run.
        reporter: is told how far it is.
        runtime: ``process``, ``docker`` or ``auto``.
        endpoints: servers of the user's own, to be used instead of the lab's.

    """

    command: Sequence[str]
    runs: Path = RUNS
    reporter: Reporter = field(default_factory=Reporter)
    runtime: str = "process"
    endpoints: Endpoints = NO_ENDPOINTS
