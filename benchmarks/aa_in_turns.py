"""Does the comparison keep its word where the CPU decides? Called by ``python benchmarks/aa.py --scenario jwt``.

One service is measured in turns with a copy of itself, and with a copy that has a program beside it which takes the
core for as long as 5 % more work a request would. Starts of all three are drawn without replacement for each
comparison, never windows of one start, and compared as ``lab compare`` does it.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from faults import Moment, thief

from lab.analysis import pairing
from lab.analysis.comparison import THROUGHPUT, Comparison
from lab.experiments import find_scenario
from lab.running import conductor, turn_taking
from lab.running.invocation import Invocation
from lab.running.measurement import Measurement
from lab.running.testbed import Testbed
from lab.running.turn_taking import Turn
from lab.runtimes import host
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.storage.run_folder import RUNS, RunFolder

ONE, COPY, SLOWER = "one", "copy", "slower"
SHARE = 0.05
# How long the program beside the slower copy spins, and how often: a 21st of the time.
EVERY_S = 0.010
SPINS_S = EVERY_S * SHARE / (1 + SHARE)


def result(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, draw, and count how often a difference was called."""
    run = RunFolder(Path(options.run)) if options.run else measured(options)
    chance, same, found, reaches = np.random.default_rng(1), 0, 0, list[float]()
    starts = sorted({cell.repeat for cell in run.plan().cells})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.comparisons):
            drawn = sorted(chance.choice(starts, options.drawn, replace=False).tolist())
            part = of_starts(run, drawn, Path(folder) / str(number))
            alike, different = (compared(part, ONE, other) for other in (COPY, SLOWER))
            same += any(row.differs for row in alike.rows)
            found += any(row.differs for row in different.rows)
            reaches += [reach for reach in (throughput_reach(alike),) if reach is not None]
    return {
        "run": run.name,
        "comparisons": options.comparisons,
        "starts": len(starts),
        "drawn": options.drawn,
        "called_different": same,
        "found": found,
        "median_reach": float(np.median(reaches)) if reaches else None,
    }


def measured(options: argparse.Namespace) -> RunFolder:
    """Measure all starts of the three in turns."""
    scenario = find_scenario(options.scenario)
    variant = scenario.variant(options.variant)
    trio = replace(scenario, variants=tuple(replace(variant, name=name) for name in (ONE, COPY, SLOWER)))
    asked = Options(
        users=[options.users], duration=options.duration, repeat=options.starts, interleave="windows", seed=1
    )
    with slowed_down():
        return conductor.conduct(planning.make_plan(trio, asked, host.machine()), Invocation([sys.argv[0]], RUNS))


@contextmanager
def slowed_down() -> Iterator[None]:
    """Have a program spin beside the slower copy in each of its windows."""
    drive, planted = turn_taking.drive, thief("service", SPINS_S, EVERY_S)

    def slower(testbed: Testbed, measurement: Measurement, turn: Turn) -> None:
        if measurement.cell.variant != SLOWER:
            drive(testbed, measurement, turn)
            return
        with planted(Moment(testbed, measurement)):
            drive(testbed, measurement, turn)

    turn_taking.drive = slower
    try:
        yield
    finally:
        turn_taking.drive = drive


def of_starts(run: RunFolder, starts: list[int], runs: Path) -> RunFolder:
    """A run of some of another's starts, whose cells it shares."""
    plan: Plan = run.plan()
    plan = replace(plan, cells=tuple(cell for cell in plan.cells if cell.repeat in starts))
    part = RunFolder.create(plan, ["aa"], run.environment(), runs)
    (part.path / "cells").mkdir()
    for cell in plan.cells:
        (part.path / "cells" / cell.id).symlink_to(run.cell(cell).path.absolute())
    return part


def compared(run: RunFolder, a: str, b: str) -> Comparison:
    """What ``lab compare RUN:a RUN:b`` finds."""
    return pairing.compare(f"{run.path}:{a}", f"{run.path}:{b}", pairing.Terms(), run.path.parent)


def throughput_reach(found: Comparison) -> float | None:
    """Half the width of the 95 % interval of the ratio of throughputs, as a share."""
    for row in found.rows:
        if row.metric == THROUGHPUT and row.ratio and row.ratio.low and row.ratio.high:
            return math.sqrt(row.ratio.high / row.ratio.low) - 1
    return None
