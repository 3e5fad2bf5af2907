"""A ramp that was played through servers whose capacity is known, as it lies on disk with the service's readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from machines import HERE

from lab.analysis import ramps
from lab.experiments import scenarios
from lab.formulas import queueing, stats
from lab.spec import sample, schedule
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.spec.planning import make_plan
from lab.storage.run_folder import RunFolder
from lab.telemetry.actuator import GC_COUNT, HEAP, HEAP_EDEN

SERVICE_S, TO_RPS, LASTING_S, WARM_UP_USERS = 0.2, 500, 20, 200
# Of each request under way beyond those of the warm-up.
THREADS_EACH, HEAP_EACH, NATIVE_EACH = 1.0, 20_000.0, 100_000.0


def ramped(runs: Path, servers: Mapping[str, int]) -> RunFolder:
    """A run of ``chain`` on a ramp from 0 to 500 requests/s, of each variant with so many servers of 0.2 s."""
    options = Options(users=[5000], variants=list(servers), ramp=(0, TO_RPS, LASTING_S), seed=1)
    return played(runs, make_plan(scenarios()["chain"], options, HERE), servers)


def played(runs: Path, plan: Plan, servers: Mapping[str, int]) -> RunFolder:
    """A run of a plan of one ramp; what takes longer than its timeout has failed, and held its server all the same."""
    run = RunFolder.create(plan, [], {}, runs)
    for cell in plan.cells:
        folder, planned_s = run.begin(cell), np.sort(np.asarray(schedule.planned_s(cell.load, (1,))))
        took_s = queueing.burst_latencies(planned_s, SERVICE_S, servers[cell.variant], 1)
        records = np.zeros(len(planned_s), dtype=sample.RECORD)
        records["sent_us"] = records["planned_us"] = np.round(planned_s * 1e6)
        late = took_s > cell.load.timeout_s
        records["latency_us"] = np.round(np.minimum(took_s, cell.load.timeout_s) * 1e6)
        records["status"], records["error"] = np.where(late, 0, 200), np.where(late, sample.TIMEOUT, sample.OK)
        with folder.stream.open("wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
            writer.write_batch(sample.to_batch(records.tobytes(), [("GET", "/chain")], 0, 0))
        folder.keep_samples()
        folder.keep("evidence", {"warm_up": [{"users": WARM_UP_USERS}]})
        samples = folder.measured()
        folder.keep_metrics(readings(samples, plan.cells[0].load.duration_s))
        summary = asdict(stats.summarise(samples, from_planned=True))
        course = ramps.result_of(folder)
        assert course
        more = {"predicted_mean_s": None, "verdict": "valid", "reasons": [], "ramp": course.as_json()}
        folder.keep("summary", {**summary, **more})
    return run


def readings(samples: pd.DataFrame, lasting_s: float) -> list[tuple[float, str, str, float]]:
    """What the generator and the operating system say once a second, from the second before the load on."""
    at_s = np.arange(-1.0, lasting_s + 1)
    under_way = stats.under_way(samples, at_s).astype(float)
    more = np.maximum(under_way - WARM_UP_USERS, 0)
    eden = 1e8 * (1 + np.arange(len(at_s)) % 5)  # garbage, of any amount
    series = {
        ("worker 1", "under_way"): under_way,
        ("service", "threads"): 250 + THREADS_EACH * more,
        ("service", HEAP): 3e8 + HEAP_EACH * more + eden,
        ("service", HEAP_EDEN): eden,
        ("service", "rss_bytes"): 2e9 + NATIVE_EACH * more,
        ("service", GC_COUNT): 3.0 + np.arange(len(at_s)) // 5,
    }
    return [(t, *of, value) for of, values in series.items() for t, value in zip(at_s.tolist(), values, strict=True)]
