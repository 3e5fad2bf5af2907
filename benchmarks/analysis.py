"""Time and memory to summarise samples: ``python benchmarks/analysis.py [--millions 0.5,5,50] [--json]``.

Writes a file of made-up samples of each size the way a run does, and summarises it in a process of its own, whose peak
of resident memory (Python and its libraries included) is stated. Both must grow no faster than the number of samples.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from lab.spec import sample
from lab.storage import sample_file

BATCH = 20_000
SUMMARISE = """
import resource, sys, time
from pathlib import Path
from lab.formulas import stats
from lab.storage import sample_file
began = time.perf_counter()
kept, stream = map(Path, sys.argv[1:])
summary = stats.summarise_pieces(sample_file.pieces(kept, stream, stats.SUMMARISED))
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, summary.requests, summary.p99_s)
"""
IMPORTS = """
import resource
from lab.formulas import stats
from lab.storage import sample_file
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> None:
    """Measure each size, and print one line a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", default="0.5,5,50", help="how many samples, in millions")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    sizes = [round(float(size) * 1e6) for size in options.millions.split(",")]
    imports_mb = int(_python(IMPORTS)[0]) / 1000
    rows = [measured(size) for size in sizes]
    if options.json:
        print(json.dumps({"imports_mb": imports_mb, "sizes": rows}, indent=2))
        return
    print(f"imports alone: {imports_mb:.0f} MB")
    for row in rows:
        print(
            f"{row['samples']:>12,} samples: {row['seconds']:6.2f} s, {row['peak_mb']:5.0f} MB at most, "
            f"{row['us_per_thousand']:.0f} µs a thousand; file {row['file_mb']:.0f} MB"
        )


def measured(size: int) -> dict[str, float]:
    """Time and peak memory of summarising a file of ``size`` samples."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.parquet"
        write(path, size)
        seconds, peak_kb, requests, _ = _python(SUMMARISE, str(path), str(path.with_suffix(".arrows")))
        if int(requests) != size:
            sys.exit(f"{requests} of {size} samples were summarised")
        return {
            "samples": size,
            "seconds": float(seconds),
            "peak_mb": int(peak_kb) / 1000,
            "us_per_thousand": float(seconds) * 1e9 / size,
            "file_mb": path.stat().st_size / 1e6,
        }


def write(path: Path, size: int) -> None:
    """Write samples whose latencies are spread over milliseconds, with one failure in a thousand."""
    chance = np.random.default_rng(1)
    stream = path.with_suffix(".arrows")
    with stream.open("wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
        for begin in range(0, size, BATCH):
            records = np.zeros(min(BATCH, size - begin), dtype=sample.RECORD)
            records["planned_us"] = np.arange(begin, begin + len(records)) * 20
            records["sent_us"] = records["planned_us"] + chance.integers(0, 500, len(records))
            records["latency_us"] = 2000 + chance.lognormal(9, 1, len(records))
            records["status"] = 200
            records["error"] = np.where(chance.random(len(records)) < 0.001, sample.TIMEOUT, sample.OK)
            writer.write_batch(sample.to_batch(records.tobytes(), [("GET", "/delay")], 0, 0))
    sample_file.merge(stream, path)
    stream.unlink()


def _python(script: str, *arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.split()


if __name__ == "__main__":
    main()
