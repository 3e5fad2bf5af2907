"""How a plan is carried out: command, folder, runtime and servers, none of which decide what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.running.progress import Reporter
from lab.runtimes import PROCESS
from lab.storage.run_folder import RUNS
from lab.system.backends import NO_ENDPOINTS, Endpoints


@dataclass(frozen=True)
class Invocation:
    """How a plan is carried out; nothing in it decides what is measured.

    Attributes:
        command: the command line without secrets, as stored in run.json.
        runs: the folder to create the run in.
        reporter: shows progress.
        runtime: ``process``, ``docker`` or ``auto``.
        endpoints: the user's own servers, used instead of the lab's.

    """

    command: Sequence[str]
    runs: Path = RUNS
    reporter: Reporter = field(default_factory=Reporter)
    runtime: str = PROCESS
    endpoints: Endpoints = NO_ENDPOINTS
