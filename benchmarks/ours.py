"""The lab's own generator as ``lab run`` uses it: a Locust master, one worker, its users, its records, its checks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa

from lab.errors import LabError
from lab.experiments import scenarios
from lab.generator.fleet import Fleet, LoadPhase, PhaseResult, Placement, running_fleet
from lab.runtimes import Running, Runtime
from lab.spec.workload import Burst, Closed, Total

NO_DELAY = {"delay_ms": 0}
SPARE_S = 120.0
_folders = itertools.count()


class Ours:
    """One Locust worker with its users spawned, and the master that orders it about."""

    def __init__(self, playing: Fleet, watched: Running, stream: Path) -> None:
        self.fleet = playing
        self._watched = watched
        self._stream = stream

    @property
    def worker(self) -> Running:
        """The worker's process."""
        return self.fleet.workers[0]

    def play(
        self,
        url: str,
        load: Burst | Closed | Total,
        parameters: Mapping[str, int] = NO_DELAY,
        progress: Callable[[PhaseResult], None] = lambda _: None,
    ) -> PhaseResult:
        """Play one load to its end; LabError if any request failed, as then the figures mean nothing."""
        lasting_s = load.duration_s if isinstance(load, Closed) else load.planned_sessions / 1000
        within_s = load.ramp_s + lasting_s + load.timeout_s + SPARE_S
        result = self.fleet.run_phase(LoadPhase(url, load, parameters), within_s, [self._watched], progress)
        if result.failed:
            raise LabError(f"{result.failed:,} of our {result.finished:,} requests failed.", "See that the server can.")
        return result

    def samples(self) -> pd.DataFrame:
        """Every sample so far, one row a request (:data:`lab.spec.sample.SCHEMA`). Only after the fleet has ended."""
        with pa.ipc.open_stream(self._stream) as reader:
            return reader.read_pandas()


@contextmanager
def ours(
    runtime: Runtime,
    locustfile: str | Path,
    users: int,
    cores: frozenset[int],
    folder: Path,
    watched: Running,
    tokens: Path | None = None,
) -> Iterator[Ours]:
    """Start master and worker on the generator's cores; they end with the context.

    Args:
        locustfile: the name of a scenario, or any other's path.
        watched: the server; a load ends early if it does.
        tokens: for scenarios that send some, one a line.

    """
    home = folder / f"ours-{next(_folders)}"
    home.mkdir()
    stream = home / "samples.arrows"
    with running_fleet(locustfile, Burst(users=users), Placement(runtime, cores, home, stream)) as playing:
        playing.await_workers()
        if tokens and isinstance(locustfile, str) and scenarios()[locustfile].sends_tokens:
            playing.distribute_tokens(tokens)
        playing.spawn(users)
        yield Ours(playing, watched, stream)
