"""Are good runs called good? ``python benchmarks/false_alarms.py [--runs 20] [--json]``, on a quiet machine.

Runs so many short cells of ``delay`` in which nothing is wrong, bursts and closed loops by turns, and prints each
verdict. Ends with status 1 if any is not valid, with its reasons.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile

import lab
from lab.analysis.verdict import VALID

VARIANTS = ("mvc", "mvc-virtual", "webflux")
# Long enough for the reasons that need ten seconds: drift, and what still falls.
CLOSED_LOOP_S = 11.0


def clean_cell(number: int, data: str) -> dict[str, object]:
    """One cell in which nothing is wrong: 400 users, a closed loop or a burst, the variants by turns."""
    load = {"loops": 2} if number % 2 else {"duration": CLOSED_LOOP_S}
    variant = VARIANTS[number // 2 % len(VARIANTS)]
    run = lab.run("delay", 400, variants=[variant], data=data, quiet=True, seed=number, delay_ms=500, **load)
    (cell,) = run.cells
    return {"load": next(iter(load)), **{key: cell[key] for key in ("variant", "verdict", "reasons")}}


def main() -> None:
    """Run the cells, print the verdicts, and fail if one of them is a false alarm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    cells = []
    with tempfile.TemporaryDirectory() as data:
        for number in range(options.runs):
            cell = clean_cell(number, data)
            cells.append(cell)
            if not options.json:
                print(f"{number + 1:3} {cell['variant']:12} {cell['load']:9} {cell['verdict']}", *cell["reasons"])
    alarms = sum(cell["verdict"] != VALID for cell in cells)
    if options.json:
        print(json.dumps({"runs": len(cells), "false_alarms": alarms, "cells": cells}, indent=2))
    else:
        print(f"{alarms} false alarms in {len(cells)} runs")
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
