"""Are good runs called good? ``python benchmarks/false_alarms.py [--runs 20] [--scenario NAME] [--json]``.

Measures so many short cells each of ``delay``, ``document`` and ``jwt`` in which nothing is wrong, on a quiet machine,
and prints each verdict with its reasons. Ends with status 1 if more than one in twenty of a scenario is not valid.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import lab
from lab.analysis.verdict import VALID

VARIANTS = ("mvc", "mvc-virtual", "webflux")
# Long enough for the reasons that need ten seconds: what rises, falls or never settles.
CLOSED_LOOP_S = 11.0
MOST_FALSE = 0.05


def delay(number: int) -> dict[str, Any]:
    """400 users, in a closed loop and in a burst by turns."""
    return {"users": 400, "delay_ms": 500, **({"loops": 2} if number % 2 else {"duration": CLOSED_LOOP_S})}


def document(number: int) -> dict[str, Any]:
    """50 users in a closed loop."""
    return {"users": 50, "duration": CLOSED_LOOP_S}


def jwt(number: int) -> dict[str, Any]:
    """50 users, for as long as a service must be measured that the CPU decides."""
    return {"users": 50, "duration": 20.0}


LOADS: dict[str, Callable[[int], dict[str, Any]]] = {"delay": delay, "document": document, "jwt": jwt}


def clean_cell(scenario: str, number: int, data: str) -> dict[str, Any]:
    """One cell in which nothing is wrong, the variants by turns."""
    load = LOADS[scenario](number)
    variant = VARIANTS[number // 2 % len(VARIANTS)]
    run = lab.run(scenario, variants=[variant], data=data, quiet=True, seed=number, **load)
    (cell,) = run.cells
    kind = "burst" if "loops" in load else "closed"
    return {"scenario": scenario, "load": kind, **{key: cell[key] for key in ("variant", "verdict", "reasons")}}


def main() -> None:
    """Measure the cells, print the verdicts, and fail if too many of a scenario are false alarms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each scenario")
    parser.add_argument("--scenario", action="append", choices=list(LOADS), help="all if none is named")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    cells, alarms = [], {}
    with tempfile.TemporaryDirectory() as data:
        for scenario in options.scenario or LOADS:
            alarms[scenario] = 0
            for number in range(options.runs):
                cell = clean_cell(scenario, number, data)
                cells.append(cell)
                alarms[scenario] += cell["verdict"] != VALID
                if not options.json:
                    what = f"{number + 1:3} {scenario:9} {cell['variant']:12} {cell['load']:7} {cell['verdict']}"
                    print(what, *cell["reasons"], flush=True)
    if options.json:
        print(json.dumps({"runs": options.runs, "false_alarms": alarms, "cells": cells}, indent=2))
    else:
        for scenario, count in alarms.items():
            print(f"{scenario}: {count} false alarms in {options.runs} runs")
    sys.exit(any(count > MOST_FALSE * options.runs for count in alarms.values()))


if __name__ == "__main__":
    main()
