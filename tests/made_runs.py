"""Runs that are made up: cells on disk as a run leaves them, with latencies, failures and verdicts as told."""

from __future__ import annotations

from dataclasses import asdict
from subprocess import CompletedProcess

import numpy as np
import pyarrow as pa

from lab.formulas import stats
from lab.spec import sample
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder

MACHINE = {"host": "here", "cores": 2, "runtime": "process", "jdk": {"version": "25"}}
LIMITS = {"cpus": 1, "heap_max_bytes": 2**31, "java": "25", "accept_count": 4096}
PER_CELL = 200


def fill(
    folder: CellFolder,
    mean_s: float,
    chance,
    requests: int = PER_CELL,
    error: int = sample.OK,
    tail: float = 1.0,
    status: int = 0,
) -> None:
    """Put a cell on disk the way a run does: so many requests in a row of a second, of about this mean latency.

    The slowest tenth takes ``tail`` times as long. Those with an error have a status, unless that is 0.
    """
    records = np.zeros(requests, dtype=sample.RECORD)
    records["sent_us"] = records["planned_us"] = np.linspace(0, 1e6, requests).astype(int)
    took = np.sort(chance.lognormal(0, 0.05, requests))
    took[len(took) - len(took) // 10 :] *= tail
    records["latency_us"] = 1e6 * mean_s * chance.permutation(took)
    records["status"] = 200 if error == sample.OK else status
    records["error"] = error
    keep(folder, records)
    summary = stats.summarise(folder.measured())
    cpu_s = requests * mean_s / 100
    folder.keep_metrics([(0.0, "service", "cpu_s", 5.0), (summary.elapsed_s or 1.0, "service", "cpu_s", 5.0 + cpu_s)])
    folder.keep("limits", LIMITS)
    folder.keep("summary", {**asdict(summary), "predicted_mean_s": None, "verdict": "valid", "reasons": []})


def keep(folder: CellFolder, records) -> None:
    """Store records as the samples of a cell."""
    with folder.stream.open("wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
        writer.write_batch(sample.to_batch(records.tobytes(), [("GET", "/delay")], 0, 0))
    folder.keep_samples()


def judge(folder: CellFolder, word: str, reason: str) -> None:
    """Change a cell's verdict."""
    folder.keep("summary", {**folder.read("summary"), "verdict": word, "reasons": [reason]})


def fail(run: RunFolder, variant: str, requests: int) -> None:
    """Let some requests of each cell of a variant fail, with the reason that a run gives."""
    for folder in run.cells():
        if folder.cell.variant == variant:
            summary = folder.read("summary")
            reason = (
                f"{requests} of {summary['requests']} requests failed (HTTP 503 {requests}): latencies are of others."
            )
            errors = {"errors": {"HTTP 503": requests}, "verdict": "suspect", "reasons": [reason]}
            folder.keep("summary", {**summary, **errors})


def said(done: CompletedProcess[str]) -> str:
    """All that a command printed, in one line; there is never a traceback."""
    text = done.stdout + done.stderr
    assert "Traceback" not in text
    return " ".join(text.split())
