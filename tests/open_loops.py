"""A run in an open loop whose users were too few, as it lies on disk."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from machines import HERE

from lab.experiments import scenarios
from lab.formulas import stats
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.spec.sample import SCHEMA
from lab.storage.run_folder import RunFolder

ASKED_RPS, SENT_RPS, REQUESTS, SERVICE_S = 100, 50, 2000, 0.04


def overloaded(runs: Path) -> RunFolder:
    """100 requests/s were planned, of which two users sent 50/s: each request later than the one before it."""
    options = Options(users=[2], rate=ASKED_RPS, duration=REQUESTS / ASKED_RPS, seed=1)
    plan = make_plan(scenarios()["delay"], options, HERE)
    run = RunFolder.create(plan, ["python", "-m", "lab", "run", "delay"], {}, runs)
    number = np.arange(REQUESTS)
    measured = {"planned_us": number * 10**6 // ASKED_RPS, "sent_us": number * 10**6 // SENT_RPS, "user": number % 2}
    same = {"latency_us": round(SERVICE_S * 1e6), "connect_us": 0, "status": 200, "error": "", "bytes": 1}
    alone = {
        "session": number // 2,
        "step": 0,
        "method": "GET",
        "fallback": False,
        "worker": 0,
        "warm_up": 0,
        "cut": False,
        "stopped": False,
        "window": 0,
        "waited_us": measured["sent_us"] - measured["planned_us"],
    }
    samples = pd.DataFrame({**measured, **same, "name": "/delay", **alone})[SCHEMA.names]
    summary = asdict(stats.summarise(samples, from_planned=True))
    for planned in plan.cells:
        cell = run.begin(planned)
        samples.to_parquet(cell.path / "samples.parquet")
        cell.keep("summary", {**summary, "predicted_mean_s": None, "verdict": "suspect", "reasons": ["Too few users."]})
    return run
