"""Does TCP's congestion control decide who wins? ``python benchmarks/congestion_control.py SCENARIO [ARG...]``.

Measures one plan with each of several algorithms, in a network namespace of its own, whose loopback alone is set to it:
nothing of the machine changes, and nothing outside is reached. ``ARG...`` are those of ``lab run SCENARIO``, such as
``document --users 50 --duration 20``. Prints a line a cell, and for each variant how much its throughput changes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from false_alarms import worker_cpu_us

import lab
from lab.errors import LabError

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Arguments of a shell in the new namespace: the algorithm, and the command.
IN_NAMESPACE = 'ip link set lo up && echo "$1" > /proc/sys/net/ipv4/tcp_congestion_control && shift && exec "$@"'
NEEDED = ("unshare", "ip")


def measured(algorithm: str, arguments: list[str], data: str) -> list[dict[str, Any]]:
    """The cells of a run whose connections all have one algorithm.

    LabError if a run cannot be made, in the words of ``lab run``; a measurement that is not valid is a row as others.
    """
    mapped = () if os.geteuid() == 0 else ("--map-root-user",)
    command = (sys.executable, "-m", "lab", "run", *arguments, "--data", data)
    known = set(Path(data).glob("*"))
    inside = ("unshare", "--net", *mapped, "sh", "-c", IN_NAMESPACE, "sh", algorithm, *command)
    done = subprocess.run(inside, stdout=sys.stderr)  # here are the figures
    made = sorted(set(Path(data).glob("*")) - known)
    if not made:
        raise LabError(f"Nothing was measured with {algorithm} (status {done.returncode}).", "See above.")
    run = lab.open_run(str(made[-1]))
    return [
        {
            "algorithm": algorithm,
            **{key: cell[key] for key in ("variant", "verdict", "throughput_rps", "mean_s", "p99_s", "reasons")},
            "worker_cpu_us": worker_cpu_us(folder, cell["throughput_rps"]),
        }
        for cell, folder in zip(run.cells, run.folder.cells(), strict=True)
    ]


def as_line(row: dict[str, Any]) -> str:
    """A cell as a line of the table."""
    worker = f"{row['worker_cpu_us']:9.0f}" if row["worker_cpu_us"] else f"{'':9}"
    return (
        f"{row['algorithm']:9} {row['variant']:18} {row['throughput_rps']:12,.1f} {row['mean_s'] * 1000:8.1f} "
        f"{row['p99_s'] * 1000:8.1f} {worker}  {row['verdict']} {' '.join(row['reasons'])}".rstrip()
    )


def effects(rows: list[dict[str, Any]]) -> list[str]:
    """A sentence for each variant: its median throughput with each algorithm, beside the first one's."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["variant"]][row["algorithm"]].append(row["throughput_rps"])
    lines = []
    for variant, by_algorithm in found.items():
        medians = {algorithm: statistics.median(values) for algorithm, values in by_algorithm.items()}
        first, base = next(iter(medians.items()))
        others = [f"{rps / base - 1:+.0%} with {name}" for name, rps in medians.items() if name != first]
        lines.append(f"{variant}: {base:,.1f} requests/s with {first}; {', '.join(others)}")
    return lines


def main() -> None:
    """Measure with each algorithm in turns, and print what it changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--algorithms", default="cubic,bbr", help="of /proc/sys/net/ipv4/tcp_available_congestion_control"
    )
    parser.add_argument("--times", type=int, default=2, help="runs with each, in turns")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--data", help="the folder in which the runs are kept, to look into; nowhere if left out")
    options, arguments = parser.parse_known_args()
    algorithms = options.algorithms.split(",")
    try:
        if missing := [program for program in NEEDED if not shutil.which(program)]:
            raise LabError(f"There is no program {' and no '.join(missing)}.", "Install util-linux and iproute2.")
        if unknown := set(algorithms) - set(AVAILABLE.read_text().split() if AVAILABLE.exists() else ()):
            step = "Load its module, such as: sudo modprobe tcp_bbr"
            raise LabError(f"This kernel does not offer {', '.join(sorted(unknown))}.", step)
        rows = []
        with tempfile.TemporaryDirectory() as temporary:
            data = options.data or temporary
            for _ in range(options.times):
                for algorithm in algorithms:
                    rows += measured(algorithm, arguments, data)
    except LabError as error:
        sys.exit(f"error: {error.problem} {error.next_step}")
    if options.json:
        print(json.dumps({"cells": rows}, indent=2))
        return
    print(f"{'algorithm':9} {'variant':18} {'requests/s':>12} {'mean ms':>8} {'p99 ms':>8} {'worker µs':>9}")
    print(*map(as_line, rows), *effects(rows), sep="\n")


if __name__ == "__main__":
    main()
