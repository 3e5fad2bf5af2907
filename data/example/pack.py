"""Make a measured run one that ships with the lab: ``python data/example/pack.py RUN NAME [--without-samples]``.

Logs, pictures and the samples of the warm-up stay behind, and so does what names the machine and its folders. Without
samples a run still has its table, its windows and their ratios, and no figure of single answers.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.runtimes.checkout import ROOT
from lab.storage.run_folder import RUNS, find_run

# Columns of numbers that grow or hardly differ from row to row: half as large as differences.
GROWING = ("planned_us", "sent_us", "latency_us", "user", "session")
LEFT_BEHIND = shutil.ignore_patterns("logs", "scratch", "*.lock", "*.arrows", "*.png")


def pack(name: str, example: Path, samples: bool = True) -> None:
    """Copy a run, by name or path, to a folder, which is replaced.

    Args:
        samples: whether those of the measured load are part of it.

    """
    shutil.rmtree(example, ignore_errors=True)
    shutil.copytree(find_run(name, RUNS).path, example, ignore=LEFT_BEHIND)
    for path in example.rglob("*.json"):
        path.write_text(path.read_text().replace(f"{ROOT}/", ""))
    change(example / "environment.json", host="example", system="Linux (virtual machine)")
    command = json.loads((example / "run.json").read_text())["command"]
    if "--data" in command:
        del command[command.index("--data") : command.index("--data") + 2]
    change(example / "run.json", command=command)
    for path in example.glob("cells/*/samples.parquet"):
        if not samples:
            path.unlink()
            continue
        rows = pq.read_table(path)
        rows = rows.filter(pc.equal(rows["warm_up"], 0)).sort_by("sent_us")
        pq.write_table(
            rows,
            path,
            compression="zstd",
            compression_level=19,
            use_dictionary=[name for name in rows.column_names if name not in GROWING],
            column_encoding=dict.fromkeys(GROWING, "DELTA_BINARY_PACKED"),
        )


def change(path: Path, **values: Any) -> None:
    """Replace values of a JSON object in a file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}, indent=2) + "\n")


if __name__ == "__main__":
    pack(sys.argv[1], Path(__file__).parent / sys.argv[2], samples="--without-samples" not in sys.argv[3:])
