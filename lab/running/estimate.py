"""Estimates how long a run will take: its load by theory, and the overhead of cells by earlier runs here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean

from lab.errors import LabError
from lab.running.warm_up import is_busy
from lab.runtimes import AUTO, DOCKER, PROCESS
from lab.runtimes.host import Cores
from lab.spec import prediction
from lab.spec.plan import WINDOWS, Cell, Interleave, Plan
from lab.spec.workload import Closed
from lab.storage import run_folder
from lab.system import images

# The default overhead of a cell: start of service and workers, warm-up, end. On two cores it was 9 to 10 s where the
# warm-up ends when a request's CPU cost settles, and 30 s where the compiler must be idle; where its rounds last by the
# clock, so many of them come on top.
CELL_OVERHEAD_S, BUSY_CELL_OVERHEAD_S = 10.0, 35.0
ROUNDS, BUSY_ROUNDS = 4, 16
# The CPU time of a request of a burst, in microseconds, once its service is compiled.
COMPILED_US = 200.0
# How many times as much in containers, at most: it was 1.4 to 1.8 times, as the engine needs the same cores.
IN_CONTAINERS = 2.0
# In windows a start serves all loads; each cell has workers of its own, and its service is warmed up for its load.
WORKERS_S = 10.0
# A program is executed at once, and how long that takes is not known.
PROGRAM_OVERHEAD_S = 2.0
# Before the first cell: the services are built already, or that is quick; databases start from seeded data.
SET_UP_S, COMPONENT_S = 5.0, 15.0
RUNS_TO_LEARN_FROM = 20


@dataclass(frozen=True)
class TimeEstimate:
    """The estimated duration of a run, in seconds.

    Attributes:
        load_s: all measured loads by theory.
        overhead_s: overhead of each cell besides its load.
        learned: number of earlier cells that the overhead is taken from; 0 for the default.
        known: whether it is known how long the loads take.

    """

    cells: int
    load_s: float
    overhead_s: float
    set_up_s: float
    learned: int
    known: bool = True

    @property
    def total_s(self) -> float:
        """From the command to the table."""
        return self.set_up_s + self.load_s + self.cells * self.overhead_s

    def __str__(self) -> str:
        """The estimate as one sentence."""
        if not self.known:
            return f"{self.cells} cell{'s' * (self.cells > 1)}; how long a program takes is not known"
        basis = f"as in {self.learned} cells before" if self.learned else "a guess until a run has been made here"
        return (
            f"{self.cells} cell{'s' * (self.cells > 1)}, about {duration_text(self.total_s)}: "
            f"{duration_text(self.load_s)} of load by theory, and {self.overhead_s:.0f} s around each cell ({basis})"
        )


def resolved(runtime: str) -> str:
    """The runtime that services of the lab's own will have, which ``auto`` leaves to what this machine has."""
    return images.choose(runtime)[0] if runtime == AUTO else runtime


def estimate_run(
    plan: Plan, cells: Sequence[Cell], runs: Path, runtime: str = PROCESS, together: int = 1
) -> TimeEstimate:
    """Estimate the time to measure these cells of a plan, with the overhead of earlier runs in a folder, if any.

    Args:
        runtime: where services run; a resolved one.
        together: how many plans the same starts of the services serve: see
            :func:`lab.running.conductor.conduct_together`.

    """
    known = cell_overheads_s(plan, runs, runtime, together > 1)
    guess_s = fmean(_guess_s(plan, cell) for cell in cells or plan.cells)
    guess_s *= plan.nodes  # which share the cores on which they start and compile
    if plan.interleave == WINDOWS:
        guess_s = guess_s / len(plan.positions) + WORKERS_S
    if together > 1:
        guess_s = guess_s / together + WORKERS_S
    if runtime == DOCKER:
        guess_s *= IN_CONTAINERS
    if plan.scenario.entry == "program":
        guess_s = PROGRAM_OVERHEAD_S
    return TimeEstimate(
        cells=len(cells),
        load_s=sum(prediction.load_s(plan, cell) for cell in cells),
        overhead_s=fmean(known) if known else guess_s,
        set_up_s=SET_UP_S + COMPONENT_S * len(plan.components),
        learned=len(known),
        known=plan.scenario.entry != "program" or all(isinstance(cell.load, Closed) for cell in cells),
    )


def _guess_s(plan: Plan, cell: Cell) -> float:
    until_compiled = plan.cpu_decides or is_busy(cell.load, COMPILED_US, Cores.split(plan.pin).cpus)
    of_cell_s, rounds = (BUSY_CELL_OVERHEAD_S, BUSY_ROUNDS) if until_compiled else (CELL_OVERHEAD_S, ROUNDS)
    return of_cell_s + rounds * plan.scenario.rehearsal.duration_s


def cell_overheads_s(plan: Plan, runs: Path, runtime: str = PROCESS, together: bool = False) -> list[float]:
    """The overheads in seconds of complete cells, in the newest runs of a folder that were made as a plan would be.

    Args:
        together: whether the starts of their services served other runs too.

    """
    newest = reversed(run_folder.all_runs(runs))
    spent: list[float] = []
    alike = (run for run in newest if re.fullmatch(rf"[^-]+-{re.escape(plan.scenario.name)}(-\d+)?", run.name))
    for run in islice(alike, RUNS_TO_LEARN_FROM):
        try:
            made = run.environment()
            if _how(run.plan()) != _how(plan) or made.get("runtime", PROCESS) != runtime:
                continue
            if bool(made.get("together")) != together:
                continue
            done = [cell for cell in run.cells() if cell.settled]
            times = [(cell.read("timing").get("elapsed_s"), cell.read("summary")["elapsed_s"]) for cell in done]
            # A cell that sent no requests, as where its service did not start, has no typical overhead.
            of_run = [cell_s - load_s for cell_s, load_s in times if cell_s is not None and load_s]
        except (LabError, KeyError, TypeError):
            continue
        spent += of_run
    return spent


def _how(plan: Plan) -> tuple[Interleave, int, int, bool, bool]:
    """What decides how long a cell takes besides its load and its scenario."""
    loads_of_a_start = len(plan.positions) if plan.interleave == WINDOWS else 1
    return plan.interleave, loads_of_a_start, plan.nodes, plan.prometheus, plan.cpu_decides


def duration_text(seconds: float) -> str:
    """A duration as text: ``40 s``, ``7 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
