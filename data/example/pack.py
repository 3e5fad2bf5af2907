"""Make a measured run one that ships with the lab: ``python data/example/pack.py RUN NAME [--samples-of 1,2]``.

Logs, pictures and the samples of the warm-up stay behind, and so does what names the machine and its folders. With
the samples of some repeats only (``--samples-of ''`` for none) a run still has its table, its windows and their ratios,
and in figures of single answers these repeats.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.runtimes.checkout import ROOT
from lab.storage.run_folder import RUNS, find_run

# Columns of numbers that grow or hardly differ from row to row: half as large as differences.
GROWING = ("planned_us", "sent_us", "latency_us", "user", "session")
LEFT_BEHIND = shutil.ignore_patterns("logs", "scratch", "*.lock", "*.arrows", "*.png")


def pack(name: str, example: Path, samples_of: str | None = None) -> None:
    """Copy a run, by name or path, to a folder, which is replaced.

    Args:
        samples_of: the numbers of the repeats whose measured samples are part of it, joined by commas; None for all.

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
    kept = None if samples_of is None else samples_of.split(",")
    for path in example.glob("cells/*/samples.parquet"):
        if kept is not None and path.parent.name.rpartition("-r")[2] not in kept:
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="name or path of the run")
    parser.add_argument("name", metavar="NAME", help="its name as an example")
    parser.add_argument("--samples-of", metavar="REPEATS", help="keep the samples of these repeats; all without it")
    asked = parser.parse_args()
    pack(asked.run, Path(__file__).parent / asked.name, asked.samples_of)
