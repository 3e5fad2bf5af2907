"""Estimates how long a run will take: its load by theory, and the rest as earlier cells on this machine took."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from lab.errors import LabError
from lab.spec import prediction
from lab.spec.plan import Cell, Plan
from lab.storage import run_folder

# What a cell takes besides its load where nothing is known yet: start of service and workers, warm-up, end. Two cores
# took 9 s for a warm-up that ends when a request's cost settles, 25 s where the compiler must be at rest.
AROUND_CELL_S, AROUND_BUSY_CELL_S = 15.0, 35.0
# Before the first cell: the services are built already, or that is quick; databases start from seeded data.
SET_UP_S, DATABASE_S = 5.0, 15.0
RUNS_TO_LEARN_FROM = 20


@dataclass(frozen=True)
class TimeEstimate:
    """What a run takes, in seconds.

    Attributes:
        load_s: all measured loads by theory.
        around_s: what each cell takes besides.
        learned: from how many cells measured before that is known; 0 where it is a constant.

    """

    cells: int
    load_s: float
    around_s: float
    set_up_s: float
    learned: int

    @property
    def total_s(self) -> float:
        """From the command to the table."""
        return self.set_up_s + self.load_s + self.cells * self.around_s

    def __str__(self) -> str:
        """One sentence for people."""
        basis = f"as in {self.learned} cells before" if self.learned else "a guess until a run has been made here"
        return (
            f"{self.cells} cell{'s' * (self.cells > 1)}, about {spoken(self.total_s)}: {spoken(self.load_s)} of load "
            f"by theory, and {self.around_s:.0f} s around each cell ({basis})"
        )


def of_plan(plan: Plan, cells: Sequence[Cell], runs: Path) -> TimeEstimate:
    """What it will take to measure these cells of a plan, learned from the runs in a folder where there are any."""
    known = spent_around(plan.scenario.name, runs)
    guess_s = AROUND_BUSY_CELL_S if plan.scenario.cpu_decides else AROUND_CELL_S
    return TimeEstimate(
        cells=len(cells),
        load_s=sum(prediction.load_s(plan, cell) for cell in cells),
        around_s=median(known) if known else guess_s,
        set_up_s=SET_UP_S + DATABASE_S * len(plan.scenario.databases),
        learned=len(known),
    )


def spent_around(scenario: str, runs: Path) -> list[float]:
    """Seconds that complete cells of a scenario took besides their load, in the newest runs of a folder."""
    newest = reversed(run_folder.all_runs(runs))
    spent: list[float] = []
    alike = (run for run in newest if re.fullmatch(rf"[^-]+-{re.escape(scenario)}(-\d+)?", run.name))
    for run in islice(alike, RUNS_TO_LEARN_FROM):
        try:
            done = [cell for cell in run.cells() if cell.settled]
            times = [(cell.read("timing").get("elapsed_s"), cell.read("summary")["elapsed_s"]) for cell in done]
        except (LabError, KeyError):
            continue
        # A cell that sent nothing, as where its service did not start, says nothing of one that will.
        spent += [cell_s - load_s for cell_s, load_s in times if cell_s is not None and load_s]
    return spent


def spoken(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``7 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
