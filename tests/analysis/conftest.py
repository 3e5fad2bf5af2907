"""Runs that are made up with known differences, and the command that compares them."""

from __future__ import annotations

import numpy as np
import pytest
from machines import HERE
from made_runs import MACHINE, fill

from lab.experiments import scenarios
from lab.spec import planning
from lab.spec.options import Options
from lab.storage.run_folder import RunFolder


@pytest.fixture
def made(tmp_path):
    """A function that makes a run: mean latencies in seconds by variant, repeats that differ by 1 %, all seeded."""

    def make(means, repeat=5, environment=None, seed=1, users=(10,), **options) -> RunFolder:
        asked = Options(
            users=users, variants=list(means), repeat=repeat, seed=seed, parameters={"delay_ms": 100}, **options
        )
        plan = planning.make_plan(scenarios()["delay"], asked, HERE)
        run = RunFolder.create(plan, [], environment or MACHINE, tmp_path)
        chance = np.random.default_rng(seed)
        for folder in run.cells():
            run.begin(folder.cell)
            fill(folder, means[folder.cell.variant] * chance.lognormal(0, 0.01), chance)
        return run

    return make


@pytest.fixture
def compared(typed, tmp_path):
    """A function that types ``lab compare …`` on the runs that were made."""
    return lambda *words: typed("compare", *words, "--data", str(tmp_path))
