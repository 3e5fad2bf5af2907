"""A lab that kills something that it has started, or itself, at a moment of its run: started by ``kills.py``.

Arguments: a JSON object with the phase, the victim, a file for what happens, and process ids by name of what lives all
the time and is not started by the lab, then the command line of the lab.
Without a victim nothing is killed. The file gets a line for everything that is started, with the phase it was started
in, and one with the samples that were there when the victim was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc

from lab.cli.main import main
from lab.experiments import scenarios
from lab.running import conductor
from lab.running.progress import Reporter
from lab.runtimes import identity
from lab.runtimes.docker import DockerRuntime
from lab.runtimes.process import ProcessRuntime
from lab.system import build
from lab.system.images.builder import Builder, Image, Recipe

LAB = "lab"
BUILD, IMAGES = "build", "images"
# What the lab says it is doing, and what that is called in the table.
PHASES = {
    "build the services": BUILD,
    "build the images": IMAGES,
    "start and seed": "seed",
    "start service": "start",
    "warm up": "warm-up",
    "measure": "measure",
}
CONCLUDE = "conclude"
# Phases in which something is killed while they are at work, and not as they begin.
AT_WORK = {BUILD, IMAGES, "measure"}
# Images that are built anew: those of what is measured, and of who loads it.
BUILT_ANEW = ("lab-service-", "lab-worker")
# Requests that must have been answered before something is killed in the phase "measure".
MEASURED = 60


class Executioner:
    """Knows what lives in which phase, and kills the victim as soon as both are there."""

    def __init__(self, phase: str, victim: str, record: Path, others: Mapping[str, int]) -> None:
        self._wanted = phase, victim
        self._record = record
        self._living: dict[str, int] = {LAB: os.getpid(), **others}
        self._phase = ""
        self._streams: list[Path] = []

    def note(self, **fields: Any) -> None:
        """Append a line to the record."""
        with self._record.open("a") as file:
            file.write(json.dumps(fields) + "\n")

    def enter(self, phase: str, kills: bool = True) -> None:
        """A phase begins; ``kills`` whether its beginning is the moment."""
        self._phase = phase
        for name in self._living:
            self.note(phase=phase, lives=name)
        if kills:
            self.strike()

    def started(self, name: str, pid: int) -> None:
        """Something was started."""
        self._living[name] = pid
        self.note(phase=self._phase, lives=name)
        self.strike()

    def ended(self, name: str) -> None:
        """Something was stopped."""
        self._living.pop(name, None)

    def measures(self, stream: Path) -> None:
        """Samples come into this file from now on."""
        self._streams.append(stream)

    def strike(self) -> None:
        """Kill the victim if it lives, and this is its phase; once."""
        phase, victim = self._wanted
        if phase != self._phase or victim not in self._living:
            return
        self._wanted = "", ""
        self.note(killed=victim, samples=sum(map(samples_in, self._streams)))
        os.kill(self._living[victim], signal.SIGKILL)
        if victim != LAB:
            await_death(self._living[victim])


def await_death(pid: int) -> None:
    """Wait until a process is dead, for 0.1 s at most, and leave it to its parent to ask how it ended."""
    deadline = time.monotonic() + 0.1
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.001)


def samples_in(stream: Path) -> int:
    """How many samples of the measured load a file holds that still grows."""
    count = 0
    with suppress(pa.ArrowInvalid, OSError), pa.ipc.open_stream(stream) as batches:
        for batch in batches:
            count += pc.sum(pc.equal(batch["warm_up"], 0)).as_py() or 0
    return count


def watch(executioner: Executioner) -> None:
    """Have the executioner told of all that is started, and of every phase."""
    for runtime in (ProcessRuntime, DockerRuntime):
        runtime.started = told(runtime.started, executioner)  # type: ignore[method-assign]
    Reporter.phase = phases(Reporter.phase, executioner)  # type: ignore[method-assign]
    measured, concluded = conductor.measure, conductor.conclude

    def measure(testbed: Any, cell: Any, **how: Any) -> None:
        executioner.measures(testbed.run.cell(cell).stream)
        measured(testbed, cell, **how)

    def conclude(*arguments: Any) -> None:
        executioner.enter(CONCLUDE)
        concluded(*arguments)

    conductor.measure, conductor.conclude = measure, conclude


def told(started: Callable[..., Any], executioner: Executioner) -> Callable[..., Any]:
    """A runtime's method that says what it starts."""

    @contextmanager
    def method(self: Any, launch: Any) -> Iterator[Any]:
        with started(self, launch) as running:
            executioner.started(launch.name, running.pid)
            try:
                yield running
            finally:
                executioner.ended(launch.name)

    return method


def phases(shown: Callable[..., Any], executioner: Executioner) -> Callable[..., Any]:
    """A reporter's method that says which phase begins."""

    @contextmanager
    def method(self: Any, title: str, total: float | None = None) -> Iterator[Any]:
        name = next((name for words, name in PHASES.items() if words in title), title)
        executioner.enter(name, kills=name not in AT_WORK)
        with shown(self, title, total) as update:

            def updated(done: float, note: str) -> None:
                update(done, note)
                if name in (BUILD, IMAGES) or (name == "measure" and done >= MEASURED):
                    executioner.strike()

            yield updated

    return method


def build_anew(phase: str) -> None:
    """Have Maven and the engine something to do in their phase, or in both where none is named."""
    jars, built = build.jars, Builder.built

    def of_no_stamp(modules: Iterable[str], *others: Any) -> dict[str, Path]:
        wanted = sorted(set(modules))
        for module in wanted:
            build._stamp(module).unlink(missing_ok=True)
        return jars(wanted, *others)

    def of_no_tag(self: Builder, recipe: Recipe) -> Image:
        if recipe.name.startswith(BUILT_ANEW):
            self.build(recipe, f"{recipe.tag}-{identity.mine()}")
        return built(self, recipe)

    if phase in ("", BUILD):
        build.jars = of_no_stamp
    if phase in ("", IMAGES):
        Builder.built = of_no_tag  # type: ignore[method-assign]


def shorten_warm_ups() -> None:
    """What is asked is what is left, not how warm a service was."""
    for name, scenario in scenarios().items():
        rounds = scenario.rehearsal
        short = replace(rounds, requests=rounds.requests // 20, duration_s=rounds.duration_s / 20, rounds=3)
        scenarios()[name] = replace(scenario, rehearsal=short)


if __name__ == "__main__":
    order = json.loads(sys.argv.pop(1))
    watch(Executioner(order["phase"], order["victim"], Path(order["record"]), order["others"]))
    build_anew(order["phase"])
    shorten_warm_ups()
    main()
