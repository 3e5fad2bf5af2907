"""Time to tabulate and compare what was measured: ``python benchmarks/comparing.py [RUN …] [--json]``.

Without a run, the largest that ship with the lab: all pairs of their variants, by every metric. Both must take seconds,
as notebooks and reports do it again each time they are opened.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import lab

LARGEST = ("operations", "jwt-windows", "formulas-connections")


def seconds(step: Callable[[], Any]) -> float:
    """How long a step takes once."""
    began_s = time.perf_counter()
    step()
    return time.perf_counter() - began_s


def measured(name: str) -> dict[str, Any]:
    """A run's name, its cells and variants, and the seconds that its table and its comparison take."""
    run = lab.open_run(name)
    return {
        "run": name,
        "cells": len(run.plan.cells),
        "variants": len(run.plan.variants),
        "table_s": seconds(run.table),
        "compare_s": seconds(lambda: lab.compare(run, allow_suspect=True)),
    }


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", metavar="RUN", default=LARGEST)
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    rows = [measured(name) for name in options.runs]
    if options.json:
        print(json.dumps({"runs": rows}, indent=2))
        return
    for row in rows:
        print(
            f"{row['run']:24} {row['cells']:3} cells of {row['variants']:2} variants: table {row['table_s']:5.2f} s, "
            f"comparison {row['compare_s']:6.2f} s"
        )


if __name__ == "__main__":
    main()
